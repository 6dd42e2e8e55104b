/* SPDX-License-Identifier: Apache-2.0 */
/* Entry points of executables: check the description, copy it, let the driver compile. */
#include "hal/base/mem.h"
#include "hal/core.h"

static void *copy_bytes(const void *data, size_t count, size_t bytes_each)
{
    size_t bytes;
    if (!hal_mul_size(count, bytes_each, &bytes))
        return NULL;
    void *copy = hal_alloc(1, bytes);
    if (copy && bytes)
        memcpy(copy, data, bytes);
    return copy;
}

/* The names lie behind the array, so that one free() releases all. */
static struct hal_entry_point *copy_entry_points(const struct hal_entry_point *entries,
                                                 size_t count)
{
    size_t bytes = count * sizeof *entries;
    for (size_t i = 0; i < count; i++)
        bytes += strlen(entries[i].name) + 1;
    struct hal_entry_point *copy = hal_alloc(1, bytes);
    char *names = (char *)(copy + count);
    for (size_t i = 0; copy && i < count; i++) {
        const size_t length = strlen(entries[i].name) + 1;
        copy[i] = entries[i];
        copy[i].name = memcpy(names, entries[i].name, length);
        names += length;
    }
    return copy;
}

enum hal_status hal_executable_create(struct hal_device *device,
                                      const struct hal_executable_desc *desc,
                                      struct hal_executable **out_executable)
{
    char *label;
    struct hal_executable *executable;
    HAL_TRY(hal_check_executable_desc(device, desc));
    HAL_TRY(hal_copy_label(desc->label, &label));
    void *data = copy_bytes(desc->data, desc->bytes, 1);
    void *constants = copy_bytes(desc->constants, desc->constant_count, sizeof *desc->constants);
    void *entries = copy_entry_points(desc->entry_points, desc->entry_point_count);
    enum hal_status status;
    if (!data || !constants || !entries) {
        status = hal_fail(HAL_NO_MEMORY, "no memory for executable '%s' of %zu bytes",
                          label ? label : "", desc->bytes);
        goto fail_copies;
    }
    status = hal_device_enter(device);
    if (status != HAL_OK)
        goto fail_copies;
    status = device->top->ops->executable_create(device->top, desc, &executable);
    if (status != HAL_OK)
        goto fail_gate;
    executable->format = desc->format;
    executable->data = data;
    executable->bytes = desc->bytes;
    executable->entry_points = entries;
    executable->entry_point_count = desc->entry_point_count;
    executable->constants = constants;
    executable->constant_count = desc->constant_count;
    hal_object_publish(&executable->object, device, label);
    hal_gate_leave(&device->gate);
    *out_executable = executable;
    return HAL_OK;

fail_gate:
    hal_gate_leave(&device->gate);
fail_copies:
    free(entries);
    free(constants);
    free(data);
    free(label);
    return status;
}

void hal_executable_retain(struct hal_executable *executable)
{
    hal_object_retain(executable ? &executable->object : NULL);
}

void hal_executable_release(struct hal_executable *executable)
{
    hal_object_release(executable ? &executable->object : NULL);
}

enum hal_status hal_executable_find(const struct hal_executable *executable, const char *name,
                                    uint32_t *out_entry)
{
    HAL_TRY(hal_check_object(executable ? &executable->object : NULL, "executable"));
    for (size_t i = 0; name && i < executable->entry_point_count; i++) {
        if (strcmp(executable->entry_points[i].name, name) == 0) {
            *out_entry = (uint32_t)i;
            return HAL_OK;
        }
    }
    char object[HAL_OBJECT_NAME_BYTES];
    return hal_fail(HAL_NOT_FOUND, "%s has no entry point '%s' among its %zu",
                    hal_object_name(&executable->object, object), name ? name : "",
                    executable->entry_point_count);
}
