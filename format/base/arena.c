/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is given back all at once: a list of blocks, filled from the front. */
#include "format/base/arena.h"

struct trace_arena_block {
    struct trace_arena_block *next;
    size_t capacity, used;
    _Alignas(16) uint8_t data[];
};

enum { ALIGNMENT = 16 };
static const size_t first_block_bytes = 64u << 10;
static const size_t kept_block_bytes = 16u << 20;

static void *allocate(void *user, size_t bytes)
{
    return trace_arena_alloc(user, bytes);
}

static void release(void *user, void *memory)
{
    (void)user;
    (void)memory;
}

void trace_arena_init(struct trace_arena *arena, size_t limit_bytes)
{
    *arena = (struct trace_arena){
        .limit = limit_bytes,
        .allocator = {.alloc = allocate, .free = release, .allocator_data = arena},
    };
}

void trace_arena_finish(struct trace_arena *arena)
{
    while (arena->blocks) {
        struct trace_arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
    arena->used = 0;
}

void trace_arena_reset(struct trace_arena *arena)
{
    /* The newest block is the largest: keeping it makes the next round one block. */
    struct trace_arena_block *kept = arena->blocks;
    if (kept && kept->capacity <= kept_block_bytes) {
        arena->blocks = kept->next;
        kept->next = NULL;
        kept->used = 0;
    } else {
        kept = NULL;
    }
    trace_arena_finish(arena);
    arena->blocks = kept;
}

static bool add_block(struct trace_arena *arena, size_t bytes)
{
    size_t capacity = arena->blocks ? arena->blocks->capacity * 2 : first_block_bytes;
    if (capacity > kept_block_bytes)
        capacity = kept_block_bytes;
    if (capacity < bytes)
        capacity = bytes;
    struct trace_arena_block *block = malloc(sizeof *block + capacity);
    if (!block)
        return false;
    *block = (struct trace_arena_block){.next = arena->blocks, .capacity = capacity};
    arena->blocks = block;
    return true;
}

void *trace_arena_alloc(struct trace_arena *arena, size_t bytes)
{
    if (bytes > arena->limit - arena->used)
        return NULL;
    const size_t aligned = hal_align_up(bytes ? bytes : 1, ALIGNMENT);
    struct trace_arena_block *block = arena->blocks;
    if (!block || aligned > block->capacity - block->used) {
        if (!add_block(arena, aligned))
            return NULL;
        block = arena->blocks;
    }
    void *memory = block->data + block->used;
    block->used += aligned;
    arena->used += bytes;
    return memory;
}

void *trace_arena_array(struct trace_arena *arena, size_t count, size_t bytes_each)
{
    size_t bytes;
    return hal_mul_size(count, bytes_each, &bytes) ? trace_arena_alloc(arena, bytes) : NULL;
}
