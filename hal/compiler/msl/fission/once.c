/* SPDX-License-Identifier: Apache-2.0 */
/* What is computed once per region, not per thread, and which regions still need a thread loop. */
#include "hal/compiler/msl/fission/split.h"

bool split_is_start_phi(ir_value value, const struct region *region)
{
    return region && ir_is(value, LLVMPHI) && LLVMGetInstructionParent(value) == region->start;
}

/* ---- Once per region ------------------------------------------------------------------------- */

bool split_is_known_before(const struct split *s, const struct region *region, ir_value value)
{
    if (!LLVMIsAInstruction(value))
        return true;
    if (fission_is_varying(s->f, value))
        return false;
    return ir_is(value, LLVMAlloca) || ir_map_get(&s->once, value) ||
           split_region_of(s, LLVMGetInstructionParent(value)) != region ||
           split_is_start_phi(value, region);
}

static bool operands_known(const struct split *s, const struct region *region, ir_value item)
{
    for (unsigned i = 0; i < ir_operand_count(item); i++)
        if (!split_is_known_before(s, region, LLVMGetOperand(item, i)))
            return false;
    return true;
}

/* All lanes store the same tile to a place of its own. */
static bool stores_tile(ir_value item)
{
    size_t length;
    return ir_is(item, LLVMStore) &&
           ir_starts_with(LLVMGetValueName2(LLVMGetOperand(item, 1), &length), "context.tile");
}

/* Every thread runs the start block from its top, but only some may run the others. */
static bool can_run_once(const struct split *s, const struct region *region, ir_value item,
                         bool in_start, bool dirty)
{
    if (fission_is_varying(s->f, item) || !operands_known(s, region, item))
        return false;
    if (fission_is_speculatable(item))
        return true;
    if (!in_start)
        return false;
    return fission_is_pure(item) || stores_tile(item) || (ir_is(item, LLVMLoad) && !dirty);
}

static bool changes_memory(ir_value item)
{
    return !fission_is_pure(item) && !ir_is(item, LLVMLoad) && !ir_is(item, LLVMPHI) &&
           !stores_tile(item);
}

static bool scan_block(struct split *s, const struct region *region, ir_block block)
{
    bool dirty = false, found = false;
    const ir_value end = LLVMGetBasicBlockTerminator(block);
    ir_each_instruction(item, block)
    {
        if (item == end)
            break;
        if (!ir_map_get(&s->once, item) &&
            can_run_once(s, region, item, block == region->start, dirty)) {
            ir_map_set(&s->once, item, 1);
            ir_list_add(&s->order, item);
            found = true;
        }
        dirty = dirty || (changes_memory(item) && !ir_map_get(&s->once, item));
    }
    return found;
}

void split_choose_once(struct split *s)
{
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < s->count; i++) {
            const struct region *region = split_region_of(s, s->f->cfg.blocks[i]);
            if (region)
                again |= scan_block(s, region, s->f->cfg.blocks[i]);
        }
    }
}

/* ---- Which regions need a loop
 * -------------------------------------------------------------------- */

static bool needs_loop(const struct split *s, const struct region *region, ir_block block)
{
    const ir_value end = LLVMGetBasicBlockTerminator(block);
    if (fission_is_varying(s->f, end))
        return true;
    ir_each_instruction(item, block)
    {
        if (item == end || ir_map_get(&s->once, item) || split_is_start_phi(item, region))
            continue;
        if (fission_is_varying(s->f, item) || changes_memory(item))
            return true;
    }
    for (unsigned i = 0; i < ir_successor_count(block); i++)
        ir_each_phi(phi, ir_successor(block, i)) if (fission_is_varying(s->f, phi)) return true;
    return false;
}

void split_choose_loops(struct split *s)
{
    for (size_t i = 0; i < s->count; i++) {
        struct region *region = split_region_of(s, s->f->cfg.blocks[i]);
        if (region && region->start != s->f->last)
            region->loops = region->loops || needs_loop(s, region, s->f->cfg.blocks[i]);
    }
}
