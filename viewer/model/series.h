/* SPDX-License-Identifier: Apache-2.0 */
/* Spans of time that do not overlap, in order, with running totals: how much of any range is
 * filled by what costs two binary searches, however many spans lie in it. This is what lets a
 * frame cost as much as it has columns, at any zoom, without rounding. */
#ifndef VIEWER_SERIES_H
#define VIEWER_SERIES_H

#include "hal/base/status.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a span shows. The kinds that may share a series stand together; where spans of one series
 * overlap, the later kind covers the earlier one. */
enum view_class {
    VIEW_CLASS_NONE,
    /* Host threads. */
    VIEW_RECORD, /* a command buffer of the thread is open, no other call runs */
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
    VIEW_QUEUED_UNKNOWN, /* submitted; whether its waits were met is not known */
    VIEW_QUEUED_WAITING, /* submitted, a semaphore has not reached its value */
    VIEW_QUEUED_READY,   /* could run, does not run yet */
    VIEW_EXECUTE,
    VIEW_STEP,     /* a semaphore got a value */
    VIEW_OBSERVED, /* device writes that the host may have seen through a mapping */
    VIEW_UPLOAD,
    VIEW_READBACK,
    VIEW_MEMORY, /* buffers came or went */
    /* Why the device was idle. */
    VIEW_GAP_HOST,
    VIEW_GAP_UPLOAD,
    VIEW_GAP_UNKNOWN,
    VIEW_GAP_SEMAPHORE,
    VIEW_GAP_LAUNCH,
    VIEW_CLASS_COUNT,
    VIEW_GAP_COUNT = VIEW_CLASS_COUNT - VIEW_GAP_HOST,
};

/* Nothing is referred to; of a series' span: several things at once. */
#define VIEW_NO_REF UINT32_MAX

enum view_span_flag {
    VIEW_SPAN_FAILED = 1,
    VIEW_SPAN_OPEN = 2, /* its end is not in the file */
};

struct view_span {
    int64_t begin_ns, end_ns;
    uint32_t ref;     /* index into the table that the track's kind names */
    uint8_t class;    /* enum view_class */
    uint8_t flags;    /* enum view_span_flag */
    uint16_t overlap; /* how many of that class run at once */
};

/* What a number stands for in some tables. */
typedef struct view_span view_span_tell(const void *tables, uint32_t code);

/* Spans by begin, then end: an array, or numbers that tables tell more about. What a table has is
 * not kept twice: there are millions. */
struct view_spans {
    size_t count;
    const struct view_span *stored; /* NULL: told of the codes */
    view_span_tell *tell;
    const void *tables;
    const uint32_t *codes; /* NULL: first_code, and those that follow it */
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
    int64_t *begins;            /* by block: of its first span */
};

/* What lies in a range of time. `first` to `last` (exclusive) are the spans that touch it. */
struct view_measure {
    size_t first, last;
    int64_t busy_ns[VIEW_CLASS_COUNT];
    uint32_t begun[VIEW_CLASS_COUNT]; /* spans of the class that begin in the range */
    uint32_t failed;                  /* spans of any class that failed and begin in the range */
};

/* Builds a series from `count` parts in any order, all of classes first to last. Parts that
 * overlap are cut: at every moment the highest class shows. Reorders the parts, and borrows them
 * when none overlap. HAL_NO_MEMORY. */
enum hal_status view_series_init(struct view_series *series, struct view_span *parts, size_t count,
                                 enum view_class first, enum view_class last) HAL_CHECKED;
/* Likewise from spans that are in order. What they consist of is borrowed when none overlap. */
enum hal_status view_series_of(struct view_series *series, const struct view_spans *spans,
                               enum view_class first, enum view_class last) HAL_CHECKED;
void view_series_finish(struct view_series *series);

/* Cuts spans that are in order as a series does, without keeping anything. `take` may fail. */
typedef enum hal_status view_span_take(void *user, const struct view_span *span);
enum hal_status view_spans_cut(const struct view_spans *spans, view_span_take *take,
                               void *user) HAL_CHECKED;

/* Sorts by begin, then end. */
int view_spans_compare(const struct view_span *left, const struct view_span *right);
void view_spans_sort(struct view_span *spans, size_t count);
/* Puts the codes in the order of what `tell` says of them. out_spans borrows them; *codes is freed
 * and NULL where they follow one another. HAL_NO_MEMORY. */
enum hal_status view_spans_order(uint32_t **codes, size_t count, view_span_tell *tell,
                                 const void *tables, struct view_spans *out_spans) HAL_CHECKED;

/* [begin_ns, end_ns). A span without length counts at its begin. */
void view_series_measure(const struct view_series *series, int64_t begin_ns, int64_t end_ns,
                         struct view_measure *out_measure);

/* The first span that ends after `time_ns` or begins at or after it; count when none does. */
size_t view_series_first(const struct view_series *series, int64_t time_ns);

/* Number of spans that begin before `time_ns`. */
size_t view_spans_before(const struct view_spans *spans, int64_t time_ns);

/* Sum of the measure's busy times. */
int64_t view_measure_busy(const struct view_measure *measure);

#endif
