# M1, M2: somebody without rights, and somebody who does not speak the protocol: nothing happens.
vm web1 n1
rig exec n1 setpriv --reuid 65534 --regid 65534 --clear-groups holdfast status >/dev/null 2>&1
rc=$?
((rc == 5 || rc == 3)) || fail "nobody's status ended with $rc"
rig exec n1 setpriv --reuid 65534 --regid 65534 --clear-groups holdfast disarm >/dev/null 2>&1 && fail "nobody disarmed it"
rig exec n1 python3 - <<-'P' || fail "the doors cannot be knocked at"
import os, socket
for name in ("ctl.sock", "agent.sock"):
    for size in (0, 1, 3, 64, 2048, 60000):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.settimeout(2)
            s.connect("/run/holdfast/" + name)
            try:
                s.send(os.urandom(size))
                s.recv(65536)
            except OSError:
                pass
P
must 5 "all three agree" group_agrees
runs_on web1 n1 || fail "web1 is on $(truth web1)"
is "$(all_offs)" 0 || fail "somebody was fenced for it"
