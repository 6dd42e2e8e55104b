/* SPDX-License-Identifier: Apache-2.0 */
/* One call through the layer: when it began and ended, and what recording it cost. */
#include "capture/capture.h"

#include "capture/stream/threads.h"
#include "hal/base/message.h"

enum { MEASURE_EVERY = 16 };

struct capture_call capture_call_enter(struct capture *capture)
{
    struct capture_call call = {.thread = capture_enter(&capture->stream)};
    if (call.thread && call.thread->calls++ % MEASURE_EVERY == 0) {
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

/* What the application can read now may be another message when the call's records are made. */
void capture_call_result(struct capture_call *call, const char *function, enum hal_status status)
{
    capture_call_end(call, status);
    if (status == HAL_OK || status == HAL_TIMEOUT)
        return;
    const struct hal_kept_message kept = hal_keep_message();
    call->function = capture_string(call->thread, function);
    call->message = capture_message(call->thread, kept.text);
    hal_restore_message(&kept, HAL_FAILED);
}

/* Use instead of begin/end for calls too short to time: both stamps are equal. */
void capture_call_at_once(struct capture_call *call)
{
    call->begin_ns = call->end_ns = hal_clock_ns();
}

/* Contents and ends of command buffers are measured each time: they differ too much to sample. */
void capture_call_leave(struct capture_call *call)
{
    if (call->message)
        capture_record_failure(call);
    if (!call->entered_ns)
        return;
    struct capture_thread *thread = call->thread;
    const int64_t inside_ns = call->end_ns - call->begin_ns;
    const int64_t exact_ns = (int64_t)(thread->measured_ns - call->measured_before_ns);
    const int64_t spent_ns = hal_clock_ns() - call->entered_ns - inside_ns - exact_ns;
    if (spent_ns > 0)
        atomic_fetch_add_explicit(&thread->overhead_ns, (uint64_t)spent_ns * MEASURE_EVERY,
                                  memory_order_relaxed);
}

void capture_call_measure(struct capture_thread *thread, int64_t begin_ns)
{
    const uint64_t spent_ns = (uint64_t)(hal_clock_ns() - begin_ns);
    thread->measured_ns += spent_ns;
    atomic_fetch_add_explicit(&thread->overhead_ns, spent_ns, memory_order_relaxed);
}

void capture_no_memory(struct capture *capture, const char *what)
{
    capture_stop(&capture->stream, HAL_NO_MEMORY, "no memory to record %s", what);
}
