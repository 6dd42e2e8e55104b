/* SPDX-License-Identifier: Apache-2.0 */
/* Executables: selects the variant, MSL or translated SPIR-V compiled by hal/compiler/msl, and
 * determines each entry point's requirements and reflection. */
#include "hal/base/mem.h"
#include "hal/base/text.h"
#include "hal/drivers/cpu/cpu.h"

#include <limits.h>
#include <stdio.h>

_Static_assert((int)HAL_CONSTANT_BOOL == (int)MSL_BOOL &&
                   (int)HAL_CONSTANT_INT32 == (int)MSL_INT32 &&
                   (int)HAL_CONSTANT_UINT32 == (int)MSL_UINT32 &&
                   (int)HAL_CONSTANT_FLOAT32 == (int)MSL_FLOAT32 &&
                   (int)HAL_CONSTANT_INT8 == (int)MSL_INT8 &&
                   (int)HAL_CONSTANT_UINT64 == (int)MSL_UINT64,
               "constants are handed on by a cast");
_Static_assert((int)MSL_READ == (int)SPIRV_READ && (int)MSL_WRITE == (int)SPIRV_WRITE,
               "accesses have the same bits");
_Static_assert((int)HAL_MAX_BINDINGS == (int)MSL_MAX_BUFFERS, "bindings are buffer slots");
_Static_assert((int)MSL_SIMD_WIDTH == (int)SPIRV_SIMD_WIDTH, "both have the same limits");

/* `translation` is what became of SPIR-V, with its constants in place; NULL: MSL as it is.
 * `out_library` NULL: it is only compiled. */
static enum hal_status compile_msl(const struct hal_executable_desc *desc,
                                   const struct hal_executable_variant *variant,
                                   const struct spirv_translation *translation, enum msl_math math,
                                   struct msl_library **out_library)
{
    const size_t constant_count = translation ? 0 : desc->constant_count;
    bool check_bounds;
    HAL_TRY(hal_bounds_wanted(&check_bounds));
    struct msl_constant *constants = hal_alloc(constant_count, sizeof *constants);
    struct msl_group_size *sizes = hal_alloc(desc->entry_point_count, sizeof *sizes);
    if (!constants || !sizes) {
        free(constants);
        free(sizes);
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu constants and %zu entry points",
                        desc->constant_count, desc->entry_point_count);
    }
    for (size_t i = 0; i < constant_count; i++)
        constants[i] = (struct msl_constant){
            .index = desc->constants[i].index,
            .type = (enum msl_constant_type)desc->constants[i].type,
            .bits = desc->constants[i].bits,
        };
    for (size_t i = 0; i < desc->entry_point_count; i++) {
        sizes[i].kernel = translation ? translation->entries[i].kernel : desc->entry_points[i].name;
        memcpy(sizes[i].size, desc->entry_points[i].workgroup_size, sizeof sizes[i].size);
    }
    const struct msl_source source = {
        .name = desc->label,
        .text = translation ? translation->text : variant->data,
        .bytes = translation ? translation->bytes : variant->bytes,
        .constants = constants,
        .constant_count = constant_count,
        .group_sizes = sizes,
        .group_size_count = desc->entry_point_count,
        .only_listed = true,
        .directory = desc->cache ? desc->cache->directory : NULL,
        .directory_limit_bytes = desc->cache ? desc->cache->max_bytes : 0,
        .check_bounds = check_bounds,
        .math = math,
    };
    const enum hal_status status = msl_compile(&source, out_library);
    free(constants);
    free(sizes);
    return status;
}

/* Each buffer that the kernel takes is a descriptor set, or its constants. */
static enum hal_status check_sets(const struct cpu_entry *entry,
                                  const struct hal_entry_point *wanted)
{
    uint32_t rest = entry->info->buffer_mask;
    char name[HAL_OBJECT_NAME_BYTES];
    rest &= ~((UINT32_C(1) << entry->layout->set_count) - 1);
    if (wanted->constant_bytes)
        rest &= ~(UINT32_C(1) << wanted->constants_slot);
    if (rest)
        return hal_fail(
            HAL_INVALID, "kernel '%s' has a [[buffer(%d)]], but its %s has %s", wanted->name,
            __builtin_ctz(rest), hal_object_name(&entry->layout->object, name),
            hal_count(entry->layout->set_count, "descriptor set", "descriptor sets").text);
    return HAL_OK;
}

static enum hal_status compile(const struct hal_executable_desc *desc,
                               const struct hal_executable_variant *variant,
                               struct cpu_executable *executable)
{
    if (variant->format == HAL_FORMAT_SPIRV)
        HAL_TRY(hal_kernel_translate(desc, variant, &executable->spirv));
    const enum hal_status status =
        compile_msl(desc, variant, executable->spirv, executable->math, &executable->library);
    if (status != HAL_OK) {
        spirv_translation_destroy(executable->spirv);
        executable->spirv = NULL;
    }
    return status;
}

/* MSL: without a layout, binding i of set 0 is [[buffer(i)]]; the executable places constants. */
static enum hal_status place_buffers(const struct hal_entry_point *wanted,
                                     const struct hal_pipeline_layout *layout,
                                     struct cpu_entry *entry)
{
    hal_kernel_slots_of_msl(wanted, &entry->slots);
    entry->layout = layout;
    if (layout)
        HAL_TRY(check_sets(entry, wanted));
    return hal_check_entry_slot(wanted, entry->info->buffer_mask >> wanted->constants_slot & 1);
}

static enum hal_status find_entry(const struct msl_library *library,
                                  const struct hal_entry_point *wanted,
                                  const struct spirv_entry *where,
                                  const struct hal_pipeline_layout *layout,
                                  struct cpu_entry *out_entry)
{
    struct cpu_entry *entry = out_entry;
    const enum hal_status found =
        msl_library_find(library, where ? where->kernel : wanted->name, &entry->function);
    if (found != HAL_OK)
        return found == HAL_NOT_FOUND ? HAL_INVALID : found;
    entry->info = msl_function_get_info(entry->function);
    memcpy(entry->workgroup_size, wanted->workgroup_size, sizeof entry->workgroup_size);
    HAL_TRY(where ? hal_kernel_slots_of_spirv(wanted, where, &entry->slots)
                  : place_buffers(wanted, layout, entry));
    memcpy(entry->workgroup_argument_bytes, wanted->workgroup_argument_bytes,
           sizeof wanted->workgroup_argument_bytes);
    return hal_check_entry_workgroup_memory(wanted, entry->info->threadgroup_mask,
                                            entry->info->static_group_memory_bytes,
                                            MSL_MAX_GROUP_MEMORY_BYTES);
}

/* ---- Reflection --------------------------------------------------------------------------- */

/* A module's types say less than those that became of them, and its code more: `where`, of SPIR-V,
 * has binding i in slot i. */
static enum hal_status list_bindings(const struct hal_entry_point *wanted,
                                     const struct hal_pipeline_layout *layout,
                                     const struct spirv_entry *where, struct cpu_entry *entry)
{
    const struct msl_function_info *info = entry->info;
    if (entry->layout)
        return hal_kernel_list_layout(wanted, entry->layout, &entry->bindings,
                                      &entry->binding_count);
    entry->bindings =
        hal_alloc((size_t)__builtin_popcount(info->buffer_mask), sizeof *entry->bindings);
    if (!entry->bindings)
        return hal_fail(HAL_NO_MEMORY, "no memory for the bindings of kernel '%s'", info->name);
    for (uint32_t i = 0; i < MSL_MAX_BUFFERS; i++) {
        if (!(info->buffer_mask >> i & 1) || i == entry->slots.sizes_slot ||
            (entry->slots.constant_bytes && i == entry->slots.constants_slot))
            continue;
        const struct spirv_binding *module = where ? &where->bindings[i] : NULL;
        const uint8_t access = module ? module->access : info->buffer_access[i];
        entry->bindings[entry->binding_count++] = (struct hal_entry_binding){
            .set = entry->slots.places[i].set,
            .index = entry->slots.places[i].binding,
            .access = (access & MSL_READ ? HAL_ACCESS_READ : 0U) |
                      (access & MSL_WRITE ? HAL_ACCESS_WRITE : 0U),
            .alignment = info->buffer_alignment[i],
            .bytes = module ? module->bytes : info->buffer_bytes[i],
        };
    }
    return hal_check_entry_bindings(wanted, layout, entry->bindings, entry->binding_count);
}

static enum hal_status list_constants(const struct hal_executable_desc *desc,
                                      struct cpu_executable *executable)
{
    const struct spirv_translation *spirv = executable->spirv;
    const size_t count =
        spirv ? spirv->constant_count : msl_library_constant_count(executable->library);
    executable->constants = hal_alloc(count, sizeof *executable->constants);
    if (!executable->constants)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu specialization constants", count);
    for (size_t i = 0; i < count; i++) {
        if (spirv) {
            executable->constants[i] = hal_kernel_constant_info(&spirv->constants[i]);
            continue;
        }
        const struct msl_constant_info constant = msl_library_constant(executable->library, i);
        executable->constants[i] =
            (struct hal_constant_info){.name = constant.name,
                                       .index = constant.index,
                                       .type = (enum hal_constant_type)constant.type,
                                       .components = constant.components};
    }
    hal_kernel_order_constants(executable->constants, count, desc->constants, desc->constant_count);
    executable->constant_count = count;
    return HAL_OK;
}

/* ---- Variants ----------------------------------------------------------------------------- */

static const enum hal_executable_format formats[] = {HAL_FORMAT_MSL, HAL_FORMAT_SPIRV};
enum { FORMAT_COUNT = sizeof formats / sizeof formats[0] };

uint32_t cpu_executable_formats(enum hal_executable_format out_formats[HAL_MAX_FORMATS])
{
    memcpy(out_formats, formats, sizeof formats);
    return FORMAT_COUNT;
}

/* Everything that can be found wrong with a variant. */
static enum hal_status build(const struct hal_executable_desc *desc,
                             const struct hal_executable_variant *variant,
                             struct cpu_executable *executable)
{
    HAL_TRY(compile(desc, variant, executable));
    HAL_TRY(list_constants(desc, executable));
    for (size_t i = 0; i < desc->entry_point_count; i++) {
        const struct hal_pipeline_layout *layout = desc->layouts ? desc->layouts[i] : NULL;
        const struct spirv_entry *where = executable->spirv ? &executable->spirv->entries[i] : NULL;
        struct cpu_entry *entry = &executable->entries[i];
        HAL_TRY(find_entry(executable->library, &desc->entry_points[i], where, layout, entry));
        HAL_TRY(list_bindings(&desc->entry_points[i], layout, where, entry));
    }
    return HAL_OK;
}

/* Also after half of it. */
static void take_down(struct cpu_executable *executable)
{
    for (size_t i = 0; i < executable->entry_count; i++) {
        free(executable->entries[i].bindings);
        executable->entries[i].bindings = NULL;
        executable->entries[i].binding_count = 0;
    }
    if (executable->library)
        msl_library_destroy(executable->library);
    executable->library = NULL;
    spirv_translation_destroy(executable->spirv);
    executable->spirv = NULL;
    free(executable->constants);
    executable->constants = NULL;
    executable->constant_count = 0;
}

static enum hal_status build_variant(void *user, const struct hal_executable_desc *desc,
                                     const struct hal_executable_variant *variant)
{
    const enum hal_status status = build(desc, variant, user);
    if (status != HAL_OK)
        take_down(user);
    return status;
}

enum hal_status cpu_executable_reflect(struct hal_driver_device *self,
                                       struct hal_executable *executable,
                                       struct hal_executable_info *out_info)
{
    (void)self;
    const struct cpu_executable *own = to_cpu_executable(executable);
    out_info->constants = own->constants;
    out_info->constant_count = own->constant_count;
    return HAL_OK;
}

enum hal_status cpu_entry_reflect(struct hal_driver_device *self, struct hal_executable *executable,
                                  uint32_t entry, struct hal_entry_info *out_info)
{
    (void)self;
    const struct cpu_entry *own = &to_cpu_executable(executable)->entries[entry];
    out_info->workgroup_memory_bytes = own->info->static_group_memory_bytes;
    out_info->bindings = own->bindings;
    out_info->binding_count = own->binding_count;
    return HAL_OK;
}

/* ---- Where kernels are kept ---------------------------------------------------------------- */

enum hal_status cpu_cache_open(struct hal_driver_device *self, const char *wanted, char *out_path,
                               size_t bytes)
{
    (void)self;
    return msl_directory_open(wanted, out_path, bytes);
}

enum hal_status cpu_cache_measure(struct hal_driver_device *self, const char *directory,
                                  uint64_t *out_bytes, uint64_t *out_entries)
{
    (void)self;
    return msl_directory_measure(directory, out_bytes, out_entries);
}

/* ---- Compilers ---------------------------------------------------------------------------- */

enum hal_status hal_kernel_programs(char *out_paths, size_t bytes)
{
    return msl_programs(out_paths, bytes);
}

/* ---- Life --------------------------------------------------------------------------------- */

enum hal_status cpu_executable_create(struct hal_driver_device *self,
                                      const struct hal_executable_desc *desc,
                                      struct hal_executable **out)
{
    const char *label = desc->label ? desc->label : "";
    const size_t count = desc->entry_point_count;
    HAL_TRY(
        hal_add_context(hal_engine_check(&to_cpu_device(self)->engine), "executable '%s'", label));
    struct cpu_executable *executable =
        hal_alloc(1, sizeof *executable + count * sizeof executable->entries[0]);
    if (!executable)
        return hal_fail(HAL_NO_MEMORY, "executable '%s': no memory for %zu entry points", label,
                        count);
    executable->entry_count = count;
    executable->math = to_cpu_device(self)->math;
    const struct hal_variant_builder builder = {"CPU", formats, FORMAT_COUNT, build_variant};
    const enum hal_status status =
        hal_variants_build(&builder, executable, desc, &executable->base.variant);
    if (status != HAL_OK) {
        cpu_executable_destroy(executable);
        return hal_add_context(status, "executable '%s'", label);
    }
    hal_object_init(&executable->base.object, HAL_OBJECT_EXECUTABLE);
    executable->base.from_cache = msl_library_from_cache(executable->library);
    *out = &executable->base;
    return HAL_OK;
}

static enum hal_status compile_variant(void *user, const struct hal_executable_desc *desc,
                                       const struct hal_executable_variant *variant)
{
    const struct cpu_device *const device = user;
    struct spirv_translation *translation = NULL;
    if (variant->format == HAL_FORMAT_SPIRV)
        HAL_TRY(hal_kernel_translate(desc, variant, &translation));
    const enum hal_status status = compile_msl(desc, variant, translation, device->math, NULL);
    spirv_translation_destroy(translation);
    return status;
}

enum hal_status cpu_executable_compile(struct hal_driver_device *self,
                                       const struct hal_executable_desc *desc)
{
    const struct hal_variant_builder builder = {"CPU", formats, FORMAT_COUNT, compile_variant};
    const char *const label = desc->label ? desc->label : "";
    size_t variant;
    HAL_TRY(
        hal_add_context(hal_engine_check(&to_cpu_device(self)->engine), "executable '%s'", label));
    return hal_add_context(hal_variants_build(&builder, to_cpu_device(self), desc, &variant),
                           "executable '%s'", label);
}

void cpu_executable_destroy(struct cpu_executable *executable)
{
    take_down(executable);
    free(executable);
}
