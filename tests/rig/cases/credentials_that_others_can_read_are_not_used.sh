# M8, H11: the credentials of the BMCs on n2 are readable by everybody: not used, and it is said. n3 fences.
vm web1 n1
rig exec n2 chmod 644 /etc/holdfast/fence.d/bmc.cred
hf n2 fence test n1 >"$CASE/test" 2>&1 && fail "the test says that all is well"
grep -q 'bmc.cred' "$CASE/test" || fail "the test does not name the file: $(cat "$CASE/test")"
must 5 "status complains of it" needs n2 'bmc.cred' n1
T0=$(rig now)
isolate n1
must 30 "web1 runs elsewhere" runs_elsewhere web1 n1
note "recovered within $(since_t0)"
ran n2 'ipmitool' && fail "n2 has used it"
ran n3 'chassis power off' || fail "it was not n3 that fenced"
rig exec n2 chmod 600 /etc/holdfast/fence.d/bmc.cred
