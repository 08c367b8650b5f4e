# C15, C16: 20 % loss on one ring, then only large frames lost on both: no fence, all agree after it.
vm web1 n1
pid=$(truth_pid web1)
for n in $NODES; do rig loss "$n" ring0 20; done
never 5 "loss had a consequence" eval '[[ $(truth web1) != "n1 $pid" || $(all_offs) != 0 ]]'
rig heal
for n in $NODES; do rig shrink "$n" ring0 900; done
never 3 "lost large frames had a consequence" eval '[[ $(truth web1) != "n1 $pid" || $(all_offs) != 0 ]]'
rig heal
must 10 "all three agree" group_agrees
