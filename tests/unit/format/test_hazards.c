/* SPDX-License-Identifier: Apache-2.0 */
/* format/analysis/hazards.c: conflicts, races and which barriers are needed; by hand, and against
 * a model that compares all pairs of accesses byte by byte. */
#include "format/analysis/hazards.h"
#include "tests/support/test.h"

enum { TRANSFER = 1, DISPATCH = 2, ALL = 7 };

static void touch(struct trace_hazards *h, uint32_t command, enum trace_access_mode mode,
                  uint64_t buffer, uint64_t begin, uint64_t end)
{
    trace_hazards_access(h, &(struct trace_access){command, DISPATCH, mode, buffer, begin, end});
}

static void masked_barrier(struct trace_hazards *h, uint32_t command, uint32_t source,
                           uint32_t target, struct trace_access_masks masks)
{
    trace_hazards_barrier(h, &(struct trace_ordering){.command = command,
                                                      .source = command,
                                                      .source_stages = source,
                                                      .target_stages = target,
                                                      .masks = masks});
}

static void barrier(struct trace_hazards *h, uint32_t command, uint32_t source, uint32_t target)
{
    masked_barrier(h, command, source, target, (struct trace_access_masks){0, 0});
}

TEST(read_after_write_needs_its_barrier)
{
    struct trace_hazards h;
    trace_hazards_begin(&h);
    touch(&h, 0, TRACE_ACCESS_WRITE, 9, 0, 64);
    barrier(&h, 1, ALL, ALL);
    touch(&h, 2, TRACE_ACCESS_READ, 9, 32, 96);
    barrier(&h, 3, ALL, ALL);
    touch(&h, 4, TRACE_ACCESS_READ, 9, 0, 96); /* ordered by 1: 3 is not needed */
    assert_int_equal(trace_hazards_end(&h), HAL_OK);
    assert_int_equal(h.barrier_count, 2);
    assert_int_equal(h.barriers[0].need, TRACE_BARRIER_NEEDED);
    assert_int_equal(h.barriers[0].evidence.before, 0);
    assert_int_equal(h.barriers[0].evidence.after, 2);
    assert_int_equal(h.barriers[0].evidence.begin, 32);
    assert_int_equal(h.barriers[0].evidence.end, 64);
    assert_true(h.barriers[0].evidence.before_writes && !h.barriers[0].evidence.after_writes);
    assert_int_equal(h.barriers[1].need, TRACE_BARRIER_REDUNDANT);
    assert_int_equal(h.race_count, 0);
    trace_hazards_finish(&h);
}

TEST(of_two_barriers_in_a_row_one_is_kept)
{
    struct trace_hazards h;
    trace_hazards_begin(&h);
    touch(&h, 0, TRACE_ACCESS_READ, 9, 0, 64);
    barrier(&h, 1, ALL, ALL);
    barrier(&h, 2, ALL, ALL);
    touch(&h, 3, TRACE_ACCESS_WRITE, 9, 0, 64);
    assert_int_equal(trace_hazards_end(&h), HAL_OK);
    assert_int_equal(h.barriers[0].need, TRACE_BARRIER_REDUNDANT);
    assert_int_equal(h.barriers[1].need, TRACE_BARRIER_NEEDED);
    trace_hazards_finish(&h);
}

TEST(a_barrier_of_other_stages_or_bytes_leaves_a_race)
{
    struct trace_hazards h;
    trace_hazards_begin(&h);
    trace_hazards_access(&h, &(struct trace_access){0, TRANSFER, TRACE_ACCESS_WRITE, 9, 0, 64});
    barrier(&h, 1, DISPATCH, DISPATCH);
    const struct trace_ordered_range half = {9, 0, 32, {0, 0}}, other = {8, 0, 64, {0, 0}};
    trace_hazards_barrier(&h, &(struct trace_ordering){2, 2, ALL, ALL, {0, 0}, &half, 1});
    trace_hazards_barrier(&h, &(struct trace_ordering){3, 3, ALL, ALL, {0, 0}, &other, 1});
    touch(&h, 4, TRACE_ACCESS_READ, 9, 0, 32);
    touch(&h, 5, TRACE_ACCESS_READ, 9, 0, 64);
    assert_int_equal(trace_hazards_end(&h), HAL_OK);
    assert_int_equal(h.barriers[0].need, TRACE_BARRIER_REDUNDANT);
    assert_int_equal(h.barriers[1].need, TRACE_BARRIER_NEEDED);
    assert_int_equal(h.barriers[2].need, TRACE_BARRIER_REDUNDANT);
    assert_int_equal(h.race_count, 1);
    assert_int_equal(h.races[0].before, 0);
    assert_int_equal(h.races[0].after, 5);
    assert_int_equal(h.races[0].begin, 32);
    assert_true(h.races[0].certain);
    trace_hazards_finish(&h);
}

TEST(unknown_writes_make_unknown_barriers)
{
    struct trace_hazards h;
    trace_hazards_begin(&h);
    touch(&h, 0, TRACE_ACCESS_UNKNOWN, 9, 0, 64);
    barrier(&h, 1, ALL, ALL);
    touch(&h, 2, TRACE_ACCESS_UNKNOWN, 9, 0, 64);
    touch(&h, 3, TRACE_ACCESS_READ, 7, 0, 64);
    barrier(&h, 4, ALL, ALL);
    touch(&h, 5, TRACE_ACCESS_READ, 7, 0, 64);
    assert_int_equal(trace_hazards_end(&h), HAL_OK);
    assert_int_equal(h.barriers[0].need, TRACE_BARRIER_UNKNOWN);
    assert_int_equal(h.barriers[1].need, TRACE_BARRIER_REDUNDANT);
    trace_hazards_finish(&h);
}

/* Vulkan's rules: what a write needs is made available by its source mask, and visible by its
 * target mask; a write after a read needs neither. */
TEST(access_masks_order_what_they_name)
{
    enum { READ = 1, WRITE = 2, BOTH = 3 };
    static const struct {
        enum trace_access_mode before, after;
        struct trace_access_masks masks;
        bool is_ordered;
    } cases[] = {
        {TRACE_ACCESS_WRITE, TRACE_ACCESS_READ, {READ, READ}, false},
        {TRACE_ACCESS_WRITE, TRACE_ACCESS_READ, {WRITE, WRITE}, false},
        {TRACE_ACCESS_WRITE, TRACE_ACCESS_READ, {WRITE, READ}, true},
        {TRACE_ACCESS_WRITE, TRACE_ACCESS_READ, {0, 0}, true},
        {TRACE_ACCESS_WRITE, TRACE_ACCESS_READ, {0, READ}, true},
        {TRACE_ACCESS_WRITE, TRACE_ACCESS_READ, {READ, 0}, false},
        {TRACE_ACCESS_WRITE, TRACE_ACCESS_WRITE, {READ, WRITE}, false},
        {TRACE_ACCESS_WRITE, TRACE_ACCESS_WRITE, {WRITE, READ}, false},
        {TRACE_ACCESS_WRITE, TRACE_ACCESS_WRITE, {WRITE, WRITE}, true},
        {TRACE_ACCESS_READ, TRACE_ACCESS_WRITE, {READ, WRITE}, true},
        {TRACE_ACCESS_READ, TRACE_ACCESS_WRITE, {WRITE, READ}, true},
        {TRACE_ACCESS_READ_WRITE, TRACE_ACCESS_READ, {READ, READ}, false},
        {TRACE_ACCESS_READ_WRITE, TRACE_ACCESS_READ_WRITE, {WRITE, READ}, true},
        {TRACE_ACCESS_UNKNOWN, TRACE_ACCESS_READ, {READ, BOTH}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct trace_ordered_range range = {9, 0, 64, cases[i].masks};
        for (int by_range = 0; by_range < 2; by_range++) {
            struct trace_hazards h;
            trace_hazards_begin(&h);
            touch(&h, 0, cases[i].before, 9, 0, 64);
            trace_hazards_barrier(
                &h,
                &(struct trace_ordering){.command = 1,
                                         .source = 1,
                                         .source_stages = ALL,
                                         .target_stages = ALL,
                                         .masks = by_range ? (struct trace_access_masks){BOTH, BOTH}
                                                           : cases[i].masks,
                                         .ranges = &range,
                                         .range_count = (size_t)by_range});
            touch(&h, 2, cases[i].after, 9, 0, 64);
            assert_int_equal(trace_hazards_end(&h), HAL_OK);
            if (h.race_count != !cases[i].is_ordered)
                fail_msg("case %zu: %d races", i, (int)h.race_count);
            trace_hazards_finish(&h);
        }
    }
}

/* One barrier makes the write available, the next one makes it visible; never the other way round.
 */
TEST(masks_of_barriers_in_a_row_go_together)
{
    static const struct trace_access_masks of_writes = {2, 2}, of_reads = {1, 1};
    for (uint32_t turned = 0; turned < 2; turned++) {
        struct trace_hazards h;
        trace_hazards_begin(&h);
        touch(&h, 0, TRACE_ACCESS_WRITE, 9, 0, 64);
        masked_barrier(&h, 1, ALL, ALL, turned ? of_reads : of_writes);
        masked_barrier(&h, 2, ALL, ALL, turned ? of_writes : of_reads);
        touch(&h, 3, TRACE_ACCESS_READ, 9, 0, 64);
        assert_int_equal(trace_hazards_end(&h), HAL_OK);
        assert_int_equal(h.race_count, turned);
        trace_hazards_finish(&h);
    }
}

TEST(an_event_orders_what_came_before_its_signal)
{
    struct trace_hazards h;
    trace_hazards_begin(&h);
    touch(&h, 0, TRACE_ACCESS_WRITE, 9, 0, 64);
    /* 1: signal */
    touch(&h, 2, TRACE_ACCESS_WRITE, 8, 0, 64);
    trace_hazards_barrier(&h, &(struct trace_ordering){3, 1, ALL, ALL, {0, 0}, NULL, 0}); /* wait */
    touch(&h, 4, TRACE_ACCESS_READ, 9, 0, 64);
    touch(&h, 5, TRACE_ACCESS_READ, 8, 0, 64); /* written behind the signal */
    assert_int_equal(trace_hazards_end(&h), HAL_OK);
    assert_int_equal(h.barriers[0].need, TRACE_BARRIER_NEEDED);
    assert_int_equal(h.race_count, 1);
    assert_int_equal(h.races[0].before, 2);
    trace_hazards_finish(&h);
}

TEST(too_many_pieces_decide_nothing_wrongly)
{
    struct trace_hazards h;
    trace_hazards_begin(&h);
    uint32_t command = 0;
    for (; command < 4 * TRACE_HAZARD_PIECES; command++)
        touch(&h, command, TRACE_ACCESS_WRITE, 9, 16ull * command, 16ull * command + 8);
    barrier(&h, command++, ALL, ALL);
    touch(&h, command, TRACE_ACCESS_READ, 9, 0, 8);
    assert_int_equal(trace_hazards_end(&h), HAL_OK);
    assert_true(h.undecided > 0);
    assert_int_not_equal(h.barriers[0].need, TRACE_BARRIER_REDUNDANT);
    assert_int_equal(h.race_count, 0);
    trace_hazards_finish(&h);
}

/* ---- Random lists against the model ---- */

enum { COMMANDS = 24, BYTES = 12 };

struct random_command {
    bool is_barrier;
    uint32_t source, target, stage;
    struct trace_access_masks masks; /* of a barrier */
    enum trace_access_mode mode;
    uint64_t begin, end;
};

/* The stages that come after `before`, from barrier to barrier; and of those, the ones for which
 * what it wrote is available. */
static bool model_ordered(const struct random_command *list, const bool *kept, uint32_t before,
                          uint32_t after)
{
    uint32_t behind = 0, available = 0;
    bool is_visible = false;
    for (uint32_t i = before + 1; i < after; i++) {
        if (!kept[i])
            continue;
        const bool makes = list[i].source & list[before].stage && list[i].masks.source & 2;
        if (list[i].source & (list[before].stage | behind))
            behind |= list[i].target;
        if (makes || list[i].source & available) {
            available |= list[i].target;
            is_visible |= list[i].target & list[after].stage &&
                          list[i].masks.target & (uint32_t)list[after].mode;
        }
    }
    return list[before].mode & TRACE_ACCESS_WRITE ? is_visible : (behind & list[after].stage) != 0;
}

static bool model_conflict(const struct random_command *a, const struct random_command *b)
{
    return !a->is_barrier && !b->is_barrier && ((a->mode | b->mode) & TRACE_ACCESS_WRITE);
}

/* Whether all conflicts are ordered by the barriers in `kept`. */
static bool model_race_free(const struct random_command *list, const bool *kept)
{
    for (uint32_t after = 0; after < COMMANDS; after++) {
        for (uint32_t before = 0; before < after; before++) {
            if (!model_conflict(&list[before], &list[after]))
                continue;
            for (uint64_t byte = 0; byte < BYTES; byte++) {
                if (byte >= list[before].begin && byte < list[before].end &&
                    byte >= list[after].begin && byte < list[after].end &&
                    !model_ordered(list, kept, before, after))
                    return false;
            }
        }
    }
    return true;
}

static uint64_t below(uint64_t *seed, uint64_t limit)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed % limit;
}

static void make_random(uint64_t *seed, struct random_command *list)
{
    const bool masks = below(seed, 2);
    const bool narrow = below(seed, 3) == 0; /* access masks */
    const bool dense = below(seed, 2);       /* mostly a barrier behind every command */
    const uint64_t barriers = 2 + below(seed, 3);
    for (uint32_t i = 0; i < COMMANDS; i++) {
        list[i] = (struct random_command){.is_barrier = dense ? i % 2 && below(seed, 64)
                                                              : below(seed, barriers) == 0,
                                          .source = masks ? 1 + (uint32_t)below(seed, 3) : ALL,
                                          .target = masks ? 1 + (uint32_t)below(seed, 3) : ALL,
                                          .masks = {narrow ? 1 + (uint32_t)below(seed, 3) : 3,
                                                    narrow ? 1 + (uint32_t)below(seed, 3) : 3},
                                          .stage = 1 + (uint32_t)below(seed, 2),
                                          .mode = 1 + (enum trace_access_mode)below(seed, 3),
                                          .begin = below(seed, BYTES)};
        list[i].end = list[i].begin + 1 + below(seed, BYTES - list[i].begin);
    }
}

TEST(random_lists_agree_with_the_model)
{
    const char *given = getenv("HAL_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : 0x5eed;
    print_message("HAL_TEST_SEED=%llu\n", (unsigned long long)seed);
    unsigned free_of_races = 0, with_races = 0, redundant = 0, needed = 0;
    for (int round = 0; round < 4000; round++) {
        struct random_command list[COMMANDS];
        bool all[COMMANDS], kept[COMMANDS] = {false};
        make_random(&seed, list);
        struct trace_hazards h;
        trace_hazards_begin(&h);
        for (uint32_t i = 0; i < COMMANDS; i++) {
            all[i] = list[i].is_barrier;
            if (list[i].is_barrier)
                masked_barrier(&h, i, list[i].source, list[i].target, list[i].masks);
            else
                trace_hazards_access(&h, &(struct trace_access){i, list[i].stage, list[i].mode, 5,
                                                                list[i].begin, list[i].end});
        }
        assert_int_equal(trace_hazards_end(&h), HAL_OK);
        assert_int_equal(h.undecided, 0);
        const bool race_free = model_race_free(list, all);
        assert_int_equal(h.race_count == 0, race_free);
        race_free ? free_of_races++ : with_races++;
        for (size_t i = 0; i < h.barrier_count; i++) {
            kept[h.barriers[i].command] = h.barriers[i].need != TRACE_BARRIER_REDUNDANT;
            kept[h.barriers[i].command] ? needed++ : redundant++;
        }
        if (race_free) {
            /* What is kept suffices. */
            assert_true(model_race_free(list, kept));
            /* With full barriers nothing of it can be missed. */
            for (uint32_t i = 0; i < COMMANDS; i++) {
                if (!kept[i] || list[i].source != ALL || list[i].target != ALL ||
                    list[i].masks.source != 3 || list[i].masks.target != 3)
                    continue;
                kept[i] = false;
                assert_false(model_race_free(list, kept));
                kept[i] = true;
            }
        }
        trace_hazards_finish(&h);
    }
    assert_true(free_of_races > 50 && with_races > 50 && redundant > 50 && needed > 50);
}
