# M3: a user without any right asks corosync and Holdfast for buffers of 32 MiB, again and again: libqb makes them before it
# asks whether he may. The group lives, nobody is fenced, and the memory is given back.
vm web1 n1
used() { rig exec n1 df -k --output=used /dev/shm | tail -n 1; }
before=$(used)
rig exec n1 setpriv --reuid 65534 --regid 65534 --clear-groups python3 - <<'P' >"$CASE/asked" || fail "nobody could ask"
import ctypes, os
qb = ctypes.CDLL("libqb.so.100")
qb.qb_ipcc_connect.restype = ctypes.c_void_p
qb.qb_ipcc_connect.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
let_in = sum(qb.qb_ipcc_connect(name, 32 << 20) is not None
             for _ in range(20) for name in (b"cpg", b"cmap", b"quorum", b"votequorum", b"cfg"))
print(let_in)
P
note "$(<"$CASE/asked") of 100 were let in"
is "$(<"$CASE/asked")" 0 || fail "corosync let nobody in"
must 5 "all three agree" group_agrees
runs_on web1 n1 || fail "web1 is on $(truth web1)"
is "$(all_offs)" 0 || fail "somebody was fenced for it"
must 10 "the memory is given back" eval '(($(used) < before + 65536))'
