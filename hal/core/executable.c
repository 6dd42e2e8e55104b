/* SPDX-License-Identifier: Apache-2.0 */
/* Entry points of executables: check the description, copy it, let the driver compile. */
#include "hal/base/mem.h"
#include "hal/core/core.h"

/* ---- Copies ------------------------------------------------------------------------------- */

/* What an executable keeps of its description. */
struct copies {
    char *label;
    struct hal_executable_variant *variants;
    size_t variant_count;
    struct hal_entry_point *entry_points;
    struct hal_constant *constants;
    struct hal_pipeline_layout **layouts;
};

/* The data follows the array, so that one free() releases both. */
static struct hal_executable_variant *copy_variants(const struct hal_executable_variant *variants,
                                                    size_t count)
{
    size_t bytes = count * sizeof *variants;
    for (size_t i = 0; i < count; i++) {
        if (__builtin_add_overflow(bytes, variants[i].bytes, &bytes))
            return NULL;
    }
    struct hal_executable_variant *copy = hal_alloc(1, bytes);
    uint8_t *data = (uint8_t *)(copy + count);
    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = variants[i];
        copy[i].data = memcpy(data, variants[i].data, variants[i].bytes);
        data += variants[i].bytes;
    }
    return copy;
}

/* The names follow the array. */
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

static struct hal_constant *copy_constants(const struct hal_constant *constants, size_t count)
{
    struct hal_constant *copy = hal_alloc(count, sizeof *copy);
    if (copy && count)
        memcpy(copy, constants, count * sizeof *copy);
    return copy;
}

static struct hal_pipeline_layout **copy_layouts(struct hal_pipeline_layout *const *layouts,
                                                 size_t count)
{
    struct hal_pipeline_layout **copy = layouts ? hal_alloc(count, sizeof(void *)) : NULL;
    if (copy)
        memcpy(copy, layouts, count * sizeof(void *));
    return copy;
}

static void free_copies(struct copies *copies)
{
    free(copies->label);
    free(copies->variants);
    free(copies->entry_points);
    free(copies->constants);
    free(copies->layouts);
}

/* A single variant becomes a list of one. */
static struct hal_executable_desc listed(const struct hal_executable_desc *desc,
                                         struct hal_executable_variant *room)
{
    struct hal_executable_desc full = *desc;
    if (desc->variant_count)
        return full;
    *room = (struct hal_executable_variant){desc->format, desc->data, desc->bytes};
    full.variants = room;
    full.variant_count = 1;
    full.format = (enum hal_executable_format)0;
    full.data = NULL;
    full.bytes = 0;
    return full;
}

static enum hal_status make_copies(const struct hal_executable_desc *desc,
                                   struct copies *out_copies)
{
    struct copies *copies = out_copies;
    *copies = (struct copies){.variant_count = desc->variant_count};
    HAL_TRY(hal_copy_label(desc->label, &copies->label));
    copies->variants = copy_variants(desc->variants, desc->variant_count);
    copies->entry_points = copy_entry_points(desc->entry_points, desc->entry_point_count);
    copies->constants = copy_constants(desc->constants, desc->constant_count);
    copies->layouts = copy_layouts(desc->layouts, desc->entry_point_count);
    if (copies->variants && copies->entry_points && copies->constants &&
        (copies->layouts || !desc->layouts))
        return HAL_OK;
    const enum hal_status status =
        hal_fail(HAL_NO_MEMORY, "no memory for executable '%s' with %zu entry points",
                 desc->label ? desc->label : "", desc->entry_point_count);
    free_copies(copies);
    return status;
}

static struct hal_entry_info describe_entry(const struct hal_executable *executable, size_t entry)
{
    const struct hal_entry_point *point = &executable->entry_points[entry];
    return (struct hal_entry_info){
        .name = point->name,
        .workgroup_size = {point->workgroup_size[0], point->workgroup_size[1],
                           point->workgroup_size[2]},
        .constant_bytes = point->constant_bytes,
        .constants_slot = point->constants_slot,
    };
}

/* Asked once: every command list is checked against it. */
static enum hal_status reflect(struct hal_executable *executable)
{
    struct hal_driver_device *driver = executable->object.device->driver;
    const size_t count = executable->entry_point_count;
    if (!driver->ops->entry_reflect)
        return HAL_OK;
    struct hal_entry_info *list = hal_alloc(count, sizeof *list);
    if (!list)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu entry points", count);
    executable->reflection = list;
    for (size_t i = 0; i < count; i++) {
        list[i] = describe_entry(executable, i);
        HAL_TRY(driver->ops->entry_reflect(driver, executable, (uint32_t)i, &list[i]));
    }
    return HAL_OK;
}

/* ---- Life --------------------------------------------------------------------------------- */

static void destroy_executable(struct hal_driver_device *top, struct hal_object *object)
{
    const struct hal_executable copies = *(struct hal_executable *)object;
    top->ops->object_destroy(top, object);
    for (size_t i = 0; copies.layouts && i < copies.entry_point_count; i++)
        hal_pipeline_layout_release(copies.layouts[i]);
    free(copies.layouts);
    free(copies.variants);
    free(copies.entry_points);
    free(copies.reflection);
    free(copies.constants);
}

enum hal_status hal_executable_create(struct hal_device *device,
                                      const struct hal_executable_desc *desc,
                                      struct hal_executable **out_executable)
{
    HAL_KNOW(hal_executable_desc, desc);
    struct copies copies;
    struct hal_executable *executable;
    struct hal_executable_variant single;
    HAL_TRY(hal_check_executable_desc(device, desc));
    HAL_TRY(hal_check_place(out_executable, "the executable"));
    const struct hal_executable_desc full = listed(desc, &single);
    HAL_TRY(make_copies(&full, &copies));
    enum hal_status status = hal_device_enter(device);
    if (status != HAL_OK)
        goto fail_copies;
    status = device->top->ops->executable_create(device->top, &full, &executable);
    if (status != HAL_OK)
        goto fail_gate;
    executable->variants = copies.variants;
    executable->variant_count = copies.variant_count;
    executable->entry_points = copies.entry_points;
    executable->entry_point_count = desc->entry_point_count;
    executable->constants = copies.constants;
    executable->constant_count = desc->constant_count;
    executable->layouts = copies.layouts;
    for (size_t i = 0; copies.layouts && i < desc->entry_point_count; i++)
        hal_pipeline_layout_retain(copies.layouts[i]);
    executable->object.destroy = destroy_executable;
    hal_object_publish(&executable->object, device, copies.label);
    status = reflect(executable);
    hal_gate_leave(&device->gate);
    if (status != HAL_OK) {
        hal_executable_release(executable);
        return hal_add_context(status, "executable '%s'", desc->label ? desc->label : "");
    }
    if (desc->cache) {
        atomic_fetch_add(&desc->cache->prepared_count, 1);
        atomic_fetch_add(&desc->cache->cache_hits, executable->from_cache ? 1 : 0);
    }
    *out_executable = executable;
    return HAL_OK;

fail_gate:
    hal_gate_leave(&device->gate);
fail_copies:
    free_copies(&copies);
    return status;
}

enum hal_status hal_executable_compile(struct hal_device *device,
                                       const struct hal_executable_desc *desc)
{
    struct hal_executable_variant single;
    struct hal_driver_device *const driver = device->driver;
    if (!driver->ops->executable_compile) {
        struct hal_executable *executable;
        HAL_TRY(hal_executable_create(device, desc, &executable));
        hal_executable_release(executable);
        return HAL_OK;
    }
    HAL_TRY(hal_check_executable_desc(device, desc));
    const struct hal_executable_desc full = listed(desc, &single);
    HAL_TRY(hal_device_enter(device));
    const enum hal_status status = driver->ops->executable_compile(driver, &full);
    hal_gate_leave(&device->gate);
    return status;
}

HAL_REFERENCED(hal_executable)

/* ---- Reflection --------------------------------------------------------------------------- */

enum hal_status hal_executable_find(const struct hal_executable *executable, const char *name,
                                    uint32_t *out_entry)
{
    HAL_TRY(hal_check_object(executable ? &executable->object : NULL, "executable"));
    HAL_TRY(hal_check_place(out_entry, "the number of an entry point"));
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

enum hal_status hal_executable_get_info(struct hal_executable *executable,
                                        struct hal_executable_info *out_info)
{
    HAL_TRY(hal_check_object(executable ? &executable->object : NULL, "executable"));
    HAL_TRY(hal_check_place(out_info, "the information about an executable"));
    struct hal_device *device = executable->object.device;
    struct hal_driver_device *driver = device->driver;
    struct hal_executable_info info = {
        .label = executable->object.label,
        .entry_point_count = executable->entry_point_count,
        .variant_count = executable->variant_count,
        .variant = executable->variant,
        .format = executable->variants[executable->variant].format,
        .from_cache = executable->from_cache,
    };
    if (driver->ops->executable_reflect) {
        HAL_TRY(hal_device_enter(device));
        const enum hal_status status = driver->ops->executable_reflect(driver, executable, &info);
        hal_gate_leave(&device->gate);
        HAL_TRY(status);
    }
    return HAL_GIVE(hal_executable_info, out_info, &info);
}

enum hal_status hal_executable_get_entry(struct hal_executable *executable, uint32_t entry,
                                         struct hal_entry_info *out_info)
{
    HAL_TRY(hal_check_object(executable ? &executable->object : NULL, "executable"));
    HAL_TRY(hal_check_entry(executable, entry));
    HAL_TRY(hal_check_place(out_info, "the information about an entry point"));
    const struct hal_entry_info info =
        executable->reflection ? executable->reflection[entry] : describe_entry(executable, entry);
    return HAL_GIVE(hal_entry_info, out_info, &info);
}
