# P9: the VM agent is killed and starts again: the VM is the same, its death is noticed as before.
vm web1 n1
pid=$(truth_pid web1)
rig kill n1 "holdfast-agent vm"
never 4 "it had a consequence" eval '[[ $(truth web1) != "n1 $pid" || $(all_offs) != 0 ]]'
must 10 "n1's VMs are known" eval 'st n2 ".nodes[] | select(.name == \"n1\") | .vm_watch"'
kill -9 "$pid"
must 10 "web1 is back on n1" eval '[[ $(truth_node web1) == n1 && $(truth_pid web1) != $pid ]]'
must 5 "and said to run" runs_on web1 n1
