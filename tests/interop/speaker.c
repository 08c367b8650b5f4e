/* speaker.c - one fabric's BFD as a program, for tests against other implementations.
 *
 *     bfd-speaker DEVICE ADDRESS INTERVAL_US MULTIPLIER PEER...
 *
 * Runs the product's session and sockets in a loop like the hot one: a tick a millisecond, sooner
 * when something is due. Tells every change at once, and on standard input does as it is told:
 *
 *     timing US MULTIPLIER | disable | enable | away MS | state | quit
 *
 * `away` is a loop that is late: neither reads nor sends for so long. Times (t=) are seconds of the
 * wall clock, as the test that reads them has them. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "nicbond/bfd_socket.h"
#include "supervisord/base/str.h"

enum { LINE = 128 };

struct speaker {
    struct bfd_socket socket;
    char line[LINE]; /* of standard input, so far */
    size_t line_len;
    bool was_open;
};

static const char *const event_names[BFD_EVENTS] = {
    [BFD_HEARD_ADMIN_DOWN] = "heard-admin-down",
    [BFD_HEARD_DOWN] = "heard-down",
    [BFD_HEARD_INIT] = "heard-init",
    [BFD_HEARD_UP] = "heard-up",
    [BFD_SILENCE] = "silence",
    [BFD_PATH_LOST] = "path-lost",
    [BFD_DISABLE] = "disable",
    [BFD_ENABLE] = "enable",
};

static const char *dashed(const char *name, char out[32])
{
    hf_str_copy(out, 32, name);
    for (char *c = out; *c != '\0'; c++)
        if (*c == ' ')
            *c = '-';
    return out;
}

static double wall(void)
{
    return (double)hf_clock_wall().ns / 1e9;
}

/* late_us: from the moment the change belongs to until we say so. quiet_us: since the peer's last
 * packet. */
static void tell_change(void *user, uint32_t peer, const struct bfd_change *change)
{
    const struct speaker *speaker = user;
    hf_time now = hf_clock_now();
    char was[32], is[32];

    printf("change t=%.6f peer=%u was=%s now=%s event=%s diag=%u their_diag=%u late_us=%lld "
           "quiet_us=%lld\n",
           wall(), peer, dashed(bfd_state_name(change->was), was),
           dashed(bfd_state_name(change->now), is), event_names[change->event],
           (unsigned)change->diag, change->their_diag, (long long)(now.ns - change->at.ns) / 1000,
           (long long)(now.ns - speaker->socket.session[peer].heard.ns) / 1000);
}

static void tell_state(const struct speaker *speaker)
{
    const struct bfd_socket *s = &speaker->socket;
    struct bfd_summary sum;

    bfd_socket_summary(s, &sum);
    printf("fabric t=%.6f open=%d peers=%u up=%u left=%u deaf=%u silent=%u received=%llu sent=%llu "
           "unsent=%llu unstamped=%llu opened=%llu trouble=%s\n",
           wall(), sum.is_open, sum.peers, sum.up, sum.left, sum.deaf, sum.silent,
           (unsigned long long)s->counters.received, (unsigned long long)s->counters.sent,
           (unsigned long long)s->counters.unsent, (unsigned long long)s->counters.unstamped,
           (unsigned long long)s->counters.opened, bfd_socket_trouble(s));
    for (uint32_t i = 0; i < sum.peers; i++) {
        const struct bfd *b = &s->session[i];
        char state[32];

        printf("state t=%.6f peer=%u state=%s view=%s falls=%u polling=%d detection_us=%lld "
               "their_min_tx_us=%u their_min_rx_us=%u their_multiplier=%u their_diag=%u\n",
               wall(), i, dashed(bfd_state_name(b->state), state), bfd_peer_name(sum.peer[i].peer),
               b->falls, b->is_polling, (long long)bfd_detection_ns(b) / 1000, b->their_min_tx_us,
               b->their_min_rx_us, b->their_multiplier, b->their_diag);
    }
    printf("end\n");
}

static bool obey(struct speaker *speaker, const char *line)
{
    struct bfd_socket *s = &speaker->socket;
    struct hf_err err;
    unsigned us, multiplier;
    int ms;

    if (strcmp(line, "quit") == 0)
        return false;
    if (strcmp(line, "state") == 0)
        tell_state(speaker);
    else if (strcmp(line, "disable") == 0 || strcmp(line, "enable") == 0)
        bfd_socket_enable(s, line[0] == 'e', hf_clock_now());
    else if (sscanf(line, "away %d", &ms) == 1)
        poll(NULL, 0, ms);
    else if (sscanf(line, "timing %u %u", &us, &multiplier) != 2)
        printf("error: what is '%s'?\n", line);
    else if (bfd_socket_retime(s, us, (uint8_t)multiplier, &err) != HF_OK)
        printf("error: %s\n", err.text);
    return true;
}

/* False at `quit` and at the end of standard input. */
static bool read_orders(struct speaker *speaker)
{
    ssize_t got = read(STDIN_FILENO, speaker->line + speaker->line_len,
                       sizeof speaker->line - 1 - speaker->line_len);
    char *end;

    if (got <= 0)
        return got < 0 && errno == EINTR;
    speaker->line_len += (size_t)got;
    speaker->line[speaker->line_len] = '\0';
    while ((end = strchr(speaker->line, '\n')) != NULL) {
        *end = '\0';
        if (!obey(speaker, speaker->line))
            return false;
        speaker->line_len -= (size_t)(end + 1 - speaker->line);
        memmove(speaker->line, end + 1, speaker->line_len + 1);
    }
    return speaker->line_len < sizeof speaker->line - 1;
}

/* Until something can be read or something is due, at most 1 ms. */
static void wait_for(struct pollfd *fds, nfds_t count, hf_time next)
{
    int64_t ns = next.ns - hf_clock_now().ns;
    struct timespec most = {.tv_nsec = HF_NS_PER_MS};

    if (ns < HF_NS_PER_MS)
        most.tv_nsec = ns < 0 ? 0 : ns;
    if (ppoll(fds, count, &most, NULL) < 0)
        for (nfds_t i = 0; i < count; i++)
            fds[i].revents = 0;
}

static void run(struct speaker *speaker)
{
    struct bfd_socket *s = &speaker->socket;
    hf_time next = hf_clock_now();

    for (bool goes_on = true; goes_on;) {
        struct pollfd fds[1 + BFD_SOCKET_FDS] = {{.fd = STDIN_FILENO, .events = POLLIN}};
        int own[BFD_SOCKET_FDS];
        uint32_t count = bfd_socket_fds(s, own);

        for (uint32_t k = 0; k < count; k++)
            fds[1 + k] = (struct pollfd){.fd = own[k], .events = POLLIN};
        wait_for(fds, 1 + count, next);
        if (fds[0].revents != 0)
            goes_on = read_orders(speaker);
        for (uint32_t k = 0; k < count; k++)
            if (fds[1 + k].revents != 0)
                bfd_socket_ready(s, own[k]);
        next = bfd_socket_tick(s, hf_clock_now());
        if (s->is_open != speaker->was_open)
            tell_state(speaker);
        speaker->was_open = s->is_open;
    }
    bfd_socket_close(s, hf_clock_now());
}

int main(int argc, char **argv)
{
    static struct speaker speaker;
    struct bfd_socket_conf conf = {.changed = tell_change, .user = &speaker};
    struct hf_err err;

    if (argc < 6 || argc > 5 + BFD_PEERS_MAX) {
        fprintf(stderr, "usage: %s DEVICE ADDRESS INTERVAL_US MULTIPLIER PEER...\n", argv[0]);
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    hf_str_copy(conf.device, sizeof conf.device, argv[1]);
    hf_str_copy(conf.address, sizeof conf.address, argv[2]);
    conf.interval_us = (uint32_t)strtoul(argv[3], NULL, 10);
    conf.multiplier = (uint8_t)strtoul(argv[4], NULL, 10);
    for (; conf.peers_count < (uint32_t)argc - 5; conf.peers_count++)
        hf_str_copy(conf.peer[conf.peers_count], sizeof conf.peer[0], argv[5 + conf.peers_count]);
    if (bfd_socket_init(&speaker.socket, &conf, (uint64_t)hf_clock_wall().ns, hf_clock_now(),
                        &err) != HF_OK) {
        fprintf(stderr, "%s: %s\n", argv[0], err.text);
        return 2;
    }
    run(&speaker);
    return 0;
}
