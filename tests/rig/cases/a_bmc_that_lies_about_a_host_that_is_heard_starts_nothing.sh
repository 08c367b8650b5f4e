# H10: the BMC of n1 says done and reads off, and n1 lives on: its corosync is heard. That contradicts the
# proof: an alarm, and nothing starts. When its daemon is back, web1 was there all the time.
vm web1 n1
pid=$(truth_pid web1)
rig bmc n1 lie
rig hang n1 holdfastd
must 15 "its BMC reads off" event n2 '.name == "n1" and .why == "reads-off"'
never 3 "a second web1" eval '[[ $(truth web1) != "n1 $pid" || $(node_state n2 n1) == dead ]]'
must 10 "it is told that n1 is heard all the same" event n2 '.name == "n1" and .why == "heard-after-proof"'
is "$(vm_state n2 web1)" "waiting for proof" || fail "web1 is $(vm_state n2 web1)"
must 5 "status says that n1 cannot be proved dead" needs n2 'cannot be proved dead' n1
is "$(truth web1)" "n1 $pid" || fail "web1 is on $(truth web1)"
rig poweron n1                     # ends the lie: what is on reads on
rig bmc n1 ok
rig resume n1 holdfastd
must 20 "n1 is a member again" eval '[[ $(node_state n2 n1) == member ]]'
must 10 "web1 runs where it was" runs_on web1 n1
is "$(truth_pid web1)" "$pid" || fail "web1 was started again"
