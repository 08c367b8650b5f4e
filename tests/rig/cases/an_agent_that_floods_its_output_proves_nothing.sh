# with: levels
# H10: the agent of level 1 prints "Status: OFF" for ever, or does what it is told and has a good answer to `status`, behind
# 100 MB: it is cut off and proves nothing; level 2 does. Nobody keeps what it said.
vm web1 n1
agent_fake fence_ipmilan 'cat >/dev/null
yes "Status: OFF"' n2 || fail "there is no such agent"
agent_fake fence_ipmilan 'action=$(sed -n "s/^action=//p" | tail -n 1)
[ "$action" = status ] || exit 0
head -c 100000000 /dev/zero | tr "\\000" x
printf "\nStatus: OFF\n"; exit 2' n3 || fail "there is no such agent"
isolate n1
must 30 "web1 runs elsewhere" runs_elsewhere web1 n1
note "recovered within $(since_t0)"
is "$(cat "$RIG_STATE/shared/feed/n1-a" "$RIG_STATE/shared/feed/n1-b" | xargs)" "off off" || fail "it was not level 2"
hf n3 fence test n2 --level 1 --json >"$CASE/test" 2>&1 && fail "a flood is taken for an answer"
jq -e '.tests[0].path == "broken"' "$CASE/test" >/dev/null || fail "a flood is called $(jq -r '.tests[0].path' "$CASE/test")"
(($(wc -c <"$CASE/test") < 4096)) || fail "the flood comes out at the other end"
for n in n2 n3; do
	kib=$(awk '/^VmHWM/ {print $2}' "/proc/$(rig pids $n '^holdfast-fencer' | head -n 1)/status")
	((kib < 65536)) || fail "the fencer of $n had $kib KiB"
done
agent_real fence_ipmilan n2 n3
