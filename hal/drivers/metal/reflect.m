/* SPDX-License-Identifier: Apache-2.0 */
/* Reflection of executables: bindings and constants, as known to Metal and hal/compiler/spirv. */
#include "hal/base/mem.h"
#import "hal/drivers/metal/metal.h"

/* What became of a module's types asks for more than they do, and its code tells more of accesses:
 * `where`, of SPIR-V, has binding i in slot i. */
static enum hal_status list_bindings(const struct hal_entry_point *wanted,
                                     const struct hal_pipeline_layout *layout,
                                     const struct spirv_entry *where, struct metal_entry *entry)
{
    if (entry->layout)
        return hal_kernel_list_layout(wanted, entry->layout, &entry->bindings,
                                      &entry->binding_count);
    entry->bindings =
        hal_alloc((size_t)__builtin_popcount(entry->buffer_mask), sizeof *entry->bindings);
    if (!entry->bindings)
        return hal_fail(HAL_NO_MEMORY, "no memory for the bindings of kernel '%s'", wanted->name);
    for (uint32_t i = 0; i < METAL_MAX_SLOTS; i++) {
        if (!(entry->buffer_mask >> i & 1) || i == entry->slots.sizes_slot ||
            (entry->slots.constant_bytes && i == entry->slots.constants_slot))
            continue;
        const struct spirv_binding *module =
            where && i < where->binding_count ? &where->bindings[i] : NULL;
        const uint32_t access = (entry->read_mask >> i & 1 ? HAL_ACCESS_READ : 0U) |
                                (entry->written_mask >> i & 1 ? HAL_ACCESS_WRITE : 0U);
        entry->bindings[entry->binding_count++] = (struct hal_entry_binding){
            .set = entry->slots.places[i].set,
            .index = entry->slots.places[i].binding,
            .access = module ? module->access : access,
            .alignment = entry->alignments[i],
            .bytes = module ? module->bytes : 0,
        };
    }
    return hal_check_entry_bindings(wanted, layout, entry->bindings, entry->binding_count);
}

static enum hal_constant_type type_from(MTLDataType type)
{
    switch ((NSUInteger)type) {
    case MTLDataTypeBool: return HAL_CONSTANT_BOOL;
    case MTLDataTypeInt: return HAL_CONSTANT_INT32;
    case MTLDataTypeUInt: return HAL_CONSTANT_UINT32;
    case MTLDataTypeFloat: return HAL_CONSTANT_FLOAT32;
    case MTLDataTypeChar: return HAL_CONSTANT_INT8;
    case MTLDataTypeUChar: return HAL_CONSTANT_UINT8;
    case MTLDataTypeShort: return HAL_CONSTANT_INT16;
    case MTLDataTypeUShort: return HAL_CONSTANT_UINT16;
    case MTLDataTypeHalf: return HAL_CONSTANT_FLOAT16;
    case MTLDataTypeBFloat: return HAL_CONSTANT_BFLOAT16;
    case MTLDataTypeLong: return HAL_CONSTANT_INT64;
    case MTLDataTypeULong: return HAL_CONSTANT_UINT64;
    default: return (enum hal_constant_type)0;
    }
}

/* A vector's number is that of its component type plus the number of additional components. */
static struct hal_constant_info described(MTLDataType type)
{
    for (uint32_t components = 1; components <= 4; components++) {
        const enum hal_constant_type found = type_from((MTLDataType)(type - components + 1));
        if (found)
            return (struct hal_constant_info){.type = found, .components = components};
    }
    return (struct hal_constant_info){.components = 1};
}

static bool is_listed(const struct metal_executable *executable, uint32_t index, const char *name)
{
    for (size_t i = 0; i < executable->constant_count; i++) {
        if (executable->constants[i].index == index &&
            strcmp(executable->constants[i].name, name) == 0)
            return true;
    }
    return false;
}

static enum hal_status add_constant(struct metal_executable *executable, const char *its_name,
                                    uint32_t index, struct hal_constant_info constant)
{
    if (is_listed(executable, index, its_name))
        return HAL_OK;
    char *name = hal_copy_string(its_name);
    if (!name || !HAL_GROW(executable->constants, &executable->constant_capacity,
                           executable->constant_count + 1)) {
        free(name);
        return hal_fail(HAL_NO_MEMORY, "no memory for the specialization constants");
    }
    constant.name = name;
    constant.index = index;
    executable->constants[executable->constant_count++] = constant;
    return HAL_OK;
}

/* Metal tells a function's constants: those of all entry points together. */
static enum hal_status list_functions_constants(struct metal_executable *executable,
                                                const struct hal_executable_desc *desc)
{
    enum hal_status status = HAL_OK;
    for (size_t i = 0; i < desc->entry_point_count && status == HAL_OK; i++) {
        id<MTLFunction> function =
            [executable->library newFunctionWithName:metal_string(desc->entry_points[i].name)];
        NSArray<MTLFunctionConstant *> *all = function.functionConstantsDictionary.allValues;
        for (NSUInteger c = 0; c < all.count && status == HAL_OK; c++) {
            MTLFunctionConstant *constant = [all objectAtIndex:c];
            status = add_constant(executable, constant.name.UTF8String, (uint32_t)constant.index,
                                  described(constant.type));
        }
        [function release];
    }
    return status;
}

static enum hal_status list_modules_constants(struct metal_executable *executable)
{
    for (size_t i = 0; i < executable->spirv->constant_count; i++) {
        const struct spirv_constant_info *constant = &executable->spirv->constants[i];
        HAL_TRY(add_constant(executable, constant->name, constant->id,
                             hal_kernel_constant_info(constant)));
    }
    return HAL_OK;
}

enum hal_status metal_reflection_create(struct metal_executable *executable,
                                        const struct hal_executable_desc *desc)
{
    for (size_t i = 0; i < desc->entry_point_count; i++)
        HAL_TRY(list_bindings(&desc->entry_points[i], desc->layouts ? desc->layouts[i] : NULL,
                              executable->spirv ? &executable->spirv->entries[i] : NULL,
                              &executable->entries[i]));
    HAL_TRY(executable->spirv ? list_modules_constants(executable)
                              : list_functions_constants(executable, desc));
    hal_kernel_order_constants(executable->constants, executable->constant_count, desc->constants,
                               desc->constant_count);
    return HAL_OK;
}

void metal_reflection_destroy(struct metal_executable *executable)
{
    for (size_t i = 0; i < executable->entry_count; i++) {
        free(executable->entries[i].bindings);
        executable->entries[i].bindings = NULL;
        executable->entries[i].binding_count = 0;
    }
    for (size_t i = 0; i < executable->constant_count; i++)
        free((char *)(uintptr_t)executable->constants[i].name);
    free(executable->constants);
    executable->constants = NULL;
    executable->constant_count = 0;
}

enum hal_status metal_executable_reflect(struct hal_driver_device *self,
                                         struct hal_executable *base,
                                         struct hal_executable_info *out_info)
{
    (void)self;
    const struct metal_executable *executable = to_metal_executable(base);
    out_info->constants = executable->constants;
    out_info->constant_count = executable->constant_count;
    return HAL_OK;
}

enum hal_status metal_entry_reflect(struct hal_driver_device *self, struct hal_executable *base,
                                    uint32_t entry, struct hal_entry_info *out_info)
{
    (void)self;
    const struct metal_entry *own = &to_metal_executable(base)->entries[entry];
    out_info->workgroup_memory_bytes = own->pipeline.staticThreadgroupMemoryLength;
    out_info->bindings = own->bindings;
    out_info->binding_count = own->binding_count;
    return HAL_OK;
}
