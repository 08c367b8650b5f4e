# disarm: a host dies and nothing is fenced, nothing started; armed again, it is made good.
vm web1 n1
hf n2 disarm >/dev/null || fail "it cannot be disarmed"
rig poweroff n1
must 10 "n1 is missed" eval '[[ $(node_state n2 n1) == lost ]]'
fences() { jq -c "select(.ev == \"exec\" and .t > $T0 and (.cmd | test(\"chassis power off\")))" "$W/proc"; }
never 5 "something was done" eval '[[ -n $(truth web1) || -n $(fences) ]]'
st n2 '.needs[] | select(.text | test("disarmed"))' >/dev/null || fail "status does not say that it is disarmed"
hf n2 arm >/dev/null || fail "it cannot be armed"
must 15 "web1 runs elsewhere" runs_elsewhere web1 n1
