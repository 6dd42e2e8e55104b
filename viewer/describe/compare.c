/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/describe/compare.h"

#include "viewer/describe/describe.h"
#include "viewer/describe/iterations.h"
#include "viewer/model/build.h"
#include "viewer/text/text.h"

#include <stdlib.h>
#include <string.h>

/* ---- Totals ------------------------------------------------------------------------------- */

static enum hal_status add_total(struct view_comparison *c, const char *name, enum view_unit unit,
                                 uint64_t first, uint64_t second)
{
    if (!first && !second)
        return HAL_OK;
    HAL_TRY(VIEW_ROOM(c, totals, 1));
    struct view_total *total = &c->totals[c->totals_count++];
    *total = (struct view_total){.unit = unit, .values = {first, second}};
    snprintf(total->name, sizeof total->name, "%s", name);
    return HAL_OK;
}

static enum hal_status add_times(struct view_comparison *c, const char *name, int64_t first,
                                 int64_t second)
{
    return add_total(c, name, VIEW_UNIT_TIME, (uint64_t)first, (uint64_t)second);
}

static enum hal_status add_counts(struct view_comparison *c, const char *name, uint64_t first,
                                  uint64_t second)
{
    return add_total(c, name, VIEW_UNIT_COUNT, first, second);
}

static uint64_t peak(const struct view_model *m)
{
    return m->peak_level == VIEW_NO_REF ? 0 : m->levels[m->peak_level].bytes;
}

static enum hal_status take_totals(struct view_comparison *c)
{
    const struct view_summary *s = &c->models[0]->summary, *t = &c->models[1]->summary;
    HAL_TRY(add_times(c, "work lasts", s->device_end_ns - s->device_begin_ns,
                      t->device_end_ns - t->device_begin_ns));
    HAL_TRY(add_times(c, "device busy", s->device_busy_ns, t->device_busy_ns));
    for (size_t i = 0; i < VIEW_GAP_COUNT; i++) {
        char name[64];
        snprintf(name, sizeof name, "idle, %s",
                 view_class_info((enum view_class)(VIEW_GAP_HOST + i))->name);
        HAL_TRY(add_times(c, name, s->gaps[i].ns, t->gaps[i].ns));
    }
    HAL_TRY(add_counts(c, "submissions", s->submissions, t->submissions));
    HAL_TRY(add_counts(c, "dispatches", s->dispatches, t->dispatches));
    HAL_TRY(add_counts(c, "failed", s->failed_submissions, t->failed_submissions));
    HAL_TRY(add_counts(c, "host waits", s->syncs.count, t->syncs.count));
    HAL_TRY(add_times(c, "blocked", s->syncs.ns, t->syncs.ns));
    HAL_TRY(add_total(c, "uploads", VIEW_UNIT_BYTES, s->uploads.bytes, t->uploads.bytes));
    HAL_TRY(add_total(c, "read-backs", VIEW_UNIT_BYTES, s->readbacks.bytes, t->readbacks.bytes));
    return add_total(c, "peak memory", VIEW_UNIT_BYTES, peak(c->models[0]), peak(c->models[1]));
}

/* ---- Scopes and kernels ------------------------------------------------------------------- */

static enum hal_status take_scopes(struct view_comparison *c, size_t side)
{
    const struct view_model *m = c->models[side];
    for (size_t i = 0; i < m->families_count; i++) {
        const struct view_family *family = &m->families[i];
        struct view_pair pair = {0};
        snprintf(pair.name, sizeof pair.name, "%s", family->name);
        pair.count[side] = family->count;
        pair.total_ns[side] = family->total_ns;
        pair.each[side] = family->time;
        HAL_TRY(VIEW_ROOM(c, scopes, 1));
        c->scopes[c->scopes_count++] = pair;
    }
    return HAL_OK;
}

/* Where scopes name the iterations, they are compared as scopes. */
static enum hal_status take_iterations(struct view_comparison *c, const struct view_work *work,
                                       size_t side)
{
    struct view_iterations its;
    HAL_TRY(view_iterations_find(c->models[side], work, NULL, &its));
    struct view_pair pair = {0};
    snprintf(pair.name, sizeof pair.name, "iteration of %s", its.name);
    pair.count[side] = its.list_count;
    for (size_t i = 0; i < its.list_count; i++)
        pair.total_ns[side] += its.list[i].end_ns - its.list[i].begin_ns;
    pair.each[side] = its.time;
    const bool is_told = its.list_count > 0 && !its.named;
    view_iterations_finish(&its);
    if (is_told) {
        HAL_TRY(VIEW_ROOM(c, scopes, 1));
        c->scopes[c->scopes_count++] = pair;
    }
    return HAL_OK;
}

static enum hal_status add_kernels(struct view_comparison *c, const struct view_work *work,
                                   const struct view_kernel_time *times, size_t side)
{
    for (uint32_t i = 0; i < work->kernels_count; i++) {
        struct view_pair pair = {0};
        pair.count[side] = times[i].dispatches;
        pair.total_ns[side] = times[i].alone_ns;
        pair.each[side] = times[i].each;
        view_work_name(work, i, pair.name, sizeof pair.name);
        HAL_TRY(VIEW_ROOM(c, kernels, 1));
        c->kernels[c->kernels_count++] = pair;
    }
    return HAL_OK;
}

static enum hal_status take_side(struct view_comparison *c, size_t side)
{
    const struct view_model *m = c->models[side];
    struct view_work work;
    struct view_work_total total;
    HAL_TRY(take_scopes(c, side));
    HAL_TRY(view_work_init(m, NULL, &work));
    struct view_kernel_time *times = hal_alloc(work.kernels_count, sizeof *times);
    enum hal_status status =
        times ? view_work_times(&work, NULL, m->first_ns, m->last_ns, times, &total)
              : hal_fail(HAL_NO_MEMORY, "no memory for %zu kernels", work.kernels_count);
    if (status == HAL_OK)
        status = add_kernels(c, &work, times, side);
    if (status == HAL_OK)
        status = take_iterations(c, &work, side);
    free(times);
    view_work_finish(&work);
    return status;
}

static int compare_names(const void *left, const void *right)
{
    const struct view_pair *a = left, *b = right;
    return strcmp(a->name, b->name);
}

/* Names that were cut may be the same: the times of the more frequent one stay. */
static size_t join_same_names(struct view_pair *pairs, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (!kept || strcmp(pairs[kept - 1].name, pairs[i].name) != 0) {
            pairs[kept++] = pairs[i];
            continue;
        }
        struct view_pair *pair = &pairs[kept - 1];
        for (size_t side = 0; side < 2; side++) {
            pair->count[side] += pairs[i].count[side];
            pair->total_ns[side] += pairs[i].total_ns[side];
            if (pairs[i].each[side].count > pair->each[side].count)
                pair->each[side] = pairs[i].each[side];
        }
    }
    return kept;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static int compare_changes(const void *left, const void *right)
{
    const struct view_pair *a = left, *b = right;
    const uint64_t a_ns = apart((uint64_t)a->total_ns[0], (uint64_t)a->total_ns[1]);
    const uint64_t b_ns = apart((uint64_t)b->total_ns[0], (uint64_t)b->total_ns[1]);
    if (a_ns != b_ns)
        return a_ns > b_ns ? -1 : 1;
    const uint64_t a_more = apart(a->count[0], a->count[1]);
    const uint64_t b_more = apart(b->count[0], b->count[1]);
    if (a_more != b_more)
        return a_more > b_more ? -1 : 1;
    return strcmp(a->name, b->name);
}

static size_t pair_up(struct view_pair *pairs, size_t count)
{
    if (!count)
        return 0;
    qsort(pairs, count, sizeof *pairs, compare_names);
    const size_t kept = join_same_names(pairs, count);
    qsort(pairs, kept, sizeof *pairs, compare_changes);
    return kept;
}

static size_t keep_common(struct view_pair *pairs, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (pairs[i].count[0] && pairs[i].count[1])
            pairs[kept++] = pairs[i];
    }
    return kept;
}

enum hal_status view_compare(const struct view_model *first, const struct view_model *second,
                             struct view_comparison *out_comparison)
{
    struct view_comparison c = {.models = {first, second}};
    enum hal_status status = take_totals(&c);
    for (size_t side = 0; side < 2 && status == HAL_OK; side++)
        status = take_side(&c, side);
    if (status != HAL_OK) {
        view_comparison_finish(&c);
        return status;
    }
    c.kernels_count = pair_up(c.kernels, c.kernels_count);
    c.scopes_count = keep_common(c.scopes, pair_up(c.scopes, c.scopes_count));
    *out_comparison = c;
    return HAL_OK;
}

void view_comparison_finish(struct view_comparison *comparison)
{
    free(comparison->totals);
    free(comparison->scopes);
    free(comparison->kernels);
    *comparison = (struct view_comparison){0};
}

/* ---- As text ------------------------------------------------------------------------------ */

/* "+12.5 %", "same", "new". */
static struct view_word change(double first, double second)
{
    struct view_word word;
    if (first == second)
        snprintf(word.text, sizeof word.text, "same");
    else if (first == 0)
        snprintf(word.text, sizeof word.text, "new");
    else
        snprintf(word.text, sizeof word.text, "%+.1f %%", 100 * (second - first) / first);
    return word;
}

static void add_row(struct view_lines *lines, const char *key, struct view_word first,
                    struct view_word second, struct view_word by, const char *meaning)
{
    view_lines_add(lines, key, "%s  ->  %s  %s%s%s", view_right(first.text, 12).text,
                   view_right(second.text, 12).text, view_right(by.text, 10).text,
                   *meaning ? "  " : "", meaning);
}

static struct view_word duration(int64_t ns)
{
    return view_right(hal_duration_text(ns).text, 0);
}

static struct view_word amount(uint64_t value, enum view_unit unit)
{
    switch (unit) {
    case VIEW_UNIT_TIME: return duration((int64_t)value);
    case VIEW_UNIT_COUNT: return view_count(value);
    case VIEW_UNIT_BYTES: return view_bytes(value);
    }
    return (struct view_word){0};
}

static void add_total_row(const struct view_total *total, struct view_lines *lines)
{
    const uint64_t *v = total->values;
    add_row(lines, total->name, amount(v[0], total->unit), amount(v[1], total->unit),
            change((double)v[0], (double)v[1]),
            total->unit == VIEW_UNIT_TIME && v[0] != v[1] ? "one value each: too few to tell" : "");
}

/* What the change of a typical time means, and of what that is known. */
static void describe_change(const struct view_pair *pair, char *out, size_t bytes)
{
    const struct trace_typical *a = &pair->each[0], *b = &pair->each[1];
    const enum trace_change change = trace_typical_compare(a, b);
    if (change == TRACE_CHANGE_UNKNOWN)
        snprintf(out, bytes, "%s: %s and %s", trace_change_texts[change], view_count(a->count).text,
                 view_count(b->count).text);
    else
        snprintf(out, bytes, "%s (%s to %s -> %s to %s)", trace_change_texts[change],
                 hal_duration_text(a->low_ns).text, hal_duration_text(a->high_ns).text,
                 hal_duration_text(b->low_ns).text, hal_duration_text(b->high_ns).text);
}

/* `rest` comes behind what the change means. */
static void add_pair(const struct view_pair *pair, const char *rest, struct view_lines *lines)
{
    const int64_t first = pair->each[0].median_ns, second = pair->each[1].median_ns;
    char meaning[320], all[640];
    describe_change(pair, meaning, sizeof meaning);
    snprintf(all, sizeof all, "%s%s", meaning, rest);
    add_row(lines, pair->name, duration(first), duration(second),
            change((double)first, (double)second), all);
}

static bool is_timed(const struct view_pair *pair)
{
    return pair->each[0].count && pair->each[1].count;
}

static void add_kernel(const struct view_pair *pair, struct view_lines *lines)
{
    char rest[256];
    if (is_timed(pair)) {
        snprintf(rest, sizeof rest, "; total %s -> %s, %s -> %s",
                 hal_duration_text(pair->total_ns[0]).text,
                 hal_duration_text(pair->total_ns[1]).text, view_count(pair->count[0]).text,
                 view_things(pair->count[1], "dispatch").text);
        add_pair(pair, rest, lines);
    } else {
        add_row(lines, pair->name, view_count(pair->count[0]), view_count(pair->count[1]),
                change((double)pair->count[0], (double)pair->count[1]), "");
    }
}

void view_comparison_lines(const struct view_comparison *comparison, struct view_lines *lines)
{
    view_lines_add(lines, "first", "%s", comparison->models[0]->path);
    view_lines_add(lines, "second", "%s", comparison->models[1]->path);
    for (size_t i = 0; i < comparison->totals_count; i++)
        add_total_row(&comparison->totals[i], lines);
    if (comparison->scopes_count)
        view_lines_add(lines, "Scopes, each", "%s", "");
    for (size_t i = 0; i < comparison->scopes_count; i++)
        add_pair(&comparison->scopes[i], "", lines);
    for (int timed = 1; timed >= 0; timed--) {
        bool is_first = true;
        for (size_t i = 0; i < comparison->kernels_count; i++) {
            const struct view_pair *pair = &comparison->kernels[i];
            if (is_timed(pair) != (timed == 1))
                continue;
            if (is_first)
                view_lines_add(lines, timed ? "Kernels, each" : "Kernels, dispatches", "%s", "");
            is_first = false;
            add_kernel(pair, lines);
        }
    }
}
