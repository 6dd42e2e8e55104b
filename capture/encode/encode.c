/* SPDX-License-Identifier: Apache-2.0 */
/* HAL structs into trace records, written in place into the thread's ring. */
#include "capture/encode/encode.h"

#include "format/limits.h"
#include "hal/base/log.h"
#include "hal/base/mem.h"

#include <stdarg.h>
#include <stdio.h>

SAME_NUMBER(TRACE_ONE_SHOT, HAL_ONE_SHOT);
SAME_NUMBER(TRACE_REUSABLE, HAL_REUSABLE);
SAME_NUMBER(TRACE_TRANSFER_COMMANDS, HAL_COMMANDS_TRANSFER);
SAME_NUMBER(TRACE_DISPATCH_COMMANDS, HAL_COMMANDS_DISPATCH);
SAME_NUMBER(TRACE_OPERATION_DISPATCH, HAL_OPERATION_DISPATCH);
SAME_NUMBER(TRACE_OPERATION_ALLOCA, HAL_OPERATION_ALLOCA);
SAME_NUMBER(TRACE_OPERATION_DEALLOCA, HAL_OPERATION_DEALLOCA);
SAME_NUMBER(TRACE_OPERATION_READ, HAL_OPERATION_READ);
SAME_NUMBER(TRACE_OPERATION_WRITE, HAL_OPERATION_WRITE);
SAME_NUMBER(TRACE_OPERATION_COLLECTIVE, HAL_OPERATION_COLLECTIVE);
SAME_NUMBER(TRACE_ALL_REDUCE, HAL_COLLECTIVE_ALL_REDUCE);
SAME_NUMBER(TRACE_ALL_GATHER, HAL_COLLECTIVE_ALL_GATHER);
SAME_NUMBER(TRACE_REDUCE_SCATTER, HAL_COLLECTIVE_REDUCE_SCATTER);
SAME_NUMBER(TRACE_BROADCAST, HAL_COLLECTIVE_BROADCAST);
SAME_NUMBER(TRACE_SEND, HAL_COLLECTIVE_SEND);
SAME_NUMBER(TRACE_RECEIVE, HAL_COLLECTIVE_RECEIVE);
SAME_NUMBER(TRACE_MAX_QUEUES, HAL_MAX_QUEUES);
SAME_NUMBER(TRACE_MAX_LIST, HAL_MAX_LIST);
SAME_NUMBER(TRACE_MAX_SETS, HAL_MAX_SETS);
SAME_NUMBER(TRACE_MAX_BINDINGS, HAL_MAX_BINDINGS);
SAME_NUMBER(TRACE_MAX_UPDATE_BYTES, HAL_MAX_UPDATE_BYTES);
SAME_NUMBER(TRACE_MAX_CONSTANT_BYTES, HAL_MAX_CONSTANT_BYTES);

/* The format limits lists of a record: a longer one counts as lost and ends the recording. */
static bool list_fits(const struct capture_call *call, const char *what, size_t count)
{
    struct capture_stream *stream = call->thread->stream;
    if (count <= TRACE_MAX_LIST)
        return true;
    capture_lose(stream, 1);
    capture_stop(stream, HAL_UNSUPPORTED, "%zu %s in one call: a trace holds at most %u", count,
                 what, TRACE_MAX_LIST);
    return false;
}

void capture_record_unsupported(const struct capture_call *call, uint64_t ticket, uint64_t object,
                                const char *name, const char *format, ...)
{
    char text[HAL_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (call->status == HAL_OK) {
        atomic_fetch_add(&call->thread->stream->unsupported_calls, 1);
        hal_log(HAL_LOG_WARN, "%s is not in the trace: %s", name, text);
    }
    const uint32_t called = capture_string(call->thread, name);
    const uint32_t message = capture_message(call->thread, text);
    struct trace_unsupported *record = capture_reserve(call->thread, sizeof *record);
    if (!record)
        return;
    *record = (struct trace_unsupported){
        .head = capture_head(call, TRACE_UNSUPPORTED, sizeof *record),
        .object = object,
        .call = called,
        .message = message,
    };
    record->head.ticket = ticket;
    capture_publish(call->thread, sizeof *record);
}

void capture_record_failure(const struct capture_call *call)
{
    struct trace_failure *record = capture_reserve(call->thread, sizeof *record);
    if (!record)
        return;
    *record = (struct trace_failure){.head = capture_head(call, TRACE_FAILURE, sizeof *record),
                                     .call = call->function,
                                     .message = call->message};
    record->head.ticket = 0;
    capture_publish(call->thread, sizeof *record);
}

static uint64_t id_of(const struct hal_object *object)
{
    return object ? object->id : 0;
}

/* ---- Objects ---- */

void capture_record_object(const struct capture_call *call, enum trace_event_kind kind,
                           const struct hal_object *object, const char *label)
{
    const uint32_t string = capture_string(call->thread, label);
    struct trace_object_event *record = capture_reserve(call->thread, sizeof *record);
    if (!record)
        return;
    *record = (struct trace_object_event){
        .head = capture_head(call, kind, sizeof *record), .object = object->id, .label = string};
    capture_publish(call->thread, sizeof *record);
}

void capture_record_command_buffer(const struct capture_call *call,
                                   const struct hal_command_buffer *commands)
{
    const uint32_t label = capture_string(call->thread, commands->object.label);
    struct trace_command_buffer_create *record = capture_reserve(call->thread, sizeof *record);
    if (!record)
        return;
    *record = (struct trace_command_buffer_create){
        .head = capture_head(call, TRACE_COMMAND_BUFFER_CREATE, sizeof *record),
        .command_buffer = commands->object.id,
        .label = label,
        .mode = (uint32_t)commands->mode,
        .categories = commands->categories,
    };
    capture_publish(call->thread, sizeof *record);
}

void capture_record_buffer(const struct capture_call *call, const struct hal_buffer_desc *desc,
                           const struct hal_buffer *buffer, uint32_t flags)
{
    const uint32_t label = capture_string(call->thread, desc->label);
    struct trace_buffer_create *record = capture_reserve(call->thread, sizeof *record);
    if (!record)
        return;
    *record = (struct trace_buffer_create){
        .head = capture_head(call, TRACE_BUFFER_CREATE, sizeof *record),
        .buffer = capture_buffer_id(buffer),
        .size = desc->bytes,
        .memory = buffer ? buffer->memory : desc->memory,
        .usage = buffer ? buffer->usage : desc->usage,
        .label = label,
        .flags = flags,
    };
    capture_publish(call->thread, sizeof *record);
}

void capture_record_subspan(const struct capture_call *call, const struct hal_buffer *subspan,
                            uint32_t flags)
{
    const uint32_t label = capture_string(call->thread, subspan->object.label);
    struct trace_subspan_create *record = capture_reserve(call->thread, sizeof *record);
    if (!record)
        return;
    *record = (struct trace_subspan_create){
        .head = capture_head(call, TRACE_SUBSPAN_CREATE, sizeof *record),
        .subspan = subspan->object.id,
        .root = capture_buffer_id(subspan->root),
        .offset = subspan->root_offset,
        .size = subspan->bytes,
        .label = label,
        .flags = flags};
    capture_publish(call->thread, sizeof *record);
}

void capture_record_mapping(const struct capture_call *call, enum trace_event_kind kind,
                            const struct hal_mapping *mapping, uint64_t number, uint64_t offset,
                            uint64_t bytes)
{
    struct trace_mapping_event *record = capture_reserve(call->thread, sizeof *record);
    if (!record)
        return;
    *record = (struct trace_mapping_event){.head = capture_head(call, kind, sizeof *record),
                                           .buffer = capture_buffer_id(mapping->buffer),
                                           .mapping = number,
                                           .offset = offset,
                                           .size = bytes,
                                           .mode = mapping->mode};
    capture_publish(call->thread, sizeof *record);
}

void capture_record_semaphore(const struct capture_call *call, const char *label,
                              const struct hal_semaphore *semaphore, uint64_t value, uint32_t flags)
{
    const uint32_t string = capture_string(call->thread, label);
    struct trace_semaphore_create *record = capture_reserve(call->thread, sizeof *record);
    if (!record)
        return;
    *record = (struct trace_semaphore_create){
        .head = capture_head(call, TRACE_SEMAPHORE_CREATE, sizeof *record),
        .semaphore = semaphore ? semaphore->object.id : 0,
        .initial_value = value,
        .label = string,
        .flags = flags};
    capture_publish(call->thread, sizeof *record);
}

/* ---- Objects of the core ---- */

static void record_set_layout(const struct capture_call *call, const struct hal_set_layout *layout)
{
    const uint32_t label = capture_string(call->thread, layout->object.label);
    const size_t used = sizeof(struct trace_set_layout_create) +
                        layout->binding_count * sizeof(struct trace_layout_binding);
    const size_t bytes = hal_align_up(used, 8);
    struct trace_set_layout_create *record = capture_reserve(call->thread, bytes);
    if (!record)
        return;
    memset((uint8_t *)record + used, 0, bytes - used);
    *record =
        (struct trace_set_layout_create){.head = capture_head(call, TRACE_SET_LAYOUT_CREATE, bytes),
                                         .layout = layout->object.id,
                                         .label = label,
                                         .binding_count = (uint32_t)layout->binding_count};
    for (size_t i = 0; i < layout->binding_count; i++)
        record->bindings[i] =
            (struct trace_layout_binding){.index = layout->bindings[i].index,
                                          .kind = (uint32_t)layout->bindings[i].kind,
                                          .flags = layout->bindings[i].flags};
    capture_publish(call->thread, bytes);
}

static void record_pipeline_layout(const struct capture_call *call,
                                   const struct hal_pipeline_layout *layout)
{
    const uint32_t label = capture_string(call->thread, layout->object.label);
    const size_t bytes =
        sizeof(struct trace_pipeline_layout_create) + layout->set_count * sizeof(uint64_t);
    struct trace_pipeline_layout_create *record = capture_reserve(call->thread, bytes);
    if (!record)
        return;
    *record = (struct trace_pipeline_layout_create){
        .head = capture_head(call, TRACE_PIPELINE_LAYOUT_CREATE, bytes),
        .layout = layout->object.id,
        .label = label,
        .constant_bytes = layout->constant_bytes,
        .set_count = (uint32_t)layout->set_count};
    for (size_t i = 0; i < layout->set_count; i++)
        record->sets[i] = layout->sets[i]->object.id;
    capture_publish(call->thread, bytes);
}

static void record_channel(const struct capture_call *call, const struct hal_channel *channel)
{
    const uint32_t label = capture_string(call->thread, channel->object.label);
    struct trace_channel_create *record = capture_reserve(call->thread, sizeof *record);
    if (!record)
        return;
    *record = (struct trace_channel_create){
        .head = capture_head(call, TRACE_CHANNEL_CREATE, sizeof *record),
        .channel = channel->object.id,
        .group = channel->group_id,
        .rank = channel->rank,
        .count = channel->count,
        .label = label};
    capture_publish(call->thread, sizeof *record);
}

void capture_record_own_object(const struct capture_call *call, const struct hal_object *object)
{
    if (object->kind == HAL_OBJECT_SET_LAYOUT)
        record_set_layout(call, (const void *)object);
    else if (object->kind == HAL_OBJECT_PIPELINE_LAYOUT)
        record_pipeline_layout(call, (const void *)object);
    else if (object->kind == HAL_OBJECT_CHANNEL)
        record_channel(call, (const void *)object);
    else
        capture_record_object(call, TRACE_EVENT_CREATE, object, object->label);
}

/* ---- Semaphores ---- */

void capture_record_semaphore_event(const struct capture_call *call, enum trace_event_kind kind,
                                    const struct hal_semaphore *semaphore, uint64_t value,
                                    const char *message, uint32_t flags)
{
    const uint32_t string = capture_message(call->thread, message);
    struct trace_semaphore_event *record = capture_reserve(call->thread, sizeof *record);
    if (!record)
        return;
    *record = (struct trace_semaphore_event){.head = capture_head(call, kind, sizeof *record),
                                             .semaphore = semaphore->object.id,
                                             .value = value,
                                             .message = string,
                                             .flags = flags};
    capture_publish(call->thread, sizeof *record);
}

static void fill_values(struct trace_semaphore_value *out, const struct hal_semaphore_value *values,
                        size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (struct trace_semaphore_value){.semaphore = id_of(&values[i].semaphore->object),
                                                .value = values[i].value};
}

void capture_record_wait(const struct capture_call *call, enum hal_wait_mode mode,
                         const struct hal_semaphore_value *values, size_t count, int64_t timeout_ns)
{
    if (!list_fits(call, "semaphore values", count))
        return;
    const uint64_t bytes = sizeof(struct trace_semaphore_wait) + count * sizeof *values;
    struct trace_semaphore_wait *record = capture_reserve(call->thread, bytes);
    if (!record)
        return;
    *record = (struct trace_semaphore_wait){.head = capture_head(call, TRACE_SEMAPHORE_WAIT, bytes),
                                            .timeout_ns = timeout_ns,
                                            .mode = (uint32_t)mode,
                                            .value_count = (uint32_t)count};
    fill_values(record->values, values, count);
    capture_publish(call->thread, bytes);
}

void capture_record_wait_idle(const struct capture_call *call, int64_t timeout_ns)
{
    struct trace_wait_idle *record = capture_reserve(call->thread, sizeof *record);
    if (!record)
        return;
    *record = (struct trace_wait_idle){.head = capture_head(call, TRACE_WAIT_IDLE, sizeof *record),
                                       .timeout_ns = timeout_ns};
    capture_publish(call->thread, sizeof *record);
}

/* ---- Submissions ---- */

void capture_record_submit(const struct capture_call *call, const struct hal_submission *submission)
{
    if (!list_fits(call, "waits", submission->wait_count) ||
        !list_fits(call, "signals", submission->signal_count) ||
        !list_fits(call, "command buffers", submission->command_count))
        return;
    const size_t values = submission->wait_count + submission->signal_count;
    const uint32_t file = capture_string(call->thread, submission->file);
    const uint64_t bytes = sizeof(struct trace_submit) +
                           values * sizeof(struct trace_semaphore_value) +
                           submission->command_count * sizeof(uint64_t);
    const bool has_choice = (submission->affinity & (submission->affinity - 1)) != 0;
    struct trace_submit *record = capture_reserve(call->thread, bytes);
    if (!record)
        return;
    *record = (struct trace_submit){.head = capture_head(call, TRACE_SUBMIT, bytes),
                                    .submission = submission->id,
                                    .queue = submission->queue,
                                    .wait_count = (uint32_t)submission->wait_count,
                                    .signal_count = (uint32_t)submission->signal_count,
                                    .command_buffer_count = (uint32_t)submission->command_count,
                                    .operation = (uint32_t)submission->operation,
                                    .file = file,
                                    .buffer = capture_buffer_id(submission->buffer),
                                    .offset = submission->offset,
                                    .size = submission->bytes,
                                    .file_offset = submission->file_offset,
                                    .affinity = has_choice ? submission->affinity : 0};
    fill_values(record->values, submission->waits, submission->wait_count);
    fill_values(record->values + submission->wait_count, submission->signals,
                submission->signal_count);
    uint64_t *commands = (uint64_t *)(void *)(record->values + values);
    for (size_t i = 0; i < submission->command_count; i++)
        commands[i] = submission->commands[i]->object.id;
    capture_publish(call->thread, bytes);
}

void capture_record_host_call(const struct capture_call *call, enum trace_event_kind kind,
                              uint64_t submission, const char *message)
{
    const uint32_t string = capture_message(call->thread, message);
    struct trace_host_call *record = capture_reserve(call->thread, sizeof *record);
    if (!record)
        return;
    *record = (struct trace_host_call){.head = capture_head(call, kind, sizeof *record),
                                       .submission = submission,
                                       .message = string};
    capture_publish(call->thread, sizeof *record);
}

void capture_record_collective(const struct capture_call *call, uint64_t submission,
                               const struct hal_collective_work *work)
{
    struct trace_collective *record = capture_reserve(call->thread, sizeof *record);
    if (!record)
        return;
    *record =
        (struct trace_collective){.head = capture_head(call, TRACE_COLLECTIVE, sizeof *record),
                                  .submission = submission,
                                  .channel = work->channel->object.id,
                                  .collective = (uint32_t)work->operation,
                                  .type = (uint32_t)work->type,
                                  .reduction = (uint32_t)work->reduction,
                                  .peer = work->peer,
                                  .count = work->count,
                                  .number = work->number,
                                  .send = capture_buffer_id(work->send),
                                  .send_offset = work->send_offset,
                                  .send_size = work->send_bytes,
                                  .receive = capture_buffer_id(work->receive),
                                  .receive_offset = work->receive_offset,
                                  .receive_size = work->receive_bytes};
    capture_publish(call->thread, sizeof *record);
}

void capture_record_flush(const struct capture_call *call, uint64_t queues)
{
    struct trace_queue_flush *record = capture_reserve(call->thread, sizeof *record);
    if (!record)
        return;
    *record = (struct trace_queue_flush){
        .head = capture_head(call, TRACE_QUEUE_FLUSH, sizeof *record), .queues = queues};
    capture_publish(call->thread, sizeof *record);
}

static void record_some_times(struct capture_thread *thread, uint64_t submission, uint32_t queue,
                              const struct hal_submission_result *result, size_t first,
                              uint32_t count)
{
    const uint64_t bytes =
        sizeof(struct trace_dispatch_times) + count * sizeof(struct trace_dispatch_time);
    struct trace_dispatch_times *record = capture_reserve(thread, bytes);
    if (!record)
        return;
    *record = (struct trace_dispatch_times){
        .head = {.kind = TRACE_DISPATCH_TIMES, .bytes = (uint32_t)bytes},
        .submission = submission,
        .queue = queue,
        .flags = result->is_isolated ? TRACE_TIMES_ISOLATED : 0,
        .time_count = count,
    };
    for (uint32_t i = 0; i < count; i++) {
        const struct hal_dispatch_time *time = &result->dispatches[first + i];
        record->times[i] = (struct trace_dispatch_time){.command_buffer = time->command_buffer,
                                                        .dispatch = time->dispatch,
                                                        .begin_ns = time->begin_ns,
                                                        .end_ns = time->end_ns};
        if (i == 0 || time->begin_ns < record->head.begin_ns)
            record->head.begin_ns = time->begin_ns;
        if (i == 0 || time->end_ns > record->head.end_ns)
            record->head.end_ns = time->end_ns;
    }
    capture_publish(thread, bytes);
}

void capture_record_times(struct capture_thread *thread, uint64_t submission, uint32_t queue,
                          const struct hal_submission_result *result)
{
    for (size_t first = 0; first < result->dispatch_count; first += CAPTURE_MOST_TIMES) {
        const size_t left = result->dispatch_count - first;
        record_some_times(thread, submission, queue, result, first,
                          left < CAPTURE_MOST_TIMES ? (uint32_t)left : CAPTURE_MOST_TIMES);
    }
}

void capture_record_done(struct capture_thread *thread, uint64_t submission, uint32_t queue,
                         const struct hal_submission_result *result)
{
    const uint32_t message =
        result->status != HAL_OK ? capture_message(thread, result->message) : 0;
    struct trace_submission_done *record = capture_reserve(thread, sizeof *record);
    if (!record)
        return;
    *record = (struct trace_submission_done){.head = {.kind = TRACE_SUBMISSION_DONE,
                                                      .status = (uint16_t)result->status,
                                                      .bytes = sizeof *record,
                                                      .begin_ns = result->begin_ns,
                                                      .end_ns = result->end_ns},
                                             .submission = submission,
                                             .ready_ns = result->ready_ns,
                                             .busy_ns = result->busy_ns,
                                             .queue = queue,
                                             .message = message};
    capture_publish(thread, sizeof *record);
}

/* ---- Scopes ---- */

void capture_record_scope(struct capture_thread *thread, const char *name)
{
    const uint32_t string = capture_string(thread, name);
    struct trace_scope *record = capture_reserve(thread, sizeof *record);
    if (!record)
        return;
    const int64_t now_ns = hal_clock_ns();
    *record = (struct trace_scope){.head = {.kind = name ? TRACE_SCOPE_BEGIN : TRACE_SCOPE_END,
                                            .bytes = sizeof *record,
                                            .begin_ns = now_ns,
                                            .end_ns = now_ns},
                                   .name = string};
    capture_publish(thread, sizeof *record);
}
