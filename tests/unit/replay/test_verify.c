/* SPDX-License-Identifier: Apache-2.0 */
/* replay/player/verify.c: counts, samples, and who may have written the first wrong byte. */
#include "replay/player/player.h"
#include "tests/support/folder.h"
#include "tests/support/replay_trace.h"
#include "tests/support/test.h"

struct fixture {
    struct test_folder folder;
    struct replay_plan *plan;
};

/* Of 32 zeros, as sha256sum has it. */
static const uint8_t digest[33] =
    "\x66\x68\x7a\xad\xf8\x62\xbd\x77\x6c\x8f\xc1\x8b\x8e\x9f\x8e\x20"
    "\x08\x97\x14\x85\x6e\xe2\x33\xb3\x90\x2a\x59\x1d\x0d\x5f\x29\x25";

/* Buffer 'out' (1) has 256 bytes, read as [16, 116), as [6, 26), and, by its digest, as [48, 80),
 * at the end. Before: the host writes [0, 32); #s5 fills [32, 64) and dispatches 'first' over [64,
 * 80) and 'second' over [68, 72); #s6 copies to [96, 100) and updates [100, 104). Nobody writes
 * behind 104. */
static void build(struct trace_builder *b)
{
    const uint8_t zeros[256] = {0};
    const struct trace_entry_point points[] = {
        {.name = builder_string(b, "first"), .group_size = {1, 1, 1}},
        {.name = builder_string(b, "second"), .group_size = {1, 1, 1}}};
    builder_buffer_create(b, 1, "out", 256);
    builder_buffer_create(b, 2, "other", 256);
    builder_executable_create(b, 3, NULL, "source", points, 2);
    builder_host_write(b, 1, 0, zeros, 32);
    builder_command_buffer_create(b, 4, NULL, 0);
    builder_dispatch(b, 3, 0, 1, 1, 1); /* nothing is bound */
    builder_end_commands(b, 4);
    builder_command_buffer_create(b, 5, NULL, 0);
    builder_fill(b, 1, 32, 32, 0, 1);
    builder_push_descriptor_set(b, 1, (struct trace_binding[]){{0, 0, 0}, {1, 64, 16}}, 2);
    builder_dispatch(b, 3, 0, 1, 1, 1);
    builder_push_descriptor_set(b, 1, (struct trace_binding[]){{1, 68, 4}}, 1);
    builder_push_descriptor_set(b, 0, (struct trace_binding[]){{2, 0, 256}}, 1);
    builder_dispatch(b, 3, 1, 1, 1, 1);
    builder_end_commands(b, 5);
    builder_command_buffer_create(b, 6, NULL, 0);
    builder_copy(b, 2, 0, 1, 96, 4);
    builder_update(b, 1, 100, zeros, 4);
    builder_end_commands(b, 6);
    builder_submit(b, 5, 0, NO_VALUES, NO_VALUES, IDS(4, 5));
    builder_submit(b, 6, 0, NO_VALUES, NO_VALUES, IDS(6));
    builder_host_read(b, 1, 16, zeros, 100);
    builder_host_read(b, 1, 6, zeros, 20);
    b->flags = TRACE_FLAG_DIGEST;
    builder_host_read(b, 1, 48, digest, 32);
}

static const struct replay_options exact;

static size_t first_read(const struct fixture *fixture)
{
    return fixture->plan->op_count - 3;
}

static void verify(const struct fixture *fixture, const uint8_t actual[100],
                   struct replay_report *report)
{
    const uint8_t zeros[100] = {0};
    replay_verify_read(fixture->plan, &exact, first_read(fixture), zeros, actual, report);
}

/* The report of a run in which only the byte at `offset` of the buffer is wrong. */
static struct replay_difference differ_at(const struct fixture *fixture, uint64_t offset)
{
    struct replay_report report = {0};
    uint8_t actual[100] = {0};
    actual[offset - 16] = 0xc3;
    verify(fixture, actual, &report);
    assert_int_equal(report.compared_reads, 1);
    assert_int_equal(report.compared_bytes, 100);
    assert_int_equal(report.different_reads, 1);
    assert_int_equal(report.different_bytes, 1);
    assert_int_equal(report.first.offset, offset);
    assert_int_equal(report.first.buffer, 1);
    assert_string_equal(report.first.label, "out");
    assert_int_equal(report.first.read_offset, 16);
    assert_int_equal(report.first.read_bytes, 100);
    assert_int_equal(report.first.ticket, 13);
    return report.first;
}

TEST_ON(the_same_is_counted, struct fixture *fixture)
{
    struct replay_report report = {0};
    const uint8_t actual[100] = {0};
    for (int i = 0; i < 3; i++)
        verify(fixture, actual, &report);
    assert_int_equal(report.compared_reads, 3);
    assert_int_equal(report.compared_bytes, 300);
    assert_int_equal(report.different_reads, 0);
    assert_int_equal(report.different_bytes, 0);
}

TEST_ON(the_first_difference_is_kept, struct fixture *fixture)
{
    struct replay_report report = {0};
    uint8_t actual[100] = {0};
    actual[7] = 1;
    actual[50] = 2;
    actual[99] = 3;
    verify(fixture, actual, &report);
    actual[0] = 4;
    verify(fixture, actual, &report);
    assert_int_equal(report.compared_reads, 2);
    assert_int_equal(report.different_reads, 2);
    assert_int_equal(report.different_bytes, 7);
    assert_int_equal(report.first.different_bytes, 3);
    assert_int_equal(report.first.offset, 16 + 7);
}

TEST_ON(samples_begin_at_an_element, struct fixture *fixture)
{
    struct replay_difference first = differ_at(fixture, 16 + 7);
    assert_int_equal(first.sample_offset, 20);
    assert_int_equal(first.sample_bytes, REPLAY_SAMPLE_BYTES);
    assert_int_equal(first.expected[3], 0);
    assert_int_equal(first.actual[3], 0xc3);
    assert_int_equal(first.actual[2], 0);
    first = differ_at(fixture, 115);
    assert_int_equal(first.sample_offset, 112);
    assert_int_equal(first.sample_bytes, 4);
    assert_int_equal(first.actual[3], 0xc3);
}

static void expect_writer(struct fixture *fixture, uint64_t offset, const char *locator,
                          const char *writer)
{
    const struct replay_difference first = differ_at(fixture, offset);
    assert_string_equal(first.locator, locator);
    assert_string_equal(first.writer, writer);
}

TEST_ON(the_last_writer_is_found, struct fixture *fixture)
{
    expect_writer(fixture, 31, "", "the host (ticket 4)");
    expect_writer(fixture, 32, "#s5", "fill, segment 0");
    expect_writer(fixture, 63, "#s5", "fill, segment 0");
    expect_writer(fixture, 64, "#s5.d1", "dispatch of 'first', segment 2");
    expect_writer(fixture, 68, "#s5.d2", "dispatch of 'second', segment 5");
    expect_writer(fixture, 71, "#s5.d2", "dispatch of 'second', segment 5");
    expect_writer(fixture, 72, "#s5.d1", "dispatch of 'first', segment 2");
    expect_writer(fixture, 80, "", "");
    expect_writer(fixture, 96, "#s6", "copy, segment 0");
    expect_writer(fixture, 103, "#s6", "update, segment 1");
    expect_writer(fixture, 104, "", "");
}

/* What is far off lies in the second run. */
TEST_ON(elements_are_those_of_the_buffer, const struct fixture *fixture)
{
    static const struct replay_type_rule rules[] = {{"other", REPLAY_U8}, {"out", REPLAY_F64}};
    const struct replay_options options = {
        .tolerance = {.absolute = 3}, .types = rules, .type_count = 2};
    const size_t op = first_read(fixture);
    struct replay_report report = {0};
    double expected[12] = {0}, actual[12] = {[2] = 2, [5] = -3};
    uint8_t wanted[100] = {0}, got[100] = {0};
    memcpy(wanted, expected, sizeof expected);
    memcpy(got, actual, sizeof actual);
    replay_verify_read(fixture->plan, &options, op, wanted, got, &report);
    assert_int_equal(report.different_reads, 0);
    assert_int_equal(report.different_bytes, 0);
    assert_int_equal(report.errors.type, REPLAY_F64);
    assert_false(report.errors.guessed);
    assert_int_equal(report.errors.elements, 12);
    assert_int_equal(report.errors.inexact, 2);
    assert_string_equal(report.worst_label, "out");
    assert_int_equal(report.worst_buffer, 1);
    assert_int_equal(report.worst_read_offset, 16);
    assert_int_equal(report.errors.worst_offset, 5 * sizeof(double));
    actual[7] = 4;
    memcpy(got, actual, sizeof actual);
    replay_verify_read(fixture->plan, &options, op, wanted, got, &report);
    assert_int_equal(report.different_reads, 1);
    assert_int_equal(report.errors.wrong, 1);
    assert_int_equal(report.first.offset, 16 + 7 * sizeof(double));
    assert_int_equal(report.first.errors.wrong, 1);
    assert_int_equal(report.first.errors.inexact, 2);
    assert_int_equal(report.errors.worst_offset, 7 * sizeof(double));
    /* A smaller error in the other read leaves the largest where it was. */
    memset(got, 0, sizeof got);
    memcpy(got + 10, &actual[2], sizeof *actual);
    replay_verify_read(fixture->plan, &options, op + 1, wanted, got, &report);
    assert_int_equal(report.errors.inexact, 5);
    assert_int_equal(report.worst_read_offset, 16);
    assert_int_equal(report.errors.worst_offset, 7 * sizeof(double));
}

/* The read begins at 6: the first whole f32 is that at 8. */
TEST_ON(elements_are_aligned_in_the_buffer, const struct fixture *fixture)
{
    static const struct replay_type_rule all = {NULL, REPLAY_F32};
    const struct replay_options options = {
        .tolerance = {.absolute = 1}, .types = &all, .type_count = 1};
    struct replay_report report = {0};
    const uint8_t wanted[20] = {0};
    uint8_t got[20] = {0};
    const float one = 1;
    memcpy(got + 10, &one, sizeof one); /* at 16 */
    replay_verify_read(fixture->plan, &options, first_read(fixture) + 1, wanted, got, &report);
    assert_int_equal(report.different_reads, 0);
    assert_int_equal(report.errors.elements, 4);
    assert_int_equal(report.errors.inexact, 1);
    assert_int_equal(report.errors.worst_offset, 10);
}

/* What no type was named for is taken as f32 too, where it can be one: elements of all reads. */
TEST_ON(bytes_may_be_floats, const struct fixture *fixture)
{
    static const struct replay_type_rule all = {NULL, REPLAY_F32};
    const struct replay_options typed = {.types = &all, .type_count = 1};
    struct replay_report report = {0};
    float expected[25] = {[3] = 8, [4] = 2, [5] = 64}, actual[25] = {[3] = 8.5F, [4] = 2, [5] = 64};
    replay_verify_read(fixture->plan, &exact, first_read(fixture), (const uint8_t *)expected,
                       (const uint8_t *)actual, &report);
    actual[3] = 8;
    actual[4] = 3;
    replay_verify_read(fixture->plan, &exact, first_read(fixture), (const uint8_t *)expected,
                       (const uint8_t *)actual, &report);
    assert_int_equal(report.different_reads, 2);
    assert_int_equal(report.float_reads, 2);
    assert_int_equal(report.floats.wrong, 2);
    assert_true(report.floats.worst_absolute >= 1 && report.floats.worst_absolute <= 1);
    assert_true(report.floats.worst_relative >= 0.5 && report.floats.worst_relative <= 0.5);
    assert_true(report.floats.largest >= 8 && report.floats.largest <= 8);
    /* Those that begin beside an element are none, nor those whose type is known. */
    replay_verify_read(fixture->plan, &exact, first_read(fixture) + 1, (const uint8_t *)expected,
                       (const uint8_t *)actual, &report);
    replay_verify_read(fixture->plan, &typed, first_read(fixture), (const uint8_t *)expected,
                       (const uint8_t *)actual, &report);
    assert_int_equal(report.different_reads, 4);
    assert_int_equal(report.float_reads, 2);
    /* Nor what looks like numbers of 16 bits: these are 1, 1.5, 1.25, ... as f16. */
    uint16_t halves[50], others[50];
    for (int i = 0; i < 50; i++)
        halves[i] = others[i] = (uint16_t)(0x3c00 + i % 7 * 0x100);
    others[8]++;
    replay_verify_read(fixture->plan, &exact, first_read(fixture), (const uint8_t *)halves,
                       (const uint8_t *)others, &report);
    assert_int_equal(report.different_reads, 5);
    assert_int_equal(report.float_reads, 2);
}

/* All that is known of a read by digest is whether it is the same; a tolerance does not say what
 * another one means. */
TEST_ON(digests_are_compared, const struct fixture *fixture)
{
    const struct replay_options tolerant = {.tolerance = {.absolute = 1}};
    const size_t op = first_read(fixture) + 2;
    struct replay_report report = {0};
    uint8_t actual[32] = {0};
    replay_verify_read(fixture->plan, &exact, op, digest, actual, &report);
    assert_int_equal(report.compared_reads, 1);
    assert_int_equal(report.digest_reads, 1);
    assert_int_equal(report.different_reads, 0);
    actual[20] = 1;
    replay_verify_read(fixture->plan, &tolerant, op, digest, actual, &report);
    assert_int_equal(report.digest_reads, 2);
    assert_int_equal(report.unjudged_reads, 1);
    assert_int_equal(report.different_reads, 0);
    replay_verify_read(fixture->plan, &exact, op, digest, actual, &report);
    assert_int_equal(report.unjudged_reads, 1);
    assert_int_equal(report.different_reads, 1);
    assert_true(report.first.by_digest);
    assert_string_equal(report.first.label, "out");
    assert_int_equal(report.first.read_offset, 48);
    assert_int_equal(report.first.read_bytes, 32);
    assert_string_equal(report.first.locator, "#s5.d2"); /* the last into any of it */
}

/* Nobody writes behind 104: a player fills that, and the host need not have looked at it. */
TEST_ON(observed_bytes_that_hold_the_fill_are_not_compared, const struct fixture *fixture)
{
    const struct replay_options filled = {.fill = 0xa5};
    const size_t op = first_read(fixture);
    struct trace_content_event event =
        *(const struct trace_content_event *)(const void *)fixture->plan->ops[op].event;
    const struct trace_event *recorded = fixture->plan->ops[op].event;
    const struct replay_options *const ways[] = {&filled, &exact};
    for (unsigned way = 0; way < 6; way++) {
        const bool is_observed = way % 2 == 0;
        struct replay_report report = {0};
        uint8_t expected[100] = {0}, actual[100] = {0};
        event.flags = is_observed ? TRACE_FLAG_OBSERVED : 0;
        fixture->plan->ops[op].event = &event.head;
        memset(actual + 90, 0xa5, 10);
        if (way / 2 == 1)
            expected[95] = 1; /* somebody wrote it in the recording */
        replay_verify_read(fixture->plan, ways[way / 2 == 2], op, expected, actual, &report);
        fixture->plan->ops[op].event = recorded;
        assert_int_equal(report.compared_reads, 1);
        assert_int_equal(report.unwritten_reads, is_observed && way / 2 != 2);
        assert_int_equal(report.different_bytes, way == 0 ? 0 : way == 2 ? 1 : 10);
    }
}

TEST(only_the_first_outcome_is_told)
{
    struct replay_report report = {0};
    replay_verify_outcome(&report, "wait %d", 1);
    replay_verify_outcome(&report, "wait %d", 2);
    assert_int_equal(report.different_outcomes, 2);
    assert_string_equal(report.first_outcome, "wait 1");
}

static int set_up(void **state)
{
    static struct fixture fixture;
    char path[PATH_MAX];
    struct trace_builder b;
    *state = &fixture;
    if (!test_folder_make(&fixture.folder))
        return -1;
    builder_open(&b, test_folder_file(&fixture.folder, "verify.pb.zst", path), NULL);
    build(&b);
    if (builder_close(&b, NULL) != HAL_OK ||
        replay_plan_load(path, &(struct replay_load_options){0}, &fixture.plan) != HAL_OK) {
        fprintf(stderr, "%s\n", hal_message());
        return -1;
    }
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    replay_plan_destroy(fixture->plan);
    test_folder_remove(&fixture->folder);
    return 0;
}

TEST_SUITE_FIXTURE(set_up, tear_down);
