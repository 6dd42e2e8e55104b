/* SPDX-License-Identifier: Apache-2.0 */
/* A plan's memory: blocks of records, the list of objects, and their destruction. */
#include "hal/base/mem.h"
#include "replay/plan/plan.h"

#include <inttypes.h>
#include <sys/mman.h>

enum {
    BLOCK_BYTES = 1 << 20,
    /* For a trace that has filled several: large pages take few faults, which cost more than
     * copying. */
    LARGE_BLOCK_BYTES = 8 << 20,
    LARGE_BEHIND_BYTES = 4 << 20,
    HUGE_PAGE_BYTES = 2 << 20
};

static struct replay_block *make_large_block(void)
{
    struct replay_block *block = aligned_alloc(HUGE_PAGE_BYTES, LARGE_BLOCK_BYTES);
    if (!block)
        return NULL;
#if defined(MADV_HUGEPAGE)
    (void)madvise(block, LARGE_BLOCK_BYTES, MADV_HUGEPAGE);
#endif
    block->bytes = LARGE_BLOCK_BYTES - sizeof *block;
    return block;
}

static struct replay_block *make_block(size_t bytes)
{
    struct replay_block *block = malloc(sizeof *block + bytes);
    if (block)
        block->bytes = bytes;
    return block;
}

static enum hal_status add_block(struct replay_plan *plan, size_t bytes)
{
    const uint64_t left_bytes = plan->memory_limit_bytes - plan->block_bytes;
    const bool large = plan->block_bytes >= LARGE_BEHIND_BYTES && left_bytes >= LARGE_BLOCK_BYTES &&
                       bytes <= LARGE_BLOCK_BYTES - sizeof(struct replay_block);
    const size_t block_bytes = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
    if (block_bytes > left_bytes)
        return hal_fail(HAL_NO_MEMORY,
                        "the events alone exceed the memory limit of %" PRIu64 " bytes",
                        plan->memory_limit_bytes);
    struct replay_block *block = large ? make_large_block() : make_block(block_bytes);
    if (!block)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu more bytes of events", block_bytes);
    block->next = plan->blocks;
    block->used = 0;
    plan->blocks = block;
    plan->block_bytes += block->bytes;
    return HAL_OK;
}

enum hal_status replay_plan_take(struct replay_plan *plan, size_t bytes, void **out_room)
{
    bytes = hal_align_up(bytes, 8);
    if (!plan->blocks || plan->blocks->bytes - plan->blocks->used < bytes)
        HAL_TRY(add_block(plan, bytes));
    *out_room = (uint8_t *)plan->blocks->data + plan->blocks->used;
    plan->blocks->used += bytes;
    return HAL_OK;
}

enum hal_status replay_plan_room(struct replay_plan *plan, size_t bytes, void **out_record)
{
    HAL_TRY(replay_plan_take(plan, bytes, out_record));
    memset(*out_record, 0, bytes);
    return HAL_OK;
}

enum hal_status replay_plan_object(struct replay_plan *plan, enum replay_kind kind,
                                   const struct trace_event *created, uint32_t *out_index)
{
    if (plan->object_count >= UINT32_MAX - 1 ||
        !HAL_GROW(plan->objects, &plan->object_capacity, plan->object_count + 1))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu objects", plan->object_count);
    *out_index = (uint32_t)plan->object_count;
    plan->objects[plan->object_count++] = (struct replay_object){.kind = kind, .created = created};
    return HAL_OK;
}

void replay_plan_destroy(struct replay_plan *plan)
{
    if (!plan)
        return;
    while (plan->blocks) {
        struct replay_block *next = plan->blocks->next;
        free(plan->blocks);
        plan->blocks = next;
    }
    free(plan->recipe);
    free(plan->objects);
    free(plan->ops);
    if (!plan->borrows) {
        for (size_t i = 0; i < plan->content_count; i++)
            free(plan->contents[i].data);
        free(plan->contents);
        free(plan->calls);
        free(plan->scopes);
        free(plan->open_scopes);
        free(plan->written);
        trace_reader_close(plan->reader);
    }
    free(plan);
}

const struct replay_plan_info *replay_plan_get_info(const struct replay_plan *plan)
{
    return &plan->info;
}
