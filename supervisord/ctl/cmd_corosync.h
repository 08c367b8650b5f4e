/* cmd_corosync.h - the file and the running corosync, compared with a cluster file, for
 * `holdfast config check`. Waits 4 s at most, whatever corosync does. */
#ifndef SUPERVISORD_CTL_CMD_COROSYNC_H
#define SUPERVISORD_CTL_CMD_COROSYNC_H

#include "supervisord/config/corosync.h"
#include "supervisord/ctl/cmd.h"

enum corosync_answer { COROSYNC_ABSENT = 0, COROSYNC_SILENT, COROSYNC_ANSWERS };

struct cmd_corosync {
    const char *path; /* borrowed */
    bool has_file;
    struct corosync_verdict file; /* with has_file */
    enum corosync_answer answer;
    char why[256];                       /* SILENT */
    char version[COROSYNC_TEXT_MAX + 1]; /* ANSWERS */
    struct corosync_verdict running;     /* ANSWERS */
};

/* False: the file cannot be read or is not corosync's syntax; err. A file that is not there is a
 * result. Large: keep *look off small stacks. */
bool cmd_corosync_look(const char *path, const struct hf_config *config, struct cmd_corosync *look,
                       struct hf_err *err);
/* Something is refused or a risk, or corosync hangs. */
bool cmd_corosync_is_bad(const struct cmd_corosync *look);
void cmd_corosync_print(const struct cmd_corosync *look);
json_t *cmd_corosync_json(const struct cmd_corosync *look);

#endif
