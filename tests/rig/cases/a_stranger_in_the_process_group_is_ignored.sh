# M5, M9, C7: a program of root's on n2 joins Holdfast's own process group in corosync and says nonsense there: bytes of
# every length, and whatever the others say, again and with a bit turned. Nobody believes it and nobody stops.
cat >"$RIG_STATE/shared/stranger.py" <<'P'
import ctypes, os, random, sys, time
cpg = ctypes.CDLL("libcpg.so.4")
class Name(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint32), ("value", ctypes.c_char * 128)]
class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_char_p), ("len", ctypes.c_size_t)]
DELIVER = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.POINTER(Name), ctypes.c_uint32, ctypes.c_uint32,
                           ctypes.c_void_p, ctypes.c_size_t)
CHANGE = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.POINTER(Name), ctypes.c_void_p, ctypes.c_size_t,
                          ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t)
class Calls(ctypes.Structure):
    _fields_ = [("deliver", DELIVER), ("change", CHANGE)]
heard = []
def deliver(handle, name, nodeid, pid, data, length):
    if pid != os.getpid() and length and len(heard) < 200:
        heard.append(ctypes.string_at(data, length))
calls = Calls(DELIVER(deliver), CHANGE(lambda *a: None))
handle = ctypes.c_uint64()
assert cpg.cpg_initialize(ctypes.byref(handle), ctypes.byref(calls)) == 1
name = Name(len(sys.argv[1]), sys.argv[1].encode())
assert cpg.cpg_join(handle, ctypes.byref(name)) == 1
sent = 0
def say(data):
    global sent
    if cpg.cpg_mcast_joined(handle, 2, ctypes.byref(Iovec(data, len(data))), 1) == 1:
        sent += 1
end = time.time() + 5
rng = random.Random(1)
while time.time() < end:
    cpg.cpg_dispatch(handle, 2)
    say(os.urandom(rng.choice((1, 3, 8, 31, 64, 500, 9000))))
    if heard:
        old = bytearray(rng.choice(heard))
        say(bytes(old))
        old[rng.randrange(len(old))] ^= 1 << rng.randrange(8)
        say(bytes(old))
    time.sleep(0.01)
print("sent", sent, "heard", len(heard))
P
vm web1 n1
pid=$(truth_pid web1)
group=$(rig exec n2 corosync-cpgtool -d $'\t' | grep -i holdfast | head -n 1 | cut -f 1 | sed 's/\\x00//g')
[[ -n $group ]] || fail "no process group of Holdfast: $(rig exec n2 corosync-cpgtool)"
for n in $NODES; do rig pids "$n" '^holdfastd'; done >"$CASE/daemons"
rig exec n2 python3 /shared/stranger.py "$group" >"$CASE/said" 2>&1 || fail "the stranger: $(tail -n 1 "$CASE/said")"
note "$(tail -n 1 "$CASE/said")"
grep -q 'sent [1-9][0-9][0-9].* heard [1-9]' "$CASE/said" || fail "it did not get through to $group: $(tail -n 1 "$CASE/said")"
is "$(for n in $NODES; do rig pids "$n" '^holdfastd'; done)" "$(<"$CASE/daemons")" || fail "a daemon ended"
must 10 "all three agree" group_agrees
is "$(truth web1)" "n1 $pid" || fail "web1 was touched"
is "$(all_offs)" 0 || fail "somebody was fenced for it"
kill -9 "$pid"
must 10 "the group goes on" runs_on web1 n1
