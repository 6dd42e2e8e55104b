/* SPDX-License-Identifier: Apache-2.0 */
/* Values that are made in one region and used in another: computed again where that is free of
 * effects, else kept in memory, one for all threads or one per thread. */
#include "hal/compiler/msl/fission/split.h"

#include <llvm-c/Target.h>
#include <stdlib.h>

static bool is_instruction(ir_value value)
{
    return LLVMIsAInstruction(value) != NULL;
}

/* ---- Slots
 * ------------------------------------------------------------------------------------------ */

static ir_type memory_type(const struct fission *f, ir_type type)
{
    return type == f->i1 ? f->i8 : type; /* single bits in memory defeat the vectoriser */
}

static uint64_t type_bytes(const struct fission *f, ir_type type)
{
    return LLVMABISizeOfType(LLVMGetModuleDataLayout(f->module), type);
}

static ir_value slot_of(struct split *s, ir_value value)
{
    struct fission *f = s->f;
    ir_value slot = (ir_value)ir_map_get(&s->slots, value);
    if (slot)
        return slot;
    ir_type type = memory_type(f, LLVMTypeOf(value));
    if (fission_is_varying(f, value))
        type = LLVMArrayType(type, fission_thread_count(f));
    slot = fission_alloca(f, type, "context.value");
    s->context_bytes += type_bytes(f, type);
    ir_map_set(&s->slots, value, (uintptr_t)slot);
    ir_map_set(&f->shared, slot, 1);
    return slot;
}

static ir_value element(const struct fission *f, ir_type type, ir_value slot, ir_value index)
{
    ir_value wide = LLVMBuildZExt(f->builder, index, f->i64, "");
    return LLVMBuildInBoundsGEP2(f->builder, type, slot, &wide, 1, "");
}

static ir_value load_slot(struct split *s, ir_value value, const struct region *region)
{
    const struct fission *f = s->f;
    const ir_type type = LLVMTypeOf(value), stored = memory_type(f, type);
    ir_value slot = slot_of(s, value);
    if (region && fission_is_varying(f, value)) /* outside of all regions nothing varies */
        slot = element(f, stored, slot, region->index);
    const ir_value loaded = LLVMBuildLoad2(f->builder, stored, slot, "carried");
    return type == stored ? loaded : LLVMBuildTrunc(f->builder, loaded, type, "");
}

/* Stores `value` where the value `as` is carried. */
static void store_slot(struct split *s, ir_value value, ir_value as, const struct region *region)
{
    const struct fission *f = s->f;
    const ir_type type = LLVMTypeOf(as), stored = memory_type(f, type);
    ir_value slot = slot_of(s, as);
    if (type != stored)
        value = LLVMBuildZExt(f->builder, value, stored, "");
    const bool varying = fission_is_varying(f, as);
    if (varying)
        slot = element(f, stored, slot, region->index);
    const ir_value store = LLVMBuildStore(f->builder, value, slot);
    if (!varying)
        ir_map_set(&s->ordered, store, 1);
}

/* ---- Phis that can share a slot
 * ------------------------------------------------------------------------ */

/* Is `value` still used after control has reached `block` (and not yet `value`'s own again)? */
static bool is_live_at(const struct split *s, ir_value value, size_t block)
{
    const struct cfg *cfg = &s->f->cfg;
    const size_t own = cfg_number(cfg, LLVMGetInstructionParent(value));
    ir_bits *reached = ir_alloc(cfg->words, sizeof *reached);
    cfg_reach(cfg, block, own, reached);
    bool live = false;
    for (LLVMUseRef use = LLVMGetFirstUse(value); use && !live; use = LLVMGetNextUse(use)) {
        const ir_value user = LLVMGetUser(use);
        const size_t at = cfg_number(cfg, LLVMGetInstructionParent(user));
        if (!ir_is(user, LLVMPHI)) {
            live = at == SIZE_MAX || ir_has(reached, at);
            continue;
        }
        for (unsigned i = 0; i < LLVMCountIncoming(user) && !live; i++)
            live = LLVMGetIncomingValue(user, i) == value &&
                   ir_has(reached, cfg_number(cfg, LLVMGetIncomingBlock(user, i)));
    }
    free(reached);
    return live;
}

/* An inner loop's phi continues an outer one's: every member of the class comes first on all
 * paths, and none is needed any more when the new one is set. */
static bool may_join(const struct split *s, ir_value phi, ir_value slot)
{
    const struct cfg *cfg = &s->f->cfg;
    const size_t mine = cfg_number(cfg, LLVMGetInstructionParent(phi));
    for (size_t i = 0; i < s->count; i++) {
        if (!s->regions[i].start)
            continue;
        ir_each_phi(other, s->regions[i].start)
        {
            if ((ir_value)ir_map_get(&s->slots, other) != slot)
                continue;
            if (i == mine || !ir_has(cfg->dominators + mine * cfg->words, i) ||
                is_live_at(s, other, mine))
                return false;
        }
    }
    return true;
}

static bool share_one(struct split *s, ir_value phi)
{
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        const ir_value other = LLVMGetIncomingValue(phi, i);
        if (other == phi || !ir_is(other, LLVMPHI) ||
            !split_is_start_phi(other, split_region_of(s, LLVMGetInstructionParent(other))) ||
            fission_is_varying(s->f, phi) != fission_is_varying(s->f, other))
            continue;
        const ir_value slot = slot_of(s, other);
        if (may_join(s, phi, slot)) {
            ir_map_set(&s->slots, phi, (uintptr_t)slot);
            return true;
        }
    }
    return false;
}

/* In an order in which dominating phis come first. */
static void share_slots(struct split *s)
{
    cfg_find_dominators(&s->f->cfg);
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < s->count; i++)
            if (s->regions[i].start)
                ir_each_phi(phi, s->regions[i].start)
                {
                    if (!ir_map_get(&s->slots, phi))
                        again |= share_one(s, phi);
                }
    }
}

/* ---- Private memory
 * ---------------------------------------------------------------------------------- */

/* SIZE_MAX - 1: in more than one region. */
static size_t region_of_uses(const struct split *s, ir_value value, size_t found, int depth)
{
    for (LLVMUseRef use = LLVMGetFirstUse(value); use; use = LLVMGetNextUse(use)) {
        const ir_value user = LLVMGetUser(use);
        const size_t block = cfg_number(&s->f->cfg, LLVMGetInstructionParent(user));
        const size_t owner = block == SIZE_MAX ? SIZE_MAX : s->f->owner[block];
        if (depth > 20 || (found != SIZE_MAX && owner != found))
            return SIZE_MAX - 1;
        found = owner;
        if (ir_is(user, LLVMGetElementPtr) || ir_is(user, LLVMBitCast) || ir_is(user, LLVMSelect) ||
            ir_is(user, LLVMPHI))
            found = region_of_uses(s, user, found, depth + 1);
        if (found == SIZE_MAX - 1)
            return found;
    }
    return found;
}

/* What the lanes' stage carried between its regions is dead after the simdgroup's iteration, unless
 * regions of this stage are in between: whatever is read was written in the same iteration. */
static bool is_scratch(const struct split *s, ir_value variable)
{
    size_t length;
    return s->f->stage == FISSION_SIMDGROUPS &&
           ir_starts_with(LLVMGetValueName2(variable, &length), "context.") &&
           region_of_uses(s, variable, SIZE_MAX, 0) != SIZE_MAX - 1;
}

/* One copy per thread, each as well aligned as the original. */
static void multiply(struct split *s, ir_value variable)
{
    struct fission *f = s->f;
    const uint64_t bytes = type_bytes(f, LLVMGetAllocatedType(variable));
    const uint64_t alignment = LLVMGetAlignment(variable);
    const uint64_t stride = (bytes + alignment - 1) / alignment * alignment;
    const ir_type one = LLVMArrayType(f->i8, (unsigned)stride);
    const ir_type all = LLVMArrayType(one, fission_thread_count(f));
    const ir_value slot = fission_alloca(f, all, "private");
    s->context_bytes += stride * fission_thread_count(f);
    ir_map_set(&s->slots, variable, (uintptr_t)slot);
    ir_map_set(&f->shared, slot, 1);
}

void split_make_private(struct split *s)
{
    struct fission *f = s->f;
    ir_each_instruction(item, LLVMGetEntryBasicBlock(f->function))
    {
        if (!ir_is(item, LLVMAlloca) || ir_map_get(&f->shared, item) || !LLVMGetFirstUse(item))
            continue;
        if (!is_scratch(s, item))
            multiply(s, item);
    }
}

/* ---- A value as a region sees it
 * ---------------------------------------------------------------------- */

static bool can_recompute(const struct fission *f, ir_value value, int depth)
{
    if (!is_instruction(value) || !fission_is_varying(f, value) || ir_is(value, LLVMAlloca))
        return true;
    if (depth > 12 || !fission_is_speculatable(value) || ir_is(value, LLVMCall))
        return false;
    for (unsigned i = 0; i < ir_operand_count(value); i++)
        if (!can_recompute(f, LLVMGetOperand(value, i), depth + 1))
            return false;
    return true;
}

static ir_value see(struct split *s, struct region *region, ir_value value);

static ir_value recompute(struct split *s, struct region *region, ir_value value)
{
    ir_value operands[16];
    const unsigned count = ir_operand_count(value);
    for (unsigned i = 0; i < count; i++)
        operands[i] = see(s, region, LLVMGetOperand(value, i));
    LLVMPositionBuilderBefore(s->f->builder, LLVMGetBasicBlockTerminator(region->enter));
    const ir_value clone = LLVMInstructionClone(value);
    for (unsigned i = 0; i < count; i++)
        LLVMSetOperand(clone, i, operands[i]);
    ir_insert(s->f->builder, clone);
    return clone;
}

static ir_value private_copy(struct split *s, const struct region *region, ir_value variable)
{
    const struct fission *f = s->f;
    const ir_value slot = (ir_value)ir_map_get(&s->slots, variable);
    if (!slot)
        return variable;
    LLVMPositionBuilderBefore(f->builder, LLVMGetBasicBlockTerminator(region->enter));
    return element(f, LLVMGetElementType(LLVMGetAllocatedType(slot)), slot, region->index);
}

static ir_value position(const struct fission *f, const struct region *region, ir_value parameter)
{
    for (int p = MSL_FISSION_LOCAL_X; p < MSL_FISSION_PARAMETERS; p++)
        if (parameter == fission_parameter(f, (enum msl_fission_parameter)p) && region->position[p])
            return region->position[p];
    return parameter;
}

/* The value at the region's entry; an own value of the region is itself. */
static ir_value see(struct split *s, struct region *region, ir_value value)
{
    const struct fission *f = s->f;
    if (LLVMIsAArgument(value))
        return position(f, region, value);
    if (!is_instruction(value))
        return value;
    const bool variable = ir_is(value, LLVMAlloca);
    if (variable && !ir_map_get(&s->slots, value))
        return value;
    const size_t block = cfg_number(&f->cfg, LLVMGetInstructionParent(value));
    if (block == SIZE_MAX)
        return value; /* made for this very place */
    const struct region *home = split_region_of(s, f->cfg.blocks[block]);
    if (!variable && home && home == region && !split_is_start_phi(value, region))
        return value;
    ir_value here = (ir_value)ir_map_get(&region->local, value);
    if (here)
        return here;
    const unsigned operands = ir_operand_count(value);
    if (variable) {
        here = private_copy(s, region, value);
    } else if (fission_is_varying(f, value) && operands <= 16 && can_recompute(f, value, 0)) {
        here = recompute(s, region, value);
    } else {
        const ir_block place = fission_is_varying(f, value) ? region->enter : region->before;
        slot_of(s, value);
        LLVMPositionBuilderBefore(f->builder, LLVMGetBasicBlockTerminator(place));
        here = load_slot(s, value, region);
    }
    ir_map_set(&region->local, value, (uintptr_t)here);
    return here;
}

/* ---- Carrying
 * --------------------------------------------------------------------------------------------- */

/* Operands are replaced only when all are known: computing a value again needs the originals. */
struct change {
    ir_value item, value;
    unsigned operand;
};
struct changes {
    struct change *list;
    size_t count, capacity;
};

static void note(struct changes *changes, ir_value item, unsigned operand, ir_value value)
{
    changes->list =
        ir_grow(changes->list, &changes->capacity, changes->count + 1, sizeof *changes->list);
    changes->list[changes->count++] = (struct change){item, value, operand};
}

static void see_operands(struct split *s, struct region *region, ir_value item,
                         struct changes *changes)
{
    for (unsigned i = 0; i < ir_operand_count(item); i++) {
        const ir_value operand = LLVMGetOperand(item, i);
        const ir_value here = see(s, region, operand);
        if (here != operand)
            note(changes, item, i, here);
    }
}

/* A branch between regions reads what its condition's region stored. */
static void see_condition(struct split *s, ir_block block, struct changes *changes)
{
    const ir_value end = LLVMGetBasicBlockTerminator(block);
    const ir_value condition = LLVMGetOperand(end, 0);
    if (!is_instruction(condition))
        return;
    slot_of(s, condition);
    LLVMPositionBuilderBefore(s->f->builder, end);
    note(changes, end, 0, load_slot(s, condition, NULL));
}

static unsigned incoming_from(const struct split *s, ir_value phi, const struct region *region)
{
    unsigned count = 0;
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
        count += split_region_of(s, LLVMGetIncomingBlock(phi, i)) == region;
    return count;
}

/* The region from which threads come stores their value for a start's phi. */
static void store_incoming(struct split *s, ir_value phi)
{
    struct fission *f = s->f;
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        const ir_value value = LLVMGetIncomingValue(phi, i);
        const ir_block from = LLVMGetIncomingBlock(phi, i);
        struct region *region = split_region_of(s, from);
        if (LLVMIsUndef(value) || !region)
            continue;
        if (ir_map_get(&s->slots, value) == ir_map_get(&s->slots, phi))
            continue;
        const ir_value here = see(s, region, value);
        const bool known = split_is_known_before(s, region, value);
        const bool outside =
            !fission_is_varying(f, phi) && known && incoming_from(s, phi, region) == 1;
        const ir_block place = outside ? region->after : from;
        LLVMPositionBuilderBefore(f->builder, LLVMGetBasicBlockTerminator(place));
        store_slot(s, here, phi, region);
    }
}

static void carry_starts(struct split *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->regions[i].start)
            ir_each_phi(phi, s->regions[i].start)
            {
                slot_of(s, phi);
                see(s, &s->regions[i], phi);
            }
}

static void carry_operands(struct split *s, struct changes *changes)
{
    for (size_t i = 0; i < s->count; i++) {
        const ir_block block = s->f->cfg.blocks[i];
        struct region *region = split_region_of(s, block);
        if (fission_start_of(s->f, block) == FISSION_BRANCH)
            see_condition(s, block, changes);
        if (!region)
            continue;
        ir_each_instruction(item, block)
        {
            if (!split_is_start_phi(item, region))
                see_operands(s, region, item, changes);
        }
    }
    for (size_t i = 0; i < s->count; i++)
        if (s->regions[i].start)
            ir_each_phi(phi, s->regions[i].start) store_incoming(s, phi);
}

static void store_results(struct split *s)
{
    struct fission *f = s->f;
    for (size_t i = 0; i < s->count; i++) {
        const ir_block block = f->cfg.blocks[i];
        struct region *region = split_region_of(s, block);
        if (!region)
            continue;
        ir_each_instruction(item, block)
        {
            if (!ir_map_get(&s->slots, item) || ir_is(item, LLVMAlloca) ||
                split_is_start_phi(item, region))
                continue;
            if (ir_map_get(&s->once, item))
                LLVMPositionBuilderBefore(f->builder, LLVMGetBasicBlockTerminator(region->after));
            else if (ir_is(item, LLVMPHI))
                LLVMPositionBuilderBefore(f->builder, ir_after_phis(block));
            else
                LLVMPositionBuilderBefore(f->builder, LLVMGetNextInstruction(item));
            store_slot(s, item, item, region);
        }
    }
}

static void replace_starts(struct split *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->regions[i].start)
            ir_each_phi(phi, s->regions[i].start)
            {
                const ir_value here = (ir_value)ir_map_get(&s->regions[i].local, phi);
                LLVMReplaceAllUsesWith(phi, here);
                fission_remove(s->f, phi);
            }
}

static void move_once(struct split *s)
{
    for (size_t i = 0; i < s->order.count; i++) {
        const ir_value item = s->order.items[i];
        const struct region *region = split_region_of(s, LLVMGetInstructionParent(item));
        LLVMInstructionRemoveFromParent(item);
        LLVMPositionBuilderBefore(s->f->builder, LLVMGetBasicBlockTerminator(region->before));
        ir_insert(s->f->builder, item);
    }
}

void split_carry_values(struct split *s)
{
    struct changes changes = {0};
    share_slots(s);
    carry_starts(s);
    carry_operands(s, &changes);
    for (size_t i = 0; i < changes.count; i++)
        LLVMSetOperand(changes.list[i].item, changes.list[i].operand, changes.list[i].value);
    free(changes.list);
    store_results(s);
    move_once(s);
    replace_starts(s);
}
