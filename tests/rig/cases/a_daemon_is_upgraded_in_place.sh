# with: watchdog
# P1, O8: holdfastd is told to end and another file of it is started later than L + 2W: announced, so that nobody fences its
# node, its watchdog is fed on, and no VM is touched. Then back again.
vm web1 n1
vm web2 n2
must 20 "n1's watchdog is armed" guarded n1
truth web1 >"$CASE/before"; truth web2 >>"$CASE/before"
touched() { [[ $(truth web1; truth web2) != "$(<"$CASE/before")" || $(all_offs) != 0 ]] || has_fired n1; }
program=/usr/local/sbin/holdfastd
target=$(rig exec n1 readlink -f $program)
# another file of the same daemon (without its symbols, and then with them again) in the place of the one that ran
install_other() {
	if [[ -e $CASE/stripped ]]; then cp "$target" "$CASE/new"; else strip -o "$CASE/new" "$target" && : >"$CASE/stripped"; fi || return 1
	cp "$CASE/new" "$RIG_STATE/shared/holdfastd.new"
	rig exec n1 sh -c "install -m 755 /shared/holdfastd.new $program.new && mv -T $program.new $program"
}
running() { sha256sum </proc/$(rig pids n1 "^holdfastd" | head -n 1)/exe; }
for wait in $((GROUP_L + 2 * GROUP_W + 1)) 1; do
	before=$(running)
	rig kill n1 "hf-node.sh _keep holdfastd"
	rig kill n1 holdfastd TERM
	must 5 "holdfastd ends" eval '[[ -z $(rig pids n1 "^holdfastd") ]]'
	must 5 "the others were told" about n2 n1 '.hold.ms > 0'
	never "$wait" "its absence had a consequence" touched
	install_other || fail "no other file can be installed"
	daemon_start n1
	must 15 "n1 is a member again" eval '[[ $(node_state n2 n1) == member && $(node_state n1 n1) == member ]]'
	must 20 "the hold is over and its watchdog is armed as before" eval 'guarded n1 && about n2 n1 ".hold == null and (.watchdog.held | not)"'
	[[ $(running) == "$(sha256sum <"$CASE/new")" && $(running) != "$before" ]] || fail "n1 runs the file that it ran before"
done
rig exec n1 ln -sfn "$target" $program
never 3 "its return had a consequence" touched
