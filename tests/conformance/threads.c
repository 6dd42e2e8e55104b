/* SPDX-License-Identifier: Apache-2.0 */
/* Several threads at once: recording, submitting, mapping, creating, waiting, and handing values
 * to each other. */
#include "tests/conformance/suite.h"

#include <stdio.h>

enum { THREADS = 4, ROUNDS = 25 };

/* Starts THREADS threads, each with its number and what they share, and waits for them. */
struct share {
    uint32_t number;
    struct hal_buffer *buffer;
    struct hal_command_buffer *commands;
    struct hal_executable *executable;
    struct hal_semaphore *semaphores[THREADS];
    struct hal_buffer *parts[THREADS];
    uint64_t argument;
};

static void run_threads(struct suite *suite, void (*run)(struct suite *suite, void *user),
                        const struct share *common)
{
    struct share *shares = suite_memory(suite, THREADS * sizeof *shares);
    for (uint32_t i = 0; i < THREADS; i++) {
        shares[i] = *common;
        shares[i].number = i;
        suite_thread(suite, run, &shares[i]);
    }
    suite_join(suite);
}

/* ---- Each its own --------------------------------------------------------------------------- */

/* Everything from the buffer to the wait, with dispatches in the middle. */
static void work_alone(struct suite *suite, void *user)
{
    const struct share *share = user;
    uint32_t wanted[64];
    struct hal_buffer *x = suite_buffer(suite, "own", sizeof wanted);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct hal_command_buffer *commands = suite_commands(suite, "own", HAL_ONE_SHOT);
        const uint32_t factor = share->number + 2;
        check_ok(suite, hal_command_fill(commands, x, 0, sizeof wanted, round, 4));
        check_ok(suite, hal_command_barrier(commands, NULL));
        suite_dispatch(
            suite, commands,
            &(struct suite_launch){KERNEL_AFFINE, {1, 1, 1}, {x}, {factor, share->number}, 2});
        suite_run(suite, commands);
        for (size_t i = 0; i < 64; i++)
            wanted[i] = round * factor + share->number;
        check_buffer(suite, x, 0, wanted, sizeof wanted);
    }
}

static void each_its_own(struct suite *suite, uint64_t unused)
{
    (void)unused;
    run_threads(suite, work_alone, &(struct share){0});
}

static void create_and_release(struct suite *suite, void *user)
{
    const struct share *share = user;
    struct hal_device *device = suite_device(suite);
    for (uint32_t i = 0; i < 200; i++) {
        struct hal_buffer *buffer = NULL;
        struct hal_semaphore *semaphore = NULL;
        struct hal_command_buffer *commands = NULL;
        const struct hal_buffer_desc desc = {.bytes = 1 + (i * 37 + share->number) % 9000};
        enum hal_status status = hal_buffer_create(device, &desc, &buffer);
        if (status == HAL_OK)
            status = hal_semaphore_create(device, "short-lived", i, &semaphore);
        if (status == HAL_OK)
            status =
                hal_command_buffer_create(device, &(struct hal_command_buffer_desc){0}, &commands);
        if (status == HAL_OK)
            status = hal_command_fill(commands, buffer, 0, HAL_WHOLE_BUFFER, i, 1);
        hal_buffer_release(buffer);
        hal_semaphore_release(semaphore);
        hal_command_buffer_release(commands);
        check_ok(suite, status);
    }
}

static void objects_come_and_go(struct suite *suite, uint64_t unused)
{
    (void)unused;
    run_threads(suite, create_and_release, &(struct share){0});
}

/* Each maps and writes a part of one buffer. */
static void write_part(struct suite *suite, void *user)
{
    const struct share *share = user;
    const uint64_t bytes = hal_buffer_bytes(share->buffer) / THREADS;
    uint8_t *data = suite_memory(suite, bytes);
    struct hal_buffer *own = suite_buffer(suite, "own", bytes);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
        memset(data, (int)(share->number * 50 + round), bytes);
        suite_write(suite, own, 0, data, bytes);
        check_ok(suite,
                 hal_command_copy(commands, own, 0, share->buffer, share->number * bytes, bytes));
        suite_run(suite, commands);
    }
}

static void parts_of_one_buffer(struct suite *suite, uint64_t bytes)
{
    uint8_t *wanted = suite_memory(suite, bytes * THREADS);
    struct share share = {.buffer = suite_buffer(suite, "shared", bytes * THREADS)};
    suite_clear(suite, share.buffer, 0);
    run_threads(suite, write_part, &share);
    for (uint32_t i = 0; i < THREADS; i++)
        memset(wanted + i * bytes, (int)(i * 50 + ROUNDS - 1), bytes);
    check_buffer(suite, share.buffer, 0, wanted, bytes * THREADS);
}

/* Each has a part as a buffer of its own: what one reads and writes is not lost when another one
 * reads or writes beside it. */
static void map_own_part(struct suite *suite, void *user)
{
    const struct share *share = user;
    struct hal_buffer *part = share->parts[share->number];
    const uint64_t bytes = hal_buffer_bytes(part);
    uint8_t *wanted = suite_memory(suite, bytes);
    struct hal_buffer *own = suite_buffer(suite, "own", bytes);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const uint8_t value = (uint8_t)(share->number * 50 + round);
        struct hal_command_buffer *fill = suite_commands(suite, "fill", HAL_ONE_SHOT);
        struct hal_command_buffer *copy = suite_commands(suite, "copy", HAL_ONE_SHOT);
        check_ok(suite, hal_command_fill(fill, part, 0, bytes, value, 1));
        suite_run(suite, fill);
        memset(wanted, value, bytes);
        check_buffer(suite, part, 0, wanted, bytes);
        memset(wanted, value ^ 0xff, bytes);
        suite_write(suite, part, 0, wanted, bytes);
        check_ok(suite, hal_command_copy(copy, part, 0, own, 0, bytes));
        suite_run(suite, copy);
        check_buffer(suite, own, 0, wanted, bytes);
        check_buffer(suite, part, 0, wanted, bytes);
    }
}

static void maps_of_one_buffer(struct suite *suite, uint64_t bytes)
{
    const struct hal_buffer_desc desc = {.label = "shared",
                                         .bytes = bytes * THREADS,
                                         .memory =
                                             HAL_MEMORY_DEVICE_LOCAL | HAL_MEMORY_HOST_VISIBLE};
    struct share share = {.buffer = suite_buffer_of(suite, suite_device(suite), &desc)};
    for (uint32_t i = 0; i < THREADS; i++) {
        check_ok(suite,
                 hal_buffer_subspan(share.buffer, i * bytes, bytes, "part", &share.parts[i]));
        suite_own_buffer(suite, share.parts[i]);
    }
    run_threads(suite, map_own_part, &share);
}

/* ---- One command buffer --------------------------------------------------------------------- */

static void submit_often(struct suite *suite, void *user)
{
    const struct share *share = user;
    for (int i = 0; i < ROUNDS; i++)
        check_ok(suite, suite_submit(suite, 0, share->commands, SUITE_NONE, SUITE_NONE));
}

static void one_reusable_from_all(struct suite *suite, uint64_t unused)
{
    (void)unused;
    const uint32_t wanted = THREADS * ROUNDS * 64 * 3;
    struct share share = {.buffer = suite_buffer(suite, "count", 4),
                          .commands = suite_commands(suite, "shared", HAL_REUSABLE)};
    suite_clear(suite, share.buffer, 0);
    suite_dispatch(suite, share.commands,
                   &(struct suite_launch){KERNEL_COUNT_THREADS, {3, 1, 1}, {share.buffer}, {0}, 0});
    check_ok(suite, hal_command_buffer_end(share.commands));
    run_threads(suite, submit_often, &share);
    check_ok(suite, hal_device_wait_idle(suite_device(suite), SUITE_TIMEOUT_NS));
    check_buffer(suite, share.buffer, 0, &wanted, 4);
}

/* Of all that submit a one-shot command buffer at the same moment, one may. */
static void submit_once(struct suite *suite, void *user)
{
    const struct share *share = user;
    suite_wait(suite, share->semaphores[0], 1);
    const enum hal_status status = suite_submit(suite, 0, share->commands, SUITE_NONE, SUITE_NONE);
    if (status != HAL_OK)
        check_fails(suite, status, HAL_INVALID, "one-shot");
}

static void one_shot_from_all(struct suite *suite, uint64_t unused)
{
    (void)unused;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const uint32_t wanted = 64;
        struct share share = {.buffer = suite_buffer(suite, "count", 4),
                              .commands = suite_commands(suite, "once", HAL_ONE_SHOT)};
        share.semaphores[0] = suite_semaphore(suite, "go", 0);
        suite_clear(suite, share.buffer, 0);
        suite_dispatch(
            suite, share.commands,
            &(struct suite_launch){KERNEL_COUNT_THREADS, {1, 1, 1}, {share.buffer}, {0}, 0});
        check_ok(suite, hal_command_buffer_end(share.commands));
        check_ok(suite, hal_semaphore_signal(share.semaphores[0], 1));
        run_threads(suite, submit_once, &share);
        check_ok(suite, hal_device_wait_idle(suite_device(suite), SUITE_TIMEOUT_NS));
        check_buffer(suite, share.buffer, 0, &wanted, 4);
    }
}

/* ---- Handing on ----------------------------------------------------------------------------- */

/* A token goes around: each thread waits for its neighbour's value, adds to the buffer by the
 * host, and signals its own. */
static void pass_by_host(struct suite *suite, void *user)
{
    const struct share *share = user;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint32_t value;
        suite_wait(suite, share->semaphores[0], round * THREADS + share->number);
        suite_read(suite, share->buffer, 0, &value, 4);
        value = value * 3 + share->number;
        suite_write(suite, share->buffer, 0, &value, 4);
        check_ok(suite,
                 hal_semaphore_signal(share->semaphores[0], round * THREADS + share->number + 1));
    }
}

/* The same by submissions, all of which are there before the first may begin. */
static void pass_by_device(struct suite *suite, void *user)
{
    const struct share *share = user;
    for (uint64_t round = ROUNDS; round-- > 0;) {
        const uint64_t turn = round * THREADS + share->number;
        const uint64_t queue = (uint64_t)1 << turn % suite_info(suite)->queue_count;
        struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
        suite_dispatch(
            suite, commands,
            &(struct suite_launch){KERNEL_CHAIN, {1, 1, 1}, {share->buffer}, {share->number}, 1});
        check_ok(suite, hal_command_buffer_end(commands));
        check_ok(suite, suite_submit(suite, queue, commands, suite_at(share->semaphores[0], turn),
                                     suite_at(share->semaphores[0], turn + 1)));
    }
}

static void token_goes_around(struct suite *suite, uint64_t by_device)
{
    uint32_t wanted = 1;
    struct share share = {.buffer = suite_buffer(suite, "token", 4)};
    suite_write(suite, share.buffer, 0, &wanted, 4);
    share.semaphores[0] = suite_semaphore(suite, "turn", 0);
    run_threads(suite, by_device ? pass_by_device : pass_by_host, &share);
    suite_wait(suite, share.semaphores[0], ROUNDS * THREADS);
    for (uint32_t i = 0; i < ROUNDS * THREADS; i++)
        wanted = wanted * 3 + i % THREADS;
    check_buffer(suite, share.buffer, 0, &wanted, 4);
}

/* Each step is one that all have made. */
static void wait_in_turns(struct suite *suite, void *user)
{
    const struct share *share = user;
    struct hal_semaphore *mine = share->semaphores[share->number];
    struct hal_semaphore *next = share->semaphores[(share->number + 1) % THREADS];
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        check_ok(suite, hal_semaphore_signal(mine, i));
        suite_wait(suite, next, i);
    }
}

static void all_meet(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct share share = {0};
    for (int i = 0; i < THREADS; i++)
        share.semaphores[i] = suite_semaphore(suite, "meeting", 0);
    run_threads(suite, wait_in_turns, &share);
    for (int i = 0; i < THREADS; i++) {
        uint64_t value;
        check_ok(suite, hal_semaphore_query(share.semaphores[i], &value));
        check_u64(suite, value, ROUNDS);
    }
}

static void wait_for_the_end(struct suite *suite, void *user)
{
    const struct share *share = user;
    check_fails(suite, hal_semaphore_wait(share->semaphores[0], 1, SUITE_TIMEOUT_NS), HAL_IO,
                "for everybody");
}

static void failure_wakes_all(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct share share = {0}, *shares = suite_memory(suite, THREADS * sizeof share);
    share.semaphores[0] = suite_semaphore(suite, "awaited", 0);
    for (uint32_t i = 0; i < THREADS; i++) {
        shares[i] = share;
        suite_thread(suite, wait_for_the_end, &shares[i]);
    }
    hal_semaphore_fail(share.semaphores[0], HAL_IO, "for everybody");
    suite_join(suite);
}

/* ---- Others --------------------------------------------------------------------------------- */

static void compile_own(struct suite *suite, void *user)
{
    const struct share *share = user;
    char source[300];
    uint32_t word = 0;
    const struct hal_entry_point entry = {suite_entry(suite, "answer"), {1, 1, 1}, 0, 0};
    const struct hal_constant constant = {0, HAL_CONSTANT_UINT32,
                                          (uint32_t)(share->number / share->argument) + 40};
    struct hal_buffer *x = suite_buffer(suite, "x", 4);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    snprintf(source, sizeof source,
             "#include <metal_stdlib>\nusing namespace metal;\n"
             "kernel void answer(device uint *x [[buffer(0)]]) { x[0] = %u; }\n",
             (unsigned)constant.bits);
    const struct hal_executable_variant variant = suite_variant(suite, source, MODULE_ANSWER);
    const struct hal_executable_desc desc = {.label = "threads",
                                             .variants = &variant,
                                             .variant_count = 1,
                                             .constants = &constant,
                                             .constant_count = variant.format == HAL_FORMAT_SPIRV,
                                             .entry_points = &entry,
                                             .entry_point_count = 1};
    struct hal_executable *executable = suite_executable(suite, &desc);
    const struct hal_binding binding = {x, 0, 4};
    check_ok(suite, hal_command_push_descriptor_set(commands, 0, &binding, 1));
    check_ok(suite, hal_command_dispatch(commands, executable, 0, (uint32_t[3]){1, 1, 1}));
    suite_run(suite, commands);
    suite_read(suite, x, 0, &word, 4);
    check_u64(suite, word, share->number / share->argument + 40);
}

/* Different sources, or the same one, compiled at the same time. */
static void compile_at_once(struct suite *suite, uint64_t threads_per_source)
{
    run_threads(suite, compile_own, &(struct share){.argument = threads_per_source});
}

static void fail_on_purpose(struct suite *suite, void *user)
{
    const struct share *share = user;
    char label[32];
    snprintf(label, sizeof label, "of thread %u", share->number);
    struct hal_semaphore *semaphore = suite_semaphore(suite, label, 3);
    for (int i = 0; i < 200; i++)
        check_fails(suite, hal_semaphore_signal(semaphore, 3), HAL_INVALID, label);
}

/* A message is its thread's own. */
static void messages_do_not_mix(struct suite *suite, uint64_t unused)
{
    (void)unused;
    run_threads(suite, fail_on_purpose, &(struct share){0});
}

static void idle_often(struct suite *suite, void *user)
{
    const struct share *share = user;
    struct hal_buffer *x = suite_buffer(suite, "x", 4);
    suite_clear(suite, x, 0);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        const uint32_t wanted = i * 100 + share->number;
        struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
        check_ok(suite, hal_command_fill(commands, x, 0, 4, wanted, 4));
        check_ok(suite, hal_command_buffer_end(commands));
        check_ok(suite, suite_submit(suite, 0, commands, SUITE_NONE, SUITE_NONE));
        check_ok(suite, hal_device_wait_idle(suite_device(suite), SUITE_TIMEOUT_NS));
        check_buffer(suite, x, 0, &wanted, 4);
    }
}

static void all_wait_idle(struct suite *suite, uint64_t unused)
{
    (void)unused;
    run_threads(suite, idle_often, &(struct share){0});
}

static void retain_often(struct suite *suite, void *user)
{
    const struct share *share = user;
    for (int i = 0; i < 2000; i++) {
        hal_buffer_retain(share->buffer);
        hal_semaphore_retain(share->semaphores[0]);
        hal_command_buffer_retain(share->commands);
        hal_executable_retain(share->executable);
        hal_device_retain(suite_device(suite));
        hal_buffer_release(share->buffer);
        hal_semaphore_release(share->semaphores[0]);
        hal_command_buffer_release(share->commands);
        hal_executable_release(share->executable);
        hal_device_release(suite_device(suite));
    }
}

static void references_are_counted(struct suite *suite, uint64_t unused)
{
    (void)unused;
    uint64_t value;
    struct share share = {.buffer = suite_buffer(suite, "x", 4),
                          .commands = suite_commands(suite, "c", HAL_ONE_SHOT),
                          .executable = suite_kernels(suite)};
    share.semaphores[0] = suite_semaphore(suite, "s", 6);
    run_threads(suite, retain_often, &share);
    suite_clear(suite, share.buffer, 3);
    check_buffer(suite, share.buffer, 0, "\3\3\3\3", 4);
    check_ok(suite, hal_semaphore_query(share.semaphores[0], &value));
    check_u64(suite, value, 6);
    suite_run(suite, share.commands);
}

static void nest_scopes(struct suite *suite, void *user)
{
    const struct share *share = user;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        hal_scope_begin(suite_device(suite), "outer");
        for (uint32_t k = 0; k < share->number; k++)
            hal_scope_begin(suite_device(suite), "inner");
        for (uint32_t k = 0; k < share->number; k++)
            hal_scope_end(suite_device(suite));
        hal_scope_end(suite_device(suite));
    }
}

static void scopes_of_all(struct suite *suite, uint64_t unused)
{
    (void)unused;
    run_threads(suite, nest_scopes, &(struct share){0});
}

static const struct suite_case cases[] = {
    {"each_its_own", each_its_own, 0},
    {"objects_come_and_go", objects_come_and_go, 0},
    {"parts_of_one_small_buffer", parts_of_one_buffer, 10},
    {"maps_of_one_small_buffer", maps_of_one_buffer, 12},
    {"maps_of_one_large_buffer", maps_of_one_buffer, 50000},
    {"parts_of_one_large_buffer", parts_of_one_buffer, 50000},
    {"one_reusable_from_all", one_reusable_from_all, 0},
    {"one_shot_from_all", one_shot_from_all, 0},
    {"token_by_host", token_goes_around, false},
    {"token_by_device", token_goes_around, true},
    {"all_meet", all_meet, 0},
    {"failure_wakes_all", failure_wakes_all, 0},
    {"compile_different_sources", compile_at_once, 1},
    {"compile_one_source", compile_at_once, THREADS},
    {"messages_do_not_mix", messages_do_not_mix, 0},
    {"all_wait_idle", all_wait_idle, 0},
    {"references_are_counted", references_are_counted, 0},
    {"scopes_of_all", scopes_of_all, 0},
};

const struct suite_area area_threads = {"threads", cases, SUITE_COUNT(cases)};
