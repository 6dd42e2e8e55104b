/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/measure.h"

#include "hal/base/mem.h"
#include "hal/base/os.h"
#include "replay/lockstep.h"
#include "replay/trial.h"

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

static void add_scopes(struct benchmarking *m, size_t run)
{
    const struct replay_plan *plan = m->b->player->plan;
    for (size_t i = 0; i < plan->scope_count; i++) {
        const struct replay_scope *scope = &plan->scopes[i];
        if (!scope->has_ops)
            continue;
        const size_t row = find_row(&m->rows, scope->name);
        const int64_t begin_ns =
            scope->first_op ? m->op_ends_ns[scope->first_op - 1] : m->b->player->begin_ns;
        if (row == SIZE_MAX)
            continue;
        m->rows.totals[row * m->b->most_runs + run] += m->op_ends_ns[scope->last_op] - begin_ns;
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
    const bool differs = replay_judge(plan, &report) == REPLAY_EXIT_DIFFERENT;
    if (result->runs + result->warm_up == 0 || status != HAL_OK ||
        (differs && !result->different_runs))
        result->report = report;
    result->different_runs += differs;
    *out_ns = report.total_ns;
    return status;
}

static bool is_tight(struct benchmarking *m)
{
    struct replay_benchmark_result *result = m->result;
    double *values = hal_alloc((size_t)result->runs, sizeof *values);
    for (size_t i = 0; values && i < result->runs; i++)
        values[i] = (double)m->totals_ns[i];
    if (!values)
        return true; /* no memory: nothing better will come */
    result->interval = replay_gain_of(values, (size_t)result->runs);
    free(values);
    const struct replay_gain *interval = &result->interval;
    return interval->high - interval->low <= m->b->tightness * interval->median;
}

static enum hal_status run_all(struct benchmarking *m, const struct replay_plan_info *plan)
{
    struct replay_benchmark_result *result = m->result;
    int64_t unused_ns;
    const int64_t begin_ns = hal_clock_ns();
    for (; result->warm_up < m->b->warm_up; result->warm_up++)
        HAL_TRY(run_once(m, plan, &unused_ns));
    m->b->player->op_ends_ns = m->op_ends_ns;
    while (result->runs < m->b->most_runs) {
        HAL_TRY(run_once(m, plan, &m->totals_ns[result->runs]));
        add_scopes(m, (size_t)result->runs);
        result->runs++;
        if (m->b->progress)
            m->b->progress(m->b->user, result->runs, m->b->most_runs);
        if (result->runs < m->b->least_runs)
            continue;
        result->tight = is_tight(m);
        if (result->tight || hal_clock_ns() - begin_ns > m->b->most_ns)
            break;
    }
    result->tight = is_tight(m);
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

/* ---- Each alone ---------------------------------------------------------------------------- */

/* Steps of a serial plan, and the best time of each over all runs. */
struct timed {
    struct replay_serial serial;
    struct replay_player *player;
    int64_t *best_ns;
};

struct isolating {
    const struct replay_isolate *i;
    struct replay_isolate_result *result;
    struct timed alone, whole;
    int64_t *kernel_ns; /* by kernel and step: for the median */
};

static enum hal_status make_timed(const struct replay_isolate *i, enum replay_split split,
                                  struct timed *out)
{
    HAL_TRY(
        replay_serial_make(i->plan, &(struct replay_serial_options){.split = split}, &out->serial));
    out->best_ns = hal_alloc(out->serial.step_count, sizeof *out->best_ns);
    if (!out->best_ns)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu times", out->serial.step_count);
    return replay_player_create(out->serial.plan, i->device, i->options, &out->player);
}

static void finish_timed(struct timed *timed)
{
    replay_player_destroy(timed->player);
    if (timed->serial.plan)
        replay_serial_finish(&timed->serial);
    free(timed->best_ns);
}

static enum hal_status run_steps(struct timed *timed, bool first)
{
    for (size_t i = 0; i < timed->serial.step_count; i++) {
        const struct replay_step *step = &timed->serial.steps[i];
        HAL_TRY(replay_player_until(timed->player, step->submit_op));
        const int64_t begin_ns = hal_clock_ns();
        HAL_TRY(replay_player_until(timed->player, step->submit_op + 2));
        const int64_t took_ns = hal_clock_ns() - begin_ns;
        if (first || took_ns < timed->best_ns[i])
            timed->best_ns[i] = took_ns;
    }
    return replay_player_until(timed->player, timed->serial.plan->op_count);
}

static enum hal_status run_timed(struct timed *timed, bool first, struct replay_report *report)
{
    replay_player_begin(timed->player, report);
    const enum hal_status status = run_steps(timed, first);
    return replay_player_end(timed->player, status, true);
}

static enum hal_status measure_empty(struct isolating *s)
{
    struct hal_semaphore *semaphore;
    HAL_TRY(hal_semaphore_create(s->i->device, "replay empty", 0, &semaphore));
    enum hal_status status = HAL_OK;
    for (uint64_t n = 1; n <= 32 && status == HAL_OK; n++) {
        const struct hal_semaphore_value done = {semaphore, n};
        const struct hal_submit_desc submit = {.signals = &done, .signal_count = 1};
        const int64_t begin_ns = hal_clock_ns();
        status = hal_queue_submit(s->i->device, &submit);
        if (status == HAL_OK)
            status = hal_device_wait_idle(s->i->device, HAL_FOREVER);
        const int64_t took_ns = hal_clock_ns() - begin_ns;
        if (n == 1 || took_ns < s->result->empty_ns)
            s->result->empty_ns = took_ns;
    }
    hal_semaphore_release(semaphore);
    return status;
}

static void name_of(const struct timed *alone, const struct replay_step *step,
                    char out[REPLAY_NAME_BYTES])
{
    if (trace_is_dispatch(step->work->kind))
        snprintf(out, REPLAY_NAME_BYTES, "%.100s",
                 replay_kernel_name(alone->serial.plan, step->work));
    else
        snprintf(out, REPLAY_NAME_BYTES, "(%s)", trace_segment_name(step->work->kind));
}

static struct replay_kernel_times *find_kernel(struct isolating *s, const char *name)
{
    struct replay_isolate_result *result = s->result;
    for (size_t k = 0; k < result->kernel_count; k++) {
        if (strcmp(result->kernels[k].name, name) == 0)
            return &result->kernels[k];
    }
    if (result->kernel_count == REPLAY_MOST_ROWS)
        return NULL;
    struct replay_kernel_times *fresh = &result->kernels[result->kernel_count++];
    snprintf(fresh->name, sizeof fresh->name, "%s", name);
    return fresh;
}

/* The steps of one submission lie together in both plans, which have the same order. */
static int64_t sum_of_submission(const struct timed *alone, size_t first, size_t *out_end)
{
    int64_t sum_ns = 0;
    size_t i = first;
    for (; i < alone->serial.step_count &&
           alone->serial.steps[i].submit == alone->serial.steps[first].submit;
         i++)
        sum_ns += alone->best_ns[i];
    *out_end = i;
    return sum_ns;
}

static int64_t whole_of(const struct timed *whole, const struct trace_submit *submit, size_t *at)
{
    while (*at < whole->serial.step_count && whole->serial.steps[*at].submit != submit)
        ++*at;
    return *at < whole->serial.step_count ? whole->best_ns[*at] : 0;
}

static void add_submission(struct isolating *s, size_t first, size_t end, int64_t alone_ns,
                           int64_t whole_ns)
{
    for (size_t i = first; i < end; i++) {
        char name[REPLAY_NAME_BYTES];
        name_of(&s->alone, &s->alone.serial.steps[i], name);
        struct replay_kernel_times *kernel = find_kernel(s, name);
        if (!kernel) {
            s->result->more_kernels++;
            continue;
        }
        const int64_t took_ns = s->alone.best_ns[i];
        const double share = alone_ns > 0 ? (double)took_ns / (double)alone_ns : 0;
        s->kernel_ns[(size_t)(kernel - s->result->kernels) * s->alone.serial.step_count +
                     kernel->count++] = took_ns;
        kernel->isolated_ns += took_ns;
        kernel->in_context_ns += (int64_t)(share * (double)whole_ns);
    }
    s->result->isolated_ns += alone_ns;
}

static int compare_kernels(const void *left, const void *right)
{
    const struct replay_kernel_times *a = left, *b = right;
    return (a->isolated_ns < b->isolated_ns) - (a->isolated_ns > b->isolated_ns);
}

static void summarise(struct isolating *s)
{
    struct replay_isolate_result *result = s->result;
    const size_t steps = s->alone.serial.step_count;
    size_t whole_at = 0;
    for (size_t first = 0, end; first < steps; first = end) {
        const int64_t alone_ns = sum_of_submission(&s->alone, first, &end);
        const int64_t whole_ns =
            whole_of(&s->whole, s->alone.serial.steps[first].submit, &whole_at);
        add_submission(s, first, end, alone_ns, whole_ns);
        result->in_context_ns += whole_ns;
        result->submissions++;
    }
    for (size_t k = 0; k < result->kernel_count; k++)
        result->kernels[k].one =
            replay_times_of(s->kernel_ns + k * steps, (size_t)result->kernels[k].count);
    qsort(result->kernels, result->kernel_count, sizeof *result->kernels, compare_kernels);
    result->commands = steps;
}

static enum hal_status isolate(struct isolating *s)
{
    const struct replay_isolate *i = s->i;
    struct replay_report report;
    HAL_TRY(make_timed(i, REPLAY_SPLIT_ALL, &s->alone));
    HAL_TRY(make_timed(i, REPLAY_SPLIT_NONE, &s->whole));
    s->kernel_ns = hal_alloc(REPLAY_MOST_ROWS * (s->alone.serial.step_count + 1), sizeof(int64_t));
    if (!s->kernel_ns)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu times", s->alone.serial.step_count);
    if (i->prepared)
        HAL_TRY(i->prepared(i->user));
    HAL_TRY(measure_empty(s));
    for (uint64_t run = 0; run < i->runs; run++) {
        HAL_TRY(run_timed(&s->whole, run == 0, &report));
        const enum hal_status status = run_timed(&s->alone, run == 0, &report);
        if (run == 0 || status != HAL_OK || report.different_reads)
            s->result->report = report;
        HAL_TRY(status);
        s->result->runs++;
        if (i->progress)
            i->progress(i->user, run + 1, i->runs);
    }
    summarise(s);
    return HAL_OK;
}

enum hal_status replay_isolate_run(const struct replay_isolate *wanted,
                                   struct replay_isolate_result *out_result)
{
    struct isolating s = {.i = wanted, .result = out_result};
    *out_result = (struct replay_isolate_result){0};
    const enum hal_status status = isolate(&s);
    free(s.kernel_ns);
    if (out_result->report.abandoned)
        return status;
    finish_timed(&s.alone);
    finish_timed(&s.whole);
    return status;
}
