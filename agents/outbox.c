#include "agents/outbox.h"

#include <string.h>

#include "supervisord/base/assert.h"

void agent_outbox_init(struct agent_outbox *box)
{
    memset(box, 0, sizeof *box);
}

static void fill(struct agent_outbox *box, struct agent_outbox_small *small,
                 const struct hf_report *report)
{
    uint8_t bytes[HF_REPORT_BYTES_MAX];
    size_t len = report_encode(report, bytes);

    HF_ASSERT(len <= sizeof small->bytes);
    memcpy(small->bytes, bytes, len);
    small->len = (uint8_t)len;
    small->is_sent = false;
    small->at = ++box->at_last;
}

/* The VM's own slot, else an empty one, else NULL. */
static struct agent_outbox_small *slot_of_vm(struct agent_outbox *box, hf_vm_uid uid)
{
    struct agent_outbox_small *empty = NULL;

    for (size_t i = 0; i < HF_VMS_MAX; i++) {
        struct agent_outbox_small *small = &box->vm[i];

        if (small->at != 0 && small->uid == uid)
            return small;
        if (small->at == 0 && empty == NULL)
            empty = small;
    }
    return empty;
}

static struct agent_outbox_small *find_done(struct agent_outbox *box, struct hf_token token)
{
    for (size_t i = 0; i < OUTBOX_DONE_MAX; i++) {
        if (box->done[i].at != 0 && hf_token_same(box->done[i].token, token))
            return &box->done[i];
    }
    return NULL;
}

/* An empty slot, else the one whose record was sent longest ago, else NULL. */
static const struct agent_outbox_small *room_for_done(const struct agent_outbox *box)
{
    const struct agent_outbox_small *oldest = NULL;

    for (size_t i = 0; i < OUTBOX_DONE_MAX; i++) {
        const struct agent_outbox_small *small = &box->done[i];

        if (small->at == 0)
            return small;
        if (small->is_sent && (oldest == NULL || small->at < oldest->at))
            oldest = small;
    }
    return oldest;
}

static bool put_done(struct agent_outbox *box, const struct hf_report *report)
{
    struct agent_outbox_small *small = find_done(box, report->u.done.token);

    if (small == NULL) {
        const struct agent_outbox_small *room = room_for_done(box);

        if (room == NULL)
            return false;
        small = &box->done[room - box->done];
    }
    fill(box, small, report);
    small->token = report->u.done.token;
    return true;
}

static void put_progress(struct agent_outbox *box, const struct hf_report *report)
{
    struct agent_outbox_small *pick = &box->progress[0];

    for (size_t i = 0; i < OUTBOX_PROGRESS_MAX; i++) {
        if (box->progress[i].at < pick->at)
            pick = &box->progress[i];
    }
    if (pick->at != 0)
        box->dropped++;
    fill(box, pick, report);
}

static bool put_vm(struct agent_outbox *box, hf_vm_uid uid, const struct hf_report *report)
{
    struct agent_outbox_small *small = slot_of_vm(box, uid);

    if (small == NULL)
        return false;
    fill(box, small, report);
    small->uid = uid;
    return true;
}

bool agent_outbox_put(struct agent_outbox *box, const struct hf_report *report)
{
    switch (report->kind) {
    case HF_REPORT_HOST:
        fill(box, &box->host, report);
        return true;
    case HF_REPORT_WATCH:
        fill(box, &box->watch, report);
        return true;
    case HF_REPORT_INVENTORY:
    case HF_REPORT_NICS: /* no agent says both */
        box->inventory_len = report_encode(report, box->inventory);
        box->inventory_at = ++box->at_last;
        return true;
    case HF_REPORT_VM:
        return put_vm(box, report->u.vm.uid, report);
    case HF_REPORT_LEGS:
        return put_vm(box, report->u.legs.uid, report);
    case HF_REPORT_DONE:
        return put_done(box, report);
    case HF_REPORT_PROGRESS:
    case HF_REPORT_FLIP:
        put_progress(box, report);
        return true;
    case HF_REPORT_HELLO:
    case HF_REPORT_VMS:
    case HF_REPORT_START:
    case HF_REPORT_STOP:
    case HF_REPORT_ASK:
    case HF_REPORT_FENCE:
    case HF_REPORT_DROP:
    case HF_REPORT_WATCHDOG:
    case HF_REPORT_TESTED:
    case HF_REPORT_LEASE:
    case HF_REPORT_TEST:
    case HF_REPORT_SELF_STOP:
    case HF_REPORT_NIC_ORDER:
    case HF_REPORT_KINDS:
        break;
    }
    HF_ASSERT(report->kind == HF_REPORT_HOST); /* never: not ours to queue */
    return false;
}

static void consider(const struct agent_outbox_small *small, size_t count,
                     const struct agent_outbox_small **best)
{
    for (size_t i = 0; i < count; i++) {
        if (small[i].at != 0 && !small[i].is_sent && (*best == NULL || small[i].at < (*best)->at))
            *best = &small[i];
    }
}

/* The small record that waits longest; NULL when the inventory or nothing comes before it. */
static const struct agent_outbox_small *first_small(const struct agent_outbox *box)
{
    const struct agent_outbox_small *best = NULL;

    consider(&box->host, 1, &best);
    consider(&box->watch, 1, &best);
    consider(box->vm, HF_VMS_MAX, &best);
    consider(box->done, OUTBOX_DONE_MAX, &best);
    consider(box->progress, OUTBOX_PROGRESS_MAX, &best);
    if (best != NULL && box->inventory_at != 0 && box->inventory_at < best->at)
        return NULL;
    return best;
}

const uint8_t *agent_outbox_next(const struct agent_outbox *box, size_t *len)
{
    const struct agent_outbox_small *small = first_small(box);

    *len = 0;
    if (small != NULL) {
        *len = small->len;
        return small->bytes;
    }
    if (box->inventory_at == 0)
        return NULL;
    *len = box->inventory_len;
    return box->inventory;
}

void agent_outbox_sent(struct agent_outbox *box)
{
    const struct agent_outbox_small *first = first_small(box);

    if (first == NULL) {
        box->inventory_at = 0;
        return;
    }
    for (size_t i = 0; i < OUTBOX_DONE_MAX; i++) {
        if (first == &box->done[i]) {
            box->done[i].is_sent = true;
            return;
        }
    }
    ((struct agent_outbox_small *)(uintptr_t)first)->at = 0; /* *box is ours to change */
}

void agent_outbox_reconnected(struct agent_outbox *box)
{
    box->inventory_at = 0;
    for (size_t i = 0; i < OUTBOX_DONE_MAX; i++)
        box->done[i].is_sent = false;
}

bool agent_outbox_repeat(struct agent_outbox *box, struct hf_token token)
{
    struct agent_outbox_small *small = find_done(box, token);

    if (small == NULL)
        return false;
    small->is_sent = false;
    small->at = ++box->at_last;
    return true;
}

void agent_outbox_forget(struct agent_outbox *box, struct hf_token token)
{
    struct agent_outbox_small *small = find_done(box, token);

    if (small != NULL)
        small->at = 0;
}

bool agent_outbox_has_room(const struct agent_outbox *box)
{
    return room_for_done(box) != NULL;
}
