# N2: the switch port of the fabric a VM sends by passes nothing any more, its carrier stays. No guest bond
# that watches carriers ever notices. The traffic goes by the other fabric, and the VM goes on.
# with: fabrics
fabric_vm web1 n1
pid=$(truth_pid web1)
from=$(leg)
hole=$(rig now)
rig fabric-blackhole n1 "$from"
must 5 "the traffic is back" flows "$hole"
is "$(leg)" "$(other "$from")" || fail "the traffic flows, but by fabric $(leg)"
note "$(flowed "$hole")"
rig heal n1
never 2 "the traffic goes back by itself" eval '[[ $(leg) == "$from" ]]'
is "$(truth_pid web1)" "$pid" || fail "the VM was started anew"
(($(all_offs) == 0)) || fail "a host was fenced"
