/* SPDX-License-Identifier: Apache-2.0 */
/* Which bytes commands may read or write, according to their arguments. Private to replay/. */
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
    struct replay_touch
        *list; /* after replay_accesses_merge sorted by buffer and offset, disjoint */
    size_t count, capacity;
};

enum replay_touch_kind { REPLAY_READS = 1, REPLAY_WRITES = 2 };

/* How kernels access their bindings, by index of the executable in the plan; for
 * replay_accesses_add. `options` (may be NULL): a kernel with a substitute is unknown, since the
 * substitute may write what the recorded kernel only reads. */
enum hal_status replay_reflect(const struct replay_plan *plan, const struct replay_options *options,
                               struct trace_reflection *out_reflection) HAL_CHECKED;

/* Adds what the commands of a decoded command buffer may read, write or both (`kinds`: bits). */
enum hal_status replay_accesses_add(struct replay_accesses *accesses,
                                    struct trace_reflection *reflection,
                                    const struct replay_object *commands,
                                    uint32_t kinds) HAL_CHECKED;
void replay_accesses_merge(struct replay_accesses *accesses);

enum hal_status replay_accesses_append(struct replay_accesses *accesses,
                                       struct replay_touch touch) HAL_CHECKED;
/* Removes the bytes; the rest of a range stays. */
enum hal_status replay_accesses_subtract(struct replay_accesses *accesses,
                                         struct replay_touch touch) HAL_CHECKED;
bool replay_accesses_meet(const struct replay_accesses *accesses, const struct replay_touch *touch);
void replay_accesses_finish(struct replay_accesses *accesses);

#endif
