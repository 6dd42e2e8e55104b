/* SPDX-License-Identifier: Apache-2.0 */
/* hal-msl-cc: takes a kernel source as bitcode and produces an object file: behaviour undefined in
 * C++ is defined, kernels are split, and kernels that stay whole report each thread's position.
 * hal/compiler/msl starts it like the compiler, to keep LLVM out of programs that run kernels. */
#include "hal/base/walled.h"
#include "hal/compiler/msl/fission/arithmetic.h"
#include "hal/compiler/msl/fission/bounds.h"
#include "hal/compiler/msl/fission/fission.h"
#include "hal/compiler/msl/fission/identity.h"
#include "hal/compiler/msl/fission/ir.h"
#include "hal/compiler/msl/fission/pipeline.h"
#include "hal/compiler/msl/fission/positions.h"
#include "hal/compiler/msl/fission/stream.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm/Config/llvm-config.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first members of struct msl_abi_kernel. */
enum member { NAME, TAG, RUN_GROUPS, RUN_THREAD, RUN_SPLIT, THREAD, LOWERING, SIZE, WAITS };

/* Exit codes; anything else is a crash. */
enum { DONE = 0, WRONG_USE = 2, CANNOT = 3, REFUSED = 4 };

/* What is asked for. */
enum work { MAY_REFUSE, MUST_SPLIT, CHECK_BOUNDS, OPTIMISE, KEEP, UNKNOWN };

/* The kernels that wait, by the same index in all. */
struct table {
    LLVMValueRef *entries;
    struct msl_fission_kernel *kernels;
    struct msl_fission_result *results;
    size_t count;
};

static void ignore_remarks(LLVMDiagnosticInfoRef info, void *unused)
{
    (void)info;
    (void)unused;
}

static enum hal_status read_bitcode(const char *path, LLVMContextRef context,
                                    LLVMModuleRef *out_module)
{
    LLVMMemoryBufferRef buffer = NULL;
    char *message = NULL;
    enum hal_status status = HAL_OK;
    if (LLVMCreateMemoryBufferWithContentsOfFile(path, &buffer, &message))
        status = hal_fail(HAL_IO, "cannot read '%s': %s", path, message);
    else if (LLVMParseBitcodeInContext2(context, buffer, out_module))
        status = hal_fail(HAL_VERSION, "'%s' is not bitcode of LLVM %d or older", path,
                          LLVM_VERSION_MAJOR);
    LLVMDisposeMemoryBuffer(buffer);
    LLVMDisposeMessage(message);
    return status;
}

/* ---- The table of kernels -------------------------------------------------------------------- */

static bool is_entry(LLVMValueRef global)
{
    const char *const section = LLVMGetSection(global);
    return section && strcmp(section, "msl_kernels") == 0 && LLVMGetInitializer(global);
}

static LLVMValueRef member(LLVMValueRef global, enum member index)
{
    return LLVMGetAggregateElement(LLVMGetInitializer(global), (unsigned)index);
}

static const char *name_of(LLVMValueRef function)
{
    size_t length;
    return LLVMGetValueName2(function, &length);
}

static void read_table(LLVMModuleRef module, struct table *table)
{
    size_t count = 0;
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g; g = LLVMGetNextGlobal(g))
        count += is_entry(g);
    table->entries = ir_alloc(count, sizeof(LLVMValueRef));
    table->kernels = ir_alloc(count, sizeof *table->kernels);
    table->results = ir_alloc(count, sizeof *table->results);
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g; g = LLVMGetNextGlobal(g)) {
        if (!is_entry(g) || !LLVMIsAFunction(member(g, THREAD)))
            continue;
        struct msl_fission_kernel *const kernel = &table->kernels[table->count];
        kernel->function = name_of(member(g, THREAD));
        for (unsigned i = 0; i < 3; i++)
            kernel->workgroup_size[i] =
                (uint32_t)LLVMConstIntGetZExtValue(LLVMGetAggregateElement(member(g, SIZE), i));
        table->entries[table->count++] = g;
    }
}

static LLVMValueRef text_constant(LLVMModuleRef module, const char *text)
{
    const LLVMContextRef context = LLVMGetModuleContext(module);
    const LLVMValueRef contents =
        LLVMConstStringInContext(context, text, (unsigned)strlen(text), false);
    const LLVMValueRef global = LLVMAddGlobal(module, LLVMTypeOf(contents), "lowering");
    LLVMSetInitializer(global, contents);
    LLVMSetGlobalConstant(global, true);
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    return global;
}

/* What nothing refers to any more disappears. */
static void decide(LLVMModuleRef module, const struct table *table, size_t index)
{
    const LLVMValueRef entry = table->entries[index];
    const struct msl_fission_result *const result = &table->results[index];
    const LLVMValueRef old = LLVMGetInitializer(entry);
    const LLVMTypeRef type = LLVMTypeOf(old);
    const unsigned count = LLVMCountStructElementTypes(type);
    LLVMValueRef *const values = ir_alloc(count, sizeof(LLVMValueRef));
    for (unsigned i = 0; i < count; i++)
        values[i] = LLVMGetAggregateElement(old, i);
    const LLVMValueRef null = LLVMConstNull(LLVMTypeOf(values[RUN_SPLIT]));
    values[THREAD] = null;
    if (!result->split) {
        char text[MSL_FISSION_REASON_BYTES + 16];
        snprintf(text, sizeof text, "fibers: %s", result->reason);
        values[LOWERING] = text_constant(module, text);
        values[RUN_SPLIT] = null;
    } else if (table->kernels[index].workgroup_size[0] == 0) {
        values[RUN_GROUPS] = values[RUN_SPLIT];
        values[RUN_THREAD] = values[RUN_SPLIT] = null;
    }
    LLVMSetInitializer(entry, LLVMIsLiteralStruct(type)
                                  ? LLVMConstStructInContext(LLVMGetModuleContext(module), values,
                                                             count, LLVMIsPackedStruct(type))
                                  : LLVMConstNamedStruct(type, values, count));
    free(values);
}

static void free_table(struct table *table)
{
    free(table->entries);
    free(table->kernels);
    free(table->results);
}

/* ---- The way through
 * ----------------------------------------------------------------------------- */

static enum hal_status check_refusals(const struct table *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (!table->results[i].split)
            return hal_fail(HAL_UNSUPPORTED, "a kernel cannot be split: %s",
                            table->results[i].reason);
    return HAL_OK;
}

static enum hal_status verify(LLVMModuleRef module)
{
    char *message = NULL;
    enum hal_status status = HAL_OK;
    if (LLVMVerifyModule(module, LLVMReturnStatusAction, &message))
        status = hal_fail(HAL_FAILED, "the changed module is broken: %.500s", message);
    LLVMDisposeMessage(message);
    return status;
}

static enum hal_status split_module(LLVMModuleRef module, LLVMTargetMachineRef machine,
                                    bool must_split)
{
    struct table table = {0};
    read_table(module, &table);
    enum hal_status status =
        msl_fission_run(module, machine, table.kernels, table.count, table.results);
    if (status == HAL_OK && must_split)
        status = check_refusals(&table);
    for (size_t i = 0; i < table.count && status == HAL_OK; i++) {
        LLVMSetLinkage(member(table.entries[i], THREAD), LLVMInternalLinkage);
        decide(module, &table, i);
    }
    free_table(&table);
    return status == HAL_OK ? verify(module) : status;
}

/* Registers first, which need no checks. */
static enum hal_status check_module(LLVMModuleRef module, LLVMTargetMachineRef machine)
{
    HAL_TRY(msl_pipeline_promote(module, machine));
    HAL_TRY(msl_bounds_add_checks(module));
    return verify(module);
}

/* For a module in which nothing is split. */
static enum hal_status add_positions(LLVMModuleRef module, LLVMTargetMachineRef machine)
{
    if (!msl_positions_are_needed(module))
        return HAL_OK;
    HAL_TRY(msl_pipeline_inline(module, machine, NULL, 0));
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        if (LLVMCountBasicBlocks(f) && !ir_starts_with(name_of(f), "__msl_"))
            msl_positions_add(module, f);
    return HAL_OK;
}

/* For kernels whose threads are independent. */
static void tune_streams(LLVMModuleRef module)
{
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g; g = LLVMGetNextGlobal(g))
        if (is_entry(g) && LLVMIsAFunction(member(g, RUN_GROUPS)) &&
            LLVMConstIntGetZExtValue(member(g, WAITS)) == 0)
            msl_stream_tune(module, member(g, RUN_GROUPS));
}

static enum hal_status do_work(LLVMModuleRef module, LLVMTargetMachineRef machine, enum work work)
{
    if (work != MAY_REFUSE && work != MUST_SPLIT)
        HAL_TRY(add_positions(module, machine));
    switch (work) {
    case MAY_REFUSE:
    case MUST_SPLIT:
        HAL_TRY(split_module(module, machine, work == MUST_SPLIT));
        return msl_pipeline_optimise(module, machine);
    case CHECK_BOUNDS:
        HAL_TRY(check_module(module, machine));
        return msl_pipeline_optimise_little(module, machine);
    case OPTIMISE: HAL_TRY(verify(module)); return msl_pipeline_optimise_as_clang(module, machine);
    case KEEP: HAL_TRY(verify(module)); return msl_pipeline_keep(module, machine);
    case UNKNOWN: break;
    }
    return hal_fail(HAL_INVALID, "no operation was requested");
}

static enum hal_status compile(const char *input, const char *output, enum work work)
{
    const LLVMContextRef context = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(context, ignore_remarks, NULL);
    LLVMModuleRef module = NULL;
    LLVMTargetMachineRef machine = NULL;
    enum hal_status status = msl_pipeline_machine(&machine);
    if (status == HAL_OK)
        status = read_bitcode(input, context, &module);
    if (status == HAL_OK) {
        msl_arithmetic_define(module);
        status = do_work(module, machine, work);
    }
    if (status == HAL_OK && work != CHECK_BOUNDS && work != KEEP)
        tune_streams(module);
    if (status == HAL_OK)
        status = msl_pipeline_write_object(module, machine, output);
    if (module)
        LLVMDisposeModule(module);
    if (machine)
        LLVMDisposeTargetMachine(machine);
    LLVMContextDispose(context);
    return status;
}

static const char usage[] = "usage: hal-msl-cc [--must-split | --may-refuse | --check-bounds | "
                            "--optimise | --keep] BITCODE OBJECT\n"
                            "Splits the kernels of a compiled source at their barriers, adds "
                            "bounds checks, or only defines\n"
                            "behaviour that C++ leaves undefined, with or without optimisation.\n"
                            "libhal starts it.\n";

static enum work read_work(const char *text)
{
    static const char *const names[] = {"--may-refuse", "--must-split", "--check-bounds",
                                        "--optimise", "--keep"};
    enum work work = MAY_REFUSE;
    while (work < UNKNOWN && strcmp(text, names[work]) != 0)
        work++;
    return work;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return fputs(usage, stdout) < 0;
    if (argc == 2 && strcmp(argv[1], "--version") == 0)
        return printf("hal-msl-cc 0.1.0 (LLVM %s)\n", LLVM_VERSION_STRING) < 0;
    if (argc == 2 && strcmp(argv[1], "--identity") == 0)
        return puts(identity) < 0;
    const int first = argc > 1 && strncmp(argv[1], "--", 2) == 0 ? 2 : 1;
    const enum work work = first == 2 ? read_work(argv[1]) : MAY_REFUSE;
    if (argc != first + 2 || work == UNKNOWN) {
        fputs(usage, stderr);
        return WRONG_USE;
    }
    const enum hal_status status = compile(argv[first], argv[first + 1], work);
    if (status == HAL_OK)
        return DONE;
    fprintf(stderr, "hal-msl-cc: %s\n", hal_message());
    return status == HAL_UNSUPPORTED ? REFUSED : CANNOT;
}
