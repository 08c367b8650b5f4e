# P7, P8: holdfastd of n1 is killed twelve times, at any instant of its start: in the middle of reading or writing
# its journal, joining, copying. Its VM is not touched, nobody is fenced, and its state is the others'.
vm web1 n1
vm web2 n2
truth web1 >"$CASE/before"; truth web2 >>"$CASE/before"
for k in 1 2 3 4 5 6 7 8 9 10 11 12; do
	until_true 3 eval '[[ -n $(rig pids n1 "^holdfastd") ]]'
	sleep "0.$((k * 37 % 60))"
	rig kill n1 holdfastd
	hf n2 drain n3 >/dev/null; hf n2 undrain n3 >/dev/null     # something to write
done
must 15 "n1 is a member" is_member n1
must 10 "all three agree" group_agrees
is "$(truth web1; truth web2)" "$(<"$CASE/before")" || fail "a VM was touched"
is "$(all_offs)" 0 || fail "somebody was fenced for it"
