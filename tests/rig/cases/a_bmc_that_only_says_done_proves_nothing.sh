# H10: n1 is cut off, its BMC answers "done" and leaves it on: not a proof, web1 goes on where it is.
vm web1 n1
pid=$(truth_pid web1)
rig bmc n1 refuse
isolate n1
must 15 "a fencing attempt was made" eval '(($(offs n1) > 0))'
must 20 "status says that it cannot be proved dead" eval \
	'st n2 ".needs[] | select(.name == \"n1\" and (.text | test(\"cannot be proved dead\")))"'
never 3 "a second web1" eval '[[ $(truth web1) != "n1 $pid" ]]'
rig heal
must 20 "n1 is a member again" eval '[[ $(node_state n2 n1) == member ]]'
must 10 "web1 runs where it was" runs_on web1 n1
is "$(truth_pid web1)" "$pid" || fail "web1 was started again"
