# H13: the node that would fence has no fencer running: another one does it.
vm web1 n1
rig kill n2 "hf-node.sh _keep holdfast-fencer"
rig kill n2 holdfast-fencer
T0=$(rig now)
rig pause n1
must 40 "web1 runs elsewhere" runs_elsewhere web1 n1
note "recovered within $(since_t0)"
ran n3 'chassis power off' || fail "it was not n3 that fenced"
ran n2 ipmitool && fail "n2 has run a fence agent"
true
