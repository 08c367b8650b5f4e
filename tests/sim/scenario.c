/* scenario.c - see scenario.h and tests/scenarios/README.md. Steps are words at a time;
 * expectations are facts, each by, at or until a time. Facts about VMs and hosts are physical;
 * `state` asks the engine of the first synchronised node. */
#include "tests/sim/scenario.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisord/base/str.h"
#include "supervisord/model/names.h"
#include "tests/sim/operator.h"
#include "tests/sim/sim.h"

enum { LINES_MAX = 64, WORDS_MAX = 12, LINE_MAX_BYTES = 160, LOOK_EVERY_MS = 100, NAMES_MAX = 4 };

struct line {
    int64_t at;
    char text[LINE_MAX_BYTES];
    char *word[WORDS_MAX];
    int words;
    unsigned number;
};

enum fact_when { FACT_BY, FACT_AT, FACT_ALWAYS };

struct fact {
    struct line line;
    enum fact_when when;
    bool is_met, is_over;
};

struct scenario {
    struct sim *sim;
    struct line step[LINES_MAX];
    struct fact fact[LINES_MAX];
    int steps, facts;
    char label[NAMES_MAX][16]; /* $name of a node, bound by `as` */
    hf_node node[NAMES_MAX];
    int labels;
    unsigned failures;
};

/* One scenario a process: a step finds its lines here. */
static struct scenario *running;

/* ---- reading ---- */

static bool split(struct line *l)
{
    char *at = l->text;
    l->words = 0;
    while (*at != '\0' && l->words < WORDS_MAX) {
        at += strspn(at, " \t\n");
        if (*at == '\0' || *at == '#')
            break;
        l->word[l->words++] = at;
        at += strcspn(at, " \t\n");
        if (*at != '\0')
            *at++ = '\0';
    }
    return l->words > 0;
}

static bool read_time(const char *text, int64_t *at)
{
    uint64_t ms;
    if (!hf_str_to_ms(text, &ms))
        return false;
    *at = SIM_MS((int64_t)ms);
    return true;
}

static FILE *open_in(const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *in = fopen(path, "r");
    if (in == NULL)
        perror(path);
    return in;
}

static bool complain(const char *file, unsigned number, const char *what)
{
    fprintf(stderr, "%s:%u: %s\n", file, number, what);
    return false;
}

static bool read_config(const char *folder, struct sim_options *opt)
{
    char text[LINE_MAX_BYTES];
    unsigned number = 0;
    bool is_good = true;
    FILE *in = open_in(folder, "config");
    while (in != NULL && fgets(text, sizeof text, in) != NULL) {
        number++;
        struct line l = {.number = number};
        hf_str_copy(l.text, sizeof l.text, text);
        if (split(&l) && (l.words != 2 || !options_set(opt, l.word[0], l.word[1])))
            is_good = complain("config", number, "expected a known key and a number");
    }
    if (in != NULL)
        fclose(in);
    return in != NULL && is_good;
}

static bool read_steps(const char *folder, struct scenario *c)
{
    char text[LINE_MAX_BYTES];
    unsigned number = 0;
    bool is_good = true;
    FILE *in = open_in(folder, "steps");
    while (in != NULL && fgets(text, sizeof text, in) != NULL && c->steps < LINES_MAX) {
        struct line *l = &c->step[c->steps];
        hf_str_copy(l->text, sizeof l->text, text);
        l->number = ++number;
        if (!split(l))
            continue;
        if (l->words < 2 || !read_time(l->word[0], &l->at))
            is_good = complain("steps", number, "expected a time and a step");
        c->steps++;
    }
    if (in != NULL)
        fclose(in);
    return in != NULL && is_good;
}

static bool read_facts(const char *folder, struct scenario *c)
{
    char text[LINE_MAX_BYTES];
    unsigned number = 0;
    bool is_good = true;
    FILE *in = open_in(folder, "expected");
    while (in != NULL && fgets(text, sizeof text, in) != NULL && c->facts < LINES_MAX) {
        struct fact *f = &c->fact[c->facts];
        hf_str_copy(f->line.text, sizeof f->line.text, text);
        f->line.number = ++number;
        if (!split(&f->line))
            continue;
        const char *when = f->line.word[0];
        f->when = strcmp(when, "by") == 0   ? FACT_BY
                  : strcmp(when, "at") == 0 ? FACT_AT
                                            : FACT_ALWAYS;
        if (f->line.words < 4 || !read_time(f->line.word[1], &f->line.at) ||
            (f->when == FACT_ALWAYS && strcmp(when, "until") != 0))
            is_good = complain("expected", number, "expected by|at|until, a time and a fact");
        c->facts++;
    }
    if (in != NULL)
        fclose(in);
    return in != NULL && is_good;
}

/* ---- names ---- */

static hf_vm_uid vm_named(struct sim *s, const char *name)
{
    for (hf_vm_uid uid = SIM_VMS_MAX - 1; uid > 0; uid--)
        if (s->world.vm[uid].is_known && strcmp(s->check.vm[uid].def.name, name) == 0)
            return uid;
    return 0;
}

/* "a", "$label" or "@vm": the node it runs on now. */
static hf_node node_named(struct scenario *c, const char *name)
{
    struct sim *s = c->sim;
    if (name[0] == '@')
        return hf_nodes_first(world_running_on(s, vm_named(s, name + 1)));
    for (int i = 0; name[0] == '$' && i < c->labels; i++)
        if (strcmp(c->label[i], name + 1) == 0)
            return c->node[i];
    if (name[0] >= 'a' && name[0] < 'a' + s->opt.nodes && name[1] == '\0')
        return sim_node_at((unsigned)(name[0] - 'a'));
    return HF_NO_NODE;
}

/* "a|b", "!$home", "nowhere". */
static hf_nodes nodes_named(struct scenario *c, const char *text)
{
    char copy[64];
    hf_nodes set = 0;
    bool inverts = text[0] == '!';
    hf_str_copy(copy, sizeof copy, text + inverts);
    char *at = copy;
    while (*at != '\0') {
        size_t len = strcspn(at, "|");
        bool is_last = at[len] == '\0';
        at[len] = '\0';
        set |= hf_bit(node_named(c, at));
        at += len + !is_last;
    }
    return inverts ? (hf_nodes)(sim_all(c->sim) & ~set) : set;
}

/* ---- steps ---- */

static bool give(struct scenario *c, enum hf_order_type type, hf_node node, hf_vm_uid uid,
                 uint32_t ms)
{
    struct hf_event ev;
    operator_order(&ev, type, node, uid);
    ev.u.order.ms = ms;
    return operator_gives(c->sim, &ev);
}

static bool add_vm(struct scenario *c, const struct line *l)
{
    struct hf_event ev;
    uint64_t number = 0;
    if (l->words < 4 || !hf_str_to_u64(l->word[3], 1 << 20, &number))
        return false;
    operator_add(&ev, l->word[2], (uint32_t)number);
    for (int i = 4; i < l->words; i++) {
        struct hf_vm_def *def = &ev.u.order.def;
        char *value = strchr(l->word[i], '=');
        if (value == NULL)
            return false;
        *value++ = '\0';
        bool is_number = hf_str_to_u64(value, UINT32_MAX, &number);
        if (strcmp(l->word[i], "apart") == 0)
            hf_str_copy(def->apart, sizeof def->apart, value);
        else if (strcmp(l->word[i], "together") == 0)
            hf_str_copy(def->together, sizeof def->together, value);
        else if (strcmp(l->word[i], "allowed") == 0)
            def->allowed = nodes_named(c, value);
        else if (strcmp(l->word[i], "preferred") == 0)
            def->preferred = node_named(c, value);
        else if (strcmp(l->word[i], "priority") == 0 && is_number)
            def->priority = (uint16_t)number;
        else if (strcmp(l->word[i], "restarts") == 0 && is_number)
            def->restarts_max = def->restarts_here = (uint8_t)number;
        else if (strcmp(l->word[i], "legs") == 0 && is_number)
            def->legs = (hf_legs)(number & 3);
        else if (strcmp(l->word[i], "run") == 0 && is_number)
            ev.u.order.wants_run = number != 0;
        else
            return false;
        value[-1] = '=';
    }
    return operator_gives(c->sim, &ev);
}

static bool do_order(struct scenario *c, const struct line *l, bool *is_known)
{
    static const struct {
        const char *word;
        enum hf_order_type type;
        bool has_vm, has_node;
    } orders[] = {
        {"vm-remove", HF_ORDER_VM_REMOVE, true, false},
        {"vm-start", HF_ORDER_VM_START, true, false},
        {"vm-stop", HF_ORDER_VM_STOP, true, false},
        {"vm-move", HF_ORDER_VM_MOVE, true, true},
        {"drain", HF_ORDER_DRAIN, false, true},
        {"undrain", HF_ORDER_UNDRAIN, false, true},
        {"arm", HF_ORDER_ARM, false, false},
        {"disarm", HF_ORDER_DISARM, false, false},
        {"fence", HF_ORDER_FENCE, false, true},
        {"confirm", HF_ORDER_CONFIRM, false, true},
        {"hold", HF_ORDER_HOLD, false, true},
        {"leave", HF_ORDER_LEAVE, false, true},
        {"switch-on", HF_ORDER_POWER_ON, false, true},
    };
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        int at = 2;
        if (strcmp(l->word[1], orders[i].word) != 0)
            continue;
        *is_known = true;
        hf_vm_uid uid = orders[i].has_vm && l->words > at ? vm_named(c->sim, l->word[at++]) : 0;
        hf_node node =
            orders[i].has_node && l->words > at ? node_named(c, l->word[at++]) : HF_NO_NODE;
        uint64_t ms = 0;
        if (orders[i].type == HF_ORDER_HOLD && (l->words <= at || !hf_str_to_ms(l->word[at], &ms)))
            return false;
        return (!orders[i].has_vm || uid != 0) && give(c, orders[i].type, node, uid, (uint32_t)ms);
    }
    *is_known = false;
    return false;
}

static int mood(const char *word, const char *const *words, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(word, words[i]) == 0)
            return i;
    return -1;
}

static bool do_vm(struct scenario *c, const struct line *l)
{
    struct sim *s = c->sim;
    const char *what = l->word[1];
    hf_vm_uid uid = l->words > 2 ? vm_named(s, l->word[2]) : 0;
    hf_node on = hf_nodes_first(world_running_on(s, uid));
    bool yes = l->words < 4 || strcmp(l->word[3], "off") != 0;
    if (uid == 0)
        return false;
    if (strcmp(what, "vm-dies") == 0)
        world_vm_end(s, on, uid, VM_END_CRASH);
    else if (strcmp(what, "vm-shuts-down") == 0)
        world_vm_end(s, on, uid, VM_END_SHUTDOWN);
    else if (strcmp(what, "vm-destroyed-by-hand") == 0)
        world_vm_end(s, on, uid, VM_END_BY_HAND);
    else if (strcmp(what, "vm-started-by-hand") == 0 && l->words > 3)
        world_vm_by_hand(s, node_named(c, l->word[3]), uid);
    else if (strcmp(what, "vm-crashes-always") == 0)
        s->world.vm[uid].is_crashy = yes;
    else if (strcmp(what, "vm-refuses") == 0)
        s->world.vm[uid].refuses = yes;
    else if (strcmp(what, "vm-stuck") == 0 && hf_node_is(on))
        s->world.host[on.ix].vm[uid].is_stuck = yes;
    else
        return false;
    return true;
}

static bool do_host(struct scenario *c, const struct line *l, hf_node n)
{
    static const char *const bmc_words[] = {"ok", "slow", "hung", "refuses", "dead"};
    static const char *const libvirt_words[] = {"ok", "slow", "hung", "refuses"};
    struct sim *s = c->sim;
    const char *what = l->word[1];
    if (strcmp(what, "power-off") == 0) {
        world_power_off(s, n, "power lost");
    } else if (strcmp(what, "power-off-with-bmc") == 0) {
        s->world.host[n.ix].bmc[0] = BMC_DEAD;
        world_power_off(s, n, "power lost, BMC too");
    } else if (strcmp(what, "power-on") == 0) {
        world_power_on(s, n, SIM_MS(s->opt.boot_ms_min));
    } else if (strcmp(what, "reset") == 0) {
        world_power_off(s, n, "reset");
        world_power_on(s, n, SIM_MS(s->opt.boot_ms_min));
    } else if (strcmp(what, "freeze") == 0) {
        totem_pause(s, n);
        node_daemon_pause(s, n);
        dog_pause(s, n);
    } else if (strcmp(what, "thaw") == 0) {
        dog_resume(s, n);
        node_daemon_resume(s, n);
        totem_resume(s, n);
    } else if (strcmp(what, "agent-dies") == 0) {
        world_agent_kill(s, n);
    } else if (strcmp(what, "agent-back") == 0) {
        world_agent_up(s, n);
    } else if (strcmp(what, "libvirt") == 0 && l->words > 3) {
        int m = mood(l->word[3], libvirt_words, 4);
        if (m < 0)
            return false;
        world_libvirt(s, n, (enum libvirt_mood)m);
    } else if (strcmp(what, "bmc") == 0 && l->words > 3) {
        int m = mood(l->word[3], bmc_words, 5);
        if (m < 0)
            return false;
        for (unsigned i = 0; i < HF_FENCE_LEVELS_MAX; i++)
            if (l->words < 5 || l->word[4][0] - '0' == (int)i)
                s->world.host[n.ix].bmc[i] = (enum bmc_mood)m;
    } else {
        return false;
    }
    return true;
}

static bool do_dog(struct scenario *c, const struct line *l, hf_node n)
{
    static const char *const kinds[] = {"good", "deaf", "absent", "busy", "soft", "stuck"};
    struct host *h = &c->sim->world.host[n.ix];
    const char *what = l->word[1];
    hf_node other = l->words > 3 ? node_named(c, l->word[3]) : HF_NO_NODE;
    if (strcmp(what, "feeder-dies") == 0) {
        h->feeder_fails = true;
        dog_kill(c->sim, n, SIM_MS(1));
    } else if (strcmp(what, "feeder-back") == 0) {
        h->feeder_fails = false;
        dog_start(c->sim, n);
    } else if (strcmp(what, "watchdog") == 0 && l->words > 3) {
        int kind = mood(l->word[3], kinds, 6);
        if (kind < 0)
            return false;
        h->dog.kind = (uint8_t)kind;
    } else if (strcmp(what, "swap-devices") == 0 && hf_node_is(other)) {
        struct host *o = &c->sim->world.host[other.ix];
        for (unsigned i = 0; i < HF_FENCE_LEVELS_MAX; i++) {
            uint8_t was = h->wired[i];
            h->wired[i] = o->wired[i];
            o->wired[i] = was;
        }
    } else {
        return false;
    }
    return true;
}

static bool do_card(struct scenario *c, const struct line *l, hf_node n)
{
    static const char *const kinds[] = {"ok", "carrier", "black-hole", "gone", "aer", "slow"};
    struct sim *s = c->sim;
    const char *what = l->word[1];
    if (strcmp(what, "pf") == 0 && l->words > 4) {
        int kind = mood(l->word[4], kinds, 6);
        if (kind < 0 || (l->word[3][0] != 'a' && l->word[3][0] != 'b'))
            return false;
        card_breaks(s, n, l->word[3][0] == 'b', (enum card_sick)kind);
    } else if (strcmp(what, "nicbond-dies") == 0) {
        card_nicbond_dies(s, n, SIM_FOREVER);
    } else if (strcmp(what, "nicbond-hangs") == 0) {
        card_nicbond_sticks(s, n, true);
    } else if (strcmp(what, "nicbond-goes-on") == 0) {
        card_nicbond_sticks(s, n, false);
    } else if (strcmp(what, "vfs-refused") == 0) {
        s->world.host[n.ix].card.refuses_vfs = true;
    } else {
        return false;
    }
    return true;
}

static bool do_daemon(struct scenario *c, const struct line *l, hf_node n)
{
    struct sim *s = c->sim;
    const char *what = l->word[1];
    if (strcmp(what, "daemon-dies") == 0)
        node_daemon_kill(s, n, false);
    else if (strcmp(what, "daemon-back") == 0)
        node_daemon_start(s, n);
    else if (strcmp(what, "daemon-pauses") == 0)
        node_daemon_pause(s, n);
    else if (strcmp(what, "daemon-goes-on") == 0)
        node_daemon_resume(s, n);
    else if (strcmp(what, "corosync-dies") == 0)
        totem_stop(s, n, false);
    else if (strcmp(what, "corosync-stops") == 0)
        totem_stop(s, n, true);
    else if (strcmp(what, "corosync-back") == 0)
        totem_start(s, n);
    else if (strcmp(what, "corosync-pauses") == 0)
        totem_pause(s, n);
    else if (strcmp(what, "corosync-goes-on") == 0)
        totem_resume(s, n);
    else if (strcmp(what, "isolate") == 0)
        totem_cut_off(s, hf_bit(n));
    else if (strcmp(what, "cut") == 0 && l->words > 3) {
        hf_node other = node_named(c, l->word[3]);
        if (!hf_node_is(other))
            return false;
        totem_cut(s, n, other, true);
        totem_cut(s, other, n, true);
        totem_wires_changed(s);
    } else {
        return false;
    }
    return true;
}

static bool do_step(struct scenario *c, struct line *l)
{
    struct sim *s = c->sim;
    bool is_known;
    if (strcmp(l->word[1], "vm-add") == 0)
        return add_vm(c, l);
    if (strcmp(l->word[1], "heal") == 0) {
        totem_heal(s, sim_all(s));
        return true;
    }
    if (strcmp(l->word[1], "all-alone") == 0) {
        for (unsigned i = 0; i < s->opt.nodes; i++)
            totem_cut_off(s, hf_bit(sim_node_at(i)));
        return true;
    }
    if (strcmp(l->word[1], "fabric") == 0 && l->words > 3 &&
        (l->word[2][0] == 'a' || l->word[2][0] == 'b')) {
        card_fabric(s, l->word[2][0] == 'b', strcmp(l->word[3], "down") == 0);
        return true;
    }
    if (strcmp(l->word[1], "as") == 0 && l->words > 3 && c->labels < NAMES_MAX) {
        c->node[c->labels] = node_named(c, l->word[3]);
        return hf_str_copy(c->label[c->labels++], sizeof c->label[0], l->word[2]) &&
               hf_node_is(c->node[c->labels - 1]);
    }
    if (do_order(c, l, &is_known) || is_known)
        return is_known;
    if (strncmp(l->word[1], "vm-", 3) == 0)
        return do_vm(c, l);
    hf_node n = l->words > 2 ? node_named(c, l->word[2]) : HF_NO_NODE;
    return hf_node_is(n) &&
           (do_host(c, l, n) || do_dog(c, l, n) || do_card(c, l, n) || do_daemon(c, l, n));
}

void scenario_step(struct sim *s, uint16_t index)
{
    struct line *l = &running->step[index];
    SAY(s, -1, "STEP %u: %s %s %s", l->number, l->word[1], l->words > 2 ? l->word[2] : "",
        l->words > 3 ? l->word[3] : "");
    sim_busy(s);
    if (!do_step(running, l)) {
        printf("steps:%u: cannot do \"%s\" now\n", l->number, l->word[1]);
        running->failures++;
    }
}

/* ---- facts ---- */

static const struct engine *any_engine(const struct sim *s)
{
    for (unsigned n = 0; n < s->opt.nodes; n++)
        if (s->node[n].phase == REPLICA_SYNCED)
            return node_engine(s, sim_node_at(n));
    return NULL;
}

/* State names hold blanks ("waiting for proof"): written with dashes. */
static bool is_named(const char *name, const char *word)
{
    size_t i = 0;
    for (; name[i] != '\0'; i++)
        if (name[i] != word[i] && !(name[i] == ' ' && word[i] == '-'))
            return false;
    return word[i] == '\0';
}

static bool vm_fact(struct scenario *c, const struct line *l, hf_vm_uid uid)
{
    struct sim *s = c->sim;
    const struct engine *e = any_engine(s);
    const char *what = l->word[4];
    hf_nodes on = world_running_on(s, uid);
    uint64_t number = 0;
    if (strcmp(what, "runs-nowhere") == 0)
        return on == 0;
    if (l->words < 6)
        return false;
    if (strcmp(what, "runs-on") == 0)
        return on != 0 && (on & ~nodes_named(c, l->word[5])) == 0;
    if (strcmp(what, "starts") == 0)
        return hf_str_to_u64(l->word[5], UINT32_MAX, &number) && s->check.vm[uid].starts == number;
    if (strcmp(what, "starts-at-most") == 0)
        return hf_str_to_u64(l->word[5], UINT32_MAX, &number) && s->check.vm[uid].starts <= number;
    if (strcmp(what, "state") == 0 && e != NULL)
        return is_named(hf_vm_state_name(engine_vm(e, engine_vm_by_uid(e, uid)).state), l->word[5]);
    if (strcmp(what, "degraded") == 0 && e != NULL && hf_str_to_u64(l->word[5], 1, &number))
        return engine_vm(e, engine_vm_by_uid(e, uid)).is_degraded == (number != 0);
    if (strcmp(what, "legs-why") == 0 && e != NULL)
        return is_named(hf_reason_name(engine_vm(e, engine_vm_by_uid(e, uid)).legs.why),
                        l->word[5]);
    if (strcmp(what, "why") == 0 && e != NULL)
        return is_named(hf_reason_name(engine_vm(e, engine_vm_by_uid(e, uid)).why), l->word[5]);
    return false;
}

static bool node_fact(struct scenario *c, const struct line *l, hf_node n)
{
    struct sim *s = c->sim;
    static const char *const phases[] = {"apart",  "greeting", "copying",
                                         "frozen", "synced",   "stopped"};
    const struct engine *e = any_engine(s);
    const char *what = l->word[4];
    uint64_t number = 0;
    if (strcmp(what, "is-on") == 0)
        return s->world.host[n.ix].is_on;
    if (strcmp(what, "is-off") == 0)
        return !s->world.host[n.ix].is_on;
    if (l->words < 6)
        return false;
    if (strcmp(what, "fenced") == 0)
        return hf_str_to_u64(l->word[5], UINT32_MAX, &number) &&
               s->check.fence[n.ix].count == number;
    if (strcmp(what, "fenced-at-least") == 0)
        return hf_str_to_u64(l->word[5], UINT32_MAX, &number) &&
               s->check.fence[n.ix].count >= number;
    if (strcmp(what, "phase") == 0)
        return strcmp(phases[s->node[n.ix].phase], l->word[5]) == 0;
    if (strcmp(what, "state") == 0 && e != NULL)
        return is_named(hf_node_state_name(engine_node(e, n).state), l->word[5]);
    if (strncmp(what, "pf-", 3) == 0 && what[3] != '\0' && e != NULL)
        return is_named(hf_pf_name(engine_node(e, n).pf[what[3] == 'b'].state), l->word[5]);
    if (strcmp(what, "proof") == 0 && e != NULL)
        return is_named(hf_proof_name(engine_node(e, n).proof), l->word[5]);
    return false;
}

static bool is_fact(struct scenario *c, const struct line *l)
{
    if (l->words < 5)
        return false;
    if (strcmp(l->word[2], "vm") == 0) {
        hf_vm_uid uid = vm_named(c->sim, l->word[3]);
        if (uid == 0) /* nothing has happened to a VM that is not there yet */
            return strcmp(l->word[0], "until") == 0;
        return vm_fact(c, l, uid);
    }
    hf_node n = node_named(c, l->word[3]);
    return strcmp(l->word[2], "node") == 0 && hf_node_is(n) && node_fact(c, l, n);
}

static void judge(struct scenario *c, struct fact *f, bool is_last)
{
    struct sim *s = c->sim;
    if (f->is_over)
        return;
    bool is_due = s->now >= f->line.at || is_last;
    bool holds = f->when == FACT_AT && !is_due ? false : is_fact(c, &f->line);
    f->is_met = f->when == FACT_ALWAYS ? holds : f->is_met || holds;
    f->is_over = is_due || (f->when == FACT_BY && f->is_met) || (f->when == FACT_ALWAYS && !holds);
    if (!f->is_over || f->is_met)
        return;
    c->failures++;
    printf("expected:%u: not so at %.1f s:", f->line.number, (double)s->now / 1e9);
    for (int i = 0; i < f->line.words; i++)
        printf(" %s", f->line.word[i]);
    printf("\n");
}

static void run(struct scenario *c)
{
    struct sim *s = c->sim;
    int64_t end = 0;
    for (unsigned n = 0; n < s->opt.nodes; n++) {
        queue_push(&s->queue, (struct sim_event){.at = 0, .kind = SIM_CORO_UP, .node = (uint8_t)n});
        queue_push(&s->queue, (struct sim_event){
                                  .at = SIM_MS(100), .kind = SIM_DAEMON_UP, .node = (uint8_t)n});
    }
    for (int i = 0; i < c->steps; i++)
        queue_push(&s->queue,
                   (struct sim_event){.at = c->step[i].at, .kind = SIM_STEP, .a = (uint16_t)i});
    for (int i = 0; i < c->facts; i++)
        if (c->fact[i].line.at > end)
            end = c->fact[i].line.at;
    while (s->now < end && sim_run_until(s, s->now + SIM_MS(LOOK_EVERY_MS)))
        for (int i = 0; i < c->facts; i++)
            judge(c, &c->fact[i], false);
    for (int i = 0; i < c->facts; i++)
        judge(c, &c->fact[i], true);
    if (s->is_failed) {
        printf("VIOLATION %s\n", s->why);
        c->failures++;
    }
}

int scenario_run(const char *folder, bool is_verbose)
{
    struct sim_options opt;
    struct sim_log log = {.is_on = is_verbose, .is_printed = is_verbose};
    struct scenario *c = calloc(1, sizeof *c);
    struct sim *s = malloc(sizeof *s);
    int code = 2;
    if (c == NULL || s == NULL)
        goto out;
    options_plain(&opt);
    if (!read_config(folder, &opt) || !read_steps(folder, c) || !read_facts(folder, c) ||
        c->facts == 0) {
        fprintf(stderr, "%s: not a scenario\n", folder);
        goto out;
    }
    c->sim = s;
    running = c;
    sim_open(s, &opt, &log);
    run(c);
    printf("scenario %s: %d facts, %u not so, VM starts %" PRIu64 ", fences %" PRIu64 "\n", folder,
           c->facts, c->failures, s->check.starts, s->check.fences);
    code = c->failures != 0;
    sim_close(s);
    running = NULL;
out:
    free(c);
    free(s);
    return code;
}
