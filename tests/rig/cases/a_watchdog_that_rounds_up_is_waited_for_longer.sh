# with: watchdog
# H8: the driver makes 4 s of the 2 s it was told. What was read back counts: T_safe is longer.
vm web1 n1
rig watchdog n1 on
echo 'export FAKE_WATCHDOG_ROUND=2' >>"$RIG_STATE/node/n1/wd/env"
safe=$(((GROUP_L + 4 * GROUP_W) * 1010 + 1000))
must 20 "n1's timeout is said to be the double" about n2 n1 ".watchdog | .state == \"armed\" and .timeout_ms == $((2000 * GROUP_W)) and .safe_ms == $safe"
T0=$(rig now)
rig poweroff n1 --ac
must 10 "so long is waited" event n2 ".name == \"n1\" and .why == \"safe-time\" and .detail == $safe"
rig bmc n1 ok
must 20 "web1 runs elsewhere once the BMC answers" runs_elsewhere web1 n1
is "$(about n3 n1 .proof)" "fence device reads off" || fail "the proof is: $(about n3 n1 .proof)"
