/* SPDX-License-Identifier: Apache-2.0 */
/* Spans that do not overlap, or are cut to do so, and running totals per block of them. */
#include "viewer/model/series.h"

#include "hal/base/mem.h"
#include "hal/base/order.h"

enum { BLOCK_SPANS = 64 };

struct view_totals {
    int64_t busy_ns;
    uint32_t begun, failed;
};

/* ---- Cutting ------------------------------------------------------------------------------ */

static enum hal_status keep(void *user, const struct view_span *span)
{
    struct view_series *series = user;
    series->owned[series->spans.count++] = *span;
    return HAL_OK;
}

/* Every part makes at most two: it begins one, and where it ends another one comes to light. */
static enum hal_status cut_overlaps(struct view_series *series, const struct view_spans *parts)
{
    series->spans = (struct view_spans){0};
    series->owned = hal_alloc(parts->count, 2 * sizeof *series->owned);
    if (!series->owned)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu spans", 2 * parts->count);
    HAL_TRY(view_spans_cut(parts, keep, series));
    const size_t count = series->spans.count ? series->spans.count : 1;
    struct view_span *shrunk = realloc(series->owned, count * sizeof *series->owned);
    series->owned = shrunk ? shrunk : series->owned;
    series->spans.stored = series->owned;
    return HAL_OK;
}

/* ---- Totals ------------------------------------------------------------------------------- */

static size_t class_index(const struct view_series *series, const struct view_span *span)
{
    return (size_t)span->class - (size_t)series->first_class;
}

/* False: two of the spans overlap. */
static bool add_up(const struct view_series *series)
{
    const size_t classes = series->class_count, count = series->spans.count;
    struct view_totals sums[VIEW_CLASS_COUNT] = {0};
    int64_t last_ns = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        const struct view_span span = view_spans_at(&series->spans, i);
        if (i % BLOCK_SPANS == 0) {
            memcpy(series->totals + i / BLOCK_SPANS * classes, sums, classes * sizeof *sums);
            series->begins[i / BLOCK_SPANS] = span.begin_ns;
        }
        if (span.begin_ns < last_ns)
            return false;
        last_ns = span.end_ns;
        struct view_totals *sum = &sums[class_index(series, &span)];
        sum->busy_ns += span.end_ns - span.begin_ns;
        sum->begun++;
        sum->failed += (span.flags & VIEW_SPAN_FAILED) != 0;
    }
    if (count % BLOCK_SPANS == 0)
        memcpy(series->totals + count / BLOCK_SPANS * classes, sums, classes * sizeof *sums);
    return true;
}

static enum hal_status add_totals(struct view_series *series)
{
    const size_t blocks = series->spans.count / BLOCK_SPANS + 1;
    free(series->totals);
    free(series->begins);
    series->totals = hal_alloc(blocks, series->class_count * sizeof *series->totals);
    series->begins = hal_alloc(blocks, sizeof *series->begins);
    return series->totals && series->begins
               ? HAL_OK
               : hal_fail(HAL_NO_MEMORY, "no memory for the totals of %zu spans",
                          series->spans.count);
}

/* They are added up as if none overlapped; once more, after cutting, if some did. */
enum hal_status view_series_of(struct view_series *series, const struct view_spans *spans,
                               enum view_class first, enum view_class last)
{
    *series = (struct view_series){
        .spans = *spans, .first_class = first, .class_count = (uint32_t)last - (uint32_t)first + 1};
    enum hal_status status = add_totals(series);
    if (status == HAL_OK && !add_up(series)) {
        status = cut_overlaps(series, spans);
        if (status == HAL_OK)
            status = add_totals(series);
        if (status == HAL_OK)
            add_up(series);
    }
    if (status != HAL_OK)
        view_series_finish(series);
    return status;
}

enum hal_status view_series_init(struct view_series *series, struct view_span *parts, size_t count,
                                 enum view_class first, enum view_class last)
{
    view_spans_sort(parts, count);
    return view_series_of(series, &(struct view_spans){.count = count, .stored = parts}, first,
                          last);
}

void view_series_finish(struct view_series *series)
{
    free(series->owned);
    free(series->totals);
    free(series->begins);
    *series = (struct view_series){0};
}

/* ---- Questions ---------------------------------------------------------------------------- */

static size_t search(const struct view_spans *spans, size_t low, size_t high, int64_t time_ns)
{
    HAL_BISECT(low, high, middle, view_spans_at(spans, middle).begin_ns < time_ns)
    return low;
}

size_t view_spans_before(const struct view_spans *spans, int64_t time_ns)
{
    return search(spans, 0, spans->count, time_ns);
}

/* Likewise; finds the block first, which is compact in memory. */
static size_t spans_before(const struct view_series *series, int64_t time_ns)
{
    const size_t count = series->spans.count;
    size_t low = 0, high = count / BLOCK_SPANS + (count % BLOCK_SPANS != 0);
    HAL_BISECT(low, high, middle, series->begins[middle] < time_ns)
    const size_t end = low * BLOCK_SPANS < count ? low * BLOCK_SPANS : count;
    return search(&series->spans, low ? (low - 1) * BLOCK_SPANS : 0, end, time_ns);
}

size_t view_series_first(const struct view_series *series, int64_t time_ns)
{
    const size_t before = spans_before(series, time_ns);
    return before > 0 && view_spans_at(&series->spans, before - 1).end_ns > time_ns ? before - 1
                                                                                    : before;
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
        const struct view_span span = view_spans_at(&series->spans, i);
        const int64_t end_ns = span.end_ns < time_ns ? span.end_ns : time_ns;
        measure->busy_ns[span.class] += sign * (end_ns - span.begin_ns);
        measure->begun[span.class] += (uint32_t)sign;
        measure->failed += (uint32_t)sign * ((span.flags & VIEW_SPAN_FAILED) != 0);
    }
    /* A span that began in an earlier block and still runs was counted whole. */
    if (before == 0 || before % BLOCK_SPANS != 0)
        return;
    const struct view_span last = view_spans_at(&series->spans, before - 1);
    if (last.end_ns > time_ns)
        measure->busy_ns[last.class] -= sign * (last.end_ns - time_ns);
}

void view_series_measure(const struct view_series *series, int64_t begin_ns, int64_t end_ns,
                         struct view_measure *out_measure)
{
    *out_measure = (struct view_measure){0};
    if (!series->spans.count || end_ns <= begin_ns)
        return;
    const size_t before_begin = spans_before(series, begin_ns);
    const size_t before_end = spans_before(series, end_ns);
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
