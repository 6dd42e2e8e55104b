/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU driver's table, opening by URI, and the device's description. */
#include "hal/base/mem.h"
#include "hal/drivers/cpu/cpu.h"
#include "hal/drivers/shared/parameters.h"

#include <stdio.h>
#include <time.h>

/* ---- Table -------------------------------------------------------------------------------- */

static void device_destroy(struct hal_driver_device *self)
{
    struct cpu_device *device = to_cpu_device(self);
    hal_engine_finish(&device->engine);
    cpu_pool_destroy(device->pool);
    cpu_heap_finish(&device->heap);
    free(device);
}

static int64_t clock_resolution_ns(void)
{
    struct timespec resolution = {0};
    clock_getres(CLOCK_MONOTONIC, &resolution);
    return (int64_t)resolution.tv_sec * 1000000000 + resolution.tv_nsec;
}

static enum hal_status device_query(struct hal_driver_device *self, const char *key,
                                    int64_t *out_value)
{
    static const int64_t unknown = -1;
    struct cpu_device *device = to_cpu_device(self);
    const struct {
        const char *key;
        int64_t value;
    } answers[] = {
        {"memory.total.bytes",
         device->memory_total_bytes ? (int64_t)device->memory_total_bytes : unknown},
        {"memory.used.bytes", (int64_t)cpu_heap_used_bytes(&device->heap)},
        {"clock.resolution.ns", clock_resolution_ns()},
        {"dispatch.times", 1},
        {"waits.on.host", 1},
        {"kernel.faults.caught", cpu_faults_caught() ? 1 : unknown},
    };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        if (strcmp(answers[i].key, key) == 0 && answers[i].value != unknown) {
            *out_value = answers[i].value;
            return HAL_OK;
        }
    }
    return hal_fail(HAL_NOT_FOUND, "the CPU driver has no '%s'", key);
}

static enum hal_status device_running(struct hal_driver_device *self, struct hal_running *out)
{
    return cpu_pool_running(to_cpu_device(self)->pool, out);
}

static enum hal_status buffer_unmap(struct hal_driver_device *self,
                                    const struct hal_mapping *mapping)
{
    (void)self;
    (void)mapping;
    return HAL_OK;
}

/* One memory, seen through one cache. */
static enum hal_status keep_coherent(struct hal_driver_device *self,
                                     const struct hal_mapping *mapping, uint64_t offset,
                                     uint64_t bytes)
{
    (void)self;
    (void)mapping;
    (void)offset;
    (void)bytes;
    return HAL_OK;
}

static enum hal_status command_buffer_prepare(struct hal_driver_device *self,
                                              struct hal_command_buffer *commands)
{
    struct cpu_program *program;
    HAL_TRY(hal_engine_check(&to_cpu_device(self)->engine));
    HAL_TRY(cpu_program_create(commands, to_cpu_device(self)->worker_count, &program));
    commands->driver_data = program;
    return HAL_OK;
}

static void object_destroy(struct hal_driver_device *self, struct hal_object *object)
{
    switch (object->kind) {
    case HAL_OBJECT_BUFFER:
        cpu_buffer_destroy(&to_cpu_device(self)->heap, (struct cpu_buffer *)object);
        break;
    case HAL_OBJECT_EXECUTABLE: cpu_executable_destroy((struct cpu_executable *)object); break;
    case HAL_OBJECT_COMMAND_BUFFER:
        cpu_program_destroy(((struct hal_command_buffer *)object)->driver_data);
        break;
    case HAL_OBJECT_EVENT:
    case HAL_OBJECT_SET_LAYOUT:
    case HAL_OBJECT_PIPELINE_LAYOUT:
    case HAL_OBJECT_CHANNEL: break;
    case HAL_OBJECT_SEMAPHORE: hal_engine_semaphore_destroy((struct hal_semaphore *)object); break;
    case HAL_OBJECT_SUBSPAN: break;
    }
}

static const struct hal_driver_ops ops = {
    .device_destroy = device_destroy,
    .device_query = device_query,
    HAL_ENGINE_ENTRIES,
    .device_running = device_running,
    .buffer_create = cpu_buffer_create,
    .buffer_create_apart = cpu_buffer_create_apart,
    .buffer_import = cpu_buffer_import,
    .buffer_map = cpu_buffer_map,
    .buffer_unmap = buffer_unmap,
    .mapping_flush = keep_coherent,
    .mapping_invalidate = keep_coherent,
    .executable_create = cpu_executable_create,
    .executable_compile = cpu_executable_compile,
    .executable_reflect = cpu_executable_reflect,
    .entry_reflect = cpu_entry_reflect,
    .cache_open = cpu_cache_open,
    .cache_measure = cpu_cache_measure,
    .command_buffer_prepare = command_buffer_prepare,
    .collectives = true,
    .object_destroy = object_destroy,
};

/* ---- Opening ------------------------------------------------------------------------------ */

static enum hal_status read_parameters(const struct hal_uri_parameter *parameters, size_t count,
                                       uint32_t *workers, uint32_t *queues, enum msl_math *math,
                                       struct hal_injection *injection)
{
    bool is_fast;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(parameters[i].name, "threads") == 0)
            HAL_TRY(hal_parameter_count(&parameters[i], CPU_MAX_WORKERS, workers));
        else if (strcmp(parameters[i].name, "queues") == 0)
            HAL_TRY(hal_parameter_count(&parameters[i], HAL_MAX_QUEUES, queues));
        else if (strcmp(parameters[i].name, "math") == 0) {
            HAL_TRY(hal_parameter_choice(&parameters[i], "safe", "fast", &is_fast));
            *math = is_fast ? MSL_MATH_FAST : MSL_MATH_PRECISE;
        } else if (strcmp(parameters[i].name, "fail") == 0)
            HAL_TRY(hal_injection_read(parameters[i].value, injection));
        else
            return hal_fail(HAL_INVALID,
                            "unknown parameter '%s' (known: threads, queues, math, fail, caching)",
                            parameters[i].name);
    }
    return HAL_OK;
}

static void describe(const struct cpu_device *device, struct hal_device_info *out_info)
{
    static const char *const maths[] = {
        [MSL_MATH_DEFAULT] = "", [MSL_MATH_PRECISE] = "&math=safe", [MSL_MATH_FAST] = "&math=fast"};
    snprintf(out_info->uri, sizeof out_info->uri, "cpu?threads=%u&queues=%u%s",
             device->worker_count, device->queue_count, maths[device->math]);
    snprintf(out_info->driver, sizeof out_info->driver, "cpu");
    hal_processor_name(out_info->name, sizeof out_info->name);
    cpu_describe_target(out_info);
    out_info->queue_count = device->queue_count;
    out_info->simd_width = MSL_SIMD_WIDTH;
    for (size_t i = 0; i < 3; i++)
        out_info->max_workgroup_size[i] = MSL_MAX_GROUP_THREADS;
    out_info->max_workgroup_threads = MSL_MAX_GROUP_THREADS;
    out_info->max_workgroup_memory_bytes = MSL_MAX_GROUP_MEMORY_BYTES;
    out_info->max_buffer_bytes = device->heap.limit_bytes;
    out_info->max_constant_bytes = HAL_MAX_CONSTANT_BYTES;
    out_info->worker_count = device->worker_count;
    out_info->format_count = cpu_executable_formats(out_info->formats);
}

static enum hal_status open_device(const char *path, const struct hal_uri_parameter *parameters,
                                   size_t parameter_count, struct hal_device_info *out_info,
                                   struct hal_driver_device **out_device)
{
    static const uint64_t unknown_memory_limit = (uint64_t)1 << 40;
    uint32_t workers = hal_processor_count(), queues = 1;
    if (workers > CPU_MAX_WORKERS)
        workers = CPU_MAX_WORKERS;
    if (path[0])
        return hal_fail(HAL_NOT_FOUND, "the CPU driver has one device, which has no path");
    struct hal_injection injection = {0};
    enum msl_math math = MSL_MATH_DEFAULT;
    HAL_TRY(read_parameters(parameters, parameter_count, &workers, &queues, &math, &injection));
    struct cpu_device *device = hal_alloc(1, sizeof *device);
    if (!device)
        return hal_fail(HAL_NO_MEMORY, "no memory for the device");
    const enum hal_status status = cpu_pool_create(workers, &device->pool);
    if (status != HAL_OK) {
        free(device);
        return status;
    }
    hal_engine_init(&device->engine, &ops, &cpu_engine_ops);
    device->worker_count = workers;
    device->queue_count = queues;
    device->math = math;
    device->engine.injection = injection;
    device->memory_total_bytes = hal_memory_total_bytes();
    cpu_heap_init(&device->heap,
                  device->memory_total_bytes ? device->memory_total_bytes : unknown_memory_limit);
    describe(device, out_info);
    *out_device = &device->engine.base;
    return HAL_OK;
}

static void list_devices(bool (*visit)(void *user, const struct hal_device_entry *entry),
                         void *user)
{
    char name[sizeof((struct hal_device_info *)0)->name];
    hal_processor_name(name, sizeof name);
    (void)visit(user, &(struct hal_device_entry){.uri = "cpu", .driver = "cpu", .name = name});
}

extern const struct hal_driver hal_cpu_driver;
const struct hal_driver hal_cpu_driver = {
    .name = "cpu",
    .description = "kernels as native code on the processors of this machine",
    .parameters = "threads, queues, math",
    .list = list_devices,
    .open = open_device,
};
