# N3: the wire of the fabric a VM sends by goes and comes ten times a second, for five seconds. The traffic
# leaves it once and does not follow it.
# with: fabrics
fabric_vm web1 n1
pid=$(truth_pid web1)
from=$(leg)
failovers() { guest 'cat /sys/class/net/bond0/bonding/active_slave; dmesg | grep -c "making interface the new active one"' | tail -n 1; }
before=$(failovers)
flap=$(rig now)
rig fabric-flap n1 "$from" 10
must 3 "the traffic is back" flows "$flap"
calm=$(rig now)
sleep 5
note "while it flaps: $(flowed "$flap"); after the flip: $(flowed "$calm")"
still=$(rig now)
rig heal n1
must 3 "the traffic flows" flows "$still"
is "$(leg)" "$(other "$from")" || fail "the traffic goes by fabric $(leg)"
after=$(failovers)
is $((after - before)) 1 || fail "the guest changed its leg $((after - before)) times"
is "$(truth_pid web1)" "$pid" || fail "the VM was started anew"
