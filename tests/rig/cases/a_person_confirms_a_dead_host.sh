# O5: no proof can be had: a person's word is one. Refused while the node is heard.
vm web1 n1
refused "a living node was confirmed dead" n2 fence confirm n1 --typed n1 --reason "a mistake"
T0=$(rig now)
rig poweroff n1 --ac
must 10 "n1 is missed" eval '[[ $(node_state n2 n1) == @(lost|fencing) ]]'
never 2 "web1 was started without proof" eval '[[ -n $(truth web1) ]]'
refused "confirmed without a reason" n2 fence confirm n1 --typed n1
refused "confirmed with another node's name" n2 fence confirm n1 --typed n2 --reason "pulled both feeds"
refused "confirmed without a typed name" n2 fence confirm n1 --reason "pulled both feeds"
hf n2 fence confirm n1 --typed n1 --reason "pulled both feeds" >/dev/null || fail "the confirmation is refused"
must 10 "web1 runs elsewhere" runs_elsewhere web1 n1
is "$(st n3 '.nodes[] | select(.name == "n1") | .proof')" "operator's word" || fail "the proof is another one"
recent='(.time | sub("[.][0-9]+Z$"; "Z") | fromdate | . - now | fabs < 120)'
must 5 "everybody has a record of who said so, when and why" event n3 ".kind == \"order\" and .name == \"n1\" and .applied and .who == \"uid-0\" and (.text | test(\"pulled both feeds\")) and $recent"
must 5 "so has the audit" event n2 ".kind == \"audit\" and .name == \"n1\" and .granted and .who == \"uid-0\" and (.text | test(\"pulled both feeds\")) and $recent"
no_event n3 '.kind == "order" and .applied and (.text | test("mistake"))' || fail "the refused word is on record as applied"
