/* SPDX-License-Identifier: Apache-2.0 */
/* The tables that map members of segments, which are commands, to columns. */
#include "format/columns/layout_columns.h"

static const struct trace_column barrier[] = {
    COLUMN_OF(Haltrace__Barrier, source_stages, struct trace_barrier, source_stages, NONE),
    COLUMN_OF(Haltrace__Barrier, target_stages, struct trace_barrier, target_stages, NONE),
    COLUMN_OF(Haltrace__Barrier, source_access, struct trace_barrier, source_access, NONE),
    COLUMN_OF(Haltrace__Barrier, target_access, struct trace_barrier, target_access, NONE),
    COLUMN_OF(Haltrace__Barrier, buffer_count, struct trace_barrier, buffer_count, NONE),
};

static const struct trace_column barrier_buffers[] = {
    COLUMN_OF(Haltrace__Barrier, buffer, struct trace_buffer_barrier, buffer, OBJECT),
    COLUMN_OF(Haltrace__Barrier, offset, struct trace_buffer_barrier, offset, NONE),
    COLUMN_OF(Haltrace__Barrier, size, struct trace_buffer_barrier, size, NONE),
    COLUMN_OF(Haltrace__Barrier, buffer_source_access, struct trace_buffer_barrier, source_access,
              NONE),
    COLUMN_OF(Haltrace__Barrier, buffer_target_access, struct trace_buffer_barrier, target_access,
              NONE),
};

static const struct trace_part barrier_parts[] = {
    LIST("buffers", struct trace_barrier, buffer_count, struct trace_buffer_barrier, TRACE_MAX_LIST,
         barrier_buffers),
};

static const struct trace_column event_command[] = {
    COLUMN_OF(Haltrace__EventCommand, event, struct trace_event_command, event, OBJECT),
    COLUMN_OF(Haltrace__EventCommand, source_stages, struct trace_event_command, source_stages,
              NONE),
};

static const struct trace_column events_wait[] = {
    COLUMN_OF(Haltrace__EventsWait, source_stages, struct trace_events_wait, source_stages, NONE),
    COLUMN_OF(Haltrace__EventsWait, target_stages, struct trace_events_wait, target_stages, NONE),
    COLUMN_OF(Haltrace__EventsWait, source_access, struct trace_events_wait, source_access, NONE),
    COLUMN_OF(Haltrace__EventsWait, target_access, struct trace_events_wait, target_access, NONE),
    COLUMN_OF(Haltrace__EventsWait, buffer_count, struct trace_events_wait, buffer_count, NONE),
    COLUMN_OF(Haltrace__EventsWait, event_count, struct trace_events_wait, event_count, NONE),
};

static const struct trace_column events_wait_buffers[] = {
    COLUMN_OF(Haltrace__EventsWait, buffer, struct trace_buffer_barrier, buffer, OBJECT),
    COLUMN_OF(Haltrace__EventsWait, offset, struct trace_buffer_barrier, offset, NONE),
    COLUMN_OF(Haltrace__EventsWait, size, struct trace_buffer_barrier, size, NONE),
    COLUMN_OF(Haltrace__EventsWait, buffer_source_access, struct trace_buffer_barrier,
              source_access, NONE),
    COLUMN_OF(Haltrace__EventsWait, buffer_target_access, struct trace_buffer_barrier,
              target_access, NONE),
};

static const struct trace_column events_wait_events[] = {
    COLUMN_OF(Haltrace__EventsWait, event, struct number, value, OBJECT),
};

static const struct trace_part events_wait_parts[] = {
    LIST("buffers", struct trace_events_wait, buffer_count, struct trace_buffer_barrier,
         TRACE_MAX_LIST, events_wait_buffers),
    LIST("events", struct trace_events_wait, event_count, struct number, TRACE_MAX_LIST,
         events_wait_events),
};

static const struct trace_column fill[] = {
    COLUMN_OF(Haltrace__Fill, target, struct trace_fill, target, OBJECT),
    COLUMN_OF(Haltrace__Fill, offset, struct trace_fill, offset, NONE),
    COLUMN_OF(Haltrace__Fill, size, struct trace_fill, size, NONE),
    COLUMN_OF(Haltrace__Fill, pattern, struct trace_fill, pattern, NONE),
    COLUMN_OF(Haltrace__Fill, pattern_bytes, struct trace_fill, pattern_bytes, NONE),
};

static const struct trace_column copy[] = {
    COLUMN_OF(Haltrace__Copy, source, struct trace_copy, source, OBJECT),
    COLUMN_OF(Haltrace__Copy, target, struct trace_copy, target, OBJECT),
    COLUMN_OF(Haltrace__Copy, source_offset, struct trace_copy, source_offset, NONE),
    COLUMN_OF(Haltrace__Copy, target_offset, struct trace_copy, target_offset, NONE),
    COLUMN_OF(Haltrace__Copy, size, struct trace_copy, size, NONE),
};

static const struct trace_column update[] = {
    COLUMN_OF(Haltrace__Update, target, struct trace_update, target, OBJECT),
    COLUMN_OF(Haltrace__Update, offset, struct trace_update, offset, NONE),
    COLUMN_OF(Haltrace__Update, size, struct trace_update, size, NONE),
};

static const struct trace_part update_parts[] = {
    BYTES(Haltrace__Update, data, struct trace_update, size, TRACE_MAX_UPDATE_BYTES, false),
};

static const struct trace_column push_constants[] = {
    COLUMN_OF(Haltrace__PushConstants, offset, struct trace_push_constants, offset, NONE),
    COLUMN_OF(Haltrace__PushConstants, size, struct trace_push_constants, size, NONE),
};

static const struct trace_part push_constants_parts[] = {
    BYTES(Haltrace__PushConstants, data, struct trace_push_constants, size,
          TRACE_MAX_CONSTANT_BYTES, false),
};

static const struct trace_column push_descriptor_set[] = {
    COLUMN_OF(Haltrace__PushDescriptorSet, set, struct trace_push_descriptor_set, set, NONE),
    COLUMN_OF(Haltrace__PushDescriptorSet, binding_count, struct trace_push_descriptor_set,
              binding_count, NONE),
};

static const struct trace_column bindings[] = {
    COLUMN_OF(Haltrace__PushDescriptorSet, buffer, struct trace_binding, buffer, OBJECT),
    COLUMN_OF(Haltrace__PushDescriptorSet, offset, struct trace_binding, offset, NONE),
    COLUMN_OF(Haltrace__PushDescriptorSet, size, struct trace_binding, size, NONE),
};

static const struct trace_part push_descriptor_set_parts[] = {
    LIST("bindings", struct trace_push_descriptor_set, binding_count, struct trace_binding,
         TRACE_MAX_BINDINGS, bindings),
};

static const struct trace_column dispatch[] = {
    COLUMN_OF(Haltrace__Dispatch, executable, struct trace_dispatch, executable, OBJECT),
    COLUMN_OF(Haltrace__Dispatch, entry, struct trace_dispatch, entry, NONE),
    COLUMN_OF(Haltrace__Dispatch, workgroup_count_x, struct trace_dispatch, workgroup_count[0],
              NONE),
    COLUMN_OF(Haltrace__Dispatch, workgroup_count_y, struct trace_dispatch, workgroup_count[1],
              NONE),
    COLUMN_OF(Haltrace__Dispatch, workgroup_count_z, struct trace_dispatch, workgroup_count[2],
              NONE),
};

static const struct trace_column dispatch_indirect[] = {
    COLUMN_OF(Haltrace__DispatchIndirect, executable, struct trace_dispatch_indirect, executable,
              OBJECT),
    COLUMN_OF(Haltrace__DispatchIndirect, entry, struct trace_dispatch_indirect, entry, NONE),
    COLUMN_OF(Haltrace__DispatchIndirect, counts, struct trace_dispatch_indirect, counts, OBJECT),
    COLUMN_OF(Haltrace__DispatchIndirect, offset, struct trace_dispatch_indirect, offset, NONE),
};

static const struct trace_column debug[] = {
    COLUMN_OF(Haltrace__Debug, color, struct trace_debug, color, NONE),
    COLUMN_OF(Haltrace__Debug, label, struct trace_debug, label, STRING),
};

#define SEGMENT(field, R, message, list)                                                           \
    &(const struct trace_layout)LAYOUT(Haltrace__Segments, field, struct R, message, list)
#define SEGMENT_PARTS(field, R, message, list, variable)                                           \
    &(const struct trace_layout)LAYOUT_PARTS(Haltrace__Segments, field, struct R, message, list,   \
                                             variable)

static const struct trace_layout debug_end = {
    .name = "debug_end",
    .record_bytes = sizeof(struct trace_segment),
};

const struct trace_family trace_segment_family = {
    .name = "segment",
    .head_bytes = sizeof(struct trace_segment),
    .kind_count_at = offsetof(Haltrace__Segments, n_kind),
    .kinds_at = offsetof(Haltrace__Segments, kind),
    .layouts =
        {
            [TRACE_BARRIER] =
                SEGMENT_PARTS(barrier, trace_barrier, barrier, barrier, barrier_parts),
            [TRACE_FILL] = SEGMENT(fill, trace_fill, fill, fill),
            [TRACE_COPY] = SEGMENT(copy, trace_copy, copy, copy),
            [TRACE_UPDATE] = SEGMENT_PARTS(update, trace_update, update, update, update_parts),
            [TRACE_PUSH_CONSTANTS] =
                SEGMENT_PARTS(push_constants, trace_push_constants, push_constants, push_constants,
                              push_constants_parts),
            [TRACE_PUSH_DESCRIPTOR_SET] =
                SEGMENT_PARTS(push_descriptor_set, trace_push_descriptor_set, push_descriptor_set,
                              push_descriptor_set, push_descriptor_set_parts),
            [TRACE_DISPATCH] = SEGMENT(dispatch, trace_dispatch, dispatch, dispatch),
            [TRACE_DEBUG_BEGIN] = SEGMENT(debug_begin, trace_debug, debug, debug),
            [TRACE_DEBUG_END] = &debug_end,
            [TRACE_DISPATCH_INDIRECT] = SEGMENT(dispatch_indirect, trace_dispatch_indirect,
                                                dispatch_indirect, dispatch_indirect),
            [TRACE_EVENT_SIGNAL] =
                SEGMENT(event_signal, trace_event_command, event_command, event_command),
            [TRACE_EVENT_RESET] =
                SEGMENT(event_reset, trace_event_command, event_command, event_command),
            [TRACE_EVENTS_WAIT] = SEGMENT_PARTS(events_wait, trace_events_wait, events_wait,
                                                events_wait, events_wait_parts),
        },
};
