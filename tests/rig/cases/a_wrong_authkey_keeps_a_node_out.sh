# C21, M4: n3's corosync has another key: it stays out and says so; what it sends disturbs nobody.
vm web1 n1
pid=$(truth_pid web1)
key() { rig kill n3 corosync; rig exec n3 sh -c "$1"; rig exec n3 bash /rig/corosync-node.sh start; }
key 'cp -p /etc/corosync/authkey /run/authkey; head -c 256 /dev/urandom >/etc/corosync/authkey' || fail "corosync does not start with it"
must 10 "n1 misses n3" eval '[[ $(node_state n1 n3) == lost ]]'
must 15 "n3 says that it is alone" needs n3 'not quorate'
must 5 "n1's status complains of n3" needs n1 'lost' n3
never 5 "it had a consequence" eval '[[ $(truth web1) != "n1 $pid" || $(all_offs) != 0 || $(st n1 .group.phase) != synced ]]'
kill -9 "$pid"
must 10 "the others go on" runs_on web1 n1
key 'cp -p /run/authkey /etc/corosync/authkey' || fail "corosync does not start with the right one"
must 20 "n3 is a member with the right one" eval '[[ $(node_state n1 n3) == member ]]'
