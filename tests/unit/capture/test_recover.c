/* SPDX-License-Identifier: Apache-2.0 */
/* format/file/recover.c and orphan.c, with a capture that is really killed: nothing of what a
 * program had done is lost, however it ends. */
#include "format/file/recover.h"

#include "format/file/sidecar.h"
#include "tests/support/captured.h"
#include "tests/support/hal_fixture.h"
#include "tests/support/mortal.h"
#include "tests/support/trace_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

enum { MOST_THREADS = 4, TELLS = 2 };

static int set_up(void **state)
{
    if (make_trace_folder(state) != 0)
        return -1;
    setenv("HAL_DEVICE_PROFILING_SIDECAR", TRACE_SIDECAR_FOLDER, 1);
    return 0;
}

/* ---- What captures leave ---- */

static pid_t running; /* the program, until finish() has waited for it */

static void discard_ours(void *user, const struct trace_sidecar_info *info)
{
    unsigned *count = user;
    if (strcmp(info->destination, path) == 0 && unlink(info->path) == 0)
        ++*count;
}

static unsigned discard_sidecars(void)
{
    unsigned count = 0;
    if (trace_sidecars_each(TRACE_SIDECAR_FOLDER, discard_ours, &count) != HAL_OK)
        print_message("%s\n", hal_message());
    return count;
}

/* Each sidecar takes a dozen MB of memory that no process has: none stays, also of a test that
 * failed, or ended in between. */
static int leave_nothing(void **state)
{
    if (running && kill(running, SIGKILL) == 0)
        (void)waitpid(running, NULL, 0);
    running = 0;
    (void)discard_sidecars();
    return remove_trace(state);
}

static int tear_down(void **state)
{
    const unsigned left = discard_sidecars();
    if (left)
        print_message("%u sidecars were left\n", left);
    (void)remove_folder(state);
    return left ? -1 : 0;
}

/* ---- The program ---- */

struct busy {
    pid_t process;
    int told; /* the pipe's end */
    uint32_t rounds[MOST_THREADS];
};

static void start(struct busy *busy, const char *threads, const char *end, const char *after,
                  void (*prepare)(void))
{
    int ends[2];
    memset(busy, 0, sizeof *busy);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    busy->process = test_fork();
    assert_true(busy->process >= 0);
    if (busy->process == 0) {
        const int quiet = open("/dev/null", O_WRONLY);
        if (dup2(ends[1], 3) < 0 || (ends[1] == 3 && fcntl(3, F_SETFD, 0) != 0) ||
            dup2(quiet, STDERR_FILENO) < 0)
            _exit(99);
        setenv("HAL_DEVICE_PROFILING_FILE", path, 1);
        setenv("HAL_DEVICE_PROFILING_FORCE", "true", 1);
        if (prepare)
            prepare();
        execl(BUSY_APP, "busy_app", threads, end, after, (char *)NULL);
        _exit(98);
    }
    running = busy->process;
    close(ends[1]);
    busy->told = ends[0];
}

/* One more thing that the program tells; false when it has ended. */
static bool hear(struct busy *busy)
{
    uint32_t words[TELLS];
    ssize_t got;
    do
        got = read(busy->told, words, sizeof words);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof words)
        return false;
    assert_true(words[0] < MOST_THREADS);
    assert_int_equal(words[1], busy->rounds[words[0]] + 1);
    busy->rounds[words[0]] = words[1];
    return true;
}

static int finish(struct busy *busy)
{
    int status;
    while (hear(busy))
        continue;
    close(busy->told);
    assert_int_equal(waitpid(busy->process, &status, 0), busy->process);
    running = 0;
    return status;
}

/* ---- The trace ---- */

struct found {
    uint32_t rounds[MOST_THREADS]; /* that follow each other without a gap */
};

static void find_writes(const struct captured *captured, struct found *out_found)
{
    *out_found = (struct found){0};
    for (size_t i = 0; i < captured->count; i++) {
        const struct trace_content_event *write = (const void *)captured->events[i].event;
        if (write->head.kind != TRACE_HOST_WRITE || write->flags)
            continue;
        uint8_t *bytes = captured_bytes(captured, write);
        uint32_t words[TELLS];
        memcpy(words, bytes, sizeof words);
        assert_true(words[0] < MOST_THREADS);
        assert_int_equal(words[1], out_found->rounds[words[0]] + 1);
        assert_int_equal(((const uint32_t *)(const void *)bytes)[2 + words[1] % 1022], words[1]);
        out_found->rounds[words[0]] = words[1];
        free(bytes);
    }
}

static size_t count_seals(const struct captured *captured)
{
    size_t count = 0;
    for (size_t i = 0; i < captured->count; i++) {
        if (captured->events[i].event->kind != TRACE_COMMAND_BUFFER_SEAL)
            continue;
        const struct trace_command_buffer_seal *seal = (const void *)captured->events[i].event;
        assert_true(seal->segment_count == 7 || seal->segment_count == 10001);
        count++;
    }
    return count;
}

/* Everything that the program told of is there. */
static void check_nothing_is_lost(const struct busy *busy)
{
    struct captured captured;
    struct found found;
    size_t rounds = 0;
    captured_open_incomplete(&captured, path);
    assert_string_equal(trace_reader_truncated(captured.reader), "");
    find_writes(&captured, &found);
    for (size_t i = 0; i < MOST_THREADS; i++) {
        if (found.rounds[i] < busy->rounds[i])
            fail_msg("thread %zu told of %u rounds, %u are there", i, busy->rounds[i],
                     found.rounds[i]);
        rounds += busy->rounds[i];
    }
    assert_true(rounds > 0);
    assert_true(captured_count(&captured, TRACE_SUBMIT) >= rounds);
    assert_true(captured_count(&captured, TRACE_SUBMISSION_DONE) >= rounds);
    assert_true(captured_count(&captured, TRACE_SEMAPHORE_WAIT) >= rounds);
    assert_true(captured_count(&captured, TRACE_HOST_READ) >= rounds);
    assert_true(captured_count(&captured, TRACE_SCOPE_END) >= rounds);
    assert_true(count_seals(&captured) >= rounds);
    captured_close(&captured);
}

static bool says_of_rest(const char *file, const char *part)
{
    struct trace_reader *reader;
    assert_ok(trace_reader_open(file, &reader));
    const bool says = strstr(trace_reader_truncated(reader), part) != NULL;
    if (!says)
        print_message("%s\n", trace_reader_truncated(reader));
    trace_reader_close(reader);
    return says;
}

static void check_health(bool recovered)
{
    struct trace_reader *reader;
    assert_ok(trace_reader_open(path, &reader));
    assert_non_null(trace_reader_health(reader));
    assert_int_equal(trace_reader_health(reader)->recovered, recovered);
    trace_reader_close(reader);
}

static void sidecar_of_trace(char out_path[PATH_MAX])
{
    struct trace_reader *reader;
    assert_ok(trace_reader_open(path, &reader));
    snprintf(out_path, PATH_MAX, "%s", trace_reader_header(reader)->sidecar);
    trace_reader_close(reader);
}

static enum hal_status recover(struct trace_recovered *recovered)
{
    return trace_recover(&(struct trace_recover_options){.path = path}, recovered);
}

static void recover_and_check(const struct busy *busy)
{
    struct trace_recovered recovered;
    char sidecar[PATH_MAX];
    sidecar_of_trace(sidecar);
    assert_int_equal(access(sidecar, F_OK), 0);
    assert_ok(recover(&recovered));
    print_message("told %u, %u, %u, %u; %llu events in the file, %llu in the sidecar\n",
                  busy->rounds[0], busy->rounds[1], busy->rounds[2], busy->rounds[3],
                  (unsigned long long)recovered.file_events,
                  (unsigned long long)recovered.sidecar_events);
    check_health(true);
    check_nothing_is_lost(busy);
    assert_int_not_equal(access(sidecar, F_OK), 0);
    assert_fails(recover(&recovered), HAL_NOT_FOUND, "nothing to recover");
}

/* Exit statuses of hal-replay: 0 the same; 5: not everything was comparable, because the process
 * ended inside a call. Nothing that it compares may differ. */
static void replay(void)
{
    int status;
    const pid_t process = fork();
    if (process == 0) {
        const int quiet = open("/dev/null", O_WRONLY);
        unsetenv("HAL_DEVICE_PROFILING_SIDECAR");
        if (dup2(quiet, STDOUT_FILENO) < 0)
            _exit(99);
        execl(HAL_REPLAY, "hal-replay", path, (char *)NULL);
        _exit(98);
    }
    assert_int_equal(waitpid(process, &status, 0), process);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 5)
        fail_msg("hal-replay: %d", WEXITSTATUS(status));
}

/* ---- Kills ---- */

enum { KILLS = 10, MOST_ROUNDS = 250, MOST_MORE_US = 3000 };
#ifdef __SANITIZE_THREAD__
enum { DAMAGES = 8 }; /* one thread reads them, and each large mapping costs a second */
#else
enum { DAMAGES = 40 };
#endif

/* Everything that it tells in that time. */
static void hear_for(struct busy *busy, int64_t ns)
{
    const int64_t end_ns = hal_clock_ns() + ns;
    for (int64_t left_ns; (left_ns = end_ns - hal_clock_ns()) > 0;) {
        const struct timespec left = {.tv_sec = left_ns / 1000000000,
                                      .tv_nsec = left_ns % 1000000000};
        struct pollfd told = {.fd = busy->told, .events = POLLIN};
        if (ppoll(&told, 1, &left, NULL) > 0)
            assert_true(hear(busy));
    }
}

static void kill_now(struct busy *busy)
{
    assert_int_equal(kill(busy->process, SIGKILL), 0);
    const int status = finish(busy);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void kill_at_random(uint64_t *random, const char *threads)
{
    struct busy busy;
    const uint32_t rounds = 1 + fixture_random(random) % MOST_ROUNDS;
    start(&busy, threads, "forever", "0", NULL);
    while (busy.rounds[0] < rounds)
        assert_true(hear(&busy));
    /* Anywhere in what it does: not only right behind what it tells. */
    hear_for(&busy, (int64_t)(fixture_random(random) % (MOST_MORE_US * 1000)));
    kill_now(&busy);
    recover_and_check(&busy);
    replay();
}

static void record_the_last(void)
{
    setenv("HAL_DEVICE_PROFILING_LAST", "20ms", 1);
}

/* Names beside the trace's: a file is left that was about to take it. */
static unsigned count_other_names(void)
{
    unsigned count = 0;
    DIR *listing = opendir(folder.path);
    assert_non_null(listing);
    for (const struct dirent *entry; (entry = readdir(listing));) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            strcmp(entry->d_name, strrchr(path, '/') + 1) != 0) {
            assert_int_equal(strncmp(entry->d_name, ".haltrace-", 10), 0);
            count++;
        }
    }
    closedir(listing);
    return count;
}

/* A flight recorder writes two files. Killed, it leaves the one with the name: with its sidecar, or
 * whole in the instant before the next one takes the name, whose own name stays in that instant. */
TEST(a_killed_flight_recorder_leaves_one_file)
{
    struct busy busy;
    struct trace_recovered recovered;
    uint64_t random = fixture_seed();
    unsigned others = UINT_MAX;
    for (int i = 0; i < 3; i++) {
        start(&busy, "1", "forever", "0", record_the_last);
        hear_for(&busy, 60000000 + (int64_t)(fixture_random(&random) % 40000000));
        while (busy.rounds[0] == 0)
            assert_true(hear(&busy));
        kill_now(&busy);
        const enum hal_status recovery = recover(&recovered);
        if (recovery == HAL_NOT_FOUND)
            assert_non_null(strstr(hal_message(), "is whole"));
        else
            assert_ok(recovery);
        others = others < count_other_names() ? others : count_other_names();
    }
    assert_int_equal(others, 0);
}

static void rewrite_sidecar(const char *sidecar, int64_t older_by_ns, bool has_successor)
{
    struct trace_sidecar_header *header;
    const int descriptor = open(sidecar, O_RDWR);
    assert_true(descriptor >= 0);
    header = mmap(NULL, sizeof *header, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    assert_true(header != MAP_FAILED);
    close(descriptor);
    const uint64_t file_bytes = header->durable_file_bytes[header->durable_index];
    if (has_successor) {
        header->successor.start_ns = header->start_ns;
        header->successor.skipped_tickets = header->skipped_tickets;
        header->successor.file_bytes = file_bytes;
        header->skipped_tickets = UINT64_MAX;
        header->durable_file_bytes[0] = header->durable_file_bytes[1] = 1;
    }
    header->start_ns -= older_by_ns;
    munmap(header, sizeof *header);
}

/* Killed right after a flight recorder's next file took the name: the sidecar still speaks of the
 * file before. */
TEST(a_file_that_has_just_taken_the_name_is_recovered)
{
    struct busy busy;
    struct trace_recovered recovered;
    char sidecar[PATH_MAX];
    for (int64_t older_by_ns = 0; older_by_ns < 2; older_by_ns++) {
        start(&busy, "2", "_exit", "40", NULL);
        finish(&busy);
        sidecar_of_trace(sidecar);
        rewrite_sidecar(sidecar, 1 + older_by_ns, false);
        assert_fails(recover(&recovered), HAL_INVALID, "another capture");
        rewrite_sidecar(sidecar, -1 - older_by_ns, false);
        rewrite_sidecar(sidecar, older_by_ns, true);
        recover_and_check(&busy);
        remove_trace(NULL);
    }
}

TEST(nothing_published_is_lost_to_kill_9)
{
    uint64_t random = fixture_seed();
    for (int i = 0; i < KILLS; i++)
        kill_at_random(&random, i % 2 ? "3" : "1");
}

/* ---- Other ends ---- */

TEST(an_end_without_a_farewell_is_recovered)
{
    static const char *const ends[] = {"abort", "segv", "_exit", "exec"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct busy busy;
        print_message("%s\n", ends[i]);
        start(&busy, i % 2 ? "1" : "2", ends[i], "70", NULL);
        finish(&busy);
        assert_true(busy.rounds[0] == 70);
        recover_and_check(&busy);
        replay();
    }
}

static int input[2];

static void read_input(void)
{
    if (dup2(input[0], STDIN_FILENO) < 0)
        _exit(97);
}

/* Runs until it has told of 20 rounds; the input is open. */
static void run_with_input(struct busy *busy, const char *end)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    input[0] = fcntl(ends[0], F_DUPFD_CLOEXEC, 10); /* 3 is what the program tells through */
    input[1] = ends[1];
    assert_true(input[0] >= 10);
    close(ends[0]);
    start(busy, "1", end, "20", read_input);
    close(input[0]);
    while (busy->rounds[0] < 20)
        assert_true(hear(busy));
}

/* The child has the sidecar's descriptor, with its lock. */
TEST(a_child_that_is_left_does_not_capture)
{
    struct busy busy;
    int status;
    run_with_input(&busy, "leave-child");
    assert_int_equal(waitpid(busy.process, &status, 0), busy.process);
    running = 0;
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    recover_and_check(&busy);
    close(input[1]);
    assert_false(hear(&busy));
    close(busy.told);
}

/* The process goes on as another program, which holds nothing of the capture. */
TEST(what_a_program_became_does_not_capture)
{
    static const int64_t most_ns = 30 * INT64_C(1000000000);
    struct busy busy;
    struct trace_recovered recovered;
    enum hal_status status;
    run_with_input(&busy, "become-cat");
    const int64_t end_ns = hal_clock_ns() + most_ns;
    do /* until it has become the other one */
        status = recover(&recovered);
    while (status == HAL_EXISTS && hal_clock_ns() < end_ns);
    assert_ok(status);
    assert_int_equal(kill(busy.process, 0), 0);
    close(input[1]);
    assert_int_equal(finish(&busy), 0);
    check_health(true);
    check_nothing_is_lost(&busy);
}

TEST(a_forked_child_leaves_the_parents_trace_alone)
{
    struct busy busy;
    struct trace_recovered recovered;
    start(&busy, "1", "fork", "20", NULL);
    assert_int_equal(finish(&busy), 0);
    assert_int_equal(busy.rounds[0], 30);
    check_health(false);
    check_nothing_is_lost(&busy);
    assert_fails(recover(&recovered), HAL_NOT_FOUND, "nothing to recover");
}

TEST(a_good_end_leaves_no_sidecar)
{
    struct busy busy;
    char sidecar[PATH_MAX];
    start(&busy, "1", "exit", "20", NULL);
    assert_int_equal(finish(&busy), 0);
    check_health(false);
    check_nothing_is_lost(&busy);
    sidecar_of_trace(sidecar);
    assert_true(strncmp(sidecar, TRACE_SIDECAR_FOLDER, strlen(TRACE_SIDECAR_FOLDER)) == 0);
    assert_int_not_equal(access(sidecar, F_OK), 0);
}

/* ---- Limits ---- */

static void limit_files(void)
{
    const struct rlimit limit = {4 << 20, 4 << 20};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        _exit(97);
}

static void limit_files_more(void)
{
    const struct rlimit limit = {40 << 20, 40 << 20};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        _exit(97);
}

static void limit_space(void)
{
    const struct rlimit limit = {1ull << 30, 1ull << 30};
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        _exit(97);
}

/* 805 MB by default: with less it makes do. */
TEST(limits_shrink_the_sidecar)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    enum { LIMITS = 1 }; /* sanitizers need more address space than there is */
#else
    enum { LIMITS = 2 };
#endif
    void (*const limits[])(void) = {limit_files_more, limit_space};
    for (size_t i = 0; i < LIMITS; i++) {
        struct busy busy;
        start(&busy, "1", "exit", "50", limits[i]);
        assert_int_equal(finish(&busy), 0);
        check_health(false);
        check_nothing_is_lost(&busy);
    }
}

/* Too small for any sidecar: the device works and is not captured, and that is all. */
TEST(the_smallest_limit_is_no_signal)
{
    struct busy busy;
    start(&busy, "1", "exit", "20", limit_files);
    assert_int_equal(finish(&busy), 0);
}

/* Gives the first string of the ring that the file has not got another number. */
static bool renumber_string(uint8_t *memory, const struct trace_ring_slot *slot,
                            const struct trace_ring_durable *durable)
{
    assert_true(slot->head <= slot->bytes); /* it has not come round */
    for (uint64_t at = durable->position + durable->segment_bytes; at < slot->head;) {
        struct trace_event *event = (void *)(memory + slot->offset + at);
        const struct trace_command_buffer_seal *seal = (const void *)event;
        if (event->kind == TRACE_STRING) {
            ((struct trace_string *)(void *)event)->id = 1000000;
            return true;
        }
        at += event->bytes + (event->kind == TRACE_COMMAND_BUFFER_SEAL ? seal->segment_bytes : 0);
    }
    return false;
}

/* As if it had not been published yet. False: the file has all strings already. */
static bool undefine_a_string(const char *sidecar)
{
    struct stat info;
    bool found = false;
    const int descriptor = open(sidecar, O_RDWR);
    assert_true(descriptor >= 0 && fstat(descriptor, &info) == 0);
    uint8_t *memory =
        mmap(NULL, (size_t)info.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    assert_true(memory != MAP_FAILED);
    close(descriptor);
    const struct trace_sidecar_header *header = (const void *)memory;
    for (uint32_t i = 0; i < header->slot_count && !found; i++) {
        const struct trace_ring_slot *slot = &header->slots[i];
        if (slot->state == TRACE_RING_LIVE)
            found = renumber_string(memory, slot, &slot->durable[header->durable_index]);
    }
    munmap(memory, (size_t)info.st_size);
    return found;
}

static void fill_the_disk_with(const char *bytes)
{
    setenv("FULL_DISK_BYTES", bytes, 1);
    setenv("LD_PRELOAD", FULL_DISK, 1);
    setenv("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0", 1);
}

/* The beginning fits, and hardly more: what comes then stays in the sidecar. */
static void fill_the_disk_at_once(void)
{
    fill_the_disk_with("3000");
}

/* Each round has a name of its own, which one scope has. */
TEST(what_was_never_defined_is_called_lost)
{
    struct captured captured;
    struct trace_recovered recovered;
    char sidecar[PATH_MAX];
    unsigned lost = 0, tries = 0;
    do {
        struct busy busy;
        start(&busy, "1", "_exit", "20", fill_the_disk_at_once);
        finish(&busy);
        sidecar_of_trace(sidecar);
        assert_true(tries++ < 10);
    } while (!undefine_a_string(sidecar));
    assert_ok(recover(&recovered));
    captured_open_incomplete(&captured, path); /* reads all, and refuses what is not defined */
    for (size_t i = 0; i < captured_count(&captured, TRACE_SCOPE_BEGIN); i++) {
        const struct trace_scope *scope = captured_find(&captured, TRACE_SCOPE_BEGIN, i);
        lost += strcmp(captured_string(&captured, scope->name), "(lost)") == 0;
    }
    captured_close(&captured);
    assert_int_equal(lost, 1);
}

/* ---- A full disk ---- */

static void fill_the_disk(void)
{
    fill_the_disk_with("50000");
}

/* What was published while the disk was full goes on where the file ends, and the rest is said to
 * be missing, with the reason. */
TEST(what_the_disk_had_no_room_for_is_recovered)
{
    struct busy busy;
    struct captured captured;
    struct found found;
    struct trace_recovered recovered;
    start(&busy, "1", "exit", "2000", fill_the_disk);
    assert_int_equal(finish(&busy), 0);
    assert_int_equal(busy.rounds[0], 2000);
    assert_ok(recover(&recovered));
    captured_open_incomplete(&captured, path);
    find_writes(&captured, &found);
    const struct trace_health *health = trace_reader_health(captured.reader);
    print_message("%u rounds, %llu events in the file, %llu in the sidecar, %llu records lost\n",
                  found.rounds[0], (unsigned long long)recovered.file_events,
                  (unsigned long long)recovered.sidecar_events,
                  (unsigned long long)health->lost_records);
    assert_true(recovered.file_events > 0);
    assert_true(recovered.sidecar_events > 0);
    if (found.rounds[0] < busy.rounds[0]) {
        assert_true(health->lost_records > 0);
        assert_non_null(strstr(health->message, "No space left on device"));
    }
    captured_close(&captured);
}

/* ---- Limits that are stated ---- */

TEST(contents_wait_in_256_mib)
{
    struct busy busy;
    struct statvfs room;
    char sidecar[PATH_MAX];
    struct trace_sidecar_header header;
    start(&busy, "1", "_exit", "20", NULL);
    finish(&busy);
    sidecar_of_trace(sidecar);
    const int descriptor = open(sidecar, O_RDONLY);
    assert_int_equal(pread(descriptor, &header, sizeof header, 0), sizeof header);
    close(descriptor);
    assert_int_equal(statvfs(TRACE_SIDECAR_FOLDER, &room), 0);
    assert_true(header.staging_bytes <= 256u << 20);
    if (room.f_bavail * room.f_frsize > 1u << 30) /* where there is less, so is it */
        assert_int_equal(header.staging_bytes, 256u << 20);
    recover_and_check(&busy);
}

/* ---- Refusals ---- */

/* Written by another program, say, and cut off. */
TEST(a_file_without_a_sidecar_has_nothing_to_recover)
{
    static const struct trace_header header = {.program = "x"};
    struct trace_recovered recovered;
    struct trace_writer *writer;
    assert_ok(trace_writer_open(&(struct trace_writer_options){.path = path}, &header, &writer));
    assert_ok(trace_writer_flush(writer));
    trace_writer_discard(writer);
    assert_fails(recover(&recovered), HAL_NOT_FOUND, "names no sidecar");
    assert_int_equal(access(path, F_OK), 0);
}

TEST(a_capture_that_goes_on_is_left_alone)
{
    struct busy busy;
    struct trace_recovered recovered;
    start(&busy, "1", "forever", "0", NULL);
    while (busy.rounds[0] < 5)
        assert_true(hear(&busy));
    assert_fails(recover(&recovered), HAL_EXISTS, "is still capturing");
    char expected[64];
    snprintf(expected, sizeof expected, "still being recorded by process %ld", (long)busy.process);
    assert_true(says_of_rest(path, expected));
    assert_int_equal(kill(busy.process, SIGKILL), 0);
    finish(&busy);
    assert_true(says_of_rest(path, "; 'hal-trace recover' has the rest"));
    recover_and_check(&busy);
}

/* The exit status of hal-trace recover with these arguments; what it says, up to the limit. */
static int run_recover(const char *option, const char *file, char *out, size_t bytes)
{
    char command[3 * PATH_MAX];
    snprintf(command, sizeof command, "'%s' recover %s '%s' 2>&1", HAL_TRACE, option, file);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    out[fread(out, 1, bytes - 1, pipe)] = '\0';
    const int status = pclose(pipe);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Whether the list has the sidecar as one whose process runs. */
static bool is_listed_as_running(const char *sidecar)
{
    static char output[1 << 20]; /* others' sidecars may lie there, too */
    assert_int_equal(run_recover("--list", TRACE_SIDECAR_FOLDER, output, sizeof output), 0);
    const char *line = strstr(output, sidecar);
    assert_non_null(line);
    const char *end = strchr(line, '\n'), *runs = strstr(line, ", which runs");
    assert_non_null(end);
    return runs && runs < end;
}

/* Lists tell who runs, whose sidecar is not thrown away; and a sidecar's name will do. */
TEST(sidecars_are_known_by_their_names)
{
    struct busy busy;
    char sidecar[PATH_MAX], output[1024];
    start(&busy, "1", "forever", "0", NULL);
    while (busy.rounds[0] < 5)
        assert_true(hear(&busy));
    sidecar_of_trace(sidecar);
    assert_true(is_listed_as_running(sidecar));
    assert_int_equal(run_recover("--discard", sidecar, output, sizeof output), 3);
    assert_non_null(strstr(output, "is still capturing"));
    assert_int_equal(access(sidecar, F_OK), 0);
    kill_now(&busy);
    assert_false(is_listed_as_running(sidecar));
    assert_int_equal(run_recover("", sidecar, output, sizeof output), 0);
    assert_non_null(strstr(output, path));
    check_health(true);
    check_nothing_is_lost(&busy);
}

static void copy_file(const char *from, const char *to)
{
    char command[3 * PATH_MAX];
    snprintf(command, sizeof command, "cp --sparse=always '%s' '%s'", from, to);
    assert_int_equal(system(command), 0);
}

/* A trace that was whole once and was cut off later: there is nothing that could complete it, also
 * where a process of the same number has left a sidecar of that name. */
TEST(what_a_broken_copy_lacks_is_nowhere)
{
    struct busy busy;
    struct stat info;
    struct trace_recovered recovered;
    char sidecar[PATH_MAX], others[PATH_MAX], broken[PATH_MAX];
    const struct trace_recover_options options = {.path = broken};
    start(&busy, "1", "exit", "20", NULL);
    assert_int_equal(finish(&busy), 0);
    assert_fails(recover(&recovered), HAL_NOT_FOUND, "hal-trace verify checks the contents");
    sidecar_of_trace(sidecar);
    test_folder_file(&folder, "broken.pb.zst", broken);
    assert_int_equal(rename(path, broken), 0);
    assert_int_equal(stat(broken, &info), 0);
    assert_int_equal(truncate(broken, info.st_size * 9 / 10), 0);
    assert_fails(trace_recover(&options, &recovered), HAL_NOT_FOUND, "copy it again");

    start(&busy, "1", "_exit", "5", NULL);
    finish(&busy);
    sidecar_of_trace(others);
    copy_file(others, sidecar);
    assert_fails(trace_recover(&options, &recovered), HAL_INVALID, "copy it again");
    assert_true(says_of_rest(broken, "cut off at byte"));
    assert_false(says_of_rest(broken, "recover"));
    assert_int_equal(unlink(sidecar), 0);
    assert_int_equal(unlink(broken), 0);
}

static void flip_bytes(const char *file, uint64_t *random, unsigned count)
{
    const int descriptor = open(file, O_RDWR);
    struct stat info;
    assert_true(descriptor >= 0 && fstat(descriptor, &info) == 0);
    for (unsigned i = 0; i < count; i++) {
        /* Where rings are described, where records lie, anywhere. */
        const uint64_t ends[] = {sizeof(struct trace_sidecar_header), (uint64_t)info.st_size, 8192};
        const off_t at = (off_t)((uint64_t)fixture_random(random) << 8 ^ fixture_random(random)) %
                         (off_t)ends[i % 3];
        const uint8_t byte = (uint8_t)fixture_random(random);
        assert_int_equal(pwrite(descriptor, &byte, 1, at), 1);
    }
    close(descriptor);
}

/* Whatever it says: no crash, no hang, and an error leaves the trace as it was. */
TEST(a_damaged_sidecar_harms_nothing)
{
    struct busy busy;
    struct trace_recovered recovered;
    char sidecar[PATH_MAX], damaged[PATH_MAX], output[PATH_MAX];
    uint64_t random = fixture_seed();
    unsigned refused = 0;
    start(&busy, "2", "_exit", "40", NULL);
    finish(&busy);
    sidecar_of_trace(sidecar);
    test_folder_file(&folder, "damaged", damaged);
    test_folder_file(&folder, "output.pb.zst", output);
    for (unsigned i = 0; i < DAMAGES; i++) {
        copy_file(sidecar, damaged);
        flip_bytes(damaged, &random, 1 + i * (160 / DAMAGES));
        const struct trace_recover_options options = {
            .path = path, .sidecar = damaged, .output = output};
        if (trace_recover(&options, &recovered) == HAL_OK) {
            struct trace_reader *reader;
            assert_ok(trace_reader_open(output, &reader));
            trace_reader_close(reader);
            assert_int_equal(unlink(output), 0);
        } else {
            assert_int_not_equal(access(output, F_OK), 0);
            refused++;
        }
    }
    print_message("%u of %d damaged sidecars were refused\n", refused, DAMAGES);
    assert_true(refused > 0);
    recover_and_check(&busy);
}

/* Of the stack of the first event after the tables. */
static uint64_t place_of_stack(int descriptor, const struct trace_sidecar_header *header)
{
    const struct trace_ring_slot *slot = header->slots;
    while (slot->state != TRACE_RING_LIVE || slot->head == slot->durable[0].position)
        slot++;
    for (uint64_t at = slot->offset + slot->durable[header->durable_index].position;;) {
        struct trace_event event;
        assert_int_equal(pread(descriptor, &event, sizeof event, (off_t)at), sizeof event);
        if (!trace_is_table(&event))
            return at + offsetof(struct trace_event, stack);
        at += event.bytes;
    }
}

/* A place in the published records. */
static uint64_t random_place(const struct trace_sidecar_header *header, uint64_t *random)
{
    for (;;) {
        const struct trace_ring_slot *slot = &header->slots[fixture_random(random) % 8];
        const uint64_t from = slot->durable[header->durable_index].position;
        if (slot->state == TRACE_RING_LIVE && slot->head > from)
            return slot->offset + from + (fixture_random(random) % (slot->head - from) & ~3ull);
    }
}

/* NULL: of a stack. */
static void change_word(const char *file, uint64_t *random)
{
    static const uint32_t large = 0x706f6e6d; /* no number is as large */
    static struct trace_sidecar_header header;
    uint32_t word;
    const int descriptor = open(file, O_RDWR);
    assert_true(descriptor >= 0);
    assert_int_equal(pread(descriptor, &header, sizeof header, 0), sizeof header);
    const off_t at =
        (off_t)(random ? random_place(&header, random) : place_of_stack(descriptor, &header));
    assert_int_equal(pread(descriptor, &word, sizeof word, at), sizeof word);
    word = !random || fixture_random(random) % 4 ? large : word + 1;
    assert_int_equal(pwrite(descriptor, &word, sizeof word, at), sizeof word);
    close(descriptor);
}

/* A changed word can turn an object's id into another's, a contradiction that verify reports. */
static bool is_intact(const char *trace)
{
    char command[3 * PATH_MAX];
    snprintf(command, sizeof command,
             "'%s' verify --json '%s' 2>'%s.out' |"
             " grep -q '\"damaged_chunks\":0,\"damaged_contents\":0,.*\"truncated\":\"\"'",
             HAL_TRACE, trace, trace);
    return system(command) == 0;
}

static bool are_same(const char *a, const char *b)
{
    char command[3 * PATH_MAX];
    snprintf(command, sizeof command, "cmp -s '%s' '%s'", a, b);
    return system(command) == 0;
}

/* It recovers what can be read, or says that it cannot and keeps both. */
TEST(a_changed_word_makes_no_damaged_trace)
{
    enum { CHANGES = 120 };
    struct busy busy;
    char sidecar[PATH_MAX], damaged[PATH_MAX], copy[PATH_MAX], option[2 * PATH_MAX], output[1024];
    uint64_t random = fixture_seed();
    unsigned recovered = 0, told = 0;
    start(&busy, "1", "_exit", "40", fill_the_disk_at_once);
    finish(&busy);
    sidecar_of_trace(sidecar);
    test_folder_file(&folder, "damaged", damaged);
    test_folder_file(&folder, "copy.pb.zst", copy);
    snprintf(option, sizeof option, "-s '%s'", damaged);
    for (unsigned i = 0; i < CHANGES; i++) {
        copy_file(sidecar, damaged);
        copy_file(path, copy);
        change_word(damaged, i ? &random : NULL);
        if (run_recover(option, copy, output, sizeof output) == 0) {
            assert_true(is_intact(copy));
            recovered++;
            told += strstr(output, "the sidecar was damaged") != NULL;
        } else {
            assert_true(output[0]);
            assert_true(are_same(copy, path));
            assert_int_equal(access(damaged, F_OK), 0);
        }
    }
    print_message("%u of %d recovered, %u with a warning\n", recovered, CHANGES, told);
    assert_true(told > 0);
    assert_true(recovered < CHANGES);
    recover_and_check(&busy);
}

TEST_FIXTURE(NULL, leave_nothing);
TEST_SUITE_FIXTURE(set_up, tear_down);
