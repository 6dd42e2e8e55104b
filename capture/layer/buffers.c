/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers and mappings: when the bytes that the host writes and reads are recorded. */
#include "capture/layer/ops.h"

#include "hal/base/mem.h"

static void clear(struct capture *capture, struct capture_thread *thread, struct hal_buffer *buffer)
{
    struct capture_buffer *known = buffer->object.layer_data;
    const int64_t begin_ns = hal_clock_ns();
    known->unclear = capture_outputs_clear(capture, buffer) != HAL_OK;
    capture_call_measure(thread, begin_ns);
}

/* If the system reports which pages the host stored into, small buffers get their own pages. */
static enum hal_status create(struct capture *capture, const struct hal_buffer_desc *desc,
                              struct hal_buffer **out)
{
    struct hal_driver_device *next = capture->device.next;
    const struct capture_mappings *mappings = &capture->mappings;
    const bool apart =
        next->ops->buffer_create_apart && !mappings->by_comparison && !mappings->announced;
    return apart ? next->ops->buffer_create_apart(next, desc, out)
                 : next->ops->buffer_create(next, desc, out);
}

enum hal_status capture_op_buffer_create(struct hal_driver_device *self,
                                         const struct hal_buffer_desc *desc,
                                         struct hal_buffer **out)
{
    struct capture *capture = capture_of(self);
    struct hal_driver_device *next = self->next;
    struct capture_call call = capture_call_enter(capture);
    if (!call.thread)
        return next->ops->buffer_create(next, desc, out);
    capture_call_begin(&call);
    enum hal_status status = create(capture, desc, out);
    if (status == HAL_NO_MEMORY && capture->outputs.wanted) { /* ours is not to be missing there */
        capture_outputs_trim(capture);
        status = create(capture, desc, out);
    }
    capture_call_result(&call, "hal_buffer_create", status);
    capture_call_take_ticket(&call);
    struct hal_buffer *buffer = call.status == HAL_OK ? *out : NULL;
    if (buffer) {
        if (buffer->memory & HAL_MEMORY_HOST_VISIBLE)
            capture_copier_expect(call.thread->stream, buffer->bytes);
        buffer->object.layer_data = capture_buffer_create(capture);
        if (!buffer->object.layer_data)
            capture_no_memory(capture, "a buffer");
        else if (capture->outputs.wanted)
            clear(capture, call.thread, buffer);
    }
    capture_record_buffer(&call, desc, buffer, 0);
    capture_call_leave(&call);
    return call.status;
}

/* The host may write it at any moment, from now on. */
static void record_import(struct capture *capture, const struct capture_call *call,
                          struct hal_buffer *buffer)
{
    const struct hal_mapping mapping = capture_mapping_of_import(buffer);
    const struct capture_mapping *opened = capture_mapping_open(capture, call->thread, &mapping);
    if (!opened)
        return;
    capture_record_mapping(call, TRACE_BUFFER_MAP, &mapping, opened->number, 0, buffer->bytes);
    capture_record_content(call->thread, &(struct capture_content){.kind = TRACE_HOST_WRITE,
                                                                   .buffer = buffer->object.id,
                                                                   .bytes = buffer->bytes,
                                                                   .data = buffer->imported});
}

enum hal_status capture_op_buffer_import(struct hal_driver_device *self,
                                         const struct hal_buffer_desc *desc, void *pointer,
                                         struct hal_buffer **out)
{
    struct capture *capture = capture_of(self);
    struct hal_driver_device *next = self->next;
    if (!next->ops->buffer_import)
        return hal_fail(HAL_UNSUPPORTED, "buffer '%s': the device cannot import host memory",
                        desc->label ? desc->label : "");
    struct capture_call call = capture_call_enter(capture);
    if (!call.thread)
        return next->ops->buffer_import(next, desc, pointer, out);
    capture_call_begin(&call);
    capture_call_result(&call, "hal_buffer_import",
                        next->ops->buffer_import(next, desc, pointer, out));
    capture_call_take_ticket(&call);
    struct hal_buffer *buffer = call.status == HAL_OK ? *out : NULL;
    if (buffer) {
        buffer->object.layer_data = capture_buffer_create(NULL);
        if (!buffer->object.layer_data)
            capture_no_memory(capture, "a buffer");
    }
    capture_record_buffer(&call, desc, buffer, 0);
    if (buffer && buffer->object.layer_data) {
        capture_call_take_ticket(&call);
        record_import(capture, &call, buffer);
    }
    capture_call_leave(&call);
    return call.status;
}

enum hal_status capture_op_buffer_map(struct hal_driver_device *self, struct hal_buffer *buffer,
                                      struct hal_mapping *out)
{
    struct capture *capture = capture_of(self);
    struct hal_driver_device *next = self->next;
    struct capture_call call = capture_call_enter(capture);
    if (!call.thread)
        return next->ops->buffer_map(next, buffer, out);
    call.thread->stored = NULL;
    capture_call_begin(&call);
    capture_call_result(&call, "hal_buffer_map", next->ops->buffer_map(next, buffer, out));
    const bool reads = out->mode & HAL_MAP_READ && !(out->mode & HAL_MAP_PERSISTENT);
    if (call.status == HAL_OK && reads) /* what was stored through another mapping comes first */
        capture_mappings_collect_range(capture, call.thread, buffer, out->offset, out->bytes);
    capture_call_take_ticket(&call);
    const struct capture_mapping *mapping =
        call.status == HAL_OK ? capture_mapping_open(capture, call.thread, out) : NULL;
    capture_record_mapping(&call, TRACE_BUFFER_MAP, out, mapping ? mapping->number : 0, out->offset,
                           out->bytes);
    if (mapping && reads)
        capture_record_content(call.thread, &(struct capture_content){.kind = TRACE_HOST_READ,
                                                                      .buffer = buffer->object.id,
                                                                      .offset = out->offset,
                                                                      .bytes = out->bytes,
                                                                      .data = out->data});
    capture_call_leave(&call);
    return call.status;
}

/* What is written through a mapping becomes visible no later than now. */
static void record_last_writes(struct capture *capture, struct capture_thread *thread,
                               const struct hal_mapping *mapping)
{
    const bool is_stored = thread->stored == mapping;
    thread->stored = NULL;
    if (is_stored)
        return;
    if (mapping->mode & HAL_MAP_PERSISTENT)
        capture_mappings_collect_range(capture, thread, mapping->buffer, mapping->offset,
                                       mapping->bytes);
    else if (mapping->mode & HAL_MAP_WRITE)
        capture_record_content(thread,
                               &(struct capture_content){.kind = TRACE_HOST_WRITE,
                                                         .buffer = mapping->buffer->object.id,
                                                         .offset = mapping->offset,
                                                         .bytes = mapping->bytes,
                                                         .data = mapping->data});
}

/* Reading a GPU's own memory through its bus is a hundred times slower than writing: the source is
 * recorded, while it is stored. */
void capture_op_mapping_store(struct hal_driver_device *self, const struct hal_mapping *mapping,
                              const void *source)
{
    struct capture *capture = capture_of(self);
    struct capture_thread *thread = capture_enter(&capture->stream);
    if (!thread) {
        memcpy(mapping->data, source, mapping->bytes);
        return;
    }
    const struct capture_content content = {.kind = TRACE_HOST_WRITE,
                                            .buffer = mapping->buffer->object.id,
                                            .offset = mapping->offset,
                                            .bytes = mapping->bytes,
                                            .data = source};
    capture_record_store(thread, &content, mapping->data);
    thread->stored = mapping;
}

enum hal_status capture_op_buffer_unmap(struct hal_driver_device *self,
                                        const struct hal_mapping *mapping)
{
    struct capture *capture = capture_of(self);
    struct hal_driver_device *next = self->next;
    struct capture_call call = capture_call_enter(capture);
    if (!call.thread && capture_stream_forked(&capture->stream))
        return next->ops->buffer_unmap(next, mapping);
    struct capture_mapping *known = capture_mapping_find(mapping);
    const uint64_t number = known ? known->number : 0;
    if (call.thread)
        record_last_writes(capture, call.thread, mapping);
    if (known)
        capture_mapping_close(capture, mapping->buffer, known);
    if (!call.thread)
        return next->ops->buffer_unmap(next, mapping);
    capture_call_take_ticket(&call);
    capture_call_begin(&call);
    capture_call_result(&call, "hal_buffer_unmap", next->ops->buffer_unmap(next, mapping));
    capture_record_mapping(&call, TRACE_BUFFER_UNMAP, mapping, number, mapping->offset,
                           mapping->bytes);
    capture_call_leave(&call);
    return call.status;
}

static uint64_t number_of(const struct hal_mapping *mapping)
{
    const struct capture_mapping *known = capture_mapping_find(mapping);
    return known ? known->number : 0;
}

static bool is_coherent(const struct hal_mapping *mapping)
{
    return mapping->buffer->memory & HAL_MEMORY_HOST_COHERENT;
}

static struct capture_content part_of(const struct hal_mapping *mapping, uint64_t offset,
                                      uint64_t bytes)
{
    return (struct capture_content){.buffer = mapping->buffer->object.id,
                                    .offset = mapping->offset + offset,
                                    .bytes = bytes,
                                    .data = (const uint8_t *)mapping->data + offset};
}

enum hal_status capture_op_mapping_flush(struct hal_driver_device *self,
                                         const struct hal_mapping *mapping, uint64_t offset,
                                         uint64_t bytes)
{
    struct capture *capture = capture_of(self);
    struct hal_driver_device *next = self->next;
    struct capture_call call = capture_call_enter(capture);
    if (!call.thread)
        return next->ops->mapping_flush(next, mapping, offset, bytes);
    struct capture_content content = part_of(mapping, offset, bytes);
    content.kind = TRACE_HOST_WRITE;
    if (is_coherent(mapping) && mapping->mode & HAL_MAP_PERSISTENT && !capture->mappings.announced)
        capture_mappings_collect_range(capture, call.thread, mapping->buffer, content.offset,
                                       bytes);
    else if (mapping->mode & HAL_MAP_WRITE)
        capture_record_content(call.thread, &content);
    capture_call_take_ticket(&call);
    capture_call_begin(&call);
    capture_call_result(&call, "hal_mapping_flush",
                        next->ops->mapping_flush(next, mapping, offset, bytes));
    capture_record_mapping(&call, TRACE_MAPPING_FLUSH, mapping, number_of(mapping), content.offset,
                           bytes);
    capture_call_leave(&call);
    return call.status;
}

enum hal_status capture_op_mapping_invalidate(struct hal_driver_device *self,
                                              const struct hal_mapping *mapping, uint64_t offset,
                                              uint64_t bytes)
{
    struct capture *capture = capture_of(self);
    struct hal_driver_device *next = self->next;
    struct capture_call call = capture_call_enter(capture);
    if (!call.thread)
        return next->ops->mapping_invalidate(next, mapping, offset, bytes);
    struct capture_content content = part_of(mapping, offset, bytes);
    content.kind = TRACE_HOST_READ;
    capture_mappings_collect_range(capture, call.thread, mapping->buffer, content.offset, bytes);
    capture_call_begin(&call);
    capture_call_result(&call, "hal_mapping_invalidate",
                        next->ops->mapping_invalidate(next, mapping, offset, bytes));
    capture_call_take_ticket(&call);
    capture_record_mapping(&call, TRACE_MAPPING_INVALIDATE, mapping, number_of(mapping),
                           content.offset, bytes);
    if (call.status == HAL_OK && mapping->mode & HAL_MAP_READ)
        capture_record_content(call.thread, &content);
    capture_call_leave(&call);
    return call.status;
}
