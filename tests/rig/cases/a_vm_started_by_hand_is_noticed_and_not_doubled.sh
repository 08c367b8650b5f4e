# O4: web1 is stopped, and somebody starts it with virsh on n2: held there, and never a second one.
vm web1 n1
hf n1 vm stop web1 --wait >/dev/null || fail "web1 is not stopped"
cp "$RIG_STATE/shared/web1.xml" "$RIG_STATE/shared/byhand.xml"
rig exec n2 virsh create /shared/byhand.xml >/dev/null || fail "virsh cannot create it"
must 15 "it is noticed" eval '[[ $(st n1 ".vms[] | select(.name == \"web1\") | .state + \" \" + .node") == "held n2" ]]'
hf n1 vm start web1 >/dev/null 2>&1
never 4 "a second one" eval '[[ $(truth web1 | wc -l) != 1 ]]'
