# with: watchdog
# C3: n1's corosync is away with notice, again and again, for about as long as the lease that it had: back in the group and not
# yet heard, n1 does not take the old lease's end for its own.
vm web1 n1
must 20 "n1's watchdog is armed" guarded n1
pid=$(truth_pid web1)
for k in 1 4 6 8; do
	hf n1 hold n1 --for 20s >/dev/null || fail "the hold is refused"
	rig kill n1 corosync TERM
	sleep "1.$k"
	rig exec n1 bash /rig/corosync-node.sh start
	must 20 "n1 is a member again" eval 'is_member n1 && [[ $(node_state n2 n1) == member ]]'
	never 2 "web1 was ended" eval "[[ \$(truth web1) != 'n1 $pid' ]]"
done
has_fired n1 && fail "n1 was reset"
is "$(all_offs)" 0 || fail "somebody was fenced for it"
