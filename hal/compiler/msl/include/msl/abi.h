/* SPDX-License-Identifier: Apache-2.0 */
/* The interface between compiled kernels and the library that runs them. Included by our C code and
 * by every kernel; plain C and C++17. A change here changes the digest of the headers, so that no
 * cached kernel with another interface is ever loaded. */
#ifndef MSL_ABI_H
#define MSL_ABI_H

#include <stdint.h>

enum {
    MSL_ABI_BUFFERS = 31,
    MSL_ABI_GROUP_ARGUMENTS = 31,
    MSL_ABI_SIMD_WIDTH = 32,
    MSL_ABI_LANE_BYTES = 16,     /* maximum: one lane's share of a simd operation */
    MSL_ABI_POSITION_WORDS = 31, /* maximum (hal/compiler/msl/fission/positions.h) */
    MSL_ABI_TAG_SHIFT = 48       /* position of the memory's tag in checked addresses */
};

/* One dispatch as a kernel sees it; constant while the dispatch runs. */
struct msl_abi_launch {
    void *const *buffers;      /* by [[buffer(i)]] index */
    void *const *group_memory; /* by [[threadgroup(i)]] index */
    void *group_variables;     /* all threadgroup variables of the kernel */
    uint32_t workgroup_size[3];
    uint32_t workgroup_count[3];
};

/* Called by threads that run concurrently. */
struct msl_abi_runtime {
    void (*group_barrier)(void);
    /* Publishes `value`, waits for the lanes that execute the same operation, and returns all
     * lanes' values, `bytes` apart; valid until the next call. */
    const void *(*exchange)(const void *value, uint32_t bytes, const void *site,
                            uint32_t *out_active);
    uint32_t (*lane)(void);
    /* Reports the position of the thread's next exchange. If never called, code addresses are
     * compared. */
    void (*position)(const uint32_t *words, uint32_t count);
    /* With bounds checks: returns the untagged address of `bytes` bytes that the running thread
     * accesses; does not return if any of them is outside of the memory that the tag identifies. */
    void *(*check)(const void *address, uint64_t bytes, uint32_t is_write);
    /* Reports an index outside of an array of type `type` in the source; does not return. */
    void (*bad_index)(const char *file, uint32_t line, const char *type, uint64_t index);
};

/* Runs threadgroups [first, last), x fastest: for kernels whose threads are independent. */
typedef void msl_abi_run_groups(const struct msl_abi_launch *launch, uint64_t first, uint64_t last);
/* Runs one thread: for kernels whose threads wait for each other. */
typedef void msl_abi_run_thread(const struct msl_abi_launch *launch, const uint32_t group[3],
                                uint32_t thread_index);

/* Runs one thread, or after hal/compiler/msl/fission all of a group; the header there explains the
 * parameters. */
typedef void msl_abi_thread(const struct msl_abi_launch *launch, uint32_t group_x, uint32_t group_y,
                            uint32_t group_z, uint32_t size_x, uint32_t size_y, uint32_t size_z,
                            uint32_t local_x, uint32_t local_y, uint32_t local_z, uint32_t index,
                            uint32_t lane, uint32_t simdgroup);

/* A kernel whose threads wait for each other has run_thread and, for barrier fission, also
 * run_split and the thread function that this calls. After a successful split, run_split serves
 * groups of split_size, or, if that is zero, becomes run_groups and serves all. Otherwise it is
 * removed, and `lowering` gives the reason. The pass finds the first members by their order. */
struct msl_abi_kernel {
    const char *name;
    const void *tag; /* equals the address in the group variables of the same kernel */
    msl_abi_run_groups *run_groups; /* NULL: only run_split and run_thread */
    msl_abi_run_thread *run_thread; /* NULL: run_groups serves all */
    msl_abi_run_groups *run_split;  /* NULL: nothing was split */
    msl_abi_thread *thread;
    const char *lowering;
    uint32_t split_size[3];
    uint32_t needs_sync;    /* 1: its threads wait for each other */
    uint32_t checks_bounds; /* 1: buffers and threadgroup memory are passed as tagged addresses */
    uint32_t buffer_mask;
    uint32_t group_argument_mask;
    uint8_t buffer_access[MSL_ABI_BUFFERS];
    uint8_t buffer_alignment[MSL_ABI_BUFFERS]; /* of the type: a power of two */
    uint32_t buffer_bytes[MSL_ABI_BUFFERS];    /* minimum size of arguments that are not pointers */
};

/* One declaration of threadgroup variables in a kernel. */
struct msl_abi_group_variables {
    const void *tag;
    uint64_t bytes, alignment;
    uint64_t offset; /* set on loading the module */
};

/* A function constant declared by the source. */
struct msl_abi_constant {
    const char *name;
    uint32_t index;
    uint32_t type;       /* enum msl_constant_type; 0: unsupported */
    uint32_t components; /* of a vector; 1: a scalar */
};

/* The one symbol that a compiled source exports: `msl_abi_module`. */
struct msl_abi_module {
    const struct msl_abi_kernel *first_kernel, *last_kernel;
    struct msl_abi_group_variables *first_variables, *last_variables;
    const struct msl_abi_runtime **runtime; /* set on loading the module */
    const struct msl_abi_constant *first_constant, *last_constant;
};

#endif
