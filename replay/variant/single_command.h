/* SPDX-License-Identifier: Apache-2.0 */
/* Extracts one command of a command buffer into its own command buffer. Private to replay/. */
#ifndef REPLAY_SINGLE_COMMAND_H
#define REPLAY_SINGLE_COMMAND_H

#include "format/limits.h"
#include "replay/plan/plan.h"

/* The state set by earlier commands, for a command that runs alone. */
struct replay_single_command_state {
    uint8_t constants[TRACE_MAX_CONSTANT_BYTES];
    bool set[TRACE_MAX_CONSTANT_BYTES]; /* which bytes are set */
    const struct trace_push_descriptor_set *sets[HAL_MAX_SETS];
};

/* Applies the segment if it sets state. */
void replay_single_command_state_take(struct replay_single_command_state *state,
                                      const struct trace_segment *segment);

/* A reusable command buffer of the variant with only that command of `recorded`, which is not an
 * object in the variant's own, growing list. */
enum hal_status replay_single_command_make(struct replay_plan *variant,
                                           const struct replay_object *recorded,
                                           const struct replay_single_command_state *state,
                                           const struct trace_segment *work,
                                           uint32_t *out_object) HAL_CHECKED;

#endif
