/* SPDX-License-Identifier: Apache-2.0 */
/* An arena with a limit: all of its memory is released at once, and the limit bounds what a message
 * of a hostile file may allocate. One thread at a time. */
#ifndef FORMAT_ARENA_H
#define FORMAT_ARENA_H

#include "hal/base/mem.h"

#include <protobuf-c/protobuf-c.h>

struct trace_arena_block;

struct trace_arena {
    struct trace_arena_block *blocks; /* the first has free space */
    size_t used, limit;               /* bytes allocated since the last reset */
    ProtobufCAllocator allocator;     /* allocates from this arena */
};

void trace_arena_init(struct trace_arena *arena, size_t limit_bytes);
void trace_arena_finish(struct trace_arena *arena);

/* Invalidates all allocations; keeps one block for reuse. */
void trace_arena_reset(struct trace_arena *arena);

/* Aligned to 16 bytes, not zeroed. NULL: out of memory, or over the limit. */
void *trace_arena_alloc(struct trace_arena *arena, size_t bytes);
void *trace_arena_array(struct trace_arena *arena, size_t count, size_t bytes_each);

#endif
