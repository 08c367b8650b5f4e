/* cmd_setup.c - `holdfast setup corosync`: a whole corosync.conf for the nodes of the cluster file.
 */
#include "supervisord/ctl/cmd.h"

#include "supervisord/base/str.h"
#include "supervisord/config/corosync.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what is asked for ---- */

static bool read_rings(const struct cmd *cmd, const struct hf_config *config,
                       struct corosync_plan *plan)
{
    const char *const rings[COROSYNC_RINGS_MAX] = {cmd->ring0, cmd->ring1};
    unsigned count;
    struct hf_err err;

    if (cmd->ring0 == NULL || cmd->ring1 == NULL) {
        cmd_say("give an address per node and ring: --ring0 n1=10.0.0.1,n2=... --ring1 ... (two "
                "networks; --ring1 none does with one, and one cable then cuts a node off)");
        return false;
    }
    count = strcmp(cmd->ring1, "none") == 0 ? 1 : 2;
    plan->rings_count = count;
    for (unsigned ring = 0; ring < count; ring++)
        if (corosync_ring_read(config, ring, rings[ring], plan, &err) != HF_OK) {
            cmd_say("%s", err.text);
            return false;
        }
    return true;
}

static bool is_path(const char *text)
{
    size_t len = strlen(text);

    if (text[0] != '/' || len > 200)
        return false;
    for (const char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c <= ' ' || strchr("{}#:", *c) != NULL || (unsigned char)*c >= 0x7f)
            return false;
    return true;
}

static bool read_plan(const struct cmd *cmd, const struct hf_config *config,
                      struct corosync_plan *plan)
{
    const char *wait = cmd->wait_for_all != NULL ? cmd->wait_for_all : "yes";

    memset(plan, 0, sizeof *plan);
    plan->profile = cmd->profile != NULL ? corosync_profile_find(cmd->profile) : NULL;
    plan->wait_for_all = strcmp(wait, "no") != 0;
    plan->key_file = cmd->key;
    if (plan->profile == NULL) {
        cmd_say("give --profile fast or --profile safe");
        for (size_t i = 0; i < corosync_profiles_count; i++)
            (void)fprintf(stderr, "  %s: a dead node is reported after %u ms; %s\n",
                          corosync_profiles[i].name,
                          (unsigned)(corosync_profiles[i].token_ms +
                                     corosync_consensus_ms(&corosync_profiles[i])),
                          corosync_profiles[i].doc);
        return false;
    }
    if (strcmp(wait, "yes") != 0 && strcmp(wait, "no") != 0) {
        cmd_say("--wait-for-all is yes or no");
        return false;
    }
    if (cmd->key != NULL && !is_path(cmd->key)) {
        cmd_say("--key '%s' is not an absolute path without blanks", cmd->key);
        return false;
    }
    return read_rings(cmd, config, plan);
}

/* ---- writing ---- */

static bool write_all(int fd, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t put = write(fd, text, len);

        if (put < 0 && errno != EINTR)
            return false;
        if (put > 0) {
            text += put;
            len -= (size_t)put;
        }
    }
    return true;
}

/* Whole or not at all, and never over a file that was not meant: link() refuses one. */
static bool put_file(const char *path, const char *text, size_t len, bool is_forced)
{
    char temporary[PATH_MAX];
    const char *doing = "write";
    bool is_done = false;
    int fd;

    if (snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= (int)sizeof temporary) {
        cmd_say("%.60s...: the path is too long", path);
        return false;
    }
    fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0) {
        cmd_say("write %s: %s", path, strerror(errno));
        return false;
    }
    if (fchmod(fd, 0644) == 0 && write_all(fd, text, len) && fsync(fd) == 0) {
        doing = is_forced ? "replace" : "create";
        is_done = (is_forced ? rename(temporary, path) : link(temporary, path)) == 0;
    }
    if (!is_done && errno == EEXIST)
        cmd_say("%s is there already: give --force to replace it", path);
    else if (!is_done)
        cmd_say("%s %s: %s", doing, path, strerror(errno));
    close(fd);
    (void)unlink(temporary); /* after a rename there is none */
    return is_done;
}

static void say_next(FILE *to, const struct hf_config *config, const struct corosync_plan *plan,
                     const char *path)
{
    const struct hf_watchdog_conf *w = &config->watchdog;
    uint32_t least = corosync_lease_ms(plan->profile->token_ms,
                                       corosync_consensus_ms(plan->profile), config->beat_ms);
    const char *key = plan->key_file != NULL ? plan->key_file : COROSYNC_KEY;

    if (w->is_used && w->lease_ms < least)
        (void)fprintf(to,
                      "warning: the watchdog's lease of %u ms is too short for this profile: the "
                      "loss of one node would\n  make the others stop their VMs; set 'lease' to "
                      "%u ms or more in the cluster file\n",
                      (unsigned)w->lease_ms, (unsigned)least);
    (void)fprintf(to,
                  "Next:\n"
                  "  1. once, on one node:   corosync-keygen -k %s\n"
                  "  2. copy key and file to every node:\n"
                  "       install -o root -g root -m 0400 authkey %s\n"
                  "       install -o root -g root -m 0644 %s %s\n"
                  "  3. if holdfastd does not run as root, let its user in, on every node:\n"
                  "       printf 'uidgid {\\n    uid: holdfast\\n    gid: holdfast\\n}\\n' "
                  ">%s/holdfast\n"
                  "  4. on every node:       corosync -t && systemctl restart corosync\n"
                  "     (a group that is armed takes a restart for a loss: holdfast disarm first)\n"
                  "  5. compare:             holdfast config check\n",
                  key, key, strcmp(path, "-") == 0 ? "corosync.conf" : path, COROSYNC_FILE,
                  COROSYNC_UIDGIDS);
    if (plan->wait_for_all)
        (void)fprintf(to, "After a cold start the group waits until all nodes were there once; to "
                          "go on without one:\n"
                          "  corosync-cmapctl -s quorum.cancel_wait_for_all u8 1\n");
}

static int write_out(const struct cmd *cmd, const struct hf_config *config,
                     const struct corosync_plan *plan)
{
    const char *path = cmd->output != NULL ? cmd->output : "-";
    size_t len = corosync_print(config, plan, NULL, 0);
    char *text = malloc(len + 1);
    int code = HF_CTL_OK;

    if (text == NULL) {
        cmd_say("out of memory");
        return HF_CTL_REFUSED;
    }
    (void)corosync_print(config, plan, text, len + 1);
    if (strcmp(path, "-") == 0) {
        (void)fputs(text, stdout);
        say_next(stderr, config, plan, path);
    } else if (put_file(path, text, len, cmd->is_forced)) {
        (void)printf("%s is written: profile %s, %u nodes\n", path, plan->profile->name,
                     (unsigned)config->group.nodes_count);
        say_next(stdout, config, plan, path);
    } else {
        code = HF_CTL_REFUSED;
    }
    free(text);
    return code;
}

int cmd_setup_corosync(const struct cmd *cmd)
{
    struct hf_config *config = malloc(sizeof *config);
    struct hf_err err = {HF_OK, "out of memory"};
    struct corosync_plan plan;
    int code = HF_CTL_USAGE;

    if (config == NULL ||
        config_load(cmd->config != NULL ? cmd->config : CMD_FILE, config, &err) != HF_OK)
        (void)fprintf(stderr, "%s\n", err.text);
    else if (read_plan(cmd, config, &plan))
        code = write_out(cmd, config, &plan);
    free(config);
    return code;
}
