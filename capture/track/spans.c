/* SPDX-License-Identifier: Apache-2.0 */
/* Sorted lists of ranges. */
#include "capture/track/spans.h"

#include "hal/base/mem.h"
#include "hal/base/order.h"

void capture_spans_clear(struct capture_spans *spans)
{
    spans->count = 0;
    spans->everything = false;
}

void capture_spans_finish(struct capture_spans *spans)
{
    free(spans->list);
    *spans = (struct capture_spans){0};
}

void capture_spans_add(struct capture_spans *spans, uint64_t begin, uint64_t end)
{
    if (begin >= end || spans->everything)
        return;
    if (!HAL_GROW(spans->list, &spans->capacity, spans->count + 1)) {
        spans->everything = true;
        return;
    }
    spans->list[spans->count++] = (struct capture_span){begin, end};
}

HAL_COMPARE(compare, struct capture_span, begin)

void capture_spans_merge(struct capture_spans *spans)
{
    size_t last = 0;
    if (spans->count < 2)
        return;
    qsort(spans->list, spans->count, sizeof *spans->list, compare);
    for (size_t i = 1; i < spans->count; i++) {
        const struct capture_span next = spans->list[i];
        if (next.begin > spans->list[last].end)
            spans->list[++last] = next;
        else if (next.end > spans->list[last].end)
            spans->list[last].end = next.end;
    }
    spans->count = last + 1;
}

bool capture_spans_at(const struct capture_spans *spans, uint64_t at, uint64_t end,
                      uint64_t *out_next)
{
    size_t low = 0, high = spans->count; /* the first that ends after `at` */
    *out_next = end;
    if (spans->everything)
        return true;
    HAL_BISECT(low, high, middle, spans->list[middle].end <= at)
    if (low == spans->count)
        return false;
    const bool inside = spans->list[low].begin <= at;
    const uint64_t next = inside ? spans->list[low].end : spans->list[low].begin;
    if (next < end)
        *out_next = next;
    return inside;
}
