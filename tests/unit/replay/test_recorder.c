/* SPDX-License-Identifier: Apache-2.0 */
/* The flight recorder: the file holds the end of the run, begins with what was there, replays by
 * itself, and outlives the process. */
#include "format/file/recover.h"
#include "hal/base/log.h"
#include "replay/replay.h"
#include "tests/support/captured.h"
#include "tests/support/folder.h"
#include "tests/support/hal_fixture.h"
#include "tests/support/mortal.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 64, BYTES = WORDS * 8, CHECKPOINTS = 3 };

static const int64_t period_ns = 10000000;
static struct test_folder folder;
static char path[PATH_MAX], second[PATH_MAX];

static int make_folder(void **state)
{
    (void)state;
    if (!test_folder_make(&folder))
        return -1;
    test_folder_file(&folder, "last.pb.zst", path);
    test_folder_file(&folder, "last-2.pb.zst", second);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

static int remove_traces(void **state)
{
    (void)state;
    unlink(path);
    unlink(second);
    unsetenv("HAL_DEVICE_PROFILING_LAST");
    unsetenv("HAL_DEVICE_PROFILING_FILE");
    return 0;
}

/* ---- The program -------------------------------------------------------------------------- */

/* Each step changes one word of a buffer that only the device sees, from memory that is mapped all
 * the time, and reads all of it: without what was there before, no read would be the same. */
struct work {
    struct hal_device *device;
    struct hal_buffer *input, *state;
    struct hal_mapping mapping;
    struct hal_command_buffer *reusable; /* from the very beginning */
    struct hal_semaphore *done;
    uint64_t steps;
    uint64_t expected[WORDS];
    ino_t file;
    unsigned replaced; /* how often another file got the name */
};

static void begin_on(struct work *work, struct hal_device *device)
{
    *work = (struct work){.device = device};
    work->input = fixture_buffer(work->device, "input", BYTES);
    work->state = fixture_buffer(work->device, "state", BYTES);
    work->done = fixture_semaphore(work->device, "done", 0);
    work->reusable = fixture_commands(work->device, "first word", HAL_REUSABLE);
    assert_ok(hal_command_copy(work->reusable, work->input, 0, work->state, 0, 8));
    assert_ok(hal_command_buffer_end(work->reusable));
    const uint64_t zeros[WORDS] = {0};
    assert_ok(hal_buffer_write(work->state, 0, zeros, BYTES));
}

static void begin(struct work *work, const char *uri)
{
    struct hal_device *device = fixture_device(uri);
    unsetenv("HAL_DEVICE_PROFILING_LAST"); /* replays open devices, too */
    unsetenv("HAL_DEVICE_PROFILING_FILE");
    begin_on(work, device);
    assert_ok(
        hal_buffer_map(work->input, HAL_MAP_WRITE | HAL_MAP_PERSISTENT, 0, BYTES, &work->mapping));
    memset(work->mapping.data, 0, BYTES);
}

static void step(struct work *work)
{
    const uint64_t number = ++work->steps, word = number % WORDS;
    uint64_t seen[WORDS];
    struct hal_command_buffer *commands = work->reusable;
    work->expected[word] = number;
    if (work->mapping.data)
        ((uint64_t *)work->mapping.data)[word] = number;
    else
        assert_ok(hal_buffer_write(work->input, 8 * word, &number, 8));
    if (word) {
        commands = fixture_commands(work->device, "a word", HAL_ONE_SHOT);
        assert_ok(hal_command_copy(commands, work->input, 8 * word, work->state, 8 * word, 8));
        assert_ok(hal_command_buffer_end(commands));
    }
    assert_ok(fixture_submit(work->device, commands, NULL, 0, work->done, number));
    assert_ok(hal_semaphore_wait(work->done, number, HAL_FOREVER));
    assert_ok(hal_buffer_read(work->state, 0, seen, BYTES));
    assert_memory_equal(seen, work->expected, BYTES);
    if (commands != work->reusable)
        hal_command_buffer_release(commands);
    struct stat info;
    if (stat(path, &info) != 0 || info.st_ino == work->file)
        return;
    work->replaced += work->file != 0;
    work->file = info.st_ino;
}

static void run_until_replaced(struct work *work, unsigned times)
{
    while (work->replaced < times)
        step(work);
}

static void end_on(struct work *work)
{
    hal_command_buffer_release(work->reusable);
    hal_semaphore_release(work->done);
    hal_buffer_release(work->input);
    hal_buffer_release(work->state);
}

static void end(struct work *work)
{
    assert_ok(hal_buffer_unmap(&work->mapping));
    end_on(work);
    hal_device_release(work->device);
}

static void record_last(struct hal_device *device)
{
    const struct hal_profiling_options options = {.file = path, .last_ns = period_ns};
    assert_ok(hal_device_profiling_begin(device, &options, HAL_FOREVER));
}

/* ---- The trace ---------------------------------------------------------------------------- */

static void assert_replays(const char *file)
{
    struct replay_plan *plan = NULL;
    struct replay_player *player = NULL;
    struct replay_report report = {0};
    struct hal_device *device = fixture_device("cpu?threads=1");
    assert_ok(replay_plan_load(file, &(struct replay_load_options){0}, &plan));
    assert_ok(replay_player_create(plan, device, &(struct replay_options){0}, &player));
    assert_ok(replay_player_run(player, &report));
    assert_true(report.compared_reads > 0);
    assert_int_equal(report.different_reads, 0);
    assert_int_equal(report.different_outcomes, 0);
    replay_player_destroy(player);
    replay_plan_destroy(plan);
    hal_device_release(device);
}

/* Submissions without a gap up to the last one; the first of them. */
static uint64_t assert_holds_the_end(const char *file, uint64_t last, bool recovered)
{
    struct captured captured;
    captured_open(&captured, file);
    const struct trace_header *header = trace_reader_header(captured.reader);
    const size_t count = captured_count(&captured, TRACE_SUBMIT);
    assert_int_equal(header->last_ns, period_ns);
    assert_int_equal(trace_reader_health(captured.reader)->recovered, recovered);
    assert_true(count > 0);
    const uint64_t first =
        ((const struct trace_submit *)captured_find(&captured, TRACE_SUBMIT, 0))->submission;
    for (size_t i = 0; i < count; i++) {
        const struct trace_submit *submit = captured_find(&captured, TRACE_SUBMIT, i);
        assert_int_equal(submit->submission, first + i);
    }
    assert_int_equal(first + count - 1, last);
    captured_close(&captured);
    return first;
}

static void assert_is_long_enough(const char *file)
{
    struct captured captured;
    captured_open(&captured, file);
    const size_t count = captured_count(&captured, TRACE_SUBMIT);
    const struct trace_submit *latest = captured_find(&captured, TRACE_SUBMIT, count - 1);
    assert_true(latest->head.end_ns - trace_reader_header(captured.reader)->start_ns >= period_ns);
    captured_close(&captured);
}

/* ---- Tests -------------------------------------------------------------------------------- */

/* Names count a process's captures: this case and the next come first. */
TEST(a_signal_writes_it_out)
{
    struct work work;
    setenv("HAL_DEVICE_PROFILING_LAST", "10ms", 1);
    setenv("HAL_DEVICE_PROFILING_FILE", path, 1);
    begin(&work, "cpu?threads=1");
    for (int i = 0; i < 5; i++)
        step(&work);
    raise(SIGUSR1);
    step(&work);
    assert_holds_the_end(path, 4, false);
    end(&work);
    signal(SIGUSR1, SIG_DFL);
    assert_int_equal(assert_holds_the_end(second, 5, false), 5);
    assert_replays(path);
    assert_replays(second);
}

TEST(a_short_run_is_kept_whole)
{
    struct work work;
    char day[] = "24h";
    setenv("HAL_DEVICE_PROFILING_LAST", day, 1);
    setenv("HAL_DEVICE_PROFILING_FILE", path, 1);
    begin(&work, "cpu?threads=1");
    for (int i = 0; i < 10; i++)
        step(&work);
    end(&work);
    struct captured captured;
    captured_open(&captured, second);
    assert_false(trace_reader_header(captured.reader)->late_start);
    assert_int_equal(trace_reader_header(captured.reader)->last_ns, 86400000000000);
    assert_int_equal(captured_count(&captured, TRACE_SUBMIT), 10);
    captured_close(&captured);
    assert_replays(second);
}

TEST(the_end_of_a_run_is_kept)
{
    struct work work;
    begin(&work, "cpu?threads=1");
    record_last(work.device);
    run_until_replaced(&work, CHECKPOINTS);
    const uint64_t last = work.steps - 1;
    assert_ok(hal_device_profiling_end(work.device));
    end(&work);
    assert_true(assert_holds_the_end(path, last, false) > 0);
    assert_is_long_enough(path);
    assert_replays(path);
    /* Nothing else is left in the folder. */
    unlink(path);
    assert_int_equal(rmdir(folder.path), 0);
    assert_int_equal(mkdir(folder.path, 0700), 0);
}

/* A flush that gives up changes nothing; one that does not leaves no gap between the files. */
TEST(a_flush_gives_up_and_another_leaves_no_gap)
{
    enum { STEPS = 20 };
    struct work work;
    begin(&work, "cpu?threads=1");
    struct hal_semaphore *gate = fixture_semaphore(work.device, "the gate", 0);
    record_last(work.device);
    setenv("HAL_DEVICE_PROFILING_WAIT", "20ms", 1);
    assert_ok(fixture_submit(work.device, NULL, gate, 1, NULL, 0));
    assert_fails(hal_device_profiling_flush(work.device), HAL_TIMEOUT, "the gate");
    assert_fails(hal_device_profiling_end(work.device), HAL_TIMEOUT, "the gate");
    assert_int_not_equal(access(second, F_OK), 0);
    assert_ok(hal_semaphore_signal(gate, 1));
    unsetenv("HAL_DEVICE_PROFILING_WAIT");
    assert_ok(hal_device_wait_idle(work.device, HAL_FOREVER));
    for (int i = 0; i < STEPS; i++)
        step(&work);
    assert_ok(hal_device_profiling_flush(work.device));
    for (int i = 0; i < STEPS; i++)
        step(&work);
    assert_ok(hal_device_profiling_end(work.device));
    hal_semaphore_release(gate);
    end(&work);
    assert_holds_the_end(path, STEPS, false);
    assert_holds_the_end(second, 2 * STEPS, false);
    assert_replays(path);
    assert_replays(second);
}

struct ending {
    struct hal_device *device;
    enum hal_status (*how)(struct hal_device *device);
    enum hal_status status;
};

static void *end_it(void *user)
{
    struct ending *ending = user;
    ending->status = ending->how(ending->device);
    return NULL;
}

/* Work in flight waits for a submission of this thread, at which a checkpoint is due, or what the
 * signal asks for. */
TEST(a_submission_passes_while_another_thread_ends_the_capture)
{
    static enum hal_status (*const ways[])(struct hal_device *) = {
        hal_device_profiling_flush, hal_device_profiling_end, hal_device_profiling_end};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct work work;
        pthread_t thread;
        const bool signalled = i == 2;
        if (signalled) {
            setenv("HAL_DEVICE_PROFILING_LAST", "10ms", 1);
            setenv("HAL_DEVICE_PROFILING_FILE", path, 1);
        }
        begin(&work, "cpu?threads=1");
        struct hal_semaphore *gate = fixture_semaphore(work.device, "the gate", 0);
        if (!signalled)
            record_last(work.device);
        assert_ok(fixture_submit(work.device, NULL, gate, 1, work.done, 1));
        setenv("HAL_DEVICE_PROFILING_WAIT", "10s", 1);
        struct ending ending = {.device = work.device, .how = ways[i]};
        assert_int_equal(pthread_create(&thread, NULL, end_it, &ending), 0);
        while (hal_device_profiling_begin(work.device, NULL, 0) != HAL_TIMEOUT)
            sched_yield();
        const int64_t due_ns = hal_clock_ns() + 2 * period_ns;
        while (hal_clock_ns() < due_ns)
            sched_yield();
        if (signalled)
            raise(SIGUSR1);
        assert_ok(fixture_submit(work.device, NULL, NULL, 0, gate, 1));
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(ending.status, HAL_OK);
        unsetenv("HAL_DEVICE_PROFILING_WAIT");
        if (ways[i] == hal_device_profiling_flush)
            assert_ok(hal_device_profiling_end(work.device));
        hal_semaphore_release(gate);
        end(&work);
        signal(SIGUSR1, SIG_DFL);
        unlink(path);
        unlink(second);
    }
}

static void *run_beside(void *device)
{
    struct work work;
    begin_on(&work, device);
    run_until_replaced(&work, CHECKPOINTS);
    end_on(&work);
    return NULL;
}

/* Objects come and go, and work is in flight, while checkpoints are made. (Threads that write to
 * mapped memory beside each other's submissions are what ThreadSanitizer calls a race.) */
TEST(several_threads_are_recorded)
{
    enum { THREADS = 3 };
    pthread_t threads[THREADS];
    struct hal_device *device = fixture_device("cpu?threads=2&queues=2");
    record_last(device);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_beside, device), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);
    assert_replays(path);
}

TEST(it_is_written_out_on_demand)
{
    struct work work;
    begin(&work, "cpu?threads=1");
    record_last(work.device);
    run_until_replaced(&work, 1);
    const uint64_t first_end = work.steps - 1;
    assert_ok(hal_device_profiling_flush(work.device));
    assert_holds_the_end(path, first_end, false);
    for (int i = 0; i < 5; i++)
        step(&work);
    const uint64_t second_end = work.steps - 1;
    assert_ok(hal_device_profiling_end(work.device));
    end(&work);
    assert_holds_the_end(path, first_end, false);
    assert_true(assert_holds_the_end(second, second_end, false) > first_end);
    assert_replays(path);
    assert_replays(second);
}

/* The child tells how far it is; what it had done by then must be there. */
TEST(nothing_is_lost_when_the_process_is_killed)
{
    int ends[2];
    uint64_t told = 0;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = test_fork();
    if (child == 0) {
        struct work work;
        setenv("HAL_DEVICE_PROFILING_SIDECAR", folder.path, 1); /* gone with it, whatever fails */
        begin(&work, "cpu?threads=1");
        record_last(work.device);
        for (;;) {
            step(&work);
            if (work.replaced >= CHECKPOINTS &&
                write(ends[1], &work.steps, sizeof work.steps) != (ssize_t)sizeof work.steps)
                _exit(1);
        }
    }
    for (int i = 0; i < 20; i++)
        assert_int_equal(read(ends[0], &told, sizeof told), sizeof told);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    while (close(ends[1]), read(ends[0], &told, sizeof told) == (ssize_t)sizeof told)
        continue;
    close(ends[0]);
    struct trace_recovered recovered;
    assert_ok(trace_recover(&(struct trace_recover_options){.path = path}, &recovered));
    struct captured captured;
    captured_open_incomplete(&captured, path);
    const size_t count = captured_count(&captured, TRACE_SUBMIT);
    const struct trace_submit *last = captured_find(&captured, TRACE_SUBMIT, count - 1);
    assert_true(last->submission + 1 >= told);
    assert_true(trace_reader_header(captured.reader)->late_start);
    captured_close(&captured);
    assert_replays(path);
}

/* ---- Checkpoints that do not end ---------------------------------------------------------- */

/* What only the device sees is copied for a checkpoint, after all objects were recorded. */
static struct hal_buffer *unseen_buffer(struct hal_device *device)
{
    struct hal_buffer *buffer;
    const struct hal_buffer_desc desc = {
        .label = "unseen", .bytes = BYTES, .memory = HAL_MEMORY_DEVICE_LOCAL};
    assert_ok(hal_buffer_create(device, &desc, &buffer));
    return buffer;
}

static void count_lines(void *user, enum hal_log_level level, const char *text)
{
    (void)level;
    *(unsigned *)user += strstr(text, "the file size limit is") != NULL;
}

/* The copies' memory is more than the process may have: the recording goes on as it was. */
TEST(a_checkpoint_without_memory_changes_nothing)
{
    int status;
    const pid_t child = test_fork();
    if (child == 0) {
        struct work work;
        unsigned warnings = 0;
        const struct rlimit limit = {8 << 20, RLIM_INFINITY};
        hal_log_set_sink(count_lines, &warnings);
        begin(&work, "cpu?threads=1");
        struct hal_buffer *unseen = unseen_buffer(work.device);
        record_last(work.device);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        while (warnings == 0)
            step(&work);
        for (int i = 0; i < 20; i++)
            step(&work);
        assert_ok(hal_device_profiling_end(work.device));
        hal_buffer_release(unseen);
        end(&work);
        assert_int_equal(assert_holds_the_end(path, work.steps - 1, false), 0);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_replays(path);
}

#ifdef __linux__
static unsigned copies_until_killed; /* 0: as many as there are */

/* Instead of the C library's: the process is killed as a checkpoint creates memory for copies. */
__attribute__((visibility("default"))) int memfd_create(const char *name, unsigned flags)
{
    if (copies_until_killed && --copies_until_killed == 0)
        raise(SIGKILL);
    return (int)syscall(SYS_memfd_create, name, flags);
}

/* Killed while the next file begins: the file with the name is recovered as it was before. The
 * first checkpoint has no file that would replace it. */
TEST(a_process_killed_in_a_checkpoint_leaves_the_file_before_it)
{
    for (unsigned checkpoint = 1; checkpoint <= CHECKPOINTS; checkpoint++) {
        struct trace_recovered recovered;
        int status;
        const pid_t child = test_fork();
        if (child == 0) {
            struct work work;
            setenv("HAL_DEVICE_PROFILING_SIDECAR", folder.path, 1);
            begin(&work, "cpu?threads=1");
            unseen_buffer(work.device);
            record_last(work.device);
            copies_until_killed = checkpoint;
            for (;;)
                step(&work);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        assert_ok(trace_recover(&(struct trace_recover_options){.path = path}, &recovered));
        assert_replays(path);
        remove_traces(NULL);
    }
}
#endif

TEST(wrong_times_are_refused)
{
    static const char *const wrong[] = {
        "0", "9ms", "25h", "5x", "-1s", "s", "1,5s", "5s ", "99999999999999999999s"};
    struct hal_device *device;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("HAL_DEVICE_PROFILING_LAST", wrong[i], 1);
        assert_fails(hal_device_open("cpu", &device), HAL_INVALID,
                     "HAL_DEVICE_PROFILING_LAST must be a time from 10ms to 24h");
    }
    setenv("HAL_DEVICE_PROFILING_LAST", "5s", 1);
    setenv("HAL_DEVICE_PROFILING_WINDOW", "#s1", 1);
    assert_fails(hal_device_open("cpu", &device), HAL_INVALID, "one window");
    unsetenv("HAL_DEVICE_PROFILING_WINDOW");
    unsetenv("HAL_DEVICE_PROFILING_LAST");
    device = fixture_device("cpu?threads=1");
    const struct hal_profiling_options options = {.file = path, .last_ns = -1};
    assert_fails(hal_device_profiling_begin(device, &options, HAL_FOREVER), HAL_INVALID,
                 "from 10 ms to 24 h, not -1 ns");
    hal_device_release(device);
}

TEST_FIXTURE(NULL, remove_traces);
TEST_SUITE_FIXTURE(make_folder, remove_folder);
