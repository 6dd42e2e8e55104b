/* SPDX-License-Identifier: Apache-2.0 */
/* Every protection of the sandbox, by trying to get past it from inside. What an attempt returns to
 * the outside is 0 when it was stopped as it should be, and the line of the check that failed
 * otherwise. The same attempts succeed without a sandbox, which shows that they are attempts. */
#include "hal/base/os.h"
#include "replay/sandbox/policy.h"
#include "tests/support/as_nobody.h"
#include "tests/support/folder.h"
#include "tests/support/mortal.h"
#include "tests/support/redirect.h"
#include "tests/support/sandboxed.h"
#include "tests/support/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

struct fixture {
    struct test_folder folder, cache;
    char trace[PATH_MAX], secret[PATH_MAX], cached[PATH_MAX], given[PATH_MAX];
    char results[2][PATH_MAX], other[PATH_MAX];
    pid_t outside;
    int inherited; /* a descriptor */
};

/* An attempt ends with 0, or with a small number that stands for its line. */
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno);      \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static void put(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("secret", file);
    fclose(file);
}

static bool can_open(const char *path, int flags)
{
    const int file = open(path, flags, 0600);
    if (file >= 0)
        close(file);
    return file >= 0;
}

static bool can_run(const char *program, const char *argument)
{
    int state = 1;
    const pid_t child = vfork();
    if (child == 0) {
        execl(program, program, argument, (char *)NULL);
        _exit(126);
    }
    return child > 0 && waitpid(child, &state, 0) == child && WIFEXITED(state) &&
           WEXITSTATUS(state) != 126;
}

static int try_files(void *user, struct replay_sandboxed *inside)
{
    const struct fixture *fixture = user;
    char path[PATH_MAX];
    EXPECT(!inside->missing[0]);
    EXPECT(can_open(fixture->trace, O_RDONLY));
    EXPECT(can_open(fixture->cached, O_RDONLY));
    EXPECT(!can_open(fixture->secret, O_RDONLY) && errno == EACCES);
    EXPECT(!can_open("/etc/passwd", O_RDONLY));
    EXPECT(!can_open(fixture->trace, O_RDWR));
    /* By seccomp: only Landlock from Linux 6.2 on sees that. */
    EXPECT(!can_open(fixture->trace, O_RDONLY | O_TRUNC) && errno == ENOSYS);
    EXPECT(can_open(fixture->given, O_RDONLY) && !can_open(fixture->given, O_WRONLY));
    EXPECT(!can_open(fixture->cached, O_WRONLY)); /* the cache is only read */
    EXPECT(!can_open(test_folder_file(&fixture->cache, "new", path), O_WRONLY | O_CREAT));
    EXPECT(!can_open(test_folder_file(&fixture->folder, "new", path), O_WRONLY | O_CREAT));
    EXPECT(unlink(fixture->secret) != 0);
    EXPECT(rename(fixture->trace, path) != 0);
    EXPECT(truncate(fixture->secret, 0) != 0);
    EXPECT(mkdir(path, 0700) != 0);
    snprintf(path, sizeof path, "%s/own", getenv("HAL_CACHE_SCRATCH"));
    EXPECT(can_open(path, O_WRONLY | O_CREAT));
    return 0;
}

static int try_network(void *user, struct replay_sandboxed *inside)
{
    (void)user;
    (void)inside;
    int pair[2];
    EXPECT(socket(AF_INET, SOCK_STREAM, 0) < 0);
    EXPECT(socket(AF_INET6, SOCK_DGRAM, 0) < 0);
    EXPECT(socket(AF_UNIX, SOCK_STREAM, 0) < 0);
    EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0);
    return 0;
}

static int try_programs(void *user, struct replay_sandboxed *inside)
{
    (void)user;
    (void)inside;
    EXPECT(!can_run("/bin/sh", "-c:"));
    EXPECT(!can_run("/usr/bin/true", NULL));
    return 0;
}

static int try_others(void *user, struct replay_sandboxed *inside)
{
    const struct fixture *fixture = user;
    struct rlimit limit;
    (void)inside;
    EXPECT(kill(fixture->outside, 0) != 0);
    EXPECT(kill(fixture->outside, SIGKILL) != 0);
    EXPECT(getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max <= 1024);
    limit.rlim_cur = limit.rlim_max = 4096;
    EXPECT(setrlimit(RLIMIT_NOFILE, &limit) != 0);
    EXPECT(fcntl(fixture->inherited, F_GETFD) < 0);
    char text[16] = "";
    EXPECT(read(STDIN_FILENO, text, sizeof text) == 0);
    EXPECT(getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_max == 0);
    const int score = open("/proc/self/oom_score_adj", O_RDONLY);
    EXPECT(score >= 0 && read(score, text, sizeof text - 1) > 0 && atoi(text) == 1000);
    close(score);
    return 0;
}

/* Calls of which a part is allowed: not this part. */
static int try_rest_of_calls(void *user, struct replay_sandboxed *inside)
{
    char letter = 'x';
    (void)user;
    (void)inside;
    EXPECT(ioctl(STDOUT_FILENO, TIOCSTI, &letter) < 0 && errno == ENOSYS);
    EXPECT(prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0) < 0 && errno == ENOSYS);
    EXPECT(unshare(CLONE_NEWUSER) < 0 && errno == ENOSYS);
    const long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, 0);
    if (child == 0)
        _exit(0);
    EXPECT(child < 0 && errno == ENOSYS);
    return 0;
}

/* Address space alone: nothing of it is touched. */
static bool can_map(size_t bytes, int protection)
{
    void *const at =
        mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at != MAP_FAILED)
        munmap(at, bytes);
    return at != MAP_FAILED;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 }; /* whose own memory is far over any limit: there is none then */
#else
enum { SANITIZED = 0 };
#endif
enum { GIB_BITS = 30 };

/* Of 1 GiB for buffers: 2 GiB and 8 to spare of data, 4 and 64 of addresses. */
static int try_memory(void *user, struct replay_sandboxed *inside)
{
    (void)user;
    (void)inside;
    EXPECT(can_map((size_t)1 << GIB_BITS, PROT_READ | PROT_WRITE));
    EXPECT(SANITIZED || !can_map((size_t)12 << GIB_BITS, PROT_READ | PROT_WRITE));
    EXPECT(SANITIZED || !can_map((size_t)80 << GIB_BITS, PROT_NONE));
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    EXPECT(setrlimit(RLIMIT_AS, &limit) != 0);
    return 0;
}

static void *in_thread(void *argument)
{
    return argument;
}

static int try_locked(void *user, struct replay_sandboxed *inside)
{
    const struct fixture *fixture = user;
    char path[PATH_MAX], other[PATH_MAX], program[PATH_MAX], call[REPLAY_CALL_BYTES];
    pthread_t thread;
    EXPECT(hal_program_path(program, sizeof program) == HAL_OK);
    snprintf(path, sizeof path, "%s/own", getenv("HAL_CACHE_SCRATCH"));
    snprintf(other, sizeof other, "%s/other", getenv("HAL_CACHE_SCRATCH"));
    EXPECT(can_open(path, O_WRONLY | O_CREAT) && mkdir(other, 0700) == 0);
    const pid_t self = getpid(), child = fork(); /* a process that signals may reach */
    if (child == 0)
        test_stay(self);
    EXPECT(child > 0 && kill(child, 0) == 0);
    EXPECT(replay_policy_lock(false, inside->refused_call) == HAL_OK);
    EXPECT(!*inside->refused_call);
    EXPECT(rename(path, other) < 0 && errno == ENOSYS);
    EXPECT(*inside->refused_call == SYS_rename + 1); /* the first one is told */
    EXPECT(strcmp(replay_system_call_name(SYS_rename, call), "rename") == 0);
    EXPECT(strcmp(replay_system_call_name(UINT32_MAX - 1, call), "number 4294967294") == 0);
    EXPECT(unlink(path) < 0 && errno == ENOSYS);
    EXPECT(chmod(path, 0) < 0 && errno == ENOSYS);
    EXPECT(fchmodat(AT_FDCWD, path, 0, 0) < 0 && errno == ENOSYS);
    EXPECT(utimensat(AT_FDCWD, path, NULL, 0) < 0 && errno == ENOSYS);
    EXPECT(chown(path, geteuid(), (gid_t)-1) < 0 && errno == ENOSYS);
    EXPECT(rmdir(other) < 0 && errno == ENOSYS);
    strcat(other, "/more");
    EXPECT(mkdir(other, 0700) < 0 && errno == ENOSYS);
    EXPECT(kill(child, 0) < 0 && errno == ENOSYS);
    EXPECT(syscall(SYS_tgkill, child, child, 0) < 0 && errno == ENOSYS);
    EXPECT(syscall(SYS_tgkill, getpid(), getpid(), 0) == 0); /* abort() needs it */
    EXPECT(setpgid(0, 0) < 0 && errno == ENOSYS);
    EXPECT(syscall(SYS_close_range, 1000, 1001, 0) < 0 && errno == ENOSYS);
    EXPECT(fcntl(STDIN_FILENO, F_SETOWN, child) < 0 && errno == ENOSYS);
    EXPECT(*inside->refused_call == SYS_rename + 1);
    for (int i = 0; i < 1000; i++) /* a bomb would double each time */
        EXPECT(fork() < 0);
    EXPECT(execl("/usr/bin/true", "true", (char *)NULL) < 0);
    snprintf(path, sizeof path, "%s/late", getenv("HAL_CACHE_SCRATCH"));
    EXPECT(!can_open(path, O_WRONLY | O_CREAT));
    EXPECT(can_open(fixture->trace, O_RDONLY));
    EXPECT(kill(getpid(), 0) < 0);
    EXPECT(pthread_create(&thread, NULL, in_thread, NULL) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
    return 0;
}

/* Results: a good one, one that points elsewhere, one of holes, and none. They are open when the
 * sandbox is locked; from then on no file can be made. */
static int make_results(void *user, struct replay_sandboxed *inside)
{
    const struct fixture *fixture = user;
    (void)inside;
    FILE *file = fopen(replay_sandbox_output(test_sandbox, 0), "w");
    EXPECT(file && can_open(replay_sandbox_output(test_sandbox, 1),
                            O_WRONLY | O_CREAT)); /* and nothing is written there */
    EXPECT(replay_policy_lock(true, NULL) == HAL_OK);
    EXPECT(fputs("result", file) >= 0 && fclose(file) == 0);
    EXPECT(!can_open(replay_sandbox_output(test_sandbox, 0), O_WRONLY));
    EXPECT(!can_open(fixture->results[0], O_WRONLY | O_CREAT));
    EXPECT(!can_open(fixture->other, O_WRONLY | O_CREAT)); /* another trace's compiled kernels */
    EXPECT(fork() < 0);
    return 0;
}

/* As native code could: it has the descriptors. */
static int command_terminals(void *user, struct replay_sandboxed *inside)
{
    static const char commands[] = "caf\xC3\xA9 \x1b]52;c;Zm9v\x07\xC2\x9B\x9B\b\x7f\r\tend\n";
    (void)user;
    (void)inside;
    EXPECT(write(STDOUT_FILENO, commands, sizeof commands - 1) == (ssize_t)sizeof commands - 1);
    return 0;
}

static int make_link(void *user, struct replay_sandboxed *inside)
{
    (void)inside;
    const struct fixture *fixture = user;
    EXPECT(symlink(fixture->secret, replay_sandbox_output(test_sandbox, 0)) !=
           0); /* there is no such call */
    EXPECT(mkdir(replay_sandbox_output(test_sandbox, 0), 0700) == 0);
    return 0;
}

static int make_holes(void *user, struct replay_sandboxed *inside)
{
    (void)inside;
    (void)user;
    const int file = open(replay_sandbox_output(test_sandbox, 0), O_WRONLY | O_CREAT, 0600);
    EXPECT(file >= 0 && ftruncate(file, (off_t)1 << 29) == 0);
    return 0;
}

static struct replay_sandbox_desc describe(struct fixture *fixture,
                                           int (*inside)(void *, struct replay_sandboxed *))
{
    const int64_t minute_ns = INT64_C(60000000000);
    return (struct replay_sandbox_desc){.trace = fixture->trace,
                                        .time_ns = minute_ns,
                                        .deadline_ns = hal_deadline_ns(minute_ns),
                                        .inside = inside,
                                        .user = fixture};
}

static void run_inside(struct fixture *fixture, int (*inside)(void *, struct replay_sandboxed *))
{
    const char *const given = fixture->given;
    struct replay_sandbox_desc desc = describe(fixture, inside);
    desc.given = &given;
    desc.given_count = 1;
    int exit_status = -1;
    if (test_run_sandbox(&desc, &exit_status) != HAL_OK)
        fail_msg("%s", hal_message());
    assert_int_equal(exit_status, 0);
}

TEST_ON(files_are_out_of_reach, struct fixture *fixture)
{
    assert_true(can_open(fixture->secret, O_RDWR)); /* without a sandbox */
    assert_true(can_open("/etc/passwd", O_RDONLY));
    run_inside(fixture, try_files);
    assert_true(can_open(fixture->secret, O_RDONLY));
}

TEST_ON(there_is_no_network, struct fixture *fixture)
{
    const int file = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_true(file >= 0);
    close(file);
    run_inside(fixture, try_network);
}

TEST_ON(programs_cannot_be_started, struct fixture *fixture)
{
    assert_true(can_run("/usr/bin/true", NULL));
    run_inside(fixture, try_programs);
}

TEST_ON(others_and_limits_are_safe, struct fixture *fixture)
{
    const int kept = open(fixture->secret, O_RDONLY); /* a descriptor to inherit */
    assert_true(kept >= 0 && kill(fixture->outside, 0) == 0);
    fixture->inherited = kept;
    const int before = redirect(fixture->given, O_RDONLY, STDIN_FILENO);
    run_inside(fixture, try_others);
    put_back(before, STDIN_FILENO);
    close(kept);
}

TEST_ON(calls_are_allowed_in_part, struct fixture *fixture)
{
    assert_int_equal(prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0), 0); /* without a sandbox */
    run_inside(fixture, try_rest_of_calls);
}

TEST_ON(memory_has_a_limit, struct fixture *fixture)
{
    struct replay_sandbox_desc desc = describe(fixture, try_memory);
    desc.memory_bytes = (uint64_t)1 << GIB_BITS;
    int exit_status = -1;
    assert_true(can_map((size_t)80 << GIB_BITS, PROT_NONE)); /* without a sandbox */
    assert_int_equal(test_run_sandbox(&desc, &exit_status), HAL_OK);
    assert_int_equal(exit_status, 0);
}

TEST_ON(locked_is_tighter, struct fixture *fixture)
{
    run_inside(fixture, try_locked);
}

static enum hal_status bring_results(struct fixture *fixture,
                                     int (*inside)(void *, struct replay_sandboxed *))
{
    struct replay_sandbox_desc desc = describe(fixture, inside);
    desc.outputs[0] = fixture->results[0];
    desc.outputs[1] = fixture->results[1];
    desc.output_count = 2;
    desc.child_outputs = 3;
    int exit_status = -1;
    const enum hal_status status = test_run_sandbox(&desc, &exit_status);
    assert_int_equal(exit_status, 0);
    return status;
}

TEST_ON(results_come_out_and_nothing_else, struct fixture *fixture)
{
    char text[16] = "";
    assert_int_equal(bring_results(fixture, make_results), HAL_OK);
    FILE *file = fopen(fixture->results[0], "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    assert_string_equal(text, "result");
    assert_false(can_open(fixture->results[1], O_RDONLY)); /* it made none */
    assert_int_equal(bring_results(fixture, make_link), HAL_CORRUPT);
    assert_int_equal(bring_results(fixture, make_holes), HAL_CORRUPT);
    assert_non_null(strstr(hal_message(), "is not a regular file"));
    assert_true(can_open(fixture->results[0], O_RDONLY)); /* as it was */
}

static void expect_text(const char *path, const char *expected)
{
    char text[256] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    (void)!fread(text, 1, sizeof text - 1, file);
    fclose(file);
    assert_string_equal(text, expected);
}

TEST_ON(terminals_are_not_commanded, struct fixture *fixture)
{
    char paths[2][PATH_MAX];
    const int writing = O_RDWR | O_CREAT | O_TRUNC;
    fflush(NULL);
    const int out =
        redirect(test_folder_file(&fixture->folder, "out", paths[0]), writing, STDOUT_FILENO);
    const int err =
        redirect(test_folder_file(&fixture->folder, "err", paths[1]), writing, STDERR_FILENO);
    const struct replay_sandbox_desc desc = describe(fixture, command_terminals);
    int exit_status = -1;
    const enum hal_status status = test_run_sandbox(&desc, &exit_status);
    put_back(out, STDOUT_FILENO);
    put_back(err, STDERR_FILENO);
    assert_int_equal(status, HAL_OK);
    assert_int_equal(exit_status, 0);
    expect_text(paths[0], "");
    expect_text(paths[1], "hal-replay: the sandboxed process printed:\n"
                          "caf\xC3\xA9 ?]52;c;Zm9v???????\tend\n");
}

static int loop_for_ever(void *user, struct replay_sandboxed *inside)
{
    (void)inside;
    for (;;)
        *(volatile pid_t *)&((struct fixture *)user)->outside = 0;
    return 0;
}

#if defined(__x86_64__)
/* What has another number for a 32-bit program: 15 was chmod there, and is sigreturn here. */
static int call_as_another_machine(void *user, struct replay_sandboxed *inside)
{
    const struct fixture *fixture = user;
    int result = 15;
    (void)inside;
    EXPECT(replay_policy_lock(false, NULL) == HAL_OK);
    __asm__ volatile("int $0x80" : "+a"(result) : "b"(fixture->given), "c"(0777) : "memory");
    return 1;
}
#endif

static int crash(void *user, struct replay_sandboxed *inside)
{
    (void)inside;
    signal(SIGSEGV, SIG_DFL); /* no sanitizer's report */
    raise(SIGSEGV);
    return user != NULL;
}

/* Nothing of a run may be left: no process, no folder. */
TEST_ON(ends_are_told_and_clean, struct fixture *fixture)
{
    struct replay_sandbox_desc desc = describe(fixture, loop_for_ever);
    int exit_status = -1;
    desc.time_ns = INT64_C(50000000);
    desc.deadline_ns = hal_deadline_ns(desc.time_ns);
    assert_int_equal(test_run_sandbox(&desc, &exit_status), HAL_TIMEOUT);
    assert_non_null(strstr(hal_message(), "exceeded its limit of 50.000 ms (--time-limit)"));
#if defined(__x86_64__)
    desc = describe(fixture, call_as_another_machine);
    assert_int_equal(test_run_sandbox(&desc, &exit_status), HAL_FAILED);
    assert_non_null(strstr(hal_message(), "ended by signal"));
#endif
    desc = describe(fixture, crash);
    assert_int_equal(test_run_sandbox(&desc, &exit_status), HAL_FAILED);
    assert_non_null(strstr(hal_message(), "ended by signal 11"));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static int set_up(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    if (!test_folder_make(&fixture.folder) || !test_folder_make(&fixture.cache))
        return -1;
    put(test_folder_file(&fixture.folder, "trace", fixture.trace));
    put(test_folder_file(&fixture.folder, "secret", fixture.secret));
    put(test_folder_file(&fixture.folder, "given", fixture.given));
    put(test_folder_file(&fixture.cache, "entry", fixture.cached));
    test_folder_file(&fixture.folder, "result", fixture.results[0]);
    test_folder_file(&fixture.folder, "none", fixture.results[1]);
    test_folder_file(&fixture.cache, "sandbox", fixture.other);
    if (mkdir(fixture.other, 0700) != 0)
        return -1;
    strcat(fixture.other, "/other");
    if (mkdir(fixture.other, 0700) != 0)
        return -1;
    strcat(fixture.other, "/kernel");
    fixture.outside = getpid();
    return setenv("HAL_CACHE_DIR", fixture.cache.path, 1);
}

static int tear_down(void **state)
{
    test_folder_remove(&((struct fixture *)*state)->folder);
    test_folder_remove(&((struct fixture *)*state)->cache);
    return 0;
}

TEST_SUITE_FIXTURE(set_up, tear_down);

int main(void)
{
    return test_run_also_as_nobody(test_run);
}
