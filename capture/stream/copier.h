/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that copy a content into staging memory while the application's own thread stores it
 * where the application wanted it: new memory is filled more slowly than anything else that
 * recording a content does.
 *
 * They have one content at a time, cut into parts. Whoever comes first takes the next part, and the
 * application's thread, once it is done with its own, takes parts as well: in the end it waits for
 * no more than the parts that others are copying. */
#ifndef CAPTURE_COPIER_H
#define CAPTURE_COPIER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct capture_stream;

enum {
    CAPTURE_COPIER_LEAST_BYTES = 1 << 20, /* less is copied sooner than a thread wakes up */
    CAPTURE_COPIER_PART_BYTES = 256 << 10,
    CAPTURE_COPIER_READY_BYTES = 1 << 20, /* made ready at once; no staging is smaller */
    CAPTURE_COPIER_MOST_THREADS = 2,      /* more are no faster than the system gives memory */
    CAPTURE_COPIER_PROCESSORS = 4,        /* per thread: most of them are the program's */
};

struct capture_copier {
    uint32_t thread_limit; /* set before anybody records; 0: there are no processors for it */
    uint32_t processors;   /* that whoever opened the stream may use */
    /* Counts, by four each, the contents; below that what becomes of the last one. */
    _Atomic uint32_t state;
    _Atomic uint32_t inside;                        /* threads that may look at the content */
    pthread_t threads[CAPTURE_COPIER_MOST_THREADS]; /* from the first large buffer on */
    uint32_t thread_count;
    bool started;
    _Atomic bool ending;
    /* The content; written by who has the copier. */
    uint64_t position, bytes;
    const uint8_t *data;
    _Atomic uint64_t next; /* begin of the first part that nobody took */
    _Atomic bool failed;
    /* How far staging memory is made ready before there are contents for it, from its start on. */
    _Atomic uint64_t expected; /* by the buffers that there are */
    _Atomic uint64_t prepared; /* taken by who makes it ready */
};

/* Claims room for at most the staging's size and begins to copy, unless the content is small or the
 * copier has no threads or another content: false. The bytes stay as they are until
 * capture_copier_finish. */
bool capture_copier_begin(struct capture_stream *stream, const void *data, uint64_t bytes,
                          uint64_t *out_position);

/* By the thread that began: everything is copied, and the position can be published, which it is
 * before the thread stages more. False, with recording stopped: it cannot be. */
bool capture_copier_finish(struct capture_stream *stream);

/* There is a new buffer of so many bytes, which the application will probably store into: if it is
 * large and the policy keeps bytes, the threads make as much memory ready while they have nothing
 * to copy, up to the staging's size or the budget. By any thread; blocks for starting threads. */
void capture_copier_expect(struct capture_stream *stream, uint64_t bytes);

/* Nobody records any more. */
void capture_copier_end(struct capture_stream *stream);

#endif
