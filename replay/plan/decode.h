/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the file's events into a plan's operations, one after the other in the order of tickets,
 * and believes nothing that it can check. Used by loading alone. */
#ifndef REPLAY_DECODE_H
#define REPLAY_DECODE_H

#include "hal/base/idmap.h"
#include "replay/plan/plan.h"

/* An event in the plan's memory, not yet checked. */
struct replay_gathered {
    uint64_t ticket;
    struct trace_event *event;
    struct trace_segment *segments; /* of a seal */
};

/* How a submission ended, as far as the trace tells. */
struct replay_done {
    int64_t end_ns; /* 0: unknown */
    uint16_t status;
    uint32_t message; /* string, of a failure */
};

/* A submission that ended with its device, before anything in the plan tells. */
struct replay_lost {
    size_t op;
    int64_t end_ns;
    uint32_t message;
};

struct replay_decoder {
    struct replay_plan *plan;
    struct hal_idmap objects;     /* recorded id to index */
    struct hal_idmap contents;    /* content number to index */
    struct hal_idmap submissions; /* ids seen in submit events (the index means nothing) */
    struct hal_idmap left_out;    /* ids of objects that the trace could not hold */
    struct hal_idmap done_ids;    /* submission id to index into `done` */
    struct replay_done *done;
    size_t done_count, done_capacity;
    uint64_t live_buffer_bytes;
    size_t *unsettled; /* ops of submissions that no wait_idle has covered yet */
    size_t unsettled_count, unsettled_capacity;
    uint64_t idle_work;       /* steps that overlapping wait_idle calls have cost */
    struct replay_lost *lost; /* in the order of the calls */
    size_t lost_count, lost_capacity;
    uint64_t loss_work; /* looks at them */
};

/* Remembers how a submission ended; before any replay_decode. */
enum hal_status replay_decode_done(struct replay_decoder *decoder,
                                   const struct trace_submission_done *done) HAL_CHECKED;

/* Checks and renumbers one event and appends its operations. A failure leaves the plan as it was
 * and its message names the event. */
enum hal_status replay_decode(struct replay_decoder *decoder,
                              const struct replay_gathered *gathered) HAL_CHECKED;

/* Parts of replay_decode. An id becomes an index: of a living object of that kind, of a buffer
 * that holds [offset, offset + size). The segments are those of a seal. */
enum hal_status replay_decode_use(struct replay_decoder *decoder, enum replay_kind kind,
                                  uint64_t *id, struct replay_object **out_object) HAL_CHECKED;
enum hal_status replay_decode_range(struct replay_decoder *decoder, uint64_t *buffer,
                                    uint64_t offset, uint64_t size,
                                    struct replay_object **out_buffer) HAL_CHECKED;
enum hal_status replay_decode_segments(struct replay_decoder *decoder,
                                       const struct trace_command_buffer_seal *seal,
                                       struct trace_segment *segments) HAL_CHECKED;

/* A new object: its id becomes its index. */
enum hal_status replay_decode_add(struct replay_decoder *decoder, enum replay_kind kind,
                                  uint64_t *id, const struct trace_event *created) HAL_CHECKED;
/* The number of a content of that size becomes its index. */
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
/* A host call is replayed here, between its two events, while the submission waits. */
enum hal_status replay_decode_host_call(struct replay_decoder *decoder,
                                        const struct trace_host_call *event) HAL_CHECKED;
enum hal_status replay_decode_submit(struct replay_decoder *decoder,
                                     struct trace_submit *event) HAL_CHECKED;

/* The last operation is a submission that ended with its device; a lost device refused one, and
 * failed what it was to signal. Before each event, and with NULL after the last: fails what the
 * former were to signal and never will. */
enum hal_status replay_decode_lost(struct replay_decoder *decoder, uint64_t submission,
                                   const struct replay_done *done) HAL_CHECKED;
enum hal_status replay_decode_refused(struct replay_decoder *decoder,
                                      const struct trace_submit *event) HAL_CHECKED;
/* For who reads the plan: the trace tells that the device was lost, by this submission, or by calls
 * alone (UINT64_MAX). */
void replay_decode_note_loss(struct replay_decoder *decoder, uint64_t submission);
enum hal_status replay_decode_losses(struct replay_decoder *decoder,
                                     const struct trace_event *event) HAL_CHECKED;

/* Digests of what submissions had written (a capture with outputs=all): one record; and, after the
 * last event, into the order of submissions. */
enum hal_status replay_decode_written(struct replay_decoder *decoder,
                                      struct trace_submission_outputs *event) HAL_CHECKED;
void replay_order_written(struct replay_plan *plan);

/* After the last event of a trace that lacks some: ends the plan before what waits for something
 * that never comes, and leaves nothing in it that does. */
enum hal_status replay_decode_cut(struct replay_plan *plan) HAL_CHECKED;

/* What they share, in decoder.c. `what` is a plural; NULL when the trace did not see the submission
 * end. */
enum hal_status replay_decode_push(struct replay_decoder *decoder, enum replay_action action,
                                   uint64_t object, const struct trace_event *event) HAL_CHECKED;
enum hal_status replay_decode_no_memory(const char *what) HAL_CHECKED;
const struct replay_done *replay_decode_find_done(const struct replay_decoder *decoder,
                                                  uint64_t submission);

void replay_decode_note_constants(struct replay_decoder *decoder, uint32_t bytes);

void replay_decoder_finish(struct replay_decoder *decoder);

#endif
