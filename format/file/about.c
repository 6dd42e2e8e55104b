/* SPDX-License-Identifier: Apache-2.0 */
/* Header and end become messages. */
#include "format/file/about.h"

#include <string.h>

static enum hal_status no_memory(void)
{
    return hal_fail(HAL_NO_MEMORY, "no memory to describe a trace");
}

static ProtobufCBinaryData as_bytes(const char *text)
{
    return (ProtobufCBinaryData){.len = text ? strlen(text) : 0,
                                 .data = (uint8_t *)(uintptr_t)text};
}

static void add_unknown(ProtobufCMessage *message, const struct trace_unknown *unknown)
{
    message->n_unknown_fields = (unsigned)unknown->count;
    message->unknown_fields = (ProtobufCMessageUnknownField *)(uintptr_t)unknown->fields;
}

/* What a message of a device points at. */
struct device_message {
    Haltrace__Device device;
    uint32_t group_size[3], formats[TRACE_MAX_FORMATS];
};

static void make_device(const struct trace_device *device, struct device_message *out)
{
    Haltrace__Device *message = &out->device;
    *message = (Haltrace__Device)HALTRACE__DEVICE__INIT;
    message->uri = as_bytes(device->uri);
    message->driver = as_bytes(device->driver);
    message->name = as_bytes(device->name);
    message->queue_count = device->queue_count;
    message->simd_width = device->simd_width;
    message->max_group_threads = device->max_group_threads;
    memcpy(out->group_size, device->max_group_size, sizeof out->group_size);
    message->n_max_group_size = 3;
    message->max_group_size = out->group_size;
    message->max_group_memory_bytes = device->max_group_memory_bytes;
    message->max_buffer_bytes = device->max_buffer_bytes;
    message->max_constant_bytes = device->max_constant_bytes;
    message->worker_count = device->worker_count;
    message->architecture = as_bytes(device->architecture);
    message->features = as_bytes(device->features);
    message->n_format = device->format_count;
    message->format = out->formats;
    memcpy(out->formats, device->formats, sizeof out->formats);
}

static enum hal_status make_captures(struct trace_arena *arena, const struct trace_header *header,
                                     Haltrace__Header *message)
{
    const size_t count = header->capture_count;
    struct capture_message {
        Haltrace__Capture capture;
        struct device_message device;
    } *messages = trace_arena_array(arena, count, sizeof *messages);
    message->capture = trace_arena_array(arena, count, sizeof *message->capture);
    if (!messages || !message->capture)
        return no_memory();
    for (size_t i = 0; i < count; i++) {
        const struct trace_capture *capture = &header->captures[i];
        Haltrace__Capture *out = message->capture[i] = &messages[i].capture;
        make_device(&capture->device, &messages[i].device);
        *out = (Haltrace__Capture)HALTRACE__CAPTURE__INIT;
        out->program = as_bytes(capture->program);
        out->process_id = capture->process_id;
        out->host = as_bytes(capture->host);
        out->device = &messages[i].device.device;
        out->queue_base = capture->queue_base;
        out->thread_base = capture->thread_base;
        out->object_base = capture->object_base;
        out->submission_base = capture->submission_base;
        out->group_base = capture->group_base;
    }
    message->n_capture = count;
    return HAL_OK;
}

enum hal_status trace_about_header(const struct trace_header *header, struct trace_arena *arena,
                                   Haltrace__Header *message)
{
    *message = (Haltrace__Header)HALTRACE__HEADER__INIT;
    message->version_major = TRACE_VERSION_MAJOR;
    message->version_minor = TRACE_VERSION_MINOR;
    message->contents = HALTRACE__HEADER__CONTENTS__CONTENTS_IN_FILE;
    message->writer = as_bytes(header->writer);
    message->program = as_bytes(header->program);
    message->argument = trace_arena_array(arena, header->argument_count, sizeof *message->argument);
    if (!message->argument)
        return no_memory();
    message->n_argument = header->argument_count;
    for (size_t i = 0; i < header->argument_count; i++)
        message->argument[i] = as_bytes(header->arguments[i]);
    message->process_id = header->process_id;
    message->host = as_bytes(header->host);
    message->system = as_bytes(header->system);
    message->mode = as_bytes(header->mode);
    message->start_ns = header->start_ns;
    message->start_wall_ns = header->start_wall_ns;
    message->late_start = header->late_start;
    message->sidecar = as_bytes(header->sidecar);
    message->stacks = as_bytes(header->stacks);
    message->contents_policy = as_bytes(header->contents);
    message->outputs_policy = as_bytes(header->outputs);
    message->files_policy = as_bytes(header->files);
    message->window = as_bytes(header->window);
    message->budget_bytes = header->budget_bytes;
    message->last_ns = header->last_ns;
    message->edit = trace_arena_array(arena, header->edit_count, sizeof *message->edit);
    if (!message->edit)
        return no_memory();
    message->n_edit = header->edit_count;
    for (size_t i = 0; i < header->edit_count; i++)
        message->edit[i] = as_bytes(header->edits[i]);
    message->view_only = as_bytes(header->view_only);
    message->base_trace = as_bytes(header->base);
    add_unknown(&message->base, &header->unknown);
    struct device_message *device = trace_arena_alloc(arena, sizeof *device);
    if (!device)
        return no_memory();
    make_device(&header->device, device);
    message->device = &device->device;
    return make_captures(arena, header, message);
}

void trace_about_end(const struct trace_health *health, Haltrace__End *end)
{
    *end = (Haltrace__End)HALTRACE__END__INIT;
    if (!health)
        return;
    end->status = health->status;
    end->message = as_bytes(health->message);
    end->lost_records = health->lost_records;
    end->ring_stalls = health->ring_stalls;
    end->ring_stall_ns = health->ring_stall_ns;
    end->digest_only = health->digest_only;
    end->overhead_ns = health->overhead_ns;
    end->recovered = health->recovered;
    end->clock = as_bytes(health->clock);
    end->clock_error_ns = health->clock_error_ns;
    end->over_budget_bytes = health->over_budget_bytes;
    end->unsupported_calls = health->unsupported_calls;
    add_unknown(&end->base, &health->unknown);
}
