/* SPDX-License-Identifier: Apache-2.0 */
/* How kernels may access their bindings according to a trace: for trace_hazards_segments. A trace
 * records what a kernel's declaration allows: the kernel does no more, and maybe less. */
#ifndef FORMAT_ANALYSIS_REFLECTION_H
#define FORMAT_ANALYSIS_REFLECTION_H

#include "format/analysis/segments.h"
#include "hal/base/idmap.h"

/* All zero is empty. */
struct trace_reflection {
    struct hal_idmap ids; /* executables with reflection, to `lists` */
    struct trace_reflection_list *lists;
    size_t count, capacity;
};

struct trace_reflection_list {
    struct trace_entry_binding *bindings; /* sorted by entry, set, index */
    size_t count;
};

/* Copies the record's reflection of the executable `id`. An executable already known is left alone;
 * one whose bindings are missing or out of order is skipped. HAL_NO_MEMORY. */
enum hal_status trace_reflection_add(struct trace_reflection *reflection, uint64_t id,
                                     const struct trace_executable_create *record) HAL_CHECKED;
void trace_reflection_finish(struct trace_reflection *reflection);

/* Whether the record's bindings belong to its entry points, each once and in order. */
bool trace_reflection_is_sound(const struct trace_executable_create *record);

/* A trace_binding_mode; `user` is the struct trace_reflection. */
enum trace_access_mode trace_reflection_mode(void *user, uint64_t executable, uint32_t entry,
                                             uint32_t set, uint32_t binding);

#endif
