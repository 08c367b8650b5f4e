# C19: corosync waits for all nodes after a cold start, and n1 stays dark: n2 and n3 do nothing, and say what they
# wait for. With corosync's own override they form a group; n1 is fenced after the start-up grace.
vm web1 n1
spend_rig
for n in $NODES; do rig exec "$n" sed -i 's/provider: corosync_votequorum/&\n\twait_for_all: 1/' /etc/corosync/corosync.conf || fail "no such line"; done
for n in $NODES; do rig poweroff "$n" & done
wait
rig poweron n2; rig poweron n3
waits() { [[ $(rig exec "$1" corosync-quorumtool -s) == *WaitForAll* && -n $(st "$1" .group.phase) ]]; }
must 15 "n2 and n3 are up" eval 'waits n2 && waits n3'
never 6 "somebody acted" eval '[[ $(st n2 .group.phase) == synced || $(st n3 .group.phase) == synced || -n $(truth web1) || $(offs n1) != 0 ]]'
needs n2 'waits for all nodes' || fail "n2's status does not say what it waits for: $(st n2 '[.needs[].text] | join("; ")')"
for n in n2 n3; do rig exec "$n" corosync-cmapctl -s quorum.cancel_wait_for_all u8 1 >/dev/null || fail "no such key"; done
must 15 "n2 and n3 form a group" eval '[[ $(st n2 .group.phase) == synced && $(st n3 .group.phase) == synced ]]'
rig bmc n1 ok
must 30 "web1 runs" runs_elsewhere web1 n1
