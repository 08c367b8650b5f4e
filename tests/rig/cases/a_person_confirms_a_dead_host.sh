# O5: no proof can be had: a person's word is one. Refused while the node is heard.
vm web1 n1
hf n2 fence confirm n1 --typed n1 --reason "a mistake" >/dev/null 2>&1 && fail "a living node was confirmed dead"
T0=$(rig now)
rig poweroff n1 --ac
must 10 "n1 is missed" eval '[[ $(node_state n2 n1) == @(lost|fencing) ]]'
never 2 "web1 was started without proof" eval '[[ -n $(truth web1) ]]'
hf n2 fence confirm n1 --typed n1 >/dev/null 2>&1 && fail "confirmed without a reason"
hf n2 fence confirm n1 --typed n2 --reason "pulled both feeds" >/dev/null 2>&1 && fail "confirmed with another node's name"
hf n2 fence confirm n1 --reason "pulled both feeds" >/dev/null 2>&1 </dev/null && fail "confirmed without a typed name"
hf n2 fence confirm n1 --typed n1 --reason "pulled both feeds" >/dev/null || fail "the confirmation is refused"
must 10 "web1 runs elsewhere" runs_elsewhere web1 n1
is "$(st n3 '.nodes[] | select(.name == "n1") | .proof')" "operator's word" || fail "the proof is another one"
