/* Random faults, a printed seed, then quiet: safety all the way, agreement at the end. */
#include "tests/unit/supervisord/cluster/bus.h"

#include "supervisord/base/rng.h"

enum { SEEDS = 100, STEPS = 150 };

static struct hf_rng rng;
static uint32_t lose_permille, damage_permille;
static uint64_t submitted[HOSTS_MAX];

static bool misfortune(const struct item *item, int from, int to)
{
    (void)from;
    if (to < 0)
        return hf_rng_permille(&rng, lose_permille);
    if (hf_rng_permille(&rng, damage_permille))
        item->bytes[hf_rng_below(&rng, item->len)] ^= (uint8_t)(1 + hf_rng_below(&rng, 255));
    return false;
}

/* A daemon's journal keeps the state over its restart. */
static uint8_t disk[HOSTS_MAX][1 << 18];
static size_t disk_len[HOSTS_MAX];

static void kill_and_keep(unsigned i)
{
    const struct engine *e = replica_engine(bus.host[i].r);

    if (e != NULL)
        disk_len[i] = engine_save(e, disk[i], sizeof disk[i]);
    ck_assert_uint_le(disk_len[i], sizeof disk[i]);
    kill_daemon(i);
    submitted[i] = 0;
}

static void start_again(unsigned i)
{
    struct hf_err err;

    load(i, NULL);
    if (disk_len[i] > 0)
        ck_assert_int_eq(replica_restore(bus.host[i].r, disk[i], disk_len[i], &err), HF_OK);
}

static void let_out(unsigned i)
{
    struct host *h = &bus.host[i];

    h->holds_out = false;
    for (size_t k = 0; k < h->kept_count; k++) {
        spread(h->kept[k], (int)i);
        free_item(h->kept[k]);
    }
    h->kept_count = 0;
}

static void random_rings(void)
{
    static const char *const shapes[] = {"aaaaa", "aabbb", "abaab", "aaabb", "baaaa", "abcab"};

    cut(shapes[hf_rng_below(&rng, 6)]);
}

static void say_next(unsigned i)
{
    submitted[i]++;
    tell_facts(i, (uint32_t)submitted[i], submitted[i]);
}

static void one_fault(void)
{
    unsigned i = (unsigned)hf_rng_below(&rng, bus.count);
    struct host *h = &bus.host[i];

    switch (hf_rng_below(&rng, 12)) {
    case 0:
        random_rings();
        break;
    case 1:
        if (h->r != NULL)
            kill_and_keep(i);
        break;
    case 2:
        h->is_paused = true;
        break;
    case 3:
        h->holds_out = true;
        break;
    case 4:
        bus.doubles = 5;
        break;
    case 5:
        if (h->r != NULL && h->is_up && !h->is_paused) {
            replica_apart(h->r, bus.now);
            empty_inbox(h);
            h->pid = bus.pid_next++;
            tell_members(h->ring);
        }
        break;
    case 6:
    case 7:
        h->is_paused = false;
        let_out(i);
        break;
    case 8:
    case 9:
        if (h->r == NULL) {
            start_again(i);
            tell_members(h->ring);
        }
        break;
    default:
        if (h->r != NULL && phase_of(i) != REPLICA_STOPPED && submitted[i] < 300)
            say_next(i);
        break;
    }
}

static void ck_order_of_mine(unsigned i)
{
    const struct host *h = &bus.host[i];

    for (size_t k = 0; k < h->mine_count; k++)
        ck_assert_uint_le(h->mine[k], submitted[i]);
    ck_assert(!h->was_effect_early);
}

static void storm(uint64_t seed, unsigned nodes)
{
    rng = hf_rng_seeded(seed);
    memset(submitted, 0, sizeof submitted);
    lose_permille = (uint32_t)hf_rng_below(&rng, 4) * 10;
    damage_permille = (uint32_t)hf_rng_below(&rng, 3) * 2;
    printf("seed %llu nodes %u loss %u damage %u\n", (unsigned long long)seed, nodes, lose_permille,
           damage_permille);
    bus_form(nodes);
    bus.drop = misfortune;
    for (unsigned k = 0; k < STEPS; k++) {
        one_fault();
        if (hf_rng_permille(&rng, 600))
            run_ms((int64_t)hf_rng_below(&rng, 700));
        else
            for (unsigned d = 0; d < 5; d++)
                (void)deliver_one(&bus.host[hf_rng_below(&rng, bus.count)]);
    }
    bus.drop = NULL;
    for (unsigned i = 0; i < nodes; i++) {
        bus.host[i].is_paused = false;
        let_out(i);
        if (bus.host[i].r == NULL)
            start_again(i);
    }
    cut("aaaaa");
    run_ms(15000);
    for (unsigned i = 0; i < nodes; i++) {
        ck_phase(i, REPLICA_SYNCED);
        ck_assert_uint_eq(digest_of(i), digest_of(0));
        ck_assert_uint_eq(seq_of(i), seq_of(0));
        ck_assert_uint_eq(hf_nodes_count(replica_look(bus.host[i].r).participants), nodes);
        ck_order_of_mine(i);
        ck_assert_uint_eq(replica_look(bus.host[i].r).queued, 0);
        if (submitted[i] > 0) /* the last word of every living daemon is in the state */
            ck_assert_uint_eq(
                engine_node(replica_engine(bus.host[i].r), (hf_node){(uint8_t)i}).memory_mib,
                submitted[i]);
    }
    ck_assert_uint_le(bus.in_flight_most, 2 * HF_IN_FLIGHT_MAX);
}

START_TEST(whatever_happened_a_healed_group_agrees_and_nothing_said_is_lost)
{
    storm((uint64_t)_i, _i % 3 == 0 ? 5 : 3);
}
END_TEST

HF_TEST_MAIN("cluster/replica_storm",
             HF_LOOP(whatever_happened_a_healed_group_agrees_and_nothing_said_is_lost, 0, SEEDS))
