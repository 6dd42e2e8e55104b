/* SPDX-License-Identifier: Apache-2.0 */
/* The rules for commands as they are recorded. */
#include "hal/core/recording.h"

#include "hal/base/text.h"

#include <inttypes.h>

enum hal_status hal_check_recording(const struct hal_command_buffer *commands)
{
    if (commands && !commands->is_ended)
        return HAL_OK;
    HAL_TRY(hal_check_object(commands ? &commands->object : NULL, "command buffer"));
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_fail(HAL_INVALID, "%s has been ended and cannot change",
                    hal_object_name(&commands->object, name));
}

enum hal_status hal_check_commands_desc(const struct hal_command_buffer_desc *desc)
{
    static const uint32_t any = HAL_COMMANDS_TRANSFER | HAL_COMMANDS_DISPATCH;
    const char *label = desc->label ? desc->label : "";
    if (desc->mode != HAL_ONE_SHOT && desc->mode != HAL_REUSABLE)
        return hal_fail(HAL_INVALID, "command buffer '%s': there is no mode %d (0 and 1 exist)",
                        label, (int)desc->mode);
    if (desc->categories & ~any)
        return hal_fail(HAL_INVALID,
                        "command buffer '%s': categories 0x%x have unknown bits (known: 0x%x)",
                        label, desc->categories, any);
    return HAL_OK;
}

/* The failure, and in which command buffer. */
static enum hal_status inside(const struct hal_command_buffer *commands, enum hal_status failure)
{
    char name[HAL_OBJECT_NAME_BYTES];
    if (failure == HAL_OK) /* before the name is written */
        return HAL_OK;
    return hal_add_context(failure, "%s", hal_object_name(&commands->object, name));
}

static enum hal_status check_bits(const struct hal_command_buffer *commands, const char *command,
                                  const char *what, uint32_t bits, uint32_t known)
{
    if (!(bits & ~known))
        return HAL_OK;
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_fail(HAL_INVALID, "%s in %s: %s 0x%x have unknown bits (known: 0x%x)", command,
                    hal_object_name(&commands->object, name), what, bits, known);
}

static enum hal_status check_category(const struct hal_command_buffer *commands,
                                      enum hal_command_category category, const char *what)
{
    HAL_TRY(hal_check_recording(commands));
    if (commands->categories & category)
        return HAL_OK;
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_fail(HAL_INVALID, "%s was created for commands of categories 0x%x: a %s has 0x%x",
                    hal_object_name(&commands->object, name), commands->categories, what, category);
}

enum hal_status hal_check_events(const struct hal_command_buffer *commands,
                                 struct hal_event *const *events, size_t count,
                                 uint32_t source_stages)
{
    HAL_TRY(hal_check_recording(commands));
    char name[HAL_OBJECT_NAME_BYTES];
    if (count == 0 || count > HAL_MAX_LIST || !events)
        return hal_fail(HAL_INVALID, "wait in %s for %s%s: 1 to %d are supported",
                        hal_object_name(&commands->object, name),
                        hal_count(count, "event", "events").text, events ? "" : " at NULL",
                        HAL_MAX_LIST);
    for (size_t i = 0; i < count; i++)
        HAL_TRY(hal_check_belongs(events[i] ? &events[i]->object : NULL, "event",
                                  commands->object.device));
    return check_bits(commands, "event", "stages", source_stages, HAL_STAGE_ALL);
}

/* A buffer that a command names, and the range there. */
static enum hal_status check_operand(const struct hal_device *device,
                                     const struct hal_buffer *buffer, uint64_t offset,
                                     uint64_t bytes)
{
    HAL_TRY(hal_check_belongs(buffer ? &buffer->object : NULL, "buffer", device));
    HAL_TRY(hal_check_freed(buffer));
    return hal_check_range(buffer, offset, bytes);
}

enum hal_status hal_check_barrier(const struct hal_command_buffer *commands,
                                  const struct hal_barrier_desc *desc)
{
    static const uint32_t accesses = HAL_ACCESS_READ | HAL_ACCESS_WRITE;
    HAL_TRY(hal_check_recording(commands));
    HAL_TRY(check_bits(commands, "barrier", "stages", desc->source_stages | desc->target_stages,
                       HAL_STAGE_ALL));
    HAL_TRY(check_bits(commands, "barrier", "accesses", desc->source_access | desc->target_access,
                       accesses));
    if (desc->buffer_count > HAL_MAX_LIST || (desc->buffer_count && !desc->buffers))
        return inside(commands, hal_fail(HAL_INVALID, "barrier with %s%s: the limit is %d",
                                         hal_count(desc->buffer_count, "buffer", "buffers").text,
                                         desc->buffers ? "" : " at NULL", HAL_MAX_LIST));
    for (size_t i = 0; i < desc->buffer_count; i++) {
        const struct hal_buffer_barrier *barrier = &desc->buffers[i];
        HAL_TRY(check_operand(commands->object.device, barrier->buffer, barrier->offset,
                              barrier->bytes));
        HAL_TRY(check_bits(commands, "barrier", "accesses",
                           barrier->source_access | barrier->target_access, accesses));
    }
    return HAL_OK;
}

enum hal_status hal_check_transfer_of(const struct hal_device *device,
                                      const struct hal_buffer *buffer, uint64_t offset,
                                      uint64_t bytes)
{
    HAL_TRY(check_operand(device, buffer, offset, bytes));
    return hal_check_usage(buffer, HAL_USAGE_TRANSFER);
}

enum hal_status hal_check_transfer(const struct hal_command_buffer *commands,
                                   const struct hal_buffer *buffer, uint64_t offset, uint64_t bytes)
{
    HAL_TRY(check_category(commands, HAL_COMMANDS_TRANSFER, "transfer"));
    return hal_check_transfer_of(commands->object.device, buffer, offset, bytes);
}

enum hal_status hal_check_fill(const struct hal_command_buffer *commands, uint32_t pattern_bytes)
{
    if (pattern_bytes == 1 || pattern_bytes == 2 || pattern_bytes == 4)
        return HAL_OK;
    return inside(commands, hal_fail(HAL_INVALID, "a fill pattern of %s: 1, 2 and 4 exist",
                                     hal_count(pattern_bytes, "byte", "bytes").text));
}

enum hal_status hal_check_overlap(const struct hal_buffer *source, uint64_t source_offset,
                                  const struct hal_buffer *target, uint64_t target_offset,
                                  uint64_t bytes)
{
    uint64_t from = source_offset, to = target_offset;
    if (hal_root_of(source, &from) != hal_root_of(target, &to) || from + bytes <= to ||
        to + bytes <= from)
        return HAL_OK;
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_fail(HAL_INVALID,
                    "copy inside %s: %s from offset %" PRIu64 " to %" PRIu64 " overlap",
                    hal_object_name(&source->object, name), hal_count(bytes, "byte", "bytes").text,
                    source_offset, target_offset);
}

static enum hal_status check_update(const void *data, uint64_t bytes)
{
    if (bytes > HAL_MAX_UPDATE_BYTES)
        return hal_fail(HAL_INVALID, "an update of %s: the limit is %d",
                        hal_count(bytes, "byte", "bytes").text, HAL_MAX_UPDATE_BYTES);
    if (bytes && !data)
        return hal_fail(HAL_INVALID, "an update of %s from NULL",
                        hal_count(bytes, "byte", "bytes").text);
    return HAL_OK;
}

enum hal_status hal_check_update(const struct hal_command_buffer *commands, const void *data,
                                 uint64_t bytes)
{
    const enum hal_status status = check_update(data, bytes);
    return status == HAL_OK ? HAL_OK : inside(commands, status);
}

static enum hal_status check_constants(const struct hal_device *device, const void *data,
                                       uint32_t offset, uint32_t bytes)
{
    const uint32_t most = device->info.max_constant_bytes;
    if (offset % 4 || bytes % 4)
        return hal_fail(HAL_INVALID, "push constants: offset %u and size %u must be multiples of 4",
                        offset, bytes);
    if (!hal_range_fits(offset, bytes, most))
        return hal_fail(HAL_INVALID,
                        "push constants: offset %u + %u is outside the %s of device '%s'", offset,
                        bytes, hal_count(most, "byte", "bytes").text, device->info.uri);
    if (bytes && !data)
        return hal_fail(HAL_INVALID, "push constants: %s from NULL",
                        hal_count(bytes, "byte", "bytes").text);
    return HAL_OK;
}

enum hal_status hal_check_constants(const struct hal_command_buffer *commands, const void *data,
                                    uint32_t offset, uint32_t bytes)
{
    HAL_TRY(check_category(commands, HAL_COMMANDS_DISPATCH, "push of constants"));
    const enum hal_status status = check_constants(commands->object.device, data, offset, bytes);
    return status == HAL_OK ? HAL_OK : inside(commands, status);
}

static enum hal_status check_binding(const struct hal_command_buffer *commands,
                                     const struct hal_binding *binding)
{
    HAL_TRY(
        check_operand(commands->object.device, binding->buffer, binding->offset, binding->bytes));
    HAL_TRY(hal_check_usage(binding->buffer, HAL_USAGE_DISPATCH));
    if (binding->bytes && binding->offset < binding->buffer->bytes)
        return HAL_OK;
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_fail(HAL_INVALID, "0 bytes of %s: at least 1 is needed",
                    hal_object_name(&binding->buffer->object, name));
}

static enum hal_status check_bindings(const struct hal_command_buffer *commands, uint32_t set,
                                      const struct hal_binding *bindings, size_t count)
{
    if (set >= HAL_MAX_SETS)
        return hal_fail(HAL_INVALID, "descriptor set %u: the last is %d", set, HAL_MAX_SETS - 1);
    if (count > HAL_MAX_BINDINGS)
        return hal_fail(HAL_INVALID, "descriptor set %u with %s: the limit is %d", set,
                        hal_count(count, "binding", "bindings").text, HAL_MAX_BINDINGS);
    if (count && !bindings)
        return hal_fail(HAL_INVALID, "descriptor set %u: %s at NULL", set,
                        hal_count(count, "binding", "bindings").text);
    for (size_t i = 0; i < count; i++) {
        if (bindings[i].buffer)
            HAL_TRY(hal_add_context(check_binding(commands, &bindings[i]),
                                    "descriptor set %u, binding %zu", set, i));
    }
    return HAL_OK;
}

enum hal_status hal_check_bindings(const struct hal_command_buffer *commands, uint32_t set,
                                   const struct hal_binding *bindings, size_t count)
{
    HAL_TRY(check_category(commands, HAL_COMMANDS_DISPATCH, "push of a descriptor set"));
    const enum hal_status status = check_bindings(commands, set, bindings, count);
    return status == HAL_OK ? HAL_OK : inside(commands, status);
}

enum hal_status hal_check_workgroups(const struct hal_entry_point *entry, const uint32_t counts[3])
{
    uint64_t groups;
    for (size_t i = 0; i < 3; i++) {
        const uint64_t threads = (uint64_t)counts[i] * entry->workgroup_size[i];
        if (threads > UINT32_MAX)
            return hal_fail(HAL_INVALID,
                            "dispatch of '%s': %s of %u are %s in dimension %zu, the limit is %u",
                            entry->name, hal_count(counts[i], "workgroup", "workgroups").text,
                            entry->workgroup_size[i], hal_count(threads, "thread", "threads").text,
                            i, UINT32_MAX);
    }
    if (__builtin_mul_overflow((uint64_t)counts[0] * counts[1], (uint64_t)counts[2], &groups) ||
        groups > INT64_MAX)
        return hal_fail(HAL_INVALID,
                        "dispatch of '%s': %u x %u x %u workgroups are more than 2^63-1",
                        entry->name, counts[0], counts[1], counts[2]);
    return HAL_OK;
}

/* The failure, of which kernel and in which command buffer: modules may call all kernels "main". */
static enum hal_status of_kernel(const struct hal_command_buffer *commands,
                                 const struct hal_executable *executable, enum hal_status failure)
{
    char list[HAL_OBJECT_NAME_BYTES], name[HAL_OBJECT_NAME_BYTES];
    return hal_add_context(failure, "%s, %s", hal_object_name(&commands->object, list),
                           hal_object_name(&executable->object, name));
}

/* An entry point of an executable as the kernel of a dispatch. */
static enum hal_status check_kernel(const struct hal_command_buffer *commands,
                                    const struct hal_executable *executable, uint32_t entry)
{
    HAL_TRY(check_category(commands, HAL_COMMANDS_DISPATCH, "dispatch"));
    HAL_TRY(hal_check_belongs(executable ? &executable->object : NULL, "executable",
                              commands->object.device));
    return inside(commands, hal_check_entry(executable, entry));
}

enum hal_status hal_check_dispatch(const struct hal_command_buffer *commands,
                                   const struct hal_executable *executable, uint32_t entry,
                                   const uint32_t workgroup_count[3])
{
    HAL_TRY(check_kernel(commands, executable, entry));
    if (!workgroup_count)
        return of_kernel(commands, executable,
                         hal_fail(HAL_INVALID, "dispatch of '%s' without workgroup counts",
                                  executable->entry_points[entry].name));
    const enum hal_status status =
        hal_check_workgroups(&executable->entry_points[entry], workgroup_count);
    return status == HAL_OK ? HAL_OK : of_kernel(commands, executable, status);
}

static enum hal_status check_counts(const struct hal_device *device, const char *kernel,
                                    const struct hal_buffer *counts, uint64_t offset)
{
    char name[HAL_OBJECT_NAME_BYTES];
    HAL_TRY(hal_add_context(check_operand(device, counts, offset, HAL_COUNTS_BYTES),
                            "dispatch of '%s': workgroup counts", kernel));
    HAL_TRY(hal_add_context(hal_check_usage(counts, HAL_USAGE_DISPATCH),
                            "dispatch of '%s': workgroup counts", kernel));
    if ((counts->root_offset + offset) % 4)
        return hal_fail(HAL_INVALID,
                        "dispatch of '%s': workgroup counts at offset %" PRIu64
                        " of %s%s, which is not a multiple of 4",
                        kernel, counts->root_offset + offset,
                        counts->root ? "the buffer behind " : "",
                        hal_object_name(&counts->object, name));
    return HAL_OK;
}

enum hal_status hal_check_dispatch_indirect(const struct hal_command_buffer *commands,
                                            const struct hal_executable *executable, uint32_t entry,
                                            const struct hal_buffer *counts, uint64_t offset)
{
    HAL_TRY(check_kernel(commands, executable, entry));
    const enum hal_status status =
        check_counts(commands->object.device, executable->entry_points[entry].name, counts, offset);
    return status == HAL_OK ? HAL_OK : of_kernel(commands, executable, status);
}

enum hal_status hal_check_debug(const struct hal_command_buffer *commands, const char *label,
                                uint32_t color)
{
    static const uint32_t most = 0xFFFFFF;
    HAL_TRY(hal_check_recording(commands));
    enum hal_status status = hal_check_label(label);
    if (status == HAL_OK && color > most)
        status = hal_fail(HAL_INVALID, "debug group '%.32s': color 0x%x, the maximum is 0x%x",
                          label ? label : "", color, most);
    return status == HAL_OK ? HAL_OK : inside(commands, status);
}

enum hal_status hal_check_debug_end(const struct hal_command_buffer *commands)
{
    HAL_TRY(hal_check_recording(commands));
    if (commands->recording->open_groups)
        return HAL_OK;
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_fail(HAL_INVALID, "%s: there is no open debug group to end",
                    hal_object_name(&commands->object, name));
}

/* ---- Complete lists ----------------------------------------------------------------------- */

enum hal_status hal_check_end(const struct hal_command_buffer *commands)
{
    HAL_TRY(hal_check_recording(commands));
    if (commands->recording->open_groups == 0)
        return HAL_OK;
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_fail(
        HAL_INVALID, "%s ends with %s", hal_object_name(&commands->object, name),
        hal_count(commands->recording->open_groups, "open debug group", "open debug groups").text);
}

enum hal_status hal_check_signalled(const struct hal_command_buffer *commands, uint32_t number,
                                    const struct hal_event *event, uint32_t stages)
{
    char name[HAL_OBJECT_NAME_BYTES], whose[HAL_OBJECT_NAME_BYTES];
    if (stages)
        return HAL_OK;
    return hal_fail(HAL_INVALID,
                    "%s, command %u waits for %s, which no earlier command has signalled, or which "
                    "was reset since",
                    hal_object_name(&commands->object, whose), number,
                    hal_object_name(&event->object, name));
}

enum hal_status hal_check_wait_stages(const struct hal_command_buffer *commands, uint32_t number,
                                      uint32_t wanted, uint32_t signalled)
{
    char name[HAL_OBJECT_NAME_BYTES];
    if (wanted && wanted != signalled)
        return hal_fail(HAL_INVALID,
                        "%s, command %u waits for events with source stages 0x%x, but they were "
                        "signalled with 0x%x",
                        hal_object_name(&commands->object, name), number, wanted, signalled);
    return HAL_OK;
}
