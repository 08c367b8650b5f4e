# C20: somebody lowers corosync's expected votes: what it calls quorate is not our majority any more. An alarm,
# on every node; nothing is decided by fewer than two.
vm web1 n1
rig exec n1 corosync-quorumtool -e 1 >/dev/null 2>&1
must 10 "status complains of the link" eval 'st n2 "any(.nodes[]; .link_fit == false) and (.needs | any(.text | test(\"votes|unfit\")))"'
isolate n3
must 10 "n3 alone is frozen, whatever votequorum says" eval '[[ $(st n3 .group.phase) == frozen ]]'
never 3 "n3 did something" eval '[[ $(truth_node web1) != n1 || $(all_offs) != 0 ]]'
rig heal
must 20 "n3 is back" eval '[[ $(node_state n1 n3) == member ]]'
rig exec n1 corosync-quorumtool -e 3 >/dev/null 2>&1
must 10 "all links are fit again" eval 'st n2 "all(.nodes[]; .link_fit)"'
