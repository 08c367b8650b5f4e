# n3 comes with an empty /var/lib/holdfast: it gets the group's state and says the same as all.
vm web1 n1
vm web2 n2
daemon_stop n3
rig exec n3 sh -c 'rm -rf /var/lib/holdfast/*'
daemon_start n3
must 10 "n3 is a member" eval '[[ $(node_state n1 n3) == member && $(node_state n3 n3) == member ]]'
must 5 "all three agree" group_agrees
is "$(st n3 '[.vms[] | .name + " " + .state + " " + .node] | sort | join(", ")')" "web1 running n1, web2 running n2" ||
	fail "n3 says $(st n3 .vms)"
is "$(all_offs)" 0 || fail "somebody was fenced for it"
# and it can use it: the XML came with the state
T0=$(rig now)
hf n3 vm move web1 n3 --wait >/dev/null || fail "web1 cannot be moved there"
must 5 "web1 runs on n3" runs_on web1 n3
