# H12: while all is well somebody exchanges the BMCs of n1 and n2. Each says that it is in another host, and neither
# is used from then on: n1 dies and cannot be proved dead, and n2, which its device would have shot, runs on.
vm web2 n2
pid=$(truth_pid web2)
hf n3 fence test n1 >/dev/null # the case before may have left a failed one, tried again in a minute
must 10 "n1's path is good" about n3 n1 '.fence_paths[0].path == "ok"'
rig bmc-swap n1 n2
hf n3 fence test n1 --json >"$CASE/test1" 2>&1
hf n3 fence test n2 --json >"$CASE/test2" 2>&1
must 10 "n1's device is known to be in another host" about n3 n1 '.fence_paths[0].path == "wrong host"'
T0=$(rig now)
isolate n1
must 15 "n1 is lost" eval '[[ $(node_state n3 n1) != member ]]'
never 5 "somebody was switched off" eval '(($(all_offs) > 0))'
is "$(truth web2)" "n2 $pid" || fail "web2 was hit"
rig heal
rig bmc n1 ok
rig bmc n2 ok
must 20 "n1 is a member again" eval '[[ $(node_state n3 n1) == member ]]'
hf n3 fence test n1 >/dev/null || fail "n1's path is not good again"
hf n3 fence test n2 >/dev/null || fail "n2's path is not good again"
