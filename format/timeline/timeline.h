/* SPDX-License-Identifier: Apache-2.0 */
/* Events of a trace as slices on tracks: what is drawn of each, from when to when, under which
 * name. Calls and scopes are slices on the tracks of their threads. What the device did is on
 * tracks of its queue, as many as overlap: work of submissions, and dispatches that were timed. How
 * a slice is written is for its writers: format/perfetto/, format/tool/export/. One thread. */
#ifndef FORMAT_TIMELINE_H
#define FORMAT_TIMELINE_H

#include "format/timeline/memory.h"
#include "format/timeline/recorded.h"

enum trace_track_kind {
    TRACE_TRACK_WORK,
    TRACE_TRACK_DISPATCHES,
    TRACE_TRACK_GROUPS, /* debug groups, by their depth */
    TRACE_TRACK_KINDS
};
enum { TRACE_TRACK_NAME_BYTES = 32, TRACE_SLICE_NAME_BYTES = 256, TRACE_TRACK_BUCKETS = 64 };

/* A track of a queue. */
struct trace_track {
    enum trace_track_kind kind;
    uint32_t queue, depth;
    uint32_t lane; /* the n-th one of these */
    uint32_t next; /* index plus 1 of the next one of its bucket */
    int64_t free_ns;
    uint64_t id; /* settable by the writer; 0: it is new */
};

/* Begin and end may come as two slices; begin_ns is the time of either. */
enum trace_slice_phase { TRACE_SLICE_WHOLE, TRACE_SLICE_BEGINS, TRACE_SLICE_ENDS };

/* Must not be copied: `name` points into the trace or into `text`. */
struct trace_slice {
    enum trace_slice_phase phase;
    int64_t begin_ns, end_ns;                  /* equal: an instant, if the slice is whole */
    bool is_timed;                             /* work whose times the device measured */
    const char *name;                          /* any bytes */
    const struct trace_collective *collective; /* what the work is; NULL: none */
    const struct trace_kernel *kernel;         /* of a dispatch; NULL: unknown */
    char text[TRACE_SLICE_NAME_BYTES];
};

/* Looks up numbers of the trace; the functions return NULL for a number that it does not have. */
struct trace_timeline_source {
    const void *of;
    const char *(*string)(const void *of, uint32_t id);
    const struct trace_thread *(*thread)(const void *of, uint32_t id);
};

struct trace_timeline {
    struct trace_timeline_source source; /* settable, and so is what is recorded */
    size_t most_tracks, most_lanes;      /* of queues; of one kind, queue and depth; settable */
    struct trace_recorded recorded;
    struct trace_memory memory;
    struct trace_track *tracks;
    size_t track_count, track_capacity;
    uint32_t buckets[TRACE_TRACK_KINDS][TRACE_TRACK_BUCKETS]; /* index plus 1 of a track */
    uint8_t *threads; /* by number: 1 was described, 2 with its name */
    size_t thread_capacity;
};

void trace_timeline_finish(struct trace_timeline *timeline);

/* Whether the thread's track must be described: it is new, or has a name since. HAL_NO_MEMORY. */
enum hal_status trace_timeline_thread(struct trace_timeline *timeline, uint32_t thread,
                                      bool *out_is_new) HAL_CHECKED;

/* A track of the queue where nothing is at that time. NULL and HAL_OK: all are taken. Borrowed
 * until the next one is asked for. HAL_NO_MEMORY. */
enum hal_status trace_timeline_track(struct trace_timeline *timeline, enum trace_track_kind kind,
                                     uint32_t queue, uint32_t depth,
                                     const struct trace_slice *slice,
                                     struct trace_track **out_track) HAL_CHECKED;
/* "queue 0 dispatches". */
void trace_track_name(const struct trace_track *track, char out[TRACE_TRACK_NAME_BYTES]);

/* Slices of records that were recorded before. */
void trace_timeline_call(const struct trace_timeline *timeline, const struct trace_event *event,
                         struct trace_slice *out_slice);
void trace_timeline_work(const struct trace_timeline *timeline,
                         const struct trace_submission_done *done, struct trace_slice *out_slice);
void trace_timeline_dispatch(const struct trace_timeline *timeline,
                             const struct trace_dispatch_times *times, uint32_t index,
                             struct trace_slice *out_slice);

#endif
