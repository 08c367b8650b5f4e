# H10: the BMC of n1 sleeps for six tenths of every second: fencing takes longer and needs no second attempt by
# anybody but its agent's own.
vm web1 n1
slow() { trap - EXIT; while :; do rig bmc n1 hang; sleep 0.6; rig bmc n1 ok; sleep 0.4; done; }
slow & slow=$!
trap 'kill $slow' EXIT
T0=$(rig now)
rig poweroff n1
must 40 "web1 runs elsewhere" runs_elsewhere web1 n1
note "recovered within $(since_t0)"
is "$(about n2 n1 '.state + ", " + .proof')" "dead, fence device reads off" || fail "n1 is $(about n2 n1 '.state + ", " + .proof')"
