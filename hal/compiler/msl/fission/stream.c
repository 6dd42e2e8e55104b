/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that only stream. Processors with registers of 512 bits fetch what is not in the nearest
 * caches up to a fifth faster where 256 bits are asked for at a time; where there is more to
 * compute than to fetch, narrow vectors take up to 1.6 times as long (figures: docs/benchmarks.md).
 * So it is decided by what a function does, which is known when all other passes are through; code
 * generation then makes two operations of each. */
#include "hal/compiler/msl/fission/stream.h"

#include "hal/compiler/msl/fission/ir.h"
#include "hal/compiler/msl/fission/pages.h"

#include <llvm-c/Target.h>
#include <string.h>

enum { NARROW_BITS = 256 };

/* What a block does with vectors that are too wide. */
struct wide_work {
    unsigned accesses, operations;
    bool other; /* what does not become two of the half */
    bool slow;  /* what takes long */
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
    case LLVMGetElementPtr: work->other = true; return;
    case LLVMFDiv:
    case LLVMFRem:
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem: work->slow = true; return;
    case LLVMCall: work->slow |= !is_cheap_call(item); break;
    default: break;
    }
    work->operations++;
}

/* Preparation outside of the blocks that access memory runs once; expensive operations count there
 * too, since they may be between two accesses. A wide phi is loop-carried: a sum, or reused. */
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
        if (work.slow || (work.accesses && (work.other || work.operations > work.accesses)))
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

bool msl_stream_tune(LLVMModuleRef module, ir_value function)
{
    if (!streams(LLVMGetModuleDataLayout(module), function))
        return false;
    msl_pages_ask(module, function);
    set(module, function, "prefer-vector-width", "256");
    set(module, function, "min-legal-vector-width", "256"); /* no argument is wider */
    return true;
}
