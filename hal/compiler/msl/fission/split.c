/* SPDX-License-Identifier: Apache-2.0 */
/* Builds one stage's thread loops around the regions found, and leads from one to the next. */
#include "hal/compiler/msl/fission/split.h"

#include "hal/base/text.h"

#include <stdlib.h>

enum { MAX_CONTEXT_BYTES = 1 << 20 }; /* of stack, next to what the kernel itself needs */

static bool returns_early(const struct split *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (ir_map_get(&s->f->leaving, s->f->cfg.blocks[i]))
            return true;
    return false;
}

/* ---- Threads that return early --------------------------------------------------------------- */

static void create_exited_mask(struct split *s)
{
    struct fission *f = s->f;
    if (!returns_early(s))
        return;
    const uint32_t count = fission_thread_count(f);
    s->exited = fission_alloca(f, LLVMArrayType(f->i8, count), "exited");
    s->alive = fission_alloca(f, f->i32, "alive");
    ir_map_set(&f->shared, s->exited, 1);
    ir_map_set(&f->shared, s->alive, 1);
    LLVMPositionBuilderBefore(f->builder,
                              LLVMGetBasicBlockTerminator(LLVMGetEntryBasicBlock(f->function)));
    LLVMBuildMemSet(f->builder, s->exited, LLVMConstNull(f->i8), LLVMConstInt(f->i64, count, false),
                    16);
    ir_value all = fission_number(f, UINT32_MAX);
    if (f->stage == FISSION_LANES) {
        const ir_value lanes = LLVMBuildZExt(f->builder, split_thread_count(s), f->i64, "");
        all = LLVMBuildShl(f->builder, LLVMConstInt(f->i64, 1, false), lanes, "");
        all = LLVMBuildTrunc(f->builder, all, f->i32, "");
        all = LLVMBuildSub(f->builder, all, fission_number(f, 1), "");
    }
    LLVMBuildStore(f->builder, all, s->alive);
}

/* Counts the remaining threads: a bit per lane, or any bit. None: the function ends. */
static void count_living(struct split *s, struct region *r, ir_block end)
{
    struct fission *f = s->f;
    const LLVMBuilderRef b = f->builder;
    const ir_block loop = fission_block(f, "living", r->after);
    const ir_block done = fission_block(f, "counted", r->after);
    LLVMMoveBasicBlockAfter(loop, r->after);
    LLVMMoveBasicBlockAfter(done, loop);
    ir_block from = r->after;
    const ir_value stop = LLVMGetBasicBlockTerminator(from);
    LLVMPositionBuilderBefore(b, stop);
    const ir_value count = split_thread_count(s);
    LLVMBuildBr(b, loop);
    LLVMInstructionEraseFromParent(stop);

    LLVMPositionBuilderAtEnd(b, loop);
    const ir_value i = LLVMBuildPhi(b, f->i32, ""), sum = LLVMBuildPhi(b, f->i32, "");
    ir_value wide = LLVMBuildZExt(b, i, f->i64, "");
    const ir_value flag =
        LLVMBuildLoad2(b, f->i8, LLVMBuildInBoundsGEP2(b, f->i8, s->exited, &wide, 1, ""), "");
    const ir_value lives =
        LLVMBuildZExt(b, LLVMBuildICmp(b, LLVMIntEQ, flag, LLVMConstNull(f->i8), ""), f->i32, "");
    const ir_value bit = LLVMBuildAnd(b, i, fission_number(f, 31), "");
    ir_value next = LLVMBuildNUWAdd(b, i, fission_number(f, 1), "");
    ir_value more = LLVMBuildOr(b, sum, LLVMBuildShl(b, lives, bit, ""), "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, next, count, ""), loop, done);
    ir_value zero = fission_number(f, 0);
    ir_block blocks[2] = {from, loop};
    LLVMAddIncoming(i, (ir_value[]){zero, next}, blocks, 2);
    LLVMAddIncoming(sum, (ir_value[]){zero, more}, blocks, 2);

    LLVMPositionBuilderAtEnd(b, done);
    LLVMBuildStore(b, more, s->alive);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, more, zero, ""), r->target, end);
}

static ir_block leave_block(struct split *s, struct region *r)
{
    struct fission *f = s->f;
    if (r->leave)
        return r->leave;
    r->leave = fission_block(f, "leave", r->latch);
    LLVMPositionBuilderAtEnd(f->builder, r->leave);
    ir_value index = LLVMBuildZExt(f->builder, r->index, f->i64, "");
    LLVMBuildStore(f->builder, LLVMConstInt(f->i8, 1, false),
                   LLVMBuildInBoundsGEP2(f->builder, f->i8, s->exited, &index, 1, ""));
    LLVMBuildBr(f->builder, r->latch);
    return r->leave;
}

/* ---- From region to region
 * ------------------------------------------------------------------------ */

static ir_block entrance(const struct split *s, ir_block start)
{
    const struct region *region = split_region_of(s, start);
    return region ? region->before : start;
}

static bool is_start(const struct split *s, ir_block block)
{
    return fission_start_of(s->f, block) != FISSION_NO_START;
}

/* The start that a region leads to; the end only when it leads nowhere else. */
static void find_targets(struct split *s)
{
    const struct cfg *cfg = &s->f->cfg;
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < s->count; i++) {
            struct region *region = split_region_of(s, cfg->blocks[i]);
            for (size_t e = cfg->first_next[i]; region && e < cfg->first_next[i + 1]; e++) {
                const ir_block next = cfg->blocks[cfg->next[e]];
                const bool ends = next == s->f->last;
                if (is_start(s, next) && ends == (round == 1) && !region->target)
                    region->target = entrance(s, next);
            }
        }
}

static void connect_regions(struct split *s)
{
    const struct cfg *cfg = &s->f->cfg;
    const ir_block end = entrance(s, s->f->last);
    for (size_t i = 0; i < s->count; i++) {
        const ir_block block = cfg->blocks[i];
        struct region *region = split_region_of(s, block);
        for (unsigned k = 0; k < ir_successor_count(block); k++) {
            const ir_block next = ir_successor(block, k);
            if (!is_start(s, next))
                continue;
            ir_block to = entrance(s, next);
            if (region)
                to = to == end && region->target != end ? leave_block(s, region) : region->latch;
            LLVMSetSuccessor(LLVMGetBasicBlockTerminator(block), k, to);
        }
    }
}

static void close_regions(struct split *s)
{
    const struct fission *f = s->f;
    const ir_block end = entrance(s, f->last);
    for (size_t i = 0; i < s->count; i++) {
        struct region *r = &s->regions[i];
        if (!r->start)
            continue;
        if (r->leave) {
            count_living(s, r, end);
            continue;
        }
        LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(r->after));
        LLVMPositionBuilderAtEnd(f->builder, r->after);
        if (r->target)
            LLVMBuildBr(f->builder, r->target);
        else if (r->start == f->last)
            LLVMBuildRetVoid(f->builder);
        else
            LLVMBuildUnreachable(f->builder);
    }
    const struct region *last = split_region_of(s, f->last);
    LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(f->last));
    LLVMPositionBuilderAtEnd(f->builder, f->last);
    LLVMBuildBr(f->builder, last->latch);
}

static void finish(struct split *s)
{
    for (size_t i = 0; i < s->count; i++)
        ir_map_finish(&s->regions[i].local);
    free(s->regions);
    ir_map_finish(&s->slots);
    ir_map_finish(&s->once);
    ir_map_finish(&s->ordered);
    ir_list_finish(&s->order);
}

bool fission_build_loops(struct fission *f)
{
    struct split s = {.f = f, .count = f->cfg.count};
    s.regions = ir_alloc(s.count, sizeof *s.regions);
    for (size_t i = 0; i < s.count; i++)
        if (fission_start_of(f, f->cfg.blocks[i]) == FISSION_REGION)
            s.regions[i].start = f->cfg.blocks[i];
    for (size_t i = 0; i < s.count; i++)
        if (s.regions[i].start)
            split_open_region(&s, &s.regions[i]);
    create_exited_mask(&s);
    split_lower_waits(&s);
    split_make_private(&s);
    split_choose_once(&s);
    split_drop_prefetches(&s);
    split_choose_loops(&s);
    for (size_t i = 0; i < s.count; i++)
        if (s.regions[i].start)
            split_build_nest(&s, &s.regions[i]);
    split_carry_values(&s);
    for (size_t i = 0; i < s.count; i++)
        if (s.regions[i].start)
            split_narrow(&s, &s.regions[i]);
    split_widen_addresses(&s);
    find_targets(&s);
    connect_regions(&s);
    split_mark_parallel(&s);
    close_regions(&s);
    const bool fits = s.context_bytes <= MAX_CONTEXT_BYTES;
    finish(&s);
    fission_free_removed(f);
    return fits ||
           fission_refuse(f, "its threads keep %s across barriers; %d are allowed",
                          hal_count((unsigned long long)s.context_bytes, "byte", "bytes").text,
                          MAX_CONTEXT_BYTES);
}
