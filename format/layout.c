/* SPDX-License-Identifier: Apache-2.0 */
/* The tables that say which member of which record is stored in which column. */
#include "format/layout.h"

#include "format/limits.h"
#include "format/trace.h"
#include "format/trace.pb-c.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file is little-endian");
_Static_assert(sizeof(void *) == 8, "records and columns are 64-bit");

/* The schema decides: a signed column holds differences. */
#define CODING(M, field)                                                                           \
    _Generic(((M *)0)->field, int64_t * : TRACE_CODING_DELTA, uint64_t * : TRACE_CODING_PLAIN)
#define IS_SIGNED(R, member) _Generic(((R *)0)->member, int64_t : true, default : false)
#define COLUMN_AS(M, field, R, where, how, refers, rare)                                           \
    COLUMN_NAMED(#where, M, field, R, where, how, refers, rare)
#define COLUMN_NAMED(text, M, field, R, where, how, refers, rare)                                  \
    {                                                                                              \
        .name = #field, .member = (text), .count_at = offsetof(M, n_##field),                      \
        .values_at = offsetof(M, field), .member_at = offsetof(R, where),                          \
        .width = sizeof(((R *)0)->where), .coding = (how), .reference = TRACE_REFERENCE_##refers,  \
        .is_signed = IS_SIGNED(R, where), .is_rare = (rare)                                        \
    }
#define COLUMN_OF(M, field, R, where, refers)                                                      \
    COLUMN_AS(M, field, R, where, CODING(M, field), refers, false)
/* Of a struct inside the record. */
#define INNER_COLUMN_OF(M, field, R, where, refers)                                                \
    COLUMN_NAMED(#field, M, field, R, where, CODING(M, field), refers, false)
#define RARE_COLUMN_OF(M, field, R, where, refers)                                                 \
    COLUMN_AS(M, field, R, where, CODING(M, field), refers, true)
#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])
#define LIST(part_name, R, counter, element, maximum, list)                                        \
    {                                                                                              \
        .name = part_name, .count_at = offsetof(R, counter),                                       \
        .count_width = sizeof(((R *)0)->counter), .element_bytes = sizeof(element),                \
        .limit = (maximum), .column_count = COUNT_OF(list), .columns = (list)                      \
    }
#define BYTES(M, field, R, counter, maximum, text)                                                 \
    {                                                                                              \
        .name = #field, .count_at = offsetof(R, counter),                                          \
        .count_width = sizeof(((R *)0)->counter), .element_bytes = 1, .limit = (maximum),          \
        .is_text = (text), .bytes_at = offsetof(M, field)                                          \
    }
#define LAYOUT(F, field, R, message, list)                                                         \
    {                                                                                              \
        .name = #field, .record_bytes = sizeof(R), .message_at = offsetof(F, field),               \
        .column_count = COUNT_OF(list), .columns = (list),                                         \
        .descriptor = &haltrace__##message##__descriptor,                                          \
    }
#define LAYOUT_PARTS(F, field, R, message, list, variable)                                         \
    {                                                                                              \
        .name = #field, .record_bytes = sizeof(R), .message_at = offsetof(F, field),               \
        .column_count = COUNT_OF(list), .part_count = COUNT_OF(variable), .columns = (list),       \
        .parts = (variable), .descriptor = &haltrace__##message##__descriptor,                     \
    }

/* ---- Events ------------------------------------------------------------------------------- */

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
    COLUMN_OF(Haltrace__SemaphoreWait, timeout_ns, struct trace_semaphore_wait, timeout_ns, NONE),
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
};

static const struct trace_column submit_waits[] = {
    COLUMN_OF(Haltrace__Submit, wait_semaphore, struct trace_semaphore_value, semaphore, OBJECT),
    COLUMN_OF(Haltrace__Submit, wait_value, struct trace_semaphore_value, value, NONE),
};

static const struct trace_column submit_signals[] = {
    COLUMN_OF(Haltrace__Submit, signal_semaphore, struct trace_semaphore_value, semaphore, OBJECT),
    COLUMN_OF(Haltrace__Submit, signal_value, struct trace_semaphore_value, value, NONE),
};

struct number {
    uint64_t value;
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
    COLUMN_OF(Haltrace__SubmissionDone, busy_ns, struct trace_submission_done, busy_ns, NONE),
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
    COLUMN_OF(Haltrace__WaitIdle, timeout_ns, struct trace_wait_idle, timeout_ns, NONE),
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
                [TRACE_OPTIONAL_PLACE(TRACE_FAILURE)] =
                    EVENT(failure, trace_failure, failure, failure),
            },
};

/* ---- Tables ------------------------------------------------------------------------------- */

static const struct trace_column string[] = {
    COLUMN_OF(Haltrace__String, id, struct trace_string, id, NONE),
    COLUMN_OF(Haltrace__String, length, struct trace_string, length, NONE),
};

static const struct trace_part string_parts[] = {
    BYTES(Haltrace__String, text, struct trace_string, length, TRACE_MAX_STRING_BYTES, true),
};

static const struct trace_column stack[] = {
    COLUMN_OF(Haltrace__Stack, id, struct trace_stack, id, NONE),
    COLUMN_OF(Haltrace__Stack, frame_count, struct trace_stack, frame_count, NONE),
};

static const struct trace_column stack_frames[] = {
    COLUMN_OF(Haltrace__Stack, frame, struct number, value, NONE),
};

static const struct trace_part stack_parts[] = {
    LIST("frames", struct trace_stack, frame_count, struct number, TRACE_MAX_STACK_FRAMES,
         stack_frames),
};

static const struct trace_column module[] = {
    COLUMN_OF(Haltrace__Module, load_address, struct trace_module, base, NONE),
    COLUMN_OF(Haltrace__Module, size, struct trace_module, size, NONE),
    COLUMN_OF(Haltrace__Module, path, struct trace_module, path, NONE),
    COLUMN_OF(Haltrace__Module, build_id_bytes, struct trace_module, build_id_bytes, NONE),
};

static const struct trace_part module_parts[] = {
    BYTES(Haltrace__Module, build_id, struct trace_module, build_id_bytes, 256, false),
};

static const struct trace_column thread[] = {
    COLUMN_OF(Haltrace__Thread, id, struct trace_thread, id, NONE),
    COLUMN_OF(Haltrace__Thread, system_id, struct trace_thread, system_id, NONE),
    COLUMN_OF(Haltrace__Thread, name, struct trace_thread, name, NONE),
};

#define TABLE(field, R, message, list)                                                             \
    &(const struct trace_layout)LAYOUT(Haltrace__Tables, field, struct R, message, list)
#define TABLE_PARTS(field, R, message, list, variable)                                             \
    &(const struct trace_layout)LAYOUT_PARTS(Haltrace__Tables, field, struct R, message, list,     \
                                             variable)

const struct trace_family trace_table_family = {
    .name = "table record",
    .head_bytes = sizeof(struct trace_event),
    .kind_count_at = offsetof(Haltrace__Tables, n_kind),
    .kinds_at = offsetof(Haltrace__Tables, kind),
    .layouts =
        {
            [TRACE_STRING] = TABLE_PARTS(string, trace_string, string, string, string_parts),
            [TRACE_STACK] = TABLE_PARTS(stack, trace_stack, stack, stack, stack_parts),
            [TRACE_MODULE] = TABLE_PARTS(module, trace_module, module, module, module_parts),
            [TRACE_THREAD] = TABLE(thread, trace_thread, thread, thread),
        },
};

/* ---- Segments ----------------------------------------------------------------------------- */

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

/* ---- Names -------------------------------------------------------------------------------- */

const char *trace_event_name(uint32_t kind)
{
    const struct trace_layout *layout = trace_family_layout(&trace_event_family, kind);
    if (!layout)
        layout = trace_family_layout(&trace_table_family, kind);
    return layout ? layout->name : "unknown event";
}

const char *trace_segment_name(uint32_t kind)
{
    const struct trace_layout *layout = trace_family_layout(&trace_segment_family, kind);
    return layout ? layout->name : "unknown segment";
}
