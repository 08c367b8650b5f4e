# disarm: a host dies and nothing is fenced, nothing started; armed again, it is made good.
vm web1 n1
hf n2 disarm >/dev/null || fail "it cannot be disarmed"
T0=$(rig now)
rig poweroff n1
must 10 "n1 is missed" eval '[[ $(node_state n2 n1) == lost ]]'
fenced() { ran n2 'chassis power off' || ran n3 'chassis power off'; }
never 5 "something was done" eval '[[ -n $(truth web1) ]] || fenced'
st n2 '.needs[] | select(.text | test("disarmed"))' >/dev/null || fail "status does not say that it is disarmed"
hf n2 arm >/dev/null || fail "it cannot be armed"
must 15 "web1 runs elsewhere" runs_elsewhere web1 n1
is "$(st n2 '.nodes[] | select(.name == "n1") | .proof')" "fence device reads off" || fail "without proof"
