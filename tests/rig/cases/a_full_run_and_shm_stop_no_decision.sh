# P15: /run and /dev/shm of n1 are full: nothing is shot, what runs runs on, and a VM that dies is made good. It is an
# alarm of that node as long as it is so, and an event when it begins and when it ends.
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
full() { needs n1 "file system of /run/holdfast is nearly full" n1 && needs n1 "file system of /dev/shm is nearly full" n1; }
roomy() { st n1 '.needs | any(.text | test("nearly full")) | not'; }
told() { event n1 ".kind == \"note\" and (.text | test(\"^/run/holdfast $1\"))" && event n1 ".kind == \"note\" and (.text | test(\"^/dev/shm $1\"))"; }
roomy || fail "there is no room before"
fill || fail "they cannot be filled"
must 5 "it is an alarm" full
must 2 "it is an event" told "is nearly full"
never 5 "it had a consequence" eval '[[ $(truth web1) != "n1 $pid" || $(all_offs) != 0 || $(node_state n2 n1) != member ]]'
kill -9 "$pid"
must 40 "web1 runs again" runs_elsewhere web1
note "web1 runs on $(truth_node web1) $(since_t0) after its end"
is "$(all_offs)" 0 || fail "somebody was fenced for it"
empty
must 5 "the alarm ends" roomy
must 2 "its end is an event" told "has room again"
must 15 "all three agree" group_agrees
