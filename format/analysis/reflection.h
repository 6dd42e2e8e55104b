/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels may do with what is bound to them, as a trace tells it: for
 * trace_hazards_segments. What is recorded is what a kernel's declaration allows: it does no
 * more than that, and maybe less. */
#ifndef FORMAT_ANALYSIS_REFLECTION_H
#define FORMAT_ANALYSIS_REFLECTION_H

#include "format/analysis/segments.h"
#include "hal/base/idmap.h"

/* All zero is empty. */
struct trace_reflection {
    struct hal_idmap ids; /* executables that tell, to `lists` */
    struct trace_reflection_list *lists;
    size_t count, capacity;
};

struct trace_reflection_list {
    struct trace_entry_binding *bindings; /* by rising entry, set, index */
    size_t count;
};

/* Copies what the record tells about the executable `id`. An executable that is known already
 * stays as it is; one whose bindings are missing, or not in order, is not known.
 * HAL_NO_MEMORY. */
enum hal_status trace_reflection_add(struct trace_reflection *reflection, uint64_t id,
                                     const struct trace_executable_create *record) HAL_CHECKED;
void trace_reflection_finish(struct trace_reflection *reflection);

/* Whether the record's bindings are those of its entry points, each once and in order. */
bool trace_reflection_is_sound(const struct trace_executable_create *record);

/* A trace_binding_mode; `user` is the struct trace_reflection. */
enum trace_access_mode trace_reflection_mode(void *user, uint64_t executable, uint32_t entry,
                                             uint32_t set, uint32_t binding);

#endif
