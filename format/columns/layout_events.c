/* SPDX-License-Identifier: Apache-2.0 */
/* The tables that map members of events to columns. */
#include "format/columns/layout_columns.h"

static const struct trace_column buffer_create[] = {
    COLUMN_OF(Haltrace__BufferCreate, buffer, struct trace_buffer_create, buffer, OBJECT),
    COLUMN_OF(Haltrace__BufferCreate, size, struct trace_buffer_create, size, NONE),
    COLUMN_OF(Haltrace__BufferCreate, memory, struct trace_buffer_create, memory, NONE),
    COLUMN_OF(Haltrace__BufferCreate, usage, struct trace_buffer_create, usage, NONE),
    COLUMN_OF(Haltrace__BufferCreate, label, struct trace_buffer_create, label, STRING),
    COLUMN_OF(Haltrace__BufferCreate, flags, struct trace_buffer_create, flags, NONE),
};

static const struct trace_column object[] = {
    COLUMN_OF(Haltrace__Object, object, struct trace_object_event, object, OBJECT),
    COLUMN_OF(Haltrace__Object, label, struct trace_object_event, label, STRING),
};

static const struct trace_column command_buffer_create[] = {
    COLUMN_OF(Haltrace__CommandBufferCreate, command_buffer, struct trace_command_buffer_create,
              command_buffer, OBJECT),
    COLUMN_OF(Haltrace__CommandBufferCreate, label, struct trace_command_buffer_create, label,
              STRING),
    COLUMN_OF(Haltrace__CommandBufferCreate, mode, struct trace_command_buffer_create, mode, NONE),
    COLUMN_OF(Haltrace__CommandBufferCreate, categories, struct trace_command_buffer_create,
              categories, NONE),
};

static const struct trace_column mapping[] = {
    COLUMN_OF(Haltrace__Mapping, buffer, struct trace_mapping_event, buffer, OBJECT),
    COLUMN_OF(Haltrace__Mapping, mapping, struct trace_mapping_event, mapping, MAPPING),
    COLUMN_OF(Haltrace__Mapping, offset, struct trace_mapping_event, offset, NONE),
    COLUMN_OF(Haltrace__Mapping, size, struct trace_mapping_event, size, NONE),
    COLUMN_OF(Haltrace__Mapping, mode, struct trace_mapping_event, mode, NONE),
};

static const struct trace_column host_content[] = {
    COLUMN_OF(Haltrace__HostContent, buffer, struct trace_content_event, buffer, OBJECT),
    COLUMN_OF(Haltrace__HostContent, offset, struct trace_content_event, offset, NONE),
    COLUMN_OF(Haltrace__HostContent, size, struct trace_content_event, size, NONE),
    COLUMN_OF(Haltrace__HostContent, content, struct trace_content_event, content, CONTENT),
    COLUMN_OF(Haltrace__HostContent, flags, struct trace_content_event, flags, NONE),
    COLUMN_OF(Haltrace__HostContent, file, struct trace_content_event, file, STRING),
    COLUMN_OF(Haltrace__HostContent, file_offset, struct trace_content_event, file_offset, NONE),
};

static const struct trace_column mapped_change[] = {
    INNER_COLUMN_OF(Haltrace__MappedChange, buffer, struct trace_mapped_change, part.buffer,
                    OBJECT),
    INNER_COLUMN_OF(Haltrace__MappedChange, offset, struct trace_mapped_change, part.offset, NONE),
    INNER_COLUMN_OF(Haltrace__MappedChange, size, struct trace_mapped_change, part.size, NONE),
    COLUMN_OF(Haltrace__MappedChange, before, struct trace_mapped_change, before, CONTENT),
    INNER_COLUMN_OF(Haltrace__MappedChange, content, struct trace_mapped_change, part.content,
                    CONTENT),
    INNER_COLUMN_OF(Haltrace__MappedChange, flags, struct trace_mapped_change, part.flags, NONE),
};

static const struct trace_column file[] = {
    INNER_COLUMN_OF(Haltrace__File, file, struct trace_file, part.file, STRING),
    COLUMN_OF(Haltrace__File, file_bytes, struct trace_file, file_bytes, NONE),
    COLUMN_OF(Haltrace__File, modified_ns, struct trace_file, modified_ns, NONE),
    INNER_COLUMN_OF(Haltrace__File, file_offset, struct trace_file, part.file_offset, NONE),
    INNER_COLUMN_OF(Haltrace__File, size, struct trace_file, part.size, NONE),
    INNER_COLUMN_OF(Haltrace__File, content, struct trace_file, part.content, CONTENT),
    INNER_COLUMN_OF(Haltrace__File, flags, struct trace_file, part.flags, NONE),
};

static const struct trace_column unsupported[] = {
    COLUMN_OF(Haltrace__Unsupported, object, struct trace_unsupported, object, OBJECT),
    COLUMN_OF(Haltrace__Unsupported, call, struct trace_unsupported, call, STRING),
    COLUMN_OF(Haltrace__Unsupported, message, struct trace_unsupported, message, STRING),
};

static const struct trace_column failure[] = {
    COLUMN_OF(Haltrace__Failure, call, struct trace_failure, call, STRING),
    COLUMN_OF(Haltrace__Failure, message, struct trace_failure, message, STRING),
};

static const struct trace_column executable_create[] = {
    COLUMN_OF(Haltrace__ExecutableCreate, executable, struct trace_executable_create, executable,
              OBJECT),
    COLUMN_OF(Haltrace__ExecutableCreate, content, struct trace_executable_create, content,
              CONTENT),
    COLUMN_OF(Haltrace__ExecutableCreate, size, struct trace_executable_create, size, NONE),
    COLUMN_OF(Haltrace__ExecutableCreate, format, struct trace_executable_create, format, NONE),
    COLUMN_OF(Haltrace__ExecutableCreate, label, struct trace_executable_create, label, STRING),
    COLUMN_OF(Haltrace__ExecutableCreate, flags, struct trace_executable_create, flags, NONE),
    COLUMN_OF(Haltrace__ExecutableCreate, entry_point_count, struct trace_executable_create,
              entry_point_count, NONE),
    COLUMN_OF(Haltrace__ExecutableCreate, constant_count, struct trace_executable_create,
              constant_count, NONE),
    COLUMN_OF(Haltrace__ExecutableCreate, variant_count, struct trace_executable_create,
              variant_count, NONE),
    COLUMN_OF(Haltrace__ExecutableCreate, binding_count, struct trace_executable_create,
              binding_count, NONE),
};

static const struct trace_column reflected[] = {
    COLUMN_OF(Haltrace__ExecutableCreate, binding_entry, struct trace_entry_binding, entry, NONE),
    COLUMN_OF(Haltrace__ExecutableCreate, binding_set, struct trace_entry_binding, set, NONE),
    COLUMN_OF(Haltrace__ExecutableCreate, binding_index, struct trace_entry_binding, index, NONE),
    COLUMN_OF(Haltrace__ExecutableCreate, binding_access, struct trace_entry_binding, access, NONE),
};

static const struct trace_column variants[] = {
    COLUMN_OF(Haltrace__ExecutableCreate, variant_content, struct trace_variant, content, CONTENT),
    COLUMN_OF(Haltrace__ExecutableCreate, variant_size, struct trace_variant, size, NONE),
    COLUMN_OF(Haltrace__ExecutableCreate, variant_format, struct trace_variant, format, NONE),
};

static const struct trace_column entry_points[] = {
    COLUMN_OF(Haltrace__ExecutableCreate, entry_name, struct trace_entry_point, name, STRING),
    COLUMN_OF(Haltrace__ExecutableCreate, group_size_x, struct trace_entry_point, group_size[0],
              NONE),
    COLUMN_OF(Haltrace__ExecutableCreate, group_size_y, struct trace_entry_point, group_size[1],
              NONE),
    COLUMN_OF(Haltrace__ExecutableCreate, group_size_z, struct trace_entry_point, group_size[2],
              NONE),
    COLUMN_OF(Haltrace__ExecutableCreate, constant_bytes, struct trace_entry_point, constant_bytes,
              NONE),
    COLUMN_OF(Haltrace__ExecutableCreate, constants_slot, struct trace_entry_point, constants_slot,
              NONE),
    RARE_COLUMN_OF(Haltrace__ExecutableCreate, group_argument_bytes_0, struct trace_entry_point,
                   group_argument_bytes[0], NONE),
    RARE_COLUMN_OF(Haltrace__ExecutableCreate, group_argument_bytes_1, struct trace_entry_point,
                   group_argument_bytes[1], NONE),
    RARE_COLUMN_OF(Haltrace__ExecutableCreate, group_argument_bytes_2, struct trace_entry_point,
                   group_argument_bytes[2], NONE),
    RARE_COLUMN_OF(Haltrace__ExecutableCreate, group_argument_bytes_3, struct trace_entry_point,
                   group_argument_bytes[3], NONE),
    RARE_COLUMN_OF(Haltrace__ExecutableCreate, group_argument_bytes_4, struct trace_entry_point,
                   group_argument_bytes[4], NONE),
    RARE_COLUMN_OF(Haltrace__ExecutableCreate, group_argument_bytes_5, struct trace_entry_point,
                   group_argument_bytes[5], NONE),
    RARE_COLUMN_OF(Haltrace__ExecutableCreate, group_argument_bytes_6, struct trace_entry_point,
                   group_argument_bytes[6], NONE),
    RARE_COLUMN_OF(Haltrace__ExecutableCreate, group_argument_bytes_7, struct trace_entry_point,
                   group_argument_bytes[7], NONE),
    COLUMN_OF(Haltrace__ExecutableCreate, entry_layout, struct trace_entry_point, layout, OBJECT),
};

static const struct trace_column constants[] = {
    COLUMN_OF(Haltrace__ExecutableCreate, constant_index, struct trace_constant, index, NONE),
    COLUMN_OF(Haltrace__ExecutableCreate, constant_type, struct trace_constant, type, NONE),
    COLUMN_OF(Haltrace__ExecutableCreate, constant_bits, struct trace_constant, bits, NONE),
};

static const struct trace_part executable_parts[] = {
    LIST("entry_points", struct trace_executable_create, entry_point_count,
         struct trace_entry_point, TRACE_MAX_ENTRY_POINTS, entry_points),
    LIST("variants", struct trace_executable_create, variant_count, struct trace_variant,
         TRACE_MAX_VARIANTS, variants),
    LIST("constants", struct trace_executable_create, constant_count, struct trace_constant,
         TRACE_MAX_LIST, constants),
    LIST("bindings", struct trace_executable_create, binding_count, struct trace_entry_binding,
         TRACE_MAX_REFLECTED, reflected),
};

static const struct trace_column command_buffer_seal[] = {
    COLUMN_OF(Haltrace__CommandBufferSeal, command_buffer, struct trace_command_buffer_seal,
              command_buffer, OBJECT),
    COLUMN_OF(Haltrace__CommandBufferSeal, segment_count, struct trace_command_buffer_seal,
              segment_count, NONE),
    COLUMN_OF(Haltrace__CommandBufferSeal, dispatch_count, struct trace_command_buffer_seal,
              dispatch_count, NONE),
    COLUMN_OF(Haltrace__CommandBufferSeal, segment_bytes, struct trace_command_buffer_seal,
              segment_bytes, NONE),
    COLUMN_OF(Haltrace__CommandBufferSeal, flags, struct trace_command_buffer_seal, flags, NONE),
};

static const struct trace_column semaphore_create[] = {
    COLUMN_OF(Haltrace__SemaphoreCreate, semaphore, struct trace_semaphore_create, semaphore,
              OBJECT),
    COLUMN_OF(Haltrace__SemaphoreCreate, initial_value, struct trace_semaphore_create,
              initial_value, NONE),
    COLUMN_OF(Haltrace__SemaphoreCreate, label, struct trace_semaphore_create, label, STRING),
    COLUMN_OF(Haltrace__SemaphoreCreate, flags, struct trace_semaphore_create, flags, NONE),
};

static const struct trace_column semaphore[] = {
    COLUMN_OF(Haltrace__Semaphore, semaphore, struct trace_semaphore_event, semaphore, OBJECT),
    COLUMN_OF(Haltrace__Semaphore, value, struct trace_semaphore_event, value, NONE),
    COLUMN_OF(Haltrace__Semaphore, message, struct trace_semaphore_event, message, STRING),
    COLUMN_OF(Haltrace__Semaphore, flags, struct trace_semaphore_event, flags, NONE),
};

static const struct trace_column semaphore_wait[] = {
    COLUMN_OF(Haltrace__SemaphoreWait, timeout_ns, struct trace_semaphore_wait, timeout_ns,
              DURATION),
    COLUMN_OF(Haltrace__SemaphoreWait, mode, struct trace_semaphore_wait, mode, NONE),
    COLUMN_OF(Haltrace__SemaphoreWait, value_count, struct trace_semaphore_wait, value_count, NONE),
};

static const struct trace_column wait_values[] = {
    COLUMN_OF(Haltrace__SemaphoreWait, semaphore, struct trace_semaphore_value, semaphore, OBJECT),
    COLUMN_OF(Haltrace__SemaphoreWait, value, struct trace_semaphore_value, value, NONE),
};

static const struct trace_part wait_parts[] = {
    LIST("values", struct trace_semaphore_wait, value_count, struct trace_semaphore_value,
         TRACE_MAX_LIST, wait_values),
};

static const struct trace_column submit[] = {
    COLUMN_OF(Haltrace__Submit, submission, struct trace_submit, submission, SUBMISSION),
    COLUMN_OF(Haltrace__Submit, queue, struct trace_submit, queue, QUEUE),
    COLUMN_OF(Haltrace__Submit, wait_count, struct trace_submit, wait_count, NONE),
    COLUMN_OF(Haltrace__Submit, signal_count, struct trace_submit, signal_count, NONE),
    COLUMN_OF(Haltrace__Submit, command_buffer_count, struct trace_submit, command_buffer_count,
              NONE),
    RARE_COLUMN_OF(Haltrace__Submit, operation, struct trace_submit, operation, NONE),
    RARE_COLUMN_OF(Haltrace__Submit, file, struct trace_submit, file, STRING),
    RARE_COLUMN_OF(Haltrace__Submit, buffer, struct trace_submit, buffer, OBJECT),
    RARE_COLUMN_OF(Haltrace__Submit, offset, struct trace_submit, offset, NONE),
    RARE_COLUMN_OF(Haltrace__Submit, size, struct trace_submit, size, NONE),
    RARE_COLUMN_OF(Haltrace__Submit, file_offset, struct trace_submit, file_offset, NONE),
    RARE_COLUMN_OF(Haltrace__Submit, affinity, struct trace_submit, affinity, NONE),
};

static const struct trace_column submit_waits[] = {
    COLUMN_OF(Haltrace__Submit, wait_semaphore, struct trace_semaphore_value, semaphore, OBJECT),
    COLUMN_OF(Haltrace__Submit, wait_value, struct trace_semaphore_value, value, NONE),
};

static const struct trace_column submit_signals[] = {
    COLUMN_OF(Haltrace__Submit, signal_semaphore, struct trace_semaphore_value, semaphore, OBJECT),
    COLUMN_OF(Haltrace__Submit, signal_value, struct trace_semaphore_value, value, NONE),
};

static const struct trace_column submit_command_buffers[] = {
    COLUMN_OF(Haltrace__Submit, command_buffer, struct number, value, OBJECT),
};

static const struct trace_part submit_parts[] = {
    LIST("waits", struct trace_submit, wait_count, struct trace_semaphore_value, TRACE_MAX_LIST,
         submit_waits),
    LIST("signals", struct trace_submit, signal_count, struct trace_semaphore_value, TRACE_MAX_LIST,
         submit_signals),
    LIST("command_buffers", struct trace_submit, command_buffer_count, struct number,
         TRACE_MAX_LIST, submit_command_buffers),
};

static const struct trace_column submission_done[] = {
    COLUMN_OF(Haltrace__SubmissionDone, submission, struct trace_submission_done, submission,
              SUBMISSION),
    COLUMN_OF(Haltrace__SubmissionDone, ready_ns, struct trace_submission_done, ready_ns, TIME),
    COLUMN_OF(Haltrace__SubmissionDone, busy_ns, struct trace_submission_done, busy_ns, DURATION),
    COLUMN_OF(Haltrace__SubmissionDone, queue, struct trace_submission_done, queue, QUEUE),
    COLUMN_OF(Haltrace__SubmissionDone, message, struct trace_submission_done, message, STRING),
};

static const struct trace_column dispatch_times[] = {
    COLUMN_OF(Haltrace__DispatchTimes, submission, struct trace_dispatch_times, submission,
              SUBMISSION),
    COLUMN_OF(Haltrace__DispatchTimes, queue, struct trace_dispatch_times, queue, QUEUE),
    COLUMN_OF(Haltrace__DispatchTimes, flags, struct trace_dispatch_times, flags, NONE),
    COLUMN_OF(Haltrace__DispatchTimes, time_count, struct trace_dispatch_times, time_count, NONE),
};

static const struct trace_column times[] = {
    COLUMN_OF(Haltrace__DispatchTimes, command_buffer, struct trace_dispatch_time, command_buffer,
              NONE),
    COLUMN_OF(Haltrace__DispatchTimes, dispatch, struct trace_dispatch_time, dispatch, NONE),
    COLUMN_OF(Haltrace__DispatchTimes, begin_ns, struct trace_dispatch_time, begin_ns, TIME),
    COLUMN_AS(Haltrace__DispatchTimes, duration_ns, struct trace_dispatch_time, end_ns,
              TRACE_CODING_SPAN, TIME, false),
};

static const struct trace_part dispatch_times_parts[] = {
    LIST("times", struct trace_dispatch_times, time_count, struct trace_dispatch_time,
         TRACE_MAX_TIMES, times),
};

static const struct trace_column submission_outputs[] = {
    COLUMN_OF(Haltrace__SubmissionOutputs, submission, struct trace_submission_outputs, submission,
              SUBMISSION),
    COLUMN_OF(Haltrace__SubmissionOutputs, queue, struct trace_submission_outputs, queue, QUEUE),
    COLUMN_OF(Haltrace__SubmissionOutputs, output_count, struct trace_submission_outputs,
              output_count, NONE),
};

static const struct trace_column outputs[] = {
    COLUMN_OF(Haltrace__SubmissionOutputs, buffer, struct trace_written, buffer, OBJECT),
    COLUMN_OF(Haltrace__SubmissionOutputs, offset, struct trace_written, offset, NONE),
    COLUMN_OF(Haltrace__SubmissionOutputs, size, struct trace_written, size, NONE),
    COLUMN_OF(Haltrace__SubmissionOutputs, digest_0, struct trace_written, digest[0], NONE),
    COLUMN_OF(Haltrace__SubmissionOutputs, digest_1, struct trace_written, digest[1], NONE),
    COLUMN_OF(Haltrace__SubmissionOutputs, digest_2, struct trace_written, digest[2], NONE),
    COLUMN_OF(Haltrace__SubmissionOutputs, digest_3, struct trace_written, digest[3], NONE),
    COLUMN_OF(Haltrace__SubmissionOutputs, state, struct trace_written, state, NONE),
};

static const struct trace_part submission_outputs_parts[] = {
    LIST("outputs", struct trace_submission_outputs, output_count, struct trace_written,
         TRACE_MAX_TIMES, outputs),
};

static const struct trace_column command_stacks[] = {
    COLUMN_OF(Haltrace__CommandStacks, command_buffer, struct trace_command_stacks, command_buffer,
              OBJECT),
    COLUMN_OF(Haltrace__CommandStacks, first, struct trace_command_stacks, first, NONE),
    COLUMN_OF(Haltrace__CommandStacks, stack_count, struct trace_command_stacks, stack_count, NONE),
};

struct small_number {
    uint32_t value;
};

static const struct trace_column stacks_of_commands[] = {
    COLUMN_OF(Haltrace__CommandStacks, stack, struct small_number, value, STACK),
};

static const struct trace_part command_stacks_parts[] = {
    LIST("stacks", struct trace_command_stacks, stack_count, struct small_number, TRACE_MAX_TIMES,
         stacks_of_commands),
};

static const struct trace_column wait_idle[] = {
    COLUMN_OF(Haltrace__WaitIdle, timeout_ns, struct trace_wait_idle, timeout_ns, DURATION),
};

static const struct trace_column subspan_create[] = {
    COLUMN_OF(Haltrace__SubspanCreate, subspan, struct trace_subspan_create, subspan, OBJECT),
    COLUMN_OF(Haltrace__SubspanCreate, root, struct trace_subspan_create, root, OBJECT),
    COLUMN_OF(Haltrace__SubspanCreate, offset, struct trace_subspan_create, offset, NONE),
    COLUMN_OF(Haltrace__SubspanCreate, size, struct trace_subspan_create, size, NONE),
    COLUMN_OF(Haltrace__SubspanCreate, label, struct trace_subspan_create, label, STRING),
    COLUMN_OF(Haltrace__SubspanCreate, flags, struct trace_subspan_create, flags, NONE),
};

static const struct trace_column host_call[] = {
    COLUMN_OF(Haltrace__HostCall, submission, struct trace_host_call, submission, SUBMISSION),
    COLUMN_OF(Haltrace__HostCall, message, struct trace_host_call, message, STRING),
};

static const struct trace_column channel_create[] = {
    COLUMN_OF(Haltrace__ChannelCreate, channel, struct trace_channel_create, channel, OBJECT),
    COLUMN_OF(Haltrace__ChannelCreate, group, struct trace_channel_create, group, GROUP),
    COLUMN_OF(Haltrace__ChannelCreate, rank, struct trace_channel_create, rank, NONE),
    COLUMN_OF(Haltrace__ChannelCreate, count, struct trace_channel_create, count, NONE),
    COLUMN_OF(Haltrace__ChannelCreate, label, struct trace_channel_create, label, STRING),
    COLUMN_OF(Haltrace__ChannelCreate, flags, struct trace_channel_create, flags, NONE),
};

static const struct trace_column collective[] = {
    COLUMN_OF(Haltrace__Collective, submission, struct trace_collective, submission, SUBMISSION),
    COLUMN_OF(Haltrace__Collective, channel, struct trace_collective, channel, OBJECT),
    COLUMN_OF(Haltrace__Collective, collective, struct trace_collective, collective, NONE),
    COLUMN_OF(Haltrace__Collective, type, struct trace_collective, type, NONE),
    COLUMN_OF(Haltrace__Collective, reduction, struct trace_collective, reduction, NONE),
    COLUMN_OF(Haltrace__Collective, peer, struct trace_collective, peer, NONE),
    COLUMN_OF(Haltrace__Collective, count, struct trace_collective, count, NONE),
    COLUMN_OF(Haltrace__Collective, number, struct trace_collective, number, NONE),
    COLUMN_OF(Haltrace__Collective, send, struct trace_collective, send, OBJECT),
    COLUMN_OF(Haltrace__Collective, send_offset, struct trace_collective, send_offset, NONE),
    COLUMN_OF(Haltrace__Collective, send_size, struct trace_collective, send_size, NONE),
    COLUMN_OF(Haltrace__Collective, receive, struct trace_collective, receive, OBJECT),
    COLUMN_OF(Haltrace__Collective, receive_offset, struct trace_collective, receive_offset, NONE),
    COLUMN_OF(Haltrace__Collective, receive_size, struct trace_collective, receive_size, NONE),
};

static const struct trace_column queue_flush[] = {
    COLUMN_OF(Haltrace__QueueFlush, queues, struct trace_queue_flush, queues, NONE),
};

static const struct trace_column scope[] = {
    COLUMN_OF(Haltrace__Scope, name, struct trace_scope, name, STRING),
};

static const struct trace_column set_layout[] = {
    COLUMN_OF(Haltrace__SetLayoutCreate, layout, struct trace_set_layout_create, layout, OBJECT),
    COLUMN_OF(Haltrace__SetLayoutCreate, label, struct trace_set_layout_create, label, STRING),
    COLUMN_OF(Haltrace__SetLayoutCreate, binding_count, struct trace_set_layout_create,
              binding_count, NONE),
};

static const struct trace_column set_layout_bindings[] = {
    COLUMN_OF(Haltrace__SetLayoutCreate, index, struct trace_layout_binding, index, NONE),
    COLUMN_OF(Haltrace__SetLayoutCreate, kind, struct trace_layout_binding, kind, NONE),
    COLUMN_OF(Haltrace__SetLayoutCreate, flags, struct trace_layout_binding, flags, NONE),
};

static const struct trace_part set_layout_parts[] = {
    LIST("bindings", struct trace_set_layout_create, binding_count, struct trace_layout_binding,
         TRACE_MAX_BINDINGS, set_layout_bindings),
};

static const struct trace_column pipeline_layout[] = {
    COLUMN_OF(Haltrace__PipelineLayoutCreate, layout, struct trace_pipeline_layout_create, layout,
              OBJECT),
    COLUMN_OF(Haltrace__PipelineLayoutCreate, label, struct trace_pipeline_layout_create, label,
              STRING),
    COLUMN_OF(Haltrace__PipelineLayoutCreate, constant_bytes, struct trace_pipeline_layout_create,
              constant_bytes, NONE),
    COLUMN_OF(Haltrace__PipelineLayoutCreate, set_count, struct trace_pipeline_layout_create,
              set_count, NONE),
};

static const struct trace_column pipeline_layout_sets[] = {
    COLUMN_OF(Haltrace__PipelineLayoutCreate, set, struct number, value, OBJECT),
};

static const struct trace_part pipeline_layout_parts[] = {
    LIST("sets", struct trace_pipeline_layout_create, set_count, struct number, TRACE_MAX_SETS,
         pipeline_layout_sets),
};

static const struct trace_column event_heads[] = {
    COLUMN_AS(Haltrace__Chunk, ticket, struct trace_event, ticket, TRACE_CODING_TICKET, NONE,
              false),
    COLUMN_AS(Haltrace__Chunk, begin_ns, struct trace_event, begin_ns, TRACE_CODING_DELTA, NONE,
              false),
    COLUMN_AS(Haltrace__Chunk, duration_ns, struct trace_event, end_ns, TRACE_CODING_SPAN, NONE,
              false),
    COLUMN_AS(Haltrace__Chunk, status, struct trace_event, status, TRACE_CODING_PLAIN, NONE, false),
    COLUMN_AS(Haltrace__Chunk, stack, struct trace_event, stack, TRACE_CODING_PLAIN, STACK, false),
};

#define EVENT(field, R, message, list)                                                             \
    &(const struct trace_layout)LAYOUT(Haltrace__Chunk, field, struct R, message, list)
#define EVENT_PARTS(field, R, message, list, variable)                                             \
    &(const struct trace_layout)LAYOUT_PARTS(Haltrace__Chunk, field, struct R, message, list,      \
                                             variable)

const struct trace_family trace_event_family =
    {
        .name = "event",
        .head_bytes = sizeof(struct trace_event),
        .has_optional = true,
        .kind_count_at = offsetof(Haltrace__Chunk, n_kind),
        .kinds_at = offsetof(Haltrace__Chunk, kind),
        .common_count = COUNT_OF(event_heads),
        .common = event_heads,
        .layouts =
            {
                [TRACE_BUFFER_CREATE] =
                    EVENT(buffer_create, trace_buffer_create, buffer_create, buffer_create),
                [TRACE_BUFFER_DESTROY] = EVENT(buffer_destroy, trace_object_event, object, object),
                [TRACE_BUFFER_MAP] = EVENT(buffer_map, trace_mapping_event, mapping, mapping),
                [TRACE_BUFFER_UNMAP] = EVENT(buffer_unmap, trace_mapping_event, mapping, mapping),
                [TRACE_MAPPING_FLUSH] = EVENT(mapping_flush, trace_mapping_event, mapping, mapping),
                [TRACE_MAPPING_INVALIDATE] =
                    EVENT(mapping_invalidate, trace_mapping_event, mapping, mapping),
                [TRACE_HOST_WRITE] =
                    EVENT(host_write, trace_content_event, host_content, host_content),
                [TRACE_HOST_READ] =
                    EVENT(host_read, trace_content_event, host_content, host_content),
                [TRACE_EXECUTABLE_CREATE] =
                    EVENT_PARTS(executable_create, trace_executable_create, executable_create,
                                executable_create, executable_parts),
                [TRACE_EXECUTABLE_DESTROY] =
                    EVENT(executable_destroy, trace_object_event, object, object),
                [TRACE_COMMAND_BUFFER_CREATE] =
                    EVENT(command_buffer_create, trace_command_buffer_create, command_buffer_create,
                          command_buffer_create),
                [TRACE_COMMAND_BUFFER_SEAL] = EVENT(command_buffer_seal, trace_command_buffer_seal,
                                                    command_buffer_seal, command_buffer_seal),
                [TRACE_COMMAND_BUFFER_DESTROY] =
                    EVENT(command_buffer_destroy, trace_object_event, object, object),
                [TRACE_SEMAPHORE_CREATE] = EVENT(semaphore_create, trace_semaphore_create,
                                                 semaphore_create, semaphore_create),
                [TRACE_SEMAPHORE_DESTROY] =
                    EVENT(semaphore_destroy, trace_object_event, object, object),
                [TRACE_SEMAPHORE_QUERY] =
                    EVENT(semaphore_query, trace_semaphore_event, semaphore, semaphore),
                [TRACE_SEMAPHORE_SIGNAL] =
                    EVENT(semaphore_signal, trace_semaphore_event, semaphore, semaphore),
                [TRACE_SEMAPHORE_FAIL] =
                    EVENT(semaphore_fail, trace_semaphore_event, semaphore, semaphore),
                [TRACE_SEMAPHORE_WAIT] = EVENT_PARTS(semaphore_wait, trace_semaphore_wait,
                                                     semaphore_wait, semaphore_wait, wait_parts),
                [TRACE_SUBMIT] = EVENT_PARTS(submit, trace_submit, submit, submit, submit_parts),
                [TRACE_SUBMISSION_DONE] =
                    EVENT(submission_done, trace_submission_done, submission_done, submission_done),
                [TRACE_WAIT_IDLE] = EVENT(wait_idle, trace_wait_idle, wait_idle, wait_idle),
                [TRACE_SCOPE_BEGIN] = EVENT(scope_begin, trace_scope, scope, scope),
                [TRACE_SCOPE_END] = EVENT(scope_end, trace_scope, scope, scope),
                [TRACE_SUBSPAN_CREATE] =
                    EVENT(subspan_create, trace_subspan_create, subspan_create, subspan_create),
                [TRACE_SUBSPAN_DESTROY] =
                    EVENT(subspan_destroy, trace_object_event, object, object),
                [TRACE_HOST_CALL_BEGIN] =
                    EVENT(host_call_begin, trace_host_call, host_call, host_call),
                [TRACE_HOST_CALL_END] = EVENT(host_call_end, trace_host_call, host_call, host_call),
                [TRACE_QUEUE_FLUSH] =
                    EVENT(queue_flush, trace_queue_flush, queue_flush, queue_flush),
                [TRACE_EVENT_CREATE] = EVENT(event_create, trace_object_event, object, object),
                [TRACE_EVENT_DESTROY] = EVENT(event_destroy, trace_object_event, object, object),
                [TRACE_SET_LAYOUT_CREATE] =
                    EVENT_PARTS(set_layout_create, trace_set_layout_create, set_layout_create,
                                set_layout, set_layout_parts),
                [TRACE_SET_LAYOUT_DESTROY] =
                    EVENT(set_layout_destroy, trace_object_event, object, object),
                [TRACE_PIPELINE_LAYOUT_CREATE] =
                    EVENT_PARTS(pipeline_layout_create, trace_pipeline_layout_create,
                                pipeline_layout_create, pipeline_layout, pipeline_layout_parts),
                [TRACE_PIPELINE_LAYOUT_DESTROY] =
                    EVENT(pipeline_layout_destroy, trace_object_event, object, object),
                [TRACE_DISPATCH_TIMES] =
                    EVENT_PARTS(dispatch_times, trace_dispatch_times,
                                dispatch_times, dispatch_times, dispatch_times_parts),
                [TRACE_COMMAND_STACKS] =
                    EVENT_PARTS(command_stacks, trace_command_stacks,
                                command_stacks, command_stacks, command_stacks_parts),
                [TRACE_FILE] = EVENT(file, trace_file, file, file),
                [TRACE_UNSUPPORTED] =
                    EVENT(unsupported, trace_unsupported, unsupported, unsupported),
                [TRACE_SUBMISSION_OUTPUTS] =
                    EVENT_PARTS(submission_outputs, trace_submission_outputs,
                                submission_outputs, submission_outputs, submission_outputs_parts),
                [TRACE_CHANNEL_CREATE] =
                    EVENT(channel_create, trace_channel_create, channel_create, channel_create),
                [TRACE_CHANNEL_DESTROY] =
                    EVENT(channel_destroy, trace_object_event, object, object),
                [TRACE_COLLECTIVE] = EVENT(collective, trace_collective, collective, collective),
                [TRACE_MAPPED_CHANGE] =
                    EVENT(mapped_change, trace_mapped_change, mapped_change, mapped_change),
                [TRACE_OPTIONAL_PLACE(TRACE_FAILURE)] =
                    EVENT(failure, trace_failure, failure, failure),
            },
};
