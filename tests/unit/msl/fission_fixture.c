/* SPDX-License-Identifier: Apache-2.0 */
/* Modules from text, and the whole pass. */
#include "tests/unit/msl/fission_fixture.h"

#include "hal/compiler/msl/fission/pipeline.h"
#include "tests/support/test.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>

static LLVMContextRef context;

LLVMModuleRef fission_parse(const char *text)
{
    LLVMModuleRef module = NULL;
    char *message = NULL;
    if (LLVMParseIRInContext(context,
                             LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "test"),
                             &module, &message))
        fail_msg("%s", message);
    return module;
}

int fission_set_up(void **state)
{
    (void)state;
    context = LLVMContextCreate();
    return 0;
}

int fission_tear_down(void **state)
{
    (void)state;
    LLVMContextDispose(context);
    return 0;
}

struct msl_fission_result fission_run_on(LLVMModuleRef module, uint32_t threads,
                                         enum hal_status expected)
{
    LLVMTargetMachineRef machine;
    assert_int_equal(msl_pipeline_machine(&machine), HAL_OK);
    const struct msl_fission_kernel kernel = {
        .function = "k", .workgroup_size = {threads, threads > 0, threads > 0}};
    struct msl_fission_result result = {0};
    assert_int_equal(msl_fission_run(module, machine, &kernel, 1, &result), expected);
    char *message = NULL;
    if (LLVMVerifyModule(module, LLVMReturnStatusAction, &message))
        fail_msg("%s", message);
    LLVMDisposeMessage(message);
    LLVMDisposeTargetMachine(machine);
    return result;
}
