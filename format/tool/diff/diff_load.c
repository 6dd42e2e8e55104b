/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a trace for a comparison. */
#include "format/tool/diff/diff.h"
#include "format/tool/support/tool.h"
#include "hal/base/text.h"

#include "hal/base/hash.h"
#include "hal/base/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static enum hal_status no_memory(void)
{
    return hal_fail(HAL_NO_MEMORY, "no memory to compare traces");
}

static uint64_t mix_bytes(uint64_t hash, const void *data, size_t bytes)
{
    const uint8_t *at = data;
    hash = hal_hash_add(hash, bytes);
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hal_hash_add(hash, 0);
}

static uint64_t mix_string(const struct diff_side *side, uint64_t hash, uint32_t id)
{
    const char *text = trace_reader_string(side->reader, id);
    return text ? mix_bytes(hash, text, strlen(text)) : hal_hash_add(hash, 0);
}

struct diff_object *diff_object(const struct diff_side *side, uint64_t id)
{
    uint32_t row = 0;
    return id && hal_idmap_find(&side->ids, id, &row) ? &side->objects[row] : NULL;
}

/* ---- Objects ---- */

static enum hal_status object_row(struct diff_side *side, uint64_t id, struct diff_object **out)
{
    uint32_t row = 0;
    if (side->object_count >= UINT32_MAX - 1 ||
        !HAL_GROW(side->objects, &side->object_capacity, side->object_count + 1))
        return no_memory();
    if (!hal_idmap_add(&side->ids, id, (uint32_t)side->object_count, &row))
        return no_memory();
    if (row == side->object_count)
        side->objects[side->object_count++] = (struct diff_object){0};
    *out = &side->objects[row];
    return HAL_OK;
}

static const uint64_t slab_hash = 11;

static uint64_t object_hash(const struct diff_side *side, uint64_t id)
{
    const struct diff_object *object = diff_object(side, id);
    if (object && object->transients)
        return slab_hash; /* how many slabs of which sizes there are is their own affair, too */
    return object ? object->hash : 0;
}

static enum hal_status load_object(struct diff_side *side, const struct trace_event *event)
{
    const void *any = event;
    const struct trace_buffer_create *buffer = any;
    const struct trace_executable_create *executable = any;
    const struct trace_semaphore_create *semaphore = any;
    const struct trace_command_buffer_create *commands = any;
    const struct trace_object_event *plain = any;
    uint64_t id, hash = hal_hash_add(7, event->kind);
    if (event->status != HAL_OK)
        return HAL_OK;
    switch (event->kind) {
    case TRACE_BUFFER_CREATE:
        id = buffer->buffer;
        hash = hal_hash_add(mix_string(side, hash, buffer->label), buffer->size);
        break;
    case TRACE_EXECUTABLE_CREATE:
        id = executable->executable;
        hash = mix_string(side, hash, executable->label);
        for (uint32_t i = 0; i < executable->entry_point_count; i++)
            hash = mix_string(side, hash, executable->entry_points[i].name);
        break;
    case TRACE_SEMAPHORE_CREATE:
        id = semaphore->semaphore;
        hash = mix_string(side, hash, semaphore->label);
        break;
    case TRACE_COMMAND_BUFFER_CREATE:
        id = commands->command_buffer;
        hash = mix_string(side, hash, commands->label);
        break;
    case TRACE_EVENT_CREATE:
        id = plain->object;
        hash = mix_string(side, hash, plain->label);
        break;
    default: return HAL_OK;
    }
    struct diff_object *object = NULL;
    struct trace_event *copy = trace_arena_alloc(&side->arena, event->bytes);
    HAL_TRY(object_row(side, id, &object));
    if (!copy)
        return no_memory();
    memcpy(copy, event, event->bytes);
    object->created = copy;
    object->hash = hash;
    return event->kind == TRACE_EXECUTABLE_CREATE
               ? trace_reflection_add(&side->reflection, id, executable)
               : HAL_OK;
}

/* Maps may come before the buffer in the file, but its labels do not matter here. */
static enum hal_status load_mapping(struct diff_side *side, const struct trace_mapping_event *map)
{
    struct diff_object *object = NULL;
    if (map->head.status != HAL_OK || !(map->mode & DIFF_MAP_PERSISTENT))
        return HAL_OK;
    HAL_TRY(object_row(side, map->buffer, &object));
    return diff_mapped_add(side, object, map->buffer);
}

/* The last signal of an alloca is known only to the memory's own deallocas and allocas. */
static enum hal_status load_alloca(struct diff_side *side, const struct trace_submit *submit)
{
    struct diff_object *object = NULL;
    if (submit->operation != TRACE_OPERATION_ALLOCA || !submit->signal_count)
        return HAL_OK;
    const uint32_t last = submit->wait_count + submit->signal_count - 1;
    HAL_TRY(object_row(side, submit->values[last].semaphore, &object));
    object->is_pools = true;
    return HAL_OK;
}

/* ---- Commands ---- */

/* The column that names the buffer of an offset: `source` for `source_offset`, else the previous
 * one. NULL: it is not an offset in a buffer. */
static const struct trace_column *buffer_column(const struct trace_column *columns, uint32_t index)
{
    static const char word[] = "offset";
    const char *name = columns[index].name;
    const size_t length = strlen(name), end = sizeof word - 1;
    const size_t prefix = length > end ? length - end - 1 : 0;
    if (length < end || strcmp(name + length - end, word) != 0)
        return NULL;
    for (uint32_t i = index; i-- > 0;) {
        if (columns[i].reference == TRACE_REFERENCE_OBJECT &&
            (!prefix || strncmp(columns[i].name, name, prefix) == 0))
            return &columns[i];
    }
    return NULL;
}

static uint64_t mix_columns(const struct diff_side *side, uint64_t hash,
                            const struct trace_column *columns, uint32_t count, const uint8_t *base)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t value = trace_load(base + columns[i].member_at, columns[i].width);
        const struct trace_column *buffer = buffer_column(columns, i);
        if (columns[i].reference == TRACE_REFERENCE_OBJECT)
            hash = hal_hash_add(hash, object_hash(side, value));
        else if (columns[i].reference == TRACE_REFERENCE_STRING)
            hash = mix_string(side, hash, (uint32_t)value);
        else if (buffer)
            hash = diff_transient_place(side, hash,
                                        trace_load(base + buffer->member_at, buffer->width), value);
        else
            hash = hal_hash_add(hash, value);
    }
    return hash;
}

static uint64_t command_hash(const struct diff_side *side, const struct trace_segment *segment)
{
    const struct trace_layout *layout = trace_family_layout(&trace_segment_family, segment->kind);
    uint64_t hash = mix_columns(side, hal_hash_add(1, segment->kind), layout->columns,
                                layout->column_count, (const void *)segment);
    const uint8_t *at = (const uint8_t *)segment + layout->record_bytes;
    for (uint32_t i = 0; i < layout->part_count; i++) {
        const struct trace_part *part = &layout->parts[i];
        const uint64_t count = trace_part_count(part, segment);
        if (!part->columns && segment->kind != TRACE_UPDATE)
            hash = mix_bytes(hash, at, (size_t)count);
        for (uint64_t k = 0; part->columns && k < count; k++)
            hash = mix_columns(side, hash, part->columns, part->column_count,
                               at + k * part->element_bytes);
        at += count * part->element_bytes;
    }
    return hash;
}

/* Which kernel, or what kind of command. */
static uint64_t command_shape(const struct diff_side *side, const struct trace_segment *segment)
{
    if (!trace_is_dispatch(segment->kind))
        return segment->kind;
    const struct trace_dispatched run = trace_dispatched(segment);
    return hal_hash_add(object_hash(side, run.executable), run.entry);
}

static enum hal_status load_seal(struct diff_side *side,
                                 const struct trace_command_buffer_seal *seal,
                                 const struct trace_segment *segments)
{
    struct diff_object *object = NULL;
    uint8_t *copy = trace_arena_alloc(&side->arena, (size_t)seal->segment_bytes);
    struct diff_command *commands =
        trace_arena_array(&side->arena, seal->segment_count, sizeof *commands);
    HAL_TRY(object_row(side, seal->command_buffer, &object));
    if (!copy || !commands)
        return no_memory();
    if (seal->segment_bytes)
        memcpy(copy, segments, (size_t)seal->segment_bytes);
    object->commands = commands;
    object->command_count = seal->segment_count;
    object->shape = object->hash;
    const struct trace_segment *segment = (const void *)copy;
    for (uint32_t i = 0; i < seal->segment_count; i++, segment = trace_next_segment(segment)) {
        commands[i] = (struct diff_command){segment, command_hash(side, segment)};
        object->hash = hal_hash_add(object->hash, commands[i].hash);
        object->shape = hal_hash_add(object->shape, command_shape(side, segment));
    }
    return diff_mapped_seal(side, object, seal, (const void *)copy);
}

/* ---- Items ---- */

static enum hal_status stream_of(struct diff_side *side, uint32_t thread,
                                 struct diff_stream **out_stream)
{
    for (size_t i = side->stream_count; i-- > 0;) {
        if (side->streams[i].thread == thread) {
            *out_stream = &side->streams[i];
            return HAL_OK;
        }
    }
    if (!HAL_GROW(side->streams, &side->stream_capacity, side->stream_count + 1))
        return no_memory();
    const struct trace_thread *known = trace_reader_find_thread(side->reader, thread);
    const char *name = known ? trace_reader_string(side->reader, known->name) : NULL;
    *out_stream = &side->streams[side->stream_count++];
    **out_stream = (struct diff_stream){.thread = thread, .name = name ? name : ""};
    return HAL_OK;
}

static enum hal_status add_place(struct diff_side *side, uint64_t submission,
                                 const struct diff_stream *stream)
{
    uint32_t row = 0;
    if (!HAL_GROW(side->places, &side->place_capacity, side->place_count + 1))
        return no_memory();
    if (!hal_idmap_add(&side->submissions, submission, (uint32_t)side->place_count, &row))
        return no_memory();
    if (row == side->place_count)
        side->places[side->place_count++] =
            (struct diff_place){(size_t)(stream - side->streams), stream->count};
    return HAL_OK;
}

/* Without what the transient memory waits for and signals by itself. */
static uint64_t mix_values(const struct diff_side *side, uint64_t hash,
                           const struct trace_semaphore_value *values, uint32_t count)
{
    uint32_t mixed = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct diff_object *semaphore = diff_object(side, values[i].semaphore);
        if (semaphore && semaphore->is_pools)
            continue;
        hash = hal_hash_add(hash, semaphore ? semaphore->hash : 0);
        mixed++;
    }
    return hal_hash_add(hash, mixed);
}

static void hash_submission(const struct diff_side *side, const struct trace_submit *submit,
                            struct diff_item *item)
{
    const bool is_pools = submit->operation == TRACE_OPERATION_ALLOCA ||
                          submit->operation == TRACE_OPERATION_DEALLOCA;
    /* Which of several queues was the least busy depends on the moment. */
    uint64_t hash = hal_hash_add(hal_hash_add(2, submit->operation), submit->affinity);
    if (!submit->affinity)
        hash = hal_hash_add(hash, submit->queue);
    hash = mix_values(side, hash, submit->values, submit->wait_count);
    hash = mix_values(side, hash, submit->values + submit->wait_count, submit->signal_count);
    /* Which part of which slab it is depends on what had been given back by then. */
    if (!is_pools)
        hash = diff_transient_place(side, hal_hash_add(hash, object_hash(side, submit->buffer)),
                                    submit->buffer, submit->offset);
    hash = hal_hash_add(hal_hash_add(mix_string(side, hash, submit->file), submit->size),
                        submit->file_offset);
    uint64_t shape = hal_hash_add(3, submit->operation);
    for (uint32_t i = 0; i < submit->command_buffer_count; i++) {
        const struct diff_object *commands =
            diff_object(side, trace_submit_command_buffers(submit)[i]);
        hash = hal_hash_add(hash, commands ? commands->hash : 0);
        shape = hal_hash_add(shape, commands ? commands->shape : 0);
    }
    item->hash = hash;
    item->shape = shape;
}

/* When a capture notices stores and results in mapped memory is its own affair. */
static bool is_noticed(const struct diff_side *side, const struct trace_content_event *access)
{
    const struct diff_object *buffer = diff_object(side, access->buffer);
    return buffer && buffer->memory &&
           (access->head.kind == TRACE_HOST_WRITE || access->flags & TRACE_FLAG_OBSERVED);
}

static bool make_item(const struct diff_side *side, const struct diff_stream *stream,
                      const struct trace_event *event, struct diff_item *item)
{
    const void *any = event;
    const struct trace_content_event *access = any;
    const struct trace_semaphore_event *signal = any;
    switch (event->kind) {
    case TRACE_SUBMIT: hash_submission(side, any, item); return event->status == HAL_OK;
    case TRACE_HOST_WRITE:
    case TRACE_HOST_READ:
        item->hash = hal_hash_add(hal_hash_add(4, event->kind), object_hash(side, access->buffer));
        item->hash = item->shape = hal_hash_add(
            diff_transient_place(side, item->hash, access->buffer, access->offset), access->size);
        return !stream->call /* any thread makes host calls: the submission identifies them */
               && !is_noticed(side, access);
    case TRACE_SEMAPHORE_SIGNAL:
        item->hash = item->shape = hal_hash_add(5, object_hash(side, signal->semaphore));
        return !(signal->flags & 4); /* not by another device */
    default: return false;
    }
}

static enum hal_status load_item(struct diff_side *side, const struct trace_event *event)
{
    struct diff_item item = {0};
    struct diff_stream *stream = NULL;
    HAL_TRY(stream_of(side, event->thread, &stream));
    if (event->kind == TRACE_HOST_CALL_BEGIN || event->kind == TRACE_HOST_CALL_END)
        stream->call = event->kind == TRACE_HOST_CALL_BEGIN;
    if (event->kind == TRACE_COLLECTIVE)
        stream->call = true;
    if (!make_item(side, stream, event, &item))
        return HAL_OK;
    if (event->kind == TRACE_SUBMIT)
        HAL_TRY(add_place(side, TRACE_AS(trace_submit, event)->submission, stream));
    if (event->kind == TRACE_SUBMIT)
        HAL_TRY(diff_transient_take(side, TRACE_AS(trace_submit, event)));
    struct trace_event *copy = trace_arena_alloc(&side->arena, event->bytes);
    if (!copy || !HAL_GROW(stream->items, &stream->capacity, stream->count + 1))
        return no_memory();
    memcpy(copy, event, event->bytes);
    item.event = copy;
    stream->items[stream->count++] = item;
    return HAL_OK;
}

/* Objects first: a map or an alloca that comes later tells what they are. */
static enum hal_status first_round(void *user, const struct trace_event *event,
                                   const struct trace_segment *segments)
{
    (void)segments;
    if (event->kind == TRACE_BUFFER_MAP)
        return load_mapping(user, (const void *)event);
    return event->kind == TRACE_SUBMIT ? load_alloca(user, (const void *)event)
                                       : load_object(user, event);
}

static enum hal_status second_round(void *user, const struct trace_event *event,
                                    const struct trace_segment *segments)
{
    const bool has_done = event->status == HAL_OK;
    if (event->kind == TRACE_SUBMIT && has_done)
        return diff_transient_take(user, (const void *)event);
    return event->kind == TRACE_COMMAND_BUFFER_SEAL ? load_seal(user, (const void *)event, segments)
                                                    : HAL_OK;
}

static enum hal_status third_round(void *user, const struct trace_event *event,
                                   const struct trace_segment *segments)
{
    (void)segments;
    return load_item(user, event);
}

static enum hal_status take_times(void *user, const struct trace_event *event,
                                  const struct trace_segment *segments)
{
    struct diff_side *side = user;
    const struct trace_submission_done *done = (const void *)event;
    uint32_t row = 0;
    (void)segments;
    if (event->kind != TRACE_SUBMISSION_DONE ||
        !hal_idmap_find(&side->submissions, done->submission, &row))
        return HAL_OK;
    struct diff_item *item = &side->streams[side->places[row].stream].items[side->places[row].item];
    if (event->begin_ns && event->end_ns > event->begin_ns)
        item->device_ns = event->end_ns - event->begin_ns;
    return HAL_OK;
}

/* ---- Words ---- */

static void name_object(void *user, struct trace_text *text, uint64_t id)
{
    const struct diff_side *side = user;
    const struct diff_object *object = diff_object(side, id);
    const void *created = object ? object->created : NULL;
    const struct trace_buffer_create *buffer = created;
    uint32_t label = 0;
    if (!created) {
        trace_text_printf(text, "?");
        return;
    }
    switch (object->created->kind) {
    case TRACE_BUFFER_CREATE: label = buffer->label; break;
    case TRACE_EXECUTABLE_CREATE: label = TRACE_AS(trace_executable_create, created)->label; break;
    case TRACE_SEMAPHORE_CREATE: label = TRACE_AS(trace_semaphore_create, created)->label; break;
    case TRACE_COMMAND_BUFFER_CREATE:
        label = TRACE_AS(trace_command_buffer_create, created)->label;
        break;
    default: label = TRACE_AS(trace_object_event, created)->label; break;
    }
    const char *words = trace_reader_string(side->reader, label);
    if (words && *words) {
        trace_text_append(text, "'", 1);
        trace_text_label(text, words, strlen(words));
        trace_text_append(text, "'", 1);
    } else if (object->created->kind == TRACE_BUFFER_CREATE) {
        trace_text_printf(text, "buffer(%" PRIu64 ")", buffer->size);
    } else {
        trace_text_printf(text, "(%s)", trace_event_name(object->created->kind));
    }
}

void diff_describe_command(struct diff_side *side, const struct diff_command *command,
                           struct trace_text *text)
{
    const struct trace_layout *layout =
        trace_family_layout(&trace_segment_family, command->segment->kind);
    const struct trace_dispatch *dispatch = (const void *)command->segment;
    side->printer.text = *text;
    trace_text_printf(&side->printer.text, "%s", layout->name);
    if (command->segment->kind == TRACE_DISPATCH) {
        const struct diff_object *object = diff_object(side, dispatch->executable);
        const struct trace_executable_create *made = object ? (const void *)object->created : NULL;
        const char *name =
            made && made->head.kind == TRACE_EXECUTABLE_CREATE &&
                    dispatch->entry < made->entry_point_count
                ? trace_reader_string(side->reader, made->entry_points[dispatch->entry].name)
                : NULL;
        trace_text_printf(&side->printer.text, " '");
        trace_text_label(&side->printer.text, name ? name : "?", name ? strlen(name) : 1);
        trace_text_printf(&side->printer.text, "' of %u x %u x %u workgroups",
                          dispatch->workgroup_count[0], dispatch->workgroup_count[1],
                          dispatch->workgroup_count[2]);
    } else {
        tool_print_record(&side->printer, layout, command->segment);
    }
    *text = side->printer.text;
}

void diff_describe_item(struct diff_side *side, const struct diff_item *item,
                        struct trace_text *text)
{
    const void *any = item->event;
    const struct trace_submit *submit = any;
    const struct trace_content_event *access = any;
    uint64_t commands = 0;
    switch (item->event->kind) {
    case TRACE_SUBMIT:
        for (uint32_t i = 0; i < submit->command_buffer_count; i++) {
            const struct diff_object *object =
                diff_object(side, trace_submit_command_buffers(submit)[i]);
            commands += object ? object->command_count : 0;
        }
        trace_text_printf(text, "#s%" PRIu64 ", %s", submit->submission,
                          hal_count(commands, "command", "commands").text);
        for (uint32_t i = 0; i < submit->command_buffer_count && i < 3; i++) {
            trace_text_printf(text, i ? ", " : " in ");
            name_object(side, text, trace_submit_command_buffers(submit)[i]);
        }
        break;
    case TRACE_HOST_WRITE:
    case TRACE_HOST_READ:
        trace_text_printf(text,
                          item->event->kind == TRACE_HOST_READ ? "read-back of " : "write to ");
        name_object(side, text, access->buffer);
        trace_text_printf(text, ", %s at %" PRIu64, hal_count(access->size, "byte", "bytes").text,
                          access->offset);
        break;
    default:
        trace_text_printf(text, "signal of ");
        name_object(side, text, TRACE_AS(trace_semaphore_event, any)->semaphore);
        break;
    }
}

void diff_describe_found(struct diff_side *side, const struct diff_found *found,
                         struct trace_text *text)
{
    name_object(side, text, found->buffer);
    trace_text_printf(text, ", %s at %" PRIu64,
                      hal_count(found->end - found->begin, "byte", "bytes").text, found->begin);
}

/* ---- Contents ---- */

enum hal_status diff_digest(const struct diff_side *side, const struct trace_content_event *event,
                            bool *out_known, uint8_t out_sha256[32])
{
    uint64_t bytes;
    *out_known = false;
    if (!event->content)
        return HAL_OK;
    HAL_TRY(trace_reader_content_info(side->reader, event->content, &bytes, out_sha256));
    if (event->flags & TRACE_FLAG_DIGEST) {
        if (bytes != TRACE_DIGEST_BYTES || !trace_reader_has_content(side->reader, event->content))
            return HAL_OK;
        HAL_TRY(trace_reader_content(side->reader, event->content, out_sha256, TRACE_DIGEST_BYTES));
    }
    *out_known = true;
    return HAL_OK;
}

/* ---- Beginning and end ---- */

enum hal_status diff_open(struct diff_side *side, const char *path)
{
    *side = (struct diff_side){.path = path};
    trace_arena_init(&side->arena, SIZE_MAX);
    HAL_TRY(trace_reader_open(path, &side->reader));
    side->printer = (struct tool_printer){
        .reader = side->reader, .brief = true, .name = name_object, .user = side};
    trace_visit *const rounds[] = {first_round, second_round, third_round, take_times};
    const size_t count = sizeof rounds / sizeof *rounds;
    struct tool_progress progress;
    enum hal_status status = HAL_OK;
    tool_progress_begin(&progress, "reading", count * trace_reader_counts(side->reader)->events);
    /* In order: the threads of a program share its transient memory. */
    for (size_t i = 0; status == HAL_OK && i < count; i++)
        status = tool_each_in_order(side->reader, &progress, rounds[i], side);
    tool_progress_end(&progress);
    return status == HAL_OK ? diff_mapped_load(side) : status;
}

void diff_close(struct diff_side *side)
{
    diff_mapped_finish(side);
    diff_transient_finish(side);
    for (size_t i = 0; i < side->stream_count; i++)
        free(side->streams[i].items);
    free(side->streams);
    free(side->objects);
    free(side->places);
    hal_idmap_finish(&side->ids);
    hal_idmap_finish(&side->submissions);
    trace_arena_finish(&side->arena);
    trace_reader_close(side->reader);
}
