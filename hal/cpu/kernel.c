/* SPDX-License-Identifier: Apache-2.0 */
/* Executables: MSL source compiled by hal/msl, and what each entry point needs. */
#include "hal/base/mem.h"
#include "hal/cpu/cpu.h"

_Static_assert((int)HAL_CONSTANT_BOOL == (int)MSL_BOOL &&
                   (int)HAL_CONSTANT_INT32 == (int)MSL_INT32 &&
                   (int)HAL_CONSTANT_UINT32 == (int)MSL_UINT32 &&
                   (int)HAL_CONSTANT_FLOAT32 == (int)MSL_FLOAT32,
               "constants are handed on by a cast");
_Static_assert((int)HAL_MAX_BINDINGS == (int)MSL_MAX_BUFFERS, "bindings are buffer slots");

static const char *format_name(enum hal_executable_format format)
{
    switch (format) {
    case HAL_FORMAT_MSL: return "MSL";
    case HAL_FORMAT_METALLIB: return "metallib";
    case HAL_FORMAT_SPIRV: return "SPIR-V";
    }
    return "unknown";
}

static enum hal_status compile(const struct hal_executable_desc *desc,
                               struct msl_library **out_library)
{
    struct msl_constant *constants = hal_alloc(desc->constant_count, sizeof *constants);
    struct msl_group_size *sizes = hal_alloc(desc->entry_point_count, sizeof *sizes);
    if (!constants || !sizes) {
        free(constants);
        free(sizes);
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu constants and %zu entry points",
                        desc->constant_count, desc->entry_point_count);
    }
    for (size_t i = 0; i < desc->constant_count; i++)
        constants[i] = (struct msl_constant){
            .index = desc->constants[i].index,
            .type = (enum msl_constant_type)desc->constants[i].type,
            .bits = desc->constants[i].bits,
        };
    for (size_t i = 0; i < desc->entry_point_count; i++) {
        sizes[i].kernel = desc->entry_points[i].name;
        memcpy(sizes[i].size, desc->entry_points[i].group_size, sizeof sizes[i].size);
    }
    const struct msl_source source = {
        .name = desc->label,
        .text = desc->data,
        .bytes = desc->bytes,
        .constants = constants,
        .constant_count = desc->constant_count,
        .group_sizes = sizes,
        .group_size_count = desc->entry_point_count,
    };
    const enum hal_status status = msl_compile(&source, out_library);
    free(constants);
    free(sizes);
    return status;
}

static enum hal_status find_entry(const struct msl_library *library,
                                  const struct hal_entry_point *wanted, struct cpu_entry *out_entry)
{
    struct cpu_entry *entry = out_entry;
    const enum hal_status found = msl_library_find(library, wanted->name, &entry->function);
    if (found != HAL_OK)
        return found == HAL_NOT_FOUND ? HAL_INVALID : found;
    entry->info = msl_function_get_info(entry->function);
    memcpy(entry->group_size, wanted->group_size, sizeof entry->group_size);
    entry->constant_bytes = wanted->constant_bytes;
    entry->constants_slot = wanted->constants_slot;
    if (wanted->constant_bytes && !(entry->info->buffer_mask >> wanted->constants_slot & 1))
        return hal_fail(HAL_INVALID,
                        "kernel '%s' has no [[buffer(%u)]] to receive its %u bytes of constants",
                        wanted->name, wanted->constants_slot, wanted->constant_bytes);
    if (entry->info->threadgroup_mask)
        return hal_fail(HAL_UNSUPPORTED,
                        "kernel '%s' takes threadgroup memory as an argument ([[threadgroup(%d)]])",
                        wanted->name, __builtin_ctz(entry->info->threadgroup_mask));
    if (entry->info->static_group_memory_bytes > MSL_MAX_GROUP_MEMORY_BYTES)
        return hal_fail(
            HAL_INVALID, "kernel '%s' uses %u bytes of threadgroup memory, the limit is %d",
            wanted->name, entry->info->static_group_memory_bytes, MSL_MAX_GROUP_MEMORY_BYTES);
    return HAL_OK;
}

enum hal_status cpu_executable_create(struct hal_driver_device *self,
                                      const struct hal_executable_desc *desc,
                                      struct hal_executable **out)
{
    (void)self;
    const char *label = desc->label ? desc->label : "";
    if (desc->format != HAL_FORMAT_MSL)
        return hal_fail(HAL_UNSUPPORTED, "executable '%s': the CPU driver runs MSL, not %s", label,
                        format_name(desc->format));
    const size_t count = desc->entry_point_count;
    struct cpu_executable *executable =
        hal_alloc(1, sizeof *executable + count * sizeof executable->entries[0]);
    if (!executable)
        return hal_fail(HAL_NO_MEMORY, "executable '%s': no memory for %zu entry points", label,
                        count);
    enum hal_status status = compile(desc, &executable->library);
    for (size_t i = 0; status == HAL_OK && i < count; i++)
        status = find_entry(executable->library, &desc->entry_points[i], &executable->entries[i]);
    if (status != HAL_OK) {
        cpu_executable_destroy(executable);
        return hal_add_context(status, "executable '%s'", label);
    }
    hal_object_init(&executable->base.object, HAL_OBJECT_EXECUTABLE);
    executable->entry_count = count;
    *out = &executable->base;
    return HAL_OK;
}

void cpu_executable_destroy(struct cpu_executable *executable)
{
    if (executable->library)
        msl_library_destroy(executable->library);
    free(executable);
}
