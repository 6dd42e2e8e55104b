/* SPDX-License-Identifier: Apache-2.0 */
/* hal/core/profiling/layers.c: captures of whole processes, what ends them, and what their children
 * see. */
#include "hal/base/log.h"
#include "hal/core/core.h"
#include "tests/unit/hal/layers_fixture.h"

#include <sys/wait.h>
#include <unistd.h>

TEST(the_environment_starts_captures)
{
    struct hal_device *first, *second;
    setenv("HAL_DEVICE_PROFILING_MODE", "queue-events", 1);
    setenv("HAL_DEVICE_PROFILING_FILE", "run.pb.zst", 1);
    setenv("HAL_DEVICE_PROFILING_FORCE", "1", 1);
    setenv("HAL_DEVICE_PROFILING_STACKS", "none", 1);
    assert_ok(hal_device_open("cpu?threads=1", &first));
    char file[sizeof fake->file];
    memcpy(file, fake->file, sizeof file);
    assert_string_equal(fake->mode, "queue");
    assert_string_equal(fake->stacks, "none");
    assert_true(fake->force);
    assert_ok(hal_device_open("cpu?threads=1", &second));
    assert_string_not_equal(fake->file, file);
    assert_memory_equal(fake->file, "run-", 4);
    assert_string_equal(fake->file + strlen(fake->file) - 7, ".pb.zst");
    assert_int_equal(fake->begun, 2);
    hal_device_release(second);
    hal_device_release(first);
    assert_int_equal(fake->ended, 2);
    unsetenv("HAL_DEVICE_PROFILING_MODE");
    unsetenv("HAL_DEVICE_PROFILING_FILE");
    unsetenv("HAL_DEVICE_PROFILING_FORCE");
    unsetenv("HAL_DEVICE_PROFILING_STACKS");
}

static char logged[HAL_MESSAGE_BYTES];

static void keep_error(void *user, enum hal_log_level level, const char *text)
{
    (void)user;
    if (level == HAL_LOG_ERROR)
        snprintf(logged, sizeof logged, "%s", text);
}

TEST(a_capture_that_cannot_start_harms_nobody)
{
    struct hal_device *device;
    setenv("HAL_DEVICE_PROFILING_MODE", "queue", 1);
    logged[0] = '\0';
    hal_log_set_sink(keep_error, NULL);
    fake->begin_status = HAL_IO;
    assert_ok(hal_device_open("cpu?threads=1", &device));
    hal_log_set_sink(NULL, NULL);
    unsetenv("HAL_DEVICE_PROFILING_MODE");
    assert_non_null(strstr(logged, "device 'cpu?threads=1&queues=1' is not captured: "));
    struct hal_buffer *buffer = fixture_buffer(device, "unrecorded", 4);
    assert_int_equal(fake->calls[FAKE_BUFFER_CREATE], 0);
    hal_buffer_release(buffer);
    fake->begin_status = HAL_OK;
    begin(device); /* the program itself may try again */
    hal_device_release(device);
    assert_int_equal(fake->ended, 1);
}

/* In a child process: leaves a device, a capture and unfinished objects behind. */
static void leave_everything(int report)
{
    struct hal_device *device = fixture_device("cpu?threads=1");
    begin(device);
    fake->report = report;
    fixture_buffer(device, "left behind", 4);
    exit(fake->violations ? 1 : 0);
}

/* The same with a submission that waits for ever, and a thread that does. */
static void leave_with_work(int report)
{
    static struct waiting waiting;
    pthread_t thread;
    struct hal_device *device = fixture_device("cpu?threads=1");
    waiting.semaphore = fixture_semaphore(device, "never", 0);
    waiting.value = 1;
    begin(device);
    fake->report = report;
    assert_ok(fixture_submit(device, NULL, waiting.semaphore, 1, NULL, 0));
    assert_int_equal(pthread_create(&thread, NULL, wait_for_value, &waiting), 0);
    await(&fake->calls[FAKE_WAIT], 1);
    exit(fake->violations ? 1 : 0);
}

static int report_at_exit;

static void tell(void)
{
    if (write(report_at_exit, "h", 1) != 1)
        abort();
}

/* One handler ends captures, at the place of the first one: after `tell`. */
static void leave_after_several_captures(int report)
{
    struct hal_device *device = fixture_device("cpu?threads=1");
    begin(device);
    assert_ok(hal_device_profiling_end(device));
    report_at_exit = report;
    assert_int_equal(atexit(tell), 0);
    begin(device);
    fake->report = report;
    exit(0);
}

/* The child's report of how its layer went. */
static char report_of(void (*leave)(int report))
{
    int ends[2], status;
    char byte = 0;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        leave(ends[1]);
    close(ends[1]);
    if (read(ends[0], &byte, 1) != 1)
        byte = '-';
    assert_int_equal(waitpid(child, &status, 0), child);
    close(ends[0]);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    return byte;
}

TEST(exit_ends_a_capture)
{
    assert_int_equal(report_of(leave_everything), 'e');
}

TEST(later_captures_add_no_handler)
{
    assert_int_equal(report_of(leave_after_several_captures), 'h');
}

TEST(exit_with_work_in_flight_leaves_a_capture)
{
    assert_int_equal(report_of(leave_with_work), 'l');
}

/* In a child of a captured process: nothing reaches the layer, calls fail, releases are safe. */
static int use_parents_device(struct hal_device *device, struct hal_buffer *buffer)
{
    struct hal_buffer *mine = NULL;
    const struct hal_buffer_desc desc = {.bytes = 4};
    const uint32_t destroyed = fake->calls[FAKE_DESTROY], created = fake->calls[FAKE_BUFFER_CREATE];
    if (hal_buffer_create(device, &desc, &mine) != HAL_DEVICE_LOST)
        return 1;
    if (!strstr(hal_message(), "fork"))
        return 2;
    if (hal_device_profiling_end(device) != HAL_DEVICE_LOST)
        return 3;
    hal_scope_begin(device, "nobody sees it");
    hal_buffer_release(buffer);
    hal_device_release(device);
    if (fake->calls[FAKE_DESTROY] != destroyed || fake->calls[FAKE_BUFFER_CREATE] != created)
        return 4;
    return fake->ended || fake->calls[FAKE_SCOPE] ? 5 : 0;
}

TEST(a_forked_child_leaves_the_capture_alone)
{
    int status = -1;
    struct hal_device *device = fixture_device("cpu?threads=1");
    begin(device);
    struct hal_buffer *buffer = fixture_buffer(device, "b", 4);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(use_parents_device(device, buffer));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    hal_buffer_release(buffer);
    hal_device_release(device);
    assert_int_equal(fake->ended, 1);
    assert_int_equal(fake->calls[FAKE_DESTROY], 1);
}

/* In a child whose parent's threads held every lock of the device: nothing waits for them. */
static int use_without_locks(struct hal_device *device, struct hal_buffer *buffer,
                             struct hal_buffer *transient, struct hal_command_buffer *commands)
{
    const struct hal_buffer_desc desc = {.bytes = 4};
    static uint8_t data[HAL_MAX_UPDATE_BYTES];
    struct hal_transient_statistics used = {0};
    struct hal_memory_statistics memory = {0};
    struct hal_buffer *mine;
    void *pointer;
    alarm(30);
    for (int i = 0; i < 64; i++) { /* 4 MiB */
        if (hal_command_update(commands, data, buffer, 0, sizeof data) != HAL_OK)
            return 1;
    }
    const enum hal_status statuses[] = {
        hal_device_transient_statistics(device, &used),
        hal_device_transient_limit(device, 0),
        hal_device_transient_trim(device),
        hal_queue_alloca(device, NULL, &desc, &mine),
        hal_queue_dealloca(device, NULL, transient),
        hal_device_memory_statistics(device, &memory),
        hal_device_memory_trim(device),
        hal_buffer_export(buffer, &pointer),
        hal_queue_fill(device, NULL, buffer, 0, 4, 0, 1),
        hal_queue_barrier(device, NULL),
        hal_device_profiling_flush(device),
    };
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        if (statuses[i] != HAL_DEVICE_LOST)
            return 10 + (int)i;
    }
    hal_command_buffer_release(commands);
    hal_buffer_release(transient);
    hal_buffer_release(buffer);
    hal_device_release(device);
    return 0;
}

TEST(a_forked_child_waits_for_no_lock)
{
    int status = -1;
    const struct hal_buffer_desc desc = {.bytes = 4};
    struct hal_mapping mapping;
    struct hal_device *device = fixture_device("cpu?threads=1&caching=1M");
    struct hal_buffer *buffer = fixture_buffer(device, "b", HAL_MAX_UPDATE_BYTES);
    struct hal_buffer *shown = fixture_buffer(device, "shown", 4), *transient;
    struct hal_command_buffer *commands = fixture_commands(device, NULL, HAL_ONE_SHOT);
    assert_ok(hal_queue_alloca(device, NULL, &desc, &transient));
    assert_ok(hal_buffer_map(shown, HAL_MAP_READ, 0, 4, &mapping));
    pthread_mutex_lock(&device->pool.lock);
    pthread_mutex_lock(&device->objects_lock);
    pthread_mutex_lock(&device->profiling_lock);
    const pid_t child = fork();
    if (child == 0)
        _exit(use_without_locks(device, buffer, transient, commands));
    pthread_mutex_unlock(&device->profiling_lock);
    pthread_mutex_unlock(&device->objects_lock);
    pthread_mutex_unlock(&device->pool.lock);
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_ok(hal_buffer_unmap(&mapping));
    assert_ok(hal_queue_dealloca(device, NULL, transient));
    hal_command_buffer_release(commands);
    hal_buffer_release(transient);
    hal_buffer_release(shown);
    hal_buffer_release(buffer);
    hal_device_release(device);
}

TEST_FIXTURE(forget, NULL);
TEST_SUITE_FIXTURE(load_fake, NULL);
