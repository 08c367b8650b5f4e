/* cmd_findings.h - how `holdfast config check` tells what it found: as lines, and as JSON. */
#ifndef SUPERVISORD_CTL_CMD_FINDINGS_H
#define SUPERVISORD_CTL_CMD_FINDINGS_H

#include <jansson.h>

#include "supervisord/config/findings.h"

/* "  risk     nic_a: ...", a line each. */
void cmd_findings_print(const struct findings *list);
/* An array of {severity, key, text}; the caller's. */
json_t *cmd_findings_json(const struct findings *list);

#endif
