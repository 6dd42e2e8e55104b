/* SPDX-License-Identifier: Apache-2.0 */
/* What may go wrong with a capture: it cannot begin, the file cannot grow, the process forks. The
 * program gets its own results in each case. */
#include "tests/support/captured.h"
#include "tests/support/hal_fixture.h"
#include "tests/support/trace_folder.h"

#include "hal/base/log.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { KIB = 1024, MIB = 1024 * KIB };

static int set_up(void **state)
{
    if (make_trace_folder(state) != 0)
        return -1;
    setenv("HAL_DEVICE_PROFILING_SIDECAR", folder.path, 1); /* failed files leave theirs */
    return 0;
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* ---- It cannot begin ---- */

static void assert_begin_fails(struct hal_device *device,
                               const struct hal_profiling_options *options, enum hal_status status,
                               const char *text)
{
    assert_fails(hal_device_profiling_begin(device, options, HAL_FOREVER), status, text);
    assert_fails(hal_device_profiling_end(device), HAL_NOT_FOUND, "");
}

TEST(wrong_options_are_refused_with_their_name)
{
    struct hal_device *device = fixture_device("cpu");
    struct hal_profiling_options options = {.file = path, .mode = "vibes"};
    assert_begin_fails(device, &options, HAL_UNSUPPORTED, "vibes");
    options.mode = "queue,";
    assert_begin_fails(device, &options, HAL_UNSUPPORTED, "queue,");
    options.mode = "queue-events,dispatch-events";
    options.stacks = "sometimes";
    assert_begin_fails(device, &options, HAL_INVALID, "sometimes");
    options.stacks = NULL;
    options.file = "x.gputrace";
    assert_begin_fails(device, &options, HAL_UNSUPPORTED, "x.gputrace");
    options.file = "no/such/folder/x.pb.zst";
    assert_begin_fails(device, &options, HAL_IO, "no/such/folder/x.pb.zst");
    assert_int_equal(access(path, F_OK), -1);

    options.file = path;
    setenv("HAL_DEVICE_PROFILING_STAGING_MIB", "lots", 1);
    assert_begin_fails(device, &options, HAL_INVALID, "HAL_DEVICE_PROFILING_STAGING_MIB=lots");
    unsetenv("HAL_DEVICE_PROFILING_STAGING_MIB");
    setenv("HAL_DEVICE_PROFILING_RING_KIB", "1", 1);
    assert_begin_fails(device, &options, HAL_INVALID, "64");
    unsetenv("HAL_DEVICE_PROFILING_RING_KIB");

    /* None of it left anything behind. */
    assert_ok(hal_device_profiling_begin(device, &options, HAL_FOREVER));
    assert_fails(hal_device_profiling_begin(device, &options, HAL_FOREVER), HAL_EXISTS,
                 "already being captured");
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);
}

TEST(an_existing_file_is_kept_unless_forced)
{
    struct captured captured;
    struct stat found;
    struct hal_device *device = fixture_device("cpu");
    struct hal_profiling_options options = {.file = path};
    write_file(path, "precious");
    assert_begin_fails(device, &options, HAL_EXISTS, path);
    assert_int_equal(stat(path, &found), 0);
    assert_int_equal(found.st_size, 8);
    options.force = true;
    assert_ok(hal_device_profiling_begin(device, &options, HAL_FOREVER));
    assert_ok(hal_device_profiling_end(device));
    captured_open(&captured, path);
    captured_close(&captured);
    hal_device_release(device);
}

/* ---- Calls that fail ---- */

static void assert_recorded(const struct captured *captured, size_t n, const char *call,
                            enum hal_status status, const char *message)
{
    const struct trace_failure *failure = captured_find(captured, TRACE_FAILURE, n);
    assert_string_equal(captured_string(captured, failure->call), call);
    assert_int_equal(failure->head.status, status);
    assert_string_equal(captured_string(captured, failure->message), message);
    assert_int_equal(failure->head.ticket, 0);
}

/* Each with the very message that the program got; a wait that is over before it is met is none. */
TEST(why_calls_failed_is_recorded)
{
    static const char source[] = "kernel void f() { nonsense; }\n";
    static const struct hal_entry_point entry = {"f", {1, 1, 1}, 0, 0};
    const struct hal_executable_desc desc = {.label = "wrong.metal",
                                             .format = HAL_FORMAT_MSL,
                                             .data = source,
                                             .bytes = sizeof source - 1,
                                             .entry_points = &entry,
                                             .entry_point_count = 1};
    struct captured captured;
    struct hal_executable *executable;
    struct hal_device *device = fixture_device("cpu");
    char messages[2][HAL_MESSAGE_BYTES];
    captured_begin(device, path);
    struct hal_semaphore *semaphore = fixture_semaphore(device, "s", 3);
    assert_fails(hal_executable_create(device, &desc, &executable), HAL_INVALID, "nonsense");
    snprintf(messages[0], sizeof messages[0], "%s", hal_message());
    assert_fails(hal_semaphore_wait(semaphore, 4, 0), HAL_TIMEOUT, "");
    hal_semaphore_fail(semaphore, HAL_FAILED, "on purpose");
    assert_fails(hal_semaphore_wait(semaphore, 4, 0), HAL_FAILED, "on purpose");
    snprintf(messages[1], sizeof messages[1], "%s", hal_message());
    assert_ok(hal_device_profiling_end(device));
    hal_semaphore_release(semaphore);
    hal_device_release(device);
    captured_open(&captured, path);
    assert_int_equal(captured_count(&captured, TRACE_FAILURE), 2);
    assert_recorded(&captured, 0, "hal_executable_create", HAL_INVALID, messages[0]);
    assert_recorded(&captured, 1, "hal_semaphores_wait", HAL_FAILED, messages[1]);
    captured_close(&captured);
}

/* ---- The file cannot grow ---- */

struct lines {
    unsigned count;
    char last[512];
};

static void count_lines(void *user, enum hal_log_level level, const char *text)
{
    struct lines *lines = user;
    if (level <= HAL_LOG_WARN) {
        lines->count++;
        snprintf(lines->last, sizeof lines->last, "%s", text);
    }
}

#define CHILD_EXPECT(condition)                                                                    \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, hal_message());     \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

/* Uploads random bytes and reads them back, while the capture runs into the limit. */
static void work_beyond_the_limit(struct hal_device *device, struct hal_buffer *buffer)
{
    static uint8_t data[MIB], back[MIB];
    uint64_t random = 5;
    uint64_t value;
    struct hal_semaphore *done;
    CHILD_EXPECT(hal_semaphore_create(device, "done", 0, &done) == HAL_OK);
    for (uint64_t round = 1; round <= 40; round++) {
        for (size_t i = 0; i < MIB; i++)
            data[i] = (uint8_t)fixture_random(&random);
        CHILD_EXPECT(hal_buffer_write(buffer, 0, data, MIB) == HAL_OK);
        CHILD_EXPECT(fixture_submit(device, NULL, NULL, 0, done, round) == HAL_OK);
        CHILD_EXPECT(hal_semaphore_wait(done, round, HAL_FOREVER) == HAL_OK);
        CHILD_EXPECT(hal_semaphore_query(done, &value) == HAL_OK && value == round);
        CHILD_EXPECT(hal_buffer_read(buffer, 0, back, MIB) == HAL_OK);
        CHILD_EXPECT(memcmp(data, back, MIB) == 0);
        if (round == 20) {
            const enum hal_status flushed = hal_device_profiling_flush(device);
            CHILD_EXPECT(flushed == HAL_IO);
        }
    }
    hal_semaphore_release(done);
}

static void capture_beyond_the_limit(void)
{
    struct lines lines = {0};
    struct hal_device *device;
    struct hal_buffer *buffer;
    const struct hal_profiling_options options = {.file = path};
    hal_log_set_sink(count_lines, &lines);
    CHILD_EXPECT(hal_device_open("cpu", &device) == HAL_OK);
    CHILD_EXPECT(hal_buffer_create(device, &(struct hal_buffer_desc){.bytes = MIB}, &buffer) ==
                 HAL_OK);
    CHILD_EXPECT(hal_buffer_write(buffer, 0, "x", 1) == HAL_OK);
    CHILD_EXPECT(hal_device_profiling_begin(device, &options, HAL_FOREVER) == HAL_OK);
    const struct rlimit limit = {6 * MIB, RLIM_INFINITY};
    CHILD_EXPECT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    work_beyond_the_limit(device, buffer);
    const enum hal_status status = hal_device_profiling_end(device);
    CHILD_EXPECT(status == HAL_IO);
    CHILD_EXPECT(strstr(hal_message(), path) != NULL);
    CHILD_EXPECT(lines.count == 2); /* that it is incomplete, and what helps */
    CHILD_EXPECT(strstr(lines.last, "hal-trace recover") != NULL);

    /* The device works on, and another capture is another chance. */
    const struct rlimit no_limit = {RLIM_INFINITY, RLIM_INFINITY};
    CHILD_EXPECT(setrlimit(RLIMIT_FSIZE, &no_limit) == 0);
    CHILD_EXPECT(hal_buffer_write(buffer, 0, "x", 1) == HAL_OK);
    const struct hal_profiling_options again = {.file = path, .force = true};
    CHILD_EXPECT(hal_device_profiling_begin(device, &again, HAL_FOREVER) == HAL_OK);
    CHILD_EXPECT(hal_device_profiling_end(device) == HAL_OK);
    hal_buffer_release(buffer);
    hal_device_release(device);
}

static int status_of(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        fail_msg("ended by signal %d", WTERMSIG(status));
    return WEXITSTATUS(status);
}

TEST(a_full_file_ends_recording_and_nothing_else)
{
    const pid_t child = fork();
    if (child == 0) {
        capture_beyond_the_limit();
        exit(0);
    }
    assert_int_equal(status_of(child), 0);
}

/* Memory of buffers counts as files do, whether a capture runs or not. */
static void create_beyond_the_limit(void)
{
    struct hal_device *device;
    struct hal_buffer *buffer;
    const struct rlimit limit = {8 * MIB, RLIM_INFINITY};
    const struct hal_profiling_options options = {.file = path};
    CHILD_EXPECT(hal_device_open("cpu", &device) == HAL_OK);
    CHILD_EXPECT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    for (int captured = 0; captured < 2; captured++) {
        CHILD_EXPECT(!captured ||
                     hal_device_profiling_begin(device, &options, HAL_FOREVER) == HAL_OK);
        const struct hal_buffer_desc large = {.label = "large", .bytes = 16 * MIB};
        const enum hal_status status = hal_buffer_create(device, &large, &buffer);
        CHILD_EXPECT(status == HAL_NO_MEMORY);
        CHILD_EXPECT(strstr(hal_message(), "'large'") && strstr(hal_message(), "16777216 bytes") &&
                     strstr(hal_message(), "the file size limit is 8388608"));
        CHILD_EXPECT(hal_buffer_create(device, &(struct hal_buffer_desc){.bytes = MIB}, &buffer) ==
                     HAL_OK);
        hal_buffer_release(buffer);
    }
    CHILD_EXPECT(hal_device_profiling_end(device) == HAL_OK);
    hal_device_release(device);
}

TEST(a_buffer_beyond_the_file_size_limit_is_refused)
{
    const pid_t child = fork();
    if (child == 0) {
        create_beyond_the_limit();
        exit(0);
    }
    assert_int_equal(status_of(child), 0);
}

/* The same without another capture after it: what is in the file is readable and says so. */
TEST(a_full_file_is_readable_and_says_that_it_is_incomplete)
{
    struct captured captured;
    const pid_t child = fork();
    if (child == 0) {
        struct lines lines = {0};
        struct hal_device *device;
        struct hal_buffer *buffer;
        hal_log_set_sink(count_lines, &lines);
        CHILD_EXPECT(hal_device_open("cpu", &device) == HAL_OK);
        CHILD_EXPECT(hal_buffer_create(device, &(struct hal_buffer_desc){.bytes = MIB}, &buffer) ==
                     HAL_OK);
        CHILD_EXPECT(hal_buffer_write(buffer, 0, "x", 1) == HAL_OK);
        CHILD_EXPECT(hal_device_profiling_begin(device,
                                                &(struct hal_profiling_options){.file = path},
                                                HAL_FOREVER) == HAL_OK);
        const struct rlimit limit = {6 * MIB, RLIM_INFINITY};
        CHILD_EXPECT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
        work_beyond_the_limit(device, buffer);
        CHILD_EXPECT(hal_device_profiling_end(device) == HAL_IO);
        hal_buffer_release(buffer);
        hal_device_release(device);
        exit(0);
    }
    assert_int_equal(status_of(child), 0);
    captured_open_incomplete(&captured, path);
    const struct trace_health *health = trace_reader_health(captured.reader);
    const bool says_so =
        trace_reader_truncated(captured.reader)[0] || (health && health->status == HAL_IO);
    assert_true(says_so);
    if (health)
        assert_true(health->lost_records > 0);
    assert_true(captured_count(&captured, TRACE_HOST_WRITE) > 0);
    captured_close(&captured);
}

/* Where rings had to be small, by the limits of the process for example. */
TEST(a_record_larger_than_a_ring_gets_one_that_holds_it)
{
    enum { MANY = 10000 };
    struct captured captured;
    struct lines lines = {0};
    struct hal_device *device = fixture_device("cpu");
    struct hal_semaphore *semaphore = fixture_semaphore(device, "s", 1);
    struct hal_semaphore_value *values = malloc(MANY * sizeof *values);
    for (unsigned i = 0; i < MANY; i++)
        values[i] = (struct hal_semaphore_value){semaphore, 1};
    hal_log_set_sink(count_lines, &lines);
    setenv("HAL_DEVICE_PROFILING_RING_KIB", "64", 1);
    captured_begin(device, path);
    unsetenv("HAL_DEVICE_PROFILING_RING_KIB");
    hal_semaphore_release(fixture_semaphore(device, "before", 0));
    for (unsigned i = 0; i < 5; i++) {
        assert_ok(hal_semaphores_wait(device, HAL_WAIT_ALL, values, MANY, HAL_FOREVER));
        hal_semaphore_release(fixture_semaphore(device, "after", 0));
    }
    assert_ok(hal_device_profiling_end(device));
    hal_log_set_sink(NULL, NULL);
    assert_int_equal(lines.count, 0);
    hal_semaphore_release(semaphore);
    hal_device_release(device);
    free(values);

    captured_open(&captured, path);
    assert_int_equal(trace_reader_health(captured.reader)->lost_records, 0);
    assert_int_equal(captured_count(&captured, TRACE_SEMAPHORE_CREATE), 2 + 5);
    assert_int_equal(captured_count(&captured, TRACE_SEMAPHORE_WAIT), 5);
    const struct trace_semaphore_wait *wait = captured_find(&captured, TRACE_SEMAPHORE_WAIT, 0);
    assert_int_equal(wait->value_count, MANY);
    captured_close(&captured);
}

/* ---- Forks ---- */

TEST(the_child_of_a_fork_leaves_the_file_to_its_parent)
{
    struct captured captured;
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, path);
    struct hal_semaphore *semaphore = fixture_semaphore(device, "s", 0);
    for (uint64_t i = 1; i <= 3; i++) {
        const pid_t child = fork();
        if (child == 0) {
            /* Whatever the child tries ends well and reaches nobody. */
            uint64_t value;
            struct hal_semaphore *own = NULL;
            (void)!hal_semaphore_signal(semaphore, 100);
            (void)!hal_semaphore_query(semaphore, &value);
            (void)!hal_semaphore_create(device, "child", 0, &own);
            hal_scope_begin(device, "child");
            (void)!hal_device_profiling_flush(device);
            (void)!hal_device_profiling_end(device);
            hal_semaphore_release(semaphore);
            hal_device_release(device);
            exit(0);
        }
        assert_ok(hal_semaphore_signal(semaphore, i));
        assert_int_equal(status_of(child), 0);
    }
    hal_semaphore_release(semaphore);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);
    captured_open(&captured, path);
    assert_int_equal(captured_count(&captured, TRACE_SEMAPHORE_SIGNAL), 3);
    assert_int_equal(captured_count(&captured, TRACE_SEMAPHORE_CREATE), 1);
    assert_int_equal(captured_count(&captured, TRACE_SCOPE_BEGIN), 0);
    assert_int_equal(trace_reader_thread_count(captured.reader), 1);
    captured_close(&captured);
}

static struct hal_semaphore *gate, *opened;

/* Registered before any capture began, so it is called when the file is closed. What is in flight
 * must still find all that it needs. */
static void let_work_go_on(void)
{
    if (!gate)
        return;
    CHILD_EXPECT(hal_semaphore_signal(gate, 1) == HAL_OK);
    CHILD_EXPECT(hal_semaphore_wait(opened, 1, HAL_FOREVER) == HAL_OK);
}

static void exit_with_work_in_flight(void)
{
    struct lines lines = {0};
    struct hal_device *device;
    const struct hal_profiling_options options = {.file = path};
    hal_log_set_sink(count_lines, &lines);
    CHILD_EXPECT(hal_device_open("cpu", &device) == HAL_OK);
    CHILD_EXPECT(hal_semaphore_create(device, "gate", 0, &gate) == HAL_OK);
    CHILD_EXPECT(hal_semaphore_create(device, "opened", 0, &opened) == HAL_OK);
    CHILD_EXPECT(hal_device_profiling_begin(device, &options, HAL_FOREVER) == HAL_OK);
    CHILD_EXPECT(fixture_submit(device, NULL, gate, 1, opened, 1) == HAL_OK);
    exit(0);
}

TEST(an_exit_with_work_in_flight_closes_the_file)
{
    struct captured captured;
    const pid_t child = fork();
    if (child == 0)
        exit_with_work_in_flight();
    assert_int_equal(status_of(child), 0);
    captured_open_incomplete(&captured, path);
    const struct trace_health *health = trace_reader_health(captured.reader);
    assert_non_null(health);
    assert_int_equal(health->status, HAL_FAILED);
    assert_string_equal(health->message, "the process exited with work in flight");
    assert_int_equal(captured_count(&captured, TRACE_SUBMIT), 1);
    assert_int_equal(captured_count(&captured, TRACE_SUBMISSION_DONE), 0);
    captured_close(&captured);
}

TEST_FIXTURE(NULL, remove_trace);
TEST_SUITE_FIXTURE(set_up, remove_folder);

int main(void)
{
    if (atexit(let_work_go_on) != 0)
        return 1;
    return test_run();
}
