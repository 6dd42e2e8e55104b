/* SPDX-License-Identifier: Apache-2.0 */
/* What all steps do with the kernel that they work on. */
#include "hal/compiler/msl/fission/pass.h"

#include <stdarg.h>
#include <stdio.h>

bool fission_refuse(struct fission *f, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(f->reason, MSL_FISSION_REASON_BYTES, format, arguments);
    va_end(arguments);
    return false;
}

bool fission_is_specialised(const struct fission *f)
{
    return f->kernel->workgroup_size[0] != 0;
}

uint32_t fission_thread_count(const struct fission *f)
{
    const uint32_t *size = f->kernel->workgroup_size;
    if (f->stage == FISSION_LANES)
        return FISSION_LANE_COUNT;
    const uint32_t threads =
        fission_is_specialised(f) ? size[0] * size[1] * size[2] : FISSION_MAX_THREADS;
    return f->stage == FISSION_THREADS ? threads : (threads + 31) / FISSION_LANE_COUNT;
}

ir_value fission_parameter(const struct fission *f, enum msl_fission_parameter parameter)
{
    return LLVMGetParam(f->function, parameter);
}

ir_value fission_number(const struct fission *f, uint32_t value)
{
    return LLVMConstInt(f->i32, value, false);
}

ir_block fission_block(struct fission *f, const char *name, ir_block before)
{
    return LLVMInsertBasicBlockInContext(f->context, before, name);
}

ir_block fission_split_before(struct fission *f, ir_block block, ir_value item)
{
    const ir_block head = fission_block(f, "head", block);
    ir_each_block(other, f->function)
    {
        for (unsigned i = 0; i < ir_successor_count(other); i++)
            if (ir_successor(other, i) == block)
                LLVMSetSuccessor(LLVMGetBasicBlockTerminator(other), i, head);
    }
    LLVMPositionBuilderAtEnd(f->builder, head);
    ir_each_instruction(moved, block)
    {
        if (moved == item)
            break;
        LLVMInstructionRemoveFromParent(moved);
        ir_insert(f->builder, moved);
    }
    LLVMBuildBr(f->builder, block);
    return head;
}

ir_value fission_alloca(struct fission *f, ir_type type, const char *name)
{
    const ir_block entry = LLVMGetEntryBasicBlock(f->function);
    LLVMPositionBuilderBefore(f->builder, LLVMGetFirstInstruction(entry));
    const ir_value variable = LLVMBuildAlloca(f->builder, type, name);
    LLVMSetAlignment(variable, 64);
    return variable;
}

void fission_remove(struct fission *f, ir_value item)
{
    LLVMInstructionRemoveFromParent(item);
    ir_list_add(&f->removed, item);
}

void fission_free_removed(struct fission *f)
{
    for (size_t i = 0; i < f->removed.count; i++) {
        const ir_type type = LLVMTypeOf(f->removed.items[i]);
        if (LLVMGetTypeKind(type) != LLVMVoidTypeKind)
            LLVMReplaceAllUsesWith(f->removed.items[i], LLVMGetUndef(type));
    }
    for (size_t i = 0; i < f->removed.count; i++)
        LLVMDeleteInstruction(f->removed.items[i]);
    f->removed.count = 0;
}

enum fission_start fission_start_of(const struct fission *f, ir_block block)
{
    return (enum fission_start)ir_map_get(&f->starts, block);
}

void fission_mark_start(struct fission *f, ir_block block)
{
    if (fission_start_of(f, block) == FISSION_NO_START)
        ir_map_set(&f->starts, block, FISSION_REGION);
}
