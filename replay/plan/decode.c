/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of events, one function per kind, each with what must hold and what the player does.
 * Next door: decode_queues.c (semaphores and submissions), decode_segments.c (commands); below all
 * of them decoder.c. */
#include "replay/plan/decode.h"

#include "format/analysis/reflection.h"
#include "format/limits.h"
#include "hal/base/mem.h"
#include "hal/base/os.h"
#include "hal/base/text.h"

#include <inttypes.h>

/* ---- Buffers ------------------------------------------------------------------------------- */

static enum hal_status decode_buffer_create(struct replay_decoder *decoder,
                                            struct trace_buffer_create *event)
{
    struct replay_plan *plan = decoder->plan;
    const uint32_t memory_bits = HAL_MEMORY_DEVICE_LOCAL | HAL_MEMORY_HOST_VISIBLE |
                                 HAL_MEMORY_HOST_COHERENT | HAL_MEMORY_HOST_CACHED;
    const uint32_t usage_bits = HAL_USAGE_TRANSFER | HAL_USAGE_DISPATCH | HAL_USAGE_MAPPING;
    uint64_t live;
    if (event->size == 0)
        return hal_fail(HAL_CORRUPT, "buffer %" PRIu64 " has 0 bytes", event->buffer);
    if (event->memory & ~memory_bits || event->usage & ~usage_bits)
        return hal_fail(HAL_CORRUPT,
                        "buffer %" PRIu64
                        " has memory type 0x%x and usage 0x%x, which do not exist",
                        event->buffer, event->memory, event->usage);
    if (!hal_add_u64(decoder->live_buffer_bytes, event->size, &live) ||
        live > plan->memory_limit_bytes)
        return hal_fail(HAL_NO_MEMORY,
                        "buffer %" PRIu64
                        " of %s, with %s of others, exceeds the memory limit of %" PRIu64 " bytes",
                        event->buffer, hal_count(event->size, "byte", "bytes").text,
                        hal_count(decoder->live_buffer_bytes, "byte", "bytes").text,
                        plan->memory_limit_bytes);
    HAL_TRY(replay_decode_add(decoder, REPLAY_BUFFER, &event->buffer, &event->head));
    decoder->live_buffer_bytes = live;
    if (event->size > plan->info.largest_buffer_bytes)
        plan->info.largest_buffer_bytes = event->size;
    if (live > plan->info.peak_buffer_bytes)
        plan->info.peak_buffer_bytes = live;
    return replay_decode_push(decoder, REPLAY_CREATE_BUFFER, event->buffer, &event->head);
}

static enum hal_status decode_subspan(struct replay_decoder *decoder,
                                      struct trace_subspan_create *event)
{
    struct replay_object *root;
    return replay_decode_range(decoder, &event->root, event->offset, event->size, &root);
}

static enum hal_status decode_mapping(struct replay_decoder *decoder,
                                      struct trace_mapping_event *event)
{
    struct replay_object *buffer;
    HAL_TRY(replay_decode_range(decoder, &event->buffer, event->offset, event->size, &buffer));
    if (event->head.kind == TRACE_BUFFER_MAP && event->mode & HAL_MAP_PERSISTENT)
        buffer->buffer.persistent = true;
    return HAL_OK;
}

static enum hal_status decode_host_write(struct replay_decoder *decoder,
                                         struct trace_content_event *event)
{
    struct replay_object *buffer;
    char name[REPLAY_NAME_BYTES];
    HAL_TRY(replay_decode_range(decoder, &event->buffer, event->offset, event->size, &buffer));
    const bool in_file = event->flags & TRACE_FLAG_FILE && event->file;
    if ((event->content == 0 || (event->flags & TRACE_FLAG_DIGEST && !in_file)) && event->size > 0)
        return hal_fail(
            HAL_UNSUPPORTED,
            "the trace does not hold the %s that the host wrote to %s%s: it can be viewed, but not "
            "replayed",
            hal_count(event->size, "byte", "bytes").text,
            replay_object_name(decoder->plan, (uint32_t)event->buffer, name),
            event->content
                ? ", only their digest (its capture requested no more, or exceeded its budget)"
                : "");
    if (event->size == 0)
        return HAL_OK;
    HAL_TRY(replay_decode_content(decoder, &event->content, trace_content_bytes(event)));
    replay_uninitialised_write(&buffer->buffer.uninitialised, event->offset, event->size);
    return replay_decode_transfer(decoder, REPLAY_WRITE, event);
}

/* Without the bytes nothing is known of the range; without those before, not which have changed. */
static enum hal_status decode_mapped_change(struct replay_decoder *decoder,
                                            struct trace_mapped_change *event)
{
    struct trace_content_event *part = &event->part;
    struct replay_object *buffer;
    HAL_TRY(replay_decode_range(decoder, &part->buffer, part->offset, part->size, &buffer));
    if (part->size == 0)
        return HAL_OK;
    if (part->flags & TRACE_FLAG_DIGEST || !part->content)
        part->content = event->before = 0;
    if (part->content)
        HAL_TRY(replay_decode_content(decoder, &part->content, part->size));
    if (event->before)
        HAL_TRY(replay_decode_content(decoder, &event->before, part->size));
    decoder->plan->info.unknown_changes += !event->before;
    replay_uninitialised_use(&buffer->buffer.uninitialised, part->offset, part->size);
    return replay_decode_push(decoder, REPLAY_WRITE, part->buffer, &part->head);
}

static enum hal_status decode_host_read(struct replay_decoder *decoder,
                                        struct trace_content_event *event)
{
    struct replay_plan *plan = decoder->plan;
    struct replay_object *buffer;
    HAL_TRY(replay_decode_range(decoder, &event->buffer, event->offset, event->size, &buffer));
    replay_uninitialised_use(&buffer->buffer.uninitialised, event->offset, event->size);
    if (event->size == 0)
        return HAL_OK;
    if (event->content == 0) {
        plan->info.unrecorded_reads++;
        return HAL_OK;
    }
    const enum hal_status status =
        replay_decode_content(decoder, &event->content, trace_content_bytes(event));
    if (status == HAL_NOT_FOUND && plan->incomplete[0]) {
        plan->info.skipped_reads++;
        return HAL_OK;
    }
    HAL_TRY(status);
    plan->info.reads++;
    plan->info.digest_reads += (event->flags & TRACE_FLAG_DIGEST) != 0;
    plan->info.read_bytes += event->size;
    return replay_decode_transfer(decoder, REPLAY_READ, event);
}

/* ---- Other objects ------------------------------------------------------------------------- */

static enum hal_status decode_commands_create(struct replay_decoder *decoder,
                                              struct trace_command_buffer_create *event)
{
    static const uint32_t known = HAL_COMMANDS_TRANSFER | HAL_COMMANDS_DISPATCH;
    if (event->categories & ~known)
        return hal_fail(HAL_CORRUPT, "command buffer categories 0x%x do not exist",
                        event->categories);
    if (event->mode != HAL_ONE_SHOT && event->mode != HAL_REUSABLE)
        return hal_fail(HAL_CORRUPT, "command buffer mode %u does not exist", event->mode);
    return replay_decode_add(decoder, REPLAY_COMMANDS, &event->command_buffer, &event->head);
}

/* ---- What the trace could not hold ---- */

static bool is_left_out(const struct replay_decoder *decoder, uint64_t id)
{
    uint32_t index;
    return hal_idmap_find(&decoder->left_out, id, &index);
}

static enum hal_status decode_unsupported(struct replay_decoder *decoder,
                                          const struct trace_unsupported *event)
{
    struct replay_plan *plan = decoder->plan;
    uint32_t index;
    if (!plan->allow_unsupported)
        return hal_fail(
            HAL_UNSUPPORTED,
            "no replay can repeat a call of %s: %s (--allow-unsupported skips such calls)",
            trace_reader_string(plan->reader, event->call),
            trace_reader_string(plan->reader, event->message));
    plan->info.unsupported_calls++;
    if (event->object && !hal_idmap_add(&decoder->left_out, event->object, 0, &index))
        return replay_decode_no_memory("skipped objects");
    return HAL_OK;
}

/* Commands around one that is left out would rest on what it had done: none of them stay. */
static void leave_out_commands(struct replay_decoder *decoder,
                               struct trace_command_buffer_seal *seal,
                               const struct trace_segment *segments)
{
    const struct trace_segment *segment = segments;
    bool lacks = false;
    for (uint32_t i = 0; decoder->left_out.total && i < seal->segment_count && !lacks; i++) {
        lacks = trace_is_dispatch(segment->kind) &&
                is_left_out(decoder, trace_dispatched(segment).executable);
        segment = trace_next_segment(segment);
    }
    if (!lacks)
        return;
    decoder->plan->info.left_out_commands += seal->segment_count;
    seal->segment_count = seal->dispatch_count = 0;
    seal->segment_bytes = 0;
}

static enum hal_status decode_seal(struct replay_decoder *decoder,
                                   const struct replay_gathered *gathered)
{
    struct trace_command_buffer_seal *event = (void *)gathered->event;
    struct replay_plan *plan = decoder->plan;
    struct replay_object *commands;
    char name[REPLAY_NAME_BYTES];
    HAL_TRY(replay_decode_use(decoder, REPLAY_COMMANDS, &event->command_buffer, &commands));
    if (commands->commands.seal)
        return hal_fail(HAL_CORRUPT, "%s has been ended already",
                        replay_object_name(plan, (uint32_t)event->command_buffer, name));
    leave_out_commands(decoder, event, gathered->segments);
    HAL_TRY(replay_decode_segments(decoder, event, gathered->segments));
    HAL_TRY(
        replay_decode_push(decoder, REPLAY_RECORD_COMMANDS, event->command_buffer, &event->head));
    commands->commands.seal = event;
    commands->commands.segments = gathered->segments;
    plan->info.command_buffers++;
    plan->info.commands += event->segment_count;
    plan->info.dispatches += event->dispatch_count;
    return HAL_OK;
}

static enum hal_status decode_semaphore_create(struct replay_decoder *decoder,
                                               struct trace_semaphore_create *event)
{
    const uint64_t initial = event->initial_value;
    if (initial == UINT64_MAX)
        return hal_fail(HAL_CORRUPT, "the semaphore starts with a reserved value");
    HAL_TRY(replay_decode_add(decoder, REPLAY_SEMAPHORE, &event->semaphore, &event->head));
    struct replay_object *object = &decoder->plan->objects[event->semaphore];
    object->semaphore.reached = object->semaphore.promised = object->semaphore.signaled = initial;
    object->semaphore.comes = initial;
    return replay_decode_push(decoder, REPLAY_CREATE_SEMAPHORE, event->semaphore, &event->head);
}

static enum hal_status decode_event_create(struct replay_decoder *decoder,
                                           struct trace_object_event *event)
{
    HAL_TRY(replay_decode_add(decoder, REPLAY_EVENT, &event->object, &event->head));
    return replay_decode_push(decoder, REPLAY_CREATE_EVENT, event->object, &event->head);
}

static enum hal_status decode_destroy(struct replay_decoder *decoder, enum replay_kind kind,
                                      struct trace_object_event *event)
{
    static const enum replay_action actions[] = {
        [REPLAY_BUFFER] = REPLAY_DESTROY_BUFFER,
        [REPLAY_EXECUTABLE] = REPLAY_DESTROY_EXECUTABLE,
        [REPLAY_COMMANDS] = REPLAY_DESTROY_COMMANDS,
        [REPLAY_SEMAPHORE] = REPLAY_DESTROY_SEMAPHORE,
        [REPLAY_EVENT] = REPLAY_DESTROY_EVENT,
    };
    struct replay_object *object;
    if (kind == REPLAY_EXECUTABLE && is_left_out(decoder, event->object))
        return HAL_OK;
    HAL_TRY(replay_decode_use(decoder, kind, &event->object, &object));
    if (kind != REPLAY_COMMANDS || object->commands.seal)
        HAL_TRY(replay_decode_push(decoder, actions[kind], event->object, &event->head));
    object->destroyed = true;
    if (kind == REPLAY_BUFFER) {
        decoder->live_buffer_bytes -= ((const struct trace_buffer_create *)object->created)->size;
        replay_uninitialised_finish(&object->buffer.uninitialised);
    }
    return HAL_OK;
}

/* ---- All kinds ----------------------------------------------------------------------------- */

/* A call that failed does nothing, except to semaphores. */
static bool does_nothing(const struct trace_event *event)
{
    return event->status != HAL_OK && event->kind != TRACE_SEMAPHORE_FAIL &&
           event->kind != TRACE_SEMAPHORE_WAIT && event->kind != TRACE_SEMAPHORE_QUERY &&
           event->kind != TRACE_HOST_CALL_END;
}

static enum hal_status decode_failed(struct replay_decoder *decoder, struct trace_event *event)
{
    if (event->kind == TRACE_WAIT_IDLE && event->status == HAL_TIMEOUT)
        decoder->plan->info.timed_out_waits++;
    else
        decoder->plan->info.skipped_calls++;
    return event->kind == TRACE_SUBMIT && event->status == HAL_DEVICE_LOST
               ? replay_decode_refused(decoder, (void *)event)
               : HAL_OK;
}

static enum hal_status decode_event(struct replay_decoder *decoder,
                                    const struct replay_gathered *gathered)
{
    void *event = gathered->event;
    const enum trace_event_kind kind = (enum trace_event_kind)gathered->event->kind;
    if (does_nothing(event))
        return decode_failed(decoder, event);
    switch (kind) {
    case TRACE_BUFFER_CREATE: return decode_buffer_create(decoder, event);
    case TRACE_BUFFER_DESTROY: return decode_destroy(decoder, REPLAY_BUFFER, event);
    case TRACE_BUFFER_MAP:
    case TRACE_BUFFER_UNMAP:
    case TRACE_MAPPING_FLUSH:
    case TRACE_MAPPING_INVALIDATE: return decode_mapping(decoder, event);
    case TRACE_HOST_WRITE: return decode_host_write(decoder, event);
    case TRACE_HOST_READ: return decode_host_read(decoder, event);
    case TRACE_MAPPED_CHANGE: return decode_mapped_change(decoder, event);
    case TRACE_EXECUTABLE_CREATE: return replay_decode_executable(decoder, event);
    case TRACE_EXECUTABLE_DESTROY: return decode_destroy(decoder, REPLAY_EXECUTABLE, event);
    case TRACE_COMMAND_BUFFER_CREATE: return decode_commands_create(decoder, event);
    case TRACE_COMMAND_BUFFER_SEAL: return decode_seal(decoder, gathered);
    case TRACE_COMMAND_BUFFER_DESTROY: return decode_destroy(decoder, REPLAY_COMMANDS, event);
    case TRACE_SEMAPHORE_CREATE: return decode_semaphore_create(decoder, event);
    case TRACE_SEMAPHORE_DESTROY: return decode_destroy(decoder, REPLAY_SEMAPHORE, event);
    case TRACE_SEMAPHORE_QUERY: return replay_decode_query(decoder, event);
    case TRACE_SEMAPHORE_SIGNAL: return replay_decode_signal(decoder, event);
    case TRACE_SEMAPHORE_FAIL: return replay_decode_fail(decoder, event);
    case TRACE_SEMAPHORE_WAIT: return replay_decode_wait(decoder, event);
    case TRACE_SUBMIT: return replay_decode_submit(decoder, event);
    case TRACE_WAIT_IDLE: return replay_decode_wait_idle(decoder, event);
    case TRACE_SET_LAYOUT_CREATE: return replay_decode_set_layout(decoder, event);
    case TRACE_SET_LAYOUT_DESTROY:
        return replay_decode_layout_destroy(decoder, REPLAY_SET_LAYOUT, event);
    case TRACE_PIPELINE_LAYOUT_CREATE: return replay_decode_pipeline_layout(decoder, event);
    case TRACE_PIPELINE_LAYOUT_DESTROY:
        return replay_decode_layout_destroy(decoder, REPLAY_PIPELINE_LAYOUT, event);
    case TRACE_EVENT_CREATE: return decode_event_create(decoder, event);
    case TRACE_EVENT_DESTROY: return decode_destroy(decoder, REPLAY_EVENT, event);
    case TRACE_SUBSPAN_CREATE: return decode_subspan(decoder, event);
    case TRACE_SUBSPAN_DESTROY: return HAL_OK; /* commands name the buffer that it refers to */
    case TRACE_HOST_CALL_BEGIN:
    case TRACE_HOST_CALL_END: return replay_decode_host_call(decoder, event);
    case TRACE_COLLECTIVE: return replay_decode_collective(decoder, event);
    case TRACE_QUEUE_FLUSH: return replay_decode_push(decoder, REPLAY_FLUSH, 0, event);
    case TRACE_UNSUPPORTED: return decode_unsupported(decoder, event);
    case TRACE_SUBMISSION_OUTPUTS: return replay_decode_written(decoder, event);
    case TRACE_SUBMISSION_DONE:
    case TRACE_DISPATCH_TIMES:
    case TRACE_COMMAND_STACKS:
    case TRACE_FILE:
    case TRACE_FAILURE:
    case TRACE_CHANNEL_CREATE: /* what others sent is in the trace */
    case TRACE_CHANNEL_DESTROY:
    case TRACE_SCOPE_BEGIN:
    case TRACE_SCOPE_END:
    case TRACE_STRING:
    case TRACE_STACK:
    case TRACE_MODULE:
    case TRACE_THREAD: return HAL_OK;
    }
    return hal_fail(HAL_CORRUPT, "event kind %d is unknown", (int)kind);
}

enum hal_status replay_decode(struct replay_decoder *decoder,
                              const struct replay_gathered *gathered)
{
    char name[REPLAY_NAME_BYTES];
    enum hal_status status = replay_decode_losses(decoder, gathered->event);
    if (status == HAL_OK)
        status = decode_event(decoder, gathered);
    return status == HAL_OK
               ? HAL_OK
               : hal_add_context(status, "%s", replay_event_name(gathered->event, name));
}
