/* SPDX-License-Identifier: Apache-2.0 */
/* format/file/sidecars.c: sidecars by hand. Of those whose trace is gone for certain none stays,
 * and none goes of which anything could be recovered. */
#include "format/file/orphan.h"
#include "format/file/recover.h"
#include "format/trace.h"
#include "tests/support/folder.h"
#include "tests/support/hal_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static struct trace_sidecar_header header;
static struct test_folder folder; /* of one test */
static char sidecars[PATH_MAX], sidecar[PATH_MAX], output[PATH_MAX], trace[PATH_MAX];
static char other[PATH_MAX];

/* The number of a process that has ended. */
static uint64_t ended_process(void)
{
    const pid_t process = fork();
    if (process == 0)
        _exit(0);
    assert_int_equal(waitpid(process, NULL, 0), process);
    return (uint64_t)process;
}

static void write_sidecar(const char *at)
{
    FILE *file = fopen(at, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(&header, sizeof header, 1, file), 1);
    for (uint64_t i = 0; i < header.staging_bytes; i++)
        assert_int_equal(fputc(0, file), 0);
    assert_int_equal(fclose(file), 0);
}

static struct trace_writer *begin_trace(const char *at, uint64_t process_id, const char *named)
{
    const struct trace_header of_trace = {
        .program = "test", .process_id = process_id, .sidecar = named};
    const struct trace_writer_options options = {.path = at, .force = true};
    struct trace_writer *writer;
    assert_ok(trace_writer_open(&options, &of_trace, &writer));
    return writer;
}

/* With nothing in it, as a kill leaves it. */
static void write_trace(const char *at, uint64_t process_id)
{
    int status;
    const pid_t process = fork();
    if (process == 0)
        _exit(trace_writer_flush(begin_trace(at, process_id, sidecar)) != HAL_OK);
    assert_int_equal(waitpid(process, &status, 0), process);
    assert_int_equal(status, 0);
}

static void write_complete_trace(const char *at)
{
    assert_ok(trace_writer_close(begin_trace(at, header.process_id, sidecar), NULL));
}

/* As programs do that make a trace from another one. */
static void write_trace_anew(const char *at, const struct trace_health *health)
{
    assert_ok(trace_writer_close(begin_trace(at, header.process_id, ""), health));
}

/* "sidecars/haltrace-sidecar-0-1-2" of "out/trace", which is there. */
static int prepare(void **state)
{
    (void)state;
    assert_true(test_folder_make(&folder));
    test_folder_file(&folder, "sidecars", sidecars);
    test_folder_file(&folder, "out", output);
    assert_int_equal(mkdir(sidecars, 0700), 0);
    assert_int_equal(mkdir(output, 0700), 0);
    test_folder_file(&folder, "sidecars/" TRACE_SIDECAR_PREFIX "0-1-2", sidecar);
    test_folder_file(&folder, "out/trace", trace);
    test_folder_file(&folder, "other", other);
    memset(&header, 0, sizeof header);
    memcpy(header.magic, TRACE_SIDECAR_MAGIC, sizeof header.magic);
    header.version = TRACE_SIDECAR_VERSION;
    header.slot_count = TRACE_RING_SLOTS;
    header.process_id = ended_process();
    header.staging_offset = header.rings_offset = sizeof header;
    header.staging_bytes = 4096;
    memcpy(header.destination, trace, sizeof trace);
    write_trace(trace, header.process_id);
    trace_sidecar_locate(trace, &header.place);
    write_sidecar(sidecar);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

static void count_one(void *user, const struct trace_sidecar_info *info)
{
    assert_true(info->path[0]);
    ++*(unsigned *)user;
}

/* How many were removed. */
static unsigned discard(void)
{
    unsigned count = 0;
    assert_ok(trace_sidecars_discard_gone(sidecars, count_one, &count));
    return count;
}

static void assert_stays(void)
{
    assert_int_equal(discard(), 0);
    assert_int_equal(access(sidecar, F_OK), 0);
}

static void assert_goes(void)
{
    assert_int_equal(discard(), 1);
    assert_int_equal(access(sidecar, F_OK), -1);
}

static void remove_trace_and_folder(void)
{
    assert_int_equal(unlink(trace), 0);
    assert_int_equal(rmdir(output), 0);
}

/* ---- What is gone ---- */

TEST(of_a_removed_trace_goes)
{
    assert_stays();
    assert_int_equal(unlink(trace), 0);
    assert_goes();
}

TEST(of_a_removed_folder_goes)
{
    remove_trace_and_folder();
    assert_goes();
}

TEST(of_a_folder_made_anew_goes)
{
    remove_trace_and_folder();
    assert_int_equal(mkdir(output, 0700), 0);
    assert_goes();
}

/* Files get the numbers of others. */
TEST(of_a_trace_in_whose_place_another_is_goes)
{
    char another[PATH_MAX];
    assert_int_equal(unlink(trace), 0);
    write_trace(test_folder_file(&folder, "out/another", another), header.process_id + 1);
    trace_sidecar_locate(another, &header.place);
    write_sidecar(sidecar);
    assert_goes();
    write_sidecar(sidecar);
    FILE *file = fopen(another, "wb");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_goes();
}

/* By a later capture, with force. */
TEST(of_a_replaced_trace_goes_unless_it_was_renamed)
{
    char renamed[PATH_MAX];
    assert_int_equal(rename(trace, test_folder_file(&folder, "out/renamed", renamed)), 0);
    write_trace(trace, header.process_id + 1);
    assert_stays();
    assert_int_equal(unlink(renamed), 0);
    assert_goes();
}

/* As by hal-trace. */
TEST(of_a_trace_that_was_written_anew_stays)
{
    char renamed[PATH_MAX];
    assert_int_equal(rename(trace, test_folder_file(&folder, "out/renamed", renamed)), 0);
    write_trace(trace, header.process_id);
    assert_int_equal(unlink(renamed), 0);
    assert_stays();
    write_trace_anew(trace, NULL); /* what the sidecar has is not in it */
    assert_stays();
}

/* A full disk kept something out of it. */
TEST(of_a_trace_that_could_not_take_all_stays)
{
    write_complete_trace(trace);
    trace_sidecar_locate(trace, &header.place);
    header.stopped_by_file = 1;
    write_sidecar(sidecar);
    assert_stays();
}

TEST(of_a_trace_that_never_was_goes)
{
    assert_int_equal(unlink(trace), 0);
    trace_sidecar_locate(trace, &header.place);
    write_sidecar(sidecar);
    assert_goes();
}

/* The capture was killed when only the sidecar was left to remove. */
TEST(of_a_complete_trace_goes)
{
    char renamed[PATH_MAX];
    for (int i = 0; i < 2; i++) {
        write_complete_trace(trace);
        trace_sidecar_locate(trace, &header.place);
        write_sidecar(sidecar);
        if (i)
            assert_int_equal(rename(trace, test_folder_file(&folder, "out/renamed", renamed)), 0);
        assert_goes();
    }
}

/* The recovery was. */
TEST(of_a_recovered_trace_goes)
{
    write_trace_anew(trace, &(struct trace_health){.recovered = true});
    assert_goes();
}

TEST(of_a_complete_trace_goes_by_its_name)
{
    struct trace_recovered recovered;
    const struct trace_recover_options options = {.path = trace};
    write_complete_trace(trace);
    trace_sidecar_locate(trace, &header.place);
    write_sidecar(sidecar);
    assert_ok(trace_recover(&options, &recovered));
    assert_true(recovered.was_complete);
    assert_int_equal(access(sidecar, F_OK), -1);
    assert_fails(trace_recover(&options, &recovered), HAL_NOT_FOUND, "nothing to recover");
}

TEST(of_a_process_that_only_waits_to_be_reaped_goes)
{
#ifdef __linux__
    siginfo_t info;
    const pid_t process = fork();
    if (process == 0)
        _exit(0);
    assert_int_equal(waitid(P_PID, (id_t)process, &info, WEXITED | WNOWAIT), 0);
    header.process_id = (uint64_t)process;
    write_sidecar(sidecar);
    assert_int_equal(unlink(trace), 0);
    assert_goes();
    assert_int_equal(waitpid(process, NULL, 0), process);
#else
    skip();
#endif
}

/* Its process ended while it made it: its name alone says which that was. */
TEST(of_a_capture_that_never_began_goes)
{
    static const char *const names[] = {"haltrace-sidecar-0-%llu-0", ".haltrace-sidecar-0-%llu-12"};
    assert_int_equal(unlink(sidecar), 0);
    memset(header.magic, 0, sizeof header.magic);
    for (size_t i = 0; i < 2; i++) {
        char name[64], entry[128];
        snprintf(name, sizeof name, names[i], (unsigned long long)ended_process());
        snprintf(entry, sizeof entry, "sidecars/%s", name);
        test_folder_file(&folder, entry, sidecar);
        write_sidecar(sidecar);
        const int held = open(sidecar, O_RDWR | O_CLOEXEC);
        assert_int_equal(flock(held, LOCK_EX), 0);
        assert_stays();
        close(held);
        assert_goes();
        assert_int_equal(close(open(sidecar, O_WRONLY | O_CREAT, 0600)), 0); /* nor has any bytes */
        assert_int_equal(discard(), 1);
        snprintf(name, sizeof name, names[i], (unsigned long long)getpid());
        snprintf(entry, sizeof entry, "sidecars/%s", name);
        test_folder_file(&folder, entry, sidecar);
        write_sidecar(sidecar);
        assert_stays();
        assert_int_equal(unlink(sidecar), 0);
    }
}

/* ---- What may be recovered ---- */

TEST(of_a_link_to_nothing_stays)
{
    assert_int_equal(unlink(trace), 0);
    assert_int_equal(symlink("nowhere", trace), 0);
    assert_stays();
}

TEST(of_a_renamed_trace_stays_until_that_is_removed)
{
    char renamed[PATH_MAX];
    test_folder_file(&folder, "out/renamed", renamed);
    assert_int_equal(rename(trace, renamed), 0);
    assert_stays();
    assert_int_equal(unlink(renamed), 0);
    assert_goes();
}

TEST(of_a_renamed_folder_stays)
{
    assert_int_equal(rename(output, other), 0);
    assert_stays();
    assert_int_equal(mkdir(output, 0700), 0);
    assert_stays();
}

TEST(of_another_disk_stays)
{
    assert_int_equal(unlink(trace), 0);
    header.place.folder_device++;
    write_sidecar(sidecar);
    assert_stays();
    assert_int_equal(rmdir(output), 0);
    assert_stays();
}

TEST(of_other_mounts_goes_only_with_its_folder_in_sight)
{
    header.place.mounts++;
    write_sidecar(sidecar);
    remove_trace_and_folder();
    assert_stays();
    header.place.mounts = 0;
    write_sidecar(sidecar);
    assert_stays();
    assert_int_equal(mkdir(output, 0700), 0);
    trace_sidecar_locate(trace, &header.place);
    header.place.mounts++;
    write_sidecar(sidecar);
    assert_goes();
}

TEST(that_somebody_holds_stays)
{
    const int held = open(sidecar, O_RDWR | O_CLOEXEC);
    assert_true(held >= 0);
    assert_int_equal(unlink(trace), 0);
    assert_int_equal(flock(held, LOCK_SH), 0);
    assert_stays();
    close(held);
    assert_goes();
}

TEST(of_a_process_that_runs_stays)
{
    struct trace_recovered recovered;
    const struct trace_recover_options options = {.path = trace};
    header.process_id = (uint64_t)getpid();
    write_complete_trace(trace);
    trace_sidecar_locate(trace, &header.place);
    write_sidecar(sidecar);
    assert_stays();
    assert_fails(trace_recover(&options, &recovered), HAL_NOT_FOUND, "nothing to recover");
    assert_int_equal(access(sidecar, F_OK), 0);
    assert_int_equal(unlink(trace), 0);
    assert_stays();
}

#ifdef __linux__
static void *go_on(void *unused)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* the test may fail */
    for (;;)
        pause();
    return unused;
}

/* It looks like one that has ended. */
TEST(of_a_process_without_its_first_thread_stays)
{
    pthread_t thread;
    char name[64], text[512] = "";
    const pid_t process = fork();
    if (process == 0) {
        if (pthread_create(&thread, NULL, go_on, NULL) == 0)
            pthread_exit(NULL);
        _exit(1);
    }
    snprintf(name, sizeof name, "/proc/%ld/stat", (long)process);
    while (!strstr(text, ") Z")) {
        FILE *file = fopen(name, "r");
        assert_non_null(file);
        assert_non_null(fgets(text, sizeof text, file));
        fclose(file);
    }
    header.process_id = (uint64_t)process;
    write_sidecar(sidecar);
    assert_int_equal(unlink(trace), 0);
    assert_stays();
    assert_int_equal(kill(process, SIGKILL), 0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)process, &info, WEXITED | WNOWAIT), 0);
    assert_goes();
    assert_int_equal(waitpid(process, NULL, 0), process);
}
#endif

TEST(of_another_user_stays)
{
    if (geteuid() != 0)
        skip();
    assert_int_equal(chown(sidecar, NOBODY, NOBODY), 0);
    assert_int_equal(unlink(trace), 0);
    assert_stays();
    assert_int_equal(chown(sidecar, 0, 0), 0);
    assert_goes();
}

TEST(that_is_none_or_of_another_version_stays)
{
    assert_int_equal(unlink(trace), 0);
    header.version++;
    write_sidecar(sidecar);
    assert_stays();
    memset(header.magic, 0, sizeof header.magic); /* as while its capture begins */
    write_sidecar(sidecar);
    assert_stays();
}

TEST(without_a_path_stays)
{
    assert_int_equal(unlink(trace), 0);
    header.destination[0] = '\0';
    write_sidecar(sidecar);
    assert_stays();
}

/* ---- Several at once ---- */

enum { THREADS = 4, SIDECARS = 32 };

static void *discard_elsewhere(void *count)
{
    *(unsigned *)count = discard();
    return NULL;
}

TEST(each_is_removed_once)
{
    pthread_t threads[THREADS];
    unsigned counts[THREADS], sum = 0;
    assert_int_equal(unlink(trace), 0);
    for (int i = 1; i < SIDECARS; i++) {
        char name[64], path[PATH_MAX];
        snprintf(name, sizeof name, "sidecars/" TRACE_SIDECAR_PREFIX "0-1-%d", i + 2);
        write_sidecar(test_folder_file(&folder, name, path));
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, discard_elsewhere, &counts[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += counts[i];
    }
    assert_int_equal(sum + discard(), SIDECARS);
    assert_int_equal(discard(), 0);
}

TEST_FIXTURE(prepare, clean_up);
