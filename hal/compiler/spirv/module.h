/* SPDX-License-Identifier: Apache-2.0 */
/* A SPIR-V module as words: its capabilities, constant values, workgroup sizes and writes. Part of
 * hal-spirv-cc; nothing here trusts the module. */
#ifndef HAL_SPIRV_MODULE_H
#define HAL_SPIRV_MODULE_H

#include "hal/compiler/spirv/spirv.h"

enum { SPIRV_HEADER_WORDS = 5 };

struct spirv_module {
    uint32_t *words; /* in this machine's byte order */
    size_t count;
    uint32_t id_bound;
    uint32_t *defined_at; /* by id: index of the defining instruction, or 0 */
};

/* HAL_INVALID: not SPIR-V, or an instruction extends past the end. */
enum hal_status spirv_module_init(const void *data, size_t bytes,
                                  struct spirv_module *out_module) HAL_CHECKED;
void spirv_module_finish(struct spirv_module *module);

/* HAL_UNSUPPORTED: it needs a capability that kernels here do not support. */
enum hal_status spirv_module_check_demands(const struct spirv_module *module) HAL_CHECKED;

/* Iterates over specialization constants: start with *at 0; false: no further one. An unnamed
 * constant has the name "". Call it after validation and before specialization. */
enum { SPIRV_NAME_BYTES = 64 };
struct spirv_module_constant {
    uint32_t id;
    uint32_t type; /* enum spirv_constant_type, or 0 */
    char name[SPIRV_NAME_BYTES];
};
bool spirv_module_next_constant(const struct spirv_module *module, size_t *at,
                                struct spirv_module_constant *out_constant);

/* Sets all scalar specialization constants permanently. Call it after validation. */
enum hal_status spirv_module_specialize(struct spirv_module *module,
                                        const struct spirv_constant *constants,
                                        size_t count) HAL_CHECKED;

/* The same module with its push constants in a read-only storage buffer at that binding. Call it
 * after validation; the caller finishes *out_module. */
enum hal_status spirv_module_carry_constants(const struct spirv_module *module, uint32_t set,
                                             uint32_t binding,
                                             struct spirv_module *out_module) HAL_CHECKED;

/* Optional capabilities of devices; bits of the result of spirv_module_needs. */
enum spirv_need {
    SPIRV_NEEDS_INT8,
    SPIRV_NEEDS_INT16,
    SPIRV_NEEDS_INT64,
    SPIRV_NEEDS_FLOAT16,
    SPIRV_NEEDS_STORAGE_BUFFER8_BIT_ACCESS,
    SPIRV_NEEDS_UNIFORM_AND_STORAGE_BUFFER8_BIT_ACCESS,
    SPIRV_NEEDS_STORAGE_PUSH_CONSTANT8,
    SPIRV_NEEDS_STORAGE_BUFFER16_BIT_ACCESS,
    SPIRV_NEEDS_UNIFORM_AND_STORAGE_BUFFER16_BIT_ACCESS,
    SPIRV_NEEDS_STORAGE_PUSH_CONSTANT16,
    SPIRV_NEEDS_VARIABLE_POINTERS,
    SPIRV_NEEDS_VARIABLE_POINTERS_STORAGE_BUFFER,
    SPIRV_NEEDS_VULKAN_MEMORY_MODEL,
    SPIRV_NEEDS_VULKAN_MEMORY_MODEL_DEVICE_SCOPE,
    SPIRV_NEEDS_GROUP_NON_UNIFORM,
    SPIRV_NEEDS_GROUP_NON_UNIFORM_VOTE,
    SPIRV_NEEDS_GROUP_NON_UNIFORM_ARITHMETIC,
    SPIRV_NEEDS_GROUP_NON_UNIFORM_BALLOT,
    SPIRV_NEEDS_GROUP_NON_UNIFORM_SHUFFLE,
    SPIRV_NEEDS_GROUP_NON_UNIFORM_SHUFFLE_RELATIVE,
    SPIRV_NEEDS_GROUP_NON_UNIFORM_CLUSTERED,
    SPIRV_NEEDS_GROUP_NON_UNIFORM_QUAD,
};
uint64_t spirv_module_needs(const struct spirv_module *module);

/* After specialization: minimum bytes of shared memory of a workgroup; 0 if the module does not
 * list the entry point's variables (before SPIR-V 1.4). */
uint64_t spirv_module_shared_bytes(const struct spirv_module *module, const char *name);

/* After specialization. HAL_INVALID: no such entry point (the message lists some). */
enum hal_status spirv_module_group_size(const struct spirv_module *module, const char *name,
                                        uint32_t out_size[3]) HAL_CHECKED;

/* After specialization: fills in `access` of the entry's bindings, whose sets and bindings are set.
 * Unknown entry points write nothing. */
enum hal_status spirv_module_list_access(const struct spirv_module *module, const char *name,
                                         struct spirv_entry *io_entry) HAL_CHECKED;

#endif
