/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps matrices that all lanes hold together whole, if no code accesses single elements. */
#include "hal/compiler/msl/fission/pass.h"

/* Walks through what only carries a pair from one operation to the next. */
struct tiles {
    ir_type type;
    unsigned pair_bits;
    struct ir_map seen;  /* phi to 1 */
    struct ir_map whole; /* phi of pairs to phi of tiles */
};

static ir_value without_casts(ir_value pair)
{
    while (ir_is(pair, LLVMBitCast))
        pair = LLVMGetOperand(pair, 0);
    return pair;
}

static bool is_whole(const struct fission *f, struct tiles *tiles, ir_value pair)
{
    pair = without_casts(pair);
    if (LLVMIsUndef(pair))
        return true;
    if (LLVMIsAConstantInt(pair) || (LLVMIsConstant(pair) && LLVMIsNull(pair)))
        return true;
    if (ir_starts_with(ir_callee(pair), "fission.spread"))
        return LLVMTypeOf(LLVMGetOperand(pair, 0)) == tiles->type;
    if (!ir_is(pair, LLVMPHI))
        return false;
    if (ir_map_get(&tiles->seen, pair))
        return true;
    ir_map_set(&tiles->seen, pair, 1);
    for (unsigned i = 0; i < LLVMCountIncoming(pair); i++)
        if (!is_whole(f, tiles, LLVMGetIncomingValue(pair, i)))
            return false;
    return true;
}

/* Even columns hold a pair's low half. */
static ir_value constant_tile(const struct tiles *tiles, ir_value pair)
{
    if (LLVMIsUndef(pair) || !LLVMIsAConstantInt(pair))
        return LLVMIsUndef(pair) ? LLVMGetUndef(tiles->type) : LLVMConstNull(tiles->type);
    const uint64_t bits = LLVMConstIntGetZExtValue(pair);
    const ir_type element = LLVMGetElementType(tiles->type);
    ir_value elements[64];
    for (unsigned i = 0; i < 64; i++)
        elements[i] = LLVMConstInt(element, bits >> (i % 2 * tiles->pair_bits / 2), false);
    return LLVMConstVector(elements, 64);
}

static ir_value whole_tile(const struct fission *f, struct tiles *tiles, ir_value pair)
{
    pair = without_casts(pair);
    if (LLVMIsConstant(pair))
        return constant_tile(tiles, pair);
    if (!ir_is(pair, LLVMPHI))
        return LLVMGetOperand(pair, 0);
    ir_value phi = (ir_value)ir_map_get(&tiles->whole, pair);
    if (phi)
        return phi;
    LLVMPositionBuilderBefore(f->builder, pair);
    phi = LLVMBuildPhi(f->builder, tiles->type, "tile");
    ir_map_set(&tiles->whole, pair, (uintptr_t)phi);
    for (unsigned i = 0; i < LLVMCountIncoming(pair); i++) {
        ir_value tile = whole_tile(f, tiles, LLVMGetIncomingValue(pair, i));
        ir_block from = LLVMGetIncomingBlock(pair, i);
        LLVMAddIncoming(phi, &tile, &from, 1);
    }
    return phi;
}

static void join_tiles(const struct fission *f, ir_value collect)
{
    const ir_value pair = LLVMGetOperand(collect, 0);
    struct tiles tiles = {.type = LLVMTypeOf(collect),
                          .pair_bits = LLVMGetIntTypeWidth(LLVMTypeOf(pair))};
    if (is_whole(f, &tiles, pair)) {
        const ir_value tile = whole_tile(f, &tiles, pair);
        LLVMReplaceAllUsesWith(collect, tile);
        LLVMInstructionEraseFromParent(collect);
    }
    ir_map_finish(&tiles.seen);
    ir_map_finish(&tiles.whole);
}

/* If lanes hold different versions of a tile, it is not a tile. */
bool fission_check_tiles(struct fission *f)
{
    bool same = true;
    fission_find_varying(f);
    ir_each_block(block, f->function) ir_each_instruction(item, block)
    {
        if (ir_starts_with(ir_callee(item), "fission.spread") &&
            fission_is_varying(f, LLVMGetOperand(item, 0)))
            same = false;
    }
    return same || fission_refuse(f, "a simdgroup matrix differs between the lanes that hold it");
}

void fission_join_tiles(struct fission *f)
{
    ir_each_block(block, f->function) ir_each_instruction(item, block)
    {
        if (ir_starts_with(ir_callee(item), "fission.collect"))
            join_tiles(f, item);
    }
}
