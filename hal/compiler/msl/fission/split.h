/* SPDX-License-Identifier: Apache-2.0 */
/* The regions of one stage while their thread loops are built. */
#ifndef HAL_MSL_FISSION_SPLIT_H
#define HAL_MSL_FISSION_SPLIT_H

#include "hal/compiler/msl/fission/pass.h"

/*     before    once for all threads
 *     enter     head of the thread loop: position of the thread, values from other regions
 *     start ... the region's own blocks
 *     latch     next thread
 *     after     once for all threads; leads to the next region */
enum { REGION_MAX_DEPTH = 3 };
struct region {
    ir_block start, before, enter, latch, after;
    ir_value position[MSL_FISSION_PARAMETERS]; /* NULL: as passed to the function */
    ir_value index;                            /* of per-thread storage */
    ir_value iteration[REGION_MAX_DEPTH];      /* counters of the loops, outermost first */
    int depth;
    ir_value counter, limit; /* of the only loop: store of its first value, its comparison */
    bool loops;              /* one iteration per thread; else a single one */
    ir_block target;         /* the next region's first block; NULL: the function ends */
    ir_block leave;          /* where threads go that return early */
    struct ir_map local;     /* maps a value to its name in this region */
};

struct split {
    struct fission *f;
    size_t count;           /* number of blocks from before the split */
    struct region *regions; /* by block number; `start` is NULL if no region starts there */
    struct ir_map slots;    /* maps a value to the alloca that carries it between regions */
    struct ir_map once;     /* instruction to 1: computed in `before` */
    struct ir_list order;   /* the same, in order */
    struct ir_map ordered;  /* memory access to 1: threads must perform it in order */
    ir_value exited, alive; /* per thread: has returned; lane mask, or "any" */
    uint64_t context_bytes; /* of all slots */
};

static inline struct region *split_region_of(const struct split *s, ir_block block)
{
    const size_t number = cfg_number(&s->f->cfg, block);
    const size_t owner = number == SIZE_MAX ? SIZE_MAX : s->f->owner[number];
    return owner == SIZE_MAX || !s->regions[owner].start ? NULL : &s->regions[owner];
}

/* ---- waits.c: values that threads publish when they wait ---- */
void split_lower_waits(struct split *s);

/* ---- nest.c: the loops around a region ---- */
void split_open_region(struct split *s, struct region *r);
void split_build_nest(struct split *s, struct region *r);
void split_narrow(struct split *s, struct region *r);
void split_mark_parallel(struct split *s);
/* Number of live threads in this stage's loops as a value; 1-D. */
ir_value split_thread_count(struct split *s);

/* ---- address.c ---- */
void split_widen_addresses(struct split *s);

/* ---- prefetch.c ---- */
void split_drop_prefetches(struct split *s);

/* ---- once.c: computations common to all threads of a region ---- */
void split_choose_once(struct split *s);
void split_choose_loops(struct split *s);
/* Whether this instruction or argument is available before the region's threads begin. */
bool split_is_known_before(const struct split *s, const struct region *region, ir_value value);
/* Values that depend on where threads came from: carried to the region. */
bool split_is_start_phi(ir_value value, const struct region *region);

/* ---- contexts.c: values that cross regions ---- */
void split_make_private(struct split *s);
void split_carry_values(struct split *s);

#endif
