# H13: the BMC of n1 hangs while one survivor fences it, and that survivor's fencer dies, with the agent that it runs, and does not
# come back. The order is not left with it: the BMC answers again, and the other survivor switches n1 off.
vm web1 n1
rig bmc n1 hang
rig pause n1
executor() { st n3 '.nodes[] | select(.name == "n1") | .fencing.actor'; }
must 10 "somebody fences n1" executor
actor=$(executor)
is "$actor" n1 && fail "n1 is to fence itself"
must 10 "its agent runs" eval "[[ -n \$(rig pids $actor '^ipmitool|^python3 .*fence_ipmilan|^fence_ipmilan') ]]"
other=$(other_nodes n1 "$actor")
# kept too long at it, the next executor would have its turn anyway: what is looked at is an executor that dies
is "$(executor)" "$actor" || fail "it is $(executor)'s turn already"
rig kill "$actor" "hf-node.sh _keep holdfast-fencer"
rig kill "$actor" holdfast-fencer
T0=$(rig now)
must 2 "its agents end with it" eval "[[ -z \$(rig pids $actor fence_ipmilan) ]]"
for p in $(rig pids "$actor" '^ipmitool'); do kill -9 "$p"; done     # an agent's own child: systemd ends it with the unit
rig bmc n1 ok
must 20 "$other switches n1 off" ran "$other" 'chassis power off'
must 20 "web1 runs elsewhere" runs_elsewhere web1 n1
note "$actor's fencer died, web1 runs $(since_t0) later"
ran "$actor" 'fence_ipmilan|ipmitool' && fail "$actor has run an agent without a fencer"
is "$(offs n1)" 1 || fail "n1 was switched off $(offs n1) times"
is "$(about "$other" n1 .proof)" "fence device reads off" || fail "the proof is: $(about "$other" n1 .proof)"
