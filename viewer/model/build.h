/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a model in successive steps: ingest.c converts the file's records to tables, tracks.c
 * converts tables to tracks, analyse.c computes figures, and track_order.c sorts tracks. */
#ifndef VIEWER_BUILD_H
#define VIEWER_BUILD_H

#include "hal/base/mem.h"
#include "viewer/model/model.h"

/* Reserves `extra` more elements in one of the model's tables. */
#define VIEW_ROOM(owner, name, extra)                                                              \
    ((owner)->name##_count + (extra) <= (owner)->name##_capacity                                   \
         ? HAL_OK                                                                                  \
         : view_build_room(&(owner)->name, &(owner)->name##_capacity, (owner)->name##_count,       \
                           (extra), sizeof *(owner)->name, #name))

/* `array` is the address of a pointer. */
enum hal_status view_build_room(void *array, size_t *capacity, size_t count, size_t extra,
                                size_t bytes_each, const char *what) HAL_CHECKED;

/* `progress` NULL: no callback. */
enum hal_status view_build_tables(struct view_model *model,
                                  const struct view_progress *progress) HAL_CHECKED;

/* Finds the devices, the collectives in their work, and which collectives met: ranks.c. */
enum hal_status view_build_ranks(struct view_model *model) HAL_CHECKED;

enum hal_status view_build_tracks(struct view_model *model) HAL_CHECKED;
enum hal_status view_build_numbers(struct view_model *model) HAL_CHECKED;

/* Summarises each device, alone and with others: ranks.c. */
void view_build_devices(struct view_model *model);

/* Disambiguates thread names and orders tracks if there are many. Call it last. */
enum hal_status view_build_order(struct view_model *model) HAL_CHECKED;

/* Computes memory levels and their track. */
enum hal_status view_build_memory(struct view_model *model) HAL_CHECKED;
enum hal_status view_build_memory_track(struct view_model *model) HAL_CHECKED;

/* Produce a track's spans from table rows; `tables` is the model. The functions below create the
 * codes of view_event_host and view_event_state; the others are rows. */
view_span_tell view_event_scope, view_event_host, view_event_submission, view_event_state,
    view_event_execution, view_event_dispatch, view_event_step, view_event_transfer,
    view_event_level, view_event_gap, view_event_gap_part;

/* On a host thread's track: a call, or a command buffer's recording, its creation or its end. */
enum view_event_variety { VIEW_EVENT_CALL, VIEW_EVENT_RECORDING, VIEW_EVENT_MAKE, VIEW_EVENT_END };
uint32_t view_event_code(uint32_t row, uint32_t variety);
/* HAL_UNSUPPORTED: a table has more rows than codes can represent. */
enum hal_status view_event_check(const struct view_model *model) HAL_CHECKED;
/* The code of one of view_build_states. */
uint32_t view_event_state_code(uint32_t submission, const struct view_span *state);

/* Splits a submission's lifetime into up to three spans (VIEW_QUEUED_..., VIEW_EXECUTE). */
size_t view_build_states(const struct view_model *model, uint32_t index, struct view_span *out);

/* When the submission left its queue, or the end of the file if it did not. */
int64_t view_build_submission_end(const struct view_model *model,
                                  const struct view_submission *submission);

#endif
