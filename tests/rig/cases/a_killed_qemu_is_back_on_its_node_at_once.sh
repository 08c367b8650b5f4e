# alone
# P17: SIGKILL to qemu, again and again: noticed within 5 ms of the kernel's exit, a new one within 80 ms.
vm web1 n1 --restarts-here 50 --restarts-max 100
hf n1 events --json >"$CASE/events0"
after=$(jq -s 'map(.seq // 0) | max' "$CASE/events0")
[[ $(tail -n 1 "$CASE/events0" | jq -r '.newest // empty') ]] && after=$(tail -n 1 "$CASE/events0" | jq .newest)
first=$(truth_pid web1)
forgiven() { st n1 '.vms[] | .failures == 0 and .state == "running"'; }
for k in 1 2 3 4 5 6 7; do
	must 10 "web1's earlier failures are forgotten" forgiven
	pid=$(truth_pid web1)
	kill -9 "$pid"
	must 5 "another web1 on n1" eval '[[ $(truth_node web1) == n1 && $(truth_pid web1) != $pid ]]'
	must 5 "web1 is said to run" runs_on web1 n1
done
hf n1 events --json --after "$after" --subject web1 >"$CASE/events"
jq -c "select(.t >= $T0)" "$W/proc" >"$CASE/proc.since"
figures=$(python3 "$HERE/judge.py" kills "$CASE/proc.since" "$CASE/events") || fail "$(paste -sd';' <<<"$figures")"
note "$figures"
is "$(all_offs)" 0 || fail "somebody was fenced for it"
