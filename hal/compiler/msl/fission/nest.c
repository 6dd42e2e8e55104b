/* SPDX-License-Identifier: Apache-2.0 */
/* The thread loops around a region: how many iterations, in which order, and each one's thread. */
#include "hal/compiler/msl/fission/split.h"

#include <llvm-c/DebugInfo.h>
#include <string.h>

static ir_value parameter(const struct split *s, enum msl_fission_parameter p)
{
    return fission_parameter(s->f, p);
}

static ir_value size_of(const struct split *s, int dimension)
{
    if (fission_is_specialised(s->f))
        return fission_number(s->f, s->f->kernel->workgroup_size[dimension]);
    return parameter(s, (enum msl_fission_parameter)(MSL_FISSION_SIZE_X + dimension));
}

static ir_value all_threads(const struct split *s)
{
    const LLVMBuilderRef b = s->f->builder;
    return LLVMBuildNUWMul(b, size_of(s, 0), LLVMBuildNUWMul(b, size_of(s, 1), size_of(s, 2), ""),
                           "");
}

ir_value split_thread_count(struct split *s)
{
    const struct fission *f = s->f;
    const LLVMBuilderRef b = f->builder;
    const uint32_t known = fission_is_specialised(f)
                               ? f->kernel->workgroup_size[0] * f->kernel->workgroup_size[1] *
                                     f->kernel->workgroup_size[2]
                               : 0;
    const ir_value lanes = fission_number(f, FISSION_LANE_COUNT);
    if (f->stage == FISSION_THREADS)
        return all_threads(s);
    if (f->stage == FISSION_SIMDGROUPS) {
        const ir_value up = LLVMBuildNUWAdd(b, all_threads(s), fission_number(f, 31), "");
        return LLVMBuildUDiv(b, up, lanes, "");
    }
    if (known && known % FISSION_LANE_COUNT == 0)
        return lanes;
    const ir_value first = LLVMBuildNUWMul(b, parameter(s, MSL_FISSION_SIMDGROUP), lanes, "");
    const ir_value rest = LLVMBuildSub(b, all_threads(s), first, "");
    const ir_value fewer = LLVMBuildICmp(b, LLVMIntULT, rest, lanes, "");
    return LLVMBuildSelect(b, fewer, rest, lanes, "");
}

/* ---- The loops
 * ------------------------------------------------------------------------------------ */

struct shape {
    int depth; /* loops, outermost first */
    ir_value limit[3];
};

static struct shape shape_of(struct split *s)
{
    const struct fission *f = s->f;
    const uint32_t *size = f->kernel->workgroup_size;
    const uint32_t lanes = FISSION_LANE_COUNT;
    if (f->stage == FISSION_THREADS && fission_is_specialised(f) && size[1] * size[2] == 1)
        return (struct shape){1, {size_of(s, 0)}};
    if (f->stage == FISSION_THREADS)
        return (struct shape){3, {size_of(s, 2), size_of(s, 1), size_of(s, 0)}};
    if (f->stage == FISSION_LANES && size[0] && size[0] < lanes && lanes % size[0] == 0 &&
        size[0] * size[1] % lanes == 0)
        return (struct shape){2, {fission_number(f, lanes / size[0]), size_of(s, 0)}};
    return (struct shape){1, {split_thread_count(s)}};
}

static void place_thread(struct split *s, struct region *r, const ir_value *at, int depth)
{
    const struct fission *f = s->f;
    const LLVMBuilderRef b = f->builder;
    ir_value index = at[0];
    if (depth == 3) {
        r->position[MSL_FISSION_LOCAL_Z] = at[0];
        r->position[MSL_FISSION_LOCAL_Y] = at[1];
        r->position[MSL_FISSION_LOCAL_X] = at[2];
        index = LLVMBuildNUWAdd(b, LLVMBuildNUWMul(b, at[0], size_of(s, 1), ""), at[1], "");
        index = LLVMBuildNUWAdd(b, LLVMBuildNUWMul(b, index, size_of(s, 0), ""), at[2], "");
    } else {
        r->position[MSL_FISSION_LOCAL_X] = at[0];
        r->position[MSL_FISSION_LOCAL_Y] = r->position[MSL_FISSION_LOCAL_Z] = fission_number(f, 0);
    }
    r->index = r->position[MSL_FISSION_INDEX] = index;
    r->position[MSL_FISSION_LANE] = LLVMBuildAnd(b, index, fission_number(f, 31), "");
    r->position[MSL_FISSION_SIMDGROUP] = LLVMBuildLShr(b, index, fission_number(f, 5), "");
}

/* A simdgroup is a piece of a row, some whole rows, or anything. */
static void place_lane(struct split *s, struct region *r, const ir_value *at, int depth)
{
    const struct fission *f = s->f;
    const LLVMBuilderRef b = f->builder;
    const uint32_t *size = f->kernel->workgroup_size;
    const ir_value first = LLVMBuildNUWMul(b, parameter(s, MSL_FISSION_SIMDGROUP),
                                           fission_number(f, FISSION_LANE_COUNT), "");
    ir_value x, y = NULL, row;
    r->index = at[0];
    if (depth == 2) {
        r->index = LLVMBuildNUWMul(b, at[0], size_of(s, 0), "");
        r->index = LLVMBuildNUWAdd(b, r->index, at[1], "");
    }
    const ir_value index = LLVMBuildNUWAdd(b, first, r->index, "");
    const bool whole = size[0] && size[0] % FISSION_LANE_COUNT == 0;
    row = LLVMBuildUDiv(b, whole || depth == 2 ? first : index, size_of(s, 0), "");
    if (fission_is_specialised(f) && size[1] * size[2] == 1) {
        x = index;
        y = row = fission_number(f, 0);
    } else if (whole) {
        x = LLVMBuildNUWAdd(b, LLVMBuildURem(b, first, size_of(s, 0), ""), at[0], "");
    } else if (depth == 2) {
        x = at[1];
        y = LLVMBuildNUWAdd(b, LLVMBuildURem(b, row, size_of(s, 1), ""), at[0], "");
    } else {
        x = LLVMBuildURem(b, index, size_of(s, 0), "");
    }
    r->position[MSL_FISSION_LOCAL_X] = x;
    r->position[MSL_FISSION_LOCAL_Y] = y ? y : LLVMBuildURem(b, row, size_of(s, 1), "");
    r->position[MSL_FISSION_LOCAL_Z] = LLVMBuildUDiv(b, row, size_of(s, 1), "");
    r->position[MSL_FISSION_INDEX] = index;
    r->position[MSL_FISSION_LANE] = r->index;
}

static void place(struct split *s, struct region *r, const ir_value *at, int depth)
{
    if (s->f->stage == FISSION_THREADS)
        place_thread(s, r, at, depth);
    else if (s->f->stage == FISSION_LANES)
        place_lane(s, r, at, depth);
    else
        r->index = r->position[MSL_FISSION_SIMDGROUP] = at[0];
}

/* ---- Blocks
 * ------------------------------------------------------------------------------------------ */

static ir_block placeholder(struct fission *f, const char *name, ir_block before)
{
    const ir_block block = fission_block(f, name, before);
    LLVMPositionBuilderAtEnd(f->builder, block);
    LLVMBuildUnreachable(f->builder);
    return block;
}

static void jump(struct fission *f, ir_block from, ir_block to)
{
    LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(from));
    LLVMPositionBuilderAtEnd(f->builder, from);
    LLVMBuildBr(f->builder, to);
}

void split_open_region(struct split *s, struct region *r)
{
    r->before = placeholder(s->f, "before", r->start);
    r->enter = placeholder(s->f, "enter", r->start);
    r->latch = placeholder(s->f, "latch", r->start);
    r->after = placeholder(s->f, "after", r->start);
    LLVMMoveBasicBlockAfter(r->latch, r->start);
    LLVMMoveBasicBlockAfter(r->after, r->latch);
}

/* Threads that have returned skip their iteration. */
static void skip_exited(struct split *s, struct region *r)
{
    struct fission *f = s->f;
    const ir_block live = placeholder(f, "live", r->start);
    LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(r->enter));
    LLVMPositionBuilderAtEnd(f->builder, r->enter);
    ir_value index = LLVMBuildZExt(f->builder, r->index, f->i64, "");
    const ir_value flag = LLVMBuildLoad2(
        f->builder, f->i8, LLVMBuildInBoundsGEP2(f->builder, f->i8, s->exited, &index, 1, ""), "");
    const ir_value exited = LLVMBuildICmp(f->builder, LLVMIntNE, flag, LLVMConstNull(f->i8), "");
    LLVMBuildCondBr(f->builder, exited, r->latch, live);
    r->enter = live;
}

static ir_value loop_hints(struct split *s, bool innermost);

void split_build_nest(struct split *s, struct region *r)
{
    struct fission *f = s->f;
    const LLVMBuilderRef b = f->builder;
    if (!r->loops) {
        const ir_value first[3] = {fission_number(f, 0), fission_number(f, 0),
                                   fission_number(f, 0)};
        LLVMPositionBuilderBefore(b, LLVMGetBasicBlockTerminator(r->enter));
        place(s, r, first, 1);
        jump(f, r->before, r->enter);
        jump(f, r->enter, r->start);
        jump(f, r->latch, r->after);
        return;
    }
    LLVMPositionBuilderBefore(b, LLVMGetBasicBlockTerminator(r->before));
    const struct shape shape = shape_of(s);
    r->depth = shape.depth;
    ir_value counters[3], *at = r->iteration;
    ir_block heads[3];
    for (int i = 0; i < shape.depth; i++) {
        const ir_block outside = i ? heads[i - 1] : r->before;
        counters[i] = fission_alloca(f, f->i32, "counter");
        heads[i] = i == shape.depth - 1 ? r->enter : placeholder(f, "threads", r->enter);
        LLVMPositionBuilderBefore(b, LLVMGetBasicBlockTerminator(outside));
        r->counter = LLVMBuildStore(b, fission_number(f, 0), counters[i]);
        jump(f, outside, heads[i]);
    }
    LLVMPositionBuilderBefore(b, LLVMGetBasicBlockTerminator(r->enter));
    for (int i = 0; i < shape.depth; i++)
        at[i] = LLVMBuildLoad2(b, f->i32, counters[i], "");
    place(s, r, at, shape.depth);
    ir_block from = r->latch;
    for (int i = shape.depth; i-- > 0;) {
        const ir_block out = i ? placeholder(f, "row", r->after) : r->after;
        LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(from));
        LLVMPositionBuilderAtEnd(b, from);
        const ir_value next = LLVMBuildNUWAdd(b, LLVMBuildLoad2(b, f->i32, counters[i], ""),
                                              fission_number(f, 1), "");
        LLVMBuildStore(b, next, counters[i]);
        r->limit = LLVMBuildICmp(b, LLVMIntULT, next, shape.limit[i], "");
        const ir_value branch = LLVMBuildCondBr(b, r->limit, heads[i], out);
        LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(f->context, "llvm.loop", 9),
                        loop_hints(s, i == shape.depth - 1));
        from = out;
    }
    if (shape.depth > 1)
        r->counter = r->limit = NULL;
    if (s->exited)
        skip_exited(s, r);
    jump(f, r->enter, r->start);
}

/* ---- Hints for the vectoriser
 * -------------------------------------------------------------------------- */

static LLVMMetadataRef text(const struct fission *f, const char *string)
{
    return LLVMMDStringInContext2(f->context, string, strlen(string));
}

/* One per function: a node unlike all others, which the C API can only refer to from a cycle. */
static LLVMMetadataRef distinct(const struct fission *f, LLVMMetadataRef *rest, size_t count)
{
    LLVMMetadataRef list[4] = {LLVMTemporaryMDNode(f->context, NULL, 0)};
    for (size_t i = 0; i < count; i++)
        list[i + 1] = rest[i];
    const LLVMMetadataRef node = LLVMMDNodeInContext2(f->context, list, count + 1);
    LLVMMetadataReplaceAllUsesWith(list[0], node);
    return node;
}

static ir_value loop_hints(struct split *s, bool innermost)
{
    const struct fission *f = s->f;
    const bool vectorise = innermost && f->stage != FISSION_SIMDGROUPS;
    LLVMMetadataRef enable[2] = {text(f, "llvm.loop.vectorize.enable"),
                                 LLVMValueAsMetadata(LLVMConstInt(f->i1, vectorise, false))};
    LLVMMetadataRef parallel[2] = {text(f, "llvm.loop.parallel_accesses"), s->f->access_group};
    LLVMMetadataRef hints[2] = {LLVMMDNodeInContext2(f->context, enable, 2),
                                LLVMMDNodeInContext2(f->context, parallel, 2)};
    const bool independent = f->stage != FISSION_SIMDGROUPS;
    return LLVMMetadataAsValue(f->context, distinct(f, hints, independent ? 2 : 1));
}

static bool touches_memory(ir_value item)
{
    return ir_is(item, LLVMLoad) || ir_is(item, LLVMStore) ||
           (ir_is(item, LLVMCall) && !fission_is_pure(item));
}

static void mark_block(const struct split *s, ir_block block)
{
    const struct fission *f = s->f;
    const unsigned kind = LLVMGetMDKindIDInContext(f->context, "llvm.access.group", 17);
    const ir_value group = LLVMMetadataAsValue(f->context, f->access_group);
    ir_each_instruction(item, block)
    {
        if (touches_memory(item) && !ir_map_get(&s->ordered, item))
            LLVMSetMetadata(item, kind, group);
    }
}

/* Counters are promoted to registers before any pass examines the loops. */
void split_mark_parallel(struct split *s)
{
    if (s->f->stage == FISSION_SIMDGROUPS)
        return;
    for (size_t i = 0; i < s->count; i++) {
        const struct region *r = split_region_of(s, s->f->cfg.blocks[i]);
        if (!r || !r->loops)
            continue;
        mark_block(s, s->f->cfg.blocks[i]);
        if (r->start != s->f->cfg.blocks[i])
            continue;
        mark_block(s, r->enter);
        if (r->leave)
            mark_block(s, r->leave);
        for (ir_block up = r->enter; up != r->before && s->exited;) {
            up = LLVMGetPreviousBasicBlock(up);
            if (up == r->before)
                break;
            mark_block(s, up);
        }
    }
}

/* ---- Fewer iterations
 * ------------------------------------------------------------------------------------------ */

/* `if (thread < n)` around all that a region does: the loop itself can be that short. */
struct range {
    ir_value low, high;
};

static ir_value select_least(const struct fission *f, ir_value a, ir_value b)
{
    return LLVMBuildSelect(f->builder, LLVMBuildICmp(f->builder, LLVMIntULT, a, b, ""), a, b, "");
}

/* Iterations [low, high) of [0, limit) for which "iteration PREDICATE bound" holds. */
static bool turns_where(const struct fission *f, LLVMIntPredicate predicate, ir_value bound,
                        ir_value limit, struct range *out)
{
    const LLVMBuilderRef b = f->builder;
    const ir_value zero = fission_number(f, 0), one = fission_number(f, 1);
    const ir_value inside = LLVMBuildICmp(b, LLVMIntULT, bound, limit, "");
    const ir_value beyond = LLVMBuildSelect(b, inside, LLVMBuildAdd(b, bound, one, ""), limit, "");
    const ir_value positive =
        LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntSGT, bound, zero, ""), bound, zero, "");
    switch ((int)predicate) {
    case LLVMIntULT: *out = (struct range){zero, select_least(f, bound, limit)}; return true;
    case LLVMIntULE: *out = (struct range){zero, beyond}; return true;
    case LLVMIntEQ: *out = (struct range){select_least(f, bound, limit), beyond}; return true;
    case LLVMIntUGE: *out = (struct range){select_least(f, bound, limit), limit}; return true;
    case LLVMIntUGT: *out = (struct range){beyond, limit}; return true;
    case LLVMIntSLT: *out = (struct range){zero, select_least(f, positive, limit)}; return true;
    default: return false;
    }
}

static bool is_position(const struct split *s, const struct region *r, ir_value value)
{
    if (value == r->index || value == r->position[MSL_FISSION_INDEX])
        return true;
    const bool row = s->f->stage != FISSION_SIMDGROUPS && fission_is_specialised(s->f) &&
                     s->f->kernel->workgroup_size[1] * s->f->kernel->workgroup_size[2] == 1;
    return row && value == r->position[MSL_FISSION_LOCAL_X];
}

static bool is_known(const struct region *r, ir_value value)
{
    return !LLVMIsAInstruction(value) || LLVMGetInstructionParent(value) == r->before;
}

static LLVMIntPredicate mirrored(LLVMIntPredicate predicate)
{
    switch ((int)predicate) {
    case LLVMIntULT: return LLVMIntUGT;
    case LLVMIntULE: return LLVMIntUGE;
    case LLVMIntUGT: return LLVMIntULT;
    case LLVMIntUGE: return LLVMIntULE;
    case LLVMIntSGT: return LLVMIntSLT;
    case LLVMIntEQ: return LLVMIntEQ;
    default: return LLVMIntNE;
    }
}

static LLVMIntPredicate opposite(LLVMIntPredicate predicate)
{
    switch ((int)predicate) {
    case LLVMIntULT: return LLVMIntUGE;
    case LLVMIntULE: return LLVMIntUGT;
    case LLVMIntUGT: return LLVMIntULE;
    case LLVMIntUGE: return LLVMIntULT;
    case LLVMIntSGE: return LLVMIntSLT;
    case LLVMIntNE: return LLVMIntEQ;
    default: return LLVMIntNE;
    }
}

static bool has_effects(ir_block block)
{
    const ir_value end = LLVMGetBasicBlockTerminator(block);
    ir_each_instruction(item, block)
    {
        if (item != end && !fission_is_pure(item))
            return true;
    }
    return false;
}

/* Does a thread that comes to `block` do nothing more in this region? */
static bool is_idle(const struct split *s, ir_block block)
{
    for (int i = 0; i < 4; i++) {
        if (fission_start_of(s->f, block) != FISSION_NO_START)
            return true;
        if (has_effects(block) || ir_successor_count(block) != 1)
            return false;
        block = ir_successor(block, 0);
    }
    return false;
}

/* The side of the start's branch that does nothing; 2 if there is none. */
static unsigned idle_side(const struct split *s, const struct region *r)
{
    const ir_value end = LLVMGetBasicBlockTerminator(r->start);
    if (!ir_is(end, LLVMBr) || LLVMGetNumSuccessors(end) != 2 ||
        ir_map_get(&s->f->leaving, r->start) || has_effects(r->start))
        return 2;
    for (unsigned i = 0; i < 2; i++)
        if (is_idle(s, LLVMGetSuccessor(end, i)) && !is_idle(s, LLVMGetSuccessor(end, 1 - i)))
            return i;
    return 2;
}

void split_narrow(struct split *s, struct region *r)
{
    const struct fission *f = s->f;
    const LLVMBuilderRef b = f->builder;
    const unsigned idle = r->counter ? idle_side(s, r) : 2;
    if (idle == 2)
        return;
    const ir_value end = LLVMGetBasicBlockTerminator(r->start), condition = LLVMGetCondition(end);
    if (!ir_is(condition, LLVMICmp))
        return;
    LLVMIntPredicate predicate = LLVMGetICmpPredicate(condition);
    ir_value iteration = LLVMGetOperand(condition, 0), bound = LLVMGetOperand(condition, 1);
    if (!is_position(s, r, iteration)) {
        const ir_value swapped = iteration;
        iteration = bound;
        bound = swapped;
        predicate = mirrored(predicate);
    }
    if (idle == 0)
        predicate = opposite(predicate);
    if (!is_position(s, r, iteration) || !is_known(r, bound) || LLVMTypeOf(bound) != f->i32)
        return;
    LLVMPositionBuilderBefore(b, LLVMGetBasicBlockTerminator(r->before));
    const ir_value limit = LLVMGetOperand(r->limit, 1);
    if (f->stage == FISSION_LANES && iteration != r->index) {
        if (predicate != LLVMIntULT && predicate != LLVMIntEQ)
            return;
        const ir_value first = LLVMBuildMul(b, parameter(s, MSL_FISSION_SIMDGROUP),
                                            fission_number(f, FISSION_LANE_COUNT), "");
        const ir_value after = LLVMBuildICmp(b, LLVMIntUGE, bound, first, "");
        const ir_value none = predicate == LLVMIntEQ ? limit : fission_number(f, 0);
        bound = LLVMBuildSelect(b, after, LLVMBuildSub(b, bound, first, ""), none, "");
    }
    struct range range;
    if (!turns_where(f, predicate, bound, limit, &range))
        return;
    LLVMSetOperand(r->counter, 0, range.low);
    LLVMInstructionRemoveFromParent(r->counter);
    ir_insert(b, r->counter);
    LLVMSetOperand(r->limit, 1, range.high);
    const ir_block first = ir_successor(r->before, 0);
    const ir_value some = LLVMBuildICmp(b, LLVMIntULT, range.low, range.high, "");
    LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(r->before));
    LLVMPositionBuilderAtEnd(b, r->before);
    LLVMBuildCondBr(b, some, first, r->after);
    const ir_block busy = LLVMGetSuccessor(end, 1 - idle);
    LLVMInstructionEraseFromParent(end);
    LLVMPositionBuilderAtEnd(b, r->start);
    LLVMBuildBr(b, busy);
}
