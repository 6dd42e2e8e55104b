/* SPDX-License-Identifier: Apache-2.0 */
/* The capture layer's state and internal interfaces. */
#ifndef CAPTURE_CAPTURE_H
#define CAPTURE_CAPTURE_H

#include "capture/encode/stacks.h"
#include "capture/stream/stream.h"
#include "capture/track/inflight.h"
#include "capture/track/mappings.h"
#include "capture/track/outputs.h"
#include "hal/driver.h"

/* State of a flight recorder (recorder.h). */
struct capture_flight_recorder {
    struct hal_profiling_options options;
    char *file, *window;
};

struct capture {
    struct hal_driver_device device; /* first: the layer's device */
    struct hal_layer layer;
    struct hal_core core;
    struct hal_device *handle;
    struct capture_stream stream;
    struct capture_external external;
    struct capture_inflight inflight;
    struct capture_mappings mappings;
    struct capture_outputs outputs;
    struct capture_stacks stacks;
    struct capture_flight_recorder flight_recorder;
    struct hal_driver_ops ops; /* capture_ops plus entries that only some captures need */
    bool records_stacks;
    bool times_dispatches;
};

extern const struct hal_driver_ops capture_ops;

static inline struct capture *capture_of(struct hal_driver_device *device)
{
    return (struct capture *)device;
}

/* ---- One call ----------------------------------------------------------------------------- */

/* Timing and order of a call. The layer follows the rule of format/record.h: calls with effects on
 * others take their ticket before the driver's call, calls that observe others take it after. */
struct capture_call {
    struct capture_thread *thread; /* NULL: the call is forwarded only */
    uint64_t ticket;
    int64_t begin_ns, end_ns;
    uint32_t stack;
    enum hal_status status;
    uint32_t function, message; /* strings of a failed call: function and reason; 0: it succeeded */
    /* Overhead: calls are sampled, and a sampled call is timed as a whole. */
    int64_t entered_ns;
    uint64_t measured_before_ns;
};

struct capture_call capture_call_enter(struct capture *capture);

/* Call these immediately before and after the driver's call. */
void capture_call_begin(struct capture_call *call);
void capture_call_end(struct capture_call *call, enum hal_status status);
/* Use instead of capture_call_end to record the message of a failed call as well, on leave. */
void capture_call_result(struct capture_call *call, const char *function, enum hal_status status);

/* Use instead of begin and end for calls too short to time: both timestamps are equal. */
void capture_call_at_once(struct capture_call *call);

/* Call this after the last record of the call. */
void capture_call_leave(struct capture_call *call);

/* Measures work whose cost varies too much to be sampled: every occurrence is timed. */
void capture_call_measure(struct capture_thread *thread, int64_t begin_ns);

/* Stops the recording but not the application. */
void capture_no_memory(struct capture *capture, const char *what);

static inline void capture_call_take_ticket(struct capture_call *call)
{
    call->ticket = capture_ticket(call->thread->stream);
}

/* ---- Contents (contents.c) ---------------------------------------------------------------- */

struct capture_content {
    uint16_t kind; /* TRACE_HOST_WRITE, TRACE_HOST_READ or TRACE_MAPPED_CHANGE */
    uint32_t flags;
    uint64_t buffer;
    uint64_t offset, bytes;
    const void *data;
    const void *before; /* for a change: the old bytes; NULL: unknown */
    /* Detects host stores into memory while it is read in place: pieces with stores become changes
     * without the bytes before. NULL: stores are not detected. */
    const struct capture_pages *watched_by;
    uint32_t file; /* string: the file from which a queue read the bytes; 0: none */
    uint64_t file_offset;
    enum capture_detail detail; /* set by capture_record_content */
};

/* Records the current bytes, or what policy and budget allow of them, in pieces with one ticket. */
void capture_record_content(struct capture_thread *thread, const struct capture_content *content);

/* The same, and also copies them to `target`, even if recording fails. */
void capture_record_store(struct capture_thread *thread, const struct capture_content *content,
                          uint8_t *target);

/* Largest piece that may be staged at once. capture_budget_allows reserves `bytes` of the content
 * budget; false: it is exhausted. */
uint64_t capture_piece_bytes(const struct capture_stream *stream);
bool capture_budget_allows(struct capture_stream *stream, uint64_t bytes);

/* Records the file that a queue is about to read from (files.c); `name` is its path. Blocks. */
void capture_record_file(struct capture_thread *thread, const char *path, uint32_t name);

/* Most entries in one record of times or command stacks, so that it fits into the smallest ring. */
enum { CAPTURE_MOST_TIMES = 1024 };

/* ---- Records (encode*.c) ------------------------------------------------------------------ */

void capture_record_object(const struct capture_call *call, enum trace_event_kind kind,
                           const struct hal_object *object, const char *label);
void capture_record_command_buffer(const struct capture_call *call,
                                   const struct hal_command_buffer *commands);
/* Records the creation of an object that the core made itself. */
void capture_record_own_object(const struct capture_call *call, const struct hal_object *object);
void capture_record_buffer(const struct capture_call *call, const struct hal_buffer_desc *desc,
                           const struct hal_buffer *buffer, uint32_t flags);
void capture_record_subspan(const struct capture_call *call, const struct hal_buffer *subspan,
                            uint32_t flags);
void capture_record_mapping(const struct capture_call *call, enum trace_event_kind kind,
                            const struct hal_mapping *mapping, uint64_t number, uint64_t offset,
                            uint64_t bytes);
/* `next` made the executable and reflects its bindings; NULL: creation failed. */
void capture_record_executable(const struct capture_call *call, struct hal_driver_device *next,
                               const struct hal_executable_desc *desc,
                               struct hal_executable *executable, uint32_t flags);
/* Records that a successful call is too large for a trace; recording continues. `name`: the HAL
 * function; `ticket`: the call's, unless another record has it. */
void capture_record_unsupported(const struct capture_call *call, uint64_t ticket, uint64_t object,
                                const char *name, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void capture_record_command_buffer_end(const struct capture_call *call,
                                       const struct hal_command_buffer *commands,
                                       const struct capture_survey *survey, uint32_t flags);
void capture_record_semaphore(const struct capture_call *call, const char *label,
                              const struct hal_semaphore *semaphore, uint64_t value,
                              uint32_t flags);
void capture_record_semaphore_event(const struct capture_call *call, enum trace_event_kind kind,
                                    const struct hal_semaphore *semaphore, uint64_t value,
                                    const char *message, uint32_t flags);
void capture_record_wait(const struct capture_call *call, enum hal_wait_mode mode,
                         const struct hal_semaphore_value *values, size_t count,
                         int64_t timeout_ns);
void capture_record_wait_idle(const struct capture_call *call, int64_t timeout_ns);
void capture_record_submit(const struct capture_call *call,
                           const struct hal_submission *submission);
void capture_record_host_call(const struct capture_call *call, enum trace_event_kind kind,
                              uint64_t submission, const char *message);
void capture_record_collective(const struct capture_call *call, uint64_t submission,
                               const struct hal_collective_work *work);
void capture_record_failure(const struct capture_call *call);
void capture_record_flush(const struct capture_call *call, uint64_t queues);
void capture_record_times(struct capture_thread *thread, uint64_t submission, uint32_t queue,
                          const struct hal_submission_result *result);
void capture_record_done(struct capture_thread *thread, uint64_t submission, uint32_t queue,
                         const struct hal_submission_result *result);
void capture_record_scope(struct capture_thread *thread, const char *name);

/* ---- Late begin (snapshot.c) -------------------------------------------------------------- */

/* True if the device has live objects. */
bool capture_snapshot_needed(const struct capture *capture);

/* Records the live objects and their contents. Blocks. */
enum hal_status capture_snapshot(struct capture *capture) HAL_CHECKED;

/* Frees the layer's data of live objects. */
void capture_forget_objects(struct capture *capture);

#endif
