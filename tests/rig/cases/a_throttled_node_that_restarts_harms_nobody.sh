# C17: n3 hears the rings at 0.1 MB/s only, and its corosync is killed and started again and again: the others go on
# and decide, and when it is over all three agree.
vm web1 n1
pid=$(truth_pid web1)
rig rate n3 ring0 800; rig rate n3 ring1 800
for k in 1 2 3 4; do
	rig kill n3 corosync
	sleep "0.$((k * 2))"
	rig exec n3 bash /rig/corosync-node.sh start || fail "corosync does not start"
	hf n1 drain n2 >/dev/null || fail "the others do not decide"
	hf n1 undrain n2 >/dev/null || fail "the others do not decide"
	sleep 1.5
done
is "$(truth web1)" "n1 $pid" || fail "web1 was touched: $(truth web1)"
is "$(all_offs)" 0 || fail "somebody was fenced for it"
rig heal
must 20 "all three agree" group_agrees
