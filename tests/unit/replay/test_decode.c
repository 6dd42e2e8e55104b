/* SPDX-License-Identifier: Apache-2.0 */
/* replay/plan/decode.c, decode_queues.c, decode_segments.c: a good trace in which one field says
 * something impossible is refused, with a message that names the event and what is wrong. */
#include "replay/replay.h"
#include "tests/support/folder.h"
#include "tests/support/replay_trace.h"
#include "tests/support/test.h"

/* ---- One wrong field ----------------------------------------------------------------------- */

struct wrong {
    uint16_t event;   /* kind */
    uint16_t segment; /* kind; 0: the event's own field */
    int skip;         /* this many of that kind before */
    size_t offset, bytes;
    uint64_t value;
    const char *where, *what; /* parts of the message */
};

#define FIELD(type, field) offsetof(struct type, field), sizeof(((struct type *)NULL)->field)
#define SUBMIT_VALUE(index, field)                                                                 \
    sizeof(struct trace_submit) + (index) * sizeof(struct trace_semaphore_value) +                 \
        offsetof(struct trace_semaphore_value, field),                                             \
        8
/* #s0 has one wait and one signal before its command buffers. */
#define SUBMIT_COMMANDS(index)                                                                     \
    sizeof(struct trace_submit) + 2 * sizeof(struct trace_semaphore_value) + 8 * (index), 8
#define EXECUTABLE_POINT(field)                                                                    \
    sizeof(struct trace_executable_create) + offsetof(struct trace_entry_point, field), 4
#define BARRIER_BUFFER(field)                                                                      \
    sizeof(struct trace_barrier) + offsetof(struct trace_buffer_barrier, field)
#define BINDING(field)                                                                             \
    sizeof(struct trace_push_descriptor_set) + offsetof(struct trace_binding, field), 8

/* clang-format off */
static const struct wrong wrongs[] = {
    {TRACE_BUFFER_CREATE, 0, 0, FIELD(trace_buffer_create, buffer), 0, "buffer_create (ticket 1)", "no id"},
    {TRACE_BUFFER_CREATE, 0, 1, FIELD(trace_buffer_create, buffer), EVERY_A, "buffer_create (ticket 2)", "created twice"},
    {TRACE_BUFFER_CREATE, 0, 0, FIELD(trace_buffer_create, size), 0, "buffer_create", "0 bytes"},
    {TRACE_BUFFER_CREATE, 0, 0, FIELD(trace_buffer_create, memory), 16, "buffer_create", "memory type 0x10"},
    {TRACE_BUFFER_CREATE, 0, 0, FIELD(trace_buffer_create, usage), 8, "buffer_create", "usage 0x8"},
    {TRACE_EXECUTABLE_CREATE, 0, 0, FIELD(trace_executable_create, format), 4, "executable_create", "format 4"},
    {TRACE_EXECUTABLE_CREATE, 0, 0, FIELD(trace_executable_create, size), 5, "executable_create", "not 5"},
    {TRACE_EXECUTABLE_CREATE, 0, 0, EXECUTABLE_POINT(name), 0, "executable_create", "no name"},
    {TRACE_EXECUTABLE_CREATE, 0, 0, EXECUTABLE_POINT(group_size[1]), 0, "executable_create", "0 threads"},
    {TRACE_EXECUTABLE_CREATE, 0, 0, EXECUTABLE_POINT(constant_bytes), 5000, "executable_create", "5000 bytes of constants"},
    {TRACE_SEMAPHORE_CREATE, 0, 0, FIELD(trace_semaphore_create, initial_value), UINT64_MAX, "semaphore_create", "reserved"},
    {TRACE_SEMAPHORE_CREATE, 0, 0, FIELD(trace_semaphore_create, semaphore), EVERY_B, "semaphore_create", "created twice"},
    {TRACE_HOST_WRITE, 0, 0, FIELD(trace_content_event, buffer), 99, "host_write", "buffer 99 does not exist"},
    {TRACE_HOST_WRITE, 0, 0, FIELD(trace_content_event, buffer), EVERY_DONE, "host_write", "semaphore 'done' is no buffer"},
    {TRACE_HOST_WRITE, 0, 0, FIELD(trace_content_event, offset), 1, "host_write", "exceed buffer 'a', which has 64"},
    {TRACE_HOST_WRITE, 0, 0, FIELD(trace_content_event, offset), UINT64_MAX, "host_write", "exceed buffer 'a'"},
    {TRACE_HOST_WRITE, 0, 0, FIELD(trace_content_event, size), 63, "host_write", "has 64 bytes, not 63"},
    {TRACE_HOST_WRITE, 0, 0, FIELD(trace_content_event, content), 0, "host_write", "does not hold the 64 bytes"},
    {TRACE_HOST_READ, 0, 0, FIELD(trace_content_event, size), 65, "host_read", "exceed buffer 'b'"},
    {TRACE_HOST_READ, 0, 1, FIELD(trace_content_event, size), 39, "host_read", "not 39"},
    {TRACE_HOST_READ, 0, 0, FIELD(trace_content_event, buffer), EVERY_ONCE, "host_read", "command buffer 'once' is no buffer"},
    {TRACE_BUFFER_MAP, 0, 0, FIELD(trace_mapping_event, size), 65, "buffer_map", "exceed buffer 'b'"},
    {TRACE_BUFFER_UNMAP, 0, 0, FIELD(trace_mapping_event, buffer), 1, "buffer_unmap", "does not exist"},
    {TRACE_COMMAND_BUFFER_CREATE, 0, 0, FIELD(trace_command_buffer_create, mode), 2, "command_buffer_create", "mode 2"},
    {TRACE_COMMAND_BUFFER_CREATE, 0, 0, FIELD(trace_command_buffer_create, categories), 4, "command_buffer_create", "categories 0x4"},
    {TRACE_COMMAND_BUFFER_CREATE, 0, 0, FIELD(trace_command_buffer_create, categories), 0x80000001, "command_buffer_create", "categories 0x80000001"},
    {TRACE_COMMAND_BUFFER_SEAL, 0, 1, FIELD(trace_command_buffer_seal, command_buffer), EVERY_ONCE, "command_buffer_seal", "'once' has been ended already"},
    {TRACE_COMMAND_BUFFER_SEAL, 0, 0, FIELD(trace_command_buffer_seal, command_buffer), EVERY_AGAIN, "command_buffer_seal", "command buffer 41 does not exist"},
    {TRACE_COMMAND_BUFFER_DESTROY, 0, 1, FIELD(trace_object_event, object), EVERY_ONCE, "command_buffer_destroy", "already been destroyed"},
    {TRACE_BUFFER_DESTROY, 0, 0, FIELD(trace_object_event, object), EVERY_GATE, "buffer_destroy", "is no buffer"},
    {TRACE_EXECUTABLE_DESTROY, 0, 0, FIELD(trace_object_event, object), 0, "executable_destroy", "does not exist"},

    {TRACE_COMMAND_BUFFER_SEAL, TRACE_BARRIER, 0, FIELD(trace_barrier, source_stages), 8, "segment 2 (barrier)", "stages 0x8"},
    {TRACE_COMMAND_BUFFER_SEAL, TRACE_BARRIER, 0, FIELD(trace_barrier, target_access), 4, "segment 2 (barrier)", "accesses"},
    {TRACE_COMMAND_BUFFER_SEAL, TRACE_BARRIER, 0, BARRIER_BUFFER(source_access), 4, 4, "segment 2 (barrier)", "accesses 0x4"},
    {TRACE_COMMAND_BUFFER_SEAL, TRACE_BARRIER, 0, BARRIER_BUFFER(buffer), 8, EVERY_SCALE, "segment 2 (barrier)", "is no buffer"},
    {TRACE_COMMAND_BUFFER_SEAL, TRACE_BARRIER, 0, BARRIER_BUFFER(size), 8, 65, "segment 2 (barrier)", "exceed buffer 'b'"},
    {TRACE_COMMAND_BUFFER_SEAL, TRACE_FILL, 0, FIELD(trace_fill, pattern_bytes), 3, "segment 1 (fill)", "3 bytes"},
    {TRACE_COMMAND_BUFFER_SEAL, TRACE_FILL, 0, FIELD(trace_fill, pattern_bytes), 0, "segment 1 (fill)", "0 bytes"},
    {TRACE_COMMAND_BUFFER_SEAL, TRACE_FILL, 0, FIELD(trace_fill, size), 65, "segment 1 (fill)", "exceed buffer 'b'"},
    {TRACE_COMMAND_BUFFER_SEAL, TRACE_COPY, 0, FIELD(trace_copy, source_offset), 33, "segment 3 (copy)", "exceed buffer 'a'"},
    {TRACE_COMMAND_BUFFER_SEAL, TRACE_COPY, 0, FIELD(trace_copy, target_offset), 33, "segment 3 (copy)", "exceed buffer 'b'"},
    {TRACE_COMMAND_BUFFER_SEAL, TRACE_COPY, 0, FIELD(trace_copy, target), 12, "segment 3 (copy)", "buffer 12 does not exist"},
    {TRACE_COMMAND_BUFFER_SEAL, TRACE_UPDATE, 0, FIELD(trace_update, offset), 49, "segment 4 (update)", "exceed buffer 'b'"},
    {TRACE_COMMAND_BUFFER_SEAL, TRACE_PUSH_CONSTANTS, 0, FIELD(trace_push_constants, offset), 4096, "segment 7 (push_constants)", "4096"},
    {TRACE_COMMAND_BUFFER_SEAL, TRACE_PUSH_CONSTANTS, 0, FIELD(trace_push_constants, offset), 2, "segment 7 (push_constants)", "units of 4"},
    {TRACE_COMMAND_BUFFER_SEAL, TRACE_PUSH_DESCRIPTOR_SET, 0, FIELD(trace_push_descriptor_set, set), 4, "segment 8 (push_descriptor_set)", "set 4"},
    {TRACE_COMMAND_BUFFER_SEAL, TRACE_PUSH_DESCRIPTOR_SET, 0, BINDING(offset), 49, "segment 8 (push_descriptor_set): binding 0", "exceed buffer 'b'"},
    {TRACE_COMMAND_BUFFER_SEAL, TRACE_DISPATCH, 0, FIELD(trace_dispatch, executable), EVERY_A, "segment 9 (dispatch)", "buffer 'a' is no executable"},
    {TRACE_COMMAND_BUFFER_SEAL, TRACE_DISPATCH, 0, FIELD(trace_dispatch, entry), 1, "segment 9 (dispatch)", "entry point 1 of executable 'scale.metal', which has 1"},

    {TRACE_COMMAND_BUFFER_SEAL, TRACE_EVENT_SIGNAL, 0, FIELD(trace_event_command, event), EVERY_A, "segment 11 (event_signal)", "buffer 'a' is no event"},
    {TRACE_COMMAND_BUFFER_SEAL, TRACE_EVENT_SIGNAL, 0, FIELD(trace_event_command, source_stages), 8, "segment 11 (event_signal)", "stages 0x8"},
    {TRACE_COMMAND_BUFFER_SEAL, TRACE_EVENT_RESET, 0, FIELD(trace_event_command, event), 99, "segment 13 (event_reset)", "event 99 does not exist"},
    {TRACE_COMMAND_BUFFER_SEAL, TRACE_EVENTS_WAIT, 0, FIELD(trace_events_wait, target_stages), 16, "segment 12 (events_wait)", "stages"},
    {TRACE_COMMAND_BUFFER_SEAL, TRACE_EVENTS_WAIT, 0, FIELD(trace_events_wait, source_access), 4, "segment 12 (events_wait)", "accesses 0x4"},
    {TRACE_COMMAND_BUFFER_SEAL, TRACE_EVENTS_WAIT, 0, sizeof(struct trace_events_wait), 8, EVERY_DONE, "segment 12 (events_wait)", "semaphore 'done' is no event"},
    {TRACE_COMMAND_BUFFER_SEAL, TRACE_DISPATCH_INDIRECT, 0, FIELD(trace_dispatch_indirect, executable), EVERY_B, "segment 14 (dispatch_indirect)", "buffer 'b' is no executable"},
    {TRACE_COMMAND_BUFFER_SEAL, TRACE_DISPATCH_INDIRECT, 0, FIELD(trace_dispatch_indirect, entry), 3, "segment 14 (dispatch_indirect)", "entry point 3"},
    {TRACE_COMMAND_BUFFER_SEAL, TRACE_DISPATCH_INDIRECT, 0, FIELD(trace_dispatch_indirect, offset), 8, "segment 14 (dispatch_indirect)", "exceed buffer 'counts'"},
    {TRACE_COMMAND_BUFFER_SEAL, TRACE_DISPATCH_INDIRECT, 0, FIELD(trace_dispatch_indirect, offset), 2, "segment 14 (dispatch_indirect)", "multiple of 4"},
    {TRACE_COMMAND_BUFFER_SEAL, TRACE_DISPATCH_INDIRECT, 0, FIELD(trace_dispatch_indirect, offset), UINT64_MAX - 3, "segment 14 (dispatch_indirect)", "exceed buffer 'counts', which has 16"},
    {TRACE_COMMAND_BUFFER_SEAL, TRACE_DISPATCH_INDIRECT, 0, FIELD(trace_dispatch_indirect, offset), 1, "segment 14 (dispatch_indirect)", "multiple of 4"},
    {TRACE_COMMAND_BUFFER_SEAL, TRACE_DISPATCH_INDIRECT, 0, FIELD(trace_dispatch_indirect, counts), 99, "segment 14 (dispatch_indirect)", "buffer 99 does not exist"},
    {TRACE_COMMAND_BUFFER_SEAL, TRACE_DISPATCH_INDIRECT, 0, FIELD(trace_dispatch_indirect, counts), EVERY_SCALE, "segment 14 (dispatch_indirect)", "is no buffer"},
    {TRACE_EVENT_CREATE, 0, 0, FIELD(trace_object_event, object), EVERY_A, "event_create", "created twice"},
    {TRACE_EVENT_DESTROY, 0, 0, FIELD(trace_object_event, object), EVERY_GATE, "event_destroy", "is no event"},

    {TRACE_SUBMIT, 0, 0, FIELD(trace_submit, queue), 64, "submit #s0", "queue 64"},
    {TRACE_SUBMIT, 0, 1, FIELD(trace_submit, submission), 0, "submit #s0", "two submissions"},
    {TRACE_SUBMIT, 0, 0, SUBMIT_VALUE(0, semaphore), EVERY_A, "submit #s0", "is no semaphore"},
    {TRACE_SUBMIT, 0, 0, SUBMIT_VALUE(1, semaphore), 77, "submit #s0", "semaphore 77 does not exist"},
    {TRACE_SUBMIT, 0, 0, SUBMIT_VALUE(0, value), UINT64_MAX, "submit #s0", "wait of semaphore 'gate' with a reserved value"},
    {TRACE_SUBMIT, 0, 0, SUBMIT_VALUE(1, value), UINT64_MAX, "submit #s0", "signal of semaphore 'done' with a reserved value"},
    {TRACE_SUBMIT, 0, 0, SUBMIT_COMMANDS(0), EVERY_B, "submit #s0", "buffer 'b' is no command buffer"},
    {TRACE_SUBMIT, 0, 0, SUBMIT_COMMANDS(1), EVERY_ONCE, "submit #s0", "'once' is one-shot and was submitted before"},
    {TRACE_SUBMISSION_DONE, 0, 1, FIELD(trace_submission_done, submission), 0, "#s0", "ended twice"},
    {TRACE_SEMAPHORE_SIGNAL, 0, 0, FIELD(trace_semaphore_event, value), 2, "semaphore_signal", "set to 2, but has already reached 2"},
    {TRACE_SEMAPHORE_SIGNAL, 0, 0, FIELD(trace_semaphore_event, value), UINT64_MAX, "semaphore_signal", "reserved"},
    {TRACE_SEMAPHORE_WAIT, 0, 0, FIELD(trace_semaphore_wait, mode), 2, "semaphore_wait", "mode 2"},
    {TRACE_SEMAPHORE_WAIT, 0, 0, sizeof(struct trace_semaphore_wait) + 8, 8, 2, "semaphore_wait", "'done' reached 2, but nothing had set it above 1"},
    {TRACE_SEMAPHORE_WAIT, 0, 0, sizeof(struct trace_semaphore_wait), 8, EVERY_SCALE, "semaphore_wait", "is no semaphore"},
    {TRACE_SEMAPHORE_QUERY, 0, 0, FIELD(trace_semaphore_event, value), 2, "semaphore_query", "nothing had set it above 1"},
    {TRACE_BUFFER_CREATE, 0, 0, offsetof(struct trace_event, ticket), 8, 0, "buffer_create", "no ticket"},
};

/* Of queues_build. */
static const struct wrong queue_wrongs[] = {
    {TRACE_SUBMIT, 0, 0, FIELD(trace_submit, buffer), QUEUES_DONE, "submit #s0", "semaphore 'done' is no buffer"},
    {TRACE_SUBMIT, 0, 0, FIELD(trace_submit, buffer), 99, "submit #s0", "buffer 99 does not exist"},
    {TRACE_SUBMIT, 0, 0, FIELD(trace_submit, offset), 1024 - QUEUES_BYTES + 1, "submit #s0", "exceed buffer 'slab', which has 1024"},
    {TRACE_SUBMIT, 0, 0, FIELD(trace_submit, size), 1024, "submit #s0", "exceed buffer 'slab'"},
    {TRACE_SUBMIT, 0, 0, FIELD(trace_submit, size), UINT64_MAX, "submit #s0", "exceed buffer 'slab'"},
    {TRACE_SUBMIT, 0, 0, FIELD(trace_submit, operation), 11, "submit #s0", "operation 11 does not exist"},
    {TRACE_SUBMIT, 0, 0, FIELD(trace_submit, operation), UINT32_MAX, "submit #s0", "operation 4294967295"},
    {TRACE_SUBMIT, 0, 1, FIELD(trace_submit, buffer), QUEUES_EVENT, "submit #s1", "is no buffer"},
    {TRACE_SUBMIT, 0, 1, FIELD(trace_submit, buffer), QUEUES_RESULT, "submit #s1", "exceed buffer 'result', which has 64"},
    {TRACE_SUBMIT, 0, 1, FIELD(trace_submit, offset), UINT64_MAX, "submit #s1", "exceed buffer 'slab'"},
    {TRACE_SUBMIT, 0, 2, FIELD(trace_submit, operation), TRACE_OPERATION_WRITE, "submit #s2", "operation 9 with 1 command buffer"},
    {TRACE_SUBMIT, 0, 2, FIELD(trace_submit, operation), TRACE_OPERATION_COLLECTIVE, "submit #s2", "operation 10 with 1 command buffer"},
    {TRACE_SUBMIT, 0, 3, FIELD(trace_submit, size), 65, "submit #s3", "exceed buffer 'result'"},
    {TRACE_SUBMIT, 0, 4, FIELD(trace_submit, offset), 1024, "submit #s4", "exceed buffer 'slab'"},
    {TRACE_SUBMIT, 0, 0, FIELD(trace_submit, operation), TRACE_OPERATION_FILL, "submit #s0", "operation 2 with 0 command buffers, not 1"},
    {TRACE_SUBMIT, 0, 0, FIELD(trace_submit, operation), TRACE_OPERATION_DISPATCH, "submit #s0", "operation 5 with 0 command buffers, not 1"},
    {TRACE_SUBMIT, 0, 2, FIELD(trace_submit, operation), TRACE_OPERATION_BARRIER, "submit #s2", "operation 1 with 1 command buffer, not 0"},
    {TRACE_SUBMIT, 0, 2, FIELD(trace_submit, operation), TRACE_OPERATION_ALLOCA, "submit #s2", "operation 6 with 1 command buffer, not 0"},
    {TRACE_SUBMIT, 0, 1, SUBMIT_VALUE(0, semaphore), QUEUES_SLAB, "submit #s1", "buffer 'slab' is no semaphore"},
    {TRACE_SUBMIT, 0, 3, SUBMIT_VALUE(1, value), UINT64_MAX, "submit #s3", "signal of semaphore 'done' with a reserved value"},
    {TRACE_HOST_CALL_BEGIN, 0, 0, FIELD(trace_host_call, submission), 9, "host_call_begin", "submission #s9 does not exist"},
    {TRACE_HOST_CALL_BEGIN, 0, 0, FIELD(trace_host_call, submission), 0, "host_call_begin", "#s0 has no host call"},
    {TRACE_HOST_CALL_BEGIN, 0, 1, FIELD(trace_host_call, submission), 1, "host_call_begin", "#s1 begins twice"},
    {TRACE_HOST_CALL_BEGIN, 0, 0, FIELD(trace_event, status), HAL_IO, "host_call_end", "#s1 ends without having begun"},
    {TRACE_HOST_CALL_END, 0, 0, FIELD(trace_host_call, submission), UINT64_MAX, "host_call_end", "does not exist"},
    {TRACE_HOST_CALL_END, 0, 1, FIELD(trace_host_call, submission), 1, "host_call_end", "#s1 ends twice"},
    {TRACE_HOST_CALL_END, 0, 0, FIELD(trace_event, status), HAL_FAILED + 1, "host_call_end", "status 12: 1 to 11 exist"},
};
/* clang-format on */

struct altering {
    const struct wrong *wrong;
    int seen;
};

static void alter(void *user, struct trace_event *event, struct trace_segment *segment)
{
    struct altering *altering = user;
    const struct wrong *wrong = altering->wrong;
    if (event->kind != wrong->event || (wrong->segment != 0) != (segment != NULL) ||
        (segment && segment->kind != wrong->segment))
        return;
    if (altering->seen++ != wrong->skip)
        return;
    uint8_t *record = segment ? (uint8_t *)segment : (uint8_t *)event;
    memcpy(record + wrong->offset, &wrong->value, wrong->bytes);
}

static enum hal_status load(const char *path, struct replay_plan **out_plan)
{
    return replay_plan_load(path, &(struct replay_load_options){0}, out_plan);
}

static void build_every(struct trace_builder *b)
{
    every_build(b, true);
}

static void one_wrong_field(const struct wrong *wrong, void (*build)(struct trace_builder *b),
                            const char *path)
{
    struct altering altering = {.wrong = wrong};
    struct trace_builder b;
    struct replay_plan *plan = NULL;
    builder_open(&b, path, NULL);
    b.alter = alter;
    b.user = &altering;
    build(&b);
    if (builder_close(&b, NULL) != HAL_OK)
        fail_msg("cannot build '%s': %s", wrong->what, hal_message());
    if (altering.seen <= wrong->skip)
        fail_msg("nothing was altered for '%s'", wrong->what);
    const enum hal_status status = load(path, &plan);
    if (status != HAL_CORRUPT && status != HAL_UNSUPPORTED)
        fail_msg("'%s' was taken: status %d", wrong->what, (int)status);
    if (!strstr(hal_message(), wrong->what) || !strstr(hal_message(), wrong->where))
        fail_msg("'%s' and '%s' are not in: %s", wrong->where, wrong->what, hal_message());
    replay_plan_destroy(plan);
}

TEST_ON(every_wrong_field_is_refused, struct test_folder *folder)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++)
        one_wrong_field(&wrongs[i], build_every, test_folder_file(folder, "wrong.pb.zst", path));
    for (size_t i = 0; i < sizeof queue_wrongs / sizeof *queue_wrongs; i++)
        one_wrong_field(&queue_wrongs[i], queues_build,
                        test_folder_file(folder, "wrong.pb.zst", path));
}

/* ---- Wrong orders --------------------------------------------------------------------------- */

static void expect(const struct test_folder *folder, void (*build)(struct trace_builder *b),
                   enum hal_status wanted, const char *part)
{
    char path[PATH_MAX];
    struct trace_builder b;
    struct replay_plan *plan = NULL;
    builder_open(&b, test_folder_file(folder, "order.pb.zst", path), NULL);
    build(&b);
    if (builder_close(&b, NULL) != HAL_OK)
        fail_msg("cannot build '%s': %s", part, hal_message());
    assert_int_equal(load(path, &plan), wanted);
    if (wanted != HAL_OK && !strstr(hal_message(), part))
        fail_msg("'%s' is not in: %s", part, hal_message());
    replay_plan_destroy(plan);
}

static void submit_not_ended(struct trace_builder *b)
{
    builder_command_buffer_create(b, 1, NULL, 0);
    builder_submit(b, 7, 0, NO_VALUES, NO_VALUES, IDS(1));
}

static void submit_one_shot_twice(struct trace_builder *b)
{
    builder_command_buffer_create(b, 1, NULL, 0);
    builder_end_commands(b, 1);
    builder_submit(b, 0, 0, NO_VALUES, NO_VALUES, IDS(1));
    builder_submit(b, 1, 0, NO_VALUES, NO_VALUES, IDS(1));
}

static void use_destroyed(struct trace_builder *b)
{
    builder_buffer_create(b, 1, "gone", 16);
    builder_destroy(b, TRACE_BUFFER_DESTROY, 1);
    builder_host_write(b, 1, 0, "x", 1);
}

static void use_before_creation(struct trace_builder *b)
{
    builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, 1, 1, NULL);
    builder_semaphore_create(b, 1, NULL, 0);
}

static void signal_backwards(struct trace_builder *b)
{
    builder_semaphore_create(b, 1, "s", 0);
    builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, 1, 5, NULL);
    builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, 1, 5, NULL);
}

static void signal_below_observed(struct trace_builder *b)
{
    builder_semaphore_create(b, 1, "s", 0);
    builder_submit(b, 0, 0, NO_VALUES, VALUES({1, 9}), NO_IDS);
    builder_semaphore(b, TRACE_SEMAPHORE_QUERY, 1, 9, NULL);
    builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, 1, 9, NULL);
}

static void fail_without_status(struct trace_builder *b)
{
    builder_semaphore_create(b, 1, "s", 0);
    builder_semaphore(b, TRACE_SEMAPHORE_FAIL, 1, 0, "why");
}

static void fail_with_no_such_status(struct trace_builder *b)
{
    builder_semaphore_create(b, 1, "s", 0);
    b->status = UINT16_MAX;
    builder_semaphore(b, TRACE_SEMAPHORE_FAIL, 1, 0, "why");
}

static void fail_with_the_last_status(struct trace_builder *b)
{
    builder_semaphore_create(b, 1, "s", 0);
    b->status = HAL_FAILED;
    builder_semaphore(b, TRACE_SEMAPHORE_FAIL, 1, 0, "why");
}

static void call_the_host_too_late(struct trace_builder *b)
{
    builder_buffer_create(b, 1, NULL, 16);
    builder_semaphore_create(b, 2, "gone", 0);
    b->operation.operation = TRACE_OPERATION_READ;
    b->operation.buffer = 1;
    b->operation.size = 16;
    builder_submit(b, 0, 0, VALUES({2, 1}), NO_VALUES, NO_IDS);
    builder_destroy(b, TRACE_SEMAPHORE_DESTROY, 2);
    builder_host_call(b, TRACE_HOST_CALL_BEGIN, 0);
}

static void ticket_given_twice(struct trace_builder *b)
{
    builder_thread(b, 2, 4712, "worker");
    builder_buffer_create(b, 1, NULL, 16);
    b->thread = 2;
    b->ticket = 1;
    builder_buffer_create(b, 2, NULL, 16);
}

static void outputs_before_the_submission(struct trace_builder *b)
{
    const struct trace_written written = {.buffer = 1, .size = 4};
    builder_buffer_create(b, 1, NULL, 16);
    builder_submission_outputs(b, 0, 0, &written, 1);
    builder_submit(b, 0, 0, NO_VALUES, NO_VALUES, NO_IDS);
}

static void outputs_outside(struct trace_builder *b)
{
    const struct trace_written written[] = {{.buffer = 1, .offset = 8, .size = 8},
                                            {.buffer = 1, .offset = 8, .size = 9}};
    builder_buffer_create(b, 1, NULL, 16);
    builder_submit(b, 0, 0, NO_VALUES, NO_VALUES, NO_IDS);
    builder_submission_outputs(b, 0, 0, written, 1);
    builder_submission_outputs(b, 0, 0, written + 1, 1);
}

static void outputs_of_no_buffer(struct trace_builder *b)
{
    const struct trace_written written = {.buffer = 7, .size = 1};
    builder_submit(b, 0, 0, NO_VALUES, NO_VALUES, NO_IDS);
    builder_submission_outputs(b, 0, 0, &written, 1);
}

static void wait_for_any(struct trace_builder *b, uint64_t value)
{
    const struct trace_semaphore_value values[] = {{1, value}, {2, 4}};
    builder_semaphore_create(b, 1, NULL, 3);
    builder_semaphore_create(b, 2, NULL, 3);
    builder_semaphore_wait(b, HAL_WAIT_ANY, values, 2, INT64_MAX);
}

static void any_wait_for_nothing(struct trace_builder *b)
{
    wait_for_any(b, 4);
}

static void any_wait_for_one(struct trace_builder *b)
{
    wait_for_any(b, 3);
}

static void overlapping_copy(struct trace_builder *b)
{
    builder_buffer_create(b, 1, NULL, 16);
    builder_command_buffer_create(b, 2, NULL, 0);
    builder_copy(b, 1, 0, 1, 7, 8);
    builder_end_commands(b, 2);
}

static void touching_copy(struct trace_builder *b)
{
    builder_buffer_create(b, 1, NULL, 16);
    builder_command_buffer_create(b, 2, NULL, 0);
    builder_copy(b, 1, 8, 1, 0, 8);
    builder_end_commands(b, 2);
}

static void unaligned_fill(struct trace_builder *b)
{
    builder_buffer_create(b, 1, NULL, 16);
    builder_command_buffer_create(b, 2, NULL, 0);
    builder_fill(b, 1, 2, 4, 0, 4);
    builder_end_commands(b, 2);
}

static void end_no_group(struct trace_builder *b)
{
    builder_command_buffer_create(b, 2, NULL, 0);
    builder_debug_begin(b, "group", 0);
    builder_debug_end(b);
    builder_debug_end(b);
    builder_end_commands(b, 2);
}

static void constant_of_no_type(struct trace_builder *b)
{
    const struct trace_entry_point point = {builder_string(b, "k"), {1, 1, 1}, 0, 0};
    const struct trace_constant constant = {.index = 3, .type = 13};
    b->executable = (struct builder_executable){.constants = &constant, .constant_count = 1};
    builder_executable_create(b, 1, NULL, "kernel", &point, 1);
}

TEST_ON(wrong_orders_are_refused, const struct test_folder *folder)
{
    expect(folder, submit_not_ended, HAL_CORRUPT,
           "submit #s7 (ticket 2): command buffer 1 has not");
    expect(folder, submit_one_shot_twice, HAL_CORRUPT, "submit #s1 (ticket 4): command buffer 1");
    expect(folder, use_destroyed, HAL_CORRUPT,
           "host_write (ticket 3): buffer 'gone' has already been destroyed");
    expect(folder, use_before_creation, HAL_CORRUPT, "semaphore_signal (ticket 1): semaphore 1");
    expect(folder, signal_backwards, HAL_CORRUPT, "has already reached 5");
    expect(folder, signal_below_observed, HAL_CORRUPT, "has already reached 9");
    expect(folder, fail_without_status, HAL_CORRUPT, "status 0: 1 to");
    expect(folder, fail_with_no_such_status, HAL_CORRUPT, "status 65535");
    expect(folder, fail_with_the_last_status, HAL_OK, "");
    expect(folder, call_the_host_too_late, HAL_CORRUPT,
           "host_call_begin (ticket 5): semaphore 'gone' was destroyed before the host call began");
    expect(folder, ticket_given_twice, HAL_CORRUPT, "ticket 1 belongs to threads 1 and 2");
    expect(folder, outputs_before_the_submission, HAL_CORRUPT, "there is no submission #s0");
    expect(folder, outputs_outside, HAL_CORRUPT, "submission_outputs (ticket 4)");
    expect(folder, outputs_of_no_buffer, HAL_CORRUPT, "buffer 7 does not exist");
    expect(folder, any_wait_for_nothing, HAL_CORRUPT, "but nothing had set it above 3");
    expect(folder, any_wait_for_one, HAL_OK, "");
    expect(folder, overlapping_copy, HAL_CORRUPT, "overlap");
    expect(folder, touching_copy, HAL_OK, "");
    expect(folder, unaligned_fill, HAL_OK, "");
    expect(folder, end_no_group, HAL_CORRUPT, "segment 2 (debug_end): no debug group is open");
    expect(folder, constant_of_no_type, HAL_CORRUPT, "specialization constant 3 has type 13");
}

/* ---- Calls that had failed ------------------------------------------------------------------ */

TEST_ON(failed_calls_are_not_checked, struct test_folder *folder)
{
    char path[PATH_MAX];
    struct trace_builder b;
    struct replay_plan *plan;
    builder_open(&b, test_folder_file(folder, "failed.pb.zst", path), NULL);
    builder_semaphore_create(&b, 1, NULL, 0);
    b.status = HAL_INVALID;
    builder_buffer_create(&b, 0, NULL, 0);
    builder_submit(&b, 0, 99, NO_VALUES, NO_VALUES, IDS(1234));
    builder_semaphore(&b, TRACE_SEMAPHORE_SIGNAL, 1, 0, NULL);
    builder_semaphore_wait(&b, 0, &(struct trace_semaphore_value){77, 5}, 1, 100);
    builder_semaphore(&b, TRACE_SEMAPHORE_QUERY, 77, 0, NULL);
    b.status = HAL_TIMEOUT;
    builder_semaphore_wait(&b, 0, &(struct trace_semaphore_value){1, 5}, 1, 100);
    builder_wait_idle(&b, 100);
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
    assert_int_equal(load(path, &plan), HAL_OK);
    const struct replay_plan_info *info = replay_plan_get_info(plan);
    assert_int_equal(info->skipped_calls, 5);
    assert_int_equal(info->timed_out_waits, 2);
    assert_int_equal(info->submissions, 0);
    assert_int_equal(info->replayed_events, 8);
    assert_string_equal(info->incomplete, "");
    replay_plan_destroy(plan);
}

static int make_folder(void **state)
{
    static struct test_folder folder;
    *state = &folder;
    return test_folder_make(&folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    test_folder_remove(*state);
    return 0;
}

TEST_SUITE_FIXTURE(make_folder, remove_folder);
