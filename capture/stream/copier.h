/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that copy contents into staging memory while the application's own thread stores them at
 * their destination: filling new memory is the slowest part of recording a content.
 *
 * The copier handles one content at a time, cut into parts. Each thread takes the next free part.
 * Once the application's thread has finished its own store it takes parts as well, so in the end it
 * waits only for parts that other threads are copying. */
#ifndef CAPTURE_COPIER_H
#define CAPTURE_COPIER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct capture_stream;

enum {
    CAPTURE_COPIER_LEAST_BYTES = 1 << 20, /* copying less is faster than waking a thread */
    CAPTURE_COPIER_PART_BYTES = 256 << 10,
    CAPTURE_COPIER_READY_BYTES = 1 << 20, /* prepared at once; staging is at least this large */
    CAPTURE_COPIER_MOST_THREADS = 2,      /* more are no faster than the system provides memory */
    CAPTURE_COPIER_PROCESSORS = 4,        /* per thread: most belong to the program */
};

struct capture_copier {
    uint32_t thread_limit; /* set before any recording; 0: too few processors */
    uint32_t processors;   /* available to the thread that opened the stream */
    /* Counts contents in units of four; the low bits hold the state of the latest one. */
    _Atomic uint32_t state;
    _Atomic uint32_t inside;                        /* threads that may access the content */
    pthread_t threads[CAPTURE_COPIER_MOST_THREADS]; /* from the first large buffer on */
    uint32_t thread_count;
    bool started;
    _Atomic bool ending;
    /* The content; only the copier's owner writes it. */
    uint64_t position, bytes;
    const uint8_t *data;
    _Atomic uint64_t next; /* begin of the first part not taken */
    _Atomic bool failed;
    /* How much staging memory, from its start, is prepared before contents need it. */
    _Atomic uint64_t expected; /* according to existing buffers */
    _Atomic uint64_t prepared; /* taken by the thread that prepares it */
};

/* Claims room for at most the staging's size and begins to copy. False: the content is small, there
 * are no threads, or the copier is busy. The bytes must not change until capture_copier_finish. */
bool capture_copier_begin(struct capture_stream *stream, const void *data, uint64_t bytes,
                          uint64_t *out_position);

/* Called by the thread that began: completes the copy. The position can then be published, which
 * must happen before the thread stages more. False, and recording is stopped: copying failed. */
bool capture_copier_finish(struct capture_stream *stream);

/* Announces a new buffer of that size, into which the application will probably store: if it is
 * large and the policy keeps bytes, idle threads prepare that much memory, up to the staging's size
 * or the budget. Any thread; blocks while it starts threads. */
void capture_copier_expect(struct capture_stream *stream, uint64_t bytes);

/* Call it when no thread records any more. */
void capture_copier_end(struct capture_stream *stream);

#endif
