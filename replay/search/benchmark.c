/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/search/benchmark.h"

#include "hal/base/mem.h"
#include "hal/base/os.h"
#include "replay/player/player.h"
#include "replay/search/paired_run.h"

#include <stdio.h>

/* ---- Scopes -------------------------------------------------------------------------------- */

/* What the scopes of one name took, run by run. */
struct scope_rows {
    uint32_t *names; /* string numbers */
    uint64_t *counts;
    int64_t *totals; /* by row and run */
    size_t count;
};

struct benchmarking {
    const struct replay_benchmark *b;
    struct replay_benchmark_result *result;
    int64_t *totals_ns;
    int64_t *op_ends_ns; /* of the player's run */
    struct scope_rows rows;
};

static size_t find_row(struct scope_rows *rows, uint32_t name)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (rows->names[i] == name)
            return i;
    }
    if (rows->count == REPLAY_MOST_ROWS)
        return SIZE_MAX;
    rows->names[rows->count] = name;
    return rows->count++;
}

int64_t replay_scope_ns(const struct replay_scope *scope, int64_t begin_ns,
                        const int64_t *op_ends_ns)
{
    return op_ends_ns[scope->last_op] -
           (scope->first_op ? op_ends_ns[scope->first_op - 1] : begin_ns);
}

static void add_scopes(struct benchmarking *m, size_t run)
{
    const struct replay_plan *plan = m->b->player->plan;
    for (size_t i = 0; i < plan->scope_count; i++) {
        const struct replay_scope *scope = &plan->scopes[i];
        if (!scope->has_ops)
            continue;
        const size_t row = find_row(&m->rows, scope->name);
        if (row == SIZE_MAX)
            continue;
        m->rows.totals[row * m->b->most_runs + run] +=
            replay_scope_ns(scope, m->b->player->begin_ns, m->op_ends_ns);
        m->rows.counts[row] += run == 0;
    }
}

static void describe_scopes(struct benchmarking *m)
{
    struct replay_benchmark_result *result = m->result;
    const struct replay_plan *plan = m->b->player->plan;
    for (size_t i = 0; i < m->rows.count; i++) {
        struct replay_scope_times *out = &result->scopes[result->scope_count++];
        const char *name = trace_reader_string(plan->reader, m->rows.names[i]);
        snprintf(out->name, sizeof out->name, "%.150s", name);
        out->count = m->rows.counts[i];
        out->times = replay_times_of(m->rows.totals + i * m->b->most_runs, (size_t)result->runs);
    }
}

/* ---- The whole ----------------------------------------------------------------------------- */

static enum hal_status run_once(struct benchmarking *m, const struct replay_plan_info *plan,
                                int64_t *out_ns)
{
    struct replay_benchmark_result *result = m->result;
    struct replay_report report;
    const enum hal_status status = replay_player_run(m->b->player, &report);
    const bool differs = replay_exit_code(plan, &report) == REPLAY_EXIT_DIFFERENT;
    if (result->runs + result->warm_up == 0 || status != HAL_OK ||
        (differs && !result->different_runs))
        result->report = report;
    result->different_runs += differs;
    *out_ns = report.total_ns;
    return status;
}

const struct replay_benchmark replay_usual_benchmark = {
    .warm_up = 2, .least_runs = 10, .most_runs = 10000, .tightness = 0.02};

bool replay_benchmark_suffices(const struct replay_benchmark *benchmark, const int64_t *runs_ns,
                               size_t run_count, int64_t spent_ns,
                               struct replay_benchmark_result *result)
{
    if (run_count < benchmark->least_runs && run_count < benchmark->most_runs)
        return false;
    double *values = hal_alloc(run_count, sizeof *values);
    for (size_t i = 0; values && i < run_count; i++)
        values[i] = (double)runs_ns[i];
    if (!values)
        return true; /* no memory: nothing better will come */
    const struct trace_interval interval = trace_interval_of(values, run_count);
    free(values);
    result->interval = interval;
    result->tight = interval.high - interval.low <= benchmark->tightness * interval.median;
    return result->tight || run_count >= benchmark->most_runs || spent_ns > benchmark->most_ns;
}

static enum hal_status run_all(struct benchmarking *m, const struct replay_plan_info *plan)
{
    struct replay_benchmark_result *result = m->result;
    int64_t unused_ns;
    const int64_t begin_ns = hal_clock_ns();
    for (; result->warm_up < m->b->warm_up; result->warm_up++)
        HAL_TRY(run_once(m, plan, &unused_ns));
    m->b->player->op_ends_ns = m->op_ends_ns;
    do {
        HAL_TRY(run_once(m, plan, &m->totals_ns[result->runs]));
        add_scopes(m, (size_t)result->runs);
        result->runs++;
        if (m->b->progress)
            m->b->progress(m->b->user, result->runs, m->b->most_runs);
    } while (!replay_benchmark_suffices(m->b, m->totals_ns, (size_t)result->runs,
                                        hal_clock_ns() - begin_ns, result));
    describe_scopes(m);
    result->times = replay_times_of(m->totals_ns, (size_t)result->runs);
    return HAL_OK;
}

enum hal_status replay_benchmark_run(const struct replay_benchmark *benchmark,
                                     const struct replay_plan_info *plan,
                                     struct replay_benchmark_result *out_result)
{
    const size_t most = (size_t)benchmark->most_runs;
    struct benchmarking m = {
        .b = benchmark,
        .result = out_result,
        .totals_ns = hal_alloc(most, sizeof(int64_t)),
        .op_ends_ns = hal_alloc(benchmark->player->plan->op_count, sizeof(int64_t)),
        .rows = {.names = hal_alloc(REPLAY_MOST_ROWS, sizeof(uint32_t)),
                 .counts = hal_alloc(REPLAY_MOST_ROWS, sizeof(uint64_t)),
                 .totals = hal_alloc(REPLAY_MOST_ROWS * most, sizeof(int64_t))}};
    *out_result = (struct replay_benchmark_result){0};
    enum hal_status status = HAL_NO_MEMORY;
    if (m.totals_ns && m.op_ends_ns && m.rows.names && m.rows.counts && m.rows.totals)
        status = run_all(&m, plan);
    else
        hal_fail(HAL_NO_MEMORY, "no memory for the times of %zu runs", most);
    benchmark->player->op_ends_ns = NULL;
    free(m.totals_ns);
    free(m.op_ends_ns);
    free(m.rows.names);
    free(m.rows.counts);
    free(m.rows.totals);
    return status;
}
