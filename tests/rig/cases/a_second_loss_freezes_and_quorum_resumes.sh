# H15: n1 dies, then n2 before anything is recovered: n3 alone does nothing. n2's return resumes.
vm web1 n1
rig poweroff n1 --ac
rig poweroff n2 --ac
must 10 "n3 is frozen" eval '[[ $(st n3 .group.phase) == frozen ]]'
never 5 "n3 acted alone" eval '[[ -n $(truth web1) ]]'
rig bmc n1 ok
rig poweron n2
must 60 "web1 runs, with n2 back" runs_elsewhere web1 n1
