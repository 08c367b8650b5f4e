# K1: the wall clock of n1 jumps an hour ahead, and two hours back: no timer, no order, no VM notices.
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
	rig exec n1 env "$@" bash /rig/hf-node.sh boot
}
vm web1 n1
vm web2 n2
truth web1 >"$CASE/before"; truth web2 >>"$CASE/before"
gcc -shared -fPIC -O1 -w -o "$RIG_STATE/shared/wall.so" "$RIG_STATE/shared/wall.c" || fail "no shim"
head -c 8 /dev/zero >"$RIG_STATE/shared/wall"
anew LD_PRELOAD=/shared/wall.so
must 15 "n1 is a member with it" eval '[[ $(node_state n2 n1) == member && $(node_state n1 n1) == member ]]'
ahead() { echo $(($(date -d "$(st n1 .now)" +%s) - $(date +%s))); }
for jump in 3600 -3600; do
	step $jump
	must 3 "n1's clock is off by $jump s" eval "(( \$(ahead) >= $jump - 3 && \$(ahead) <= $jump + 3 ))"
	never 5 "it had a consequence" eval '[[ $(truth web1; truth web2) != "$(<"$CASE/before")" || $(all_offs) != 0 || $(node_state n2 n1) != member ]]'
	must 5 "all three agree" group_agrees
done
kill -9 "$(truth_pid web1)"
must 10 "a failure is made good as ever" runs_on web1 n1
event n1 '.name == "web1" and .why == "crashed"' || fail "n1 has not noted it"
anew HOME=/root
must 15 "n1 is a member" eval '[[ $(node_state n2 n1) == member ]]'
