/* SPDX-License-Identifier: Apache-2.0 */
/* The program hal-replay and what strangers' traces may do: work that hangs, kernels that try to
 * get out, the cache, limits. */
#include "hal/base/os.h"
#include "tests/support/crossing.h"
#include "tests/support/test.h"
#include "tests/unit/replay/hal_replay_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#if defined(CROSSING)
#include <glob.h>
#include <seccomp.h>
#endif

/* ---- Limits --------------------------------------------------------------------------------- */

TEST_ON(hanging_work_is_given_up, struct fixture *fixture)
{
    struct trace_builder *b = fixture_start(fixture);
    const struct trace_semaphore_value gate = {1, 1}, done = {2, 1};
    builder_semaphore_create(b, 1, "gate", 0);
    builder_semaphore_create(b, 2, "done", 0);
    builder_submit(b, 4, 0, VALUES(gate), VALUES(done), NO_IDS);
    builder_semaphore_wait(b, 0, &done, 1, INT64_MAX);
    builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, 1, 1, NULL);
    fixture_finish(fixture);
    assert_exit(replay(fixture, "--timeout=0.05"), 1);
    fixture_expect_one_line(fixture);
    fixture_expect(fixture, fixture->err, "semaphore 'done' is at 0 and should reach 1");
    fixture_expect(fixture, fixture->err, "#s4");
}

/* The second dispatch of the second command buffer waits for a value that nobody writes, and the
 * host for a submission behind it. The command buffers are gone by then, as in most programs. */
static void build_endless(struct fixture *fixture)
{
    struct trace_builder *b = fixture_start(fixture);
    const struct trace_semaphore_value done = {2, 1}, after = {7, 1};
    builder_buffer_create(b, 1, "word", 64);
    builder_semaphore_create(b, 2, "done", 0);
    builder_semaphore_create(b, 7, "after", 0);
    fixture_add_kernel(b, 3, "good",
                       "kernel void good(device uint *w [[buffer(0)]]) { w[1] = 1; }");
    fixture_add_kernel(b, 4, "endless",
                       "kernel void endless(device volatile uint *w [[buffer(0)]])\n"
                       "{ while (w[0] != 77) w[2] = w[0]; }");
    for (uint64_t commands = 5; commands <= 6; commands++) {
        builder_command_buffer_create(b, commands, NULL, 0);
        builder_push_descriptor_set(b, 0, (struct trace_binding[]){{1, 0, 64}}, 1);
        builder_dispatch(b, 3, 0, 1, 1, 1);
        builder_dispatch(b, commands == 6 ? 4 : 3, 0, 1, 1, 1);
        builder_dispatch(b, 3, 0, 1, 1, 1);
        builder_end_commands(b, commands);
    }
    builder_submit(b, 9, 0, NO_VALUES, VALUES(done), IDS(5, 6));
    for (uint64_t commands = 5; commands <= 6; commands++)
        builder_destroy(b, TRACE_COMMAND_BUFFER_DESTROY, commands);
    builder_submit(b, 10, 0, VALUES(done), VALUES(after), NO_IDS);
    builder_semaphore_wait(b, 0, &after, 1, INT64_MAX);
    fixture_finish(fixture);
}

static void expect_once(const struct fixture *fixture, const char *part)
{
    fixture_expect(fixture, fixture->out, part);
    if (strstr(strstr(fixture->out, part) + 1, part))
        fail_msg("'%s' is in the output twice:\n%s", part, fixture->out);
}

TEST_ON(a_kernel_that_hangs_is_named, struct fixture *fixture)
{
    build_endless(fixture);
    const struct fixture_run runs[] = {
        begin_replay(fixture, "--device=cpu", "--timeout=0.5", "--quiet"),
        begin_replay(fixture, "--device=cpu", "--timeout=0.5", "--trusted"),
        begin_replay(fixture, "--device=cpu", "--timeout=0.5"),
        /* A watchdog that is told to be patient is not the only one. */
        begin_replay(fixture, "--device=cpu", "--timeout=600", "--time-limit=0.5")};
    for (int i = 0; i < 3; i++) {
        assert_exit(fixture_end(fixture, &runs[i]), 1);
        fixture_expect_one_line(fixture);
        fixture_expect(fixture, fixture->err, "dispatch #s9.d4 of 'endless' does not end");
        if (i > 0)
            expect_once(fixture, ", replayed on ");
    }
    assert_exit(fixture_end(fixture, &runs[3]), 1);
    fixture_expect(fixture, fixture->err, "exceeded its limit of 500.000 ms");
}

TEST_ON(all_of_it_has_a_time_limit, struct fixture *fixture)
{
    every_build(fixture_start(fixture), false);
    fixture_finish(fixture);
    assert_exit(replay(fixture, "--device=cpu", "--repeat=1000000", "--time-limit=0.2", "--json"),
                1);
    fixture_expect(fixture, fixture->err, "exceeded its limit of 200.000 ms");
    fixture_expect(fixture, fixture->out, "\"result\":\"error\"");
    build_endless(fixture);
    assert_exit(
        replay(fixture, "--device=cpu", "--trusted", "--timeout=600", "--time-limit=0.5", "--json"),
        1);
    fixture_expect(fixture, fixture->err, "exceeded its limit of 500.000 ms");
    fixture_expect(fixture, fixture->out, "\"result\":\"error\"");
    assert_exit(replay(fixture, "--device=cpu", "--trusted", "--time-limit=0.001", "--json"), 1);
}

/* What takes long then is done by the process that nobody watches: the report knows no trace yet.
 */
TEST_ON(loading_has_a_time_limit, struct fixture *fixture)
{
    enum { MANY = 200000 };
    struct trace_builder *b = fixture_start(fixture);
    builder_buffer_create(b, 1, "bytes", 64);
    builder_command_buffer_create(b, 2, NULL, 0);
    for (int i = 0; i < MANY; i++)
        builder_fill(b, 1, 0, 64, (uint32_t)i, 4);
    builder_end_commands(b, 2);
    fixture_finish(fixture);
    assert_exit(replay(fixture, "--device=cpu", "--time-limit=0.001", "--json"), 1);
    fixture_expect_one_line(fixture);
    fixture_expect(fixture, fixture->err, "exceeded its limit of 1.000 ms (--time-limit)");
    fixture_expect(fixture, fixture->out, "\"result\":\"error\"");
    assert_null(strstr(fixture->out, "\"recorded\""));
}

/* Any file would not do: a sanitizer's runtime has one there as it starts. */
static bool has_scratch(const char *folder)
{
    static const char begin[] = "hal-replay-";
    const struct dirent *entry;
    bool found = false;
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    while (!found && (entry = readdir(listing)))
        found = strncmp(entry->d_name, begin, sizeof begin - 1) == 0;
    closedir(listing);
    return found;
}

/* Of a replay in that mode, whose work does not end by itself. */
static void interrupt(struct fixture *fixture, char *mode)
{
    char temporary[PATH_MAX];
    int status;
    test_folder_file(&fixture->folder, "temporary", temporary);
    assert_true(mkdir(temporary, 0700) == 0 || errno == EEXIST);
    setenv("TMPDIR", temporary, 1);
    const size_t nothing = fixture_count_files(temporary);
    const struct fixture_run run =
        begin_replay(fixture, "--device=cpu", "--timeout=600", "--json", mode);
    unsetenv("TMPDIR");
    while (!has_scratch(temporary))
        assert_int_equal(waitpid(run.process, &status, WNOHANG), 0);
    assert_int_equal(kill(run.process, SIGINT), 0);
    assert_int_equal(waitpid(run.process, &status, 0), run.process);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGINT);
    assert_int_equal(fixture_count_files(temporary), nothing);
    uint8_t *printed;
    size_t bytes;
    fixture_read_bytes(run.out, &printed, &bytes);
    static const char begin[] = "{\"file\":", told[] = "\"exit_code\":1,\"result\":\"error\","
                                                       "\"message\":\"interrupted by signal 2";
    assert_true(bytes > sizeof begin + sizeof told && printed[bytes - 1] == '\n');
    printed[bytes - 1] = '\0';
    assert_memory_equal(printed, begin, sizeof begin - 1);
    assert_non_null(strstr((const char *)printed, told));
    assert_int_equal(printed[bytes - 2], '}');
    free(printed);
}

TEST_ON(an_interrupt_leaves_nothing, struct fixture *fixture)
{
    struct trace_builder *b = fixture_start(fixture);
    const struct trace_semaphore_value gate = {1, 1}, done = {2, 1};
    builder_semaphore_create(b, 1, "gate", 0);
    builder_semaphore_create(b, 2, "done", 0);
    builder_submit(b, 4, 0, VALUES(gate), VALUES(done), NO_IDS);
    builder_semaphore_wait(b, 0, &done, 1, INT64_MAX);
    builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, 1, 1, NULL);
    fixture_finish(fixture);
    interrupt(fixture, "--repeat=2");
}

TEST_ON(every_mode_can_be_interrupted, struct fixture *fixture)
{
    build_endless(fixture);
    interrupt(fixture, "--benchmark");
    interrupt(fixture, "--isolate");
    interrupt(fixture, "--bisect");
}

/* ---- Walls ---------------------------------------------------------------------------------- */

/* What would put a file's bytes into a kernel. */
TEST_ON(kernels_cannot_read_files, struct fixture *fixture)
{
    static const char *const sources[] = {
        "asm(\".incbin \\\"/etc/hostname\\\"\"); kernel void k() {}",
        "__asm__(\".incbin \\\"/etc/hostname\\\"\"); kernel void k() {}",
        "kernel void k() { asm(\"nop\"); }",
        "#include \"/etc/passwd\"\nkernel void k() {}",
        "#include </etc/passwd>\nkernel void k() {}",
        "#include \"../../../../../../etc/passwd\"\nkernel void k() {}",
        "#include </usr/include/stdio.h>\nkernel void k() {}",
        "#include_next </etc/passwd>\nkernel void k() {}",
    };
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        struct trace_builder *b = fixture_start(fixture);
        fixture_add_kernel(b, 3, "k", sources[i]);
        fixture_finish(fixture);
        if (replay(fixture, "--device=cpu") != 4)
            fail_msg("taken: %s\n%s%s", sources[i], fixture->out, fixture->err);
        assert_null(strstr(fixture->err, "root:"));
    }
}

/* Ways to run code as a kernel is loaded, and to name what is none of its business: the message
 * names the kernel, and nothing has happened. */
TEST_ON(kernels_name_nothing_but_their_own, struct fixture *fixture)
{
    static const char *const sources[] = {
        ("static int f(const char *, unsigned) __attribute__((weakref(\"chmod\")));\n"
         "__attribute__((constructor)) static void g() { f(\"victim\", 0777); }\n"
         "kernel void k(device uint *a) { a[0] = 1; }"),
        ("static int f(const char *, unsigned) __attribute__((weakref(\"chmod\")));\n"
         "static int value = f(\"victim\", 0777);\n"
         "kernel void k(device uint *a) { a[0] = value; }"),
        ("static int f(const char *, unsigned) __attribute__((weakref(\"chmod\")));\n"
         "kernel void k(device uint *a) { a[0] = f(\"victim\", 0777); }"),
        "kernel void k(device uint *a) { __asm__ __volatile__(\"nop\"); a[0] = 1; }",
        "kernel void k(device uint *a) { asm inline(\"nop\"); a[0] = 1; }",
    };
    static const char *const messages[] = {
        "kernel 'k' of 'kernel.metal': it would run code on loading",
        "kernel 'k' of 'kernel.metal': it would run code on loading",
        "kernel 'k' of 'kernel.metal': the compiled code refers to 'chmod'",
        "kernel.metal:1: error: GNU-style inline assembly is disabled",
        "kernel.metal:1: error: GNU-style inline assembly is disabled",
    };
    char victim[PATH_MAX];
    struct stat facts;
    fixture_write(fixture, "victim", "victim");
    assert_int_equal(chmod(test_folder_file(&fixture->folder, "victim", victim), 0600), 0);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        struct trace_builder *b = fixture_start(fixture);
        fixture_add_kernel(b, 3, "k", sources[i]);
        fixture_finish(fixture);
        assert_exit(replay(fixture, "--device=cpu"), 4);
        fixture_expect(fixture, fixture->err, messages[i]);
        assert_exit(replay(fixture, "--device=cpu", "--trusted"), 4);
        fixture_expect(fixture, fixture->err, messages[i]);
        assert_int_equal(stat(victim, &facts), 0);
        assert_int_equal(facts.st_mode & 0777, 0600);
    }
}

#if defined(CROSSING)
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

/* What comes of each attempt of crossing.c, and whether it can do without a sandbox whatever this
 * machine is. */
struct outcome {
    const char *name;
    int32_t inside;
    bool possible;
};
static const struct outcome outcomes[CROSSING_COUNT] = {
    [CROSSING_RAN] = {"ran", CROSSING_PROOF, false},
    [CROSSING_SOCKET] = {"socket", ENOSYS, true},
    [CROSSING_UNIX_SOCKET] = {"socket", ENOSYS, true},
    [CROSSING_SECRET] = {"/etc/passwd", EACCES, true},
    [CROSSING_CREATE] = {"openat", ENOSYS, true},
    [CROSSING_NAMELESS] = {"openat", ENOSYS, true},
    [CROSSING_FORK] = {"clone", ENOSYS, true},
    [CROSSING_OLD_FORK] = {"fork", ENOSYS, true},
    [CROSSING_VFORK] = {"clone", ENOSYS, false}, /* it would share its stack */
    [CROSSING_CLONE3] = {"clone3", ENOSYS, true},
    [CROSSING_PROGRAM] = {"execve", ENOSYS, true},
    [CROSSING_KILL] = {"kill", ENOSYS, true},
    [CROSSING_TGKILL] = {"tgkill", ENOSYS, true},
    [CROSSING_LIMITS] = {"prlimit64", ENOSYS, true},
    [CROSSING_LIMITS_OF_OTHERS] = {"prlimit64", ENOSYS, true},
    [CROSSING_CHMOD] = {"chmod", ENOSYS, true},
    [CROSSING_FCHMODAT] = {"fchmodat", ENOSYS, true},
    [CROSSING_FCHMODAT2] = {"fchmodat2", ENOSYS, false},
    [CROSSING_FCHMOD] = {"fchmod", ENOSYS, true},
    [CROSSING_LIBRARY] = {"chmod of the C library", ENOSYS, true},
    [CROSSING_CHOWN] = {"fchownat", ENOSYS, true},
    [CROSSING_TIMES] = {"utimensat", ENOSYS, true},
    [CROSSING_ATTRIBUTE] = {"setxattr", ENOSYS, false},
    [CROSSING_TRUNCATE] = {"truncate", ENOSYS, true},
    [CROSSING_LINK] = {"linkat", ENOSYS, true},
    [CROSSING_RENAME] = {"renameat2", ENOSYS, true},
    [CROSSING_UNLINK] = {"unlinkat", ENOSYS, true},
    [CROSSING_SYMLINK] = {"symlinkat", ENOSYS, true},
    [CROSSING_FOLDER] = {"mkdirat", ENOSYS, true},
    [CROSSING_AFFINITY] = {"sched_setaffinity", ENOSYS, true},
    [CROSSING_OWN_AFFINITY] = {"sched_setaffinity", ENOSYS, true},
    [CROSSING_PRIORITY] = {"setpriority", ENOSYS, true},
    [CROSSING_OWNER] = {"fcntl", ENOSYS, true},
    [CROSSING_CLOSE_RANGE] = {"close_range", ENOSYS, true},
    [CROSSING_MEMORY_FILE] = {"memfd_create", ENOSYS, true},
    [CROSSING_PRCTL] = {"prctl", ENOSYS, true},
    [CROSSING_PIDFD] = {"pidfd_open", ENOSYS, true},
    [CROSSING_SPY] = {"process_vm_readv", ENOSYS, false},
    [CROSSING_NAMESPACE] = {"unshare", ENOSYS, true},
    [CROSSING_SECCOMP] = {"seccomp", ENOSYS, true},
    [CROSSING_IO_URING] = {"io_uring_setup", ENOSYS, false},
    [CROSSING_SHARED_MEMORY] = {"shmget", ENOSYS, false},
    [CROSSING_SHARED_PAGES] = {"mmap", ENOSYS, true},
    [CROSSING_MEMORY] = {"mmap", ENOMEM, true}};

/* Of memory, a sanitizer's own is over any limit: it is not read then. */
enum { ATTEMPTS = SANITIZED ? CROSSING_MEMORY : CROSSING_COUNT };

/* A trace whose kernel 'cross' the planted one takes the place of; what its buffer holds then is
 * what the trace says it read. */
static void build_crossing(struct fixture *fixture)
{
    int32_t inside[CROSSING_COUNT];
    const struct trace_semaphore_value done = {2, 1};
    struct trace_builder *b = fixture_start(fixture);
    for (size_t i = 0; i < CROSSING_COUNT; i++)
        inside[i] = outcomes[i].inside;
    builder_buffer_create(b, 1, "outcomes", 4 * CROSSING_COUNT);
    builder_semaphore_create(b, 2, "done", 0);
    fixture_add_kernel(b, 3, "cross",
                       "kernel void cross(device int *out [[buffer(0)]]) { out[0] = 1; }");
    builder_command_buffer_create(b, 4, NULL, 0);
    builder_push_descriptor_set(b, 0, (struct trace_binding[]){{1, 0, 4 * CROSSING_COUNT}}, 1);
    builder_dispatch(b, 3, 0, 1, 1, 1);
    builder_end_commands(b, 4);
    builder_submit(b, 0, 0, NO_VALUES, VALUES(done), IDS(4));
    builder_semaphore_wait(b, 0, &done, 1, INT64_MAX);
    builder_host_read(b, 1, 0, inside, 4 * ATTEMPTS);
    fixture_finish(fixture);
}

/* Without a sandbox all of it succeeds, which shows that these are attempts. */
static void expect_all_succeed(struct fixture *fixture)
{
    char path[PATH_MAX];
    unsigned index;
    int result;
    fixture_write(fixture, "other", "another");
    assert_exit(replay(fixture, "--device=cpu", "--trusted", "--dump=outcomes@#s0=trusted.txt",
                       "--type=i32"),
                1);
    FILE *file = fopen(test_folder_file(&fixture->folder, "trusted.txt", path), "r");
    assert_non_null(file);
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        assert_int_equal(fscanf(file, "%u %d", &index, &result), 2);
        assert_int_equal(index, i);
        if (outcomes[i].possible && result != 0)
            fail_msg("attempt %u (%s) fails by itself: %s", i, outcomes[i].name, strerror(result));
    }
    fclose(file);
    char *const made[] = {"rm", "-r", "crossed", "link", "folder", "second", NULL};
    assert_exit(fixture_run(fixture, "rm", made), 0);
}

static void expect_untouched(struct fixture *fixture, const struct stat *before)
{
    static const char *const never[] = {"crossed", "link", "folder", "again", "second"};
    struct stat now;
    char path[PATH_MAX];
    assert_int_equal(stat(test_folder_file(&fixture->folder, "victim", path), &now), 0);
    assert_int_equal(now.st_mode, before->st_mode);
    assert_int_equal(now.st_mtim.tv_sec, before->st_mtim.tv_sec);
    assert_int_equal(now.st_ctim.tv_sec, before->st_ctim.tv_sec);
    assert_int_equal(now.st_ctim.tv_nsec, before->st_ctim.tv_nsec);
    assert_int_equal(now.st_nlink, before->st_nlink);
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        assert_int_not_equal(lstat(test_folder_file(&fixture->folder, never[i], path), &now), 0);
    assert_int_equal(access(test_folder_file(&fixture->folder, "other", path), F_OK), 0);
}

/* Native code, where its compiled kernel should lie, tries to get out. With every option the same
 * comes of it, and the victim stays as it is. */
TEST_ON(native_kernels_cannot_leave, struct fixture *fixture)
{
    static char *const options[] = {"--repeat=2", "--dump=outcomes@#s0=d.txt", "--record=r.pb.zst",
                                    "--benchmark=0.01", "--isolate"};
    char cache[PATH_MAX], victim[PATH_MAX];
    struct stat before;
    build_crossing(fixture);
    fixture_write(fixture, "victim", "victim");
    fixture_write(fixture, "other", "another");
    assert_int_equal(chmod(test_folder_file(&fixture->folder, "victim", victim), 0600), 0);
    assert_int_equal(stat(victim, &before), 0);
    char *const kept =
        fixture_change_cache(test_folder_file(&fixture->folder, "crossed-cache", cache));
    assert_exit(replay(fixture, "--device=cpu"), 1); /* the compiled one writes a 1 */
    fixture_plant(fixture, "crossed-cache/sandbox/*", CROSSING);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (replay(fixture, "--device=cpu", "--type=i32", options[i]) != 0)
            fail_msg("%s: %s%s", options[i], fixture->out, fixture->err);
        fixture_expect(fixture, fixture->err, "the sandbox refused the system call 'socket'");
        expect_untouched(fixture, &before);
    }
    assert_exit(replay(fixture, "--device=cpu", "--trusted"), 1);
    fixture_plant(fixture, "crossed-cache", CROSSING);
    expect_all_succeed(fixture);
    fixture_restore_cache(kept);
}

static bool take_the_compilers_place(void)
{
    return setenv("HAL_MSL_CLANG", HOSTILE_COMPILER, 1) == 0;
}

/* Whom a source makes to run its code can share no memory, which would stay when it has neither a
 * descriptor nor pages of it. */
TEST_ON(compilers_hold_no_memory_that_is_not_counted, struct fixture *fixture)
{
    char cache[PATH_MAX], refused[128];
    struct trace_builder *b = fixture_start(fixture);
    fixture_add_kernel(b, 3, "k", "kernel void k() {}");
    fixture_finish(fixture);
    char *const kept = fixture_change_cache(test_folder_file(&fixture->folder, "hostile", cache));
    fixture->before_exec = take_the_compilers_place;
    assert_exit(replay(fixture, "--device=cpu"), 4);
    snprintf(refused, sizeof refused, "memory file %d, shared memory %d, large pipe %d", ENOSYS,
             ENOSYS, ENOSYS);
    fixture_expect(fixture, fixture->err, refused);
    fixture->before_exec = NULL;
    fixture_restore_cache(kept);
}

static bool watch_loading(void)
{
    /* A sanitizer wants to be the first. */
    return setenv("LD_PRELOAD", LOAD_ORDER, 1) == 0 &&
           setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1) == 0;
}

static size_t count(const char *text, const char *part)
{
    size_t found = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        found++;
    return found;
}

static char *const modes[] = {"--repeat=1",
                              "--repeat=1",
                              "--benchmark=0.01",
                              "--isolate",
                              "--bisect",
                              "--dump=x@0=x.txt",
                              "--loop=0.d0",
                              "--record=r.pb.zst",
                              "--verify=submissions",
                              "--verify=uninitialised",
                              "--what-if=merge-dispatches",
                              "--compare=k=k.metal"};

/* Neither a second time to find out what hangs, nor where nothing has begun that could: a child
 * that looks again would load the kernels again. */
TEST_ON(one_limit_is_used_up, struct fixture *fixture)
{
    const struct trace_semaphore_value gate = {1, 1}, done = {2, 1};
    build_endless(fixture);
    fixture->before_exec = watch_loading;
    assert_exit(replay(fixture, "--device=cpu", "--timeout=1"), 1);
    fixture_expect(fixture, fixture->err, "no progress for 1.000 s (--timeout)");
    fixture_expect(fixture, fixture->err, "dispatch #s9.d4 of 'endless' does not end");
    assert_int_equal(count(fixture->err, "kernel loaded: locked"), 2);
    struct trace_builder *b = fixture_start(fixture);
    builder_semaphore_create(b, 1, "gate", 0);
    builder_semaphore_create(b, 2, "done", 0);
    fixture_add_kernel(b, 3, "good", "kernel void good() {}");
    builder_command_buffer_create(b, 4, NULL, 0);
    builder_dispatch(b, 3, 0, 1, 1, 1);
    builder_end_commands(b, 4);
    builder_submit(b, 0, 0, VALUES(gate), VALUES(done), IDS(4));
    builder_semaphore_wait(b, 0, &done, 1, INT64_MAX);
    builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, 1, 1, NULL);
    fixture_finish(fixture);
    assert_exit(replay(fixture, "--device=cpu", "--timeout=1"), 1);
    fixture_expect(fixture, fixture->err, "'done' is at 0 and should reach 1 when submission #s0");
    assert_int_equal(count(fixture->err, "kernel loaded: locked"), 1);
    fixture->before_exec = NULL;
}

/* An honest trace, and a source to compare its kernel with. */
static void build_honest(struct fixture *fixture)
{
    struct trace_builder *b = fixture_start(fixture);
    const struct trace_semaphore_value done = {2, 1};
    static const uint32_t one = 1;
    builder_buffer_create(b, 1, "x", 64);
    builder_semaphore_create(b, 2, "done", 0);
    fixture_add_kernel(b, 3, "k", "kernel void k(device int *x [[buffer(0)]]) { x[0] = 1; }");
    builder_command_buffer_create(b, 4, NULL, 0);
    builder_push_descriptor_set(b, 0, (struct trace_binding[]){{1, 0, 64}}, 1);
    builder_dispatch(b, 3, 0, 1, 1, 1);
    builder_end_commands(b, 4);
    builder_submit(b, 0, 0, NO_VALUES, VALUES(done), IDS(4));
    builder_semaphore_wait(b, 0, &done, 1, INT64_MAX);
    builder_host_read(b, 1, 0, &one, 4);
    fixture_finish(fixture);
    fixture_write(fixture, "k.metal", "kernel void k(device int *x [[buffer(0)]]) { *x = 1; }");
}

/* How long the two ways of --compare took is no matter. */
static void expect_same(struct fixture *fixture, char *mode)
{
    const int code = replay(fixture, "--device=cpu", mode);
    if (code != 1 || !strstr(fixture->out, "SLOWER"))
        assert_exit(code, 0);
}

/* As something is loaded, code of its maker's runs. In every mode, whether it had to be compiled or
 * was there. */
TEST_ON(the_sandbox_is_locked_before_kernels_are_loaded, struct fixture *fixture)
{
    char cache[PATH_MAX];
    build_honest(fixture);
    char *const kept = fixture_change_cache(test_folder_file(&fixture->folder, "order", cache));
    fixture->before_exec = watch_loading;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        expect_same(fixture, modes[i]);
        if (!count(fixture->err, "kernel loaded: locked") || count(fixture->err, "loaded: open"))
            fail_msg("%s: %s", modes[i], fixture->err);
    }
    assert_exit(replay(fixture, "--device=cpu", "--trusted"), 0);
    fixture_expect(fixture, fixture->err, "loaded: open"); /* that is how to see it */
    fixture->before_exec = NULL;
    fixture_restore_cache(kept);
}

/* Or the list lacks a need, and results may be others. */
TEST_ON(honest_replays_are_refused_nothing, struct fixture *fixture)
{
    build_honest(fixture);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        expect_same(fixture, modes[i]);
        if (fixture->err[0])
            fail_msg("%s: %s", modes[i], fixture->err);
    }
}

/* A kernel without Landlock. */
static bool take_landlock_away(void)
{
    const int call = seccomp_syscall_resolve_name("landlock_create_ruleset");
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    return filter && seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), call, 0) == 0 &&
           seccomp_load(filter) == 0;
}

TEST_ON(without_walls_is_no_replay, struct fixture *fixture)
{
    every_build(fixture_start(fixture), false);
    fixture_finish(fixture);
    fixture->before_exec = take_landlock_away;
    assert_exit(replay(fixture, "--device=cpu", "--trusted"), 0);
    assert_exit(replay(fixture, "--device=cpu", "--quiet"), 4);
    fixture_expect_one_line(fixture);
    fixture_expect(fixture, fixture->err, "files cannot be protected");
    fixture_expect(fixture, fixture->err, "--trusted");
    assert_exit(replay(fixture, "--device=cpu", "--json"), 4);
    fixture_expect(fixture, fixture->out, "\"exit_code\":4,\"result\":\"error\"");
    fixture->before_exec = NULL;
}
#endif

/* A fresh kernel, and a cache that is to stay as it is. */
TEST_ON(the_shared_cache_is_only_read, struct fixture *fixture)
{
    struct trace_builder *b = fixture_start(fixture);
    char cache[PATH_MAX];
    fixture_add_kernel(b, 3, "fresh", "kernel void fresh() {}");
    fixture_finish(fixture);
    char *const kept = fixture_change_cache(test_folder_file(&fixture->folder, "cache", cache));
    assert_exit(replay(fixture, "--device=cpu"), 5);
    assert_exit(
        fixture_run(fixture, "sh", (char *[]){"sh", "-c", "ls cache/msl | grep '[.]so$'", NULL}),
        1);
    /* What was compiled is kept for this file alone. */
    static const char *const folders =
        "set -- cache/sandbox/*/msl/*.so; echo $# kernels; test \"$#\" = 1 && test -f \"$1\"";
    assert_exit(
        fixture_run(fixture, "sh", (char *[]){"sh", "-c", (char *)(uintptr_t)folders, NULL}), 0);
    assert_exit(replay(fixture, "--device=cpu"), 5);
    assert_exit(
        fixture_run(fixture, "sh", (char *[]){"sh", "-c", (char *)(uintptr_t)folders, NULL}), 0);
    assert_exit(fixture_run(fixture, "cp", (char *[]){"cp", fixture->path, "copy.pb.zst", NULL}),
                0);
    assert_exit(fixture_run(fixture, fixture->program,
                            (char *[]){"hal-replay", "--device=cpu", "copy.pb.zst", NULL}),
                5);
    assert_exit(
        fixture_run(fixture, "sh", (char *[]){"sh", "-c", (char *)(uintptr_t)folders, NULL}), 1);
    fixture_expect(fixture, fixture->out, "2 kernels");
    assert_exit(replay(fixture, "--device=cpu", "--trusted"), 5);
    assert_exit(
        fixture_run(fixture, "sh", (char *[]){"sh", "-c", "ls cache/msl | grep '[.]so$'", NULL}),
        0);
    /* What is in the shared cache now, a third copy compiles no more. */
    assert_exit(fixture_run(fixture, "cp", (char *[]){"cp", fixture->path, "third.pb.zst", NULL}),
                0);
    assert_exit(fixture_run(fixture, fixture->program,
                            (char *[]){"hal-replay", "--device=cpu", "third.pb.zst", NULL}),
                5);
    assert_exit(
        fixture_run(fixture, "sh", (char *[]){"sh", "-c", (char *)(uintptr_t)folders, NULL}), 1);
    fixture_expect(fixture, fixture->out, "2 kernels");
    fixture_restore_cache(kept);
}

TEST_SUITE_FIXTURE(fixture_set_up, fixture_tear_down);
