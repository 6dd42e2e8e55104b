/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/compare.h"

#include "viewer/build.h"
#include "viewer/describe.h"
#include "viewer/text.h"

#include <stdlib.h>
#include <string.h>

/* ---- Kernels ------------------------------------------------------------------------------ */

static enum hal_status add_kernels(struct view_comparison *c, const struct view_work *work,
                                   const struct view_kernel_time *times, size_t side)
{
    for (uint32_t i = 0; i < work->kernels_count; i++) {
        struct view_kernel_pair pair = {0};
        pair.dispatches[side] = times[i].dispatches;
        pair.timed[side] = times[i].alone_dispatches;
        pair.ns[side] = times[i].alone_ns;
        view_work_name(work, i, pair.name, sizeof pair.name);
        HAL_TRY(VIEW_ROOM(c, kernels, 1));
        c->kernels[c->kernels_count++] = pair;
    }
    return HAL_OK;
}

static enum hal_status take_kernels(struct view_comparison *c, size_t side)
{
    const struct view_model *m = c->models[side];
    struct view_work work;
    struct view_work_total total;
    HAL_TRY(view_work_init(m, NULL, &work));
    struct view_kernel_time *times = hal_alloc(work.kernels_count, sizeof *times);
    enum hal_status status =
        times ? view_work_times(&work, NULL, m->first_ns, m->last_ns, times, &total)
              : hal_fail(HAL_NO_MEMORY, "no memory for %zu kernels", work.kernels_count);
    if (status == HAL_OK)
        status = add_kernels(c, &work, times, side);
    free(times);
    view_work_finish(&work);
    return status;
}

static int compare_names(const void *left, const void *right)
{
    const struct view_kernel_pair *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static void join_same_names(struct view_comparison *c)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->kernels_count; i++) {
        if (!kept || strcmp(c->kernels[kept - 1].name, c->kernels[i].name) != 0) {
            c->kernels[kept++] = c->kernels[i];
            continue;
        }
        for (size_t side = 0; side < 2; side++) {
            c->kernels[kept - 1].dispatches[side] += c->kernels[i].dispatches[side];
            c->kernels[kept - 1].timed[side] += c->kernels[i].timed[side];
            c->kernels[kept - 1].ns[side] += c->kernels[i].ns[side];
        }
    }
    c->kernels_count = kept;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static int compare_changes(const void *left, const void *right)
{
    const struct view_kernel_pair *a = left, *b = right;
    const uint64_t a_ns = apart((uint64_t)a->ns[0], (uint64_t)a->ns[1]);
    const uint64_t b_ns = apart((uint64_t)b->ns[0], (uint64_t)b->ns[1]);
    if (a_ns != b_ns)
        return a_ns > b_ns ? -1 : 1;
    const uint64_t a_more = apart(a->dispatches[0], a->dispatches[1]);
    const uint64_t b_more = apart(b->dispatches[0], b->dispatches[1]);
    if (a_more != b_more)
        return a_more > b_more ? -1 : 1;
    return strcmp(a->name, b->name);
}

enum hal_status view_compare(const struct view_model *first, const struct view_model *second,
                             struct view_comparison *out_comparison)
{
    struct view_comparison c = {.models = {first, second}};
    enum hal_status status = take_kernels(&c, 0);
    if (status == HAL_OK)
        status = take_kernels(&c, 1);
    if (status != HAL_OK) {
        view_comparison_finish(&c);
        return status;
    }
    if (c.kernels_count) {
        qsort(c.kernels, c.kernels_count, sizeof *c.kernels, compare_names);
        join_same_names(&c);
        qsort(c.kernels, c.kernels_count, sizeof *c.kernels, compare_changes);
    }
    *out_comparison = c;
    return HAL_OK;
}

void view_comparison_finish(struct view_comparison *comparison)
{
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

static void add_pair(struct view_lines *lines, const char *key, struct view_word first,
                     struct view_word second, struct view_word by)
{
    view_lines_add(lines, key, "%s  ->  %s  %s", view_right(first.text, 12).text,
                   view_right(second.text, 12).text, view_right(by.text, 10).text);
}

static void add_times(struct view_lines *lines, const char *key, int64_t first, int64_t second)
{
    if (first || second)
        add_pair(lines, key, view_time(first), view_time(second),
                 change((double)first, (double)second));
}

static void add_counts(struct view_lines *lines, const char *key, uint64_t first, uint64_t second)
{
    if (first || second)
        add_pair(lines, key, view_count(first), view_count(second),
                 change((double)first, (double)second));
}

static void add_bytes(struct view_lines *lines, const char *key, uint64_t first, uint64_t second)
{
    if (first || second)
        add_pair(lines, key, view_bytes(first), view_bytes(second),
                 change((double)first, (double)second));
}

static uint64_t peak(const struct view_model *m)
{
    return m->peak_level == VIEW_NO_REF ? 0 : m->levels[m->peak_level].bytes;
}

static void add_totals(const struct view_model *a, const struct view_model *b,
                       struct view_lines *lines)
{
    const struct view_summary *s = &a->summary, *t = &b->summary;
    add_times(lines, "work lasts", s->device_end_ns - s->device_begin_ns,
              t->device_end_ns - t->device_begin_ns);
    add_times(lines, "device busy", s->device_busy_ns, t->device_busy_ns);
    for (size_t c = 0; c < VIEW_GAP_COUNT; c++) {
        char key[64];
        snprintf(key, sizeof key, "idle, %s",
                 view_class_info((enum view_class)(VIEW_GAP_HOST + c))->name);
        add_times(lines, key, s->gaps[c].ns, t->gaps[c].ns);
    }
    add_counts(lines, "submissions", s->submissions, t->submissions);
    add_counts(lines, "dispatches", s->dispatches, t->dispatches);
    add_counts(lines, "failed", s->failed_submissions, t->failed_submissions);
    add_counts(lines, "host waits", s->syncs.count, t->syncs.count);
    add_times(lines, "blocked", s->syncs.ns, t->syncs.ns);
    add_bytes(lines, "uploads", s->uploads.bytes, t->uploads.bytes);
    add_bytes(lines, "read-backs", s->readbacks.bytes, t->readbacks.bytes);
    add_bytes(lines, "peak memory", peak(a), peak(b));
}

/* Of scopes with the same name in both. */
static void add_families(const struct view_model *a, const struct view_model *b,
                         struct view_lines *lines)
{
    for (size_t i = 0; i < a->families_count; i++) {
        const struct view_family *f = &a->families[i];
        for (size_t k = 0; k < b->families_count; k++) {
            const struct view_family *g = &b->families[k];
            if (strcmp(f->name, g->name) == 0 && f->count && g->count)
                add_times(lines, f->name, f->total_ns / (int64_t)f->count,
                          g->total_ns / (int64_t)g->count);
        }
    }
}

static void add_kernel(const struct view_kernel_pair *pair, struct view_lines *lines)
{
    if (pair->timed[0] && pair->timed[1]) {
        char each[160];
        const int64_t first = pair->ns[0] / (int64_t)pair->timed[0];
        const int64_t second = pair->ns[1] / (int64_t)pair->timed[1];
        snprintf(each, sizeof each, "each %s -> %s", view_time(first).text, view_time(second).text);
        view_lines_add(lines, pair->name, "%s  ->  %s  %s  %s, %s -> %s dispatches",
                       view_right(view_time(pair->ns[0]).text, 12).text,
                       view_right(view_time(pair->ns[1]).text, 12).text,
                       view_right(change((double)pair->ns[0], (double)pair->ns[1]).text, 10).text,
                       each, view_count(pair->dispatches[0]).text,
                       view_count(pair->dispatches[1]).text);
    } else {
        add_counts(lines, pair->name, pair->dispatches[0], pair->dispatches[1]);
    }
}

void view_comparison_lines(const struct view_comparison *comparison, struct view_lines *lines)
{
    const struct view_model *a = comparison->models[0], *b = comparison->models[1];
    view_lines_add(lines, "first", "%s", a->path);
    view_lines_add(lines, "second", "%s", b->path);
    add_totals(a, b, lines);
    add_families(a, b, lines);
    for (int timed = 1; timed >= 0; timed--) {
        bool is_first = true;
        for (size_t i = 0; i < comparison->kernels_count; i++) {
            const struct view_kernel_pair *pair = &comparison->kernels[i];
            if ((pair->timed[0] && pair->timed[1]) != (timed == 1))
                continue;
            if (is_first)
                view_lines_add(lines, timed ? "Kernels, time" : "Kernels, dispatches", "%s", "");
            is_first = false;
            add_kernel(pair, lines);
        }
    }
}
