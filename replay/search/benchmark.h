/* SPDX-License-Identifier: Apache-2.0 */
/* How long a replay takes: as a whole and by the program's scopes, until it is known well; and each
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
    int64_t most_ns;  /* of all runs */
    double tightness; /* the median's 95 % interval, as a part of the median, that is enough */
    replay_progress *progress; /* NULL: none */
    void *user;
};

/* What happens in all scopes of one name, per run. */
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

/* What the scope took, of a run that began then and whose operations ended then. */
int64_t replay_scope_ns(const struct replay_scope *scope, int64_t begin_ns,
                        const int64_t *op_ends_ns);

/* What --benchmark does, but for the player, the time and the progress. */
extern const struct replay_benchmark replay_usual_benchmark;

/* Whether the runs that took `runs_ns` were enough, after `spent_ns` altogether. Sets all of the
 * result that says how well they tell the median. */
bool replay_benchmark_suffices(const struct replay_benchmark *benchmark, const int64_t *runs_ns,
                               size_t run_count, int64_t spent_ns,
                               struct replay_benchmark_result *result);

/* Blocks. Otherwise as replay_player_run. */
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
    void *user; /* of both */
};

struct replay_kernel_times {
    char name[REPLAY_NAME_BYTES];
    uint64_t count;          /* dispatches or transfers, per run */
    struct replay_times one; /* of one alone: over all of them, the best of their runs */
    int64_t isolated_ns;     /* of all of them, one by one */
    int64_t in_context_ns;   /* their share of their submissions' time */
};

struct replay_isolate_result {
    struct replay_kernel_times kernels[REPLAY_MOST_ROWS]; /* the longest first */
    size_t kernel_count, more_kernels;
    uint64_t runs, commands, submissions;
    int64_t empty_ns;      /* of that each, a submission of nothing */
    int64_t isolated_ns;   /* sum over all commands */
    int64_t in_context_ns; /* sum over all submissions, one after the other */
    struct replay_report report;
};

/* Steps, and the shortest time of each over the runs so far. */
struct replay_timed_steps {
    struct replay_serialized serialized;
    int64_t *best_ns;
};

void replay_note_step(struct replay_timed_steps *steps, size_t step, bool first, int64_t took_ns);

/* All of the result but the runs, the empty submission and the report: `alone` has a step for each
 * command, `whole` one for each submission. */
enum hal_status replay_isolate_sum(const struct replay_timed_steps *alone,
                                   const struct replay_timed_steps *whole,
                                   struct replay_isolate_result *result) HAL_CHECKED;

enum hal_status replay_isolate_run(const struct replay_isolate *wanted,
                                   struct replay_isolate_result *out_result) HAL_CHECKED;

#endif
