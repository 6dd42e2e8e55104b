/* SPDX-License-Identifier: Apache-2.0 */
/* What threads exchange when they wait. The region before the wait stores, per thread; the region
 * after it, which the wait starts, reads. Each wait has its own memory. */
#include "hal/compiler/msl/fission/split.h"

#include <string.h>

static ir_value shared_variable(struct split *s, ir_type type, const char *name)
{
    const ir_value variable = fission_alloca(s->f, type, name);
    ir_map_set(&s->f->shared, variable, 1);
    return variable;
}

static ir_value at_index(const struct fission *f, ir_type type, ir_value array, ir_value index)
{
    ir_value wide = LLVMBuildZExt(f->builder, index, f->i64, "");
    return LLVMBuildInBoundsGEP2(f->builder, type, array, &wide, 1, "");
}

/* The only block that leads to the wait's block: the two were one. */
static ir_block block_before(const struct fission *f, ir_block block)
{
    const size_t number = cfg_number(&f->cfg, block);
    for (size_t i = 0; i < f->cfg.count; i++)
        for (size_t e = f->cfg.first_next[i]; e < f->cfg.first_next[i + 1]; e++)
            if (f->cfg.next[e] == number)
                return f->cfg.blocks[i];
    return NULL;
}

/* May an operation be one that not all 32 lanes take part in? */
static bool may_miss_lanes(const struct split *s)
{
    const struct fission *f = s->f;
    const uint32_t *const size = f->kernel->workgroup_size;
    return s->exited || !fission_is_specialised(f) ||
           size[0] * size[1] * size[2] % FISSION_LANE_COUNT != 0;
}

/* Lanes that are not there, or have returned, read as zero, as on fibers. Before the lanes' loop,
 * each time: the memory is shared by all simdgroups. */
static void clear_missing(struct split *s, ir_value lanes, ir_type type, ir_block before)
{
    const struct fission *f = s->f;
    if (!may_miss_lanes(s))
        return;
    LLVMPositionBuilderBefore(f->builder,
                              LLVMGetBasicBlockTerminator(split_region_of(s, before)->before));
    LLVMBuildStore(f->builder, LLVMConstNull(type), lanes);
}

static void publish(struct split *s, ir_value call, ir_block before)
{
    const struct fission *f = s->f;
    const ir_value value = LLVMGetOperand(call, 0);
    const ir_type type = LLVMTypeOf(value);
    const ir_type all = LLVMArrayType(type, FISSION_LANE_COUNT);
    const ir_value lanes = shared_variable(s, all, "context.lanes");
    clear_missing(s, lanes, all, before);
    LLVMPositionBuilderBefore(f->builder, LLVMGetBasicBlockTerminator(before));
    LLVMBuildStore(f->builder, value,
                   at_index(f, type, lanes, fission_parameter(f, MSL_FISSION_LANE)));
    LLVMReplaceAllUsesWith(call, lanes);
}

/* Apple's layout: 4x4 quadrants of eight lanes, two columns each. The index counts pairs. */
static ir_value place_of_lane(const struct fission *f)
{
    const LLVMBuilderRef b = f->builder;
    const ir_value lane = fission_parameter(f, MSL_FISSION_LANE);
    ir_value shifted = LLVMBuildLShr(b, lane, fission_number(f, 2), "");
    const ir_value row_high = LLVMBuildAnd(b, shifted, fission_number(f, 4), "");
    const ir_value half = LLVMBuildAnd(b, shifted, fission_number(f, 2), "");
    shifted = LLVMBuildLShr(b, lane, fission_number(f, 1), "");
    const ir_value row =
        LLVMBuildOr(b, row_high, LLVMBuildAnd(b, shifted, fission_number(f, 3), ""), "");
    const ir_value column =
        LLVMBuildOr(b, half, LLVMBuildAnd(b, lane, fission_number(f, 1), ""), "");
    return LLVMBuildOr(b, LLVMBuildShl(b, row, fission_number(f, 2), ""), column, "");
}

static void collect(struct split *s, ir_value call, ir_block before)
{
    struct fission *f = s->f;
    const ir_value pair = LLVMGetOperand(call, 0),
                   tile = shared_variable(s, LLVMTypeOf(call), "context.pairs");
    clear_missing(s, tile, LLVMTypeOf(call), before);
    LLVMPositionBuilderBefore(f->builder, LLVMGetBasicBlockTerminator(before));
    LLVMSetAlignment(
        LLVMBuildStore(f->builder, pair, at_index(f, LLVMTypeOf(pair), tile, place_of_lane(f))), 4);
    LLVMPositionBuilderBefore(f->builder, call);
    LLVMReplaceAllUsesWith(call, LLVMBuildLoad2(f->builder, LLVMTypeOf(call), tile, ""));
}

static void spread(struct split *s, ir_value call)
{
    struct fission *f = s->f;
    const ir_value tile = LLVMGetOperand(call, 0);
    const ir_type pair = LLVMTypeOf(call);
    const ir_value variable = shared_variable(s, LLVMTypeOf(tile), "context.tile");
    LLVMPositionBuilderBefore(f->builder, call);
    LLVMBuildStore(f->builder, tile, variable);
    const ir_value load =
        LLVMBuildLoad2(f->builder, pair, at_index(f, pair, variable, place_of_lane(f)), "");
    LLVMSetAlignment(load, 4);
    LLVMReplaceAllUsesWith(call, load);
}

/* Threads fold their values into one variable, one after the other. */
static void largest(struct split *s, ir_value call, ir_block before)
{
    struct fission *f = s->f;
    const ir_value value = LLVMGetOperand(call, 0);
    const ir_type type = LLVMTypeOf(value);
    const ir_value found = shared_variable(s, type, "context.largest");
    struct region *region = split_region_of(s, before);
    const unsigned bits = LLVMGetIntTypeWidth(type);
    const ir_value one = LLVMConstInt(type, 1, false);
    const ir_value least = LLVMConstShl(one, LLVMConstInt(type, bits - 1, false));
    LLVMPositionBuilderBefore(f->builder, LLVMGetBasicBlockTerminator(region->before));
    LLVMBuildStore(f->builder, least, found);
    LLVMPositionBuilderBefore(f->builder, LLVMGetBasicBlockTerminator(before));
    const ir_value old = LLVMBuildLoad2(f->builder, type, found, "");
    const ir_value more = LLVMBuildICmp(f->builder, LLVMIntSGT, value, old, "");
    const ir_value now = LLVMBuildSelect(f->builder, more, value, old, "");
    const ir_value store = LLVMBuildStore(f->builder, now, found);
    ir_map_set(&f->varying, old, 1);
    ir_map_set(&s->ordered, old, 1);
    ir_map_set(&s->ordered, store, 1);
    LLVMPositionBuilderBefore(f->builder, call);
    LLVMReplaceAllUsesWith(call, LLVMBuildLoad2(f->builder, type, found, ""));
}

/* Who took part: the lanes that the simdgroup has, without those that have returned. */
static void active(struct split *s, ir_value call)
{
    const struct fission *f = s->f;
    const LLVMBuilderRef b = f->builder;
    LLVMPositionBuilderBefore(b, call);
    ir_value mask;
    if (s->alive) {
        mask = LLVMBuildLoad2(b, f->i32, s->alive, "");
    } else {
        const ir_value count = LLVMBuildZExt(b, split_thread_count(s), f->i64, "");
        const ir_value one = LLVMConstInt(f->i64, 1, false);
        mask = LLVMBuildSub(b, LLVMBuildShl(b, one, count, ""), one, "");
        mask = LLVMBuildTrunc(b, mask, f->i32, "");
    }
    LLVMReplaceAllUsesWith(call, mask);
}

static void lower(struct split *s, ir_value call, ir_block block)
{
    struct fission *f = s->f;
    const char *name = ir_callee(call);
    if (ir_starts_with(name, "fission.publish")) {
        publish(s, call, block_before(f, block));
    } else if (ir_starts_with(name, "fission.collect")) {
        collect(s, call, block_before(f, block));
    } else if (ir_starts_with(name, "fission.largest")) {
        largest(s, call, block_before(f, block));
    } else if (ir_starts_with(name, "fission.spread")) {
        spread(s, call);
    } else if (strcmp(name, "fission.active") == 0) {
        active(s, call);
    } else if (strcmp(name, "__msl_group_barrier") == 0 && f->stage == FISSION_LANES) {
        /* The next stage needs it: one for the whole simdgroup. */
        LLVMInstructionRemoveFromParent(call);
        LLVMPositionBuilderBefore(f->builder,
                                  LLVMGetBasicBlockTerminator(split_region_of(s, block)->before));
        ir_insert(f->builder, call);
        return;
    } else if (strcmp(name, "fission.sync") != 0 && strcmp(name, "__msl_group_barrier") != 0) {
        return;
    }
    fission_remove(f, call);
}

/* What was built here from varying values varies too. */
static bool taint_block(struct fission *f, ir_block block)
{
    bool changed = false;
    ir_each_instruction(item, block)
    {
        if (fission_is_varying(f, item) || ir_is(item, LLVMPHI))
            continue;
        for (unsigned i = 0; i < ir_operand_count(item); i++)
            if (fission_is_varying(f, LLVMGetOperand(item, i))) {
                ir_map_set(&f->varying, item, 1);
                changed = true;
            }
    }
    return changed;
}

void split_lower_waits(struct split *s)
{
    for (size_t i = 0; i < s->count; i++)
        ir_each_instruction(item, s->f->cfg.blocks[i])
        {
            if (ir_is(item, LLVMCall))
                lower(s, item, s->f->cfg.blocks[i]);
        }
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < s->count; i++)
            changed |= taint_block(s->f, s->f->cfg.blocks[i]);
    }
}
