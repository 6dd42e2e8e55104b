/* SPDX-License-Identifier: Apache-2.0 */
/* Operations straight on a queue: a command buffer with one command, made and submitted here. */
#include "hal/core/core.h"

#include <stdio.h>

/* Messages name the operation: the application does not know the command buffer. */
static enum hal_status begin(struct hal_device *device, const struct hal_submit_desc *desc,
                             const char *operation, struct hal_command_buffer **out_commands)
{
    const struct hal_command_buffer_desc once = {.mode = HAL_ONE_SHOT};
    HAL_TRY(hal_check_operation(device, desc));
    HAL_TRY(hal_command_buffer_create(device, &once, out_commands));
    (*out_commands)->operation = operation;
    return HAL_OK;
}

/* A lost device refuses the command buffer: no driver sees what would have been signalled. */
static enum hal_status fail_signals(const struct hal_submit_desc *desc)
{
    char message[HAL_MESSAGE_BYTES];
    snprintf(message, sizeof message, "%s", hal_message());
    for (size_t i = 0; i < desc->signal_count; i++)
        hal_semaphore_fail(desc->signals[i].semaphore, HAL_DEVICE_LOST, message);
    return hal_fail(HAL_DEVICE_LOST, "%s", message);
}

/* Takes the command buffer over; `status` is that of its recording. */
static enum hal_status submit(struct hal_device *device, const struct hal_submit_desc *desc,
                              enum hal_operation operation, struct hal_command_buffer *commands,
                              enum hal_status status)
{
    struct hal_submit_desc full = desc ? *desc : (struct hal_submit_desc){0};
    const struct hal_submission what = {.operation = operation};
    full.commands = &commands;
    full.command_count = 1;
    if (status == HAL_OK)
        status = hal_command_buffer_end(commands);
    if (status == HAL_DEVICE_LOST)
        status = fail_signals(&full);
    if (status == HAL_OK)
        status = hal_queue_submit_work(device, &full, &what, NULL);
    hal_command_buffer_release(commands);
    return status;
}

/* The parameters are those of hal.h. NOLINTNEXTLINE(readability-function-size) */
enum hal_status hal_queue_fill(struct hal_device *device, const struct hal_submit_desc *desc,
                               struct hal_buffer *target, uint64_t offset, uint64_t bytes,
                               uint32_t pattern, uint32_t pattern_bytes)
{
    HAL_KNOW(hal_submit_desc, desc);
    struct hal_command_buffer *commands;
    HAL_TRY(begin(device, desc, "hal_queue_fill", &commands));
    return submit(device, desc, HAL_OPERATION_FILL, commands,
                  hal_command_fill(commands, target, offset, bytes, pattern, pattern_bytes));
}

/* The parameters are those of hal.h. NOLINTNEXTLINE(readability-function-size) */
enum hal_status hal_queue_copy(struct hal_device *device, const struct hal_submit_desc *desc,
                               struct hal_buffer *source, uint64_t source_offset,
                               struct hal_buffer *target, uint64_t target_offset, uint64_t bytes)
{
    HAL_KNOW(hal_submit_desc, desc);
    struct hal_command_buffer *commands;
    HAL_TRY(begin(device, desc, "hal_queue_copy", &commands));
    return submit(device, desc, HAL_OPERATION_COPY, commands,
                  hal_command_copy(commands, source, source_offset, target, target_offset, bytes));
}

enum hal_status hal_queue_update(struct hal_device *device, const struct hal_submit_desc *desc,
                                 const void *data, struct hal_buffer *target, uint64_t offset,
                                 uint64_t bytes)
{
    HAL_KNOW(hal_submit_desc, desc);
    struct hal_command_buffer *commands;
    HAL_TRY(begin(device, desc, "hal_queue_update", &commands));
    return submit(device, desc, HAL_OPERATION_UPDATE, commands,
                  hal_command_update(commands, data, target, offset, bytes));
}

static enum hal_status record_dispatch(struct hal_command_buffer *commands,
                                       const struct hal_dispatch_desc *dispatch)
{
    if (!dispatch)
        return hal_fail(HAL_INVALID, "a dispatch needs a description");
    if (dispatch->constant_bytes)
        HAL_TRY(
            hal_command_push_constants(commands, 0, dispatch->constants, dispatch->constant_bytes));
    if (dispatch->binding_count)
        HAL_TRY(hal_command_push_descriptor_set(commands, 0, dispatch->bindings,
                                                dispatch->binding_count));
    return hal_command_dispatch(commands, dispatch->executable, dispatch->entry,
                                dispatch->workgroup_count);
}

enum hal_status hal_queue_dispatch(struct hal_device *device, const struct hal_submit_desc *desc,
                                   const struct hal_dispatch_desc *dispatch)
{
    HAL_KNOW(hal_submit_desc, desc);
    HAL_KNOW(hal_dispatch_desc, dispatch);
    struct hal_command_buffer *commands;
    HAL_TRY(begin(device, desc, "hal_queue_dispatch", &commands));
    return submit(device, desc, HAL_OPERATION_DISPATCH, commands,
                  record_dispatch(commands, dispatch));
}

enum hal_status hal_queue_barrier(struct hal_device *device, const struct hal_submit_desc *desc)
{
    HAL_KNOW(hal_submit_desc, desc);
    static const struct hal_submission what = {.operation = HAL_OPERATION_BARRIER};
    static const struct hal_submit_desc nothing = {0};
    HAL_TRY(hal_check_operation(device, desc));
    return hal_queue_submit_work(device, desc ? desc : &nothing, &what, NULL);
}
