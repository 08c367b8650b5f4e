# n1 freezes in the middle of starting web1 and with an order of its own on its way. Meanwhile a person
# stops web1. Thawed, n1 may finish what it had begun; it ends as the group had decided without it.
vm web1 n1
hf n2 vm stop web1 --wait >/dev/null || fail "web1 is not stopped"
rig bmc n1 dead
hf n1 vm start web1 >/dev/null || fail "web1 cannot be started"
(hf n1 drain n2 >/dev/null 2>&1 &)
rig pause n1
must 10 "n1 is missed" eval '[[ $(node_state n2 n1) == @(lost|fencing) ]]'
note "n1 froze with web1 $(vm_state n2 web1)"
hf n2 vm stop web1 >/dev/null || fail "web1 cannot be stopped"
never 3 "another web1 elsewhere" eval '[[ $(truth_node web1) == n[23] ]]'
rig resume n1
must 20 "n1 is a member again" eval '[[ $(node_state n2 n1) == member ]]'
must 40 "web1 is stopped and really gone" eval '[[ $(vm_state n2 web1) == stopped && -z $(truth web1) ]]'
must 10 "all three agree" group_agrees
