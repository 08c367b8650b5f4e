# H1: host and BMC lose power: no proof, so nothing starts and status says so; the BMC's return proves.
vm web1 n1
T0=$(rig now)
rig poweroff n1 --ac
must 10 "n1 is missed" eval '[[ $(node_state n2 n1) == @(lost|fencing) ]]'
must 30 "status says that it cannot be proved dead" eval \
	'st n2 ".needs[] | select(.name == \"n1\" and (.text | test(\"cannot be proved dead\")) and (.command | test(\"fence confirm n1\")))"'
never 3 "web1 was started without proof" eval '[[ -n $(truth web1) ]]'
is "$(vm_state n2 web1)" "waiting for proof" || fail "web1 is $(vm_state n2 web1)"
T0=$(rig now)
rig bmc n1 ok
must 30 "web1 runs elsewhere once the BMC answers" runs_elsewhere web1 n1
note "recovered $(since_t0) after the BMC's return"
