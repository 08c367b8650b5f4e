# N1: the wire of the fabric a VM sends by is pulled, and its card does not tell the guest. The traffic goes
# by the other one at once; when the wire is back it stays there. No VM, no host hears of it.
# with: fabrics
fabric_vm web1 n1
pid=$(truth_pid web1)
from=$(leg)
cut=$(rig now)
rig fabric-cut n1 "$from"
must 3 "the traffic is back" flows "$cut"
is "$(leg)" "$(other "$from")" || fail "the traffic flows, but by fabric $(leg)"
note "$(flowed "$cut")"
back=$(rig now)
rig heal n1
never 4 "the traffic goes back by itself" eval '[[ $(leg) == "$from" ]]'
note "wire back: $(flowed "$back")"
is "$(truth_pid web1)" "$pid" || fail "the VM was started anew"
(($(all_offs) == 0)) || fail "a host was fenced"
