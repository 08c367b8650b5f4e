#include "agents/host/judge.h"

#include "tests/unit/check.h"

static const struct hf_report_host calm = {.boot = {{1}},
                                           .memory_mib = 8000,
                                           .available_mib = 6000,
                                           .cores = 8,
                                           .psi_cpu_centi = 0,
                                           .psi_memory_centi = UINT32_MAX,
                                           .psi_io_centi = 10,
                                           .clock_synchronised = true};

static enum judge_host_word after(struct hf_report_host sample, int64_t ms)
{
    struct judge_host history = {.has_told = true, .told_at = {0}, .told = calm};

    return judge_host(&history, &sample, hf_time_add_ms((hf_time){0}, ms));
}

START_TEST(quiet_until_the_period_then_a_report)
{
    struct judge_host nothing = {.has_told = false};

    ck_assert_int_eq(judge_host(&nothing, &calm, (hf_time){0}), JUDGE_HOST_FIRST);
    ck_assert_int_eq(after(calm, JUDGE_HOST_PERIOD_MS - 1), JUDGE_HOST_QUIET);
    ck_assert_int_eq(after(calm, JUDGE_HOST_PERIOD_MS), JUDGE_HOST_PERIOD);
}
END_TEST

START_TEST(what_matters_is_told_at_once_and_the_rest_is_not)
{
    struct hf_report_host s = calm;

    s.memory_mib = 4000;
    ck_assert_int_eq(after(s, 1), JUDGE_HOST_SIZE);
    s = calm;
    s.boot.id[0] = 2;
    ck_assert_int_eq(after(s, 1), JUDGE_HOST_SIZE);
    s = calm;
    s.hardware = 7;
    ck_assert_int_eq(after(s, 1), JUDGE_HOST_SIZE);
    s = calm;
    s.clock_synchronised = false;
    ck_assert_int_eq(after(s, 1), JUDGE_HOST_CLOCK);
    s = calm;
    s.room[HF_ROOM_SHM].is_low = true;
    ck_assert_int_eq(after(s, 1), JUDGE_HOST_ROOM);
    s.room[HF_ROOM_SHM] = (struct hf_room){.kib = 1, .kib_free = 1}; /* figures alone are no news */
    ck_assert_int_eq(after(s, 1), JUDGE_HOST_QUIET);
    s = calm;
    s.psi_io_centi = JUDGE_HOST_PSI_CENTI;
    ck_assert_int_eq(after(s, 1), JUDGE_HOST_PRESSURE);
    s = calm;
    s.psi_memory_centi = 0; /* known now, and low */
    ck_assert_int_eq(after(s, 1), JUDGE_HOST_QUIET);
    s = calm;
    s.available_mib = 5000;
    ck_assert_int_eq(after(s, 1), JUDGE_HOST_MEMORY);
    s.available_mib = 5001;
    ck_assert_int_eq(after(s, 1), JUDGE_HOST_QUIET);
    s = calm;
    s.load_centi = 10000;
    s.boottime_ns = 1;
    ck_assert_int_eq(after(s, 1), JUDGE_HOST_QUIET);
}
END_TEST

static bool low_at(uint64_t kib, uint64_t kib_free, bool was_low)
{
    struct hf_room room = {.kib = kib, .kib_free = kib_free};

    return judge_room(&room, was_low);
}

START_TEST(room_is_low_at_a_twentieth_and_where_corosync_could_not_be_reached_again)
{
    uint64_t large = 1000 * (uint64_t)JUDGE_ROOM_KIB, some = 8 * (uint64_t)JUDGE_ROOM_KIB;

    ck_assert(!low_at(0, 0, false)); /* not known */
    ck_assert(!low_at(0, 0, true));
    ck_assert(low_at(large, large / 20 - 1, false));
    ck_assert(!low_at(large, large / 20, false));
    ck_assert(low_at(some, JUDGE_ROOM_KIB - 1, false));
    ck_assert(!low_at(some, JUDGE_ROOM_KIB, false));
    ck_assert(low_at(4096, 1023, false)); /* a file system smaller than that mark */
    ck_assert(!low_at(4096, 1024, false));
}
END_TEST

START_TEST(low_room_stays_low_until_there_is_twice_as_much)
{
    uint64_t some = 8 * (uint64_t)JUDGE_ROOM_KIB;

    ck_assert(low_at(some, 2 * JUDGE_ROOM_KIB - 1, true));
    ck_assert(!low_at(some, 2 * JUDGE_ROOM_KIB, true));
    ck_assert(!low_at(4096, 4096, true));
}
END_TEST

START_TEST(files_can_run_out_before_their_room_does)
{
    struct hf_room room = {.kib = 1 << 20, .kib_free = 1 << 20, .files = 1000, .files_free = 49};

    ck_assert(judge_room(&room, false));
    room.files_free = 50;
    ck_assert(!judge_room(&room, false));
    ck_assert(judge_room(&room, true));
    room.files = room.files_free = 0; /* not limited */
    ck_assert(!judge_room(&room, true));
}
END_TEST

HF_TEST_MAIN("agents/host/judge", HF_CASE(quiet_until_the_period_then_a_report),
             HF_CASE(room_is_low_at_a_twentieth_and_where_corosync_could_not_be_reached_again),
             HF_CASE(low_room_stays_low_until_there_is_twice_as_much),
             HF_CASE(files_can_run_out_before_their_room_does),
             HF_CASE(what_matters_is_told_at_once_and_the_rest_is_not))
