# O5: a person has n1 fenced, and then switched on again: through the same BMC, verified, a member as ever.
vm web1 n1
refused "a node that is on can be switched on" n2 fence on n1
hf n2 fence n1 --yes --reason "trial" >/dev/null || fail "the order is refused"
must 20 "web1 runs elsewhere" runs_elsewhere web1 n1
must 5 "n1 is dead" eval '[[ $(node_state n2 n1) == dead ]]'
T0=$(rig now)
hf n2 fence on n1 >/dev/null || fail "n1 cannot be switched on"
must 15 "its BMC was told" eval '[[ -n $(rig_time "bmc n1 set power 1") ]]'
must 40 "n1 is a member again" eval '[[ $(node_state n2 n1) == member ]]'
note "a member $(since_t0) after the order"
must 5 "it is told who did it" event n2 '.name == "n1" and .why == "power-on"'
is "$(truth_node web1)" n1 && fail "web1 went back by itself"
true
