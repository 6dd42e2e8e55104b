/* SPDX-License-Identifier: Apache-2.0 */
/* Taking records out of the rings and handing them, with the contents that they name, to the file:
 * the writer thread's part that is repeated for every record. Nothing is given back here: that is
 * what a flush does (writer.c). */
#ifndef CAPTURE_DRAIN_H
#define CAPTURE_DRAIN_H

#include "capture/stream/threads.h"

enum { CAPTURE_SLICE_BYTES = 1 << 20 }; /* taken from one thread at a time, about */

struct capture_drain {
    struct capture_stream *stream;
    void *scratch; /* a record whose content number is filled in */
    size_t scratch_capacity;
    void *tables; /* of a flight recorder: all table records */
    size_t tables_bytes, tables_capacity;
    const uint8_t *announced_to; /* within the slice that is stored */
    bool dirty;                  /* something was taken since the last flush */
    int64_t flushed_ns, active_ns;
};

/* One slice of each thread; the bytes that were taken. */
uint64_t capture_drain_all(struct capture_drain *drain);

/* From here on the sidecar keeps what the file has not. */
void capture_drain_fail(struct capture_drain *drain, enum hal_status status);

/* The list only grows at its front, and only the writer takes threads out. */
struct capture_thread *capture_drain_threads(struct capture_stream *stream);

#endif
