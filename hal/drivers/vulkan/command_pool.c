/* SPDX-License-Identifier: Apache-2.0 */
/* Vulkan's command pools, each with one command buffer, which are reused. */
#include "hal/base/mem.h"
#include "hal/drivers/vulkan/vulkan.h"

enum hal_status vulkan_command_pool_take(struct vulkan_device *device,
                                         struct vulkan_command_pool **out_pool)
{
    pthread_mutex_lock(&device->spare_lock);
    struct vulkan_command_pool *pool = device->command_pools;
    if (pool)
        device->command_pools = pool->next;
    pthread_mutex_unlock(&device->spare_lock);
    if (pool) {
        *out_pool = pool;
        return HAL_OK;
    }
    const VkCommandPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .queueFamilyIndex = device->family,
    };
    pool = hal_alloc(1, sizeof *pool);
    VkResult result = pool ? vk.CreateCommandPool(device->device, &info, NULL, &pool->pool)
                           : VK_ERROR_OUT_OF_HOST_MEMORY;
    if (result == VK_SUCCESS) {
        const VkCommandBufferAllocateInfo allocate = {
            .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
            .commandPool = pool->pool,
            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
            .commandBufferCount = 1,
        };
        result = vk.AllocateCommandBuffers(device->device, &allocate, &pool->commands);
        if (result != VK_SUCCESS)
            vk.DestroyCommandPool(device->device, pool->pool, NULL);
    }
    if (result != VK_SUCCESS) {
        free(pool);
        return vulkan_fail(result, "a command buffer");
    }
    *out_pool = pool;
    return HAL_OK;
}

void vulkan_command_pool_give(struct vulkan_device *device, struct vulkan_command_pool *pool)
{
    if (!pool)
        return;
    (void)vk.ResetCommandPool(device->device, pool->pool, 0);
    pthread_mutex_lock(&device->spare_lock);
    pool->next = device->command_pools;
    device->command_pools = pool;
    pthread_mutex_unlock(&device->spare_lock);
}

void vulkan_command_pools_free(struct vulkan_device *device)
{
    while (device->command_pools) {
        struct vulkan_command_pool *pool = device->command_pools;
        device->command_pools = pool->next;
        vk.DestroyCommandPool(device->device, pool->pool, NULL);
        free(pool);
    }
}
