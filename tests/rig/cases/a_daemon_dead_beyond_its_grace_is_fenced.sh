# holdfastd stays dead, its host lives: silent, then lost, fenced, and the VM runs elsewhere.
vm web1 n1
T0=$(rig now)
daemon_stop n1
must 5 "n1 is silent" eval '[[ $(node_state n2 n1) == silent ]]'
never 2 "fenced within the grace" eval '(($(offs n1) > 0))'
must 15 "web1 runs elsewhere" runs_elsewhere web1 n1
note "recovered within $(since_t0)"
is "$(offs n1)" 1 || fail "n1 was switched off $(offs n1) times"
