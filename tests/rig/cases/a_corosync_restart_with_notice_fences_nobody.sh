# with: watchdog
# C3: a hold is announced for n1, its corosync ends and is back later than L + 2W: its VM runs on, its watchdog is
# fed, nobody is fenced. The same without notice is C1.
vm web1 n1
pid=$(truth_pid web1)
must 20 "n1's watchdog is armed" guarded n1
hf n2 hold n1 --for 40s --wait >/dev/null || fail "the hold is refused"
touched() { [[ $(truth web1) != "n1 $pid" || $(all_offs) != 0 ]] || has_fired n1; }
rig kill n1 corosync TERM
must 5 "corosync ends" eval '[[ -z $(rig pids n1 "^corosync") ]]'
must 5 "n1 is away" about n2 n1 '.present | not'
never $((GROUP_L + 2 * GROUP_W + 1)) "its absence had a consequence" touched
rig exec n1 bash /rig/corosync-node.sh start
must 20 "n1 is a member again" eval '[[ $(node_state n2 n1) == member ]]'
must 10 "web1 runs where it was" runs_on web1 n1
never 3 "its return had a consequence" touched
