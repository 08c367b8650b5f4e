# P16: libvirtd hangs: what it would say is unknown, never stopped. No fence, no start. Then it is back.
vm web1 n1
pid=$(truth_pid web1)
rig hang-libvirt n1
watch_is() { st n2 ".nodes[] | select(.name == \"n1\") | .vm_watch == $1"; }
must 25 "status says that n1's VMs are not known" watch_is false
st n2 '.needs[] | select(.name == "n1" and (.text | test("VM monitor")))' >/dev/null || fail "status does not complain"
never 4 "it had a consequence" eval '[[ $(truth web1) != "n1 $pid" || $(all_offs) != 0 ]]'
rig resume n1 libvirtd
must 25 "n1's VMs are known again" watch_is true
is "$(truth web1)" "n1 $pid" || fail "web1 is another one: $(truth web1)"
