# fabrics.sh - a VM with a leg in each fabric, and the traffic through it. Sourced by group.sh; a group
# of the kind `fabrics` has what it needs.
#
#   fabric_files             Linux and initramfs for such guests onto the shared storage
#   fabric_vm NAME NODE [WORDS]  a VM with real bonding on NODE, up, traffic flowing; WORDS go onto the
#                            guest's command line (guest/init). One at a time: there is one address
#   guest LINE               have the guest's shell run LINE
#   leg                      a or b: by which fabric the guest's bond sends; other LEG
#   flows [SINCE]            during the last second, all of it after SINCE, (nearly) everything came back, and TCP moves
#   flowed FROM [TO]         one line: what was lost, the longest gap, and whether TCP lives
#   traffic FROM [TO] JQ     a figure of that
#   card NODE VM on|off      the PFs' carrier is told to the VM's NICs, as a card does for a VF in link
#                            state auto. Without, and at first: a VF's carrier stays whatever happens
FABRIC_GUEST=10.77.5.10
FABRIC_MS=1000000

fabric_files() {
	local linux
	linux=$(bash "$RIG_LIB/guest/linux.sh" "${RIG_LINUX:-$(dirname "$HF_BIN")/guest}") || return 1
	cp "$linux/vmlinuz" "$RIG_STATE/shared/vmlinuz" &&
		bash "$RIG_LIB/guest/initrd.sh" "$linux" "$RIG_STATE/shared/initrd" "$RIG_STATE/rig/stream" "$HF_BIN/holdfast-guest"
}
fabric_xml() {   # NAME WORDS
	local sum mac
	sum=$(printf '%s' "$1" | md5sum | cut -c1-12)
	mac=52:54:00:${sum:0:2}:${sum:2:2}
	: >>"$RIG_STATE/shared/console/$1.log"
	sed -e "s/@NAME@/$1/g" -e "s/@UUID@/77aa0000-0000-4000-8000-$sum/" -e "s/@ADDRESS@/$FABRIC_GUEST/" \
		-e "s/@WORDS@/$2/" -e "s/@MAC_A@/$mac:0a/" -e "s/@MAC_B@/$mac:0b/" "$RIG_LIB/guest/fabric.xml.in"
}
fabric_boots() { grep -c GUEST-UP "$RIG_STATE/shared/console/$1.log"; }
fabric_booted() { (($(fabric_boots "$1") > $2)); }
# Dies with the shell that asked for it.
fabric_meter() {
	FABRIC_SEEN=$RIG_STATE/shared/traffic.$RANDOM
	setpriv --pdeathsig KILL "$RIG_STATE/rig/rig" peer "$RIG_STATE/rig/stream" meter "$FABRIC_SEEN" "$FABRIC_GUEST" 7 &
	FABRIC_METER=$!
}
fabric_meter_end() { kill "$FABRIC_METER" 2>/dev/null; rm -f "$FABRIC_SEEN"; }
fabric_vm() {
	local vm=$1 node=$2 words=${3:-} by boots
	fabric_xml "$vm" "$words" >"$RIG_STATE/shared/$vm.xml"
	boots=$(fabric_boots "$vm")
	by=$(any_node) || fail "no member to ask"
	hf "$by" vm add "$RIG_STATE/shared/$vm.xml" --stop-grace 200ms --preferred "$node" >/dev/null || fail "$vm cannot be added"
	must 20 "$vm runs on $node" runs_on "$vm" "$node"
	must 40 "the guest is up" fabric_booted "$vm" "$boots"
	fabric_meter
	until_true $((20 * SLOW)) flows || fail "no traffic at first: $(flowed $(($(rig now) - 2000 * FABRIC_MS)))"
}
guest() { rig peer "$RIG_STATE/rig/stream" order "$FABRIC_GUEST" 8 "$1"; }
leg() {
	case $(guest 'cat /sys/class/net/bond0/bonding/active_slave') in
	eth0) echo a ;;
	eth1) echo b ;;
	*) echo none ;;
	esac
}
other() { if [[ $1 == a ]]; then echo b; else echo a; fi; }
traffic() {   # FROM [TO] JQ
	local filter=${*: -1}
	"$RIG_STATE/rig/stream" show "$FABRIC_SEEN" "${@:1:$#-1}" | jq -er "$filter"
}
# not the newest echoes: they are still on their way; nor those from before SINCE
flows() {
	local now
	now=$(rig now)
	((now - 1200 * FABRIC_MS >= ${1:-0})) || return 1
	traffic $((now - 1200 * FABRIC_MS)) $((now - 200 * FABRIC_MS)) \
		'.sent > 500 and .lost * 10 < .sent and .tcp == "alive" and .tcp_open < 20' >/dev/null
}
flowed() { traffic "$@" '"\(.lost) of \(.sent) lost, longest gap \(.gap_ms | floor) ms, TCP \(.tcp)"'; }
card() {   # NODE VM on|off
	[[ -n $(rig pids "$1" "^fabtool card /run/card/$2 ") ]] ||
		rig daemon "$1" /rig/fabtool card "/run/card/$2" /run/card/told fabA ua-leg-a fabB ua-leg-b
	if [[ $3 == on ]]; then rig exec "$1" touch /run/card/told; else rig exec "$1" rm -f /run/card/told; fi
}
