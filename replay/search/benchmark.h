/* SPDX-License-Identifier: Apache-2.0 */
/* Measures a replay, as a whole and by the program's scopes, until the time is precise; and each
 * dispatch alone. */
#ifndef REPLAY_BENCHMARK_H
#define REPLAY_BENCHMARK_H

#include "replay/compare/exit_code.h"
#include "replay/variant/serialized.h"

struct trace_text;

enum { REPLAY_MOST_ROWS = 64 };

typedef void replay_progress(void *user, uint64_t done, uint64_t most);

/* ---- The whole ---- */

struct replay_benchmark {
    struct replay_player *player;
    uint64_t warm_up, least_runs, most_runs;
    int64_t most_ns;  /* limit for all runs */
    double tightness; /* sufficient width of the median's 95 % interval, relative to the median */
    replay_progress *progress; /* NULL: none */
    void *user;
};

/* The times of all scopes of one name, per run. */
struct replay_scope_times {
    char name[REPLAY_NAME_BYTES];
    uint64_t count; /* scopes of that name */
    struct replay_times times;
};

struct replay_benchmark_result {
    uint64_t warm_up, runs, different_runs;
    bool tight;
    struct replay_times times;
    struct trace_interval interval; /* of the median; nanoseconds */
    struct replay_scope_times scopes[REPLAY_MOST_ROWS];
    size_t scope_count, more_scopes;
    struct replay_report report; /* of the first that differed, else of the first */
};

/* The duration of the scope in a run that began at `begin_ns` with these operation ends. */
int64_t replay_scope_ns(const struct replay_scope *scope, int64_t begin_ns,
                        const int64_t *op_ends_ns);

/* The defaults of --benchmark, without player, time and progress. */
extern const struct replay_benchmark replay_usual_benchmark;

/* Whether the runs that took `runs_ns` suffice after a total of `spent_ns`. Sets the members of the
 * result that describe the precision of the median. */
bool replay_benchmark_suffices(const struct replay_benchmark *benchmark, const int64_t *runs_ns,
                               size_t run_count, int64_t spent_ns,
                               struct replay_benchmark_result *result);

/* Blocks. Otherwise like replay_player_run. */
enum hal_status replay_benchmark_run(const struct replay_benchmark *benchmark,
                                     const struct replay_plan_info *plan,
                                     struct replay_benchmark_result *out_result) HAL_CHECKED;

/* ---- Each dispatch alone ---- */

struct replay_isolate {
    struct replay_plan *plan;
    struct hal_device *device;
    const struct replay_options *options;
    uint64_t runs;
    enum hal_status (*prepared)(void *user);
    replay_progress *progress;
    void *user; /* for both callbacks */
};

struct replay_kernel_times {
    char name[REPLAY_NAME_BYTES];
    uint64_t count;          /* dispatches or transfers, per run */
    struct replay_times one; /* of one alone: over all of them, the best of their runs */
    int64_t isolated_ns;     /* total, one by one */
    int64_t in_context_ns;   /* their share of their submissions' time */
};

struct replay_isolate_result {
    struct replay_kernel_times kernels[REPLAY_MOST_ROWS]; /* longest first */
    size_t kernel_count, more_kernels;
    uint64_t runs, commands, submissions;
    int64_t empty_ns;      /* included in each: an empty submission */
    int64_t isolated_ns;   /* sum over all commands */
    int64_t in_context_ns; /* sum over all submissions, run one after the other */
    struct replay_report report;
};

/* Steps, and the shortest time of each over the runs so far. */
struct replay_timed_steps {
    struct replay_serialized serialized;
    int64_t *best_ns;
};

void replay_note_step(struct replay_timed_steps *steps, size_t step, bool first, int64_t took_ns);

/* Computes the result except the runs, the empty submission and the report: `alone` has a step for
 * each command, `whole` one for each submission. */
enum hal_status replay_isolate_sum(const struct replay_timed_steps *alone,
                                   const struct replay_timed_steps *whole,
                                   struct replay_isolate_result *result) HAL_CHECKED;

enum hal_status replay_isolate_run(const struct replay_isolate *wanted,
                                   struct replay_isolate_result *out_result) HAL_CHECKED;

#endif
