# with: strict
# fresh
# H15: one node was fenced, and within the window another one dies: no more is fenced before a person has looked.
vm web1 n1
rig poweroff n1
must 20 "web1 runs elsewhere" runs_elsewhere web1 n1
at=$(truth_node web1)
rig poweron n1
must 30 "n1 is a member again" is_member n1
T0=$(rig now)
rig poweroff "$at"
must 10 "it is a storm" st n1 .group.storm
must 5 "status says so and what to do" st n1 '.needs | any(.severity == "error" and (.text | test("storm")) and (.command | test("holdfast arm")))'
fenced() { ran n1 'chassis power off' || ran n2 'chassis power off' || ran n3 'chassis power off'; }
never 5 "something was done" eval '[[ -n $(truth web1) ]] || fenced'
hf n1 arm >/dev/null || fail "it cannot be armed again"
must 20 "web1 runs elsewhere" runs_elsewhere web1 "$at"
is "$(about n1 "$at" .proof)" "fence device reads off" || fail "the proof is: $(about n1 "$at" .proof)"
