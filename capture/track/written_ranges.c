/* SPDX-License-Identifier: Apache-2.0 */
/* The ranges that a command buffer may write. */
#include "capture/track/outputs.h"

#include "format/record.h"
#include "hal/base/mem.h"
#include "hal/base/order.h"

static void add(struct capture_written_ranges *writes, struct hal_buffer *buffer, uint64_t offset,
                uint64_t bytes)
{
    if (bytes == 0 || writes->failed)
        return;
    if (!HAL_GROW(writes->list, &writes->capacity, writes->count + 1)) {
        writes->failed = true;
        return;
    }
    writes->list[writes->count++] = (struct capture_written_range){
        .buffer = buffer, .id = buffer->object.id, .begin = offset, .end = offset + bytes};
}

static void take_access(void *user, const struct trace_access *access)
{
    if (trace_access_writes(access->mode))
        add(user, capture_accessed_buffer(access), access->begin, access->end - access->begin);
}

HAL_COMPARE_2(compare, struct capture_written_range, id, begin)

static void merge(struct capture_written_ranges *writes)
{
    size_t kept = 0;
    if (writes->count)
        qsort(writes->list, writes->count, sizeof *writes->list, compare);
    for (size_t i = 0; i < writes->count; i++) {
        const struct capture_written_range *write = &writes->list[i];
        struct capture_written_range *last = kept ? &writes->list[kept - 1] : NULL;
        if (last && last->id == write->id && write->begin <= last->end) {
            if (write->end > last->end)
                last->end = write->end;
        } else {
            writes->list[kept++] = *write;
        }
    }
    writes->count = kept;
}

void capture_written_ranges_find(struct hal_command_buffer *const *commands, size_t count,
                                 struct capture_written_ranges *out_writes)
{
    *out_writes = (struct capture_written_ranges){0};
    for (size_t i = 0; i < count; i++) {
        hal_each_command (commands[i], command)
            capture_accesses(commands[i], command,
                             &(struct trace_access_sink){.visit = take_access, .user = out_writes});
    }
    merge(out_writes);
}

void capture_written_ranges_of_range(struct hal_buffer *buffer, uint64_t offset, uint64_t bytes,
                                     struct capture_written_ranges *out_writes)
{
    *out_writes = (struct capture_written_ranges){0};
    add(out_writes, buffer, offset, bytes);
}

void capture_written_ranges_share(struct capture_written_ranges *a,
                                  struct capture_written_ranges *b)
{
    size_t i = 0, k = 0;
    while (i < a->count && k < b->count) {
        struct capture_written_range *x = &a->list[i], *y = &b->list[k];
        if (x->id == y->id && x->begin < y->end && y->begin < x->end)
            x->state = y->state = TRACE_WRITTEN_SHARED;
        if (x->id != y->id ? x->id < y->id : x->end <= y->end)
            i++;
        else
            k++;
    }
}

void capture_written_ranges_finish(struct capture_written_ranges *writes)
{
    free(writes->list);
    *writes = (struct capture_written_ranges){0};
}
