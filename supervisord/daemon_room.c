#include <stdio.h>
#include <string.h>

#include "supervisord/base/log.h"
#include "supervisord/daemon.h"

static const char *path_of(const struct daemon *d, unsigned place)
{
    return place == HF_ROOM_RUN ? d->options.run_directory : "/dev/shm";
}

/* Decisions go on without room; that it is short is told when it becomes so, and when it ends. */
void daemon_rooms(struct daemon *d, const struct hf_report_host *host)
{
    for (unsigned i = 0; i < HF_ROOMS; i++) {
        const struct hf_room *room = &host->room[i];
        bool was_low = d->room[i].is_low;
        char text[HF_REASON_MAX + 1];
        struct history_when when;

        d->room[i] = *room;
        if (room->is_low == was_low)
            continue;
        daemon_now(&when);
        d->room_since[i] = when.wall;
        (void)snprintf(text, sizeof text, "%.80s %s: %llu KiB and %llu files are left",
                       path_of(d, i), room->is_low ? "is nearly full" : "has room again",
                       (unsigned long long)room->kib_free, (unsigned long long)room->files_free);
        hf_log(room->is_low ? HF_LOG_WARNING : HF_LOG_INFO, "%s", text);
        history_note(d->history, replica_engine(d->replica), d->self->name, text, &when);
    }
}

void daemon_rooms_look(const struct daemon *d, struct ctl_shell *shell)
{
    if (!agents_look(d->agents, HF_AGENT_HOST).is_fresh)
        return;
    for (unsigned i = 0; i < HF_ROOMS; i++)
        shell->room[i] = (struct ctl_room){path_of(d, i), d->room[i], d->room_since[i]};
}
