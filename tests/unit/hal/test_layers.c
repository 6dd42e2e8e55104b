/* SPDX-License-Identifier: Apache-2.0 */
/* hal/core/profiling/layers.c and hal/core/profiling/gate.c: a layer comes and goes at any moment
 * of a run. */
#include "hal/core/core.h"
#include "tests/unit/hal/layers_fixture.h"

#include <sched.h>
#include <unistd.h>

/* ---- The chain ----------------------------------------------------------------------------- */

static void expect_each_call(void)
{
    static const uint32_t wanted[FAKE_CALL_COUNT] = {
        [FAKE_QUERY] = 1,
        [FAKE_WAIT_IDLE] = 1,
        [FAKE_BUFFER_CREATE] = 1,
        [FAKE_MAP] = 2,
        [FAKE_UNMAP] = 2,
        [FAKE_FLUSH] = 1,
        [FAKE_INVALIDATE] = 1,
        [FAKE_COMMANDS_CREATED] = 1,
        [FAKE_PREPARE] = 1,
        [FAKE_SEMAPHORE_CREATE] = 1,
        [FAKE_SEMAPHORE_QUERY] = 1,
        [FAKE_SIGNAL] = 1,
        [FAKE_FAIL] = 1,
        [FAKE_WAIT] = 1,
        [FAKE_SUBMIT] = 1,
        [FAKE_DESTROY] = 3,
        [FAKE_SCOPE] = 2,
        [FAKE_RETIRED] = 1,
    };
    for (size_t i = 0; i < FAKE_CALL_COUNT; i++)
        assert_int_equal(fake->calls[i], wanted[i]);
}

TEST(every_call_passes_the_layer)
{
    struct hal_device *device = fixture_device("cpu?threads=1");
    int64_t number;
    uint64_t value;
    uint32_t got = 0;
    begin(device);
    struct hal_buffer *buffer = fixture_buffer(device, "b", 64);
    struct hal_semaphore *semaphore = fixture_semaphore(device, "s", 0);
    struct hal_command_buffer *commands = fixture_commands(device, "c", HAL_ONE_SHOT);
    struct hal_mapping mapping;
    assert_ok(hal_device_query(device, "memory.used.bytes", &number));
    assert_ok(hal_buffer_map(buffer, HAL_MAP_WRITE | HAL_MAP_PERSISTENT, 0, 64, &mapping));
    assert_ok(hal_mapping_flush(&mapping, 0, 64));
    assert_ok(hal_mapping_invalidate(&mapping, 0, 64));
    assert_ok(hal_buffer_unmap(&mapping));
    assert_ok(hal_command_fill(commands, buffer, 0, 64, 7, 4));
    assert_ok(hal_command_buffer_end(commands));
    assert_ok(hal_semaphore_signal(semaphore, 1));
    assert_ok(fixture_submit(device, commands, semaphore, 1, semaphore, 2));
    assert_ok(hal_semaphore_wait(semaphore, 2, HAL_FOREVER));
    assert_ok(hal_semaphore_query(semaphore, &value));
    hal_semaphore_fail(semaphore, HAL_FAILED, "on purpose");
    assert_ok(hal_device_wait_idle(device, HAL_FOREVER));
    hal_scope_begin(device, "scope");
    hal_scope_end(device);
    assert_ok(hal_buffer_read(buffer, 60, &got, 4));
    assert_int_equal(got, 7);
    hal_command_buffer_release(commands);
    hal_semaphore_release(semaphore);
    hal_buffer_release(buffer);
    assert_ok(hal_device_profiling_flush(device));
    assert_int_equal(fake->ended, 0);
    assert_ok(hal_device_profiling_end(device));
    expect_each_call();
    assert_int_equal(fake->begun, 1);
    assert_int_equal(fake->ended, 1);
    assert_int_equal(fake->flushed, 1);
    assert_int_equal(fake->violations, 0);

    assert_ok(hal_device_query(device, "memory.used.bytes", &number));
    assert_int_equal(fake->calls[FAKE_QUERY], 1);
    hal_device_release(device);
}

TEST(a_late_layer_sees_what_is_alive)
{
    struct hal_device *device = fixture_device("cpu?threads=1");
    struct hal_buffer *first = fixture_buffer(device, "first", 1);
    struct hal_buffer *gone = fixture_buffer(device, "gone", 1);
    struct hal_semaphore *semaphore = fixture_semaphore(device, "s", 0);
    struct hal_command_buffer *commands = fixture_commands(device, "c", HAL_ONE_SHOT);
    hal_buffer_release(gone);
    struct hal_mapping mappings[2];
    assert_ok(hal_buffer_map(first, HAL_MAP_READ, 0, 1, &mappings[0]));
    assert_ok(hal_buffer_map(first, HAL_MAP_WRITE | HAL_MAP_PERSISTENT, 0, 1, &mappings[1]));
    assert_ok(hal_buffer_unmap(&mappings[0]));
    begin(device);
    assert_int_equal(fake->mappings_at_begin, 1);
    assert_ptr_equal(fake->last_mapping.buffer, first);
    assert_ptr_equal(fake->last_mapping.data, mappings[1].data);
    assert_int_equal(fake->last_mapping.mode, HAL_MAP_WRITE | HAL_MAP_PERSISTENT);
    assert_ok(hal_buffer_unmap(&mappings[1]));
    assert_int_equal(fake->calls[FAKE_UNMAP], 1);
    assert_int_equal(fake->objects_at_begin, 3);
    assert_true(fake->objects_in_order);
    assert_string_equal(fake->file, "x.pb.zst");
    assert_string_equal(fake->mode, "queue");
    assert_string_equal(fake->stacks, "submission");
    hal_command_buffer_release(commands);
    hal_semaphore_release(semaphore);
    hal_buffer_release(first);
    hal_device_release(device); /* ends the capture */
    assert_int_equal(fake->calls[FAKE_DESTROY], 3);
    assert_int_equal(fake->ended, 1);
    assert_int_equal(fake->violations, 0);
}

TEST(wrong_moments_are_refused)
{
    struct hal_device *device = fixture_device("cpu?threads=1");
    assert_fails(hal_device_profiling_end(device), HAL_NOT_FOUND, "cpu?threads=1");
    assert_fails(hal_device_profiling_flush(device), HAL_NOT_FOUND, "not being captured");
    fake->begin_status = HAL_EXISTS;
    assert_fails(hal_device_profiling_begin(device, NULL, 0), HAL_EXISTS, "told to fail");
    fake->begin_status = HAL_OK;
    struct hal_buffer *buffer = fixture_buffer(device, "still works", 4);
    assert_int_equal(fake->calls[FAKE_BUFFER_CREATE], 0);
    begin(device);
    assert_fails(hal_device_profiling_begin(device, NULL, 0), HAL_EXISTS, "already");
    fake->end_status = HAL_IO;
    assert_fails(hal_device_profiling_end(device), HAL_IO, "told to fail");
    assert_fails(
        hal_device_profiling_begin(device, &(struct hal_profiling_options){.mode = "vibes"}, 0),
        HAL_UNSUPPORTED, "vibes");
    assert_fails(
        hal_device_profiling_begin(device, &(struct hal_profiling_options){.stacks = "all"}, 0),
        HAL_INVALID, "'all'");
    setenv("HAL_CAPTURE_MODULE", "/nowhere/module.so", 1);
    assert_fails(hal_device_profiling_begin(device, NULL, 0), HAL_NOT_FOUND, "/nowhere/module.so");
    setenv("HAL_CAPTURE_MODULE", FAKE_LAYER_PATH, 1);
    hal_buffer_release(buffer);
    hal_device_release(device);
}

/* ---- Waits and work in flight --------------------------------------------------------------- */

TEST(blocked_waits_move_into_the_layer_and_out)
{
    struct hal_device *device = fixture_device("cpu?threads=1");
    struct waiting waiting = {.semaphore = fixture_semaphore(device, "s", 0), .value = 1};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, wait_for_value, &waiting), 0);
    await(&waiting.started, 1);
    begin(device);
    await(&fake->calls[FAKE_WAIT], 1); /* the wait comes back through the layer */
    assert_ok(hal_device_profiling_end(device));
    assert_int_equal(fake->ended, 1);
    assert_int_equal(fake->violations, 0);
    assert_int_equal(waiting.finished, 0);
    assert_ok(hal_semaphore_signal(waiting.semaphore, 1));
    pthread_join(thread, NULL);
    assert_int_equal(waiting.finished, 1);
    hal_semaphore_release(waiting.semaphore);
    hal_device_release(device);
}

TEST(beginning_gives_up_by_name)
{
    struct hal_device *device = fixture_device("cpu?threads=1");
    struct hal_semaphore *never = fixture_semaphore(device, "never", 3);
    struct hal_semaphore *done = fixture_semaphore(device, "done", 0);
    assert_ok(fixture_submit(device, NULL, never, 5, done, 1));
    assert_fails(hal_device_profiling_begin(device, NULL, 1000000), HAL_TIMEOUT,
                 "semaphore 'never' to reach 5, it is at 3");
    assert_int_equal(fake->begun, 0);
    assert_ok(hal_semaphore_signal(never, 5));
    assert_ok(hal_semaphore_wait(done, 1, HAL_FOREVER));
    begin(device);
    hal_semaphore_release(done);
    hal_semaphore_release(never);
    hal_device_release(device);
}

static void *signal_five(void *argument)
{
    struct waiting *waiting = argument;
    await(&waiting->started, 1);
    assert_int_equal(hal_semaphore_signal(waiting->semaphore, 5), HAL_OK);
    return NULL;
}

/* The thread that would signal stands at the closed gate sooner or later. */
TEST(work_that_the_host_finishes_does_not_lock_up)
{
    struct hal_device *device = fixture_device("cpu?threads=1");
    struct hal_semaphore *done = fixture_semaphore(device, "done", 0);
    struct waiting waiting = {.semaphore = fixture_semaphore(device, "s", 0)};
    pthread_t thread;
    assert_ok(fixture_submit(device, NULL, waiting.semaphore, 5, done, 1));
    assert_int_equal(pthread_create(&thread, NULL, signal_five, &waiting), 0);
    waiting.started = 1;
    begin(device);
    pthread_join(thread, NULL);
    assert_ok(hal_device_profiling_end(device));
    hal_semaphore_release(waiting.semaphore);
    hal_semaphore_release(done);
    hal_device_release(device);
}

static void release_it(void *user)
{
    struct hal_buffer **buffer = user;
    hal_buffer_release(*buffer);
    *buffer = NULL;
}

TEST(what_dies_at_the_closed_gate_is_destroyed_afterwards)
{
    struct hal_device *device = fixture_device("cpu?threads=1");
    struct hal_buffer *buffer = fixture_buffer(device, "dying", 4);
    fake->while_closed = release_it;
    fake->user = &buffer;
    begin(device);
    assert_int_equal(fake->calls[FAKE_DESTROY], 1);
    buffer = fixture_buffer(device, "dying again", 4);
    assert_ok(hal_device_profiling_end(device));
    assert_int_equal(fake->calls[FAKE_DESTROY], 1);
    assert_int_equal(fake->violations, 0);
    hal_device_release(device);
}

struct ending {
    struct hal_command_buffer *commands;
    pthread_t thread;
    _Atomic uint32_t started;
    enum hal_status status;
    bool looked_ended;
};

static void *end(void *argument)
{
    struct ending *ending = argument;
    atomic_store(&ending->started, 1);
    ending->status = hal_command_buffer_end(ending->commands);
    return NULL;
}

/* The thread comes to the closed gate soon after it has started. */
static void end_at_the_gate(void *user)
{
    struct ending *ending = user;
    if (pthread_create(&ending->thread, NULL, end, ending) != 0)
        abort();
    await(&ending->started, 1);
    for (int i = 0; i < 2000; i++) {
        ending->looked_ended |= __atomic_load_n(&ending->commands->is_ended, __ATOMIC_SEQ_CST);
        sched_yield();
    }
}

TEST(what_waits_at_the_gate_has_not_ended)
{
    struct hal_device *device = fixture_device("cpu?threads=1");
    struct ending ending = {0};
    assert_ok(hal_command_buffer_create(device, &(struct hal_command_buffer_desc){.label = "late"},
                                        &ending.commands));
    assert_ok(hal_command_barrier(ending.commands, NULL));
    fake->while_closed = end_at_the_gate;
    fake->user = &ending;
    begin(device);
    fake->while_closed = NULL;
    pthread_join(ending.thread, NULL);
    assert_int_equal(ending.status, HAL_OK);
    assert_false(ending.looked_ended);
    assert_int_equal(fake->calls[FAKE_PREPARE], 1);
    assert_ok(hal_device_profiling_end(device));
    hal_command_buffer_release(ending.commands);
    hal_device_release(device);
}

/* Polls until the system says that the thread sleeps. */
static void await_sleep(uint32_t thread_id)
{
    char path[64], line[256], state = 0;
    snprintf(path, sizeof path, "/proc/self/task/%u/stat", thread_id);
    while (state != 'S') {
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        assert_non_null(fgets(line, sizeof line, file));
        (void)fclose(file);
        state = strrchr(line, ')')[2];
        sched_yield();
    }
}

struct staying {
    struct hal_device *device;
    _Atomic uint32_t inside, leave, ender;
};

static void stay_inside(void *user)
{
    struct staying *staying = user;
    staying->inside = 1;
    await(&staying->leave, 1);
}

static void *query(void *argument)
{
    struct staying *staying = argument;
    int64_t number;
    return hal_device_query(staying->device, "memory.used.bytes", &number) == HAL_OK ? NULL
                                                                                     : argument;
}

static void *end_profiling(void *argument)
{
    struct staying *staying = argument;
    staying->ender = (uint32_t)hal_thread_id();
    return hal_device_profiling_end(staying->device) == HAL_OK ? NULL : argument;
}

/* The layer must see what dies until it is out of the chain, and nobody may block for it. */
TEST(what_dies_while_calls_leave_passes_the_layer)
{
    pthread_t inside, ending;
    void *failed[2];
    struct staying staying = {.device = fixture_device("cpu?threads=1")};
    struct hal_buffer *buffer = fixture_buffer(staying.device, "dying", 4);
    begin(staying.device);
    fake->while_inside = stay_inside;
    fake->user = &staying;
    assert_int_equal(pthread_create(&inside, NULL, query, &staying), 0);
    await(&staying.inside, 1);
    assert_int_equal(pthread_create(&ending, NULL, end_profiling, &staying), 0);
    while (staying.ender == 0)
        sched_yield();
    await_sleep(staying.ender);
    hal_buffer_release(buffer);
    const uint32_t destroyed = fake->calls[FAKE_DESTROY], ended = fake->ended;
    staying.leave = 1;
    pthread_join(inside, &failed[0]);
    pthread_join(ending, &failed[1]);
    assert_int_equal(destroyed, 1);
    assert_int_equal(ended, 0);
    assert_null(failed[0]);
    assert_null(failed[1]);
    assert_int_equal(fake->violations, 0);
    hal_device_release(staying.device);
}

/* ---- Under load ------------------------------------------------------------------------------ */

enum { THREADS = 3, ROUNDS = 60, CHANGES = 12 };

struct load {
    struct hal_device *device;
    uint32_t index;
    _Atomic uint32_t *finished;
    uint32_t wrong;
};

/* Each round adds one to what the buffer holds, partly on the host and partly on the device. */
static void *run_load(void *argument)
{
    struct load *load = argument;
    struct hal_device *device = load->device;
    struct hal_semaphore *semaphore;
    struct hal_buffer *buffer;
    const struct hal_buffer_desc desc = {.bytes = 8};
    uint32_t wrong = 0;
    wrong += hal_semaphore_create(device, NULL, 0, &semaphore) != HAL_OK;
    wrong += hal_buffer_create(device, &desc, &buffer) != HAL_OK;
    for (uint32_t round = 1; round <= ROUNDS && !wrong; round++) {
        struct hal_command_buffer *commands;
        uint32_t got = 0;
        wrong += hal_command_buffer_create(device, NULL, &commands) != HAL_OK;
        wrong += hal_buffer_write(buffer, 0, &round, 4) != HAL_OK;
        wrong += hal_command_copy(commands, buffer, 0, buffer, 4, 4) != HAL_OK;
        wrong += hal_command_buffer_end(commands) != HAL_OK;
        wrong += fixture_submit(device, commands, NULL, 0, semaphore, round) != HAL_OK;
        hal_command_buffer_release(commands);
        wrong += hal_semaphore_wait(semaphore, round, HAL_FOREVER) != HAL_OK;
        wrong += hal_buffer_read(buffer, 4, &got, 4) != HAL_OK || got != round;
    }
    hal_buffer_release(buffer);
    hal_semaphore_release(semaphore);
    load->wrong = wrong;
    (*load->finished)++;
    return NULL;
}

TEST(layers_come_and_go_under_load)
{
    struct hal_device *device = fixture_device("cpu?threads=2");
    struct load loads[THREADS];
    pthread_t threads[THREADS];
    _Atomic uint32_t finished = 0;
    for (uint32_t i = 0; i < THREADS; i++) {
        loads[i] = (struct load){.device = device, .index = i, .finished = &finished};
        assert_int_equal(pthread_create(&threads[i], NULL, run_load, &loads[i]), 0);
    }
    for (uint32_t i = 0; i < CHANGES || finished < THREADS; i++) {
        begin(device);
        sched_yield();
        assert_ok(hal_device_profiling_end(device));
        sched_yield();
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(loads[i].wrong, 0);
    }
    assert_int_equal(fake->begun, fake->ended);
    assert_int_equal(fake->calls[FAKE_SUBMIT], fake->calls[FAKE_RETIRED]);
    assert_int_equal(fake->inside, 0);
    assert_int_equal(fake->violations, 0);
    hal_device_release(device);
}

static void *change_often(void *argument)
{
    struct hal_device *device = argument;
    for (uint32_t i = 0; i < CHANGES; i++) {
        const enum hal_status begun = hal_device_profiling_begin(device, NULL, HAL_FOREVER);
        if (begun != HAL_OK && begun != HAL_EXISTS)
            return device;
        const enum hal_status ended = hal_device_profiling_end(device);
        if (ended != HAL_OK && ended != HAL_NOT_FOUND)
            return device;
    }
    return NULL;
}

TEST(several_threads_begin_and_end)
{
    struct hal_device *device = fixture_device("cpu?threads=1");
    pthread_t threads[THREADS];
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, change_often, device), 0);
    for (uint32_t i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    hal_device_release(device);
    assert_int_equal(fake->begun, fake->ended);
    assert_int_equal(fake->violations, 0);
}

/* ---- Queues -------------------------------------------------------------------------------- */

static uint32_t queue_of_barrier(struct hal_device *device, uint64_t queues,
                                 struct hal_semaphore *wait)
{
    const struct hal_semaphore_value value = {wait, 1};
    assert_ok(hal_queue_barrier(
        device, &(struct hal_submit_desc){.queues = queues, .waits = &value, .wait_count = 1}));
    return fake->last_queue;
}

/* Whatever kind of work waits on a queue, the next one goes elsewhere; refused work counts for
 * nothing, and neither does what has ended, well or not. */
TEST(all_work_is_load_of_its_queue)
{
    char path[] = "/tmp/hal-layers-XXXXXX";
    const struct hal_buffer_desc desc = {.bytes = 64};
    struct hal_device *device = fixture_device("cpu?threads=1&queues=3");
    struct hal_semaphore *begins = fixture_semaphore(device, "begins", 0);
    struct hal_semaphore *breaks = fixture_semaphore(device, "breaks", 0);
    struct hal_semaphore *reached = fixture_semaphore(device, "reached", 5);
    struct hal_buffer *buffer = fixture_buffer(device, "b", 64), *transient;
    struct hal_file *file;
    close(mkstemp(path));
    assert_ok(hal_file_open(path, HAL_FILE_READ | HAL_FILE_WRITE, &file));
    unlink(path);
    assert_ok(hal_queue_alloca(device, NULL, &desc, &transient));
    begin(device);
    const struct hal_semaphore_value wait = {begins, 1}, broken = {breaks, 1}, past = {reached, 5};
    const struct hal_submit_desc later = {.queues = 7, .waits = &wait, .wait_count = 1};
    const struct hal_submit_desc never = {.queues = 7, .waits = &broken, .wait_count = 1};
    const struct hal_submit_desc refused = {.queues = 7, .signals = &past, .signal_count = 1};
    assert_fails(hal_queue_write(device, &refused, buffer, 0, file, 0, 64), HAL_INVALID, "reached");
    assert_ok(hal_queue_write(device, &later, buffer, 0, file, 0, 64));
    assert_int_equal(fake->last_queue, 0);
    assert_ok(hal_queue_read(device, &never, file, 0, buffer, 0, 64));
    assert_int_equal(fake->last_queue, 1);
    assert_fails(hal_queue_dealloca(device, &refused, transient), HAL_INVALID, "reached");
    assert_ok(hal_queue_dealloca(device, &later, transient));
    assert_int_equal(fake->last_queue, 2);
    assert_int_equal(queue_of_barrier(device, 7, begins), 0);
    assert_int_equal(queue_of_barrier(device, 6, begins), 1);
    assert_int_equal(queue_of_barrier(device, 7, begins), 2);
    hal_semaphore_fail(breaks, HAL_FAILED, "on purpose");
    assert_ok(hal_semaphore_signal(begins, 1));
    assert_ok(hal_device_wait_idle(device, HAL_FOREVER));
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(device->queue_load[i], 0);
    assert_ok(hal_device_profiling_end(device));
    hal_file_release(file);
    hal_buffer_release(transient);
    hal_buffer_release(buffer);
    hal_semaphore_release(reached);
    hal_semaphore_release(breaks);
    hal_semaphore_release(begins);
    hal_device_release(device);
    assert_int_equal(fake->violations, 0);
}

/* ---- Calls back ----------------------------------------------------------------------------- */

struct importer {
    struct hal_device *device;
    struct hal_semaphore *semaphore;
    pthread_t thread;
    enum hal_status begun, used;
    uint32_t calls;
};

static void *begin_in_time(void *user)
{
    struct importer *importer = user;
    importer->begun = hal_device_profiling_begin(
        importer->device, &(struct hal_profiling_options){.file = "x.pb.zst"}, 5000000000);
    return NULL;
}

/* Calls the HAL when somebody waits until nobody is inside any more: who is inside would wait for
 * him, and he for it. */
static void use_while_another_begins(void *user, void *pointer)
{
    struct importer *importer = user;
    uint64_t value;
    (void)pointer;
    importer->calls++;
    if (pthread_create(&importer->thread, NULL, begin_in_time, importer) != 0)
        abort();
    while (atomic_load(&importer->device->gate.state) == HAL_GATE_OPEN && !fake->begun)
        sched_yield();
    importer->used = hal_semaphore_query(importer->semaphore, &value);
}

TEST(the_release_of_an_import_may_use_the_device)
{
    static _Alignas(4096) uint8_t memory[4096];
    const struct hal_buffer_desc desc = {.label = "import", .bytes = sizeof memory};
    for (int by_work = 0; by_work < 2; by_work++) {
        struct hal_buffer *buffer;
        struct importer importer = {.device = fixture_device("cpu?threads=1")};
        struct hal_device *device = importer.device;
        importer.semaphore = fixture_semaphore(device, "s", 0);
        memset(fake, 0, sizeof *fake);
        assert_ok(
            hal_buffer_import(device, &desc, memory, use_while_another_begins, &importer, &buffer));
        struct hal_command_buffer *commands = fixture_commands(device, NULL, HAL_ONE_SHOT);
        assert_ok(hal_command_fill(commands, buffer, 0, 4, 7, 4));
        assert_ok(hal_command_buffer_end(commands));
        if (by_work) { /* the signal runs it here, inside the call */
            assert_ok(fixture_submit(device, commands, importer.semaphore, 1, NULL, 0));
            hal_buffer_release(buffer);
            hal_command_buffer_release(commands);
            assert_int_equal(importer.calls, 0);
            assert_ok(hal_semaphore_signal(importer.semaphore, 1));
        } else {
            hal_command_buffer_release(commands);
            assert_int_equal(importer.calls, 0);
            hal_buffer_release(buffer);
        }
        assert_int_equal(importer.calls, 1);
        assert_int_equal(pthread_join(importer.thread, NULL), 0);
        assert_int_equal(importer.begun, HAL_OK);
        assert_int_equal(importer.used, HAL_OK);
        hal_semaphore_release(importer.semaphore);
        hal_device_release(device);
        assert_int_equal(fake->violations, 0);
    }
}

TEST_FIXTURE(forget, NULL);
TEST_SUITE_FIXTURE(load_fake, NULL);
