# with: watchdog
# P5, H9: the feeder is killed and not started again. What it armed goes on: n1 is reset within W, by itself, and is
# up long before T_safe is over. The others recover; web1 runs once.
vm web1 n1
must 20 "n1's watchdog is armed" guarded n1
rig kill n1 "hf-node.sh _keep holdfast-feeder"
T0=$(rig now)
rig kill n1 holdfast-feeder
must $((GROUP_W + 2)) "n1 is reset" has_fired n1
fired=$(($(rig_time "watchdog fired n1") - T0))
((fired <= GROUP_W * 1000000000 + 300000000)) || fail "it took $(seconds $fired) to fire"
((fired >= GROUP_W * 700000000)) || fail "it fired after $(seconds $fired) already"
must 30 "web1 runs" runs_elsewhere web1
must 5 "its death is proved" event n2 '.name == "n1" and (.why // "" | test("^proof-"))'
note "fired after $(seconds $fired), W = $GROUP_W s; web1 runs within $(since_t0) on $(truth_node web1)," \
	"$(hf n2 events --json | jq -r "select((.monotonic_ns // 0) > $T0 and .name == \"n1\") | .why // empty" | grep -m 1 ^proof-)"
