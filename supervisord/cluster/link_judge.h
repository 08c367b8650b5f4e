/* link_judge.h - what the facts of this node's corosync mean. PURE: the daemon asks when facts
 * come, logs the news, refuses to arm while unfit, and shows what is wrong now in `status`. */
#ifndef SUPERVISORD_CLUSTER_LINK_JUDGE_H
#define SUPERVISORD_CLUSTER_LINK_JUDGE_H

#include <stdbool.h>

#include "supervisord/base/clock.h"
#include "supervisord/cluster/link_frame.h"
#include "supervisord/model/group.h"

enum {
    LINK_NOTES_MAX = 2 * LINK_PATHS_MAX + 8, /* two per peer, and the rest once */
    LINK_NOTE_MAX = 200,
    /* A pause of this part of the token is nearly a false loss; corosync itself notes 8 / 10. */
    LINK_PAUSE_WARN_TENTHS = 8,
    LINK_PAUSE_RECENT_MS = 3600 * 1000, /* shown as long, so that a person sees it */
};

struct link_note {
    bool is_bad;   /* a warning; otherwise good news */
    bool is_error; /* of those: a person must act, arming is refused or a node is about to go */
    char text[LINK_NOTE_MAX + 1];
};

/* Why no order may be given through this corosync; NULL = fit. nodeid: this node's in the cluster
 * file; group: the cluster file's. */
const char *link_unfit(const struct link_facts *facts, uint32_t nodeid,
                       const struct hf_group *group);

/* The facts as they were told last, and what of them is remembered. Zero it to begin. */
struct link_watch {
    struct link_facts facts;
    struct link_facts known; /* the last ones that cmap answered: news are told against them */
    hf_time paused_at;       /* a grave pause was told; 0 = never */
    uint32_t pause_ms;       /* how long it took */
};

/* Take new facts, and tell what has changed: each note is worth a line in the log and an event. The
 * first facts ever are no news, nor are facts that are not known any more: link_watch_needs()
 * tells. Returns how many notes. */
unsigned link_watch_take(struct link_watch *w, const struct link_facts *facts, hf_time at,
                         const struct hf_group *group, struct link_note notes[LINK_NOTES_MAX]);
/* What is wrong now, for `status`; unfit is not in it. */
unsigned link_watch_needs(const struct link_watch *w, hf_time at, const struct hf_group *group,
                          struct link_note notes[LINK_NOTES_MAX]);

#endif
