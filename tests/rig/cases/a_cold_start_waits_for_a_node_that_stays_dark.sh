# The node that had web1 does not come back: so long as the start-up grace runs, it is neither fenced nor
# is web1 started; then both.
vm web1 n1
for n in $NODES; do rig poweroff "$n" & done
wait
rig bmc n1 ok
T0=$(rig now)
rig poweron n2; rig poweron n3
must 30 "n2 and n3 form a group" eval '[[ $(st n2 .group.phase) == synced && $(st n3 .group.phase) == synced ]]'
st n2 .group.startup_grace >/dev/null || fail "no start-up grace runs"
never 7 "web1 was started within the grace" eval '[[ -n $(truth web1) ]]'
must 25 "web1 runs" runs_elsewhere web1 n1
note "running $(since_t0) after power on"
is "$(st n2 '.nodes[] | select(.name == "n1") | .proof')" "fence device reads off" || fail "without proof"
