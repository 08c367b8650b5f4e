/* LINK: supervisord/config supervisord/model supervisord/base */
/* fuzz_corosync.c - any bytes as corosync.conf, and as lines of a running corosync's map: an error
 * or a verdict that fits its bounds and cannot steer a terminal. */
#include "supervisord/base/assert.h"
#include "supervisord/config/corosync.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static const char cluster[] = "cluster {\n name: c\n}\nwatchdog {\n use: yes\n}\n"
                              "node n1 {\n id: 1\n}\nnode n2 {\n id: 2\n}\nnode n3 {\n id: 3\n}\n";

struct work {
    struct hf_config config;
    struct corosync_state state;
    struct corosync_verdict verdict;
    char text[COROSYNC_FILE_MAX + 2];
};

static void judge(struct work *w)
{
    HF_ASSERT(w->state.nodes_count <= COROSYNC_NODES_MAX);
    HF_ASSERT(w->state.users_count <= COROSYNC_USERS_MAX);
    corosync_judge(&w->state, &w->config, "998", &w->verdict);
    HF_ASSERT(w->verdict.found.count <= FINDINGS_MAX);
    HF_ASSERT(w->verdict.profile != NULL);
    for (unsigned i = 0; i < w->verdict.found.count; i++)
        for (const char *c = w->verdict.found.finding[i].text; *c != '\0'; c++)
            HF_ASSERT(*c >= 0x20 && *c < 0x7f);
}

static void take_map(struct work *w)
{
    char *line, *rest = w->text;

    memset(&w->state, 0, sizeof w->state);
    w->state.is_running = true;
    while ((line = strsep(&rest, "\n")) != NULL) {
        char *equals = strchr(line, '=');

        if (equals == NULL)
            continue;
        *equals = '\0';
        (void)corosync_take(&w->state, line, equals + 1);
    }
    judge(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct work *w = calloc(1, sizeof *w);
    struct hf_err err;

    if (w == NULL || len > COROSYNC_FILE_MAX) {
        free(w);
        return 0;
    }
    HF_ASSERT(config_parse("f", cluster, strlen(cluster), &w->config, &err) == HF_OK);
    if (corosync_read(&w->state, "f", (const char *)bytes, len, &err) == HF_OK)
        judge(w);
    else
        HF_ASSERT(err.code == HF_EBAD);
    memcpy(w->text, bytes, len);
    take_map(w);
    free(w);
    return 0;
}
