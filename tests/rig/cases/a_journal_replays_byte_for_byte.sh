# What a node decided is decided again, byte for byte, from the events in its journal.
[[ -x $HF_BIN/holdfast-sim ]] || fail "there is no holdfast-sim in $HF_BIN"
vm web1 n1
kill -9 "$(truth_pid web1)"
must 10 "web1 is back" runs_on web1 n1
rig poweroff n1
must 15 "web1 runs elsewhere" runs_elsewhere web1 n1
files=0
for n in n2 n3; do
	cp -r "$(rig path "$n" /var/lib/holdfast)" "$CASE/$n"
	for f in $(find "$CASE/$n" -name '*journal*' -type f | sort); do
		files=$((files + 1))
		"$HF_BIN/holdfast-sim" --replay "$f" >"$CASE/replay" 2>&1 || fail "$n: $(basename "$f"): $(tail -n 1 "$CASE/replay")"
	done
done
((files >= 2)) || fail "there is no journal"
note "$files files; $(tail -n 1 "$CASE/replay")"
