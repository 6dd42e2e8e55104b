/* SPDX-License-Identifier: Apache-2.0 */
/* bench-capture: what being captured costs a program. Workload a: one submission of 100,000 tiny
 * commands and as many barriers; b: 10,000 submissions of 5 and 5 that follow each other on one
 * timeline semaphore. A call is one command or one barrier. Plain and captured runs take turns on
 * one device; a run records, submits and waits. Beginning and ending a capture are not part of a
 * run, except where the row says "until the file is closed".
 *
 * decode: the program, which waits for each token, from its start to its end, plain and with the
 * environment that hal-capture sets; and of that, the loop over the tokens. */
#include "format/trace.h"
#include "hal/base/os.h"
#include "hal/hal.h"
#include "tests/bench/bench.h"
#include "tests/support/folder.h"

#include <math.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

enum { REPEATS = 21, A_PAIRS = 100000, B_SUBMISSIONS = 10000, B_PAIRS = 5, FILL_BYTES = 64 };

struct workload {
    const char *name;
    uint64_t submissions;
    uint64_t pairs; /* a command and a barrier, in each submission */
    double target_ns;
};

static double ns_since(int64_t begin_ns)
{
    return (double)(hal_clock_ns() - begin_ns);
}

static void record(struct hal_command_buffer *commands, struct hal_buffer *buffer, uint64_t pairs)
{
    for (uint64_t i = 0; i < pairs; i++) {
        bench_try(hal_command_fill(commands, buffer, 0, FILL_BYTES, (uint32_t)i, 4));
        bench_try(hal_command_barrier(commands, NULL));
    }
    bench_try(hal_command_buffer_end(commands));
}

static void submit(struct hal_device *device, struct hal_buffer *buffer,
                   struct hal_semaphore *semaphore, uint64_t number, uint64_t pairs)
{
    struct hal_command_buffer *commands;
    const struct hal_semaphore_value wait = {semaphore, number}, signal = {semaphore, number + 1};
    bench_try(hal_command_buffer_create(device, NULL, &commands));
    record(commands, buffer, pairs);
    bench_try(hal_queue_submit(device, &(struct hal_submit_desc){.waits = &wait,
                                                                 .wait_count = 1,
                                                                 .signals = &signal,
                                                                 .signal_count = 1,
                                                                 .commands = &commands,
                                                                 .command_count = 1}));
    hal_command_buffer_release(commands);
}

static double run(struct hal_device *device, const struct workload *workload)
{
    struct hal_buffer *buffer;
    struct hal_semaphore *semaphore;
    bench_try(hal_buffer_create(device, &(struct hal_buffer_desc){.bytes = FILL_BYTES}, &buffer));
    bench_try(hal_semaphore_create(device, NULL, 0, &semaphore));
    const int64_t begin_ns = hal_clock_ns();
    for (uint64_t i = 0; i < workload->submissions; i++)
        submit(device, buffer, semaphore, i, workload->pairs);
    bench_try(hal_semaphore_wait(semaphore, workload->submissions, HAL_FOREVER));
    const double ns = ns_since(begin_ns);
    hal_semaphore_release(semaphore);
    hal_buffer_release(buffer);
    return ns;
}

struct captured_run {
    double run_ns, closed_ns, begin_ns;
    double bytes, stalls, overhead_ns;
};

static struct captured_run run_captured(struct hal_device *device, const struct workload *workload,
                                        const char *path)
{
    struct captured_run result;
    struct trace_reader *reader;
    const struct hal_profiling_options options = {.file = path, .force = true};
    int64_t begin_ns = hal_clock_ns();
    bench_try(hal_device_profiling_begin(device, &options, HAL_FOREVER));
    result.begin_ns = ns_since(begin_ns);
    begin_ns = hal_clock_ns();
    result.run_ns = run(device, workload);
    bench_try(hal_device_profiling_end(device));
    result.closed_ns = ns_since(begin_ns);

    bench_try(trace_reader_open(path, &reader));
    const struct trace_counts *counts = trace_reader_counts(reader);
    const struct trace_health *health = trace_reader_health(reader);
    if (counts->segments != workload->submissions * workload->pairs * 2 || health->status)
        bench_die("not everything was captured");
    result.bytes = (double)counts->file_bytes;
    result.stalls = (double)health->ring_stalls;
    result.overhead_ns = (double)health->overhead_ns;
    trace_reader_close(reader);
    return result;
}

static void row(struct bench *bench, const struct workload *workload, const char *what,
                double *values, const char *unit, double target)
{
    char name[64];
    snprintf(name, sizeof name, "%s: %s", workload->name, what);
    bench_row(bench, name, bench_median(values, REPEATS), unit, BENCH_LOWER, target);
}

static void compare(struct bench *bench, struct hal_device *device, const char *path,
                    const struct workload *workload)
{
    double plain[REPEATS], cost[REPEATS], own[REPEATS], ratio[REPEATS], closed[REPEATS];
    double bytes[REPEATS], stalls[REPEATS], begin[REPEATS];
    const double calls = (double)(workload->submissions * workload->pairs * 2);
    for (int i = -1; i < REPEATS; i++) { /* -1 warms up */
        const double plain_ns = run(device, workload);
        const struct captured_run captured = run_captured(device, workload, path);
        if (i < 0)
            continue;
        plain[i] = plain_ns / calls;
        cost[i] = (captured.run_ns - plain_ns) / calls;
        own[i] = captured.overhead_ns / calls;
        ratio[i] = captured.run_ns / plain_ns;
        closed[i] = captured.closed_ns / plain_ns;
        bytes[i] = captured.bytes / calls;
        stalls[i] = captured.stalls;
        begin[i] = captured.begin_ns / 1e6;
    }
    row(bench, workload, "plain run", plain, "ns/call", NAN);
    row(bench, workload, "cost of being captured", cost, "ns/call", workload->target_ns);
    row(bench, workload, "of which the trace says itself", own, "ns/call", NAN);
    row(bench, workload, "captured / plain", ratio, "", NAN);
    row(bench, workload, "captured / plain, until the file is closed", closed, "", NAN);
    row(bench, workload, "file", bytes, "bytes/call", NAN);
    row(bench, workload, "times that a thread waited for the writer", stalls, "", NAN);
    row(bench, workload, "beginning a capture", begin, "ms", NAN);
}

/* ---- decode ------------------------------------------------------------------------------- */

enum { DECODE_REPEATS = 15 };

struct decode_run {
    double program_s, loop_s;
};

/* Reads what decode says about its loop: "...: 0.123 s, ...". */
static double read_loop_s(int descriptor)
{
    char text[1024];
    size_t bytes = 0;
    for (ssize_t got; bytes + 1 < sizeof text &&
                      (got = read(descriptor, text + bytes, sizeof text - 1 - bytes)) > 0;)
        bytes += (size_t)got;
    text[bytes] = '\0';
    const char *at = strstr(text, "token: ");
    return at ? strtod(at + strlen("token: "), NULL) : NAN;
}

static struct decode_run run_decode(const char *decode)
{
    char *const arguments[] = {"decode",       "--tokens=128",  "--layers=8", "--width=1024",
                               "--sync=token", "--check=false", NULL};
    struct decode_run result;
    posix_spawn_file_actions_t actions;
    int ends[2], status;
    pid_t process;
    if (pipe(ends) != 0)
        bench_die("a pipe");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    const int64_t begin_ns = hal_clock_ns();
    if (posix_spawn(&process, decode, &actions, NULL, arguments, environ) != 0)
        bench_die("decode cannot be started: build it");
    close(ends[1]);
    result.loop_s = read_loop_s(ends[0]);
    if (waitpid(process, &status, 0) != process || status != 0)
        bench_die("decode failed");
    result.program_s = ns_since(begin_ns) / 1e9;
    close(ends[0]);
    posix_spawn_file_actions_destroy(&actions);
    return result;
}

static struct decode_run run_decode_captured(const char *decode, const char *path)
{
    static const char *const names[] = {"HAL_DEVICE_PROFILING_MODE", "HAL_DEVICE_PROFILING_FILE",
                                        "HAL_DEVICE_PROFILING_FORCE"};
    const char *const values[] = {"queue", path, "true"};
    struct trace_reader *reader;
    for (int i = 0; i < 3; i++)
        setenv(names[i], values[i], 1);
    const struct decode_run result = run_decode(decode);
    for (int i = 0; i < 3; i++)
        unsetenv(names[i]);
    bench_try(trace_reader_open(path, &reader));
    if (trace_reader_counts(reader)->dispatches != 128 * 8 * 4)
        bench_die("not everything was captured");
    trace_reader_close(reader);
    return result;
}

static void compare_decode(struct bench *bench, const char *path)
{
    double program[DECODE_REPEATS], loop[DECODE_REPEATS], plain[DECODE_REPEATS];
    char decode[PATH_MAX];
    bench_try(hal_program_path(decode, sizeof decode));
    char *name = strrchr(decode, '/') + 1;
    snprintf(name, sizeof decode - (size_t)(name - decode), "decode");
    for (int i = -1; i < DECODE_REPEATS; i++) {
        const struct decode_run run = run_decode(decode);
        const struct decode_run captured = run_decode_captured(decode, path);
        if (i < 0)
            continue;
        plain[i] = run.program_s;
        program[i] = captured.program_s / run.program_s;
        loop[i] = captured.loop_s / run.loop_s;
    }
    bench_row(bench, "decode: plain run", bench_median(plain, DECODE_REPEATS), "s", BENCH_LOWER,
              NAN);
    bench_row(bench, "decode: captured / plain, the loop", bench_median(loop, DECODE_REPEATS), "",
              BENCH_LOWER, 1.05);
    bench_row(bench, "decode: captured / plain, the program", bench_median(program, DECODE_REPEATS),
              "", BENCH_LOWER, 1.05);
}

int main(int argc, char **argv)
{
    const struct workload a = {.name = "a", .submissions = 1, .pairs = A_PAIRS, .target_ns = 100};
    const struct workload b = {
        .name = "b", .submissions = B_SUBMISSIONS, .pairs = B_PAIRS, .target_ns = NAN};
    struct bench bench;
    struct test_folder folder;
    struct hal_device *device;
    char path[PATH_MAX];
    bench_begin(&bench, "bench-capture", argc, argv);
    if (!test_folder_make(&folder)) {
        perror("bench-capture: a temporary folder");
        return 1;
    }
    test_folder_file(&folder, "bench.pb.zst", path);
    bench_try(hal_device_open("cpu", &device));
    compare(&bench, device, path, &a);
    compare(&bench, device, path, &b);
    hal_device_release(device);
    compare_decode(&bench, path);
    test_folder_remove(&folder);
    return bench_end(&bench);
}
