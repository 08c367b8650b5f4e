# N1, P1: who moves the traffic is killed, and the wire is pulled before it is back. It finds the fabric dead
# and the traffic on it, and moves it. The VM goes on.
# with: fabrics
fabric_vm web1 n1
pid=$(truth_pid web1)
from=$(leg)
cut=$(rig now)
rig kill n1 "hf-node.sh _keep holdfast-nicbond"
rig kill n1 holdfast-nicbond
rig fabric-cut n1 "$from"
rig exec n1 bash /rig/hf-node.sh boot holdfast-nicbond
must 10 "the traffic is back" flows "$cut"
note "$(flowed "$cut")"
is "$(leg)" "$(other "$from")" || fail "the traffic goes by fabric $(leg)"
is "$(truth_pid web1)" "$pid" || fail "the VM was started anew"
