/* SPDX-License-Identifier: Apache-2.0 */
/* Converts a thread function to a group function: the state passed between steps. */
#ifndef HAL_MSL_FISSION_PASS_H
#define HAL_MSL_FISSION_PASS_H

#include "hal/compiler/msl/fission/cfg.h"
#include "hal/compiler/msl/fission/fission.h"

/* A kernel without simd operations becomes loops over all threads. One with them is split twice:
 * first into loops over the lanes of a simdgroup, then these into loops over simdgroups. */
enum fission_stage { FISSION_THREADS, FISSION_LANES, FISSION_SIMDGROUPS };

/* A *region* extends from one start to the next; it becomes one thread loop. */
enum fission_start {
    FISSION_NO_START = 0,
    FISSION_REGION,
    FISSION_BRANCH, /* only a uniform branch, executed once for all threads */
    FISSION_ENTRY,  /* the function's entry: allocas */
};

enum { FISSION_LANE_COUNT = 32, FISSION_MAX_THREADS = 1024 };

struct fission {
    LLVMModuleRef module;
    LLVMContextRef context;
    LLVMBuilderRef builder;
    ir_value function;
    ir_type i1, i8, i32, i64, pointer;
    const struct msl_fission_kernel *kernel;
    char *reason; /* MSL_FISSION_REASON_BYTES */

    enum fission_stage stage;
    struct cfg cfg;
    ir_block last;           /* the only one that returns */
    struct ir_map starts;    /* block to enum fission_start */
    struct ir_map varying;   /* value to 1: may differ between threads */
    struct ir_map divergent; /* block to 1: not executed by all live threads */
    struct ir_map leaving;   /* block to a mask of its branch's sides on which threads exit early */
    struct ir_map peeled;    /* header to 1: the rest of a loop, run by each thread alone */
    struct ir_map shared;    /* alloca to 1: common to all threads */
    size_t *owner;           /* block number to its region's start, SIZE_MAX: none */
    LLVMMetadataRef access_group; /* memory accesses of independent threads */
    struct ir_list removed;       /* unlinked, but alive: maps are keyed by address */
};

/* ---- services.c ---- */
/* Stores the reason and returns false. */
bool fission_refuse(struct fission *f, const char *format, ...) HAL_PRINTF(2, 3);
bool fission_is_specialised(const struct fission *f);
uint32_t fission_thread_count(const struct fission *f); /* specialised: exact; else the limit */
ir_value fission_parameter(const struct fission *f, enum msl_fission_parameter parameter);
ir_value fission_number(const struct fission *f, uint32_t value);
ir_block fission_block(struct fission *f, const char *name, ir_block before);
/* Moves everything before `item` into a new block that takes over the predecessors. */
ir_block fission_split_before(struct fission *f, ir_block block, ir_value item);
ir_value fission_alloca(struct fission *f, ir_type type, const char *name);
void fission_remove(struct fission *f, ir_value item);
void fission_free_removed(struct fission *f);
enum fission_start fission_start_of(const struct fission *f, ir_block block);
void fission_mark_start(struct fission *f, ir_block block);

/* ---- lower.c: runtime calls become values ----
 *   ptr  fission.publish.iN(iN)      all lanes wait; N in 8 .. 128; the lanes' values
 *   void fission.sync()              all lanes wait
 *   iN   fission.largest.iN(iN)      all threads wait; signed maximum
 *   i32  fission.active()            who took part in the operation just before
 *   i2N  fission.spread.i2N(tile)    this lane's pair of a tile <64 x iN>
 *   tile fission.collect.i2N(pair)   all lanes wait
 * False: no kernel that can be split. */
bool fission_prepare(struct fission *f);
/* Call when the optimiser is done with single threads: group variables no longer escape. */
void fission_keep_group_variables(struct fission *f);
bool fission_uses_simd(const struct fission *f);
/* Whether threads wait for each other at this call, in this stage. */
bool fission_waits(const struct fission *f, ir_value item);

/* ---- tiles.c ---- */
/* Takes tiles directly from where they were created; unused values must be removed afterwards. */
void fission_join_tiles(struct fission *f);
bool fission_check_tiles(struct fission *f);

/* ---- uniform.c ---- */
void fission_find_varying(struct fission *f);
bool fission_is_varying(const struct fission *f, ir_value value);
/* No memory access or side effects; safe to execute where the original would not have run. */
bool fission_is_pure(ir_value item);
bool fission_is_speculatable(ir_value item);

/* ---- unroll.c ---- */
bool fission_choose_unrolling(struct fission *f);
void fission_forget_hints(struct fission *f);

/* ---- lanes.c: loops whose trip count depends on the thread ---- */
void fission_peel_loops(struct fission *f);
void fission_straighten_inductions(struct fission *f);

/* ---- prefetch.c: the next iteration's reads of a loop; call before the lanes' stage ---- */
void fission_add_prefetches(struct fission *f);

/* ---- regions.c ---- */
bool fission_find_regions(struct fission *f);

/* ---- split.c: builds the loops ---- */
bool fission_build_loops(struct fission *f);

#endif
