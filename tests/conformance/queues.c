/* SPDX-License-Identifier: Apache-2.0 */
/* Operations straight on a queue, and which queue takes a submission. */
#include "tests/conformance/suite.h"

#include <stdio.h>

enum { BYTES = 4096 };

/* A chain of operations: each waits for the one before. */
struct chain {
    struct hal_semaphore *semaphore;
    struct hal_semaphore_value wait, signal;
    struct hal_submit_desc desc;
};

static const struct hal_submit_desc *next(struct suite *suite, struct chain *chain)
{
    if (!chain->semaphore)
        chain->semaphore = suite_semaphore(suite, "chain", 0);
    chain->wait = (struct hal_semaphore_value){chain->semaphore, chain->signal.value};
    chain->signal = (struct hal_semaphore_value){chain->semaphore, chain->wait.value + 1};
    chain->desc = (struct hal_submit_desc){.waits = &chain->wait,
                                           .wait_count = chain->wait.value > 0,
                                           .signals = &chain->signal,
                                           .signal_count = 1};
    return &chain->desc;
}

static void finish(struct suite *suite, const struct chain *chain)
{
    suite_wait(suite, chain->semaphore, chain->signal.value);
}

static void fill(struct suite *suite, uint64_t pattern_bytes)
{
    struct hal_buffer *buffer = suite_buffer(suite, "filled", BYTES);
    struct chain chain = {0};
    uint8_t model[BYTES];
    const uint32_t pattern = 0xC1B2A394;
    suite_clear(suite, buffer, 0x55);
    memset(model, 0x55, sizeof model);
    check_ok(suite, hal_queue_fill(suite_device(suite), next(suite, &chain), buffer, 64, 1024,
                                   pattern, (uint32_t)pattern_bytes));
    finish(suite, &chain);
    for (uint64_t i = 0; i < 1024; i++)
        model[64 + i] = (uint8_t)(pattern >> 8 * (i % pattern_bytes));
    check_buffer(suite, buffer, 0, model, BYTES);
}

static void copy(struct suite *suite, uint64_t alignment)
{
    struct hal_buffer *source = suite_buffer(suite, "source", BYTES);
    struct hal_buffer *target = suite_buffer(suite, "target", BYTES);
    struct chain chain = {0};
    uint8_t from[BYTES], to[BYTES];
    suite_random_bytes(suite, from, BYTES);
    suite_write(suite, source, 0, from, BYTES);
    suite_clear(suite, target, 0);
    memset(to, 0, sizeof to);
    check_ok(suite, hal_queue_copy(suite_device(suite), next(suite, &chain), source, alignment,
                                   target, 16 - alignment, 3333));
    finish(suite, &chain);
    memcpy(to + 16 - alignment, from + alignment, 3333);
    check_buffer(suite, target, 0, to, BYTES);
}

/* The data may change as soon as the call has returned. */
static void update(struct suite *suite, uint64_t argument)
{
    struct hal_buffer *buffer = suite_buffer(suite, "updated", HAL_MAX_UPDATE_BYTES);
    struct hal_semaphore *gate = suite_semaphore(suite, "gate", 0);
    struct hal_semaphore *done = suite_semaphore(suite, "done", 0);
    const struct hal_semaphore_value wait = {gate, 1}, signal = {done, 1};
    const struct hal_submit_desc desc = {
        .waits = &wait, .wait_count = 1, .signals = &signal, .signal_count = 1};
    uint8_t *data = suite_memory(suite, HAL_MAX_UPDATE_BYTES);
    uint8_t *model = suite_memory(suite, HAL_MAX_UPDATE_BYTES);
    (void)argument;
    suite_random_bytes(suite, data, HAL_MAX_UPDATE_BYTES);
    memcpy(model, data, HAL_MAX_UPDATE_BYTES);
    check_ok(suite,
             hal_queue_update(suite_device(suite), &desc, data, buffer, 0, HAL_MAX_UPDATE_BYTES));
    memset(data, 0, HAL_MAX_UPDATE_BYTES);
    check_ok(suite, hal_semaphore_signal(gate, 1));
    suite_wait(suite, done, 1);
    check_buffer(suite, buffer, 0, model, HAL_MAX_UPDATE_BYTES);
    check_fails(
        suite,
        hal_queue_update(suite_device(suite), NULL, data, buffer, 0, HAL_MAX_UPDATE_BYTES + 1),
        HAL_INVALID, "65536", "65537");
}

static void dispatch(struct suite *suite, uint64_t argument)
{
    struct hal_buffer *buffer = suite_buffer(suite, "numbers", BYTES);
    struct chain chain = {0};
    const struct hal_binding binding = {buffer, 256, 1024};
    const uint32_t first = 5000;
    uint32_t model[BYTES / 4];
    const struct hal_dispatch_desc numbers = {.executable = suite_kernels(suite),
                                              .entry = KERNEL_NUMBER,
                                              .workgroup_count = {4, 1, 1},
                                              .bindings = &binding,
                                              .binding_count = 1,
                                              .constants = &first,
                                              .constant_bytes = 4};
    (void)argument;
    suite_clear(suite, buffer, 0);
    memset(model, 0, sizeof model);
    check_ok(suite, hal_queue_dispatch(suite_device(suite), next(suite, &chain), &numbers));
    finish(suite, &chain);
    for (uint32_t i = 0; i < 256; i++)
        model[64 + i] = first + i;
    check_buffer(suite, buffer, 0, model, BYTES);
}

static void barrier_joins(struct suite *suite, uint64_t argument)
{
    struct hal_semaphore *left = suite_semaphore(suite, "left", 0);
    struct hal_semaphore *right = suite_semaphore(suite, "right", 0);
    struct hal_semaphore *joined = suite_semaphore(suite, "joined", 0);
    const struct hal_semaphore_value waits[] = {{left, 3}, {right, 5}}, signal = {joined, 7};
    const struct hal_submit_desc desc = {
        .waits = waits, .wait_count = 2, .signals = &signal, .signal_count = 1};
    uint64_t value;
    (void)argument;
    check_ok(suite, hal_queue_barrier(suite_device(suite), &desc));
    check_ok(suite, hal_semaphore_signal(left, 3));
    check_ok(suite, hal_semaphore_query(joined, &value));
    check_u64(suite, value, 0);
    check_ok(suite, hal_semaphore_signal(right, 5));
    suite_wait(suite, joined, 7);
    check_ok(suite, hal_queue_barrier(suite_device(suite), NULL));
}

static void without_description(struct suite *suite, uint64_t argument)
{
    struct hal_buffer *buffer = suite_buffer(suite, "filled", BYTES);
    uint8_t model[BYTES];
    (void)argument;
    check_ok(suite, hal_queue_fill(suite_device(suite), NULL, buffer, 0, HAL_WHOLE_BUFFER, 9, 1));
    check_ok(suite, hal_device_wait_idle(suite_device(suite), SUITE_TIMEOUT_NS));
    memset(model, 9, sizeof model);
    check_buffer(suite, buffer, 0, model, BYTES);
}

/* Operations of all kinds, ordered by semaphores, against plain memory. */
static void random_chain(struct suite *suite, uint64_t argument)
{
    enum { STEPS = 120 };
    struct hal_buffer *buffers[2];
    uint8_t *models[2];
    struct chain chain = {0};
    struct hal_device *device = suite_device(suite);
    const uint32_t queues = suite_info(suite)->queue_count;
    (void)argument;
    for (int i = 0; i < 2; i++) {
        buffers[i] = suite_buffer(suite, "chained", BYTES);
        models[i] = suite_memory(suite, BYTES);
        suite_clear(suite, buffers[i], 0);
    }
    for (uint32_t step = 0; step < STEPS; step++) {
        struct hal_submit_desc desc = *next(suite, &chain);
        const uint32_t to = suite_random_below(suite, 2);
        const uint64_t bytes = 1 + suite_random_below(suite, 1000);
        const uint64_t offset = suite_random_below(suite, BYTES - 1000);
        const uint64_t source = suite_random_below(suite, BYTES - 1000);
        uint8_t data[1000];
        desc.queues = UINT64_MAX >> (64 - queues);
        switch (suite_random_below(suite, 4)) {
        case 0:
            check_ok(suite, hal_queue_fill(device, &desc, buffers[to], offset, bytes, step, 1));
            memset(models[to] + offset, (int)step, bytes);
            break;
        case 1:
            check_ok(suite, hal_queue_copy(device, &desc, buffers[!to], source, buffers[to], offset,
                                           bytes));
            memcpy(models[to] + offset, models[!to] + source, bytes);
            break;
        case 2:
            suite_random_bytes(suite, data, bytes);
            check_ok(suite, hal_queue_update(device, &desc, data, buffers[to], offset, bytes));
            memcpy(models[to] + offset, data, bytes);
            break;
        default: check_ok(suite, hal_queue_barrier(device, &desc)); break;
        }
    }
    finish(suite, &chain);
    for (int i = 0; i < 2; i++)
        check_buffer(suite, buffers[i], 0, models[i], BYTES);
}

static void wrong_arguments(struct suite *suite, uint64_t argument)
{
    struct hal_device *device = suite_device(suite);
    struct hal_buffer *buffer = suite_buffer(suite, "small", 64);
    struct hal_command_buffer *commands = suite_commands(suite, "extra", HAL_REUSABLE);
    const struct hal_submit_desc with_commands = {.commands = &commands, .command_count = 1};
    (void)argument;
    check_ok(suite, hal_command_buffer_end(commands));
    check_fails(suite, hal_queue_barrier(device, &with_commands), HAL_INVALID, "1 command buffer",
                "none");
    check_fails(suite, hal_queue_fill(device, NULL, buffer, 60, 5, 0, 1), HAL_INVALID, "'small'",
                "64", "60 + 5");
    check_fails(suite, hal_queue_fill(NULL, NULL, buffer, 0, 4, 0, 1), HAL_INVALID, "NULL");
    check_fails(suite, hal_queue_copy(device, NULL, NULL, 0, buffer, 0, 4), HAL_INVALID, "NULL");
    check_fails(suite, hal_queue_dispatch(device, NULL, NULL), HAL_INVALID, "description");
    check_fails(suite,
                hal_queue_dispatch(device, NULL,
                                   &(struct hal_dispatch_desc){.executable = suite_kernels(suite),
                                                               .entry = KERNEL_TOTAL}),
                HAL_INVALID, "entry points");
}

/* A failed wait fails the operation, which has no effect. */
static void failure_reaches_operation(struct suite *suite, uint64_t argument)
{
    struct hal_buffer *buffer = suite_buffer(suite, "untouched", 64);
    struct hal_semaphore *gate = suite_semaphore(suite, "gate", 0);
    struct hal_semaphore *done = suite_semaphore(suite, "done", 0);
    const struct hal_semaphore_value wait = {gate, 1}, signal = {done, 1};
    const struct hal_submit_desc desc = {
        .waits = &wait, .wait_count = 1, .signals = &signal, .signal_count = 1};
    uint8_t model[64] = {0};
    (void)argument;
    suite_clear(suite, buffer, 0);
    check_ok(suite, hal_queue_fill(suite_device(suite), &desc, buffer, 0, 64, 0xFF, 1));
    hal_semaphore_fail(gate, HAL_FAILED, "the gate broke");
    check_fails(suite, hal_semaphore_wait(done, 1, SUITE_TIMEOUT_NS), HAL_FAILED, "the gate broke");
    check_buffer(suite, buffer, 0, model, sizeof model);
}

/* Messages name what the application called, and no command buffer, which it has not made. */
static void mistakes_name_the_operation(struct suite *suite, uint64_t unused)
{
    static const uint8_t data[4];
    struct hal_device *device = suite_device(suite);
    struct hal_buffer *buffer = suite_buffer(suite, "b", 64);
    uint8_t *large = suite_memory(suite, HAL_MAX_UPDATE_BYTES + 1);
    struct hal_buffer *room = suite_buffer(suite, "room", HAL_MAX_UPDATE_BYTES + 1);
    struct hal_mapping mapping;
    (void)unused;
    check_fails(suite, hal_queue_fill(device, NULL, buffer, 0, 8, 0, 3), HAL_INVALID,
                "hal_queue_fill: a fill pattern of 3 bytes");
    check_fails(suite, hal_queue_update(device, NULL, large, room, 0, HAL_MAX_UPDATE_BYTES + 1),
                HAL_INVALID, "hal_queue_update: an update of 65537 bytes: the limit is 65536");
    check_fails(suite,
                hal_queue_dispatch(device, NULL,
                                   &(struct hal_dispatch_desc){.executable = suite_kernels(suite),
                                                               .constants = data,
                                                               .constant_bytes = 3}),
                HAL_INVALID, "hal_queue_dispatch: push constants", "multiples of 4");
    check_ok(suite, hal_buffer_map(buffer, HAL_MAP_READ, 0, 1, &mapping));
    const enum hal_status status = hal_queue_copy(device, NULL, buffer, 0, room, 0, 1);
    const bool is_named = strstr(hal_message(), "hal_queue_copy uses 1 byte") != NULL;
    check_ok(suite, hal_buffer_unmap(&mapping));
    check(suite, status == HAL_INVALID);
    check(suite, is_named);
}

/* Work that waits fills its queue: what may go elsewhere does, and everything ends. */
static void affinity_masks(struct suite *suite, uint64_t argument)
{
    struct hal_device *device = suite_open(suite, "queues=8");
    struct hal_semaphore *gate = suite_semaphore_of(suite, device, "gate", 0);
    struct hal_semaphore *done = suite_semaphore_of(suite, device, "done", 0);
    const struct hal_semaphore_value wait = {gate, 1};
    (void)argument;
    for (uint32_t i = 0; i < 64; i++) {
        const uint64_t masks[] = {0xFF, 0x80, 0x11, 0, UINT64_C(1) << (i % 8)};
        check_ok(suite, hal_queue_barrier(device, &(struct hal_submit_desc){
                                                      .queues = masks[i % SUITE_COUNT(masks)],
                                                      .waits = &wait,
                                                      .wait_count = 1}));
    }
    const struct hal_semaphore_value signal = {done, 1};
    check_ok(suite,
             hal_queue_barrier(device, &(struct hal_submit_desc){
                                           .queues = 0xFF, .signals = &signal, .signal_count = 1}));
    suite_wait(suite, done, 1);
    check_ok(suite, hal_semaphore_signal(gate, 1));
    check_ok(suite, hal_device_wait_idle(device, SUITE_TIMEOUT_NS));
    check_fails(suite, hal_queue_barrier(device, &(struct hal_submit_desc){.queues = 0x100}),
                HAL_INVALID, "0x100", "8 queues");
}

struct racer {
    struct hal_buffer *buffer;
    struct hal_semaphore *done;
    uint32_t number;
};

static void race(struct suite *suite, void *user)
{
    const struct racer *racer = user;
    for (uint64_t i = 0; i < 100; i++) {
        const struct hal_semaphore_value wait = {racer->done, i}, signal = {racer->done, i + 1};
        const struct hal_submit_desc desc = {
            .waits = &wait, .wait_count = i > 0, .signals = &signal, .signal_count = 1};
        check_ok(suite, hal_queue_fill(suite_device(suite), &desc, racer->buffer,
                                       64 * racer->number, 64, (uint32_t)i + racer->number, 1));
    }
    suite_wait(suite, racer->done, 100);
}

static void from_threads(struct suite *suite, uint64_t argument)
{
    enum { THREADS = 4 };
    struct hal_buffer *buffer = suite_buffer(suite, "shared", THREADS * 64);
    struct racer racers[THREADS];
    uint8_t model[THREADS * 64];
    (void)argument;
    for (uint32_t i = 0; i < THREADS; i++) {
        racers[i] = (struct racer){buffer, suite_semaphore(suite, "done", 0), i};
        suite_thread(suite, race, &racers[i]);
        memset(model + (size_t)64 * i, (int)(99 + i), 64);
    }
    suite_join(suite);
    check_buffer(suite, buffer, 0, model, sizeof model);
}

/* ---- Several queues ------------------------------------------------------------------------- */

static void need_queues(struct suite *suite, uint32_t count)
{
    if (suite_info(suite)->queue_count < count)
        suite_skip(suite, count == 2 ? "needs 2 queues" : "needs 3 queues");
}

/* A ring: every queue waits for its neighbour, submitted against the direction. */
static void ring_of_queues(struct suite *suite, uint64_t rounds)
{
    need_queues(suite, 2);
    const uint32_t queues = suite_info(suite)->queue_count;
    struct hal_semaphore *turn = suite_semaphore(suite, "turn", 0);
    struct hal_buffer *x = suite_buffer(suite, "x", 4);
    uint32_t wanted = 0;
    suite_write(suite, x, 0, &wanted, 4);
    for (uint64_t i = rounds * queues; i > 0; i--) {
        struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
        suite_dispatch(suite, commands,
                       &(struct suite_launch){KERNEL_CHAIN, {1, 1, 1}, {x}, {(uint32_t)i}, 1});
        check_ok(suite, hal_command_buffer_end(commands));
        check_ok(suite, suite_submit(suite, (uint64_t)1 << i % queues, commands, suite_at(turn, i),
                                     suite_at(turn, i + 1)));
    }
    check_ok(suite, hal_semaphore_signal(turn, 1));
    suite_wait(suite, turn, rounds * queues + 1);
    for (uint32_t i = 1; i <= rounds * queues; i++)
        wanted = wanted * 3 + i;
    check_buffer(suite, x, 0, &wanted, 4);
}

/* A queue whose work waits does not keep the others from working. */
static void queues_do_not_block_each_other(struct suite *suite, uint64_t unused)
{
    (void)unused;
    need_queues(suite, 2);
    struct hal_semaphore *go = suite_semaphore(suite, "go", 0);
    struct hal_semaphore *slow = suite_semaphore(suite, "slow", 0);
    struct hal_semaphore *quick = suite_semaphore(suite, "quick", 0);
    check_ok(suite, suite_submit(suite, 1, NULL, suite_at(go, 1), suite_at(slow, 1)));
    for (uint64_t i = 1; i <= 10; i++)
        check_ok(suite, suite_submit(suite, 2, NULL, SUITE_NONE, suite_at(quick, i)));
    suite_wait(suite, quick, 10);
    check_fails(suite, hal_semaphore_wait(slow, 1, 0), HAL_TIMEOUT, "slow");
    check_ok(suite, hal_semaphore_signal(go, 1));
    suite_wait(suite, slow, 1);
}

/* Also on one queue: a submission that waits does not hold up those behind it. */
static void one_queue_is_not_blocked(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_semaphore *go = suite_semaphore(suite, "go", 0);
    struct hal_semaphore *first = suite_semaphore(suite, "first", 0);
    struct hal_semaphore *second = suite_semaphore(suite, "second", 0);
    check_ok(suite, suite_submit(suite, 1, NULL, suite_at(go, 1), suite_at(first, 1)));
    check_ok(suite, suite_submit(suite, 1, NULL, SUITE_NONE, suite_at(go, 1)));
    check_ok(suite, suite_submit(suite, 1, NULL, suite_at(first, 1), suite_at(second, 1)));
    suite_wait(suite, second, 1);
}

static void every_affinity(struct suite *suite, uint64_t unused)
{
    (void)unused;
    need_queues(suite, 3);
    const uint32_t queues = suite_info(suite)->queue_count;
    struct hal_semaphore *done = suite_semaphore(suite, "done", 0);
    const uint64_t all = queues == 64 ? UINT64_MAX : ((uint64_t)1 << queues) - 1;
    const uint64_t most = queues > 8 ? 255 : all;
    for (uint64_t mask = 0; mask <= most; mask++) {
        check_ok(suite,
                 suite_submit(suite, mask, NULL, suite_at(done, mask), suite_at(done, mask + 1)));
        suite_wait(suite, done, mask + 1);
    }
}

static const struct suite_case cases[] = {
    {"fill_1", fill, 1},
    {"fill_2", fill, 2},
    {"fill_4", fill, 4},
    {"copy_0", copy, 0},
    {"copy_1", copy, 1},
    {"copy_7", copy, 7},
    {"copy_16", copy, 16},
    {"update", update, 0},
    {"dispatch", dispatch, 0},
    {"barrier_joins", barrier_joins, 0},
    {"without_description", without_description, 0},
    {"random_chain", random_chain, 0},
    {"wrong_arguments", wrong_arguments, 0},
    {"failure_reaches_operation", failure_reaches_operation, 0},
    {"mistakes_name_the_operation", mistakes_name_the_operation, 0},
    {"affinity_masks", affinity_masks, 0},
    {"from_threads", from_threads, 0},
    {"ring_of_queues", ring_of_queues, 8},
    {"queues_do_not_block_each_other", queues_do_not_block_each_other, 0},
    {"one_queue_is_not_blocked", one_queue_is_not_blocked, 0},
    {"every_affinity", every_affinity, 0},
};

const struct suite_area area_queues = {"queues", cases, SUITE_COUNT(cases)};
