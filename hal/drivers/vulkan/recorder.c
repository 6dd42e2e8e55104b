/* SPDX-License-Identifier: Apache-2.0 */
/* Command buffers of Vulkan, each with a pool of its own, used again and again. */
#include "hal/base/mem.h"
#include "hal/drivers/vulkan/vulkan.h"

enum hal_status vulkan_recorder_take(struct vulkan_device *device,
                                     struct vulkan_recorder **out_recorder)
{
    pthread_mutex_lock(&device->spare_lock);
    struct vulkan_recorder *recorder = device->recorders;
    if (recorder)
        device->recorders = recorder->next;
    pthread_mutex_unlock(&device->spare_lock);
    if (recorder) {
        *out_recorder = recorder;
        return HAL_OK;
    }
    const VkCommandPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .queueFamilyIndex = device->family,
    };
    recorder = hal_alloc(1, sizeof *recorder);
    VkResult result = recorder ? vk.CreateCommandPool(device->device, &info, NULL, &recorder->pool)
                               : VK_ERROR_OUT_OF_HOST_MEMORY;
    if (result == VK_SUCCESS) {
        const VkCommandBufferAllocateInfo allocate = {
            .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
            .commandPool = recorder->pool,
            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
            .commandBufferCount = 1,
        };
        result = vk.AllocateCommandBuffers(device->device, &allocate, &recorder->commands);
        if (result != VK_SUCCESS)
            vk.DestroyCommandPool(device->device, recorder->pool, NULL);
    }
    if (result != VK_SUCCESS) {
        free(recorder);
        return vulkan_fail(result, "a command buffer");
    }
    *out_recorder = recorder;
    return HAL_OK;
}

void vulkan_recorder_give(struct vulkan_device *device, struct vulkan_recorder *recorder)
{
    if (!recorder)
        return;
    (void)vk.ResetCommandPool(device->device, recorder->pool, 0);
    pthread_mutex_lock(&device->spare_lock);
    recorder->next = device->recorders;
    device->recorders = recorder;
    pthread_mutex_unlock(&device->spare_lock);
}

void vulkan_recorders_free(struct vulkan_device *device)
{
    while (device->recorders) {
        struct vulkan_recorder *recorder = device->recorders;
        device->recorders = recorder->next;
        vk.DestroyCommandPool(device->device, recorder->pool, NULL);
        free(recorder);
    }
}
