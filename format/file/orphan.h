/* SPDX-License-Identifier: Apache-2.0 */
/* An orphaned sidecar, left by a capture: a file that anybody may have damaged. */
#ifndef FORMAT_ORPHAN_H
#define FORMAT_ORPHAN_H

#include "format/file/sidecar.h"
#include "hal/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* The published part of a ring that the file does not have. */
struct trace_orphan_ring {
    uint32_t thread;
    uint64_t sequence;
    uint64_t segment_bytes;    /* so many bytes of it belong to a seal in the file */
    uint64_t offset, capacity; /* the ring's memory in the sidecar */
    uint64_t position, bytes;  /* of what is left */
};

struct trace_orphan {
    int descriptor;
    char path[TRACE_PATH_BYTES], destination[TRACE_PATH_BYTES];
    struct trace_sidecar_place place;
    uint64_t process_id;
    int64_t start_ns;
    uint32_t stopped; /* enum hal_status: why recording stopped */
    char stopped_message[512];
    bool stopped_by_file;
    uint64_t lost_records;
    uint64_t skipped_tickets;
    uint64_t file_bytes; /* of the trace that the capture had accounted for */
    /* The same of the file that was taking the trace's name; 0: none was. */
    int64_t successor_start_ns;
    uint64_t successor_skipped_tickets, successor_file_bytes;
    uint64_t staging_offset, staging_bytes;
    struct trace_orphan_ring *rings; /* by thread, then in order */
    size_t ring_count;
};

/* HAL_NOT_FOUND: no such file; HAL_EXISTS: its capture goes on (not asked with `force`);
 * HAL_CORRUPT, HAL_VERSION: not a sidecar, or not one of this version's. */
enum hal_status trace_orphan_open(const char *path, bool force,
                                  struct trace_orphan *out_orphan) HAL_CHECKED;
/* Without its rings: whose it is, while its capture goes on too. */
enum hal_status trace_orphan_peek(const char *path, struct trace_orphan *out_orphan) HAL_CHECKED;
void trace_orphan_close(struct trace_orphan *orphan); /* accepts a zeroed one */

/* The trace with that process and begin is what this was left of: by its name, or as the one that
 * was taking it, by which it goes from then on. */
bool trace_orphan_belongs(struct trace_orphan *orphan, uint64_t process_id, int64_t start_ns);

/* By its capture, which may be one of another container, or by what that has started. */
bool trace_orphan_locked(const struct trace_orphan *orphan);

/* The captured process has not ended, or another one has its number. It may have become another
 * program, and it may have closed the file that the lock is on, while its capture goes on. */
bool trace_orphan_process_runs(const struct trace_orphan *orphan);

/* Its capture goes on. */
bool trace_orphan_in_use(const struct trace_orphan *orphan);

/* What is left of the ring, one record behind the other; free() it. */
enum hal_status trace_orphan_records(const struct trace_orphan *orphan,
                                     const struct trace_orphan_ring *ring,
                                     uint8_t **out_records) HAL_CHECKED;

/* Staged bytes at a position that a record names. */
enum hal_status trace_orphan_content(const struct trace_orphan *orphan, uint64_t position,
                                     uint64_t bytes, void *out) HAL_CHECKED;

#endif
