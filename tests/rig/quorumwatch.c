/* quorumwatch NODEID - waits for corosync, then prints "ns NODEID quorate=Q members=1,2,3"
 * at each membership or quorum change. Product-neutral observer of the membership. */
#include <corosync/corotypes.h>
#include <corosync/quorum.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int self;
static void show(const char *what, int quorate, uint32_t n, const uint32_t *m)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    printf("%llu n%d %s quorate=%d members=", t.tv_sec * 1000000000ULL + t.tv_nsec, self, what,
           quorate);
    for (uint32_t i = 0; i < n; i++)
        printf("%s%u", i ? "," : "", m[i]);
    printf("\n");
    fflush(stdout);
}
static void on_quorum(quorum_handle_t h, uint32_t q, struct quorum_ring_id r, uint32_t n,
                      const uint32_t *m)
{
    (void)h; (void)r;
    show("quorum", q, n, m);
}
static void on_nodes(quorum_handle_t h, struct quorum_ring_id r, uint32_t n, const uint32_t *m,
             uint32_t nj, const uint32_t *j, uint32_t nl, const uint32_t *l)
{
    (void)h; (void)r; (void)nj; (void)j; (void)nl; (void)l;
    show("nodes", -1, n, m);
}
int main(int c, char **v)
{
    self = c > 1 ? atoi(v[1]) : 0;
    for (;;) {
        quorum_model_v1_data_t d = {.model = QUORUM_MODEL_V1,
                                    .quorum_notify_fn = on_quorum,
                                    .nodelist_notify_fn = on_nodes};
        quorum_handle_t h;
        uint32_t type;
        if (quorum_model_initialize(&h, QUORUM_MODEL_V1, (quorum_model_data_t *)&d, &type, NULL) !=
            CS_OK) {
            usleep(300000);
            continue;
        }
        if (quorum_trackstart(h, CS_TRACK_CURRENT | CS_TRACK_CHANGES) == CS_OK)
            quorum_dispatch(h, CS_DISPATCH_BLOCKING);
        quorum_finalize(h);
        usleep(300000);
    }
}
