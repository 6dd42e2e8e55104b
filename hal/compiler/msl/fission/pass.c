/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the steps over a module's kernels, with LLVM's own passes between them. */
#include "hal/compiler/msl/fission/pass.h"

#include "hal/base/text.h"
#include "hal/compiler/msl/fission/pipeline.h"
#include "hal/compiler/msl/fission/positions.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/IRReader.h>
#include <stdlib.h>

/* ---- Shape of the function
 * ------------------------------------------------------------------------ */

static bool is_ignorable(const char *name)
{
    return ir_starts_with(name, "llvm.lifetime") || ir_starts_with(name, "llvm.assume") ||
           ir_starts_with(name, "llvm.dbg") || ir_starts_with(name, "llvm.invariant") ||
           ir_starts_with(name, "llvm.experimental.noalias");
}

/* Allocas first, and all of a fixed size. */
static bool hoist_allocas(struct fission *f)
{
    const ir_value first = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(f->function));
    ir_each_block(block, f->function) ir_each_instruction(item, block)
    {
        if (!ir_is(item, LLVMAlloca) || item == first)
            continue;
        if (!LLVMIsAConstantInt(LLVMGetOperand(item, 0)))
            return fission_refuse(f, "it has an array whose size is known only at run time");
        LLVMInstructionRemoveFromParent(item);
        LLVMPositionBuilderBefore(f->builder, first);
        ir_insert(f->builder, item);
    }
    return true;
}

static bool check_instruction(struct fission *f, ir_value item)
{
    if (ir_is(item, LLVMInvoke) || ir_is(item, LLVMIndirectBr) || ir_is(item, LLVMCallBr))
        return fission_refuse(f, "it has control flow that exists in C++ but not in kernels");
    if (!ir_is(item, LLVMCall))
        return true;
    const ir_value called = LLVMGetCalledValue(item);
    if (!LLVMIsAFunction(called))
        return LLVMIsAInlineAsm(called) || fission_refuse(f, "it calls through a pointer");
    if (LLVMCountBasicBlocks(called) && !fission_waits(f, item))
        return fission_refuse(f, "it calls '%.150s', which could not be inlined", ir_callee(item));
    return true;
}

static bool join_returns(struct fission *f)
{
    f->last = LLVMAppendBasicBlockInContext(f->context, f->function, "end");
    bool returns = false;
    ir_each_block(block, f->function)
    {
        const ir_value end = LLVMGetBasicBlockTerminator(block);
        if (block == f->last || !ir_is(end, LLVMRet))
            continue;
        returns = true;
        LLVMInstructionEraseFromParent(end);
        LLVMPositionBuilderAtEnd(f->builder, block);
        LLVMBuildBr(f->builder, f->last);
    }
    LLVMPositionBuilderAtEnd(f->builder, f->last);
    LLVMBuildRetVoid(f->builder);
    ir_each_block(block, f->function)
    {
        const ir_value first = LLVMGetFirstInstruction(block);
        if (block == LLVMGetEntryBasicBlock(f->function) || !ir_is(first, LLVMBr) ||
            LLVMGetNumSuccessors(first) != 1 || LLVMGetSuccessor(first, 0) != f->last)
            continue;
        LLVMReplaceAllUsesWith(LLVMBasicBlockAsValue(block), LLVMBasicBlockAsValue(f->last));
        LLVMDeleteBasicBlock(block);
    }
    return returns || fission_refuse(f, "it never returns");
}

static bool normalise(struct fission *f)
{
    ir_each_block(block, f->function) ir_each_instruction(item, block)
    {
        if (is_ignorable(ir_callee(item)))
            LLVMInstructionEraseFromParent(item);
        else if (!check_instruction(f, item))
            return false;
    }
    enum { MAX_BLOCKS = 4000 };
    if (LLVMCountBasicBlocks(f->function) > MAX_BLOCKS)
        return fission_refuse(f, "it has %u basic blocks; %d are allowed",
                              LLVMCountBasicBlocks(f->function), MAX_BLOCKS);
    return join_returns(f) && hoist_allocas(f);
}

/* ---- One kernel
 * -------------------------------------------------------------------------------------- */

/* A distinct node without operands, which the C API cannot make. */
static LLVMMetadataRef make_access_group(LLVMContextRef context)
{
    static const char text[] = "!g = !{!0}\n!0 = distinct !{}\n";
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(text, sizeof text - 1, "group");
    LLVMModuleRef module = NULL;
    char *message = NULL;
    if (LLVMParseIRInContext(context, buffer, &module, &message))
        abort(); /* the text is a constant */
    ir_value group;
    LLVMGetNamedMetadataOperands(module, "g", &group);
    const LLVMMetadataRef node = LLVMValueAsMetadata(group);
    LLVMDisposeModule(module);
    return node;
}

static void mark_shared(struct fission *f)
{
    ir_map_finish(&f->shared);
    ir_each_instruction(item, LLVMGetEntryBasicBlock(f->function))
    {
        size_t length;
        if (ir_is(item, LLVMAlloca) &&
            ir_starts_with(LLVMGetValueName2(item, &length), "group.variable"))
            ir_map_set(&f->shared, item, 1);
    }
}

static bool run_stage(struct fission *f, enum fission_stage stage)
{
    f->stage = stage;
    ir_map_finish(&f->starts);
    bool done = normalise(f);
    if (done) {
        mark_shared(f);
        if (stage != FISSION_SIMDGROUPS)
            fission_peel_loops(f);
        done = (stage != FISSION_LANES || fission_check_tiles(f)) && fission_find_regions(f) &&
               fission_build_loops(f);
    }
    if (done && LLVMVerifyFunction(f->function, LLVMReturnStatusAction))
        done = fission_refuse(f, "internal error: stage %d made a broken function", (int)stage);
    return done;
}

static void close_kernel(struct fission *f)
{
    fission_free_removed(f);
    ir_list_finish(&f->removed);
    cfg_finish(&f->cfg);
    ir_map_finish(&f->starts);
    ir_map_finish(&f->varying);
    ir_map_finish(&f->divergent);
    ir_map_finish(&f->leaving);
    ir_map_finish(&f->shared);
    ir_map_finish(&f->peeled);
    free(f->owner);
    LLVMDisposeBuilder(f->builder);
}

static enum hal_status open_kernel(struct fission *f, LLVMModuleRef module,
                                   const struct msl_fission_kernel *kernel, char *reason)
{
    const LLVMContextRef context = LLVMGetModuleContext(module);
    *f = (struct fission){
        .module = module,
        .context = context,
        .function = LLVMGetNamedFunction(module, kernel->function),
        .i1 = LLVMInt1TypeInContext(context),
        .i8 = LLVMInt8TypeInContext(context),
        .i32 = LLVMInt32TypeInContext(context),
        .i64 = LLVMInt64TypeInContext(context),
        .pointer = LLVMPointerTypeInContext(context, 0),
        .kernel = kernel,
        .reason = reason,
    };
    if (!f->function || !LLVMCountBasicBlocks(f->function))
        return hal_fail(HAL_NOT_FOUND, "there is no function '%s'", kernel->function);
    if (LLVMCountParams(f->function) != MSL_FISSION_PARAMETERS)
        return hal_fail(HAL_INVALID, "'%s' is not a thread function: it has %s, not %d",
                        kernel->function,
                        hal_count(LLVMCountParams(f->function), "parameter", "parameters").text,
                        MSL_FISSION_PARAMETERS);
    for (unsigned i = 0; i < MSL_FISSION_PARAMETERS; i++)
        if (LLVMTypeOf(LLVMGetParam(f->function, i)) !=
            (i == MSL_FISSION_LAUNCH ? f->pointer : f->i32))
            return hal_fail(HAL_INVALID, "'%s' is not a thread function: parameter %u",
                            kernel->function, i);
    return HAL_OK;
}

/* What failed may be half done: it becomes a function that does nothing. */
static void give_up(struct fission *f)
{
    fission_free_removed(f);
    for (ir_block block = LLVMGetFirstBasicBlock(f->function); block;
         block = LLVMGetNextBasicBlock(block))
        ir_each_instruction(item, block)
        {
            const ir_type type = LLVMTypeOf(item);
            if (LLVMGetTypeKind(type) != LLVMVoidTypeKind &&
                LLVMGetTypeKind(type) != LLVMTokenTypeKind)
                LLVMReplaceAllUsesWith(item, LLVMGetUndef(type));
        }
    ir_each_block(block, f->function) ir_each_instruction(item, block)
        LLVMInstructionEraseFromParent(item);
    const ir_block entry = LLVMGetFirstBasicBlock(f->function);
    while (LLVMGetNextBasicBlock(entry))
        LLVMDeleteBasicBlock(LLVMGetNextBasicBlock(entry));
    LLVMPositionBuilderAtEnd(f->builder, entry);
    LLVMBuildRetVoid(f->builder);
}

/* ---- All kernels
 * --------------------------------------------------------------------------------------- */

struct batch {
    struct fission *kernels;
    struct msl_fission_result *results;
    size_t count;
};

typedef bool step_function(struct fission *f);

static void each_kernel(struct batch *batch, step_function *step)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct msl_fission_result *result = &batch->results[i];
        if (!result->split)
            continue;
        result->split = step(&batch->kernels[i]);
        if (!result->split)
            give_up(&batch->kernels[i]);
    }
}

static bool join_tiles(struct fission *f)
{
    fission_keep_group_variables(f);
    fission_join_tiles(f);
    return true;
}

static bool first_stage(struct fission *f)
{
    fission_forget_hints(f);
    if (!fission_uses_simd(f))
        return run_stage(f, FISSION_THREADS);
    fission_add_prefetches(f);
    return run_stage(f, FISSION_LANES);
}

static bool second_stage(struct fission *f)
{
    return f->stage != FISSION_LANES || run_stage(f, FISSION_SIMDGROUPS);
}

/* The functions that are not split run threads side by side. */
static void add_positions(const struct batch *batch, LLVMModuleRef module)
{
    struct ir_map split = {0};
    for (size_t i = 0; i < batch->count; i++)
        ir_map_set(&split, batch->kernels[i].function, 1);
    for (ir_value f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        size_t length;
        if (LLVMCountBasicBlocks(f) && !ir_map_get(&split, f) &&
            !ir_starts_with(LLVMGetValueName2(f, &length), "__msl_"))
            msl_positions_add(module, f);
    }
    ir_map_finish(&split);
}

static enum hal_status run_steps(struct batch *batch, LLVMModuleRef module,
                                 LLVMTargetMachineRef machine,
                                 const struct msl_fission_kernel *kernels)
{
    HAL_TRY(msl_pipeline_inline(module, machine, kernels, batch->count));
    add_positions(batch, module);
    each_kernel(batch, fission_prepare);
    HAL_TRY(msl_pipeline_simplify(module, machine));
    each_kernel(batch, fission_choose_unrolling);
    HAL_TRY(msl_pipeline_unroll(module, machine));
    each_kernel(batch, join_tiles);
    HAL_TRY(msl_pipeline_clean(module, machine));
    each_kernel(batch, first_stage);
    HAL_TRY(msl_pipeline_promote(module, machine));
    each_kernel(batch, second_stage);
    return HAL_OK;
}

enum hal_status msl_fission_run(LLVMModuleRef module, LLVMTargetMachineRef machine,
                                const struct msl_fission_kernel *kernels, size_t kernel_count,
                                struct msl_fission_result *out_results)
{
    struct batch batch = {.kernels = ir_alloc(kernel_count, sizeof *batch.kernels),
                          .results = out_results};
    enum hal_status status = HAL_OK;
    for (size_t i = 0; i < kernel_count && status == HAL_OK; i++) {
        out_results[i] = (struct msl_fission_result){.split = true};
        status = open_kernel(&batch.kernels[i], module, &kernels[i], out_results[i].reason);
        batch.count += status == HAL_OK;
    }
    const LLVMMetadataRef group = make_access_group(LLVMGetModuleContext(module));
    for (size_t i = 0; i < batch.count; i++) {
        batch.kernels[i].builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
        batch.kernels[i].access_group = group;
    }
    if (status == HAL_OK)
        status = run_steps(&batch, module, machine, kernels);
    for (size_t i = 0; i < batch.count; i++)
        close_kernel(&batch.kernels[i]);
    free(batch.kernels);
    return status;
}
