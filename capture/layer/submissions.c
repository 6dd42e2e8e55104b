/* SPDX-License-Identifier: Apache-2.0 */
/* Submissions, from the call to the end of the work. */
#include "capture/layer/ops.h"

#include "capture/stream/threads.h"
#include "hal/base/message.h"

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

/* Others will observe these for a reason known to the trace. */
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
    capture_outputs_retire(capture, thread, submission, works);
    if (thread) {
        note_waits(capture, thread, submission, works);
        capture_record_times(thread, submission->id, submission->queue, result);
        capture_record_done(thread, submission->id, submission->queue, result);
    }
    note_signals(submission, works);
    if (submission->retired)
        submission->retired(submission->user, result);
    capture_inflight_retire(&capture->inflight, submission,
                            works ? CAPTURE_SUBMISSION_DONE : CAPTURE_SUBMISSION_FAILED);
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
        capture_call_at_once(&call);
        capture_call_take_ticket(&call);
        capture_record_host_call(&call, TRACE_HOST_CALL_BEGIN, submission->id, NULL);
    }
    if (call.thread && submission->path && submission->host.writes)
        capture_record_file(call.thread, submission->path, submission->file);
    if (call.thread && bytes && !submission->host.writes)
        capture_record_content(call.thread, &content);
    capture_call_begin(&call);
    capture_call_end(&call, submission->host.run(submission->host.user, data, bytes));
    if (!call.thread)
        return call.status;
    const struct hal_kept_message kept = hal_keep_message();
    if (bytes && submission->host.writes && call.status == HAL_OK)
        capture_record_content(call.thread, &content);
    capture_call_take_ticket(&call);
    capture_record_host_call(&call, TRACE_HOST_CALL_END, submission->id,
                             call.status == HAL_OK ? NULL : kept.text);
    hal_restore_message(&kept, HAL_FAILED);
    return call.status;
}

/* What other ranks send is in no trace of this device: both sides of its part are recorded, so that
 * a replay has what it received, and compares what it sends. On the thread that moves the data. */
static void begin_collective(struct capture_call *call, struct capture_submission *submission)
{
    capture_call_at_once(call);
    capture_call_take_ticket(call);
    capture_record_host_call(call, TRACE_HOST_CALL_BEGIN, submission->id, NULL);
    submission->met = true;
}

static void collective_begins(void *user, const struct hal_collective_work *work, const void *sent)
{
    struct capture_submission *submission = user;
    struct capture *capture = submission->capture;
    struct capture_call call = {.thread = capture_enter(&capture->stream)};
    const struct capture_content content = {.kind = TRACE_HOST_READ,
                                            .buffer = work->send ? work->send->object.id : 0,
                                            .offset = work->send_offset,
                                            .bytes = work->send_bytes,
                                            .data = sent};
    if (!call.thread)
        return;
    begin_collective(&call, submission);
    if (content.bytes)
        capture_record_content(call.thread, &content);
}

static void collective_ends(void *user, const struct hal_collective_work *work,
                            const void *received, enum hal_status status, const char *message)
{
    struct capture_submission *submission = user;
    struct capture *capture = submission->capture;
    struct capture_call call = {.thread = capture_enter(&capture->stream), .status = status};
    const struct capture_content content = {.kind = TRACE_HOST_WRITE,
                                            .buffer = work->receive ? work->receive->object.id : 0,
                                            .offset = work->receive_offset,
                                            .bytes = work->receive_bytes,
                                            .data = received};
    if (!call.thread)
        return;
    if (!submission->met) {
        call.status = HAL_OK;
        begin_collective(&call, submission);
        call.status = status;
    }
    capture_call_at_once(&call);
    capture_call_take_ticket(&call);
    capture_record_collective(&call, submission->id, work);
    if (content.bytes && status == HAL_OK)
        capture_record_content(call.thread, &content);
    capture_call_take_ticket(&call);
    capture_record_host_call(&call, TRACE_HOST_CALL_END, submission->id,
                             status == HAL_OK ? NULL : message);
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
        entry->path = submission->file;
        entry->file_offset = submission->file_offset;
        wrapped.host.run = host_call;
        wrapped.host.user = entry;
    }
    struct hal_collective_work work;
    if (submission->collective) {
        work = *submission->collective;
        work.begins = collective_begins;
        work.ends = collective_ends;
        work.user = entry;
        entry->met = false;
        wrapped.collective = &work;
    }
    wrapped.time_dispatches = capture->times_dispatches;
    wrapped.retired = retired;
    wrapped.user = entry;
    capture_outputs_prepare(capture, entry, &wrapped);
    const bool is_open = entry->is_open;
    capture_inflight_hand_over(entry);
    capture_call_take_ticket(call);
    capture_call_begin(call);
    const enum hal_status status = next->ops->queue_submit(next, &wrapped);
    capture_call_result(call, "hal_queue_submit", status);
    capture_outputs_submitted(&wrapped, submission);
    if (status != HAL_OK) {
        capture_outputs_retire(capture, NULL, entry, false);
        capture_inflight_retire(&capture->inflight, entry, CAPTURE_SUBMISSION_REFUSED);
    } else if (!is_open)
        capture_inflight_promise(&capture->inflight, submission);
    return status;
}

enum hal_status capture_op_queue_submit(struct hal_driver_device *self,
                                        const struct hal_submission *submission)
{
    struct capture *capture = capture_of(self);
    struct hal_driver_device *next = self->next;
    struct capture_call call = capture_call_enter(capture);
    struct capture_submission *entry = NULL;
    if (call.thread) {
        capture_external_meet(capture, call.thread, submission->waits, submission->wait_count);
        capture_external_meet(capture, call.thread, submission->signals, submission->signal_count);
        entry = capture_inflight_add(&capture->inflight, submission);
        if (entry)
            capture_mappings_collect_used(capture, call.thread, entry);
        else
            capture_no_memory(capture, "a submission");
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
    capture_wake_writer_if_asleep(&capture->stream);
    capture_call_leave(&call);
    return status;
}

void capture_op_queue_flush(struct hal_driver_device *self, uint64_t queues)
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
