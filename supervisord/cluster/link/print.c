/* print.c - corosync's map for `holdfast config check`: what matters of it, one key a line. */
#include "supervisord/cluster/link/facts.h"

#include <corosync/cmap.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
    KEYS_MAX = 2000, /* of one prefix; a map of 32 nodes has some 300 */
    VALUE_MAX = 255,
    GIVE_UP_S = 30, /* should the one who waits for us be gone without killing us */
};

/* Values are in the host's byte order. */
static uint64_t number_of(const uint8_t *bytes, size_t len)
{
    uint16_t two;
    uint32_t four;
    uint64_t eight;

    switch (len) {
    case sizeof two:
        memcpy(&two, bytes, sizeof two);
        return two;
    case sizeof four:
        memcpy(&four, bytes, sizeof four);
        return four;
    case sizeof eight:
        memcpy(&eight, bytes, sizeof eight);
        return eight;
    }
    return bytes[0];
}

/* False: not a value for a line. */
static bool text_of(cmap_handle_t cmap, const char *key, cmap_value_types_t type,
                    char out[VALUE_MAX + 1])
{
    uint8_t bytes[VALUE_MAX + 1] = {0};
    size_t len = VALUE_MAX;

    if (cmap_get(cmap, key, bytes, &len, NULL) != CS_OK || len > VALUE_MAX)
        return false;
    switch (type) {
    case CMAP_VALUETYPE_STRING:
        bytes[len] = '\0';
        (void)snprintf(out, VALUE_MAX + 1, "%s", (const char *)bytes);
        for (char *c = out; *c != '\0'; c++)
            if ((unsigned char)*c < 0x20 || *c == 0x7f)
                return false;
        return true;
    case CMAP_VALUETYPE_UINT8:
    case CMAP_VALUETYPE_UINT16:
    case CMAP_VALUETYPE_UINT32:
    case CMAP_VALUETYPE_UINT64:
        (void)snprintf(out, VALUE_MAX + 1, "%" PRIu64, number_of(bytes, len));
        return true;
    case CMAP_VALUETYPE_INT8:
    case CMAP_VALUETYPE_INT16:
    case CMAP_VALUETYPE_INT32:
    case CMAP_VALUETYPE_INT64:
    case CMAP_VALUETYPE_FLOAT:
    case CMAP_VALUETYPE_DOUBLE:
    case CMAP_VALUETYPE_BINARY:
        break;
    }
    return false;
}

static void print_prefix(cmap_handle_t cmap, const char *prefix)
{
    char key[CMAP_KEYNAME_MAXLEN + 1], value[VALUE_MAX + 1];
    cmap_iter_handle_t iter;
    cmap_value_types_t type;
    size_t len;

    if (cmap_iter_init(cmap, prefix, &iter) != CS_OK)
        return;
    for (unsigned i = 0; i < KEYS_MAX; i++) {
        if (cmap_iter_next(cmap, iter, key, &len, &type) != CS_OK)
            break;
        if (text_of(cmap, key, type, value))
            (void)fprintf(stdout, "%s=%s\n", key, value);
    }
    (void)cmap_iter_finalize(cmap, iter);
}

int facts_print(void)
{
    static const char *const prefixes[] = {"totem.",
                                           "quorum.",
                                           "nodelist.",
                                           "uidgid.",
                                           "runtime.config.totem.",
                                           "runtime.votequorum."};
    struct link_facts facts;
    cmap_handle_t cmap;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)alarm(GIVE_UP_S);
    if (cmap_initialize(&cmap) != CS_OK)
        return 1;
    memset(&facts, 0, sizeof facts);
    facts_version(facts.version);
    facts_read(&facts);
    (void)fprintf(stdout, "version=%s\n", facts.version);
    if (facts.expected_votes != 0)
        (void)fprintf(stdout, "runtime.votequorum.expected_votes=%u\n",
                      (unsigned)facts.expected_votes);
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        print_prefix(cmap, prefixes[i]);
    (void)cmap_finalize(cmap);
    return fflush(stdout) == 0 ? 0 : 1;
}
