# with: levels
# H10: the agent of level 1 hangs on both survivors, and has a child: at the deadline everything of it is ended,
# and level 2 proves n1 dead.
vm web1 n1
agent_fake fence_ipmilan 'cat >/dev/null
sleep 1234 &
exec sleep 1234' n2 n3 || fail "there is no such agent"
T0=$(rig now)
rig poweroff n1
must 40 "web1 runs elsewhere" runs_elsewhere web1 n1
note "recovered within $(since_t0)"
is "$(cat "$RIG_STATE/shared/feed/n1-a" "$RIG_STATE/shared/feed/n1-b" | xargs)" "off off" || fail "it was not level 2"
is "$(about n2 n1 .proof)" "fence device reads off" || fail "the proof is: $(about n2 n1 .proof)"
agent_real fence_ipmilan n2 n3
# a self-test may be under way
must 35 "nothing of the agent is left" eval '[[ -z $(rig pids n2 "sleep 1234"; rig pids n3 "sleep 1234") ]]'
