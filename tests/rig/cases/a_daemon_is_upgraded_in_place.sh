# with: watchdog
# P1, O8: holdfastd is told to end and is started again later than L + 2W: announced, so that nobody fences its
# node, its watchdog is fed on, and no VM is touched. Twice in a row.
vm web1 n1
vm web2 n2
must 20 "n1's watchdog is armed" guarded n1
truth web1 >"$CASE/before"; truth web2 >>"$CASE/before"
touched() { [[ $(truth web1; truth web2) != "$(<"$CASE/before")" || $(all_offs) != 0 ]] || has_fired n1; }
for wait in $((GROUP_L + 2 * GROUP_W + 1)) 1; do
	rig kill n1 "hf-node.sh _keep holdfastd"
	rig kill n1 holdfastd TERM
	must 5 "holdfastd ends" eval '[[ -z $(rig pids n1 "^holdfastd") ]]'
	must 5 "the others were told" about n2 n1 '.hold.ms > 0'
	never "$wait" "its absence had a consequence" touched
	daemon_start n1
	must 15 "n1 is a member again" eval '[[ $(node_state n2 n1) == member && $(node_state n1 n1) == member ]]'
	must 20 "the hold is over and its watchdog is armed as before" eval 'guarded n1 && about n2 n1 ".hold == null and (.watchdog.held | not)"'
done
never 3 "its return had a consequence" touched
