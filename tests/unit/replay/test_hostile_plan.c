/* SPDX-License-Identifier: Apache-2.0 */
/* Random lies in a good trace: whatever loads can be played, and neither crashes nor hangs. The
 * seed is printed; HAL_TEST_SEED repeats it, HAL_TEST_ROUNDS asks for more rounds. */
#include "hal/base/os.h"
#include "replay/replay.h"
#include "tests/support/folder.h"
#include "tests/support/hal_fixture.h"
#include "tests/support/replay_trace.h"
#include "tests/support/test.h"

struct fixture {
    struct test_folder folder;
    struct hal_device *device;
    uint64_t random;
    int countdown; /* events and segments until the lie */
};

static uint64_t next_random(struct fixture *fixture)
{
    uint64_t x = fixture->random += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

/* Small numbers, ids that exist, and numbers at the ends of ranges. */
static uint64_t pick_value(struct fixture *fixture)
{
    static const uint64_t values[] = {0,          1,
                                      2,          3,
                                      4,          EVERY_A,
                                      EVERY_B,    EVERY_SCALE,
                                      EVERY_DONE, EVERY_GATE,
                                      EVERY_ONCE, EVERY_AGAIN,
                                      5,          QUEUES_BLOCK,
                                      256,        960,
                                      63,         64,
                                      65,         INT64_MAX,
                                      UINT64_MAX, UINT32_MAX,
                                      1ull << 63, UINT64_MAX - 63};
    const uint64_t choice = next_random(fixture) % (sizeof values / sizeof *values + 2);
    return choice < sizeof values / sizeof *values ? values[choice] : next_random(fixture);
}

/* Replaces 4 or 8 bytes behind the head of one record. Sizes and counts may be hit, which the
 * writer refuses. */
static void lie(void *user, struct trace_event *event, struct trace_segment *segment)
{
    struct fixture *fixture = user;
    if (fixture->countdown-- != 0)
        return;
    uint8_t *record = segment ? (uint8_t *)segment : (uint8_t *)event;
    const size_t head = segment ? sizeof *segment : sizeof *event;
    const size_t size = segment ? segment->bytes : event->bytes;
    const uint64_t value = pick_value(fixture);
    if (size <= head) {
        event->status = (uint16_t)value;
        return;
    }
    const bool wide = next_random(fixture) % 2;
    const size_t step = wide ? 8 : 4;
    const size_t at = head + next_random(fixture) % ((size - head) / step) * step;
    memcpy(record + at, &value, step);
}

/* A small limit, so that no lie about a size can take memory. */
static void load_and_play(struct fixture *fixture, const char *path, uint64_t *out_played)
{
    struct replay_plan *plan = NULL;
    struct replay_player *player = NULL;
    struct replay_report report = {0};
    const struct replay_load_options load = {.memory_limit_bytes = 16u << 20};
    const struct replay_options options = {.timeout_ns = 5 * 1000 * 1000};
    if (replay_plan_load(path, &load, &plan) != HAL_OK)
        return;
    if (replay_player_create(plan, fixture->device, &options, &player) == HAL_OK &&
        replay_player_run(player, &report) == HAL_OK)
        ++*out_played;
    assert_false(report.abandoned);
    replay_player_destroy(player);
    replay_plan_destroy(plan);
}

static void play_a_good_one(struct fixture *fixture, void (*build)(struct trace_builder *b),
                            uint64_t reads)
{
    struct trace_builder b;
    struct replay_plan *plan = NULL;
    struct replay_player *player = NULL;
    struct replay_report report = {0};
    char path[PATH_MAX];
    test_folder_file(&fixture->folder, "good.pb.zst", path);
    builder_open(&b, path, NULL);
    build(&b);
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
    assert_int_equal(replay_plan_load(path, &(struct replay_load_options){0}, &plan), HAL_OK);
    assert_int_equal(
        replay_player_create(plan, fixture->device, &(struct replay_options){0}, &player), HAL_OK);
    assert_int_equal(replay_player_run(player, &report), HAL_OK);
    assert_int_equal(report.compared_reads, reads);
    assert_int_equal(report.different_reads, 0);
    replay_player_destroy(player);
    replay_plan_destroy(plan);
}

static uint64_t number_from(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);
    return text ? strtoull(text, NULL, 0) : otherwise;
}

static void build_everything(struct trace_builder *b)
{
    every_build(b, false);
}

/* `records`: about how many `build` makes. */
static void lie_in(struct fixture *fixture, void (*build)(struct trace_builder *b),
                   void (*alter)(void *user, struct trace_event *event,
                                 struct trace_segment *segment),
                   int records)
{
    const uint64_t seed = number_from("HAL_TEST_SEED", (uint64_t)hal_clock_ns());
    const uint64_t rounds = number_from("HAL_TEST_ROUNDS", 400);
    uint64_t written = 0, played = 0;
    char path[PATH_MAX];
    print_message("HAL_TEST_SEED=%llu\n", (unsigned long long)seed);
    test_folder_file(&fixture->folder, "lie.pb.zst", path);
    fixture->random = seed;
    for (uint64_t round = 0; round < rounds; round++) {
        struct trace_builder b;
        fixture->countdown = (int)(next_random(fixture) % (uint64_t)records);
        builder_open(&b, path, NULL);
        b.alter = alter;
        b.user = fixture;
        build(&b);
        if (builder_close(&b, NULL) != HAL_OK)
            continue;
        written++;
        load_and_play(fixture, path, &played);
    }
    print_message("%llu of %llu traces could be written, %llu ran to the end\n",
                  (unsigned long long)written, (unsigned long long)rounds,
                  (unsigned long long)played);
    assert_true(played > 0 && played < written);
}

TEST_ON(lies_are_refused_or_harmless, struct fixture *fixture)
{
    lie_in(fixture, build_everything, lie, 50);
}

/* ---- Counts that lie in a buffer ------------------------------------------------------------ */

enum { COUNTS = 10, TARGET = 11, ADD = 20, ENDED = 30, LIST = 40, TARGET_BYTES = 64 };

/* Every thread has a place of its own: whatever the counts, none goes on in what is bound. */
static const char add_source[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "kernel void add(device uint *x [[buffer(0)]], uint3 at [[thread_position_in_grid]])\n"
    "{\n"
    "    x[at.x + 8 * ulong(at.y) + 16 * ulong(at.z)] += 1;\n"
    "}\n";

/* Counts by an update: what the first word is, no dispatch asks. */
static void build_counts(struct trace_builder *b, const uint32_t counts[4])
{
    const struct trace_semaphore_value one = {ENDED, 1};
    const struct trace_entry_point point = {.name = builder_string(b, "add"),
                                            .group_size = {4, 1, 1}};
    uint32_t zeros[TARGET_BYTES / 4] = {0}, ones[TARGET_BYTES / 4];
    for (int i = 0; i < TARGET_BYTES / 4; i++)
        ones[i] = 1;
    builder_buffer_create(b, COUNTS, "counts", 16);
    builder_buffer_create(b, TARGET, "target", TARGET_BYTES);
    builder_executable_create(b, ADD, "add.metal", add_source, &point, 1);
    builder_semaphore_create(b, ENDED, "ended", 0);
    builder_host_write(b, TARGET, 0, zeros, sizeof zeros);
    builder_command_buffer_create(b, LIST, "list", 0);
    builder_update(b, COUNTS, 0, counts, 16);
    builder_barrier(b, NULL, 0);
    builder_push_descriptor_set(b, 0, (struct trace_binding[]){{TARGET, 0, TARGET_BYTES}}, 1);
    builder_dispatch_indirect(b, ADD, 0, COUNTS, 4);
    builder_barrier(b, NULL, 0);
    builder_end_commands(b, LIST);
    builder_submit(b, 0, 0, NO_VALUES, VALUES(one), IDS(LIST));
    builder_semaphore_wait(b, 0, &one, 1, INT64_MAX);
    builder_host_read(b, TARGET, 0, ones, sizeof ones);
    builder_submission_done(b, 0, 0, 3300, 3400, 3500);
}

/* 2 x 2 x 1 workgroups of 4: every word of the target grows by 1. */
static void build_indirect(struct trace_builder *b)
{
    build_counts(b, (uint32_t[]){9, 2, 2, 1});
}

/* The kernel itself stays as it is: another one is compiled for each lie about it, and where what
 * it says does harm, hal-replay has its sandbox. */
static void lie_about_counts(void *user, struct trace_event *event, struct trace_segment *segment)
{
    const bool allowed = segment || event->kind == TRACE_BUFFER_CREATE ||
                         event->kind == TRACE_COMMAND_BUFFER_CREATE ||
                         event->kind == TRACE_HOST_WRITE;
    if (allowed)
        lie(user, event, segment);
}

TEST_ON(lies_about_counts_are_refused_or_harmless, struct fixture *fixture)
{
    fixture_need_compiler(fixture->device);
    play_a_good_one(fixture, build_indirect, 1);
    lie_in(fixture, build_indirect, lie_about_counts, 9);
}

/* The file is good, the counts that it writes are not: the work fails, as any application's. */
TEST_ON(counts_over_a_limit_fail_the_work, struct fixture *fixture)
{
    static const struct {
        uint32_t counts[4];
        const char *says;
    } wrong[] = {
        {{0, 1u << 30, 1, 1}, "1073741824 workgroups of 4"},
        {{0, UINT32_MAX, UINT32_MAX, UINT32_MAX}, "4294967295 workgroups of 4"},
        {{0, 1, UINT32_MAX, UINT32_MAX}, "more than 2^63-1"},
        {{0, 1u << 29, 1u << 30, 1u << 30}, "more than 2^63-1"},
    };
    fixture_need_compiler(fixture->device);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct trace_builder b;
        struct replay_plan *plan = NULL;
        struct replay_player *player = NULL;
        struct replay_report report = {0};
        char path[PATH_MAX];
        builder_open(&b, test_folder_file(&fixture->folder, "counts.pb.zst", path), NULL);
        build_counts(&b, wrong[i].counts);
        assert_int_equal(builder_close(&b, NULL), HAL_OK);
        assert_int_equal(replay_plan_load(path, &(struct replay_load_options){0}, &plan), HAL_OK);
        assert_int_equal(
            replay_player_create(plan, fixture->device, &(struct replay_options){0}, &player),
            HAL_OK);
        const enum hal_status status = replay_player_run(player, &report);
        const char *said = status == HAL_OK ? report.first_outcome : hal_message();
        if (!strstr(said, wrong[i].says) || (status == HAL_OK && !report.different_outcomes))
            fail_msg("counts %zu: status %d, '%s'", i, (int)status, said);
        assert_false(report.abandoned);
        replay_player_destroy(player);
        replay_plan_destroy(plan);
    }
}

TEST_ON(lies_about_queue_operations_are_refused_or_harmless, struct fixture *fixture)
{
    lie_in(fixture, queues_build, lie, 35);
}

/* Without a lie, it is a good trace. */
TEST_ON(queue_operations_are_replayed, struct fixture *fixture)
{
    play_a_good_one(fixture, queues_build, 2);
}

static int set_up(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    setenv("HAL_CHECK_BOUNDS", "1", 1); /* the kernels of this process cannot do harm */
    return test_folder_make(&fixture.folder) &&
                   hal_device_open("cpu?threads=2&queues=2", &fixture.device) == HAL_OK
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    hal_device_release(fixture->device);
    test_folder_remove(&fixture->folder);
    return 0;
}

TEST_SUITE_FIXTURE(set_up, tear_down);
