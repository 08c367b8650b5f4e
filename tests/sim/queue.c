#include "tests/sim/queue.h"

#include <stdlib.h>

static bool is_before(const struct sim_event *x, const struct sim_event *y)
{
    return x->at != y->at ? x->at < y->at : x->order < y->order;
}

static void swap(struct sim_event *x, struct sim_event *y)
{
    struct sim_event held = *x;
    *x = *y;
    *y = held;
}

static void sink(struct queue *q, uint32_t at)
{
    for (;;) {
        uint32_t least = at;
        uint32_t left = 2 * at + 1;
        if (left < q->count && is_before(&q->heap[left], &q->heap[least]))
            least = left;
        if (left + 1 < q->count && is_before(&q->heap[left + 1], &q->heap[least]))
            least = left + 1;
        if (least == at)
            return;
        swap(&q->heap[at], &q->heap[least]);
        at = least;
    }
}

void queue_open(struct queue *q)
{
    *q = (struct queue){.cap = 1024};
    q->heap = malloc(q->cap * sizeof *q->heap);
    if (q->heap == NULL)
        abort();
}

void queue_close(struct queue *q)
{
    free(q->heap);
    *q = (struct queue){0};
}

void queue_push(struct queue *q, struct sim_event ev)
{
    if (q->count == q->cap) {
        q->cap *= 2;
        q->heap = realloc(q->heap, q->cap * sizeof *q->heap);
        if (q->heap == NULL)
            abort();
    }
    ev.order = q->order++;
    uint32_t at = q->count++;
    q->heap[at] = ev;
    while (at > 0 && is_before(&q->heap[at], &q->heap[(at - 1) / 2])) {
        swap(&q->heap[at], &q->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
}

const struct sim_event *queue_first(const struct queue *q)
{
    return q->count > 0 ? &q->heap[0] : NULL;
}

struct sim_event queue_pop(struct queue *q)
{
    struct sim_event first = q->heap[0];
    q->heap[0] = q->heap[--q->count];
    sink(q, 0);
    return first;
}

int64_t queue_next_not_tick(const struct queue *q, bool *is_moving)
{
    int64_t next = INT64_MAX;
    *is_moving = false;
    for (uint32_t i = 0; i < q->count; i++) {
        const struct sim_event *ev = &q->heap[i];
        if (ev->kind < SIM_TICKS_END)
            continue;
        if (ev->kind == SIM_TOKEN || ev->kind == SIM_RECEIVE || ev->kind == SIM_CLIENT)
            *is_moving = true;
        if (ev->at < next)
            next = ev->at;
    }
    return next;
}

void queue_shift_ticks(struct queue *q, int64_t by)
{
    for (uint32_t i = 0; i < q->count; i++)
        if (q->heap[i].kind < SIM_TICKS_END)
            q->heap[i].at += by;
    for (uint32_t i = q->count / 2; i-- > 0;)
        sink(q, i);
}
