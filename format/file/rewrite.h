/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a trace anew out of one or several others: some of their events, with other numbers,
 * with contents or without. Only what the events that are kept refer to comes along.
 *
 *     trace_rewrite_open(&rewrite, &options, &header);
 *     trace_rewrite_add(&rewrite, &source, &rules);      ... for each source
 *     status = trace_rewrite_close(&rewrite, status, &health);
 *
 * The file gets its name when all of it is written; before, and when something fails, there is
 * none. Columns that a newer version has added to events are not known here, hence left out (a
 * recompression keeps them); fields of header and end are handed on. One thread at a time. */
#ifndef FORMAT_REWRITE_H
#define FORMAT_REWRITE_H

#include "format/trace.h"

struct trace_rewrite_options {
    const char *path;
    bool force;
    int compression_level; /* 0: the default */
};

/* A trace to take events from. What is added to its numbers is zero for the first or only one. */
struct trace_rewrite_source {
    struct trace_reader *reader; /* borrowed */
    uint64_t object_base, submission_base, mapping_base;
    uint32_t thread_base, queue_base;
    int64_t shift_ns;
    const char *thread_prefix; /* before the names of threads; NULL: none */
    /* Another number for a ticket that is not 0. NULL: they stay. */
    uint64_t (*ticket)(void *user, uint64_t ticket);
    void *ticket_user;
    /* Likewise for the number of a group of ranks. */
    uint64_t (*group)(void *user, uint64_t group);
    void *group_user;

    /* Private. */
    uint64_t *contents, *digests; /* by old number: the new one; 0: not yet */
    uint32_t *strings, *stacks;
    size_t string_capacity, stack_capacity;
    uint8_t *threads;
};

enum trace_rewrite_contents {
    TRACE_REWRITE_KEEP,
    TRACE_REWRITE_DIGEST, /* the SHA-256 in their place; of executables: nothing */
};

struct trace_rewrite_rules {
    /* Asked for each event; NULL: all are kept. May change the event and its segments, and make the
     * event shorter. `segments` is NULL but for a seal. */
    bool (*keep)(void *user, struct trace_event *event, struct trace_segment *segments);
    void *user;
    enum trace_rewrite_contents writes, reads, executables;
    void (*progress)(void *user, uint64_t done); /* chunks; NULL: nobody wants to know */
    void *progress_user;
};

struct trace_rewrite {
    struct trace_writer *writer;
    uint32_t next_string, next_stack;
    bool has_modules;
    uint8_t *bytes; /* a content, or a record of a table */
    size_t capacity;
    uint64_t events, segments;    /* written */
    uint64_t dropped_unsupported; /* calls that the health counts, of events that were not kept */
};

/* `header` is copied. HAL_EXISTS, HAL_IO, HAL_NO_MEMORY: nothing is to be closed then. */
enum hal_status trace_rewrite_open(struct trace_rewrite *rewrite,
                                   const struct trace_rewrite_options *options,
                                   const struct trace_header *header) HAL_CHECKED;

/* All events that the rules keep. HAL_CORRUPT: the source is damaged. HAL_UNSUPPORTED: a number
 * becomes larger than its member has room for. Frees the source's private parts. */
enum hal_status trace_rewrite_add(struct trace_rewrite *rewrite,
                                  struct trace_rewrite_source *source,
                                  const struct trace_rewrite_rules *rules) HAL_CHECKED;

/* Completes and names the file when `status` is HAL_OK, else removes it. Returns the first
 * failure, with its message. Unsupported calls that were not kept do not count any more. */
enum hal_status trace_rewrite_close(struct trace_rewrite *rewrite, enum hal_status status,
                                    const struct trace_health *health) HAL_CHECKED;

/* The source's health, or what to say of a source without one: `message` has room for it. */
struct trace_health trace_rewrite_health(const struct trace_reader *reader, char *message,
                                         size_t message_bytes);

/* A copy of the file with other compression, bit for bit the same message: what newer versions
 * added stays. `edit` is added to the header's. Where that makes the file larger, and nothing of it
 * was missing, the copy is the file as it is (*out_copied). HAL_CORRUPT, HAL_VERSION, HAL_EXISTS,
 * HAL_IO, HAL_NO_MEMORY; HAL_INVALID: the file is not whole. `progress` may be NULL. */
enum hal_status trace_recompress(const char *path, const struct trace_rewrite_options *options,
                                 const char *edit, void (*progress)(void *user, uint64_t done),
                                 void *user, bool *out_copied) HAL_CHECKED;

#endif
