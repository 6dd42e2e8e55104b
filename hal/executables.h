/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: layouts of their arguments, executables, and caches of compiled code. Part of hal/hal.h,
 * whose rules apply. */
#ifndef HAL_EXECUTABLES_H
#define HAL_EXECUTABLES_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hal_device;
struct hal_executable;
struct hal_executable_cache;
struct hal_pipeline_layout;
struct hal_set_layout;

/* Limits that hold on every device, in addition to those of hal/hal.h. */
enum {
    HAL_MAX_WORKGROUP_ARGUMENTS = 8, /* [[threadgroup(n)]] arguments of a kernel */
    HAL_MAX_VARIANTS = 16,           /* per executable */
};

/* ---- Layouts ------------------------------------------------------------------------------ */

/* Written into traces. */
enum hal_binding_kind {
    HAL_BINDING_STORAGE = 1, /* MSL: device memory */
    HAL_BINDING_UNIFORM = 2, /* MSL: constant memory, read-only */
};

/* Bits. Written into traces. */
enum hal_binding_flag {
    HAL_BINDING_READ_ONLY = 1, /* promises that no kernel writes through it; an executable whose
                                  kernel does is HAL_INVALID, if the device can tell */
    HAL_BINDING_DYNAMIC = 2,   /* each push adds its own offset */
};

struct hal_layout_binding {
    uint32_t index; /* below HAL_MAX_BINDINGS; each at most once */
    enum hal_binding_kind kind;
    uint32_t flags; /* enum hal_binding_flag */
};

struct hal_set_layout_desc {
    size_t struct_size;
    const char *label;
    const struct hal_layout_binding *bindings; /* copied; indices in any order */
    size_t binding_count;
};

/* The bindings of a descriptor set. Immutable: any thread may use it. */
HAL_API enum hal_status hal_set_layout_create(struct hal_device *device,
                                              const struct hal_set_layout_desc *desc,
                                              struct hal_set_layout **out_layout) HAL_CHECKED;
HAL_API void hal_set_layout_retain(struct hal_set_layout *layout);
HAL_API void hal_set_layout_release(struct hal_set_layout *layout);

struct hal_pipeline_layout_desc {
    size_t struct_size;
    const char *label;
    struct hal_set_layout *const *sets; /* retained; set i is sets[i] */
    size_t set_count;                   /* at most HAL_MAX_SETS */
    uint32_t constant_bytes; /* limit on push constants taken by entry points and pushed */
};

/* The arguments of an entry point. Immutable: any thread may use it. */
HAL_API enum hal_status hal_pipeline_layout_create(
    struct hal_device *device, const struct hal_pipeline_layout_desc *desc,
    struct hal_pipeline_layout **out_layout) HAL_CHECKED;
HAL_API void hal_pipeline_layout_retain(struct hal_pipeline_layout *layout);
HAL_API void hal_pipeline_layout_release(struct hal_pipeline_layout *layout);

/* ---- Executables -------------------------------------------------------------------------- */

/* Written into traces. */
enum hal_executable_format {
    HAL_FORMAT_MSL = 1,      /* Metal Shading Language source, UTF-8 */
    HAL_FORMAT_METALLIB = 2, /* Metal only */
    HAL_FORMAT_SPIRV = 3,    /* words of a module, in either byte order */
};

/* Returns a name such as "MSL"; never NULL. */
HAL_API const char *hal_executable_format_name(enum hal_executable_format format);

struct hal_entry_point {
    const char *name;           /* the kernel's name ("a::k" in a namespace), or its host_name */
    uint32_t workgroup_size[3]; /* threads per workgroup; each at least 1 */
    uint32_t constant_bytes;    /* bytes of the kernel's push constants, a multiple of 4; 0: none */
    uint32_t constants_slot;    /* MSL: the [[buffer(n)]] index that receives them */
    /* MSL: bytes of each [[threadgroup(n)]] argument of the kernel, a multiple of 16. With
     * threadgroup variables, at most max_workgroup_memory_bytes in total. 0: no such argument. */
    uint32_t workgroup_argument_bytes[HAL_MAX_WORKGROUP_ARGUMENTS];
};

/* Type of a specialization constant: an MSL [[function_constant(index)]] with the type in the
 * source, or a module's constant with that SpecId, for which an integer of another width is
 * accepted if the value fits. `type` is written into traces. A module's constant that is given no
 * value keeps its default in the module. An MSL kernel can test for one
 * (is_function_constant_defined). If it uses one without testing, Metal refuses it (HAL_INVALID);
 * elsewhere the constant is zero. */
enum hal_constant_type {
    HAL_CONSTANT_BOOL = 1,
    HAL_CONSTANT_INT32 = 2,
    HAL_CONSTANT_UINT32 = 3,
    HAL_CONSTANT_FLOAT32 = 4,
    HAL_CONSTANT_INT8 = 5,
    HAL_CONSTANT_UINT8 = 6,
    HAL_CONSTANT_INT16 = 7,
    HAL_CONSTANT_UINT16 = 8,
    HAL_CONSTANT_FLOAT16 = 9,
    HAL_CONSTANT_BFLOAT16 = 10,
    HAL_CONSTANT_INT64 = 11,
    HAL_CONSTANT_UINT64 = 12,
};

/* Two to four consecutive entries with one index and type are the components of a vector. Modules
 * have only scalars. Non-consecutive entries with the same index are refused. */
struct hal_constant {
    uint32_t index;
    enum hal_constant_type type;
    uint64_t bits; /* bit pattern of the value, zero-extended; booleans are 0 or 1 */
};

/* One format of the same kernels. */
struct hal_executable_variant {
    enum hal_executable_format format;
    const void *data; /* copied */
    size_t bytes;
};

struct hal_executable_desc {
    size_t struct_size;
    const char *label; /* also the file name in compiler messages */
    /* Either one variant here or several in `variants`, not both. */
    enum hal_executable_format format;
    const void *data; /* copied */
    size_t bytes;
    const struct hal_entry_point *entry_points;
    size_t entry_point_count; /* at least 1; commands refer to an entry point by index */
    const struct hal_constant *constants;
    size_t constant_count; /* at most HAL_MAX_LIST, Metal's number of indices */
    const struct hal_executable_variant *variants;
    size_t variant_count; /* at most HAL_MAX_VARIANTS */
    /* One per entry point, retained. If an element or the whole list is NULL, binding i of set 0 is
     * the kernel's [[buffer(i)]]. Otherwise set s is an argument buffer: the struct at
     * [[buffer(s)]], with binding i as its member [[id(i)]]. */
    struct hal_pipeline_layout *const *layouts;
    struct hal_executable_cache *cache; /* NULL: the default cache keeps compiled code */
};

/* Compiles; may take long and may block. Of several variants the device takes the first that it can
 * run, in the order of hal_device_info.formats, then of the list. Variants that are HAL_UNSUPPORTED
 * are skipped.
 *   MSL: bindings follow hal_executable_desc.layouts; constants are function constants.
 *   SPIR-V: a compute module for Vulkan. Binding b of set s is the buffer with those decorations
 *     (arrays of buffers and images are not supported); constants are matched by SpecId;
 *     push constants need no slot; workgroup_size must be the module's workgroup size.
 * HAL_INVALID: the source does not compile (the message is the compiler's, with line numbers of the
 * user's source), the module is invalid or disagrees with the description, or an entry point does
 * not exist. HAL_UNSUPPORTED: not on this device. */
HAL_API enum hal_status hal_executable_create(struct hal_device *device,
                                              const struct hal_executable_desc *desc,
                                              struct hal_executable **out_executable) HAL_CHECKED;
HAL_API void hal_executable_retain(struct hal_executable *executable);
HAL_API void hal_executable_release(struct hal_executable *executable);

/* A specialization constant declared in the source. */
struct hal_constant_info {
    const char *name;
    uint32_t index;
    enum hal_constant_type type; /* 0: a type that the HAL cannot set */
    uint32_t components;         /* components of a vector: 2 to 4; 1: a scalar */
    bool is_given;               /* the description gives it a value */
};

/* Result of the compilation. Pointers live as long as the executable. */
struct hal_executable_info {
    size_t struct_size;
    const char *label; /* NULL: none */
    size_t entry_point_count;
    size_t variant_count;
    size_t variant; /* index in the description of the variant that the device took */
    enum hal_executable_format format;         /* format of that variant */
    bool from_cache;                           /* compilation was not needed */
    const struct hal_constant_info *constants; /* by ascending index */
    size_t constant_count;
};
HAL_API enum hal_status hal_executable_get_info(struct hal_executable *executable,
                                                struct hal_executable_info *out_info) HAL_CHECKED;

/* A buffer argument of a kernel. */
struct hal_entry_binding {
    uint32_t set, index;
    uint32_t access;    /* enum hal_access; 0: the device cannot tell */
    uint32_t alignment; /* required alignment of the bound range; 0: the device cannot tell */
    uint64_t bytes;     /* minimum size of the bound range; 0: depends on the kernel's accesses */
};

/* Description of an entry point. Pointers live as long as the executable. */
struct hal_entry_info {
    size_t struct_size;
    const char *name;
    uint32_t workgroup_size[3];
    uint32_t constant_bytes, constants_slot;  /* as in the description; the slot is not a binding */
    uint64_t workgroup_memory_bytes;          /* threadgroup variables */
    const struct hal_entry_binding *bindings; /* by ascending set and index */
    size_t binding_count;
};

/* HAL_INVALID: the entry point does not exist. */
HAL_API enum hal_status hal_executable_get_entry(struct hal_executable *executable, uint32_t entry,
                                                 struct hal_entry_info *out_info) HAL_CHECKED;

/* Returns the index of the entry point with that name, or HAL_NOT_FOUND. */
HAL_API enum hal_status hal_executable_find(const struct hal_executable *executable,
                                            const char *name, uint32_t *out_entry) HAL_CHECKED;

/* ---- Executable caches --------------------------------------------------------------------- */

/* A cache of compiled code that can also prepare many executables at once. Entries are keyed by a
 * digest of everything that affects the result (source, constants, workgroup sizes, compiler,
 * processor). Several caches, devices and processes may share a directory. */
struct hal_executable_cache_desc {
    size_t struct_size;
    const char *label;
    const char *directory; /* created if missing; NULL: the default (HAL_CACHE_DIR) */
    uint64_t max_bytes;    /* least recently used entries are evicted; 0: the default limit */
};

/* HAL_IO: the directory cannot be created or written. HAL_UNSUPPORTED: a directory was named, but
 * the device caches nothing. A cache may be used from any thread at any time. */
HAL_API enum hal_status hal_executable_cache_create(
    struct hal_device *device, const struct hal_executable_cache_desc *desc,
    struct hal_executable_cache **out_cache) HAL_CHECKED;
HAL_API void hal_executable_cache_retain(struct hal_executable_cache *cache);
HAL_API void hal_executable_cache_release(struct hal_executable_cache *cache);

struct hal_executable_cache_info {
    size_t struct_size;
    const char *label;     /* NULL: none; lives as long as the cache */
    const char *directory; /* absolute; NULL: the device caches nothing */
    uint64_t max_bytes;
    uint64_t used_bytes, entry_count; /* in the directory now, from all users */
    uint64_t prepared_count;          /* executables created through this cache */
    uint64_t cache_hits;              /* of these, compilation was not needed */
};
HAL_API enum hal_status hal_executable_cache_get_info(
    struct hal_executable_cache *cache, struct hal_executable_cache_info *out_info) HAL_CHECKED;

/* Guesses the format from the bytes: a SPIR-V module, a metallib, or text (MSL). HAL_NOT_FOUND:
 * none. */
HAL_API enum hal_status hal_executable_infer_format(
    const void *data, size_t bytes, enum hal_executable_format *out_format) HAL_CHECKED;

/* Progress: one of the executables is ready or has failed. */
struct hal_prepared {
    size_t struct_size;
    size_t index;                      /* index of its description */
    size_t done_count, count;          /* overall progress, including this one */
    struct hal_executable *executable; /* NULL: it failed; borrowed for the call */
    enum hal_status status;
    const char *message; /* reason of a failure; borrowed for the call */
};

struct hal_prepare_options {
    size_t struct_size;
    uint32_t thread_count; /* 0: one per processor */
    /* Called on the calling thread, once for each executable. If it returns false, executables that
     * have not started fail (HAL_FAILED). */
    bool (*progress)(void *user, const struct hal_prepared *prepared);
    void *user;
};

/* Prepares `count` executables in parallel. A description with data but no format gets the format
 * that its bytes suggest; a description's own cache is ignored. out_executables[i] is owned by the
 * caller and NULL if it failed; out_statuses (may be NULL) receives each status. A failure does not
 * stop the others; the call returns the failure with the lowest index. Blocks. */
HAL_API enum hal_status hal_executable_cache_prepare(struct hal_executable_cache *cache,
                                                     const struct hal_executable_desc *descs,
                                                     size_t count,
                                                     const struct hal_prepare_options *options,
                                                     struct hal_executable **out_executables,
                                                     enum hal_status *out_statuses) HAL_CHECKED;

/* The same, but creates no executables: compiles what is missing from the cache and loads none of
 * it into the process. For a program that enters a sandbox before it runs native code of untrusted
 * kernels: executables with these descriptions can then be created without a compiler. In the
 * progress callback, `executable` is NULL. */
HAL_API enum hal_status hal_executable_cache_compile(struct hal_executable_cache *cache,
                                                     const struct hal_executable_desc *descs,
                                                     size_t count,
                                                     const struct hal_prepare_options *options,
                                                     enum hal_status *out_statuses) HAL_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
