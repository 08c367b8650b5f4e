# N1, P1: the wire is pulled while the node's daemon is dead. The traffic is moved all the same; the daemon
# that comes back is told of it.
# with: fabrics
fabric_vm web1 n1
pid=$(truth_pid web1)
from=$(leg)
daemon_stop n1
cut=$(rig now)
rig fabric-cut n1 "$from"
must 2 "the traffic is back" flows "$cut"
note "$(flowed "$cut")"
daemon_start n1
must 15 "n1 is a member again" is_member n1
must 10 "the flip is told" event n2 '.kind == "flip"'
is "$(leg)" "$(other "$from")" || fail "the traffic goes by fabric $(leg)"
is "$(truth_pid web1)" "$pid" || fail "the VM was started anew"
