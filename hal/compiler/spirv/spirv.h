/* SPDX-License-Identifier: Apache-2.0 */
/* SPIR-V compute kernels as Metal Shading Language: translates a module to source, and maps the
 * module's descriptor sets to the source's buffers.
 *
 * hal-spirv-cc, a program beside the library or in ../bin (HAL_SPIRV_CC: another path), validates
 * and translates a module (as Vulkan accepts it), so that a malicious module harms only that
 * program, which runs under limits of time and memory. The kernels' disk cache keeps translations.
 *
 * Where things are, for each entry point:
 *   buffers            the uniform and storage buffers that the entry point uses, in the order of
 *                      descriptor set, then binding: the first is [[buffer(0)]], the next
 *                      [[buffer(1)]], and so on, without gaps
 *   push constants     the buffer after those, when there are any
 *   lengths of arrays  the buffer after that, when the entry point asks for the length of an
 *                      array without one: a uint per buffer, its bytes
 * struct spirv_entry contains these slots. Specialization constants are already applied.
 *
 * Threads: everything is free-threaded; a translation is immutable. */
#ifndef HAL_SPIRV_SPIRV_H
#define HAL_SPIRV_SPIRV_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SPIRV_MAX_SETS = 4,      /* descriptor sets are 0 to 3 */
    SPIRV_MAX_BINDINGS = 31, /* per set, and buffers per kernel */
    SPIRV_MAX_BYTES = 16 << 20,
    SPIRV_MAX_ENTRY_POINTS = 1 << 14,
    SPIRV_MAX_CONSTANTS = 4096, /* specialization constants per module */
    SPIRV_SIMD_WIDTH = 32,      /* threads per subgroup */
};
#define SPIRV_NO_SLOT UINT32_MAX

/* The value of the constant with that SpecId. Ids that the module does not have are ignored.
 * Integers accept any width that the value fits, else it is an error; floats are rounded. */
enum spirv_constant_type {
    SPIRV_BOOL = 1,
    SPIRV_INT32 = 2,
    SPIRV_UINT32 = 3,
    SPIRV_FLOAT32 = 4,
    SPIRV_INT8 = 5,
    SPIRV_UINT8 = 6,
    SPIRV_INT16 = 7,
    SPIRV_UINT16 = 8,
    SPIRV_FLOAT16 = 9,
    SPIRV_BFLOAT16 = 10,
    SPIRV_INT64 = 11,
    SPIRV_UINT64 = 12,
};
struct spirv_constant {
    uint32_t id;
    enum spirv_constant_type type;
    uint64_t bits;
};

struct spirv_entry_point {
    const char *name;
    uint32_t workgroup_size[3]; /* must equal the module's, with constants applied */
};

struct spirv_source {
    const char *name; /* name in messages; NULL: "module" */
    const void *data; /* words in either byte order, at any alignment */
    size_t bytes;
    const struct spirv_constant *constants;
    size_t constant_count;
    const struct spirv_entry_point *entry_points;
    size_t entry_point_count;
};

/* How an entry point accesses a buffer; bits. */
enum spirv_access { SPIRV_ACCESS_UNKNOWN = 0, SPIRV_READ = 1, SPIRV_WRITE = 2 };

struct spirv_binding {
    uint8_t set, binding;
    uint8_t slot;    /* [[buffer(slot)]] */
    bool is_uniform; /* a uniform buffer; else a storage buffer */
    uint8_t access;  /* enum spirv_access: actual use, not the declaration */
    uint32_t bytes;  /* of a uniform buffer's type: required minimum size; else 0 */
};

/* One of the requested entry points, in order. */
struct spirv_entry {
    const char *kernel;      /* its name in the text */
    uint32_t constant_bytes; /* size of the push constants; 0: none */
    uint32_t constants_slot; /* SPIRV_NO_SLOT: none */
    uint32_t sizes_slot;     /* SPIRV_NO_SLOT: not needed */
    uint32_t binding_count;
    struct spirv_binding bindings[SPIRV_MAX_BINDINGS];
};

/* A specialization constant declared by the module. */
struct spirv_constant_info {
    const char *name; /* the module's name; "constant ID" if it has none */
    uint32_t id;
    enum spirv_constant_type type; /* of the value to give; 0: cannot be given */
};

struct spirv_translation {
    const char *text; /* MSL, UTF-8, `bytes` long, terminated */
    size_t bytes;
    size_t entry_count;
    struct spirv_entry *entries;
    size_t constant_count;
    struct spirv_constant_info *constants;
};

/* Translates or loads from the cache; blocks, up to a time limit (30 s). HAL_INVALID: the module is
 * not valid, has no such entry point, another workgroup size, or a constant of another type; the
 * message says which. HAL_UNSUPPORTED: it uses an unsupported feature (named). HAL_NOT_FOUND:
 * hal-spirv-cc is missing. HAL_FAILED, HAL_TIMEOUT: translation failed. */
HAL_API enum hal_status spirv_translate(const struct spirv_source *source,
                                        struct spirv_translation **out_translation) HAL_CHECKED;
HAL_API void spirv_translation_destroy(struct spirv_translation *translation);

#endif
