# with: levels
# H11: the BMCs' password is wrong on n2 and n3. The self-test says so while all is well; at the incident the
# second level proves n1 dead.
password() {
	local n
	for n in n2 n3; do rig exec "$n" sed -i "s/^password=.*/password=$1/" /etc/holdfast/fence.d/bmc.cred; done
}
vm web1 n1
must 10 "n1's paths are good" about n2 n1 'all(.fence_paths[]; .path == "ok")'
password wrong
rig kill n2 holdfastd              # one that has just begun tries its paths at once, not within a minute
must 20 "everybody knows that level 1 is denied" about n3 n1 '.fence_paths | .[0].path == "denied" and .[1].path == "ok"'
must 5 "status complains of it" needs n2 'level 1 .*would not work now: denied' n1
hf n2 fence test n1 --json >"$CASE/test" 2>&1 && fail "a test of n1 says that all is well"
is "$(jq -r '[.tests[].path] | join(", ")' "$CASE/test")" "denied, ok" || fail "the test says: $(cat "$CASE/test")"
grep -q wrong "$CASE/test" && fail "the test prints the password"
T0=$(rig now)
rig poweroff n1
must 40 "web1 runs elsewhere" runs_elsewhere web1 n1
note "recovered within $(since_t0)"
is "$(about n2 n1 .proof)" "fence device reads off" || fail "the proof is: $(about n2 n1 .proof)"
is "$(cat "$RIG_STATE/shared/feed/n1-a" "$RIG_STATE/shared/feed/n1-b" | xargs)" "off off" || fail "its feeds are on"
password secret
