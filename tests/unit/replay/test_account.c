/* SPDX-License-Identifier: Apache-2.0 */
/* replay/sandbox/account.c: what a sandboxed child may use while it compiles, by going over each
 * limit. */
#include "hal/base/os.h"
#include "tests/support/as_nobody.h"
#include "tests/support/folder.h"
#include "tests/support/mortal.h"
#include "tests/support/sandboxed.h"
#include "tests/support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

enum { MIB_BITS = 20, GIB_BITS = 30, FEW = 16 };

struct fixture {
    struct test_folder folder;
    char trace[PATH_MAX];
};

/* Half of them leave the group, and half of those are orphans at once. */
static _Noreturn void make_some_processes(int count)
{
    const pid_t test = getppid(), self = getpid();
    for (int i = 0; i < count; i++) {
        if (fork() != 0)
            continue;
        if (i & 1)
            setpgid(0, 0);
        if ((i & 3) != 3)
            test_stay(self);
        const pid_t between = getpid();
        if (fork() != 0)
            _exit(0);
        test_await_adoption(between);
        test_stay(test);
    }
    test_stay(test);
}

static int make_processes(void *user, struct replay_sandboxed *inside)
{
    (void)user;
    (void)inside;
    make_some_processes(1000);
}

/* Fewer than the limit. */
static int make_few_processes(void *user, struct replay_sandboxed *inside)
{
    (void)user;
    (void)inside;
    make_some_processes(FEW);
}

/* The sandbox refuses pause, so a thread that calls it would spin. */
static void *stay_as_thread(void *unused)
{
    for (;;)
        poll(NULL, 0, -1);
    return unused;
}

/* More than the limit together, in processes that each have fewer. */
static int make_threads(void *user, struct replay_sandboxed *inside)
{
    enum { PROCESSES = 3, THREADS = 900 };
    pthread_attr_t small;
    pthread_t thread;
    (void)user;
    (void)inside;
    const pid_t test = getppid(), self = getpid();
    if (pthread_attr_init(&small) != 0 || pthread_attr_setstacksize(&small, 64 << 10) != 0)
        return 1;
    for (int i = 1; i < PROCESSES && fork() != 0; i++)
        ;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread, &small, stay_as_thread, NULL) != 0)
            return 1;
    test_stay(getpid() == self ? test : self);
}

/* More than the limit together, and neither alone. No folder has the second. */
static int print_much(void *user, struct replay_sandboxed *inside)
{
    char path[PATH_MAX];
    (void)user;
    (void)inside;
    snprintf(path, sizeof path, "%s/fill", getenv("TMPDIR"));
    const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || posix_fallocate(file, 0, (off_t)600 << MIB_BITS) != 0 ||
        posix_fallocate(STDOUT_FILENO, 0, (off_t)600 << MIB_BITS) != 0)
        return 1;
    test_stay(getppid());
}

static int fill_disk(void *user, struct replay_sandboxed *inside)
{
    char path[PATH_MAX];
    (void)user;
    (void)inside;
    for (int i = 0; i < 3; i++) { /* more than the limit together, and none alone */
        snprintf(path, sizeof path, "%s/fill%d", getenv("TMPDIR"), i);
        const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (file < 0 || posix_fallocate(file, 0, (off_t)600 << MIB_BITS) != 0)
            return 1;
        close(file);
    }
    test_stay(getppid());
}

static int fill_memory(void *user, struct replay_sandboxed *inside)
{
    const size_t bytes = (size_t)3 << GIB_BITS;
    (void)user;
    (void)inside;
    volatile char *const at =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return 1;
    for (size_t i = 0; i < bytes; i += 4096)
        at[i] = 1;
    test_stay(getppid());
}

/* Of memory that is only read, nothing but the tables of its pages is there. */
static int fill_page_tables(void *user, struct replay_sandboxed *inside)
{
    enum { PROCESSES = 20, PER_TABLE = 2 << MIB_BITS };
    const size_t bytes = (size_t)60 << GIB_BITS;
    (void)user;
    (void)inside;
    const pid_t test = getppid(), self = getpid();
    for (int i = 0; i < PROCESSES; i++)
        if (fork() == 0)
            break;
    const volatile char *const at =
        mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return 1;
    madvise((void *)(uintptr_t)at, bytes, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < bytes; i += PER_TABLE)
        (void)at[i];
    test_stay(getpid() == self ? test : self);
}

/* Not mapped: no process has it among its pages. */
static int fill_nameless_files(void *user, struct replay_sandboxed *inside)
{
    (void)user;
    (void)inside;
    for (int i = 0; i < 3; i++) {
        const int file = memfd_create("fill", MFD_CLOEXEC);
        if (file < 0 || posix_fallocate(file, 0, (off_t)700 << MIB_BITS) != 0)
            return 1;
    }
    test_stay(getppid());
}

static int be_silent(void *user, struct replay_sandboxed *inside)
{
    (void)user;
    (void)inside;
    test_stay(getppid());
}

static struct replay_sandbox_desc describe(struct fixture *fixture,
                                           int (*inside)(void *, struct replay_sandboxed *))
{
    const int64_t minute_ns = INT64_C(60000000000);
    return (struct replay_sandbox_desc){.trace = fixture->trace,
                                        .memory_bytes = (uint64_t)256 << MIB_BITS,
                                        .time_ns = minute_ns,
                                        .deadline_ns = hal_deadline_ns(minute_ns),
                                        .inside = inside,
                                        .user = fixture};
}

/* The message has this in it, and nothing is left: no process, no folder. */
static void expect_end(const struct replay_sandbox_desc *desc, enum hal_status expected,
                       const char *message)
{
    int exit_status;
    const char *const folder = getenv("TMPDIR");
    const enum hal_status status = test_run_sandbox(desc, &exit_status);
    if (status != expected || !strstr(hal_message(), message))
        fail_msg("status %d, '%s'", (int)status, hal_message());
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(rmdir(folder), 0); /* only an empty one can be removed */
    assert_int_equal(mkdir(folder, 0700), 0);
}

TEST_ON(processes_are_counted, struct fixture *fixture)
{
    const struct replay_sandbox_desc desc = describe(fixture, make_processes);
    expect_end(&desc, HAL_FAILED, "processes, the limit is ");
}

TEST_ON(threads_are_counted, struct fixture *fixture)
{
    const struct replay_sandbox_desc desc = describe(fixture, make_threads);
    if (SANITIZED)
        return; /* a thread's own memory is too much for so many */
    expect_end(&desc, HAL_FAILED, "threads, the limit is 2560");
}

TEST_ON(files_are_counted, struct fixture *fixture)
{
    struct replay_sandbox_desc desc = describe(fixture, fill_disk);
    expect_end(&desc, HAL_FAILED, "MiB, the limit is 1024 MiB");
}

/* Beside the scratch folder, and under no name. */
static int find_printed(void *user, struct replay_sandboxed *inside)
{
    char path[PATH_MAX], printed[PATH_MAX] = "";
    (void)user;
    (void)inside;
    snprintf(path, sizeof path, "%s", getenv("TMPDIR"));
    *strrchr(path, '/') = '\0';
    if (readlink("/proc/self/fd/1", printed, sizeof printed - 1) < 0)
        return 1;
    return strncmp(printed, path, strlen(path)) == 0 && strstr(printed, " (deleted)") ? 0 : 2;
}

TEST_ON(what_is_printed_lies_where_the_environment_says, struct fixture *fixture)
{
    const struct replay_sandbox_desc desc = describe(fixture, find_printed);
    int exit_status;
    assert_int_equal(test_run_sandbox(&desc, &exit_status), HAL_OK);
    assert_int_equal(exit_status, 0);
}

TEST_ON(what_is_printed_is_counted, struct fixture *fixture)
{
    struct replay_sandbox_desc desc = describe(fixture, print_much);
    expect_end(&desc, HAL_FAILED, "MiB, the limit is 1024 MiB");
}

static int fill_one_file(void *user, struct replay_sandboxed *inside)
{
    char path[PATH_MAX];
    (void)user;
    (void)inside;
    snprintf(path, sizeof path, "%s/fill", getenv("TMPDIR"));
    const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return file >= 0 && posix_fallocate(file, 0, (off_t)3 << GIB_BITS) == 0 ? 0 : 1;
}

TEST_ON(no_file_is_larger_than_all_may_be, struct fixture *fixture)
{
    const struct replay_sandbox_desc desc = describe(fixture, fill_one_file);
    expect_end(&desc, HAL_FAILED, "ended by signal 25");
}

TEST_ON(memory_is_counted, struct fixture *fixture)
{
    const struct replay_sandbox_desc desc = describe(fixture, fill_memory);
    if (SANITIZED)
        return; /* there is no limit then */
    expect_end(&desc, HAL_FAILED, "(--memory-limit)");
    const struct replay_sandbox_desc tables = describe(fixture, fill_page_tables);
    expect_end(&tables, HAL_FAILED, "(--memory-limit)");
    const struct replay_sandbox_desc nameless = describe(fixture, fill_nameless_files);
    expect_end(&nameless, HAL_FAILED, "(--memory-limit)");
}

/* As after "server & exec hal-replay" of a shell. */
TEST_ON(children_of_before_are_left_alone, struct fixture *fixture)
{
    const struct replay_sandbox_desc desc = describe(fixture, make_processes);
    const pid_t self = getpid(), server = fork();
    int exit_status;
    if (server == 0)
        test_stay(self);
    assert_true(server > 0);
    assert_int_equal(test_run_sandbox(&desc, &exit_status), HAL_FAILED);
    assert_int_equal(waitpid(server, NULL, WNOHANG), 0);
    assert_int_equal(kill(server, SIGKILL), 0);
    assert_int_equal(waitpid(server, &exit_status, 0), server);
}

/* How many processes the kernel lists in the task's file of children, of all that are below. */
static int count_below(pid_t process)
{
    char path[64], children[4096] = "";
    int count = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)process, (int)process);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    (void)!fgets(children, sizeof children, file);
    fclose(file);
    for (char *at = children, *end; strtol(at, &end, 10) > 0; at = end)
        count += 1 + count_below((pid_t)strtol(at, &end, 10));
    return count;
}

TEST_ON(a_killed_test_leaves_no_process, struct fixture *fixture)
{
    const struct replay_sandbox_desc desc = describe(fixture, make_few_processes);
    int exit_status;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); /* the test's, if it has any left */
    const pid_t test = test_fork();
    if (test == 0)
        _exit(test_run_sandbox(&desc, &exit_status) == HAL_OK);
    while (count_below(test) < 1 + FEW)
        sched_yield();
    assert_int_equal(kill(test, SIGKILL), 0);
    alarm(60);
    while (waitpid(-1, NULL, 0) > 0)
        continue;
    alarm(0);
    assert_int_equal(errno, ECHILD);
}

TEST_ON(silence_has_a_limit, struct fixture *fixture)
{
    struct replay_sandbox_desc desc = describe(fixture, be_silent);
    struct replay_sandbox *sandbox;
    int exit_status;
    desc.silence_ns = 1000000;
    assert_int_equal(replay_sandbox_open(&desc, &sandbox), HAL_OK);
    assert_int_equal(replay_sandbox_start(sandbox), HAL_OK);
    replay_sandbox_limit_silence(sandbox, true);
    assert_int_equal(replay_sandbox_wait(sandbox, &exit_status), HAL_TIMEOUT);
    assert_non_null(strstr(hal_message(), "no progress for 1.000 ms (--timeout)"));
    replay_sandbox_close(sandbox);
}

static int set_up(void **state)
{
    static struct fixture fixture;
    char path[PATH_MAX];
    *state = &fixture;
    if (!test_folder_make(&fixture.folder))
        return -1;
    FILE *file = fopen(test_folder_file(&fixture.folder, "trace", fixture.trace), "w");
    if (!file || fclose(file) != 0 ||
        mkdir(test_folder_file(&fixture.folder, "scratch", path), 0700) != 0)
        return -1;
    if (setenv("TMPDIR", path, 1) != 0)
        return -1;
    return setenv("HAL_CACHE_DIR", test_folder_file(&fixture.folder, "cache", path), 1);
}

static int tear_down(void **state)
{
    test_folder_remove(&((struct fixture *)*state)->folder);
    return 0;
}

TEST_SUITE_FIXTURE(set_up, tear_down);

int main(void)
{
    return test_run_also_as_nobody(test_run);
}
