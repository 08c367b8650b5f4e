# A host comes back by itself while its BMC refuses to act: its new boot id proves that web1 is gone.
vm web1 n1
rig poweroff n1 --ac
must 10 "n1 is missed" eval '[[ $(node_state n2 n1) == @(lost|fencing) ]]'
rig poweron n1 4
rig bmc n1 refuse
never 2 "web1 was started without proof" eval '[[ -n $(truth web1) ]]'
must 25 "n1 is a member again" eval '[[ $(node_state n2 n1) == member ]]'
must 10 "web1 runs again" runs_elsewhere web1
is "$(st n3 '.nodes[] | select(.name == "n1") | .proof')" "came back under a new boot id" || fail "the proof is another one"
