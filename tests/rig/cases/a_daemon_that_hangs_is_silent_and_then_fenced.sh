# P2, P3: holdfastd stops for 1 s: nothing. For good: its beats stop, grace, fence, recovery.
vm web1 n1
pid=$(truth_pid web1)
rig hang n1 holdfastd
sleep 1
rig resume n1 holdfastd
never 4 "a short stop had a consequence" eval '[[ $(truth_pid web1) != "$pid" || $(all_offs) != 0 ]]'
is "$(node_state n2 n1)" member || fail "n1 is $(node_state n2 n1)"
T0=$(rig now)
rig hang n1 holdfastd
must 20 "web1 runs elsewhere" runs_elsewhere web1 n1
note "recovered within $(since_t0)"
is "$(offs n1)" 1 || fail "n1 was switched off $(offs n1) times"
