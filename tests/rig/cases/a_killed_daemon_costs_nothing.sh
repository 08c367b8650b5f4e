# P1: holdfastd is killed and comes back within its grace: nobody is fenced, the VM is not touched.
vm web1 n1
vm web2 n2
truth web1 >"$CASE/before"; truth web2 >>"$CASE/before"
rig kill n1 holdfastd
must 10 "n1's daemon is a member again" eval '[[ $(node_state n1 n1) == member && $(node_state n2 n1) == member ]]'
never 5 "a VM was touched" eval '[[ $(truth web1; truth web2) != "$(<"$CASE/before")" ]]'
is "$(all_offs)" 0 || fail "somebody was fenced for it"
