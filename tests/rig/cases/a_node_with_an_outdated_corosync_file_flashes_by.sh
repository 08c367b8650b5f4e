# C8, C9: n3's corosync has an older file than the others': it joins and leaves in the same instant, again and again. Nobody
# waits for it, nobody counts it, nobody is fenced.
vm web1 n1
pid=$(truth_pid web1)
for n in n1 n2; do rig exec "$n" corosync-cmapctl -s totem.config_version u64 2 >/dev/null || fail "no such key"; done
rig exec n3 sed -i '0,/version: 2/s//&\n\tconfig_version: 1/' /etc/corosync/corosync.conf
rig kill n3 corosync
spend_rig
flashes=0
for k in 1 2 3 4 5; do
	rig exec n3 timeout 5 bash /rig/corosync-node.sh start >/dev/null 2>&1
	until_true 5 eval '[[ -z $(rig pids n3 "^corosync") ]]' && flashes=$((flashes + 1))
	hf n1 drain n2 >/dev/null || fail "the others do not decide"
	hf n1 undrain n2 >/dev/null || fail "the others do not decide"
done
note "$flashes times"
((flashes >= 4)) || fail "n3 stayed: $(rig exec n3 tail -n 3 /var/log/corosync/corosync.log | paste -sd';')"
is "$(truth web1)" "n1 $pid" || fail "web1 was touched: $(truth web1)"
is "$(all_offs)" 0 || fail "somebody was fenced for it"
rig exec n3 sed -i 's/config_version: 1/config_version: 2/' /etc/corosync/corosync.conf
rig kill n3 corosync 2>/dev/null
rig exec n3 bash /rig/corosync-node.sh start
must 20 "n3 is a member with the right one" is_member n3
