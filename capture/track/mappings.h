/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what the host does to mapped memory without any call.
 *
 * A scoped mapping is simple: its contents are read when it is mapped for reading, and written when
 * it is unmapped. A persistent mapping of coherent memory is *tracked*, since host and device
 * access it with plain loads and stores: before the device can see what the host wrote, those bytes
 * are found and recorded, from the system's record of written pages (capture/pages/pages.h) or else
 * by comparison with a shadow copy. This happens only where it matters: at a submission, in the
 * memory that it and open submissions (inflight.h) use; at a host signal, in the latter; and when a
 * range is flushed, unmapped or read, in that range. When the host observes that work is done, what
 * that work may have written into the mapping is recorded as read.
 *
 * Comparison alone cannot distinguish the host's writes from the device's. A change outside of what
 * unobserved work may write is the host's. One inside is recorded as a change that either may have
 * made (TRACE_MAPPED_CHANGE): a replay decides, or reports that it cannot. The same applies to
 * pages that the host stored into; changes in other pages are the device's. There, too, a shadow
 * shows which bytes changed; it is NULL where it would be too large.
 *
 * Mappings that the program flushes explicitly are not searched. */
#ifndef CAPTURE_MAPPINGS_H
#define CAPTURE_MAPPINGS_H

#include "capture/pages/pages.h"
#include "capture/track/inflight.h"
#include "capture/track/spans.h"

struct capture;
struct capture_thread;

struct capture_mapping {
    struct capture_mapping *next_open; /* of the same buffer */
    uint64_t number;
    uint64_t buffer; /* id */
    uint8_t *data;
    uint64_t offset, bytes; /* in the buffer */
    uint32_t mode;
    bool is_own;   /* this is the capture_buffer's `own` */
    bool is_first; /* nothing has written the bytes yet: the buffer is new */
    /* Of tracked mappings, under tracked_lock. */
    bool tracked, watched; /* watched: the system reports which pages the host stored into */
    bool imported;         /* host and device share one mapping: pages prove nothing */
    struct capture_mapping *next_tracked; /* in the same bucket */
    uint8_t *shadow;     /* the bytes as recorded; NULL: not compared (compare.c) */
    bool is_written;     /* work may have written it */
    uint32_t quiet;      /* observations since host and work last both accessed it */
    uint8_t *host_pages; /* with `watched`, per block: the host stored there since the last check;
                            until a shadow exists: CAPTURE_STORED_EVER */
    /* During a search: the relevant part of the mapping, empty otherwise. */
    struct capture_mapping *next_marked;
    uint64_t marked_begin, marked_end;
};

/* The capture's state of a buffer: its layer_data. */
struct capture_buffer {
    pthread_mutex_t
        lock; /* guards the list and the use of `own`: several threads may map a buffer */
    struct capture_mapping *open;
    struct capture_mapping own; /* the usual single mapping */
    bool own_used;
    bool is_new; /* created during the capture, after `born` submissions */
    uint64_t born;
    bool unclear; /* its initial contents are unknown; for outputs.h */
};

enum { CAPTURE_MAPPING_BUCKETS = 256 };

struct capture_mappings {
    struct capture_pages pages; /* opened when the first mapping is tracked, unless by_comparison */
    bool by_comparison, announced;
    uint64_t copied_bytes; /* of shadows of large watched mappings, under tracked_lock */
    /* Scratch, under tracked_lock: where in a mapping work may have written, or may write later,
     * and where work was observed; and space for comparisons. */
    struct capture_spans started, waiting, seen;
    uint8_t *scratch;
    const struct capture_submission *next;     /* is submitted after what the search records */
    const struct capture_submission *observed; /* has ended, and may have written the changes */
    _Atomic uint64_t last_number;
    _Atomic uint32_t tracked_count;
    pthread_mutex_t tracked_lock;
    struct capture_mapping *tracked[CAPTURE_MAPPING_BUCKETS]; /* by buffer */
};

static inline bool capture_nothing_is_tracked(const struct capture_mappings *mappings)
{
    return atomic_load_explicit(&mappings->tracked_count, memory_order_acquire) == 0;
}

void capture_mappings_init(struct capture_mappings *mappings);
void capture_mappings_finish(struct capture_mappings *mappings);

/* Call after the driver has mapped. NULL, and recording is stopped: out of memory. */
struct capture_mapping *capture_mapping_open(struct capture *capture, struct capture_thread *thread,
                                             const struct hal_mapping *mapping);

/* Imported memory is mapped permanently. */
struct hal_mapping capture_mapping_of_import(struct hal_buffer *buffer);

/* NULL: it was mapped before the capture began. */
struct capture_mapping *capture_mapping_find(const struct hal_mapping *mapping);
void capture_mapping_close(struct capture *capture, const struct hal_buffer *buffer,
                           struct capture_mapping *mapping);

/* NULL: out of memory. `capture`: the buffer was just created; NULL: it may have contents. */
struct capture_buffer *capture_buffer_create(const struct capture *capture);

/* Frees the buffer's layer_data and any open mappings. */
void capture_buffer_free(struct capture *capture, struct hal_buffer *buffer);

/* ---- Changes (changes.c) ------------------------------------------------------------------ */

/* Record what the host wrote into tracked mappings since the last search: everywhere; in a range of
 * a buffer; or in what open submissions use and the one that the driver has not received yet. */
void capture_mappings_collect(struct capture *capture, struct capture_thread *thread);
void capture_mappings_collect_range(struct capture *capture, struct capture_thread *thread,
                                    const struct hal_buffer *buffer, uint64_t offset,
                                    uint64_t bytes);
void capture_mappings_collect_used(struct capture *capture, struct capture_thread *thread,
                                   struct capture_submission *submission);

/* Call before a host signal: records what the host wrote into memory that open submissions use.
 * Submissions that wait for the value then no longer count as open. */
void capture_mappings_let_go(struct capture *capture, struct capture_thread *thread,
                             struct capture_semaphore *semaphore, uint64_t value);

/* The host has seen the value, or that all work numbered below `number` is done: records what that
 * work has written into tracked mappings. */
void capture_mappings_see_value(struct capture *capture, struct capture_thread *thread,
                                struct capture_semaphore *semaphore, uint64_t value);
void capture_mappings_see_all(struct capture *capture, struct capture_thread *thread,
                              uint64_t number);

/* For mappings.c. Begin and end a search for changes; false: out of memory. */
bool capture_changes_begin_locked(struct capture *capture, struct capture_thread *thread,
                                  struct capture_mapping *mapping, const struct hal_buffer *buffer);
void capture_changes_end_locked(struct capture_mappings *mappings, struct capture_mapping *mapping);

/* For compare.c. Computes mappings->started and waiting, relative to the mapping, and asks the
 * system for the pages of a range that the host stored into, for all mappings that report them. */
void capture_changes_find_writers_locked(struct capture *capture,
                                         const struct capture_mapping *mapping);
void capture_changes_ask_locked(struct capture *capture, struct capture_thread *thread,
                                const struct capture_mapping *mapping, uint64_t begin,
                                uint64_t end);

/* ---- Comparing (compare.c), for changes.c -------------------------------------------------- */

enum { CAPTURE_BLOCK_BYTES = 4096 };

/* Marks blocks that the host stored into before there was a shadow. */
enum { CAPTURE_STORED_EVER = 0x80 };

/* False: out of memory. The mapping is watched already, or never will be. */
bool capture_compare_begin(struct capture_mapping *mapping);

/* The same for a watched mapping for which only the blocks that the host stored into are known; no
 * work has written it yet. */
void capture_compare_catch_up_locked(struct capture *capture, struct capture_thread *thread,
                                     struct capture_mapping *mapping);
void capture_compare_end(struct capture_mapping *mapping);

/* Records changes in the marked part, in whole blocks. */
void capture_compare_collect_locked(struct capture *capture, struct capture_thread *thread,
                                    struct capture_mapping *mapping);

/* Work that may have written [begin, end) was observed: updates the shadow, records host stores. */
void capture_compare_observe_locked(struct capture *capture, struct capture_thread *thread,
                                    struct capture_mapping *mapping, uint64_t begin, uint64_t end);

static inline struct capture_mapping **capture_tracked(struct capture_mappings *mappings,
                                                       uint64_t buffer)
{
    return &mappings->tracked[buffer % CAPTURE_MAPPING_BUCKETS];
}

#endif
