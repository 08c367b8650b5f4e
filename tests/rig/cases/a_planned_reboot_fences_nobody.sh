# O9: n1 is to be rebooted: `leave` empties it and announces it, it goes and comes back: nobody is fenced, nothing
# complains, and it gets VMs again. Once it is away for longer than the ring needs to miss it, once it is back sooner.
nobody_minds() {
	st n2 '.needs | all(.name != "n1")' >/dev/null || fail "status complains of n1: $(st n2 '[.needs[] | select(.name == "n1") | .text] | join("; ")')"
	is "$(all_offs)" 0 || fail "somebody was fenced for it"
	no_event n2 '.now == "lost" or .now == "fencing"' || fail "somebody was taken for lost, or n2 does not tell"
}
leaves() {
	hf n2 leave n1 --wait --timeout 60s >/dev/null || fail "n1 cannot leave"
	about n2 n1 .left >/dev/null || fail "it has not left"
	[[ -z $(truth web1 | grep n1) ]] || fail "web1 is still there"
	must 10 "web1 runs elsewhere" runs_elsewhere web1 n1
	T0=$(rig now)
}
in_service() {
	must 40 "n1 is a member again" eval '[[ $(node_state n2 n1) == member ]]'
	note "back after $(since_t0)"
	must 5 "n1 is in service" about n2 n1 '(.maintenance or .leaving or .left or .passive) | not'
	nobody_minds
	hf n2 vm move web1 n1 --wait >/dev/null || fail "web1 may not go back to it"
	runs_on web1 n1 || fail "web1 is on $(truth web1)"
}
vm web1 n1
vm web2 n2
leaves
rig exec n1 busybox poweroff -f
must 15 "n1 is away" about n2 n1 '.present | not'
nobody_minds
rig poweron n1
in_service
leaves
rig exec n1 busybox reboot -f
must 15 "n1 has been away" event n2 '.name == "n1" and .now == "joining"'
in_service
