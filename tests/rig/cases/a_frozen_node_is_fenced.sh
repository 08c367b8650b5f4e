# A host hangs with everything on it, its kernel answers: fenced, recovered.
vm web1 n1
T0=$(rig now)
rig pause n1
must 15 "web1 runs elsewhere" runs_elsewhere web1 n1
note "recovered within $(since_t0)"
is "$(offs n1)" 1 || fail "n1 was switched off $(offs n1) times"
