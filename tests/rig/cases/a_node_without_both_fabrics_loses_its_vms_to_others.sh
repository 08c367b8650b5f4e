# N4: both wires of one node are pulled, those of the others are fine: its VM moves to where the legs carry.
# Nobody is fenced for it: the node answers, and stops its VM in order.
# with: fabrics
fabric_vm web1 n1
boots=$(fabric_boots web1)
rig fabric-cut n1 a b
must 60 "web1 runs elsewhere" runs_elsewhere web1 n1
note "runs on $(truth_node web1) after $(since_t0)"
must 40 "its guest is up" fabric_booted web1 "$boots"
fabric_meter_end
fabric_meter
must 20 "traffic flows there" flows
(($(all_offs) == 0)) || fail "a host was fenced"
