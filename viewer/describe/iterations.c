/* SPDX-License-Identifier: Apache-2.0 */
/* Finding iterations, and their numbers. */
#include "viewer/describe/iterations.h"

#include "format/analysis/iterations.h"
#include "hal/base/hash.h"
#include "hal/base/order.h"
#include "viewer/describe/describe.h"
#include "viewer/model/build.h"
#include "viewer/text/text.h"

#include <string.h>

enum { LEAST = 3 };

static enum hal_status add(struct view_iterations *its, int64_t begin_ns, int64_t end_ns)
{
    HAL_TRY(VIEW_ROOM(its, list, 1));
    its->list[its->list_count++] =
        (struct view_iteration){.begin_ns = begin_ns, .end_ns = end_ns, .submission = VIEW_NO_REF};
    return HAL_OK;
}

/* ---- Named ones --------------------------------------------------------------------------- */

/* Scopes of the most costly family, of the thread of the first one; nested ones count once. */
static enum hal_status take_scopes(const struct view_model *m, struct view_task *task,
                                   struct view_iterations *its)
{
    const struct view_family *family = m->families_count ? &m->families[0] : NULL;
    uint32_t host = VIEW_NO_REF;
    if (!family || family->count < LEAST)
        return HAL_OK;
    for (size_t i = 0; i < m->scopes_count && !view_task_stopped(task); i++) {
        const struct view_scope *scope = &m->scopes[i];
        view_task_advance(task, i, m->scopes_count);
        char name[sizeof family->name];
        view_family_name(view_model_string(m, scope->name), name, sizeof name);
        if (scope->open || strcmp(name, family->name) != 0 ||
            (host != VIEW_NO_REF && host != scope->host))
            continue;
        host = scope->host;
        if (its->list_count && its->list[its->list_count - 1].end_ns > scope->begin_ns)
            continue;
        HAL_TRY(add(its, scope->begin_ns, scope->end_ns));
        its->list[its->list_count - 1].warm_up = scope->begin_ns < family->steady_ns;
    }
    its->named = true;
    its->time = family->time;
    snprintf(its->name, sizeof its->name, "%s", family->name);
    return view_task_check(task);
}

/* ---- Detected ones ------------------------------------------------------------------------ */

/* Submissions that do the same have the same one. Sizes are left out: they may grow. */
static uint64_t signature(const struct view_work *work, const struct view_submission *s)
{
    const struct view_model *m = work->model;
    uint64_t hash = hal_hash_add(hal_hash_add(1, s->queue), s->operation);
    for (uint32_t k = 0; k < s->commands_count; k++) {
        const uint32_t commands = m->submitted[s->first_commands + k];
        hash = hal_hash_add(hash, view_body(m, commands)->transfer_count);
        for (uint32_t u = work->first_use[commands]; u < work->first_use[commands + 1]; u++)
            hash = hal_hash_add(hal_hash_add(hash, work->uses[u].kernel + 1),
                                work->uses[u].dispatches);
    }
    return hash;
}

static int64_t begin_of(const struct view_model *m, const struct view_submission *s)
{
    const int64_t submit_ns = view_submit_ns(m, s);
    return submit_ns != VIEW_NO_TIME ? submit_ns : s->begin_ns;
}

/* An iteration lasts until the next one begins; the last one until its work has ended. */
static enum hal_status add_pattern(const struct view_model *m,
                                   const struct trace_iterations *pattern,
                                   const struct view_task *task, struct view_iterations *its)
{
    for (size_t k = 0; k < pattern->count && !view_task_stopped(task); k++) {
        const size_t first = pattern->first + k * pattern->period;
        const int64_t begin_ns = begin_of(m, &m->submissions[first]);
        int64_t end_ns = begin_ns;
        for (size_t i = first; i < first + pattern->period; i++) {
            const int64_t ns = m->submissions[i].end_ns;
            end_ns = ns != VIEW_NO_TIME && ns > end_ns ? ns : end_ns;
        }
        if (k + 1 < pattern->count)
            end_ns = begin_of(m, &m->submissions[first + pattern->period]);
        if (begin_ns != VIEW_NO_TIME && end_ns != VIEW_NO_TIME && end_ns >= begin_ns &&
            (!its->list_count || its->list[its->list_count - 1].begin_ns <= begin_ns))
            HAL_TRY(add(its, begin_ns, end_ns));
    }
    snprintf(its->name, sizeof its->name, "%s", view_things(pattern->period, "submission").text);
    return HAL_OK;
}

static enum hal_status take_pattern(const struct view_model *m, const struct view_work *work,
                                    struct view_task *task, struct view_iterations *its)
{
    struct trace_iterations pattern;
    uint64_t *signatures = hal_alloc(m->submissions_count, sizeof *signatures);
    if (!signatures)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu submissions", m->submissions_count);
    for (size_t i = 0; i < m->submissions_count && !view_task_stopped(task); i++) {
        signatures[i] = signature(work, &m->submissions[i]);
        view_task_advance(task, i, m->submissions_count);
    }
    enum hal_status status = view_task_check(task);
    if (status == HAL_OK)
        status = trace_iterations_find(signatures, m->submissions_count, &pattern);
    free(signatures);
    HAL_TRY(status);
    return pattern.period ? add_pattern(m, &pattern, task, its) : HAL_OK;
}

/* ---- Numbers ------------------------------------------------------------------------------ */

size_t view_iterations_at(const struct view_iterations *iterations, int64_t ns)
{
    size_t low = 0, high = iterations->list_count;
    HAL_BISECT(low, high, middle, iterations->list[middle].begin_ns <= ns)
    return low > 0 ? low - 1 : SIZE_MAX;
}

static void measure(const struct view_model *m, struct view_iteration *it)
{
    struct view_measure measure;
    for (size_t i = 0; i < m->tracks_count; i++) {
        if (m->tracks[i].kind != VIEW_TRACK_HOST)
            continue;
        view_series_measure(&m->tracks[i].series, it->begin_ns, it->end_ns, &measure);
        it->syncs += measure.begun[VIEW_WAIT];
        it->sync_ns += measure.busy_ns[VIEW_WAIT];
    }
    if (m->device_track == VIEW_NO_TRACK)
        return;
    view_series_measure(&m->tracks[m->device_track].series, it->begin_ns, it->end_ns, &measure);
    it->device_ns = measure.busy_ns[VIEW_EXECUTE];
}

static void assign_submissions(const struct view_model *m, const struct view_task *task,
                               struct view_iterations *its)
{
    for (uint32_t i = 0; i < m->submissions_count && !view_task_stopped(task); i++) {
        const int64_t ns = begin_of(m, &m->submissions[i]);
        const size_t at = ns == VIEW_NO_TIME ? SIZE_MAX : view_iterations_at(its, ns);
        if (at == SIZE_MAX || ns >= its->list[at].end_ns)
            continue;
        struct view_iteration *it = &its->list[at];
        it->submission = it->submissions++ ? it->submission : i;
        it->dispatches += m->submissions[i].dispatch_count;
    }
}

HAL_COMPARE_VALUES(compare, int64_t)

static int64_t median(int64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}

static int64_t length_of(const struct view_iteration *it)
{
    return it->end_ns - it->begin_ns;
}

/* Three standard deviations, estimated from the median deviation, and a tenth of the median. */
static void find_outliers(struct view_iterations *its, int64_t *values)
{
    const size_t count = its->list_count - its->warm_up;
    if (!count) /* another thread's are steady */
        return;
    for (size_t i = 0; i < count; i++) {
        const int64_t off_ns = length_of(&its->list[its->warm_up + i]) - its->time.median_ns;
        values[i] = off_ns < 0 ? -off_ns : off_ns;
    }
    const int64_t usual_ns = median(values, count);
    for (size_t i = its->warm_up; i < its->list_count; i++) {
        const int64_t off_ns = length_of(&its->list[i]) - its->time.median_ns;
        const double off = (double)(off_ns < 0 ? -off_ns : off_ns);
        its->list[i].outlier =
            off > 3 * 1.4826 * (double)usual_ns && off > (double)its->time.median_ns / 10;
        its->outliers += its->list[i].outlier;
    }
}

static enum hal_status add_typical_time(struct view_iterations *its, int64_t *values)
{
    for (size_t i = 0; i < its->list_count; i++)
        values[i] = length_of(&its->list[i]);
    HAL_TRY(trace_typical_of(values, its->list_count, &its->time));
    for (size_t i = 0; i < its->time.warm_up; i++)
        its->list[i].warm_up = true;
    return HAL_OK;
}

static enum hal_status add_numbers(const struct view_model *m, struct view_task *task,
                                   struct view_iterations *its)
{
    int64_t *values = hal_alloc(its->list_count, sizeof *values);
    if (!values)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu iterations", its->list_count);
    for (size_t i = 0; i < its->list_count && !view_task_stopped(task); i++) {
        measure(m, &its->list[i]);
        view_task_advance(task, i, its->list_count);
    }
    assign_submissions(m, task, its);
    enum hal_status status = view_task_check(task);
    if (status == HAL_OK && !its->named)
        status = add_typical_time(its, values);
    if (status == HAL_OK) {
        while (its->warm_up < its->list_count && its->list[its->warm_up].warm_up)
            its->warm_up++;
        find_outliers(its, values);
    }
    free(values);
    return status;
}

enum hal_status view_iterations_find(const struct view_model *model, const struct view_work *work,
                                     struct view_task *task, struct view_iterations *out_iterations)
{
    enum { SCOPES_END = 300, PATTERN_END = 600 }; /* of VIEW_TASK_WHOLE */
    struct view_iterations its = {0};
    view_task_part(task, 0, SCOPES_END);
    enum hal_status status = take_scopes(model, task, &its);
    view_task_part(task, SCOPES_END, PATTERN_END);
    if (status == HAL_OK && its.list_count < LEAST) {
        its.list_count = 0;
        its.named = false;
        status = take_pattern(model, work, task, &its);
    }
    if (its.list_count < LEAST)
        its.list_count = 0;
    view_task_part(task, PATTERN_END, VIEW_TASK_WHOLE);
    if (status == HAL_OK && its.list_count)
        status = add_numbers(model, task, &its);
    if (status != HAL_OK)
        view_iterations_finish(&its);
    *out_iterations = its;
    return status;
}

void view_iterations_finish(struct view_iterations *iterations)
{
    free(iterations->list);
    *iterations = (struct view_iterations){0};
}

/* ---- Text --------------------------------------------------------------------------------- */

/* What an iteration is on average. */
static void add_average(const struct view_iterations *its, struct view_lines *lines)
{
    const uint64_t count = its->list_count - its->warm_up;
    uint64_t submissions = 0, dispatches = 0, syncs = 0;
    int64_t device_ns = 0, sync_ns = 0, total_ns = 0;
    for (size_t i = its->warm_up; i < its->list_count; i++) {
        submissions += its->list[i].submissions;
        dispatches += its->list[i].dispatches;
        syncs += its->list[i].syncs;
        device_ns += its->list[i].device_ns;
        sync_ns += its->list[i].sync_ns;
        total_ns += length_of(&its->list[i]);
    }
    view_lines_add(lines, "average",
                   "submissions %s, dispatches %s, waits %s; blocked %s, device busy %s",
                   view_ratio(submissions, count).text, view_ratio(dispatches, count).text,
                   view_ratio(syncs, count).text, view_share(sync_ns, total_ns).text,
                   view_share(device_ns, total_ns).text);
}

void view_iterations_lines(const struct view_iterations *iterations, struct view_lines *lines)
{
    const struct view_iterations *its = iterations;
    char typical[256];
    if (!its->list_count) {
        view_lines_add(lines, "iterations",
                       "nothing repeats: no scopes of one kind, and no pattern "
                       "of submissions");
        return;
    }
    view_lines_add(lines, "iterations", "%s of %s%s", view_count(its->list_count).text, its->name,
                   its->named ? "" : ", found as a repeating pattern");
    if (its->warm_up)
        view_lines_add(lines, "warm-up", "%s at the start, excluded below",
                       view_things(its->warm_up, "iteration").text);
    view_typical_text(&its->time, typical, sizeof typical);
    view_lines_add(lines, "length", "%s; shortest %s, longest %s; %s", typical,
                   hal_duration_text(its->time.min_ns).text,
                   hal_duration_text(its->time.max_ns).text,
                   view_things(its->outliers, "outlier").text);
    add_average(its, lines);
}

void view_iteration_text(const struct view_iterations *iterations, size_t index, char *out,
                         size_t bytes)
{
    const struct view_iteration *it = &iterations->list[index];
    const int64_t ns = length_of(it);
    char number[24], factor[24] = "-";
    snprintf(number, sizeof number, "%zu", index);
    if (iterations->time.median_ns > 0)
        snprintf(factor, sizeof factor, "× %.2f", (double)ns / (double)iterations->time.median_ns);
    snprintf(out, bytes, "%s  %s %s  %s %s  %s %s %s %s  %s", view_right(number, 7).text,
             view_right(hal_moment_text(it->begin_ns).text, 16).text,
             view_right(hal_duration_text(ns).text, 10).text, view_right(factor, 7).text,
             view_right(view_count(it->submissions).text, 11).text,
             view_right(view_count(it->dispatches).text, 10).text,
             view_right(view_count(it->syncs).text, 6).text,
             view_right(hal_duration_text(it->sync_ns).text, 10).text,
             view_right(view_share(it->device_ns, ns).text, 7).text,
             it->warm_up   ? "warm-up"
             : it->outlier ? "outlier"
                           : "");
}
