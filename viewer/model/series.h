/* SPDX-License-Identifier: Apache-2.0 */
/* Sorted, non-overlapping spans of time with running totals: measuring the contents of any range
 * takes two binary searches, however many spans it has. A frame's cost therefore depends only on
 * its columns, at any zoom, without rounding. */
#ifndef VIEWER_SERIES_H
#define VIEWER_SERIES_H

#include "hal/base/status.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a span shows. Kinds that may share a series are adjacent; where spans of one series overlap,
 * the later kind covers the earlier one. */
enum view_class {
    VIEW_CLASS_NONE,
    /* Host threads. */
    VIEW_RECORD, /* a command buffer of the thread is open and no other call is running */
    VIEW_DESTROY,
    VIEW_CREATE,
    VIEW_COMPILE,
    VIEW_MAP,
    VIEW_QUERY,
    VIEW_SIGNAL,
    VIEW_SUBMIT,
    VIEW_WAIT,
    VIEW_SCOPE,
    /* Queues and the device. */
    VIEW_QUEUED_UNKNOWN, /* submitted; it is unknown whether its waits were satisfied */
    VIEW_QUEUED_WAITING, /* submitted; a semaphore has not reached its value */
    VIEW_QUEUED_READY,   /* ready to run, not running yet */
    VIEW_EXECUTE,
    VIEW_STEP,     /* a semaphore changed its value */
    VIEW_OBSERVED, /* device writes that the host may have seen through a mapping */
    VIEW_UPLOAD,
    VIEW_READBACK,
    VIEW_MEMORY, /* buffers were created or destroyed */
    /* Why the device was idle. */
    VIEW_GAP_HOST,
    VIEW_GAP_UPLOAD,
    VIEW_GAP_UNKNOWN,
    VIEW_GAP_SEMAPHORE,
    VIEW_GAP_LAUNCH,
    VIEW_CLASS_COUNT,
    VIEW_GAP_COUNT = VIEW_CLASS_COUNT - VIEW_GAP_HOST,
};

/* No reference; for a span of a series: several things at once. */
#define VIEW_NO_REF UINT32_MAX

enum view_span_flag {
    VIEW_SPAN_FAILED = 1,
    VIEW_SPAN_OPEN = 2, /* its end is not in the file */
};

struct view_span {
    int64_t begin_ns, end_ns;
    uint32_t ref;     /* index into the table given by the track's kind */
    uint8_t class;    /* enum view_class */
    uint8_t flags;    /* enum view_span_flag */
    uint16_t overlap; /* how many of that class run concurrently */
};

/* Returns the span for a code, in tables of codes. */
typedef struct view_span view_span_tell(const void *tables, uint32_t code);

/* Spans sorted by begin, then end: an array, or codes that tables resolve. Data in a table is not
 * duplicated: there are millions of spans. */
struct view_spans {
    size_t count;
    const struct view_span *stored; /* NULL: resolved from codes */
    view_span_tell *tell;
    const void *tables;
    const uint32_t *codes; /* NULL: consecutive from first_code */
    uint32_t first_code;
};

static inline struct view_span view_spans_at(const struct view_spans *spans, size_t index)
{
    if (spans->stored)
        return spans->stored[index];
    assert(spans->tell);
    return spans->tell(spans->tables,
                       spans->codes ? spans->codes[index] : spans->first_code + (uint32_t)index);
}

struct view_series {
    struct view_spans spans;
    enum view_class first_class;
    uint32_t class_count;
    struct view_span *owned;
    struct view_totals *totals; /* [block][class] */
    int64_t *begins;            /* by block: begin of its first span */
};

/* The contents of a time range. `first` to `last` (exclusive) are the spans that overlap it. */
struct view_measure {
    size_t first, last;
    int64_t busy_ns[VIEW_CLASS_COUNT];
    uint32_t begun[VIEW_CLASS_COUNT]; /* spans of the class that begin in the range */
    uint32_t failed;                  /* failed spans of any class that begin in the range */
};

/* Builds a series from `count` parts in any order, of classes first to last. Where parts overlap,
 * the highest class shows. Reorders the parts, and borrows them if none overlap. HAL_NO_MEMORY. */
enum hal_status view_series_init(struct view_series *series, struct view_span *parts, size_t count,
                                 enum view_class first, enum view_class last) HAL_CHECKED;
/* Likewise from sorted spans. Borrows their data if none overlap. */
enum hal_status view_series_of(struct view_series *series, const struct view_spans *spans,
                               enum view_class first, enum view_class last) HAL_CHECKED;
void view_series_finish(struct view_series *series);

/* Cuts sorted spans as a series does, without storing anything. `take` may fail. */
typedef enum hal_status view_span_take(void *user, const struct view_span *span);
enum hal_status view_spans_cut(const struct view_spans *spans, view_span_take *take,
                               void *user) HAL_CHECKED;

/* Compares by begin, then end. */
int view_spans_compare(const struct view_span *left, const struct view_span *right);
void view_spans_sort(struct view_span *spans, size_t count);
/* Sorts the codes by the spans that `tell` returns. out_spans borrows them; *codes is freed and set
 * to NULL if they are consecutive. HAL_NO_MEMORY. */
enum hal_status view_spans_order(uint32_t **codes, size_t count, view_span_tell *tell,
                                 const void *tables, struct view_spans *out_spans) HAL_CHECKED;

/* Measures [begin_ns, end_ns). A span of zero length counts at its begin. */
void view_series_measure(const struct view_series *series, int64_t begin_ns, int64_t end_ns,
                         struct view_measure *out_measure);

/* The first span that ends after `time_ns` or begins at or after it; the count if there is none. */
size_t view_series_first(const struct view_series *series, int64_t time_ns);

/* Number of spans that begin before `time_ns`. */
size_t view_spans_before(const struct view_spans *spans, int64_t time_ns);

/* Sum of the measure's busy times. */
int64_t view_measure_busy(const struct view_measure *measure);

#endif
