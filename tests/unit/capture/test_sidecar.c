/* SPDX-License-Identifier: Apache-2.0 */
/* capture/stream/sidecar.c: what happens when the file system that the sidecar lies on is really
 * full. The mappings are of memory that was reserved, so the program gets no signal: recording
 * ends, with the reason. Skipped where no file system may be mounted. */
#include "capture/stream/threads.h"

#include "hal/base/log.h"
#include "tests/support/hal_fixture.h"
#include "tests/support/trace_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { NOT_POSSIBLE = 77, MIB = 1 << 20, PIECE = 1 << 10, THREADS = 8 };

static char small[PATH_MAX]; /* where it is mounted */

/* A file system of 4 MiB that only this process sees. */
static void mount_small(void)
{
    test_folder_file(&folder, "small", small);
    if (mkdir(small, 0700) != 0 || unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("small", small, "tmpfs", 0, "size=4m") != 0)
        _exit(NOT_POSSIBLE);
}

static void fill_up(void)
{
    static const char zeros[4096];
    char rest[PATH_MAX];
    test_folder_file(&folder, "small/rest", rest);
    const int descriptor = open(rest, O_WRONLY | O_CREAT, 0600);
    assert_true(descriptor >= 0);
    while (write(descriptor, zeros, sizeof zeros) > 0)
        continue;
    assert_int_equal(errno, ENOSPC);
    close(descriptor);
}

static void ignore_lines(void *user, enum hal_log_level level, const char *text)
{
    (void)user;
    (void)level;
    (void)text;
}

static void open_stream(struct capture_stream *stream)
{
    const struct trace_header header = {.writer = "test", .program = "test", .mode = "queue"};
    const struct capture_stream_options options = {.destination = path,
                                                   .sidecar_folder = small,
                                                   .start_ns = hal_clock_ns(),
                                                   .staging_bytes = MIB,
                                                   .ring_bytes = MIB};
    struct trace_writer *writer;
    hal_log_set_sink(ignore_lines, NULL);
    assert_ok(capture_stream_open(stream, &options));
    assert_ok(trace_writer_open(&(struct trace_writer_options){.path = path}, &header, &writer));
    assert_ok(capture_stream_start(stream, writer));
}

static bool record(struct capture_stream *stream)
{
    struct capture_thread *thread = capture_enter(stream);
    struct trace_semaphore_event *event = thread ? capture_reserve(thread, sizeof *event) : NULL;
    if (!event)
        return false;
    *event = (struct trace_semaphore_event){.head = {.kind = TRACE_SEMAPHORE_SIGNAL,
                                                     .bytes = sizeof *event,
                                                     .ticket = capture_ticket(stream)}};
    capture_publish(thread, sizeof *event);
    return true;
}

static void assert_ended(struct capture_stream *stream)
{
    assert_false(record(stream));
    assert_fails(capture_stream_close(stream), HAL_NO_MEMORY, "No space left on device");
}

/* ---- What a process does there ---- */

/* Half of the staging: nothing has to wait for the writer. */
static void stage_contents(void)
{
    static const uint8_t data[PIECE] = {1};
    struct capture_stream stream;
    uint64_t position;
    size_t staged = 0;
    open_stream(&stream);
    struct capture_thread *thread = capture_enter(&stream);
    fill_up();
    while (staged < MIB / 2 && capture_stage(thread, data, PIECE, &position))
        staged += PIECE;
    assert_true(staged < MIB / 2);
    assert_ended(&stream);
}

struct crowd {
    struct capture_stream *stream;
    pthread_barrier_t all;
    _Atomic unsigned recorded;
};

/* Threads that have exited leave their rings to others: these stay until each has tried. */
static void *record_once(void *argument)
{
    struct crowd *crowd = argument;
    crowd->recorded += record(crowd->stream);
    pthread_barrier_wait(&crowd->all);
    return NULL;
}

static void record_on_many_threads(void)
{
    struct capture_stream stream;
    struct crowd crowd = {.stream = &stream};
    pthread_t threads[THREADS];
    open_stream(&stream);
    fill_up();
    pthread_barrier_init(&crowd.all, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, record_once, &crowd), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_in_range(crowd.recorded, 1, THREADS - 1); /* a few rings are reserved in advance */
    assert_ended(&stream);
}

/* ---- Tests ---- */

static void run_where_it_is_full(void (*work)(void))
{
    int status;
    const pid_t child = fork();
    if (child == 0) {
        mount_small();
        work();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        fail_msg("ended by signal %d", WTERMSIG(status));
    if (WEXITSTATUS(status) == NOT_POSSIBLE)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int remove_small(void **state)
{
    rmdir(small[0] ? small : test_folder_file(&folder, "small", small));
    return remove_trace(state);
}

TEST(contents_without_room_end_the_recording)
{
    run_where_it_is_full(stage_contents);
}

TEST(threads_without_room_end_the_recording)
{
    run_where_it_is_full(record_on_many_threads);
}

TEST_FIXTURE(NULL, remove_small);
TEST_SUITE_FIXTURE(make_trace_folder, remove_folder);
