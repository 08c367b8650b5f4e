# A fence path tried to the end: only on a drained, empty node; off by the BMC, proved, on, a member again.
vm web1 n1
hf n2 fence test n1 >"$CASE/test" || fail "n1's fence path fails its test: $(tail -n 1 "$CASE/test")"
refused "a node that carries a VM was cycled" n2 fence test n1 --power-cycle --yes
hf n2 drain n1 --wait >/dev/null || fail "the drain failed"
must 10 "web1 runs elsewhere" runs_elsewhere web1 n1
refused "a node cycled itself" n1 fence test n1 --power-cycle --yes
is "$(all_offs)" 0 || fail "a refused drill switched something off"
where=$(truth_node web1) T0=$(rig now)
hf n2 fence test n1 --power-cycle --yes --timeout 90s --reason trial >"$CASE/cycle" 2>&1 || fail "the drill: $(tail -n 2 "$CASE/cycle" | tr '\n' ' ')"
is "$(node_state n2 n1)" member || fail "n1 is $(node_state n2 n1)"
is "$(all_offs)" 1 || fail "$(all_offs) power-offs"
is "$(truth_node web1)" "$where" || fail "web1 was touched"
note "$(awk '$2 == "s" && /proved dead|member again/ {print $(NF - 1), $NF, "after", $1, "s;"}' "$CASE/cycle" | tr '\n' ' ')"
must 5 "it is told who did it" event n2 '.kind == "audit" and .verb == "fence" and .granted and .who == "uid-0"'
hf n2 undrain n1 >/dev/null || fail "the undrain failed"
