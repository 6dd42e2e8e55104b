/* SPDX-License-Identifier: Apache-2.0 */
/* A function's control flow as numbers: successors, dominators, post-dominators, loops. A snapshot:
 * rebuild it after changing blocks or edges. */
#ifndef HAL_MSL_FISSION_CFG_H
#define HAL_MSL_FISSION_CFG_H

#include "hal/compiler/msl/fission/ir.h"

struct cfg {
    ir_block *blocks; /* in function order; 0 is the entry */
    size_t count, words;
    struct ir_map numbers; /* block to number + 1 */
    size_t *first_next;    /* block i's successors: next[first_next[i]] ... */
    size_t *next;
    bool *cut; /* parallel to `next`: edges that post-dominance ignores */
    ir_bits *post, *dominators;
};

/* Frees the previous snapshot. */
void cfg_build(struct cfg *cfg, ir_value function);
void cfg_finish(struct cfg *cfg);

/* The block's number, or SIZE_MAX if it is not in the snapshot. */
size_t cfg_number(const struct cfg *cfg, ir_block block);

/* Computes post-dominators, ignoring cut edges. */
void cfg_find_post_dominators(struct cfg *cfg);
/* SIZE_MAX if nothing post-dominates the block. */
size_t cfg_immediate_post_dominator(const struct cfg *cfg, size_t block);

/* Adds everything reachable from `block`, inclusive, without passing `stop` (SIZE_MAX: none) or cut
 * edges. */
void cfg_reach(const struct cfg *cfg, size_t block, size_t stop, ir_bits *set);

void cfg_find_dominators(struct cfg *cfg);
/* The natural loop of `header` as a set (cleared first). Returns its number of back edges: 0 if it
 * is not a loop header. */
size_t cfg_loop(const struct cfg *cfg, size_t header, ir_bits *out_blocks);

#endif
