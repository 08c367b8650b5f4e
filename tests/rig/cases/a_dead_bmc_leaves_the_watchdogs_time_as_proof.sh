# with: watchdog
# H1: host and BMC lose power together. No device can prove anything; n1's watchdog had been armed, so its
# time is a proof: the VM starts when T_safe is over, counted from the loss that both waiters saw, never earlier.
vm web1 n1
must 20 "n1's watchdog is armed" guarded n1
is "$(about n2 n1 .watchdog.safe_ms)" "$(($(safe_ns) / 1000000))" || fail "T_safe is said to be $(about n2 n1 .watchdog.safe_ms) ms"
T0=$(rig now)
rig poweroff n1 --ac
must 10 "n2's status tells of the wait" needs n2 'its watchdog proves it' n1
must 25 "web1 runs elsewhere" runs_elsewhere web1 n1
lost=$(for n in n2 n3; do event_time $n '.name == "n1" and .now == "lost"'; done | sort -n | tail -n 1)
started=$(exec_time web1)
note "T_safe = $GROUP_L s + 2 x $GROUP_W s + 1 % + 1 s = $(seconds "$(safe_ns)"); loss known after $(seconds $((lost - T0)))," \
	"qemu $(seconds $((started - lost))) later, $(seconds $((started - T0))) after the cut"
((started - lost >= $(safe_ns))) || fail "started $(seconds $((started - lost))) after the loss, T_safe is $(seconds "$(safe_ns)")"
((started - lost < $(safe_ns) + SLOW * 1500000000)) || fail "started only $(seconds $((started - lost))) after the loss"
is "$(about n3 n1 .proof)" "watchdog time is over" || fail "the proof is: $(about n3 n1 .proof)"
# the first proof wins: what was under way for another one has ended, and does not go on when the BMC answers again
left() { local n; for n in n2 n3; do rig pids $n 'fence_ipmilan|ipmitool .*10\.77\.2\.101'; done; }
must 5 "no agent is left" eval '[[ -z $(left) ]]'
T1=$T0 T0=$(rig now)
rig bmc n1 ok
never 8 "n1 was switched off late" eval '(($(offs n1) > 0)) || ran n2 "2.101 .*power off" || ran n3 "2.101 .*power off"'
T0=$T1
is "$(offs n1)" 0 || fail "n1 was switched off"
