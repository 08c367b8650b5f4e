# C20: alone, n3 is told to expect one vote: votequorum calls it quorate. That is not our majority: it stays
# frozen, starts nothing, and complains of the count.
vm web1 n1
isolate n3
must 10 "n3 alone is frozen" eval '[[ $(st n3 .group.phase) == frozen ]]'
rig exec n3 corosync-quorumtool -e 1 >/dev/null 2>&1
must 5 "votequorum calls n3 quorate" eval 'rig exec n3 corosync-quorumtool -s | grep -Eq "Quorate: +Yes"'
must 10 "status complains of the votes" eval 'st n3 ".needs | any(.text | test(\"votes\"))"'
never 3 "n3 did something" eval '[[ $(st n3 .group.phase) != frozen || $(truth_node web1) != n1 || $(all_offs) != 0 ]]'
rig heal
must 20 "n3 is back" eval '[[ $(node_state n1 n3) == member ]]'
rig exec n3 corosync-quorumtool -e 3 >/dev/null 2>&1
must 10 "all links are fit" eval 'st n2 "all(.nodes[]; .link_fit)"'
