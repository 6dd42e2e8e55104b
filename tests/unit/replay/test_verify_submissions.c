/* SPDX-License-Identifier: Apache-2.0 */
/* replay/search/bisect.c, lockstep.c, written.c, as --verify=submissions uses them: all that
 * submissions write is compared behind each, with a second device or with recorded digests. What
 * differs is what the host writes into a buffer that they copy. */
#include "replay/plan/plan.h"
#include "replay/search/bisect.h"
#include "tests/support/folder.h"
#include "tests/support/replay_trace.h"
#include "tests/support/test.h"

enum { TEXT = 1, NUMBERS, A, B, C, D, DONE = 30, COMMANDS = 40, BYTES = 16 };

static const char text[] = "0123456789abcdef";
static const float numbers[4] = {1, 2, 3, 4}, others[4] = {1, 2.5f, 3, 4};

/* As sha256sum has them. */
static const char text_digest[] =
    "\x9f\x9f\x51\x11\xf7\xb2\x7a\x78\x1f\x1f\x1d\xdd\xe5\xeb\xc2\xdd"
    "\x2b\x79\x6b\xfc\x73\x65\xc9\xc2\x8b\x54\x8e\x56\x41\x76\x92\x9f";
static const char numbers_digest[] =
    "\xad\x73\xb9\xac\xd6\xe4\xa7\x4b\x2f\x5b\xb5\x38\x66\x58\xce\x3b"
    "\xb1\x46\xcd\x04\x0a\x18\x67\x64\x6a\xb3\xb9\x73\xfb\x66\x32\xb1";

struct fixture {
    struct test_folder folder;
    struct hal_device *candidate, *reference;
    struct replay_plan *plan;
};

static struct trace_written written(uint64_t buffer, const char *digest)
{
    struct trace_written range = {.buffer = buffer,
                                  .size = BYTES,
                                  .state = digest ? TRACE_WRITTEN_KNOWN : TRACE_WRITTEN_UNSEEN};
    if (digest)
        memcpy(range.digest, digest, sizeof range.digest);
    return range;
}

static void submit(struct trace_builder *b, uint64_t n, const uint64_t copies[2][2])
{
    const struct trace_semaphore_value wait = {DONE, n}, signal = {DONE, n + 1};
    const uint64_t commands = COMMANDS + n;
    builder_command_buffer_create(b, commands, NULL, HAL_ONE_SHOT);
    for (size_t i = 0; i < 2 && copies[i][0]; i++)
        builder_copy(b, copies[i][0], 0, copies[i][1], 0, BYTES);
    builder_end_commands(b, commands);
    builder_submit(b, n, 0, builder_values(&wait, n > 0), VALUES(signal), IDS(commands));
    builder_submission_done(b, n, 0, b->begin_ns, b->begin_ns, b->begin_ns + 1);
}

/* The text goes to 'a' in #s0 and to 'b' in #s1, the numbers to 'c' in #s1 and to 'd' in #s2, of
 * which the trace need not know what came. */
static void load(struct fixture *f, bool knows_all)
{
    static const char *const labels[] = {"text", "numbers", "a", "b", "c", "d"};
    char path[PATH_MAX];
    struct trace_builder b;
    replay_plan_destroy(f->plan);
    builder_open(&b, test_folder_file(&f->folder, "t.pb.zst", path), NULL);
    for (uint64_t id = TEXT; id <= D; id++)
        builder_buffer_create(&b, id, labels[id - TEXT], BYTES);
    builder_host_write(&b, TEXT, 0, text, BYTES);
    builder_host_write(&b, NUMBERS, 0, numbers, BYTES);
    builder_semaphore_create(&b, DONE, "done", 0);
    submit(&b, 0, (const uint64_t[2][2]){{TEXT, A}});
    submit(&b, 1, (const uint64_t[2][2]){{TEXT, B}, {NUMBERS, C}});
    submit(&b, 2, (const uint64_t[2][2]){{NUMBERS, D}});
    builder_semaphore_wait(&b, HAL_WAIT_ALL, &(struct trace_semaphore_value){DONE, 3}, 1,
                           INT64_MAX);
    const struct trace_written outputs[] = {written(A, text_digest), written(B, text_digest),
                                            written(C, numbers_digest),
                                            written(D, knows_all ? numbers_digest : NULL)};
    builder_submission_outputs(&b, 0, 0, &outputs[0], 1);
    builder_submission_outputs(&b, 1, 0, &outputs[1], 2);
    builder_submission_outputs(&b, 2, 0, &outputs[3], 1);
    if (builder_close(&b, NULL) != HAL_OK ||
        replay_plan_load(path, &(struct replay_load_options){0}, &f->plan) != HAL_OK)
        fail_msg("%s", hal_message());
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    *state = f;
    return f && test_folder_make(&f->folder) &&
                   hal_device_open("cpu?threads=1", &f->candidate) == HAL_OK &&
                   hal_device_open("cpu?threads=1", &f->reference) == HAL_OK
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    replay_plan_destroy(f->plan);
    hal_device_release(f->candidate);
    hal_device_release(f->reference);
    test_folder_remove(&f->folder);
    free(f);
    return 0;
}

static const struct replay_buffer_substitute other_numbers = {"numbers", (const uint8_t *)others,
                                                              BYTES};
static const struct replay_type_rule floats[] = {{"c", REPLAY_F32}, {"d", REPLAY_F32}};

static struct replay_bisect_result verify(struct fixture *f, struct hal_device *reference,
                                          struct replay_options options)
{
    static const struct replay_options recorded;
    const struct replay_bisect bisect = {.plan = f->plan,
                                         .candidate = f->candidate,
                                         .reference = reference,
                                         .candidate_options = &options,
                                         .reference_options = &recorded};
    struct replay_bisect_result result;
    if (replay_bisect_run(&bisect, &result) != HAL_OK)
        fail_msg("%s", hal_message());
    return result;
}

/* ---- With a second device ---- */

TEST_ON(everything_written_is_compared, struct fixture *f)
{
    load(f, true);
    const struct replay_bisect_result result = verify(f, f->reference, (struct replay_options){0});
    assert_false(result.found);
    assert_int_equal(result.steps, 3);
    assert_int_equal(result.compared_bytes, 4 * BYTES);
}

TEST_ON(the_first_submission_that_differs_ends_it, struct fixture *f)
{
    load(f, true);
    const struct replay_bisect_result result =
        verify(f, f->reference,
               (struct replay_options){
                   .buffers = &other_numbers, .buffer_count = 1, .types = floats, .type_count = 2});
    assert_true(result.found);
    assert_false(result.narrowed);
    assert_int_equal(result.where.submission, 1);
    assert_int_equal(result.steps, 2);
    assert_int_equal(result.compared_bytes, 3 * BYTES);
    assert_int_equal(result.output_count, 1);
    const struct replay_bisect_range *out = &result.outputs[0];
    assert_string_equal(out->buffer, "buffer 'c'");
    assert_int_equal(out->errors.type, REPLAY_F32);
    assert_int_equal(out->errors.elements, 4);
    assert_int_equal(out->errors.wrong, 1);
    assert_int_equal(out->sample_offset, 4);
    assert_memory_equal(out->expected, &numbers[1], 12);
    assert_memory_equal(out->actual, &others[1], 12);
}

TEST_ON(a_tolerance_is_that_of_each_buffer, struct fixture *f)
{
    static const struct replay_type_rule bytes_in_d[] = {{"c", REPLAY_F32}, {"d", REPLAY_U8}};
    load(f, true);
    struct replay_options options = {.buffers = &other_numbers,
                                     .buffer_count = 1,
                                     .tolerance = {.relative = 0.25},
                                     .types = floats,
                                     .type_count = 2};
    assert_false(verify(f, f->reference, options).found);
    options.types = bytes_in_d; /* 0x00 and 0x20 */
    const struct replay_bisect_result result = verify(f, f->reference, options);
    assert_true(result.found);
    assert_int_equal(result.where.submission, 2);
    options.types = floats;
    options.tolerance.relative = 0.24; /* 0.5 is a quarter of what is expected */
    assert_int_equal(verify(f, f->reference, options).where.submission, 1);
}

/* ---- With recorded digests ---- */

TEST_ON(digests_are_those_of_what_is_there, struct fixture *f)
{
    load(f, true);
    assert_int_equal(f->plan->info.written_ranges, 4);
    assert_int_equal(f->plan->info.written_digests, 4);
    const struct replay_bisect_result result = verify(f, NULL, (struct replay_options){0});
    assert_false(result.found);
    assert_int_equal(result.written_ranges, 4);
    assert_int_equal(result.written_unknown, 0);
    assert_int_equal(result.compared_bytes, 4 * BYTES);
}

TEST_ON(the_first_digest_that_differs_ends_it, struct fixture *f)
{
    load(f, true);
    const struct replay_bisect_result result =
        verify(f, NULL, (struct replay_options){.buffers = &other_numbers, .buffer_count = 1});
    assert_true(result.found);
    assert_int_equal(result.where.submission, 1);
    assert_int_equal(result.written_ranges, 3);
    assert_int_equal(result.output_count, 1);
    assert_true(result.outputs[0].by_digest);
    assert_string_equal(result.outputs[0].buffer, "buffer 'c'");
    assert_memory_equal(result.outputs[0].actual, others, BYTES);
}

/* What the capture did not see, what a tolerance cannot be applied to, and what began with other
 * bytes. */
TEST_ON(what_digests_cannot_tell_is_counted, struct fixture *f)
{
    load(f, false);
    assert_int_equal(f->plan->info.written_digests, 3);
    struct replay_bisect_result result = verify(f, NULL, (struct replay_options){0});
    assert_false(result.found);
    assert_int_equal(result.written_ranges, 3);
    assert_int_equal(result.written_unknown, 1);
    result =
        verify(f, NULL,
               (struct replay_options){
                   .buffers = &other_numbers, .buffer_count = 1, .tolerance = {.absolute = 1}});
    assert_false(result.found);
    assert_int_equal(result.written_ranges, 3);
    assert_int_equal(result.written_unjudged, 1);
    result = verify(f, NULL, (struct replay_options){.fill = 7});
    assert_false(result.found);
    assert_int_equal(result.written_ranges, 0);
    assert_int_equal(result.written_unknown, 4);
}

TEST_SUITE_FIXTURE(set_up, tear_down);
