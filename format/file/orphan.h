/* SPDX-License-Identifier: Apache-2.0 */
/* An orphaned sidecar, left by a capture. Anyone may have damaged the file. */
#ifndef FORMAT_ORPHAN_H
#define FORMAT_ORPHAN_H

#include "format/file/sidecar.h"
#include "hal/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* The published part of a ring that the trace does not contain. */
struct trace_orphan_ring {
    uint32_t thread;
    uint64_t sequence;
    uint64_t segment_bytes;    /* leading bytes that belong to a seal in the trace */
    uint64_t offset, capacity; /* the ring's memory in the sidecar */
    uint64_t position, bytes;  /* of the remaining records */
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
    uint64_t file_bytes; /* size of the trace that the capture has accounted for */
    bool next_alone;     /* the rings have nothing of the trace, only of the file to follow it */
    /* The same for the file that was taking the trace's name; 0: none. */
    int64_t successor_start_ns;
    uint64_t successor_skipped_tickets, successor_file_bytes;
    uint64_t staging_offset, staging_bytes;
    struct trace_orphan_ring *rings; /* sorted by thread, then sequence */
    size_t ring_count;
};

/* HAL_NOT_FOUND: no such file. HAL_EXISTS: its capture is still running (not checked with `force`).
 * HAL_CORRUPT, HAL_VERSION: not a sidecar, or another version's. */
enum hal_status trace_orphan_open(const char *path, bool force,
                                  struct trace_orphan *out_orphan) HAL_CHECKED;
/* Opens it without its rings, to identify it, even while its capture is running. */
enum hal_status trace_orphan_peek(const char *path, struct trace_orphan *out_orphan) HAL_CHECKED;
void trace_orphan_close(struct trace_orphan *orphan); /* accepts a zeroed one */

/* Whether this is the sidecar of the trace with that process and start time: of the trace with its
 * name, or of the one that was taking the name, which it then describes. */
bool trace_orphan_belongs(struct trace_orphan *orphan, uint64_t process_id, int64_t start_ns);

/* Whether its capture, maybe in another container, or a process that it started locks it. */
bool trace_orphan_locked(const struct trace_orphan *orphan);

/* Whether the captured process is still running, or another one has its number. It may have
 * executed another program, or closed the file that holds the lock, while its capture goes on. */
bool trace_orphan_process_runs(const struct trace_orphan *orphan);

/* Whether its capture is still running. */
bool trace_orphan_in_use(const struct trace_orphan *orphan);

/* The remaining records of the ring, contiguous; free() them. */
enum hal_status trace_orphan_records(const struct trace_orphan *orphan,
                                     const struct trace_orphan_ring *ring,
                                     uint8_t **out_records) HAL_CHECKED;

/* Reads staged bytes at a position that a record names. */
enum hal_status trace_orphan_content(const struct trace_orphan *orphan, uint64_t position,
                                     uint64_t bytes, void *out) HAL_CHECKED;

#endif
