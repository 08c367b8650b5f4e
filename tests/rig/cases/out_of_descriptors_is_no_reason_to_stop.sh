# P14: holdfastd and the fencer of n2, which would fence n1, may open no file any more: they do not spin, and what
# n2 cannot do another node does.
vm web1 n1
for p in holdfastd holdfast-fencer; do
	pid=$(rig pids n2 "^$p" | head -n 1)
	prlimit --pid "$pid" --nofile="$(ls "/proc/$pid/fd" | wc -l)" || fail "$p cannot be limited"
done
pid=$(rig pids n2 '^holdfastd' | head -n 1)
busy() { awk '{print $14 + $15}' "/proc/$pid/stat"; }
for k in 1 2 3; do (hf n2 status >/dev/null 2>&1 &); done      # clients that cannot be let in
a=$(busy); sleep 2; b=$(busy)
((b - a < 100)) || fail "holdfastd used $(((b - a) * 10)) ms of processor time in 2 s"
T0=$(rig now)
rig pause n1
must 40 "web1 runs elsewhere" runs_elsewhere web1 n1
note "recovered within $(since_t0) on $(truth_node web1)"
is "$(offs n1)" 1 || fail "n1 was switched off $(offs n1) times"
for p in holdfast-fencer holdfastd; do rig kill n2 $p; done
