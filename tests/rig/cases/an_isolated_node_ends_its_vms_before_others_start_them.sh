# with: watchdog
# C10: n1 hears nobody and its BMC is dead. Its lease runs out: it ends web1 itself, then its watchdog resets
# it; only after T_safe the others start web1. They do not count on the first two.
vm web1 n1
pid=$(truth_pid web1)
must 20 "n1's watchdog is armed" guarded n1
rig bmc n1 dead
T0=$(rig now)
isolate n1
must $((GROUP_L + 3)) "n1 ends its web1" eval "[[ ! -e /proc/$pid ]]"
must $((GROUP_L + 2 * GROUP_W)) "n1 is reset" has_fired n1
must 30 "web1 runs elsewhere" runs_elsewhere web1 n1
ended=$(exit_time "$pid") fired=$(rig_time "watchdog fired n1") started=$(exec_time web1)
lost=$(for n in n2 n3; do event_time $n '.name == "n1" and .now == "lost"'; done | sort -n | tail -n 1)
note "its VM ended $(seconds $((ended - T0))) after the cut (lease $GROUP_L s), reset after $(seconds $((fired - T0)))," \
	"started elsewhere after $(seconds $((started - T0)))"
((ended < fired)) || fail "web1 ended only with its host"
((ended - T0 <= GROUP_L * 1000000000 + SLOW * 1000000000)) || fail "web1 ended $(seconds $((ended - T0))) after the cut"
((started - lost >= $(safe_ns))) || fail "started $(seconds $((started - lost))) after the loss, T_safe is $(seconds "$(safe_ns)")"
