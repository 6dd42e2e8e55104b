/* SPDX-License-Identifier: Apache-2.0 */
/* The program hal-replay: exit status, complaints, JSON, and what it ignores. */
#include "hal/base/os.h"
#include "tests/support/folder.h"
#include "tests/support/replay_trace.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#if defined(CROSSING)
#include <errno.h>
#include <glob.h>
#include <seccomp.h>
#endif

#include <cmocka.h>

struct fixture {
    struct test_folder folder;
    char program[PATH_MAX];
    char path[PATH_MAX]; /* the trace */
    char out[16384], err[16384];
    struct trace_builder b;
};

static struct trace_builder *start(struct fixture *fixture)
{
    builder_open(&fixture->b, test_folder_file(&fixture->folder, "t.pb.zst", fixture->path), NULL);
    return &fixture->b;
}

static void finish(struct fixture *fixture)
{
    if (builder_close(&fixture->b, NULL) != HAL_OK)
        fail_msg("%s", hal_message());
}

static void read_text(const char *path, char *out, size_t bytes)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    out[fread(out, 1, bytes - 1, file)] = '\0';
    fclose(file);
}

/* So that nothing new lies there unseen. */
static size_t count_files(const char *path)
{
    size_t count = 0;
    DIR *folder = opendir(path);
    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static void redirect(const char *path, int descriptor)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || dup2(file, descriptor) < 0)
        _exit(126);
}

/* Runs the program, or another one, in the folder; its exit status. */
static int run_program(struct fixture *fixture, const char *program, char *const *arguments)
{
    char out[PATH_MAX], err[PATH_MAX];
    int status;
    test_folder_file(&fixture->folder, "out", out);
    test_folder_file(&fixture->folder, "err", err);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        redirect(out, STDOUT_FILENO);
        redirect(err, STDERR_FILENO);
        if (chdir(fixture->folder.path) != 0)
            _exit(126);
        execvp(program, arguments);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    read_text(out, fixture->out, sizeof fixture->out);
    read_text(err, fixture->err, sizeof fixture->err);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#define replay(fixture, ...)                                                                       \
    run_program(fixture, (fixture)->program,                                                       \
                (char *[]){"hal-replay", __VA_ARGS__, (fixture)->path, NULL})

/* With what the program said. */
#define assert_exit(actual, expected)                                                              \
    do {                                                                                           \
        const int status_of_it = (actual);                                                         \
        if (status_of_it != (expected))                                                            \
            fail_msg("exit status %d, not %d:\n%s%s", status_of_it, expected, fixture->out,        \
                     fixture->err);                                                                \
    } while (0)

static void expect(const struct fixture *fixture, const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in the output:\n%s%s", part, fixture->out, fixture->err);
}

static void expect_one_line(const struct fixture *fixture)
{
    const char *end = strchr(fixture->err, '\n');
    if (!end || end[1] || strncmp(fixture->err, "hal-replay: ", 12) != 0)
        fail_msg("no single complaint: '%s'", fixture->err);
}

/* ---- Verdicts ------------------------------------------------------------------------------- */

static void a_good_trace_is_the_same(void **state)
{
    struct fixture *fixture = *state;
    every_build(start(fixture), false);
    finish(fixture);
    assert_exit(replay(fixture, "--device=cpu"), 0);
    expect(fixture, fixture->out, "same: 2 read-backs compared (104 bytes), 0 different");
    expect(fixture, fixture->out, "'/usr/bin/builder' recorded on cpu?threads=2&queues=2");
    expect(fixture, fixture->out, "2 submissions of 2 command buffers with 12 commands");
    assert_string_equal(fixture->err, "");
    assert_exit(replay(fixture, "--quiet"), 0);
    assert_string_equal(fixture->out, "");
    assert_exit(replay(fixture, "--repeat=3"), 0);
    expect(fixture, fixture->out, "time of 3 runs: min ");
}

static void a_wrong_byte_is_a_difference(void **state)
{
    struct fixture *fixture = *state;
    struct trace_builder *b = start(fixture);
    const struct trace_semaphore_value one = {2, 1};
    builder_buffer_create(b, 1, "result", 64);
    builder_semaphore_create(b, 2, NULL, 0);
    builder_command_buffer_create(b, 3, NULL, 0);
    builder_fill(b, 1, 0, 64, 0x3f800000, 4);
    builder_seal(b, 3);
    builder_submit(b, 12, 0, NULL, 0, &one, 1, (uint64_t[]){3}, 1);
    builder_semaphore_wait(b, 0, &one, 1, INT64_MAX);
    builder_host_read(b, 1, 8, "\0\0\x80\x3f\0\0\x80\x40", 8);
    finish(fixture);
    assert_exit(replay(fixture, "--device=cpu"), 1);
    expect(fixture, fixture->out, "DIFFERENT: 1 read-backs compared (8 bytes), 1 different");
    expect(fixture, fixture->out, "first difference: #s12: buffer 'result', offset 15: 1 of the 8");
    expect(fixture, fixture->out, "as f32: expected 4, got 1");
    expect(fixture, fixture->out, "last written by #s12, fill, segment 0");
    assert_exit(replay(fixture, "--quiet"), 1);
    expect(fixture, fixture->out, "'result'");
    assert_exit(replay(fixture, "--json"), 1);
    expect(fixture, fixture->out, "\"result\":\"different\"");
    expect(fixture, fixture->out, "\"offset\":15");
}

/* Fills 16 floats of 1, of which the program is to have read `read`. */
static void trace_of_ones(struct fixture *fixture, const float read[16])
{
    struct trace_builder *b = start(fixture);
    const struct trace_semaphore_value one = {2, 1};
    builder_buffer_create(b, 1, "result", 64);
    builder_semaphore_create(b, 2, NULL, 0);
    builder_command_buffer_create(b, 3, NULL, 0);
    builder_fill(b, 1, 0, 64, 0x3f800000, 4);
    builder_seal(b, 3);
    builder_submit(b, 12, 0, NULL, 0, &one, 1, (uint64_t[]){3}, 1);
    builder_semaphore_wait(b, 0, &one, 1, INT64_MAX);
    builder_host_read(b, 1, 0, read, 64);
    finish(fixture);
}

static void a_tolerance_lets_small_errors_pass(void **state)
{
    struct fixture *fixture = *state;
    float read[16];
    for (int i = 0; i < 16; i++)
        read[i] = 1;
    read[3] = 0x1.000004p0f; /* two above 1 */
    read[9] = 1.25f;
    trace_of_ones(fixture, read);
    assert_exit(replay(fixture, "--device=cpu"), 1);
    assert_exit(replay(fixture, "--tolerance=abs:0.25", "--type=res*:f32"), 0);
    expect(fixture, fixture->out,
           "errors: 0 elements wrong, 2 other within the tolerance; largest "
           "0.25, relative 0.2, 2097152 ulp; expected 1.25, got 1 (f32) in "
           "buffer 'result', offset 36");
    assert_exit(replay(fixture, "--tolerance=ulp:2,abs:0.2", "--type=#1:f32"), 1);
    expect(fixture, fixture->out, "buffer 'result', offset 36");
    expect(fixture, fixture->out, "as f32: expected 1.25, got 1; 1 of 16 elements are wrong");
    assert_exit(replay(fixture, "--tolerance=rel:0.19", "--type=other:f64", "--type=f32"), 1);
    assert_exit(replay(fixture, "--tolerance=rel:0.2", "--type=f32", "--json"), 0);
    expect(fixture, fixture->out,
           "\"errors\":{\"type\":\"f32\",\"guessed\":false,\"wrong\":0,"
           "\"within_tolerance\":2,");
    /* As bytes of integers the errors are others. */
    assert_exit(replay(fixture, "--tolerance=abs:0.25", "--type=u8"), 1);
}

static void a_nan_is_no_number(void **state)
{
    struct fixture *fixture = *state;
    const uint32_t nan_bits = 0x7fc00000;
    float read[16];
    for (int i = 0; i < 16; i++)
        read[i] = 1;
    memcpy(&read[15], &nan_bits, sizeof nan_bits);
    trace_of_ones(fixture, read);
    assert_exit(replay(fixture, "--tolerance=abs:1e9", "--type=f32"), 1);
    expect(fixture, fixture->out,
           "NaN: 1 expected, 0 got; where (e: only expected, a: only got, b: "
           "both): [............................................................"
           "e...]");
}

static void without_reads_nothing_is_proved(void **state)
{
    struct fixture *fixture = *state;
    struct trace_builder *b = start(fixture);
    builder_buffer_create(b, 1, NULL, 64);
    finish(fixture);
    assert_exit(replay(fixture, "--device=cpu"), 5);
    expect(fixture, fixture->out, "nothing could be compared: 0 read-backs compared");
    b = start(fixture);
    builder_buffer_create(b, 1, NULL, 2);
    builder_host_write(b, 1, 0, "ab", 2);
    builder_host_read(b, 1, 0, "ab", 2);
    builder_host_read(b, 1, 0, NULL, 2);
    finish(fixture);
    assert_exit(replay(fixture, "--device=cpu"), 5);
    expect(fixture, fixture->out, "same as far as it could be compared: 1 read-backs compared");
    expect(fixture, fixture->out, "1 not recorded");
}

static void a_truncated_trace_says_so(void **state)
{
    struct fixture *fixture = *state;
    struct stat status;
    struct trace_builder *b = start(fixture);
    builder_buffer_create(b, 1, NULL, 2);
    builder_host_write(b, 1, 0, "ab", 2);
    builder_host_read(b, 1, 0, "ab", 2);
    builder_flush(b);
    assert_int_equal(stat(fixture->path, &status), 0);
    builder_host_read(b, 1, 1, "b", 1);
    finish(fixture);
    assert_int_equal(truncate(fixture->path, status.st_size + 1), 0);
    assert_exit(replay(fixture, "--device=cpu"), 5);
    expect(fixture, fixture->out, "incomplete: ");
    expect(fixture, fixture->out, "1 read-backs compared (2 bytes)");
    assert_exit(replay(fixture, "--json"), 5);
    expect(fixture, fixture->out, "\"complete\":false");
}

static void hanging_work_is_given_up(void **state)
{
    struct fixture *fixture = *state;
    struct trace_builder *b = start(fixture);
    const struct trace_semaphore_value gate = {1, 1}, done = {2, 1};
    builder_semaphore_create(b, 1, "gate", 0);
    builder_semaphore_create(b, 2, "done", 0);
    builder_submit(b, 4, 0, &gate, 1, &done, 1, NULL, 0);
    builder_semaphore_wait(b, 0, &done, 1, INT64_MAX);
    builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, 1, 1, NULL);
    finish(fixture);
    assert_exit(replay(fixture, "--timeout=0.05"), 1);
    expect_one_line(fixture);
    expect(fixture, fixture->err, "semaphore 'done' is at 0 and should reach 1");
    expect(fixture, fixture->err, "#s4");
}

static void add_kernel(struct trace_builder *b, uint64_t id, const char *name, const char *source)
{
    const struct trace_entry_point point = {.name = builder_string(b, name),
                                            .group_size = {1, 1, 1}};
    builder_executable_create(b, id, NULL, source, &point, 1, NULL, 0);
}

/* The second dispatch of the second command buffer waits for a value that nobody writes. */
static void a_kernel_that_hangs_is_named(void **state)
{
    struct fixture *fixture = *state;
    struct trace_builder *b = start(fixture);
    const struct trace_semaphore_value done = {2, 1};
    builder_buffer_create(b, 1, "word", 64);
    builder_semaphore_create(b, 2, "done", 0);
    add_kernel(b, 3, "good", "kernel void good(device uint *w [[buffer(0)]]) { w[1] = 1; }");
    add_kernel(b, 4, "endless",
               "kernel void endless(device volatile uint *w [[buffer(0)]])\n"
               "{ while (w[0] != 77) w[2] = w[0]; }");
    for (uint64_t commands = 5; commands <= 6; commands++) {
        builder_command_buffer_create(b, commands, NULL, 0);
        builder_push_descriptor_set(b, 0, (struct trace_binding[]){{1, 0, 64}}, 1);
        builder_dispatch(b, 3, 0, 1, 1, 1);
        builder_dispatch(b, commands == 6 ? 4 : 3, 0, 1, 1, 1);
        builder_dispatch(b, 3, 0, 1, 1, 1);
        builder_seal(b, commands);
    }
    builder_submit(b, 9, 0, NULL, 0, &done, 1, (uint64_t[]){5, 6}, 2);
    builder_semaphore_wait(b, 0, &done, 1, INT64_MAX);
    finish(fixture);
    for (int trusted = 0; trusted < 2; trusted++) {
        assert_exit(
            replay(fixture, "--device=cpu", "--timeout=0.5", trusted ? "--trusted" : "--quiet"), 1);
        expect_one_line(fixture);
        expect(fixture, fixture->err, "dispatch #s9.d4 of 'endless' does not end");
    }
}

/* What would put a file's bytes into a kernel. */
static void kernels_cannot_read_files(void **state)
{
    struct fixture *fixture = *state;
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
        struct trace_builder *b = start(fixture);
        add_kernel(b, 3, "k", sources[i]);
        finish(fixture);
        if (replay(fixture, "--device=cpu") != 4)
            fail_msg("taken: %s\n%s%s", sources[i], fixture->out, fixture->err);
        assert_null(strstr(fixture->err, "root:"));
    }
}

#if defined(CROSSING)
static void read_bytes(const char *path, uint8_t **out_data, size_t *out_bytes)
{
    struct stat facts;
    FILE *file = fopen(path, "rb");
    assert_true(file && fstat(fileno(file), &facts) == 0);
    *out_bytes = (size_t)facts.st_size;
    *out_data = malloc(*out_bytes);
    assert_non_null(*out_data);
    assert_int_equal(fread(*out_data, 1, *out_bytes, file), *out_bytes);
    fclose(file);
}

/* Its own code in the place of the one compiled kernel in the folder. An entry of the cache ends in
 * its key, the SHA-256 of what comes before, and 16 bytes that are always the same. */
static void plant(struct fixture *fixture, const char *folder)
{
    enum { KEY = 32, MAGIC = 16, TRAILER = 2 * KEY + MAGIC };
    char pattern[2 * PATH_MAX];
    glob_t found;
    uint8_t *old, *planted, sum[KEY];
    size_t old_bytes, bytes;
    snprintf(pattern, sizeof pattern, "%s/%s/msl/*.so", fixture->folder.path, folder);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    read_bytes(found.gl_pathv[0], &old, &old_bytes);
    read_bytes(CROSSING, &planted, &bytes);
    assert_true(old_bytes > TRAILER && trace_sha256(planted, bytes, sum) == HAL_OK);
    FILE *file = fopen(found.gl_pathv[0], "wb");
    assert_non_null(file);
    const uint8_t *const trailer = old + old_bytes - TRAILER;
    assert_int_equal(fwrite(planted, 1, bytes, file) + fwrite(trailer, 1, KEY, file) +
                         fwrite(sum, 1, KEY, file) +
                         fwrite(trailer + TRAILER - MAGIC, 1, MAGIC, file),
                     bytes + TRAILER);
    assert_int_equal(fclose(file), 0);
    free(old);
    free(planted);
    globfree(&found);
}

/* Native code, where its compiled kernel should lie, tries to get out of the jail; what comes of
 * that is in its buffer, which the trace says is: stopped. Without walls all of it succeeds. */
static void native_kernels_cannot_leave(void **state)
{
    static const int32_t stopped[8] = {4711, ENOSYS, ENOSYS, EACCES, EPERM, EPERM, EPERM, EPERM};
    struct fixture *fixture = *state;
    struct trace_builder *b = start(fixture);
    const struct trace_semaphore_value done = {2, 1};
    char cache[PATH_MAX];
    builder_buffer_create(b, 1, "outcomes", 64);
    builder_semaphore_create(b, 2, "done", 0);
    add_kernel(b, 3, "cross", "kernel void cross(device int *out [[buffer(0)]]) { out[0] = 1; }");
    builder_command_buffer_create(b, 4, NULL, 0);
    builder_push_descriptor_set(b, 0, (struct trace_binding[]){{1, 0, 64}}, 1);
    builder_dispatch(b, 3, 0, 1, 1, 1);
    builder_seal(b, 4);
    builder_submit(b, 0, 0, NULL, 0, &done, 1, (uint64_t[]){4}, 1);
    builder_semaphore_wait(b, 0, &done, 1, INT64_MAX);
    builder_host_read(b, 1, 0, stopped, sizeof stopped);
    finish(fixture);
    const char *const before = getenv("HAL_CACHE_DIR");
    char *const kept = before ? strdup(before) : NULL;
    setenv("HAL_CACHE_DIR", test_folder_file(&fixture->folder, "crossed-cache", cache), 1);
    assert_exit(replay(fixture, "--device=cpu"), 1); /* the compiled one writes a 1 */
    plant(fixture, "crossed-cache/jail/*");
    if (replay(fixture, "--device=cpu", "--type=i32") != 0)
        fail_msg("%s%s", fixture->out, fixture->err);
    assert_exit(replay(fixture, "--device=cpu", "--trusted"), 1);
    plant(fixture, "crossed-cache");
    assert_exit(replay(fixture, "--device=cpu", "--trusted", "--dump=outcomes@#s0=trusted.txt",
                       "--type=i32"),
                1);
    assert_exit(
        run_program(fixture, "sh",
                    (char *[]){"sh", "-c",
                               "test \"$(head -8 trusted.txt | cut -d' ' -f2 | tr '\\n' ' ')\" = "
                               "'4711 0 0 0 0 0 0 0 ' && test -f crossed && rm crossed",
                               NULL}),
        0);
    assert_exit(replay(fixture, "--device=cpu"), 0);
    test_folder_file(&fixture->folder, "crossed", cache);
    assert_int_not_equal(access(cache, F_OK), 0);
    if (kept)
        setenv("HAL_CACHE_DIR", kept, 1);
    else
        unsetenv("HAL_CACHE_DIR");
    free(kept);
}

/* A kernel without Landlock. */
static int run_without_landlock(struct fixture *fixture, const char *option)
{
    char out[PATH_MAX], err[PATH_MAX];
    int status;
    test_folder_file(&fixture->folder, "out", out);
    test_folder_file(&fixture->folder, "err", err);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
        redirect(out, STDOUT_FILENO);
        redirect(err, STDERR_FILENO);
        if (!filter ||
            seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS),
                             seccomp_syscall_resolve_name("landlock_create_ruleset"), 0) != 0 ||
            seccomp_load(filter) != 0 || chdir(fixture->folder.path) != 0)
            _exit(126);
        execl(fixture->program, "hal-replay", "--device=cpu", option, fixture->path, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    read_text(out, fixture->out, sizeof fixture->out);
    read_text(err, fixture->err, sizeof fixture->err);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void without_walls_is_no_replay(void **state)
{
    struct fixture *fixture = *state;
    every_build(start(fixture), false);
    finish(fixture);
    assert_int_equal(run_without_landlock(fixture, "--trusted"), 0);
    assert_int_equal(run_without_landlock(fixture, "--quiet"), 4);
    expect_one_line(fixture);
    expect(fixture, fixture->err, "no wall around files");
    expect(fixture, fixture->err, "--trusted");
    assert_int_equal(run_without_landlock(fixture, "--json"), 4);
    expect(fixture, fixture->out, "\"exit_code\":4,\"result\":\"error\"");
}
#endif

/* A fresh kernel, and a cache that is to stay as it is. */
static void the_shared_cache_is_only_read(void **state)
{
    struct fixture *fixture = *state;
    struct trace_builder *b = start(fixture);
    char cache[PATH_MAX];
    add_kernel(b, 3, "fresh", "kernel void fresh() {}");
    finish(fixture);
    const char *const before = getenv("HAL_CACHE_DIR");
    char *const kept = before ? strdup(before) : NULL;
    test_folder_file(&fixture->folder, "cache", cache);
    setenv("HAL_CACHE_DIR", cache, 1);
    assert_exit(replay(fixture, "--device=cpu"), 5);
    assert_exit(
        run_program(fixture, "sh", (char *[]){"sh", "-c", "ls cache/msl | grep '[.]so$'", NULL}),
        1);
    /* What was compiled is kept for this file alone. */
    static const char *const folders =
        "set -- cache/jail/*/msl/*.so; echo $# kernels; test \"$#\" = 1 && test -f \"$1\"";
    assert_exit(
        run_program(fixture, "sh", (char *[]){"sh", "-c", (char *)(uintptr_t)folders, NULL}), 0);
    assert_exit(replay(fixture, "--device=cpu"), 5);
    assert_exit(
        run_program(fixture, "sh", (char *[]){"sh", "-c", (char *)(uintptr_t)folders, NULL}), 0);
    assert_exit(run_program(fixture, "cp", (char *[]){"cp", fixture->path, "copy.pb.zst", NULL}),
                0);
    assert_exit(run_program(fixture, fixture->program,
                            (char *[]){"hal-replay", "--device=cpu", "copy.pb.zst", NULL}),
                5);
    assert_exit(
        run_program(fixture, "sh", (char *[]){"sh", "-c", (char *)(uintptr_t)folders, NULL}), 1);
    expect(fixture, fixture->out, "2 kernels");
    assert_exit(replay(fixture, "--device=cpu", "--trusted"), 5);
    assert_exit(
        run_program(fixture, "sh", (char *[]){"sh", "-c", "ls cache/msl | grep '[.]so$'", NULL}),
        0);
    /* What is in the shared cache now, a third copy compiles no more. */
    assert_exit(run_program(fixture, "cp", (char *[]){"cp", fixture->path, "third.pb.zst", NULL}),
                0);
    assert_exit(run_program(fixture, fixture->program,
                            (char *[]){"hal-replay", "--device=cpu", "third.pb.zst", NULL}),
                5);
    assert_exit(
        run_program(fixture, "sh", (char *[]){"sh", "-c", (char *)(uintptr_t)folders, NULL}), 1);
    expect(fixture, fixture->out, "2 kernels");
    if (kept)
        setenv("HAL_CACHE_DIR", kept, 1);
    else
        unsetenv("HAL_CACHE_DIR");
    free(kept);
}

static void a_self_test_passes(void **state)
{
    struct fixture *fixture = *state;
    char *const arguments[] = {"hal-replay", "--selftest", NULL};
    assert_exit(run_program(fixture, fixture->program, arguments), 0);
    expect(fixture, fixture->out, "ok       what was captured replays the same: 1 read-backs");
    expect(fixture, fixture->out, "ok       changed: one byte of an input: ");
    expect(fixture, fixture->out, "ok       changed: one command: ");
    expect(fixture, fixture->out, "ok       changed: one barrier: ");
    expect(fixture, fixture->out, "ok       changed: one byte of the file: 16 of 16");
    every_build(start(fixture), false);
    finish(fixture);
    assert_exit(replay(fixture, "--selftest"), 2);
}

static void all_of_it_has_a_time_limit(void **state)
{
    struct fixture *fixture = *state;
    every_build(start(fixture), false);
    finish(fixture);
    assert_exit(replay(fixture, "--device=cpu", "--repeat=1000000", "--time-limit=0.2", "--json"),
                1);
    expect(fixture, fixture->err, "took longer than its limit of 0.2 s");
    expect(fixture, fixture->out, "\"result\":\"error\"");
}

/* ---- Bad input ------------------------------------------------------------------------------ */

static void unreadable_traces_are_named(void **state)
{
    struct fixture *fixture = *state;
    test_folder_file(&fixture->folder, "missing.pb.zst", fixture->path);
    assert_exit(replay(fixture, "--device=cpu"), 3);
    expect_one_line(fixture);
    expect(fixture, fixture->err, "missing.pb.zst");
    assert_exit(replay(fixture, "--json"), 3);
    expect_one_line(fixture);
    expect(fixture, fixture->out, "\"exit_code\":3,\"result\":\"error\"");
    struct trace_builder *b = start(fixture);
    builder_host_read(b, 77, 0, "x", 1);
    finish(fixture);
    assert_exit(replay(fixture, "--device=cpu"), 3);
    expect_one_line(fixture);
    expect(fixture, fixture->err, "t.pb.zst': host_read (ticket 1): buffer 77 does not exist");
}

static void impossible_devices_are_named(void **state)
{
    struct fixture *fixture = *state;
    every_build(start(fixture), false);
    finish(fixture);
    assert_exit(replay(fixture, "--device=abacus"), 4);
    expect_one_line(fixture);
    expect(fixture, fixture->err, "abacus");
    struct trace_header header = builder_default_header();
    header.device.uri = "abacus?beads=10";
    builder_open(&fixture->b, fixture->path, &header);
    every_build(&fixture->b, false);
    finish(fixture);
    assert_exit(replay(fixture, "--quiet"), 4);
    expect(fixture, fixture->err, "the recorded device (--device chooses another): ");
    assert_int_equal(setenv("HAL_DEVICE", "cpu", 1), 0);
    assert_exit(replay(fixture, "--quiet"), 0);
    assert_int_equal(unsetenv("HAL_DEVICE"), 0);
    assert_exit(replay(fixture, "--memory-limit=100"), 4);
    expect(fixture, fixture->err, "memory limit of 100 bytes");
}

static void wrong_usage_is_explained(void **state)
{
    struct fixture *fixture = *state;
    char *const wrong[][2] = {
        {"--repeat=0", "1 to 1000000"},
        {"--repeat=-1", "1 to 1000000"},
        {"--repeat=two", "--repeat=two"},
        {"--timeout=never", "--timeout=never"},
        {"--timeout=0", "0.001"},
        {"--fill=256", "0 to 255"},
        {"--memory-limit=1X", "512M"},
        {"--memory-limit=0", "512M"},
        {"--memory-limit=99999999999999T", "512M"},
        {"--no-such-option", "no-such-option"},
        {"other.pb.zst", "one trace"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (replay(fixture, wrong[i][0]) != 2)
            fail_msg("%s was taken", wrong[i][0]);
        expect_one_line(fixture);
        expect(fixture, fixture->err, wrong[i][1]);
    }
    assert_exit(run_program(fixture, fixture->program, (char *[]){"hal-replay", NULL}), 2);
    expect_one_line(fixture);
    assert_exit(replay(fixture, "--help"), 0);
    expect(fixture, fixture->out, "usage: hal-replay");
    assert_exit(replay(fixture, "--version"), 0);
    expect(fixture, fixture->out, "hal-replay 0.");
}

/* ---- Machines ------------------------------------------------------------------------------- */

static void json_is_json(void **state)
{
    struct fixture *fixture = *state;
    char out[PATH_MAX];
    every_build(start(fixture), false);
    finish(fixture);
    assert_exit(replay(fixture, "--json", "--repeat=2"), 0);
    expect(fixture, fixture->out, "\"reads\":{\"compared\":2,\"compared_bytes\":104,");
    expect(fixture, fixture->out, "\"runs\":2,\"different_runs\":0");
    expect(fixture, fixture->out, "\"first_difference\":null");
    test_folder_file(&fixture->folder, "kept.json", out);
    FILE *file = fopen(out, "w");
    assert_non_null(file);
    fputs(fixture->out, file);
    fclose(file);
    const int status =
        run_program(fixture, "python3", (char *[]){"python3", "-m", "json.tool", out, NULL});
    if (status == 127)
        print_message("python3 is not there: the JSON was not parsed\n");
    else
        assert_int_equal(status, 0);
}

/* Values with which a capture begins, or fails, when they are heard; the names are those that
 * docs/env.md lists for captures. */
static void a_replay_is_not_captured_by_accident(void **state)
{
    static const char *const heard[][2] = {
        {"MODE", "queue"},       {"MODE", "nonsense"},   {"FILE", "captured"},
        {"FORCE", "nonsense"},   {"STACKS", "nonsense"}, {"CONTENTS", "nonsense"},
        {"OUTPUTS", "nonsense"}, {"FILES", "nonsense"},  {"BUDGET", "nonsense"},
        {"WINDOW", "#s0.."},     {"SCOPE", "nobody"},    {"GROUP", "nobody"},
        {"LAST", "5s"},          {"RUN", "captured"}};
    struct fixture *fixture = *state;
    every_build(start(fixture), false);
    finish(fixture);
    for (size_t i = 0; i < sizeof heard / sizeof *heard; i++) {
        char name[64], capture[PATH_MAX];
        snprintf(name, sizeof name, "HAL_DEVICE_PROFILING_%s", heard[i][0]);
        assert_int_equal(setenv(name, heard[i][1], 1), 0);
        for (int trusted = 0; trusted < 2; trusted++) {
            const size_t files = count_files(fixture->folder.path);
            const int status = trusted ? replay(fixture, "--device=cpu", "--trusted", "--quiet")
                                       : replay(fixture, "--device=cpu", "--quiet");
            if (status != 0 || fixture->out[0] || fixture->err[0])
                fail_msg("%s=%s: status %d\n%s%s", name, heard[i][1], status, fixture->out,
                         fixture->err);
            assert_int_equal(count_files(fixture->folder.path), files);
        }
        assert_int_not_equal(access(test_folder_file(&fixture->folder, "captured", capture), F_OK),
                             0);
        unsetenv(name);
    }
}

static int set_up(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    unsetenv("HAL_DEVICE");
    char self[PATH_MAX];
    if (!test_folder_make(&fixture.folder) || hal_program_path(self, sizeof self) != HAL_OK)
        return -1;
    *strrchr(self, '/') = '\0'; /* .../tests */
    *strrchr(self, '/') = '\0';
    return snprintf(fixture.program, sizeof fixture.program, "%s/bin/hal-replay", self) < PATH_MAX
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    test_folder_remove(&((struct fixture *)*state)->folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_trace_is_the_same),
        cmocka_unit_test(a_wrong_byte_is_a_difference),
        cmocka_unit_test(a_tolerance_lets_small_errors_pass),
        cmocka_unit_test(a_nan_is_no_number),
        cmocka_unit_test(without_reads_nothing_is_proved),
        cmocka_unit_test(a_truncated_trace_says_so),
        cmocka_unit_test(hanging_work_is_given_up),
        cmocka_unit_test(a_kernel_that_hangs_is_named),
        cmocka_unit_test(kernels_cannot_read_files),
        cmocka_unit_test(the_shared_cache_is_only_read),
        cmocka_unit_test(a_self_test_passes),
        cmocka_unit_test(all_of_it_has_a_time_limit),
        cmocka_unit_test(unreadable_traces_are_named),
        cmocka_unit_test(impossible_devices_are_named),
        cmocka_unit_test(wrong_usage_is_explained),
        cmocka_unit_test(json_is_json),
#if defined(CROSSING)
        cmocka_unit_test(native_kernels_cannot_leave),
        cmocka_unit_test(without_walls_is_no_replay),
#endif
        cmocka_unit_test(a_replay_is_not_captured_by_accident),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
