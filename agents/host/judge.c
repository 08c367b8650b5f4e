#include "agents/host/judge.h"

/* Unknown (UINT32_MAX) is not pressure. */
static bool is_pressed(uint32_t centi)
{
    return centi != UINT32_MAX && centi >= JUDGE_HOST_PSI_CENTI;
}

static bool pressure_crossed(const struct hf_report_host *a, const struct hf_report_host *b)
{
    return is_pressed(a->psi_cpu_centi) != is_pressed(b->psi_cpu_centi) ||
           is_pressed(a->psi_memory_centi) != is_pressed(b->psi_memory_centi) ||
           is_pressed(a->psi_io_centi) != is_pressed(b->psi_io_centi);
}

static bool memory_moved(const struct hf_report_host *a, const struct hf_report_host *b)
{
    uint32_t moved = a->available_mib > b->available_mib ? a->available_mib - b->available_mib
                                                         : b->available_mib - a->available_mib;

    return moved > 0 && moved >= b->memory_mib / JUDGE_HOST_MEMORY_FRACTION;
}

static bool room_turned(const struct hf_report_host *a, const struct hf_report_host *b)
{
    for (unsigned i = 0; i < HF_ROOMS; i++)
        if (a->room[i].is_low != b->room[i].is_low)
            return true;
    return false;
}

static uint64_t room_mark(uint64_t size, uint64_t least)
{
    uint64_t mark = size / JUDGE_ROOM_FRACTION;

    if (mark < least)
        mark = least;
    return mark < size / JUDGE_ROOM_SMALL ? mark : size / JUDGE_ROOM_SMALL;
}

bool judge_room(const struct hf_room *room, bool was_low)
{
    uint64_t times = was_low ? JUDGE_ROOM_RETURNS : 1;

    return (room->kib > 0 && room->kib_free < times * room_mark(room->kib, JUDGE_ROOM_KIB)) ||
           (room->files > 0 && room->files_free < times * room_mark(room->files, 0));
}

enum judge_host_word judge_host(const struct judge_host *history,
                                const struct hf_report_host *sample, hf_time now)
{
    const struct hf_report_host *told = &history->told;

    if (!history->has_told)
        return JUDGE_HOST_FIRST;
    if (told->memory_mib != sample->memory_mib || told->cores != sample->cores ||
        told->hardware != sample->hardware || !hf_boot_same(&told->boot, &sample->boot))
        return JUDGE_HOST_SIZE;
    if (told->clock_synchronised != sample->clock_synchronised)
        return JUDGE_HOST_CLOCK;
    if (room_turned(told, sample))
        return JUDGE_HOST_ROOM;
    if (pressure_crossed(told, sample))
        return JUDGE_HOST_PRESSURE;
    if (memory_moved(told, sample))
        return JUDGE_HOST_MEMORY;
    if (hf_time_since_ms(now, history->told_at) >= JUDGE_HOST_PERIOD_MS)
        return JUDGE_HOST_PERIOD;
    return JUDGE_HOST_QUIET;
}
