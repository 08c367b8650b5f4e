# with: watchdog
# P1: an event breaks an assertion of the engine, on every node at once (holdfastd-poisoned: a drain of 4321 s does). It is
# skipped: no daemon ends, no lease runs out, no VM is touched; the group says so, is disarmed, and goes on when armed again.
poisoned() { rig exec "$1" sh -c 'ln -sfn "$(dirname "$(readlink -f /usr/local/sbin/holdfastd)")/'"$2"'" /usr/local/sbin/holdfastd'; }
daemons() { for n in n1 n2 n3; do rig pids $n "^holdfastd" | head -n 1; done | paste -sd' '; }
swap() {   # PROGRAM: one node after the other, as if its daemon had crashed
	local n old
	for n in n1 n2 n3; do
		old=$(rig pids $n "^holdfastd" | head -n 1)
		poisoned $n "$1"
		rig kill $n holdfastd KILL
		must 15 "$n's daemon is started again" eval "[[ -n \$(rig pids $n '^holdfastd') && \$(rig pids $n '^holdfastd' | head -n 1) != $old ]]"
		must 15 "$n is a member with it" eval "is_member $n && group_agrees"
	done
}
swap holdfastd-poisoned
vm web1 n1
vm web3 n3
must 20 "the watchdogs of n1 and n3 are armed" eval 'guarded n1 && guarded n3'
before="$(daemons); $(truth web1); $(truth web3)"
hf n2 drain n2 --for 4321s >"$CASE/drain" 2>&1 && fail "a drain that nobody can digest is said to be done"
grep -q 'could not be digested' "$CASE/drain" || fail "it was answered: $(<"$CASE/drain")"
for n in n1 n2 n3; do
	must 3 "$n has skipped it and is disarmed" eval "[[ \$(st $n .group.skipped) == 1 && \$(st $n .group.armed) == false ]]"
	needs $n 'could not digest' || fail "$n does not say that it needs a person"
	event $n '.why == "skipped"' || fail "$n has no event of it"
done
never $((GROUP_L + 2 * GROUP_W + 1)) "it cost a machine" eval '[[ "$(daemons); $(truth web1); $(truth web3)" != "$before" || $(all_offs) != 0 ]] || has_fired n1 || has_fired n3'
group_agrees || fail "the group does not agree any more"
hf n2 drain n2 >/dev/null || fail "a good drain is not done"
hf n2 undrain n2 >/dev/null
hf n1 arm >/dev/null || fail "it cannot be armed again"
must 5 "nothing is told of it any more" eval '[[ $(st n3 .group.skipped) == 0 ]]'
must 20 "n3's watchdog is armed again" guarded n3
rig poweroff n3
must 15 "web3 runs elsewhere" runs_elsewhere web3 n3
rig poweron n3
must 30 "n3 is a member again" is_member n3
swap holdfastd
