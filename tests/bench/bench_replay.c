/* SPDX-License-Identifier: Apache-2.0 */
/* bench-replay: how much longer a replay takes than the program did that it repeats, and how fast
 * a trace loads. Workload a: one submission of 100,000 commands and as many barriers; b: 10,000
 * submissions of 5 and 5 that follow each other on one timeline semaphore. The program and the
 * replay of the same calls run in turn, each from its first call until the last object is released;
 * recording and preparing command buffers are part of both.
 * Times are of the clock, and beside them of the processor, all threads together, which other
 * programs that use the machine disturb less. */
#include "hal/base/os.h"
#include "replay/replay.h"
#include "tests/bench/bench.h"
#include "tests/bench/bench_what_if.h"
#include "tests/support/folder.h"
#include "tests/support/trace_builder.h"

#include <math.h>
#include <time.h>

enum {
    REPEATS = 21,
    A_PAIRS = 100000,
    B_SUBMISSIONS = 10000,
    B_PAIRS = 5,
    LOAD_BUFFERS = 20,
    FILL_BYTES = 64,
    BUFFER = 1,
    SEMAPHORE = 2,
    FIRST_COMMANDS = 3,
};

struct workload {
    const char *name;
    uint64_t submissions;
    uint64_t pairs; /* a command and a barrier, in each submission */
};

/* By the clock, and of the processor: of all threads of this process. */
struct stopwatch {
    double clock, processor;
};

static struct stopwatch now(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (struct stopwatch){(double)hal_clock_ns() / 1e9,
                              (double)used.tv_sec + (double)used.tv_nsec / 1e9};
}

static struct stopwatch since(struct stopwatch begin)
{
    const struct stopwatch end = now();
    return (struct stopwatch){end.clock - begin.clock, end.processor - begin.processor};
}

/* ---- The program ---------------------------------------------------------------------------- */

static void record(struct hal_command_buffer *commands, struct hal_buffer *buffer, uint64_t pairs)
{
    for (uint64_t i = 0; i < pairs; i++) {
        bench_try(hal_command_fill(commands, buffer, 0, FILL_BYTES, (uint32_t)i, 4));
        bench_try(hal_command_barrier(commands, NULL));
    }
    bench_try(hal_command_buffer_end(commands));
}

static struct stopwatch run_program(struct hal_device *device, const struct workload *workload)
{
    struct hal_buffer *buffer;
    struct hal_semaphore *semaphore;
    const struct stopwatch begin = now();
    bench_try(hal_buffer_create(device, &(struct hal_buffer_desc){.bytes = FILL_BYTES}, &buffer));
    bench_try(hal_semaphore_create(device, NULL, 0, &semaphore));
    for (uint64_t i = 0; i < workload->submissions; i++) {
        struct hal_command_buffer *commands;
        const struct hal_semaphore_value wait = {semaphore, i}, signal = {semaphore, i + 1};
        bench_try(
            hal_command_buffer_create(device, &(struct hal_command_buffer_desc){0}, &commands));
        record(commands, buffer, workload->pairs);
        const struct hal_submit_desc submit = {.queues = 1,
                                               .waits = &wait,
                                               .wait_count = 1,
                                               .signals = &signal,
                                               .signal_count = 1,
                                               .commands = &commands,
                                               .command_count = 1};
        bench_try(hal_queue_submit(device, &submit));
        hal_command_buffer_release(commands);
    }
    bench_try(hal_semaphore_wait(semaphore, workload->submissions, HAL_FOREVER));
    bench_try(hal_device_wait_idle(device, HAL_FOREVER));
    hal_semaphore_release(semaphore);
    hal_buffer_release(buffer);
    return since(begin);
}

/* ---- The same as a trace -------------------------------------------------------------------- */

static void build_trace(const char *path, const struct workload *workload)
{
    struct trace_builder b;
    builder_open(&b, path, NULL);
    builder_buffer_create(&b, BUFFER, NULL, FILL_BYTES);
    builder_semaphore_create(&b, SEMAPHORE, NULL, 0);
    for (uint64_t i = 0; i < workload->submissions; i++) {
        const uint64_t commands = FIRST_COMMANDS + i;
        const struct trace_semaphore_value wait = {SEMAPHORE, i}, signal = {SEMAPHORE, i + 1};
        builder_command_buffer_create(&b, commands, NULL, 0);
        for (uint64_t pair = 0; pair < workload->pairs; pair++) {
            builder_fill(&b, BUFFER, 0, FILL_BYTES, (uint32_t)pair, 4);
            builder_barrier(&b, NULL, 0);
        }
        builder_end_commands(&b, commands);
        builder_submit(&b, i, 0, VALUES(wait), VALUES(signal), IDS(commands));
        builder_destroy(&b, TRACE_COMMAND_BUFFER_DESTROY, commands);
        builder_submission_done(&b, i, 0, b.begin_ns, b.begin_ns, b.begin_ns);
    }
    builder_semaphore_wait(&b, 0, &(struct trace_semaphore_value){SEMAPHORE, workload->submissions},
                           1, HAL_FOREVER);
    builder_wait_idle(&b, HAL_FOREVER);
    bench_try(builder_close(&b, NULL));
}

/* ---- Figures -------------------------------------------------------------------------------- */

struct pairs {
    struct stopwatch program[REPEATS], replay[REPEATS];
};

static void run_pairs(struct hal_device *device, struct replay_player *player,
                      const struct workload *workload, struct pairs *out)
{
    for (int i = -1; i < bench_repeats(REPEATS); i++) { /* -1 warms up */
        struct replay_report report;
        const struct stopwatch program = run_program(device, workload);
        const struct stopwatch begin = now();
        bench_try(replay_player_run(player, &report));
        const struct stopwatch replay = since(begin);
        if (i < 0)
            continue;
        out->program[i] = program;
        out->replay[i] = replay;
    }
}

/* `at` is the place of the clock's or the processor's seconds in a stopwatch. */
static double seconds(const struct stopwatch *watch, size_t at)
{
    return *(const double *)(const void *)((const uint8_t *)watch + at);
}

static void report_pairs(struct bench *bench, const struct pairs *pairs, size_t at,
                         const char *what, const struct workload *workload)
{
    double program[REPEATS], replay[REPEATS], ratio[REPEATS];
    char name[96];
    for (int i = 0; i < bench_repeats(REPEATS); i++) {
        program[i] = seconds(&pairs->program[i], at);
        replay[i] = seconds(&pairs->replay[i], at);
        ratio[i] = replay[i] / program[i];
    }
    const double calls = (double)(workload->submissions * workload->pairs * 2);
    snprintf(name, sizeof name, "program, %s%s", workload->name, what);
    bench_row(bench, name, bench_median(program, (size_t)bench_repeats(REPEATS)) / calls * 1e9,
              "ns/call", BENCH_LOWER, NAN);
    snprintf(name, sizeof name, "replay, %s%s", workload->name, what);
    bench_row(bench, name, bench_median(replay, (size_t)bench_repeats(REPEATS)) / calls * 1e9,
              "ns/call", BENCH_LOWER, NAN);
    snprintf(name, sizeof name, "replay / program, %s%s", workload->name, what);
    bench_row(bench, name, bench_median(ratio, (size_t)bench_repeats(REPEATS)), "", BENCH_LOWER,
              1.05);
}

static void compare(struct bench *bench, struct hal_device *device, const char *path,
                    const struct workload *workload)
{
    static struct pairs pairs;
    struct replay_plan *plan;
    struct replay_player *player;
    build_trace(path, workload);
    bench_try(replay_plan_load(path, &(struct replay_load_options){0}, &plan));
    bench_try(replay_player_create(plan, device, &(struct replay_options){0}, &player));
    run_pairs(device, player, workload, &pairs);
    report_pairs(bench, &pairs, offsetof(struct stopwatch, clock), "", workload);
    report_pairs(bench, &pairs, offsetof(struct stopwatch, processor), ", processor", workload);
    replay_player_destroy(player);
    replay_plan_destroy(plan);
}

static void load(struct bench *bench, const char *path, const struct workload *workload)
{
    char name[96];
    double rate[REPEATS], processor_rate[REPEATS];
    build_trace(path, workload);
    for (int i = 0; i < bench_repeats(REPEATS); i++) {
        struct replay_plan *plan;
        const struct stopwatch begin = now();
        bench_try(replay_plan_load(path, &(struct replay_load_options){0}, &plan));
        const struct stopwatch time = since(begin);
        const struct replay_plan_info *info = replay_plan_get_info(plan);
        const double events = (double)(info->events + info->commands) / 1e6;
        rate[i] = events / time.clock;
        processor_rate[i] = events / time.processor;
        replay_plan_destroy(plan);
    }
    snprintf(name, sizeof name, "loading, %s", workload->name);
    bench_row(bench, name, bench_median(rate, (size_t)bench_repeats(REPEATS)), "M events/s",
              BENCH_HIGHER, 8);
    snprintf(name, sizeof name, "loading, %s, processor", workload->name);
    bench_row(bench, name, bench_median(processor_rate, (size_t)bench_repeats(REPEATS)),
              "M events/s", BENCH_HIGHER, 8);
}

int main(int argc, char **argv)
{
    struct bench bench;
    struct test_folder folder;
    struct hal_device *device;
    char path[PATH_MAX];
    replay_keep_memory();
    bench_begin(&bench, "bench-replay", argc, argv);
    const struct workload a = {.name = "a", .submissions = 1, .pairs = bench_size(A_PAIRS, 100)};
    const struct workload b = {
        .name = "b", .submissions = bench_size(B_SUBMISSIONS, 100), .pairs = B_PAIRS};
    const struct workload large = {.name = "command buffers",
                                   .submissions = bench_size(LOAD_BUFFERS, 2),
                                   .pairs = bench_size(A_PAIRS / 2, 100)};
    if (!test_folder_make(&folder)) {
        perror("bench-replay: a temporary folder");
        return 1;
    }
    test_folder_file(&folder, "bench.pb.zst", path);
    bench_try(hal_device_open("cpu", &device));
    if (bench_wants(&bench, "a"))
        compare(&bench, device, path, &a);
    if (bench_wants(&bench, "b"))
        compare(&bench, device, path, &b);
    if (bench_wants(&bench, "load")) {
        load(&bench, path, &large);
        load(&bench, path, &b);
    }
    if (bench_wants(&bench, "what-if"))
        bench_what_if(&bench, path);
    hal_device_release(device);
    test_folder_remove(&folder);
    return bench_end(&bench);
}
