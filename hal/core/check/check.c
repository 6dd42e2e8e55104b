/* SPDX-License-Identifier: Apache-2.0 */
/* The rules for arguments, on which drivers rely. Each rule exists once, with its message, in the
 * files check*.c; those that need a driver's knowledge are there, too, and in timeline.c, and
 * drivers call them (docs/decisions/rules.md). */
#include "hal/base/mem.h"
#include "hal/base/text.h"
#include "hal/core/core.h"

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
    return place ? HAL_OK : hal_fail(HAL_INVALID, "the out-parameter for %s is NULL", what);
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

enum hal_status hal_check_label(const char *label)
{
    const size_t bytes = label ? strlen(label) : 0;
    if (bytes <= HAL_MAX_LABEL_BYTES)
        return HAL_OK;
    return hal_fail(HAL_INVALID, "label '%.32s...' of %s: the limit is %d", label,
                    hal_count(bytes, "byte", "bytes").text, HAL_MAX_LABEL_BYTES);
}

/* ---- Command buffers ---------------------------------------------------------------------- */

enum hal_status hal_check_ended(const struct hal_command_buffer *commands)
{
    char name[HAL_OBJECT_NAME_BYTES];
    if (commands->is_ended)
        return HAL_OK;
    return hal_fail(HAL_INVALID, "%s has not been ended: call hal_command_buffer_end first",
                    hal_object_name(&commands->object, name));
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
    if (desc->bytes > device->info.max_buffer_bytes && desc->bytes > INT64_MAX)
        return hal_fail(HAL_NO_MEMORY,
                        "buffer '%s' of %s (a negative number, %" PRId64
                        "?): the device's limit is %" PRIu64,
                        label, hal_count(desc->bytes, "byte", "bytes").text, (int64_t)desc->bytes,
                        device->info.max_buffer_bytes);
    if (desc->bytes > device->info.max_buffer_bytes)
        return hal_fail(HAL_NO_MEMORY, "buffer '%s' of %s: the device's limit is %" PRIu64, label,
                        hal_count(desc->bytes, "byte", "bytes").text,
                        device->info.max_buffer_bytes);
    if (desc->memory & ~(visible | HAL_MEMORY_DEVICE_LOCAL))
        return hal_fail(HAL_INVALID, "buffer '%s': memory type 0x%x has unknown bits (known: 0x%x)",
                        label, desc->memory, visible | HAL_MEMORY_DEVICE_LOCAL);
    if (desc->usage & ~usages)
        return hal_fail(HAL_INVALID, "buffer '%s': usage 0x%x has unknown bits (known: 0x%x)",
                        label, desc->usage, usages);
    if ((desc->usage & HAL_USAGE_MAPPING) && desc->memory && !(desc->memory & visible))
        return hal_fail(
            HAL_INVALID,
            "buffer '%s' is mappable, but its memory type 0x%x is not host-visible (0x%x)", label,
            desc->memory, visible);
    return HAL_OK;
}

enum hal_status hal_check_import(const struct hal_device *device,
                                 const struct hal_buffer_desc *desc, const void *pointer)
{
    static const uint32_t visible =
        HAL_MEMORY_HOST_VISIBLE | HAL_MEMORY_HOST_COHERENT | HAL_MEMORY_HOST_CACHED;
    HAL_TRY(hal_check_buffer_desc(device, desc));
    const char *label = desc->label ? desc->label : "";
    if (!pointer)
        return hal_fail(HAL_INVALID, "buffer '%s' is imported from NULL", label);
    if (desc->memory && !(desc->memory & visible))
        return hal_fail(HAL_INVALID,
                        "buffer '%s' is imported, but memory type 0x%x is not visible (0x%x)",
                        label, desc->memory, visible);
    if (!device->top->ops->buffer_import)
        return hal_fail(HAL_UNSUPPORTED, "buffer '%s': device '%s' cannot import host memory",
                        label, device->info.uri);
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
    hal_object_name(&buffer->object, name);
    if (bytes == HAL_WHOLE_BUFFER)
        return hal_fail(HAL_INVALID, "%s has %s: offset %" PRIu64 ", to the end, is outside", name,
                        hal_count(buffer->bytes, "byte", "bytes").text, offset);
    return hal_fail(HAL_INVALID, "%s has %s: offset %" PRIu64 " + %" PRIu64 " is outside", name,
                    hal_count(buffer->bytes, "byte", "bytes").text, offset, bytes);
}

enum hal_status hal_check_freed(const struct hal_buffer *buffer)
{
    char name[HAL_OBJECT_NAME_BYTES], allocation[HAL_OBJECT_NAME_BYTES];
    if (!buffer->allocation ||
        !atomic_load_explicit(&buffer->allocation->is_freed, memory_order_acquire))
        return HAL_OK;
    hal_object_name(&buffer->object, name);
    if (buffer->allocation == buffer)
        return hal_fail(HAL_INVALID, "%s was freed by hal_queue_dealloca", name);
    return hal_fail(HAL_INVALID, "%s is a part of %s, which was freed by hal_queue_dealloca", name,
                    hal_object_name(&buffer->allocation->object, allocation));
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

enum hal_status hal_check_usage(const struct hal_buffer *buffer, enum hal_buffer_usage usage)
{
    if (buffer->usage & usage)
        return HAL_OK;
    char name[HAL_OBJECT_NAME_BYTES];
    hal_object_name(&buffer->object, name);
    if (usage == HAL_USAGE_MAPPING && !(buffer->memory & HAL_MEMORY_HOST_VISIBLE))
        return hal_fail(HAL_INVALID,
                        "%s was created with usage 0x%x, which lacks 'mapping' (0x%x), and in "
                        "memory that the host cannot access: ask for HAL_MEMORY_HOST_VISIBLE",
                        name, buffer->usage, usage);
    return hal_fail(HAL_INVALID, "%s was created with usage 0x%x, which lacks '%s' (0x%x)", name,
                    buffer->usage, usage_name(usage), usage);
}

enum hal_status hal_check_subspan(const struct hal_buffer *buffer, uint64_t offset, uint64_t bytes)
{
    HAL_TRY(hal_check_range(buffer, offset, bytes));
    if (bytes && offset < buffer->bytes)
        return HAL_OK;
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_fail(HAL_INVALID, "a subspan of 0 bytes of %s: at least 1 is needed",
                    hal_object_name(&buffer->object, name));
}

enum hal_status hal_check_map(const struct hal_buffer *buffer, uint32_t mode, uint64_t offset,
                              uint64_t bytes)
{
    static const uint32_t modes =
        HAL_MAP_READ | HAL_MAP_WRITE | HAL_MAP_DISCARD | HAL_MAP_PERSISTENT;
    char name[HAL_OBJECT_NAME_BYTES];
    HAL_TRY(hal_check_range(buffer, offset, bytes));
    HAL_TRY(hal_check_usage(buffer, HAL_USAGE_MAPPING));
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

enum hal_status hal_check_transfer_memory(const struct hal_buffer *buffer, const void *memory,
                                          uint64_t bytes)
{
    char name[HAL_OBJECT_NAME_BYTES];
    if (memory)
        return HAL_OK;
    return hal_fail(HAL_INVALID, "%s: %s at a null pointer", hal_object_name(&buffer->object, name),
                    hal_count(bytes, "byte", "bytes").text);
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
                    "the mapping of %s has %s: offset %" PRIu64 " + %" PRIu64 " is outside",
                    hal_object_name(&mapping->buffer->object, name),
                    hal_count(mapping->bytes, "byte", "bytes").text, offset, bytes);
}

/* ---- Files and transient buffers ---------------------------------------------------------- */

enum hal_status hal_check_file_mode(const char *path, uint32_t mode)
{
    static const uint32_t modes =
        HAL_FILE_READ | HAL_FILE_WRITE | HAL_FILE_CREATE | HAL_FILE_TRUNCATE;
    if (!path || !path[0])
        return hal_fail(HAL_INVALID, "a file needs a path");
    if (mode & ~modes || !(mode & (HAL_FILE_READ | HAL_FILE_WRITE)))
        return hal_fail(HAL_INVALID,
                        "file '%s': mode 0x%x has unknown bits (known: 0x%x), or neither reads nor "
                        "writes",
                        path, mode, modes);
    if (mode & (HAL_FILE_CREATE | HAL_FILE_TRUNCATE) && !(mode & HAL_FILE_WRITE))
        return hal_fail(HAL_INVALID, "file '%s': mode 0x%x makes a file without writing", path,
                        mode);
    return HAL_OK;
}

enum hal_status hal_check_file_use(const char *path, uint32_t opened, uint32_t mode,
                                   uint64_t offset, uint64_t bytes)
{
    if (!path)
        return hal_fail(HAL_INVALID, "the file is NULL");
    if (!(opened & mode))
        return hal_fail(HAL_INVALID, "file '%s' was not opened for %s", path,
                        mode == HAL_FILE_READ ? "reading" : "writing");
    if (!hal_range_fits(offset, bytes, INT64_MAX))
        return hal_fail(HAL_INVALID, "file '%s': offset %" PRIu64 " + %" PRIu64 " is beyond 2^63-1",
                        path, offset, bytes);
    return HAL_OK;
}

enum hal_status hal_check_transient(const struct hal_device *device,
                                    const struct hal_buffer *buffer)
{
    char name[HAL_OBJECT_NAME_BYTES];
    HAL_TRY(hal_check_belongs(buffer ? &buffer->object : NULL, "buffer", device));
    if (buffer->transient)
        return HAL_OK;
    return hal_fail(HAL_INVALID,
                    "%s is not a transient buffer of hal_queue_alloca, or has already been freed",
                    hal_object_name(&buffer->object, name));
}

/* What alloca and dealloca add to the application's lists. */
enum hal_status hal_check_transient_lists(const struct hal_submit_desc *desc, size_t more)
{
    if (desc->wait_count + more > HAL_MAX_LIST || desc->signal_count >= HAL_MAX_LIST)
        return hal_fail(HAL_INVALID,
                        "transient memory needs room for %s and 1 more signal: with %zu and %zu "
                        "they are over the limit of %d",
                        hal_count(more, "more wait", "more waits").text, desc->wait_count,
                        desc->signal_count, HAL_MAX_LIST);
    return HAL_OK;
}

/* ---- Queues and semaphores ---------------------------------------------------------------- */

enum hal_status hal_check_initial_value(const char *label, uint64_t value)
{
    if (value != UINT64_MAX)
        return HAL_OK;
    return hal_fail(HAL_INVALID, "semaphore '%s' cannot start at the reserved value 2^64-1",
                    label ? label : "");
}

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
    if (!semaphore)
        return hal_check_object(NULL, "semaphore");
    const struct hal_device *owner = semaphore->object.device;
    if (device->driver->ops->shares_semaphores &&
        strcmp(owner->info.driver, device->info.driver) == 0 &&
        atomic_load(&owner->gate.state) != HAL_GATE_FORKED)
        return HAL_OK;
    return hal_check_belongs(&semaphore->object, "semaphore", device);
}

static enum hal_status check_values(const struct hal_device *device, const char *what,
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
    HAL_TRY(check_values(device, "wait", values, count));
    if (mode == HAL_WAIT_ANY && count == 0)
        return hal_fail(HAL_INVALID, "waiting for any of 0 semaphore values would never end");
    return HAL_OK;
}

enum hal_status hal_check_operation(const struct hal_device *device,
                                    const struct hal_submit_desc *desc)
{
    HAL_TRY(hal_check_device(device));
    if (desc && desc->command_count)
        return hal_fail(HAL_INVALID, "a queue operation with %s: it takes none",
                        hal_count(desc->command_count, "command buffer", "command buffers").text);
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
        return hal_fail(HAL_INVALID,
                        "queue affinity 0x%" PRIx64 ": device '%s' has %s (queues=N in its "
                        "name asks for more)",
                        desc->queues, device->info.uri, hal_count(queues, "queue", "queues").text);
    HAL_TRY(check_values(device, "wait", desc->waits, desc->wait_count));
    HAL_TRY(check_values(device, "signal", desc->signals, desc->signal_count));
    if (desc->command_count > HAL_MAX_LIST)
        return hal_fail(HAL_INVALID, "%zu command buffers in one submission: the limit is %d",
                        desc->command_count, HAL_MAX_LIST);
    if (desc->command_count && !desc->commands)
        return hal_fail(HAL_INVALID, "%s at NULL",
                        hal_count(desc->command_count, "command buffer", "command buffers").text);
    for (size_t i = 0; i < desc->command_count; i++) {
        const struct hal_command_buffer *commands = desc->commands[i];
        HAL_TRY(hal_check_belongs(commands ? &commands->object : NULL, "command buffer", device));
        HAL_TRY(hal_check_ended(commands));
    }
    return HAL_OK;
}
