/* SPDX-License-Identifier: Apache-2.0 */
/* What surrounds the command buffers of a submission, recorded once for many: timestamps, and the
 * barrier that shows the host what was written. And the device's clock on the host's. */
#include "hal/base/mem.h"
#include "hal/drivers/vulkan/vulkan.h"

enum { CHUNK_SLOTS = 32, CLOCK_LIFE_NS = 1000000000, CALIBRATIONS = 8, CLOSE_NS = 20000 };

struct vulkan_slot_chunk {
    struct vulkan_slot_chunk *next;
    VkCommandPool pool;
    VkQueryPool queries;
    struct vulkan_slot slots[CHUNK_SLOTS];
};

/* ---- Slots ---------------------------------------------------------------------------------- */

static VkResult begin(VkCommandBuffer commands)
{
    const VkCommandBufferBeginInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = 0,
    };
    return vk.BeginCommandBuffer(commands, &info);
}

static VkResult record(const struct vulkan_device *device, const struct vulkan_slot *slot)
{
    static const VkMemoryBarrier to_host = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT,
    };
    VkResult result = begin(slot->before);
    if (result == VK_SUCCESS && device->timestamp_bits) {
        vk.CmdResetQueryPool(slot->before, slot->queries, slot->first_query, 2);
        vk.CmdWriteTimestamp(slot->before, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, slot->queries,
                             slot->first_query);
    }
    if (result == VK_SUCCESS)
        result = vk.EndCommandBuffer(slot->before);
    if (result == VK_SUCCESS)
        result = begin(slot->after);
    if (result != VK_SUCCESS)
        return result;
    vk.CmdPipelineBarrier(slot->after,
                          VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                          VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &to_host, 0, NULL, 0, NULL);
    if (device->timestamp_bits)
        vk.CmdWriteTimestamp(slot->after, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, slot->queries,
                             slot->first_query + 1);
    return vk.EndCommandBuffer(slot->after);
}

static void free_chunk(struct vulkan_device *device, struct vulkan_slot_chunk *chunk)
{
    if (chunk->queries)
        vk.DestroyQueryPool(device->device, chunk->queries, NULL);
    if (chunk->pool)
        vk.DestroyCommandPool(device->device, chunk->pool, NULL);
    free(chunk);
}

static VkResult fill_chunk(struct vulkan_device *device, struct vulkan_slot_chunk *chunk)
{
    const VkCommandPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .queueFamilyIndex = device->family,
    };
    const VkQueryPoolCreateInfo queries = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
        .queryType = VK_QUERY_TYPE_TIMESTAMP,
        .queryCount = 2 * CHUNK_SLOTS,
    };
    VkCommandBuffer commands[2 * CHUNK_SLOTS];
    VkResult result = vk.CreateCommandPool(device->device, &pool, NULL, &chunk->pool);
    if (result == VK_SUCCESS && device->timestamp_bits)
        result = vk.CreateQueryPool(device->device, &queries, NULL, &chunk->queries);
    if (result != VK_SUCCESS)
        return result;
    const VkCommandBufferAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = chunk->pool,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = 2 * CHUNK_SLOTS,
    };
    result = vk.AllocateCommandBuffers(device->device, &allocate, commands);
    for (uint32_t i = 0; i < CHUNK_SLOTS && result == VK_SUCCESS; i++) {
        chunk->slots[i] = (struct vulkan_slot){
            .before = commands[2 * i],
            .after = commands[2 * i + 1],
            .queries = chunk->queries,
            .first_query = 2 * i,
        };
        result = record(device, &chunk->slots[i]);
    }
    return result;
}

static enum hal_status add_chunk(struct vulkan_device *device)
{
    struct vulkan_slot_chunk *chunk = hal_alloc(1, sizeof *chunk);
    if (!chunk)
        return hal_fail(HAL_NO_MEMORY, "no memory for submissions");
    const VkResult result = fill_chunk(device, chunk);
    if (result != VK_SUCCESS) {
        free_chunk(device, chunk);
        return vulkan_fail(result, "recording a submission's timestamps");
    }
    pthread_mutex_lock(&device->spare_lock);
    chunk->next = device->chunks;
    device->chunks = chunk;
    for (uint32_t i = 0; i < CHUNK_SLOTS; i++) {
        chunk->slots[i].next = device->slots;
        device->slots = &chunk->slots[i];
    }
    pthread_mutex_unlock(&device->spare_lock);
    return HAL_OK;
}

enum hal_status vulkan_slot_take(struct vulkan_device *device, struct vulkan_slot **out_slot)
{
    for (;;) {
        pthread_mutex_lock(&device->spare_lock);
        struct vulkan_slot *slot = device->slots;
        if (slot)
            device->slots = slot->next;
        pthread_mutex_unlock(&device->spare_lock);
        if (slot) {
            *out_slot = slot;
            return HAL_OK;
        }
        HAL_TRY(add_chunk(device));
    }
}

void vulkan_slot_give(struct vulkan_device *device, struct vulkan_slot *slot)
{
    pthread_mutex_lock(&device->spare_lock);
    slot->next = device->slots;
    device->slots = slot;
    pthread_mutex_unlock(&device->spare_lock);
}

void vulkan_slots_free(struct vulkan_device *device)
{
    while (device->chunks) {
        struct vulkan_slot_chunk *chunk = device->chunks;
        device->chunks = chunk->next;
        free_chunk(device, chunk);
    }
    device->slots = NULL;
}

/* ---- The clock ------------------------------------------------------------------------------ */

/* An interruption between the readings increases the reported deviation: the closest try counts. */
static bool calibrate(struct vulkan_device *device, uint64_t *out_ticks, int64_t *out_ns)
{
    static const VkCalibratedTimestampInfoEXT which[] = {
        {.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT,
         .timeDomain = VK_TIME_DOMAIN_DEVICE_EXT},
        {.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT,
         .timeDomain = VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT},
    };
    uint64_t stamps[2], deviation_ns, least_ns = UINT64_MAX;
    for (int i = 0; i < CALIBRATIONS && least_ns > CLOSE_NS; i++) {
        if (vk.GetCalibratedTimestampsEXT(device->device, 2, which, stamps, &deviation_ns) !=
                VK_SUCCESS ||
            deviation_ns >= least_ns)
            continue;
        least_ns = deviation_ns;
        *out_ticks = stamps[0];
        *out_ns = (int64_t)stamps[1];
    }
    return least_ns != UINT64_MAX;
}

void vulkan_clock_start(struct vulkan_device *device)
{
    VkTimeDomainEXT domains[8];
    uint32_t count = 8, found = 0;
    if (device->has_calibrated && vk.GetPhysicalDeviceCalibrateableTimeDomainsEXT &&
        vk.GetCalibratedTimestampsEXT &&
        vk.GetPhysicalDeviceCalibrateableTimeDomainsEXT(device->physical, &count, domains) >=
            VK_SUCCESS) {
        for (uint32_t i = 0; i < count; i++)
            found += domains[i] == VK_TIME_DOMAIN_DEVICE_EXT ||
                     domains[i] == VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT;
    }
    device->has_calibrated = found == 2;
    device->clock_time_ns = INT64_MIN;
}

/* Without calibration, the first ticks that are seen are taken for the moment they are seen at, and
 * later ones may only move that earlier: the end of work is never before its ticks. */
int64_t vulkan_clock_ns(struct vulkan_device *device, uint64_t ticks, int64_t now_ns)
{
    ticks &=
        device->timestamp_bits >= 64 ? UINT64_MAX : ((uint64_t)1 << device->timestamp_bits) - 1;
    pthread_mutex_lock(&device->clock_lock);
    if (device->has_calibrated) {
        if (device->clock_time_ns == INT64_MIN || now_ns - device->clock_time_ns > CLOCK_LIFE_NS) {
            if (calibrate(device, &device->clock_ticks, &device->clock_ns))
                device->clock_time_ns = now_ns;
        }
    } else if (device->clock_time_ns == INT64_MIN) {
        device->clock_ticks = ticks;
        device->clock_ns = device->clock_time_ns = now_ns;
    }
    const int64_t passed = (int64_t)(ticks - device->clock_ticks);
    int64_t ns =
        device->clock_ns + (int64_t)((double)passed * (double)device->limits.timestampPeriod);
    if (!device->has_calibrated && ns > now_ns) {
        device->clock_ns -= ns - now_ns;
        ns = now_ns;
    }
    pthread_mutex_unlock(&device->clock_lock);
    return ns;
}

void vulkan_slot_times(struct vulkan_device *device, const struct vulkan_slot *slot,
                       int64_t *out_begin_ns, int64_t *out_end_ns)
{
    uint64_t ticks[2];
    *out_begin_ns = *out_end_ns = 0;
    if (!device->timestamp_bits ||
        vk.GetQueryPoolResults(device->device, slot->queries, slot->first_query, 2, sizeof ticks,
                               ticks, sizeof ticks[0],
                               VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT) != VK_SUCCESS)
        return;
    const int64_t now_ns = hal_clock_ns();
    *out_end_ns = vulkan_clock_ns(device, ticks[1], now_ns);
    *out_begin_ns = vulkan_clock_ns(device, ticks[0], now_ns);
}
