# A bad file: exit code 2, file and line on stderr, and nothing touched: no socket, no member.
bad() {   # WHAT SED
	rig exec n3 sh -c "sed '$2' /etc/holdfast/holdfast.conf >/etc/holdfast/bad.conf"
	rig exec n3 timeout 10 holdfastd --config /etc/holdfast/bad.conf >"$CASE/bad" 2>&1
	is $? 2 || fail "$1: not exit code 2: $(tail -n 1 "$CASE/bad")"
	grep -Eq '/etc/holdfast/bad.conf:[0-9]+' "$CASE/bad" || fail "$1: no file and line: $(tail -n 1 "$CASE/bad")"
	[[ -z $(rig exec n3 find /run/holdfast -type s) ]] || fail "$1: it opened a door"
}
daemon_stop n3
rig exec n3 sh -c 'rm -f /run/holdfast/*'
bad "unknown key" 's/silent_grace/silent_grave/'
bad "bad value" 's/stable: 1s/stable: soon/'
bad "same id twice" 's/id: 2/id: 1/'
bad "section not closed" '$d'
rig exec n3 timeout 10 holdfastd --config /etc/holdfast/none.conf >"$CASE/bad" 2>&1
is $? 2 || fail "no file: not exit code 2"
daemon_start n3
must 10 "n3 is a member with the good one" eval '[[ $(node_state n1 n3) == member ]]'
is "$(all_offs)" 0 || fail "somebody was fenced for it"
