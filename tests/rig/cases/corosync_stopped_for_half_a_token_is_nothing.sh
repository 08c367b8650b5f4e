# C2: a pause below the token, and one so near to it that a person is told. corosync itself may form its membership anew (its links were down for a
# moment); nobody is lost by it, and nothing is touched.
vm web1 n1
pid=$(truth_pid web1)
pauses='.kind == "note" and (.text | test("did not get to run for [0-9]+ ms"))'
rig hang n1 corosync
sleep 0.5
rig resume n1 corosync
never 5 "it had a consequence" eval '[[ $(truth web1) != "n1 $pid" || $(all_offs) != 0 ]]'
is "$(node_state n2 n1)" member || fail "n1 is $(node_state n2 n1)"
for n in n2 n3; do no_event $n '.now == "lost"' || fail "a node was taken for lost, or $n does not tell"; done
st n2 ".group.seq > 0" >/dev/null || fail "n2 does not answer"
# what corosync counts begins with its last look at the clock, so on a busy machine the first one may have been told, too
T0=$(rig now)
rig hang n1 corosync
sleep 0.8
rig resume n1 corosync
must 12 "n1 has an event of the pause" event n1 "$pauses"
must 12 "n1's status tells of it" needs n1 'kept from running for [0-9]+ ms, its token is 1000 ms'
never 3 "it had a consequence" eval '[[ $(truth web1) != "n1 $pid" || $(all_offs) != 0 ]]'
