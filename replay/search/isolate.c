/* SPDX-License-Identifier: Apache-2.0 */
/* Every command alone, and every submission alone: their times, and sums by kernel. */
#include "replay/search/benchmark.h"

#include "hal/base/mem.h"
#include "hal/base/os.h"
#include "replay/player/player.h"

#include <stdio.h>

/* ---- Sums ---------------------------------------------------------------------------------- */

struct summing {
    const struct replay_timed_steps *alone, *whole;
    struct replay_isolate_result *result;
    int64_t *kernel_ns; /* by kernel and step: for the median */
};

void replay_note_step(struct replay_timed_steps *steps, size_t step, bool first, int64_t took_ns)
{
    if (first || took_ns < steps->best_ns[step])
        steps->best_ns[step] = took_ns;
}

static void name_of(const struct replay_timed_steps *alone, const struct replay_step *step,
                    char out[REPLAY_NAME_BYTES])
{
    if (trace_is_dispatch(step->work->kind))
        snprintf(out, REPLAY_NAME_BYTES, "%.100s",
                 replay_kernel_name(alone->serialized.plan, step->work));
    else
        snprintf(out, REPLAY_NAME_BYTES, "(%s)", trace_segment_name(step->work->kind));
}

static struct replay_kernel_times *find_kernel(struct summing *s, const char *name)
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

/* The submission's steps, contiguous in both plans; `at` advances to the first one after them. */
static int64_t sum_of(const struct replay_timed_steps *steps, const struct trace_submit *submit,
                      size_t *at, uint64_t *count)
{
    const struct replay_serialized *serialized = &steps->serialized;
    int64_t sum_ns = 0;
    while (*at < serialized->step_count && serialized->steps[*at].submit != submit)
        ++*at;
    for (; *at < serialized->step_count && serialized->steps[*at].submit == submit; ++*at, ++*count)
        sum_ns += steps->best_ns[*at];
    return sum_ns;
}

static void add_submission(struct summing *s, size_t first, size_t end, int64_t alone_ns,
                           int64_t whole_ns)
{
    for (size_t i = first; i < end; i++) {
        char name[REPLAY_NAME_BYTES];
        name_of(s->alone, &s->alone->serialized.steps[i], name);
        struct replay_kernel_times *kernel = find_kernel(s, name);
        if (!kernel) {
            s->result->more_kernels++;
            continue;
        }
        const int64_t took_ns = s->alone->best_ns[i];
        const double share = alone_ns > 0 ? (double)took_ns / (double)alone_ns : 0;
        s->kernel_ns[(size_t)(kernel - s->result->kernels) * s->alone->serialized.step_count +
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

static void summarise(struct summing *s)
{
    struct replay_isolate_result *result = s->result;
    const size_t steps = s->alone->serialized.step_count;
    size_t whole_at = 0;
    for (size_t first = 0, end = 0; first < steps; first = end) {
        const struct trace_submit *submit = s->alone->serialized.steps[first].submit;
        const int64_t alone_ns = sum_of(s->alone, submit, &end, &result->commands);
        const int64_t whole_ns = sum_of(s->whole, submit, &whole_at, &result->submissions);
        add_submission(s, first, end, alone_ns, whole_ns);
        result->in_context_ns += whole_ns;
    }
    for (size_t k = 0; k < result->kernel_count; k++)
        result->kernels[k].one =
            replay_times_of(s->kernel_ns + k * steps, (size_t)result->kernels[k].count);
    qsort(result->kernels, result->kernel_count, sizeof *result->kernels, compare_kernels);
}

enum hal_status replay_isolate_sum(const struct replay_timed_steps *alone,
                                   const struct replay_timed_steps *whole,
                                   struct replay_isolate_result *result)
{
    struct summing s = {.alone = alone, .whole = whole, .result = result};
    s.kernel_ns = hal_alloc(REPLAY_MOST_ROWS * (alone->serialized.step_count + 1), sizeof(int64_t));
    if (!s.kernel_ns)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu times", alone->serialized.step_count);
    summarise(&s);
    free(s.kernel_ns);
    return HAL_OK;
}

/* ---- Running ------------------------------------------------------------------------------- */

struct timed {
    struct replay_timed_steps steps;
    struct replay_player *player;
};

struct isolating {
    const struct replay_isolate *i;
    struct replay_isolate_result *result;
    struct timed alone, whole;
};

static enum hal_status make_timed(const struct replay_isolate *i, enum replay_split split,
                                  struct timed *out)
{
    struct replay_timed_steps *steps = &out->steps;
    const struct replay_serialized_options options = {.split = split};
    HAL_TRY(replay_serialized_make(i->plan, &options, &steps->serialized));
    steps->best_ns = hal_alloc(steps->serialized.step_count, sizeof *steps->best_ns);
    if (!steps->best_ns)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu times", steps->serialized.step_count);
    return replay_player_create(steps->serialized.plan, i->device, i->options, &out->player);
}

static void finish_timed(struct timed *timed)
{
    replay_player_destroy(timed->player);
    if (timed->steps.serialized.plan)
        replay_serialized_finish(&timed->steps.serialized);
    free(timed->steps.best_ns);
}

static enum hal_status run_steps(struct timed *timed, bool first)
{
    for (size_t i = 0; i < timed->steps.serialized.step_count; i++) {
        const struct replay_step *step = &timed->steps.serialized.steps[i];
        HAL_TRY(replay_player_until(timed->player, step->submit_op));
        HAL_TRY(replay_player_until(timed->player, step->end_op));
        replay_note_step(&timed->steps, i, first, timed->player->took_ns);
    }
    return replay_player_until(timed->player, timed->steps.serialized.plan->op_count);
}

static enum hal_status run_timed(struct timed *timed, bool first, struct replay_report *report)
{
    replay_player_begin(timed->player, report);
    const enum hal_status status = run_steps(timed, first);
    return replay_player_end(timed->player, status, true);
}

static enum hal_status measure_empty(struct isolating *s)
{
    enum { RUNS = 32 };
    for (int n = 0; n < RUNS; n++) {
        int64_t took_ns;
        HAL_TRY(replay_player_submit_alone(s->whole.player, 0, &took_ns));
        if (n == 0 || took_ns < s->result->empty_ns)
            s->result->empty_ns = took_ns;
    }
    return HAL_OK;
}

static enum hal_status isolate(struct isolating *s)
{
    const struct replay_isolate *i = s->i;
    struct replay_report report;
    HAL_TRY(make_timed(i, REPLAY_SPLIT_ALL, &s->alone));
    HAL_TRY(make_timed(i, REPLAY_SPLIT_NONE, &s->whole));
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
    return replay_isolate_sum(&s->alone.steps, &s->whole.steps, s->result);
}

enum hal_status replay_isolate_run(const struct replay_isolate *wanted,
                                   struct replay_isolate_result *out_result)
{
    struct isolating s = {.i = wanted, .result = out_result};
    *out_result = (struct replay_isolate_result){0};
    const enum hal_status status = isolate(&s);
    if (out_result->report.abandoned)
        return status;
    finish_timed(&s.alone);
    finish_timed(&s.whole);
    return status;
}
