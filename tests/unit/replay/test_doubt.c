/* SPDX-License-Identifier: Apache-2.0 */
/* replay/player/doubt.c: what a replay makes of changes that the host or the device may have made.
 * The device is the CPU, and its kernels are fills and copies, so that every byte can be told by
 * hand.
 */
#include "hal/base/digest.h"
#include "tests/support/test.h"
#include "tests/unit/replay/player_fixture.h"

/* Buffer 1 has 32 bytes, of which #s0 fills [0, 16) with `filled`; buffer 2 is another one. */
enum { SHARED = 1, OTHER = 2, DONE = 3, GATE = 4, BYTES = 32, HALF = 16 };

static const uint8_t zeros[BYTES];

static void begin(struct trace_builder *b, uint8_t filled)
{
    const struct trace_semaphore_value done = {DONE, 1};
    builder_buffer_create(b, SHARED, "shared", BYTES);
    builder_buffer_create(b, OTHER, "other", BYTES);
    builder_semaphore_create(b, DONE, "done", 0);
    builder_semaphore_create(b, GATE, "gate", 0);
    builder_map(b, SHARED, 1, 7, 0, BYTES);
    builder_host_write(b, SHARED, 0, zeros, BYTES);
    builder_host_write(b, OTHER, 0, zeros, BYTES);
    builder_command_buffer_create(b, 10, NULL, 0);
    builder_fill(b, SHARED, 0, HALF, filled, 1);
    builder_end_commands(b, 10);
    play_submit(b, 0, 10, NULL, &done);
}

/* The recording saw the fill with 5 end, and in [16, 24) other bytes. */
static void change(struct trace_builder *b, uint8_t other)
{
    uint8_t after[24];
    memset(after, 5, HALF);
    memset(after + HALF, other, 8);
    builder_mapped_change(b, SHARED, 0, zeros, after, sizeof after);
}

static void copy_half(struct trace_builder *b, uint64_t submission,
                      const struct trace_semaphore_value *wait,
                      const struct trace_semaphore_value *signal)
{
    const uint64_t commands = 20 + submission;
    builder_command_buffer_create(b, commands, NULL, 0);
    builder_copy(b, SHARED, HALF, OTHER, 0, 8);
    builder_end_commands(b, commands);
    play_submit(b, submission, commands, wait, signal);
}

/* In which the kernels and their data are those of the recording, and in which they are not. */
enum run_as { AS_RECORDED, OTHER_DATA, OTHER_FILL, OTHER_DRIVER, WITHOUT_BYTES, WAYS };

static struct trace_builder *start_as(struct play_fixture *fixture, enum run_as as)
{
    static const struct replay_buffer_substitute other = {
        .buffer = "other", .data = zeros, .bytes = BYTES};
    struct trace_builder *b = play_start(fixture);
    if (as == OTHER_DATA) {
        fixture->options.buffers = &other;
        fixture->options.buffer_count = 1;
    } else if (as == OTHER_FILL) {
        fixture->options.fill = 77;
    } else if (as == OTHER_DRIVER) {
        struct trace_header header = builder_default_header();
        header.device.driver = "vulkan";
        assert_int_equal(builder_close(b, NULL), HAL_OK);
        builder_open(b, fixture->path, &header);
    }
    return b;
}

static struct replay_report run(struct play_fixture *f)
{
    struct replay_report report = {0};
    assert_int_equal(play_often(f, 1, &report), HAL_OK);
    return report;
}

static void expect(const struct replay_report *report, uint64_t compared, uint64_t different,
                   uint64_t doubtful)
{
    assert_int_equal(report->compared_reads, compared);
    assert_int_equal(report->different_reads, different);
    assert_int_equal(report->doubtful_reads, doubtful);
}

/* The parent refuses ranges that are out of order or overlap. */
TEST(doubtful_ranges_are_apart_and_in_order)
{
    static struct replay_player player;
    struct replay_accesses ranges;
    struct trace_content_event event = {.buffer = SHARED, .offset = 8, .size = 16};
    struct replay_touch doubt[] = {
        {SHARED, 20, 32}, {OTHER, 0, 32}, {SHARED, 0, 10}, {SHARED, 9, 12}, {SHARED, 22, 23}};
    player.doubt.bytes =
        (struct replay_accesses){.list = doubt, .count = sizeof doubt / sizeof *doubt};
    assert_int_equal(replay_doubt_find(&player, &event, &ranges), HAL_OK);
    assert_int_equal(ranges.count, 2);
    assert_int_equal(ranges.list[0].begin, 8);
    assert_int_equal(ranges.list[0].end, 12);
    assert_int_equal(ranges.list[1].begin, 20);
    assert_int_equal(ranges.list[1].end, 24);
    replay_accesses_finish(&ranges);
}

TEST_ON(what_the_device_did_here_too_is_compared, struct play_fixture *f)
{
    struct trace_builder *b = play_start(f);
    uint8_t expected[BYTES] = {0};
    memset(expected, 5, HALF);
    begin(b, 5);
    change(b, 0);
    builder_host_read(b, SHARED, 0, expected, BYTES);
    const struct replay_report report = run(f);
    expect(&report, 1, 0, 0);
}

TEST_ON(what_the_device_does_otherwise_is_different, struct play_fixture *f)
{
    struct trace_builder *b = play_start(f);
    uint8_t expected[BYTES] = {0};
    memset(expected, 5, HALF);
    begin(b, 6);
    change(b, 0);
    builder_host_read(b, SHARED, 0, expected, BYTES);
    const struct replay_report report = run(f);
    expect(&report, 1, 1, 0);
    assert_int_equal(report.different_bytes, HALF);
    assert_string_equal(report.first.locator, "#s0");
}

/* It is there for what follows. Of the recorded kernels, on the recorded data, it shows that the
 * host stored it; of others it is not compared. The rest always is. */
TEST_ON(what_nothing_did_here_is_put_there, struct play_fixture *f)
{
    for (enum run_as as = AS_RECORDED; as < WAYS; as++) {
        struct trace_builder *b = start_as(f, as);
        const uint64_t doubtful = as != AS_RECORDED;
        uint8_t expected[BYTES] = {0};
        memset(expected, 5, HALF);
        memset(expected + HALF, 9, 8);
        begin(b, 5);
        change(b, 9);
        if (as == WITHOUT_BYTES)
            builder_mapped_change(b, OTHER, 8, NULL, NULL, 8);
        builder_host_read(b, SHARED, 0, expected, HALF);
        builder_host_read(b, SHARED, 0, expected, BYTES);
        expected[0] = 1;
        builder_host_read(b, SHARED, 0, expected, BYTES); /* a difference beside */
        const struct replay_report report = run(f);
        expect(&report, 3, 1, 2 * doubtful);
        assert_int_equal(report.different_bytes, 1);
        assert_int_equal(report.host_bytes, doubtful ? 0 : 8);
    }
}

/* The recording saw the 5 between two fills, of which the second makes what was there before. All
 * that can run has run here, and looks as if nothing had: that is never different. */
TEST_ON(a_value_that_comes_back_is_not_compared, struct play_fixture *f)
{
    for (enum run_as as = AS_RECORDED; as < WAYS; as++) {
        struct trace_builder *b = start_as(f, as);
        const struct trace_semaphore_value first = {DONE, 1}, second = {DONE, 2};
        begin(b, 5);
        builder_command_buffer_create(b, 11, NULL, 0);
        builder_fill(b, SHARED, 0, HALF, 0, 1);
        builder_end_commands(b, 11);
        play_submit(b, 1, 11, &first, &second);
        b->flags = TRACE_FLAG_HOST_PAGE;
        change(b, 0);
        b->flags = 0;
        builder_host_read(b, SHARED, 0, zeros, BYTES);
        builder_host_read(b, SHARED, HALF, zeros, HALF);
        const struct replay_report report = run(f);
        expect(&report, 2, 0, 1);
    }
}

TEST_ON(a_digest_of_it_is_compared_as_a_whole, struct play_fixture *f)
{
    struct trace_builder *b = play_start(f);
    uint8_t expected[BYTES] = {0}, digest[TRACE_DIGEST_BYTES];
    memset(expected, 5, HALF);
    memset(expected + HALF, 9, 8);
    begin(b, 5);
    change(b, 9);
    b->flags = TRACE_FLAG_DIGEST;
    assert_int_equal(hal_sha256(expected, sizeof expected, digest), HAL_OK);
    builder_host_read(b, SHARED, 0, digest, BYTES);
    digest[0] ^= 1;
    builder_host_read(b, SHARED, 0, digest, BYTES);
    b->flags = 0;
    const struct replay_report report = run(f);
    expect(&report, 1, 0, 1);
}

TEST_ON(what_commands_compute_from_it_is_as_doubtful, struct play_fixture *f)
{
    for (enum run_as as = AS_RECORDED; as < WITHOUT_BYTES; as++) {
        struct trace_builder *b = start_as(f, as);
        const struct trace_semaphore_value first = {DONE, 1}, second = {DONE, 2};
        uint8_t expected[BYTES], wrong[BYTES];
        memset(expected, 9, BYTES);
        memset(wrong, 8, BYTES);
        begin(b, 5);
        change(b, 9);
        copy_half(b, 1, &first, &second);
        play_wait_for(b, &second);
        builder_host_read(b, OTHER, 0, expected, 8);
        builder_host_read(b, OTHER, 0, wrong, 8);
        builder_host_read(b, OTHER, 8, zeros, 8);
        const struct replay_report report = run(f);
        expect(&report, 3, 0, as == AS_RECORDED ? 1 : 2);
    }
}

/* It was submitted before, and could not run yet: nothing waits for it, and it reads the byte. */
TEST_ON(work_that_waits_for_the_host_reads_it_later, struct play_fixture *f)
{
    struct trace_builder *b = play_start(f);
    const struct trace_semaphore_value gate = {GATE, 1}, second = {DONE, 2};
    uint8_t expected[BYTES];
    memset(expected, 9, BYTES);
    begin(b, 5);
    copy_half(b, 1, &gate, &second);
    change(b, 9);
    builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, GATE, 1, NULL);
    play_wait_for(b, &second);
    builder_host_read(b, OTHER, 0, expected, 8);
    expected[7] = 8;
    builder_host_read(b, OTHER, 0, expected, 8);
    const struct replay_report report = run(f);
    expect(&report, 2, 0, 1);
}

TEST_ON(a_write_of_the_host_ends_the_doubt, struct play_fixture *f)
{
    struct trace_builder *b = play_start(f);
    uint8_t expected[8];
    memset(expected, 3, sizeof expected);
    begin(b, 5);
    change(b, 9);
    builder_host_write(b, SHARED, HALF, expected, sizeof expected);
    builder_host_read(b, SHARED, HALF, expected, sizeof expected);
    const struct replay_report report = run(f);
    expect(&report, 1, 0, 0);
}

/* The recording's device had 5 for a moment where all work that can run leaves 0: 5 is put there,
 * and the copy takes it along. A write of the host ends the doubt of what the copy has left, not of
 * what it is yet to put over the written bytes. */
TEST_ON(a_write_ahead_of_held_work_does_not_end_its_doubt, struct play_fixture *f)
{
    for (unsigned is_held = 0; is_held < 2; is_held++) {
        struct trace_builder *b = start_as(f, OTHER_DRIVER);
        const struct trace_semaphore_value first = {DONE, 1}, second = {DONE, 2}, gate = {GATE, 1},
                                           third = {DONE, 3};
        const uint8_t written[8] = {3, 3, 3, 3, 3, 3, 3, 3};
        begin(b, 5);
        builder_command_buffer_create(b, 11, NULL, 0);
        builder_fill(b, SHARED, 0, HALF, 0, 1);
        builder_end_commands(b, 11);
        play_submit(b, 1, 11, &first, &second);
        builder_command_buffer_create(b, 12, NULL, 0);
        builder_copy(b, SHARED, 0, OTHER, 0, 8);
        builder_end_commands(b, 12);
        play_submit(b, 2, 12, &gate, &third);
        change(b, 0);
        if (is_held)
            builder_host_write(b, OTHER, 0, written, sizeof written);
        builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, GATE, 1, NULL);
        play_wait_for(b, &third);
        if (!is_held)
            builder_host_write(b, OTHER, 0, written, sizeof written);
        builder_host_read(b, OTHER, 0, is_held ? zeros : written, 8);
        builder_host_read(b, OTHER, 8, zeros, 8);
        const struct replay_report report = run(f);
        expect(&report, 2, 0, is_held);
    }
}

/* The host stored into the page, and a kernel that is to be tried leaves it alone: that is no proof
 * that the recorded one did. */
TEST_ON(a_page_that_the_host_stored_into_decides_nothing, struct play_fixture *f)
{
    for (enum run_as as = OTHER_DATA; as < WITHOUT_BYTES; as++) {
        struct trace_builder *b = start_as(f, as);
        uint8_t after[8];
        memset(after, 9, sizeof after);
        begin(b, 5);
        b->flags = TRACE_FLAG_HOST_PAGE;
        builder_mapped_change(b, SHARED, HALF, zeros, after, sizeof after);
        b->flags = 0;
        builder_host_read(b, SHARED, HALF, after, sizeof after);
        const struct replay_report report = run(f);
        expect(&report, 1, 0, 1);
    }
}

TEST_ON(without_bytes_nothing_of_the_range_is_compared, struct play_fixture *f)
{
    struct trace_builder *b = play_start(f);
    begin(b, 5);
    builder_mapped_change(b, SHARED, 8, NULL, NULL, 16);
    builder_host_read(b, SHARED, 0, zeros, BYTES);
    builder_host_read(b, SHARED, 24, zeros, 8);
    const struct replay_report report = run(f);
    expect(&report, 2, 1, 1); /* [0, 8) is filled */
    assert_int_equal(report.different_bytes, 8);
}

/* Nobody knows whose they were. The same goes for what is computed from them. */
TEST_ON(bytes_without_those_before_are_not_compared, struct play_fixture *f)
{
    struct trace_builder *b = play_start(f);
    const struct trace_semaphore_value first = {DONE, 1}, second = {DONE, 2};
    uint8_t after[8], wrong[8];
    memset(after, 9, sizeof after);
    memset(wrong, 8, sizeof wrong);
    begin(b, 5);
    builder_mapped_change(b, SHARED, 0, NULL, after, sizeof after);
    builder_host_read(b, SHARED, 0, wrong, sizeof wrong);
    builder_command_buffer_create(b, 11, NULL, 0);
    builder_copy(b, SHARED, 0, OTHER, 0, 8);
    builder_end_commands(b, 11);
    play_submit(b, 1, 11, &first, &second);
    builder_host_read(b, OTHER, 0, wrong, sizeof wrong);
    const struct replay_report report = run(f);
    expect(&report, 2, 0, 2);
}

/* The recording saw a word between two fills; one of its bytes is the old one again. */
TEST_ON(a_word_that_the_device_changes_again_is_its_own, struct play_fixture *f)
{
    struct trace_builder *b = play_start(f);
    const uint8_t between[8] = {7, 7, 7, 7, 7, 7, 7, 7}, last[8] = {0, 5, 5, 5, 5, 5, 5, 0};
    const struct trace_semaphore_value first = {DONE, 1}, second = {DONE, 2};
    begin(b, 5);
    builder_command_buffer_create(b, 11, NULL, 0);
    builder_update(b, SHARED, 0, last, sizeof last);
    builder_end_commands(b, 11);
    play_submit(b, 1, 11, &first, &second);
    builder_mapped_change(b, SHARED, 0, zeros, between, sizeof between);
    builder_host_read(b, SHARED, 0, last, sizeof last);
    const struct replay_report report = run(f);
    expect(&report, 1, 0, 0);
}

TEST_SUITE_FIXTURE(play_set_up, play_tear_down);
