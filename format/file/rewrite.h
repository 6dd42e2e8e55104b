/* SPDX-License-Identifier: Apache-2.0 */
/* Rewrites one or several traces into a new one: a selection of their events, renumbered, with or
 * without contents. Only what the kept events refer to is copied.
 *
 *     trace_rewrite_open(&rewrite, &options, &header);
 *     trace_rewrite_add(&rewrite, &source, &rules);      ... for each source
 *     status = trace_rewrite_close(&rewrite, status, &health);
 *
 * The file gets its name when it is complete; on failure there is none. Columns that a newer
 * version added to events are unknown here and dropped (recompression keeps them); fields of header
 * and end are copied. One thread at a time. */
#ifndef FORMAT_REWRITE_H
#define FORMAT_REWRITE_H

#include "format/trace.h"

struct trace_rewrite_options {
    const char *path;
    bool force;
    int compression_level; /* 0: the default */
};

/* A trace to take events from. The offsets for its numbers are zero for the first or only one. */
struct trace_rewrite_source {
    struct trace_reader *reader; /* borrowed */
    uint64_t object_base, submission_base, mapping_base;
    uint32_t thread_base, queue_base;
    int64_t shift_ns;
    const char *thread_prefix; /* prefix for thread names; NULL: none */
    /* Renumbers a ticket other than 0. NULL: tickets stay. */
    uint64_t (*ticket)(void *user, uint64_t ticket);
    void *ticket_user;
    /* Likewise for the number of a group of ranks. */
    uint64_t (*group)(void *user, uint64_t group);
    void *group_user;

    /* Private. */
    uint64_t *contents, *digests; /* new number by old number; 0: none yet */
    uint32_t *strings, *stacks;
    size_t string_capacity, stack_capacity;
    uint8_t *threads;
};

enum trace_rewrite_contents {
    TRACE_REWRITE_KEEP,
    TRACE_REWRITE_DIGEST, /* replaced by their SHA-256; of executables: dropped */
};

struct trace_rewrite_rules {
    /* Called for each event; NULL keeps all. May change the event and its segments, and shorten the
     * event. `segments` is NULL except for a seal. */
    bool (*keep)(void *user, struct trace_event *event, struct trace_segment *segments);
    void *user;
    enum trace_rewrite_contents writes, reads, executables;
    void (*progress)(void *user, uint64_t done); /* chunks; NULL: no callback */
    void *progress_user;
};

struct trace_rewrite {
    struct trace_writer *writer;
    uint32_t next_string, next_stack;
    uint8_t *bytes; /* a content, or a table's record */
    size_t capacity;
    uint64_t events, segments;    /* written */
    uint64_t dropped_unsupported; /* calls counted by the health, of events that were not kept */
};

/* `header` is copied. HAL_EXISTS, HAL_IO, HAL_NO_MEMORY: there is nothing to close then. */
enum hal_status trace_rewrite_open(struct trace_rewrite *rewrite,
                                   const struct trace_rewrite_options *options,
                                   const struct trace_header *header) HAL_CHECKED;

/* Adds all events that the rules keep. HAL_CORRUPT: the source is damaged. HAL_UNSUPPORTED: a
 * number no longer fits its member. Frees the source's private members. */
enum hal_status trace_rewrite_add(struct trace_rewrite *rewrite,
                                  struct trace_rewrite_source *source,
                                  const struct trace_rewrite_rules *rules) HAL_CHECKED;

/* Completes and publishes the file if `status` is HAL_OK, else removes it. Returns the first
 * failure, with its message. Unsupported calls that were not kept no longer count. */
enum hal_status trace_rewrite_close(struct trace_rewrite *rewrite, enum hal_status status,
                                    const struct trace_health *health) HAL_CHECKED;

/* The source's health, or a description for a source without one; `message` provides the space. */
struct trace_health trace_rewrite_health(const struct trace_reader *reader, char *message,
                                         size_t message_bytes);

/* Copies the file with another compression; the message stays identical bit by bit, including what
 * newer versions added. `edit` is appended to the header's. If that would enlarge a complete file,
 * the copy is the original file (*out_copied). HAL_CORRUPT, HAL_VERSION, HAL_EXISTS, HAL_IO,
 * HAL_NO_MEMORY; HAL_INVALID: the file is incomplete. `progress` may be NULL. */
enum hal_status trace_recompress(const char *path, const struct trace_rewrite_options *options,
                                 const char *edit, void (*progress)(void *user, uint64_t done),
                                 void *user, bool *out_copied) HAL_CHECKED;

#endif
