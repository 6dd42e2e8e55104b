/* SPDX-License-Identifier: Apache-2.0 */
/* Builds records one by one and hands each to the trace writer at once. */
#include "tests/support/trace_builder.h"

#include "format/limits.h"
#include "hal/base/mem.h"

#include <stdio.h>

enum {
    DEFAULT_MEMORY = 1 | 2 | 4, /* device-local, host-visible, host-coherent */
    DEFAULT_USAGE = 1 | 2 | 4,  /* transfer, dispatch, mapping */
    FORMAT_MSL = 1,
    STAGES_ALL = 7,
    ACCESS_ALL = 3,
};

static void latch(struct trace_builder *b, enum hal_status status)
{
    if (status == HAL_OK || b->failure != HAL_OK)
        return;
    b->failure = status;
    snprintf(b->message, sizeof b->message, "%s", hal_message());
}

static bool make_room(struct trace_builder *b, void **array, size_t *capacity, size_t wanted,
                      size_t bytes_each)
{
    if (b->failure != HAL_OK)
        return false;
    if (hal_grow(array, capacity, wanted, bytes_each))
        return true;
    latch(b,
          hal_fail(HAL_NO_MEMORY, "trace builder: %zu elements of %zu bytes", wanted, bytes_each));
    return false;
}

/* A zeroed record with its head filled in, or NULL after a failure. */
static void *start(struct trace_builder *b, enum trace_event_kind kind, size_t bytes)
{
    void *record = b->record;
    bytes = hal_align_up(bytes, 8);
    const bool fits = make_room(b, &record, &b->record_capacity, bytes, 1);
    b->record = record;
    if (!fits)
        return NULL;
    memset(record, 0, bytes);
    b->record->kind = (uint16_t)kind;
    b->record->bytes = (uint32_t)bytes;
    b->record->thread = b->thread;
    return record;
}

static void write_record(struct trace_builder *b)
{
    if (b->alter)
        b->alter(b->user, b->record, NULL);
    latch(b, trace_writer_records(b->writer, b->thread, b->record, b->record->bytes));
}

/* The started record is a call of the application: status, stack, times. */
static void finish_call(struct trace_builder *b)
{
    b->record->status = b->status;
    b->record->stack = b->stack;
    b->record->begin_ns = b->begin_ns;
    b->record->end_ns = b->begin_ns + b->step_ns;
    b->begin_ns += 2 * b->step_ns;
    write_record(b);
}

static void finish_ordered(struct trace_builder *b)
{
    b->record->ticket = b->ticket++;
    finish_call(b);
}

/* ---- Opening and closing ------------------------------------------------------------------ */

struct trace_header builder_default_header(void)
{
    static const char *const arguments[] = {"builder", "--tiny"};
    return (struct trace_header){
        .version_major = 1,
        .writer = "haltrace test builder",
        .program = "/usr/bin/builder",
        .arguments = arguments,
        .argument_count = 2,
        .process_id = 4711,
        .host = "testhost",
        .system = "Linux 6.1 x86_64",
        .mode = "queue",
        .start_ns = 1000,
        .start_wall_ns = 1700000000000000000,
        .device = {.uri = "cpu?threads=2&queues=2",
                   .driver = "cpu",
                   .name = "Test processor",
                   .queue_count = 2,
                   .simd_width = 32,
                   .max_group_threads = 1024,
                   .max_group_size = {1024, 1024, 1024},
                   .max_group_memory_bytes = 32768,
                   .max_buffer_bytes = 1ull << 40,
                   .worker_count = 2},
    };
}

void builder_open(struct trace_builder *b, const char *path, const struct trace_header *header)
{
    *b = (struct trace_builder){.thread = 1, .ticket = 1, .begin_ns = 1000, .step_ns = 100};
    const struct trace_header standard = builder_default_header();
    const struct trace_writer_options options = {.path = path, .force = true};
    latch(b, trace_writer_open(&options, header ? header : &standard, &b->writer));
    builder_thread(b, 1, 4711, "main");
}

void builder_flush(struct trace_builder *b)
{
    if (b->failure == HAL_OK)
        latch(b, trace_writer_flush(b->writer));
}

enum hal_status builder_close(struct trace_builder *b, const struct trace_health *health)
{
    if (b->writer)
        latch(b, trace_writer_close(b->writer, health));
    for (uint32_t i = 0; i < b->next_string; i++)
        free(b->strings[i]);
    free(b->strings);
    free(b->segments);
    free(b->record);
    const enum hal_status failure = b->failure;
    if (failure != HAL_OK)
        hal_fail(failure, "%s", b->message);
    *b = (struct trace_builder){0};
    return failure;
}

/* ---- Tables ------------------------------------------------------------------------------- */

static uint32_t add_string(struct trace_builder *b, const char *text)
{
    for (uint32_t i = 0; i < b->next_string; i++) {
        if (strcmp(b->strings[i], text) == 0)
            return i + 1;
    }
    void *strings = b->strings;
    const bool fits =
        make_room(b, &strings, &b->string_capacity, b->next_string + 1u, sizeof *b->strings);
    b->strings = strings;
    const size_t length = strlen(text);
    struct trace_string *record = fits ? start(b, TRACE_STRING, sizeof *record + length) : NULL;
    char *copy = record ? hal_copy_string(text) : NULL;
    if (!copy)
        return 0;
    b->strings[b->next_string++] = copy;
    record->id = b->next_string;
    record->length = (uint32_t)length;
    memcpy(record->text, text, length);
    write_record(b);
    return b->next_string;
}

/* As long as a test likes: how much a file may hold is the writer's affair. */
uint32_t builder_string(struct trace_builder *b, const char *plain)
{
    if (!plain || !b->decoration)
        return plain ? add_string(b, plain) : 0;
    const size_t bytes = strlen(plain) + strlen(b->decoration) + 1;
    char *text = hal_alloc(bytes, 1);
    if (!text) {
        latch(b, hal_fail(HAL_NO_MEMORY, "no memory for a text of %zu bytes", bytes));
        return 0;
    }
    snprintf(text, bytes, "%s%s", plain, b->decoration);
    const uint32_t id = add_string(b, text);
    free(text);
    return id;
}

uint32_t builder_stack(struct trace_builder *b, const uint64_t *frames, uint32_t frame_count)
{
    struct trace_stack *record =
        start(b, TRACE_STACK, sizeof *record + frame_count * sizeof *frames);
    if (!record)
        return 0;
    record->id = ++b->next_stack;
    record->frame_count = frame_count;
    memcpy(record->frames, frames, frame_count * sizeof *frames);
    write_record(b);
    return b->next_stack;
}

void builder_module(struct trace_builder *b, const char *path, uint64_t base, uint64_t size)
{
    const uint32_t name = builder_string(b, path);
    struct trace_module *record = start(b, TRACE_MODULE, sizeof *record);
    if (!record)
        return;
    record->base = base;
    record->size = size;
    record->path = name;
    write_record(b);
}

void builder_thread(struct trace_builder *b, uint32_t number, uint64_t system_id, const char *name)
{
    const uint32_t string = builder_string(b, name);
    struct trace_thread *record = start(b, TRACE_THREAD, sizeof *record);
    if (!record)
        return;
    record->system_id = system_id;
    record->id = number;
    record->name = string;
    write_record(b);
}

uint64_t builder_content(struct trace_builder *b, const void *data, size_t bytes)
{
    uint64_t content = 0;
    if (b->failure == HAL_OK)
        latch(b, trace_writer_content(b->writer, data, bytes, &content));
    return content;
}

/* ---- Objects ------------------------------------------------------------------------------ */

void builder_buffer_create(struct trace_builder *b, uint64_t id, const char *label, uint64_t size)
{
    builder_buffer_create_as(b, id, label, size, DEFAULT_MEMORY, DEFAULT_USAGE);
}

void builder_buffer_create_as(struct trace_builder *b, uint64_t id, const char *label,
                              uint64_t size, uint32_t memory, uint32_t usage)
{
    const uint32_t name = builder_string(b, label);
    struct trace_buffer_create *record = start(b, TRACE_BUFFER_CREATE, sizeof *record);
    if (!record)
        return;
    record->buffer = id;
    record->size = size;
    record->memory = memory;
    record->usage = usage;
    record->label = name;
    record->flags = b->flags;
    finish_ordered(b);
}

void builder_executable_create(struct trace_builder *b, uint64_t id, const char *label,
                               const char *source, const struct trace_entry_point *entry_points,
                               uint32_t entry_point_count)
{
    const struct builder_executable more = b->executable;
    const uint32_t name = builder_string(b, label);
    const uint64_t content = builder_content(b, source, strlen(source));
    const size_t points_bytes = entry_point_count * sizeof *entry_points;
    const size_t constants_bytes = more.constant_count * sizeof *more.constants;
    const size_t bindings_bytes = more.binding_count * sizeof *more.bindings;
    struct trace_executable_create *record =
        start(b, TRACE_EXECUTABLE_CREATE,
              sizeof *record + points_bytes + constants_bytes + bindings_bytes);
    if (!record)
        return;
    b->executable = (struct builder_executable){0};
    record->executable = id;
    record->content = content;
    record->size = strlen(source);
    record->format = FORMAT_MSL;
    record->label = name;
    record->flags = b->flags | (more.bindings ? TRACE_FLAG_REFLECTED : 0);
    record->entry_point_count = entry_point_count;
    record->constant_count = more.constant_count;
    record->binding_count = more.binding_count;
    uint8_t *tail = (uint8_t *)record->entry_points;
    if (points_bytes)
        memcpy(tail, entry_points, points_bytes);
    if (constants_bytes)
        memcpy(tail + points_bytes, more.constants, constants_bytes);
    if (bindings_bytes)
        memcpy(tail + points_bytes + constants_bytes, more.bindings, bindings_bytes);
    finish_ordered(b);
}

void builder_subspan_create(struct trace_builder *b, uint64_t id, const char *label, uint64_t root,
                            uint64_t offset, uint64_t size)
{
    const uint32_t name = builder_string(b, label);
    struct trace_subspan_create *record = start(b, TRACE_SUBSPAN_CREATE, sizeof *record);
    if (!record)
        return;
    record->subspan = id;
    record->root = root;
    record->offset = offset;
    record->size = size;
    record->label = name;
    record->flags = b->flags;
    finish_ordered(b);
}

void builder_semaphore_create(struct trace_builder *b, uint64_t id, const char *label,
                              uint64_t initial_value)
{
    const uint32_t name = builder_string(b, label);
    struct trace_semaphore_create *record = start(b, TRACE_SEMAPHORE_CREATE, sizeof *record);
    if (!record)
        return;
    record->semaphore = id;
    record->initial_value = initial_value;
    record->label = name;
    record->flags = b->flags;
    finish_ordered(b);
}

static void object_create(struct trace_builder *b, enum trace_event_kind kind, uint64_t id,
                          const char *label)
{
    const uint32_t name = builder_string(b, label);
    struct trace_object_event *record = start(b, kind, sizeof *record);
    if (!record)
        return;
    record->object = id;
    record->label = name;
    finish_ordered(b);
}

void builder_command_buffer_create(struct trace_builder *b, uint64_t id, const char *label,
                                   uint32_t mode)
{
    const uint32_t name = builder_string(b, label);
    struct trace_command_buffer_create *record =
        start(b, TRACE_COMMAND_BUFFER_CREATE, sizeof *record);
    if (!record)
        return;
    record->command_buffer = id;
    record->label = name;
    record->mode = mode;
    record->categories = b->categories;
    finish_ordered(b);
}

void builder_object_create(struct trace_builder *b, enum trace_event_kind kind, uint64_t id,
                           const char *label)
{
    object_create(b, kind, id, label);
}

void builder_destroy(struct trace_builder *b, enum trace_event_kind kind, uint64_t id)
{
    struct trace_object_event *record = start(b, kind, sizeof *record);
    if (!record)
        return;
    record->object = id;
    finish_ordered(b);
}

/* ---- Host access -------------------------------------------------------------------------- */

static void host_access(struct trace_builder *b, enum trace_event_kind kind, uint64_t buffer,
                        uint64_t offset, const uint8_t *data, uint64_t size)
{
    const uint64_t ticket = b->ticket;
    for (uint64_t done = 0; done == 0 || done < size;) {
        const uint64_t piece = size - done < TRACE_PIECE_BYTES ? size - done : TRACE_PIECE_BYTES;
        const uint64_t content = data ? builder_content(b, data + done, (size_t)piece) : 0;
        struct trace_content_event *record = start(b, kind, sizeof *record);
        if (!record)
            return;
        record->buffer = buffer;
        record->offset = offset + done;
        record->size = piece;
        record->content = content;
        record->flags = b->flags;
        b->ticket = ticket;
        finish_ordered(b);
        if (!piece)
            return;
        done += piece;
    }
}

void builder_mapped_change(struct trace_builder *b, uint64_t buffer, uint64_t offset,
                           const void *before, const void *after, uint64_t size)
{
    const uint64_t old = before ? builder_content(b, before, size) : 0;
    const uint64_t now = after ? builder_content(b, after, size) : 0;
    struct trace_mapped_change *record = start(b, TRACE_MAPPED_CHANGE, sizeof *record);
    if (!record)
        return;
    record->part.buffer = buffer;
    record->part.offset = offset;
    record->part.size = size;
    record->part.content = now;
    record->part.flags = b->flags;
    record->before = old;
    finish_ordered(b);
}

void builder_host_write(struct trace_builder *b, uint64_t buffer, uint64_t offset, const void *data,
                        uint64_t size)
{
    host_access(b, TRACE_HOST_WRITE, buffer, offset, data, size);
}

void builder_host_read(struct trace_builder *b, uint64_t buffer, uint64_t offset, const void *data,
                       uint64_t size)
{
    host_access(b, TRACE_HOST_READ, buffer, offset, data, size);
}

static void mapping(struct trace_builder *b, enum trace_event_kind kind,
                    const struct trace_mapping_event *event)
{
    struct trace_mapping_event *record = start(b, kind, sizeof *record);
    if (!record)
        return;
    record->buffer = event->buffer;
    record->mapping = event->mapping;
    record->offset = event->offset;
    record->size = event->size;
    record->mode = event->mode;
    finish_ordered(b);
}

void builder_map(struct trace_builder *b, uint64_t buffer, uint64_t number, uint32_t mode,
                 uint64_t offset, uint64_t size)
{
    mapping(b, TRACE_BUFFER_MAP,
            &(struct trace_mapping_event){
                .buffer = buffer, .mapping = number, .mode = mode, .offset = offset, .size = size});
}

void builder_unmap(struct trace_builder *b, uint64_t buffer, uint64_t number, uint32_t mode,
                   uint64_t offset, uint64_t size)
{
    mapping(b, TRACE_BUFFER_UNMAP,
            &(struct trace_mapping_event){
                .buffer = buffer, .mapping = number, .mode = mode, .offset = offset, .size = size});
}

void builder_mapping_flush(struct trace_builder *b, uint64_t buffer, uint64_t number,
                           uint64_t offset, uint64_t size)
{
    mapping(b, TRACE_MAPPING_FLUSH,
            &(struct trace_mapping_event){
                .buffer = buffer, .mapping = number, .offset = offset, .size = size});
}

/* ---- Segments ----------------------------------------------------------------------------- */

static void *add_segment(struct trace_builder *b, enum trace_segment_kind kind, size_t bytes)
{
    bytes = hal_align_up(bytes, 8);
    void *segments = b->segments;
    const bool fits = make_room(b, &segments, &b->segment_capacity, b->segment_bytes + bytes, 1);
    b->segments = segments;
    if (!fits)
        return NULL;
    struct trace_segment *segment = (void *)(b->segments + b->segment_bytes);
    memset(segment, 0, bytes);
    segment->kind = (uint16_t)kind;
    segment->bytes = (uint32_t)bytes;
    b->segment_bytes += bytes;
    b->segment_count++;
    return segment;
}

void builder_barrier(struct trace_builder *b, const struct trace_buffer_barrier *buffers,
                     uint32_t buffer_count)
{
    const size_t buffers_bytes = buffer_count * sizeof *buffers;
    struct trace_barrier *segment = add_segment(b, TRACE_BARRIER, sizeof *segment + buffers_bytes);
    if (!segment)
        return;
    segment->source_stages = segment->target_stages = STAGES_ALL;
    segment->source_access = segment->target_access = ACCESS_ALL;
    segment->buffer_count = buffer_count;
    if (buffers_bytes)
        memcpy(segment->buffers, buffers, buffers_bytes);
}

void builder_fill(struct trace_builder *b, uint64_t target, uint64_t offset, uint64_t size,
                  uint32_t pattern, uint32_t pattern_bytes)
{
    struct trace_fill *segment = add_segment(b, TRACE_FILL, sizeof *segment);
    if (!segment)
        return;
    segment->target = target;
    segment->offset = offset;
    segment->size = size;
    segment->pattern = pattern;
    segment->pattern_bytes = pattern_bytes;
}

void builder_copy(struct trace_builder *b, uint64_t source, uint64_t source_offset, uint64_t target,
                  uint64_t target_offset, uint64_t size)
{
    struct trace_copy *segment = add_segment(b, TRACE_COPY, sizeof *segment);
    if (!segment)
        return;
    segment->source = source;
    segment->target = target;
    segment->source_offset = source_offset;
    segment->target_offset = target_offset;
    segment->size = size;
}

void builder_update(struct trace_builder *b, uint64_t target, uint64_t offset, const void *data,
                    uint64_t size)
{
    struct trace_update *segment = add_segment(b, TRACE_UPDATE, sizeof *segment + size);
    if (!segment)
        return;
    segment->target = target;
    segment->offset = offset;
    segment->size = size;
    memcpy(segment->data, data, size);
}

void builder_push_constants(struct trace_builder *b, uint32_t offset, const void *data,
                            uint32_t size)
{
    struct trace_push_constants *segment =
        add_segment(b, TRACE_PUSH_CONSTANTS, sizeof *segment + size);
    if (!segment)
        return;
    segment->offset = offset;
    segment->size = size;
    memcpy(segment->data, data, size);
}

void builder_push_descriptor_set(struct trace_builder *b, uint32_t set,
                                 const struct trace_binding *bindings, uint32_t binding_count)
{
    const size_t bindings_bytes = binding_count * sizeof *bindings;
    struct trace_push_descriptor_set *segment =
        add_segment(b, TRACE_PUSH_DESCRIPTOR_SET, sizeof *segment + bindings_bytes);
    if (!segment)
        return;
    segment->set = set;
    segment->binding_count = binding_count;
    if (bindings_bytes)
        memcpy(segment->bindings, bindings, bindings_bytes);
}

void builder_dispatch(struct trace_builder *b, uint64_t executable, uint32_t entry, uint32_t x,
                      uint32_t y, uint32_t z)
{
    struct trace_dispatch *segment = add_segment(b, TRACE_DISPATCH, sizeof *segment);
    if (!segment)
        return;
    segment->executable = executable;
    segment->entry = entry;
    segment->workgroup_count[0] = x;
    segment->workgroup_count[1] = y;
    segment->workgroup_count[2] = z;
    b->dispatch_count++;
}

void builder_dispatch_indirect(struct trace_builder *b, uint64_t executable, uint32_t entry,
                               uint64_t counts, uint64_t offset)
{
    struct trace_dispatch_indirect *segment =
        add_segment(b, TRACE_DISPATCH_INDIRECT, sizeof *segment);
    if (!segment)
        return;
    segment->executable = executable;
    segment->counts = counts;
    segment->offset = offset;
    segment->entry = entry;
    b->dispatch_count++;
}

void builder_event(struct trace_builder *b, enum trace_segment_kind kind, uint64_t event,
                   uint32_t source_stages)
{
    struct trace_event_command *segment = add_segment(b, kind, sizeof *segment);
    if (!segment)
        return;
    segment->event = event;
    segment->source_stages = source_stages;
}

void builder_events_wait(struct trace_builder *b, uint32_t source_stages, const uint64_t *events,
                         uint32_t event_count)
{
    struct trace_events_wait *segment =
        add_segment(b, TRACE_EVENTS_WAIT, sizeof *segment + event_count * sizeof *events);
    if (!segment)
        return;
    segment->source_stages = source_stages;
    segment->target_stages = STAGES_ALL;
    segment->source_access = segment->target_access = ACCESS_ALL;
    segment->event_count = event_count;
    memcpy(trace_waited_events(segment), events, event_count * sizeof *events);
}

void builder_debug_begin(struct trace_builder *b, const char *label, uint32_t color)
{
    const uint32_t name = builder_string(b, label);
    struct trace_debug *segment = add_segment(b, TRACE_DEBUG_BEGIN, sizeof *segment);
    if (!segment)
        return;
    segment->color = color;
    segment->label = name;
}

void builder_debug_end(struct trace_builder *b)
{
    add_segment(b, TRACE_DEBUG_END, sizeof(struct trace_segment));
}

void builder_end_commands(struct trace_builder *b, uint64_t command_buffer)
{
    struct trace_command_buffer_seal *record = start(b, TRACE_COMMAND_BUFFER_SEAL, sizeof *record);
    if (!record)
        return;
    record->command_buffer = command_buffer;
    record->segment_count = b->segment_count;
    record->dispatch_count = b->dispatch_count;
    record->segment_bytes = b->segment_bytes;
    record->flags = b->flags;
    struct trace_segment *segment = (void *)b->segments;
    for (uint32_t i = 0; b->alter && i < b->segment_count; i++) {
        b->alter(b->user, b->record, segment);
        segment = (void *)((uint8_t *)segment + segment->bytes);
    }
    finish_ordered(b);
    if (b->segment_bytes && b->failure == HAL_OK)
        latch(b, trace_writer_records(b->writer, b->thread, b->segments, b->segment_bytes));
    b->segment_bytes = 0;
    b->segment_count = b->dispatch_count = 0;
}

/* ---- Queues and semaphores ---------------------------------------------------------------- */

void builder_submit(struct trace_builder *b, uint64_t submission, uint32_t queue,
                    struct builder_values waits, struct builder_values signals,
                    struct builder_ids command_buffers)
{
    const size_t waits_bytes = waits.count * sizeof *waits.list;
    const size_t signals_bytes = signals.count * sizeof *signals.list;
    const size_t commands_bytes = command_buffers.count * sizeof *command_buffers.list;
    struct trace_submit *record =
        start(b, TRACE_SUBMIT, sizeof *record + waits_bytes + signals_bytes + commands_bytes);
    if (!record)
        return;
    record->submission = submission;
    record->queue = queue;
    record->wait_count = waits.count;
    record->signal_count = signals.count;
    record->command_buffer_count = command_buffers.count;
    record->operation = b->operation.operation;
    record->file = b->operation.file;
    record->buffer = b->operation.buffer;
    record->offset = b->operation.offset;
    record->size = b->operation.size;
    record->file_offset = b->operation.file_offset;
    record->affinity = b->operation.affinity;
    b->operation = (struct trace_submit){0};
    uint8_t *tail = (uint8_t *)record->values;
    if (waits_bytes)
        memcpy(tail, waits.list, waits_bytes);
    if (signals_bytes)
        memcpy(tail + waits_bytes, signals.list, signals_bytes);
    if (commands_bytes)
        memcpy(tail + waits_bytes + signals_bytes, command_buffers.list, commands_bytes);
    finish_ordered(b);
}

void builder_host_call(struct trace_builder *b, enum trace_event_kind kind, uint64_t submission)
{
    struct trace_host_call *record = start(b, kind, sizeof *record);
    if (!record)
        return;
    record->submission = submission;
    finish_ordered(b);
}

void builder_collective(struct trace_builder *b, uint64_t submission)
{
    struct trace_collective *record = start(b, TRACE_COLLECTIVE, sizeof *record);
    if (!record)
        return;
    record->submission = submission;
    record->collective = TRACE_BROADCAST;
    finish_ordered(b);
}

void builder_queue_flush(struct trace_builder *b, uint64_t queues)
{
    struct trace_queue_flush *record = start(b, TRACE_QUEUE_FLUSH, sizeof *record);
    if (!record)
        return;
    record->queues = queues;
    finish_ordered(b);
}

void builder_dispatch_times(struct trace_builder *b, uint64_t submission, uint32_t queue,
                            const struct trace_dispatch_time *times, uint32_t count)
{
    struct trace_dispatch_times *record =
        start(b, TRACE_DISPATCH_TIMES, sizeof *record + count * sizeof *times);
    if (!record)
        return;
    record->submission = submission;
    record->queue = queue;
    record->time_count = count;
    record->head.begin_ns = times[0].begin_ns;
    record->head.end_ns = times[count - 1].end_ns;
    memcpy(record->times, times, count * sizeof *times);
    write_record(b);
}

void builder_submission_outputs(struct trace_builder *b, uint64_t submission, uint32_t queue,
                                const struct trace_written *outputs, uint32_t count)
{
    struct trace_submission_outputs *record =
        start(b, TRACE_SUBMISSION_OUTPUTS, sizeof *record + count * sizeof *outputs);
    if (!record)
        return;
    record->submission = submission;
    record->queue = queue;
    record->output_count = count;
    memcpy(record->outputs, outputs, count * sizeof *outputs);
    finish_ordered(b);
}

void builder_submission_done(struct trace_builder *b, uint64_t submission, uint32_t queue,
                             int64_t ready_ns, int64_t begin_ns, int64_t end_ns)
{
    struct trace_submission_done *record = start(b, TRACE_SUBMISSION_DONE, sizeof *record);
    if (!record)
        return;
    record->submission = submission;
    record->queue = queue;
    record->ready_ns = ready_ns;
    record->busy_ns = end_ns - begin_ns;
    record->head.status = b->status;
    record->head.begin_ns = begin_ns;
    record->head.end_ns = end_ns;
    write_record(b);
}

void builder_semaphore(struct trace_builder *b, enum trace_event_kind kind, uint64_t semaphore,
                       uint64_t value, const char *message)
{
    const uint32_t text = builder_string(b, message);
    struct trace_semaphore_event *record = start(b, kind, sizeof *record);
    if (!record)
        return;
    record->semaphore = semaphore;
    record->value = value;
    record->message = text;
    finish_ordered(b);
}

void builder_semaphore_wait(struct trace_builder *b, uint32_t mode,
                            const struct trace_semaphore_value *values, uint32_t value_count,
                            int64_t timeout_ns)
{
    const size_t values_bytes = value_count * sizeof *values;
    struct trace_semaphore_wait *record =
        start(b, TRACE_SEMAPHORE_WAIT, sizeof *record + values_bytes);
    if (!record)
        return;
    record->timeout_ns = timeout_ns;
    record->mode = mode;
    record->value_count = value_count;
    if (values_bytes)
        memcpy(record->values, values, values_bytes);
    finish_ordered(b);
}

void builder_wait_idle(struct trace_builder *b, int64_t timeout_ns)
{
    struct trace_wait_idle *record = start(b, TRACE_WAIT_IDLE, sizeof *record);
    if (!record)
        return;
    record->timeout_ns = timeout_ns;
    finish_ordered(b);
}

static void scope(struct trace_builder *b, enum trace_event_kind kind, const char *name)
{
    const uint32_t string = builder_string(b, name);
    struct trace_scope *record = start(b, kind, sizeof *record);
    if (!record)
        return;
    record->name = string;
    record->head.begin_ns = record->head.end_ns = b->begin_ns;
    b->begin_ns += b->step_ns;
    write_record(b);
}

void builder_scope_begin(struct trace_builder *b, const char *name)
{
    scope(b, TRACE_SCOPE_BEGIN, name);
}

void builder_scope_end(struct trace_builder *b)
{
    scope(b, TRACE_SCOPE_END, NULL);
}

void builder_record(struct trace_builder *b, const struct trace_event *record)
{
    if (start(b, (enum trace_event_kind)record->kind, record->bytes)) {
        memcpy(b->record, record, record->bytes);
        write_record(b);
    }
}
