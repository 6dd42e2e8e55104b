/* SPDX-License-Identifier: Apache-2.0 */
/* format/tool/trim/slice_keep.c: what belongs to work, times of its dispatches, stacks of its
 * commands, calls that a trace cannot hold, stays with it in a trimmed trace, and goes with it. */
#include "tests/support/folder.h"
#include "tests/support/test.h"
#include "tests/support/trace_builder.h"

#include <sys/wait.h>

enum { DONE = 1, KERNELS = 2, COMMANDS = 10, SUBMISSIONS = 3, DISPATCHES = 2 };
enum { LAYOUT = 20, SET = 21, OTHER_LAYOUT = 30, OTHER_SET = 31 };

static struct test_folder folder;
static char path[PATH_MAX];

static void record_stacks(struct trace_builder *b, uint64_t commands)
{
    const uint64_t frame = 0x1000 * commands;
    const uint32_t stack = builder_stack(b, &frame, 1);
    union {
        struct trace_command_stacks record;
        uint8_t bytes[sizeof(struct trace_command_stacks) + 8];
    } all = {.record = {.head = {.kind = TRACE_COMMAND_STACKS, .bytes = sizeof all},
                        .command_buffer = commands,
                        .stack_count = DISPATCHES}};
    for (uint32_t i = 0; i < DISPATCHES; i++)
        all.record.stacks[i] = stack;
    builder_record(b, &all.record.head);
}

static void record_unsupported(struct trace_builder *b, uint64_t commands, enum hal_status status)
{
    const struct trace_unsupported call = {.head = {.kind = TRACE_UNSUPPORTED,
                                                    .bytes = sizeof call,
                                                    .ticket = b->ticket++,
                                                    .status = (uint16_t)status},
                                           .object = commands,
                                           .call = builder_string(b, "hal_odd"),
                                           .message = builder_string(b, "odd")};
    builder_record(b, &call.head);
}

/* A layout of pipelines with a set. */
static void record_layout(struct trace_builder *b, uint64_t layout, uint64_t set)
{
    const struct trace_set_layout_create of_set = {
        .head = {.kind = TRACE_SET_LAYOUT_CREATE, .bytes = sizeof of_set, .ticket = b->ticket++},
        .layout = set};
    const struct {
        struct trace_pipeline_layout_create record;
        uint64_t set;
    } of_pipeline = {.record = {.head = {.kind = TRACE_PIPELINE_LAYOUT_CREATE,
                                         .bytes = sizeof of_pipeline,
                                         .ticket = b->ticket++},
                                .layout = layout,
                                .set_count = 1},
                     .set = set};
    builder_record(b, &of_set.head);
    builder_record(b, &of_pipeline.record.head);
}

/* Each submission has a command buffer of its own, with two dispatches whose stacks and times are
 * known; for those of #s1 there is a call that cannot be replayed, and one that failed, which the
 * health does not count. The kernel has one of two layouts. */
static int write_trace(void **state)
{
    (void)state;
    struct trace_builder b;
    const struct trace_health health = {.unsupported_calls = 1};
    if (!test_folder_make(&folder))
        return -1;
    builder_open(&b, test_folder_file(&folder, "t.pb.zst", path), NULL);
    const struct trace_entry_point point = {
        .name = builder_string(&b, "k"), .group_size = {1, 1, 1}, .layout = LAYOUT};
    record_layout(&b, LAYOUT, SET);
    record_layout(&b, OTHER_LAYOUT, OTHER_SET);
    builder_semaphore_create(&b, DONE, "done", 0);
    builder_executable_create(&b, KERNELS, "kernels", "kernel void k() {}", &point, 1);
    for (uint64_t i = 0; i < SUBMISSIONS; i++) {
        const uint64_t commands = COMMANDS + i;
        const struct trace_semaphore_value wait = {DONE, i}, signal = {DONE, i + 1};
        struct trace_dispatch_time times[DISPATCHES];
        builder_command_buffer_create(&b, commands, NULL, 0);
        for (uint32_t k = 0; k < DISPATCHES; k++) {
            builder_dispatch(&b, KERNELS, 0, 1, 1, 1);
            times[k] = (struct trace_dispatch_time){.command_buffer = 0,
                                                    .dispatch = k,
                                                    .begin_ns = 5000 + (int64_t)(10 * i + k),
                                                    .end_ns = 5001 + (int64_t)(10 * i + k)};
        }
        builder_end_commands(&b, commands);
        record_stacks(&b, commands);
        for (int status = HAL_OK; i == 1 && status <= HAL_INVALID; status += HAL_INVALID)
            record_unsupported(&b, commands, (enum hal_status)status);
        builder_submit(&b, i, 0, VALUES(wait), VALUES(signal), IDS(commands));
        builder_dispatch_times(&b, i, 0, times, DISPATCHES);
        builder_submission_done(&b, i, 0, 5000, 5000, 5100);
    }
    return builder_close(&b, &health) == HAL_OK ? 0 : -1;
}

static int remove_all(void **state)
{
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

/* What is left when only one submission is wanted. */
struct left {
    unsigned times, stacks, unsupported, failed, seals, layouts, sets;
    uint64_t counted; /* by the health */
};

static enum hal_status look(void *user, const struct trace_event *event,
                            const struct trace_segment *segments)
{
    struct left *left = user;
    (void)segments;
    left->times += event->kind == TRACE_DISPATCH_TIMES;
    left->stacks += event->kind == TRACE_COMMAND_STACKS;
    left->seals += event->kind == TRACE_COMMAND_BUFFER_SEAL;
    if (event->kind == TRACE_PIPELINE_LAYOUT_CREATE) {
        const struct trace_pipeline_layout_create *layout = (const void *)event;
        left->layouts += layout->layout == LAYOUT ? 1 : 100;
    }
    if (event->kind == TRACE_SET_LAYOUT_CREATE) {
        const struct trace_set_layout_create *set = (const void *)event;
        left->sets += set->layout == SET ? 1 : 100;
    }
    if (event->kind == TRACE_UNSUPPORTED)
        *(event->status == HAL_OK ? &left->unsupported : &left->failed) += 1;
    return HAL_OK;
}

static struct left trim(unsigned submission)
{
    char command[4 * PATH_MAX], trimmed[PATH_MAX];
    struct trace_reader *reader;
    struct left left = {0};
    test_folder_file(&folder, "part.pb.zst", trimmed);
    snprintf(command, sizeof command,
             "cd %s && PATH=%s:$PATH && exec >/dev/null && hal-trace trim -f -o part.pb.zst "
             "--submissions=%u t.pb.zst && hal-trace verify part.pb.zst",
             folder.path, HAL_TRACE_FOLDER, submission);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
    assert_int_equal(trace_reader_open(trimmed, &reader), HAL_OK);
    assert_int_equal(trace_reader_each(reader, look, &left), HAL_OK);
    left.counted = trace_reader_health(reader)->unsupported_calls;
    trace_reader_close(reader);
    return left;
}

TEST(times_and_stacks_stay_with_their_work)
{
    for (unsigned i = 0; i < SUBMISSIONS; i++) {
        const struct left left = trim(i);
        assert_int_equal(left.seals, 1);
        assert_int_equal(left.times, 1);
        assert_int_equal(left.stacks, 1);
    }
}

TEST(calls_without_replay_count_where_they_are)
{
    for (unsigned i = 0; i < SUBMISSIONS; i++) {
        const struct left left = trim(i);
        assert_int_equal(left.unsupported, i == 1);
        assert_int_equal(left.counted, i == 1);
        assert_int_equal(left.failed, 0); /* it left nothing that work could use */
    }
}

TEST(layouts_stay_with_their_kernels)
{
    const struct left left = trim(0);
    assert_int_equal(left.layouts, 1);
    assert_int_equal(left.sets, 1);
}

TEST_SUITE_FIXTURE(write_trace, remove_all);
