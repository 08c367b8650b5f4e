# H13: the BMC of n1 hangs while n2 fences it, and n2's daemon dies: n3 takes over and ends it.
vm web1 n1
rig bmc n1 hang
rig pause n1
must 10 "somebody fences n1" eval 'st n3 ".nodes[] | select(.name == \"n1\") | .fencing.actor"'
actor=$(st n3 '.nodes[] | select(.name == "n1") | .fencing.actor')
rig kill "$actor" holdfastd
rig bmc n1 ok
must 40 "web1 runs elsewhere" runs_elsewhere web1 n1
is "$(offs n1)" 1 || note "n1 was switched off $(offs n1) times"
