/* SPDX-License-Identifier: Apache-2.0 */
/* The rules for what executables are made of. */
#include "hal/base/mem.h"
#include "hal/base/order.h"
#include "hal/base/text.h"
#include "hal/core/core.h"

#include <inttypes.h>
#include <stdlib.h>

enum { MOST_COMPONENTS = 4 }; /* of a vector that is a constant */

static enum hal_status check_workgroup_arguments(const struct hal_device *device, const char *label,
                                                 const struct hal_entry_point *entry)
{
    uint64_t total = 0;
    for (size_t i = 0; i < HAL_MAX_WORKGROUP_ARGUMENTS; i++) {
        const uint32_t bytes = entry->workgroup_argument_bytes[i];
        total += bytes;
        if (bytes % 16)
            return hal_fail(HAL_INVALID,
                            "executable '%s', entry point '%s': threadgroup argument %zu has %s, "
                            "not a multiple of 16",
                            label, entry->name, i, hal_count(bytes, "byte", "bytes").text);
    }
    if (total > device->info.max_workgroup_memory_bytes)
        return hal_fail(
            HAL_INVALID,
            "executable '%s', entry point '%s': %s of threadgroup arguments, the limit is %" PRIu64,
            label, entry->name, hal_count(total, "byte", "bytes").text,
            device->info.max_workgroup_memory_bytes);
    return HAL_OK;
}

/* A SPIR-V module defines the place of its constants itself. */
static bool uses_slots(const struct hal_executable_desc *desc)
{
    if (desc->variant_count == 0)
        return desc->format != HAL_FORMAT_SPIRV;
    for (size_t i = 0; i < desc->variant_count; i++)
        if (desc->variants[i].format != HAL_FORMAT_SPIRV)
            return true;
    return false;
}

static enum hal_status check_entry_layout(const struct hal_device *device,
                                          const struct hal_executable_desc *desc,
                                          const struct hal_entry_point *entry,
                                          const struct hal_pipeline_layout *layout)
{
    const char *const label = desc->label ? desc->label : "";
    char name[HAL_OBJECT_NAME_BYTES];
    HAL_TRY(hal_check_belongs(&layout->object, "pipeline layout", device));
    if (entry->constant_bytes > layout->constant_bytes)
        return hal_fail(HAL_INVALID,
                        "executable '%s', entry point '%s': %s of constants, its %s has %u", label,
                        entry->name, hal_count(entry->constant_bytes, "byte", "bytes").text,
                        hal_object_name(&layout->object, name), layout->constant_bytes);
    if (entry->constant_bytes && entry->constants_slot < layout->set_count && uses_slots(desc))
        return hal_fail(HAL_INVALID,
                        "executable '%s', entry point '%s': constants slot %u is the slot of a "
                        "descriptor set, of which its %s has %zu",
                        label, entry->name, entry->constants_slot,
                        hal_object_name(&layout->object, name), layout->set_count);
    return HAL_OK;
}

static enum hal_status check_entry(const struct hal_device *device, const char *label,
                                   const struct hal_entry_point *entry, size_t index)
{
    const struct hal_device_info *info = &device->info;
    uint64_t threads = 1;
    if (!entry->name || !entry->name[0])
        return hal_fail(HAL_INVALID, "executable '%s': entry point %zu has no name", label, index);
    for (size_t i = 0; i < 3; i++) {
        const uint32_t size = entry->workgroup_size[i];
        if (size == 0 || size > info->max_workgroup_size[i])
            return hal_fail(HAL_INVALID,
                            "executable '%s', entry point '%s': a workgroup size of %u in "
                            "dimension %zu is not in 1 to %u",
                            label, entry->name, size, i, info->max_workgroup_size[i]);
        threads *= size;
    }
    if (threads > info->max_workgroup_threads)
        return hal_fail(HAL_INVALID,
                        "executable '%s', entry point '%s': %s per workgroup, the limit is %u",
                        label, entry->name, hal_count(threads, "thread", "threads").text,
                        info->max_workgroup_threads);
    if (entry->constant_bytes > info->max_constant_bytes || entry->constant_bytes % 4)
        return hal_fail(
            HAL_INVALID,
            "executable '%s', entry point '%s': %s of constants are not a multiple of 4 "
            "up to %u, the limit of device '%s'",
            label, entry->name, hal_count(entry->constant_bytes, "byte", "bytes").text,
            info->max_constant_bytes, info->uri);
    if (entry->constants_slot >= HAL_MAX_BINDINGS)
        return hal_fail(HAL_INVALID,
                        "executable '%s', entry point '%s': constants slot %u, the last is %d",
                        label, entry->name, entry->constants_slot, HAL_MAX_BINDINGS - 1);
    return check_workgroup_arguments(device, label, entry);
}

static uint64_t greatest_bits(enum hal_constant_type type)
{
    switch (type) {
    case HAL_CONSTANT_BOOL: return 1;
    case HAL_CONSTANT_INT8:
    case HAL_CONSTANT_UINT8: return UINT8_MAX;
    case HAL_CONSTANT_INT16:
    case HAL_CONSTANT_UINT16:
    case HAL_CONSTANT_FLOAT16:
    case HAL_CONSTANT_BFLOAT16: return UINT16_MAX;
    case HAL_CONSTANT_INT32:
    case HAL_CONSTANT_UINT32:
    case HAL_CONSTANT_FLOAT32: return UINT32_MAX;
    case HAL_CONSTANT_INT64:
    case HAL_CONSTANT_UINT64: break;
    }
    return UINT64_MAX;
}

static enum hal_status check_constant(const char *label, const struct hal_constant *constant)
{
    if (constant->type >= HAL_CONSTANT_BOOL && constant->type <= HAL_CONSTANT_UINT64 &&
        constant->bits <= greatest_bits(constant->type))
        return HAL_OK;
    return hal_fail(
        HAL_INVALID,
        "executable '%s', specialization constant %u: there is no value 0x%llx of type %d (types "
        "%d to %d exist; a bool is 0 or 1, and unused high bits must be zero)",
        label, constant->index, (unsigned long long)constant->bits, (int)constant->type,
        HAL_CONSTANT_BOOL, HAL_CONSTANT_UINT64);
}

HAL_COMPARE_VALUES(compare_indices, uint32_t)

static enum hal_status refuse_values(const char *label, uint32_t index)
{
    return hal_fail(HAL_INVALID,
                    "executable '%s', specialization constant %u: several values are the "
                    "components of a vector: at most %d, consecutive and of one type",
                    label, index, MOST_COMPONENTS);
}

/* For values with unordered indices: whether some index occurs twice. */
static enum hal_status check_apart(const char *label, const struct hal_executable_desc *desc)
{
    uint32_t *const indices = hal_alloc(desc->constant_count, sizeof *indices);
    size_t count = 0;
    enum hal_status status = HAL_OK;
    if (!indices)
        return hal_fail(HAL_NO_MEMORY, "executable '%s': no memory to check %zu constants", label,
                        desc->constant_count);
    for (size_t i = 0; i < desc->constant_count; i++)
        if (count == 0 || desc->constants[i].index != desc->constants[i - 1].index)
            indices[count++] = desc->constants[i].index;
    qsort(indices, count, sizeof *indices, compare_indices);
    for (size_t i = 1; i < count && status == HAL_OK; i++)
        if (indices[i] == indices[i - 1])
            status = refuse_values(label, indices[i]);
    free(indices);
    return status;
}

/* More values than one are the components of a vector. */
static enum hal_status check_constants(const char *label, const struct hal_executable_desc *desc)
{
    size_t together = 0;
    bool rise = true;
    if (desc->constant_count > HAL_MAX_LIST)
        return hal_fail(
            HAL_INVALID, "executable '%s' has %s of specialization constants, the limit is %d",
            label, hal_count(desc->constant_count, "value", "values").text, HAL_MAX_LIST);
    for (size_t i = 0; i < desc->constant_count; i++) {
        const struct hal_constant *const constant = &desc->constants[i];
        const struct hal_constant *const last = i ? constant - 1 : constant;
        HAL_TRY(check_constant(label, constant));
        together = i && last->index == constant->index ? together + 1 : 1;
        if (together > MOST_COMPONENTS || (together > 1 && last->type != constant->type))
            return refuse_values(label, constant->index);
        rise = rise && last->index <= constant->index;
    }
    return rise ? HAL_OK : check_apart(label, desc);
}

static enum hal_status check_variant(const char *label, enum hal_executable_format format,
                                     const void *data, size_t bytes)
{
    if (format < HAL_FORMAT_MSL || format > HAL_FORMAT_SPIRV)
        return hal_fail(HAL_INVALID, "executable '%s': there is no format %d (%d to %d exist)",
                        label, (int)format, HAL_FORMAT_MSL, HAL_FORMAT_SPIRV);
    if (!data || bytes == 0)
        return hal_fail(HAL_INVALID, "executable '%s' has no data", label);
    return HAL_OK;
}

static enum hal_status check_variants(const char *label, const struct hal_executable_desc *desc)
{
    if (desc->variant_count == 0)
        return check_variant(label, desc->format, desc->data, desc->bytes);
    if (desc->data || desc->bytes || desc->format)
        return hal_fail(HAL_INVALID, "executable '%s' has %sand also its own data", label,
                        hal_count(desc->variant_count, "variant", "variants").text);
    if (desc->variant_count > HAL_MAX_VARIANTS)
        return hal_fail(HAL_INVALID, "executable '%s' has %s, the limit is %d", label,
                        hal_count(desc->variant_count, "variant", "variants").text,
                        HAL_MAX_VARIANTS);
    if (!desc->variants)
        return hal_fail(HAL_INVALID, "executable '%s': %s at NULL", label,
                        hal_count(desc->variant_count, "variant", "variants").text);
    for (size_t i = 0; i < desc->variant_count; i++) {
        const struct hal_executable_variant *variant = &desc->variants[i];
        HAL_TRY(
            hal_add_context(check_variant(label, variant->format, variant->data, variant->bytes),
                            "variant %zu", i));
    }
    return HAL_OK;
}

enum hal_status hal_check_executable_desc(const struct hal_device *device,
                                          const struct hal_executable_desc *desc)
{
    HAL_TRY(hal_check_device(device));
    if (!desc)
        return hal_fail(HAL_INVALID, "an executable needs a description");
    const char *label = desc->label ? desc->label : "";
    HAL_TRY(check_variants(label, desc));
    if (!desc->entry_points || desc->entry_point_count == 0 || desc->entry_point_count > UINT32_MAX)
        return hal_fail(HAL_INVALID, "executable '%s' has %s: 1 to %u are supported", label,
                        hal_count(desc->entry_points ? desc->entry_point_count : 0, "entry point",
                                  "entry points")
                            .text,
                        UINT32_MAX);
    for (size_t i = 0; i < desc->entry_point_count; i++)
        HAL_TRY(check_entry(device, label, &desc->entry_points[i], i));
    for (size_t i = 0; desc->layouts && i < desc->entry_point_count; i++) {
        if (desc->layouts[i])
            HAL_TRY(check_entry_layout(device, desc, &desc->entry_points[i], desc->layouts[i]));
    }
    if (desc->cache && desc->cache->device != device)
        return hal_fail(HAL_INVALID,
                        "executable '%s': the executable cache '%s' belongs to another device than "
                        "'%s'",
                        label, desc->cache->label ? desc->cache->label : "", device->info.uri);
    if (desc->constant_count && !desc->constants)
        return hal_fail(
            HAL_INVALID, "executable '%s': %s at NULL", label,
            hal_count(desc->constant_count, "specialization constant", "specialization constants")
                .text);
    return check_constants(label, desc);
}

enum hal_status hal_check_cache(const struct hal_executable_cache *cache)
{
    return cache ? HAL_OK : hal_fail(HAL_INVALID, "the executable cache is NULL");
}

enum hal_status hal_check_cache_desc(const struct hal_executable_cache_desc *desc)
{
    if (!desc->directory || desc->directory[0])
        return HAL_OK;
    return hal_fail(HAL_INVALID, "executable cache '%s': the directory's name is empty",
                    desc->label ? desc->label : "");
}

enum hal_status hal_check_prepare(const struct hal_executable_cache *cache,
                                  const struct hal_executable_desc *descs, size_t count)
{
    HAL_TRY(hal_check_cache(cache));
    if (count > HAL_MAX_LIST)
        return hal_fail(HAL_INVALID, "executable cache '%s': %s, the limit is %d",
                        cache->label ? cache->label : "",
                        hal_count(count, "executable", "executables").text, HAL_MAX_LIST);
    if (count && !descs)
        return hal_fail(HAL_INVALID, "executable cache '%s': %s at NULL",
                        cache->label ? cache->label : "",
                        hal_count(count, "description", "descriptions").text);
    return count ? hal_check_struct_size("hal_executable_desc", descs, sizeof *descs) : HAL_OK;
}

enum hal_status hal_check_entry(const struct hal_executable *executable, uint32_t entry)
{
    if (entry < executable->entry_point_count)
        return HAL_OK;
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_fail(
        HAL_INVALID, "%s has %s: there is no number %u", hal_object_name(&executable->object, name),
        hal_count(executable->entry_point_count, "entry point", "entry points").text, entry);
}

/* ---- What the driver found ---------------------------------------------------------------- */

static const struct hal_layout_binding *find_binding(const struct hal_pipeline_layout *layout,
                                                     const struct hal_entry_binding *wanted)
{
    const struct hal_set_layout *set =
        wanted->set < layout->set_count ? layout->sets[wanted->set] : NULL;
    for (size_t i = 0; set && i < set->binding_count; i++) {
        if (set->bindings[i].index == wanted->index)
            return &set->bindings[i];
    }
    return NULL;
}

enum hal_status hal_check_entry_bindings(const struct hal_entry_point *entry,
                                         const struct hal_pipeline_layout *layout,
                                         const struct hal_entry_binding *bindings, size_t count)
{
    char name[HAL_OBJECT_NAME_BYTES];
    for (size_t i = 0; layout && i < count; i++) {
        const struct hal_entry_binding *binding = &bindings[i];
        const struct hal_layout_binding *promised = find_binding(layout, binding);
        if (!promised)
            return hal_fail(HAL_INVALID,
                            "kernel '%s' takes binding %u of descriptor set %u, which its %s does "
                            "not have",
                            entry->name, binding->index, binding->set,
                            hal_object_name(&layout->object, name));
        if (promised->flags & HAL_BINDING_READ_ONLY && binding->access & HAL_ACCESS_WRITE)
            return hal_fail(HAL_INVALID,
                            "kernel '%s' writes binding %u of descriptor set %u, which is "
                            "read-only in its %s (flags 0x%x)",
                            entry->name, binding->index, binding->set,
                            hal_object_name(&layout->object, name), promised->flags);
    }
    return HAL_OK;
}

enum hal_status hal_check_entry_slot(const struct hal_entry_point *entry, bool is_there)
{
    if (entry->constant_bytes == 0 || is_there)
        return HAL_OK;
    return hal_fail(HAL_INVALID, "kernel '%s' has no [[buffer(%u)]] to receive its %s of constants",
                    entry->name, entry->constants_slot,
                    hal_count(entry->constant_bytes, "byte", "bytes").text);
}

enum hal_status hal_check_entry_constants(const struct hal_entry_point *entry, uint32_t bytes)
{
    if (bytes <= entry->constant_bytes)
        return HAL_OK;
    return hal_fail(
        HAL_INVALID,
        "entry point '%s' has %s of push constants in the module, and %u in the executable",
        entry->name, hal_count(bytes, "byte", "bytes").text, entry->constant_bytes);
}

enum hal_status hal_check_entry_workgroup_memory(const struct hal_entry_point *entry,
                                                 uint32_t taken, uint64_t own_bytes, uint64_t limit)
{
    uint64_t total = own_bytes;
    for (uint32_t i = 0; i < 32; i++) {
        const bool is_taken = taken >> i & 1, has_place = i < HAL_MAX_WORKGROUP_ARGUMENTS;
        const uint32_t bytes = has_place ? entry->workgroup_argument_bytes[i] : 0;
        if (is_taken && !has_place)
            return hal_fail(HAL_UNSUPPORTED, "kernel '%s': [[threadgroup(%u)]], the last is %d",
                            entry->name, i, HAL_MAX_WORKGROUP_ARGUMENTS - 1);
        if (is_taken && !bytes)
            return hal_fail(HAL_INVALID,
                            "kernel '%s' has a [[threadgroup(%u)]] argument, but the entry point "
                            "gives it no length (workgroup_argument_bytes)",
                            entry->name, i);
        if (!is_taken && bytes)
            return hal_fail(HAL_INVALID, "kernel '%s' has no [[threadgroup(%u)]] argument for %s",
                            entry->name, i, hal_count(bytes, "byte", "bytes").text);
        total += bytes;
    }
    if (total > limit)
        return hal_fail(HAL_INVALID,
                        "kernel '%s' uses %s of workgroup memory, the limit is %" PRIu64,
                        entry->name, hal_count(total, "byte", "bytes").text, limit);
    return HAL_OK;
}
