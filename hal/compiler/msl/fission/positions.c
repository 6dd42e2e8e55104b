/* SPDX-License-Identifier: Apache-2.0 */
/* Places are numbered in reverse postorder, which is an order of the ways through a function when
 * the ways back to the beginnings of its loops are left out. A loop's iterations are counted where
 * it is entered (0) and at each way back. */
#include "hal/compiler/msl/fission/positions.h"

#include "hal/compiler/msl/fission/cfg.h"
#include "hal/compiler/msl/include/msl/abi.h"

#include <stdlib.h>
#include <string.h>

/* Loops around an operation: iterations of deeper loops are not distinguished. */
enum { MAX_DEPTH = (MSL_ABI_POSITION_WORDS - 1) / 2 };

struct loop {
    size_t header, size; /* blocks */
    ir_bits *blocks;
    ir_value iterations; /* its counter */
};

struct positions {
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    ir_type word;
    ir_value words; /* room for a position, in the function's first block */
    struct cfg cfg;
    size_t *order; /* blocks in reverse postorder */
    size_t order_count;
    uint32_t *places;   /* of the blocks' beginnings */
    ir_bits *waiting;   /* blocks with operations */
    struct loop *loops; /* with operations, the largest first */
    size_t loop_count;
};

static bool is_operation(ir_value item)
{
    static const char *const names[] = {"__msl_exchange", "__msl_collect",
                                        "__msl_simdgroup_barrier"};
    const char *const callee = ir_callee(item);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(callee, names[i]) == 0)
            return true;
    return false;
}

bool msl_positions_are_needed(LLVMModuleRef module)
{
    static const char *const names[] = {"__msl_exchange", "__msl_collect",
                                        "__msl_simdgroup_barrier"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const ir_value function = LLVMGetNamedFunction(module, names[i]);
        if (function && LLVMGetFirstUse(function))
            return true;
    }
    return false;
}

/* ---- Places ---------------------------------------------------------------------------------- */

static void find_order(struct positions *s)
{
    const struct cfg *const cfg = &s->cfg;
    size_t *const stack = ir_alloc(cfg->count, sizeof *stack);
    size_t *const edge = ir_alloc(cfg->count, sizeof *edge);
    ir_bits *const seen = ir_alloc(cfg->words, sizeof *seen);
    size_t depth = 0, left = cfg->count;
    s->order = ir_alloc(cfg->count, sizeof *s->order);
    stack[depth++] = 0;
    ir_add(seen, 0);
    edge[0] = cfg->first_next[0];
    while (depth) {
        const size_t block = stack[depth - 1];
        if (edge[block] == cfg->first_next[block + 1]) {
            s->order[--left] = block;
            depth--;
            continue;
        }
        const size_t next = cfg->next[edge[block]++];
        if (ir_has(seen, next))
            continue;
        ir_add(seen, next);
        edge[next] = cfg->first_next[next];
        stack[depth++] = next;
    }
    s->order_count = cfg->count - left; /* without what no thread reaches */
    memmove(s->order, s->order + left, s->order_count * sizeof *s->order);
    free(stack);
    free(edge);
    free(seen);
}

static void find_operations(struct positions *s)
{
    s->waiting = ir_alloc(s->cfg.words, sizeof *s->waiting);
    for (size_t i = 0; i < s->order_count; i++)
        ir_each_instruction(item, s->cfg.blocks[s->order[i]]) if (is_operation(item))
            ir_add(s->waiting, s->order[i]);
}

/* ---- Loops ----------------------------------------------------------------------------------- */

static int compare_loops(const void *left, const void *right)
{
    const struct loop *const a = left, *const b = right;
    if (a->size != b->size)
        return a->size > b->size ? -1 : 1;
    return a->header < b->header ? -1 : a->header > b->header;
}

static void find_loops(struct positions *s)
{
    const struct cfg *const cfg = &s->cfg;
    ir_bits *const blocks = ir_alloc(cfg->words, sizeof *blocks);
    size_t capacity = 0;
    cfg_find_dominators(&s->cfg);
    for (size_t i = 0; i < s->order_count; i++) {
        struct loop loop = {.header = s->order[i]};
        bool waits = false;
        if (cfg_loop(cfg, loop.header, blocks) == 0)
            continue;
        for (size_t w = 0; w < cfg->words; w++) {
            loop.size += (size_t)__builtin_popcountll(blocks[w]);
            waits |= (blocks[w] & s->waiting[w]) != 0;
        }
        if (!waits)
            continue;
        loop.blocks = ir_alloc(cfg->words, sizeof *loop.blocks);
        memcpy(loop.blocks, blocks, cfg->words * sizeof *blocks);
        s->loops = ir_grow(s->loops, &capacity, s->loop_count + 1, sizeof *s->loops);
        s->loops[s->loop_count++] = loop;
    }
    free(blocks);
    if (s->loop_count)
        qsort(s->loops, s->loop_count, sizeof *s->loops, compare_loops);
}

/* ---- Code ------------------------------------------------------------------------------------ */

static ir_value number(const struct positions *s, uint64_t value)
{
    return LLVMConstInt(s->word, value, false);
}

/* Before the block's end, even if it branches to where the counter is not used. */
static void count_iterations(struct positions *s, struct loop *loop)
{
    const struct cfg *const cfg = &s->cfg;
    for (size_t i = 0; i < s->order_count; i++) {
        const size_t block = s->order[i];
        bool leads = false;
        for (size_t e = cfg->first_next[block]; e < cfg->first_next[block + 1]; e++)
            leads |= cfg->next[e] == loop->header;
        if (!leads)
            continue;
        LLVMPositionBuilderBefore(s->builder, LLVMGetBasicBlockTerminator(cfg->blocks[block]));
        ir_value iteration = number(s, 0);
        if (ir_has(loop->blocks, block))
            iteration =
                LLVMBuildAdd(s->builder, LLVMBuildLoad2(s->builder, s->word, loop->iterations, ""),
                             number(s, 1), "");
        LLVMBuildStore(s->builder, iteration, loop->iterations);
    }
}

static void put_word(struct positions *s, uint32_t index, ir_value word)
{
    ir_value at = number(s, index);
    LLVMBuildStore(s->builder, word, LLVMBuildGEP2(s->builder, s->word, s->words, &at, 1, ""));
}

static void add_position(struct positions *s, size_t block, ir_value item, uint32_t place)
{
    uint32_t count = 0;
    LLVMPositionBuilderBefore(s->builder, item);
    for (size_t i = 0; i < s->loop_count && count < 2 * MAX_DEPTH; i++) {
        const struct loop *const loop = &s->loops[i];
        if (!ir_has(loop->blocks, block))
            continue;
        put_word(s, count++, number(s, s->places[loop->header]));
        put_word(s, count++, LLVMBuildLoad2(s->builder, s->word, loop->iterations, ""));
    }
    put_word(s, count++, number(s, place));
    ir_value arguments[] = {s->words, number(s, count)};
    ir_call(s->builder, "__msl_position", LLVMVoidTypeInContext(LLVMGetModuleContext(s->module)),
            arguments, 2, true);
}

static void insert_code(struct positions *s)
{
    uint32_t place = 0;
    LLVMPositionBuilderBefore(s->builder, LLVMGetFirstInstruction(s->cfg.blocks[0]));
    s->words =
        LLVMBuildArrayAlloca(s->builder, s->word, number(s, MSL_ABI_POSITION_WORDS), "position");
    for (size_t i = 0; i < s->loop_count; i++)
        s->loops[i].iterations = LLVMBuildAlloca(s->builder, s->word, "iterations");
    for (size_t i = 0; i < s->loop_count; i++)
        count_iterations(s, &s->loops[i]);
    s->places = ir_alloc(s->cfg.count, sizeof *s->places);
    for (size_t i = 0; i < s->order_count; i++) {
        const size_t block = s->order[i];
        s->places[block] = place++;
        ir_each_instruction(item, s->cfg.blocks[block]) if (is_operation(item))
            add_position(s, block, item, place++);
    }
}

void msl_positions_add(LLVMModuleRef module, ir_value function)
{
    const LLVMContextRef context = LLVMGetModuleContext(module);
    struct positions s = {.module = module, .word = LLVMInt32TypeInContext(context)};
    cfg_build(&s.cfg, function);
    find_order(&s);
    find_operations(&s);
    bool waits = false;
    for (size_t w = 0; w < s.cfg.words; w++)
        waits |= s.waiting[w] != 0;
    if (waits) {
        s.builder = LLVMCreateBuilderInContext(context);
        find_loops(&s);
        insert_code(&s);
        LLVMDisposeBuilder(s.builder);
    }
    for (size_t i = 0; i < s.loop_count; i++)
        free(s.loops[i].blocks);
    free(s.loops);
    free(s.places);
    free(s.order);
    free(s.waiting);
    cfg_finish(&s.cfg);
}
