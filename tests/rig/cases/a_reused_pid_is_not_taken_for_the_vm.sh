# P12: while nobody can look, a VM's qemu ends and another process gets its pid: first under a VM agent that was stopped,
# then under a new one with libvirt stopped and its pid file still there. Both times the VM has ended, and is started again.
reuse_pid() {   # kills web1's qemu in n1 and gives its pid to a `sleep`
	rig exec n1 python3 - <<-'P' || fail "its pid cannot be used again"
	import os, re, signal, time
	def qemus():
	    for pid in filter(str.isdigit, os.listdir("/proc")):
	        try:
	            with open("/proc/%s/cmdline" % pid, "rb") as f:
	                if re.search(rb"qemu-system.*guest=web1,", f.read().replace(b"\0", b" ")):
	                    yield int(pid)
	        except OSError:
	            pass
	(pid,) = qemus()
	os.kill(pid, signal.SIGKILL)
	end = time.monotonic() + 10
	while os.path.exists("/proc/%d" % pid) and time.monotonic() < end:
	    time.sleep(0.01)
	for _ in range(50):
	    with open("/proc/sys/kernel/ns_last_pid", "w") as f:
	        f.write(str(pid - 1))
	    child = os.fork()
	    if child == 0:
	        os.setsid()
	        for fd in range(3):
	            os.close(fd)
	        os.execv("/bin/sleep", ["sleep", "60"])
	    if child == pid:
	        print("pid", pid, "is a sleep now")
	        raise SystemExit(0)
	    os.kill(child, signal.SIGKILL)
	    os.waitpid(child, 0)
	raise SystemExit("pid %d was not given again" % pid)
	P
}
lives() { [[ -n $(truth web1) && $(vm_state n2 web1) == running ]]; }
vm web1 n1
rig hang n1 "holdfast-agent vm"
reuse_pid
rig resume n1 "holdfast-agent vm"
must 20 "web1 runs again" lives
event n2 '.name == "web1" and .why == "crashed"' || fail "nobody was told that it ended"
must 20 "web1 runs on n1" runs_on web1 n1
T0=$(rig now)
rig hang-libvirt n1
rig kill n1 "holdfast-agent vm"
reuse_pid
rig resume n1 libvirtd
must 30 "web1 runs again" lives
is "$(all_offs)" 0 || fail "somebody was fenced for it"
