/* SPDX-License-Identifier: Apache-2.0 */
/* A second copy of some blocks of a function. */
#ifndef HAL_MSL_FISSION_COPY_H
#define HAL_MSL_FISSION_COPY_H

#include "hal/compiler/msl/fission/pass.h"

struct copy {
    const ir_bits *set;      /* the blocks, by number */
    struct ir_map originals; /* value or block to its copy */
};

/* Copies the blocks of the set; their edges to each other lead to the copies, all others where
 * they led. Phis keep what comes from outside, but only from `entrance` when it is not NULL.
 * Nothing leads to the copies yet. */
void copy_blocks(struct fission *f, const ir_bits *set, ir_block entrance, struct copy *out_copy);
/* What has no copy is returned itself. */
ir_value copy_of(const struct copy *copy, ir_value value);
ir_block copy_of_block(const struct copy *copy, ir_block block);
void copy_finish(struct copy *copy);

/* Gives each early return that shares its last blocks with other threads blocks of its own. */
bool fission_separate_returns(struct fission *f);

#endif
