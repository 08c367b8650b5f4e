# with: strict
# fresh
# C14, L5: n3 is lost and back again and again. From the second time it has to stay for a while before it gets VMs;
# after the third it gets none until a person says so.
vm web1 n1
back() {
	isolate n3
	must 10 "n3 is lost" eval '[[ $(node_state n1 n3) == lost ]]'
	rig heal n3
	must 20 "n3 is a member again" eval '[[ $(node_state n1 n3) == member ]]'
}
back
about n1 n3 '(.settling or .passive) | not' || fail "one return counts already"
back
must 2 "n3 has to settle" about n1 n3 .settling
refused "web1 may go there though n3 has not settled" n1 vm move web1 n3
must 10 "n3 has settled" about n1 n3 '.settling | not'
hf n1 vm move web1 n3 --wait >/dev/null || fail "web1 may not go there though n3 has settled"
hf n1 vm move web1 n1 --wait >/dev/null || fail "web1 may not go back"
back
must 2 "n3 is passive" about n1 n3 .passive
must 5 "status says so and what to do" st n1 '.needs | any(.name == "n3" and ((.command // "") | test("undrain n3")))'
vm_add web2 n3 || fail "web2 cannot be added"
must 10 "web2 runs elsewhere" runs_elsewhere web2 n3
never 5 "n3 gets a VM" eval '[[ $(truth web1; truth web2) == *n3* ]]'
hf n1 undrain n3 >/dev/null || fail "the undrain is refused"
hf n1 vm move web2 n3 --wait >/dev/null || fail "web2 may not go there after the undrain"
is "$(all_offs)" 0 || fail "somebody was fenced for it"
