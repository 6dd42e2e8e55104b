/* SPDX-License-Identifier: Apache-2.0 */
/* The decoder submits and waits for every operation (--sync=op), and, as its author would fix it,
 * once per token (--sync=token): that is its own gain. coalesce-submissions on the trace of the
 * first must promise as much. In each round the programs and the replays run, in turn; so whatever
 * else the machine does meets all of them. The decoder times its tokens alone; of replays, which
 * begin with the weights, and of processor time, which begins with the process, that of one token
 * is taken away.
 *
 * By the clock it is the best that counts: what other programs take only adds. Processor time is
 * that of all threads, and says the same on a machine that others use, but for the waiting. */
#include "tests/bench/bench_what_if.h"

#include "hal/base/os.h"
#include "replay/replay.h"
#include "replay/variant/whatif.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { ROUNDS = 101, COMMAND_BYTES = 4 * PATH_MAX };

enum { TOKENS = 32 };
/* Small enough for any machine when quick. */
static const char *model(void)
{
    return bench_is_quick() ? "--layers=1 --width=64 --check=false"
                            : "--layers=4 --width=384 --check=false";
}

/* The programs lie beside this one. `trace` NULL: the decoder alone. */
static void make_command(char out[COMMAND_BYTES], const char *trace, const char *sync,
                         unsigned tokens)
{
    char folder[PATH_MAX];
    int used = 0;
    bench_try(hal_program_path(folder, sizeof folder));
    *strrchr(folder, '/') = '\0';
    if (trace)
        used = snprintf(out, COMMAND_BYTES, "'%s/hal-capture' --force --output='%s' -- ", folder,
                        trace);
    if (used >= 0 && used < COMMAND_BYTES)
        snprintf(out + used, (size_t)(COMMAND_BYTES - used),
                 "'%.*s/decode' %s --sync=%s --tokens=%u", PATH_MAX, folder, model(), sync, tokens);
}

/* Milliseconds. */
struct cost {
    double clock, processor;
};

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

static double processor_ms(int who)
{
    struct rusage used;
    getrusage(who, &used);
    return (seconds_of(used.ru_utime) + seconds_of(used.ru_stime)) * 1e3;
}

/* The clock as it says itself: of the tokens alone, without the beginning. */
static struct cost run_decoder(const char *command, unsigned tokens)
{
    char line[512];
    double rate = 0;
    const double before = processor_ms(RUSAGE_CHILDREN);
    FILE *output = popen(command, "r");
    while (output && fgets(line, sizeof line, output)) {
        const char *comma = strrchr(line, ',');
        if (comma && strstr(comma, "tokens/s"))
            rate = strtod(comma + 1, NULL);
    }
    if (!output || pclose(output) != 0 || !(rate > 0)) {
        fprintf(stderr, "bench-replay: cannot run %s\n", command);
        exit(1);
    }
    return (struct cost){tokens / rate * 1e3, processor_ms(RUSAGE_CHILDREN) - before};
}

static struct cost run_replay(struct replay_player *player)
{
    struct replay_report report;
    const double before = processor_ms(RUSAGE_SELF);
    bench_try(replay_player_run(player, &report));
    if (report.different_reads) {
        fprintf(stderr, "bench-replay: the replay differs\n");
        exit(1);
    }
    return (struct cost){(double)report.total_ns / 1e6, processor_ms(RUSAGE_SELF) - before};
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The best by the clock, and the median of processor time. */
static struct cost judge(const struct cost *costs)
{
    const int count = bench_repeats(ROUNDS);
    double clock[ROUNDS], processor[ROUNDS];
    for (int i = 0; i < count; i++) {
        clock[i] = costs[i].clock;
        processor[i] = costs[i].processor;
    }
    qsort(clock, (size_t)count, sizeof *clock, compare_doubles);
    qsort(processor, (size_t)count, sizeof *processor, compare_doubles);
    return (struct cost){clock[0], processor[count / 2]};
}

static struct cost less(struct cost a, struct cost b)
{
    return (struct cost){a.clock - b.clock, a.processor - b.processor};
}

struct both {
    struct replay_plan *plan, *variant_plan;
    struct replay_player *player, *variant;
};

static void make_players(struct hal_device *device, const char *path, struct both *out)
{
    const struct replay_what_if change = {.coalesce_submissions = true};
    struct replay_what_if_info info;
    bench_try(replay_plan_load(path, &(struct replay_load_options){0}, &out->plan));
    bench_try(replay_plan_what_if(out->plan, &change, &info, &out->variant_plan));
    bench_try(replay_player_create(out->plan, device, &(struct replay_options){0}, &out->player));
    bench_try(replay_player_create(out->variant_plan, device, &(struct replay_options){0},
                                   &out->variant));
}

static void finish(struct both *both)
{
    replay_player_destroy(both->variant);
    replay_player_destroy(both->player);
    replay_plan_destroy(both->variant_plan);
    replay_plan_destroy(both->plan);
}

static void capture(struct hal_device *device, const char *path, unsigned tokens,
                    struct both *out_both)
{
    char command[COMMAND_BYTES];
    make_command(command, path, "op", tokens);
    run_decoder(command, tokens);
    make_players(device, path, out_both);
}

/* What is measured, each with many tokens and with one. */
enum { OP, TOKEN, RECORDED, CHANGED, WAYS };

static void print_gains(struct bench *bench, const struct cost costs[WAYS], bool by_clock)
{
    static const char *const names[WAYS] = {"decoder, --sync=op", "decoder, --sync=token",
                                            "replay of op", "replay of op, coalesced"};
    double times[WAYS];
    char name[96];
    const char *const how = by_clock ? "clock" : "processor";
    for (int i = 0; i < WAYS; i++) {
        times[i] = by_clock ? costs[i].clock : costs[i].processor;
        snprintf(name, sizeof name, "%s: %s", how, names[i]);
        bench_row(bench, name, times[i], "ms", BENCH_LOWER, NAN);
    }
    const double own = times[OP] / times[TOKEN], promised = times[RECORDED] / times[CHANGED];
    snprintf(name, sizeof name, "%s: the decoder gains by --sync=token", how);
    bench_row(bench, name, own, "", BENCH_HIGHER, by_clock ? 1.3 : NAN);
    snprintf(name, sizeof name, "%s: coalesce-submissions on op's trace", how);
    bench_row(bench, name, promised, "", BENCH_HIGHER, NAN);
    snprintf(name, sizeof name, "%s: the two gains differ by", how);
    bench_row(bench, name, fabs(promised / own - 1) * 100, "%", BENCH_LOWER, 15);
}

void bench_what_if(struct bench *bench, const char *path)
{
    static struct cost many[WAYS][ROUNDS], one[WAYS][ROUNDS];
    char commands[2][2][COMMAND_BYTES];
    struct hal_device *device;
    struct both players[2];
    bench_try(hal_device_open("cpu", &device));
    capture(device, path, TOKENS + 1, &players[0]);
    capture(device, path, 1, &players[1]);
    for (int k = 0; k < 2; k++) {
        make_command(commands[k][OP], NULL, "op", k ? 1 : TOKENS + 1);
        make_command(commands[k][TOKEN], NULL, "token", k ? 1 : TOKENS + 1);
    }
    for (int i = 0; i < bench_repeats(ROUNDS); i++) {
        for (int k = 0; k < 2; k++) {
            struct cost(*to)[ROUNDS] = k ? one : many;
            const unsigned tokens = k ? 1 : TOKENS + 1;
            to[OP][i] = run_decoder(commands[k][OP], tokens);
            to[RECORDED][i] = run_replay(players[k].player);
            to[TOKEN][i] = run_decoder(commands[k][TOKEN], tokens);
            to[CHANGED][i] = run_replay(players[k].variant);
        }
    }
    finish(&players[1]);
    finish(&players[0]);
    hal_device_release(device);
    struct cost costs[WAYS];
    for (int way = 0; way < WAYS; way++)
        costs[way] = less(judge(many[way]), judge(one[way]));
    print_gains(bench, costs, true);
    print_gains(bench, costs, false);
}
