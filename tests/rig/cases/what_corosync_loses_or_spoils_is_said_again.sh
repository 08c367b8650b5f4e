# C5, C6, C7: of what n1 says through corosync, a fifth of the messages is accepted and lost, a seventh comes twice, and in one
# of thirty a bit is turned. It takes longer; nothing is believed that was not said, and nothing done twice.
cat >"$RIG_STATE/shared/cpg.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
typedef int (*send_fn)(unsigned long, int, const struct iovec *, unsigned);
int cpg_mcast_joined(unsigned long handle, int how, const struct iovec *iov, unsigned count)
{
    static send_fn real;
    static unsigned x = 1; /* drawn, not counted: what is said in turns must not lose the same each time */
    unsigned k;
    static char spoilt[1 << 20];
    struct iovec other = {spoilt, iov[0].iov_len};
    int rc;
    if (!real)
        real = (send_fn)dlsym(RTLD_NEXT, "cpg_mcast_joined");
    x = x * 1103515245u + 12345u;
    k = x >> 16 & 1023;
    if (k < 205)
        return 1;
    if (k < 240 && count == 1 && iov[0].iov_len <= sizeof spoilt) {
        memcpy(spoilt, iov[0].iov_base, iov[0].iov_len);
        spoilt[(k * 7919u) % iov[0].iov_len] ^= (char)(1 << k % 8);
        return real(handle, how, &other, 1);
    }
    rc = real(handle, how, iov, count);
    if (k < 390)
        (void)real(handle, how, iov, count);
    return rc;
}
C
vm web1 n1
vm web2 n2
pid=$(truth_pid web2)
gcc -shared -fPIC -O1 -w -o "$RIG_STATE/shared/cpg.so" "$RIG_STATE/shared/cpg.c" || fail "no shim"
rig exec n1 sh -c 'echo /shared/cpg.so >/etc/ld.so.preload'
rig kill n1 holdfast-link
must 15 "n1 is a member with it" eval 'is_member n1 && grep -q /shared/cpg.so /proc/$(rig pids n1 "^holdfast-link")/maps'
for k in 1 2 3; do
	old=$(truth_pid web1)
	kill -9 "$old"
	must 30 "web1 is back" eval "runs_elsewhere web1 && [[ \$(truth_pid web1) != $old ]]"
	must 15 "its failure is forgotten" st n2 '.vms[] | select(.name == "web1") | .failures == 0'
	must 30 "an order is obeyed" hf n1 drain n3
	must 30 "another order is obeyed" hf n1 undrain n3
done
never 3 "it had a consequence" eval '[[ $(truth web2) != "n2 $pid" || $(all_offs) != 0 || $(node_state n2 n1) == lost ]]'
rig exec n1 rm -f /etc/ld.so.preload
rig kill n1 holdfast-link
must 15 "n1 is a member without it" is_member n1
must 10 "all three agree" group_agrees
