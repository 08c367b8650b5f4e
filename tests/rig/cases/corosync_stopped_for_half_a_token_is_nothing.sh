# C2: a pause below the token. corosync itself may form its membership anew (its links were down for a
# moment); nobody is lost by it, and nothing is touched.
vm web1 n1
pid=$(truth_pid web1)
rig hang n1 corosync
sleep 0.5
rig resume n1 corosync
never 5 "it had a consequence" eval '[[ $(truth web1) != "n1 $pid" || $(all_offs) != 0 ]]'
is "$(node_state n2 n1)" member || fail "n1 is $(node_state n2 n1)"
event n2 '.now == "lost"' && fail "a node was taken for lost"
st n2 ".group.seq > 0" >/dev/null || fail "n2 does not answer"
