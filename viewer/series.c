/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting overlapping parts into a series by one sweep over their ends, and running totals per
 * block of spans. */
#include "viewer/series.h"

#include "hal/base/mem.h"

enum { BLOCK_SPANS = 64 };

struct view_totals {
    int64_t busy_ns;
    uint32_t begun, failed;
};

static int compare_spans(const void *left, const void *right)
{
    const struct view_span *a = left, *b = right;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    if (a->end_ns != b->end_ns)
        return a->end_ns < b->end_ns ? -1 : 1;
    if (a->class != b->class)
        return a->class < b->class ? -1 : 1;
    return a->ref < b->ref ? -1 : a->ref > b->ref;
}

/* True when sorted; *out_disjoint tells whether no two overlap. */
static bool is_sorted(const struct view_span *spans, size_t count, bool *out_disjoint)
{
    *out_disjoint = true;
    for (size_t i = 1; i < count; i++) {
        if (compare_spans(&spans[i - 1], &spans[i]) > 0)
            return false;
        if (spans[i].begin_ns < spans[i - 1].end_ns)
            *out_disjoint = false;
    }
    return true;
}

/* Where the sorted run that begins at `from` ends. */
static size_t end_of_run(const struct view_span *spans, size_t from, size_t count)
{
    size_t i = from < count ? from + 1 : from;
    while (i < count && compare_spans(&spans[i - 1], &spans[i]) <= 0)
        i++;
    return i;
}

/* Two sorted runs become one; false: there is no memory for the second. */
static bool merge_runs(struct view_span *spans, size_t first, size_t count)
{
    size_t left = first, right = count - first;
    struct view_span *second = hal_alloc(right, sizeof *second);
    if (!second)
        return false;
    memcpy(second, spans + first, right * sizeof *second);
    while (right > 0) { /* from the end, where there is room */
        const bool from_left = left > 0 && compare_spans(&spans[left - 1], &second[right - 1]) > 0;
        spans[left + right - 1] = from_left ? spans[left - 1] : second[right - 1];
        left -= from_left;
        right -= !from_left;
    }
    free(second);
    return true;
}

/* Mostly in order already: what is out of place moves a little. False where that costs more than
 * sorting would. */
static bool settle(struct view_span *spans, size_t count)
{
    size_t moves = 8 * count;
    for (size_t i = 1; i < count; i++) {
        if (compare_spans(&spans[i - 1], &spans[i]) <= 0)
            continue;
        const struct view_span span = spans[i];
        size_t k = i;
        for (; k > 0 && moves > 0 && compare_spans(&spans[k - 1], &span) > 0; moves--, k--)
            spans[k] = spans[k - 1];
        spans[k] = span;
        if (!moves)
            return false;
    }
    return true;
}

/* What is gathered from several tables is one sorted run behind the other. */
void view_spans_sort(struct view_span *spans, size_t count)
{
    const size_t first = end_of_run(spans, 0, count);
    if (first == count)
        return;
    const size_t second = end_of_run(spans, first, count);
    if (second == count && merge_runs(spans, first, count))
        return;
    if (!settle(spans, count))
        qsort(spans, count, sizeof *spans, compare_spans);
}

/* ---- The sweep ---------------------------------------------------------------------------- */

/* Of one class, at the present moment of the sweep. */
struct running {
    uint32_t count;
    uint64_t ref_sum; /* of one running part: its ref */
    uint32_t failed;
};

struct sweep {
    struct running running[VIEW_CLASS_COUNT];
    uint8_t top; /* the highest running class */
    int64_t since_ns;
    struct view_span *out;
    size_t out_count;
};

static void emit(struct sweep *s, int64_t until_ns)
{
    const struct running *top = &s->running[s->top];
    if (s->top != VIEW_CLASS_NONE && until_ns > s->since_ns)
        s->out[s->out_count++] = (struct view_span){
            .begin_ns = s->since_ns,
            .end_ns = until_ns,
            .ref = top->count == 1 ? (uint32_t)top->ref_sum : VIEW_NO_REF,
            .class = s->top,
            .flags = top->failed ? VIEW_SPAN_FAILED : 0,
            .overlap = (uint16_t)(top->count < UINT16_MAX ? top->count : UINT16_MAX),
        };
    s->since_ns = until_ns;
}

static void step(struct sweep *s, const struct view_span *part, bool begins)
{
    const int64_t time_ns = begins ? part->begin_ns : part->end_ns;
    if (part->class >= s->top)
        emit(s, time_ns);
    struct running *running = &s->running[part->class];
    const uint32_t one = begins ? 1 : UINT32_MAX;
    running->count += one;
    running->ref_sum += begins ? part->ref : 0 - (uint64_t)part->ref;
    if (part->flags & VIEW_SPAN_FAILED)
        running->failed += one;
    if (begins && part->class > s->top)
        s->top = part->class;
    while (s->top != VIEW_CLASS_NONE && !s->running[s->top].count)
        s->top--;
}

static int compare_ends(const void *left, const void *right)
{
    const struct view_span *const *a = left, *const *b = right;
    return (*a)->end_ns < (*b)->end_ns ? -1 : (*a)->end_ns > (*b)->end_ns;
}

/* Mostly in order already: what is out of place moves a little. Gives up where that costs more than
 * sorting would. */
static void sort_ends(const struct view_span **ends, size_t count)
{
    size_t moves = 8 * count;
    for (size_t i = 1; i < count; i++) {
        const struct view_span *end = ends[i];
        size_t k = i;
        for (; k > 0 && ends[k - 1]->end_ns > end->end_ns && moves > 0; moves--, k--)
            ends[k] = ends[k - 1];
        ends[k] = end;
        if (!moves) {
            qsort(ends, count, sizeof *ends, compare_ends);
            return;
        }
    }
}

/* An instant shows where nothing higher runs: short events must not vanish. */
static void emit_instant(struct sweep *s, const struct view_span *part)
{
    if (part->class < s->top)
        return;
    emit(s, part->begin_ns);
    s->out[s->out_count] = *part;
    s->out[s->out_count++].overlap = 1;
}

/* `parts` are sorted by begin, `ends` by end; instants are no members of `ends`. */
static void sweep_parts(struct sweep *s, const struct view_span *parts, size_t count,
                        const struct view_span *const *ends, size_t end_count)
{
    size_t end = 0;
    for (size_t i = 0; i < count; i++) {
        while (end < end_count && ends[end]->end_ns <= parts[i].begin_ns)
            step(s, ends[end++], false);
        if (parts[i].begin_ns == parts[i].end_ns)
            emit_instant(s, &parts[i]);
        else
            step(s, &parts[i], true);
    }
    while (end < end_count)
        step(s, ends[end++], false);
}

static enum hal_status cut_overlaps(struct view_series *series, const struct view_span *parts,
                                    size_t count)
{
    struct sweep s = {0};
    size_t end_count = 0;
    const struct view_span **ends = hal_alloc(count, sizeof *ends);
    s.out = hal_alloc(count, 2 * sizeof *s.out);
    if (!ends || !s.out) {
        free(ends);
        free(s.out);
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu spans", 2 * count);
    }
    bool sorted = true;
    for (size_t i = 0; i < count; i++) {
        if (parts[i].begin_ns == parts[i].end_ns)
            continue;
        sorted = sorted && (!end_count || ends[end_count - 1]->end_ns <= parts[i].end_ns);
        ends[end_count++] = &parts[i];
    }
    if (!sorted)
        sort_ends(ends, end_count);
    sweep_parts(&s, parts, count, ends, end_count);
    free(ends);
    struct view_span *shrunk = realloc(s.out, (s.out_count ? s.out_count : 1) * sizeof *s.out);
    series->owned = shrunk ? shrunk : s.out;
    series->spans = series->owned;
    series->count = s.out_count;
    return HAL_OK;
}

/* ---- Totals ------------------------------------------------------------------------------- */

static size_t class_index(const struct view_series *series, const struct view_span *span)
{
    return (size_t)span->class - (size_t)series->first_class;
}

static enum hal_status add_totals(struct view_series *series)
{
    const size_t classes = series->class_count;
    const size_t blocks = series->count / BLOCK_SPANS + 1;
    series->totals = hal_alloc(blocks, classes * sizeof *series->totals);
    if (!series->totals)
        return hal_fail(HAL_NO_MEMORY, "no memory for the totals of %zu spans", series->count);
    struct view_totals sums[VIEW_CLASS_COUNT] = {0};
    for (size_t i = 0; i < series->count; i++) {
        if (i % BLOCK_SPANS == 0)
            memcpy(series->totals + i / BLOCK_SPANS * classes, sums, classes * sizeof *sums);
        struct view_totals *sum = &sums[class_index(series, &series->spans[i])];
        sum->busy_ns += series->spans[i].end_ns - series->spans[i].begin_ns;
        sum->begun++;
        sum->failed += (series->spans[i].flags & VIEW_SPAN_FAILED) != 0;
    }
    if (series->count % BLOCK_SPANS == 0)
        memcpy(series->totals + (blocks - 1) * classes, sums, classes * sizeof *sums);
    return HAL_OK;
}

enum hal_status view_series_init(struct view_series *series, struct view_span *parts, size_t count,
                                 enum view_class first, enum view_class last)
{
    bool disjoint;
    *series = (struct view_series){.spans = parts,
                                   .count = count,
                                   .first_class = first,
                                   .class_count = (uint32_t)last - (uint32_t)first + 1};
    if (!is_sorted(parts, count, &disjoint)) {
        view_spans_sort(parts, count);
        is_sorted(parts, count, &disjoint);
    }
    enum hal_status status = disjoint ? HAL_OK : cut_overlaps(series, parts, count);
    if (status == HAL_OK)
        status = add_totals(series);
    if (status != HAL_OK)
        view_series_finish(series);
    return status;
}

void view_series_finish(struct view_series *series)
{
    free(series->owned);
    free(series->totals);
    *series = (struct view_series){0};
}

/* ---- Questions ---------------------------------------------------------------------------- */

size_t view_spans_before(const struct view_span *spans, size_t count, int64_t time_ns)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (spans[middle].begin_ns < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t view_series_first(const struct view_series *series, int64_t time_ns)
{
    const size_t before = view_spans_before(series->spans, series->count, time_ns);
    return before > 0 && series->spans[before - 1].end_ns > time_ns ? before - 1 : before;
}

/* Adds `sign` times the totals of everything before `time_ns`. */
static void accumulate(const struct view_series *series, size_t before, int64_t time_ns, int sign,
                       struct view_measure *measure)
{
    const size_t block = before / BLOCK_SPANS, classes = series->class_count;
    for (size_t c = 0; c < classes; c++) {
        const struct view_totals *total = &series->totals[block * classes + c];
        measure->busy_ns[series->first_class + c] += sign * total->busy_ns;
        measure->begun[series->first_class + c] += (uint32_t)sign * total->begun;
        measure->failed += (uint32_t)sign * total->failed;
    }
    for (size_t i = block * BLOCK_SPANS; i < before; i++) {
        const struct view_span *span = &series->spans[i];
        const int64_t end_ns = span->end_ns < time_ns ? span->end_ns : time_ns;
        measure->busy_ns[span->class] += sign * (end_ns - span->begin_ns);
        measure->begun[span->class] += (uint32_t)sign;
        measure->failed += (uint32_t)sign * ((span->flags & VIEW_SPAN_FAILED) != 0);
    }
    /* A span that began in an earlier block and still runs was counted whole. */
    if (before > 0 && before % BLOCK_SPANS == 0 && series->spans[before - 1].end_ns > time_ns)
        measure->busy_ns[series->spans[before - 1].class] -=
            sign * (series->spans[before - 1].end_ns - time_ns);
}

void view_series_measure(const struct view_series *series, int64_t begin_ns, int64_t end_ns,
                         struct view_measure *out_measure)
{
    *out_measure = (struct view_measure){0};
    if (!series->count || end_ns <= begin_ns)
        return;
    const size_t before_begin = view_spans_before(series->spans, series->count, begin_ns);
    const size_t before_end = view_spans_before(series->spans, series->count, end_ns);
    out_measure->first = view_series_first(series, begin_ns);
    out_measure->last = before_end;
    accumulate(series, before_end, end_ns, 1, out_measure);
    accumulate(series, before_begin, begin_ns, -1, out_measure);
}

int64_t view_measure_busy(const struct view_measure *measure)
{
    int64_t sum = 0;
    for (size_t c = 0; c < VIEW_CLASS_COUNT; c++)
        sum += measure->busy_ns[c];
    return sum;
}
