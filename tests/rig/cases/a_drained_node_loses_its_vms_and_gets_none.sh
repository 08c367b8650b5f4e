# drain moves VMs away and places none there; undrain ends it and moves nothing back.
vm web1 n1
vm web2 n1
hf n2 drain n1 --for 10min --wait >/dev/null || fail "the drain failed"
[[ -z $({ truth web1; truth web2; } | grep n1) ]] || fail "it says done and something is left there"
must 10 "web1 runs elsewhere" runs_elsewhere web1 n1
must 10 "web2 runs elsewhere" runs_elsewhere web2 n1
vm_add web3 n1 || fail "web3 cannot be added"
must 10 "web3 is placed elsewhere" runs_elsewhere web3 n1
hf n2 undrain n1 >/dev/null || fail "the undrain failed"
a=$(truth web1; truth web2; truth web3)
never 3 "something moved back" eval '[[ $(truth web1; truth web2; truth web3) != "$a" ]]'
is "$(all_offs)" 0 || fail "somebody was fenced for it"
