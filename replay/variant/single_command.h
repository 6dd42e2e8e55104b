/* SPDX-License-Identifier: Apache-2.0 */
/* One command of a command buffer as a command buffer of its own. Private to replay/. */
#ifndef REPLAY_SINGLE_COMMAND_H
#define REPLAY_SINGLE_COMMAND_H

#include "format/limits.h"
#include "replay/plan/plan.h"

/* What commands before it set, when a command stands alone. */
struct replay_single_command_state {
    uint8_t constants[TRACE_MAX_CONSTANT_BYTES];
    bool set[TRACE_MAX_CONSTANT_BYTES]; /* of these */
    const struct trace_push_descriptor_set *sets[HAL_MAX_SETS];
};

/* Takes what the segment sets, if it sets something. */
void replay_single_command_state_take(struct replay_single_command_state *state,
                                      const struct trace_segment *segment);

/* A reusable command buffer of the variant with that command alone, of what `recorded` holds; not
 * an object of the variant's own list, which grows. */
enum hal_status replay_single_command_make(struct replay_plan *variant,
                                           const struct replay_object *recorded,
                                           const struct replay_single_command_state *state,
                                           const struct trace_segment *work,
                                           uint32_t *out_object) HAL_CHECKED;

#endif
