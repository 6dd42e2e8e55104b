/* SPDX-License-Identifier: Apache-2.0 */
/* What LLVM's C API lacks: maps keyed by values, walking and cutting blocks, bit sets. */
#ifndef HAL_MSL_FISSION_IR_H
#define HAL_MSL_FISSION_IR_H

#include <llvm-c/Core.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef LLVMValueRef ir_value;
typedef LLVMBasicBlockRef ir_block;
typedef LLVMTypeRef ir_type;

/* Zeroed; ends the process when memory is out. */
void *ir_alloc(size_t count, size_t bytes_each);
void *ir_grow(void *array, size_t *capacity, size_t wanted, size_t bytes_each);

/* From addresses to words; what is not in the map is 0. */
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
/* set |= other; true when that changed it. */
bool ir_unite(ir_bits *set, const ir_bits *other, size_t words);

/* The loop variable may be moved or removed in the body. */
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

/* The name of the function that a call calls; "" for everything else. */
const char *ir_callee(ir_value value);
bool ir_starts_with(const char *text, const char *prefix);

/* Where a pointer comes from: through address arithmetic to an argument, alloca, call ... */
ir_value ir_root(ir_value pointer);

/* Puts an unlinked instruction where the builder stands; it keeps its name. */
void ir_insert(LLVMBuilderRef builder, ir_value item);

/* Asks for the line at `address`, which need not exist, as near as 3 (the first cache) or 2. */
void ir_prefetch(LLVMBuilderRef builder, LLVMModuleRef module, ir_value address, unsigned nearness);

/* Calls `name` of the module, declared when it is not there yet: threads wait for each other in
 * it, so that it stays where it is, or it computes a value from its arguments alone. */
ir_value ir_call(LLVMBuilderRef builder, LLVMModuleRef module, const char *name, ir_type result,
                 ir_value *arguments, unsigned count, bool waits);

#endif
