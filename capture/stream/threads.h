/* SPDX-License-Identifier: Apache-2.0 */
/* Between stream.c, reserve.c, threads.c, copier.c and writer.c alone. */
#ifndef CAPTURE_THREADS_H
#define CAPTURE_THREADS_H

#include "capture/stream/stream.h"

/* Before the sidecar is opened. */
void capture_threads_open(struct capture_stream *stream);
/* Afterwards: makes rings ready, for the first threads that record much. */
void capture_threads_prepare(struct capture_stream *stream);
void capture_threads_close(struct capture_stream *stream);

/* Goes on in another ring, for a record of `bytes`. False: it has its share, or there is no memory
 * for it, or not enough left to spend it on a record that fits the ring it has. */
bool capture_ring_grow(struct capture_thread *thread, uint64_t bytes);
/* Of a thread that is no longer listed, or whose ring it is. */
void capture_ring_free(struct capture_thread *thread, struct capture_ring *ring);

/* Writer: threads that have exited and whose records are in the file leave the stream. */
void capture_threads_collect(struct capture_stream *stream);

/* The writer thread's main function; `argument` is a struct capture_stream. */
void *capture_write_stream(void *argument);

/* The application has waited for the writer since then. */
void capture_count_stall(struct capture_stream *stream, int64_t begin_ns);

#endif
