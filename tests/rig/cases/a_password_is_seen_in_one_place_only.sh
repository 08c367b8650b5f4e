# with: password
# The BMCs' password, a word of this run, through a self-test, a fence and a switching on. fence_ipmilan gives it to ipmitool
# in argv: that is the known limit of fencing/README.md, and the only exception here.
word=$RIG_BMC_PASS
[[ ${#word} -ge 8 ]] || fail "the word is '$word'"
rig exec n2 grep -qF "$word" /etc/holdfast/fence.d/bmc.cred || fail "it is not the password"
T0=$(rig now)                      # without the search itself
vm web1 n1
hf n2 fence test n1 >/dev/null || fail "the test of n1 says that all is not well"
hf n2 fence n1 --yes --reason "trial" >/dev/null || fail "the order is refused"
must 20 "web1 runs elsewhere" runs_elsewhere web1 n1
hf n2 fence on n1 >/dev/null || fail "n1 cannot be switched on"
must 40 "n1 is a member again" eval '[[ $(node_state n2 n1) == member ]]'
execs() { jq -r "select(.ev == \"exec\" and .t > $T0) | .cmd" "$W/proc" 2>/dev/null; }
execs | grep -F "$word" >"$CASE/seen"
known="(^|/)ipmitool .* -P .?$word.? .*chassis power (status|on|off)"
grep -Evq "$known" "$CASE/seen" && fail "in argv: $(grep -Ev "$known" "$CASE/seen" | head -n 1)"
grep -Eq "$known" "$CASE/seen" || fail "not even the known limit was seen: this looks in the wrong place"
execs | grep ' raw 0x06 0x37' >/dev/null || fail "no BMC was asked which host it is in"
note "the agent's own call $(wc -l <"$CASE/seen") times"
written() { grep -rlF -D skip "$word" "$@" 2>/dev/null; }
for n in $NODES; do
	p=$(<"$RIG_STATE/node/$n/pid")
	[[ -n $(written "/proc/$p/root/etc/holdfast") ]] || fail "not even the credentials were found: this looks in the wrong place"
	for d in var/log run tmp var/tmp dev/shm var/lib/holdfast; do
		found=$(written "/proc/$p/root/$d") && fail "on the disk of $n: $found"
	done
	found=$(grep -lF "$word" $(sed 's,.*,/proc/&/environ,' <(rig pids "$n" holdfast)) 2>/dev/null) && fail "in an environment: $found"
	found=$(cd "/proc/$p/root" && ls core* tmp/core* 2>/dev/null) && fail "a core on $n: $found"
	for what in status "status --json" events "events --json" "why n1" "why n1 --json" "config show" "config show --json"; do
		hf "$n" $what >"$CASE/said" 2>&1
		[[ -s $CASE/said ]] || fail "$n says nothing: $what"
		grep -qF "$word" "$CASE/said" && fail "$n prints it: $what"
	done
done
true
