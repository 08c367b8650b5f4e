# P17, P18: qemu is killed the moment libvirtd hangs: noticed at once, and a start is given to that very
# libvirtd. Nobody can prove that this start will not come about: only n1's death can.
vm web1 n1
rig hang-libvirt n1
T0=$(rig now)
kill -9 "$(truth_pid web1)"
must 2 "its end is noticed" event n2 '.name == "web1" and .why == "crashed"'
must 50 "web1 runs elsewhere" runs_elsewhere web1 n1
note "recovered within $(since_t0)"
is "$(offs n1)" 1 || fail "n1 was switched off $(offs n1) times"
