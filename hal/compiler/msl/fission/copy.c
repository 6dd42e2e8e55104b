/* SPDX-License-Identifier: Apache-2.0 */
/* Copies blocks: for loops that are run in two ways, and for code that ends threads early. */
#include "hal/compiler/msl/fission/copy.h"

#include <stdlib.h>
#include <string.h>

ir_value copy_of(const struct copy *copy, ir_value value)
{
    const ir_value other = (ir_value)ir_map_get(&copy->originals, value);
    return other ? other : value;
}

ir_block copy_of_block(const struct copy *copy, ir_block block)
{
    const ir_block other = (ir_block)ir_map_get(&copy->originals, block);
    return other ? other : block;
}

void copy_finish(struct copy *copy)
{
    ir_map_finish(&copy->originals);
}

static void clone_block(struct fission *f, struct copy *copy, ir_block block)
{
    LLVMPositionBuilderAtEnd(f->builder, copy_of_block(copy, block));
    ir_each_instruction(item, block)
    {
        ir_value other;
        if (ir_is(item, LLVMPHI)) {
            other = LLVMBuildPhi(f->builder, LLVMTypeOf(item), "");
        } else {
            other = LLVMInstructionClone(item);
            ir_insert(f->builder, other);
        }
        ir_map_set(&copy->originals, item, (uintptr_t)other);
    }
}

static void connect_phi(const struct copy *copy, ir_value phi, ir_block entrance)
{
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        const ir_block from = LLVMGetIncomingBlock(phi, i);
        ir_block block = copy_of_block(copy, from);
        ir_value value = LLVMGetIncomingValue(phi, i);
        if (block != from)
            value = copy_of(copy, value);
        else if (entrance && from != entrance)
            continue;
        LLVMAddIncoming(copy_of(copy, phi), &value, &block, 1);
    }
}

static void connect_block(const struct copy *copy, ir_block block, ir_block entrance)
{
    const ir_value end = LLVMGetBasicBlockTerminator(block);
    ir_each_instruction(item, block)
    {
        const ir_value other = copy_of(copy, item);
        if (ir_is(item, LLVMPHI)) {
            connect_phi(copy, item, entrance);
            continue;
        }
        for (unsigned i = 0; i < ir_operand_count(item); i++) {
            const ir_value operand = LLVMGetOperand(item, i);
            if (!LLVMValueIsBasicBlock(operand))
                LLVMSetOperand(other, i, copy_of(copy, operand));
        }
        for (unsigned i = 0; item == end && i < LLVMGetNumSuccessors(item); i++)
            LLVMSetSuccessor(other, i, copy_of_block(copy, LLVMGetSuccessor(item, i)));
    }
}

void copy_blocks(struct fission *f, const ir_bits *set, ir_block entrance, struct copy *out_copy)
{
    const struct cfg *cfg = &f->cfg;
    *out_copy = (struct copy){.set = set};
    for (size_t i = 0; i < cfg->count; i++)
        if (ir_has(set, i))
            ir_map_set(&out_copy->originals, cfg->blocks[i],
                       (uintptr_t)fission_block(f, "copy", cfg->blocks[i]));
    for (size_t i = 0; i < cfg->count; i++)
        if (ir_has(set, i))
            clone_block(f, out_copy, cfg->blocks[i]);
    for (size_t i = 0; i < cfg->count; i++)
        if (ir_has(set, i))
            connect_block(out_copy, cfg->blocks[i], entrance);
}

/* ---- Early returns --------------------------------------------------------------------------- */

enum { MAX_TAIL_INSTRUCTIONS = 200, MAX_TAILS = 32 };

static bool is_small(const struct fission *f, const ir_bits *tail)
{
    size_t count = 0;
    for (size_t i = 0; i < f->cfg.count; i++)
        if (ir_has(tail, i))
            ir_each_instruction(item, f->cfg.blocks[i]) count++;
    return count <= MAX_TAIL_INSTRUCTIONS;
}

/* Is the tail entered by another edge than number `edge`? */
static bool is_shared(const struct fission *f, const ir_bits *tail, size_t edge)
{
    const struct cfg *cfg = &f->cfg;
    for (size_t i = 0; i < cfg->count; i++)
        for (size_t e = cfg->first_next[i]; e < cfg->first_next[i + 1]; e++)
            if (e != edge && !ir_has(tail, i) && ir_has(tail, cfg->next[e]))
                return true;
    return false;
}

static void drop_incoming(const struct fission *f, ir_block block, ir_block from)
{
    ir_each_phi(phi, block)
    {
        LLVMPositionBuilderBefore(f->builder, phi);
        const ir_value fresh = LLVMBuildPhi(f->builder, LLVMTypeOf(phi), "");
        for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
            ir_block block_from = LLVMGetIncomingBlock(phi, i);
            ir_value value = LLVMGetIncomingValue(phi, i);
            if (block_from != from)
                LLVMAddIncoming(fresh, &value, &block_from, 1);
        }
        LLVMReplaceAllUsesWith(phi, fresh);
        LLVMInstructionEraseFromParent(phi);
    }
}

static void separate(struct fission *f, size_t block, size_t edge, const ir_bits *tail)
{
    const ir_block from = f->cfg.blocks[block], to = f->cfg.blocks[f->cfg.next[edge]];
    struct copy copy;
    copy_blocks(f, tail, from, &copy);
    LLVMSetSuccessor(LLVMGetBasicBlockTerminator(from), (unsigned)(edge - f->cfg.first_next[block]),
                     copy_of_block(&copy, to));
    drop_incoming(f, to, from);
    copy_finish(&copy);
}

static bool separate_one(struct fission *f)
{
    const struct cfg *cfg = &f->cfg;
    const size_t last = cfg_number(cfg, f->last);
    ir_bits *tail = ir_alloc(cfg->words, sizeof *tail);
    bool found = false;
    for (size_t i = 0; i < cfg->count && !found; i++) {
        const uintptr_t leaving = ir_map_get(&f->leaving, cfg->blocks[i]);
        if (ir_successor_count(cfg->blocks[i]) != 2)
            continue;
        for (size_t e = cfg->first_next[i]; e < cfg->first_next[i + 1] && !found; e++) {
            memset(tail, 0, cfg->words * sizeof *tail);
            if (!(leaving >> (e - cfg->first_next[i]) & 1))
                continue;
            cfg_reach(cfg, cfg->next[e], last, tail);
            if (!is_shared(f, tail, e) || !is_small(f, tail))
                continue;
            separate(f, i, e, tail);
            found = true;
        }
    }
    free(tail);
    return found;
}

bool fission_separate_returns(struct fission *f)
{
    bool any = false;
    for (int i = 0; i < MAX_TAILS && separate_one(f); i++) {
        fission_find_varying(f);
        any = true;
    }
    return any;
}
