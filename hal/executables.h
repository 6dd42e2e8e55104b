/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: layouts of what they take, executables, and caches of what was compiled. Part of
 * hal/hal.h, whose rules hold. */
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

/* Limits that hold on every device, beside those of hal/hal.h. */
enum {
    HAL_MAX_GROUP_ARGUMENTS = 8, /* [[threadgroup(n)]] arguments of a kernel */
    HAL_MAX_VARIANTS = 16,       /* of an executable */
};

/* ---- Layouts ------------------------------------------------------------------------------ */

/* Written into traces. */
enum hal_binding_kind {
    HAL_BINDING_STORAGE = 1, /* MSL: device memory */
    HAL_BINDING_UNIFORM = 2, /* MSL: constant memory; only read */
};

/* Bits. Written into traces. */
enum hal_binding_flag {
    HAL_BINDING_READ_ONLY = 1, /* no kernel writes through it: a promise. An executable whose kernel
                                  does is HAL_INVALID, where the device can tell */
    HAL_BINDING_DYNAMIC = 2,   /* each push adds an offset of its own */
};

struct hal_layout_binding {
    uint32_t index; /* below HAL_MAX_BINDINGS; each at most once */
    enum hal_binding_kind kind;
    uint32_t flags; /* enum hal_binding_flag */
};

struct hal_set_layout_desc {
    size_t struct_size;
    const char *label;
    const struct hal_layout_binding *bindings; /* copied; by any order of indexes */
    size_t binding_count;
};

/* What a descriptor set consists of. Immutable: any thread may use it. */
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
    uint32_t constant_bytes; /* push constants that entry points may take, and that are pushed for
                                them */
};

/* What an entry point takes. Immutable: any thread may use it. */
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
    HAL_FORMAT_SPIRV = 3,    /* words of a module, of either byte order */
};

/* "MSL"; never NULL. */
HAL_API const char *hal_executable_format_name(enum hal_executable_format format);

struct hal_entry_point {
    const char *name;        /* the kernel's name ("a::k" in a namespace), or its host_name */
    uint32_t group_size[3];  /* threads per workgroup; each at least 1 */
    uint32_t constant_bytes; /* push constants that the kernel takes, a multiple of 4; 0: none */
    uint32_t constants_slot; /* MSL: the [[buffer(n)]] index that receives them */
    /* MSL: bytes of each [[threadgroup(n)]] argument that the kernel has, a multiple of 16;
     * together with its threadgroup variables at most max_group_memory_bytes. 0: it has none. */
    uint32_t group_argument_bytes[HAL_MAX_GROUP_ARGUMENTS];
};

/* Specialization constant: MSL's [[function_constant(index)]], of the type that the source gives
 * it; or a module's with that SpecId, where an integer of another width will do if the value fits.
 * `type` is written into traces. What has no value: a module's has the one of the module. A kernel
 * of MSL may ask (is_function_constant_defined); one that uses what it does not ask for is refused
 * by Metal (HAL_INVALID), and finds zero elsewhere. */
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

/* A vector is two to four of them behind each other, of one index and type: its components. Modules
 * have scalars only. Values of one index that stand apart are refused. */
struct hal_constant {
    uint32_t index;
    enum hal_constant_type type;
    uint64_t bits; /* the value's bit pattern, zeros above it; booleans 0 or 1 */
};

/* The same kernels in one format. */
struct hal_executable_variant {
    enum hal_executable_format format;
    const void *data; /* copied */
    size_t bytes;
};

struct hal_executable_desc {
    size_t struct_size;
    const char *label; /* also the file name in compiler messages */
    /* One variant, or several side by side in `variants`: not both. */
    enum hal_executable_format format;
    const void *data; /* copied */
    size_t bytes;
    const struct hal_entry_point *entry_points;
    size_t entry_point_count; /* at least 1; commands name an entry point by its index */
    const struct hal_constant *constants;
    size_t constant_count; /* at most HAL_MAX_LIST, the indices that Metal has */
    const struct hal_executable_variant *variants;
    size_t variant_count; /* at most HAL_MAX_VARIANTS */
    /* One per entry point, retained. Where it is NULL, or all of this, binding i of set 0 is the
     * kernel's [[buffer(i)]]. Else set s is an argument buffer: the struct at [[buffer(s)]], and
     * binding i its member [[id(i)]]. */
    struct hal_pipeline_layout *const *layouts;
    struct hal_executable_cache *cache; /* NULL: what is compiled is kept at the usual place */
};

/* Compiles; may take long and may block. Of several variants the device takes the first that it can
 * run, in the order of hal_device_info.formats and then of the list; one that is HAL_UNSUPPORTED is
 * passed over.
 *   MSL: bindings are as hal_executable_desc.layouts says, and constants are function constants.
 *   SPIR-V: a module as Vulkan takes it, for compute. Binding b of set s is what is decorated so
 *     (a buffer; arrays of buffers and images are not supported); constants go by their SpecId;
 *     push constants need no slot; group_size must be the module's workgroup size.
 * HAL_INVALID: the source does not compile (the message is the compiler's, with the user's own
 * lines), the module is not valid or says otherwise, or an entry point does not exist.
 * HAL_UNSUPPORTED: not on this device. */
HAL_API enum hal_status hal_executable_create(struct hal_device *device,
                                              const struct hal_executable_desc *desc,
                                              struct hal_executable **out_executable) HAL_CHECKED;
HAL_API void hal_executable_retain(struct hal_executable *executable);
HAL_API void hal_executable_release(struct hal_executable *executable);

/* A specialization constant that the source declares. */
struct hal_constant_info {
    const char *name;
    uint32_t index;
    enum hal_constant_type type; /* 0: a type that cannot be given a value here */
    uint32_t components;         /* of a vector, of that type: 2 to 4; 1: a scalar */
    bool is_given;               /* the description has a value for it */
};

/* What the device made of the description. Pointers live as long as the executable. */
struct hal_executable_info {
    size_t struct_size;
    const char *label; /* NULL: none */
    size_t entry_point_count;
    size_t variant_count;
    size_t variant; /* the one that the device took: its index in the description */
    enum hal_executable_format format;         /* of that */
    bool from_cache;                           /* nothing had to be compiled */
    const struct hal_constant_info *constants; /* by rising index */
    size_t constant_count;
};
HAL_API enum hal_status hal_executable_get_info(struct hal_executable *executable,
                                                struct hal_executable_info *out_info) HAL_CHECKED;

/* A buffer that a kernel takes. */
struct hal_entry_binding {
    uint32_t set, index;
    uint32_t access;    /* enum hal_access; 0: the device cannot tell */
    uint32_t alignment; /* what is bound begins at a multiple of that; 0: the device cannot tell */
    uint64_t bytes;     /* and has at least so many; 0: as many as the kernel accesses */
};

/* What an entry point is. Pointers live as long as the executable. */
struct hal_entry_info {
    size_t struct_size;
    const char *name;
    uint32_t group_size[3];
    uint32_t constant_bytes, constants_slot;  /* as described; the slot is no binding */
    uint64_t group_memory_bytes;              /* threadgroup variables */
    const struct hal_entry_binding *bindings; /* by rising set and index */
    size_t binding_count;
};

/* HAL_INVALID: there is no such entry point. */
HAL_API enum hal_status hal_executable_get_entry(struct hal_executable *executable, uint32_t entry,
                                                 struct hal_entry_info *out_info) HAL_CHECKED;

/* Index of the entry point with that name. HAL_NOT_FOUND. */
HAL_API enum hal_status hal_executable_find(const struct hal_executable *executable,
                                            const char *name, uint32_t *out_entry) HAL_CHECKED;

/* ---- Executable caches --------------------------------------------------------------------- */

/* A place for what is compiled, and a way to prepare many executables at once. What is kept is
 * found again by a digest of everything that matters (source, constants, workgroup sizes, compiler,
 * processor). Several caches, devices and processes may share a directory. */
struct hal_executable_cache_desc {
    size_t struct_size;
    const char *label;
    const char *directory; /* made when it does not exist; NULL: the usual place (HAL_CACHE_DIR) */
    uint64_t max_bytes;    /* what was not used for the longest time goes; 0: the usual limit */
};

/* HAL_IO: the directory cannot be made or written. HAL_UNSUPPORTED: the device keeps nothing, and
 * a directory was named. May be used from any thread at any time. */
HAL_API enum hal_status hal_executable_cache_create(
    struct hal_device *device, const struct hal_executable_cache_desc *desc,
    struct hal_executable_cache **out_cache) HAL_CHECKED;
HAL_API void hal_executable_cache_retain(struct hal_executable_cache *cache);
HAL_API void hal_executable_cache_release(struct hal_executable_cache *cache);

struct hal_executable_cache_info {
    size_t struct_size;
    const char *label;     /* NULL: none; lives as long as the cache */
    const char *directory; /* absolute; NULL: the device keeps nothing */
    uint64_t max_bytes;
    uint64_t used_bytes, entry_count; /* in the directory now, whoever put them there */
    uint64_t prepared_count;          /* executables that were made through this cache */
    uint64_t cache_hits;              /* of these, nothing had to be compiled */
};
HAL_API enum hal_status hal_executable_cache_get_info(
    struct hal_executable_cache *cache, struct hal_executable_cache_info *out_info) HAL_CHECKED;

/* What the bytes look like: a SPIR-V module, a metallib, or text (MSL). HAL_NOT_FOUND: none. */
HAL_API enum hal_status hal_executable_infer_format(
    const void *data, size_t bytes, enum hal_executable_format *out_format) HAL_CHECKED;

/* One executable of many is ready, or will never be. */
struct hal_prepared {
    size_t struct_size;
    size_t index;                      /* of its description */
    size_t done_count, count;          /* how far all are; this one counts */
    struct hal_executable *executable; /* NULL: it failed; borrowed for the call */
    enum hal_status status;
    const char *message; /* of a failure; borrowed for the call */
};

struct hal_prepare_options {
    size_t struct_size;
    uint32_t thread_count; /* 0: as many as there are processors */
    /* Called on the calling thread, once for each executable. False: those that have not begun are
     * not prepared (HAL_FAILED). */
    bool (*progress)(void *user, const struct hal_prepared *prepared);
    void *user;
};

/* Prepares `count` executables in parallel. A description without format, but with data, gets the
 * one that its bytes look like; a description's own cache is ignored. out_executables[i] is owned
 * by the caller, NULL where it failed; out_statuses (may be NULL) says how each one went. The
 * others are prepared when one fails; returned is the failure with the lowest index. Blocks. */
HAL_API enum hal_status hal_executable_cache_prepare(struct hal_executable_cache *cache,
                                                     const struct hal_executable_desc *descs,
                                                     size_t count,
                                                     const struct hal_prepare_options *options,
                                                     struct hal_executable **out_executables,
                                                     enum hal_status *out_statuses) HAL_CHECKED;

/* The same, but makes no executables: compiles what is not in the cache yet, and loads none of it
 * into the process. For a program that locks itself in before native code of a stranger's kernels
 * may run: executables with these descriptions are then made without a compiler. In the progress,
 * `executable` is NULL. */
HAL_API enum hal_status hal_executable_cache_compile(struct hal_executable_cache *cache,
                                                     const struct hal_executable_desc *descs,
                                                     size_t count,
                                                     const struct hal_prepare_options *options,
                                                     enum hal_status *out_statuses) HAL_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
