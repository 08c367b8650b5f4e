# L3: a VM that fits nowhere: `why` names the rule for every node; nothing is tried in a loop.
vm_add big - --memory 500000GiB --allowed n1,n2 || fail "big cannot be added"
must 5 "big is unplaceable" eval '[[ $(vm_state n1 big) == unplaceable ]]'
rules=$(hf n2 why big --json | jq -r '[.placement.nodes[] | .name + " " + (.rule | tostring)] | join(", ")')
is "$rules" "n1 6, n2 6, n3 3" || fail "why says: $rules"
hf n2 why big | grep -q "not enough memory" || fail "why does not say it in words"
hf n3 status | grep -q big || fail "status does not complain of it"
a=$(st n1 .group.seq); sleep 2; b=$(st n1 .group.seq)
is "$a" "$b" || fail "it is tried in a loop: $((b - a)) steps in 2 s"
