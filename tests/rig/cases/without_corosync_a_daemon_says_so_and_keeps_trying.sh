# holdfastd comes up on a node whose corosync does not run.
daemon_stop n3
rig kill n3 corosync
daemon_start n3
must 5 "its status says that corosync is missing" eval 'st n3 ".daemon.link.connected == false and (.needs | any(.text | test(\"corosync\")))"'
hf n3 status >"$CASE/text" 2>&1
grep -qi corosync "$CASE/text" || fail "not in words: $(head -3 "$CASE/text")"
rig exec n3 bash /rig/corosync-node.sh start
must 15 "n3 is a member as soon as it is there" eval '[[ $(node_state n1 n3) == member ]]'
