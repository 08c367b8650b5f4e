# O4: somebody destroys web1 with virsh: that is no crash. Held, until given back.
vm web1 n1
rig exec n1 virsh destroy web1 >/dev/null || fail "virsh cannot destroy it"
must 5 "web1 is held" eval '[[ $(vm_state n2 web1) == held ]]'
never 3 "it was started against a person's will" eval '[[ -n $(truth web1) ]]'
hf n2 status | grep -q 'web1.*held' || fail "status does not say so"
hf n2 vm start web1 --wait --timeout 10s >/dev/null || fail "it cannot be given back"
must 5 "web1 runs" runs_elsewhere web1
