# C14: one of the two ring links of n1 goes up and down, at periods from a quarter to twice the token. knet moves to
# the other link only after a while, so the token may be lost: one fence at the most, and all is well again.
vm web1 n1
for half in 0.12 0.25 0.5 0.6 1; do
	for k in 1 2; do
		rig cut n1 ring0; sleep $half
		rig heal n1 ring0; sleep $half
	done
done
must 30 "web1 runs" runs_elsewhere web1
(($(all_offs) <= 1)) || fail "fenced $(all_offs) times"
note "$(all_offs) fenced"
