#include "agents/vm/judge.h"

#include "supervisord/base/assert.h"

/* What a hint says for each kind of end; WAIT: not enough, more may come. */
struct rule {
    enum { SAY = 1, WAIT } verdict;
    enum hf_seen seen; /* WAIT: when nothing more comes */
    const char *why;
};

static const struct rule rules[JUDGE_HINTS][JUDGE_ENDS] = {
    [JUDGE_HINT_NONE] = {
        [JUDGE_END_UNKNOWN] = {WAIT, HF_SEEN_CRASHED, "gone without a word"},
        [JUDGE_END_ORDERLY] = {WAIT, HF_SEEN_CRASHED, "ended by a signal from the host"},
        [JUDGE_END_FAILED] = {SAY, HF_SEEN_CRASHED, "killed, or failed by itself"},
    },
    [JUDGE_HINT_HOST] = {
        [JUDGE_END_UNKNOWN] = {WAIT, HF_SEEN_CRASHED, "ended by a signal from the host"},
        [JUDGE_END_ORDERLY] = {WAIT, HF_SEEN_CRASHED, "ended by a signal from the host"},
        /* libvirt's destroy escalates to SIGKILL when SIGTERM did not do: its word follows. */
        [JUDGE_END_FAILED] = {WAIT, HF_SEEN_CRASHED, "killed after a signal from the host"},
    },
    [JUDGE_HINT_GUEST] = {
        [JUDGE_END_UNKNOWN] = {SAY, HF_SEEN_SHUTDOWN, "the guest switched itself off"},
        [JUDGE_END_ORDERLY] = {SAY, HF_SEEN_SHUTDOWN, "the guest switched itself off"},
        [JUDGE_END_FAILED] = {SAY, HF_SEEN_SHUTDOWN, "the guest switched itself off"},
    },
    [JUDGE_HINT_OFF] = {
        /* Without the guest's own word this is a SIGTERM from the host: nobody asked for it. */
        [JUDGE_END_UNKNOWN] = {SAY, HF_SEEN_CRASHED, "ended by a signal from the host"},
        [JUDGE_END_ORDERLY] = {SAY, HF_SEEN_CRASHED, "ended by a signal from the host"},
        [JUDGE_END_FAILED] = {SAY, HF_SEEN_CRASHED, "killed, or failed by itself"},
    },
    [JUDGE_HINT_DESTROYED] = {
        [JUDGE_END_UNKNOWN] = {SAY, HF_SEEN_DESTROYED, "destroyed through libvirt"},
        [JUDGE_END_ORDERLY] = {SAY, HF_SEEN_DESTROYED, "destroyed through libvirt"},
        [JUDGE_END_FAILED] = {SAY, HF_SEEN_DESTROYED, "destroyed through libvirt"},
    },
    [JUDGE_HINT_AWAY] = {
        [JUDGE_END_UNKNOWN] = {SAY, HF_SEEN_DESTROYED, "migrated or saved through libvirt"},
        [JUDGE_END_ORDERLY] = {SAY, HF_SEEN_DESTROYED, "migrated or saved through libvirt"},
        [JUDGE_END_FAILED] = {SAY, HF_SEEN_DESTROYED, "migrated or saved through libvirt"},
    },
    [JUDGE_HINT_FAILED] = {
        [JUDGE_END_UNKNOWN] = {SAY, HF_SEEN_CRASHED, "libvirt saw it crash"},
        [JUDGE_END_ORDERLY] = {SAY, HF_SEEN_CRASHED, "libvirt saw it crash"},
        [JUDGE_END_FAILED] = {SAY, HF_SEEN_CRASHED, "libvirt saw it crash"},
    },
};

static int64_t patience_ms(const struct judge_facts *facts)
{
    if (!facts->libvirt_answers)
        return 0;
    if (facts->end == JUDGE_END_UNKNOWN && facts->hint == JUDGE_HINT_NONE)
        return JUDGE_UNKNOWN_MS;
    return JUDGE_ORDERLY_MS;
}

struct judge_verdict judge_vm_end(const struct judge_facts *facts, hf_time now)
{
    const struct rule *rule;
    hf_time until;

    HF_ASSERT(facts->hint < JUDGE_HINTS);
    HF_ASSERT(facts->end < JUDGE_ENDS);
    if (facts->is_ordered)
        return (struct judge_verdict){.word = JUDGE_ORDERED, .why = "stopped by order"};
    rule = &rules[facts->hint == JUDGE_HINT_OFF && facts->was_guest ? JUDGE_HINT_GUEST
                                                                    : facts->hint][facts->end];
    until = hf_time_add_ms(facts->ended_at, patience_ms(facts));
    if (rule->verdict == WAIT && !hf_time_reached(now, until))
        return (struct judge_verdict){.word = JUDGE_WAIT, .until = until, .why = rule->why};
    return (struct judge_verdict){.word = JUDGE_SAY, .seen = rule->seen, .why = rule->why};
}
