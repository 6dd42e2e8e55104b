/* SPDX-License-Identifier: Apache-2.0 */
/* Levels that rise and fall with submissions and transfers. */
#include "viewer/ui/counters.h"

#include "hal/base/order.h"
#include "viewer/model/build.h"
#include "viewer/text/text.h"

#include <string.h>

const char *const view_counter_names[VIEW_COUNTER_COUNT] = {
    [VIEW_COUNTER_WAITING] = "waiting",
    [VIEW_COUNTER_IN_FLIGHT] = "in flight",
    [VIEW_COUNTER_UPLOADS] = "uploads",
    [VIEW_COUNTER_READBACKS] = "read-backs",
};

/* Something begins, or ends: the level changes by so much. */
struct change {
    int64_t ns;
    double by;
};

struct changes {
    VIEW_TABLE(change, list);
};

HAL_COMPARE_2(compare, struct change, ns, by)

/* The counter's value for that level. A transfer may have no bytes. */
static enum hal_status add(struct changes *changes, int64_t begin_ns, int64_t end_ns, double level)
{
    if (end_ns <= begin_ns || level <= 0)
        return HAL_OK;
    HAL_TRY(VIEW_ROOM(changes, list, 2));
    changes->list[changes->list_count++] = (struct change){.ns = begin_ns, .by = level};
    changes->list[changes->list_count++] = (struct change){.ns = end_ns, .by = -level};
    return HAL_OK;
}

static enum hal_status add_submissions(const struct view_model *m, const struct view_task *task,
                                       bool only_waiting, struct changes *changes)
{
    for (size_t i = 0; i < m->submissions_count; i++) {
        const struct view_submission *s = &m->submissions[i];
        const int64_t begin_ns = view_submit_ns(m, s);
        const bool ran = s->begin_ns != VIEW_NO_TIME;
        const int64_t end_ns = only_waiting && ran ? s->begin_ns : view_build_submission_end(m, s);
        HAL_TRY(view_task_check(task));
        if (begin_ns != VIEW_NO_TIME)
            HAL_TRY(add(changes, begin_ns, end_ns, 1));
    }
    return HAL_OK;
}

static enum hal_status add_transfers(const struct view_model *m, const struct view_task *task,
                                     enum view_class class, struct changes *changes)
{
    for (size_t i = 0; i < m->transfers_count; i++) {
        const struct view_transfer *t = &m->transfers[i];
        const int64_t end_ns = t->end_ns > t->begin_ns ? t->end_ns : t->begin_ns + 1;
        HAL_TRY(view_task_check(task));
        if (t->class == class)
            HAL_TRY(add(changes, t->begin_ns, end_ns,
                        (double)t->bytes / ((double)(end_ns - t->begin_ns) / 1e9)));
    }
    return HAL_OK;
}

/* Where nothing is going on the level is 0, whatever fractions sum to, and never less. */
static enum hal_status make_knots(struct view_counters *counters, enum view_counter which,
                                  const struct changes *changes, const struct view_task *task)
{
    struct view_knot knot = {.ns = changes->list_count ? changes->list[0].ns : 0};
    size_t going_on = 0;
    HAL_TRY(VIEW_ROOM(&counters->of[which], knots, changes->list_count));
    for (size_t i = 0; i < changes->list_count && !view_task_stopped(task); i++) {
        const struct change *change = &changes->list[i];
        knot.sum += knot.level * ((double)(change->ns - knot.ns) / 1e9);
        knot.ns = change->ns;
        going_on = change->by > 0 ? going_on + 1 : going_on - 1;
        knot.level += change->by;
        knot.level = going_on && knot.level > 0 ? knot.level : 0;
        counters->of[which].knots[counters->of[which].knots_count++] = knot;
    }
    return view_task_check(task);
}

static enum hal_status find(const struct view_model *m, enum view_counter which,
                            struct view_task *task, struct view_counters *counters)
{
    struct changes changes = {0};
    enum hal_status status;
    if (which == VIEW_COUNTER_WAITING || which == VIEW_COUNTER_IN_FLIGHT)
        status = add_submissions(m, task, which == VIEW_COUNTER_WAITING, &changes);
    else
        status = add_transfers(m, task, which == VIEW_COUNTER_UPLOADS ? VIEW_UPLOAD : VIEW_READBACK,
                               &changes);
    if (status == HAL_OK && changes.list_count)
        qsort(changes.list, changes.list_count, sizeof *changes.list, compare);
    if (status == HAL_OK)
        status = make_knots(counters, which, &changes, task);
    free(changes.list);
    return status;
}

enum hal_status view_counters_find(const struct view_model *model, struct view_task *task,
                                   struct view_counters *out_counters)
{
    enum hal_status status = HAL_OK;
    *out_counters = (struct view_counters){0};
    for (unsigned i = 0; i < VIEW_COUNTER_COUNT && status == HAL_OK; i++) {
        status = find(model, (enum view_counter)i, task, out_counters);
        view_task_advance(task, i + 1, VIEW_COUNTER_COUNT);
    }
    if (status != HAL_OK)
        view_counters_finish(out_counters);
    return status;
}

void view_counters_finish(struct view_counters *counters)
{
    for (size_t i = 0; i < VIEW_COUNTER_COUNT; i++)
        free(counters->of[i].knots);
    *counters = (struct view_counters){0};
}

/* ---- Questions ---------------------------------------------------------------------------- */

/* The last knot by that moment; NULL: it is before all. */
static const struct view_knot *knot_at(const struct view_counters *counters,
                                       enum view_counter which, int64_t ns)
{
    const struct view_knot *knots = counters->of[which].knots;
    size_t low = 0, high = counters->of[which].knots_count;
    HAL_BISECT(low, high, middle, knots[middle].ns <= ns)
    return low ? &knots[low - 1] : NULL;
}

double view_counter_at(const struct view_counters *counters, enum view_counter which, int64_t ns)
{
    const struct view_knot *knot = knot_at(counters, which, ns);
    return knot ? knot->level : 0;
}

static double sum_before(const struct view_counters *counters, enum view_counter which, int64_t ns)
{
    const struct view_knot *knot = knot_at(counters, which, ns);
    return knot ? knot->sum + knot->level * ((double)(ns - knot->ns) / 1e9) : 0;
}

double view_counter_mean(const struct view_counters *counters, enum view_counter which,
                         int64_t begin_ns, int64_t end_ns)
{
    const struct view_knot *first = knot_at(counters, which, begin_ns);
    const struct view_knot *last = knot_at(counters, which, end_ns);
    if (end_ns <= begin_ns || first == last) /* which sums of large numbers cannot represent */
        return first ? first->level : 0;
    return (sum_before(counters, which, end_ns) - sum_before(counters, which, begin_ns)) /
           ((double)(end_ns - begin_ns) / 1e9);
}

void view_counter_text(enum view_counter which, double level, char *out, size_t bytes)
{
    const double most = 1e18; /* of a file's bytes in a nanosecond */
    if (which == VIEW_COUNTER_UPLOADS || which == VIEW_COUNTER_READBACKS)
        snprintf(out, bytes, "%s/s", view_bytes((uint64_t)(level < most ? level : most)).text);
    else if (level >= 100 || level == (double)(uint64_t)level)
        snprintf(out, bytes, "%s", view_count((uint64_t)level).text);
    else
        snprintf(out, bytes, level < 0.1 ? "%.2f" : "%.1f", level);
}
