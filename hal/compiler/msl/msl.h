/* SPDX-License-Identifier: Apache-2.0 */
/* Metal Shading Language compute kernels as native code: compiles a source once, then runs any
 * range of a dispatch's threadgroups on the calling thread.
 *
 * A *library* is one compiled source with one set of function constants. A C++ compiler, started as
 * a program (clang 16 or later: HAL_MSL_CLANG, else the clang found by the build, else one on
 * PATH), creates it, and a disk cache (HAL_CACHE_DIR, else $XDG_CACHE_HOME/haltrace, else
 * ~/.cache/haltrace) keeps it under a digest of all inputs. Functions belong to their library.
 *
 * Kernels whose threads wait for each other (barriers, simd operations) are split into loops by
 * hal-msl-cc, a program beside the library or in ../bin (HAL_MSL_CC: another path). What cannot be
 * split, or everything if that program is missing, runs on fibers. HAL_MSL_LOWERING: auto, fibers,
 * or fission, which makes it an error if a kernel cannot be split.
 *
 * Threads: a library is immutable and may be used by any thread; several threads may call
 * msl_compile concurrently, and several processes may share a cache. Each thread that runs kernels
 * owns an msl_worker. */
#ifndef HAL_MSL_MSL_H
#define HAL_MSL_MSL_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MSL_MAX_BUFFERS = 31,
    MSL_MAX_THREADGROUP_ARGUMENTS = 31,
    MSL_SIMD_WIDTH = 32,
    MSL_MAX_GROUP_THREADS = 1024,
    MSL_MAX_GROUP_MEMORY_BYTES = 32768,
};

/* Function constant: any scalar type of the language, converted if the source's type differs. A
 * vector is two to four consecutive ones of one index and type. */
enum msl_constant_type {
    MSL_BOOL = 1,
    MSL_INT32 = 2,
    MSL_UINT32 = 3,
    MSL_FLOAT32 = 4,
    MSL_INT8 = 5,
    MSL_UINT8 = 6,
    MSL_INT16 = 7,
    MSL_UINT16 = 8,
    MSL_FLOAT16 = 9,
    MSL_BFLOAT16 = 10,
    MSL_INT64 = 11,
    MSL_UINT64 = 12,
};
struct msl_constant {
    uint32_t index;
    enum msl_constant_type type;
    uint64_t bits; /* only those that the type has are used */
};

/* The group size that a kernel's loops are compiled for. Any other still works, on fibers. */
struct msl_group_size {
    const char *kernel; /* as for msl_library_find; unknown names are ignored */
    uint32_t size[3];
};

/* Rounding: strict IEEE, or that of Metal's compiler by default, which contracts and reorders. */
enum msl_math {
    MSL_MATH_DEFAULT, /* HAL_MSL_MATH, else precise */
    MSL_MATH_PRECISE,
    MSL_MATH_FAST,
};

struct msl_source {
    const char *name; /* file name in messages; NULL: "kernel.metal" */
    const char *text; /* UTF-8, `bytes` long */
    size_t bytes;
    const struct msl_constant *constants;
    size_t constant_count;
    const struct msl_group_size *group_sizes;
    size_t group_size_count;
    /* Compiles only the kernels in `group_sizes`. HAL_INVALID if one of them does not exist, before
     * anything is compiled; the message lists the most similar names. */
    bool only_listed;
    /* The directory for compiled kernels; NULL: the default. The least recently used kernels beyond
     * that directory's limit (0: the default) are removed. */
    const char *directory;
    uint64_t directory_limit_bytes;
    /* Checks accesses: msl_function_run fails if a kernel leaves a buffer or its threadgroup
     * memory. Slow: every thread runs on a fiber. Requires hal-msl-cc. Not checked: accesses
     * through pointers loaded from memory, and pointers into arrays of a thread's own. */
    bool check_bounds;
    enum msl_math math;
};

struct msl_library;
struct msl_function;
struct msl_worker;

/* Compiles or loads from the cache; blocks, up to the compiler's time limit (60 s of processor
 * time, ten times that in real time). HAL_INVALID: the source does not compile; the message is the
 * compiler's, with the user's file and lines. HAL_UNSUPPORTED: the source uses a feature of GPUs
 * only (named, with its line). HAL_NOT_FOUND: there is no usable compiler (the message says what to
 * install). `out_library` NULL: compiles without loading anything into the process. */
HAL_API enum hal_status msl_compile(const struct msl_source *source,
                                    struct msl_library **out_library) HAL_CHECKED;
/* Whether it was in the cache, so that nothing had to be compiled. */
HAL_API bool msl_library_from_cache(const struct msl_library *library);
HAL_API void msl_library_destroy(struct msl_library *library);

/* A directory for kernels: creates it if missing and returns its absolute path; NULL: the default.
 * HAL_IO: cannot be created or written. And the total size of a directory's kernels. */
HAL_API enum hal_status msl_directory_open(const char *wanted, char *out_path,
                                           size_t bytes) HAL_CHECKED;
HAL_API enum hal_status msl_directory_measure(const char *directory, uint64_t *out_bytes,
                                              uint64_t *out_entries) HAL_CHECKED;

/* The default limit: HAL_CACHE_LIMIT_MIB, else 1 GiB. */
HAL_API uint64_t msl_directory_limit_bytes(void);

/* By name ("k", or "a::k" in a namespace) or host_name; "k" also finds "a::k" if no other kernel
 * has that name. HAL_NOT_FOUND: the message lists some existing names, or the two possible ones. */
HAL_API enum hal_status msl_library_find(const struct msl_library *library, const char *name,
                                         const struct msl_function **out_function) HAL_CHECKED;
HAL_API size_t msl_library_function_count(const struct msl_library *library);
HAL_API const struct msl_function *msl_library_function(const struct msl_library *library,
                                                        size_t index);

/* Reflection of a kernel's source. */
enum msl_argument_access { MSL_UNUSED = 0, MSL_READ = 1, MSL_WRITE = 2, MSL_READ_WRITE = 3 };
struct msl_function_info {
    const char *name;
    uint32_t buffer_mask;                      /* bit i: the kernel has a [[buffer(i)]] parameter */
    uint8_t buffer_access[MSL_MAX_BUFFERS];    /* enum msl_argument_access, by const-ness */
    uint8_t buffer_alignment[MSL_MAX_BUFFERS]; /* of its offset: a power of two */
    uint32_t buffer_bytes[MSL_MAX_BUFFERS];    /* minimum size */
    uint32_t threadgroup_mask;                 /* [[threadgroup(i)]] parameters */
    uint32_t static_group_memory_bytes;        /* threadgroup variables */
    bool has_barriers;                         /* threads of a group wait for each other */
    bool checks_bounds;
    const char *lowering; /* how it runs: "alone", "loops" (split at waits), "fibers: REASON" */
    uintptr_t code_begin, code_end; /* range of its machine code; 0: unknown */
};
HAL_API const struct msl_function_info *msl_function_get_info(const struct msl_function *function);

/* A function constant declared by the source; `type` 0: it cannot be given a value. */
struct msl_constant_info {
    const char *name;
    uint32_t index;
    enum msl_constant_type type;
    uint32_t components; /* of a vector; 1: a scalar */
};
HAL_API size_t msl_library_constant_count(const struct msl_library *library);
HAL_API struct msl_constant_info msl_library_constant(const struct msl_library *library,
                                                      size_t index);

/* A buffer that a kernel reaches through a pointer in another buffer, with bounds checks. */
struct msl_member {
    void *data;
    uint64_t bytes;
    uint32_t buffer, index; /* for messages: a [[buffer(i)]], and its [[id(n)]] there */
};

/* The pointer to store for members[number].data so that accesses through it are checked. */
HAL_API void *msl_member_address(const struct msl_member *members, uint32_t number);

enum { MSL_MAX_MEMBERS = 8192 }; /* per launch */

/* Groups are complete, as in the HAL. Metal's dispatchThreads:, whose last groups are smaller, is
 * not supported: a kernel's [[dispatch_threads_per_threadgroup]] equals its
 * [[threads_per_threadgroup]]. */
struct msl_launch {
    void *const *buffers;             /* by [[buffer(i)]] index, MSL_MAX_BUFFERS pointers */
    const uint64_t *buffer_bytes;     /* with bounds checks: their sizes; NULL: unknown */
    const struct msl_member *members; /* with bounds checks; other pointers are not checked */
    uint32_t member_count;
    const uint32_t *workgroup_argument_bytes; /* by [[threadgroup(i)]] index; NULL: none */
    uint32_t workgroup_size[3];               /* threads per threadgroup */
    uint32_t workgroup_count[3];
};

/* Stacks and threadgroup memory of one thread that runs kernels. */
HAL_API enum hal_status msl_worker_create(struct msl_worker **out_worker) HAL_CHECKED;
HAL_API void msl_worker_destroy(struct msl_worker *worker);

/* Runs threadgroups [first, last) of the launch, with x fastest. The caller has checked the launch:
 * the kernel's buffers are not NULL, sizes are within limits. HAL_INVALID: with bounds checks, a
 * thread went out of bounds; execution stops there, the group's other threads are at arbitrary
 * points, later groups have not run. The message names kernel, thread, buffer and offset. */
HAL_API enum hal_status msl_function_run(const struct msl_function *function,
                                         struct msl_worker *worker, const struct msl_launch *launch,
                                         uint64_t first, uint64_t last) HAL_CHECKED;

/* Every program that compiling may start: consecutive terminated paths, then an empty one.
 * HAL_NOT_FOUND: there is no usable compiler. */
HAL_API enum hal_status msl_programs(char *out_paths, size_t bytes) HAL_CHECKED;

#endif
