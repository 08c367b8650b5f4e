#include "supervisord/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisord/base/assert.h"
#include "supervisord/base/log.h"
#include "supervisord/base/str.h"
#include "supervisord/door/door.h"

enum {
    HELLO_WAIT_MS = 1000, /* as replica.h recommends */
    RESEND_MS = 2000,
    CLOSE_WAIT_MS = 2000, /* for the journal's last records */
};

/* ---- before anything is touched ---- */

static enum hf_code find_self(struct daemon *d, struct hf_err *err)
{
    char name[HF_NAME_MAX + 2] = "";

    if (d->options.node != NULL)
        (void)hf_str_copy(name, sizeof name, d->options.node);
    else if (gethostname(name, sizeof name - 1) != 0)
        return hf_err_set(err, HF_EIO, "gethostname: %s", strerror(errno));
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < d->file.group.nodes_count; i++)
            if (strcmp(d->file.group.nodes[i].name, name) == 0) {
                d->self = &d->file.group.nodes[i];
                return HF_OK;
            }
        name[strcspn(name, ".")] = '\0'; /* the host's name may carry its domain */
    }
    if (d->options.node != NULL)
        return hf_err_set(err, HF_EINVAL, "%s: no node '%s' in it", d->options.config,
                          d->options.node);
    return hf_err_set(
        err, HF_EINVAL,
        "%s: no node '%s' in it, which is this host's name: name it so, or say --node",
        d->options.config, name);
}

static enum hf_code read_boot(struct hf_boot *boot, struct hf_err *err)
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    char text[64] = "";
    unsigned at = 0;

    if (file == NULL)
        return hf_err_set(err, HF_EIO, "boot_id: %s", strerror(errno));
    if (fgets(text, sizeof text, file) == NULL)
        text[0] = '\0';
    fclose(file);
    for (const char *c = text; at < 2 * sizeof boot->id && *c != '\0' && *c != '\n'; c++) {
        char digit[2] = {*c, '\0'}, *end;
        unsigned long value = strtoul(digit, &end, 16);

        if (*c == '-')
            continue;
        if (*end != '\0')
            break;
        boot->id[at / 2] = (uint8_t)((unsigned long)boot->id[at / 2] << 4 | value);
        at++;
    }
    if (at != 2 * sizeof boot->id)
        return hf_err_set(err, HF_EIO, "boot_id: not 32 hex digits");
    return HF_OK;
}

static enum hf_code check_directory(const char *path, struct hf_err *err)
{
    struct stat st;

    if (mkdir(path, 0750) != 0 && errno != EEXIST)
        return hf_err_set(err, HF_EIO, "mkdir %s: %s", path, strerror(errno));
    if (stat(path, &st) != 0)
        return hf_err_set(err, HF_EIO, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return hf_err_set(err, HF_EINVAL, "%s: not a directory", path);
    if ((st.st_mode & S_IWOTH) != 0)
        return hf_err_set(err, HF_EINVAL, "%s: everybody may write it", path);
    return HF_OK;
}

/* Two daemons on one node would be two members with one name. The lock goes with the process,
 * however it ends, and stands before the doors: an older daemon keeps them. */
static enum hf_code take_lock(struct daemon *d, struct hf_err *err)
{
    char path[256];

    (void)snprintf(path, sizeof path, "%s/holdfastd.lock", d->options.run_directory);
    d->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (d->lock_fd < 0)
        return hf_err_set(err, HF_EIO, "open %s: %s", path, strerror(errno));
    if (flock(d->lock_fd, LOCK_EX | LOCK_NB) == 0)
        return HF_OK;
    if (errno == EWOULDBLOCK)
        return hf_err_set(err, HF_EAGAIN, "another holdfastd runs here: %s is locked", path);
    return hf_err_set(err, HF_EIO, "lock %s: %s", path, strerror(errno));
}

enum hf_code daemon_check(struct daemon *d, const struct daemon_options *options,
                          struct hf_err *err)
{
    size_t len;

    d->options = *options;
    d->events_last = &d->events;
    d->timer_fd = d->signal_fd = d->agent_door = d->ctl_door = d->lock_fd = -1;
    (void)hf_str_copy(d->link_why, sizeof d->link_why, "not connected yet");
    if (config_load(options->config, &d->file, err) != HF_OK)
        return err->code;
    if (find_self(d, err) != HF_OK || read_boot(&d->boot, err) != HF_OK)
        return err->code;
    if (access(options->libexec, X_OK) != 0)
        return hf_err_set(err, HF_EINVAL, "%s: %s", options->libexec, strerror(errno));
    len = config_print(&d->file, NULL, 0);
    d->file_text = malloc(len + 1);
    if (d->file_text == NULL)
        return hf_err_set(err, HF_EFULL, "no memory");
    d->file_text_len = config_print(&d->file, d->file_text, len + 1);
    HF_ASSERT(d->file_text_len == len);
    d->incarnation = (uint64_t)hf_clock_now().ns;
    if (check_directory(options->run_directory, err) != HF_OK)
        return err->code;
    return take_lock(d, err);
}

/* ---- open ---- */

static enum hf_code open_replica(struct daemon *d, struct hf_err *err)
{
    struct replica_settings settings = {.nodeid = d->self->nodeid,
                                        .boot = d->boot,
                                        .incarnation = d->incarnation,
                                        .file = &d->file.group,
                                        .beat_ms = d->file.beat_ms,
                                        .mute_after_ms = d->file.mute_after_ms,
                                        .hello_wait_ms = HELLO_WAIT_MS,
                                        .resend_ms = RESEND_MS};
    struct replica_ports ports;

    d->replica = calloc(1, replica_size());
    d->history = calloc(1, history_size());
    d->link = calloc(1, sizeof *d->link);
    if (d->replica == NULL || d->history == NULL || d->link == NULL)
        return hf_err_set(err, HF_EFULL, "no memory");
    daemon_group_ports(d, &ports);
    history_init(d->history, d->incarnation);
    return replica_init(d->replica, &settings, &ports, err);
}

static enum hf_code open_report(struct daemon *d, struct hf_err *err)
{
    struct journal_settings settings = {.state_directory = d->options.state_directory};
    struct blobs_ports ports;

    daemon_restore(d); /* forks: before the journal's thread */
    if (journal_open(&d->journal, &settings, err) != HF_OK)
        return err->code;
    daemon_blobs_ports(d, &ports);
    if (blobs_open(&d->blobs, &ports, err) != HF_OK)
        return err->code;
    daemon_load_blobs(d, hf_clock_now());
    return HF_OK;
}

static enum hf_code open_doors(struct daemon *d, struct hf_err *err)
{
    char path[256];

    d->group_name = getgrnam("holdfast") != NULL ? "holdfast" : NULL;
    if (d->group_name == NULL)
        hf_warning("there is no group 'holdfast': only root may ask or order");
    (void)snprintf(path, sizeof path, "%s/agent.sock", d->options.run_directory);
    if (door_listen(path, NULL, &d->agent_door, err) != HF_OK) /* operators are no agents */
        return err->code;
    (void)snprintf(path, sizeof path, "%s/ctl.sock", d->options.run_directory);
    return door_listen(path, d->group_name, &d->ctl_door, err);
}

static enum hf_code open_parts(struct daemon *d, struct hf_err *err)
{
    struct act_ports act_ports;
    struct agents_ports agents_ports;
    struct ctl_ports ctl_ports;
    struct lease_ports lease_ports;
    struct paths_ports paths_ports;
    struct nics_ports nics_ports;
    struct link_ports link_ports;

    daemon_act_ports(d, &act_ports);
    daemon_agents_ports(d, &agents_ports);
    daemon_ctl_ports(d, &ctl_ports);
    daemon_lease_ports(d, &lease_ports);
    daemon_paths_ports(d, &paths_ports);
    daemon_nics_ports(d, &nics_ports);
    lease_init(&d->lease, d->self->nodeid, &d->file.watchdog, &lease_ports);
    paths_init(&d->paths, d->self->nodeid, &paths_ports);
    nics_init(&d->nics, d->self->nodeid, &nics_ports);
    daemon_link_ports(d, &link_ports);
    if (act_open(&d->act, d->self->nodeid, &act_ports, err) != HF_OK)
        return err->code;
    if (agents_open(&d->agents, d->agent_door, NULL, &agents_ports, err) != HF_OK)
        return err->code;
    if (ctl_server_open(&d->ctl, d->ctl_door, d->history, &ctl_ports, err) != HF_OK)
        return err->code;
    return link_init(d->link, d->options.libexec, d->file.group.name, &link_ports, hf_clock_now(),
                     err);
}

/* So that a node with another file can ask for what the group runs with. */
static enum hf_code offer_file(struct daemon *d, struct hf_err *err)
{
    char hex[65];

    hf_digest_hex(&d->file.group.config, hex);
    if (blobs_load(d->blobs, hex, d->file_text, d->file_text_len, hf_clock_now(), err) != HF_OK)
        return err->code;
    (void)journal_put_file(d->journal, hex, d->file_text, d->file_text_len);
    daemon_named(d, hf_clock_now());
    return HF_OK;
}

enum hf_code daemon_open(struct daemon *d, struct hf_err *err)
{
    if (open_replica(d, err) != HF_OK || open_report(d, err) != HF_OK)
        return err->code;
    if (daemon_loop_open(d, err) != HF_OK || open_doors(d, err) != HF_OK)
        return err->code;
    if (open_parts(d, err) != HF_OK)
        return err->code;
    daemon_watch(d, OWNER_JOURNAL, journal_fd(d->journal), false);
    return offer_file(d, err);
}

/* ---- close ---- */

static void close_door(const struct daemon *d, int fd, const char *name)
{
    char path[256];

    if (fd < 0)
        return;
    close(fd);
    (void)snprintf(path, sizeof path, "%s/%s", d->options.run_directory, name);
    (void)unlink(path);
}

void daemon_close(struct daemon *d)
{
    if (d->link != NULL)
        link_close(d->link);
    ctl_server_close(d->ctl);
    agents_close(d->agents);
    act_close(d->act);
    blobs_close(d->blobs);
    daemon_loop_close(d);
    journal_close(d->journal, CLOSE_WAIT_MS);
    close_door(d, d->agent_door, "agent.sock");
    close_door(d, d->ctl_door, "ctl.sock");
    if (d->lock_fd >= 0)
        close(d->lock_fd);
    while (d->events != NULL) {
        struct daemon_event *first = d->events;

        d->events = first->next;
        free(first);
    }
    free(d->link);
    free(d->replica);
    free(d->history);
    free(d->file_text);
}
