# C2, P3, H5: n1 freezes in the middle of starting web1 and with an order of its own on its way. Meanwhile a person
# stops web1. Thawed, n1 may finish what it had begun; it ends as the group had decided without it, and
# the order is void.
vm web1 n1
hf n2 vm stop web1 --wait >/dev/null || fail "web1 is not stopped"
rig bmc n1 dead
hf n1 vm start web1 >/dev/null || fail "web1 cannot be started"
under_way() { st n1 '.daemon | .in_flight + .queued'; }
# the order is certainly under way: what carries it stands still, and there is one more than beats alone make
rig hang n1 corosync
before=$(under_way)
(hf n1 drain n2 >"$CASE/drain" 2>&1; echo $? >"$CASE/code") &
must 3 "an order is taken and under way" eval "event n1 '.kind == \"audit\" and .verb == \"drain\" and .granted' && ((\$(under_way) > $before))"
waiting=$(under_way)
rig pause n1
is "$(about n2 n2 '.maintenance | not')" true || fail "n2 is in maintenance already"
must 10 "n1 is missed" eval '[[ $(node_state n2 n1) == @(lost|fencing) ]]'
note "n1 froze with web1 $(vm_state n2 web1), $waiting messages under way"
hf n2 vm stop web1 >/dev/null || fail "web1 cannot be stopped"
never 3 "another web1 elsewhere" eval '[[ $(truth_node web1) == n[23] ]]'
rig resume n1
must 20 "n1 is a member again" eval '[[ $(node_state n2 n1) == member ]]'
must 40 "web1 is stopped and really gone" eval '[[ $(vm_state n2 web1) == stopped && -z $(truth web1) ]]'
must 10 "all three agree" group_agrees
# the order was sent again, by somebody who had been away: it is void, and its giver is told
must 20 "its giver has an answer" eval '[[ -s $CASE/code ]]'
is "$(<"$CASE/code")" 1 && grep -q "come back since" "$CASE/drain" || fail "its giver was told: $(<"$CASE/drain")"
must 5 "its coming is on record" event n3 '.kind == "order" and .order == "drain" and .name == "n2" and (.applied | not) and .why == "back-since"'
never 3 "the stale order was obeyed" about n3 n2 .maintenance
no_event n3 '.kind == "order" and .applied and .order == "drain"' || fail "the stale order was obeyed, or n3 does not tell"
