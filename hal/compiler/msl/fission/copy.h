/* SPDX-License-Identifier: Apache-2.0 */
/* Duplicates blocks of a function. */
#ifndef HAL_MSL_FISSION_COPY_H
#define HAL_MSL_FISSION_COPY_H

#include "hal/compiler/msl/fission/pass.h"

struct copy {
    const ir_bits *set;      /* the blocks, by number */
    struct ir_map originals; /* maps a value or block to its copy */
};

/* Copies the blocks of the set; edges among them lead to the copies, other edges to the original
 * targets. Phis keep incoming values from outside, or only from `entrance` if it is not NULL.
 * Nothing leads to the copies yet. */
void copy_blocks(struct fission *f, const ir_bits *set, ir_block entrance, struct copy *out_copy);
/* Values without a copy are returned unchanged. */
ir_value copy_of(const struct copy *copy, ir_value value);
ir_block copy_of_block(const struct copy *copy, ir_block block);
void copy_finish(struct copy *copy);

/* Gives each early return that shares its last blocks with other threads its own blocks. */
bool fission_separate_returns(struct fission *f);

#endif
