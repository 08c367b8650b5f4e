# C14: both cables of n1 go up and down near the token time: at most one fence, never two.
vm web1 n1
for k in 1 2 3 4 5; do
	isolate n1; sleep 1.2
	rig heal n1; sleep 0.8
done
must 30 "web1 runs" runs_elsewhere web1
(($(all_offs) <= 1)) || fail "fenced $(all_offs) times"
note "$(all_offs) fenced"
