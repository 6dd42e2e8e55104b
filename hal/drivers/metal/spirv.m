/* SPDX-License-Identifier: Apache-2.0 */
/* SPIR-V executables: hal/compiler/spirv makes MSL of them, and says where the buffers are. */
#include "hal/base/mem.h"
#import "hal/drivers/metal/metal.h"

_Static_assert((int)HAL_CONSTANT_BOOL == (int)SPIRV_BOOL &&
                   (int)HAL_CONSTANT_INT32 == (int)SPIRV_INT32 &&
                   (int)HAL_CONSTANT_UINT32 == (int)SPIRV_UINT32 &&
                   (int)HAL_CONSTANT_FLOAT32 == (int)SPIRV_FLOAT32 &&
                   (int)HAL_CONSTANT_INT8 == (int)SPIRV_INT8 &&
                   (int)HAL_CONSTANT_UINT64 == (int)SPIRV_UINT64,
               "constants are handed on by a cast");
_Static_assert((int)METAL_MAX_SLOTS == (int)SPIRV_MAX_BINDINGS &&
                   (int)HAL_MAX_SETS == (int)SPIRV_MAX_SETS,
               "both have the same limits");

enum hal_status metal_spirv_translate(const struct hal_executable_desc *desc,
                                      const struct hal_executable_variant *variant,
                                      struct spirv_translation **out_translation)
{
    struct spirv_constant *constants = hal_alloc(desc->constant_count, sizeof *constants);
    struct spirv_entry_point *entries = hal_alloc(desc->entry_point_count, sizeof *entries);
    enum hal_status status = HAL_OK;
    if (!constants || !entries)
        status = hal_fail(HAL_NO_MEMORY, "no memory for %zu constants and %zu entry points",
                          desc->constant_count, desc->entry_point_count);
    for (size_t i = 0; status == HAL_OK && i < desc->constant_count; i++)
        constants[i] = (struct spirv_constant){
            .id = desc->constants[i].index,
            .type = (enum spirv_constant_type)desc->constants[i].type,
            .bits = desc->constants[i].bits,
        };
    for (size_t i = 0; status == HAL_OK && i < desc->entry_point_count; i++) {
        entries[i].name = desc->entry_points[i].name;
        memcpy(entries[i].workgroup_size, desc->entry_points[i].workgroup_size,
               sizeof entries[i].workgroup_size);
    }
    const struct spirv_source source = {
        .name = desc->label,
        .data = variant->data,
        .bytes = variant->bytes,
        .constants = constants,
        .constant_count = desc->constant_count,
        .entry_points = entries,
        .entry_point_count = desc->entry_point_count,
    };
    if (status == HAL_OK)
        status = spirv_translate(&source, out_translation);
    free(constants);
    free(entries);
    return status;
}

enum hal_status metal_spirv_place(const struct hal_entry_point *wanted,
                                  const struct spirv_entry *where, struct metal_entry *entry)
{
    HAL_TRY(hal_check_entry_constants(wanted, where->constant_bytes));
    entry->constant_bytes = where->constant_bytes;
    entry->constants_slot = where->constants_slot;
    entry->sizes_slot = where->sizes_slot;
    for (uint32_t i = 0; i < where->binding_count; i++)
        entry->places[where->bindings[i].slot] =
            (struct metal_place){where->bindings[i].set, where->bindings[i].binding};
    return HAL_OK;
}
