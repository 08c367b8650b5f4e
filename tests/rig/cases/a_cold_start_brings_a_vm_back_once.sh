# C19, H17: all hosts lose power at once and come back: what ran before runs again, once, unasked.
vm web1 n1
vm web2 n2
hf n1 vm stop web2 --wait >/dev/null || fail "web2 is not stopped"
for n in $NODES; do rig poweroff "$n" & done
wait
T0=$(rig now)
for n in $NODES; do rig poweron "$n"; done
must 40 "web1 runs" runs_elsewhere web1
note "running $(since_t0) after power on"
must 10 "all three agree" group_agrees
is "$(vm_state n1 web2)" stopped || fail "web2 was stopped and is $(vm_state n1 web2)"
is "$(all_offs)" 0 || fail "somebody was fenced for it"
