/* SPDX-License-Identifier: Apache-2.0 */
/* Widens addresses that grow with the thread to 64 bits. Kernels count in 32 bits, and their sums
 * may wrap around between two threads of a loop: the vectoriser would have to test for that each
 * time. But no buffer has 2^32 elements, so threads before and after the wrap never both access
 * memory: `x[tid - 1]` is executed by all threads except the first, which would read x[0xffffffff].
 * With the uniform part of the sum taken as negative, all threads that need an address get it. */
#include "hal/compiler/msl/fission/split.h"

enum {
    MAX_FACTOR = 1024,
    MAX_DEPTH = 24,
    MAX_CONSTANT = 1 << 19,
    MAX_SPAN = 1 << 22 /* of all iterations together: three loops of 1024 threads, 1024 apart */
};

/* rest + constant + the sum of factor * iteration; no rest: 0 */
struct affine {
    ir_value rest;
    int64_t constant;
    uint64_t factor[REGION_MAX_DEPTH];
};

static bool in_loop(const struct split *s, const struct region *r, ir_value value)
{
    if (!LLVMIsAInstruction(value))
        return false;
    const ir_block block = LLVMGetInstructionParent(value);
    if (block == r->before || block == r->after)
        return false;
    return cfg_number(&s->f->cfg, block) == SIZE_MAX || split_region_of(s, block) == r;
}

static bool is_outer_iteration(const struct region *r, ir_value value)
{
    return (r->depth > 1 && value == r->iteration[0]) || (r->depth > 2 && value == r->iteration[1]);
}

static bool is_fixed(const struct split *s, const struct region *r, ir_value value, int depth)
{
    if (!in_loop(s, r, value) || is_outer_iteration(r, value))
        return true;
    if (depth > MAX_DEPTH || value == r->iteration[r->depth - 1] || !fission_is_pure(value))
        return false;
    for (unsigned i = 0; i < ir_operand_count(value); i++)
        if (!is_fixed(s, r, LLVMGetOperand(value, i), depth + 1))
            return false;
    return true;
}

static ir_value scaled(const struct fission *f, ir_value value, uint64_t factor)
{
    if (!value || factor == 1)
        return value;
    return LLVMBuildMul(f->builder, value, LLVMConstInt(LLVMTypeOf(value), factor, false), "");
}

static ir_value sum(const struct fission *f, ir_value a, ir_value b)
{
    return a && b ? LLVMBuildAdd(f->builder, a, b, "") : a ? a : b;
}

static bool is_small(const struct affine *affine)
{
    uint64_t span = 0;
    for (unsigned i = 0; i < REGION_MAX_DEPTH; i++) {
        if (affine->factor[i] > MAX_FACTOR)
            return false;
        span += affine->factor[i] * FISSION_MAX_THREADS;
    }
    return span <= MAX_SPAN && affine->constant >= -MAX_CONSTANT &&
           affine->constant <= MAX_CONSTANT;
}

static bool decompose(const struct split *s, const struct region *r, ir_value value, int depth,
                      struct affine *out);

static bool decompose_sum(const struct split *s, const struct region *r, ir_value value, int depth,
                          struct affine *out)
{
    const struct fission *const f = s->f;
    const bool is_difference = ir_is(value, LLVMSub);
    struct affine a, b;
    if (!decompose(s, r, LLVMGetOperand(value, 0), depth + 1, &a) ||
        !decompose(s, r, LLVMGetOperand(value, 1), depth + 1, &b))
        return false;
    *out = a;
    out->constant += is_difference ? -b.constant : b.constant;
    for (unsigned i = 0; i < REGION_MAX_DEPTH; i++) {
        if (is_difference && b.factor[i])
            return false;
        out->factor[i] += b.factor[i];
    }
    if (!is_difference)
        out->rest = sum(f, a.rest, b.rest);
    else if (b.rest)
        out->rest = LLVMBuildSub(f->builder, a.rest ? a.rest : LLVMConstNull(LLVMTypeOf(value)),
                                 b.rest, "");
    return is_small(out);
}

static bool decompose_product(const struct split *s, const struct region *r, ir_value value,
                              int depth, struct affine *out)
{
    const ir_value constant = LLVMGetOperand(value, 1);
    if (!LLVMIsAConstantInt(constant))
        return false;
    uint64_t factor = LLVMConstIntGetZExtValue(constant);
    if (ir_is(value, LLVMShl))
        factor = factor < 16 ? (uint64_t)1 << factor : MAX_FACTOR + 1;
    if (factor > MAX_FACTOR || !decompose(s, r, LLVMGetOperand(value, 0), depth + 1, out))
        return false;
    out->rest = scaled(s->f, out->rest, factor);
    out->constant *= (int64_t)factor;
    for (unsigned i = 0; i < REGION_MAX_DEPTH; i++)
        out->factor[i] *= factor;
    return is_small(out);
}

static bool decompose_inside(const struct split *s, const struct region *r, ir_value value,
                             int depth, struct affine *out)
{
    if (depth > MAX_DEPTH || !LLVMIsAInstruction(value))
        return false;
    switch ((int)LLVMGetInstructionOpcode(value)) {
    case LLVMAdd:
    case LLVMSub: return decompose_sum(s, r, value, depth, out);
    case LLVMMul:
    case LLVMShl: return decompose_product(s, r, value, depth, out);
    default: return false;
    }
}

static bool is_iteration(const struct region *r, ir_value value, struct affine *out)
{
    for (int i = 0; i < r->depth; i++)
        if (value == r->iteration[i]) {
            *out = (struct affine){0};
            out->factor[i] = 1;
            return true;
        }
    return false;
}

static bool decompose(const struct split *s, const struct region *r, ir_value value, int depth,
                      struct affine *out)
{
    if (is_iteration(r, value, out))
        return true;
    if (LLVMIsAConstantInt(value)) {
        *out = (struct affine){.constant = LLVMConstIntGetSExtValue(value)};
        if (is_small(out))
            return true;
    }
    /* One value for all threads; a part that grows with the outer iteration stays apart. */
    const bool is_outside = !in_loop(s, r, value);
    if (!is_outside && decompose_inside(s, r, value, depth, out))
        return true;
    *out = (struct affine){.rest = value};
    return is_outside || is_fixed(s, r, value, 0);
}

/* What is the same for many addresses, `x[i]` and `x[i + 256]`, is widened in the same way, so that
 * it is done once; and what changes with the iterations or is constant is added to that. */
static ir_value widen(const struct fission *f, const struct affine *affine, const struct region *r,
                      bool is_signed)
{
    const LLVMBuilderRef b = f->builder;
    const ir_value rest = affine->rest ? affine->rest : fission_number(f, 0);
    ir_value wide = LLVMBuildSExt(b, rest, f->i64, "");
    if (!is_signed) {
        const ir_value wraps =
            LLVMBuildICmp(b, LLVMIntUGT, rest, fission_number(f, UINT32_MAX - MAX_SPAN), "");
        wide = LLVMBuildSelect(b, wraps, wide, LLVMBuildZExt(b, rest, f->i64, ""), "");
    }
    for (int i = 0; i < r->depth; i++) {
        if (!affine->factor[i])
            continue;
        const ir_value iteration = LLVMBuildZExt(b, r->iteration[i], f->i64, "");
        wide = LLVMBuildNSWAdd(b, wide, scaled(f, iteration, affine->factor[i]), "");
    }
    const ir_value constant = LLVMConstInt(f->i64, (uint64_t)affine->constant, true);
    return affine->constant ? LLVMBuildNSWAdd(b, wide, constant, "") : wide;
}

static void widen_uses(const struct split *s, const struct region *r, ir_value item)
{
    ir_value wide = NULL;
    for (LLVMUseRef use = LLVMGetFirstUse(item), next; use; use = next) {
        next = LLVMGetNextUse(use);
        const ir_value user = LLVMGetUser(use);
        if (!ir_is(user, LLVMGetElementPtr))
            continue;
        if (!wide) {
            struct affine affine;
            LLVMPositionBuilderBefore(s->f->builder, item);
            if (!decompose(s, r, LLVMGetOperand(item, 0), 0, &affine) ||
                !affine.factor[r->depth - 1])
                return;
            wide = widen(s->f, &affine, r, ir_is(item, LLVMSExt));
        }
        for (unsigned i = 1; i < ir_operand_count(user); i++)
            if (LLVMGetOperand(user, i) == item)
                LLVMSetOperand(user, i, wide);
        next = LLVMGetFirstUse(item); /* the list has changed */
        while (next && !ir_is(LLVMGetUser(next), LLVMGetElementPtr))
            next = LLVMGetNextUse(next);
    }
}

static void widen_block(const struct split *s, const struct region *r, ir_block block)
{
    ir_each_instruction(item, block)
    {
        if ((ir_is(item, LLVMZExt) || ir_is(item, LLVMSExt)) && LLVMTypeOf(item) == s->f->i64 &&
            LLVMTypeOf(LLVMGetOperand(item, 0)) == s->f->i32)
            widen_uses(s, r, item);
    }
}

void split_widen_addresses(struct split *s)
{
    if (s->f->stage == FISSION_SIMDGROUPS)
        return;
    for (size_t i = 0; i < s->count; i++) {
        const struct region *r = split_region_of(s, s->f->cfg.blocks[i]);
        if (!r || !r->loops)
            continue;
        widen_block(s, r, s->f->cfg.blocks[i]);
        if (r->start == s->f->cfg.blocks[i])
            widen_block(s, r, r->enter);
    }
}
