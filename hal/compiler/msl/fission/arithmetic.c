/* SPDX-License-Identifier: Apache-2.0 */
/* Masks the distances of shifts and replaces divisors that would trap. */
#include "hal/compiler/msl/fission/arithmetic.h"

#include "hal/compiler/msl/fission/ir.h"

enum { WIDEST_VECTOR = 64 };

/* The same number in each component where the type is a vector. */
static ir_value number(ir_type type, uint64_t value)
{
    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind)
        return LLVMConstInt(type, value, false);
    ir_value parts[WIDEST_VECTOR];
    const unsigned count = LLVMGetVectorSize(type);
    for (unsigned i = 0; i < count && i < WIDEST_VECTOR; i++)
        parts[i] = LLVMConstInt(LLVMGetElementType(type), value, false);
    return LLVMConstVector(parts, count);
}

static unsigned width_of(ir_type type)
{
    return LLVMGetIntTypeWidth(
        LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type);
}

/* False for vectors, and for numbers that are known only later. */
static bool is_number(ir_value value, uint64_t *out_value)
{
    if (!LLVMIsAConstantInt(value) || LLVMGetIntTypeWidth(LLVMTypeOf(value)) > 64)
        return false;
    *out_value = LLVMConstIntGetZExtValue(value);
    return true;
}

static void mask_distance(LLVMBuilderRef builder, ir_value item)
{
    const ir_value distance = LLVMGetOperand(item, 1);
    const ir_type type = LLVMTypeOf(item);
    uint64_t known;
    if (is_number(distance, &known) && known < width_of(type))
        return;
    LLVMPositionBuilderBefore(builder, item);
    LLVMSetOperand(item, 1, LLVMBuildAnd(builder, distance, number(type, width_of(type) - 1), ""));
}

static void replace_divisor(LLVMBuilderRef builder, ir_value item, bool is_signed)
{
    ir_value divisor = LLVMGetOperand(item, 1);
    const ir_value dividend = LLVMGetOperand(item, 0);
    const ir_type type = LLVMTypeOf(item);
    const uint64_t all = ~UINT64_C(0) >> (64 - (width_of(type) < 64 ? width_of(type) : 64));
    uint64_t known;
    if (is_number(divisor, &known) && known != 0 && (known != all || !is_signed))
        return;
    LLVMPositionBuilderBefore(builder, item);
    ir_value bad = LLVMBuildICmp(builder, LLVMIntEQ, divisor, number(type, 0), "");
    if (is_signed) {
        const ir_value least = number(type, UINT64_C(1) << (width_of(type) - 1));
        const ir_value overflows =
            LLVMBuildAnd(builder, LLVMBuildICmp(builder, LLVMIntEQ, dividend, least, ""),
                         LLVMBuildICmp(builder, LLVMIntEQ, divisor, number(type, all), ""), "");
        bad = LLVMBuildOr(builder, bad, overflows, "");
    }
    divisor = LLVMBuildSelect(builder, bad, number(type, 1), divisor, "");
    LLVMSetOperand(item, 1, divisor);
}

/* 128-bit numbers come from our own headers, which never divide by zero. */
static bool is_wide(ir_value item)
{
    const ir_type type = LLVMTypeOf(item);
    const LLVMTypeKind kind = LLVMGetTypeKind(type);
    return (kind != LLVMIntegerTypeKind && kind != LLVMVectorTypeKind) || width_of(type) > 64 ||
           (kind == LLVMVectorTypeKind && LLVMGetVectorSize(type) > WIDEST_VECTOR);
}

static void define(LLVMBuilderRef builder, ir_value item)
{
    const bool shifts = ir_is(item, LLVMShl) || ir_is(item, LLVMLShr) || ir_is(item, LLVMAShr);
    const bool divides_signed = ir_is(item, LLVMSDiv) || ir_is(item, LLVMSRem);
    const bool divides = divides_signed || ir_is(item, LLVMUDiv) || ir_is(item, LLVMURem);
    if ((!shifts && !divides) || is_wide(item))
        return;
    if (shifts)
        mask_distance(builder, item);
    else
        replace_divisor(builder, item, divides_signed);
}

void msl_arithmetic_define(LLVMModuleRef module)
{
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (ir_value f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        ir_each_block(block, f) ir_each_instruction(item, block) define(builder, item);
    LLVMDisposeBuilder(builder);
}
