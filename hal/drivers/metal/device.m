/* SPDX-License-Identifier: Apache-2.0 */
/* The Metal driver's table, opening by URI, and the device's description. */
#include "hal/base/mem.h"
#import "hal/drivers/metal/queue.h"
#include "hal/drivers/shared/parameters.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* ---- The system's devices ----------------------------------------------------------------- */

/* Held while any device is open: all of them, so that opening one twice gives the same. */
static pthread_mutex_t systems_lock = PTHREAD_MUTEX_INITIALIZER;
static NSArray<id<MTLDevice>> *systems;
static uint32_t systems_users;

static void hold_systems(void)
{
    pthread_mutex_lock(&systems_lock);
    if (systems_users++ == 0)
        systems = MTLCopyAllDevices();
    pthread_mutex_unlock(&systems_lock);
}

static void drop_systems(void)
{
    pthread_mutex_lock(&systems_lock);
    if (--systems_users == 0) {
        [systems release];
        systems = nil;
    }
    pthread_mutex_unlock(&systems_lock);
}

static enum hal_status read_id(const char *path, uint64_t *out_id)
{
    const bool hex = strncmp(path, "0x", 2) == 0;
    const char *digits = hex ? path + 2 : path;
    char *end;
    errno = 0;
    const unsigned long long number = strtoull(digits, &end, hex ? 16 : 10);
    const bool starts = (digits[0] >= '0' && digits[0] <= '9') ||
                        (hex && ((digits[0] | 32) >= 'a' && (digits[0] | 32) <= 'f'));
    if (!starts || *end || errno)
        return hal_fail(HAL_NOT_FOUND, "'%s' is not a registry id (a number, or 0x and hex digits)",
                        path);
    *out_id = number;
    return HAL_OK;
}

static enum hal_status fail_no_such_device(const char *path)
{
    char known[512] = "";
    for (NSUInteger i = 0; i < systems.count; i++) {
        const id<MTLDevice> device = [systems objectAtIndex:i];
        const size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%" PRIu64 " (%s)", i ? ", " : "",
                 device.registryID, device.name.UTF8String);
    }
    return hal_fail(HAL_NOT_FOUND, "Metal has no device %s (there are: %s)", path, known);
}

/* The default device where the path names none. Retained. */
static enum hal_status find_system(const char *path, id<MTLDevice> *out_device)
{
    uint64_t wanted;
    if (systems.count == 0)
        return hal_fail(HAL_NOT_FOUND, "Metal has no device on this system");
    if (!path[0]) {
        *out_device = MTLCreateSystemDefaultDevice();
        if (!*out_device)
            *out_device = [[systems objectAtIndex:0] retain];
        return HAL_OK;
    }
    HAL_TRY(read_id(path, &wanted));
    for (NSUInteger i = 0; i < systems.count; i++) {
        const id<MTLDevice> device = [systems objectAtIndex:i];
        if (device.registryID == wanted) {
            *out_device = [device retain];
            return HAL_OK;
        }
    }
    return fail_no_such_device(path);
}

/* ---- Table -------------------------------------------------------------------------------- */

static void free_device(struct metal_device *device)
{
    hal_engine_finish(&device->engine);
    @autoreleasepool {
        metal_builtin_destroy(device);
        metal_times_finish(device);
        metal_memory_finish(device);
        for (uint32_t i = 0; i < device->queue_count; i++) {
            [device->queues[i].fence release];
            [device->queues[i].queue release];
        }
        [device->copies release];
        [device->device release];
        drop_systems();
    }
    free(device);
}

static void device_destroy(struct hal_driver_device *self)
{
    struct metal_device *device = to_metal_device(self);
    metal_queue_stop(device);
    free_device(device);
}

static enum hal_status device_query(struct hal_driver_device *self, const char *key,
                                    int64_t *out_value)
{
    static const int64_t unknown = -1;
    struct metal_device *device = to_metal_device(self);
    const uint64_t total = device->unified ? hal_memory_total_bytes() : 0;
    const uint64_t working_set = device->device.recommendedMaxWorkingSetSize;
    const struct {
        const char *key;
        int64_t value;
    } answers[] = {
        {"memory.total.bytes", total ? (int64_t)total : unknown},
        {"memory.working_set.bytes", working_set ? (int64_t)working_set : unknown},
        {"memory.used.bytes", (int64_t)device->device.currentAllocatedSize},
        {"simd.width", (int64_t)device->builtin.fill.threadExecutionWidth},
        {"queue.count", device->queue_count},
        {"dispatch.times", device->times.place == METAL_TIMES_NOWHERE ? unknown : 1},
    };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        if (strcmp(answers[i].key, key) == 0 && answers[i].value != unknown) {
            *out_value = answers[i].value;
            return HAL_OK;
        }
    }
    return hal_fail(HAL_NOT_FOUND, "the Metal driver knows no '%s'", key);
}

static enum hal_status command_buffer_prepare(struct hal_driver_device *self,
                                              struct hal_command_buffer *commands)
{
    struct metal_program *program;
    HAL_TRY(hal_engine_check(&to_metal_device(self)->engine));
    HAL_TRY(metal_program_create(to_metal_device(self), commands, &program));
    commands->driver_data = program;
    return HAL_OK;
}

static void object_destroy(struct hal_driver_device *self, struct hal_object *object)
{
    @autoreleasepool {
        switch (object->kind) {
        case HAL_OBJECT_BUFFER:
            metal_buffer_destroy(to_metal_device(self), (struct metal_buffer *)object);
            break;
        case HAL_OBJECT_EXECUTABLE:
            metal_executable_destroy((struct metal_executable *)object);
            break;
        case HAL_OBJECT_COMMAND_BUFFER:
            metal_program_destroy(((struct hal_command_buffer *)object)->driver_data);
            break;
        case HAL_OBJECT_EVENT:
        case HAL_OBJECT_SET_LAYOUT:
        case HAL_OBJECT_PIPELINE_LAYOUT:
        case HAL_OBJECT_CHANNEL: break; /* refused */
        case HAL_OBJECT_SEMAPHORE:
            hal_engine_semaphore_destroy((struct hal_semaphore *)object);
            break;
        case HAL_OBJECT_SUBSPAN: break; /* the core has no other part of one */
        }
    }
}

static const struct hal_driver_ops ops = {
    .device_destroy = device_destroy,
    .device_query = device_query,
    HAL_ENGINE_ENTRIES,
    .buffer_create = metal_buffer_create,
    .buffer_import = metal_buffer_import,
    .buffer_rename = metal_buffer_rename,
    .buffer_map = metal_buffer_map,
    .buffer_unmap = metal_buffer_unmap,
    .mapping_flush = metal_mapping_flush,
    .mapping_invalidate = metal_mapping_invalidate,
    .executable_create = metal_executable_create,
    .executable_reflect = metal_executable_reflect,
    .entry_reflect = metal_entry_reflect,
    .cache_open = metal_cache_open,
    .cache_measure = metal_cache_measure,
    .command_buffer_prepare = command_buffer_prepare,
    .object_destroy = object_destroy,
    .native_capture = metal_gputrace_begin,
};

/* ---- Parameters --------------------------------------------------------------------------- */

static enum hal_status read_parameters(struct metal_device *device,
                                       const struct hal_uri_parameter *parameters, size_t count)
{
    device->queue_count = 1;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(parameters[i].name, "queues") == 0)
            HAL_TRY(hal_parameter_count(&parameters[i], HAL_MAX_QUEUES, &device->queue_count));
        else if (strcmp(parameters[i].name, "isolate") == 0)
            HAL_TRY(hal_parameter_choice(&parameters[i], "0", "1", &device->isolated));
        else if (strcmp(parameters[i].name, "math") == 0)
            HAL_TRY(hal_parameter_choice(&parameters[i], "safe", "fast", &device->fast_math));
        else if (strcmp(parameters[i].name, "fail") == 0)
            HAL_TRY(hal_injection_read(parameters[i].value, &device->engine.injection));
        else
            return hal_fail(HAL_INVALID,
                            "unknown parameter '%s' (known: queues, isolate, math, caching)",
                            parameters[i].name);
    }
    return HAL_OK;
}

/* ---- Opening ------------------------------------------------------------------------------ */

static uint32_t narrow(NSUInteger value)
{
    return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static void describe(const struct metal_device *device, struct hal_device_info *out_info)
{
    const id<MTLDevice> system = device->device;
    const MTLSize most = system.maxThreadsPerThreadgroup;
    snprintf(out_info->uri, sizeof out_info->uri, "metal://%" PRIu64 "?queues=%u%s%s",
             system.registryID, device->queue_count, device->isolated ? "&isolate=1" : "",
             device->fast_math ? "&math=fast" : "");
    snprintf(out_info->driver, sizeof out_info->driver, "metal");
    snprintf(out_info->name, sizeof out_info->name, "%s", system.name.UTF8String);
    metal_describe_target(system, out_info);
    out_info->queue_count = device->queue_count;
    out_info->simd_width = narrow(device->builtin.fill.threadExecutionWidth);
    out_info->max_workgroup_size[0] = narrow(most.width);
    out_info->max_workgroup_size[1] = narrow(most.height);
    out_info->max_workgroup_size[2] = narrow(most.depth);
    out_info->max_workgroup_threads = narrow(most.width);
    out_info->max_workgroup_memory_bytes = system.maxThreadgroupMemoryLength;
    out_info->max_buffer_bytes = system.maxBufferLength;
    out_info->max_constant_bytes = HAL_MAX_CONSTANT_BYTES;
    out_info->format_count = metal_executable_formats(out_info->formats);
}

static enum hal_status make_queues(struct metal_device *device)
{
    for (uint32_t i = 0; i < device->queue_count; i++) {
        device->queues[i].queue = [device->device newCommandQueue];
        device->queues[i].fence = [device->device newFence];
        if (!device->queues[i].queue || !device->queues[i].fence)
            return hal_fail(HAL_NO_MEMORY, "Metal cannot create %u queues", device->queue_count);
        device->queues[i].queue.label = [NSString stringWithFormat:@"queue %u", i];
    }
    device->copies = [device->device newCommandQueue];
    device->copies.label = @"copies for the host";
    return device->copies ? HAL_OK : hal_fail(HAL_NO_MEMORY, "Metal cannot create a queue");
}

static enum hal_status start(struct metal_device *device, const char *path)
{
    HAL_TRY(find_system(path, &device->device));
    device->unified = device->device.hasUnifiedMemory;
    metal_times_start(device);
    HAL_TRY(make_queues(device));
    HAL_TRY(metal_builtin_create(device));
    return metal_queue_start(device);
}

static enum hal_status open_device(const char *path, const struct hal_uri_parameter *parameters,
                                   size_t parameter_count, struct hal_device_info *out_info,
                                   struct hal_driver_device **out_device)
{
    struct metal_device *device = hal_alloc(1, sizeof *device);
    if (!device)
        return hal_fail(HAL_NO_MEMORY, "no memory for the device");
    enum hal_status status = read_parameters(device, parameters, parameter_count);
    if (status != HAL_OK) {
        free(device);
        return status;
    }
    hal_engine_init(&device->engine, &ops, &metal_engine_ops);
    metal_memory_init(device);
    metal_times_init(device);
    @autoreleasepool {
        hold_systems();
        status = start(device, path);
        if (status == HAL_OK)
            describe(device, out_info);
    }
    if (status != HAL_OK) {
        free_device(device);
        return status;
    }
    *out_device = &device->engine.base;
    return HAL_OK;
}

/* ---- Module ------------------------------------------------------------------------------- */

static void list_devices(bool (*visit)(void *user, const struct hal_device_entry *entry),
                         void *user)
{
    @autoreleasepool {
        hold_systems();
        for (NSUInteger i = 0; i < systems.count; i++) {
            char uri[64];
            const id<MTLDevice> system = [systems objectAtIndex:i];
            snprintf(uri, sizeof uri, "metal://%" PRIu64, system.registryID);
            const struct hal_device_entry entry = {
                .uri = uri, .driver = "metal", .name = system.name.UTF8String};
            if (!visit(user, &entry))
                break;
        }
        drop_systems();
    }
}

static const struct hal_driver metal_driver = {
    .name = "metal",
    .description = "GPUs through Metal",
    .parameters = "queues, isolate, math",
    .list = list_devices,
    .open = open_device,
};

extern HAL_API hal_driver_module hal_metal_module;

const struct hal_driver *hal_metal_module(uint32_t abi)
{
    return abi == HAL_DRIVER_ABI ? &metal_driver : NULL;
}
