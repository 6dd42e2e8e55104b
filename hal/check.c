/* SPDX-License-Identifier: Apache-2.0 */
/* The rules for arguments. Drivers rely on them. Each rule stands here once, with its message. */
#include "hal/base/mem.h"
#include "hal/core.h"

#include <inttypes.h>

/* ---- Handles ------------------------------------------------------------------------------ */

enum hal_status hal_check_device(const struct hal_device *device)
{
    return device ? HAL_OK : hal_fail(HAL_INVALID, "the device is NULL");
}

enum hal_status hal_check_object(const struct hal_object *object, const char *what)
{
    return object ? HAL_OK : hal_fail(HAL_INVALID, "the %s is NULL", what);
}

enum hal_status hal_check_place(const void *place, const char *what)
{
    return place ? HAL_OK : hal_fail(HAL_INVALID, "the place for %s is NULL", what);
}

enum hal_status hal_check_belongs(const struct hal_object *object, const char *what,
                                  const struct hal_device *device)
{
    HAL_TRY(hal_check_object(object, what));
    if (object->device == device)
        return HAL_OK;
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_fail(HAL_INVALID, "%s belongs to another device than '%s'",
                    hal_object_name(object, name), device->info.uri);
}

/* ---- Buffers ------------------------------------------------------------------------------ */

enum hal_status hal_check_buffer_desc(const struct hal_device *device,
                                      const struct hal_buffer_desc *desc)
{
    static const uint32_t visible =
        HAL_MEMORY_HOST_VISIBLE | HAL_MEMORY_HOST_COHERENT | HAL_MEMORY_HOST_CACHED;
    static const uint32_t usages = HAL_USAGE_TRANSFER | HAL_USAGE_DISPATCH | HAL_USAGE_MAPPING;
    HAL_TRY(hal_check_device(device));
    if (!desc)
        return hal_fail(HAL_INVALID, "a buffer needs a description");
    const char *label = desc->label ? desc->label : "";
    if (desc->bytes == 0)
        return hal_fail(HAL_INVALID, "buffer '%s' of 0 bytes: at least 1 is needed", label);
    if (desc->bytes > device->info.max_buffer_bytes)
        return hal_fail(HAL_NO_MEMORY,
                        "buffer '%s' of %" PRIu64 " bytes: the device's limit is %" PRIu64, label,
                        desc->bytes, device->info.max_buffer_bytes);
    if (desc->memory & ~(visible | HAL_MEMORY_DEVICE_LOCAL))
        return hal_fail(HAL_INVALID, "buffer '%s': memory type 0x%x has unknown bits (known: 0x%x)",
                        label, desc->memory, visible | HAL_MEMORY_DEVICE_LOCAL);
    if (desc->usage & ~usages)
        return hal_fail(HAL_INVALID, "buffer '%s': usage 0x%x has unknown bits (known: 0x%x)",
                        label, desc->usage, usages);
    if ((desc->usage & HAL_USAGE_MAPPING) && desc->memory && !(desc->memory & visible))
        return hal_fail(HAL_INVALID,
                        "buffer '%s' is to be mapped, but its memory is not host-visible", label);
    return HAL_OK;
}

enum hal_status hal_check_range(const struct hal_buffer *buffer, uint64_t offset, uint64_t bytes)
{
    HAL_TRY(hal_check_object(buffer ? &buffer->object : NULL, "buffer"));
    if (bytes == HAL_WHOLE_BUFFER && offset <= buffer->bytes)
        return HAL_OK;
    if (hal_range_fits(offset, bytes, buffer->bytes))
        return HAL_OK;
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_fail(HAL_INVALID,
                    "%s has %" PRIu64 " bytes: offset %" PRIu64 " + %" PRIu64 " is outside",
                    hal_object_name(&buffer->object, name), buffer->bytes, offset, bytes);
}

static const char *usage_name(enum hal_buffer_usage usage)
{
    switch (usage) {
    case HAL_USAGE_TRANSFER: return "transfer";
    case HAL_USAGE_DISPATCH: return "dispatch";
    case HAL_USAGE_MAPPING: return "mapping";
    }
    return "unknown";
}

static enum hal_status check_usage(const struct hal_buffer *buffer, enum hal_buffer_usage usage)
{
    if (buffer->usage & usage)
        return HAL_OK;
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_fail(HAL_INVALID, "%s was created with usage 0x%x, which lacks '%s' (0x%x)",
                    hal_object_name(&buffer->object, name), buffer->usage, usage_name(usage),
                    usage);
}

enum hal_status hal_check_map(const struct hal_buffer *buffer, uint32_t mode, uint64_t offset,
                              uint64_t bytes)
{
    static const uint32_t modes =
        HAL_MAP_READ | HAL_MAP_WRITE | HAL_MAP_DISCARD | HAL_MAP_PERSISTENT;
    char name[HAL_OBJECT_NAME_BYTES];
    HAL_TRY(hal_check_range(buffer, offset, bytes));
    HAL_TRY(check_usage(buffer, HAL_USAGE_MAPPING));
    hal_object_name(&buffer->object, name);
    if (bytes == 0 || (bytes == HAL_WHOLE_BUFFER && offset == buffer->bytes))
        return hal_fail(HAL_INVALID, "mapping 0 bytes of %s: at least 1 is needed", name);
    if (mode & ~modes)
        return hal_fail(HAL_INVALID, "mapping %s: mode 0x%x has unknown bits (known: 0x%x)", name,
                        mode, modes);
    if (!(mode & (HAL_MAP_READ | HAL_MAP_WRITE)))
        return hal_fail(HAL_INVALID, "mapping %s: mode 0x%x neither reads nor writes", name, mode);
    if ((mode & HAL_MAP_DISCARD) && !(mode & HAL_MAP_WRITE))
        return hal_fail(HAL_INVALID, "mapping %s: mode 0x%x discards without writing", name, mode);
    return HAL_OK;
}

enum hal_status hal_check_mapping(const struct hal_mapping *mapping, uint64_t offset,
                                  uint64_t bytes)
{
    if (!mapping || !mapping->buffer)
        return hal_fail(HAL_INVALID, "the mapping is not open");
    if (bytes == HAL_WHOLE_BUFFER && offset <= mapping->bytes)
        return HAL_OK;
    if (hal_range_fits(offset, bytes, mapping->bytes))
        return HAL_OK;
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_fail(HAL_INVALID,
                    "the mapping of %s has %" PRIu64 " bytes: offset %" PRIu64 " + %" PRIu64
                    " is outside",
                    hal_object_name(&mapping->buffer->object, name), mapping->bytes, offset, bytes);
}

/* ---- Executables -------------------------------------------------------------------------- */

static enum hal_status check_group_arguments(const struct hal_device *device, const char *label,
                                             const struct hal_entry_point *entry)
{
    uint64_t total = 0;
    for (size_t i = 0; i < HAL_MAX_GROUP_ARGUMENTS; i++) {
        const uint32_t bytes = entry->group_argument_bytes[i];
        total += bytes;
        if (bytes % 16)
            return hal_fail(HAL_INVALID,
                            "executable '%s', entry point '%s': threadgroup argument %zu has %u "
                            "bytes, no multiple of 16",
                            label, entry->name, i, bytes);
    }
    if (total > device->info.max_group_memory_bytes)
        return hal_fail(HAL_INVALID,
                        "executable '%s', entry point '%s': %" PRIu64
                        " bytes of threadgroup arguments, the limit is %" PRIu64,
                        label, entry->name, total, device->info.max_group_memory_bytes);
    return HAL_OK;
}

static enum hal_status check_entry_layout(const struct hal_device *device, const char *label,
                                          const struct hal_entry_point *entry,
                                          const struct hal_pipeline_layout *layout)
{
    char name[HAL_OBJECT_NAME_BYTES];
    HAL_TRY(hal_check_belongs(&layout->object, "pipeline layout", device));
    if (entry->constant_bytes > layout->constant_bytes)
        return hal_fail(HAL_INVALID,
                        "executable '%s', entry point '%s': %u bytes of constants, its %s has %u",
                        label, entry->name, entry->constant_bytes,
                        hal_object_name(&layout->object, name), layout->constant_bytes);
    if (entry->constant_bytes && entry->constants_slot < layout->set_count)
        return hal_fail(HAL_INVALID,
                        "executable '%s', entry point '%s': constants slot %u is the place of a "
                        "descriptor set, of which its %s has %zu",
                        label, entry->name, entry->constants_slot,
                        hal_object_name(&layout->object, name), layout->set_count);
    return HAL_OK;
}

static enum hal_status check_entry(const struct hal_device *device, const char *label,
                                   const struct hal_entry_point *entry, size_t index)
{
    const struct hal_device_info *info = &device->info;
    uint64_t threads = 1;
    if (!entry->name || !entry->name[0])
        return hal_fail(HAL_INVALID, "executable '%s': entry point %zu has no name", label, index);
    for (size_t i = 0; i < 3; i++) {
        const uint32_t size = entry->group_size[i];
        if (size == 0 || size > info->max_group_size[i])
            return hal_fail(HAL_INVALID,
                            "executable '%s', entry point '%s': a workgroup size of %u in "
                            "dimension %zu is not in 1 to %u",
                            label, entry->name, size, i, info->max_group_size[i]);
        threads *= size;
    }
    if (threads > info->max_group_threads)
        return hal_fail(HAL_INVALID,
                        "executable '%s', entry point '%s': %" PRIu64
                        " threads per workgroup, the limit is %u",
                        label, entry->name, threads, info->max_group_threads);
    if (entry->constant_bytes > HAL_MAX_CONSTANT_BYTES || entry->constant_bytes % 4)
        return hal_fail(HAL_INVALID,
                        "executable '%s', entry point '%s': %u bytes of constants are no multiple "
                        "of 4 up to %d",
                        label, entry->name, entry->constant_bytes, HAL_MAX_CONSTANT_BYTES);
    if (entry->constants_slot >= HAL_MAX_BINDINGS)
        return hal_fail(HAL_INVALID,
                        "executable '%s', entry point '%s': constants slot %u, the last is %d",
                        label, entry->name, entry->constants_slot, HAL_MAX_BINDINGS - 1);
    return check_group_arguments(device, label, entry);
}

static enum hal_status check_constant(const char *label, const struct hal_constant *constant)
{
    switch (constant->type) {
    case HAL_CONSTANT_BOOL:
        if (constant->bits > 1)
            break;
        return HAL_OK;
    case HAL_CONSTANT_INT32:
    case HAL_CONSTANT_UINT32:
    case HAL_CONSTANT_FLOAT32: return HAL_OK;
    }
    return hal_fail(HAL_INVALID,
                    "executable '%s', specialization constant %u: there is no value 0x%x of type "
                    "%d",
                    label, constant->index, constant->bits, (int)constant->type);
}

static enum hal_status check_variant(const char *label, enum hal_executable_format format,
                                     const void *data, size_t bytes)
{
    if (format < HAL_FORMAT_MSL || format > HAL_FORMAT_SPIRV)
        return hal_fail(HAL_INVALID, "executable '%s': there is no format %d", label, (int)format);
    if (!data || bytes == 0)
        return hal_fail(HAL_INVALID, "executable '%s' has no data", label);
    return HAL_OK;
}

static enum hal_status check_variants(const char *label, const struct hal_executable_desc *desc)
{
    if (desc->variant_count == 0)
        return check_variant(label, desc->format, desc->data, desc->bytes);
    if (desc->data || desc->bytes || desc->format)
        return hal_fail(HAL_INVALID,
                        "executable '%s' has %zu variants, and data of its own beside them", label,
                        desc->variant_count);
    if (desc->variant_count > HAL_MAX_VARIANTS)
        return hal_fail(HAL_INVALID, "executable '%s' has %zu variants, the limit is %d", label,
                        desc->variant_count, HAL_MAX_VARIANTS);
    if (!desc->variants)
        return hal_fail(HAL_INVALID, "executable '%s': %zu variants at NULL", label,
                        desc->variant_count);
    for (size_t i = 0; i < desc->variant_count; i++) {
        const struct hal_executable_variant *variant = &desc->variants[i];
        HAL_TRY(
            hal_add_context(check_variant(label, variant->format, variant->data, variant->bytes),
                            "variant %zu", i));
    }
    return HAL_OK;
}

enum hal_status hal_check_executable_desc(const struct hal_device *device,
                                          const struct hal_executable_desc *desc)
{
    HAL_TRY(hal_check_device(device));
    if (!desc)
        return hal_fail(HAL_INVALID, "an executable needs a description");
    const char *label = desc->label ? desc->label : "";
    HAL_TRY(check_variants(label, desc));
    if (!desc->entry_points || desc->entry_point_count == 0 || desc->entry_point_count > UINT32_MAX)
        return hal_fail(HAL_INVALID, "executable '%s' has %zu entry points", label,
                        desc->entry_points ? desc->entry_point_count : 0);
    for (size_t i = 0; i < desc->entry_point_count; i++)
        HAL_TRY(check_entry(device, label, &desc->entry_points[i], i));
    for (size_t i = 0; desc->layouts && i < desc->entry_point_count; i++) {
        if (desc->layouts[i])
            HAL_TRY(check_entry_layout(device, label, &desc->entry_points[i], desc->layouts[i]));
    }
    if (desc->cache && desc->cache->device != device)
        return hal_fail(HAL_INVALID,
                        "executable '%s': the executable cache '%s' belongs to another device than "
                        "'%s'",
                        label, desc->cache->label ? desc->cache->label : "", device->info.uri);
    if (desc->constant_count && !desc->constants)
        return hal_fail(HAL_INVALID, "executable '%s': %zu specialization constants at NULL", label,
                        desc->constant_count);
    for (size_t i = 0; i < desc->constant_count; i++)
        HAL_TRY(check_constant(label, &desc->constants[i]));
    return HAL_OK;
}

enum hal_status hal_check_cache(const struct hal_executable_cache *cache)
{
    return cache ? HAL_OK : hal_fail(HAL_INVALID, "the executable cache is NULL");
}

enum hal_status hal_check_entry(const struct hal_executable *executable, uint32_t entry)
{
    if (entry < executable->entry_point_count)
        return HAL_OK;
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_fail(HAL_INVALID, "%s has %zu entry points: there is no number %u",
                    hal_object_name(&executable->object, name), executable->entry_point_count,
                    entry);
}

/* ---- Commands ----------------------------------------------------------------------------- */

enum hal_status hal_check_recording(const struct hal_command_buffer *commands)
{
    if (commands && !commands->sealed)
        return HAL_OK;
    HAL_TRY(hal_check_object(commands ? &commands->object : NULL, "command buffer"));
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_fail(HAL_INVALID, "%s is sealed and cannot change",
                    hal_object_name(&commands->object, name));
}

/* The failure, and in which command buffer. */
static enum hal_status inside(const struct hal_command_buffer *commands, enum hal_status failure)
{
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_add_context(failure, "%s", hal_object_name(&commands->object, name));
}

static enum hal_status check_bits(const struct hal_command_buffer *commands, const char *what,
                                  uint32_t bits, uint32_t known)
{
    if (!(bits & ~known))
        return HAL_OK;
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_fail(HAL_INVALID, "barrier in %s: %s 0x%x have unknown bits (known: 0x%x)",
                    hal_object_name(&commands->object, name), what, bits, known);
}

enum hal_status hal_check_category(const struct hal_command_buffer *commands,
                                   enum hal_command_category category, const char *what)
{
    HAL_TRY(hal_check_recording(commands));
    if (commands->categories & category)
        return HAL_OK;
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_fail(HAL_INVALID, "%s was created for commands of categories 0x%x: a %s is of 0x%x",
                    hal_object_name(&commands->object, name), commands->categories, what, category);
}

enum hal_status hal_check_events(const struct hal_command_buffer *commands,
                                 struct hal_event *const *events, size_t count,
                                 uint32_t source_stages)
{
    HAL_TRY(hal_check_recording(commands));
    char name[HAL_OBJECT_NAME_BYTES];
    if (count == 0 || count > HAL_MAX_LIST || !events)
        return hal_fail(HAL_INVALID, "wait in %s for %zu events%s: 1 to %d are possible",
                        hal_object_name(&commands->object, name), count, events ? "" : " at NULL",
                        HAL_MAX_LIST);
    for (size_t i = 0; i < count; i++)
        HAL_TRY(hal_check_belongs(events[i] ? &events[i]->object : NULL, "event",
                                  commands->object.device));
    return check_bits(commands, "stages", source_stages, HAL_STAGE_ALL);
}

enum hal_status hal_check_barrier(const struct hal_command_buffer *commands,
                                  const struct hal_barrier_desc *desc)
{
    static const uint32_t accesses = HAL_ACCESS_READ | HAL_ACCESS_WRITE;
    HAL_TRY(hal_check_recording(commands));
    HAL_TRY(
        check_bits(commands, "stages", desc->source_stages | desc->target_stages, HAL_STAGE_ALL));
    HAL_TRY(check_bits(commands, "accesses", desc->source_access | desc->target_access, accesses));
    if (desc->buffer_count > HAL_MAX_LIST || (desc->buffer_count && !desc->buffers))
        return inside(commands,
                      hal_fail(HAL_INVALID, "barrier with %zu buffers%s: the limit is %d",
                               desc->buffer_count, desc->buffers ? "" : " at NULL", HAL_MAX_LIST));
    for (size_t i = 0; i < desc->buffer_count; i++) {
        const struct hal_buffer_barrier *barrier = &desc->buffers[i];
        HAL_TRY(hal_check_belongs(barrier->buffer ? &barrier->buffer->object : NULL, "buffer",
                                  commands->object.device));
        HAL_TRY(hal_check_range(barrier->buffer, barrier->offset, barrier->bytes));
        HAL_TRY(check_bits(commands, "accesses", barrier->source_access | barrier->target_access,
                           accesses));
    }
    return HAL_OK;
}

enum hal_status hal_check_transfer_of(const struct hal_device *device,
                                      const struct hal_buffer *buffer, uint64_t offset,
                                      uint64_t bytes)
{
    HAL_TRY(hal_check_belongs(buffer ? &buffer->object : NULL, "buffer", device));
    HAL_TRY(hal_check_range(buffer, offset, bytes));
    return check_usage(buffer, HAL_USAGE_TRANSFER);
}

enum hal_status hal_check_transfer(const struct hal_command_buffer *commands,
                                   const struct hal_buffer *buffer, uint64_t offset, uint64_t bytes)
{
    HAL_TRY(hal_check_category(commands, HAL_COMMANDS_TRANSFER, "transfer"));
    return hal_check_transfer_of(commands->object.device, buffer, offset, bytes);
}

enum hal_status hal_check_fill(const struct hal_command_buffer *commands, uint32_t pattern_bytes)
{
    if (pattern_bytes == 1 || pattern_bytes == 2 || pattern_bytes == 4)
        return HAL_OK;
    return inside(commands, hal_fail(HAL_INVALID, "a fill pattern of %u bytes: 1, 2 and 4 exist",
                                     pattern_bytes));
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
                    "copy inside %s: %" PRIu64 " bytes from offset %" PRIu64 " to %" PRIu64
                    " overlap",
                    hal_object_name(&source->object, name), bytes, source_offset, target_offset);
}

static enum hal_status check_update(const void *data, uint64_t bytes)
{
    if (bytes > HAL_MAX_UPDATE_BYTES)
        return hal_fail(HAL_INVALID, "an update of %" PRIu64 " bytes: the limit is %d", bytes,
                        HAL_MAX_UPDATE_BYTES);
    if (bytes && !data)
        return hal_fail(HAL_INVALID, "an update of %" PRIu64 " bytes from NULL", bytes);
    return HAL_OK;
}

enum hal_status hal_check_update(const struct hal_command_buffer *commands, const void *data,
                                 uint64_t bytes)
{
    const enum hal_status status = check_update(data, bytes);
    return status == HAL_OK ? HAL_OK : inside(commands, status);
}

static enum hal_status check_constants(const void *data, uint32_t offset, uint32_t bytes)
{
    if (offset % 4 || bytes % 4)
        return hal_fail(HAL_INVALID, "push constants: offset %u and size %u must be multiples of 4",
                        offset, bytes);
    if (!hal_range_fits(offset, bytes, HAL_MAX_CONSTANT_BYTES))
        return hal_fail(HAL_INVALID, "push constants: offset %u + %u is outside the %d bytes",
                        offset, bytes, HAL_MAX_CONSTANT_BYTES);
    if (bytes && !data)
        return hal_fail(HAL_INVALID, "push constants: %u bytes from NULL", bytes);
    return HAL_OK;
}

enum hal_status hal_check_constants(const struct hal_command_buffer *commands, const void *data,
                                    uint32_t offset, uint32_t bytes)
{
    const enum hal_status status = check_constants(data, offset, bytes);
    return status == HAL_OK ? HAL_OK : inside(commands, status);
}

static enum hal_status check_binding(const struct hal_command_buffer *commands,
                                     const struct hal_binding *binding)
{
    HAL_TRY(hal_check_belongs(&binding->buffer->object, "buffer", commands->object.device));
    HAL_TRY(hal_check_range(binding->buffer, binding->offset, binding->bytes));
    HAL_TRY(check_usage(binding->buffer, HAL_USAGE_DISPATCH));
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
        return hal_fail(HAL_INVALID, "descriptor set %u with %zu bindings: the limit is %d", set,
                        count, HAL_MAX_BINDINGS);
    if (count && !bindings)
        return hal_fail(HAL_INVALID, "descriptor set %u: %zu bindings at NULL", set, count);
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
    HAL_TRY(hal_check_recording(commands));
    const enum hal_status status = check_bindings(commands, set, bindings, count);
    return status == HAL_OK ? HAL_OK : inside(commands, status);
}

enum hal_status hal_check_workgroups(const struct hal_entry_point *entry, const uint32_t counts[3])
{
    uint64_t groups;
    for (size_t i = 0; i < 3; i++) {
        const uint64_t threads = (uint64_t)counts[i] * entry->group_size[i];
        if (threads > UINT32_MAX)
            return hal_fail(HAL_INVALID,
                            "dispatch of '%s': %u workgroups of %u are %" PRIu64
                            " threads in dimension %zu, the limit is %u",
                            entry->name, counts[i], entry->group_size[i], threads, i, UINT32_MAX);
    }
    if (__builtin_mul_overflow((uint64_t)counts[0] * counts[1], (uint64_t)counts[2], &groups) ||
        groups > INT64_MAX)
        return hal_fail(HAL_INVALID,
                        "dispatch of '%s': %u x %u x %u workgroups are more than 2^63-1",
                        entry->name, counts[0], counts[1], counts[2]);
    return HAL_OK;
}

/* An entry point of an executable as the kernel of a dispatch. */
static enum hal_status check_kernel(const struct hal_command_buffer *commands,
                                    const struct hal_executable *executable, uint32_t entry)
{
    HAL_TRY(hal_check_category(commands, HAL_COMMANDS_DISPATCH, "dispatch"));
    HAL_TRY(hal_check_belongs(executable ? &executable->object : NULL, "executable",
                              commands->object.device));
    return hal_check_entry(executable, entry);
}

enum hal_status hal_check_dispatch(const struct hal_command_buffer *commands,
                                   const struct hal_executable *executable, uint32_t entry,
                                   const uint32_t workgroup_count[3])
{
    HAL_TRY(check_kernel(commands, executable, entry));
    if (!workgroup_count)
        return hal_fail(HAL_INVALID, "dispatch of '%s' without workgroup counts",
                        executable->entry_points[entry].name);
    return hal_check_workgroups(&executable->entry_points[entry], workgroup_count);
}

enum hal_status hal_check_dispatch_indirect(const struct hal_command_buffer *commands,
                                            const struct hal_executable *executable, uint32_t entry,
                                            const struct hal_buffer *counts, uint64_t offset)
{
    HAL_TRY(check_kernel(commands, executable, entry));
    const char *kernel = executable->entry_points[entry].name;
    HAL_TRY(hal_check_belongs(counts ? &counts->object : NULL, "buffer", commands->object.device));
    HAL_TRY(hal_add_context(hal_check_range(counts, offset, HAL_COUNTS_BYTES),
                            "dispatch of '%s': workgroup counts", kernel));
    HAL_TRY(hal_add_context(check_usage(counts, HAL_USAGE_DISPATCH),
                            "dispatch of '%s': workgroup counts", kernel));
    char name[HAL_OBJECT_NAME_BYTES];
    if ((counts->root_offset + offset) % 4)
        return hal_fail(HAL_INVALID,
                        "dispatch of '%s': workgroup counts at offset %" PRIu64
                        " of %s, which must be a multiple of 4",
                        kernel, offset, hal_object_name(&counts->object, name));
    return HAL_OK;
}

/* ---- Queues and semaphores ---------------------------------------------------------------- */

enum hal_status hal_check_value(const struct hal_semaphore *semaphore, const char *what,
                                uint64_t value)
{
    if (value != UINT64_MAX)
        return HAL_OK;
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_fail(HAL_INVALID, "%s: the value 2^64-1 is reserved, nothing can %s it",
                    hal_object_name(&semaphore->object, name), what);
}

/* Devices of one driver share semaphores where the driver can do that. */
static enum hal_status check_may_use(const struct hal_semaphore *semaphore,
                                     const struct hal_device *device)
{
    const struct hal_device *owner = semaphore ? semaphore->object.device : NULL;
    if (owner && device->driver->ops->shares_semaphores &&
        strcmp(owner->info.driver, device->info.driver) == 0 &&
        atomic_load(&owner->gate.state) != HAL_GATE_FORKED)
        return HAL_OK;
    return hal_check_belongs(semaphore ? &semaphore->object : NULL, "semaphore", device);
}

enum hal_status hal_check_values(const struct hal_device *device, const char *what,
                                 const struct hal_semaphore_value *values, size_t count)
{
    if (count > HAL_MAX_LIST)
        return hal_fail(HAL_INVALID, "%zu semaphore values to %s: the limit is %d", count, what,
                        HAL_MAX_LIST);
    if (count && !values)
        return hal_fail(HAL_INVALID, "%zu semaphore values to %s at NULL", count, what);
    for (size_t i = 0; i < count; i++) {
        const struct hal_semaphore *semaphore = values[i].semaphore;
        HAL_TRY(check_may_use(semaphore, device));
        HAL_TRY(hal_check_value(semaphore, what, values[i].value));
    }
    return HAL_OK;
}

enum hal_status hal_check_wait(const struct hal_device *device, enum hal_wait_mode mode,
                               const struct hal_semaphore_value *values, size_t count)
{
    HAL_TRY(hal_check_device(device));
    if (mode != HAL_WAIT_ALL && mode != HAL_WAIT_ANY)
        return hal_fail(HAL_INVALID, "waiting for %zu semaphore values: there is no mode %d", count,
                        (int)mode);
    HAL_TRY(hal_check_values(device, "wait", values, count));
    if (mode == HAL_WAIT_ANY && count == 0)
        return hal_fail(HAL_INVALID, "waiting for any of 0 semaphore values would never end");
    return HAL_OK;
}

enum hal_status hal_check_operation(const struct hal_device *device,
                                    const struct hal_submit_desc *desc)
{
    HAL_TRY(hal_check_device(device));
    if (desc && desc->command_count)
        return hal_fail(HAL_INVALID, "a queue operation with %zu command buffers: it takes none",
                        desc->command_count);
    return desc ? hal_check_submit(device, desc) : HAL_OK;
}

enum hal_status hal_check_submit(const struct hal_device *device,
                                 const struct hal_submit_desc *desc)
{
    HAL_TRY(hal_check_device(device));
    if (!desc)
        return hal_fail(HAL_INVALID, "a submission needs a description");
    const uint32_t queues = device->info.queue_count;
    if (queues < HAL_MAX_QUEUES && desc->queues >> queues)
        return hal_fail(HAL_INVALID, "queue affinity 0x%" PRIx64 ": device '%s' has %u queues",
                        desc->queues, device->info.uri, queues);
    HAL_TRY(hal_check_values(device, "wait", desc->waits, desc->wait_count));
    HAL_TRY(hal_check_values(device, "signal", desc->signals, desc->signal_count));
    if (desc->command_count > HAL_MAX_LIST)
        return hal_fail(HAL_INVALID, "%zu command buffers in one submission: the limit is %d",
                        desc->command_count, HAL_MAX_LIST);
    if (desc->command_count && !desc->commands)
        return hal_fail(HAL_INVALID, "%zu command buffers at NULL", desc->command_count);
    for (size_t i = 0; i < desc->command_count; i++) {
        const struct hal_command_buffer *commands = desc->commands[i];
        char name[HAL_OBJECT_NAME_BYTES];
        HAL_TRY(hal_check_belongs(commands ? &commands->object : NULL, "command buffer", device));
        if (!commands->sealed)
            return hal_fail(HAL_INVALID, "%s is not sealed: hal_command_buffer_end comes first",
                            hal_object_name(&commands->object, name));
    }
    return HAL_OK;
}
