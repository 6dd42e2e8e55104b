/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that only stream. Processors with registers of 512 bits fetch what is not in the nearest
 * caches up to a fifth faster where 256 bits are asked for at a time; where there is more to
 * compute than to fetch, narrow vectors take up to 1.6 times as long (figures: docs/benchmarks.md).
 * So it is decided by what a function does, which is known when all other passes are through; code
 * generation then makes two operations of each.
 *
 * Processors do not foresee beyond a page, whose address they have to look up in tables first. One
 * line of a page some pages ahead, to no nearer than the second cache, has them look it up in time.
 */
#include "hal/msl/fission/stream.h"

#include "hal/msl/fission/ir.h"

#include <llvm-c/Target.h>
#include <string.h>

enum { NARROW_BITS = 256, PAGE_BYTES = 4096, AHEAD_BYTES = 4 * PAGE_BYTES };

/* What a block does with vectors that are too wide. */
struct wide_work {
    unsigned accesses, operations;
    bool other; /* what does not become two of the half, or takes long */
};

static bool is_wide_type(LLVMTargetDataRef layout, ir_type type)
{
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind &&
           LLVMSizeOfTypeInBits(layout, type) > NARROW_BITS;
}

static bool is_wide(LLVMTargetDataRef layout, ir_value item)
{
    bool wide = is_wide_type(layout, LLVMTypeOf(item));
    for (unsigned i = 0; i < ir_operand_count(item) && !wide; i++)
        wide = is_wide_type(layout, LLVMTypeOf(LLVMGetOperand(item, i)));
    return wide;
}

static bool is_cheap_call(ir_value item)
{
    static const char *const prefixes[] = {"llvm.fabs.", "llvm.fma.", "llvm.fmuladd."};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (ir_starts_with(ir_callee(item), prefixes[i]))
            return true;
    return false;
}

static void count(ir_value item, struct wide_work *work)
{
    switch ((int)LLVMGetInstructionOpcode(item)) {
    case LLVMLoad:
    case LLVMStore: work->accesses++; return;
    case LLVMExtractElement:
    case LLVMInsertElement:
    case LLVMShuffleVector:
    case LLVMGetElementPtr:
    case LLVMFDiv:
    case LLVMFRem:
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem: work->other = true; return;
    case LLVMCall: work->other |= !is_cheap_call(item); break;
    default: break;
    }
    work->operations++;
}

/* What lies outside of the blocks that touch memory is done once. A wide phi is a value that turns
 * with a loop: a sum, or one that is used again and again. */
static bool streams(LLVMTargetDataRef layout, ir_value function)
{
    bool any = false;
    ir_each_block(block, function)
    {
        struct wide_work work = {0};
        ir_each_instruction(item, block)
        {
            if (!is_wide(layout, item))
                continue;
            if (ir_is(item, LLVMPHI))
                return false;
            count(item, &work);
        }
        if (work.accesses && (work.other || work.operations > work.accesses))
            return false;
        any |= work.accesses != 0;
    }
    return any;
}

static void set(LLVMModuleRef module, ir_value function, const char *name, const char *value)
{
    LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateStringAttribute(LLVMGetModuleContext(module), name,
                                                      (unsigned)strlen(name), value,
                                                      (unsigned)strlen(value)));
}

static bool turns(ir_block block)
{
    for (unsigned i = 0; i < ir_successor_count(block); i++)
        if (ir_successor(block, i) == block)
            return true;
    return false;
}

static void ask_ahead(LLVMBuilderRef builder, LLVMModuleRef module, ir_value item, ir_value address)
{
    const ir_type word = LLVMInt64TypeInContext(LLVMGetModuleContext(module));
    LLVMPositionBuilderBefore(builder, item);
    ir_value ahead = LLVMBuildPtrToInt(builder, address, word, "");
    ahead = LLVMBuildAnd(builder, ahead, LLVMConstInt(word, (uint64_t)-PAGE_BYTES, true), "");
    ahead = LLVMBuildAdd(builder, ahead, LLVMConstInt(word, AHEAD_BYTES, false), "");
    ir_prefetch(builder, module, LLVMBuildIntToPtr(builder, ahead, LLVMTypeOf(address), ""), 2);
}

/* Once for each piece of memory that a loop walks through. */
static void ask_for_pages(LLVMModuleRef module, LLVMTargetDataRef layout, ir_block block)
{
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    struct ir_map asked = {0};
    ir_each_instruction(item, block)
    {
        const bool stores = ir_is(item, LLVMStore);
        if ((!stores && !ir_is(item, LLVMLoad)) || !is_wide(layout, item))
            continue;
        const ir_value address = LLVMGetOperand(item, stores), root = ir_root(address);
        if (!ir_map_get(&asked, root))
            ask_ahead(builder, module, item, address);
        ir_map_set(&asked, root, 1);
    }
    ir_map_finish(&asked);
    LLVMDisposeBuilder(builder);
}

bool msl_stream_tune(LLVMModuleRef module, ir_value function)
{
    const LLVMTargetDataRef layout = LLVMGetModuleDataLayout(module);
    if (!streams(layout, function))
        return false;
    ir_each_block(block, function) if (turns(block)) ask_for_pages(module, layout, block);
    set(module, function, "prefer-vector-width", "256");
    set(module, function, "min-legal-vector-width", "256"); /* no argument is wider */
    return true;
}
