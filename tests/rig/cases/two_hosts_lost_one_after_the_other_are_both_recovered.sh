# H15, L1: n1 dies and is recovered; it is back, and the node that took its VM dies: recovered again.
vm web1 n1
rig poweroff n1
must 15 "web1 runs elsewhere" runs_elsewhere web1 n1
at=$(truth_node web1)
rig poweron n1
must 30 "n1 is a member again" is_member n1
T0=$(rig now)
rig poweroff "$at"
must 20 "web1 runs elsewhere again" runs_elsewhere web1 "$at"
note "recovered within $(since_t0)"
is "$(offs n1)" 0 || fail "n1 was switched off, too"
