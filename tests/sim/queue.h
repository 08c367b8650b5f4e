/* queue.h - what happens next: a binary heap of small events, first by time, then by order of
 * arrival, so that ties never depend on addresses. */
#ifndef TESTS_SIM_QUEUE_H
#define TESTS_SIM_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

enum sim_kind {
    /* What comes again and again by a node's own clock: quiet may hold these and no others. */
    SIM_TICK = 0, /* replica_deadline() */
    SIM_FEED,     /* a feeder's turn */
    SIM_DOG,      /* a watchdog may have run out */
    SIM_LEASE,    /* lease_deadline() of a daemon */
    SIM_PATHS,    /* paths_deadline() of a daemon */
    SIM_TICKS_END,
    SIM_TOKEN = SIM_TICKS_END, /* the token goes round a ring: waiting messages get their place */
    SIM_RECEIVE,               /* a corosync receives entries of its ring up to `b` */
    SIM_CLIENT,                /* a daemon reads what its corosync has for it */
    SIM_REFORM,                /* totem gathers */
    SIM_CONNECT,               /* a daemon tries to reach corosync */
    SIM_REPORT,                /* the oldest record of an agent reaches its daemon */
    SIM_TIMER,                 /* an engine timer of a node's shell */
    SIM_FENCE,                 /* a fence run of a node ends */
    SIM_POWER_OFF,             /* a BMC cuts its host */
    SIM_POWER_ON,
    SIM_VM_CREATED, /* libvirt ends a create */
    SIM_VM_DEADLINE,
    SIM_VM_STOPPED,
    SIM_VM_END, /* a qemu process ends by itself */
    SIM_DAEMON_UP,
    SIM_DAEMON_RESUME,
    SIM_CORO_UP,
    SIM_CORO_RESUME,
    SIM_AGENT_UP,
    SIM_DOG_RESET, /* it has fired */
    SIM_DOG_SAYS,  /* a feeder's record reaches its daemon */
    SIM_DOG_HEARS, /* and the other way */
    SIM_FEEDER_UP,
    SIM_FEEDER_RESUME,
    SIM_TESTED,    /* a fence path test ends */
    SIM_SELF_STOP, /* a VM agent ends every VM */
    SIM_STRANGER,  /* a forged group member speaks */
    SIM_HAND,      /* what people and packages do some time after an order */
    SIM_ASK,       /* a daemon asks its VM agent, as it does every few seconds */
    SIM_LIBVIRT_UP,
    SIM_CARD,       /* nicbond looks at its PFs */
    SIM_CARD_SAYS,  /* its word reaches its daemon */
    SIM_CARD_UP,    /* it starts */
    SIM_CARD_STALE, /* its daemon finds that it is mute */
    SIM_NICS,       /* nics_deadline() of a daemon */
    SIM_HOST_UP,
    SIM_FAULT,  /* the next drawn fault */
    SIM_MOMENT, /* a fault that waited for its moment */
    SIM_UNDO,   /* a lasting fault ends */
    SIM_STEP,   /* a scenario's step */
    SIM_MINUTE, /* the checker's periodic look */
    SIM_KINDS
};

struct sim_event {
    int64_t at;
    uint64_t order;
    uint64_t c;
    uint32_t gen, b;
    uint16_t a;
    uint8_t kind, node;
};

struct queue {
    struct sim_event *heap;
    uint32_t count, cap;
    uint64_t order;
};

void queue_open(struct queue *q);
void queue_close(struct queue *q);
void queue_push(struct queue *q, struct sim_event ev);
/* Earliest event; NULL when empty. Valid until the next push or pop. */
const struct sim_event *queue_first(const struct queue *q);
struct sim_event queue_pop(struct queue *q);
/* When may quiet end? The earliest event that is not a tick; INT64_MAX if none. *is_moving:
 * messages are on their way, nothing may be skipped. */
int64_t queue_next_not_tick(const struct queue *q, bool *is_moving);
/* Postpone every tick. */
void queue_shift_ticks(struct queue *q, int64_t by);

#endif
