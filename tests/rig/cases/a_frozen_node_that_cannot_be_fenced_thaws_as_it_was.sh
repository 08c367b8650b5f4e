# No proof while n1 is frozen and its BMC mute: web1 waits. Thawed, n1 joins, web1 was there all the time.
vm web1 n1
pid=$(truth_pid web1)
rig bmc n1 dead
rig pause n1
must 10 "n1 is missed" eval '[[ $(node_state n2 n1) == @(lost|fencing) ]]'
must 5 "web1 waits for proof" eval '[[ $(vm_state n2 web1) == "waiting for proof" ]]'
never 5 "a second web1" eval '[[ $(truth web1) != "n1 $pid" ]]'
rig resume n1
must 20 "n1 is a member again" eval '[[ $(node_state n2 n1) == member ]]'
must 10 "web1 runs where it was" runs_on web1 n1
is "$(truth_pid web1)" "$pid" || fail "web1 was started again"
