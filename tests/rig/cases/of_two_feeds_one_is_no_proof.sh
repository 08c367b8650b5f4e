# with: levels
# H10: n1 is cut off, its BMC is dead, and of its two power feeds one cannot be switched off: n1 lives on the
# other one, so nothing starts. When that switch works again, both are off and web1 runs elsewhere.
vm web1 n1
pid=$(truth_pid web1)
rig bmc n1 dead
feed_fails n1-b
isolate n1
must 30 "feed a is off" eval '[[ $(<"$RIG_STATE/shared/feed/n1-a") == off ]]'
must 20 "status says that it cannot be proved dead" needs n2 'cannot be proved dead' n1
never 4 "a second web1" eval '[[ $(truth web1) != "n1 $pid" || $(node_state n2 n1) == dead ]]'
powered n1 || fail "n1 is off with one feed on"
T0=$(rig now)
feed_works n1-b
must 30 "web1 runs elsewhere" runs_elsewhere web1 n1
note "recovered $(since_t0) after the switch works again"
powered n1 && fail "n1 still has power"
is "$(about n2 n1 .proof)" "fence device reads off" || fail "the proof is: $(about n2 n1 .proof)"
