/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that runs out and devices that are lost, on devices that were told when. */
#include "tests/conformance/suite.h"

#include <stdio.h>

static struct hal_device *troubled(struct suite *suite, const char *when)
{
    char parameters[64];
    snprintf(parameters, sizeof parameters, "queues=2&fail=%s", when);
    return suite_open(suite, parameters);
}

/* ---- Memory ------------------------------------------------------------------------------- */

static void fill_and_check(struct suite *suite, struct hal_device *device,
                           struct hal_buffer *buffer, uint8_t byte)
{
    uint8_t wanted[256];
    struct hal_semaphore *done = suite_semaphore_of(suite, device, "filled", 0);
    const struct hal_semaphore_value signal = {done, 1};
    memset(wanted, byte, sizeof wanted);
    check_ok(suite, hal_queue_fill(device,
                                   &(struct hal_submit_desc){.signals = &signal, .signal_count = 1},
                                   buffer, 0, sizeof wanted, byte, 1));
    suite_wait(suite, done, 1);
    check_buffer(suite, buffer, 0, wanted, sizeof wanted);
}

/* The nth of six buffers finds no memory; the others, and a second try, are as always. */
static void nth_buffer(struct suite *suite, uint64_t bytes, uint32_t n)
{
    char when[32], label[32], size[32];
    int64_t used = -1, still_used = -1;
    struct hal_buffer *buffers[6], *buffer;
    snprintf(when, sizeof when, "memory:%u", n);
    struct hal_device *device = troubled(suite, when);
    for (uint32_t i = 0; i < 6; i++) {
        const struct hal_buffer_desc desc = {.label = label, .bytes = bytes + i};
        snprintf(label, sizeof label, "piece%u", i);
        snprintf(size, sizeof size, "%llu bytes", (unsigned long long)desc.bytes);
        const bool tells = hal_device_query(device, "memory.used.bytes", &used) == HAL_OK;
        if (i + 1 == n)
            check_fails(suite, hal_buffer_create(device, &desc, &buffer), HAL_NO_MEMORY, label,
                        size);
        if (tells)
            check_ok(suite, hal_device_query(device, "memory.used.bytes", &still_used));
        check_u64(suite, (uint64_t)still_used, (uint64_t)used);
        buffers[i] = suite_buffer_of(suite, device, &desc);
    }
    for (uint8_t i = 0; i < 6; i++)
        fill_and_check(suite, device, buffers[i], (uint8_t)(17 + i));
}

static void every_buffer(struct suite *suite, uint64_t bytes)
{
    for (uint32_t n = 1; n <= 6; n++)
        nth_buffer(suite, bytes, n);
}

/* Before a pool says no, it gives back what it does not need and tries once more. */
static void transient(struct suite *suite, uint64_t bytes)
{
    struct hal_buffer *buffer;
    struct hal_device *device = troubled(suite, "memory:1-2");
    struct hal_semaphore *ready = suite_semaphore_of(suite, device, "ready", 0);
    const struct hal_semaphore_value signal = {ready, 1};
    const struct hal_submit_desc submit = {.signals = &signal, .signal_count = 1};
    const struct hal_buffer_desc desc = {.label = "passing", .bytes = bytes};
    char size[32];
    snprintf(size, sizeof size, "%llu bytes", (unsigned long long)bytes);
    check_fails(suite, hal_queue_alloca(device, &submit, &desc, &buffer), HAL_NO_MEMORY, "passing",
                size);
    check_ok(suite, hal_queue_alloca(device, &submit, &desc, &buffer));
    suite_own_buffer(suite, buffer);
    suite_wait(suite, ready, 1);
    fill_and_check(suite, device, buffer, 99);
}

/* ---- Loss --------------------------------------------------------------------------------- */

static enum hal_status chain(struct hal_device *device, uint64_t queues, struct hal_semaphore *wait,
                             uint64_t wait_value, struct hal_semaphore *signal,
                             uint64_t signal_value)
{
    const struct hal_semaphore_value waits = {wait, wait_value}, signals = {signal, signal_value};
    return hal_queue_barrier(device, &(struct hal_submit_desc){.queues = queues,
                                                               .waits = &waits,
                                                               .wait_count = wait ? 1 : 0,
                                                               .signals = &signals,
                                                               .signal_count = signal ? 1 : 0});
}

static void is_lost(struct suite *suite, struct hal_semaphore *semaphore)
{
    uint64_t value;
    check_fails(suite, hal_semaphore_wait(semaphore, 1, SUITE_TIMEOUT_NS), HAL_DEVICE_LOST,
                "the device was lost");
    check_fails(suite, hal_semaphore_query(semaphore, &value), HAL_DEVICE_LOST,
                "the device was lost");
}

/* Work that waits for what never comes fails with the rest; what had finished stays finished. */
static void in_flight(struct suite *suite, uint64_t waiting)
{
    uint64_t value = 0;
    struct hal_device *device = troubled(suite, "lost:2");
    struct hal_semaphore *early = suite_semaphore_of(suite, device, "early", 0);
    struct hal_semaphore *never = suite_semaphore_of(suite, device, "never", 0);
    struct hal_semaphore *last = suite_semaphore_of(suite, device, "last", 0);
    struct hal_semaphore **stuck = suite_memory(suite, (waiting + 1) * sizeof(void *));
    check_ok(suite, chain(device, 1, NULL, 0, early, 1));
    suite_wait(suite, early, 1);
    for (uint64_t i = 0; i < waiting; i++) {
        stuck[i] = suite_semaphore_of(suite, device, "stuck", 0);
        check_ok(suite,
                 chain(device, 1 + i % 2, i % 3 && i ? stuck[i - 1] : never, 1, stuck[i], 1));
    }
    check_ok(suite, chain(device, 2, NULL, 0, last, 1));
    is_lost(suite, last);
    for (uint64_t i = 0; i < waiting; i++)
        is_lost(suite, stuck[i]);
    check_ok(suite, hal_semaphore_query(early, &value));
    check_u64(suite, value, 1);
    check_ok(suite, hal_semaphore_query(never, &value));
    check_u64(suite, value, 0);
    check_fails(suite, hal_device_wait_idle(device, SUITE_TIMEOUT_NS), HAL_DEVICE_LOST, "lost");
}

/* The same of work on both queues that may be with the device already. Those that wait for the one
 * at whose beginning the device is lost fail with it, and nothing is accepted after that. */
static void work_in_flight(struct suite *suite, uint64_t count)
{
    char when[32];
    snprintf(when, sizeof when, "lost:%llu", (unsigned long long)count / 2);
    struct hal_device *device = troubled(suite, when);
    struct hal_buffer *buffer =
        suite_buffer_of(suite, device, &(struct hal_buffer_desc){.label = "filled", .bytes = 4096});
    struct hal_semaphore *gate = suite_semaphore_of(suite, device, "gate", 0);
    struct hal_semaphore *chained = suite_semaphore_of(suite, device, "chain", 0);
    struct hal_semaphore *later = suite_semaphore_of(suite, device, "later", 0);
    for (uint64_t i = 1; i <= count; i++) {
        const struct hal_semaphore_value wait = {i > 1 ? chained : gate, i > 1 ? i - 1 : 1};
        const struct hal_semaphore_value signal = {chained, i};
        const struct hal_submit_desc submit = {.queues = 1 + i % 2,
                                               .waits = &wait,
                                               .wait_count = 1,
                                               .signals = &signal,
                                               .signal_count = 1};
        check_ok(suite, hal_queue_fill(device, &submit, buffer, 0, 4096, (uint32_t)i, 1));
    }
    check_ok(suite, hal_semaphore_signal(gate, 1));
    check_fails(suite, hal_semaphore_wait(chained, count, SUITE_TIMEOUT_NS), HAL_DEVICE_LOST,
                "the device was lost");
    check_fails(suite, hal_device_wait_idle(device, SUITE_TIMEOUT_NS), HAL_DEVICE_LOST, "lost");
    check_fails(suite, chain(device, 0, NULL, 0, later, 1), HAL_DEVICE_LOST, "was lost at");
    is_lost(suite, later);
    check_fails(suite, hal_device_wait_idle(device, SUITE_TIMEOUT_NS), HAL_DEVICE_LOST, "lost");
}

/* A rank's device is lost while it waits for the others: they fail with it, and submit again. */
static void of_a_rank(struct suite *suite, uint64_t unused)
{
    (void)unused;
    static const uint32_t zero = 0;
    int64_t collectives = 0;
    check_ok(suite, hal_device_query(suite_device(suite), "collectives", &collectives));
    if (!collectives)
        suite_skip(suite, "the device has no collectives");
    struct hal_device *lost = troubled(suite, "lost:2"), *own = suite_device(suite);
    struct hal_device *devices[3] = {own, lost, own};
    struct hal_channel *channels[3];
    struct hal_semaphore *done[2];
    const struct hal_channel_desc desc = {.label = "ring"};
    check_ok(suite, hal_channel_create(devices, 3, &desc, channels));
    for (size_t r = 0; r < 3; r++)
        suite_own_channel(suite, channels[r]);
    for (uint32_t r = 2; r-- > 0;) {
        struct hal_buffer *buffer = suite_buffer_of(
            suite, devices[r], &(struct hal_buffer_desc){.label = "data", .bytes = sizeof zero});
        check_ok(suite, hal_buffer_write(buffer, 0, &zero, sizeof zero));
        done[r] = suite_semaphore_of(suite, devices[r], "done", 0);
        const struct hal_semaphore_value signal = {done[r], 1};
        check_ok(suite,
                 hal_queue_collective(
                     devices[r], &(struct hal_submit_desc){.signals = &signal, .signal_count = 1},
                     &(struct hal_collective_desc){.channel = channels[r],
                                                   .operation = HAL_COLLECTIVE_ALL_REDUCE,
                                                   .type = HAL_ELEMENT_U32,
                                                   .reduction = HAL_REDUCTION_SUM,
                                                   .count = 1,
                                                   .send = buffer,
                                                   .receive = buffer}));
    }
    check_ok(suite, chain(lost, 1, NULL, 0, suite_semaphore_of(suite, lost, "last", 0), 1));
    is_lost(suite, done[1]);
    check_fails(suite, hal_semaphore_wait(done[0], 1, SUITE_TIMEOUT_NS), HAL_DEVICE_LOST, "'ring'",
                "rank 1 failed", "the device was lost");
}

/* Nothing begins any more; what there is can be looked at and let go of. */
static void later_calls(struct suite *suite, uint64_t unused)
{
    (void)unused;
    static const uint8_t bytes[4] = {1, 2, 3, 4};
    struct hal_buffer *buffer;
    struct hal_semaphore *semaphore;
    struct hal_executable *executable;
    struct hal_device *device = troubled(suite, "lost:1");
    struct hal_buffer *before =
        suite_buffer_of(suite, device, &(struct hal_buffer_desc){.label = "before", .bytes = 64});
    struct hal_semaphore *first = suite_semaphore_of(suite, device, "first", 0);
    struct hal_semaphore *later = suite_semaphore_of(suite, device, "later", 0);
    struct hal_semaphore *filled = suite_semaphore_of(suite, device, "filled", 0);
    const struct hal_semaphore_value signal = {filled, 1};
    struct hal_command_buffer *open = suite_commands_of(suite, device, "open", HAL_REUSABLE);
    check_ok(suite, hal_buffer_write(before, 0, bytes, sizeof bytes));
    check_ok(suite, chain(device, 0, NULL, 0, first, 1));
    is_lost(suite, first);
    check_fails(
        suite,
        hal_buffer_create(device, &(struct hal_buffer_desc){.label = "after", .bytes = 8}, &buffer),
        HAL_DEVICE_LOST, "after", "was lost at submission 0");
    check_fails(suite, hal_semaphore_create(device, "after", 0, &semaphore), HAL_DEVICE_LOST,
                "after", "was lost at submission 0");
    check_fails(suite, hal_executable_create(device, suite_kernels_desc(), &executable),
                HAL_DEVICE_LOST, "kernels", "was lost at submission 0");
    check_ok(suite, hal_command_fill(open, before, 0, 64, 0, 1));
    check_fails(suite, hal_command_buffer_end(open), HAL_DEVICE_LOST, "was lost at submission 0");
    check_fails(suite, chain(device, 0, NULL, 0, later, 1), HAL_DEVICE_LOST,
                "was lost at submission 0");
    is_lost(suite, later);
    check_fails(suite,
                hal_queue_fill(device,
                               &(struct hal_submit_desc){.signals = &signal, .signal_count = 1},
                               before, 0, 64, 0, 1),
                HAL_DEVICE_LOST, "was lost at submission 0");
    is_lost(suite, filled);
    check_buffer(suite, before, 0, bytes, sizeof bytes);
}

/* Work that runs, on both queues, while the device is lost: nothing of it counts. Each queue has a
 * target of its own, and work in front whose end tells that the copies may have begun. */
static void running(struct suite *suite, uint64_t copies)
{
    enum { BYTES = 8 << 20 };
    struct hal_device *device = troubled(suite, "lost:5");
    const struct hal_buffer_desc desc = {.label = "large", .bytes = BYTES};
    struct hal_buffer *from = suite_buffer_of(suite, device, &desc);
    struct hal_semaphore *done[2], *front[2], *last = suite_semaphore_of(suite, device, "last", 0);
    for (uint64_t i = 0; i < 2; i++) {
        struct hal_buffer *to = suite_buffer_of(suite, device, &desc);
        struct hal_command_buffer *commands =
            suite_commands_of(suite, device, "long", HAL_ONE_SHOT);
        for (uint64_t c = 0; c < copies; c++) {
            check_ok(suite, hal_command_copy(commands, from, 0, to, 0, BYTES));
            check_ok(suite, hal_command_barrier(commands, NULL));
        }
        check_ok(suite, hal_command_buffer_end(commands));
        front[i] = suite_semaphore_of(suite, device, "front", 0);
        done[i] = suite_semaphore_of(suite, device, "done", 0);
        const struct hal_semaphore_value signal = {done[i], 1};
        check_ok(suite, chain(device, 1 + i, NULL, 0, front[i], 1));
        check_ok(suite, hal_queue_submit(device, &(struct hal_submit_desc){.queues = 1 + i,
                                                                           .signals = &signal,
                                                                           .signal_count = 1,
                                                                           .commands = &commands,
                                                                           .command_count = 1}));
    }
    for (uint64_t i = 0; i < 2; i++)
        suite_wait(suite, front[i], 1);
    check_ok(suite, chain(device, 0, NULL, 0, last, 1));
    is_lost(suite, last);
    check_fails(suite, hal_device_wait_idle(device, SUITE_TIMEOUT_NS), HAL_DEVICE_LOST, "lost");
    for (uint64_t i = 0; i < 2; i++) { /* each ended before the loss, or because of it */
        uint64_t value = 1;
        const enum hal_status status = hal_semaphore_query(done[i], &value);
        if (status != HAL_DEVICE_LOST) {
            check_ok(suite, status);
            check(suite, value == 1);
        }
    }
}

/* Another device that waits for the lost one fails with it, and then works on. */
static void the_other_device(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_device *device = troubled(suite, "lost:1");
    struct hal_device *other = suite_open(suite, "");
    struct hal_semaphore *ours = suite_semaphore_of(suite, device, "ours", 0);
    struct hal_semaphore *theirs = suite_semaphore_of(suite, other, "theirs", 0);
    struct hal_buffer *buffer =
        suite_buffer_of(suite, other, &(struct hal_buffer_desc){.label = "x", .bytes = 256});
    check_ok(suite, chain(other, 0, ours, 1, theirs, 1));
    check_ok(suite, chain(device, 0, NULL, 0, ours, 1));
    is_lost(suite, theirs);
    check_ok(suite, hal_device_wait_idle(other, SUITE_TIMEOUT_NS));
    fill_and_check(suite, other, buffer, 7);
}

enum { THREADS = 4, ROUNDS = 40 };

struct submitter {
    struct hal_device *device;
    struct hal_semaphore *timeline;
    uint32_t accepted;
    enum hal_status status;
};

static void submit_until_lost(struct suite *suite, void *user)
{
    struct submitter *submitter = user;
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        const enum hal_status status =
            chain(submitter->device, 1 + i % 2, submitter->timeline, i - 1, submitter->timeline, i);
        if (status != HAL_DEVICE_LOST)
            check_ok(suite, status);
        submitter->accepted += status == HAL_OK;
    }
    submitter->status = hal_semaphore_wait(submitter->timeline, ROUNDS, SUITE_TIMEOUT_NS);
    if (submitter->status != HAL_DEVICE_LOST)
        check_ok(suite, submitter->status); /* its message is this thread's */
}

/* Threads that submit and wait when it happens: each of them learns it. */
static void many_threads(struct suite *suite, uint64_t when)
{
    char text[32];
    struct submitter submitters[THREADS];
    snprintf(text, sizeof text, "lost:%llu", (unsigned long long)when);
    struct hal_device *device = troubled(suite, text);
    for (size_t i = 0; i < THREADS; i++) {
        submitters[i] = (struct submitter){
            .device = device, .timeline = suite_semaphore_of(suite, device, "timeline", 0)};
    }
    for (size_t i = 0; i < THREADS; i++)
        suite_thread(suite, submit_until_lost, &submitters[i]);
    suite_join(suite);
    uint64_t done = 0;
    for (size_t i = 0; i < THREADS; i++) { /* one may have finished before */
        const bool finished = submitters[i].status == HAL_OK;
        done += finished;
        check(suite, !finished || submitters[i].accepted == ROUNDS);
    }
    check(suite, done < when / ROUNDS + 1);
}

/* Allocas that wait for memory under a limit, and all that waits for them, fail with the device. */
static void waiting_allocas(struct suite *suite, uint64_t chains)
{
    struct hal_device *device = troubled(suite, "lost:1");
    struct hal_semaphore *gate = suite_semaphore_of(suite, device, "gate", 0), *done[20];
    const struct hal_semaphore_value wait = {gate, 1};
    check_ok(suite, hal_device_transient_limit(device, 1 << 20));
    for (uint64_t i = 0; i < chains; i++) {
        struct hal_buffer *buffer;
        done[i] = suite_semaphore_of(suite, device, "done", 0);
        const struct hal_semaphore_value signal = {done[i], 1};
        check_ok(suite, hal_queue_alloca(device,
                                         &(struct hal_submit_desc){.waits = &wait,
                                                                   .wait_count = 1,
                                                                   .signals = &signal,
                                                                   .signal_count = 1},
                                         &(struct hal_buffer_desc){.bytes = 1 << 20}, &buffer));
        check_ok(suite,
                 hal_queue_dealloca(
                     device, &(struct hal_submit_desc){.waits = &signal, .wait_count = 1}, buffer));
        hal_buffer_release(buffer);
    }
    check_ok(suite, chain(device, 1, NULL, 0, NULL, 0)); /* the first that runs */
    for (uint64_t i = 0; i < chains; i++)
        is_lost(suite, done[i]);
}

/* A host thread that waits already is woken. */
static void wait_for_it(struct suite *suite, void *semaphore)
{
    is_lost(suite, semaphore);
}

static void waiters_wake(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_device *device = troubled(suite, "lost:1");
    struct hal_semaphore *gate = suite_semaphore_of(suite, device, "gate", 0);
    struct hal_semaphore *done = suite_semaphore_of(suite, device, "done", 0);
    check_ok(suite, chain(device, 1, gate, 1, done, 1));
    for (size_t i = 0; i < THREADS; i++)
        suite_thread(suite, wait_for_it, done);
    check_ok(suite, chain(device, 2, NULL, 0, NULL, 0));
    suite_join(suite);
}

/* ---- Parameters --------------------------------------------------------------------------- */

static void wrong_orders(struct suite *suite, uint64_t unused)
{
    (void)unused;
    static const char *const wrong[] = {
        "memory",  "memory:",   "memory:0",          "lost:-1",     "paper:1",
        "lost:1x", "lost:1;",   "memory:4294967296", "lost",        "lost:1,,x",
        "Lost:1",  "memory:2-", "memory:2-0",        "memory:1-2-3"};
    struct hal_device *device;
    (void)troubled(suite, "memory:1,lost:4294967295");
    for (size_t i = 0; i < SUITE_COUNT(wrong); i++) {
        char uri[64];
        snprintf(uri, sizeof uri, "%s?fail=%s", suite_info(suite)->driver, wrong[i]);
        suite_note(suite, "%s", uri);
        check_fails(suite, hal_device_open(uri, &device), HAL_INVALID, "fail=");
    }
}

static const struct suite_case cases[] = {
    {"memory_small", every_buffer, 256},
    {"memory_large", every_buffer, 300000},
    {"memory_transient", transient, 70000},
    {"alone", in_flight, 0},
    {"in_flight", in_flight, 5},
    {"in_flight_many", in_flight, 500},
    {"work_in_flight", work_in_flight, 6},
    {"work_in_flight_many", work_in_flight, 300},
    {"later_calls", later_calls, 0},
    {"running", running, 20},
    {"the_other_device", the_other_device, 0},
    {"many_threads_first", many_threads, 1},
    {"many_threads", many_threads, 77},
    {"waiters_wake", waiters_wake, 0},
    {"waiting_allocas", waiting_allocas, 20},
    {"of_a_rank", of_a_rank, 0},
    {"wrong_orders", wrong_orders, 0},
};
const struct suite_area area_losses = {"losses", cases, SUITE_COUNT(cases)};
