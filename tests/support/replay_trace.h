/* SPDX-License-Identifier: Apache-2.0 */
/* A trace with every kind of event and command, which replays on any device. */
#ifndef TESTS_SUPPORT_REPLAY_TRACE_H
#define TESTS_SUPPORT_REPLAY_TRACE_H

#include "tests/support/trace_builder.h"

/* Ids of the objects; what is in them in the end. */
enum {
    EVERY_A = 10,      /* buffer 'a': 64 bytes, 0, 1, 2, ... from the host */
    EVERY_B = 11,      /* buffer 'b': what everything writes into */
    EVERY_COUNTS = 15, /* buffer 'counts': 16 bytes, zero: no workgroups */
    EVERY_SCALE = 20,  /* executable: multiplies 16 floats by the push constant */
    EVERY_DONE = 30,   /* semaphore 'done': 0, 1 by #s0, 2 by #s1 */
    EVERY_GATE = 31,   /* semaphore 'gate': 2, 3 by the host; #s0 waits for 3 */
    EVERY_ONCE = 40,   /* one-shot command buffer of #s0 */
    EVERY_AGAIN = 41,  /* reusable command buffer of #s0 and #s1 */
    EVERY_EVENT = 50,  /* event 'half': inside the one-shot command buffer */
    EVERY_BYTES = 64,
};

/* The bytes of 'b' after #s0, from which it differs after #s1 in nothing. */
void every_result(bool with_kernel, uint8_t out[EVERY_BYTES]);

/* Adds all of it to an opened builder; without its kernel for machines that have no compiler. */
void every_build(struct trace_builder *b, bool with_kernel);

/* A trace of what queues do by themselves: transient memory, a file read into it, a command buffer
 * with a split barrier, a file written. Its reads see `queues_result`. */
enum {
    QUEUES_SLAB = 10,   /* buffer: 1024 bytes */
    QUEUES_RESULT = 11, /* buffer: 64 bytes */
    QUEUES_POOL = 30,   /* semaphore of the block */
    QUEUES_DONE = 31,   /* semaphore */
    QUEUES_COPY = 40,   /* reusable command buffer */
    QUEUES_EVENT = 50,
    QUEUES_BLOCK = 60, /* subspan: the transient buffer */
    QUEUES_AT = 256,   /* of the block in the slab */
    QUEUES_BYTES = 64,
};
void queues_result(uint8_t out[QUEUES_BYTES]);
void queues_build(struct trace_builder *b);

#endif
