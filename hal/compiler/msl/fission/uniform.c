/* SPDX-License-Identifier: Apache-2.0 */
/* Which values are the same for all threads: taint from the thread's position, through values and
 * through control flow. A branch that threads take differently taints the blocks up to its
 * immediate post-dominator, and the values that join there. */
#include "hal/compiler/msl/fission/pass.h"

#include <stdlib.h>
#include <string.h>

bool fission_is_varying(const struct fission *f, ir_value value)
{
    return ir_map_get(&f->varying, value) != 0;
}

/* ---- What instructions do -------------------------------------------------------------------- */

static bool is_pure_call(const char *name)
{
    static const char *const prefixes[] = {
        "llvm.abs",       "llvm.bitreverse", "llvm.bswap",         "llvm.ceil",
        "llvm.copysign",  "llvm.cos",        "llvm.ctlz",          "llvm.ctpop",
        "llvm.cttz",      "llvm.exp",        "llvm.fabs",          "llvm.floor",
        "llvm.fma",       "llvm.fmuladd",    "llvm.fptosi.sat",    "llvm.fptoui.sat",
        "llvm.fsh",       "llvm.log",        "llvm.max",           "llvm.min",
        "llvm.nearbyint", "llvm.pow",        "llvm.rint",          "llvm.round",
        "llvm.sadd",      "llvm.sin",        "llvm.smax",          "llvm.smin",
        "llvm.smul",      "llvm.sqrt",       "llvm.ssub",          "llvm.threadlocal",
        "llvm.trunc",     "llvm.uadd",       "llvm.umax",          "llvm.umin",
        "llvm.umul",      "llvm.usub",       "llvm.vector.reduce", "llvm.prefetch",
        "fission.spread",
    };
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (ir_starts_with(name, prefixes[i]))
            return true;
    return false;
}

bool fission_is_pure(ir_value item)
{
    switch ((int)LLVMGetInstructionOpcode(item)) {
    case LLVMCall: return is_pure_call(ir_callee(item));
    case LLVMPHI:
    case LLVMLoad:
    case LLVMStore:
    case LLVMAlloca:
    case LLVMBr:
    case LLVMSwitch:
    case LLVMRet:
    case LLVMUnreachable:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
    case LLVMFence:
    case LLVMInvoke:
    case LLVMIndirectBr:
    case LLVMCallBr:
    case LLVMVAArg: return false;
    default: return true;
    }
}

bool fission_is_speculatable(ir_value item)
{
    switch ((int)LLVMGetInstructionOpcode(item)) {
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem: {
        const ir_value divisor = LLVMGetOperand(item, 1);
        return LLVMIsAConstantInt(divisor) && LLVMConstIntGetSExtValue(divisor) > 0;
    }
    default: return fission_is_pure(item);
    }
}

static bool is_uniform_call(const char *name)
{
    return ir_starts_with(name, "fission.publish") || ir_starts_with(name, "fission.collect") ||
           ir_starts_with(name, "fission.largest") || strcmp(name, "fission.active") == 0;
}

/* When its operands are the same for all threads. */
static bool may_be_uniform(const struct fission *f, ir_value item)
{
    switch ((int)LLVMGetInstructionOpcode(item)) {
    case LLVMLoad: {
        if (LLVMGetVolatile(item) || LLVMGetOrdering(item) != LLVMAtomicOrderingNotAtomic)
            return false;
        const ir_value root = ir_root(LLVMGetOperand(item, 0));
        return !ir_is(root, LLVMAlloca) || ir_map_get(&f->shared, root);
    }
    case LLVMCall: {
        const char *name = ir_callee(item);
        return !ir_starts_with(name, "fission.spread") &&
               (is_pure_call(name) || is_uniform_call(name));
    }
    case LLVMAlloca: return ir_map_get(&f->shared, item) != 0;
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
    case LLVMInvoke:
    case LLVMVAArg: return false;
    default: return true;
    }
}

/* ---- Taint ----------------------------------------------------------------------------------- */

/* From which blocks' ends a wait can still be reached: a set. */
static ir_bits *find_waiting_ahead(const struct fission *f, ir_bits *waits)
{
    const struct cfg *cfg = &f->cfg;
    ir_bits *ahead = ir_alloc(cfg->words, sizeof *ahead);
    for (size_t i = 0; i < cfg->count; i++)
        ir_each_instruction(item, cfg->blocks[i]) if (fission_waits(f, item)) ir_add(waits, i);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < cfg->count; i++)
            for (size_t e = cfg->first_next[i]; e < cfg->first_next[i + 1]; e++)
                if ((ir_has(waits, cfg->next[e]) || ir_has(ahead, cfg->next[e])) &&
                    !ir_has(ahead, i)) {
                    ir_add(ahead, i);
                    changed = true;
                }
    }
    return ahead;
}

struct taint {
    ir_bits *waits, *ahead; /* blocks that wait; blocks after which one waits */
    bool changed;
    bool restart; /* edges were cut: what was found before may be too much */
};

static void taint_value(struct fission *f, struct taint *taint, ir_value value)
{
    if (!fission_is_varying(f, value)) {
        ir_map_set(&f->varying, value, 1);
        taint->changed = true;
    }
}

static bool reaches_end(const struct fission *f, size_t block)
{
    ir_bits *set = ir_alloc(f->cfg.words, sizeof *set);
    cfg_reach(&f->cfg, block, SIZE_MAX, set);
    const bool reaches = ir_has(set, cfg_number(&f->cfg, f->last));
    free(set);
    return reaches;
}

/* A branch of which one side ends without another wait: threads that take it have returned early,
 * and the others go on as if they were all. Only such edges are cut, and never the last way out.
 * True when there is a new one. */
static bool cut_early_returns(struct fission *f, const struct taint *taint, size_t block)
{
    struct cfg *cfg = &f->cfg;
    bool any = false;
    if (!ir_has(taint->ahead, block))
        return false;
    const size_t first = cfg->first_next[block];
    uintptr_t sides = ir_map_get(&f->leaving, cfg->blocks[block]);
    for (size_t e = first; e < cfg->first_next[block + 1] && e - first < 60; e++) {
        const size_t next = cfg->next[e];
        if (ir_has(taint->waits, next) || ir_has(taint->ahead, next) || cfg->cut[e])
            continue;
        cfg->cut[e] = true;
        if (!reaches_end(f, block)) {
            cfg->cut[e] = false;
            continue;
        }
        sides |= (uintptr_t)1 << (e - first);
        any = true;
    }
    ir_map_set(&f->leaving, cfg->blocks[block], sides);
    return any;
}

static void taint_joins(struct fission *f, struct taint *taint, size_t branch, size_t join,
                        const ir_bits *between)
{
    const struct cfg *cfg = &f->cfg;
    ir_each_phi(phi, cfg->blocks[join])
    {
        ir_value first = NULL;
        for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
            const size_t from = cfg_number(cfg, LLVMGetIncomingBlock(phi, i));
            if (from != branch && !ir_has(between, from))
                continue;
            const ir_value value = LLVMGetIncomingValue(phi, i);
            if (first && first != value)
                taint_value(f, taint, phi);
            first = value;
        }
    }
}

static void diverge(struct fission *f, struct taint *taint, const ir_bits *blocks)
{
    for (size_t i = 0; i < f->cfg.count; i++)
        if (ir_has(blocks, i) && !ir_map_get(&f->divergent, f->cfg.blocks[i])) {
            ir_map_set(&f->divergent, f->cfg.blocks[i], 1);
            taint->changed = true;
        }
}

static void taint_branch(struct fission *f, struct taint *taint, size_t branch)
{
    struct cfg *cfg = &f->cfg;
    if (cut_early_returns(f, taint, branch)) {
        taint->restart = true;
        return;
    }
    size_t only = SIZE_MAX, sides = 0;
    for (size_t e = cfg->first_next[branch]; e < cfg->first_next[branch + 1]; e++)
        if (!cfg->cut[e] && cfg->next[e] != only) {
            only = cfg->next[e];
            sides++;
        }
    const size_t join = cfg_immediate_post_dominator(cfg, branch);
    ir_bits *between = ir_alloc(cfg->words, sizeof *between);
    for (size_t e = cfg->first_next[branch]; e < cfg->first_next[branch + 1]; e++)
        if (cfg->cut[e])
            cfg_reach(cfg, cfg->next[e], cfg_number(cfg, f->last), between);
    diverge(f, taint, between);
    if (sides > 1) {
        memset(between, 0, cfg->words * sizeof *between);
        for (size_t e = cfg->first_next[branch]; e < cfg->first_next[branch + 1]; e++)
            if (!cfg->cut[e])
                cfg_reach(cfg, cfg->next[e], join, between);
        diverge(f, taint, between);
        if (join != SIZE_MAX)
            taint_joins(f, taint, branch, join, between);
    }
    free(between);
}

static bool must_vary(const struct fission *f, ir_value item, bool divergent)
{
    if (!may_be_uniform(f, item))
        return true;
    if (divergent && !fission_is_pure(item))
        return true;
    if (ir_is(item, LLVMCall) && is_uniform_call(ir_callee(item)))
        return false;
    for (unsigned i = 0; i < ir_operand_count(item); i++)
        if (fission_is_varying(f, LLVMGetOperand(item, i)))
            return true;
    return false;
}

static void taint_block(struct fission *f, struct taint *taint, size_t number)
{
    const ir_block block = f->cfg.blocks[number];
    const ir_value end = LLVMGetBasicBlockTerminator(block);
    ir_each_instruction(item, block)
    {
        const bool divergent = ir_map_get(&f->divergent, block) != 0;
        if (item != end && !fission_is_varying(f, item) && must_vary(f, item, divergent))
            taint_value(f, taint, item);
    }
    if (ir_successor_count(block) < 2)
        return;
    if (fission_is_varying(f, LLVMGetOperand(end, 0))) {
        taint_value(f, taint, end);
        taint_branch(f, taint, number);
    }
}

static void taint_parameters(struct fission *f)
{
    const bool whole_rows = f->kernel->workgroup_size[0] % FISSION_LANE_COUNT == 0;
    for (int p = MSL_FISSION_LOCAL_X; p < MSL_FISSION_PARAMETERS; p++) {
        bool varies = true;
        if (f->stage == FISSION_LANES)
            varies = p != MSL_FISSION_SIMDGROUP &&
                     !(fission_is_specialised(f) && whole_rows &&
                       (p == MSL_FISSION_LOCAL_Y || p == MSL_FISSION_LOCAL_Z));
        if (f->stage == FISSION_SIMDGROUPS)
            varies = p == MSL_FISSION_SIMDGROUP;
        if (varies)
            ir_map_set(&f->varying, fission_parameter(f, (enum msl_fission_parameter)p), 1);
    }
}

static void taint_all(struct fission *f, struct taint *taint)
{
    ir_map_finish(&f->varying);
    ir_map_finish(&f->divergent);
    cfg_find_post_dominators(&f->cfg);
    taint_parameters(f);
    taint->restart = false;
    do {
        taint->changed = false;
        for (size_t i = 0; i < f->cfg.count && !taint->restart; i++)
            taint_block(f, taint, i);
    } while (taint->changed && !taint->restart);
}

void fission_find_varying(struct fission *f)
{
    ir_map_finish(&f->leaving);
    cfg_build(&f->cfg, f->function);
    struct taint taint = {.waits = ir_alloc(f->cfg.words, sizeof(ir_bits))};
    taint.ahead = find_waiting_ahead(f, taint.waits);
    do
        taint_all(f, &taint);
    while (taint.restart);
    free(taint.waits);
    free(taint.ahead);
}
