# Hooks for Holdfast. HF_BUILD is the build folder; it is bound into every node (see `failover`).
# Its own stamps come from `holdfast events --json -f` in every node, gathered in $W/own.
HOOK_LOGS=()
HOOK_MARKS=()
if [[ ,$FAULTS, == *,powercut-ac,* ]]; then
	export RIG_WATCHDOG=1 HF_WATCHDOG="    timeout: ${WATCHDOG}s
    lease: ${LEASE}s"
fi
hook_setup() {
	local n
	[[ -d ${HF_BUILD:-} ]] || { echo "failover: HF_BUILD is not a build folder" >&2; return 1; }
	cluster_files && libvirt_files || return 1
	bash "$RIG_LIB/hf-node.sh" conf "$NODES" >"$RIG_STATE/shared/holdfast.conf"
	for n in $NODES; do
		rig exec "$n" bash /rig/hf-node.sh install /shared/holdfast.conf "$HF_BUILD" || return 1
		boot_file "$n" <<-'E'
		#!/bin/bash
		bash /rig/libvirt-node.sh start
		bash /rig/corosync-node.sh start
		bash /rig/hf-node.sh boot
		E
	done
}
hook_start() { local n; for n in $NODES; do rig daemon "$n" /etc/rig/boot; done; until_true 60 hook_is_ready; }
hook_define_vm() {
	rig exec n1 holdfast vm add vm1 /shared/vm1.xml >&2 && rig exec n1 holdfast arm >&2
}
hook_is_ready() {
	local n
	for n in $NODES; do [[ $(rig exec "$n" bash /rig/hf-node.sh members) == 3 ]] || return 1; done
}
# a follower in every node; a node that was off gets a new one
hook_observe() {
	local n
	for n in $NODES; do
		[[ -n $(rig pids "$n" '^holdfast events') ]] && continue
		(rig exec "$n" holdfast events --json -f 2>/dev/null | sed -u "s/^/$n /" >>"$W/own") &
	done
}
# what the group has been told of the victim's watchdog and waits for, in ms; asked of another node
hook_armed() {
	local by
	[[ -n ${RIG_WATCHDOG:-} ]] || return 0
	for by in $NODES; do [[ $by != "$1" ]] && break; done
	rig exec "$by" holdfast status --json 2>/dev/null | python3 -c '
import json, sys
w = next(n for n in json.load(sys.stdin)["nodes"] if n["name"] == sys.argv[1])["watchdog"]
if w["state"] != "armed":
    sys.exit(1)
print(w["timeout_ms"], w["lease_ms"], w["safe_ms"])' "$1" >"$W/watchdog" 2>/dev/null
}
hook_clean() { :; }
hook_version() { rig exec n1 holdfast --version 2>/dev/null | head -1; corosync -v | head -1; }
