/* SPDX-License-Identifier: Apache-2.0 */
/* Maps, lists, bit sets, and walking LLVM's values through its C API. */
#include "hal/compiler/msl/fission/ir.h"
#include "hal/base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void out_of_memory(void)
{
    fputs("hal-msl-cc: out of memory\n", stderr);
    abort();
}

void *ir_alloc(size_t count, size_t bytes_each)
{
    void *memory = calloc(count ? count : 1, bytes_each);
    if (!memory)
        out_of_memory();
    return memory;
}

void *ir_grow(void *array, size_t *capacity, size_t wanted, size_t bytes_each)
{
    if (wanted <= *capacity)
        return array;
    const size_t grown = wanted * 2 < 16 ? 16 : wanted * 2;
    void *moved = realloc(array, grown * bytes_each);
    if (!moved)
        out_of_memory();
    *capacity = grown;
    return moved;
}

/* ---- Maps: open addressing, never removes -------------------------------------------------- */

static size_t place(const struct ir_map *map, const void *key)
{
    const uint64_t hash = hal_hash_u64((uintptr_t)key);
    size_t at = (size_t)(hash >> 20) & (map->capacity - 1);
    while (map->keys[at] && map->keys[at] != key)
        at = (at + 1) & (map->capacity - 1);
    return at;
}

uintptr_t ir_map_get(const struct ir_map *map, const void *key)
{
    return map->capacity ? map->words[place(map, key)] : 0;
}

void ir_map_set(struct ir_map *map, const void *key, uintptr_t word)
{
    if (map->count * 2 >= map->capacity) {
        const struct ir_map old = *map;
        map->capacity = old.capacity ? old.capacity * 2 : 64;
        map->keys = ir_alloc(map->capacity, sizeof *map->keys);
        map->words = ir_alloc(map->capacity, sizeof *map->words);
        for (size_t i = 0; i < old.capacity; i++)
            if (old.keys[i]) {
                const size_t at = place(map, old.keys[i]);
                map->keys[at] = old.keys[i];
                map->words[at] = old.words[i];
            }
        free(old.keys);
        free(old.words);
    }
    const size_t at = place(map, key);
    map->count += !map->keys[at];
    map->keys[at] = key;
    map->words[at] = word;
}

void ir_map_finish(struct ir_map *map)
{
    free(map->keys);
    free(map->words);
    *map = (struct ir_map){0};
}

void ir_list_add(struct ir_list *list, ir_value item)
{
    list->items = ir_grow(list->items, &list->capacity, list->count + 1, sizeof *list->items);
    list->items[list->count++] = item;
}

void ir_list_finish(struct ir_list *list)
{
    free(list->items);
    *list = (struct ir_list){0};
}

bool ir_unite(ir_bits *set, const ir_bits *other, size_t words)
{
    ir_bits added = 0;
    for (size_t i = 0; i < words; i++) {
        added |= other[i] & ~set[i];
        set[i] |= other[i];
    }
    return added != 0;
}

/* ---- Walking ------------------------------------------------------------------------------- */

unsigned ir_successor_count(ir_block block)
{
    const ir_value end = LLVMGetBasicBlockTerminator(block);
    return end ? LLVMGetNumSuccessors(end) : 0;
}

ir_block ir_successor(ir_block block, unsigned index)
{
    return LLVMGetSuccessor(LLVMGetBasicBlockTerminator(block), index);
}

ir_value ir_after_phis(ir_block block)
{
    ir_value item = LLVMGetFirstInstruction(block);
    while (item && ir_is(item, LLVMPHI))
        item = LLVMGetNextInstruction(item);
    return item;
}

const char *ir_callee(ir_value value)
{
    if (!ir_is(value, LLVMCall))
        return "";
    const ir_value called = LLVMGetCalledValue(value);
    size_t length;
    return LLVMIsAFunction(called) ? LLVMGetValueName2(called, &length) : "";
}

bool ir_starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

ir_value ir_root(ir_value pointer)
{
    while (ir_is(pointer, LLVMGetElementPtr) || ir_is(pointer, LLVMBitCast) ||
           ir_is(pointer, LLVMAddrSpaceCast) ||
           ir_starts_with(ir_callee(pointer), "llvm.threadlocal.address"))
        pointer = LLVMGetOperand(pointer, 0);
    return pointer;
}

void ir_insert(LLVMBuilderRef builder, ir_value item)
{
    char name[64];
    size_t length;
    const char *old = LLVMGetValueName2(item, &length);
    snprintf(name, sizeof name, "%.*s", (int)length, old);
    LLVMInsertIntoBuilderWithName(builder, item, name);
}

void ir_prefetch(LLVMBuilderRef builder, LLVMModuleRef module, ir_value address, unsigned nearness)
{
    static const char name[] = "llvm.prefetch";
    const LLVMContextRef context = LLVMGetModuleContext(module);
    const unsigned id = LLVMLookupIntrinsicID(name, sizeof name - 1);
    const ir_type number = LLVMInt32TypeInContext(context);
    ir_type type = LLVMTypeOf(address);
    enum { READS = 0, DATA = 1 };
    ir_value arguments[] = {address, LLVMConstInt(number, READS, false),
                            LLVMConstInt(number, nearness, false),
                            LLVMConstInt(number, DATA, false)};
    LLVMBuildCall2(builder, LLVMIntrinsicGetType(context, id, &type, 1),
                   LLVMGetIntrinsicDeclaration(module, id, &type, 1), arguments, 4, "");
}

static void mark(LLVMModuleRef module, ir_value function, const char *name)
{
    const unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    const LLVMAttributeRef attribute =
        LLVMCreateEnumAttribute(LLVMGetModuleContext(module), kind, 0);
    LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, attribute);
}

ir_value ir_call(LLVMBuilderRef builder, const char *name, ir_type result, ir_value *arguments,
                 unsigned count, bool waits)
{
    const LLVMModuleRef module =
        LLVMGetGlobalParent(LLVMGetBasicBlockParent(LLVMGetInsertBlock(builder)));
    ir_type types[8];
    for (unsigned i = 0; i < count; i++)
        types[i] = LLVMTypeOf(arguments[i]);
    const ir_type type = LLVMFunctionType(result, types, count, false);
    ir_value function = LLVMGetNamedFunction(module, name);
    if (!function) {
        function = LLVMAddFunction(module, name, type);
        mark(module, function, "nounwind");
        mark(module, function, "willreturn");
        mark(module, function, waits ? "convergent" : "memory");
        if (waits)
            mark(module, function, "nomerge");
    }
    return LLVMBuildCall2(builder, type, function, arguments, count, "");
}
