# holdfast fence: power off by order; refused where it would cost the quorum.
vm web1 n1
refused "without a terminal it did not ask for --yes" n2 fence n1
T0=$(rig now)
hf n2 fence n1 --yes --reason "smoke" >/dev/null || fail "the order is refused"
must 15 "web1 runs elsewhere" runs_elsewhere web1 n1
is "$(offs n1)" 1 || fail "n1 was switched off $(offs n1) times"
refused "the last majority was shot" n2 fence n3 --yes --reason "smoke"
never 2 "n3 was switched off" eval '(($(offs n3) > 0))'
