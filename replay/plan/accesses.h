/* SPDX-License-Identifier: Apache-2.0 */
/* Which bytes commands may read or write, as far as their arguments tell. Private to replay/. */
#ifndef REPLAY_ACCESSES_H
#define REPLAY_ACCESSES_H

#include "format/analysis/reflection.h"
#include "replay/plan/plan.h"

struct replay_options;

struct replay_touch {
    uint64_t buffer, begin, end; /* index of the buffer in the plan */
};

/* All zero is empty. */
struct replay_accesses {
    struct replay_touch *list; /* after replay_accesses_merge by buffer and offset, apart */
    size_t count, capacity;
};

enum replay_touch_kind { REPLAY_READS = 1, REPLAY_WRITES = 2 };

/* What kernels do with their bindings, by number of the executable in the plan; for
 * replay_accesses_add. `options` (may be NULL): kernels with a substitute are unknown, since it may
 * write what the recorded one only reads. */
enum hal_status replay_reflect(const struct replay_plan *plan, const struct replay_options *options,
                               struct trace_reflection *out_reflection) HAL_CHECKED;

/* Adds what all commands of a decoded command buffer may read, write or both (`kinds`: bits). */
enum hal_status replay_accesses_add(struct replay_accesses *accesses,
                                    struct trace_reflection *reflection,
                                    const struct replay_object *commands,
                                    uint32_t kinds) HAL_CHECKED;
void replay_accesses_merge(struct replay_accesses *accesses);

enum hal_status replay_accesses_append(struct replay_accesses *accesses,
                                       struct replay_touch touch) HAL_CHECKED;
/* Takes the bytes out; what is left of a range stays. */
enum hal_status replay_accesses_subtract(struct replay_accesses *accesses,
                                         struct replay_touch touch) HAL_CHECKED;
bool replay_accesses_meet(const struct replay_accesses *accesses, const struct replay_touch *touch);
void replay_accesses_finish(struct replay_accesses *accesses);

#endif
