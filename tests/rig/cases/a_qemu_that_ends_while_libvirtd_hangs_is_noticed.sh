# P16, P17: libvirtd hangs, which is known, and then qemu is killed: its process tells. The VM runs
# elsewhere, without a fence: that it does not run here needs no libvirt.
vm web1 n1
rig hang-libvirt n1
must 25 "n1's VMs are not known to libvirt" eval 'st n2 ".nodes[] | select(.name == \"n1\") | .vm_watch == false"'
T0=$(rig now)
kill -9 "$(truth_pid web1)"
must 10 "web1 runs elsewhere" runs_elsewhere web1 n1
note "recovered within $(since_t0)"
is "$(all_offs)" 0 || fail "somebody was fenced for it"
