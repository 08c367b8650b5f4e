# alone
# P17: SIGKILL to qemu, again and again: its agent notices within 5 ms of the kernel's exit (median). Only where a
# bare watcher of the same process beside it needs longer than that itself, it is 5 ms more than that one, and
# said. How long it takes to have a new qemu is printed here and judged by tests/bench/failover.
vm web1 n1 --restarts-here 50 --restarts-max 100
cut=$(wc -l <"$RIG_STATE/node/n1/log/holdfast/vm.log")
forgiven() { st n1 '.vms[] | .failures == 0 and .state == "running"'; }
for k in 1 2 3 4 5 6 7; do
	must 10 "web1's earlier failures are forgotten" forgiven
	pid=$(truth_pid web1)
	python3 "$HERE/judge.py" ended "$pid" >>"$CASE/ended" & beside=$!
	must 5 "the watcher beside it is ready" grep -q "ready $pid" "$CASE/ended"
	kill -9 "$pid"
	wait $beside
	must 5 "another web1 on n1" eval '[[ $(truth_node web1) == n1 && $(truth_pid web1) != $pid ]]'
	must 5 "web1 is said to run" runs_on web1 n1
done
hf n1 events --json --subject web1 | jq -c "select((.monotonic_ns // 0) > $T0)" >"$CASE/events"
tail -n "+$((cut + 1))" "$RIG_STATE/node/n1/log/holdfast/vm.log" >"$CASE/vm.log"
jq -c "select(.t >= $T0)" "$W/proc" >"$CASE/proc.since"
figures=$(python3 "$HERE/judge.py" kills "$CASE/proc.since" "$CASE/events" "$CASE/vm.log" "$CASE/ended") || fail "$(paste -sd';' <<<"$figures")"
note "$(paste -sd';' <<<"$figures")"
is "$(all_offs)" 0 || fail "somebody was fenced for it"
