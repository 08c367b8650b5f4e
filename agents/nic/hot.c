#include "agents/nic/hot.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agents/nic/sysfs.h"

static int open_of(const char *root, const char *name, const char *file)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof path, "%s/sys/class/net/%s/%s", root, name, file) >= (int)sizeof path)
        return -1;
    return sysfs_open(path);
}

static void open_queues(struct hot *hot, const char *root, const char *name)
{
    for (unsigned i = 0; i < HOT_QUEUES_MAX; i++) {
        char file[64];
        int64_t count;
        int fd;

        (void)snprintf(file, sizeof file, "queues/tx-%u/tx_timeout", i);
        fd = open_of(root, name, file);
        if (fd < 0)
            return;
        count = sysfs_fd_number(fd);
        hot->queue_fd[hot->queues_count] = fd;
        hot->queue_timeouts[hot->queues_count++] = count > 0 ? (uint64_t)count : 0;
    }
}

enum hf_code hot_open(struct hot *hot, const char *root, const struct nic_place *place, hf_time now,
                      struct hf_err *err)
{
    /* Frames that the wire broke; not rx_errors, in which drivers count full rings as well. */
    static const char *const errors[] = {"statistics/rx_crc_errors", "statistics/rx_frame_errors",
                                         "statistics/tx_carrier_errors"};

    memset(hot, 0, sizeof *hot);
    hot->place = *place;
    hot->moved_at = hot->up_at = hot->flags_at = hot->queue_at = now;
    hot->slow_at = now;
    hot->downs = hot->ups = -1;
    hot->down_fd = open_of(root, place->name, "carrier_down_count");
    hot->up_fd = open_of(root, place->name, "carrier_up_count");
    hot->flags_fd = open_of(root, place->name, "flags");
    hot->operstate_fd = open_of(root, place->name, "operstate");
    for (unsigned i = 0; i < HOT_ERRORS_MAX; i++)
        hot->error_fd[i] =
            i < sizeof errors / sizeof errors[0] ? open_of(root, place->name, errors[i]) : -1;
    open_queues(hot, root, place->name);
    if (hot->down_fd >= 0 && hot->up_fd >= 0)
        return HF_OK;
    hot_close(hot);
    return hf_err_set(err, HF_ENOENT, "NIC %s has no carrier counters", place->name);
}

static void close_one(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void hot_close(struct hot *hot)
{
    close_one(&hot->down_fd);
    close_one(&hot->up_fd);
    close_one(&hot->flags_fd);
    close_one(&hot->operstate_fd);
    for (unsigned i = 0; i < HOT_ERRORS_MAX; i++)
        close_one(&hot->error_fd[i]);
    for (unsigned i = 0; i < hot->queues_count; i++)
        close_one(&hot->queue_fd[i]);
    hot->queues_count = 0;
}

/* Is it time for this look? The next one is then in ms. */
static bool is_due(hf_time *at, hf_time now, int64_t ms)
{
    if (!hf_time_reached(now, *at))
        return false;
    *at = hf_time_add_ms(now, ms);
    return true;
}

static void take_ups(struct hot *hot, int64_t ups, hf_time now)
{
    if (ups < 0 || ups == hot->ups)
        return;
    hot->ups = ups;
    hot->moved_at = now;
}

/* Both counters as of one moment, or as near as three tries come to it. */
static void read_ups(struct hot *hot, hf_time now)
{
    for (unsigned i = 0; i < 3; i++) {
        int64_t downs;

        take_ups(hot, sysfs_fd_number(hot->up_fd), now);
        downs = sysfs_fd_number(hot->down_fd);
        if (downs < 0 || downs == hot->downs)
            return;
        hot->downs = downs;
        hot->moved_at = now;
    }
}

/* IFF_UP of linux/if.h, in hexadecimal. */
static void read_flags(struct hot *hot)
{
    char text[32];
    size_t len;

    hot->is_admin_up = NIC_NOT_KNOWN;
    if (hot->flags_fd < 0 || !sysfs_fd_line(hot->flags_fd, text, sizeof text))
        return;
    len = strlen(text);
    if (len < 3 || text[0] != '0' || text[1] != 'x')
        return;
    switch (text[len - 1]) {
    case '1':
    case '3':
    case '5':
    case '7':
    case '9':
    case 'b':
    case 'd':
    case 'f':
        hot->is_admin_up = NIC_YES;
        break;
    default:
        hot->is_admin_up = NIC_NO;
        break;
    }
}

static enum nic_fact carrier_of(const struct hot *hot)
{
    if (!hot->has_base || hot->ups < 0 || hot->downs < 0)
        return NIC_NOT_KNOWN;
    if (hot->ups - hot->downs == hot->base)
        return NIC_YES;
    return hot->ups - hot->downs == hot->base - 1 ? NIC_NO : NIC_NOT_KNOWN;
}

static void set_base(struct hot *hot, bool has_carrier, bool is_sure)
{
    hot->base = hot->ups - hot->downs + (has_carrier ? 0 : 1);
    hot->has_base = true;
    hot->is_base_sure = is_sure;
}

/* RFC 2863 states as net/core/link_watch.c sets them: all that have no carrier, and "unknown" for
 * drivers that never tell. Nothing can be learnt of a device that is switched off: it reads "down"
 * whatever its carrier is. */
static void learn_from_operstate(struct hot *hot, hf_time now)
{
    bool is_still = hf_time_since_ms(now, hot->moved_at) >= HOT_STILL_MS;
    bool has_carrier;
    char text[32];

    if (hot->is_base_sure || hot->is_admin_up != NIC_YES || hot->ups < 0 || hot->downs < 0 ||
        hot->operstate_fd < 0 || !sysfs_fd_line(hot->operstate_fd, text, sizeof text))
        return;
    has_carrier = strcmp(text, "down") != 0 && strcmp(text, "lowerlayerdown") != 0 &&
                  strcmp(text, "notpresent") != 0;
    /* It reads "down" for up to a second after the carrier came: at a start that would be a fall
     * that was none. "up" for up to a second after it went is the lesser wrong. */
    if (!is_still && (hot->has_base || !has_carrier))
        return;
    set_base(hot, has_carrier, is_still);
}

void hot_learn(struct hot *hot, const struct nic_link *link, hf_time now)
{
    if (link->is_gone || link->ifindex != hot->place.ifindex)
        return;
    hot->is_admin_up = link->is_admin_up ? NIC_YES : NIC_NO;
    if (!link->has_counts || link->has_carrier == NIC_NOT_KNOWN)
        return;
    read_ups(hot, now);
    /* An older message tells of counters that have moved on: it proves nothing of now. */
    if (hot->ups == link->carrier_ups && hot->downs == link->carrier_downs)
        set_base(hot, link->has_carrier == NIC_YES, true);
}

static void read_queue(struct hot *hot)
{
    uint16_t ix = hot->queue_next;
    int64_t count;

    if (hot->queues_count == 0)
        return;
    hot->queue_next = (uint16_t)((ix + 1) % hot->queues_count);
    count = sysfs_fd_number(hot->queue_fd[ix]);
    if (count < 0)
        return;
    if ((uint64_t)count > hot->queue_timeouts[ix])
        hot->tx_timeouts += (uint64_t)count - hot->queue_timeouts[ix];
    hot->queue_timeouts[ix] = (uint64_t)count;
}

static void read_errors(struct hot *hot)
{
    uint64_t sum = 0;

    hot->has_errors = false;
    for (unsigned i = 0; i < HOT_ERRORS_MAX; i++) {
        int64_t count = hot->error_fd[i] >= 0 ? sysfs_fd_number(hot->error_fd[i]) : -1;

        if (count < 0)
            continue;
        sum += (uint64_t)count;
        hot->has_errors = true;
    }
    hot->errors = sum;
}

bool hot_read(struct hot *hot, hf_time now, struct nic_sample *sample)
{
    int64_t downs = sysfs_fd_number(hot->down_fd);
    bool has_moved = downs != hot->downs;

    sample->is_seen = downs >= 0;
    if (downs < 0)
        return false;
    if (has_moved) {
        hot->downs = downs;
        hot->moved_at = now;
    }
    if (has_moved || carrier_of(hot) != NIC_YES || is_due(&hot->up_at, now, HOT_UP_MS))
        read_ups(hot, now);
    if (has_moved || is_due(&hot->flags_at, now, HOT_FLAGS_MS))
        read_flags(hot);
    if (is_due(&hot->queue_at, now, HOT_QUEUE_MS))
        read_queue(hot);
    if (is_due(&hot->slow_at, now, HOT_SLOW_MS)) {
        learn_from_operstate(hot, now);
        read_errors(hot);
    }
    sample->carrier_downs = (uint64_t)hot->downs;
    sample->is_admin_up = hot->is_admin_up;
    sample->has_carrier = carrier_of(hot);
    sample->tx_timeouts = hot->tx_timeouts;
    sample->has_errors = hot->has_errors;
    sample->errors = hot->errors;
    return true;
}
