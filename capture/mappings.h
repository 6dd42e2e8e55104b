/* SPDX-License-Identifier: Apache-2.0 */
/* What the host does to mapped memory without telling anybody.
 *
 * A scoped mapping is simple: its contents are read when it is mapped for reading, and written when
 * it is unmapped. In a persistent mapping of coherent memory host and device just load and store:
 * such a mapping is *tracked*. Before the device can see what the host wrote, the bytes that the
 * host wrote are found and recorded: by the system's own account of written pages
 * (capture/pages.h), else by comparison with a shadow copy. That is looked for where it matters and
 * no earlier: at a submission in what it uses, and in what open submissions use (inflight.h); at a
 * signal from the host in the latter; when a range is flushed, unmapped or read, in that range.
 * When the host observes that work is done, what that work may have written into the mapping is
 * recorded as read.
 *
 * By comparison alone the host's and the device's writes look the same. Then a change counts as the
 * host's, unless the block is known for the device's writes and unobserved work may write it; what
 * the host changes inside the range of unobserved work before it observes that work goes unseen. */
#ifndef CAPTURE_MAPPINGS_H
#define CAPTURE_MAPPINGS_H

#include "capture/inflight.h"
#include "capture/pages.h"

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
    bool tracked, watched; /* watched: by pages, else by comparison */
    bool imported;         /* host and device see it through one mapping: pages tell nothing */
    struct capture_mapping *next_tracked; /* in the same bucket */
    uint8_t *shadow;
    uint8_t *from_device; /* per block: the device was seen writing it */
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
    bool by_comparison;
    _Atomic uint64_t last_number;
    _Atomic uint32_t tracked_count;
    pthread_mutex_t tracked_lock;
    struct capture_mapping *tracked[CAPTURE_MAPPING_BUCKETS]; /* by buffer */
};

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
 * of a buffer; into what the submission, which the driver has not seen yet, and open ones use.
 * NULL: what open ones use. */
void capture_mappings_collect(struct capture *capture, struct capture_thread *thread);
void capture_mappings_collect_range(struct capture *capture, struct capture_thread *thread,
                                    const struct hal_buffer *buffer, uint64_t offset,
                                    uint64_t bytes);
void capture_mappings_collect_used(struct capture *capture, struct capture_thread *thread,
                                   const struct capture_submission *submission);

/* Records what finished work has written into tracked mappings. Takes the list over. */
void capture_mappings_observe(struct capture *capture, struct capture_thread *thread,
                              struct capture_submission *list);

/* For mappings.c. Begins and ends looking for changes; false: memory is out. */
bool capture_changes_begin_locked(struct capture *capture, struct capture_thread *thread,
                                  struct capture_mapping *mapping, uint64_t buffer_bytes);
void capture_changes_end_locked(struct capture_mappings *mappings, struct capture_mapping *mapping);

static inline struct capture_mapping **capture_tracked(struct capture_mappings *mappings,
                                                       uint64_t buffer)
{
    return &mappings->tracked[buffer % CAPTURE_MAPPING_BUCKETS];
}

#endif
