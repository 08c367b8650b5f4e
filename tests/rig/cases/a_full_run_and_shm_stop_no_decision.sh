# P15: /run and /dev/shm of n1 are full: nothing is shot, what runs runs on, and a VM that dies is made good.
vm web1 n1
pid=$(truth_pid web1)
fill() {
	rig exec n1 sh -c 'for d in /run /dev/shm; do
		used=$(df -k --output=used $d | tail -n 1)
		mount -o remount,size=$((used + 64))k $d && dd if=/dev/zero of=$d/filler bs=4k 2>/dev/null
		[ $(df -k --output=avail $d | tail -n 1) -lt 4 ] || exit 1
	done'
}
empty() { rig exec n1 sh -c 'for d in /run /dev/shm; do rm -f $d/filler; mount -o remount,size=50% $d; done'; }
fill || fail "they cannot be filled"
never 5 "it had a consequence" eval '[[ $(truth web1) != "n1 $pid" || $(all_offs) != 0 || $(node_state n2 n1) != member ]]'
kill -9 "$pid"
must 40 "web1 runs again" runs_elsewhere web1
note "web1 runs on $(truth_node web1) $(since_t0) after its end"
is "$(all_offs)" 0 || fail "somebody was fenced for it"
empty
must 15 "all three agree" group_agrees
