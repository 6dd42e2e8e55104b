/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that copies a content into staging memory while the application's own thread stores it
 * where the application wanted it: new memory is filled more slowly than anything else that
 * recording a content does.
 *
 * It has one content at a time, cut into parts. Whoever comes first takes the next part, and the
 * application's thread, once it is done with its own, takes parts as well: it never waits for more
 * than one part that the other is copying, nor for a thread that the system does not run. */
#ifndef CAPTURE_COPIER_H
#define CAPTURE_COPIER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct capture_stream;

/* Less is copied sooner than a thread wakes up. */
enum { CAPTURE_COPIER_LEAST_BYTES = 1 << 20, CAPTURE_COPIER_PART_BYTES = 256 << 10 };

struct capture_copier {
    bool wanted; /* set before anybody records: there are processors for it */
    _Atomic uint32_t state;
    pthread_t thread; /* runs from the first content on */
    bool runs, failed_to_start;
    _Atomic bool ending;
    /* The content; written by who has the copier. */
    uint64_t position, bytes;
    const uint8_t *data;
    _Atomic uint64_t next; /* begin of the first part that nobody took */
    _Atomic bool failed;
};

/* Claims room for at most the staging's size and begins to copy, unless the content is small or the
 * copier is not wanted, cannot be started or has another content: false. The bytes stay as they are
 * until capture_copier_finish. */
bool capture_copier_begin(struct capture_stream *stream, const void *data, uint64_t bytes,
                          uint64_t *out_position);

/* By the thread that began: everything is copied, and the position can be published, which it is
 * before the thread stages more. False, with recording stopped: it cannot be. */
bool capture_copier_finish(struct capture_stream *stream);

/* Nobody records any more. */
void capture_copier_end(struct capture_stream *stream);

#endif
