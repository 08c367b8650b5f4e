/* host.c - the life of a node: who is in the group, who is silent, lost or dead. */
#include "supervisord/engine/internal.h"

#define GO(next_, why_)                                                                            \
    {                                                                                              \
        RULE_GO, next_, why_                                                                       \
    }
#define STAY(why_)                                                                                 \
    {                                                                                              \
        RULE_STAY, 0, why_                                                                         \
    }

static const struct node_rule rules[HF_NODE_STATES][HF_NODE_EVENTS] = {
    [HF_NODE_ABSENT] =
        {
            [HF_NE_JOIN] = GO(HF_NODE_JOINING, "first time here"),
            [HF_NE_RESTARTED] = GO(HF_NODE_JOINING, "first time here"),
            [HF_NE_READY] = STAY("takes no part"),
            [HF_NE_PROC_LEFT] = STAY("was not here"),
            [HF_NE_NODE_LEFT] = GO(HF_NODE_LOST, "a cold start does not know what it did since"),
            [HF_NE_MUTE] = STAY("takes no part"),
            [HF_NE_HEARD] = STAY("takes no part"),
            [HF_NE_GRACE_OVER] = STAY("no grace runs"),
            [HF_NE_FENCE] = GO(HF_NODE_FENCING, "an operator wants it off"),
            [HF_NE_FENCE_FAILED] = STAY("nobody was told to"),
            [HF_NE_PROOF] = GO(HF_NODE_DEAD, "an operator said so"),
            [HF_NE_CALLED_OFF] = STAY("nobody was told to"),
            [HF_NE_LEAVE] = STAY("takes no part"),
        },
    [HF_NODE_JOINING] =
        {
            [HF_NE_JOIN] = GO(HF_NODE_JOINING, "joined anew: what runs there is asked again"),
            [HF_NE_RESTARTED] = GO(HF_NODE_JOINING, "a new daemon: what runs there is asked again"),
            [HF_NE_READY] = GO(HF_NODE_MEMBER, "what runs there is known"),
            [HF_NE_PROC_LEFT] = GO(HF_NODE_SILENT, "daemon gone, host alive: VMs run on"),
            [HF_NE_NODE_LEFT] = GO(HF_NODE_LOST, "host gone without proof"),
            [HF_NE_MUTE] = GO(HF_NODE_SILENT, "daemon stopped beating"),
            [HF_NE_HEARD] = STAY("was heard all along"),
            [HF_NE_GRACE_OVER] = STAY("no grace runs"),
            [HF_NE_FENCE] = GO(HF_NODE_FENCING, "it has to die though it is here"),
            [HF_NE_FENCE_FAILED] = STAY("nobody is told to any more"),
            [HF_NE_PROOF] = GO(HF_NODE_DEAD, "its last boot is over"),
            [HF_NE_CALLED_OFF] = STAY("nobody was told to"),
            [HF_NE_LEAVE] = STAY("what runs there is not known yet"),
        },
    [HF_NODE_MEMBER] =
        {
            [HF_NE_JOIN] = GO(HF_NODE_JOINING, "joined anew: what runs there is asked again"),
            [HF_NE_RESTARTED] = GO(HF_NODE_JOINING, "a new daemon: what runs there is asked again"),
            [HF_NE_READY] = STAY("known already"),
            [HF_NE_PROC_LEFT] = GO(HF_NODE_SILENT, "daemon gone, host alive: VMs run on"),
            [HF_NE_NODE_LEFT] = GO(HF_NODE_LOST, "host gone without proof"),
            [HF_NE_MUTE] = GO(HF_NODE_SILENT, "daemon stopped beating"),
            [HF_NE_HEARD] = STAY("was heard all along"),
            [HF_NE_GRACE_OVER] = STAY("no grace runs"),
            [HF_NE_FENCE] = GO(HF_NODE_FENCING, "it has to die though it is here"),
            [HF_NE_FENCE_FAILED] = STAY("nobody is told to any more"),
            [HF_NE_PROOF] = GO(HF_NODE_DEAD, "its last boot is over"),
            [HF_NE_CALLED_OFF] = STAY("nobody was told to"),
            [HF_NE_LEAVE] = GO(HF_NODE_ABSENT, "empty, and its going was announced"),
        },
    [HF_NODE_SILENT] =
        {
            [HF_NE_JOIN] = GO(HF_NODE_JOINING, "back within its grace"),
            [HF_NE_RESTARTED] = GO(HF_NODE_JOINING, "back within its grace"),
            [HF_NE_READY] = STAY("reports count after it is heard again"),
            [HF_NE_PROC_LEFT] = STAY("silent already"),
            [HF_NE_NODE_LEFT] = GO(HF_NODE_LOST, "now its host is gone, too"),
            [HF_NE_MUTE] = STAY("silent already"),
            [HF_NE_HEARD] = GO(HF_NODE_JOINING, "beats again: what runs there is asked again"),
            [HF_NE_GRACE_OVER] = GO(HF_NODE_LOST, "silent for longer than its grace"),
            [HF_NE_FENCE] = GO(HF_NODE_FENCING, "it has to die, grace or not"),
            [HF_NE_FENCE_FAILED] = STAY("nobody is told to any more"),
            [HF_NE_PROOF] = GO(HF_NODE_DEAD, "its last boot is over"),
            [HF_NE_CALLED_OFF] = STAY("nobody was told to"),
            [HF_NE_LEAVE] = STAY("what runs there is not known"),
        },
    [HF_NODE_LOST] =
        {
            [HF_NE_JOIN] = GO(HF_NODE_JOINING, "back"),
            [HF_NE_RESTARTED] = GO(HF_NODE_JOINING, "back"),
            [HF_NE_READY] = STAY("takes no part"),
            [HF_NE_PROC_LEFT] = STAY("lost already"),
            [HF_NE_NODE_LEFT] = STAY("lost already"),
            [HF_NE_MUTE] = STAY("lost already"),
            [HF_NE_HEARD] = GO(HF_NODE_JOINING, "beats again before anybody shot it"),
            [HF_NE_GRACE_OVER] = STAY("lost already"),
            [HF_NE_FENCE] = GO(HF_NODE_FENCING, "something waits for its death"),
            [HF_NE_FENCE_FAILED] = STAY("nobody is told to any more"),
            [HF_NE_PROOF] = GO(HF_NODE_DEAD, "proved"),
            [HF_NE_CALLED_OFF] = STAY("nobody was told to"),
            [HF_NE_LEAVE] = STAY("too late for an announcement"),
        },
    [HF_NODE_FENCING] =
        {
            [HF_NE_JOIN] = GO(HF_NODE_JOINING, "the order dies with the absence it was for"),
            [HF_NE_RESTARTED] = GO(HF_NODE_JOINING, "the order dies with the silence it was for"),
            [HF_NE_READY] = STAY("a condemned node's reports do not count"),
            [HF_NE_PROC_LEFT] = STAY("it is being fenced anyway"),
            [HF_NE_NODE_LEFT] = STAY("it is being fenced anyway"),
            [HF_NE_MUTE] = STAY("it is being fenced anyway"),
            [HF_NE_HEARD] = GO(HF_NODE_JOINING, "the order dies with the silence it was for"),
            [HF_NE_GRACE_OVER] = STAY("no grace runs"),
            [HF_NE_FENCE] = STAY("ordered already"),
            [HF_NE_FENCE_FAILED] = GO(HF_NODE_FENCING, "tried again after a pause"),
            [HF_NE_PROOF] = GO(HF_NODE_DEAD, "proved"),
            [HF_NE_CALLED_OFF] = GO(HF_NODE_LOST, "not needed any more"),
            [HF_NE_LEAVE] = STAY("it is being fenced"),
        },
    [HF_NODE_DEAD] =
        {
            [HF_NE_JOIN] = GO(HF_NODE_JOINING, "back"),
            [HF_NE_RESTARTED] = GO(HF_NODE_JOINING, "back"),
            [HF_NE_READY] = STAY("a dead node's last words do not count"),
            [HF_NE_PROC_LEFT] = STAY("dead already"),
            [HF_NE_NODE_LEFT] = GO(HF_NODE_LOST, "a cold start does not know what it did since"),
            [HF_NE_MUTE] = STAY("dead"),
            [HF_NE_HEARD] = STAY("the dead do not beat: the proof may have lied"),
            [HF_NE_GRACE_OVER] = STAY("no grace runs"),
            [HF_NE_FENCE] = STAY("dead already"),
            [HF_NE_FENCE_FAILED] = STAY("dead already"),
            [HF_NE_PROOF] = STAY("dead already"),
            [HF_NE_CALLED_OFF] = STAY("dead already"),
            [HF_NE_LEAVE] = STAY("dead already"),
        },
};

const struct node_rule *node_rule(enum hf_node_state state, enum hf_node_event event)
{
    HF_ASSERT(state < HF_NODE_STATES);
    HF_ASSERT(event < HF_NODE_EVENTS);
    return &rules[state][event];
}

/* How long it may be silent: longer if it has announced that. */
static uint32_t grace_ms(const struct engine *e, uint8_t n)
{
    const struct timer *hold = &e->nodes[n].hold;
    uint32_t grace = e->group.policy.silent_grace_ms;
    return hold->purpose == FOR_HOLD && hold->after_ms > grace ? hold->after_ms : grace;
}

/* The only place that assigns a node's state. Entering a state clears what belonged to the old. */
bool node_apply(struct step *s, uint8_t n, enum hf_node_event event, enum hf_reason why,
                uint32_t detail)
{
    struct node *node = &s->e->nodes[n];
    const struct node_rule *rule = node_rule(node->state, event);
    HF_ASSERT(rule->verdict == RULE_GO || rule->verdict == RULE_STAY);
    if (rule->verdict == RULE_STAY)
        return false;
    uint8_t was = node->state;
    node->state = rule->next;
    node->why = (uint8_t)why;
    node->since_seq = s->e->seq;
    timer_clear(&node->timer);
    if (node->state != HF_NODE_FENCING)
        fence_forget(node);
    if (node->state == HF_NODE_SILENT)
        timer_arm(s, &node->timer, FOR_GRACE, grace_ms(s->e, n));
    if (node->state != HF_NODE_ABSENT)
        node->has_left = false;
    if (node->state == HF_NODE_JOINING)
        leave_over(node);
    s->needs_review = true;
    step_note_node(s, n, was, why, detail);
    return true;
}

bool host_may_speak(const struct engine *e, hf_node n)
{
    HF_ASSERT(n.ix < e->group.nodes_count);
    uint8_t state = e->nodes[n.ix].state;
    bool is_silent_here = state == HF_NODE_SILENT && e->nodes[n.ix].is_present;
    return host_is_able(e, n) || is_silent_here; /* who was mute and speaks is believed */
}

bool host_is_able(const struct engine *e, hf_node n)
{
    uint8_t state = e->nodes[n.ix].state;
    return state == HF_NODE_JOINING || state == HF_NODE_MEMBER;
}

void host_proved(struct step *s, uint8_t n, enum hf_proof proof)
{
    static const uint8_t why[HF_PROOFS] = {
        [HF_PROOF_NONE] = HF_WHY_NONE,
        [HF_PROOF_FENCE] = HF_WHY_PROOF_FENCE,
        [HF_PROOF_REJOIN] = HF_WHY_PROOF_REJOIN,
        [HF_PROOF_OPERATOR] = HF_WHY_PROOF_OPERATOR,
        [HF_PROOF_WATCHDOG] = HF_WHY_PROOF_WATCHDOG,
    };
    HF_ASSERT(proof > HF_PROOF_NONE && proof < HF_PROOFS);
    s->e->nodes[n].proof = (uint8_t)proof;
    node_apply(s, n, HF_NE_PROOF, why[proof], 0);
    /* A new boot proves the old one over; what the new one runs, only its inventory tells: this
     * state may have forgotten a start that the new boot was given. */
    if (proof == HF_PROOF_REJOIN)
        vm_node_rejoined(s, n);
    else
        vm_node_proved(s, n);
    s->needs_review = true;
}

static bool boot_is_known(const struct hf_boot *boot)
{
    static const struct hf_boot none;
    return !hf_boot_same(boot, &none);
}

/* A node takes part: is it the one we knew, a new daemon, or a new boot? */
static void came(struct step *s, uint8_t n, const struct hf_member *m, bool is_cold)
{
    struct node *node = &s->e->nodes[n];
    bool is_new_boot = boot_is_known(&node->boot) && !hf_boot_same(&node->boot, &m->boot);
    bool is_new_daemon = node->incarnation != m->incarnation;
    bool was_present = node->is_present;
    bool was_dead = node->state == HF_NODE_DEAD;
    bool was_known = boot_is_known(&node->boot);
    bool had_left = node->has_left, was_held = node->hold.purpose == FOR_HOLD;
    if (is_new_boot && !was_dead && !had_left)
        host_proved(s, n, HF_PROOF_REJOIN);
    if (is_new_boot)
        watchdog_forget(node);
    node->is_present = node->in_ring = true;
    node->boot = m->boot;
    node->incarnation = m->incarnation;
    if (was_present && !is_new_boot && !is_new_daemon && !is_cold) {
        /* It has just greeted: whatever was held against its silence is over. */
        if (node->state != HF_NODE_FENCING || node->sentence == SENTENCE_NONE)
            node_apply(s, n, HF_NE_HEARD, HF_WHY_HEARD_AGAIN, 0);
        return;
    }
    node->vm_watch_known = node->link_fit = false;
    node->came_seq = s->e->seq;
    nic_forget(s->e, n);
    watchdog_back(node);
    if (is_new_boot || is_cold)
        timer_clear(&node->hold); /* else it ends when the node is a member again: whoever restarts
                                   * corosync comes and goes more than once (seed 112370) */
    if (was_dead && !is_new_boot && boot_is_known(&node->boot))
        step_note_node(s, n, node->state, HF_WHY_HEARD_AFTER_PROOF, 0);
    if (node->state == HF_NODE_FENCING && node->sentence != SENTENCE_NONE)
        return; /* an operator's or a stop ladder's sentence is not for an absence */
    bool is_restart = was_present || (!is_new_boot && node->state == HF_NODE_SILENT);
    node_apply(s, n, is_restart ? HF_NE_RESTARTED : HF_NE_JOIN,
               is_restart && !is_new_boot ? HF_WHY_DAEMON_RESTARTED : HF_WHY_JOINED, 0);
    if (had_left) /* and is back, as expected */
        maintenance_end(s, n, HF_WHY_UNDRAINED);
    else if (was_known && !is_cold && !was_held)
        flap_returned(s, n);
}

static void went(struct step *s, uint8_t n, bool in_ring, bool is_cold)
{
    struct node *node = &s->e->nodes[n];
    bool was_present = node->is_present;
    bool is_held = node->hold.purpose == FOR_HOLD;
    bool is_gone = !in_ring && !is_held && (was_present || node->state == HF_NODE_SILENT);
    node->is_present = false;
    node->in_ring = in_ring;
    node->vm_watch_known = false;
    nic_forget(s->e, n);
    if (!in_ring && !is_cold)
        fence_left_ring(s, n);
    bool is_clean = node->state == HF_NODE_DEAD || node->state == HF_NODE_ABSENT;
    if (is_cold) {
        node_apply(s, n, HF_NE_NODE_LEFT, HF_WHY_COLD_START, 0);
    } else if (is_gone && !is_clean) {
        if (node_apply(s, n, HF_NE_NODE_LEFT, HF_WHY_LEFT_RING, 0))
            vm_node_lost(s, n);
    } else if (was_present && (in_ring || is_held)) {
        node_apply(s, n, HF_NE_PROC_LEFT, is_held ? HF_WHY_HOLD : HF_WHY_DAEMON_GONE, 0);
    }
}

void host_members(struct step *s, const struct hf_event *ev)
{
    struct engine *e = s->e;
    hf_nodes present = 0;
    FOR_EACH_NODE (e, n)
        if (ev->u.members.node[n].present)
            present |= bit_of(n);
    if (hf_nodes_count(present) * 2 <= e->group.nodes_count) {
        step_answer(s, false, HF_WHY_NOT_MAJORITY);
        return;
    }
    bool is_first = e->epoch == 0;
    e->epoch = ev->u.members.epoch > e->epoch ? ev->u.members.epoch : e->epoch + 1;
    e->view = ev->u.members.view;
    if (ev->u.members.lineage)
        e->lineage = ev->u.members.lineage;
    e->present = present;
    step_note_group(s, is_first ? HF_WHY_FORMED : HF_WHY_VIEW, (uint32_t)e->epoch);
    bool is_cold = ev->u.members.cold; /* also of a state that has never seen a view: its disk has
                                        * forgotten the group's first steps */
    if (is_cold) {
        step_note_group(s, HF_WHY_COLD_START, 0);
        timer_arm(s, &e->startup, FOR_STARTUP, e->group.policy.startup_grace_ms);
    }
    FOR_EACH_NODE (e, n) {
        const struct hf_member *m = &ev->u.members.node[n];
        if (m->present)
            came(s, n, m, is_cold);
        else
            went(s, n, m->in_ring, is_cold);
    }
    if (is_cold) {
        /* Somebody may have attested, held or left otherwise since. */
        FOR_EACH_NODE (e, n) {
            watchdog_forget(&e->nodes[n]);
            leave_over(&e->nodes[n]);
            fence_doubt(s, n);
        }
        vm_doubt_all(s);
    }
    nic_view_began(s);
    s->needs_review = true;
}

/* The grace after a cold start ends early when everybody is back and can take VMs. */
static void review_startup(struct step *s)
{
    if (s->e->startup.purpose == FOR_NOTHING)
        return;
    FOR_EACH_NODE (s->e, n)
        if (s->e->nodes[n].state != HF_NODE_MEMBER || !s->e->nodes[n].vm_watch_known)
            return;
    timer_clear(&s->e->startup);
    step_note_group(s, HF_WHY_STARTUP_GRACE_OVER, 0);
    s->needs_review = true;
}

void host_facts(struct step *s, const struct hf_event *ev)
{
    struct node *node = &s->e->nodes[ev->from.ix];
    bool was_known = node->vm_watch_known;
    node->vm_watch_known = ev->u.facts.vm_watch_known;
    node->link_fit = ev->u.facts.link_fit;
    node->config_same = ev->u.facts.config_same;
    if (ev->u.facts.memory_mib) /* not known now is no reason to forget */
        node->memory_mib = ev->u.facts.memory_mib;
    if (ev->u.facts.cores)
        node->cores = ev->u.facts.cores;
    if (ev->u.facts.hardware)
        node->hardware = ev->u.facts.hardware;
    if (was_known != node->vm_watch_known)
        step_note_node(s, ev->from.ix, node->state,
                       was_known ? HF_WHY_WATCH_UNKNOWN : HF_WHY_WATCH_KNOWN, 0);
    if (!node->vm_watch_known)
        FOR_EACH_VM (s->e, v)
            if (v->home == ev->from.ix)
                v->seen = HF_SEEN_UNKNOWN;
    s->needs_review = true;
    review_startup(s);
}

void host_beat(struct step *s, const struct hf_event *ev)
{
    uint8_t n = ev->u.beat.node.ix;
    if (n >= s->e->group.nodes_count) {
        step_answer(s, false, HF_WHY_NO_SUCH_NODE);
        return;
    }
    struct node *node = &s->e->nodes[n];
    if (node->state == HF_NODE_FENCING && node->sentence != SENTENCE_NONE) {
        step_answer(s, false, HF_WHY_ALREADY);
        return;
    }
    if (ev->u.beat.heard && node->state == HF_NODE_DEAD && node->is_present) {
        step_note_node(s, n, node->state, HF_WHY_HEARD_AFTER_PROOF, 0);
        return;
    }
    bool moved =
        node->is_present && node_apply(s, n, ev->u.beat.heard ? HF_NE_HEARD : HF_NE_MUTE,
                                       ev->u.beat.heard ? HF_WHY_HEARD_AGAIN : HF_WHY_MUTE, 0);
    if (!moved)
        step_answer(s, false, HF_WHY_ALREADY);
}

static const struct hf_vm_seen *listed(const struct hf_event *ev, hf_vm_uid uid)
{
    for (uint16_t i = 0; i < ev->u.inventory.count; i++)
        if (ev->u.inventory.vm[i].uid == uid)
            return &ev->u.inventory.vm[i];
    return NULL;
}

/* The sequence number a stamp vouches for: none when it is of another lineage. */
uint64_t host_as_of_seq(const struct engine *e, uint64_t stamp)
{
    bool is_ours = stamp >> AS_OF_SEQ_BITS == engine_as_of(e) >> AS_OF_SEQ_BITS;
    return is_ours ? engine_as_of_seq(stamp) : 0;
}

void host_stays(struct step *s, uint8_t n)
{
    struct node *node = &s->e->nodes[n];
    if (node->has_left && node->is_present)
        node_apply(s, n, HF_NE_JOIN, HF_WHY_STARTED_BY_HAND, 0);
}

void host_inventory(struct step *s, const struct hf_event *ev)
{
    if (ev->u.inventory.count > 0)
        host_stays(s, ev->from.ix);
    if (!host_may_speak(s->e, ev->from)) {
        step_answer(s, false, HF_WHY_NOT_PRESENT);
        return;
    }
    uint8_t n = ev->from.ix;
    uint64_t as_of = host_as_of_seq(s->e, ev->u.inventory.as_of);
    /* A list made before its absence may be older than a start it was ordered before that and
     * executed since (seed 81504): it knew of the order, not of its end. */
    bool is_old = s->e->nodes[n].state == HF_NODE_JOINING && as_of < s->e->nodes[n].since_seq;
    FOR_EACH_VM (s->e, v) {
        const struct hf_vm_seen *seen = listed(ev, v->uid);
        if (seen)
            vm_seen_running(s, v, n, seen->start_no);
        else if (!is_old)
            vm_not_listed(s, v, n, as_of);
    }
    for (uint16_t i = 0; i < ev->u.inventory.count; i++)
        if (ev->u.inventory.vm[i].uid > s->e->uid_last)
            s->e->uid_last = ev->u.inventory.vm[i].uid; /* of a VM this state has forgotten */
    if (as_of >= s->e->nodes[n].since_seq) {
        if (s->e->nodes[n].state == HF_NODE_JOINING)
            timer_clear(&s->e->nodes[n].hold);
        node_apply(s, n, HF_NE_READY, HF_WHY_INVENTORY_COMPLETE, ev->u.inventory.count);
    }
    s->needs_review = true;
    review_startup(s);
}
