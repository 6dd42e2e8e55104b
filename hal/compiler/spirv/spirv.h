/* SPDX-License-Identifier: Apache-2.0 */
/* SPIR-V compute kernels as Metal Shading Language: which source a module becomes, and where that
 * source expects what the module's descriptor sets hold.
 *
 * A module (of the kind that Vulkan takes) is validated and translated by hal-spirv-cc, a program
 * that lies beside the library or in ../bin (HAL_SPIRV_CC: another place), so that a module made
 * to do harm harms that program alone, under limits of time and memory. Translations are kept in
 * the kernels' disk cache.
 *
 * Where things are, for each entry point:
 *   buffers            the uniform and storage buffers that the entry point uses, in the order of
 *                      descriptor set, then binding: the first is [[buffer(0)]], the next
 *                      [[buffer(1)]], and so on, without gaps
 *   push constants     the buffer after those, when there are any
 *   lengths of arrays  the buffer after that, when the entry point asks for the length of an
 *                      array without one: a uint per buffer, its bytes
 * struct spirv_entry spells it out. Specialization constants have their values by then.
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
    SPIRV_MAX_BINDINGS = 31, /* of a set, and buffers that a kernel takes */
    SPIRV_MAX_BYTES = 16 << 20,
    SPIRV_MAX_ENTRY_POINTS = 1 << 14,
    SPIRV_MAX_CONSTANTS = 4096, /* specialization constants of a module */
    SPIRV_SIMD_WIDTH = 32,      /* threads of a subgroup */
};
#define SPIRV_NO_SLOT UINT32_MAX

/* The value of the constant with that SpecId. Values of ids that the module does not have are
 * ignored. An integer takes one of any width that fits, a float is rounded; what does not fit is an
 * error. */
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
    uint32_t group_size[3]; /* must be what the module says, with its constants' values */
};

struct spirv_source {
    const char *name; /* in messages; NULL: "module" */
    const void *data; /* words of either byte order, aligned or not */
    size_t bytes;
    const struct spirv_constant *constants;
    size_t constant_count;
    const struct spirv_entry_point *entry_points;
    size_t entry_point_count;
};

/* What an entry point does with a buffer; bits. */
enum spirv_access { SPIRV_ACCESS_UNKNOWN = 0, SPIRV_READ = 1, SPIRV_WRITE = 2 };

struct spirv_binding {
    uint8_t set, binding;
    uint8_t slot;    /* [[buffer(slot)]] */
    bool is_uniform; /* a uniform buffer; else a storage buffer */
    uint8_t access;  /* enum spirv_access: not as it is declared, but as it is used */
    uint32_t bytes;  /* of a uniform buffer's type: that many must be there; else 0 */
};

/* One of the wanted entry points, in their order. */
struct spirv_entry {
    const char *kernel;      /* its name in the text */
    uint32_t constant_bytes; /* size of the push constants; 0: none */
    uint32_t constants_slot; /* SPIRV_NO_SLOT: none */
    uint32_t sizes_slot;     /* SPIRV_NO_SLOT: not asked for */
    uint32_t binding_count;
    struct spirv_binding bindings[SPIRV_MAX_BINDINGS];
};

/* A specialization constant that the module declares. */
struct spirv_constant_info {
    const char *name; /* the module's; "constant ID" when it has none */
    uint32_t id;
    enum spirv_constant_type type; /* of the value to give; 0: it cannot be given */
};

struct spirv_translation {
    const char *text; /* MSL, UTF-8, `bytes` long, ends in '\0' */
    size_t bytes;
    size_t entry_count;
    struct spirv_entry *entries;
    size_t constant_count;
    struct spirv_constant_info *constants;
};

/* Translates or loads from the cache; blocks, up to a time limit (30 s). HAL_INVALID: the module
 * is not valid, has no such entry point, another workgroup size, or a constant of another type;
 * the message says which. HAL_UNSUPPORTED: it uses what kernels here cannot have (named).
 * HAL_NOT_FOUND: hal-spirv-cc is missing. HAL_FAILED, HAL_TIMEOUT: it could not cope. */
HAL_API enum hal_status spirv_translate(const struct spirv_source *source,
                                        struct spirv_translation **out_translation) HAL_CHECKED;
HAL_API void spirv_translation_destroy(struct spirv_translation *translation);

#endif
