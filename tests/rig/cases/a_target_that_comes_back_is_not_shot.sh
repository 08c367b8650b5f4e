# H14: n1 is cut off and its BMC hangs in the middle of its fencing; then its cable is back. The order dies with
# the absence it was for: web1 goes on, also when the BMC answers again.
vm web1 n1
pid=$(truth_pid web1)
rig bmc n1 hang
isolate n1
must 10 "somebody fences n1" about n3 n1 '.fencing.actor'
must 5 "an agent is at it" eval 'ran n2 fence_ipmilan || ran n3 fence_ipmilan'
rig heal
must 20 "n1 is a member again" eval '[[ $(node_state n2 n1) == member ]]'
rig bmc n1 ok
never 5 "it had a consequence" eval '[[ $(truth web1) != "n1 $pid" || $(all_offs) != 0 || $(node_state n2 n1) != member ]]'
