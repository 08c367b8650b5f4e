/* disk.h - for the tests of journal and store: a private state directory, a small engine and events
 * that it applies. */
#ifndef TESTS_UNIT_SUPERVISORD_REPORT_DISK_H
#define TESTS_UNIT_SUPERVISORD_REPORT_DISK_H

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisord/base/clock.h"
#include "supervisord/engine/engine.h"
#include "supervisord/report/journal.h"
#include "tests/unit/check.h"
#include "tests/unit/supervisord/a_group.h"

static char disk_root[] = "/tmp/hf-disk-XXXXXX";
static char disk_state[64];
static struct engine *disk_engine;
static struct engine_out disk_out;

static inline void disk_setup(void)
{
    struct hf_group group = a_group(3);
    struct hf_err err;

    strcpy(disk_root + sizeof disk_root - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(disk_root));
    snprintf(disk_state, sizeof disk_state, "%s/state", disk_root);
    disk_engine = calloc(1, engine_size());
    ck_assert_int_eq(engine_init(disk_engine, &group, &err), HF_OK);
}

static inline void disk_teardown(void)
{
    char command[128];

    free(disk_engine);
    snprintf(command, sizeof command, "rm -r %s", disk_root);
    ck_assert_int_eq(system(command), 0);
}

/* A word of n1 that differs each time: of its watchdog, of a fence path, or facts. */
static inline void disk_word(struct hf_event *ev)
{
    ev->from = (hf_node){0};
    if (ev->seq % 4 == 0) {
        ev->type = HF_EV_ATTEST;
        ev->u.attest.state = HF_WD_ARMED;
        ev->u.attest.timeout_ms = (uint32_t)(10000 + ev->seq);
        ev->u.attest.lease_ms = 5000;
        strcpy(ev->u.attest.identity, "i6300ESB timer");
    } else if (ev->seq % 4 == 1) {
        ev->type = HF_EV_PATH;
        ev->u.path.target = (hf_node){1};
        ev->u.path.found = (enum hf_path)(ev->seq / 4 % HF_PATHS);
    } else {
        ev->type = HF_EV_FACTS;
        ev->u.facts.memory_mib = (uint32_t)(1000 + ev->seq);
        ev->u.facts.vm_watch_known = true;
    }
}

/* First a membership of all three nodes, then words of one. */
static inline struct hf_event disk_event(void)
{
    struct hf_event ev;

    memset(&ev, 0, sizeof ev);
    ev.seq = engine_seq(disk_engine) + 1;
    if (engine_group(disk_engine).present == 0) {
        ev.from = HF_NO_NODE;
        ev.type = HF_EV_MEMBERS;
        ev.u.members.view = (struct hf_view){1, 4};
        ev.u.members.epoch = engine_group(disk_engine).epoch + 1;
        for (unsigned i = 0; i < 3; i++)
            ev.u.members.node[i] = (struct hf_member){
                .present = true, .in_ring = true, .boot = {{(uint8_t)(i + 1)}}, .incarnation = 1};
        return ev;
    }
    disk_word(&ev);
    return ev;
}

/* One event through the engine and into the journal. */
static inline void disk_step(struct journal *j, hf_time now)
{
    struct hf_event ev = disk_event();

    engine_step(disk_engine, &ev, &disk_out);
    journal_step(j, disk_engine, &ev, &disk_out, now);
}

static inline struct journal *disk_open(uint32_t file_bytes, uint32_t kept, uint32_t queue)
{
    struct journal_settings settings = {disk_state, file_bytes, kept, queue};
    struct journal *j;
    struct hf_err err;

    ck_assert_msg(journal_open(&j, &settings, &err) == HF_OK, "%s", err.text);
    return j;
}

/* A journal of `events` events, written to its end. */
static inline void disk_fill(unsigned events)
{
    struct journal *j = disk_open(0, 0, 0);

    journal_replaced(j, disk_engine, (hf_time){0});
    for (unsigned i = 0; i < events; i++)
        disk_step(j, (hf_time){0});
    journal_close(j, 10000);
}

static inline const char *disk_newest(void)
{
    static char path[256];
    char names[1][64];

    ck_assert_uint_eq(journal_list(disk_state, names, 1), 1);
    snprintf(path, sizeof path, "%s/journal/%s", disk_state, names[0]);
    return path;
}

#endif
