# lib.sh - sourced by whoever needs a rig: a name of its own, and no trace left behind.
#
#   . tests/rig/lib.sh
#   rig_begin [COUNT]        brings a rig up; it is gone again when this shell ends, however it ends
#   rig VERB ...             see `rig help`
#   at_end CMD...            also run at the end, last given first, before the rig goes down
#   until_true SECONDS CMD...  wait for a condition with a deadline (0.05 s between two looks)
#   guest_files              puts the guest kernel and the console folder on the shared storage
#   vm_xml NAME [MIB]        prints a domain for the tiny guest (uuid made from the name)
#   cluster_files            corosync configuration and key on every node (TOKEN, COEFFICIENT, CONSENSUS)
#   libvirt_files            libvirt configuration on every node
#   boot_file NODE           stdin becomes what NODE runs at every power on
#
# The sourcing script keeps its own traps if it calls rig_end itself.
RIG_LIB=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
RIG_NAME=${RIG_NAME:-r$$}
RIG_STATE=${RIG_STATE:-${TMPDIR:-/tmp}/rig-$UID-$RIG_NAME}
export RIG_NAME RIG_STATE
RIG_ENDINGS=()

rig() { if [[ $1 == up || $1 == down || ! -x $RIG_STATE/rig/rig ]]; then "$RIG_LIB/rig" "$@"; else "$RIG_STATE/rig/rig" "$@"; fi; }
at_end() { RIG_ENDINGS=("$(printf '%q ' "$@")" "${RIG_ENDINGS[@]}"); }
rig_end() {
	local what
	trap '' INT TERM HUP
	for what in "${RIG_ENDINGS[@]}"; do eval "$what" 2>/dev/null; done
	RIG_ENDINGS=()
	rig down
	trap - INT TERM HUP
}
rig_begin() {
	trap 'rig_end' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	# also when this shell is killed outright
	RIG_OWNER=$BASHPID rig up "${1:-3}" || return 1
	NODES=$(rig nodes | xargs)
}

until_true() {
	local end
	end=$(($(date +%s%N) + $1 * 1000000000))
	shift
	until "$@" >/dev/null 2>&1; do
		(($(date +%s%N) < end)) || return 1
		sleep 0.05
	done
}

guest_files() {
	cp "$RIG_STATE/rig/guest.elf" "$RIG_STATE/shared/"
	mkdir -p "$RIG_STATE/shared/console"
}
vm_xml() {
	local sum
	sum=$(printf '%s' "$1" | md5sum | cut -c1-12)
	: >>"$RIG_STATE/shared/console/$1.log"
	sed -e "s/@NAME@/$1/g" -e "s/@UUID@/77aa0000-0000-4000-8000-$sum/" -e "s/@MEMORY@/${2:-32}/" "$RIG_LIB/guest/vm.xml.in"
}
corosync_conf() { "$RIG_LIB/corosync-node.sh" conf "$NODES"; }
cluster_files() {
	local n
	head -c 256 /dev/urandom >"$RIG_STATE/shared/authkey"
	corosync_conf >"$RIG_STATE/shared/corosync.conf"
	for n in $NODES; do rig exec "$n" bash /rig/corosync-node.sh install /shared/corosync.conf /shared/authkey || return 1; done
	rm -f "$RIG_STATE/shared/authkey" "$RIG_STATE/shared/corosync.conf"
}
libvirt_files() { local n; for n in $NODES; do rig exec "$n" bash /rig/libvirt-node.sh config || return 1; done; }
boot_file() { rig exec "$1" sh -c 'mkdir -p /etc/rig; cat >/etc/rig/boot; chmod +x /etc/rig/boot'; }
