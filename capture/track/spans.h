/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of byte ranges: fill with capture_spans_add, sort once with capture_spans_merge, query. */
#ifndef CAPTURE_SPANS_H
#define CAPTURE_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capture_span {
    uint64_t begin, end;
};

/* All zero is empty. */
struct capture_spans {
    struct capture_span *list; /* sorted and disjoint after capture_spans_merge */
    size_t count, capacity;
    bool everything; /* contains every byte: requested, or out of memory */
};

void capture_spans_clear(struct capture_spans *spans); /* keeps the memory */
void capture_spans_finish(struct capture_spans *spans);
void capture_spans_add(struct capture_spans *spans, uint64_t begin, uint64_t end);
void capture_spans_merge(struct capture_spans *spans);

/* Whether the set contains `at`; *out_next: the end of that state, at most `end`. */
bool capture_spans_at(const struct capture_spans *spans, uint64_t at, uint64_t end,
                      uint64_t *out_next);

#endif
