/* SPDX-License-Identifier: Apache-2.0 */
/* replay/search/paired_run.c: which of two ways is which, at what moments the other one runs, and
 * what pairs of times mean. */
#include "replay/player/player.h"
#include "replay/search/paired_run.h"
#include "tests/support/folder.h"
#include "tests/support/replay_trace.h"
#include "tests/support/test.h"

enum { BUFFER = 10, DONE = 30, COMMANDS = 40, PAIRS = 12, SHUFFLED = 20, ALL = PAIRS + SHUFFLED };

static const int64_t ms = 1000 * 1000;

struct fixture {
    struct test_folder folder;
    struct hal_device *device;
    struct replay_plan *right, *wrong; /* what the program is to have read */
    /* Of the trial, by pairs and then runs: */
    struct replay_player *base, *variant;
    uint64_t shuffles[ALL];
    unsigned calls, variant_first;
};

/* Two submissions, a wait for each, and 8 ms between the first call and the read of what they
 * fill. */
static struct replay_plan *load(struct fixture *f, uint8_t byte)
{
    char path[PATH_MAX], name[16];
    struct trace_builder b;
    struct replay_plan *plan;
    snprintf(name, sizeof name, "%u.pb.zst", byte);
    builder_open(&b, test_folder_file(&f->folder, name, path), NULL);
    builder_buffer_create(&b, BUFFER, NULL, 1);
    builder_semaphore_create(&b, DONE, NULL, 0);
    for (uint64_t n = 0; n < 2; n++) {
        const struct trace_semaphore_value done = {DONE, n + 1};
        const uint64_t commands = COMMANDS + n;
        builder_command_buffer_create(&b, commands, NULL, HAL_ONE_SHOT);
        builder_fill(&b, BUFFER, 0, 1, 7, 1);
        builder_end_commands(&b, commands);
        builder_submit(&b, n, 0, NO_VALUES, VALUES(done), IDS(commands));
        builder_submission_done(&b, n, 0, b.begin_ns, b.begin_ns, b.begin_ns + 1);
        builder_semaphore_wait(&b, HAL_WAIT_ALL, &done, 1, INT64_MAX);
    }
    b.begin_ns += 8 * ms;
    builder_host_read(&b, BUFFER, 0, &byte, 1);
    if (builder_close(&b, NULL) != HAL_OK ||
        replay_plan_load(path, &(struct replay_load_options){0}, &plan) != HAL_OK)
        fail_msg("%s", hal_message());
    return plan;
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    *state = f;
    if (!f || !test_folder_make(&f->folder) || hal_device_open("cpu?threads=1", &f->device))
        return -1;
    f->right = load(f, 7);
    f->wrong = load(f, 8);
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    replay_plan_destroy(f->right);
    replay_plan_destroy(f->wrong);
    hal_device_release(f->device);
    test_folder_remove(&f->folder);
    free(f);
    return 0;
}

static void note(void *user, uint64_t done, uint64_t most)
{
    struct fixture *f = user;
    assert_int_equal(most, ALL);
    assert_int_equal(done, ++f->calls);
    f->shuffles[done - 1] = f->variant->shuffle;
    f->variant_first += done <= PAIRS && f->variant->begin_ns < f->base->begin_ns;
}

static struct replay_paired_result try_both(struct fixture *f, struct replay_plan *base,
                                            double base_pace, struct replay_plan *variant)
{
    const struct replay_options base_options = {.pace = base_pace}, variant_options = {0};
    struct replay_paired_result result;
    f->calls = f->variant_first = 0;
    if (replay_player_create(base, f->device, &base_options, &f->base) != HAL_OK ||
        replay_player_create(variant, f->device, &variant_options, &f->variant) != HAL_OK)
        fail_msg("%s", hal_message());
    const struct replay_paired_run paired = {.base = f->base,
                                             .variant = f->variant,
                                             .pairs = PAIRS,
                                             .shuffled = SHUFFLED,
                                             .seed = 12345,
                                             .progress = note,
                                             .user = f};
    if (replay_paired_run_all(&paired, &base->info, &result) != HAL_OK)
        fail_msg("%s", hal_message());
    assert_int_equal(f->calls, ALL);
    assert_int_equal(result.pairs, PAIRS);
    assert_int_equal(result.shuffled, SHUFFLED);
    assert_int_equal(f->variant->shuffle, 0);
    replay_player_destroy(f->base);
    replay_player_destroy(f->variant);
    return result;
}

TEST_ON(each_way_has_its_own_differences, struct fixture *f)
{
    struct replay_paired_result result = try_both(f, f->right, 0, f->wrong);
    assert_int_equal(result.different_base, 0);
    assert_int_equal(result.different_variant, PAIRS);
    assert_int_equal(result.different_shuffled, SHUFFLED);
    assert_int_equal(result.first.different_reads, 1);
    result = try_both(f, f->wrong, 0, f->right);
    assert_int_equal(result.different_base, PAIRS);
    assert_int_equal(result.different_variant, 0);
    assert_int_equal(result.different_shuffled, 0);
    assert_int_equal(result.first.different_reads, 0); /* the report is the other way's */
    assert_int_equal(result.first.compared_reads, 1);
}

/* The base alone keeps its distances. */
TEST_ON(each_way_has_its_own_times, struct fixture *f)
{
    const struct replay_paired_result result = try_both(f, f->right, 1, f->right);
    assert_true(result.base.min_ns >= 8 * ms);
}

/* Both ways come first in some pairs, or what disturbs the machine regularly would disturb one. */
TEST_ON(the_order_in_a_pair_is_random, struct fixture *f)
{
    try_both(f, f->right, 0, f->right);
    assert_in_range(f->variant_first, 1, PAIRS - 1);
}

/* Marsaglia's xorshift generator of 64 bits, with 13, 7 and 17. */
static uint64_t xorshift(uint64_t state)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^ state << 17;
}

/* Every submission and every wait of a shuffled run comes at a moment that was drawn. */
TEST_ON(each_call_of_a_shuffled_run_is_put_off, struct fixture *f)
{
    const struct replay_options options = {0};
    struct replay_player *player;
    struct replay_report report;
    assert_int_equal(replay_player_create(f->right, f->device, &options, &player), HAL_OK);
    player->shuffle = 4711;
    assert_int_equal(replay_player_run(player, &report), HAL_OK);
    assert_true(player->shuffle == xorshift(xorshift(xorshift(xorshift(4711)))));
    replay_player_destroy(player);
}

TEST_ON(runs_of_pairs_are_not_shuffled_and_others_are, struct fixture *f)
{
    try_both(f, f->right, 0, f->right);
    for (size_t i = 0; i < PAIRS; i++)
        assert_int_equal(f->shuffles[i], 0);
    for (size_t i = PAIRS; i < ALL; i++) {
        assert_int_not_equal(f->shuffles[i], 0);
        for (size_t k = PAIRS; k < i; k++)
            assert_true(f->shuffles[k] != f->shuffles[i]); /* another shuffle each time */
    }
}

/* ---- Times ---- */

/* The other way takes half as long in each pair, or twice. */
TEST(a_gain_is_the_time_before_by_the_time_after)
{
    int64_t slow_ns[6] = {2000, 2200, 1800, 2000, 2600, 2000};
    int64_t fast_ns[6] = {1000, 1100, 900, 1000, 1300, 1000};
    struct replay_paired_result result = {0};
    assert_int_equal(replay_paired_sum(slow_ns, fast_ns, 6, &result), HAL_OK);
    assert_true(result.gain.low >= 2 && result.gain.high <= 2);
    assert_int_equal(result.base.min_ns, 1800);
    assert_int_equal(result.variant.max_ns, 1300);
    int64_t before_ns[6] = {900, 900, 1000, 1000, 1100, 1100};
    int64_t after_ns[6] = {1800, 1800, 2000, 2000, 2200, 2200};
    assert_int_equal(replay_paired_sum(before_ns, after_ns, 6, &result), HAL_OK);
    assert_true(result.gain.low >= 0.5 && result.gain.high <= 0.5);
}

/* Pairs belong together: what slows both of one down is no gain. */
TEST(ratios_are_those_of_pairs)
{
    int64_t before_ns[6] = {9000, 1000, 1000, 9000, 1000, 9000};
    int64_t after_ns[6] = {9000, 1000, 1000, 9000, 1000, 9000};
    struct replay_paired_result result = {0};
    assert_int_equal(replay_paired_sum(before_ns, after_ns, 6, &result), HAL_OK);
    assert_true(result.gain.low >= 1 && result.gain.high <= 1);
}

TEST_SUITE_FIXTURE(set_up, tear_down);
