# The BMCs' password ("secret") through a self-test, a fence and a switching on. fence_ipmilan gives it to ipmitool
# in argv: that is the known limit of fencing/README.md, and the only exception here.
vm web1 n1
hf n2 fence test n1 >/dev/null || fail "the test of n1 says that all is not well"
hf n2 fence n1 --yes --reason "trial" >/dev/null || fail "the order is refused"
must 20 "web1 runs elsewhere" runs_elsewhere web1 n1
hf n2 fence on n1 >/dev/null || fail "n1 cannot be switched on"
must 40 "n1 is a member again" eval '[[ $(node_state n2 n1) == member ]]'
# qemu has objects of a type of that name; they are libvirt's
jq -r "select(.ev == \"exec\" and .t > $T0) | .cmd" "$W/proc" 2>/dev/null |
	sed 's/"qom-type":"secret"//' | grep -F secret >"$CASE/seen"
known='(^|/)ipmitool .* -P .?secret.? .*chassis power (status|on|off)'
grep -Evq "$known" "$CASE/seen" && fail "in argv: $(grep -Ev "$known" "$CASE/seen" | head -n 1)"
grep -Eq "$known" "$CASE/seen" || fail "not even the known limit was seen: this looks in the wrong place"
grep -q ' raw 0x06 0x37' < <(jq -r "select(.ev == \"exec\" and .t > $T0) | .cmd" "$W/proc") || fail "no BMC was asked which host it is in"
note "the agent's own call $(wc -l <"$CASE/seen") times"
for n in $NODES; do
	p=$(<"$RIG_STATE/node/$n/pid")
	for d in var/log/holdfast var/lib/holdfast run/holdfast; do
		found=$(grep -rlF secret "/proc/$p/root/$d" 2>/dev/null) && fail "on the disk of $n: $found"
	done
	found=$(grep -lF secret $(sed 's,.*,/proc/&/environ,' <(rig pids "$n" holdfast)) 2>/dev/null) && fail "in an environment: $found"
	found=$(cd "/proc/$p/root" && ls core* tmp/core* 2>/dev/null) && fail "a core on $n: $found"
	for what in status events; do hf "$n" $what --json 2>/dev/null | grep -F secret && fail "$n prints it: $what"; done
done
true
