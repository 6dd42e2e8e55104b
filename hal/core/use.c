/* SPDX-License-Identifier: Apache-2.0 */
/* What work may not use: bytes that a scoped mapping shows to the host, and transient buffers that
 * were freed. A command buffer may have been recorded before either, so that its submission is
 * looked at, too. That costs something only while there is such a mapping or buffer. */
#include "hal/core/recording.h"

#include "hal/base/text.h"

#include <inttypes.h>

/* ---- Transient buffers --------------------------------------------------------------------- */

static bool is_buffer(const struct hal_object *object)
{
    return object->kind == HAL_OBJECT_BUFFER || object->kind == HAL_OBJECT_SUBSPAN;
}

static enum hal_status check_leases(const struct hal_command_buffer *commands)
{
    const struct hal_recording *recording = commands->recording;
    char name[HAL_OBJECT_NAME_BYTES];
    for (size_t i = 0; i < recording->retained_count; i++) {
        const struct hal_object *object = recording->retained[i];
        if (is_buffer(object))
            HAL_TRY(hal_add_context(hal_check_freed((const struct hal_buffer *)object), "%s",
                                    hal_object_name(&commands->object, name)));
    }
    return HAL_OK;
}

/* ---- Mappings ------------------------------------------------------------------------------ */

/* Under objects_lock, as all that follows. */
static bool has_scoped(const struct hal_buffer *root)
{
    for (const struct hal_open_mapping *open = root->open_mappings; open; open = open->next) {
        if (!(open->mapping.mode & HAL_MAP_PERSISTENT))
            return true;
    }
    return false;
}

/* `root` is not a subspan. The message says what `user` does with mapped bytes. */
static enum hal_status check_bytes(const char *user, const struct hal_buffer *root, uint64_t offset,
                                   uint64_t bytes)
{
    char name[HAL_OBJECT_NAME_BYTES];
    if (bytes == 0)
        return HAL_OK;
    for (const struct hal_open_mapping *open = root->open_mappings; open; open = open->next) {
        const struct hal_mapping *mapping = &open->mapping;
        if (mapping->mode & HAL_MAP_PERSISTENT || offset >= mapping->offset + mapping->bytes ||
            mapping->offset >= offset + bytes)
            continue;
        return hal_fail(HAL_INVALID,
                        "%s uses %s at offset %" PRIu64 " of %s, of which %s at offset %" PRIu64
                        " are mapped: unmap a scoped mapping before submitting work",
                        user, hal_count(bytes, "byte", "bytes").text, offset,
                        hal_object_name(&root->object, name),
                        hal_count(mapping->bytes, "byte", "bytes").text, mapping->offset);
    }
    return HAL_OK;
}

static enum hal_status check_transfers(const char *user, const struct hal_command_buffer *commands)
{
    hal_each_command (commands, command) {
        const void *whole = command;
        if (command->kind == HAL_COMMAND_FILL) {
            const struct hal_command_fill *fill = whole;
            HAL_TRY(check_bytes(user, fill->target, fill->offset, fill->bytes));
        } else if (command->kind == HAL_COMMAND_COPY) {
            const struct hal_command_copy *copy = whole;
            HAL_TRY(check_bytes(user, copy->source, copy->source_offset, copy->bytes));
            HAL_TRY(check_bytes(user, copy->target, copy->target_offset, copy->bytes));
        } else if (command->kind == HAL_COMMAND_UPDATE) {
            const struct hal_command_update *update = whole;
            HAL_TRY(check_bytes(user, update->target, update->offset, update->bytes));
        } else if (command->kind == HAL_COMMAND_DISPATCH_INDIRECT) {
            const struct hal_command_dispatch_indirect *dispatch = whole;
            HAL_TRY(check_bytes(user, dispatch->counts, dispatch->offset, HAL_COUNTS_BYTES));
        }
    }
    return HAL_OK;
}

static enum hal_status check_bindings(const char *user, const struct hal_command_buffer *commands)
{
    for (uint32_t i = 0; i < commands->state_count; i++) {
        const struct hal_dispatch_state *state = &commands->states[i];
        for (size_t set = 0; set < HAL_MAX_SETS; set++) {
            for (uint32_t k = 0; k < state->binding_count[set]; k++) {
                const struct hal_binding *binding = &state->bindings[set][k];
                if (binding->buffer)
                    HAL_TRY(check_bytes(user, binding->buffer, binding->offset, binding->bytes));
            }
        }
    }
    return HAL_OK;
}

static enum hal_status check_commands(const struct hal_command_buffer *commands)
{
    const struct hal_recording *recording = commands->recording;
    char name[HAL_OBJECT_NAME_BYTES];
    bool is_mapped = false;
    for (size_t i = 0; i < recording->retained_count && !is_mapped; i++) {
        uint64_t offset = 0;
        const struct hal_object *object = recording->retained[i];
        is_mapped = is_buffer(object) &&
                    has_scoped(hal_root_of((const struct hal_buffer *)object, &offset));
    }
    if (!is_mapped)
        return HAL_OK;
    hal_object_name(&commands->object, name);
    HAL_TRY(check_transfers(name, commands));
    return check_bindings(name, commands);
}

/* Those that come without a command buffer. */
static const char *operation_name(enum hal_operation operation)
{
    return operation == HAL_OPERATION_READ         ? "hal_queue_read"
           : operation == HAL_OPERATION_WRITE      ? "hal_queue_write"
           : operation == HAL_OPERATION_COLLECTIVE ? "hal_queue_collective"
                                                   : "hal_queue_dealloca";
}

static enum hal_status check_mappings_locked(const struct hal_submit_desc *desc,
                                             const struct hal_submission *what)
{
    for (size_t i = 0; i < desc->command_count; i++)
        HAL_TRY(check_commands(desc->commands[i]));
    const struct hal_collective_work *work = what->collective;
    if (work && work->send)
        HAL_TRY(check_bytes(operation_name(what->operation), work->send, work->send_offset,
                            work->send_bytes));
    if (!what->buffer || what->operation == HAL_OPERATION_ALLOCA)
        return HAL_OK;
    return check_bytes(operation_name(what->operation), what->buffer, what->offset, what->bytes);
}

/* ---- Submissions --------------------------------------------------------------------------- */

enum hal_status hal_check_use(struct hal_device *device, const struct hal_submit_desc *desc,
                              const struct hal_submission *what)
{
    for (size_t i = 0; i < desc->command_count; i++) {
        if (desc->commands[i]->recording->has_transients)
            HAL_TRY(check_leases(desc->commands[i]));
    }
    if (atomic_load_explicit(&device->scoped_count, memory_order_relaxed) == 0)
        return HAL_OK;
    HAL_TRY(hal_device_check_here(device));
    pthread_mutex_lock(&device->objects_lock);
    const enum hal_status status = check_mappings_locked(desc, what);
    pthread_mutex_unlock(&device->objects_lock);
    return status;
}
