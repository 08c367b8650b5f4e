# Nothing waits for its death: it is lost, not shot, and joins again when its cable is back.
vm web1 n2
isolate n1
must 10 "n1 is lost" eval '[[ $(node_state n2 n1) == lost ]]'
st n1 '.group.phase == "frozen"' >/dev/null || fail "n1 alone is $(st n1 .group.phase), not frozen"
hf n1 vm stop web1 >/dev/null 2>&1
is $? 4 || fail "an order to a frozen node is not refused with 4"
never 4 "n1 was shot" eval '(($(all_offs) > 0))'
rig heal
must 15 "n1 is a member again" eval '[[ $(node_state n2 n1) == member ]]'
