# group.sh - a Holdfast group on the rig, for `run` and `rounds`: brought up, brought back to a clean
# state, asked, and compared with the truth. Sourced after lib.sh.
#
#   group_kind KIND     what the next group is like: plain, watchdog, levels, strict, swapped, password, fabrics
#   group_up            rig, corosync, libvirt, Holdfast on every node, three members, armed
#   group_heal          undo every fault, power on what is off, start again what was killed
#   group_settle        ... and wait until all members agree with each other and with the processes
#   group_clear         take every VM out, end every maintenance, arm
#   hf NODE ARGS...     the command `holdfast` against NODE's daemon, run outside the node
#   st NODE FILTER      jq FILTER of NODE's status; fails where that is null or false
#   about BY NODE FILTER  the same of what BY says of NODE
#   truth VM            "NODE PID" of every qemu of VM that is really there
#
# HF_BIN: folder of the programs. W: folder for what is observed (proc, and logs of a failed case).
. "$RIG_LIB/fabrics.sh"
export TOKEN=${TOKEN-1000} COEFFICIENT=${COEFFICIENT-0} CONSENSUS=${CONSENSUS-1200}
export RIG_POST=${RIG_POST:-0} RIG_BIND=$HF_BIN
# Shorter than the defaults, in the same order to each other, so that a test sees each of them end.
# A real BMC that is unreachable costs fence_ipmilan its power_timeout. Tests fence and return all
# the time: where that is not what is looked at, it must not count.
GROUP_TIMING=$'\tsilent_grace: 4s\n\tstartup_grace: 12s\n\tstable: 1s\n\tstart_deadline: 8s\n\tstop_deadline: 20s\n\tfence_deadline: 15s\n\tfence_retry: 1s, 2s\n\trestart_backoff: 0s, 1s\n\tflap_window: 1min'
GROUP_PATIENT=$'\n\tsettle: 1s\n\treturns_max: 255\n\tstorm_fences: 255'
GROUP_STRICT=$'\n\tsettle: 4s\n\treturns_max: 3\n\tstorm_fences: 1'
export HF_TIMING=${HF_TIMING-$GROUP_TIMING$GROUP_PATIENT}
GROUP_KIND=plain GROUP_ARMS=yes
export HF_PARAMS=${HF_PARAMS-power_timeout: 4}
SLOW=${SLOW:-1}                     # deadlines are multiplied by it: for a loaded machine

# W and L of a group with watchdogs, in seconds. L is the default, and hardly more than a ring that is formed anew
# may take at this token: shorter, and a blip ends VMs.
GROUP_W=2 GROUP_L=4
group_kind() {
	export RIG_FABRICS='' RIG_WATCHDOG='' HF_WATCHDOG='' HF_PDUS='' HF_BMC_OF_n1='' HF_BMC_OF_n2='' RIG_BMC_PASS=''
	HF_TIMING=$GROUP_TIMING$GROUP_PATIENT
	GROUP_ARMS=yes
	GROUP_KIND=$1
	case $1 in
	plain) ;;
	watchdog) RIG_WATCHDOG=1 HF_WATCHDOG=$'\ttimeout: '${GROUP_W}s$'\n\tlease: '${GROUP_L}s ;;
	levels) HF_PDUS=1 HF_TIMING=${HF_TIMING/fence_deadline: 15s/fence_deadline: 6s} ;; # two feeds a node behind its BMC
	strict) HF_TIMING=$GROUP_TIMING$GROUP_STRICT ;;
	fabrics) RIG_FABRICS=1 ;;   # NICs, and VMs with a leg in each fabric: fabrics.sh
	swapped) HF_BMC_OF_n1=2 HF_BMC_OF_n2=1 GROUP_ARMS='' ;; # the address of the other's BMC
	password) RIG_BMC_PASS=pw$RANDOM$RANDOM$RANDOM ;;   # a word that is nowhere else; at most 20 letters
	*) echo "no group of the kind '$1'" >&2; return 1 ;;
	esac
}
# T_safe of that group, in nanoseconds: fencing/README.md
safe_ns() { echo $(((GROUP_L + 2 * GROUP_W) * 1010000000 + 1000000000)); }

hf() {
	local n=$1 p=''
	shift
	read -r p 2>/dev/null <"$RIG_STATE/node/$n/pid"
	[[ -n $p ]] || return 3
	timeout 60 "$HF_BIN/holdfast" "$@" --socket "/proc/$p/root/run/holdfast/ctl.sock"
}
# jq -e is content with no input at all: no answer must not pass for a yes
st() { local said; said=$(hf "$1" status --json 2>/dev/null) && [[ $said == {* ]] && jq -er "$2" <<<"$said"; }
truth() { rig qemus | awk -v vm="$1" '$3 == vm {print $1, $2}'; }
truth_node() { truth "$1" | cut -d' ' -f1; }
truth_pid() { truth "$1" | cut -d' ' -f2; }
about() { st "$1" ".nodes[] | select(.name == \"$2\") | $3"; }
node_state() { st "$1" ".nodes[] | select(.name == \"$2\") | .state"; }
vm_state() { st "$1" ".vms[] | select(.name == \"$2\") | .state"; }
powered() { [[ $(<"$RIG_STATE/node/$1/power") == on ]]; }
# of the first node that answers, but for those named
any_node() {
	local n
	for n in $NODES; do
		[[ " $* " == *" $n "* ]] && continue
		powered "$n" && [[ $(st "$n" .group.phase) == synced ]] && echo "$n" && return
	done
	return 1
}
other_nodes() { local n; for n in $NODES; do [[ " $* " == *" $n "* ]] || echo "$n"; done; }

# ---- up -------------------------------------------------------------------------------------
group_boot_file() {
	boot_file "$1" <<-E
	#!/bin/bash
	${RIG_FABRICS:+bash /rig/hf-node.sh fabrics}
	bash /rig/libvirt-node.sh start &
	bash /rig/corosync-node.sh start &
	bash /rig/hf-node.sh boot
	exec setsid /rig/quorumwatch ${1#n} >>/var/log/quorum 2>&1 </dev/null
	E
}
group_install_node() {
	rig exec "$1" bash /rig/hf-node.sh install /shared/holdfast.conf "$HF_BIN" "${RIG_BMC_PASS:-}" && group_boot_file "$1"
}
group_install() {
	local n pids=() p
	guest_files
	[[ -z ${RIG_FABRICS:-} ]] || fabric_files || return 1
	cluster_files && libvirt_files || return 1
	bash "$RIG_LIB/hf-node.sh" conf "$NODES" >"$RIG_STATE/shared/holdfast.conf"
	for n in $NODES; do group_install_node "$n" & pids+=($!); done
	for p in "${pids[@]}"; do wait "$p" || return 1; done
}
# libvirt keeps what it learns of its emulator on disk; a host in use has asked long before
group_warm() {
	local n pids=() p
	for n in $NODES; do
		rig exec "$n" virsh domcapabilities --virttype qemu --machine q35 >/dev/null 2>&1 & pids+=($!)
	done
	for p in "${pids[@]}"; do wait "$p" || return 1; done
}
libvirt_answers() { local n; for n in $NODES; do rig exec "$n" test -S /run/libvirt/libvirt-sock || return 1; done; }
group_up() {
	local n
	rig_begin 3 || return 1
	# it must not outlive this shell, however that ends
	setpriv --pdeathsig KILL "$RIG_STATE/rig/rigtool" procwatch "/$RIG_NAME" >"$W/proc" &
	at_end kill $!
	if [[ -n ${HF_PDUS:-} ]]; then
		feeds_on
		feeds_watch & at_end kill $!
	fi
	group_install || { echo "the group could not be installed"; return 1; }
	for n in $NODES; do rig daemon "$n" /etc/rig/boot; done
	until_true $((20 * SLOW)) libvirt_answers || { echo "libvirtd does not come up"; return 1; }
	group_warm || { echo "libvirtd does not answer"; return 1; }
	until_true $((30 * SLOW)) group_members || { echo "no group of three members forms"; return 1; }
	[[ -z $GROUP_ARMS ]] || hf n1 arm >/dev/null || { echo "the group cannot be armed"; return 1; }
}
group_members() {
	local n
	for n in $NODES; do
		st "$n" '.group.phase == "synced" and ([.nodes[] | select(.state == "member" and .vm_watch and .link_fit)] | length == 3)' || return 1
	done
}

# ---- power feeds: what `fence_rigfeed` switches ---------------------------------------------------
# shared/feed/n1-a says on or off; the agent asks in n1-a.want. A node whose feeds are both off has no
# power, and neither has its BMC. n1-a.fails: that switch does not do what it is told.
feeds_on() {
	local n f
	mkdir -p "$RIG_STATE/shared/feed"
	rm -f "$RIG_STATE/shared/feed/"*
	for n in $NODES; do for f in a b; do echo on >"$RIG_STATE/shared/feed/$n-$f"; done; done
}
feeds_watch() {
	local d=$RIG_STATE/shared/feed n f w
	trap - EXIT
	while sleep 0.05; do
		for w in "$d"/*.want; do
			[[ -s $w ]] || continue
			f=${w%.want} n=${w##*/} n=${n%-?.want}
			if [[ $(<"$w") == off && $(cat "$d/$n"-[ab] | xargs) == @(on off|off on) && $(<"$f") == on ]]; then
				rig poweroff "$n" --ac
			fi
			cat "$w" >"$f"
			rm -f "$w"
		done
	done
} 2>/dev/null
feed_fails() { : >"$RIG_STATE/shared/feed/$1.fails"; }
feed_works() { rm -f "$RIG_STATE/shared/feed/$1.fails"; }

# ---- back to clean --------------------------------------------------------------------------
# what systemd would have started again
group_services() {
	local n=$1 what
	[[ -n $(rig pids "$n" '^(bash )?/etc/rig/boot|^quorumwatch') ]] || return 1           # not booted so far
	[[ -n $(rig pids "$n" '(corosync|libvirt)-node.sh start') ]] && return 1              # or in the middle of it
	[[ -n $(rig pids "$n" '^libvirtd') ]] || rig exec "$n" bash /rig/libvirt-node.sh start
	[[ -n $(rig pids "$n" '^corosync') ]] || rig exec "$n" bash /rig/corosync-node.sh start
	for what in holdfastd host vm holdfast-fencer holdfast-feeder ${RIG_FABRICS:+holdfast-nicbond}; do
		[[ -n $(rig pids "$n" "hf-node.sh _keep $what ") ]] || rig exec "$n" bash /rig/hf-node.sh boot "$what"
	done
} 2>/dev/null
group_heal() {
	local n
	rig heal
	[[ -z ${HF_PDUS:-} ]] || feeds_on
	for n in $NODES; do
		rig bmc "$n" ok
		[[ -z ${RIG_WATCHDOG:-} || $(<"$RIG_STATE/node/$n/wd/mode") == on ]] || rig watchdog "$n" on
		if powered "$n"; then rig resume "$n"; else rig poweron "$n"; fi
	done
}
# prints why not
group_agrees() { python3 "$RIG_LIB/judge.py" agree "$RIG_STATE" "$RIG_NAME" "$HF_BIN" $NODES; }
# who has left with notice and is here all the same stays out until a person says so
group_return() {
	local by n
	by=$(any_node) || return
	for n in $(st "$by" '.nodes[] | select(.left and .present) | .name'); do hf "$by" undrain "$n"; done
} >/dev/null 2>&1
# a node whose NIC is held down gets no VM if another has both
group_nics_up() {
	local by
	[[ -n ${RIG_FABRICS:-} ]] || return 0
	by=$(any_node) && st "$by" '[.nodes[].fabrics[].state] | length > 0 and all(. == "up")' >/dev/null || { echo "not all NICs are up"; return 1; }
}
group_settle() {   # SECONDS
	local end=$((SECONDS + $1 * SLOW)) n why
	group_heal
	until why=$(group_agrees 2>&1) && why=$(group_nics_up); do
		((SECONDS < end)) || { echo "${why:-no answer}"; return 1; }
		# a fence that was under way may end only now: nobody but us powers a host on again
		for n in $NODES; do if powered "$n"; then group_services "$n"; else rig poweron "$n"; fi; done
		group_return
		sleep 0.1
	done
}
group_clear() {
	local n vm why
	n=$(any_node) || { echo "no node is synced"; return 1; }
	for why in $(st "$n" '.nodes[] | select(.maintenance) | .name'); do hf "$n" undrain "$why" >/dev/null; done
	st "$n" .group.armed >/dev/null || hf "$n" arm >/dev/null
	st "$n" .group.storm >/dev/null && hf "$n" arm >/dev/null
	for vm in $(st "$n" '.vms[].name'); do
		hf "$n" vm stop "$vm" --wait --timeout $((25 * SLOW))s >/dev/null 2>&1
		why=$(hf "$n" vm remove "$vm" 2>&1) || { echo "$vm cannot be removed: $why"; return 1; }
	done
	# who came back often has to wait for VMs longer each time; what another test did must not count
	for why in $(st "$n" '.nodes[] | select(.returns > 0) | .name'); do
		hf "$n" drain "$why" >/dev/null
		hf "$n" undrain "$why" >/dev/null
	done
	# a path that was bad is tried again within a minute by itself
	for why in $(st "$n" '.nodes[] | select(any(.fence_paths[]; .path != "ok")) | .name'); do
		[[ -z $GROUP_ARMS ]] || hf "$(any_node "$why")" fence test "$why" >/dev/null || { echo "$why could not be fenced"; return 1; }
	done
	[[ -z $(rig qemus) ]] || { echo "left over: $(rig qemus | xargs)"; return 1; }
}

# ---- what a test does ------------------------------------------------------------------------
# VM NODE [OPTIONS of vm add]: a new VM that runs on NODE (on "-": wherever it goes)
vm_add() {
	local vm=$1 node=$2 by
	shift 2
	vm_xml "$vm" >"$RIG_STATE/shared/$vm.xml"
	[[ $node == - ]] || set -- --preferred "$node" "$@"
	by=$(any_node) || return 1
	hf "$by" vm add "$RIG_STATE/shared/$vm.xml" --stop-grace 200ms "$@" >/dev/null
}
runs_on() {   # VM NODE: one qemu, there, and a member says so
	local by
	[[ $(truth_node "$1") == "$2" ]] || return 1
	by=$(any_node) && [[ $(st "$by" ".vms[] | select(.name == \"$1\") | .state + \" \" + .node") == "running $2" ]] || return 1
	[[ -z ${CASE:-} ]] || : >"$CASE/ran"     # so its qemu has to be among what the judge saw
}
runs_elsewhere() {   # VM NODES...: one qemu, on none of them, and a member says so
	local at vm=$1
	shift
	at=$(truth_node "$vm")
	[[ $at == n? && " $* " != *" $at "* ]] && runs_on "$vm" "$at"
}
isolate() { rig cut "$1" ring0; rig cut "$1" ring1; }
# how often somebody told NODE's BMC to switch it off, since rig time T0
offs() { rig events | awk -v t="$T0" -v n="$1" '$1 > t && $2 == "bmc" && $3 == n && $5 == "power" && $6 == 0' | wc -l; }
all_offs() { local n sum=0; for n in $NODES; do sum=$((sum + $(offs "$n"))); done; echo $sum; }
# the daemon of NODE, and whoever starts it again
daemon_stop() { rig kill "$1" "hf-node.sh _keep holdfastd"; rig kill "$1" holdfastd; }
daemon_start() { rig exec "$1" bash /rig/hf-node.sh boot holdfastd; }
# AGENT SCRIPT NODES...: on NODES, AGENT does what SCRIPT says; until the next power on, or agent_real
agent_fake() {
	local agent=$1 n
	printf '#!/bin/sh\n%s\n' "$2" >"$RIG_STATE/shared/$agent"
	chmod 755 "$RIG_STATE/shared/$agent"
	shift 2
	for n; do
		rig exec "$n" sh -c "install -d -m 755 /run/fake && install -m 755 /shared/$agent /run/fake/ && mount --bind /run/fake/$agent /usr/sbin/$agent" || return 1
	done
}
agent_real() { local agent=$1 n; shift; for n; do rig exec "$n" umount -l "/usr/sbin/$agent"; done; }
