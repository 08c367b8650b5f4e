# C2: a pause of three tokens: fenced once, recovered once; whatever it wakes up with is too late.
vm web1 n1
T0=$(rig now)
rig hang n1 corosync
sleep 3
rig resume n1 corosync 2>/dev/null
must 15 "web1 runs elsewhere, or on where it was" runs_elsewhere web1
note "runs within $(since_t0) on $(truth_node web1)"
(($(all_offs) <= 1)) || fail "$(all_offs) times somebody was switched off"
is "$(truth_node web1)" n1 || is "$(offs n1)" 1 || fail "recovered without a fence of n1"
