/* SPDX-License-Identifier: Apache-2.0 */
/* What drivers and devices there are, and a device's description as text and as numbers. */
#include "hal/base/mem.h"
#include "hal/core/core.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- Text --------------------------------------------------------------------------------- */

/* Cut where the room ends; `length` counts on. */
struct text {
    char *bytes;
    size_t room, length;
};

static void print(struct text *text, const char *format, ...) HAL_PRINTF(2, 3);
static void print(struct text *text, const char *format, ...)
{
    va_list arguments;
    const bool has_room = text->length < text->room;
    va_start(arguments, format);
    const int length = vsnprintf(has_room ? text->bytes + text->length : NULL,
                                 has_room ? text->room - text->length : 0, format, arguments);
    va_end(arguments);
    text->length += length > 0 ? (size_t)length : 0;
}

const char *hal_executable_format_name(enum hal_executable_format format)
{
    switch (format) {
    case HAL_FORMAT_MSL: return "MSL";
    case HAL_FORMAT_METALLIB: return "metallib";
    case HAL_FORMAT_SPIRV: return "SPIR-V";
    }
    return "unknown";
}

uint32_t hal_version(void)
{
    return HAL_VERSION_NUMBER;
}

size_t hal_device_describe(const struct hal_device *device, char *out_text, size_t bytes)
{
    const struct hal_device_info *info = &device->info;
    struct text text = {out_text, out_text ? bytes : 0, 0};
    print(&text, "uri: %s\ndriver: %s\nname: %s\n", info->uri, info->driver, info->name);
    print(&text, "architecture: %s\nfeatures: %s\nformats: ", info->architecture, info->features);
    for (uint32_t i = 0; i < info->format_count; i++)
        print(&text, "%s%s", i ? "," : "", hal_executable_format_name(info->formats[i]));
    print(&text, "\nqueue count: %u\nSIMD width: %u\n", info->queue_count, info->simd_width);
    print(&text, "workgroup threads: %u\nworkgroup size: %u x %u x %u\n",
          info->max_workgroup_threads, info->max_workgroup_size[0], info->max_workgroup_size[1],
          info->max_workgroup_size[2]);
    print(&text, "workgroup memory bytes: %" PRIu64 "\nbuffer bytes: %" PRIu64 "\n",
          info->max_workgroup_memory_bytes, info->max_buffer_bytes);
    print(&text, "push constant bytes: %u\n", info->max_constant_bytes);
    print(&text, "collectives: %s\n", device->driver->ops->collectives ? "yes" : "no");
    if (info->worker_count)
        print(&text, "worker count: %u\n", info->worker_count);
    return text.length;
}

/* ---- Numbers ------------------------------------------------------------------------------ */

static bool runs(const struct hal_device_info *info, enum hal_executable_format format)
{
    for (uint32_t i = 0; i < info->format_count; i++) {
        if (info->formats[i] == format)
            return true;
    }
    return false;
}

/* What the description answers already; false: the driver is asked. */
static bool query_info(const struct hal_device_info *info, const char *key, int64_t *out_value)
{
    const struct {
        const char *key;
        uint64_t value;
    } answers[] = {
        {"queue.count", info->queue_count},
        {"simd.width", info->simd_width},
        {"worker.count", info->worker_count},
        {"workgroup.max.threads", info->max_workgroup_threads},
        {"workgroup.max.threads.x", info->max_workgroup_size[0]},
        {"workgroup.max.threads.y", info->max_workgroup_size[1]},
        {"workgroup.max.threads.z", info->max_workgroup_size[2]},
        {"workgroup.max.memory.bytes", info->max_workgroup_memory_bytes},
        {"buffer.max.bytes", info->max_buffer_bytes},
        {"bindings.max", HAL_MAX_BINDINGS},
        {"sets.max", HAL_MAX_SETS},
        {"constants.max.bytes", info->max_constant_bytes},
    };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        if (strcmp(answers[i].key, key) == 0 && answers[i].value) {
            *out_value = answers[i].value > INT64_MAX ? INT64_MAX : (int64_t)answers[i].value;
            return true;
        }
    }
    for (int format = HAL_FORMAT_MSL; format <= HAL_FORMAT_SPIRV; format++) {
        char name[32];
        snprintf(name, sizeof name, "format.%s",
                 hal_executable_format_name((enum hal_executable_format)format));
        if (hal_same_letters(name, key, sizeof name)) {
            *out_value = runs(info, (enum hal_executable_format)format);
            return true;
        }
    }
    return false;
}

enum hal_status hal_device_query(struct hal_device *device, const char *key, int64_t *out_value)
{
    HAL_TRY(hal_check_device(device));
    if (!key || !out_value)
        return hal_fail(HAL_INVALID, "a query needs a key and an out-parameter");
    if (query_info(&device->info, key, out_value))
        return HAL_OK;
    if (strcmp(key, "collectives") == 0) {
        *out_value = device->driver->ops->collectives;
        return HAL_OK;
    }
    HAL_TRY(hal_device_enter(device));
    const enum hal_status status = device->top->ops->device_query(device->top, key, out_value);
    hal_gate_leave(&device->gate);
    return status;
}
