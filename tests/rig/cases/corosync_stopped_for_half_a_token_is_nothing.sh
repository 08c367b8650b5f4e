# C2: a pause below the token: nobody notices.
vm web1 n1
pid=$(truth_pid web1)
view=$(st n2 .group.view.seq)
rig hang n1 corosync
sleep 0.5
rig resume n1 corosync
never 5 "it had a consequence" eval '[[ $(truth web1) != "n1 $pid" || $(all_offs) != 0 ]]'
is "$(st n2 .group.view.seq)" "$view" || fail "the membership changed"
