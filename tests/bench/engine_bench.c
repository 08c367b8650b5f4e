/* engine_bench - what a step costs. Budgets: >= 1 000 000 steps a second a core at 3
 * nodes and 8 VMs, <= 20 us median at 128 VMs. The mix is what a group sees: facts, inventories,
 * VMs that die and are started again, results, timers, a PF that goes and comes, and now and then a
 * host that is lost, fenced and joins again. Prints a table and, last, one verdict line. Non-zero
 * when a budget is missed. */
/* LINK: supervisord/engine */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "supervisord/engine/engine.h"
#include "tests/unit/supervisord/a_group.h"

enum {
    NODES = 3,
    STEPS_MIN = 1000000,   /* a second */
    MEDIAN_NS_MAX = 20000, /* at 128 VMs */
    ROUNDS = 9,            /* medians over rounds: other programs run too */
    ORDERS_MAX = 4 * HF_EFFECTS_MAX,
};

/* An order or timer that waits for its answer. */
struct owed {
    struct hf_effect fx;
};

struct bench {
    struct engine *engine;
    struct engine_out out;
    struct hf_event ev;
    uint32_t vms, at;
    uint64_t steps;
    struct hf_effect owed[ORDERS_MAX];
    uint32_t owed_first, owed_count;
    uint64_t incarnation[NODES];
    uint8_t boot[NODES];
    hf_nodes present;
    uint32_t *ns; /* of each measured step */
    uint32_t ns_count, ns_cap;
};

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct hf_group group_of(void)
{
    struct hf_group group = a_group(NODES);

    group.policy.fence_retry_ms[0] = 5000;
    group.policy.fence_retry_count = 1;
    group.policy.restart_backoff_ms[0] = 1000;
    group.policy.restart_backoff_count = 1;
    /* A host that is lost every few thousand steps is neither a storm nor a flapping one here:
     * answer() lets these run out at once. */
    group.policy.storm_window_ms = group.policy.flap_window_ms = group.policy.settle_ms = 1000;
    return group;
}

static void step(struct bench *b)
{
    b->ev.seq = engine_seq(b->engine) + 1;
    if (b->ns_count < b->ns_cap) {
        uint64_t start = now_ns();
        engine_step(b->engine, &b->ev, &b->out);
        b->ns[b->ns_count++] = (uint32_t)(now_ns() - start);
    } else {
        engine_step(b->engine, &b->ev, &b->out);
    }
    b->steps++;
    for (uint32_t i = 0; i < b->out.effects_count && b->owed_count < ORDERS_MAX; i++)
        b->owed[(b->owed_first + b->owed_count++) % ORDERS_MAX] = b->out.effects[i];
}

static void members(struct bench *b)
{
    memset(&b->ev, 0, sizeof b->ev);
    b->ev.type = HF_EV_MEMBERS;
    b->ev.from = HF_NO_NODE;
    b->ev.u.members.view = (struct hf_view){1, b->steps + 1};
    for (unsigned n = 0; n < NODES; n++) {
        struct hf_member *m = &b->ev.u.members.node[n];
        m->present = m->in_ring = (b->present >> n & 1u) != 0;
        m->boot.id[0] = b->boot[n];
        m->boot.id[1] = (uint8_t)(n + 1);
        m->incarnation = b->incarnation[n];
    }
    step(b);
}

static void from(struct bench *b, enum hf_event_type type, unsigned n)
{
    /* Only what a decoder would set: clearing the whole union would be the bench's own cost. */
    b->ev.type = type;
    b->ev.from = (hf_node){(uint8_t)n};
}

static void facts(struct bench *b, unsigned n)
{
    from(b, HF_EV_FACTS, n);
    b->ev.u.facts.memory_mib = 1 << 20;
    b->ev.u.facts.cores = 64;
    b->ev.u.facts.vm_watch_known = b->ev.u.facts.link_fit = b->ev.u.facts.config_same = true;
    step(b);
}

static void pfs(struct bench *b, unsigned n, enum hf_pf a)
{
    from(b, HF_EV_NICS, n);
    b->ev.u.nics.pf[0] = (struct hf_pf_verdict){a, HF_NIC_NONE};
    b->ev.u.nics.pf[1] = (struct hf_pf_verdict){HF_PF_UP, HF_NIC_NONE};
    step(b);
}

static void inventory(struct bench *b, unsigned n)
{
    from(b, HF_EV_INVENTORY, n);
    uint16_t count = 0;
    for (uint32_t i = 0; i < b->vms; i++) {
        struct hf_vm_view v = engine_vm(b->engine, (hf_vm){(uint16_t)i});
        if (v.is_used && v.state == HF_VM_RUNNING && v.home.ix == n)
            b->ev.u.inventory.vm[count++] = (struct hf_vm_seen){v.uid, v.start_no};
    }
    b->ev.u.inventory.count = count;
    b->ev.u.inventory.as_of = engine_as_of(b->engine);
    step(b);
}

static void report(struct bench *b, uint32_t vm, enum hf_seen seen)
{
    struct hf_vm_view v = engine_vm(b->engine, (hf_vm){(uint16_t)vm});
    if (v.state != HF_VM_RUNNING)
        return;
    from(b, HF_EV_VM, v.home.ix);
    b->ev.u.vm.uid = v.uid;
    b->ev.u.vm.start_no = v.start_no;
    b->ev.u.vm.seen = seen;
    step(b);
}

static void order(struct bench *b, enum hf_order_type type, uint32_t number)
{
    memset(&b->ev, 0, sizeof b->ev);
    from(b, HF_EV_ORDER, 0);
    b->ev.u.order.type = type;
    b->ev.u.order.node = HF_NO_NODE;
    b->ev.u.order.wants_run = true;
    struct hf_vm_def *def = &b->ev.u.order.def;
    def->preferred = HF_NO_NODE;
    snprintf(def->name, sizeof def->name, "vm%u", number);
    if (number % 4 == 0)
        snprintf(def->apart, sizeof def->apart, "g%u", number / 8);
    def->xml_bytes = 1000;
    def->memory_mib = 1024;
    def->legs = 3;
    def->restarts_here = def->restarts_max = 200;
    def->priority = (uint16_t)(number % 7);
    step(b);
}

/* Answer what is owed; long timers are left to run. */
static void answer(struct bench *b)
{
    while (b->owed_count > 0) {
        struct hf_effect fx = b->owed[b->owed_first];
        b->owed_first = (b->owed_first + 1) % ORDERS_MAX;
        b->owed_count--;
        if (!engine_is_live(b->engine, fx.token))
            continue;
        if (fx.type == HF_FX_TIMER) {
            if (fx.u.timer.after_ms > 1000)
                continue;
            from(b, HF_EV_EXPIRED, 0);
            b->ev.u.expired.timer = fx.token;
        } else {
            from(b, HF_EV_DONE, fx.actor.ix);
            b->ev.u.done.effect = fx.token;
            b->ev.u.done.outcome = HF_OUT_DONE;
        }
        step(b);
    }
}

static void host_lost(struct bench *b, unsigned n)
{
    b->present &= (hf_nodes) ~(1u << n);
    members(b);
    answer(b); /* fenced, started elsewhere */
    b->present |= (hf_nodes)(1u << n);
    b->boot[n]++;
    b->incarnation[n]++;
    members(b);
    facts(b, n);
    inventory(b, n);
    pfs(b, n, HF_PF_UP);
    answer(b);
}

static void open_bench(struct bench *b, uint32_t vms)
{
    struct hf_group group = group_of();
    struct hf_err err;
    memset(b, 0, sizeof *b);
    b->engine = calloc(1, engine_size());
    if (b->engine == NULL || engine_init(b->engine, &group, &err) != HF_OK)
        abort();
    b->vms = vms;
    b->present = 7;
    members(b);
    for (unsigned n = 0; n < NODES; n++) {
        facts(b, n);
        inventory(b, n);
        pfs(b, n, HF_PF_UP);
    }
    order(b, HF_ORDER_ARM, 0);
    for (uint32_t i = 0; i < vms; i++)
        order(b, HF_ORDER_VM_ADD, i);
    answer(b);
}

/* One round of the mix: 64 quiet events, then one VM dies and comes back, and a PF goes or comes;
 * each 50th round a host is lost. */
static void mix(struct bench *b, uint32_t round)
{
    for (unsigned i = 0; i < 64; i++) {
        if (i % 8 == 0)
            facts(b, i / 8 % NODES);
        else
            report(b, b->at++ % b->vms, HF_SEEN_RUNNING);
    }
    report(b, b->at++ % b->vms, HF_SEEN_CRASHED);
    answer(b);
    inventory(b, round % NODES);
    pfs(b, round / 2 % NODES, round % 2 ? HF_PF_UP : HF_PF_DOWN);
    if (round % 50 == 49)
        host_lost(b, round / 50 % NODES);
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int by_rate(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double steps_per_second(uint32_t vms)
{
    double rate[ROUNDS];
    struct bench *b = malloc(sizeof *b);
    if (b == NULL)
        abort();
    open_bench(b, vms);
    for (int r = 0; r < ROUNDS; r++) {
        uint64_t start = now_ns();
        uint64_t before = b->steps;
        for (uint32_t i = 0; i < 2000; i++)
            mix(b, i);
        rate[r] = (double)(b->steps - before) * 1e9 / (double)(now_ns() - start);
    }
    qsort(rate, ROUNDS, sizeof rate[0], by_rate);
    free(b->engine);
    free(b);
    return rate[ROUNDS / 2];
}

struct step_cost {
    uint32_t median_ns, p99_ns, worst_ns;
};

static struct step_cost cost_of_steps(uint32_t vms)
{
    struct bench *b = malloc(sizeof *b);
    if (b == NULL)
        abort();
    open_bench(b, vms);
    b->ns_cap = 60000;
    b->ns = calloc(b->ns_cap, sizeof *b->ns);
    if (b->ns == NULL)
        abort();
    for (uint32_t i = 0; b->ns_count < b->ns_cap; i++)
        mix(b, i);
    qsort(b->ns, b->ns_count, sizeof *b->ns, by_value);
    struct step_cost cost = {b->ns[b->ns_count / 2], b->ns[b->ns_count * 99ull / 100],
                             b->ns[b->ns_count - 1]};
    free(b->ns);
    free(b->engine);
    free(b);
    return cost;
}

int main(void)
{
    static const uint32_t sizes[] = {8, 16, 64, 128, 256};
    uint32_t at_128 = 0;
    double rate = steps_per_second(8);
    printf("3 nodes, 8 VMs: %.0f steps/s on one core\n", rate);
    printf("%6s %12s %12s %12s\n", "VMs", "median us", "p99 us", "worst us");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct step_cost c = cost_of_steps(sizes[i]);
        printf("%6u %12.2f %12.2f %12.2f\n", sizes[i], c.median_ns / 1e3, c.p99_ns / 1e3,
               c.worst_ns / 1e3);
        if (sizes[i] == 128)
            at_128 = c.median_ns;
    }
    bool is_good = rate >= STEPS_MIN && at_128 <= MEDIAN_NS_MAX;
    printf("engine_bench: %s: %.2f M steps/s (budget >= 1.00), median at 128 VMs %.2f us (budget "
           "<= 20)\n",
           is_good ? "within budget" : "MISSED", rate / 1e6, at_128 / 1e3);
    return is_good ? 0 : 1;
}
