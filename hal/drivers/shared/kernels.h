/* SPDX-License-Identifier: Apache-2.0 */
/* What the drivers' executables have in common: the translation of SPIR-V, the slots where kernels
 * expect their bindings, and reflection. Each driver's library contains a copy. */
#ifndef HAL_SHARED_KERNELS_H
#define HAL_SHARED_KERNELS_H

#include "hal/compiler/spirv/spirv.h"
#include "hal/driver.h"

/* The binding that a kernel's buffer belongs to. */
struct hal_kernel_place {
    uint8_t set, binding;
};

/* The contents of each [[buffer(i)]] of a kernel in the Metal Shading Language. */
struct hal_kernel_slots {
    uint32_t constant_bytes, constants_slot;
    uint32_t sizes_slot; /* buffer that receives the sizes of all buffers; SPIRV_NO_SLOT: none */
    struct hal_kernel_place places[HAL_MAX_BINDINGS];
};

/* Without a layout, binding i of set 0 is [[buffer(i)]]; constants are where `wanted` says. */
void hal_kernel_slots_of_msl(const struct hal_entry_point *wanted,
                             struct hal_kernel_slots *out_slots);
/* HAL_INVALID: the module has more push constants. */
enum hal_status hal_kernel_slots_of_spirv(const struct hal_entry_point *wanted,
                                          const struct spirv_entry *where,
                                          struct hal_kernel_slots *out_slots) HAL_CHECKED;

/* NULL: nothing is bound there. The core has checked that the kernel needs nothing there. */
const struct hal_binding *hal_kernel_binding(const struct hal_kernel_slots *slots, uint32_t slot,
                                             const struct hal_dispatch_state *state);
/* The bytes of each buffer, for kernels that ask how long an array is. */
void hal_kernel_list_sizes(const struct hal_kernel_slots *slots,
                           const struct hal_dispatch_state *state,
                           uint32_t out_sizes[HAL_MAX_BINDINGS]);

/* Converts the constants for the translator; the caller owns them. NULL: out of memory. */
struct spirv_constant *hal_kernel_constants(const struct hal_executable_desc *desc);
enum hal_status hal_kernel_translate(const struct hal_executable_desc *desc,
                                     const struct hal_executable_variant *variant,
                                     struct spirv_translation **out_translation) HAL_CHECKED;

/* ---- Reflection ---------------------------------------------------------------------------- */

/* Lists a layout's bindings, as argument buffers have no reflection. The caller owns the list. */
enum hal_status hal_kernel_list_layout(const struct hal_entry_point *wanted,
                                       const struct hal_pipeline_layout *layout,
                                       struct hal_entry_binding **out_bindings,
                                       uint32_t *out_count) HAL_CHECKED;

struct hal_constant_info hal_kernel_constant_info(const struct spirv_constant_info *constant);
/* Marks the constants that were given a value, and sorts them in the order of reflection. */
void hal_kernel_order_constants(struct hal_constant_info *constants, size_t count,
                                const struct hal_constant *given, size_t given_count);

#endif
