/* SPDX-License-Identifier: Apache-2.0 */
/* Bringing spans into order, and cutting those that overlap by one sweep over them. */
#include "hal/base/mem.h"
#include "viewer/model/series.h"

/* ---- Order -------------------------------------------------------------------------------- */

int view_spans_compare(const struct view_span *left, const struct view_span *right)
{
    if (left->begin_ns != right->begin_ns)
        return left->begin_ns < right->begin_ns ? -1 : 1;
    if (left->end_ns != right->end_ns)
        return left->end_ns < right->end_ns ? -1 : 1;
    if (left->class != right->class)
        return left->class < right->class ? -1 : 1;
    return left->ref < right->ref ? -1 : left->ref > right->ref;
}

/* A span and its code. */
struct coded {
    struct view_span span;
    uint32_t code;
};

static int compare_coded(const void *left, const void *right)
{
    const struct coded *a = left, *b = right;
    return view_spans_compare(&a->span, &b->span);
}

/* Mostly in order already: what is out of place moves a little. False where that costs more than
 * sorting would. */
static bool sort_nearly_sorted(const struct view_spans *spans, uint32_t *codes)
{
    size_t moves = 2 * spans->count;
    struct view_span last = spans->tell(spans->tables, codes[0]);
    for (size_t i = 1; i < spans->count; i++) {
        const uint32_t code = codes[i];
        const struct view_span one = spans->tell(spans->tables, code);
        if (view_spans_compare(&last, &one) <= 0) {
            last = one;
            continue;
        }
        size_t k = i;
        for (; k > 0 && moves > 0; moves--, k--) {
            const struct view_span before = spans->tell(spans->tables, codes[k - 1]);
            if (view_spans_compare(&before, &one) <= 0)
                break;
            codes[k] = codes[k - 1];
        }
        codes[k] = code;
        if (!moves)
            return false;
    }
    return true;
}

/* Where the run in order that begins at `from` ends. */
static size_t end_of_run(const struct view_spans *spans, size_t from)
{
    if (from >= spans->count)
        return spans->count;
    struct view_span last = view_spans_at(spans, from);
    for (size_t i = from + 1; i < spans->count; i++) {
        const struct view_span span = view_spans_at(spans, i);
        if (view_spans_compare(&last, &span) > 0)
            return i;
        last = span;
    }
    return spans->count;
}

/* Spans gathered from two tables form two consecutive runs. */
static enum hal_status merge_runs(const struct view_spans *spans, uint32_t *codes, size_t first)
{
    size_t left = first, right = spans->count - first;
    uint32_t *second = hal_alloc(right, sizeof *second);
    if (!second)
        return hal_fail(HAL_NO_MEMORY, "no memory to order %zu spans", spans->count);
    memcpy(second, codes + first, right * sizeof *second);
    struct view_span a = spans->tell(spans->tables, codes[left - 1]),
                     b = spans->tell(spans->tables, second[right - 1]);
    while (right > 0) { /* from the end, where there is room */
        const bool from_left = left > 0 && view_spans_compare(&a, &b) > 0;
        codes[left + right - 1] = from_left ? codes[left - 1] : second[right - 1];
        left -= from_left;
        right -= !from_left;
        if (from_left && left > 0)
            a = spans->tell(spans->tables, codes[left - 1]);
        else if (!from_left && right > 0)
            b = spans->tell(spans->tables, second[right - 1]);
    }
    free(second);
    return HAL_OK;
}

static enum hal_status sort_codes(const struct view_spans *spans, uint32_t *codes)
{
    if (sort_nearly_sorted(spans, codes))
        return HAL_OK;
    struct coded *all = hal_alloc(spans->count, sizeof *all);
    if (!all)
        return hal_fail(HAL_NO_MEMORY, "no memory to order %zu spans", spans->count);
    for (size_t i = 0; i < spans->count; i++)
        all[i] = (struct coded){.span = view_spans_at(spans, i), .code = codes[i]};
    qsort(all, spans->count, sizeof *all, compare_coded);
    for (size_t i = 0; i < spans->count; i++)
        codes[i] = all[i].code;
    free(all);
    return HAL_OK;
}

enum hal_status view_spans_order(uint32_t **codes, size_t count, view_span_tell *tell,
                                 const void *tables, struct view_spans *out_spans)
{
    uint32_t *const list = *codes;
    *out_spans = (struct view_spans){.count = count, .tell = tell, .tables = tables, .codes = list};
    if (!count || !list)
        return HAL_OK;
    const size_t first = end_of_run(out_spans, 0);
    if (first < count && end_of_run(out_spans, first) == count)
        HAL_TRY(merge_runs(out_spans, list, first));
    else if (first < count)
        HAL_TRY(sort_codes(out_spans, list));
    for (size_t i = 1; i < count; i++) {
        if (list[i] != list[0] + (uint32_t)i)
            return HAL_OK;
    }
    out_spans->first_code = list[0];
    out_spans->codes = NULL;
    free(list);
    *codes = NULL;
    return HAL_OK;
}

static int compare_stored(const void *left, const void *right)
{
    return view_spans_compare(left, right);
}

void view_spans_sort(struct view_span *spans, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (view_spans_compare(&spans[i - 1], &spans[i]) > 0) {
            qsort(spans, count, sizeof *spans, compare_stored);
            return;
        }
    }
}

/* ---- The sweep ---------------------------------------------------------------------------- */

/* For one class, at the sweep's current moment. */
struct running {
    uint32_t count;
    uint64_t ref_sum; /* of one running part: its ref */
    uint32_t failed;
};

struct sweep {
    struct running running[VIEW_CLASS_COUNT];
    uint8_t top; /* the highest running class */
    int64_t since_ns;
    struct view_span *active; /* what runs, as a heap: the first to end on top */
    size_t active_count, active_capacity;
    view_span_take *take;
    void *user;
};

static enum hal_status emit(struct sweep *s, int64_t until_ns)
{
    const struct running *top = &s->running[s->top];
    const struct view_span span = {
        .begin_ns = s->since_ns,
        .end_ns = until_ns,
        .ref = top->count == 1 ? (uint32_t)top->ref_sum : VIEW_NO_REF,
        .class = s->top,
        .flags = top->failed ? VIEW_SPAN_FAILED : 0,
        .overlap = (uint16_t)(top->count < UINT16_MAX ? top->count : UINT16_MAX),
    };
    const bool shows = s->top != VIEW_CLASS_NONE && until_ns > s->since_ns;
    s->since_ns = until_ns;
    return shows ? s->take(s->user, &span) : HAL_OK;
}

static enum hal_status step(struct sweep *s, const struct view_span *part, bool begins)
{
    const int64_t time_ns = begins ? part->begin_ns : part->end_ns;
    if (part->class >= s->top)
        HAL_TRY(emit(s, time_ns));
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
    return HAL_OK;
}

static enum hal_status push(struct sweep *s, const struct view_span *part)
{
    if (!HAL_GROW(s->active, &s->active_capacity, s->active_count + 1))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu spans at once", s->active_count + 1);
    size_t at = s->active_count++;
    for (; at > 0 && s->active[(at - 1) / 2].end_ns > part->end_ns; at = (at - 1) / 2)
        s->active[at] = s->active[(at - 1) / 2];
    s->active[at] = *part;
    return HAL_OK;
}

static struct view_span pop(struct sweep *s)
{
    const struct view_span first = s->active[0], last = s->active[--s->active_count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < s->active_count; at = child) {
        child +=
            child + 1 < s->active_count && s->active[child + 1].end_ns < s->active[child].end_ns;
        if (s->active[child].end_ns >= last.end_ns)
            break;
        s->active[at] = s->active[child];
    }
    s->active[at] = last;
    return first;
}

/* An instant shows where nothing higher runs: short events must not vanish. */
static enum hal_status emit_instant(struct sweep *s, const struct view_span *part)
{
    struct view_span span = *part;
    if (part->class < s->top)
        return HAL_OK;
    HAL_TRY(emit(s, part->begin_ns));
    span.overlap = 1;
    return s->take(s->user, &span);
}

static enum hal_status end_until(struct sweep *s, int64_t ns)
{
    while (s->active_count && s->active[0].end_ns <= ns) {
        const struct view_span ended = pop(s);
        HAL_TRY(step(s, &ended, false));
    }
    return HAL_OK;
}

static enum hal_status sweep_all(struct sweep *s, const struct view_spans *spans)
{
    for (size_t i = 0; i < spans->count; i++) {
        const struct view_span part = view_spans_at(spans, i);
        HAL_TRY(end_until(s, part.begin_ns));
        if (part.begin_ns == part.end_ns) {
            HAL_TRY(emit_instant(s, &part));
            continue;
        }
        HAL_TRY(push(s, &part));
        HAL_TRY(step(s, &part, true));
    }
    return end_until(s, INT64_MAX);
}

enum hal_status view_spans_cut(const struct view_spans *spans, view_span_take *take, void *user)
{
    struct sweep s = {.take = take, .user = user};
    const enum hal_status status = sweep_all(&s, spans);
    free(s.active);
    return status;
}
