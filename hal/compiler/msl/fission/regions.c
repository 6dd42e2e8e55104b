/* SPDX-License-Identifier: Apache-2.0 */
/* Finds where regions start: after each wait, where paths from different regions meet, and after
 * branches whose sides lead to different next starts. Such a branch is executed once for all
 * threads and must be uniform. */
#include "hal/compiler/msl/fission/copy.h"

#include <stdlib.h>
#include <string.h>

static bool is_start(const struct fission *f, size_t block)
{
    return fission_start_of(f, f->cfg.blocks[block]) != FISSION_NO_START;
}

/* Gives every block to the start that leads to it. A block that two lead to becomes one. */
static void find_owners(struct fission *f)
{
    struct cfg *cfg = &f->cfg;
    free(f->owner);
    f->owner = ir_alloc(cfg->count, sizeof *f->owner);
again:
    for (size_t i = 0; i < cfg->count; i++)
        f->owner[i] = is_start(f, i) ? i : SIZE_MAX;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < cfg->count; i++) {
            if (f->owner[i] == SIZE_MAX)
                continue;
            for (size_t e = cfg->first_next[i]; e < cfg->first_next[i + 1]; e++) {
                const size_t next = cfg->next[e];
                if (is_start(f, next) || f->owner[next] == f->owner[i])
                    continue;
                if (f->owner[next] != SIZE_MAX) {
                    fission_mark_start(f, cfg->blocks[next]);
                    goto again;
                }
                f->owner[next] = f->owner[i];
                changed = true;
            }
        }
    }
}

/* For each block, the starts that follow next on some path; sets in rows. */
static ir_bits *find_next_starts(const struct fission *f)
{
    const struct cfg *cfg = &f->cfg;
    ir_bits *sets = ir_alloc(cfg->count * cfg->words, sizeof *sets);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = cfg->count; i-- > 0;) {
            ir_bits *mine = sets + i * cfg->words;
            const uintptr_t leaving = ir_map_get(&f->leaving, cfg->blocks[i]);
            for (size_t e = cfg->first_next[i]; e < cfg->first_next[i + 1]; e++) {
                const size_t next = cfg->next[e], side = e - cfg->first_next[i];
                if (side < 60 && leaving >> side & 1)
                    continue;
                if (!is_start(f, next)) {
                    changed |= ir_unite(mine, sets + next * cfg->words, cfg->words);
                } else if (!ir_has(mine, next)) {
                    ir_add(mine, next);
                    changed = true;
                }
            }
        }
    }
    return sets;
}

static void next_of(const struct fission *f, const ir_bits *sets, size_t block, ir_bits *out)
{
    memset(out, 0, f->cfg.words * sizeof *out);
    if (is_start(f, block))
        ir_add(out, block);
    else
        memcpy(out, sets + block * f->cfg.words, f->cfg.words * sizeof *out);
}

/* Do the sides of the block's branch lead to different starts? */
static bool sides_differ(const struct fission *f, const ir_bits *sets, size_t block)
{
    const struct cfg *cfg = &f->cfg;
    const uintptr_t leaving = ir_map_get(&f->leaving, cfg->blocks[block]);
    ir_bits *first = ir_alloc(cfg->words, sizeof *first);
    ir_bits *other = ir_alloc(cfg->words, sizeof *other);
    bool have_first = false, differ = false;
    for (size_t e = cfg->first_next[block]; e < cfg->first_next[block + 1]; e++) {
        const size_t side = e - cfg->first_next[block];
        if (side < 60 && leaving >> side & 1)
            continue;
        next_of(f, sets, cfg->next[e], have_first ? other : first);
        if (have_first)
            differ |= memcmp(first, other, cfg->words * sizeof *first) != 0;
        have_first = true;
    }
    free(first);
    free(other);
    return differ;
}

/* The branch gets a block of its own, and what follows it starts regions. */
static void isolate_branch(struct fission *f, ir_block block)
{
    const bool started = fission_start_of(f, block) != FISSION_NO_START;
    const ir_block head = fission_split_before(f, block, LLVMGetBasicBlockTerminator(block));
    if (started)
        fission_mark_start(f, head);
    ir_map_set(&f->starts, block, FISSION_BRANCH);
    for (unsigned i = 0; i < ir_successor_count(block); i++)
        fission_mark_start(f, ir_successor(block, i));
}

static bool find_branches(struct fission *f)
{
    for (bool again = true; again;) {
        again = false;
        cfg_build(&f->cfg, f->function);
        find_owners(f);
        ir_bits *sets = find_next_starts(f);
        bool refused = false;
        for (size_t i = 0; i < f->cfg.count && !again && !refused; i++) {
            const ir_block block = f->cfg.blocks[i];
            if (ir_successor_count(block) < 2 || fission_start_of(f, block) == FISSION_BRANCH ||
                !sides_differ(f, sets, i))
                continue;
            refused = fission_is_varying(f, LLVMGetBasicBlockTerminator(block));
            if (!refused)
                isolate_branch(f, block);
            again = true;
        }
        free(sets);
        if (refused)
            return fission_refuse(f, "threads take different branches before they meet again at "
                                     "a barrier or simd operation");
    }
    return true;
}

/* Splits each block after what its threads wait for, so that the wait comes first in a start. */
static void split_at_waits(struct fission *f)
{
    struct ir_map done = {0};
    for (ir_block block = LLVMGetFirstBasicBlock(f->function); block;) {
        ir_value wait = NULL;
        ir_each_instruction(item, block)
        {
            if (!wait && fission_waits(f, item) && !ir_map_get(&done, item))
                wait = item;
        }
        if (!wait) {
            block = LLVMGetNextBasicBlock(block);
            continue;
        }
        const bool started = fission_start_of(f, block) != FISSION_NO_START;
        const ir_block head = fission_split_before(f, block, wait);
        if (started)
            fission_mark_start(f, head);
        fission_mark_start(f, block);
        ir_map_set(&done, wait, 1);
    }
    ir_map_finish(&done);
}

/* A uniform loop without waits also gets a start, so that the thread loop is innermost. */
static void mark_uniform_loops(struct fission *f)
{
    cfg_build(&f->cfg, f->function);
    cfg_find_dominators(&f->cfg);
    const struct cfg *cfg = &f->cfg;
    ir_bits *inside = ir_alloc(cfg->words, sizeof *inside);
    for (size_t h = 0; h < cfg->count; h++) {
        if (ir_map_get(&f->divergent, cfg->blocks[h]) || !cfg_loop(cfg, h, inside))
            continue;
        bool uniform = true;
        for (size_t i = 0; i < cfg->count; i++)
            for (size_t e = cfg->first_next[i]; e < cfg->first_next[i + 1]; e++)
                if (ir_has(inside, i) && !ir_has(inside, cfg->next[e]) &&
                    fission_is_varying(f, LLVMGetBasicBlockTerminator(cfg->blocks[i])))
                    uniform = false;
        if (uniform)
            fission_mark_start(f, cfg->blocks[h]);
    }
    free(inside);
}

/* A branch taken once cannot copy what each thread brings to a join: a block between them can. */
static void add_edge_block(struct fission *f, ir_block branch, unsigned side)
{
    const ir_block target = ir_successor(branch, side);
    const ir_block edge = fission_block(f, "edge", target);
    LLVMPositionBuilderAtEnd(f->builder, edge);
    LLVMBuildBr(f->builder, target);
    LLVMSetSuccessor(LLVMGetBasicBlockTerminator(branch), side, edge);
    fission_mark_start(f, edge);
    ir_each_phi(phi, target)
    {
        LLVMPositionBuilderBefore(f->builder, phi);
        const ir_value fresh = LLVMBuildPhi(f->builder, LLVMTypeOf(phi), "");
        bool moved = false;
        for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
            ir_value value = LLVMGetIncomingValue(phi, i);
            ir_block from = LLVMGetIncomingBlock(phi, i);
            if (from == branch && !moved) {
                from = edge;
                moved = true;
            }
            LLVMAddIncoming(fresh, &value, &from, 1);
        }
        if (fission_is_varying(f, phi))
            ir_map_set(&f->varying, fresh, 1);
        LLVMReplaceAllUsesWith(phi, fresh);
        fission_remove(f, phi);
    }
}

static void add_edge_blocks(struct fission *f)
{
    ir_each_block(block, f->function)
    {
        if (fission_start_of(f, block) != FISSION_BRANCH)
            continue;
        for (unsigned i = 0; i < ir_successor_count(block); i++)
            if (ir_is(LLVMGetFirstInstruction(ir_successor(block, i)), LLVMPHI))
                add_edge_block(f, block, i);
    }
}

/* The entry block keeps the allocas; everything else of it starts the first region. */
static void separate_entry(struct fission *f)
{
    const ir_block entry = LLVMGetEntryBasicBlock(f->function);
    ir_value item = LLVMGetFirstInstruction(entry);
    while (ir_is(item, LLVMAlloca))
        item = LLVMGetNextInstruction(item);
    const ir_block head = fission_split_before(f, entry, item);
    ir_map_set(&f->starts, head, FISSION_ENTRY);
    fission_mark_start(f, entry);
}

/* What only passes a value on, as at the exits of loops, would become a copy of its own. */
static void drop_single_phis(struct fission *f)
{
    ir_each_block(block, f->function) ir_each_phi(phi, block)
    {
        if (LLVMCountIncoming(phi) != 1 || LLVMGetIncomingValue(phi, 0) == phi)
            continue;
        LLVMReplaceAllUsesWith(phi, LLVMGetIncomingValue(phi, 0));
        LLVMInstructionEraseFromParent(phi);
    }
}

/* Threads that return early run to their end inside the region that they leave. */
static bool check_early_returns(struct fission *f)
{
    const struct cfg *cfg = &f->cfg;
    const size_t last = cfg_number(cfg, f->last);
    ir_bits *tail = ir_alloc(cfg->words, sizeof *tail);
    bool fine = true;
    for (size_t i = 0; i < cfg->count; i++) {
        const uintptr_t leaving = ir_map_get(&f->leaving, cfg->blocks[i]);
        memset(tail, 0, cfg->words * sizeof *tail);
        for (size_t e = cfg->first_next[i]; leaving && e < cfg->first_next[i + 1]; e++)
            if (leaving >> (e - cfg->first_next[i]) & 1)
                cfg_reach(cfg, cfg->next[e], last, tail);
        for (size_t k = 0; k < cfg->count; k++)
            fine = fine && (!ir_has(tail, k) || f->owner[k] == f->owner[i]);
    }
    free(tail);
    return fine || fission_refuse(f, "threads that return before a barrier or simd operation end "
                                     "in code that they share with the others");
}

bool fission_find_regions(struct fission *f)
{
    fission_find_varying(f);
    fission_separate_returns(f);
    drop_single_phis(f);
    separate_entry(f);
    split_at_waits(f);
    fission_mark_start(f, f->last);
    fission_find_varying(f);
    fission_straighten_inductions(f);
    if (f->stage != FISSION_SIMDGROUPS)
        mark_uniform_loops(f);
    if (!find_branches(f))
        return false;
    add_edge_blocks(f);
    cfg_build(&f->cfg, f->function);
    find_owners(f);
    return check_early_returns(f);
}
