# with: watchdog
# H5, K4: everything on n1 stands still for half a second, again and again, as under a busy hypervisor or in firmware:
# nobody is lost, nobody fenced, no watchdog fires.
vm web1 n1
pid=$(truth_pid web1)
must 20 "n1's watchdog is armed" guarded n1
for k in 1 2 3 4 5 6; do
	rig pause n1; sleep 0.5
	rig resume n1; sleep 1
done
never 3 "it had a consequence" eval '[[ $(truth web1) != "n1 $pid" || $(all_offs) != 0 ]] || has_fired n1'
for n in n2 n3; do no_event $n '.now == "lost"' || fail "a node was taken for lost, or $n does not tell"; done
must 5 "all three agree" group_agrees
