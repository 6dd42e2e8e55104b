/* SPDX-License-Identifier: Apache-2.0 */
/* A made-up decode loop, event by event, through the trace builder. */
#include "tests/viewer/decode_trace.h"

#include "hal/base/mem.h"
#include "tests/support/trace_builder.h"

#include <stdio.h>

enum { MAIN = 1, LOADER = 2 };
enum { WEIGHTS = 1, TOKENS = 2, STATE = 3, LOGITS = 4, KERNELS = 5, UPLOADED = 6, DONE = 7 };
enum { FIRST_COMMANDS = 100, LOGITS_BYTES = 4096, OPS_PER_LAYER = 6 };
enum { MICROSECOND = 1000 };

struct decode {
    struct trace_builder b;
    struct decode_options options;
    uint32_t random;
    int64_t now_ns, loader_ns, device_ns;
    uint64_t commands, submission, done, mapping;
};

/* About `microseconds`, a fifth more or less. */
static int64_t about(struct decode *d, int64_t microseconds)
{
    d->random = d->random * 1664525u + 1013904223u;
    const int64_t ns = microseconds * MICROSECOND;
    return ns * 4 / 5 + ns * 2 / 5 * (int64_t)(d->random >> 16) / 65536;
}

/* The next event is of this thread, at its clock, and takes that long. */
static void next(struct decode *d, uint32_t thread, int64_t took_ns)
{
    int64_t *clock_ns = thread == MAIN ? &d->now_ns : &d->loader_ns;
    d->b.thread = thread;
    d->b.begin_ns = *clock_ns;
    d->b.step_ns = took_ns;
    *clock_ns += took_ns + 300;
}

static void write_setup(struct decode *d)
{
    static const char source[] = "kernel void mul_mv_q8() {}\n";
    struct trace_entry_point kernels[4] = {0};
    static const char *const names[] = {"mul_mv_q8", "rms_norm", "silu", "add"};
    for (size_t i = 0; i < 4; i++) {
        kernels[i].name = builder_string(&d->b, names[i]);
        kernels[i].group_size[0] = i == 1 ? 256 : 64;
        kernels[i].group_size[1] = kernels[i].group_size[2] = 1;
    }
    builder_thread(&d->b, LOADER, 4712, "loader");
    next(d, MAIN, about(d, 30));
    builder_buffer_create(&d->b, WEIGHTS, "weights", 1u << 20);
    next(d, MAIN, about(d, 5));
    builder_buffer_create(&d->b, TOKENS, "tokens", 256);
    next(d, MAIN, about(d, 5));
    builder_buffer_create(&d->b, STATE, "state", 65536);
    next(d, MAIN, about(d, 5));
    builder_buffer_create(&d->b, LOGITS, "logits", LOGITS_BYTES);
    next(d, MAIN, about(d, 2));
    builder_semaphore_create(&d->b, UPLOADED, "uploaded", 0);
    next(d, MAIN, about(d, 2));
    builder_semaphore_create(&d->b, DONE, "done", 0);
    next(d, MAIN, about(d, 900));
    builder_executable_create(&d->b, KERNELS, "decode.metal", source, kernels, 4);
    next(d, MAIN, about(d, 8));
    builder_map(&d->b, WEIGHTS, ++d->mapping, 2, 0, 1u << 20);
    next(d, MAIN, about(d, 120));
    builder_host_write(&d->b, WEIGHTS, 0, NULL, 1u << 20);
    next(d, MAIN, about(d, 3));
    builder_unmap(&d->b, WEIGHTS, d->mapping, 2, 0, 1u << 20);
}

/* The device takes it when it is free and its waits are met; returns the end. */
static int64_t execute(struct decode *d, uint32_t queue, int64_t submitted_ns, int64_t ready_ns,
                       int64_t takes_ns)
{
    ready_ns = ready_ns > submitted_ns ? ready_ns : submitted_ns;
    int64_t begin_ns = ready_ns + about(d, 3);
    if (queue == 0 && begin_ns < d->device_ns)
        begin_ns = d->device_ns + MICROSECOND;
    if (queue == 0)
        d->device_ns = begin_ns + takes_ns;
    builder_submission_done(&d->b, d->submission, queue, ready_ns, begin_ns, begin_ns + takes_ns);
    return begin_ns + takes_ns;
}

/* The loader copies the token's embedding; main does not wait for it, the device does. */
static int64_t upload(struct decode *d, uint64_t token)
{
    const struct trace_semaphore_value signal = {.semaphore = UPLOADED, .value = token + 1};
    const uint64_t commands = FIRST_COMMANDS + d->commands++;
    uint8_t bytes[64] = {(uint8_t)token};
    if (d->loader_ns < d->now_ns)
        d->loader_ns = d->now_ns + about(d, 2);
    next(d, LOADER, about(d, 2));
    builder_command_buffer_create(&d->b, commands, "upload", 0);
    builder_update(&d->b, TOKENS, 0, bytes, sizeof bytes);
    d->loader_ns += about(d, 4);
    next(d, LOADER, about(d, 1));
    builder_end_commands(&d->b, commands);
    const int64_t submit_ns = d->loader_ns;
    next(d, LOADER, about(d, 3));
    builder_submit(&d->b, ++d->submission, 1, NO_VALUES, VALUES(signal), IDS(commands));
    return execute(d, 1, submit_ns + MICROSECOND, 0, about(d, 12));
}

static void record_layer(struct decode *d, uint32_t first_op, uint32_t op_count)
{
    static const struct {
        uint32_t kernel, groups;
    } ops[OPS_PER_LAYER] = {{1, 1}, {0, 64}, {0, 64}, {2, 16}, {0, 64}, {3, 16}};
    const struct trace_binding bindings[3] = {
        {WEIGHTS, 0, 65536}, {STATE, 0, 4096}, {LOGITS, 0, LOGITS_BYTES}};
    for (uint32_t i = first_op; i < first_op + op_count; i++) {
        builder_push_descriptor_set(&d->b, 0, bindings, 3);
        builder_push_constants(&d->b, 0, &i, sizeof i);
        builder_dispatch(&d->b, KERNELS, ops[i].kernel, ops[i].groups, 1, 1);
        builder_barrier(&d->b, NULL, 0);
    }
}

static void submit(struct decode *d, uint64_t commands, const struct trace_semaphore_value *waits,
                   uint32_t wait_count, int64_t ready_ns, uint32_t dispatches)
{
    const struct trace_semaphore_value signal = {.semaphore = DONE, .value = ++d->done};
    const int64_t submit_ns = d->now_ns;
    next(d, MAIN, about(d, 4));
    builder_submit(&d->b, ++d->submission, 0, builder_values(waits, wait_count), VALUES(signal),
                   IDS(commands));
    execute(d, 0, submit_ns + MICROSECOND, ready_ns, dispatches * about(d, 9));
}

static void wait_for_device(struct decode *d)
{
    const struct trace_semaphore_value value = {.semaphore = DONE, .value = d->done};
    const int64_t end_ns = d->device_ns + about(d, 6);
    next(d, MAIN, end_ns > d->now_ns ? end_ns - d->now_ns : MICROSECOND);
    builder_semaphore_wait(&d->b, 0, &value, 1, INT64_MAX);
}

static uint64_t begin_commands(struct decode *d, const char *label)
{
    const uint64_t commands = FIRST_COMMANDS + d->commands++;
    next(d, MAIN, about(d, 2));
    builder_command_buffer_create(&d->b, commands, label, 0);
    return commands;
}

static void end_commands(struct decode *d, uint64_t commands, uint32_t dispatches)
{
    d->now_ns += about(d, dispatches);
    next(d, MAIN, about(d, 2));
    builder_end_commands(&d->b, commands);
}

/* The layers of a token as submissions of `step` operations each. */
static void decode_token(struct decode *d, uint64_t token, int64_t uploaded_ns)
{
    const uint32_t all = d->options.layers * OPS_PER_LAYER;
    const uint32_t step = d->options.sync == DECODE_SYNC_TOKEN   ? all
                          : d->options.sync == DECODE_SYNC_LAYER ? OPS_PER_LAYER
                                                                 : 1;
    const struct trace_semaphore_value wait = {.semaphore = UPLOADED, .value = token + 1};
    for (uint32_t op = 0; op < all; op += step) {
        const uint64_t commands = begin_commands(d, step == 1 ? NULL : "decode");
        for (uint32_t i = op; i < op + step;) {
            const uint32_t first = i % OPS_PER_LAYER;
            const uint32_t count = step == 1 ? 1 : OPS_PER_LAYER - first;
            record_layer(d, first, count);
            i += count;
        }
        end_commands(d, commands, step);
        submit(d, commands, &wait, op == 0, op == 0 ? uploaded_ns : 0, step);
        wait_for_device(d);
        next(d, MAIN, about(d, 1));
        builder_destroy(&d->b, TRACE_COMMAND_BUFFER_DESTROY, commands);
    }
}

static void read_logits(struct decode *d)
{
    next(d, MAIN, about(d, 3));
    builder_map(&d->b, LOGITS, ++d->mapping, 1, 0, LOGITS_BYTES);
    next(d, MAIN, about(d, 4));
    builder_host_read(&d->b, LOGITS, 0, NULL, LOGITS_BYTES);
    next(d, MAIN, about(d, 1));
    builder_unmap(&d->b, LOGITS, d->mapping, 1, 0, LOGITS_BYTES);
}

enum hal_status decode_trace_write(const char *path, const struct decode_options *options,
                                   bool healthy)
{
    struct decode *d = hal_alloc(1, sizeof *d);
    if (!d)
        return hal_fail(HAL_NO_MEMORY, "no memory for a builder");
    struct trace_header header = builder_default_header();
    header.program = "/usr/bin/decode";
    if (options->device)
        header.device.uri = options->device;
    header.start_ns = d->now_ns = 5000000000;
    d->options = *options;
    d->random = options->seed;
    const struct trace_health health = {.overhead_ns = 123456,
                                        .status = healthy ? 0 : HAL_IO,
                                        .message = healthy ? "" : "No space left on device",
                                        .lost_records = healthy ? 0 : 7};
    builder_open(&d->b, path, &header);
    write_setup(d);
    for (uint64_t token = 0; token < options->tokens; token++) {
        char name[32];
        snprintf(name, sizeof name, "token %u", (unsigned)token);
        d->b.thread = MAIN;
        d->b.begin_ns = d->now_ns;
        builder_scope_begin(&d->b, name);
        const int64_t uploaded_ns = upload(d, token);
        decode_token(d, token, uploaded_ns);
        read_logits(d);
        d->now_ns += about(d, 15); /* chooses the next token */
        d->b.thread = MAIN;
        d->b.begin_ns = d->now_ns;
        builder_scope_end(&d->b);
        if (options->flushes)
            builder_flush(&d->b);
    }
    const enum hal_status status = builder_close(&d->b, &health);
    free(d);
    return status;
}
