/* SPDX-License-Identifier: Apache-2.0 */
/* The layer's function table: each entry calls the next driver and records the call. The
 * application gets the driver's own result, whatever becomes of the recording. */
#include "capture/capture.h"

#include "capture/threads.h"
#include "hal/base/mem.h"

enum { measure_every = 16 };

/* ---- Calls ---- */

struct capture_call capture_call_enter(struct capture *capture)
{
    struct capture_call call = {.thread = capture_enter(&capture->stream)};
    if (call.thread && call.thread->calls++ % measure_every == 0) {
        call.entered_ns = hal_clock_ns();
        call.measured_before_ns = call.thread->measured_ns;
    }
    return call;
}

void capture_call_begin(struct capture_call *call)
{
    call->begin_ns = hal_clock_ns();
}

void capture_call_end(struct capture_call *call, enum hal_status status)
{
    call->end_ns = hal_clock_ns();
    call->status = status;
}

/* Making and destroying objects takes no time worth a second look at the clock. */
static void call_at_once(struct capture_call *call)
{
    call->begin_ns = call->end_ns = hal_clock_ns();
}

/* Contents and seals are measured by themselves each time: they differ too much to be sampled. */
void capture_call_leave(struct capture_call *call)
{
    if (!call->entered_ns)
        return;
    struct capture_thread *thread = call->thread;
    const int64_t inside_ns = call->end_ns - call->begin_ns;
    const int64_t exact_ns = (int64_t)(thread->measured_ns - call->measured_before_ns);
    const int64_t spent_ns = hal_clock_ns() - call->entered_ns - inside_ns - exact_ns;
    if (spent_ns > 0)
        atomic_fetch_add_explicit(&thread->overhead_ns, (uint64_t)spent_ns * measure_every,
                                  memory_order_relaxed);
}

static void measure_exactly(struct capture_thread *thread, int64_t begin_ns)
{
    const uint64_t spent_ns = (uint64_t)(hal_clock_ns() - begin_ns);
    thread->measured_ns += spent_ns;
    atomic_fetch_add_explicit(&thread->overhead_ns, spent_ns, memory_order_relaxed);
}

static void out_of_memory(struct capture *capture, const char *what)
{
    capture_stop(&capture->stream, HAL_NO_MEMORY, "no memory for recording %s", what);
}

/* ---- Devices ---- */

/* The core takes the layer out of the chain before it destroys the device. */
static void device_destroy(struct hal_driver_device *self)
{
    self->next->ops->device_destroy(self->next);
}

static enum hal_status device_query(struct hal_driver_device *self, const char *key,
                                    int64_t *out_value)
{
    return self->next->ops->device_query(self->next, key, out_value);
}

static enum hal_status device_wait_idle(struct hal_driver_device *self, int64_t timeout_ns)
{
    struct capture *capture = capture_of(self);
    struct hal_driver_device *next = self->next;
    struct capture_call call = capture_call_enter(capture);
    if (!call.thread)
        return next->ops->device_wait_idle(next, timeout_ns);
    const uint64_t number = capture_inflight_number(&capture->inflight);
    capture_call_begin(&call);
    capture_call_end(&call, next->ops->device_wait_idle(next, timeout_ns));
    capture_call_take_ticket(&call);
    capture_record_wait_idle(&call, timeout_ns);
    if (call.status == HAL_OK)
        capture_mappings_observe(capture, call.thread,
                                 capture_inflight_see_all(&capture->inflight, number));
    capture_call_leave(&call);
    return call.status;
}

/* ---- Buffers ---- */

static enum hal_status buffer_create(struct hal_driver_device *self,
                                     const struct hal_buffer_desc *desc, struct hal_buffer **out)
{
    struct capture *capture = capture_of(self);
    struct hal_driver_device *next = self->next;
    struct capture_call call = capture_call_enter(capture);
    if (!call.thread)
        return next->ops->buffer_create(next, desc, out);
    capture_call_begin(&call);
    capture_call_end(&call, next->ops->buffer_create(next, desc, out));
    capture_call_take_ticket(&call);
    struct hal_buffer *buffer = call.status == HAL_OK ? *out : NULL;
    if (buffer) {
        buffer->object.layer_data = hal_alloc(1, sizeof(struct capture_buffer));
        if (!buffer->object.layer_data)
            out_of_memory(capture, "a buffer");
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

static enum hal_status buffer_import(struct hal_driver_device *self,
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
    capture_call_end(&call, next->ops->buffer_import(next, desc, pointer, out));
    capture_call_take_ticket(&call);
    struct hal_buffer *buffer = call.status == HAL_OK ? *out : NULL;
    if (buffer) {
        buffer->object.layer_data = hal_alloc(1, sizeof(struct capture_buffer));
        if (!buffer->object.layer_data)
            out_of_memory(capture, "a buffer");
    }
    capture_record_buffer(&call, desc, buffer, 0);
    if (buffer && buffer->object.layer_data) {
        capture_call_take_ticket(&call);
        record_import(capture, &call, buffer);
    }
    capture_call_leave(&call);
    return call.status;
}

static void queue_flush(struct hal_driver_device *self, uint64_t queues)
{
    struct hal_driver_device *next = self->next;
    struct capture_call call = capture_call_enter(capture_of(self));
    if (call.thread) {
        capture_call_take_ticket(&call);
        capture_call_begin(&call);
    }
    if (next->ops->queue_flush)
        next->ops->queue_flush(next, queues);
    if (!call.thread)
        return;
    capture_call_end(&call, HAL_OK);
    capture_record_flush(&call, queues);
    capture_call_leave(&call);
}

static enum hal_status buffer_map(struct hal_driver_device *self, struct hal_buffer *buffer,
                                  struct hal_mapping *out)
{
    struct capture *capture = capture_of(self);
    struct hal_driver_device *next = self->next;
    struct capture_call call = capture_call_enter(capture);
    if (!call.thread)
        return next->ops->buffer_map(next, buffer, out);
    capture_call_begin(&call);
    capture_call_end(&call, next->ops->buffer_map(next, buffer, out));
    capture_call_take_ticket(&call);
    const struct capture_mapping *mapping =
        call.status == HAL_OK ? capture_mapping_open(capture, call.thread, out) : NULL;
    capture_record_mapping(&call, TRACE_BUFFER_MAP, out, mapping ? mapping->number : 0, out->offset,
                           out->bytes);
    if (mapping && out->mode & HAL_MAP_READ && !(out->mode & HAL_MAP_PERSISTENT))
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
    if (mapping->mode & HAL_MAP_PERSISTENT)
        capture_mappings_collect(capture, thread);
    else if (mapping->mode & HAL_MAP_WRITE)
        capture_record_content(thread,
                               &(struct capture_content){.kind = TRACE_HOST_WRITE,
                                                         .buffer = mapping->buffer->object.id,
                                                         .offset = mapping->offset,
                                                         .bytes = mapping->bytes,
                                                         .data = mapping->data});
}

static enum hal_status buffer_unmap(struct hal_driver_device *self,
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
    capture_call_end(&call, next->ops->buffer_unmap(next, mapping));
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

static enum hal_status mapping_flush(struct hal_driver_device *self,
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
    if (is_coherent(mapping) && mapping->mode & HAL_MAP_PERSISTENT)
        capture_mappings_collect(capture, call.thread);
    else if (mapping->mode & HAL_MAP_WRITE)
        capture_record_content(call.thread, &content);
    capture_call_take_ticket(&call);
    capture_call_begin(&call);
    capture_call_end(&call, next->ops->mapping_flush(next, mapping, offset, bytes));
    capture_record_mapping(&call, TRACE_MAPPING_FLUSH, mapping, number_of(mapping), content.offset,
                           bytes);
    capture_call_leave(&call);
    return call.status;
}

static enum hal_status mapping_invalidate(struct hal_driver_device *self,
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
    capture_mappings_collect(capture, call.thread);
    capture_call_begin(&call);
    capture_call_end(&call, next->ops->mapping_invalidate(next, mapping, offset, bytes));
    capture_call_take_ticket(&call);
    capture_record_mapping(&call, TRACE_MAPPING_INVALIDATE, mapping, number_of(mapping),
                           content.offset, bytes);
    if (call.status == HAL_OK && mapping->mode & HAL_MAP_READ)
        capture_record_content(call.thread, &content);
    capture_call_leave(&call);
    return call.status;
}

/* ---- Executables ---- */

static enum hal_status executable_create(struct hal_driver_device *self,
                                         const struct hal_executable_desc *desc,
                                         struct hal_executable **out)
{
    struct hal_driver_device *next = self->next;
    struct capture_call call = capture_call_enter(capture_of(self));
    if (!call.thread)
        return next->ops->executable_create(next, desc, out);
    capture_call_begin(&call);
    capture_call_end(&call, next->ops->executable_create(next, desc, out));
    capture_call_take_ticket(&call);
    capture_record_executable(&call, next, desc, call.status == HAL_OK ? *out : NULL, 0);
    capture_call_leave(&call);
    return call.status;
}

/* ---- Command buffers ---- */

static void command_buffer_created(struct hal_driver_device *self,
                                   struct hal_command_buffer *commands)
{
    struct hal_driver_device *next = self->next;
    struct capture_call call = capture_call_enter(capture_of(self));
    if (next->ops->command_buffer_created)
        next->ops->command_buffer_created(next, commands);
    if (!call.thread)
        return;
    call_at_once(&call);
    capture_call_take_ticket(&call);
    capture_record_object(&call, TRACE_COMMAND_BUFFER_CREATE, &commands->object,
                          commands->object.label, (uint32_t)commands->mode);
    capture_call_leave(&call);
}

static void object_created(struct hal_driver_device *self, struct hal_object *object)
{
    struct hal_driver_device *next = self->next;
    struct capture_call call = capture_call_enter(capture_of(self));
    if (next->ops->object_created)
        next->ops->object_created(next, object);
    if (!call.thread)
        return;
    call_at_once(&call);
    capture_call_take_ticket(&call);
    if (object->kind == HAL_OBJECT_SUBSPAN)
        capture_record_subspan(&call, (const struct hal_buffer *)(void *)object, 0);
    else
        capture_record_own_object(&call, object);
    capture_call_leave(&call);
}

static enum hal_status command_buffer_prepare(struct hal_driver_device *self,
                                              struct hal_command_buffer *commands)
{
    struct capture *capture = capture_of(self);
    struct hal_driver_device *next = self->next;
    struct capture_call call = capture_call_enter(capture);
    if (!call.thread) {
        atomic_fetch_add(&capture->stream.lost_records, commands->segment_count);
        return next->ops->command_buffer_prepare(next, commands);
    }
    capture_call_begin(&call);
    capture_call_end(&call, next->ops->command_buffer_prepare(next, commands));
    capture_call_take_ticket(&call);
    if (call.status == HAL_OK) {
        bool failed;
        commands->object.layer_data = capture_writes_create(commands, &failed);
        if (failed)
            out_of_memory(capture, "what a command buffer writes");
        capture_record_seal(&call, commands, 0);
    }
    measure_exactly(call.thread, call.end_ns);
    capture_call_leave(&call);
    return call.status;
}

/* ---- Semaphores ---- */

static enum hal_status semaphore_create(struct hal_driver_device *self, const char *label,
                                        uint64_t initial_value, struct hal_semaphore **out)
{
    struct capture *capture = capture_of(self);
    struct hal_driver_device *next = self->next;
    struct capture_call call = capture_call_enter(capture);
    if (!call.thread)
        return next->ops->semaphore_create(next, label, initial_value, out);
    capture_call_begin(&call);
    capture_call_end(&call, next->ops->semaphore_create(next, label, initial_value, out));
    capture_call_take_ticket(&call);
    struct hal_semaphore *semaphore = call.status == HAL_OK ? *out : NULL;
    if (semaphore) {
        semaphore->object.layer_data = capture_semaphore_create(initial_value);
        if (!semaphore->object.layer_data)
            out_of_memory(capture, "a semaphore");
    }
    capture_record_semaphore(&call, label, semaphore, initial_value, 0);
    capture_call_leave(&call);
    return call.status;
}

static void see_value(struct capture *capture, struct capture_thread *thread,
                      const struct hal_semaphore *semaphore, uint64_t value)
{
    capture_mappings_observe(
        capture, thread,
        capture_inflight_see_value(&capture->inflight,
                                   capture_external_find(&capture->external, semaphore), value));
}

/* A value, or a failure, that was seen: who is the reason? */
static void note_seen(struct capture *capture, struct capture_thread *thread,
                      struct hal_semaphore *semaphore, uint64_t value, bool works)
{
    struct capture_semaphore *known = capture_external_find(&capture->external, semaphore);
    if (works)
        capture_external_reached(thread, semaphore, known, value);
    else
        capture_external_failed(capture, thread, semaphore, known);
}

static enum hal_status semaphore_query(struct hal_driver_device *self,
                                       struct hal_semaphore *semaphore, uint64_t *out_value)
{
    struct capture *capture = capture_of(self);
    struct hal_driver_device *next = self->next;
    struct capture_call call = capture_call_enter(capture);
    if (!call.thread)
        return next->ops->semaphore_query(next, semaphore, out_value);
    capture_call_begin(&call);
    capture_call_end(&call, next->ops->semaphore_query(next, semaphore, out_value));
    const bool ok = call.status == HAL_OK;
    note_seen(capture, call.thread, semaphore, ok ? *out_value : 0, ok);
    capture_call_take_ticket(&call);
    capture_record_semaphore_event(&call, TRACE_SEMAPHORE_QUERY, semaphore, ok ? *out_value : 0,
                                   ok ? NULL : hal_message(), 0);
    if (ok)
        see_value(capture, call.thread, semaphore, *out_value);
    capture_call_leave(&call);
    return call.status;
}

static enum hal_status semaphore_signal(struct hal_driver_device *self,
                                        struct hal_semaphore *semaphore, uint64_t value)
{
    struct capture *capture = capture_of(self);
    struct hal_driver_device *next = self->next;
    struct capture_call call = capture_call_enter(capture);
    if (!call.thread)
        return next->ops->semaphore_signal(next, semaphore, value);
    capture_mappings_collect(capture, call.thread);
    capture_call_take_ticket(&call);
    capture_call_begin(&call);
    capture_call_end(&call, next->ops->semaphore_signal(next, semaphore, value));
    if (call.status == HAL_OK)
        (void)capture_semaphore_raise(semaphore->object.layer_data, value);
    capture_record_semaphore_event(&call, TRACE_SEMAPHORE_SIGNAL, semaphore, value,
                                   call.status == HAL_OK ? NULL : hal_message(), 0);
    capture_call_leave(&call);
    return call.status;
}

static void semaphore_fail(struct hal_driver_device *self, struct hal_semaphore *semaphore,
                           enum hal_status status, const char *message)
{
    struct hal_driver_device *next = self->next;
    struct capture_call call = capture_call_enter(capture_of(self));
    if (!call.thread) {
        next->ops->semaphore_fail(next, semaphore, status, message);
        return;
    }
    struct capture_semaphore *known = semaphore->object.layer_data;
    if (known)
        atomic_store(&known->has_failed, true);
    capture_call_take_ticket(&call);
    capture_call_begin(&call);
    next->ops->semaphore_fail(next, semaphore, status, message);
    capture_call_end(&call, status);
    capture_record_semaphore_event(&call, TRACE_SEMAPHORE_FAIL, semaphore, 0, message, 0);
    capture_call_leave(&call);
}

/* Which of several values ended a wait for any of them, the driver does not say. The semaphores do:
 * each that was reached is recorded as if the application had asked for it, so that a replay waits
 * for the same ones. */
static void see_reached(struct capture *capture, struct capture_thread *thread,
                        const struct hal_semaphore_value *values, size_t count)
{
    struct hal_driver_device *next = capture->device.next;
    char message[HAL_MESSAGE_BYTES];
    capture_message_save(message);
    for (size_t i = 0; i < count; i++) {
        struct capture_call query = {.thread = thread};
        struct hal_semaphore *semaphore = values[i].semaphore;
        uint64_t value;
        capture_call_begin(&query);
        capture_call_end(&query, next->ops->semaphore_query(next, semaphore, &value));
        if (query.status != HAL_OK || value < values[i].value)
            continue;
        note_seen(capture, thread, semaphore, value, true);
        capture_call_take_ticket(&query);
        capture_record_semaphore_event(&query, TRACE_SEMAPHORE_QUERY, semaphore, value, NULL, 0);
        see_value(capture, thread, values[i].semaphore, value);
    }
    capture_message_restore(message);
}

static void see_values(struct capture *capture, struct capture_thread *thread,
                       enum hal_wait_mode mode, const struct hal_semaphore_value *values,
                       size_t count)
{
    if (mode == HAL_WAIT_ANY && count > 1) {
        see_reached(capture, thread, values, count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        see_value(capture, thread, values[i].semaphore, values[i].value);
}

/* Of a wait for any, the driver does not say which one: see_reached asks. */
static void note_waited(struct capture *capture, const struct capture_call *call,
                        enum hal_wait_mode mode, const struct hal_semaphore_value *values,
                        size_t count)
{
    const bool all = call->status == HAL_OK && (mode == HAL_WAIT_ALL || count == 1);
    const bool failed = call->status != HAL_OK && call->status != HAL_TIMEOUT;
    for (size_t i = 0; (all || failed) && i < count; i++)
        note_seen(capture, call->thread, values[i].semaphore, values[i].value, all);
}

static enum hal_status semaphores_wait(struct hal_driver_device *self, enum hal_wait_mode mode,
                                       const struct hal_semaphore_value *values, size_t count,
                                       int64_t timeout_ns)
{
    struct capture *capture = capture_of(self);
    struct hal_driver_device *next = self->next;
    struct capture_call call = capture_call_enter(capture);
    if (!call.thread)
        return next->ops->semaphores_wait(next, mode, values, count, timeout_ns);
    capture_nudge_writer(&capture->stream);
    capture_external_meet(capture, call.thread, values, count);
    capture_call_begin(&call);
    capture_call_end(&call, next->ops->semaphores_wait(next, mode, values, count, timeout_ns));
    note_waited(capture, &call, mode, values, count);
    capture_call_take_ticket(&call);
    capture_record_wait(&call, mode, values, count, timeout_ns);
    if (call.status == HAL_OK)
        see_values(capture, call.thread, mode, values, count);
    capture_call_leave(&call);
    return call.status;
}

/* ---- Submissions ---- */

/* Before the end is recorded: its waits were met, or one of them failed. */
static void note_waits(struct capture *capture, struct capture_thread *thread,
                       const struct capture_submission *submission, bool works)
{
    for (uint32_t i = 0; i < submission->wait_count; i++) {
        const struct capture_signal *wait = &submission->waits[i];
        if (works)
            capture_external_reached(thread, wait->object, wait->semaphore, wait->value);
        else
            capture_external_failed(capture, thread, wait->object, wait->semaphore);
    }
}

/* Others will see these for a reason that the trace knows. */
static void note_signals(const struct capture_submission *submission, bool works)
{
    for (uint32_t i = 0; i < submission->signal_count; i++) {
        struct capture_semaphore *semaphore = submission->signals[i].semaphore;
        if (works)
            (void)capture_semaphore_raise(semaphore, submission->signals[i].value);
        else if (semaphore)
            atomic_store(&semaphore->has_failed, true);
    }
}

/* On any thread, before the signals can be observed. */
static void retired(void *user, const struct hal_submission_result *result)
{
    struct capture_submission *submission = user;
    struct capture *capture = submission->capture;
    struct capture_thread *thread = capture_enter(&capture->stream);
    const bool works = result->status == HAL_OK;
    if (thread) {
        note_waits(capture, thread, submission, works);
        capture_record_done(thread, submission->id, submission->queue, result);
    }
    note_signals(submission, works);
    if (submission->retired)
        submission->retired(submission->user, result);
    capture_inflight_retire(submission, result->status == HAL_OK ? CAPTURE_SUBMISSION_DONE
                                                                 : CAPTURE_SUBMISSION_FAILED);
}

/* The bytes that come in are what the device writes, those that go out are seen by the host. Both
 * are recorded in between, so that a replay has them without the file. */
static enum hal_status host_call(void *user, void *data, uint64_t bytes)
{
    const struct capture_submission *submission = user;
    struct capture *capture = submission->capture;
    struct capture_call call = {.thread = capture_enter(&capture->stream)};
    struct capture_content content = {.kind = submission->host.writes ? TRACE_HOST_WRITE
                                                                      : TRACE_HOST_READ,
                                      .buffer = submission->buffer,
                                      .offset = submission->offset,
                                      .bytes = bytes,
                                      .data = data};
    if (submission->host.writes) {
        content.file = submission->file;
        content.file_offset = submission->file_offset;
    }
    if (call.thread) {
        call_at_once(&call);
        capture_call_take_ticket(&call);
        capture_record_host_call(&call, TRACE_HOST_CALL_BEGIN, submission->id, NULL);
    }
    if (call.thread && bytes && !submission->host.writes)
        capture_record_content(call.thread, &content);
    capture_call_begin(&call);
    capture_call_end(&call, submission->host.run(submission->host.user, data, bytes));
    if (!call.thread)
        return call.status;
    char message[HAL_MESSAGE_BYTES];
    capture_message_save(message);
    if (bytes && submission->host.writes && call.status == HAL_OK)
        capture_record_content(call.thread, &content);
    capture_call_take_ticket(&call);
    capture_record_host_call(&call, TRACE_HOST_CALL_END, submission->id,
                             call.status == HAL_OK ? NULL : message);
    capture_message_restore(message);
    return call.status;
}

static enum hal_status forward_submit(struct capture *capture, struct capture_call *call,
                                      const struct hal_submission *submission,
                                      struct capture_submission *entry)
{
    struct hal_driver_device *next = capture->device.next;
    struct hal_submission wrapped = *submission;
    entry->capture = capture;
    entry->id = submission->id;
    entry->queue = submission->queue;
    entry->retired = submission->retired;
    entry->user = submission->user;
    if (submission->host.run) {
        entry->host = submission->host;
        entry->buffer = submission->buffer->object.id;
        entry->offset = submission->offset;
        entry->file = capture_string(call->thread, submission->file);
        entry->file_offset = submission->file_offset;
        wrapped.host.run = host_call;
        wrapped.host.user = entry;
    }
    wrapped.retired = retired;
    wrapped.user = entry;
    capture_call_take_ticket(call);
    capture_call_begin(call);
    const enum hal_status status = next->ops->queue_submit(next, &wrapped);
    capture_call_end(call, status);
    if (status != HAL_OK)
        capture_inflight_retire(entry, CAPTURE_SUBMISSION_REFUSED);
    return status;
}

static enum hal_status queue_submit(struct hal_driver_device *self,
                                    const struct hal_submission *submission)
{
    struct capture *capture = capture_of(self);
    struct hal_driver_device *next = self->next;
    struct capture_call call = capture_call_enter(capture);
    struct capture_submission *entry = NULL;
    if (call.thread) {
        capture_external_meet(capture, call.thread, submission->waits, submission->wait_count);
        capture_external_meet(capture, call.thread, submission->signals, submission->signal_count);
        capture_mappings_collect(capture, call.thread);
        entry = capture_inflight_add(&capture->inflight, submission);
        if (!entry)
            out_of_memory(capture, "a submission");
    }
    if (!entry)
        return next->ops->queue_submit(next, submission);
    if (submission->operation == HAL_OPERATION_READ &&
        capture->stream.policy.files == CAPTURE_FILES_FAIL)
        capture_stop(&capture->stream, HAL_UNSUPPORTED,
                     "submission #s%llu reads file '%s', which device_profiling_files=fail forbids",
                     (unsigned long long)submission->id, submission->file);
    if (capture->records_stacks)
        call.stack = capture_stack(&capture->stacks, call.thread);
    const enum hal_status status = forward_submit(capture, &call, submission, entry);
    capture_record_submit(&call, submission);
    capture_nudge_writer(&capture->stream);
    capture_call_leave(&call);
    return status;
}

/* ---- Objects ---- */

static void forget_object(struct capture *capture, struct hal_object *object)
{
    switch (object->kind) {
    case HAL_OBJECT_BUFFER:
        capture_buffer_free(capture, (struct hal_buffer *)(void *)object);
        break;
    case HAL_OBJECT_COMMAND_BUFFER: capture_writes_release(object->layer_data); break;
    case HAL_OBJECT_SEMAPHORE: capture_semaphore_release(object->layer_data); break;
    case HAL_OBJECT_EXECUTABLE:
    case HAL_OBJECT_EVENT:
    case HAL_OBJECT_SUBSPAN:
    case HAL_OBJECT_SET_LAYOUT:
    case HAL_OBJECT_PIPELINE_LAYOUT: break;
    }
    object->layer_data = NULL;
}

static enum trace_event_kind destroy_kind(enum hal_object_kind kind)
{
    switch (kind) {
    case HAL_OBJECT_BUFFER: return TRACE_BUFFER_DESTROY;
    case HAL_OBJECT_EXECUTABLE: return TRACE_EXECUTABLE_DESTROY;
    case HAL_OBJECT_COMMAND_BUFFER: return TRACE_COMMAND_BUFFER_DESTROY;
    case HAL_OBJECT_SEMAPHORE: return TRACE_SEMAPHORE_DESTROY;
    case HAL_OBJECT_EVENT: return TRACE_EVENT_DESTROY;
    case HAL_OBJECT_SUBSPAN: return TRACE_SUBSPAN_DESTROY;
    case HAL_OBJECT_SET_LAYOUT: return TRACE_SET_LAYOUT_DESTROY;
    case HAL_OBJECT_PIPELINE_LAYOUT: return TRACE_PIPELINE_LAYOUT_DESTROY;
    }
    return TRACE_BUFFER_DESTROY;
}

static void object_destroy(struct hal_driver_device *self, struct hal_object *object)
{
    struct capture *capture = capture_of(self);
    struct hal_driver_device *next = self->next;
    struct capture_call call = capture_call_enter(capture);
    const enum trace_event_kind kind = destroy_kind(object->kind);
    const struct hal_object gone = {.id = object->id};
    if (call.thread || !capture_stream_forked(&capture->stream))
        forget_object(capture, object);
    if (call.thread)
        capture_call_take_ticket(&call);
    next->ops->object_destroy(next, object);
    if (!call.thread)
        return;
    call_at_once(&call);
    capture_record_object(&call, kind, &gone, NULL, 0);
    capture_call_leave(&call);
}

static void forget_live_object(void *user, struct hal_object *object)
{
    forget_object(user, object);
}

void capture_forget_objects(struct capture *capture)
{
    capture->core.each_object(capture->handle, forget_live_object, capture);
}

/* ---- Scopes ---- */

static void scope(struct hal_driver_device *self, const char *name)
{
    struct hal_driver_device *next = self->next;
    struct capture_thread *thread = capture_enter(&capture_of(self)->stream);
    if (thread)
        capture_record_scope(thread, name);
    if (next->ops->scope)
        next->ops->scope(next, name);
}

const struct hal_driver_ops capture_ops = {
    .device_destroy = device_destroy,
    .device_query = device_query,
    .device_wait_idle = device_wait_idle,
    .buffer_create = buffer_create,
    .buffer_import = buffer_import,
    .buffer_map = buffer_map,
    .buffer_unmap = buffer_unmap,
    .mapping_flush = mapping_flush,
    .mapping_invalidate = mapping_invalidate,
    .executable_create = executable_create,
    .command_buffer_created = command_buffer_created,
    .command_buffer_prepare = command_buffer_prepare,
    .object_created = object_created,
    .semaphore_create = semaphore_create,
    .semaphore_query = semaphore_query,
    .semaphore_signal = semaphore_signal,
    .semaphore_fail = semaphore_fail,
    .semaphores_wait = semaphores_wait,
    .queue_submit = queue_submit,
    .queue_flush = queue_flush,
    .object_destroy = object_destroy,
    .scope = scope,
};
