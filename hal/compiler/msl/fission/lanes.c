/* SPDX-License-Identifier: Apache-2.0 */
/* Loops in which each thread starts or ends elsewhere: `for (i = lane; i < n; i += 32)`. Such a
 * loop is run first for as long as all threads stay inside it, which is a uniform loop, and then
 * to its end by each thread alone. */
#include "hal/compiler/msl/fission/copy.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- Inductions: varying start plus uniform progress ----------------------------------------- */

static bool is_divergent(const struct fission *f, ir_value item)
{
    return ir_map_get(&f->divergent, LLVMGetInstructionParent(item)) != 0;
}

/* `next` is phi + step, for integers and for pointers. */
static bool is_step(const struct fission *f, ir_value phi, ir_value next, ir_value *out_step)
{
    const bool adds = ir_is(next, LLVMAdd);
    const bool moves = ir_is(next, LLVMGetElementPtr) && ir_operand_count(next) == 2 &&
                       LLVMTypeOf(LLVMGetOperand(next, 1)) == f->i64;
    if ((!adds && !moves) || is_divergent(f, next))
        return false;
    const unsigned other = LLVMGetOperand(next, 0) == phi ? 1 : 0;
    if (LLVMGetOperand(next, 1 - other) != phi || (moves && other == 0))
        return false;
    *out_step = LLVMGetOperand(next, other);
    return !fission_is_varying(f, *out_step);
}

/* phi(start, phi + step) becomes start + u with the uniform u = phi(0, u + step). */
static void straighten(struct fission *f, ir_value phi, unsigned back, ir_value step)
{
    const ir_value next = LLVMGetIncomingValue(phi, back);
    const ir_value start = LLVMGetIncomingValue(phi, 1 - back);
    const ir_type type = LLVMTypeOf(step);
    LLVMPositionBuilderBefore(f->builder, phi);
    const ir_value u = LLVMBuildPhi(f->builder, type, "progress");
    LLVMPositionBuilderBefore(f->builder, next);
    ir_value values[2], zero = LLVMConstNull(type);
    ir_block blocks[2] = {LLVMGetIncomingBlock(phi, 0), LLVMGetIncomingBlock(phi, 1)};
    values[back] = LLVMBuildAdd(f->builder, u, step, "");
    values[1 - back] = zero;
    LLVMAddIncoming(u, values, blocks, 2);
    LLVMPositionBuilderBefore(f->builder, ir_after_phis(LLVMGetInstructionParent(phi)));
    ir_value moved = ir_is(next, LLVMGetElementPtr) ? NULL : LLVMBuildAdd(f->builder, start, u, "");
    if (!moved) {
        ir_value index = u;
        moved = LLVMBuildGEP2(f->builder, LLVMGetGEPSourceElementType(next), start, &index, 1, "");
    }
    ir_map_set(&f->varying, moved, 1);
    LLVMReplaceAllUsesWith(phi, moved);
    fission_remove(f, phi);
}

void fission_straighten_inductions(struct fission *f)
{
    ir_each_block(block, f->function)
    {
        if (ir_map_get(&f->divergent, block))
            continue;
        ir_each_phi(phi, block)
        {
            if (!fission_is_varying(f, phi) || LLVMCountIncoming(phi) != 2)
                continue;
            for (unsigned back = 0; back < 2; back++) {
                ir_value step, start = LLVMGetIncomingValue(phi, 1 - back);
                if (fission_is_varying(f, start) &&
                    is_step(f, phi, LLVMGetIncomingValue(phi, back), &step)) {
                    straighten(f, phi, back, step);
                    break;
                }
            }
        }
    }
}

/* ---- Loops that can be peeled ---------------------------------------------------------------- */

enum { MAX_PEELED_INSTRUCTIONS = 400 };

struct peel {
    ir_bits *inside; /* blocks of the loop */
    size_t header, latch, before;
    unsigned stay;               /* the header's successor inside */
    ir_value start, limit, step; /* start + k * step < limit */
    bool is_signed, or_equal;    /* how the comparison reads its operands */
    struct copy copy;
    ir_block header_copy;
    ir_block
        alone; /* between the copy and the original, which is then no uniform branch's target */
};

static bool is_inside(const struct fission *f, const struct peel *p, ir_value value)
{
    if (!LLVMIsAInstruction(value))
        return false;
    const size_t block = cfg_number(&f->cfg, LLVMGetInstructionParent(value));
    return block != SIZE_MAX && ir_has(p->inside, block);
}

/* One way in, one way around, out only at the header, and nothing that others wait for. */
static bool has_simple_shape(const struct fission *f, struct peel *p)
{
    const struct cfg *cfg = &f->cfg;
    size_t instructions = 0, ways_in = 0;
    for (size_t i = 0; i < cfg->count; i++)
        for (size_t e = cfg->first_next[i]; e < cfg->first_next[i + 1]; e++) {
            const bool from = ir_has(p->inside, i), to = ir_has(p->inside, cfg->next[e]);
            if (from && !to && i != p->header)
                return false;
            if (from && cfg->next[e] == p->header)
                p->latch = i;
            if (!from && to) {
                p->before = i;
                ways_in++;
            }
        }
    if (ways_in != 1 || p->latch == p->header || ir_successor_count(cfg->blocks[p->before]) != 1)
        return false;
    for (size_t i = 0; i < cfg->count; i++) {
        if (!ir_has(p->inside, i))
            continue;
        ir_each_instruction(item, cfg->blocks[i])
        {
            if (fission_waits(f, item) || ++instructions > MAX_PEELED_INSTRUCTIONS)
                return false;
            const ir_value end = LLVMGetBasicBlockTerminator(cfg->blocks[i]);
            if (i == p->header && item != end && !ir_is(item, LLVMPHI) && !ir_is(item, LLVMLoad) &&
                !fission_is_pure(item))
                return false;
        }
    }
    return true;
}

/* The header's condition as "induction < limit". */
static bool reads_condition(const struct fission *f, struct peel *p, ir_value *out_induction)
{
    const ir_block header = f->cfg.blocks[p->header];
    const ir_value end = LLVMGetBasicBlockTerminator(header);
    if (!ir_is(end, LLVMBr) || LLVMGetNumSuccessors(end) != 2)
        return false;
    const ir_value condition = LLVMGetCondition(end);
    if (!ir_is(condition, LLVMICmp) || !fission_is_varying(f, condition))
        return false;
    p->stay = ir_has(p->inside, cfg_number(&f->cfg, LLVMGetSuccessor(end, 0))) ? 0 : 1;
    if (ir_has(p->inside, cfg_number(&f->cfg, LLVMGetSuccessor(end, 1 - p->stay))))
        return false;
    ir_value left = LLVMGetOperand(condition, 0), right = LLVMGetOperand(condition, 1);
    bool less; /* left < right (or <=) keeps the thread inside */
    switch ((int)LLVMGetICmpPredicate(condition)) {
    case LLVMIntULT: less = true, p->is_signed = false, p->or_equal = false; break;
    case LLVMIntSLT: less = true, p->is_signed = true, p->or_equal = false; break;
    case LLVMIntULE: less = true, p->is_signed = false, p->or_equal = true; break;
    case LLVMIntSLE: less = true, p->is_signed = true, p->or_equal = true; break;
    case LLVMIntUGT: less = false, p->is_signed = false, p->or_equal = false; break;
    case LLVMIntSGT: less = false, p->is_signed = true, p->or_equal = false; break;
    case LLVMIntUGE: less = false, p->is_signed = false, p->or_equal = true; break;
    case LLVMIntSGE: less = false, p->is_signed = true, p->or_equal = true; break;
    default: return false;
    }
    if (p->stay == 1) { /* leaves on true: stays on the opposite */
        less = !less;
        p->or_equal = !p->or_equal;
    }
    *out_induction = less ? left : right;
    p->limit = less ? right : left;
    return !is_inside(f, p, p->limit);
}

static bool reads_induction(const struct fission *f, struct peel *p, ir_value induction)
{
    if (!ir_is(induction, LLVMPHI) || LLVMCountIncoming(induction) != 2 ||
        LLVMGetInstructionParent(induction) != f->cfg.blocks[p->header])
        return false;
    const unsigned back = LLVMGetIncomingBlock(induction, 0) == f->cfg.blocks[p->latch] ? 0 : 1;
    const ir_value next = LLVMGetIncomingValue(induction, back);
    if (!ir_is(next, LLVMAdd))
        return false;
    const unsigned other = LLVMGetOperand(next, 0) == induction ? 1 : 0;
    if (LLVMGetOperand(next, 1 - other) != induction)
        return false;
    p->step = LLVMGetOperand(next, other);
    p->start = LLVMGetIncomingValue(induction, 1 - back);
    const bool known = LLVMIsAConstantInt(p->step);
    if (known && p->is_signed && LLVMConstIntGetSExtValue(p->step) < 0)
        return false;
    const unsigned width = LLVMGetIntTypeWidth(LLVMTypeOf(induction));
    return (width == 32 || width == 64) && !is_inside(f, p, p->step) &&
           !fission_is_varying(f, p->step);
}

/* ---- Copying the loop
 * ---------------------------------------------------------------------------- */

/* The original header is now entered from the copy's. */
static void enter_original(struct fission *f, struct peel *p)
{
    const ir_block header = f->cfg.blocks[p->header], before = f->cfg.blocks[p->before];
    p->alone = fission_block(f, "alone", header);
    LLVMPositionBuilderAtEnd(f->builder, p->alone);
    LLVMBuildBr(f->builder, header);
    ir_each_phi(phi, header)
    {
        LLVMPositionBuilderBefore(f->builder, phi);
        const ir_value fresh = LLVMBuildPhi(f->builder, LLVMTypeOf(phi), "");
        for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
            ir_block from = LLVMGetIncomingBlock(phi, i);
            ir_value value = LLVMGetIncomingValue(phi, i);
            if (from == before) {
                from = p->alone;
                value = copy_of(&p->copy, phi);
            }
            LLVMAddIncoming(fresh, &value, &from, 1);
        }
        LLVMReplaceAllUsesWith(phi, fresh);
        LLVMInstructionEraseFromParent(phi);
    }
    LLVMSetSuccessor(LLVMGetBasicBlockTerminator(before), 0, p->header_copy);
}

/* ---- The uniform condition
 * -------------------------------------------------------------------------- */

static ir_value widen(const struct fission *f, const struct peel *p, ir_value value, ir_type wide)
{
    return p->is_signed ? LLVMBuildSExt(f->builder, value, wide, "")
                        : LLVMBuildZExt(f->builder, value, wide, "");
}

/* In numbers too wide to overflow: if the farthest thread, start - limit + progress, is still below
 * zero, all are, and none has wrapped around. */
static void build_condition(struct fission *f, struct peel *p)
{
    const ir_block before = f->cfg.blocks[p->before];
    const unsigned bits = LLVMGetIntTypeWidth(LLVMTypeOf(p->limit)) * 2;
    const ir_type wide = LLVMIntTypeInContext(f->context, bits);
    char name[32];
    snprintf(name, sizeof name, "fission.largest.i%u", bits);

    LLVMPositionBuilderBefore(f->builder, LLVMGetBasicBlockTerminator(before));
    ir_value distance =
        LLVMBuildSub(f->builder, widen(f, p, p->start, wide), widen(f, p, p->limit, wide), "");
    if (p->or_equal)
        distance = LLVMBuildSub(f->builder, distance, LLVMConstInt(wide, 1, false), "");
    ir_value farthest = ir_call(f->builder, name, wide, &distance, 1, true);
    const ir_value step = widen(f, p, p->step, wide);
    ir_value zero = LLVMConstNull(wide);
    if (p->is_signed && !LLVMIsAConstantInt(p->step)) /* backwards: no thread stays */
        farthest = LLVMBuildSelect(
            f->builder, LLVMBuildICmp(f->builder, LLVMIntSLT, step, zero, ""), zero, farthest, "");

    LLVMPositionBuilderBefore(f->builder, LLVMGetFirstInstruction(p->header_copy));
    const ir_value progress = LLVMBuildPhi(f->builder, wide, "progress");
    const ir_value end = LLVMGetBasicBlockTerminator(p->header_copy);
    LLVMPositionBuilderBefore(f->builder, end);
    ir_value next = LLVMBuildAdd(f->builder, progress, step, "");
    ir_block from[2] = {before, copy_of_block(&p->copy, f->cfg.blocks[p->latch])};
    ir_value values[2] = {zero, next};
    LLVMAddIncoming(progress, values, from, 2);
    const ir_value all = LLVMBuildICmp(f->builder, LLVMIntSLT,
                                       LLVMBuildAdd(f->builder, farthest, progress, ""), zero, "");
    LLVMBuildCondBr(f->builder, all, LLVMGetSuccessor(end, p->stay), p->alone);
    LLVMInstructionEraseFromParent(end);
}

static bool peel_one(struct fission *f)
{
    struct peel p = {.inside = ir_alloc(f->cfg.words, sizeof(ir_bits))};
    bool found = false;
    for (size_t i = 0; i < f->cfg.count && !found; i++) {
        ir_value induction = NULL;
        p.header = i;
        if (ir_map_get(&f->peeled, f->cfg.blocks[i]) || cfg_loop(&f->cfg, i, p.inside) != 1 ||
            !has_simple_shape(f, &p) || ir_map_get(&f->divergent, f->cfg.blocks[p.before]) ||
            !reads_condition(f, &p, &induction) || !reads_induction(f, &p, induction))
            continue;
        found = true;
        ir_map_set(&f->peeled, f->cfg.blocks[i], 1);
        copy_blocks(f, p.inside, NULL, &p.copy);
        p.header_copy = copy_of_block(&p.copy, f->cfg.blocks[i]);
        enter_original(f, &p);
        build_condition(f, &p);
    }
    copy_finish(&p.copy);
    free(p.inside);
    return found;
}

void fission_peel_loops(struct fission *f)
{
    do {
        fission_find_varying(f);
        cfg_find_dominators(&f->cfg);
    } while (peel_one(f));
}
