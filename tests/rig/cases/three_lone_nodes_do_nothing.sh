# C11, C18: 1-1-1: nobody has a majority, so nobody acts. Healed, all three agree.
vm web1 n1
vm web2 n2
truth web1 >"$CASE/before"; truth web2 >>"$CASE/before"
for n in $NODES; do isolate "$n"; done
must 10 "all are frozen" eval '[[ $(for n in $NODES; do st $n .group.phase; done | sort -u) == frozen ]]'
never 5 "somebody acted" eval '[[ $(truth web1; truth web2) != "$(<"$CASE/before")" || $(all_offs) != 0 ]]'
rig heal
must 20 "all three agree" group_agrees
never 2 "somebody acted after it" eval '[[ $(truth web1; truth web2) != "$(<"$CASE/before")" || $(all_offs) != 0 ]]'
