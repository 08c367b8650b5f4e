# vm move: off there, then on here; there is no instant with two.
vm web1 n1
T0=$(rig now)
hf n2 vm move web1 n3 --wait >/dev/null || fail "the move failed"
runs_on web1 n3 || fail "web1 is on $(truth web1)"
note "moved in $(since_t0)"
refused "moved to a node that is none" n2 vm move web1 n9
hf n2 vm move web1 --wait >/dev/null || fail "the move to anywhere failed"
must 5 "web1 runs on another node" runs_elsewhere web1 n3
is "$(all_offs)" 0 || fail "somebody was fenced for it"
