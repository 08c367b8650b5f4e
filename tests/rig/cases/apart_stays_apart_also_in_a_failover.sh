# Two VMs that must not share a node: never on one node, also when one of their hosts dies.
vm web1 n1 --apart web
vm_add web2 - --apart web || fail "web2 cannot be added"
must 10 "web2 runs elsewhere" runs_elsewhere web2 n1
at=$(truth_node web2)
refused "web1 was moved to web2" n1 vm move web1 "$at"
rig poweroff n1
must 15 "web1 runs on the third node" runs_elsewhere web1 n1 "$at"
