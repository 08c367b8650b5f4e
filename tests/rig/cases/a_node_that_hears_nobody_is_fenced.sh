# C13, the other way round: the others hear n1, and it hears nobody.
vm web1 n1
T0=$(rig now)
rig drop all n1 ring0 ring1
must 20 "web1 runs elsewhere" runs_elsewhere web1 n1
note "recovered within $(since_t0)"
is "$(offs n1)" 1 || fail "n1 was switched off $(offs n1) times"
