# P13: whatever libvirt starts on n1 has no memory and is killed by the kernel: the VM is tried there, then runs elsewhere;
# the daemon and its agents, who are not in that group, notice nothing.
group=/sys/fs/cgroup/memory/hf-$RIG_NAME
mkdir "$group" 2>/dev/null || fail "there is no memory controller to be had"
let_go() {
	local pid
	for pid in $(<"$group/cgroup.procs"); do echo "$pid" >"${group%/*}/cgroup.procs"; done 2>/dev/null
	rmdir "$group" 2>/dev/null
}
trap let_go EXIT
vm web1 n1
echo 16M >"$group/memory.limit_in_bytes"
for pid in $(rig pids n1 '^[^ ]*libvirtd'); do echo "$pid" >"$group/cgroup.procs"; done
[[ -n $(<"$group/cgroup.procs") ]] || fail "libvirtd is not in it"
T0=$(rig now)
kill -KILL "$(truth_pid web1)"
must 60 "web1 runs elsewhere" runs_elsewhere web1 n1
note "recovered within $(since_t0), $(awk '/^oom_kill / {print $2}' "$group/memory.oom_control") killed for want of memory"
(($(awk '/^oom_kill / {print $2}' "$group/memory.oom_control") > 0)) || fail "nothing was killed for want of memory"
is "$(all_offs)" 0 || fail "somebody was fenced for it"
is_member n1 || fail "n1 is no member"
