/* SPDX-License-Identifier: Apache-2.0 */
/* replay/search/bisect.c, serialized.c, lockstep.c, repro.c, written.c: a wrong kernel at random
 * places of random traces is found each time, and reproduced by a trace of that command alone. */
#include "replay/cli/report_parts.h"
#include "replay/plan/frames.h"
#include "replay/search/bisect.h"
#include "replay/variant/serialized.h"
#include "tests/support/folder.h"
#include "tests/support/hal_fixture.h"
#include "tests/support/replay_trace.h"
#include "tests/support/test.h"

#include <inttypes.h>

/* Ids. */
enum { PLANT = 9, BUFFERS = 10, KERNEL = 20, DONE = 30, GATE = 31, COMMANDS = 1000 };
enum { BUFFER_COUNT = 4, BUFFER_BYTES = 256, PLANTINGS = 50 };

/* Both count dispatches by `n`. The wrong one errs in the dispatch that the buffer 'plant' names.
 */
static const char right[] =
    "kernel void mix(device uint *out [[buffer(0)]], device const uint *in [[buffer(1)]],\n"
    "                device const uint *plant [[buffer(2)]], constant uint &n [[buffer(3)]],\n"
    "                uint i [[thread_position_in_grid]])\n"
    "{ out[i] = out[i] * 3 + in[63 - i] + n + (plant[0] & 0); }\n";
static const char wrong[] =
    "kernel void mix(device uint *out [[buffer(0)]], device const uint *in [[buffer(1)]],\n"
    "                device const uint *plant [[buffer(2)]], constant uint &n [[buffer(3)]],\n"
    "                uint i [[thread_position_in_grid]])\n"
    "{ out[i] = out[i] * 3 + in[63 - i] + n; if (n == plant[0] && i == 17) out[i] ^= 4; }\n";

struct fixture {
    struct test_folder folder;
    char path[PATH_MAX], minimal[PATH_MAX], recorded[PATH_MAX];
    struct hal_device *candidate, *reference;
    struct trace_builder b;
    uint64_t random;
    struct hal_locator places[512]; /* of dispatch n */
    uint32_t dispatches;
};

static uint32_t choose(struct fixture *f, uint32_t below)
{
    f->random = f->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(f->random >> 33) % below;
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    *state = f;
    if (!f || !test_folder_make(&f->folder))
        return -1;
    test_folder_file(&f->folder, "t.pb.zst", f->path);
    test_folder_file(&f->folder, "minimal.pb.zst", f->minimal);
    test_folder_file(&f->folder, "recorded.pb.zst", f->recorded);
    return hal_device_open("cpu?threads=2&queues=2", &f->candidate) == HAL_OK &&
                   hal_device_open("cpu?threads=1&queues=2", &f->reference) == HAL_OK
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    hal_device_release(f->candidate);
    hal_device_release(f->reference);
    test_folder_remove(&f->folder);
    free(f);
    return 0;
}

/* ---- Random traces ---- */

static void add_dispatch(struct fixture *f, uint64_t submission, uint32_t *in_submission)
{
    struct trace_builder *b = &f->b;
    const uint32_t n = f->dispatches++;
    const uint32_t out = choose(f, BUFFER_COUNT);
    const uint32_t in = (out + 1 + choose(f, BUFFER_COUNT - 1)) % BUFFER_COUNT;
    const struct trace_binding bindings[3] = {
        {BUFFERS + out, 0, BUFFER_BYTES}, {BUFFERS + in, 0, BUFFER_BYTES}, {PLANT, 0, 64}};
    builder_push_descriptor_set(b, 0, bindings, 3);
    builder_push_constants(b, 0, &n, sizeof n);
    builder_dispatch(b, KERNEL, 0, 1, 1, 1);
    f->places[n] = (struct hal_locator){submission, true, (*in_submission)++};
}

static void add_commands(struct fixture *f, uint64_t id, uint64_t submission,
                         uint32_t *in_submission)
{
    struct trace_builder *b = &f->b;
    builder_command_buffer_create(b, id, "some commands", HAL_ONE_SHOT);
    for (uint32_t i = 1 + choose(f, 5); i > 0; i--) {
        const uint64_t from = BUFFERS + choose(f, BUFFER_COUNT);
        const uint64_t to = BUFFERS + choose(f, BUFFER_COUNT);
        switch (choose(f, 5)) {
        case 0: builder_fill(b, to, 4 * choose(f, 32), 64, choose(f, 256), 1); break;
        case 1: builder_copy(b, from, 0, to, 128, 64); break;
        default: add_dispatch(f, submission, in_submission); break;
        }
        builder_barrier(b, NULL, 0);
    }
    builder_end_commands(b, id);
}

/* Submission n signals DONE at n + 1 and waits for n; some come before the host opens the gate. */
static void build(struct fixture *f, uint64_t seed)
{
    struct trace_builder *b = &f->b;
    uint32_t words[64];
    f->random = seed;
    f->dispatches = 0;
    builder_open(b, f->path, NULL);
    const struct trace_entry_point point = {.name = builder_string(b, "mix"),
                                            .group_size = {64, 1, 1},
                                            .constant_bytes = 4,
                                            .constants_slot = 3};
    for (uint32_t i = 0; i < 64; i++)
        words[i] = choose(f, 1000);
    words[0] = UINT32_MAX; /* no dispatch */
    builder_buffer_create(b, PLANT, "plant", BUFFER_BYTES);
    builder_host_write(b, PLANT, 0, words, sizeof words);
    for (uint64_t i = 0; i < BUFFER_COUNT; i++) {
        builder_buffer_create(b, BUFFERS + i, i ? NULL : "first", BUFFER_BYTES);
        builder_host_write(b, BUFFERS + i, 0, words, sizeof words);
    }
    static const struct trace_entry_binding takes[] = {{0, 0, 0, 3}, {0, 0, 1, 1}, {0, 0, 2, 1}};
    b->executable = (struct builder_executable){.bindings = takes, .binding_count = 3};
    builder_executable_create(b, KERNEL, NULL, right, &point, 1);
    builder_semaphore_create(b, DONE, "done", 0);
    builder_semaphore_create(b, GATE, "gate", 0);
    const uint64_t submissions = 2 + choose(f, 5), gated = choose(f, (uint32_t)submissions);
    uint64_t commands = COMMANDS;
    for (uint64_t n = 0; n < submissions; n++) {
        const struct trace_semaphore_value waits[2] = {{DONE, n}, {GATE, 1}};
        const struct trace_semaphore_value signal = {DONE, n + 1};
        const uint64_t list[2] = {commands, commands + 1};
        const uint32_t count = 1 + choose(f, 2);
        uint32_t in_submission = 0;
        for (uint32_t i = 0; i < count; i++)
            add_commands(f, commands++, n, &in_submission);
        builder_submit(b, n, (uint32_t)n % 2, builder_values(waits, n == gated ? 2 : 1),
                       VALUES(signal), builder_ids(list, count));
        for (uint32_t i = 0; i < count; i++)
            builder_destroy(b, TRACE_COMMAND_BUFFER_DESTROY, list[i]);
    }
    builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, GATE, 1, NULL);
    builder_semaphore_wait(b, HAL_WAIT_ALL, &(struct trace_semaphore_value){DONE, submissions}, 1,
                           INT64_MAX);
    for (uint64_t n = 0; n < submissions; n++)
        builder_submission_done(b, n, (uint32_t)n % 2, b->begin_ns, b->begin_ns, b->begin_ns + 1);
    if (builder_close(b, NULL) != HAL_OK)
        fail_msg("%s", hal_message());
}

static struct replay_plan *load(const char *path)
{
    struct replay_plan *plan;
    if (replay_plan_load(path, &(struct replay_load_options){0}, &plan) != HAL_OK)
        fail_msg("%s", hal_message());
    return plan;
}

/* What a whole replay on the candidate says. */
static struct replay_report play(struct fixture *f, const char *path)
{
    struct replay_plan *plan = load(path);
    struct replay_player *player;
    struct replay_report report;
    if (replay_player_create(plan, f->candidate, &(struct replay_options){0}, &player) != HAL_OK ||
        replay_player_run(player, &report) != HAL_OK)
        fail_msg("%s", hal_message());
    replay_player_destroy(player);
    replay_plan_destroy(plan);
    return report;
}

/* The trace's work once more, under a capture that keeps digests of what each submission writes. Of
 * a new device, whose submissions have the trace's numbers. */
static void record_digests(struct fixture *f)
{
    const struct hal_profiling_options options = {
        .file = f->recorded, .force = true, .outputs = "all", .stacks = "none"};
    struct hal_device *device;
    struct replay_player *player;
    struct replay_report report;
    struct replay_plan *plan = load(f->path);
    if (hal_device_open("cpu?threads=2&queues=2", &device) != HAL_OK ||
        hal_device_profiling_begin(device, &options, HAL_FOREVER) != HAL_OK ||
        replay_player_create(plan, device, &(struct replay_options){0}, &player) != HAL_OK ||
        replay_player_run(player, &report) != HAL_OK || hal_device_profiling_end(device) != HAL_OK)
        fail_msg("%s", hal_message());
    replay_player_destroy(player);
    replay_plan_destroy(plan);
    hal_device_release(device);
}

/* Without a second device the submission is known, and that some of its commands may be wrong. */
static void expect_by_digest(struct fixture *f, const struct replay_options *options,
                             uint64_t submission)
{
    record_digests(f);
    struct replay_plan *plan = load(f->recorded);
    const struct replay_bisect bisect = {.plan = plan,
                                         .candidate = f->candidate,
                                         .candidate_options = options,
                                         .reference_options = options,
                                         .narrow = true};
    struct replay_bisect_result result;
    if (replay_bisect_run(&bisect, &result) != HAL_OK)
        fail_msg("%s", hal_message());
    assert_true(result.found);
    assert_int_equal(result.where.submission, submission);
    assert_true(result.outputs[0].by_digest);
    assert_true(result.writers > 0);
    assert_int_equal(result.written_unknown, 0);
    replay_plan_destroy(plan);
}

TEST_ON(a_wrong_kernel_is_found_wherever_it_is, struct fixture *f)
{
    const struct replay_substitute substitute = {"mix", HAL_FORMAT_MSL, (const uint8_t *)wrong,
                                                 sizeof wrong - 1};
    uint64_t seed = 1;
    fixture_need_compiler(f->candidate);
    for (int planting = 0; planting < PLANTINGS; planting++) {
        uint32_t words[64] = {0};
        struct replay_bisect_result result;
        do
            build(f, seed++);
        while (f->dispatches == 0);
        const uint32_t planted = words[0] = choose(f, f->dispatches);
        const struct replay_buffer_substitute plant = {"pl*t", (const uint8_t *)words,
                                                       sizeof words};
        const struct replay_options options = {.substitutes = &substitute,
                                               .substitute_count = 1,
                                               .buffers = &plant,
                                               .buffer_count = 1};
        const uint32_t none[64] = {UINT32_MAX};
        const struct replay_buffer_substitute nothing = {"plant", (const uint8_t *)none,
                                                         sizeof none};
        const struct replay_options reference_options = {.buffers = &nothing, .buffer_count = 1};
        struct replay_plan *plan = load(f->path);
        remove(f->minimal);
        const struct replay_bisect bisect = {.plan = plan,
                                             .candidate = f->candidate,
                                             .reference = f->reference,
                                             .candidate_options = &options,
                                             .reference_options = &reference_options,
                                             .narrow = true,
                                             .minimal = f->minimal};
        if (replay_bisect_run(&bisect, &result) != HAL_OK)
            fail_msg("seed %" PRIu64 ": %s", seed - 1, hal_message());
        char found[HAL_LOCATOR_BYTES], wanted[HAL_LOCATOR_BYTES];
        hal_locator_print(&result.where, found);
        hal_locator_print(&f->places[planted], wanted);
        if (!result.found || !result.narrowed)
            fail_msg("seed %" PRIu64 ": %s was not found", seed - 1, wanted);
        if (strcmp(found, wanted) != 0)
            fail_msg("seed %" PRIu64 ": found %s, planted at %s", seed - 1, found, wanted);
        assert_string_equal(result.label, "some commands");
        assert_non_null(strstr(result.what, "dispatch of 'mix'"));
        assert_int_equal(result.output_count, 1);
        assert_int_equal(result.input_count, 3);
        assert_int_equal(result.outputs[0].sample_offset, 17 * 4);
        assert_int_equal(result.outputs[0].expected[0] ^ result.outputs[0].actual[0], 4);
        assert_true(result.wrote_repro);
        const struct replay_report report = play(f, f->minimal);
        assert_true(report.different_reads > 0);
        assert_int_equal(report.first.different_bytes, 1);
        assert_int_equal(report.first.offset, 17 * 4);
        replay_plan_destroy(plan);
        expect_by_digest(f, &options, f->places[planted].submission);
    }
    print_message("%d plantings, seeds 1 to %" PRIu64 "\n", PLANTINGS, seed - 1);
}

TEST_ON(what_is_the_same_is_not_found, struct fixture *f)
{
    fixture_need_compiler(f->candidate);
    build(f, 77);
    struct replay_plan *plan = load(f->path);
    struct replay_bisect_result result;
    const struct replay_options options = {0};
    const struct replay_bisect bisect = {.plan = plan,
                                         .candidate = f->candidate,
                                         .reference = f->reference,
                                         .candidate_options = &options,
                                         .reference_options = &options,
                                         .narrow = true,
                                         .minimal = f->minimal};
    remove(f->minimal);
    if (replay_bisect_run(&bisect, &result) != HAL_OK)
        fail_msg("%s", hal_message());
    assert_false(result.found);
    assert_true(result.compared_bytes > 0);
    assert_int_equal(result.steps, plan->info.submissions);
    FILE *file = fopen(f->minimal, "r");
    assert_null(file);
    replay_plan_destroy(plan);
}

/* ---- Bytes that nobody wrote ---- */

/* Half of 'first' is written; `reads_all`: the kernel mixes the other half as well, else it is
 * copied; the host reads `bytes` of what was copied. */
static void build_unwritten(struct fixture *f, bool reads_all, uint64_t bytes)
{
    struct trace_builder *b = &f->b;
    const uint32_t n = 7, zeros[64] = {0};
    const uint64_t commands = COMMANDS;
    const struct trace_semaphore_value done = {DONE, 1};
    const struct trace_entry_binding takes[] = {{0, 0, 0, 3}, {0, 0, 1, 1}, {0, 0, 2, 1}};
    builder_open(b, f->path, NULL);
    const struct trace_entry_point point = {.name = builder_string(b, "mix"),
                                            .group_size = {64, 1, 1},
                                            .constant_bytes = 4,
                                            .constants_slot = 3};
    builder_buffer_create(b, PLANT, "plant", BUFFER_BYTES);
    for (uint64_t i = 0; i < 3; i++)
        builder_buffer_create(b, BUFFERS + i, i ? "other" : "first", BUFFER_BYTES);
    builder_host_write(b, PLANT, 0, zeros, sizeof zeros);
    builder_host_write(b, BUFFERS, 0, zeros, 128);
    builder_host_write(b, BUFFERS + 1, 0, zeros, sizeof zeros);
    b->executable = (struct builder_executable){.bindings = takes, .binding_count = 3};
    builder_executable_create(b, KERNEL, NULL, right, &point, 1);
    builder_semaphore_create(b, DONE, "done", 0);
    builder_command_buffer_create(b, commands, NULL, HAL_ONE_SHOT);
    builder_copy(b, BUFFERS, 0, BUFFERS + 2, 0, 256);
    builder_barrier(b, NULL, 0);
    if (reads_all) {
        const struct trace_binding bindings[3] = {
            {BUFFERS + 1, 0, BUFFER_BYTES}, {BUFFERS, 0, BUFFER_BYTES}, {PLANT, 0, 64}};
        builder_push_descriptor_set(b, 0, bindings, 3);
        builder_push_constants(b, 0, &n, sizeof n);
        builder_dispatch(b, KERNEL, 0, 1, 1, 1);
    }
    builder_end_commands(b, commands);
    builder_submit(b, 4, 0, NO_VALUES, VALUES(done), IDS(commands));
    builder_submission_done(b, 4, 0, b->begin_ns, b->begin_ns, b->begin_ns + 1);
    builder_semaphore_wait(b, HAL_WAIT_ALL, &done, 1, INT64_MAX);
    builder_host_read(b, BUFFERS + 2, 0, zeros, bytes);
    if (builder_close(b, NULL) != HAL_OK)
        fail_msg("%s", hal_message());
}

static struct replay_bisect_result find_unwritten(struct fixture *f)
{
    const struct replay_options zeros = {0}, ones = {.fill = 0xff};
    struct replay_plan *plan = load(f->path);
    struct replay_bisect_result result;
    const struct replay_bisect bisect = {.plan = plan,
                                         .candidate = f->candidate,
                                         .reference = f->reference,
                                         .candidate_options = &zeros,
                                         .reference_options = &ones,
                                         .unwritten = true,
                                         .narrow = true};
    if (replay_bisect_run(&bisect, &result) != HAL_OK)
        fail_msg("%s", hal_message());
    replay_plan_destroy(plan);
    return result;
}

TEST_ON(who_reads_what_nobody_wrote_is_found, struct fixture *f)
{
    fixture_need_compiler(f->candidate);
    build_unwritten(f, true, 64);
    struct replay_bisect_result result = find_unwritten(f);
    assert_true(result.found && result.narrowed);
    assert_int_equal(result.where.submission, 4);
    assert_true(result.where.has_dispatch);
    assert_int_equal(result.outputs[0].errors.wrong,
                     32);          /* the low byte of out[0] to out[31]: 7 and 6 */
    build_unwritten(f, false, 64); /* copied, and not looked at */
    assert_false(find_unwritten(f).found);
    build_unwritten(f, false, 132); /* four bytes reach the host */
    result = find_unwritten(f);
    assert_true(result.found && result.read_back);
    assert_string_equal(result.what, "the host reads buffer 'other' at offset 128");
}

/* ---- Serial plans ---- */

/* Every submission becomes a step, in an order in which its waits are met; a place to stop cuts. */
TEST_ON(steps_stand_behind_what_can_run, struct fixture *f)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        build(f, seed);
        struct replay_plan *plan = load(f->path);
        struct replay_serialized serialized;
        if (replay_serialized_make(plan, &(struct replay_serialized_options){0}, &serialized) !=
            HAL_OK)
            fail_msg("%s", hal_message());
        assert_int_equal(serialized.step_count, plan->info.submissions);
        assert_int_equal(serialized.left_over, 0);
        for (size_t i = 0; i < serialized.step_count; i++)
            assert_int_equal(serialized.steps[i].submit->submission, i);
        replay_serialized_finish(&serialized);
        if (replay_serialized_make(plan,
                                   &(struct replay_serialized_options){.split = REPLAY_SPLIT_ALL},
                                   &serialized) != HAL_OK)
            fail_msg("%s", hal_message());
        size_t dispatches = 0;
        for (size_t i = 0; i < serialized.step_count; i++)
            dispatches += trace_is_dispatch(serialized.steps[i].work->kind);
        assert_int_equal(dispatches, f->dispatches);
        replay_serialized_finish(&serialized);
        if (f->dispatches) {
            const uint32_t last = choose(f, f->dispatches);
            const struct replay_serialized_options stop = {
                .split = REPLAY_SPLIT_ALL, .has_stop = true, .stop = f->places[last]};
            if (replay_serialized_make(plan, &stop, &serialized) != HAL_OK)
                fail_msg("%s", hal_message());
            const struct replay_step *step = &serialized.steps[serialized.step_count - 1];
            assert_int_equal(step->submit->submission, f->places[last].submission);
            assert_int_equal(step->dispatch, f->places[last].dispatch);
            replay_serialized_finish(&serialized);
        }
        replay_plan_destroy(plan);
    }
}

/* One by one, the submission comes when the host has set 5 already, in place of ending after it. */
TEST_ON(what_the_host_overtook_fails_as_it_did, struct fixture *f)
{
    struct trace_builder *b = &f->b;
    const struct trace_semaphore_value gate = {1, 1}, signals[] = {{2, 2}, {3, 1}}, six = {2, 6};
    static const uint8_t nines[] = {9, 9, 9, 9};
    struct replay_bisect_result result;
    builder_open(b, f->path, NULL);
    builder_semaphore_create(b, 1, "gate", 0);
    builder_semaphore_create(b, 2, "overtaken", 0);
    builder_semaphore_create(b, 3, "done", 0);
    builder_buffer_create(b, 4, "filled", 16);
    builder_command_buffer_create(b, 5, NULL, HAL_ONE_SHOT);
    builder_fill(b, 4, 0, 16, 9, 1);
    builder_end_commands(b, 5);
    builder_submit(b, 0, 0, VALUES(gate), builder_values(signals, 2), IDS(5));
    builder_submission_done(b, 0, 0, 10, 10, 20);
    builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, 2, 5, NULL);
    builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, 1, 1, NULL);
    builder_semaphore_wait(b, 0, &signals[1], 1, INT64_MAX);
    b->status = HAL_INVALID;
    builder_semaphore_wait(b, 0, &six, 1, INT64_MAX);
    b->status = HAL_OK;
    builder_host_read(b, 4, 0, nines, sizeof nines);
    assert_int_equal(builder_close(b, NULL), HAL_OK);
    struct replay_plan *plan = load(f->path);
    const struct replay_options options = {0};
    for (int narrow = 0; narrow < 2; narrow++) {
        const struct replay_bisect bisect = {.plan = plan,
                                             .candidate = f->candidate,
                                             .candidate_options = &options,
                                             .reference_options = &options,
                                             .narrow = narrow != 0};
        if (replay_bisect_run(&bisect, &result) != HAL_OK)
            fail_msg("%s", hal_message());
        assert_false(result.found);
        assert_int_equal(result.compared_bytes, sizeof nines);
        assert_int_equal(result.report.different_outcomes, 0);
    }
    replay_plan_destroy(plan);
}

/* What a report says, as text. */
static void print(const struct replay_bisect_result *result, char *out, size_t bytes)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    replay_print_bisect(file, result, "the recording", NULL);
    rewind(file);
    out[fread(out, 1, bytes - 1, file)] = '\0';
    fclose(file);
}

/* Two fills, and the host read what the one had written that a replay runs first. */
static struct replay_bisect_result find_in_fills(struct fixture *f, bool ordered)
{
    struct trace_builder *b = &f->b;
    const struct trace_semaphore_value done[2] = {{1, 1}, {2, 1}};
    static const uint8_t ones[] = {1, 1, 1, 1};
    struct replay_bisect_result result;
    builder_open(b, f->path, NULL);
    builder_semaphore_create(b, 1, "first", 0);
    builder_semaphore_create(b, 2, "second", 0);
    builder_buffer_create(b, 4, "filled", 16);
    for (uint64_t n = 0; n < 2; n++) {
        builder_command_buffer_create(b, 5 + n, NULL, HAL_ONE_SHOT);
        builder_fill(b, 4, 0, 16, (uint32_t)n + 1, 1);
        builder_end_commands(b, 5 + n);
        builder_submit(b, n, (uint32_t)n, builder_values(done, ordered && n), VALUES(done[n]),
                       IDS(5 + n));
        builder_submission_done(b, n, (uint32_t)n, 10, 10, 20);
    }
    builder_semaphore_wait(b, 0, done, 2, INT64_MAX);
    builder_host_read(b, 4, 0, ones, sizeof ones);
    assert_int_equal(builder_close(b, NULL), HAL_OK);
    struct replay_plan *plan = load(f->path);
    const struct replay_options options = {0};
    const struct replay_bisect bisect = {.plan = plan,
                                         .candidate = f->candidate,
                                         .candidate_options = &options,
                                         .reference_options = &options,
                                         .narrow = true};
    if (replay_bisect_run(&bisect, &result) != HAL_OK)
        fail_msg("%s", hal_message());
    assert_true(result.found);
    assert_int_equal(result.where.submission, 1);
    replay_plan_destroy(plan);
    return result;
}

TEST_ON(a_race_is_named_before_the_suspect, struct fixture *f)
{
    char text[4096];
    struct replay_bisect_result result = find_in_fills(f, false);
    assert_int_equal(result.race_count, 1);
    assert_string_equal(result.races[0].buffer, "buffer 'filled'");
    print(&result, text, sizeof text);
    const char *race =
        strstr(text, "race: #s0 (fill, command 0 of command buffer 0) and #s1 (fill, "
                     "command 0 of command buffer 0) access buffer 'filled' [0, +16)");
    assert_ptr_equal(race, text);
    assert_non_null(strstr(text, "\nfirst difference from the recording: "));
    result = find_in_fills(f, true);
    assert_int_equal(result.race_count, 0);
    print(&result, text, sizeof text);
    assert_null(strstr(text, "race"));
}

TEST_ON(places_that_are_not_there_are_named, struct fixture *f)
{
    struct replay_serialized serialized;
    build(f, 5);
    struct replay_plan *plan = load(f->path);
    assert_int_equal(
        replay_serialized_make(
            plan, &(struct replay_serialized_options){.has_stop = true, .stop = {99, false, 0}},
            &serialized),
        HAL_NOT_FOUND);
    assert_non_null(strstr(hal_message(), "executes no submission #s99: it executes #s0 to #s"));
    assert_int_equal(replay_serialized_make(
                         plan,
                         &(struct replay_serialized_options){
                             .split = REPLAY_SPLIT_ALL, .has_stop = true, .stop = {0, true, 999}},
                         &serialized),
                     HAL_NOT_FOUND);
    assert_non_null(strstr(hal_message(), "submission #s0 has no dispatch d999: it has "));
    replay_plan_destroy(plan);
}

/* The parent of a sandbox reads no other file that a trace names. */
TEST(system_files_lie_in_folders_of_the_system)
{
    static const char *const in[] = {"/usr/lib/x86_64-linux-gnu/libc.so.6", "/lib/libc.so",
                                     "/lib64/ld-linux-x86-64.so.2", "/lib32/libc.so.6"};
    static const char *const out[] = {"/library/secret",
                                      "/lib",
                                      "/lib.so",
                                      "/usr",
                                      "/usr/../home/me/key",
                                      "/lib/../etc/shadow",
                                      "lib/libc.so",
                                      "",
                                      "/home/me/lib/libc.so"};
    for (size_t i = 0; i < sizeof in / sizeof *in; i++)
        assert_true(replay_is_system_file(in[i]));
    for (size_t i = 0; i < sizeof out / sizeof *out; i++)
        assert_false(replay_is_system_file(out[i]));
}

TEST(steps_that_agree_do_not_decide_doubtful_bytes)
{
    struct replay_bisect_result result = {.compared_bytes = 64};
    assert_int_equal(replay_bisect_exit_code(&result, true), REPLAY_EXIT_SAME);
    result.report.doubtful_reads = 1;
    assert_int_equal(replay_bisect_exit_code(&result, true), REPLAY_EXIT_INCOMPARABLE);
    assert_int_equal(replay_bisect_exit_code(&result, false), REPLAY_EXIT_SAME);
    result.report.unwritten_reads = 1;
    assert_int_equal(replay_bisect_exit_code(&result, false), REPLAY_EXIT_INCOMPARABLE);
    result.found = true;
    assert_int_equal(replay_bisect_exit_code(&result, true), REPLAY_EXIT_DIFFERENT);
    result = (struct replay_bisect_result){.compared_bytes = 0};
    assert_int_equal(replay_bisect_exit_code(&result, false), REPLAY_EXIT_INCOMPARABLE);
}

TEST_SUITE_FIXTURE(set_up, tear_down);
