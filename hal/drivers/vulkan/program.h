/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of a command buffer's translation. */
#ifndef HAL_VULKAN_PROGRAM_H
#define HAL_VULKAN_PROGRAM_H

#include "hal/drivers/vulkan/count_check.h"

enum { VULKAN_STAGING_ALIGNMENT = 16, VULKAN_WORD_BYTES = 4 };

/* A HAL event, from a signal to the waits for it. */
struct vulkan_signal {
    const struct hal_event *event;
    VkPipelineStageFlags stages;
};

struct vulkan_builder {
    struct vulkan_device *device;
    const struct hal_command_buffer *commands;
    struct vulkan_program *program;
    VkCommandBuffer target;
    uint64_t staged; /* bytes of the staging buffer in use */
    uint32_t dispatch_number;
    size_t checks_done; /* number whose kernels are recorded */
    size_t checks_used;
    struct vulkan_signal *signals; /* in the order of the program's events */
    size_t signal_count;
    /* The current bindings. */
    const struct vulkan_entry *entry;
    uint32_t state;
};

HAL_CHECKED static inline enum hal_status vulkan_no_memory(const struct vulkan_builder *builder)
{
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_fail(HAL_NO_MEMORY, "no memory to prepare %s",
                    hal_object_name(&builder->commands->object, name));
}

/* ---- barrier.c ---- */

struct vulkan_barrier {
    uint32_t source_stages, target_stages, source_access, target_access;
    const struct hal_buffer_barrier *buffers;
    uint32_t buffer_count;
};
enum hal_status vulkan_add_barrier(struct vulkan_builder *builder,
                                   const struct vulkan_barrier *barrier) HAL_CHECKED;
void vulkan_add_signal(struct vulkan_builder *builder, const struct hal_command_event *signal);
enum hal_status vulkan_add_wait(struct vulkan_builder *builder,
                                const struct hal_command_events_wait *wait) HAL_CHECKED;

/* ---- launch.c ---- */

uint64_t vulkan_constants_alignment(const struct vulkan_device *device);
enum hal_status vulkan_add_dispatch(struct vulkan_builder *builder,
                                    const struct hal_command_dispatch *dispatch) HAL_CHECKED;
enum hal_status vulkan_add_indirect(struct vulkan_builder *builder,
                                    const struct hal_command_dispatch_indirect *dispatch)
    HAL_CHECKED;
/* Adds the checks for the indirect dispatches from this segment up to the next barrier. */
enum hal_status vulkan_add_count_checks(struct vulkan_builder *builder,
                                        const struct hal_command *command) HAL_CHECKED;

#endif
