/* SPDX-License-Identifier: Apache-2.0 */
/* Strips side by side: where each of `size` threads reads `x[at]`, `x[at + size]` and so on in a
 * loop, the group reads one piece of memory after the other, but several places of it at a time.
 * Processors foresee reads that go from front to back, not these: so each simdgroup asks for its
 * part of the next piece, from front to back. */
#include "hal/compiler/msl/fission/split.h"

#include <llvm-c/Target.h>
#include <stdlib.h>

enum { MAX_PIECE_BYTES = 8192, LINE_BYTES = 64 };

/* A load of base[uniform + the thread's index + constant]. */
struct strip {
    ir_value base, uniform;
    uint64_t constant, element_bytes;
};

/* The rest of a sum with the thread's index; NULL: not such a sum. */
static ir_value without_index(const struct fission *f, ir_value sum)
{
    const ir_value index = fission_parameter(f, MSL_FISSION_INDEX);
    for (unsigned i = 0; i < 2 && ir_is(sum, LLVMAdd); i++)
        if (LLVMGetOperand(sum, i) == index)
            return LLVMGetOperand(sum, 1 - i);
    return NULL;
}

static bool read_strip(const struct fission *f, ir_value item, struct strip *out)
{
    const ir_value address = ir_is(item, LLVMLoad) ? LLVMGetOperand(item, 0) : NULL;
    if (!address || !ir_is(address, LLVMGetElementPtr) || ir_operand_count(address) != 2 ||
        !ir_is(LLVMGetOperand(address, 1), LLVMZExt))
        return false;
    ir_value index = LLVMGetOperand(LLVMGetOperand(address, 1), 0);
    const bool ends = ir_is(index, LLVMAdd) && LLVMIsAConstantInt(LLVMGetOperand(index, 1));
    *out = (struct strip){.base = LLVMGetOperand(address, 0)};
    if (ends) {
        out->constant = LLVMConstIntGetZExtValue(LLVMGetOperand(index, 1));
        index = LLVMGetOperand(index, 0);
    }
    out->uniform = without_index(f, index);
    out->element_bytes =
        LLVMABISizeOfType(LLVMGetModuleDataLayout(f->module), LLVMGetGEPSourceElementType(address));
    return out->uniform != NULL;
}

static bool has_strip(const struct fission *f, ir_block block, const struct strip *wanted)
{
    ir_each_instruction(item, block)
    {
        struct strip strip;
        if (read_strip(f, item, &strip) && strip.base == wanted->base &&
            strip.uniform == wanted->uniform && strip.constant == wanted->constant)
            return true;
    }
    return false;
}

/* The number of adjacent strips, beginning with `first`. */
static uint64_t count_strips(const struct fission *f, ir_block block, const struct strip *first)
{
    struct strip next = *first;
    do
        next.constant += fission_thread_count(f);
    while (has_strip(f, block, &next));
    return (next.constant - first->constant) / fission_thread_count(f);
}

/* Whether `block` is in a loop, and `value` is recomputed in each iteration of the innermost. */
static bool turns_with(struct fission *f, ir_block block, ir_value value)
{
    if (!LLVMIsAInstruction(value))
        return false;
    cfg_build(&f->cfg, f->function);
    cfg_find_dominators(&f->cfg);
    ir_bits *const inside = ir_alloc(f->cfg.words, sizeof *inside);
    const size_t number = cfg_number(&f->cfg, block);
    const size_t maker = cfg_number(&f->cfg, LLVMGetInstructionParent(value));
    bool found = false, always = true;
    for (size_t header = 0; header < f->cfg.count; header++) {
        if (!cfg_loop(&f->cfg, header, inside) || !ir_has(inside, number))
            continue;
        found = true;
        always = always && ir_has(inside, maker);
    }
    free(inside);
    return found && always;
}

/* The same for all lanes, so that it is done once for each simdgroup. */
static void add_prefetches(const struct fission *f, ir_value before, const struct strip *strip,
                           uint64_t piece_bytes)
{
    const LLVMBuilderRef b = f->builder;
    const uint64_t part = piece_bytes / fission_thread_count(f) * FISSION_LANE_COUNT;
    LLVMPositionBuilderBefore(b, before);
    const ir_value source = LLVMGetOperand(before, 0);
    ir_value first = LLVMBuildZExt(b, strip->uniform, f->i64, "");
    const ir_value address =
        LLVMBuildGEP2(b, LLVMGetGEPSourceElementType(source), strip->base, &first, 1, "");
    const ir_value simdgroup =
        LLVMBuildZExt(b, fission_parameter(f, MSL_FISSION_SIMDGROUP), f->i64, "");
    const ir_value own = LLVMBuildMul(b, simdgroup, LLVMConstInt(f->i64, part, false), "");
    for (uint64_t at = 0; at < part; at += LINE_BYTES) {
        ir_value offset = LLVMBuildAdd(b, own, LLVMConstInt(f->i64, piece_bytes + at, false), "");
        ir_prefetch(b, f->module, LLVMBuildGEP2(b, f->i8, address, &offset, 1, ""), 3);
    }
}

void fission_add_prefetches(struct fission *f)
{
    const uint32_t threads = fission_thread_count(f);
    if (!fission_is_specialised(f) || threads % FISSION_LANE_COUNT != 0)
        return;
    ir_each_block(block, f->function) ir_each_instruction(item, block)
    {
        struct strip strip;
        if (!read_strip(f, item, &strip) || strip.constant != 0)
            continue;
        const uint64_t count = count_strips(f, block, &strip);
        const uint64_t bytes = count * threads * strip.element_bytes;
        if (count > 1 && bytes <= MAX_PIECE_BYTES && turns_with(f, block, strip.uniform))
            add_prefetches(f, item, &strip, bytes);
    }
}

/* What would be done by each lane keeps its loop from being vectorised. */
void split_drop_prefetches(struct split *s)
{
    for (size_t i = 0; i < s->count && s->f->stage == FISSION_LANES; i++)
        ir_each_instruction(
            item, s->f->cfg.blocks[i]) if (ir_starts_with(ir_callee(item), "llvm.prefetch") &&
                                           !ir_map_get(&s->once, item))
            LLVMInstructionEraseFromParent(item);
}
