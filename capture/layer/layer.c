/* SPDX-License-Identifier: Apache-2.0 */
/* The layer's function table: each entry calls the next driver and records the call. The
 * application gets the driver's own result, whatever becomes of the recording. */
#include "capture/layer/ops.h"

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
    capture_call_result(&call, "hal_device_wait_idle",
                        next->ops->device_wait_idle(next, timeout_ns));
    capture_call_take_ticket(&call);
    capture_record_wait_idle(&call, timeout_ns);
    if (call.status == HAL_OK)
        capture_mappings_see_all(capture, call.thread, number);
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
    capture_call_result(&call, "hal_executable_create",
                        next->ops->executable_create(next, desc, out));
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
    capture_call_at_once(&call);
    capture_call_take_ticket(&call);
    capture_record_command_buffer(&call, commands);
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
    capture_call_at_once(&call);
    capture_call_take_ticket(&call);
    if (object->kind == HAL_OBJECT_SUBSPAN)
        capture_record_subspan(&call, (const struct hal_buffer *)(void *)object, 0);
    else
        capture_record_own_object(&call, object);
    capture_call_leave(&call);
}

enum { FEW_COMMANDS = 64 };

static enum hal_status command_buffer_prepare(struct hal_driver_device *self,
                                              struct hal_command_buffer *commands)
{
    struct capture *capture = capture_of(self);
    struct hal_driver_device *next = self->next;
    struct capture_call call = capture_call_enter(capture);
    if (!call.thread) {
        capture_lose(&capture->stream, commands->command_count);
        return next->ops->command_buffer_prepare(next, commands);
    }
    capture_call_begin(&call);
    capture_call_result(&call, "hal_command_buffer_end",
                        next->ops->command_buffer_prepare(next, commands));
    capture_call_take_ticket(&call);
    if (call.status == HAL_OK) {
        bool failed;
        struct capture_survey survey;
        const bool exact = !capture_nothing_is_tracked(&capture->mappings);
        commands->object.layer_data =
            capture_access_ranges_create(commands, exact, &survey, &failed);
        if (failed)
            capture_no_memory(capture, "what a command buffer writes");
        capture_record_command_buffer_end(&call, commands, &survey, 0);
    }
    if (commands->command_count > FEW_COMMANDS) /* else it can be sampled */
        capture_call_measure(call.thread, call.end_ns);
    capture_call_leave(&call);
    return call.status;
}

/* ---- Objects ---- */

static void forget_object(struct capture *capture, struct hal_object *object)
{
    switch (object->kind) {
    case HAL_OBJECT_BUFFER:
        capture_buffer_free(capture, (struct hal_buffer *)(void *)object);
        break;
    case HAL_OBJECT_COMMAND_BUFFER: capture_access_ranges_release(object->layer_data); break;
    case HAL_OBJECT_SEMAPHORE: capture_semaphore_release(object->layer_data); break;
    case HAL_OBJECT_EXECUTABLE:
    case HAL_OBJECT_EVENT:
    case HAL_OBJECT_SUBSPAN:
    case HAL_OBJECT_SET_LAYOUT:
    case HAL_OBJECT_PIPELINE_LAYOUT:
    case HAL_OBJECT_CHANNEL: break;
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
    case HAL_OBJECT_CHANNEL: return TRACE_CHANNEL_DESTROY;
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
    capture_call_at_once(&call);
    capture_record_object(&call, kind, &gone, NULL);
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

/* ---- Notes ---- */

/* Where the application records a command: a number of the stack. */
uint32_t capture_op_note_command(struct hal_driver_device *self,
                                 const struct hal_command_buffer *commands)
{
    struct capture *capture = capture_of(self);
    struct capture_thread *thread = capture_enter(&capture->stream);
    (void)commands;
    if (!thread)
        return 0;
    const int64_t begin_ns = hal_clock_ns();
    const uint32_t stack = capture_stack(&capture->stacks, thread);
    capture_call_measure(thread, begin_ns);
    return stack;
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
    .buffer_create = capture_op_buffer_create,
    .buffer_import = capture_op_buffer_import,
    .buffer_map = capture_op_buffer_map,
    .buffer_unmap = capture_op_buffer_unmap,
    .mapping_store = capture_op_mapping_store,
    .mapping_flush = capture_op_mapping_flush,
    .mapping_invalidate = capture_op_mapping_invalidate,
    .executable_create = executable_create,
    .command_buffer_created = command_buffer_created,
    .command_buffer_prepare = command_buffer_prepare,
    .object_created = object_created,
    .semaphore_create = capture_op_semaphore_create,
    .semaphore_query = capture_op_semaphore_query,
    .semaphore_signal = capture_op_semaphore_signal,
    .semaphore_fail = capture_op_semaphore_fail,
    .semaphores_wait = capture_op_semaphores_wait,
    .queue_submit = capture_op_queue_submit,
    .queue_flush = capture_op_queue_flush,
    .object_destroy = object_destroy,
    .scope = scope,
};
