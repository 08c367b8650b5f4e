# Hooks for the floor: corosync membership + fence_ipmilan + virsh and nothing else (floor-node.sh).
HOOK_LOGS=(floor.log)
HOOK_MARKS=('fence_begin|fencing {V}' 'fence_ok|fenced {V}' 'noticed|vm1 died' 'start_ok|vm1 running')
hook_setup() {
	local n
	cluster_files && libvirt_files || return 1
	cp "$BENCH/floor-node.sh" "$RIG_STATE/shared/"
	for n in $NODES; do
		boot_file "$n" <<-'E'
		#!/bin/bash
		bash /rig/libvirt-node.sh start
		bash /rig/corosync-node.sh start
		exec setsid bash /shared/floor-node.sh
		E
	done
}
hook_start() { local n; for n in $NODES; do rig daemon "$n" /etc/rig/boot; done; until_true 30 hook_is_ready; }
hook_define_vm() { rig exec n3 virsh -q create /shared/vm1.xml && echo n3 >"$RIG_STATE/shared/floor.owner"; }
hook_is_ready() {
	local n
	for n in $NODES; do
		rig exec "$n" corosync-quorumtool -s 2>/dev/null | grep -q 'Nodes: *3' || return 1
		[[ -n $(rig pids "$n" '^floorwatch') && -n $(rig pids "$n" '^virsh event') ]] || return 1
	done
}
hook_clean() { :; }
hook_version() { corosync -v | head -1; }
