# with: swapped
# H12: the addresses of the BMCs of n1 and n2 are exchanged in the cluster file. Each answers, with our
# password, for the other host: arming is refused and says why, and no order of a person's uses them.
for n in n1 n2; do
	must 30 "the self-test finds $n's BMC to be another host's" about n3 $n '.fence_paths[0].path == "wrong host"'
	must 5 "status says so of $n" needs n3 'would switch off another host' $n
done
must 20 "n3's own BMC is good" about n1 n3 '.fence_paths[0].path == "ok"'
hf n1 arm >"$CASE/arm" 2>&1 && fail "it was armed"
grep -q "answers for another host" "$CASE/arm" || fail "arming was refused with: $(cat "$CASE/arm")"
st n1 '.group.armed == false' >/dev/null || fail "it is armed all the same"
hf n3 fence n1 --yes >"$CASE/fence" 2>&1 && fail "n1 may be fenced"
grep -q "answers for another host" "$CASE/fence" || fail "fencing was refused with: $(cat "$CASE/fence")"
is "$(all_offs)" 0 || fail "somebody was switched off"
