# with: watchdog
# K1: the wall clock of n1 jumps an hour ahead, and two hours back: no timer, no order, no lease, no VM notices. An hour ahead,
# n3 loses its power: it is fenced and its VM runs elsewhere as ever, and n1 is not reset.
cat >"$RIG_STATE/shared/wall.c" <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static volatile long *offset; /* seconds, in a file that the test writes */
__attribute__((constructor)) static void map(void)
{
    int fd = open("/shared/wall", O_RDONLY | O_CLOEXEC);
    void *at = mmap(0, sizeof *offset, PROT_READ, MAP_SHARED, fd, 0);
    offset = at == MAP_FAILED ? 0 : at;
    close(fd);
}
int clock_gettime(clockid_t id, struct timespec *ts)
{
    int rc = (int)syscall(SYS_clock_gettime, id, ts);
    if (rc == 0 && id == CLOCK_REALTIME && offset)
        ts->tv_sec += *offset;
    return rc;
}
int gettimeofday(struct timeval *tv, void *tz)
{
    struct timespec ts;
    (void)tz;
    clock_gettime(CLOCK_REALTIME, &ts);
    tv->tv_sec = ts.tv_sec;
    tv->tv_usec = ts.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *t)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    if (t)
        *t = ts.tv_sec;
    return ts.tv_sec;
}
C
step() { python3 -c 'import struct, sys; f = open(sys.argv[1], "r+b"); f.write(struct.pack("l", int(sys.argv[2])))' "$RIG_STATE/shared/wall" "$1"; }
anew() {   # ENVIRONMENT: everything of Holdfast on n1, started again
	local what
	for what in holdfastd host vm holdfast-fencer holdfast-feeder; do rig kill n1 "hf-node.sh _keep $what"; done
	for what in holdfastd holdfast-agent holdfast-fencer holdfast-feeder; do rig kill n1 "$what"; done
	# the feeder goes by a preload of its own: it has both
	[[ $1 != LD_PRELOAD=* ]] || echo 'export LD_PRELOAD="$LD_PRELOAD /shared/wall.so"' >>"$RIG_STATE/node/n1/wd/env"
	rig exec n1 env "$@" bash /rig/hf-node.sh boot
}
gcc -shared -fPIC -O1 -w -o "$RIG_STATE/shared/wall.so" "$RIG_STATE/shared/wall.c" || fail "no shim"
head -c 8 /dev/zero >"$RIG_STATE/shared/wall"
anew LD_PRELOAD=/shared/wall.so    # before there is a VM: no watchdog is armed that a dead feeder would leave to fire
must 15 "n1 is a member with it" eval '[[ $(node_state n2 n1) == member && $(node_state n1 n1) == member ]]'
vm web1 n1
vm web2 n2
vm web3 n3
must 20 "the watchdogs of n1 and n3 are armed" eval 'guarded n1 && about n2 n3 ".watchdog.safe_ms > 0"'
preloaded() { grep -q /shared/wall.so "/proc/$(rig pids n1 "^$1" | head -n 1)/maps"; }
for what in holdfastd holdfast-agent holdfast-fencer holdfast-feeder; do preloaded $what || fail "$what goes by the true clock"; done
ahead() { echo $(($(date -d "$(st n1 .now)" +%s) - $(date +%s))); }
untouched() { truth web1 && truth web2 && ! has_fired n1; }
for jump in 3600 -3600; do
	untouched >"$CASE/before"
	step $jump
	must 3 "n1's clock is off by $jump s" eval "(( \$(ahead) >= $jump - 3 && \$(ahead) <= $jump + 3 ))"
	never 5 "it had a consequence" eval '[[ $(untouched) != "$(<"$CASE/before")" || $(all_offs) != 0 || $(node_state n2 n1) != member ]] || has_fired n1'
	must 5 "all three agree" group_agrees
	[[ $jump == 3600 ]] || continue
	# no BMC can prove it: n1, an hour ahead, waits for T_safe, and it is T_safe
	T0=$(rig now)
	rig poweroff n3 --ac
	must 25 "web3 runs elsewhere" runs_elsewhere web3 n3
	lost=$(for n in n1 n2; do event_time $n '.name == "n3" and .now == "lost"'; done | sort -n | tail -n 1)
	took=$(($(exec_time web3) - lost))
	note "n3's VM ran $(seconds $took) after the loss, T_safe is $(seconds "$(safe_ns)")"
	((took >= $(safe_ns))) || fail "started $(seconds $took) after the loss, T_safe is $(seconds "$(safe_ns)")"
	has_fired n1 && fail "n1 was reset"
	is "$(untouched)" "$(<"$CASE/before")" || fail "another VM was touched: $(untouched | paste -sd';')"
	rig poweron n3
	must 30 "n3 is a member again" eval 'is_member n3 && [[ $(node_state n2 n3) == member ]]'
	T0=$(rig now)
done
kill -9 "$(truth_pid web1)"
must 10 "a failure is made good as ever" runs_on web1 n1
event n1 '.name == "web1" and .why == "crashed"' || fail "n1 has not noted it"
rig poweroff n1                    # and its next boot goes by the true clock
