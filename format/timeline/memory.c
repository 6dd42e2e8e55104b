/* SPDX-License-Identifier: Apache-2.0 */
#include "format/timeline/memory.h"

#include "hal/base/mem.h"

struct trace_memory_buffer {
    uint64_t size;
    uint32_t type, next; /* free: the next free index, plus 1 */
};

void trace_memory_finish(struct trace_memory *memory)
{
    hal_idmap_finish(&memory->ids);
    free(memory->buffers);
    *memory = (struct trace_memory){0};
}

static void change(struct trace_memory *memory, const struct trace_memory_buffer *buffer,
                   bool is_there)
{
    const uint64_t change = is_there ? buffer->size : 0 - buffer->size;
    memory->bytes[buffer->type] += change;
    memory->all_bytes += change;
}

static enum hal_status add(struct trace_memory *memory, const struct trace_buffer_create *create,
                           uint32_t type)
{
    const uint32_t fresh = memory->free ? memory->free - 1 : (uint32_t)memory->count;
    uint32_t index = 0;
    const bool has_room = memory->count < UINT32_MAX - 1 &&
                          HAL_GROW(memory->buffers, &memory->capacity, (size_t)fresh + 1);
    if (!has_room || !hal_idmap_add(&memory->ids, create->buffer, fresh, &index))
        return hal_fail(HAL_NO_MEMORY, "no memory for the sizes of buffers");
    struct trace_memory_buffer *buffer = &memory->buffers[index];
    if (index != fresh)
        change(memory, buffer, false);
    else if (memory->free)
        memory->free = buffer->next;
    else
        memory->count++;
    *buffer = (struct trace_memory_buffer){.size = create->size, .type = type};
    change(memory, buffer, true);
    return HAL_OK;
}

enum hal_status trace_memory_take(struct trace_memory *memory, const struct trace_event *event,
                                  struct trace_memory_change *out_change)
{
    const void *record = event;
    const struct trace_buffer_create *create = record;
    uint32_t index;
    out_change->type = TRACE_MEMORY_TYPES;
    if (event->status != HAL_OK)
        return HAL_OK;
    if (event->kind == TRACE_BUFFER_CREATE && create->buffer) {
        const uint32_t type = create->memory % TRACE_MEMORY_TYPES;
        *out_change = (struct trace_memory_change){event->end_ns, type};
        return add(memory, create, type);
    }
    if (event->kind == TRACE_BUFFER_DESTROY &&
        hal_idmap_remove(&memory->ids, TRACE_AS(trace_object_event, record)->object, &index)) {
        struct trace_memory_buffer *buffer = &memory->buffers[index];
        *out_change = (struct trace_memory_change){event->begin_ns, buffer->type};
        change(memory, buffer, false);
        buffer->next = memory->free;
        memory->free = index + 1;
    }
    return HAL_OK;
}
