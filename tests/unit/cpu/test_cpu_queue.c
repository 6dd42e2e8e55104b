/* SPDX-License-Identifier: Apache-2.0 */
/* hal/core/engine/work.c and hal/drivers/cpu through the API: submissions wait, run, signal and
 * fail in the order that semaphores give, from several threads, whose results a serial model
 * predicts. */
#include "hal/driver.h"
#include "tests/support/hal_fixture.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>

/* Writes `value` to the first four bytes of `buffer`. */
static struct hal_command_buffer *writing(struct hal_device *device, struct hal_buffer *buffer,
                                          uint32_t value)
{
    struct hal_command_buffer *commands = fixture_commands(device, NULL, HAL_ONE_SHOT);
    assert_ok(hal_command_fill(commands, buffer, 0, 4, value, 4));
    assert_ok(hal_command_buffer_end(commands));
    return commands;
}

static uint32_t first_word(struct hal_buffer *buffer)
{
    uint32_t word;
    assert_ok(hal_buffer_read(buffer, 0, &word, sizeof word));
    return word;
}

/* So many threads the process has now; 0: the system does not tell. */
static size_t thread_count(void)
{
    size_t count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *task; tasks && (task = readdir(tasks)) != NULL;)
        count += task->d_name[0] != '.';
    if (tasks)
        closedir(tasks);
    return count;
}

/* The worker of one device finds the work of another one ready, and ends it after the application
 * has let go of both device and semaphore: the last reference to the worker's device goes there. */
TEST(a_device_may_end_on_its_own_worker)
{
    enum { CHAIN = 20000, BYTES = 1 << 16, ROUNDS = 3 };
    hal_device_release(fixture_device("cpu?threads=1")); /* sanitizers have threads, too, then */
    const size_t threads = thread_count();
    for (int round = 0; round < ROUNDS; round++) {
        struct hal_device *stays = fixture_device("cpu?threads=1");
        struct hal_device *goes = fixture_device("cpu?threads=1");
        struct hal_semaphore *begin = fixture_semaphore(stays, "begin", 0);
        struct hal_semaphore *chain = fixture_semaphore(stays, "chain", 0);
        struct hal_semaphore *shared = fixture_semaphore(goes, "shared", 0);
        struct hal_buffer *buffer = fixture_buffer(goes, "large", BYTES);
        struct hal_command_buffer *commands = fixture_commands(goes, NULL, HAL_ONE_SHOT);
        assert_ok(hal_command_fill(commands, buffer, 0, BYTES, 1, 1));
        assert_ok(hal_command_buffer_end(commands));
        assert_ok(fixture_submit(goes, commands, begin, 1, shared, 1));
        for (uint64_t i = 0; i < CHAIN; i++) {
            const struct hal_semaphore_value waits[2] = {{shared, 1}, {chain, i}};
            const struct hal_semaphore_value signal = {chain, i + 1};
            assert_ok(hal_queue_submit(stays, &(struct hal_submit_desc){.waits = waits,
                                                                        .wait_count = 2,
                                                                        .signals = &signal,
                                                                        .signal_count = 1}));
        }
        hal_command_buffer_release(commands);
        hal_buffer_release(buffer);
        hal_semaphore_release(shared);
        assert_ok(hal_semaphore_signal(begin, 1));
        hal_device_release(goes);
        assert_ok(hal_semaphore_wait(chain, CHAIN, HAL_FOREVER));
        hal_semaphore_release(chain);
        hal_semaphore_release(begin);
        hal_device_release(stays);
    }
    while (thread_count() > threads) /* all have ended, also those that end others */
        sched_yield();
}

TEST(empty_submissions_signal_at_once)
{
    uint64_t value;
    struct hal_device *device = fixture_device("cpu?threads=1");
    struct hal_semaphore *semaphore = fixture_semaphore(device, "s", 0);
    assert_ok(fixture_submit(device, NULL, NULL, 0, NULL, 0));
    assert_ok(fixture_submit(device, NULL, NULL, 0, semaphore, 3));
    assert_ok(hal_semaphore_query(semaphore, &value));
    assert_int_equal(value, 3);
    assert_fails(fixture_submit(device, NULL, NULL, 0, semaphore, 3), HAL_INVALID,
                 "semaphore 's' has reached 3");
    assert_ok(hal_device_wait_idle(device, 0));
    hal_semaphore_release(semaphore);
    hal_device_release(device);
}

TEST(a_refused_submission_holds_nothing)
{
    struct hal_device *device = fixture_device("cpu?threads=1");
    struct hal_semaphore *wait = fixture_semaphore(device, "wait", 0);
    struct hal_semaphore *reached = fixture_semaphore(device, "reached", 4);
    struct hal_buffer *buffer = fixture_buffer(device, "b", 4);
    struct hal_command_buffer *commands = writing(device, buffer, 9);
    assert_fails(fixture_submit(device, commands, wait, 1, reached, 4), HAL_INVALID,
                 "semaphore 'reached' has reached 4");
    assert_int_equal(commands->object.references, 1);
    assert_int_equal(wait->object.references, 1);
    assert_int_equal(reached->object.references, 1);
    assert_ok(fixture_submit(device, commands, NULL, 0, reached, 5)); /* it can still be used */
    assert_ok(hal_semaphore_wait(reached, 5, HAL_FOREVER));
    assert_int_equal(first_word(buffer), 9);
    hal_command_buffer_release(commands);
    hal_buffer_release(buffer);
    hal_semaphore_release(reached);
    hal_semaphore_release(wait);
    hal_device_release(device);
}

/* Twice the value of the buffer is written by submissions that come in the wrong order. */
TEST(waits_may_come_before_signals)
{
    enum { LENGTH = 300 };
    struct hal_device *device = fixture_device("cpu?threads=2&queues=3");
    struct hal_semaphore *semaphore = fixture_semaphore(device, "order", 0);
    struct hal_buffer *buffer = fixture_buffer(device, "b", 4);
    for (uint32_t i = LENGTH; i > 0; i--) {
        struct hal_command_buffer *commands = writing(device, buffer, i);
        const struct hal_semaphore_value wait = {semaphore, i - 1}, signal = {semaphore, i};
        assert_ok(hal_queue_submit(device, &(struct hal_submit_desc){
                                               .queues = (uint64_t)1 << i % 3,
                                               .waits = &wait,
                                               .wait_count = i > 1,
                                               .signals = &signal,
                                               .signal_count = 1,
                                               .commands = &commands,
                                               .command_count = 1,
                                           }));
        hal_command_buffer_release(commands);
        if (i > 1)
            assert_fails(hal_device_wait_idle(device, 0), HAL_TIMEOUT, "semaphore 'order'");
    }
    assert_ok(hal_semaphore_wait(semaphore, LENGTH, HAL_FOREVER));
    assert_int_equal(first_word(buffer), LENGTH);
    assert_ok(hal_device_wait_idle(device, HAL_FOREVER));
    hal_buffer_release(buffer);
    hal_semaphore_release(semaphore);
    hal_device_release(device);
}

TEST(failures_reach_everything_that_depends)
{
    uint64_t value;
    struct hal_device *device = fixture_device("cpu?threads=1");
    struct hal_semaphore *cause = fixture_semaphore(device, "cause", 0);
    struct hal_semaphore *middle = fixture_semaphore(device, "middle", 0);
    struct hal_semaphore *last = fixture_semaphore(device, "last", 0);
    struct hal_semaphore *other = fixture_semaphore(device, "other", 0);
    struct hal_buffer *buffer = fixture_buffer(device, "untouched", 4);
    const uint32_t before = 0xABCD;
    assert_ok(hal_buffer_write(buffer, 0, &before, 4));
    struct hal_command_buffer *commands = writing(device, buffer, 1);
    const struct hal_semaphore_value waits[] = {{cause, 1}, {other, 1}};
    const struct hal_semaphore_value signal = {middle, 1};
    assert_ok(hal_queue_submit(device, &(struct hal_submit_desc){.waits = waits,
                                                                 .wait_count = 2,
                                                                 .signals = &signal,
                                                                 .signal_count = 1,
                                                                 .commands = &commands,
                                                                 .command_count = 1}));
    assert_ok(fixture_submit(device, NULL, middle, 1, last, 1));
    hal_semaphore_fail(cause, HAL_DEVICE_LOST, "pulled the plug");
    assert_fails(hal_semaphore_wait(last, 1, HAL_FOREVER), HAL_DEVICE_LOST, "pulled the plug");
    assert_fails(hal_semaphore_query(middle, &value), HAL_DEVICE_LOST, "pulled the plug");
    assert_ok(hal_device_wait_idle(device, HAL_FOREVER));
    assert_int_equal(first_word(buffer), before);
    assert_ok(hal_semaphore_signal(other, 1)); /* nobody waits there any more */
    assert_ok(fixture_submit(device, NULL, cause, 1, other, 2));
    assert_fails(hal_semaphore_query(other, &value), HAL_DEVICE_LOST, "pulled the plug");
    hal_command_buffer_release(commands);
    hal_buffer_release(buffer);
    hal_semaphore_release(other);
    hal_semaphore_release(last);
    hal_semaphore_release(middle);
    hal_semaphore_release(cause);
    hal_device_release(device);
}

TEST(a_signal_that_was_overtaken_fails_the_semaphore)
{
    struct hal_device *device = fixture_device("cpu?threads=1");
    struct hal_semaphore *gate = fixture_semaphore(device, "gate", 0);
    struct hal_semaphore *semaphore = fixture_semaphore(device, "overtaken", 0);
    assert_ok(fixture_submit(device, NULL, gate, 1, semaphore, 2));
    assert_ok(hal_semaphore_signal(semaphore, 5));
    assert_ok(hal_semaphore_signal(gate, 1));
    assert_fails(hal_semaphore_wait(semaphore, 6, HAL_FOREVER), HAL_INVALID,
                 "signalled semaphore 'overtaken' with 2 when it had reached 5");
    hal_semaphore_release(semaphore);
    hal_semaphore_release(gate);
    hal_device_release(device);
}

/* What a submission needs is kept alive by it. */
TEST(everything_may_be_released_after_submitting)
{
    enum { LARGE = 4 << 20 };
    struct hal_device *device = fixture_device("cpu?threads=2");
    struct hal_semaphore *start = fixture_semaphore(device, "start", 0);
    struct hal_buffer *from = fixture_buffer(device, "from", LARGE);
    struct hal_buffer *to = fixture_buffer(device, "to", LARGE);
    struct hal_command_buffer *commands = fixture_commands(device, NULL, HAL_ONE_SHOT);
    assert_ok(hal_command_fill(commands, from, 0, LARGE, 0x5A, 1));
    assert_ok(hal_command_barrier(commands, NULL));
    assert_ok(hal_command_copy(commands, from, 0, to, 0, LARGE));
    assert_ok(hal_command_buffer_end(commands));
    hal_buffer_release(from);
    struct hal_semaphore *done = fixture_semaphore(device, "done", 0);
    assert_ok(fixture_submit(device, commands, start, 1, done, 1));
    hal_command_buffer_release(commands);
    hal_semaphore_release(done);
    assert_ok(hal_semaphore_signal(start, 1));
    hal_semaphore_release(start);
    assert_ok(hal_device_wait_idle(device, HAL_FOREVER));
    uint8_t last;
    assert_ok(hal_buffer_read(to, LARGE - 1, &last, 1));
    assert_int_equal(last, 0x5A);
    hal_device_release(device); /* the buffer keeps it alive */
    assert_ok(hal_buffer_read(to, 0, &last, 1));
    assert_int_equal(last, 0x5A);
    hal_buffer_release(to);
}

/* ---- Random graphs -------------------------------------------------------------------------- */

enum { CELLS = 16, TASKS = 400, THREADS = 4 };

/* Task i adds the cell `from[i]` to... the device has no addition without kernels, so that it
 * copies it to the cell `to[i]`. It waits for all earlier tasks that touch either cell. */
struct graph {
    struct hal_device *device;
    struct hal_buffer *cells;
    uint8_t from[TASKS], to[TASKS];
    struct hal_semaphore *done[TASKS];
    uint32_t thread_of[TASKS];
    _Atomic uint32_t wrong;
};

struct submitter {
    struct graph *graph;
    uint32_t thread;
};

static bool touches(const struct graph *graph, uint32_t task, uint8_t cell)
{
    return graph->from[task] == cell || graph->to[task] == cell;
}

static enum hal_status submit_task(struct graph *graph, uint32_t task)
{
    struct hal_semaphore_value waits[TASKS];
    size_t wait_count = 0;
    struct hal_command_buffer *commands;
    for (uint32_t i = 0; i < task; i++) {
        if (touches(graph, i, graph->from[task]) || touches(graph, i, graph->to[task]))
            waits[wait_count++] = (struct hal_semaphore_value){graph->done[i], 1};
    }
    HAL_TRY(hal_command_buffer_create(graph->device, NULL, &commands));
    enum hal_status status =
        graph->from[task] == graph->to[task]
            ? hal_command_fill(commands, graph->cells, 4U * graph->to[task], 4, task, 4)
            : hal_command_copy(commands, graph->cells, 4U * graph->from[task], graph->cells,
                               4U * graph->to[task], 4);
    if (status == HAL_OK)
        status = hal_command_buffer_end(commands);
    const struct hal_semaphore_value signal = {graph->done[task], 1};
    if (status == HAL_OK)
        status = hal_queue_submit(graph->device, &(struct hal_submit_desc){
                                                     .queues = (uint64_t)1 << task % 4,
                                                     .waits = waits,
                                                     .wait_count = wait_count,
                                                     .signals = &signal,
                                                     .signal_count = 1,
                                                     .commands = &commands,
                                                     .command_count = 1,
                                                 });
    hal_command_buffer_release(commands);
    return status;
}

/* Backwards, so that most waits come before their signals. */
static void *submit_mine(void *argument)
{
    struct submitter *submitter = argument;
    struct graph *graph = submitter->graph;
    for (uint32_t task = TASKS; task-- > 0;) {
        if (graph->thread_of[task] == submitter->thread && submit_task(graph, task) != HAL_OK)
            graph->wrong++;
    }
    return NULL;
}

static void run_graph(struct graph *graph, uint64_t *random)
{
    uint32_t model[CELLS], got[CELLS];
    struct submitter submitters[THREADS];
    pthread_t threads[THREADS];
    for (uint32_t i = 0; i < CELLS; i++)
        model[i] = 1000 + i;
    assert_ok(hal_buffer_write(graph->cells, 0, model, sizeof model));
    for (uint32_t task = 0; task < TASKS; task++) {
        graph->from[task] = (uint8_t)(fixture_random(random) % CELLS);
        graph->to[task] = (uint8_t)(fixture_random(random) % CELLS);
        graph->thread_of[task] = fixture_random(random) % THREADS;
        graph->done[task] = fixture_semaphore(graph->device, NULL, 0);
        if (graph->from[task] == graph->to[task])
            model[graph->to[task]] = task;
        else
            model[graph->to[task]] = model[graph->from[task]];
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        submitters[i] = (struct submitter){graph, i};
        assert_int_equal(pthread_create(&threads[i], NULL, submit_mine, &submitters[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(graph->wrong, 0);
    assert_ok(hal_device_wait_idle(graph->device, HAL_FOREVER));
    assert_ok(hal_buffer_read(graph->cells, 0, got, sizeof got));
    assert_memory_equal(got, model, sizeof got);
    for (uint32_t task = 0; task < TASKS; task++)
        hal_semaphore_release(graph->done[task]);
}

TEST(random_graphs_give_the_serial_result)
{
    uint64_t random = fixture_seed();
    static struct graph graph;
    graph.device = fixture_device("cpu?threads=3&queues=4");
    graph.cells = fixture_buffer(graph.device, "cells", CELLS * 4);
    for (int round = 0; round < 5; round++)
        run_graph(&graph, &random);
    hal_buffer_release(graph.cells);
    hal_device_release(graph.device);
}

/* ---- Large work from many threads ------------------------------------------------------------ */

enum { PART = 1 << 20, STEPS = 20 };

struct worker {
    struct hal_device *device;
    uint32_t index, wrong;
};

/* Copies a part around through three buffers; workers share the pool, not the data. */
static void *move_parts(void *argument)
{
    struct worker *worker = argument;
    struct hal_buffer *buffers[3];
    struct hal_semaphore *semaphore;
    const struct hal_buffer_desc desc = {.bytes = PART};
    uint32_t wrong = 0, got[2] = {0};
    for (int i = 0; i < 3; i++)
        wrong += hal_buffer_create(worker->device, &desc, &buffers[i]) != HAL_OK;
    wrong += hal_semaphore_create(worker->device, NULL, 0, &semaphore) != HAL_OK;
    for (uint32_t step = 1; step <= STEPS && !wrong; step++) {
        const uint32_t value = worker->index * 1000 + step;
        struct hal_command_buffer *pair[2];
        for (int i = 0; i < 2; i++)
            wrong += hal_command_buffer_create(worker->device, NULL, &pair[i]) != HAL_OK;
        wrong += hal_command_fill(pair[0], buffers[0], 0, PART, value, 4) != HAL_OK;
        wrong += hal_command_buffer_end(pair[0]) != HAL_OK;
        wrong += hal_command_copy(pair[1], buffers[0], 0, buffers[1], 0, PART) != HAL_OK;
        wrong += hal_command_copy(pair[1], buffers[0], 4, buffers[2], 0, PART - 4) != HAL_OK;
        wrong += hal_command_buffer_end(pair[1]) != HAL_OK;
        const struct hal_semaphore_value signal = {semaphore, step};
        wrong += hal_queue_submit(worker->device, &(struct hal_submit_desc){
                                                      .signals = &signal,
                                                      .signal_count = 1,
                                                      .commands = pair,
                                                      .command_count = 2,
                                                  }) != HAL_OK;
        for (int i = 0; i < 2; i++)
            hal_command_buffer_release(pair[i]);
        wrong += hal_semaphore_wait(semaphore, step, HAL_FOREVER) != HAL_OK;
        wrong += hal_buffer_read(buffers[1], PART - 4, &got[0], 4) != HAL_OK || got[0] != value;
        wrong += hal_buffer_read(buffers[2], PART - 8, &got[1], 4) != HAL_OK || got[1] != value;
    }
    hal_semaphore_release(semaphore);
    for (int i = 0; i < 3; i++)
        hal_buffer_release(buffers[i]);
    worker->wrong = wrong;
    return NULL;
}

TEST(threads_share_the_workers)
{
    struct hal_device *device = fixture_device("cpu?threads=3");
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.device = device, .index = i};
        assert_int_equal(pthread_create(&threads[i], NULL, move_parts, &workers[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].wrong, 0);
    }
    hal_device_release(device);
}
