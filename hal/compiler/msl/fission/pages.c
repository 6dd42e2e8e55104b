/* SPDX-License-Identifier: Apache-2.0 */
/* Hardware prefetchers do not cross page boundaries, since they would have to translate the next
 * page's address. Prefetching one line of a page several pages ahead, into the second cache at
 * most, translates it in time. If the caches hold the data of a loop, that costs up to a tenth:
 * such a loop is duplicated, and its extent selects the copy. */
#include "hal/compiler/msl/fission/pages.h"

#include "hal/compiler/msl/fission/copy.h"

#include <llvm-c/Target.h>
#include <stdlib.h>

enum { PAGE_BYTES = 4096, AHEAD_BYTES = 4 * PAGE_BYTES };

/* A loop of one block that counts its elements from 0. */
struct walk {
    ir_block block, before, behind;
    ir_value elements;
};

static bool is_number(ir_value value, uint64_t number)
{
    return LLVMIsAConstantInt(value) && LLVMConstIntGetZExtValue(value) == number;
}

/* The only phi'd counter: 0 from `before`, `next` from the block itself. */
static bool counts_from_zero(const struct walk *walk, ir_value next)
{
    const ir_value phi = LLVMGetOperand(next, 0);
    if (!ir_is(phi, LLVMPHI) || LLVMGetInstructionParent(phi) != walk->block ||
        LLVMCountIncoming(phi) != 2 || !LLVMIsAConstantInt(LLVMGetOperand(next, 1)))
        return false;
    const unsigned own = LLVMGetIncomingBlock(phi, 1) == walk->block;
    return LLVMGetIncomingValue(phi, own) == next && is_number(LLVMGetIncomingValue(phi, !own), 0);
}

static bool is_from_outside(const struct walk *walk, ir_value value)
{
    return !LLVMIsAInstruction(value) || LLVMGetInstructionParent(value) != walk->block;
}

/* The elements are what the counter is compared with, known before the loop. */
static bool find_count(struct walk *walk)
{
    const ir_value more = LLVMGetCondition(LLVMGetBasicBlockTerminator(walk->block));
    if (!ir_is(more, LLVMICmp) || LLVMGetICmpPredicate(more) != LLVMIntEQ)
        return false;
    const ir_value next = LLVMGetOperand(more, 0);
    walk->elements = LLVMGetOperand(more, 1);
    return ir_is(next, LLVMAdd) && LLVMGetInstructionParent(next) == walk->block &&
           LLVMTypeOf(next) == LLVMInt64TypeInContext(LLVMGetTypeContext(LLVMTypeOf(next))) &&
           !LLVMIsAConstant(walk->elements) && is_from_outside(walk, walk->elements) &&
           counts_from_zero(walk, next);
}

/* Entered from one block, which leads nowhere else. */
static bool find_entrance(struct walk *walk)
{
    const ir_value first = LLVMGetFirstInstruction(walk->block);
    if (!ir_is(first, LLVMPHI) || LLVMCountIncoming(first) != 2)
        return false;
    walk->before = LLVMGetIncomingBlock(first, LLVMGetIncomingBlock(first, 0) == walk->block);
    return ir_successor_count(walk->before) == 1;
}

/* After the loop only phis use its results, and they take them from the loop's copy, too. */
static bool keeps_to_itself(const struct walk *walk)
{
    ir_each_instruction(item, walk->block) for (LLVMUseRef use = LLVMGetFirstUse(item); use;
                                                use = LLVMGetNextUse(use))
    {
        const ir_value user = LLVMGetUser(use);
        const ir_block at = LLVMGetInstructionParent(user);
        if (at != walk->block && !(at == walk->behind && ir_is(user, LLVMPHI)))
            return false;
    }
    return true;
}

static bool find_walk(ir_block block, struct walk *out_walk)
{
    if (ir_successor_count(block) != 2 ||
        (ir_successor(block, 0) == block) == (ir_successor(block, 1) == block))
        return false;
    *out_walk = (struct walk){.block = block,
                              .behind = ir_successor(block, ir_successor(block, 0) == block)};
    return find_entrance(out_walk) && find_count(out_walk) && keeps_to_itself(out_walk);
}

/* An address of each piece of memory that a loop walks through, and an element's bytes in all. */
struct pieces {
    struct ir_list items;
    uint64_t bytes;
};

static unsigned address_operand(ir_value item)
{
    return ir_is(item, LLVMStore) ? 1 : 0;
}

static ir_type vector_of(ir_value item)
{
    if (!ir_is(item, LLVMStore) && !ir_is(item, LLVMLoad))
        return NULL;
    const ir_type type = LLVMTypeOf(ir_is(item, LLVMStore) ? LLVMGetOperand(item, 0) : item);
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? type : NULL;
}

static void find_pieces(LLVMTargetDataRef layout, ir_block block, struct pieces *out_pieces)
{
    struct ir_map found = {0};
    *out_pieces = (struct pieces){0};
    ir_each_instruction(item, block)
    {
        const ir_type vector = vector_of(item);
        const ir_value root = vector ? ir_root(LLVMGetOperand(item, address_operand(item))) : NULL;
        if (!vector || ir_map_get(&found, root))
            continue;
        ir_map_set(&found, root, 1);
        ir_list_add(&out_pieces->items, item);
        out_pieces->bytes += LLVMABISizeOfType(layout, LLVMGetElementType(vector));
    }
    ir_map_finish(&found);
}

static void ask_ahead(const struct fission *f, ir_value item)
{
    const LLVMBuilderRef b = f->builder;
    const ir_value address = LLVMGetOperand(item, address_operand(item));
    LLVMPositionBuilderBefore(b, item);
    ir_value ahead = LLVMBuildPtrToInt(b, address, f->i64, "");
    ahead = LLVMBuildAnd(b, ahead, LLVMConstInt(f->i64, (uint64_t)-PAGE_BYTES, true), "");
    ahead = LLVMBuildAdd(b, ahead, LLVMConstInt(f->i64, AHEAD_BYTES, false), "");
    ir_prefetch(b, f->module, LLVMBuildIntToPtr(b, ahead, LLVMTypeOf(address), ""), 2);
}

static void add_incoming(const struct walk *walk, const struct copy *copy)
{
    ir_block block = copy_of_block(copy, walk->block);
    ir_each_phi(phi, walk->behind)
    {
        const unsigned count = LLVMCountIncoming(phi);
        for (unsigned i = 0; i < count; i++) {
            ir_value value = copy_of(copy, LLVMGetIncomingValue(phi, i));
            if (LLVMGetIncomingBlock(phi, i) == walk->block)
                LLVMAddIncoming(phi, &value, &block, 1);
        }
    }
}

/* A copy that asks, and a branch to it. */
static void double_loop(struct fission *f, const struct walk *walk, const struct pieces *pieces)
{
    struct copy copy;
    cfg_build(&f->cfg, f->function);
    ir_bits *const set = ir_alloc(f->cfg.words, sizeof *set);
    ir_add(set, cfg_number(&f->cfg, walk->block));
    copy_blocks(f, set, NULL, &copy);
    add_incoming(walk, &copy);
    const ir_value end = LLVMGetBasicBlockTerminator(walk->before);
    LLVMPositionBuilderBefore(f->builder, end);
    const ir_value limit = LLVMConstInt(f->i64, MSL_PAGES_FAR_BYTES / pieces->bytes, false);
    const ir_value far = LLVMBuildICmp(f->builder, LLVMIntUGT, walk->elements, limit, "");
    LLVMBuildCondBr(f->builder, far, copy_of_block(&copy, walk->block), walk->block);
    LLVMInstructionEraseFromParent(end);
    for (size_t i = 0; i < pieces->items.count; i++)
        ask_ahead(f, copy_of(&copy, pieces->items.items[i]));
    copy_finish(&copy);
    free(set);
}

void msl_pages_ask(LLVMModuleRef module, ir_value function)
{
    const LLVMContextRef context = LLVMGetModuleContext(module);
    struct fission f = {.module = module,
                        .context = context,
                        .function = function,
                        .builder = LLVMCreateBuilderInContext(context),
                        .i64 = LLVMInt64TypeInContext(context)};
    ir_each_block(block, function)
    {
        struct walk walk;
        struct pieces pieces;
        if (!find_walk(block, &walk))
            continue;
        find_pieces(LLVMGetModuleDataLayout(module), block, &pieces);
        if (pieces.items.count)
            double_loop(&f, &walk, &pieces);
        ir_list_finish(&pieces.items);
    }
    cfg_finish(&f.cfg);
    LLVMDisposeBuilder(f.builder);
}
