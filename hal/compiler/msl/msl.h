/* SPDX-License-Identifier: Apache-2.0 */
/* Metal Shading Language compute kernels as native code: compile a source once, then run any
 * range of a dispatch's threadgroups on the calling thread.
 *
 * A *library* is one compiled source with one set of function constants. It is made by a C++
 * compiler that is started as a program (clang 16 or later: HAL_MSL_CLANG, else the clang that
 * the build found, else one on PATH) and kept in a disk cache (HAL_CACHE_DIR, else
 * $XDG_CACHE_HOME/haltrace, else ~/.cache/haltrace) under a digest of all that matters. Functions
 * belong to their library.
 *
 * Kernels whose threads wait for each other (barriers, simd operations) are split into loops by
 * hal-msl-cc, a program that lies beside the library or in ../bin (HAL_MSL_CC: another place).
 * What cannot be split, or everything where that program is missing, runs on fibers.
 * HAL_MSL_LOWERING: auto, fibers, or fission, which makes it an error that a kernel cannot be
 * split.
 *
 * Threads: a library is immutable and may be used from any thread; msl_compile may run on several
 * threads at once, and several processes may share a cache. A thread that runs kernels owns an
 * msl_worker. */
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

/* Function constant: any scalar type of the language. One of another type than the source's is
 * converted. A vector is two to four of them behind each other, of one index and type. */
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
    uint64_t bits; /* only those that the type has are looked at */
};

/* The size of group that a kernel will be run with: its loops are made for that size. Any other
 * still works, on fibers. */
struct msl_group_size {
    const char *kernel; /* as for msl_library_find; unknown ones are ignored */
    uint32_t size[3];
};

/* How operations are rounded: as IEEE says, or as Metal's compiler does unless it is told, which
 * may contract and reorder them. */
enum msl_math {
    MSL_MATH_DEFAULT, /* what HAL_MSL_MATH says, else precise */
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
    /* Only the kernels in `group_sizes` are compiled. One that does not exist is HAL_INVALID
     * then, before anything is compiled, and the message has the names most like it. */
    bool only_listed;
    /* Where the compiled kernels are kept; NULL: the usual place. More than the limit of that
     * place (0: the usual one) and the kernels that were not used for the longest time go. */
    const char *directory;
    uint64_t directory_limit_bytes;
    /* Accesses are checked: msl_function_run fails where a kernel leaves a buffer or its
     * threadgroup memory. Slow: every thread runs on a fiber. Needs hal-msl-cc. Not checked: what
     * a kernel reaches through pointers that it finds in memory, and pointers into arrays of a
     * thread's own. */
    bool check_bounds;
    enum msl_math math;
};

struct msl_library;
struct msl_function;
struct msl_worker;

/* Compiles or loads from the cache; blocks, up to the compiler's time limit (60 s of processor
 * time, ten times that by the clock). HAL_INVALID: the source does not compile, and the message is
 * the compiler's, in the user's file and lines. HAL_UNSUPPORTED: the source uses something that
 * only a GPU has (named, with its line). HAL_NOT_FOUND: there is no usable compiler (the message
 * says what to install). `out_library` NULL: compiles only, and loads nothing into the process. */
HAL_API enum hal_status msl_compile(const struct msl_source *source,
                                    struct msl_library **out_library) HAL_CHECKED;
/* Whether it was there, and nothing had to be compiled. */
HAL_API bool msl_library_from_cache(const struct msl_library *library);
HAL_API void msl_library_destroy(struct msl_library *library);

/* A directory for kernels: made when it does not exist, its absolute path returned; NULL: the usual
 * place. HAL_IO: cannot be made or written. And what the kernels in one take. */
HAL_API enum hal_status msl_directory_open(const char *wanted, char *out_path,
                                           size_t bytes) HAL_CHECKED;
HAL_API enum hal_status msl_directory_measure(const char *directory, uint64_t *out_bytes,
                                              uint64_t *out_entries) HAL_CHECKED;

/* The limit that holds where none is given: HAL_CACHE_LIMIT_MIB, else 1 GiB. */
HAL_API uint64_t msl_directory_limit_bytes(void);

/* By name ("k", or "a::k" of a namespace) or host_name; "k" is "a::k", too, where no other kernel
 * is called so. HAL_NOT_FOUND: the message lists the names that exist (a few), or the two that it
 * could be. */
HAL_API enum hal_status msl_library_find(const struct msl_library *library, const char *name,
                                         const struct msl_function **out_function) HAL_CHECKED;
HAL_API size_t msl_library_function_count(const struct msl_library *library);
HAL_API const struct msl_function *msl_library_function(const struct msl_library *library,
                                                        size_t index);

/* What the source says about a kernel. */
enum msl_argument_access { MSL_UNUSED = 0, MSL_READ = 1, MSL_WRITE = 2, MSL_READ_WRITE = 3 };
struct msl_function_info {
    const char *name;
    uint32_t buffer_mask;                      /* bit i: the kernel has a [[buffer(i)]] parameter */
    uint8_t buffer_access[MSL_MAX_BUFFERS];    /* enum msl_argument_access, by const-ness */
    uint8_t buffer_alignment[MSL_MAX_BUFFERS]; /* where one may begin: a power of two */
    uint32_t buffer_bytes[MSL_MAX_BUFFERS];    /* that one must have at least */
    uint32_t threadgroup_mask;                 /* [[threadgroup(i)]] parameters */
    uint32_t static_group_memory_bytes;        /* threadgroup variables */
    bool has_barriers;                         /* threads of a group wait for each other */
    bool checks_bounds;
    const char *lowering; /* how they run: "alone", "loops" (split at waits), "fibers: REASON" */
    uintptr_t code_begin, code_end; /* where its machine code lies; 0: the system does not tell */
};
HAL_API const struct msl_function_info *msl_function_get_info(const struct msl_function *function);

/* A function constant that the source declares; `type` 0: one that cannot be given a value. */
struct msl_constant_info {
    const char *name;
    uint32_t index;
    enum msl_constant_type type;
    uint32_t components; /* of a vector; 1: a scalar */
};
HAL_API size_t msl_library_constant_count(const struct msl_library *library);
HAL_API struct msl_constant_info msl_library_constant(const struct msl_library *library,
                                                      size_t index);

/* A buffer that a kernel finds as a pointer in another one, of a launch whose bounds are checked.
 */
struct msl_member {
    void *data;
    uint64_t bytes;
    uint32_t buffer, index; /* how messages name it: a [[buffer(i)]], and its [[id(n)]] there */
};

/* What the pointer to members[number].data must be, so that accesses through it are checked. */
HAL_API void *msl_member_address(const struct msl_member *members, uint32_t number);

enum { MSL_MAX_MEMBERS = 8192 }; /* of a launch */

/* Groups are whole, as the HAL counts them. Metal's dispatchThreads:, whose last groups are
 * smaller, has no counterpart: a kernel's [[dispatch_threads_per_threadgroup]] is its
 * [[threads_per_threadgroup]]. */
struct msl_launch {
    void *const *buffers;             /* by [[buffer(i)]] index, MSL_MAX_BUFFERS pointers */
    const uint64_t *buffer_bytes;     /* where bounds are checked: their lengths; NULL: not known */
    const struct msl_member *members; /* there; what other pointers lead to is not checked */
    uint32_t member_count;
    const uint32_t *group_argument_bytes; /* by [[threadgroup(i)]] index; NULL: none */
    uint32_t group_size[3];               /* threads per threadgroup */
    uint32_t group_count[3];
};

/* Stacks and threadgroup memory of one running thread. */
HAL_API enum hal_status msl_worker_create(struct msl_worker **out_worker) HAL_CHECKED;
HAL_API void msl_worker_destroy(struct msl_worker *worker);

/* Runs threadgroups [first, last) of the launch, counted with x fastest. The launch was checked:
 * every buffer that the kernel has is not NULL, sizes are inside the limits. HAL_INVALID: bounds
 * are checked, and a thread left them; it is where it was then, threads of its group anywhere, and
 * groups behind it have not run. The message names kernel, thread, buffer and offset. */
HAL_API enum hal_status msl_function_run(const struct msl_function *function,
                                         struct msl_worker *worker, const struct msl_launch *launch,
                                         uint64_t first, uint64_t last) HAL_CHECKED;

/* "clang version 16.0.6": what msl_compile would use. HAL_NOT_FOUND as there. */
HAL_API enum hal_status msl_compiler_version(char *out_text, size_t bytes) HAL_CHECKED;

/* Every program that compiling may start: paths, each with an end, one behind the other, and an
 * empty one last. HAL_NOT_FOUND: there is no usable compiler. */
HAL_API enum hal_status msl_programs(char *out_paths, size_t bytes) HAL_CHECKED;

#endif
