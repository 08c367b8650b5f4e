#!/bin/bash
# floor-node.sh: the least that could restart a VM elsewhere, as a lower bound for the bench. Not a
# product: no safety beyond "quorate, lowest member, fence confirmed", no self-fencing, one VM.
me=${HOSTNAME#n}
log() { echo "$(date +%T.%N) $*" >>/var/log/floor.log; }
start_vm() {
	virsh -q create /shared/vm1.xml >>/var/log/floor.log 2>&1 || return
	echo "$HOSTNAME" >/shared/floor.owner
	log "vm1 running"
}
(
	stdbuf -oL virsh event --loop --event lifecycle | while read -r l; do
		[[ $l == *"'vm1': Stopped"* ]] && { log "vm1 died: $l"; start_vm; }
	done
) &
old=
(exec -a floorwatch /rig/quorumwatch "$me") | while read -r t n what q mem; do
	[[ $what == nodes ]] || continue
	mem=,${mem#members=},
	for i in 1 2 3; do
		[[ $old == *,$i,* && $mem != *,$i,* ]] || continue
		[[ $(cat /shared/floor.owner) == "n$i" ]] || continue
		IFS=, read -r _ low second _ <<<"$mem"
		[[ $low == "$me" && -n $second ]] || continue
		log "fencing n$i"
		printf '%s\n' action=off "ip=10.77.2.10$i" username=admin password=secret lanplus=1 cipher=3 power_wait=0 |
			fence_ipmilan >>/var/log/floor.log 2>&1 && { log "fenced n$i"; start_vm; }
	done
	old=$mem
done
