# C14: one of the two ring links of n1 goes up and down, at periods from a quarter to twice the token. knet moves to
# the other link only after a while, so the token may be lost: one fence at the most, and all is well again.
# Before that it is away until both ends tell a person of it: holdfast-link looks at knet every 5 s, and knet needs a while.
# knet gives a link that has just come up ten times as long before it leaves it, and a second of that less each second
# (libknet, threads_heartbeat.c): a loss in that time loses the token, too.
settled() {
	local n last
	for n in $NODES; do
		last=$(rig exec "$n" grep -h 'link: [01] is up' /var/log/corosync/corosync.log | tail -n 1 | cut -d. -f1)
		(($(date +%s) - $(date -d "$last" +%s) > 11)) || return 1
	done
}
vm web1 n1
must 15 "no link has just come up" settled
T0=$(rig now)
rig cut n1 ring0
must 12 "n1's status tells of the link" needs n1 'network link 0 to n2 is down'
must 12 "n2's status tells of the link" needs n2 'network link 0 to n1 is down'
must 12 "n2 has an event of it" event n2 '.kind == "note" and (.text | test("network link 0 to n1 lost"))'
note "told after $(since_t0)"
rig heal n1 ring0
must 12 "n2 tells that it is back" event n2 '.kind == "note" and (.text | test("network link 0 to n1 is back"))'
content() { local n; for n in $NODES; do st "$n" '.needs | all(.text | test("network link") | not)' || return 1; done; }
must 12 "nobody complains of a link" content
for half in 0.12 0.25 0.5 0.6 1; do
	for k in 1 2; do
		rig cut n1 ring0; sleep $half
		rig heal n1 ring0; sleep $half
	done
done
must 30 "web1 runs" runs_elsewhere web1
(($(all_offs) <= 1)) || fail "fenced $(all_offs) times"
note "$(all_offs) fenced"
