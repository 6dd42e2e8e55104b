/* SPDX-License-Identifier: Apache-2.0 */
/* Supplements LLVM's C API: maps keyed by values, walking and splitting blocks, bit sets. */
#ifndef HAL_MSL_FISSION_IR_H
#define HAL_MSL_FISSION_IR_H

#include <llvm-c/Core.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef LLVMValueRef ir_value;
typedef LLVMBasicBlockRef ir_block;
typedef LLVMTypeRef ir_type;

/* Zeroed; ends the process if out of memory. */
void *ir_alloc(size_t count, size_t bytes_each);
void *ir_grow(void *array, size_t *capacity, size_t wanted, size_t bytes_each);

/* Maps addresses to words; 0 if not found. */
struct ir_map {
    const void **keys;
    uintptr_t *words;
    size_t capacity, count;
};
uintptr_t ir_map_get(const struct ir_map *map, const void *key);
void ir_map_set(struct ir_map *map, const void *key, uintptr_t word);
void ir_map_finish(struct ir_map *map); /* also empties it */

/* A growing list of values. */
struct ir_list {
    ir_value *items;
    size_t count, capacity;
};
void ir_list_add(struct ir_list *list, ir_value item);
void ir_list_finish(struct ir_list *list);

typedef uint64_t ir_bits;
static inline size_t ir_words(size_t count)
{
    return (count + 63) / 64;
}
static inline bool ir_has(const ir_bits *set, size_t index)
{
    return set[index / 64] >> index % 64 & 1;
}
static inline void ir_add(ir_bits *set, size_t index)
{
    set[index / 64] |= (ir_bits)1 << index % 64;
}
/* set |= other; true if that changed it. */
bool ir_unite(ir_bits *set, const ir_bits *other, size_t words);

/* The body may move or remove the loop variable. */
#define ir_each_block(block, function)                                                             \
    for (ir_block block = LLVMGetFirstBasicBlock(function), block##_next;                          \
         block && (block##_next = LLVMGetNextBasicBlock(block), true); block = block##_next)
#define ir_each_instruction(item, block)                                                           \
    for (ir_value item = LLVMGetFirstInstruction(block), item##_next;                              \
         item && (item##_next = LLVMGetNextInstruction(item), true); item = item##_next)
#define ir_each_phi(item, block)                                                                   \
    for (ir_value item = LLVMGetFirstInstruction(block), item##_next;                              \
         item && ir_is(item, LLVMPHI) && (item##_next = LLVMGetNextInstruction(item), true);       \
         item = item##_next)

static inline bool ir_is(ir_value value, LLVMOpcode opcode)
{
    return LLVMIsAInstruction(value) && LLVMGetInstructionOpcode(value) == opcode;
}
static inline unsigned ir_operand_count(ir_value value)
{
    return (unsigned)LLVMGetNumOperands(value);
}
unsigned ir_successor_count(ir_block block);
ir_block ir_successor(ir_block block, unsigned index);
ir_value ir_after_phis(ir_block block);

/* The name of the called function; "" if `value` is not a call. */
const char *ir_callee(ir_value value);
bool ir_starts_with(const char *text, const char *prefix);

/* The origin of a pointer: follows address arithmetic to an argument, alloca, call ... */
ir_value ir_root(ir_value pointer);

/* Inserts an unlinked instruction at the builder's position; it keeps its name. */
void ir_insert(LLVMBuilderRef builder, ir_value item);

/* Prefetches the line at `address`, which need not be mapped, to level 3 (the first cache) or 2. */
void ir_prefetch(LLVMBuilderRef builder, LLVMModuleRef module, ir_value address, unsigned nearness);

/* Calls `name` of the builder's module, declaring it if needed: either a convergent wait, which
 * must not be moved, or a pure function of its arguments. */
ir_value ir_call(LLVMBuilderRef builder, const char *name, ir_type result, ir_value *arguments,
                 unsigned count, bool waits);

#endif
