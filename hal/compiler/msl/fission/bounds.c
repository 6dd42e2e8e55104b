/* SPDX-License-Identifier: Apache-2.0 */
/* Puts a check before every access. */
#include "hal/compiler/msl/fission/bounds.h"

#include "hal/compiler/msl/fission/ir.h"

#include <llvm-c/Target.h>
#include <string.h>

struct checker {
    LLVMModuleRef module;
    LLVMTargetDataRef layout;
    LLVMBuilderRef builder;
    ir_value check;
    ir_type check_type;
};

/* Memory of the thread itself or constants of the source; their addresses have no tag. */
static bool is_own(ir_value pointer)
{
    const ir_value root = ir_root(pointer);
    return ir_is(root, LLVMAlloca) || LLVMIsAGlobalVariable(root);
}

static void check_operand(const struct checker *checker, ir_value item, unsigned operand,
                          ir_value bytes, bool is_write)
{
    const ir_value pointer = LLVMGetOperand(item, operand);
    const LLVMContextRef context = LLVMGetModuleContext(checker->module);
    if (is_own(pointer))
        return;
    LLVMPositionBuilderBefore(checker->builder, item);
    ir_value arguments[] = {pointer, bytes,
                            LLVMConstInt(LLVMInt32TypeInContext(context), is_write, false)};
    LLVMSetOperand(
        item, operand,
        LLVMBuildCall2(checker->builder, checker->check_type, checker->check, arguments, 3, ""));
}

static void check_typed(const struct checker *checker, ir_value item, unsigned operand,
                        ir_type type, bool is_write)
{
    const ir_type word = LLVMInt64TypeInContext(LLVMGetModuleContext(checker->module));
    check_operand(checker, item, operand,
                  LLVMConstInt(word, LLVMStoreSizeOfType(checker->layout, type), false), is_write);
}

/* memcpy, memmove, memset: the third operand is the length. */
static void check_block(const struct checker *checker, ir_value item)
{
    const ir_type word = LLVMInt64TypeInContext(LLVMGetModuleContext(checker->module));
    const char *const name = ir_callee(item);
    const bool copies =
        ir_starts_with(name, "llvm.memcpy.") || ir_starts_with(name, "llvm.memmove.");
    if (!copies && !ir_starts_with(name, "llvm.memset."))
        return;
    LLVMPositionBuilderBefore(checker->builder, item);
    const ir_value bytes =
        LLVMBuildIntCast2(checker->builder, LLVMGetOperand(item, 2), word, false, "");
    check_operand(checker, item, 0, bytes, true);
    if (copies)
        check_operand(checker, item, 1, bytes, false);
}

static void check_instruction(const struct checker *checker, ir_value item)
{
    if (ir_is(item, LLVMLoad))
        check_typed(checker, item, 0, LLVMTypeOf(item), false);
    else if (ir_is(item, LLVMStore))
        check_typed(checker, item, 1, LLVMTypeOf(LLVMGetOperand(item, 0)), true);
    else if (ir_is(item, LLVMAtomicRMW) || ir_is(item, LLVMAtomicCmpXchg))
        check_typed(checker, item, 0, LLVMTypeOf(LLVMGetOperand(item, 1)), true);
    else if (ir_is(item, LLVMCall))
        check_block(checker, item);
}

static bool is_part_of_checking(ir_value function)
{
    size_t length;
    const char *const name = LLVMGetValueName2(function, &length);
    return ir_starts_with(name, "__msl_checked") || ir_starts_with(name, "__ubsan_");
}

enum hal_status msl_bounds_add_checks(LLVMModuleRef module)
{
    struct checker checker = {.module = module,
                              .layout = LLVMGetModuleDataLayout(module),
                              .check = LLVMGetNamedFunction(module, "__msl_checked")};
    if (!checker.check)
        return hal_fail(HAL_FAILED, "the source was not compiled for checks");
    checker.check_type = LLVMGlobalGetValueType(checker.check);
    checker.builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (ir_value f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        if (is_part_of_checking(f))
            continue;
        ir_each_block(block, f)
        {
            ir_each_instruction(item, block) check_instruction(&checker, item);
        }
    }
    LLVMDisposeBuilder(checker.builder);
    return HAL_OK;
}
