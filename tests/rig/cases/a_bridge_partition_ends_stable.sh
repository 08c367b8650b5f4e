# C12: n1 and n3 do not hear each other, n2 hears both: at most one fence, never two, and it ends.
vm web1 n1
vm web3 n3
T0=$(rig now)
rig sever n1 n3
stable() {
	local at=$(truth web1; truth web3) k
	[[ $(wc -l <<<"$at") == 2 ]] || return 1
	for k in 1 2 3 4 5 6 7 8 9 10; do sleep 0.5; [[ $(truth web1; truth web3) == "$at" ]] || return 1; done
}
must 40 "both run and stay where they are for 5 s" stable
note "stable within $(since_t0), $(all_offs) fenced"
(($(all_offs) <= 1)) || fail "$(all_offs) fences for one incident: $(rig events | awk -v t="$T0" '$1 > t && /power 0/' | paste -sd';')"
