/* SPDX-License-Identifier: Apache-2.0 */
/* Converts the file's events to a plan's operations, one by one in ticket order, and trusts nothing
 * that can be checked. Used only by loading. */
#ifndef REPLAY_DECODE_H
#define REPLAY_DECODE_H

#include "hal/base/idmap.h"
#include "replay/plan/plan.h"

/* An unchecked event in the plan's memory. */
struct replay_gathered {
    uint64_t ticket;
    struct trace_event *event;
    struct trace_segment *segments; /* of a seal */
};

/* How a submission ended, according to the trace. */
struct replay_done {
    int64_t end_ns; /* 0: unknown */
    uint16_t status;
    uint32_t message; /* string, of a failure */
};

/* A submission that failed before the plan shows it: by its device, or a host call not begun. */
struct replay_lost {
    size_t op;
    struct replay_done done;
};

struct replay_decoder {
    struct replay_plan *plan;
    struct hal_idmap objects;     /* recorded id to index */
    struct hal_idmap contents;    /* content number to index */
    struct hal_idmap submissions; /* ids seen in submit events (the index is unused) */
    struct hal_idmap left_out;    /* ids of objects that the trace could not hold */
    struct hal_idmap done_ids;    /* submission id to index into `done` */
    struct hal_idmap begun_ids;   /* of submissions whose host call began */
    struct hal_idmap calling_ids; /* thread to index into `calling` */
    uint32_t *calling;            /* by thread: the gate of the host call that it makes; 0: none */
    size_t calling_count, calling_capacity;
    struct replay_done *done;
    size_t done_count, done_capacity;
    uint64_t live_buffer_bytes;
    size_t *unawaited; /* ops of submissions that no wait_idle has covered yet */
    size_t unawaited_count, unawaited_capacity;
    uint64_t idle_work;       /* steps spent on overlapping wait_idle calls */
    struct replay_lost *lost; /* in call order */
    size_t lost_count, lost_capacity;
    uint64_t loss_work; /* steps spent on them */
};

/* Record how a submission ended, and that its host call began; call before any replay_decode. */
enum hal_status replay_decode_done(struct replay_decoder *decoder,
                                   const struct trace_submission_done *done) HAL_CHECKED;
enum hal_status replay_decode_begun(struct replay_decoder *decoder,
                                    const struct trace_host_call *begin) HAL_CHECKED;

/* Checks and renumbers one event and appends its operations. On failure the plan is unchanged. */
enum hal_status replay_decode(struct replay_decoder *decoder,
                              const struct replay_gathered *gathered) HAL_CHECKED;

/* Parts of replay_decode. They convert an id to the index of a living object of that kind, or of a
 * buffer that contains [offset, offset + size). `segments` belong to a seal. */
enum hal_status replay_decode_use(struct replay_decoder *decoder, enum replay_kind kind,
                                  uint64_t *id, struct replay_object **out_object) HAL_CHECKED;
enum hal_status replay_decode_range(struct replay_decoder *decoder, uint64_t *buffer,
                                    uint64_t offset, uint64_t size,
                                    struct replay_object **out_buffer) HAL_CHECKED;
enum hal_status replay_decode_segments(struct replay_decoder *decoder,
                                       const struct trace_command_buffer_seal *seal,
                                       struct trace_segment *segments) HAL_CHECKED;

/* Adds an object: converts its id to its index. */
enum hal_status replay_decode_add(struct replay_decoder *decoder, enum replay_kind kind,
                                  uint64_t *id, const struct trace_event *created) HAL_CHECKED;
/* Converts the number of a content of that size to its index. */
enum hal_status replay_decode_content(struct replay_decoder *decoder, uint64_t *content,
                                      uint64_t size) HAL_CHECKED;

enum hal_status replay_decode_executable(struct replay_decoder *decoder,
                                         struct trace_executable_create *event) HAL_CHECKED;
enum hal_status replay_decode_set_layout(struct replay_decoder *decoder,
                                         struct trace_set_layout_create *event) HAL_CHECKED;
enum hal_status replay_decode_pipeline_layout(
    struct replay_decoder *decoder, struct trace_pipeline_layout_create *event) HAL_CHECKED;
enum hal_status replay_decode_layout_destroy(struct replay_decoder *decoder, enum replay_kind kind,
                                             struct trace_object_event *event) HAL_CHECKED;

enum hal_status replay_decode_signal(struct replay_decoder *decoder,
                                     struct trace_semaphore_event *event) HAL_CHECKED;
enum hal_status replay_decode_fail(struct replay_decoder *decoder,
                                   struct trace_semaphore_event *event) HAL_CHECKED;
enum hal_status replay_decode_query(struct replay_decoder *decoder,
                                    struct trace_semaphore_event *event) HAL_CHECKED;
enum hal_status replay_decode_wait(struct replay_decoder *decoder,
                                   struct trace_semaphore_wait *event) HAL_CHECKED;
enum hal_status replay_decode_wait_idle(struct replay_decoder *decoder,
                                        const struct trace_wait_idle *event) HAL_CHECKED;
/* Replays a host call between its two events, while the submission waits. */
enum hal_status replay_decode_host_call(struct replay_decoder *decoder,
                                        const struct trace_host_call *event) HAL_CHECKED;
/* Names the host call to which a thread's next contents belong. */
enum hal_status replay_decode_collective(struct replay_decoder *decoder,
                                         const struct trace_collective *event) HAL_CHECKED;
/* Appends a write or a read, which belongs to its thread's host call, if any. */
enum hal_status replay_decode_transfer(struct replay_decoder *decoder, enum replay_action action,
                                       const struct trace_content_event *event) HAL_CHECKED;
/* The host call of a submission failed before it began: no thread was left, or a wait failed. */
enum hal_status replay_decode_uncalled(struct replay_decoder *decoder,
                                       const struct trace_submit *held,
                                       const struct replay_done *done) HAL_CHECKED;
enum hal_status replay_decode_submit(struct replay_decoder *decoder,
                                     struct trace_submit *event) HAL_CHECKED;

/* The last operation is a submission that ended with its device; a lost device refused one and
 * failed its signals. Call before each event, and with NULL after the last: fails the signals of
 * those submissions that will never signal. */
enum hal_status replay_decode_lost(struct replay_decoder *decoder, uint64_t submission,
                                   const struct replay_done *done) HAL_CHECKED;
enum hal_status replay_decode_refused(struct replay_decoder *decoder,
                                      const struct trace_submit *event) HAL_CHECKED;
/* Notes that the trace shows a lost device, from this submission or calls alone (UINT64_MAX). */
void replay_decode_note_loss(struct replay_decoder *decoder, uint64_t submission);
enum hal_status replay_decode_losses(struct replay_decoder *decoder,
                                     const struct trace_event *event) HAL_CHECKED;

/* Decode the digests of what submissions wrote (a capture with outputs=all): one record; and, after
 * the last event, sort them into submission order. */
enum hal_status replay_decode_written(struct replay_decoder *decoder,
                                      struct trace_submission_outputs *event) HAL_CHECKED;
void replay_order_written(struct replay_plan *plan);

/* Call after the last event of an incomplete trace: ends the plan before the first operation that
 * waits for something that never happens, so that no such operation is left. */
enum hal_status replay_decode_cut(struct replay_plan *plan) HAL_CHECKED;

/* Shared helpers, in decoder.c. `what` is a plural; NULL: no end of the submission in the trace. */
enum hal_status replay_decode_push(struct replay_decoder *decoder, enum replay_action action,
                                   uint64_t object, const struct trace_event *event) HAL_CHECKED;
enum hal_status replay_decode_no_memory(const char *what) HAL_CHECKED;
const struct replay_done *replay_decode_find_done(const struct replay_decoder *decoder,
                                                  uint64_t submission);

void replay_decode_note_constants(struct replay_decoder *decoder, uint32_t bytes);

void replay_decoder_finish(struct replay_decoder *decoder);

#endif
