/* SPDX-License-Identifier: Apache-2.0 */
/* The access ranges of a command buffer: what it may write or read of memory that the host can
 * access without a call. Per buffer of coherent memory, a few ranges cover everything written, and
 * a few cover what is only read. Ranges stay separate up to a limit per buffer. A binding counts as
 * written unless the kernel's reflection shows that it is only read. */
#ifndef CAPTURE_ACCESS_RANGES_H
#define CAPTURE_ACCESS_RANGES_H

#include "format/analysis/access.h"
#include "hal/driver.h"

struct capture_access_range {
    uint64_t key; /* the buffer's id and the only-read flag */
    uint64_t begin, end;
};

static inline uint64_t capture_access_range_key(uint64_t buffer, bool reads)
{
    return buffer << 1 | reads;
}

static inline uint64_t capture_access_range_buffer(const struct capture_access_range *use)
{
    return use->key >> 1;
}

static inline bool capture_access_range_writes(const struct capture_access_range *use)
{
    return !(use->key & 1);
}

struct capture_access_ranges {
    _Atomic uint32_t references;
    uint32_t count;
    struct capture_access_range ranges[];
};

/* What recording the command list takes, computed in the same pass. */
struct capture_survey {
    uint64_t record_bytes;  /* total size of all commands' records */
    uint32_t largest_bytes; /* size of the largest record; never 0 */
    uint32_t longest_list;  /* of buffer barriers or events */
    bool has_labels;
};

/* Walks the ended list; the caller owns one reference. NULL: it uses no such memory, or
 * (*out_failed) out of memory. Always fills `out_survey`. Without `exact`, which examines each
 * dispatch, all bindings count as written. */
struct capture_access_ranges *capture_access_ranges_create(
    const struct hal_command_buffer *commands, bool exact, struct capture_survey *out_survey,
    bool *out_failed);

/* Reports what one command of an ended list accesses, in memory of any kind; each access names its
 * buffer by capture_accessed_buffer. */
void capture_accesses(const struct hal_command_buffer *commands, const struct hal_command *command,
                      const struct trace_access_sink *sink);

static inline struct hal_buffer *capture_accessed_buffer(const struct trace_access *access)
{
    return (struct hal_buffer *)(uintptr_t)access->buffer;
}

/* A single range; NULL: the host cannot see it, or out of memory. */
struct capture_access_ranges *capture_access_ranges_of(const struct hal_buffer *buffer,
                                                       uint64_t offset, uint64_t bytes, bool reads);

/* Both accept NULL. */
struct capture_access_ranges *capture_access_ranges_retain(struct capture_access_ranges *accesses);
void capture_access_ranges_release(struct capture_access_ranges *accesses);

#endif
