# with: watchdog
# C14: n1 is cut off for nine tenths of a second, again and again: its lease does not run out, no VM is ended, nobody is fenced.
vm web1 n1
pid=$(truth_pid web1)
must 20 "n1's watchdog is armed" guarded n1
for k in 1 2 3; do
	isolate n1; sleep 0.9
	rig heal n1; sleep 2
done
never 4 "it had a consequence" eval '[[ $(truth web1) != "n1 $pid" || $(all_offs) != 0 ]] || has_fired n1'
must 10 "all three agree" group_agrees
