# P15: /var/lib/holdfast is full on both survivors: an alarm, and the failover works as ever.
vm web1 n1
for n in n2 n3; do
	daemon_stop "$n"
	rig exec "$n" mount -t tmpfs -o size=64k tmpfs /var/lib/holdfast || fail "no small disk"
	rig exec "$n" sh -c 'head -c 65536 /dev/zero >/var/lib/holdfast/filler 2>/dev/null; chgrp holdfast /var/lib/holdfast; chmod 750 /var/lib/holdfast'
	daemon_start "$n"
	must 10 "$n is a member" eval "[[ \$(node_state n1 $n) == member ]]"
done
kill -9 "$(truth_pid web1)"
must 10 "web1 is back" runs_on web1 n1
must 10 "status complains of the disk" eval 'st n2 ".daemon.journal.broken and (.needs | any(.text | test(\"journal\")))"'
T0=$(rig now)
rig poweroff n1
must 15 "web1 runs elsewhere" runs_elsewhere web1 n1
note "recovered within $(since_t0)"
for n in n2 n3; do
	rig exec "$n" umount -l /var/lib/holdfast
	daemon_stop "$n"
	daemon_start "$n"
	must 15 "$n is a member again" eval "[[ \$(st $n .group.phase) == synced ]]"
done
