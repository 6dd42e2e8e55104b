/* SPDX-License-Identifier: Apache-2.0 */
/* The trace with everything: buffer 'b' gets a fill, a copy of 'a' over its second half, 16 bytes
 * of floats by an update, which the kernel doubles, and two bytes by a second command buffer. */
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
    builder_seal(b, EVERY_ONCE);
}

static void use_objects(struct trace_builder *b, const uint8_t result[EVERY_BYTES])
{
    const struct trace_semaphore_value gate = {EVERY_GATE, 3}, one = {EVERY_DONE, 1},
                                       two = {EVERY_DONE, 2};
    builder_submit(b, 0, 0, &gate, 1, &one, 1, (uint64_t[]){EVERY_ONCE, EVERY_AGAIN}, 2);
    builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, EVERY_GATE, 3, NULL);
    builder_semaphore_wait(b, 0, &one, 1, INT64_MAX);
    builder_semaphore(b, TRACE_SEMAPHORE_QUERY, EVERY_DONE, 1, NULL);
    builder_mapping(b, TRACE_BUFFER_MAP, EVERY_B, 1, 1, 0, EVERY_BYTES);
    builder_host_read(b, EVERY_B, 0, result, EVERY_BYTES);
    builder_mapping(b, TRACE_BUFFER_UNMAP, EVERY_B, 1, 1, 0, EVERY_BYTES);
    builder_submit(b, 1, 0, NULL, 0, &two, 1, (uint64_t[]){EVERY_AGAIN}, 1);
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
        builder_executable_create(b, EVERY_SCALE, "scale.metal", scale_source, &point, 1, NULL, 0);
    builder_buffer_create(b, EVERY_COUNTS, "counts", 16);
    builder_object_create(b, TRACE_EVENT_CREATE, EVERY_EVENT, "half");
    builder_semaphore_create(b, EVERY_DONE, "done", 0);
    builder_semaphore_create(b, EVERY_GATE, "gate", 2);
    builder_host_write(b, EVERY_A, 0, a, EVERY_BYTES);
    builder_command_buffer_create(b, EVERY_ONCE, "once", 0);
    record_once(b, with_kernel);
    builder_command_buffer_create(b, EVERY_AGAIN, NULL, 1);
    builder_fill(b, EVERY_B, 0, 2, 0xee, 1);
    builder_seal(b, EVERY_AGAIN);
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
