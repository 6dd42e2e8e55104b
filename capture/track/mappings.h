/* SPDX-License-Identifier: Apache-2.0 */
/* What the host does to mapped memory without telling anybody.
 *
 * A scoped mapping is simple: its contents are read when it is mapped for reading, and written when
 * it is unmapped. In a persistent mapping of coherent memory host and device just load and store:
 * such a mapping is *tracked*. Before the device can see what the host wrote, the bytes that the
 * host wrote are found and recorded: by the system's own account of written pages
 * (capture/pages/pages.h), else by comparison with a shadow copy. That is looked for where it
 * matters and no earlier: at a submission in what it uses, and in what open submissions use
 * (inflight.h); at a signal from the host in the latter; when a range is flushed, unmapped or read,
 * in that range. When the host observes that work is done, what that work may have written into the
 * mapping is recorded as read.
 *
 * By comparison alone the host's and the device's writes look the same. A change outside of what
 * unobserved work may write is the host's. One inside is recorded as a change that either may have
 * made (TRACE_MAPPED_CHANGE): a replay decides, or says that it cannot. The same goes for pages
 * that the host stored into; those that it left alone were changed by the device. There, too, a
 * shadow tells which bytes changed; NULL where it would be too large.
 *
 * Where the program announces what it writes, by flushing it, nothing is looked for. */
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
    bool is_own;   /* lies in the capture_buffer */
    bool is_first; /* what lies there is nobody's: the buffer is new */
    /* Of tracked mappings, under tracked_lock. */
    bool tracked, watched; /* watched: the system tells which pages the host stored into */
    bool imported;         /* host and device see it through one mapping: pages tell nothing */
    struct capture_mapping *next_tracked; /* in the same bucket */
    uint8_t *shadow;     /* what the trace knows; NULL: it is not compared (compare.c) */
    bool is_written;     /* work may have written it */
    uint32_t quiet;      /* observations since host and work last met in it */
    uint8_t *host_pages; /* with `watched`, per block: the host stored there since the last look;
                          * while a shadow may yet come: CAPTURE_STORED_EVER */
    /* While looking: the part of the mapping that counts, empty outside of it. */
    struct capture_mapping *next_marked;
    uint64_t marked_begin, marked_end;
};

/* What the capture knows of a buffer: its layer_data. */
struct capture_buffer {
    pthread_mutex_t lock; /* of the list, and of who has `own`: several threads may map a buffer */
    struct capture_mapping *open;
    struct capture_mapping own; /* the usual single mapping */
    bool own_used;
    bool is_new; /* created while the capture went on, after `born` submissions */
    uint64_t born;
    bool unclear; /* nobody knows what was in it at first; for outputs.h */
};

enum { CAPTURE_MAPPING_BUCKETS = 256 };

struct capture_mappings {
    struct capture_pages pages; /* opened when the first mapping is tracked, unless by_comparison */
    bool by_comparison, announced;
    uint64_t copied_bytes; /* of shadows of large mappings that are watched, under tracked_lock */
    /* Scratch, under tracked_lock: where in a mapping work may have written, or may later, and
     * where work was observed; room for what is compared. */
    struct capture_spans started, waiting, seen;
    uint8_t *scratch;
    const struct capture_submission *next;     /* is submitted behind what the look records */
    const struct capture_submission *observed; /* has ended, and may have written what is found */
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

/* After the driver has mapped. NULL, with recording stopped: memory is out. */
struct capture_mapping *capture_mapping_open(struct capture *capture, struct capture_thread *thread,
                                             const struct hal_mapping *mapping);

/* Imported memory is mapped for good. */
struct hal_mapping capture_mapping_of_import(struct hal_buffer *buffer);

/* NULL: it was mapped before the capture began. */
struct capture_mapping *capture_mapping_find(const struct hal_mapping *mapping);
void capture_mapping_close(struct capture *capture, const struct hal_buffer *buffer,
                           struct capture_mapping *mapping);

/* NULL: memory is out. `capture`: the buffer was just created; NULL: it may hold something. */
struct capture_buffer *capture_buffer_create(const struct capture *capture);

/* Frees the buffer's layer_data with what is open. */
void capture_buffer_free(struct capture *capture, struct hal_buffer *buffer);

/* ---- Changes (changes.c) ------------------------------------------------------------------ */

/* Records what the host wrote into tracked mappings since the last look: everywhere; into a range
 * of a buffer; into what the submission, which the driver has not seen yet, and open ones use. */
void capture_mappings_collect(struct capture *capture, struct capture_thread *thread);
void capture_mappings_collect_range(struct capture *capture, struct capture_thread *thread,
                                    const struct hal_buffer *buffer, uint64_t offset,
                                    uint64_t bytes);
void capture_mappings_collect_used(struct capture *capture, struct capture_thread *thread,
                                   struct capture_submission *submission);

/* Before a signal of the host: records what the host wrote into what open submissions use. From
 * then on those that wait for the value count as let go. */
void capture_mappings_let_go(struct capture *capture, struct capture_thread *thread,
                             struct capture_semaphore *semaphore, uint64_t value);

/* The host has seen the value, or that all work numbered below `number` is done: records what that
 * work has written into tracked mappings. */
void capture_mappings_see_value(struct capture *capture, struct capture_thread *thread,
                                struct capture_semaphore *semaphore, uint64_t value);
void capture_mappings_see_all(struct capture *capture, struct capture_thread *thread,
                              uint64_t number);

/* For mappings.c. Begins and ends looking for changes; false: memory is out. */
bool capture_changes_begin_locked(struct capture *capture, struct capture_thread *thread,
                                  struct capture_mapping *mapping, const struct hal_buffer *buffer);
void capture_changes_end_locked(struct capture_mappings *mappings, struct capture_mapping *mapping);

/* For compare.c. Finds mappings->started and waiting, relative to the mapping. Asks the system for
 * the pages of a range that the host stored into, for all mappings that show them. */
void capture_changes_find_writers_locked(struct capture *capture,
                                         const struct capture_mapping *mapping);
void capture_changes_ask_locked(struct capture *capture, struct capture_thread *thread,
                                const struct capture_mapping *mapping, uint64_t begin,
                                uint64_t end);

/* ---- Comparing (compare.c), for changes.c -------------------------------------------------- */

enum { CAPTURE_BLOCK_BYTES = 4096 };

/* Of blocks into which the host has stored before there was a shadow. */
enum { CAPTURE_STORED_EVER = 0x80 };

/* False: memory is out. The mapping is watched already, or will not be. */
bool capture_compare_begin(struct capture_mapping *mapping);

/* The same for a mapping that is watched, of which no more than the blocks are noted that the host
 * stored into; no work has written it yet. */
void capture_compare_catch_up_locked(struct capture *capture, struct capture_thread *thread,
                                     struct capture_mapping *mapping);
void capture_compare_end(struct capture_mapping *mapping);

/* Records what changed in the marked part, in whole blocks. */
void capture_compare_collect_locked(struct capture *capture, struct capture_thread *thread,
                                    struct capture_mapping *mapping);

/* Work that may have written [begin, end) was observed: the shadow takes it over, and what the host
 * may have stored is recorded. */
void capture_compare_observe_locked(struct capture *capture, struct capture_thread *thread,
                                    struct capture_mapping *mapping, uint64_t begin, uint64_t end);

static inline struct capture_mapping **capture_tracked(struct capture_mappings *mappings,
                                                       uint64_t buffer)
{
    return &mappings->tracked[buffer % CAPTURE_MAPPING_BUCKETS];
}

#endif
