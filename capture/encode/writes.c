/* SPDX-License-Identifier: Apache-2.0 */
/* The ranges that a command buffer may write. */
#include "capture/track/outputs.h"

#include "format/record.h"
#include "hal/base/mem.h"

static void add(struct capture_writes *writes, struct hal_buffer *buffer, uint64_t offset,
                uint64_t bytes)
{
    void *list = writes->list;
    if (bytes == 0 || writes->failed)
        return;
    if (!hal_grow(&list, &writes->capacity, writes->count + 1, sizeof *writes->list)) {
        writes->failed = true;
        return;
    }
    writes->list = list;
    writes->list[writes->count++] = (struct capture_write){
        .buffer = buffer, .id = buffer->object.id, .begin = offset, .end = offset + bytes};
}

static void add_dispatch(struct capture_writes *writes, const struct hal_command_buffer *commands,
                         const struct hal_executable *executable, uint32_t entry, uint32_t index)
{
    const struct hal_dispatch_state *state = &commands->states[index];
    for (uint32_t set = 0; set < HAL_MAX_SETS; set++) {
        for (uint32_t i = 0; i < state->binding_count[set]; i++) {
            const struct hal_binding *binding = &state->bindings[set][i];
            if (binding->buffer && capture_is_written(executable, entry, set, i))
                add(writes, binding->buffer, binding->offset, binding->bytes);
        }
    }
}

static void add_segment(struct capture_writes *writes, const struct hal_command_buffer *commands,
                        const struct hal_segment *segment)
{
    switch ((enum hal_segment_kind)segment->kind) {
    case HAL_SEGMENT_FILL: {
        const struct hal_segment_fill *fill = (const void *)segment;
        add(writes, fill->target, fill->offset, fill->bytes);
        break;
    }
    case HAL_SEGMENT_COPY: {
        const struct hal_segment_copy *copy = (const void *)segment;
        add(writes, copy->target, copy->target_offset, copy->bytes);
        break;
    }
    case HAL_SEGMENT_UPDATE: {
        const struct hal_segment_update *update = (const void *)segment;
        add(writes, update->target, update->offset, update->bytes);
        break;
    }
    case HAL_SEGMENT_DISPATCH: {
        const struct hal_segment_dispatch *dispatch = (const void *)segment;
        add_dispatch(writes, commands, dispatch->executable, dispatch->entry, dispatch->state);
        break;
    }
    case HAL_SEGMENT_DISPATCH_INDIRECT: {
        const struct hal_segment_dispatch_indirect *dispatch = (const void *)segment;
        add_dispatch(writes, commands, dispatch->executable, dispatch->entry, dispatch->state);
        break;
    }
    case HAL_SEGMENT_BARRIER:
    case HAL_SEGMENT_EVENT_SIGNAL:
    case HAL_SEGMENT_EVENT_RESET:
    case HAL_SEGMENT_EVENTS_WAIT:
    case HAL_SEGMENT_PUSH_CONSTANTS:
    case HAL_SEGMENT_PUSH_DESCRIPTOR_SET:
    case HAL_SEGMENT_DEBUG_BEGIN:
    case HAL_SEGMENT_DEBUG_END: break;
    }
}

static int compare(const void *a, const void *b)
{
    const struct capture_write *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void merge(struct capture_writes *writes)
{
    size_t kept = 0;
    if (writes->count)
        qsort(writes->list, writes->count, sizeof *writes->list, compare);
    for (size_t i = 0; i < writes->count; i++) {
        const struct capture_write *write = &writes->list[i];
        struct capture_write *last = kept ? &writes->list[kept - 1] : NULL;
        if (last && last->id == write->id && write->begin <= last->end) {
            if (write->end > last->end)
                last->end = write->end;
        } else {
            writes->list[kept++] = *write;
        }
    }
    writes->count = kept;
}

void capture_writes_find(struct hal_command_buffer *const *commands, size_t count,
                         struct capture_writes *out_writes)
{
    *out_writes = (struct capture_writes){0};
    for (size_t i = 0; i < count; i++) {
        for (const struct hal_segment *segment = hal_segment_first(commands[i]); segment;
             segment = hal_segment_next(commands[i], segment))
            add_segment(out_writes, commands[i], segment);
    }
    merge(out_writes);
}

void capture_writes_of_range(struct hal_buffer *buffer, uint64_t offset, uint64_t bytes,
                             struct capture_writes *out_writes)
{
    *out_writes = (struct capture_writes){0};
    add(out_writes, buffer, offset, bytes);
}

void capture_writes_share(struct capture_writes *a, struct capture_writes *b)
{
    size_t i = 0, k = 0;
    while (i < a->count && k < b->count) {
        struct capture_write *x = &a->list[i], *y = &b->list[k];
        if (x->id == y->id && x->begin < y->end && y->begin < x->end)
            x->state = y->state = TRACE_WRITTEN_SHARED;
        if (x->id != y->id ? x->id < y->id : x->end <= y->end)
            i++;
        else
            k++;
    }
}

void capture_writes_finish(struct capture_writes *writes)
{
    free(writes->list);
    *writes = (struct capture_writes){0};
}
