/* SPDX-License-Identifier: Apache-2.0 */
/* Takes records out of the rings and hands them, with the contents that they name, to the file: the
 * part of the writer thread that runs for every record. A flush (writer.c) releases memory. */
#ifndef CAPTURE_DRAIN_H
#define CAPTURE_DRAIN_H

#include "capture/stream/threads.h"

enum { CAPTURE_SLICE_BYTES = 1 << 20 }; /* taken from one thread at a time, approximately */

struct capture_drain {
    struct capture_stream *stream;
    void *scratch; /* a record whose content number is being filled in */
    size_t scratch_capacity;
    void *tables; /* of a flight recorder: all table records */
    size_t tables_bytes, tables_capacity;
    const uint8_t *announced_to; /* in the slice being stored */
    bool dirty;                  /* something was taken since the last flush */
    int64_t flushed_ns, active_ns;
};

/* Takes one slice of each thread; returns the number of bytes taken. */
uint64_t capture_drain_all(struct capture_drain *drain);

/* From now on the sidecar keeps what the file lacks. */
void capture_drain_fail(struct capture_drain *drain, enum hal_status status);

/* The list grows only at its front, and only the writer removes threads. */
struct capture_thread *capture_drain_threads(struct capture_stream *stream);

#endif
