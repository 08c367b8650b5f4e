# with: watchdog
# P6: n1 is cut off, and its feeder is stopped between its check and its ping, for less than W; then it pings once
# more. That is why T_safe has 2W: the reset comes later than L + W may be over, and still long before others start.
card() { rm -f "$RIG_STATE/node/n1/wd/stop"; rig watchdog n1 on; }
vm web1 n1
card
echo 'export FAKE_WATCHDOG_STOP_FILE=/run/rig-watchdog/stop' >>"$RIG_STATE/node/n1/wd/env"
must 20 "n1's watchdog is armed" guarded n1
rig bmc n1 dead
T0=$(rig now)
isolate n1
sleep 2.2
: >"$RIG_STATE/node/n1/wd/stop"
must 2 "the feeder stops before a ping" eval '[[ ! -e $RIG_STATE/node/n1/wd/stop ]]'
sleep 1.1
late=$(rig now)
rig resume n1 holdfast-feeder
must $((2 * GROUP_W)) "n1 is reset" has_fired n1
fired=$(rig_time "watchdog fired n1")
((fired - late >= GROUP_W * 1000000000 - 100000000)) || fail "there was no late ping: fired $(seconds $((fired - late))) after it"
((fired - T0 <= (GROUP_L + 2 * GROUP_W) * 1000000000)) || fail "fired $(seconds $((fired - T0))) after the cut"
must 30 "web1 runs elsewhere" runs_elsewhere web1 n1
note "pinged $(seconds $((late - T0))) after the cut, reset after $(seconds $((fired - T0)))," \
	"started elsewhere after $(seconds $(($(exec_time web1) - T0)))"
