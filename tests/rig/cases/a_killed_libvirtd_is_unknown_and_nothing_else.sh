# P16: the same, killed: noticed at once; the VM runs on; all is known again when it is back.
vm web1 n1
pid=$(truth_pid web1)
rig kill n1 libvirtd
watch_is() { st n2 ".nodes[] | select(.name == \"n1\") | .vm_watch == $1"; }
must 5 "status says that n1's VMs are not known" watch_is false
never 5 "it had a consequence" eval '[[ $(truth web1) != "n1 $pid" || $(all_offs) != 0 ]]'
is "$(vm_state n2 web1)" running || fail "web1 is said to be $(vm_state n2 web1)"
rig exec n1 bash /rig/libvirt-node.sh start
must 15 "n1's VMs are known again" watch_is true
is "$(truth web1)" "n1 $pid" || fail "web1 is another one: $(truth web1)"
