# The VM agent comes up on a node whose libvirtd does not run.
rig kill n3 libvirtd
rig kill n3 "holdfast-agent vm"
must 5 "status says that libvirt is missing" eval 'st n3 ".daemon.agents[] | select(.kind == \"vm\") | (.connected and (.fresh | not) and (.text | test(\"libvirt\")))"'
vm_add web1 n3 || fail "web1 cannot be added"
must 10 "web1 is placed where VMs are watched" runs_elsewhere web1 n3
rig exec n3 bash /rig/libvirt-node.sh start
must 10 "n3's VMs are known as soon as it is there" eval 'st n1 ".nodes[] | select(.name == \"n3\") | .vm_watch"'
