/* SPDX-License-Identifier: Apache-2.0 */
/* Private to stream.c, reserve.c, threads.c, copier.c and writer.c. */
#ifndef CAPTURE_THREADS_H
#define CAPTURE_THREADS_H

#include "capture/stream/stream.h"

/* Call before the sidecar is opened. */
void capture_threads_open(struct capture_stream *stream);
/* Call afterwards: prepares rings for the first threads that record much. */
void capture_threads_prepare(struct capture_stream *stream);
void capture_threads_close(struct capture_stream *stream);

/* Continues in another ring, for a record of `bytes`. False: the thread has used its share, there
 * is no memory, or too little is left to spend on a record that fits the current ring. */
bool capture_ring_grow(struct capture_thread *thread, uint64_t bytes);
/* The thread is no longer listed, or calls this itself. */
void capture_ring_free(struct capture_thread *thread, struct capture_ring *ring);

/* Writer: removes threads that have exited and whose records are in the file. */
void capture_threads_collect(struct capture_stream *stream);

/* The writer thread's main function; `argument` is a struct capture_stream. */
void *capture_write_stream(void *argument);

/* Counts a wait of the application for the writer, since begin_ns. */
void capture_count_stall(struct capture_stream *stream, int64_t begin_ns);

#endif
