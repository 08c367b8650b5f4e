# H2: the host's power is cut, its BMC lives: proof by the BMC, then the VM runs on another node.
vm web1 n1
T0=$(rig now)
rig poweroff n1
must 15 "web1 runs elsewhere" runs_elsewhere web1 n1
note "recovered within $(since_t0)"
is "$(st n2 '.nodes[] | select(.name == "n1") | .state + ", " + .proof')" "dead, fence device reads off" ||
	fail "n1 is $(st n2 '.nodes[] | select(.name == "n1") | .state + ", " + .proof')"
st n2 '.needs[] | select(.name == "n1" and .severity == "error")' >/dev/null || fail "status does not complain of n1"
