/* SPDX-License-Identifier: Apache-2.0 */
/* The Vulkan driver's table, opening by URI, and the device's description. */
#include "hal/base/mem.h"
#include "hal/base/moment.h"
#include "hal/drivers/shared/parameters.h"
#include "hal/drivers/vulkan/vulkan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum { MAX_PHYSICAL = 64, MAX_FAMILIES = 32 };

/* ---- The system's devices ------------------------------------------------------------------- */

static uint32_t list_physical(VkPhysicalDevice out_list[MAX_PHYSICAL])
{
    uint32_t count = MAX_PHYSICAL;
    const VkResult result = vk.EnumeratePhysicalDevices(vulkan_instance, &count, out_list);
    return result == VK_SUCCESS || result == VK_INCOMPLETE ? count : 0;
}

static VkPhysicalDeviceProperties properties_of(VkPhysicalDevice physical)
{
    VkPhysicalDeviceProperties2 properties = {.sType =
                                                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    vk.GetPhysicalDeviceProperties2(physical, &properties);
    return properties.properties;
}

static enum hal_status fail_no_such_device(const char *path, const VkPhysicalDevice *list,
                                           uint32_t count)
{
    char known[1024] = "";
    for (uint32_t i = 0; i < count; i++) {
        const size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%u (%s)", i ? ", " : "", i,
                 properties_of(list[i]).deviceName);
    }
    return hal_fail(HAL_NOT_FOUND, "Vulkan has no device '%s' (there are: %s)", path, known);
}

/* A real GPU before one of the processor. */
static int rank(VkPhysicalDevice physical)
{
    switch ((int)properties_of(physical).deviceType) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return 4;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return 3;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return 2;
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return 1;
    default: return 0;
    }
}

static bool is_named(VkPhysicalDevice physical, const char *path)
{
    const VkPhysicalDeviceProperties properties = properties_of(physical);
    return strstr(properties.deviceName, path) != NULL;
}

/* A number, or a part of the name; "": the best. */
static enum hal_status find_physical(const char *path, uint32_t *out_index,
                                     VkPhysicalDevice *out_physical)
{
    VkPhysicalDevice list[MAX_PHYSICAL];
    const uint32_t count = list_physical(list);
    uint32_t best = count;
    char *end;
    if (count == 0)
        return hal_fail(HAL_NOT_FOUND, "Vulkan has no device on this system");
    errno = 0;
    const unsigned long number = strtoul(path, &end, 10);
    if (path[0] >= '0' && path[0] <= '9' && !*end && !errno)
        best = number < count ? (uint32_t)number : count;
    else
        for (uint32_t i = 0; i < count; i++) {
            if (is_named(list[i], path) && (best == count || rank(list[i]) > rank(list[best])))
                best = i;
        }
    if (best == count)
        return fail_no_such_device(path, list, count);
    *out_index = best;
    *out_physical = list[best];
    return HAL_OK;
}

/* ---- Table ---------------------------------------------------------------------------------- */

static void free_device(struct vulkan_device *device)
{
    if (device->device) {
        if (device->between)
            vulkan_command_pool_give(device, device->between);
        vulkan_entry_destroy(device, &device->count_check);
        vulkan_slots_free(device);
        vulkan_command_pools_free(device);
        if (device->pipelines)
            vk.DestroyPipelineCache(device->device, device->pipelines, NULL);
        vulkan_heap_finish(device);
        vk.DestroyDevice(device->device, NULL);
    }
    for (uint32_t i = 0; i < device->hardware_count; i++)
        pthread_mutex_destroy(&device->hardware[i].lock);
    pthread_mutex_destroy(&device->spare_lock);
    pthread_mutex_destroy(&device->clock_lock);
    free(device->hardware);
    free(device->queues);
    free(device);
}

/* Resources in use by work that never ends cannot be destroyed. */
static void keep(struct vulkan_device *device)
{
    static struct vulkan_device *kept;
    pthread_mutex_lock(&hal_engine_lock);
    device->next_kept = kept;
    kept = device;
    pthread_mutex_unlock(&hal_engine_lock);
}

static void device_destroy(struct hal_driver_device *self)
{
    struct vulkan_device *device = to_vulkan_device(self);
    hal_engine_finish(&device->engine);
    vulkan_queues_stop(device);
    if (device->is_given_up)
        keep(device);
    else
        free_device(device);
}

static uint64_t local_bytes(const struct vulkan_device *device)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < device->memories.memoryHeapCount; i++) {
        if (device->memories.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
            bytes += device->memories.memoryHeaps[i].size;
    }
    return bytes;
}

static enum hal_status device_query(struct hal_driver_device *self, const char *key,
                                    int64_t *out_value)
{
    static const int64_t unknown = -1;
    struct vulkan_device *device = to_vulkan_device(self);
    pthread_mutex_lock(&device->heap.lock);
    const uint64_t used = device->heap.used_bytes, allocated = device->heap.allocated_bytes;
    const uint32_t blocks = device->heap.block_count;
    pthread_mutex_unlock(&device->heap.lock);
    const struct {
        const char *key;
        int64_t value;
    } answers[] = {
        {"memory.total.bytes", (int64_t)local_bytes(device)},
        {"memory.used.bytes", (int64_t)used},
        {"memory.allocated.bytes", (int64_t)allocated},
        {"memory.allocation.count", blocks},
        {"clock.resolution.ns",
         device->timestamp_bits ? (int64_t)(device->limits.timestampPeriod + 0.5F) : unknown},
        {"dispatch.times", device->timestamp_bits ? 1 : unknown},
        {"vulkan.validation.messages", vulkan_validation_messages()},
    };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        if (strcmp(answers[i].key, key) == 0 && answers[i].value != unknown) {
            *out_value = answers[i].value;
            return HAL_OK;
        }
    }
    return hal_fail(HAL_NOT_FOUND, "the Vulkan driver has no '%s'", key);
}

static enum hal_status command_buffer_prepare(struct hal_driver_device *self,
                                              struct hal_command_buffer *commands)
{
    struct vulkan_device *device = to_vulkan_device(self);
    struct vulkan_program *program;
    char name[HAL_OBJECT_NAME_BYTES];
    HAL_TRY(hal_engine_check(&device->engine));
    vulkan_listen();
    HAL_TRY(vulkan_program_create(device, commands, VULKAN_PLAIN, &program));
    const enum hal_status status = vulkan_heard(HAL_OK);
    if (status != HAL_OK) {
        vulkan_program_destroy(device, program);
        return hal_add_context(status, "%s", hal_object_name(&commands->object, name));
    }
    commands->driver_data = program;
    return HAL_OK;
}

static void object_destroy(struct hal_driver_device *self, struct hal_object *object)
{
    struct vulkan_device *device = to_vulkan_device(self);
    switch (object->kind) {
    case HAL_OBJECT_BUFFER: vulkan_buffer_destroy(device, (struct vulkan_buffer *)object); break;
    case HAL_OBJECT_EXECUTABLE:
        vulkan_executable_destroy(device, (struct vulkan_executable *)object);
        break;
    case HAL_OBJECT_COMMAND_BUFFER:
        vulkan_program_destroy(device, ((struct hal_command_buffer *)object)->driver_data);
        break;
    case HAL_OBJECT_SEMAPHORE: hal_engine_semaphore_destroy((struct hal_semaphore *)object); break;
    case HAL_OBJECT_EVENT:
    case HAL_OBJECT_SET_LAYOUT:
    case HAL_OBJECT_PIPELINE_LAYOUT:
    case HAL_OBJECT_CHANNEL:        /* refused */
    case HAL_OBJECT_SUBSPAN: break; /* the core has no other part of one */
    }
}

static const struct hal_driver_ops ops = {
    .device_destroy = device_destroy,
    .device_query = device_query,
    HAL_ENGINE_ENTRIES,
    .buffer_create = vulkan_buffer_create,
    .buffer_import = vulkan_buffer_import,
    .buffer_map = vulkan_buffer_map,
    .buffer_unmap = vulkan_buffer_unmap,
    .mapping_flush = vulkan_mapping_flush,
    .mapping_invalidate = vulkan_mapping_invalidate,
    .executable_create = vulkan_executable_create,
    .executable_reflect = vulkan_executable_reflect,
    .entry_reflect = vulkan_entry_reflect,
    .cache_open = vulkan_cache_open,
    .cache_measure = vulkan_cache_measure,
    .command_buffer_prepare = command_buffer_prepare,
    .object_destroy = object_destroy,
};

/* ---- Parameters ----------------------------------------------------------------------------- */

struct settings {
    uint32_t queues;
    bool pools; /* no pushed descriptors */
    int64_t watchdog_ns;
    struct hal_injection injection;
};

enum { LONGEST_WATCHDOG_S = 86400 };

static enum hal_status read_watchdog(const struct hal_uri_parameter *parameter, int64_t *out_ns)
{
    if (hal_duration_parse(parameter->value, 1000000, LONGEST_WATCHDOG_S * 1000000000LL, out_ns))
        return HAL_OK;
    return hal_fail(HAL_INVALID, "watchdog=%s is not in 1ms to %ds", parameter->value,
                    LONGEST_WATCHDOG_S);
}

static enum hal_status read_parameters(const struct hal_uri_parameter *parameters, size_t count,
                                       struct settings *out_settings)
{
    *out_settings = (struct settings){.queues = 1};
    for (size_t i = 0; i < count; i++) {
        if (strcmp(parameters[i].name, "queues") == 0)
            HAL_TRY(hal_parameter_count(&parameters[i], HAL_MAX_QUEUES, &out_settings->queues));
        else if (strcmp(parameters[i].name, "descriptors") == 0)
            HAL_TRY(hal_parameter_choice(&parameters[i], "push", "pool", &out_settings->pools));
        else if (strcmp(parameters[i].name, "watchdog") == 0)
            HAL_TRY(read_watchdog(&parameters[i], &out_settings->watchdog_ns));
        else if (strcmp(parameters[i].name, "fail") == 0)
            HAL_TRY(hal_injection_read(parameters[i].value, &out_settings->injection));
        else
            return hal_fail(HAL_INVALID,
                            "unknown parameter '%s' (known: queues, descriptors, watchdog, "
                            "caching)",
                            parameters[i].name);
    }
    return HAL_OK;
}

/* ---- Opening -------------------------------------------------------------------------------- */

/* The family with the most queues that compute. */
static enum hal_status choose_family(struct vulkan_device *device, uint32_t *out_queues)
{
    VkQueueFamilyProperties families[MAX_FAMILIES];
    uint32_t count = MAX_FAMILIES;
    *out_queues = 0;
    vk.GetPhysicalDeviceQueueFamilyProperties(device->physical, &count, families);
    for (uint32_t i = 0; i < count; i++) {
        if (!(families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) ||
            families[i].queueCount <= *out_queues)
            continue;
        device->family = i;
        device->timestamp_bits = families[i].timestampValidBits;
        *out_queues = families[i].queueCount;
    }
    return *out_queues ? HAL_OK
                       : hal_fail(HAL_UNSUPPORTED, "no queue of the device supports compute");
}

static bool has_extension(VkPhysicalDevice physical, const char *wanted)
{
    uint32_t count = 0;
    bool found = false;
    vk.EnumerateDeviceExtensionProperties(physical, NULL, &count, NULL);
    VkExtensionProperties *list = hal_alloc(count, sizeof *list);
    if (list && vk.EnumerateDeviceExtensionProperties(physical, NULL, &count, list) == VK_SUCCESS)
        for (uint32_t i = 0; i < count; i++)
            found |= strcmp(list[i].extensionName, wanted) == 0;
    free(list);
    return found;
}

/* All that the device has, but for what costs time and what only tools need. */
static enum hal_status make_device(struct vulkan_device *device, const struct settings *settings,
                                   uint32_t queues)
{
    VkPhysicalDeviceVulkan12Features v12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    VkPhysicalDeviceVulkan11Features v11 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, .pNext = &v12};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                          .pNext = &v11};
    const char *extensions[8];
    float priorities[HAL_MAX_QUEUES];
    uint32_t count = 0;
    vk.GetPhysicalDeviceFeatures2(device->physical, &features);
    features.features.robustBufferAccess = VK_FALSE;
    v11.protectedMemory = VK_FALSE;
    v12.bufferDeviceAddressCaptureReplay = VK_FALSE;
    if (!v12.timelineSemaphore)
        return hal_fail(HAL_UNSUPPORTED, "the device has no timeline semaphores");
    for (uint32_t i = 0; i < HAL_MAX_QUEUES; i++)
        priorities[i] = 1.0F;
    device->has_push = !settings->pools &&
                       has_extension(device->physical, VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME) &&
                       vk.CmdPushDescriptorSetKHR;
    if (device->has_push)
        extensions[count++] = VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME;
    device->has_calibrated =
        has_extension(device->physical, VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME);
    if (device->has_calibrated)
        extensions[count++] = VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME;
    if (!has_extension(device->physical, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME) ||
        !vk.GetMemoryHostPointerPropertiesEXT)
        device->import_alignment = 0;
    if (device->import_alignment)
        extensions[count++] = VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;
    const VkDeviceQueueCreateInfo queue_info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = device->family,
        .queueCount = queues,
        .pQueuePriorities = priorities,
    };
    const VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .pNext = &features,
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &queue_info,
        .enabledExtensionCount = count,
        .ppEnabledExtensionNames = extensions,
    };
    device->features = (struct vulkan_features){features.features, v11, v12};
    device->features.v11.pNext = device->features.v12.pNext = NULL;
    const VkResult result = vk.CreateDevice(device->physical, &info, NULL, &device->device);
    if (result == VK_SUCCESS)
        return HAL_OK;
    device->device = VK_NULL_HANDLE;
    return vulkan_fail(result, "opening '%s'", device->properties.deviceName);
}

static enum hal_status make_queues(struct vulkan_device *device, uint32_t hardware, uint32_t queues)
{
    device->hardware = hal_alloc(hardware, sizeof *device->hardware);
    device->queues = hal_alloc(queues, sizeof *device->queues);
    if (!device->hardware || !device->queues)
        return hal_fail(HAL_NO_MEMORY, "no memory for %u queues", queues);
    for (uint32_t i = 0; i < hardware; i++) {
        pthread_mutex_init(&device->hardware[i].lock, NULL);
        vk.GetDeviceQueue(device->device, device->family, i, &device->hardware[i].queue);
        device->hardware_count++;
    }
    device->queue_count = queues;
    return HAL_OK;
}

/* Stands between the command buffers of a submission. */
static enum hal_status record_between(struct vulkan_device *device)
{
    static const VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_MEMORY_READ_BIT,
        .dstAccessMask = VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_MEMORY_READ_BIT,
    };
    const VkCommandBufferBeginInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT,
    };
    HAL_TRY(vulkan_command_pool_take(device, &device->between));
    VkResult result = vk.BeginCommandBuffer(device->between->commands, &info);
    if (result == VK_SUCCESS) {
        vk.CmdPipelineBarrier(device->between->commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                              VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
        result = vk.EndCommandBuffer(device->between->commands);
    }
    return result == VK_SUCCESS ? HAL_OK : vulkan_fail(result, "recording a barrier");
}

static void read_limits(struct vulkan_device *device)
{
    VkPhysicalDevicePushDescriptorPropertiesKHR push = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PUSH_DESCRIPTOR_PROPERTIES_KHR};
    VkPhysicalDeviceMaintenance3Properties maintenance = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES, .pNext = &push};
    VkPhysicalDeviceExternalMemoryHostPropertiesEXT host = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT,
        .pNext = &maintenance};
    VkPhysicalDeviceSubgroupProperties subgroup = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES, .pNext = &host};
    VkPhysicalDeviceProperties2 properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &subgroup};
    vk.GetPhysicalDeviceProperties2(device->physical, &properties);
    device->properties = properties.properties;
    device->limits = properties.properties.limits;
    device->subgroup_size = subgroup.subgroupSize;
    if (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT)
        device->subgroup_operations = subgroup.supportedOperations;
    device->max_allocation_bytes = maintenance.maxMemoryAllocationSize;
    device->import_alignment = host.minImportedHostPointerAlignment;
    device->max_push_descriptors = push.maxPushDescriptors;
    vk.GetPhysicalDeviceMemoryProperties(device->physical, &device->memories);
}

static enum hal_status start(struct vulkan_device *device, const struct settings *settings)
{
    const VkPipelineCacheCreateInfo cache = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
    uint32_t hardware;
    if (properties_of(device->physical).apiVersion < VK_API_VERSION_1_2)
        return hal_fail(HAL_UNSUPPORTED, "'%s' supports Vulkan %u.%u; 1.2 is required",
                        properties_of(device->physical).deviceName,
                        VK_API_VERSION_MAJOR(properties_of(device->physical).apiVersion),
                        VK_API_VERSION_MINOR(properties_of(device->physical).apiVersion));
    read_limits(device);
    HAL_TRY(choose_family(device, &hardware));
    hardware = hardware < settings->queues ? hardware : settings->queues;
    HAL_TRY(make_device(device, settings, hardware));
    vulkan_heap_init(device);
    HAL_TRY(make_queues(device, hardware, settings->queues));
    const VkResult result =
        vk.CreatePipelineCache(device->device, &cache, NULL, &device->pipelines);
    if (result != VK_SUCCESS)
        return vulkan_fail(result, "a cache of pipelines");
    vulkan_clock_start(device);
    HAL_TRY(record_between(device));
    HAL_TRY(vulkan_count_check_create(device));
    const enum hal_status status = vulkan_queues_start(device);
    if (status != HAL_OK)
        vulkan_queues_stop(device);
    return status;
}

static void describe(const struct vulkan_device *device, uint32_t index,
                     const struct settings *settings, struct hal_device_info *out_info)
{
    const VkPhysicalDeviceLimits *limits = &device->limits;
    const uint32_t version = device->properties.apiVersion;
    int used = snprintf(out_info->uri, sizeof out_info->uri, "vulkan://%u?queues=%u%s", index,
                        device->queue_count, settings->pools ? "&descriptors=pool" : "");
    const bool in_ms = settings->watchdog_ns % 1000000 == 0;
    if (settings->watchdog_ns)
        snprintf(out_info->uri + used, sizeof out_info->uri - (size_t)used,
                 "&watchdog=%" PRId64 "%s", settings->watchdog_ns / (in_ms ? 1000000 : 1),
                 in_ms ? "ms" : "ns");
    snprintf(out_info->driver, sizeof out_info->driver, "vulkan");
    snprintf(out_info->name, sizeof out_info->name, "%.127s", device->properties.deviceName);
    snprintf(out_info->architecture, sizeof out_info->architecture, "vulkan %u.%u",
             VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version));
    snprintf(out_info->features, sizeof out_info->features, "%s",
             device->has_push ? "push-descriptors" : "");
    out_info->queue_count = device->queue_count;
    out_info->simd_width = device->subgroup_size;
    memcpy(out_info->max_workgroup_size, limits->maxComputeWorkGroupSize,
           sizeof out_info->max_workgroup_size);
    out_info->max_workgroup_threads = limits->maxComputeWorkGroupInvocations;
    out_info->max_workgroup_memory_bytes = limits->maxComputeSharedMemorySize;
    out_info->max_buffer_bytes = device->max_allocation_bytes;
    out_info->max_constant_bytes = HAL_MAX_CONSTANT_BYTES; /* in a buffer, if need be */
    out_info->formats[out_info->format_count++] = HAL_FORMAT_SPIRV;
}

static enum hal_status open_device(const char *path, const struct hal_uri_parameter *parameters,
                                   size_t parameter_count, struct hal_device_info *out_info,
                                   struct hal_driver_device **out_device)
{
    struct settings settings;
    uint32_t index = 0;
    HAL_TRY(read_parameters(parameters, parameter_count, &settings));
    struct vulkan_device *device = hal_alloc(1, sizeof *device);
    if (!device)
        return hal_fail(HAL_NO_MEMORY, "no memory for the device");
    enum hal_status status = vulkan_hold();
    if (status != HAL_OK) {
        free(device);
        return status;
    }
    hal_engine_init(&device->engine, &ops, &vulkan_engine_ops);
    device->engine.injection = settings.injection;
    device->watchdog_ns = settings.watchdog_ns;
    pthread_mutex_init(&device->spare_lock, NULL);
    pthread_mutex_init(&device->clock_lock, NULL);
    status = find_physical(path, &index, &device->physical);
    if (status == HAL_OK)
        status = start(device, &settings);
    if (status != HAL_OK) {
        hal_engine_finish(&device->engine);
        free_device(device);
        return status;
    }
    describe(device, index, &settings, out_info);
    *out_device = &device->engine.base;
    return HAL_OK;
}

/* ---- Module --------------------------------------------------------------------------------- */

static void list_devices(bool (*visit)(void *user, const struct hal_device_entry *entry),
                         void *user)
{
    VkPhysicalDevice list[MAX_PHYSICAL];
    if (vulkan_hold() != HAL_OK)
        return;
    const uint32_t count = list_physical(list);
    for (uint32_t i = 0; i < count; i++) {
        const VkPhysicalDeviceProperties properties = properties_of(list[i]);
        char uri[64];
        snprintf(uri, sizeof uri, "vulkan://%u", i);
        const struct hal_device_entry entry = {
            .uri = uri, .driver = "vulkan", .name = properties.deviceName};
        if (!visit(user, &entry))
            break;
    }
}

static const struct hal_driver vulkan_driver = {
    .name = "vulkan",
    .description = "GPUs through Vulkan",
    .parameters = "queues, descriptors, watchdog",
    .list = list_devices,
    .open = open_device,
};

extern HAL_API hal_driver_module hal_vulkan_module;

const struct hal_driver *hal_vulkan_module(uint32_t abi)
{
    return abi == HAL_DRIVER_ABI ? &vulkan_driver : NULL;
}
