# P10: whatever the host and the VM agent of n1 have to say, they say a thousand times, as fast as their daemon takes it: it goes on
# answering, beating and deciding, nothing is done twice, and it does not grow.
cat >"$RIG_STATE/shared/flood.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
typedef ssize_t (*send_fn)(int, const struct msghdr *, int);
static _Bool is_new[1024]; /* connected, and has not said who it is: that is said once */
int connect(int fd, const struct sockaddr *to, socklen_t len)
{
    int (*real)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "connect");
    int rc = real(fd, to, len);
    if (rc == 0 && fd < 1024)
        is_new[fd] = 1;
    return rc;
}
ssize_t sendmsg(int fd, const struct msghdr *message, int how)
{
    static send_fn real;
    char name[16] = "";
    ssize_t rc;
    if (!real)
        real = (send_fn)dlsym(RTLD_NEXT, "sendmsg");
    rc = real(fd, message, how);
    if (fd < 1024 && is_new[fd]) {
        is_new[fd] = 0;
        return rc;
    }
    prctl(PR_GET_NAME, name);
    for (int k = 0; rc > 0 && k < 1000 && strncmp(name, "holdfast-agent", 14) == 0; k++)
        (void)real(fd, message, how | MSG_DONTWAIT);
    return rc;
}
C
vm web1 n1
vm web2 n2
gcc -shared -fPIC -O1 -w -o "$RIG_STATE/shared/flood.so" "$RIG_STATE/shared/flood.c" || fail "no shim"
daemon=$(rig pids n1 '^holdfastd' | head -n 1)
kib() { awk '/^VmRSS/ {print $2}' "/proc/$daemon/status"; }
before=$(kib)
rig exec n1 sh -c 'echo /shared/flood.so >/etc/ld.so.preload'
rig kill n1 "holdfast-agent vm"; rig kill n1 "holdfast-agent host"
flooding() {
	local p
	[[ $(rig pids n1 "^holdfast-agent" | wc -l) == 2 ]] || return 1
	for p in $(rig pids n1 "^holdfast-agent"); do grep -q /shared/flood.so "/proc/$p/maps" || return 1; done
}
must 10 "both are back with it" flooding
must 15 "n1's VMs are known" about n2 n1 .vm_watch
old=$(truth_pid web1)
kill -9 "$old"
must 15 "web1 is back" eval "runs_on web1 n1 && [[ \$(truth_pid web1) != $old ]]"
hf n1 vm move web2 n1 --wait >/dev/null || fail "an order is not obeyed"
hf n1 vm move web2 n2 --wait >/dev/null || fail "an order is not obeyed"
is "$(rig pids n1 '^holdfastd' | head -n 1)" "$daemon" || fail "the daemon of n1 has ended"
note "$before KiB before, $(kib) KiB after"
(($(kib) < before + 16384)) || fail "the daemon has grown from $before to $(kib) KiB"
is "$(all_offs)" 0 || fail "somebody was fenced for it"
no_event n2 '.name == "n1" and (.now == "lost" or .now == "silent")' || fail "n1 was missed, or n2 does not tell"
rig exec n1 rm -f /etc/ld.so.preload
rig kill n1 "holdfast-agent vm"; rig kill n1 "holdfast-agent host"
