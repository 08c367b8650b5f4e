# N4: both fabrics are gone on every node, for longer than a VM without legs is left where it is. Nowhere is
# better, so nothing moves; when they are back the traffic is, and its TCP connection never ended.
# with: fabrics
fabric_vm web1 n1
pid=$(truth_pid web1)
gone=$(rig now)
for n in $NODES; do rig fabric-cut "$n" a b; done
never 8 "the VM is moved or started anew" eval '[[ $(truth web1) != "n1 $pid" ]]'
back=$(rig now)
rig heal
must 10 "the traffic is back" flows "$back"
note "$(flowed "$gone")"
is "$(truth web1)" "n1 $pid" || fail "the VM was moved or started anew"
(($(all_offs) == 0)) || fail "a host was fenced"
