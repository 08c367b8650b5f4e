# with: watchdog
# H6, H7: a software timer, a device that somebody else holds, one that accepts everything and does nothing:
# each is named, none counts. With the host and its BMC dead, no wait runs and nothing starts.
vm web1 n1
must 20 "n1's watchdog is armed" guarded n1
while read -r card state; do
	rig watchdog n1 "$card"
	must 20 "a card '$card' is called '$state'" about n2 n1 ".watchdog | .state == \"$state\" and .safe_ms == 0"
	must 5 "n1's status says so" needs n1 "its watchdog is $state" n1
done <<-L
	busy busy
	noop broken
	softdog only software
L
st n1 '.needs | any(.text | test("allow_softdog|software"))' >/dev/null || fail "status does not say why"
T0=$(rig now)
rig poweroff n1 --ac
must 20 "status says that n1 cannot be proved dead" needs n2 'prove' n1
about n2 n1 '.watchdog.safe_time_runs == false' || fail "its time is waited for"
never 2 "web1 was started without proof" eval '[[ -n $(truth web1) ]]'
rig bmc n1 ok
must 30 "web1 runs elsewhere once the BMC answers" runs_elsewhere web1 n1
is "$(about n2 n1 .proof)" "fence device reads off" || fail "the proof is: $(about n2 n1 .proof)"
