/* SPDX-License-Identifier: Apache-2.0 */
/* The decoder submits and waits for every operation (--sync=op), and, as its author would mend it,
 * once per token (--sync=token): that is its own gain. coalesce-submissions on the trace of the
 * first must promise as much. In each round the programs and the replays run, in turn; so whatever
 * else the machine does meets all of them. The decoder times its tokens alone; of replays, which
 * begin with the weights, the time of a trace of one token is taken away. */
#include "tests/bench/bench_what_if.h"

#include "hal/base/os.h"
#include "replay/replay.h"
#include "replay/whatif.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 61, COMMAND_BYTES = 4 * PATH_MAX };

enum { TOKENS = 16 };
/* Small enough for any machine when quick. */
static const char *model(void)
{
    return bench_is_quick() ? "--layers=1 --width=64 --check=false"
                            : "--layers=4 --width=512 --check=false";
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

/* Milliseconds, as it says itself: of the tokens alone, without the beginning. */
static double run_decoder(const char *command, unsigned tokens)
{
    char line[512];
    double rate = 0;
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
    return tokens / rate * 1e3;
}

static double run_replay(struct replay_player *player)
{
    struct replay_report report;
    bench_try(replay_player_run(player, &report));
    if (report.different_reads) {
        fprintf(stderr, "bench-replay: the replay differs\n");
        exit(1);
    }
    return (double)report.total_ns / 1e6;
}

/* The best of all: what other programs take of the processors only adds, and to a process that has
 * run for a while more than to one that has just begun. */
static double best_of(const double *values)
{
    double best = values[0];
    for (int i = 1; i < bench_repeats(ROUNDS); i++)
        best = values[i] < best ? values[i] : best;
    return best;
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

void bench_what_if(struct bench *bench, const char *path)
{
    static double op[ROUNDS], token[ROUNDS], recorded[2][ROUNDS], changed[2][ROUNDS];
    char sync_op[COMMAND_BYTES], sync_token[COMMAND_BYTES];
    struct hal_device *device;
    struct both many, one;
    bench_try(hal_device_open("cpu", &device));
    capture(device, path, TOKENS + 1, &many);
    capture(device, path, 1, &one);
    make_command(sync_op, NULL, "op", TOKENS);
    make_command(sync_token, NULL, "token", TOKENS);
    for (int i = 0; i < bench_repeats(ROUNDS); i++) {
        op[i] = run_decoder(sync_op, TOKENS);
        recorded[0][i] = run_replay(many.player);
        recorded[1][i] = run_replay(one.player);
        token[i] = run_decoder(sync_token, TOKENS);
        changed[0][i] = run_replay(many.variant);
        changed[1][i] = run_replay(one.variant);
    }
    finish(&one);
    finish(&many);
    hal_device_release(device);
    const double times[] = {best_of(op), best_of(token),
                            best_of(recorded[0]) - best_of(recorded[1]),
                            best_of(changed[0]) - best_of(changed[1])};
    static const char *const names[] = {"decoder, --sync=op", "decoder, --sync=token",
                                        "replay of op", "replay of op, coalesced"};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        bench_row(bench, names[i], times[i], "ms", BENCH_LOWER, NAN);
    const double own = times[0] / times[1], promised = times[2] / times[3];
    bench_row(bench, "decoder: gain of --sync=token over op", own, "", BENCH_HIGHER, 1.3);
    bench_row(bench, "coalesce-submissions: gain on op's trace", promised, "", BENCH_HIGHER, NAN);
    bench_row(bench, "the two gains differ by", fabs(promised / own - 1) * 100, "%", BENCH_LOWER,
              15);
}
