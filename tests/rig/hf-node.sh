#!/bin/bash
# hf-node.sh: Holdfast in a node of the rig. The one place that knows its configuration's grammar,
# where its files go and in which order its processes start.
#   conf NODES          prints the cluster file (outside or inside a node)
#   install CONF BUILD [PASSWORD]
#                       inside a node: cluster file, credentials, folders; programs come from BUILD
#   boot [PROGRAM...]   inside a node: starts the daemons (all, or those named), each in a loop that
#                       starts it again 200 ms after it ended, as systemd's Restart=always would
#   fabrics             inside a node: what NICs and their VMs need; before libvirt is started
#   members             inside a node: prints how many nodes are members, 0 if nobody answers
# Environment for conf: HF_TIMING, lines for the section `timing`; HF_PARAMS, lines for the `params`
# of every fence device; HF_WATCHDOG, lines for the section `watchdog` ("timeout: 5s"), which is there
# when this or RIG_WATCHDOG=1 is set; HF_PDUS=1, a second fence level of two power feeds a node
# (fence_rigfeed); HF_BMC_OF_n1=2, the address of n2's BMC for n1's fence device; RIG_FABRICS=1, the
# nodes' NICs, with HF_NICS, lines for the section `nics`, and HF_BFD, lines for both `fabric`s.
PREFIX=${RIG_PREFIX:-10.77}

feed_conf() {   # NODE
	local feed
	for feed in a b; do
		printf 'fence_device feed-%s-%s {\n\tagent: fence_rigfeed\n\tparams {\n\t\tplug: %s-%s\n\t}\n}\n' "$feed" "$1" "$1" "$feed"
	done
}
# NICs: a short hold-down, so that a test sees it end; BFD not so quick that a busy machine is a dead one
nics_conf() {
	local fabric
	printf 'nics {\n%s\n}\n' "${HF_NICS:-$'\thold_down: 2s\n\thold_down_max: 4s'}"
	for fabric in a b; do
		printf 'fabric %s {\n%s\n}\n' "$fabric" "${HF_BFD:-$'\tbfd_interval: 200ms\n\tbfd_multiplier: 3'}"
	done
}
node_nics_conf() {   # NODE
	printf 'nic_a: fabA\n    nic_b: fabB\n    address_a: %s.3.%s\n    address_b: %s.4.%s\n' "$PREFIX" "${1#n}" "$PREFIX" "${1#n}"
}
print_conf() {
	local n bmc levels=''
	[[ -n ${HF_PDUS:-} ]] && levels=yes
	printf 'cluster {\n\tname: rig\n}\n'
	[[ -n ${HF_TIMING:-} ]] && printf 'timing {\n%s\n}\n' "$HF_TIMING"
	[[ -n ${HF_WATCHDOG:-} || ${RIG_WATCHDOG:-} == 1 ]] && printf 'watchdog {\n\tuse: yes\n%s\n}\n' "${HF_WATCHDOG:-}"
	[[ -z ${RIG_FABRICS:-} ]] || nics_conf
	for n; do
		bmc=HF_BMC_OF_$n
		bmc=${!bmc:-${n#n}}
		cat <<-E
		node $n {
		    id: ${n#n}
		    reserve_memory: 64MiB
		    fence_level_1: bmc-$n
		    ${levels:+fence_level_2: feed-a-$n, feed-b-$n}
		    ${RIG_FABRICS:+$(node_nics_conf "$n")}
		}
		fence_device bmc-$n {
		    agent: fence_ipmilan
		    credentials: bmc.cred
		    params {
		        ip: $PREFIX.2.$((100 + bmc))
		        lanplus: 1
		        cipher: 3
		        power_wait: 0
		        ${HF_PARAMS:-}
		    }
		}
		E
		[[ -z $levels ]] || feed_conf "$n"
	done
}
install_files() {   # CONF BUILD [PASSWORD]
	local p
	getent group holdfast >/dev/null || groupadd -r holdfast
	install -d -m 755 /etc/holdfast /var/log/holdfast
	install -d -m 700 /etc/holdfast/fence.d
	install -d -m 750 -g holdfast /var/lib/holdfast
	install -m 644 "$1" /etc/holdfast/holdfast.conf
	install -m 755 /rig/fence_rigfeed /usr/sbin/fence_rigfeed
	(umask 077; printf 'username=admin\npassword=%s\n' "${3:-secret}" >/etc/holdfast/fence.d/bmc.cred)
	for p in holdfastd holdfast holdfast-agent holdfast-fencer holdfast-feeder holdfast-link $(grep -q '^nics {' "$1" && echo holdfast-nicbond); do
		ln -sf "$(find "$2" -maxdepth 4 -type f -perm -100 -name "$p" | head -1)" "/usr/local/sbin/$p"
		[[ -x /usr/local/sbin/$p ]] || { echo "hf-node: no $p below $2" >&2; return 1; }
	done
}
keep() {   # LOGNAME CMD...
	local log=/var/log/holdfast/$1.log
	shift
	while :; do
		"$@" </dev/null >>"$log" 2>&1
		echo "rig: '$*' ended with $?, again in 0.2 s" >>"$log"
		sleep 0.2
	done
}
# Nodes share one kernel and so its boot id; a power on of a node is a boot of its own, and Holdfast
# takes a new one for a proof that what ran before is gone.
own_boot_id() {
	local file=/proc/sys/kernel/random/boot_id
	mountpoint -q "$file" && return
	cat /proc/sys/kernel/random/uuid >/run/boot_id
	mount --bind /run/boot_id "$file"
}
boot() {
	local what
	own_boot_id
	install -d -m 750 -g holdfast /run/holdfast
	for what; do
		case $what in
		holdfastd) set -- holdfastd --config /etc/holdfast/holdfast.conf ;;
		holdfast-fencer) set -- holdfast-fencer ;;
		holdfast-feeder) set -- bash "$0" _feeder ;;
		host) set -- holdfast-agent host --uuid /run/rig/product_uuid ;;
		vm) set -- holdfast-agent vm ;;
		holdfast-nicbond) set -- holdfast-nicbond --config /etc/holdfast/holdfast.conf ;;
		*) echo "hf-node: what is $what?" >&2; exit 2 ;;
		esac
		setsid bash "$0" _keep "$what" "$@" >/dev/null 2>&1 </dev/null &
	done
}

verb=${1:-}
shift
case $verb in
conf) print_conf $* ;;
install) install_files "$@" ;;
boot) if [[ $# -gt 0 ]]; then boot "$@"; else boot holdfastd host vm holdfast-fencer holdfast-feeder; fi ;;
fabrics)
	# made when a VM is, by who would make them if there were a udev
	mkdir -p /run/card
	setsid /rig/fabtool tapnodes >/dev/null 2>&1 </dev/null &
	boot holdfast-nicbond
	;;
members)
	holdfast status --json 2>/dev/null | python3 -c '
import json, sys
try:
    nodes = json.load(sys.stdin).get("nodes", [])
except ValueError:
    nodes = []
print(sum(n.get("state") == "member" for n in nodes))'
	;;
_keep) keep "$@" ;;
_feeder)
	# the rig's watchdog, as it is now: `rig watchdog` changes it and ends the feeder
	[[ -r /run/rig-watchdog/env ]] && . /run/rig-watchdog/env
	exec holdfast-feeder
	;;
*) sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
