/* SPDX-License-Identifier: Apache-2.0 */
/* Traces that replay on any device. The one with everything: buffer 'b' gets a fill, a copy of 'a'
 * over its second half, 16 bytes of floats by an update, which the kernel doubles, and two bytes by
 * a second command buffer. */
#include "tests/support/replay_trace.h"

#include <string.h>

enum { STAGE_TRANSFER = 1 }; /* enum hal_stage */

static const float floats[4] = {1.5f, -2.0f, 0.25f, 1000.0f};

static const char scale_source[] = "#include <metal_stdlib>\n"
                                   "using namespace metal;\n"
                                   "kernel void scale(device float *values [[buffer(0)]],\n"
                                   "                  constant float &factor [[buffer(1)]],\n"
                                   "                  uint i [[thread_position_in_grid]])\n"
                                   "{\n"
                                   "    values[i] *= factor;\n"
                                   "}\n";

static void fill_a(uint8_t out[EVERY_BYTES])
{
    for (int i = 0; i < EVERY_BYTES; i++)
        out[i] = (uint8_t)i;
}

void every_result(bool with_kernel, uint8_t out[EVERY_BYTES])
{
    const float doubled[4] = {3.0f, -4.0f, 0.5f, 2000.0f};
    uint8_t a[EVERY_BYTES];
    fill_a(a);
    memset(out, 0x77, EVERY_BYTES);
    memcpy(out + 32, a, 32);
    memcpy(out + 16, with_kernel ? doubled : floats, 16);
    out[0] = out[1] = 0xee;
}

static void record_once(struct trace_builder *b, bool with_kernel)
{
    const float factor = 2.0f;
    const struct trace_buffer_barrier barrier = {EVERY_B, 0, EVERY_BYTES, 2, 3};
    builder_debug_begin(b, "prepare", 0xff0000);
    builder_fill(b, EVERY_B, 0, EVERY_BYTES, 0x77, 1);
    builder_barrier(b, &barrier, 1);
    builder_copy(b, EVERY_A, 0, EVERY_B, 32, 32);
    builder_update(b, EVERY_B, 16, floats, sizeof floats);
    builder_debug_end(b);
    builder_barrier(b, NULL, 0);
    if (with_kernel) {
        builder_push_constants(b, 0, &factor, sizeof factor);
        builder_push_descriptor_set(b, 0, (struct trace_binding[]){{EVERY_B, 16, 16}}, 1);
        builder_dispatch(b, EVERY_SCALE, 0, 1, 1, 1);
    }
    builder_fill(b, EVERY_COUNTS, 0, 16, 0, 4);
    builder_event(b, TRACE_EVENT_SIGNAL, EVERY_EVENT, STAGE_TRANSFER);
    builder_events_wait(b, STAGE_TRANSFER, (uint64_t[]){EVERY_EVENT}, 1);
    builder_event(b, TRACE_EVENT_RESET, EVERY_EVENT, 0);
    if (with_kernel)
        builder_dispatch_indirect(b, EVERY_SCALE, 0, EVERY_COUNTS, 4);
    builder_end_commands(b, EVERY_ONCE);
}

static void use_objects(struct trace_builder *b, const uint8_t result[EVERY_BYTES])
{
    const struct trace_semaphore_value gate = {EVERY_GATE, 3}, one = {EVERY_DONE, 1},
                                       two = {EVERY_DONE, 2};
    builder_submit(b, 0, 0, VALUES(gate), VALUES(one), IDS(EVERY_ONCE, EVERY_AGAIN));
    builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, EVERY_GATE, 3, NULL);
    builder_semaphore_wait(b, 0, &one, 1, INT64_MAX);
    builder_semaphore(b, TRACE_SEMAPHORE_QUERY, EVERY_DONE, 1, NULL);
    builder_map(b, EVERY_B, 1, 1, 0, EVERY_BYTES);
    builder_host_read(b, EVERY_B, 0, result, EVERY_BYTES);
    builder_unmap(b, EVERY_B, 1, 1, 0, EVERY_BYTES);
    builder_submit(b, 1, 0, NO_VALUES, VALUES(two), IDS(EVERY_AGAIN));
    builder_semaphore_wait(b, 1, (struct trace_semaphore_value[]){two, gate}, 2, 1000000000);
    builder_wait_idle(b, INT64_MAX);
    builder_host_read(b, EVERY_B, 8, result + 8, 40);
    builder_submission_done(b, 0, 0, 3300, 3400, 3500);
    builder_submission_done(b, 1, 0, 4700, 4800, 4900);
}

void every_build(struct trace_builder *b, bool with_kernel)
{
    uint8_t a[EVERY_BYTES], result[EVERY_BYTES];
    const struct trace_entry_point point = {.name = builder_string(b, "scale"),
                                            .group_size = {4, 1, 1},
                                            .constant_bytes = 4,
                                            .constants_slot = 1};
    fill_a(a);
    every_result(with_kernel, result);
    builder_scope_begin(b, "everything");
    builder_buffer_create(b, EVERY_A, "a", EVERY_BYTES);
    builder_buffer_create(b, EVERY_B, "b", EVERY_BYTES);
    if (with_kernel)
        builder_executable_create(b, EVERY_SCALE, "scale.metal", scale_source, &point, 1);
    builder_buffer_create(b, EVERY_COUNTS, "counts", 16);
    builder_object_create(b, TRACE_EVENT_CREATE, EVERY_EVENT, "half");
    builder_semaphore_create(b, EVERY_DONE, "done", 0);
    builder_semaphore_create(b, EVERY_GATE, "gate", 2);
    builder_host_write(b, EVERY_A, 0, a, EVERY_BYTES);
    builder_command_buffer_create(b, EVERY_ONCE, "once", 0);
    record_once(b, with_kernel);
    builder_command_buffer_create(b, EVERY_AGAIN, NULL, 1);
    builder_fill(b, EVERY_B, 0, 2, 0xee, 1);
    builder_end_commands(b, EVERY_AGAIN);
    use_objects(b, result);
    builder_destroy(b, TRACE_COMMAND_BUFFER_DESTROY, EVERY_ONCE);
    builder_destroy(b, TRACE_COMMAND_BUFFER_DESTROY, EVERY_AGAIN);
    if (with_kernel)
        builder_destroy(b, TRACE_EXECUTABLE_DESTROY, EVERY_SCALE);
    builder_destroy(b, TRACE_BUFFER_DESTROY, EVERY_A);
    builder_destroy(b, TRACE_BUFFER_DESTROY, EVERY_B);
    builder_destroy(b, TRACE_BUFFER_DESTROY, EVERY_COUNTS);
    builder_destroy(b, TRACE_EVENT_DESTROY, EVERY_EVENT);
    builder_destroy(b, TRACE_SEMAPHORE_DESTROY, EVERY_DONE);
    builder_destroy(b, TRACE_SEMAPHORE_DESTROY, EVERY_GATE);
    builder_scope_end(b);
}

/* ---- Queues -------------------------------------------------------------------------------- */

void queues_result(uint8_t out[QUEUES_BYTES])
{
    for (int i = 0; i < QUEUES_BYTES; i++)
        out[i] = (uint8_t)(7 * i + 1);
    memset(out, 0x5c, 8);
}

static void record_copy(struct trace_builder *b)
{
    builder_command_buffer_create(b, QUEUES_COPY, "copy", 1);
    builder_copy(b, QUEUES_SLAB, QUEUES_AT, QUEUES_RESULT, 0, QUEUES_BYTES);
    builder_event(b, TRACE_EVENT_SIGNAL, QUEUES_EVENT, STAGE_TRANSFER);
    builder_events_wait(b, STAGE_TRANSFER, (uint64_t[]){QUEUES_EVENT}, 1);
    builder_fill(b, QUEUES_RESULT, 0, 8, 0x5c, 1);
    builder_end_commands(b, QUEUES_COPY);
}

/* Submission `number` waits for `number` of 'done' and signals the next value. */
static void submit_next(struct trace_builder *b, uint64_t number, uint32_t operation,
                        uint64_t buffer, uint64_t offset)
{
    const struct trace_semaphore_value wait = {QUEUES_DONE, number};
    const struct trace_semaphore_value signals[] = {{QUEUES_DONE, number + 1},
                                                    {QUEUES_POOL, number + 1}};
    const uint64_t copy = QUEUES_COPY;
    const bool of_pool =
        operation == TRACE_OPERATION_ALLOCA || operation == TRACE_OPERATION_DEALLOCA;
    const uint32_t file = builder_string(b, "/nowhere/file.bin");
    b->operation.operation = operation;
    if (operation != TRACE_OPERATION_EXECUTE) {
        b->operation.buffer = buffer;
        b->operation.offset = offset;
        b->operation.size = QUEUES_BYTES;
        b->operation.file = of_pool ? 0 : file;
        b->operation.file_offset = of_pool ? 0 : 4096;
    }
    builder_submit(b, number, (uint32_t)number % 2, builder_values(&wait, number > 0),
                   builder_values(signals, of_pool ? 2 : 1),
                   builder_ids(&copy, operation == TRACE_OPERATION_EXECUTE));
}

void queues_build(struct trace_builder *b)
{
    uint8_t bytes[QUEUES_BYTES], result[QUEUES_BYTES];
    queues_result(result);
    memcpy(bytes, result, sizeof bytes);
    memset(bytes, 0xab, 8);
    builder_buffer_create(b, QUEUES_SLAB, "slab", 1024);
    builder_buffer_create(b, QUEUES_RESULT, "result", QUEUES_BYTES);
    builder_semaphore_create(b, QUEUES_POOL, NULL, 0);
    builder_semaphore_create(b, QUEUES_DONE, "done", 0);
    builder_object_create(b, TRACE_EVENT_CREATE, QUEUES_EVENT, "event");
    builder_subspan_create(b, QUEUES_BLOCK, "block", QUEUES_SLAB, QUEUES_AT, QUEUES_BYTES);
    record_copy(b);
    submit_next(b, 0, TRACE_OPERATION_ALLOCA, QUEUES_SLAB, QUEUES_AT);
    submit_next(b, 1, TRACE_OPERATION_READ, QUEUES_SLAB, QUEUES_AT);
    builder_host_call(b, TRACE_HOST_CALL_BEGIN, 1);
    builder_host_write(b, QUEUES_SLAB, QUEUES_AT, bytes, sizeof bytes);
    builder_host_call(b, TRACE_HOST_CALL_END, 1);
    submit_next(b, 2, TRACE_OPERATION_EXECUTE, 0, 0);
    submit_next(b, 3, TRACE_OPERATION_WRITE, QUEUES_RESULT, 0);
    builder_queue_flush(b, 3);
    builder_host_call(b, TRACE_HOST_CALL_BEGIN, 3);
    builder_host_read(b, QUEUES_RESULT, 0, result, sizeof result);
    builder_host_call(b, TRACE_HOST_CALL_END, 3);
    submit_next(b, 4, TRACE_OPERATION_DEALLOCA, QUEUES_SLAB, QUEUES_AT);
    builder_destroy(b, TRACE_SUBSPAN_DESTROY, QUEUES_BLOCK);
    const struct trace_semaphore_value last = {QUEUES_DONE, 5};
    builder_semaphore_wait(b, 0, &last, 1, INT64_MAX);
    builder_host_read(b, QUEUES_RESULT, 0, result, sizeof result);
    for (uint64_t i = 0; i < 5; i++)
        builder_submission_done(b, i, (uint32_t)i % 2, 3000, 3100, 3200);
    builder_destroy(b, TRACE_COMMAND_BUFFER_DESTROY, QUEUES_COPY);
    builder_destroy(b, TRACE_EVENT_DESTROY, QUEUES_EVENT);
    builder_destroy(b, TRACE_BUFFER_DESTROY, QUEUES_SLAB);
    builder_destroy(b, TRACE_BUFFER_DESTROY, QUEUES_RESULT);
    builder_destroy(b, TRACE_SEMAPHORE_DESTROY, QUEUES_POOL);
    builder_destroy(b, TRACE_SEMAPHORE_DESTROY, QUEUES_DONE);
}
