/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is given back all at once, with a limit: what a message of a hostile file may take
 * is decided here. One thread at a time. */
#ifndef FORMAT_ARENA_H
#define FORMAT_ARENA_H

#include "hal/base/mem.h"

#include <protobuf-c/protobuf-c.h>

struct trace_arena_block;

struct trace_arena {
    struct trace_arena_block *blocks; /* the first has room */
    size_t used, limit;               /* bytes handed out since the last reset */
    ProtobufCAllocator allocator;     /* hands out this arena's memory */
};

void trace_arena_init(struct trace_arena *arena, size_t limit_bytes);
void trace_arena_finish(struct trace_arena *arena);

/* Everything handed out becomes invalid; one block is kept for the next round. */
void trace_arena_reset(struct trace_arena *arena);

/* Aligned to 16 bytes, not zeroed. NULL: no memory, or over the limit. */
void *trace_arena_alloc(struct trace_arena *arena, size_t bytes);
void *trace_arena_array(struct trace_arena *arena, size_t count, size_t bytes_each);

#endif
