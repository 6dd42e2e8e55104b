/* SPDX-License-Identifier: Apache-2.0 */
/* The limit of transient memory: it holds, the statistics say what the device holds, allocas wait
 * for memory that work in flight gives back, and fail where none comes without help. */
#include "tests/conformance/line.h"

enum { MIB = 1 << 20 };

static struct hal_device *limited(struct suite *suite, uint64_t bytes)
{
    struct hal_device *device = suite_open(suite, "");
    check_ok(suite, hal_device_transient_limit(device, bytes));
    return device;
}

static enum hal_status alloca_on(struct suite_line *line, uint64_t bytes, struct hal_buffer **out)
{
    const struct hal_buffer_desc desc = {.label = "transient", .bytes = bytes};
    return hal_queue_alloca(line->device, suite_line_next(line), &desc, out);
}

/* Memory of work that failed does not come back; the work itself, on the lines before, says why. */
static void check_alloca(struct suite *suite, enum hal_status status, struct suite_line *before,
                         uint32_t count)
{
    for (uint32_t i = 0; status == HAL_NO_MEMORY && i < count; i++)
        suite_line_finish(suite, &before[i]);
    check_ok(suite, status);
}

/* A line whose first submission waits for the gate. */
static struct suite_line gated_line(struct suite *suite, struct hal_device *device,
                                    struct hal_semaphore *gate)
{
    struct suite_line line = suite_line_begin(suite, device);
    const struct hal_semaphore_value wait = {gate, 1};
    struct hal_submit_desc first = *suite_line_next(&line);
    first.waits = &wait;
    first.wait_count = 1;
    check_ok(suite, hal_queue_barrier(device, &first));
    return line;
}

/* The pool, the core's account of all buffers, and where it can be asked the driver say the same.
 * `others`: bytes of buffers that are not transient. */
static void check_truth(struct suite *suite, struct hal_device *device, uint64_t others,
                        uint64_t limit)
{
    struct hal_transient_statistics pool = {0};
    struct hal_memory_statistics memory = {0};
    int64_t used;
    check_ok(suite, hal_device_transient_statistics(device, &pool));
    check_ok(suite, hal_device_memory_statistics(device, &memory));
    check_u64(suite, memory.total.current_bytes, pool.reserved_bytes + others);
    check_u64(suite, memory.total.peak_bytes, pool.peak_reserved_bytes + others);
    check(suite, pool.peak_reserved_bytes <= limit);
    if (strcmp(suite_info(suite)->driver, "cpu") == 0 &&
        memory.cached_bytes + memory.reused_count == 0) {
        check_ok(suite, hal_device_query(device, "memory.used.bytes", &used));
        check_u64(suite, used, memory.total.current_bytes);
    }
}

/* ---- Rings ---------------------------------------------------------------------------------- */

/* Independent chains of alloca, use and dealloca, many times what the limit holds, all submitted
 * before the first may begin. `behind` decides what each of them waits for: the gate itself, or
 * something that waits for it. */
static void ring(struct suite *suite, uint64_t behind)
{
    enum { CHAINS = 40, LIMIT = 3 * MIB, TAIL = 16 };
    struct hal_device *device = limited(suite, LIMIT);
    struct hal_semaphore *gate = suite_semaphore_of(suite, device, "gate", 0);
    struct hal_buffer *results = suite_buffer_of(
        suite, device, &(struct hal_buffer_desc){.label = "results", .bytes = CHAINS * TAIL});
    struct suite_line lines[CHAINS];
    uint8_t model[CHAINS * TAIL];
    for (uint32_t i = 0; i < CHAINS; i++) {
        struct hal_buffer *buffer;
        struct suite_line *line = &lines[i];
        *line = behind ? gated_line(suite, device, gate) : suite_line_begin(suite, device);
        struct hal_submit_desc first = *suite_line_next(line);
        const struct hal_semaphore_value wait = {gate, 1};
        if (!behind) {
            first.waits = &wait;
            first.wait_count = 1;
        }
        const struct hal_buffer_desc desc = {.label = "ring", .bytes = MIB};
        check_ok(suite, hal_queue_alloca(device, &first, &desc, &buffer));
        check_ok(suite, hal_queue_fill(device, suite_line_next(line), buffer, 0, MIB, i + 1, 1));
        check_ok(suite, hal_queue_copy(device, suite_line_next(line), buffer, MIB - TAIL, results,
                                       (uint64_t)TAIL * i, TAIL));
        check_ok(suite, hal_queue_dealloca(device, suite_line_next(line), buffer));
        hal_buffer_release(buffer);
        memset(model + (size_t)TAIL * i, (int)i + 1, TAIL);
        check_truth(suite, device, CHAINS * TAIL, LIMIT);
    }
    check_ok(suite, hal_semaphore_signal(gate, 1));
    for (uint32_t i = 0; i < CHAINS; i++)
        suite_line_finish(suite, &lines[i]);
    check_buffer(suite, results, 0, model, sizeof model);
    check_truth(suite, device, CHAINS * TAIL, LIMIT);
}

/* Work that needs nothing more: the alloca waits, whatever it waits for itself. */
static void ring_in_flight(struct suite *suite, uint64_t bytes)
{
    enum { CHAINS = 60, LIMIT = 2 * MIB };
    struct hal_device *device = limited(suite, LIMIT);
    struct hal_buffer *results = suite_buffer_of(
        suite, device, &(struct hal_buffer_desc){.label = "results", .bytes = CHAINS});
    struct suite_line lines[CHAINS];
    uint8_t model[CHAINS];
    for (uint32_t i = 0; i < CHAINS; i++) {
        struct hal_buffer *buffer;
        lines[i] = suite_line_begin(suite, device);
        check_alloca(suite, alloca_on(&lines[i], bytes, &buffer), lines, i);
        check_ok(suite, hal_queue_fill(device, suite_line_next(&lines[i]), buffer, 0,
                                       HAL_WHOLE_BUFFER, i, 1));
        check_ok(suite, hal_queue_copy(device, suite_line_next(&lines[i]), buffer, bytes - 1,
                                       results, i, 1));
        check_ok(suite, hal_queue_dealloca(device, suite_line_next(&lines[i]), buffer));
        hal_buffer_release(buffer);
        model[i] = (uint8_t)i;
    }
    for (uint32_t i = 0; i < CHAINS; i++)
        suite_line_finish(suite, &lines[i]);
    check_buffer(suite, results, 0, model, sizeof model);
    check_truth(suite, device, CHAINS, LIMIT);
}

/* Pieces of one slab that come back serve one large request, in queue order. */
static void pieces(struct suite *suite, uint64_t count)
{
    struct hal_device *device = limited(suite, MIB);
    struct hal_semaphore *gate = suite_semaphore_of(suite, device, "gate", 0);
    struct hal_buffer *result =
        suite_buffer_of(suite, device, &(struct hal_buffer_desc){.label = "result", .bytes = MIB});
    struct suite_line line = gated_line(suite, device, gate);
    uint8_t *model = suite_memory(suite, MIB);
    struct hal_buffer *buffer;
    for (uint64_t i = 0; i < count; i++) {
        struct suite_line other = gated_line(suite, device, gate);
        check_ok(suite, alloca_on(&other, MIB / count, &buffer));
        check_ok(suite, hal_queue_fill(device, suite_line_next(&other), buffer, 0, HAL_WHOLE_BUFFER,
                                       1, 1));
        check_ok(suite, hal_queue_dealloca(device, suite_line_next(&other), buffer));
        hal_buffer_release(buffer);
    }
    check_ok(suite, alloca_on(&line, MIB, &buffer));
    check_ok(suite, hal_queue_fill(device, suite_line_next(&line), buffer, 0, MIB, 9, 1));
    check_ok(suite, hal_queue_copy(device, suite_line_next(&line), buffer, 0, result, 0, MIB));
    check_ok(suite, hal_queue_dealloca(device, suite_line_next(&line), buffer));
    hal_buffer_release(buffer);
    check_ok(suite, hal_semaphore_signal(gate, 1));
    suite_line_finish(suite, &line);
    memset(model, 9, MIB);
    check_buffer(suite, result, 0, model, MIB);
    check_truth(suite, device, MIB, MIB);
}

/* What comes back are pieces, or memory of another type: the slabs go first. */
static void other_shapes(struct suite *suite, uint64_t rounds)
{
    enum { LIMIT = 4 * MIB };
    struct hal_device *device = limited(suite, LIMIT);
    for (uint64_t round = 0; round < rounds; round++) {
        struct suite_line lines[6];
        for (uint32_t i = 0; i < 6; i++) {
            const struct hal_buffer_desc desc = {.label = "shape",
                                                 .bytes = i < 4 ? MIB : LIMIT,
                                                 .memory = i == 5 ? HAL_MEMORY_DEVICE_LOCAL : 0};
            struct hal_buffer *buffer;
            lines[i] = suite_line_begin(suite, device);
            const enum hal_status status =
                hal_queue_alloca(device, suite_line_next(&lines[i]), &desc, &buffer);
            check_alloca(suite, status, lines, i);
            for (uint32_t k = 0; k < 4; k++)
                check_ok(suite, hal_queue_fill(device, suite_line_next(&lines[i]), buffer, 0,
                                               HAL_WHOLE_BUFFER, k, 1));
            check_ok(suite, hal_queue_dealloca(device, suite_line_next(&lines[i]), buffer));
            hal_buffer_release(buffer);
        }
        for (uint32_t i = 0; i < 6; i++)
            suite_line_finish(suite, &lines[i]);
        check_truth(suite, device, 0, LIMIT);
    }
}

/* ---- What does not come ---------------------------------------------------------------------- */

/* A dealloca behind a gate keeps its memory from those who do not wait for the gate: the gate may
 * wait for them. */
static void another_gate(struct suite *suite, uint64_t argument)
{
    struct hal_device *device = limited(suite, MIB);
    struct hal_semaphore *gate = suite_semaphore_of(suite, device, "far gate", 0);
    struct suite_line one = gated_line(suite, device, gate), two = suite_line_begin(suite, device);
    struct suite_line three = gated_line(suite, device, gate);
    struct hal_buffer *buffer = NULL, *next;
    (void)argument;
    check_ok(suite, alloca_on(&one, MIB, &buffer));
    check_ok(suite, hal_queue_dealloca(device, suite_line_next(&one), buffer));
    hal_buffer_release(buffer);
    const struct suite_line before = two;
    check_fails(suite, alloca_on(&two, MIB, &next), HAL_NO_MEMORY, "'transient'", "1048576 bytes",
                "reserved", "limit is 1048576", "'far gate'", "reaches 1");
    two = before;
    check_ok(suite, alloca_on(&three, MIB, &next));
    check_ok(suite, hal_queue_dealloca(device, suite_line_next(&three), next));
    hal_buffer_release(next);
    check_ok(suite, hal_semaphore_signal(gate, 1));
    suite_line_finish(suite, &three);
    check_ok(suite, alloca_on(&two, MIB, &next));
    suite_own_buffer(suite, next);
    suite_line_finish(suite, &two);
    check_truth(suite, device, 0, MIB);
}

/* The dealloca waits for work that waits for the alloca, or (`late`) will. */
static void circles(struct suite *suite, uint64_t late)
{
    struct hal_device *device = limited(suite, MIB);
    struct hal_semaphore *used = suite_semaphore_of(suite, device, "used", 0);
    struct hal_semaphore *ready = suite_semaphore_of(suite, device, "ready", 0);
    struct suite_line line = suite_line_begin(suite, device);
    const struct hal_semaphore_value is_used = {used, 3}, is_ready = {ready, 1};
    const struct hal_submit_desc use = {
        .waits = &is_ready, .wait_count = 1, .signals = &is_used, .signal_count = 1};
    const struct hal_submit_desc give = {.waits = &is_used, .wait_count = 1};
    const struct hal_submit_desc take = {.signals = &is_ready, .signal_count = 1};
    const struct hal_buffer_desc half = {.label = "half", .bytes = MIB / 2};
    const struct hal_buffer_desc whole = {.label = "whole", .bytes = MIB};
    struct hal_buffer *first, *second;
    check_ok(suite, alloca_on(&line, MIB, &first));
    check_ok(suite, hal_queue_dealloca(device, &give, first));
    hal_buffer_release(first);
    if (!late)
        check_ok(suite, hal_queue_barrier(device, &use));
    check_fails(suite, hal_queue_alloca(device, &take, &half, &second), HAL_NO_MEMORY, "'half'",
                late ? "'used'" : "'ready'", late ? "reaches 3" : "reaches 1");
    if (late)
        check_ok(suite, hal_queue_barrier(device, &use));
    check_ok(suite, hal_semaphore_signal(ready, 1));
    suite_wait(suite, used, 3); /* now the dealloca comes by itself */
    check_ok(suite, hal_queue_alloca(device, NULL, &whole, &second));
    suite_own_buffer(suite, second);
}

/* Values that were waited for before somebody promised them count when somebody has. */
static void waits_before_signals(struct suite *suite, uint64_t argument)
{
    struct hal_device *device = limited(suite, MIB);
    struct hal_semaphore *gate = suite_semaphore_of(suite, device, "gate", 0);
    struct hal_semaphore *steps = suite_semaphore_of(suite, device, "steps", 0);
    struct suite_line line = suite_line_begin(suite, device), other = line;
    const struct hal_semaphore_value at_gate = {gate, 1},
                                     values[] = {{steps, 0}, {steps, 1}, {steps, 2}};
    struct hal_buffer *first, *second;
    (void)argument;
    other = suite_line_begin(suite, device);
    check_ok(suite, alloca_on(&line, MIB, &first));
    check_ok(suite,
             hal_queue_dealloca(
                 device, &(struct hal_submit_desc){.waits = &values[2], .wait_count = 1}, first));
    hal_buffer_release(first);
    const struct suite_line before = other;
    check_fails(suite, alloca_on(&other, MIB, &second), HAL_NO_MEMORY, "'steps'", "reaches 2");
    check_ok(suite, hal_queue_barrier(device, &(struct hal_submit_desc){.waits = &values[1],
                                                                        .wait_count = 1,
                                                                        .signals = &values[2],
                                                                        .signal_count = 1}));
    other = before;
    check_fails(suite, alloca_on(&other, MIB, &second), HAL_NO_MEMORY, "'steps'", "reaches 1");
    check_ok(suite, hal_queue_barrier(device, &(struct hal_submit_desc){.waits = &at_gate,
                                                                        .wait_count = 1,
                                                                        .signals = &values[1],
                                                                        .signal_count = 1}));
    other = before;
    check_fails(suite, alloca_on(&other, MIB, &second), HAL_NO_MEMORY, "'gate'", "reaches 1");
    check_ok(suite, hal_queue_alloca(
                        device, &(struct hal_submit_desc){.waits = &at_gate, .wait_count = 1},
                        &(struct hal_buffer_desc){.label = "behind it", .bytes = MIB}, &second));
    suite_own_buffer(suite, second);
    check_ok(suite, hal_semaphore_signal(gate, 1));
    check_ok(suite, hal_device_wait_idle(device, SUITE_TIMEOUT_NS));
}

static void too_large(struct suite *suite, uint64_t argument)
{
    struct hal_device *device = limited(suite, 3 * MIB);
    struct suite_line line = suite_line_begin(suite, device);
    struct hal_buffer *buffer;
    (void)argument;
    check_fails(suite, alloca_on(&line, 3 * MIB + 1, &buffer), HAL_NO_MEMORY, "3145729 bytes",
                "larger than the limit", "3145728");
    line = suite_line_begin(suite, device);
    check_ok(suite, alloca_on(&line, 3 * MIB, &buffer));
    suite_own_buffer(suite, buffer);
    suite_line_finish(suite, &line);
    line = suite_line_begin(suite, device);
    check_fails(suite, alloca_on(&line, 1, &buffer), HAL_NO_MEMORY, "1 byte", "3145728");
}

/* ---- Ends ----------------------------------------------------------------------------------- */

/* What the alloca waits for fails: so does it, and what waits for it. */
static void failures_reach_it(struct suite *suite, uint64_t argument)
{
    struct hal_device *device = limited(suite, MIB);
    struct hal_semaphore *gate = suite_semaphore_of(suite, device, "gate", 0);
    struct hal_semaphore *trouble = suite_semaphore_of(suite, device, "trouble", 0);
    struct suite_line one = gated_line(suite, device, gate), two = gated_line(suite, device, gate);
    const struct hal_semaphore_value waits[] = {{gate, 1}, {trouble, 1}};
    struct hal_buffer *first, *second;
    (void)argument;
    check_ok(suite, alloca_on(&one, MIB, &first));
    /* The trouble comes from a submission that waits for the gate alone. */
    check_ok(suite, hal_queue_barrier(device, &(struct hal_submit_desc){.waits = &waits[0],
                                                                        .wait_count = 1,
                                                                        .signals = &waits[1],
                                                                        .signal_count = 1}));
    check_ok(suite,
             hal_queue_dealloca(
                 device, &(struct hal_submit_desc){.waits = &waits[1], .wait_count = 1}, first));
    hal_buffer_release(first);
    check_ok(suite, alloca_on(&two, MIB, &second));
    suite_own_buffer(suite, second);
    check_ok(suite,
             hal_queue_fill(device, suite_line_next(&two), second, 0, HAL_WHOLE_BUFFER, 1, 1));
    hal_semaphore_fail(trouble, HAL_FAILED, "the cable is out");
    check_ok(suite, hal_semaphore_signal(gate, 1));
    check_fails(suite, hal_semaphore_wait(two.semaphore, two.signal.value, SUITE_TIMEOUT_NS),
                HAL_FAILED, "the cable is out");
}

static void open_gate(struct suite *suite, void *gate)
{
    check_ok(suite, hal_semaphore_signal(gate, 1));
    hal_semaphore_release(gate);
}

/* The application lets go of everything while allocas wait. */
static void released_while_it_waits(struct suite *suite, uint64_t argument)
{
    struct hal_device *device;
    struct hal_semaphore *gate, *done;
    struct hal_buffer *buffer;
    (void)argument;
    check_ok(suite, hal_device_open(suite_info(suite)->driver, &device));
    enum hal_status status = hal_device_transient_limit(device, MIB);
    check_ok(suite, status);
    check_ok(suite, hal_semaphore_create(device, "gate", 0, &gate));
    check_ok(suite, hal_semaphore_create(device, "done", 0, &done));
    const struct hal_semaphore_value wait = {gate, 1};
    for (uint64_t i = 0; i < 8; i++) {
        const struct hal_semaphore_value begun = {done, 3 * i + 1}, filled = {done, 3 * i + 2},
                                         over = {done, 3 * i + 3};
        check_ok(suite, hal_queue_alloca(device,
                                         &(struct hal_submit_desc){.waits = &wait,
                                                                   .wait_count = 1,
                                                                   .signals = &begun,
                                                                   .signal_count = 1},
                                         &(struct hal_buffer_desc){.bytes = MIB}, &buffer));
        check_ok(suite, hal_queue_fill(device,
                                       &(struct hal_submit_desc){.waits = &begun,
                                                                 .wait_count = 1,
                                                                 .signals = &filled,
                                                                 .signal_count = 1},
                                       buffer, 0, MIB, 1, 1));
        check_ok(suite, hal_queue_dealloca(device,
                                           &(struct hal_submit_desc){.waits = &filled,
                                                                     .wait_count = 1,
                                                                     .signals = &over,
                                                                     .signal_count = 1},
                                           buffer));
        hal_buffer_release(buffer);
    }
    suite_thread(suite, open_gate, gate);
    hal_device_release(device); /* may wait for the gate */
    suite_join(suite);
    suite_wait(suite, done, 24);
    hal_semaphore_release(done);
}

/* ---- Random programs ------------------------------------------------------------------------- */

struct worker {
    struct hal_device *device;
    struct suite_line line;
    uint32_t state, steps, refused;
};

static uint32_t random_below(uint32_t *state, uint32_t limit)
{
    *state = *state * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)(*state >> 4) * limit) >> 28);
}

/* Takes, fills, checks and gives back; gives back what it has when there is no more. */
static void work(struct suite *suite, void *user)
{
    enum { MOST = 4 };
    struct worker *w = user;
    struct hal_buffer *living[MOST] = {0};
    uint32_t count = 0;
    for (uint32_t step = 0; step < w->steps; step++) {
        const uint32_t bytes = 1 + random_below(&w->state, MIB);
        struct suite_line before = w->line;
        enum hal_status status = HAL_NO_MEMORY;
        if (count < MOST) {
            status = alloca_on(&w->line, bytes, &living[count]);
            check(suite, status == HAL_OK || status == HAL_NO_MEMORY);
        }
        if (status == HAL_OK) {
            check_ok(suite, hal_queue_fill(w->device, suite_line_next(&w->line), living[count], 0,
                                           HAL_WHOLE_BUFFER, bytes, 4 - bytes % 2 * 3));
            count++;
            continue;
        }
        w->line = before;
        w->refused += count < MOST;
        while (count > 0) {
            check_ok(suite,
                     hal_queue_dealloca(w->device, suite_line_next(&w->line), living[--count]));
            hal_buffer_release(living[count]);
        }
    }
    while (count > 0) {
        check_ok(suite, hal_queue_dealloca(w->device, suite_line_next(&w->line), living[--count]));
        hal_buffer_release(living[count]);
    }
    suite_line_finish(suite, &w->line);
}

/* Threads that share a small limit: none waits for ever, and the limit holds. */
static void crowd(struct suite *suite, uint64_t threads)
{
    struct worker workers[8];
    struct hal_device *device = limited(suite, 4 * MIB);
    for (uint64_t i = 0; i < threads; i++) {
        workers[i] = (struct worker){.device = device,
                                     .line = suite_line_begin(suite, device),
                                     .state = suite_random(suite),
                                     .steps = 120};
        suite_thread(suite, work, &workers[i]);
    }
    suite_join(suite);
    check_ok(suite, hal_device_wait_idle(device, SUITE_TIMEOUT_NS));
    check_truth(suite, device, 0, 4 * MIB);
}

static const struct suite_case cases[] = {
    {"ring", ring, 0},
    {"ring_behind_others", ring, 1},
    {"ring_in_flight_small", ring_in_flight, 100000},
    {"ring_in_flight_large", ring_in_flight, 2 * MIB},
    {"pieces", pieces, 4},
    {"many_pieces", pieces, 32},
    {"other_shapes", other_shapes, 5},
    {"another_gate", another_gate, 0},
    {"circle", circles, 0},
    {"circle_to_come", circles, 1},
    {"waits_before_signals", waits_before_signals, 0},
    {"too_large", too_large, 0},
    {"failures_reach_it", failures_reach_it, 0},
    {"released_while_it_waits", released_while_it_waits, 0},
    {"one_worker", crowd, 1},
    {"eight_workers", crowd, 8},
};

const struct suite_area area_transient_limits = {"transient_limits", cases, SUITE_COUNT(cases)};
