/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the accesses and ordering of a recorded command buffer's commands to the hazard analysis.
 * Commands are numbered by position in the command buffer, from 0, all kinds included. */
#ifndef FORMAT_ANALYSIS_SEGMENTS_H
#define FORMAT_ANALYSIS_SEGMENTS_H

#include "format/analysis/hazards.h"
#include "format/record.h"

/* Call between trace_hazards_begin and trace_hazards_end. The reader has already checked the
 * segments. `mode` NULL: TRACE_ACCESS_UNKNOWN for all kernels. */
void trace_hazards_segments(struct trace_hazards *hazards,
                            const struct trace_command_buffer_seal *seal,
                            const struct trace_segment *segment, trace_binding_mode *mode,
                            void *user);

/* Calls `visit` for every access of the commands, in order; `mode` and `user` as above. */
void trace_each_access(const struct trace_command_buffer_seal *seal,
                       const struct trace_segment *segment, trace_binding_mode *mode, void *user,
                       trace_access_visit *visit, void *visit_user);

#endif
