# K4: the clocks that count from n1's boot jump an hour ahead, as after a sleep: Holdfast's programs begin anew and find
# every process an hour older than they had noted. The VM is the same one, nobody is fenced, and what dies is made good.
anew() {
	local what
	for what in holdfastd host vm holdfast-fencer holdfast-feeder; do rig kill n1 "hf-node.sh _keep $what"; done
	for what in holdfastd holdfast-agent holdfast-fencer holdfast-feeder; do rig kill n1 "$what"; done
	rig exec n1 "$@" bash /rig/hf-node.sh boot
}
vm web1 n1
vm web2 n2
truth web1 >"$CASE/before"; truth web2 >>"$CASE/before"
anew unshare --time --boottime 3600 --monotonic 3600 --fork || fail "this kernel has no clocks to give"
ahead() { [[ $(readlink "/proc/$(rig pids n1 '^holdfastd' | head -n 1)/ns/time") != "$(readlink /proc/self/ns/time)" ]]; }
must 15 "n1 is a member with them" eval 'ahead && is_member n1 && [[ $(node_state n2 n1) == member ]]'
never 5 "it had a consequence" eval '[[ $(truth web1; truth web2) != "$(<"$CASE/before")" || $(all_offs) != 0 || $(node_state n2 n1) != member ]]'
must 5 "all three agree" group_agrees
runs_on web1 n1 || fail "web1 is said to be $(vm_state n2 web1)"
kill -9 "$(truth_pid web1)"
must 10 "a failure is made good as ever" runs_on web1 n1
hf n1 vm move web1 n3 --wait >/dev/null || fail "an order is not obeyed"
is "$(all_offs)" 0 || fail "somebody was fenced for it"
rig poweroff n1                    # its clocks cannot go back within one boot
