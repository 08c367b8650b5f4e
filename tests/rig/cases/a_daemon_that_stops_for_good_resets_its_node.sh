# with: watchdog
# P3, P4: holdfastd stops, its feeder does not: the lease runs out, the feeder feeds no more, n1 resets itself.
# Its BMC is dead, so that nobody else does it. web1 runs again, once.
vm web1 n1
must 20 "n1's watchdog is armed" guarded n1
rig bmc n1 dead
T0=$(rig now)
rig hang n1 holdfastd
most=$(((GROUP_L + 2 * GROUP_W) * 1000000000))
must $((GROUP_L + 2 * GROUP_W + 2)) "n1 is reset" has_fired n1
fired=$(($(rig_time "watchdog fired n1") - T0))
((fired <= most + 200000000)) || fail "it took $(seconds $fired) to fire, L + 2W is $(seconds $most)"
((fired >= (GROUP_L - 1) * 1000000000)) || fail "it fired after $(seconds $fired), the lease is $GROUP_L s"
must 30 "web1 runs" runs_elsewhere web1
note "fired after $(seconds $fired), L + 2W = $(seconds $most); web1 runs within $(since_t0) on $(truth_node web1)"
