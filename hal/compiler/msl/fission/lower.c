/* SPDX-License-Identifier: Apache-2.0 */
/* Turns runtime calls into values: operations whose operands and results are in memory become calls
 * that take and return them, so that promotion to registers works across them. */
#include "hal/compiler/msl/fission/pass.h"

#include <stdio.h>
#include <string.h>

static ir_type integer(const struct fission *f, uint64_t bits)
{
    return LLVMIntTypeInContext(f->context, (unsigned)bits);
}

static bool constant_argument(ir_value call, unsigned index, uint64_t *out_value)
{
    const ir_value argument = LLVMGetOperand(call, index);
    if (!LLVMIsAConstantInt(argument))
        return false;
    *out_value = LLVMConstIntGetZExtValue(argument);
    return true;
}

/* ---- Runtime calls --------------------------------------------------------------------------- */

static bool lower_exchange(struct fission *f, ir_value call)
{
    uint64_t bytes;
    if (!constant_argument(call, 1, &bytes) || bytes > 16 || (bytes & (bytes - 1)) || !bytes)
        return fission_refuse(f, "a simd operation exchanges a value of an unusual size");
    char name[32];
    snprintf(name, sizeof name, "fission.publish.i%u", (unsigned)bytes * 8);
    ir_value value = LLVMBuildLoad2(f->builder, integer(f, bytes * 8), LLVMGetOperand(call, 0), "");
    LLVMSetAlignment(value, 1);
    const ir_value lanes = ir_call(f->builder, name, f->pointer, &value, 1, true);
    const ir_value active = ir_call(f->builder, "fission.active", f->i32, NULL, 0, true);
    LLVMBuildStore(f->builder, active, LLVMGetOperand(call, 2));
    LLVMReplaceAllUsesWith(call, lanes);
    LLVMInstructionEraseFromParent(call);
    return true;
}

static bool lower_tile(struct fission *f, ir_value call, bool collects)
{
    uint64_t bytes;
    if (!constant_argument(call, 2, &bytes) || (bytes != 2 && bytes != 4))
        return fission_refuse(f, "a simdgroup matrix has elements of an unusual size");
    const ir_type tile = LLVMVectorType(integer(f, bytes * 8), 64);
    const ir_type pair = integer(f, bytes * 16);
    char name[32];
    snprintf(name, sizeof name, "fission.%s.i%u", collects ? "collect" : "spread",
             (unsigned)bytes * 16);
    ir_value from = LLVMBuildLoad2(f->builder, collects ? pair : tile, LLVMGetOperand(call, 0), "");
    LLVMSetAlignment(from, 1);
    const ir_value to = ir_call(f->builder, name, collects ? tile : pair, &from, 1, collects);
    LLVMSetAlignment(LLVMBuildStore(f->builder, to, LLVMGetOperand(call, 1)), 1);
    LLVMInstructionEraseFromParent(call);
    return true;
}

static bool lower_call(struct fission *f, ir_value call)
{
    const char *name = ir_callee(call);
    LLVMPositionBuilderBefore(f->builder, call);
    if (strcmp(name, "__msl_exchange") == 0)
        return lower_exchange(f, call);
    if (strcmp(name, "__msl_spread") == 0)
        return lower_tile(f, call, false);
    if (strcmp(name, "__msl_collect") == 0)
        return lower_tile(f, call, true);
    if (strcmp(name, "__msl_simdgroup_barrier") == 0) {
        ir_call(f->builder, "fission.sync", LLVMVoidTypeInContext(f->context), NULL, 0, true);
        LLVMInstructionEraseFromParent(call);
    } else if (strcmp(name, "__msl_lane") == 0) {
        LLVMReplaceAllUsesWith(call, fission_parameter(f, MSL_FISSION_LANE));
        LLVMInstructionEraseFromParent(call);
    }
    return true;
}

/* ---- Threadgroup memory ---------------------------------------------------------------------- */

/* The description of threadgroup variables that `offset` was loaded from; NULL: something else. */
static ir_value description_of(ir_value offset)
{
    if (!ir_is(offset, LLVMLoad))
        return NULL;
    ir_value pointer = LLVMGetOperand(offset, 0);
    while (LLVMIsConstant(pointer) && !LLVMIsAGlobalVariable(pointer) &&
           LLVMGetNumOperands(pointer) > 0)
        pointer = LLVMGetOperand(pointer, 0);
    const char *const section = LLVMIsAGlobalVariable(pointer) ? LLVMGetSection(pointer) : NULL;
    return section && strcmp(section, "msl_variables") == 0 ? pointer : NULL;
}

static uint64_t described(ir_value description, enum msl_fission_variables member)
{
    return LLVMConstIntGetZExtValue(
        LLVMGetAggregateElement(LLVMGetInitializer(description), (unsigned)member));
}

/* Until the split the function is one thread, and its group's other threads write into the
 * variables at each wait. The optimiser must not believe otherwise of memory that the function
 * allocates, so a call hands it out, to a function that does not exist. */
static const char handed_out[] = "msl.handed.out";

static void hand_out(struct fission *f, ir_value variables)
{
    const LLVMTypeRef pointer = LLVMTypeOf(variables);
    LLVMTypeRef type =
        LLVMFunctionType(LLVMVoidTypeInContext(f->context), (LLVMTypeRef[]){pointer}, 1, false);
    LLVMModuleRef module = LLVMGetGlobalParent(f->function);
    ir_value function = LLVMGetNamedFunction(module, handed_out);
    if (!function)
        function = LLVMAddFunction(module, handed_out, type);
    LLVMBuildCall2(f->builder, type, function, &variables, 1, "");
}

void fission_keep_group_variables(struct fission *f)
{
    ir_each_block(block, f->function) ir_each_instruction(item, block)
    {
        if (strcmp(ir_callee(item), handed_out) == 0)
            LLVMInstructionEraseFromParent(item);
    }
}

/* One function runs a whole group, so the group's variables can be its own, without aliases. */
static ir_value own_copy(struct fission *f, struct ir_map *copies, ir_value description)
{
    ir_value copy = (ir_value)ir_map_get(copies, description);
    if (!copy) {
        const uint64_t bytes = described(description, MSL_FISSION_VARIABLES_BYTES);
        const uint64_t alignment = described(description, MSL_FISSION_VARIABLES_ALIGNMENT);
        LLVMPositionBuilderBefore(f->builder,
                                  LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(f->function)));
        copy = LLVMBuildAlloca(f->builder, LLVMArrayType(f->i8, (unsigned)bytes), "group.variable");
        LLVMSetAlignment(copy, alignment < 64 ? 64 : (unsigned)alignment);
        hand_out(f, copy);
        ir_map_set(copies, description, (uintptr_t)copy);
    }
    return copy;
}

static void own_group_variables(struct fission *f)
{
    struct ir_map copies = {0};
    ir_each_block(block, f->function) ir_each_instruction(item, block)
    {
        if (!ir_is(item, LLVMGetElementPtr) || ir_operand_count(item) != 2)
            continue;
        const ir_value description = description_of(LLVMGetOperand(item, 1));
        if (!description)
            continue;
        LLVMReplaceAllUsesWith(item, own_copy(f, &copies, description));
        LLVMInstructionEraseFromParent(item);
    }
    ir_map_finish(&copies);
}

static void fix_size(struct fission *f)
{
    for (int i = 0; i < 3 && fission_is_specialised(f); i++)
        LLVMReplaceAllUsesWith(
            fission_parameter(f, (enum msl_fission_parameter)(MSL_FISSION_SIZE_X + i)),
            fission_number(f, f->kernel->workgroup_size[i]));
}

bool fission_prepare(struct fission *f)
{
    ir_each_block(block, f->function) ir_each_instruction(item, block)
    {
        if (!lower_call(f, item))
            return false;
    }
    own_group_variables(f);
    fix_size(f);
    return true;
}

bool fission_uses_simd(const struct fission *f)
{
    ir_each_block(block, f->function) ir_each_instruction(item, block)
    {
        if (ir_starts_with(ir_callee(item), "fission."))
            return true;
    }
    return false;
}

bool fission_waits(const struct fission *f, ir_value item)
{
    const char *name = ir_callee(item);
    if (strcmp(name, "__msl_group_barrier") == 0)
        return true;
    if (f->stage == FISSION_SIMDGROUPS)
        return false;
    return ir_starts_with(name, "fission.publish") || ir_starts_with(name, "fission.collect") ||
           ir_starts_with(name, "fission.largest") || strcmp(name, "fission.sync") == 0;
}
