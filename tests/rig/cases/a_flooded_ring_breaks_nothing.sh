# C4: another program on n3 sends through corosync as fast as it takes messages: ours queue and are sent later, none is
# lost; a VM that dies meanwhile is made good, an order is obeyed.
cat >"$RIG_STATE/shared/flood.py" <<'P'
import ctypes, sys, time
cpg = ctypes.CDLL("libcpg.so.4")
class Name(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint32), ("value", ctypes.c_char * 128)]
class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_char_p), ("len", ctypes.c_size_t)]
class Calls(ctypes.Structure):
    _fields_ = [("deliver", ctypes.c_void_p), ("change", ctypes.c_void_p)]
handle, calls, name = ctypes.c_uint64(), Calls(None, None), Name(5, b"noise")
assert cpg.cpg_initialize(ctypes.byref(handle), ctypes.byref(calls)) == 1
assert cpg.cpg_join(handle, ctypes.byref(name)) == 1
what = Iovec(b"x" * 8000, 8000)
sent = again = 0
end = time.time() + 8
while time.time() < end:
    cpg.cpg_dispatch(handle, 2)
    rc = cpg.cpg_mcast_joined(handle, 2, ctypes.byref(what), 1)
    sent += rc == 1
    again += rc == 6
    if rc != 1:
        time.sleep(0.001)
print("%d messages, %d times full" % (sent, again))
P
vm web1 n1
rig exec n3 python3 /shared/flood.py >"$CASE/flood" 2>&1 & flood=$!
trap 'kill $flood 2>/dev/null' EXIT
sleep 1
kill -9 "$(truth_pid web1)"
must 15 "web1 is back" runs_on web1 n1
hf n3 drain n2 >/dev/null || fail "an order is not obeyed"
hf n3 undrain n2 >/dev/null || fail "an order is not obeyed"
wait $flood || fail "no flood: $(tail -n 1 "$CASE/flood")"
note "$(tail -n 1 "$CASE/flood")"
grep -q '^[1-9][0-9]* messages, [1-9]' "$CASE/flood" || fail "the flood never filled anything: $(tail -n 1 "$CASE/flood")"
must 10 "all three agree" group_agrees
is "$(all_offs)" 0 || fail "somebody was fenced for it"
