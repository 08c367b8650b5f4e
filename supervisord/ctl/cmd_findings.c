#include "supervisord/ctl/cmd_findings.h"

#include <stdio.h>

void cmd_findings_print(const struct findings *list)
{
    for (unsigned i = 0; i < list->count; i++) {
        const struct finding *f = &list->finding[i];

        (void)printf("  %-8s %s: %s\n", finding_severity_name(f->severity), f->key, f->text);
    }
}

json_t *cmd_findings_json(const struct findings *list)
{
    json_t *all = json_array();

    for (unsigned i = 0; i < list->count; i++) {
        const struct finding *f = &list->finding[i];

        (void)json_array_append_new(all, json_pack("{s:s, s:s, s:s}", "severity",
                                                   finding_severity_name(f->severity), "key",
                                                   f->key, "text", f->text));
    }
    return all;
}
