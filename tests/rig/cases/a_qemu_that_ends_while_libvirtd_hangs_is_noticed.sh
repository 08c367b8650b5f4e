# P16, P17: libvirtd hangs and then qemu is killed: the process itself tells; the VM runs elsewhere.
vm web1 n1
rig hang-libvirt n1
T0=$(rig now)
kill -9 "$(truth_pid web1)"
must 60 "web1 runs elsewhere" runs_elsewhere web1 n1
note "recovered within $(since_t0)"
is "$(all_offs)" 0 || fail "somebody was fenced for it"
