/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/bench_decode.h"

#include "format/trace.h"
#include "hal/base/os.h"
#include "hal/hal.h"

#include <limits.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { REPEATS = 15, TOKENS = 128, LAYERS = 8, DISPATCHES = 4 /* in a layer */ };

struct decode_run {
    double program_s, loop_s;
};

/* Enough for a time above the millisecond that it is printed in. */
static uint64_t tokens_of_run(void)
{
    return bench_size(TOKENS, 200);
}

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
    char tokens[32], layers[32];
    char *const width = bench_is_quick() ? "--width=64" : "--width=1024";
    char *const arguments[] = {"decode",       tokens,          layers, width,
                               "--sync=token", "--check=false", NULL};
    snprintf(tokens, sizeof tokens, "--tokens=%u", (unsigned)tokens_of_run());
    snprintf(layers, sizeof layers, "--layers=%u", (unsigned)bench_size(LAYERS, 1));
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
    result.program_s = (double)(hal_clock_ns() - begin_ns) / 1e9;
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
    (void)remove(path); /* giving back what the last one took is no part of a capture */
    for (int i = 0; i < 3; i++)
        setenv(names[i], values[i], 1);
    const struct decode_run result = run_decode(decode);
    for (int i = 0; i < 3; i++)
        unsetenv(names[i]);
    bench_try(trace_reader_open(path, &reader));
    const uint64_t wanted = tokens_of_run() * bench_size(LAYERS, 1) * DISPATCHES;
    const uint64_t found = trace_reader_counts(reader)->dispatches;
    if (found != wanted) {
        fprintf(stderr, "bench-capture: decode: dispatches: wanted %llu, the trace has %llu\n",
                (unsigned long long)wanted, (unsigned long long)found);
        exit(1);
    }
    trace_reader_close(reader);
    return result;
}

void bench_decode(struct bench *bench, const char *path)
{
    double program[REPEATS], loop[REPEATS], plain[REPEATS];
    const int repeats = bench_repeats(REPEATS);
    char decode[PATH_MAX];
    bench_try(hal_program_path(decode, sizeof decode));
    char *name = strrchr(decode, '/') + 1;
    snprintf(name, sizeof decode - (size_t)(name - decode), "decode");
    for (int i = -1; i < repeats; i++) {
        const struct decode_run run = run_decode(decode);
        const struct decode_run captured = run_decode_captured(decode, path);
        if (i < 0)
            continue;
        plain[i] = run.program_s;
        program[i] = captured.program_s / run.program_s;
        loop[i] = captured.loop_s / run.loop_s;
    }
    bench_row(bench, "decode: plain run", bench_median(plain, (size_t)repeats), "s", BENCH_LOWER,
              NAN);
    bench_row(bench, "decode: captured / plain, the loop", bench_median(loop, (size_t)repeats), "",
              BENCH_LOWER, 1.05);
    bench_row(bench, "decode: captured / plain, the program",
              bench_median(program, (size_t)repeats), "", BENCH_LOWER, 1.05);
}
