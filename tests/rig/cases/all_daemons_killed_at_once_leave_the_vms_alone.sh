# Every holdfastd dies in one instant: the state comes from disk, the VMs are found where they were.
vm web1 n1
vm web2 n2
truth web1 >"$CASE/before"; truth web2 >>"$CASE/before"
for n in $NODES; do rig kill "$n" holdfastd; done
must 25 "all three agree" group_agrees
is "$(truth web1; truth web2)" "$(<"$CASE/before")" || fail "a VM was touched"
is "$(all_offs)" 0 || fail "somebody was fenced for it"
