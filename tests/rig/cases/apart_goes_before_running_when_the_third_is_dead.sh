# n3 is off: web1 cannot leave n1 for the node of web2, whatever happens; `why` says it by rule.
vm web1 n1 --apart web
vm web2 n2 --apart web
rig poweroff n3
must 10 "n3 is missed" eval '[[ $(node_state n1 n3) == @(lost|dead) ]]'
kill -9 "$(truth_pid web1)"
must 10 "web1 is back on n1" runs_on web1 n1
hf n1 drain n1 >/dev/null || fail "n1 cannot be drained"
never 4 "both on n2" eval '[[ $(truth_node web1) == n2 ]]'
hf n1 vm stop web1 --wait >/dev/null || fail "web1 is not stopped"
hf n1 vm start web1 >/dev/null || fail "web1 cannot be wanted"
must 5 "web1 is unplaceable" eval '[[ $(vm_state n2 web1) == unplaceable ]]'
rules=$(hf n2 why web1 --json | jq -r '[.placement.nodes[] | .name + " " + (.rule | tostring)] | join(", ")')
is "$rules" "n1 1, n2 3, n3 1" || fail "why says: $rules"
hf n1 undrain n1 >/dev/null || fail "n1 cannot be undrained"
must 10 "web1 runs on n1 at once" runs_on web1 n1
