/* SPDX-License-Identifier: Apache-2.0 */
/* Runs LLVM's passes by name. */
#include "hal/compiler/msl/fission/pipeline.h"

#include "hal/compiler/msl/fission/ir.h"

#include <llvm-c/Error.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <string.h>

/* Loaded as one wide vector, `values[lane 7 & 31]` reads beyond the array: the vectoriser assumes
 * that the stride never wraps around. Gathers are correct. */
static void avoid_wide_strides(void)
{
    static bool done;
    static const char *const arguments[] = {"hal-msl-cc", "-enable-interleaved-mem-accesses=false"};
    if (!done)
        LLVMParseCommandLineOptions(2, arguments, NULL);
    done = true;
}

enum hal_status msl_pipeline_machine(LLVMTargetMachineRef *out_machine)
{
    avoid_wide_strides();
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    char *triple = LLVMGetDefaultTargetTriple(), *message = NULL;
    char *processor = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
    LLVMTargetRef target;
    enum hal_status status = HAL_OK;
    *out_machine = NULL;
    if (LLVMGetTargetFromTriple(triple, &target, &message))
        status = hal_fail(HAL_UNSUPPORTED, "no code for '%s': %s", triple, message);
    else
        *out_machine =
            LLVMCreateTargetMachine(target, triple, processor, features, LLVMCodeGenLevelAggressive,
                                    LLVMRelocPIC, LLVMCodeModelDefault);
    LLVMDisposeMessage(message);
    LLVMDisposeMessage(triple);
    LLVMDisposeMessage(processor);
    LLVMDisposeMessage(features);
    return status;
}

static enum hal_status run(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *passes)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMPassBuilderOptionsSetLoopVectorization(options, true);
    LLVMPassBuilderOptionsSetSLPVectorization(options, true);
    LLVMPassBuilderOptionsSetLoopUnrolling(options, true);
    LLVMPassBuilderOptionsSetLoopInterleaving(options, true);
    LLVMErrorRef error = LLVMRunPasses(module, passes, machine, options);
    LLVMDisposePassBuilderOptions(options);
    if (!error)
        return HAL_OK;
    char *message = LLVMGetErrorMessage(error);
    const enum hal_status status = hal_fail(HAL_FAILED, "the compiler's passes: %s", message);
    LLVMDisposeErrorMessage(message);
    return status;
}

static unsigned attribute(const char *name)
{
    return LLVMGetEnumAttributeKindForName(name, strlen(name));
}

static void remove_attribute(ir_value function, const char *name)
{
    LLVMRemoveEnumAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                   attribute(name));
}

static void add_attribute(LLVMModuleRef module, ir_value function, const char *name)
{
    LLVMAddAttributeAtIndex(
        function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
        LLVMCreateEnumAttribute(LLVMGetModuleContext(module), attribute(name), 0));
}

/* Nothing but the module's table is used from outside. */
static void mark_for_inlining(LLVMModuleRef module, const struct ir_map *kept)
{
    for (ir_value f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        size_t length;
        if (!LLVMCountBasicBlocks(f))
            continue;
        remove_attribute(f, "optnone");
        if (ir_starts_with(LLVMGetValueName2(f, &length), "__msl_") && !ir_map_get(kept, f))
            continue;
        LLVMSetLinkage(f, ir_map_get(kept, f) ? LLVMExternalLinkage : LLVMInternalLinkage);
        remove_attribute(f, ir_map_get(kept, f) ? "alwaysinline" : "noinline");
        add_attribute(module, f, ir_map_get(kept, f) ? "noinline" : "alwaysinline");
    }
}

enum hal_status msl_pipeline_inline(LLVMModuleRef module, LLVMTargetMachineRef machine,
                                    const struct msl_fission_kernel *kernels, size_t kernel_count)
{
    struct ir_map kept = {0};
    for (size_t i = 0; i < kernel_count; i++)
        ir_map_set(&kept, LLVMGetNamedFunction(module, kernels[i].function), 1);
    mark_for_inlining(module, &kept);
    ir_map_finish(&kept);
    return run(module, machine, "always-inline,globaldce");
}

enum hal_status msl_pipeline_simplify(LLVMModuleRef module, LLVMTargetMachineRef machine)
{
    return run(module, machine,
               "function(sroa,early-cse<memssa>,simplifycfg,instcombine,loop-simplify,lcssa,"
               "loop-mssa(licm),simplifycfg,instcombine,early-cse<memssa>,loop-simplify)");
}

enum hal_status msl_pipeline_unroll(LLVMModuleRef module, LLVMTargetMachineRef machine)
{
    return run(module, machine,
               "function(loop-simplify,lcssa,loop-unroll<O3;no-partial;no-runtime;no-upperbound;no-"
               "peeling>,"
               "sroa,instcombine,simplifycfg,adce,loop-simplify,lcssa)");
}

enum hal_status msl_pipeline_clean(LLVMModuleRef module, LLVMTargetMachineRef machine)
{
    return run(module, machine, "function(adce,simplifycfg,loop-simplify,lcssa)");
}

enum hal_status msl_pipeline_promote(LLVMModuleRef module, LLVMTargetMachineRef machine)
{
    return run(module, machine, "function(mem2reg,simplifycfg)");
}

enum hal_status msl_pipeline_optimise(LLVMModuleRef module, LLVMTargetMachineRef machine)
{
    return run(module, machine,
               "globaldce,function(mem2reg,simplifycfg,instcombine,early-cse<memssa>,"
               "loop-simplify,lcssa,loop-mssa(licm,simple-loop-unswitch<nontrivial>),simplifycfg,"
               "loop-simplify,lcssa,loop(indvars),loop-vectorize,instcombine,simplifycfg),"
               "default<O3>");
}

enum hal_status msl_pipeline_optimise_little(LLVMModuleRef module, LLVMTargetMachineRef machine)
{
    return run(module, machine, "default<O1>");
}

enum hal_status msl_pipeline_optimise_as_clang(LLVMModuleRef module, LLVMTargetMachineRef machine)
{
    return run(module, machine, "default<O3>");
}

enum hal_status msl_pipeline_keep(LLVMModuleRef module, LLVMTargetMachineRef machine)
{
    return run(module, machine, "default<O0>");
}

enum hal_status msl_pipeline_write_object(LLVMModuleRef module, LLVMTargetMachineRef machine,
                                          const char *path)
{
    char *message = NULL;
    enum hal_status status = HAL_OK;
    if (LLVMTargetMachineEmitToFile(machine, module, (char *)path, LLVMObjectFile, &message))
        status = hal_fail(HAL_IO, "cannot write '%s': %s", path, message);
    LLVMDisposeMessage(message);
    return status;
}
