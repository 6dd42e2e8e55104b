/* SPDX-License-Identifier: Apache-2.0 */
/* Which storage buffers an entry point writes: follows pointers from the module's variables through
 * access chains to stores. If a pointer goes another way, the access of its buffer is unknown. */
#include "hal/compiler/spirv/module.h"

#include "hal/base/mem.h"

#include <spirv.h>

struct walk {
    const struct spirv_module *module;
    uint32_t *roots;  /* by id: the variable that a pointer points into, or 0 */
    uint8_t *facts;   /* by id of a variable */
    uint32_t *queue;  /* functions that the entry point reaches */
    uint8_t *reached; /* by id of a function */
    size_t queued;
};
enum { WRITTEN = 1, LOST = 2 };

static uint32_t word(const struct walk *walk, size_t at, size_t n)
{
    return n < walk->module->words[at] >> SpvWordCountShift ? walk->module->words[at + n] : 0;
}

static uint32_t opcode(const struct walk *walk, size_t at)
{
    return walk->module->words[at] & SpvOpCodeMask;
}

static size_t after(const struct walk *walk, size_t at)
{
    return at + (walk->module->words[at] >> SpvWordCountShift);
}

static uint32_t root_of(const struct walk *walk, uint32_t id)
{
    return id < walk->module->id_bound ? walk->roots[id] : 0;
}

static void note(struct walk *walk, uint32_t id, uint8_t fact)
{
    const uint32_t root = root_of(walk, id);
    if (root)
        walk->facts[root] |= fact;
}

static void reach(struct walk *walk, uint32_t function)
{
    if (function >= walk->module->id_bound || walk->reached[function])
        return;
    walk->reached[function] = 1;
    walk->queue[walk->queued++] = function;
}

static void lose_operands(struct walk *walk, size_t at)
{
    const size_t end = after(walk, at);
    for (size_t i = at + 1; i < end; i++)
        note(walk, walk->module->words[i], LOST);
}

/* A literal operand may look like an id: then the result is less precise, but not wrong. */
static void visit(struct walk *walk, size_t at)
{
    const uint32_t result = word(walk, at, 2);
    switch (opcode(walk, at)) {
    case SpvOpAccessChain:
    case SpvOpInBoundsAccessChain:
    case SpvOpPtrAccessChain:
    case SpvOpInBoundsPtrAccessChain:
    case SpvOpCopyObject:
        if (result < walk->module->id_bound)
            walk->roots[result] = root_of(walk, word(walk, at, 3));
        break;
    case SpvOpLoad:
    case SpvOpArrayLength:
    case SpvOpAtomicLoad: break;
    case SpvOpStore:
        note(walk, word(walk, at, 1), WRITTEN);
        note(walk, word(walk, at, 2), LOST);
        break;
    case SpvOpCopyMemory:
    case SpvOpCopyMemorySized:
    case SpvOpAtomicStore: note(walk, word(walk, at, 1), WRITTEN); break;
    case SpvOpAtomicExchange:
    case SpvOpAtomicCompareExchange:
    case SpvOpAtomicCompareExchangeWeak:
    case SpvOpAtomicIIncrement:
    case SpvOpAtomicIDecrement:
    case SpvOpAtomicIAdd:
    case SpvOpAtomicISub:
    case SpvOpAtomicSMin:
    case SpvOpAtomicUMin:
    case SpvOpAtomicSMax:
    case SpvOpAtomicUMax:
    case SpvOpAtomicAnd:
    case SpvOpAtomicOr:
    case SpvOpAtomicXor: note(walk, word(walk, at, 3), WRITTEN); break;
    case SpvOpFunctionCall:
        reach(walk, word(walk, at, 3));
        lose_operands(walk, at);
        break;
    default: lose_operands(walk, at); break;
    }
}

static void visit_function(struct walk *walk, uint32_t function)
{
    const struct spirv_module *module = walk->module;
    size_t at = module->defined_at[function];
    if (!at || opcode(walk, at) != SpvOpFunction)
        return;
    for (; at < module->count && opcode(walk, at) != SpvOpFunctionEnd; at = after(walk, at))
        visit(walk, at);
}

static bool begin(struct walk *walk)
{
    const struct spirv_module *module = walk->module;
    walk->roots = hal_alloc(module->id_bound, sizeof *walk->roots);
    walk->facts = hal_alloc(module->id_bound, sizeof *walk->facts);
    walk->queue = hal_alloc(module->id_bound, sizeof *walk->queue);
    walk->reached = hal_alloc(module->id_bound, sizeof *walk->reached);
    if (!walk->roots || !walk->facts || !walk->queue || !walk->reached)
        return false;
    for (uint32_t id = 1; id < module->id_bound; id++) {
        const size_t at = module->defined_at[id];
        const uint32_t class = at ? word(walk, at, 3) : 0;
        if (at && opcode(walk, at) == SpvOpVariable &&
            (class == SpvStorageClassStorageBuffer || class == SpvStorageClassUniform))
            walk->roots[id] = id;
    }
    return true;
}

/* Where a variable is, by its decorations; several may be at one place. */
static void tell(const struct walk *walk, struct spirv_entry *entry)
{
    const struct spirv_module *module = walk->module;
    uint8_t *sets = walk->reached; /* of no more use */
    memset(sets, 0, module->id_bound);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t at = SPIRV_HEADER_WORDS; at < module->count; at = after(walk, at)) {
            const uint32_t id = word(walk, at, 1), what = word(walk, at, 2);
            const uint32_t number = word(walk, at, 3);
            if (opcode(walk, at) != SpvOpDecorate || root_of(walk, id) != id)
                continue;
            if (pass == 0 && what == SpvDecorationDescriptorSet && number < SPIRV_MAX_SETS)
                sets[id] = (uint8_t)number;
            for (uint32_t i = 0; pass && what == SpvDecorationBinding && i < entry->binding_count;
                 i++) {
                struct spirv_binding *binding = &entry->bindings[i];
                if (binding->set == sets[id] && binding->binding == number)
                    binding->access |= walk->facts[id];
            }
        }
    }
    for (uint32_t i = 0; i < entry->binding_count; i++) {
        struct spirv_binding *binding = &entry->bindings[i];
        const uint8_t facts = binding->access;
        binding->access = facts & WRITTEN ? SPIRV_READ | SPIRV_WRITE
                          : facts & LOST  ? SPIRV_ACCESS_UNKNOWN
                                          : SPIRV_READ;
    }
}

static uint32_t find_entry(const struct walk *walk, const char *name)
{
    const struct spirv_module *module = walk->module;
    for (size_t at = SPIRV_HEADER_WORDS; at < module->count; at = after(walk, at)) {
        const size_t words = after(walk, at) - at;
        if (opcode(walk, at) != SpvOpEntryPoint || words <= 3 ||
            module->words[at + 1] != SpvExecutionModelGLCompute)
            continue;
        const char *text = (const char *)&module->words[at + 3];
        if (memchr(text, '\0', (words - 3) * sizeof *module->words) && strcmp(text, name) == 0)
            return module->words[at + 2];
    }
    return 0;
}

enum hal_status spirv_module_list_access(const struct spirv_module *module, const char *name,
                                         struct spirv_entry *io_entry)
{
    struct walk walk = {.module = module};
    enum hal_status status = HAL_OK;
    for (uint32_t i = 0; i < io_entry->binding_count; i++)
        io_entry->bindings[i].access = SPIRV_ACCESS_UNKNOWN;
    if (begin(&walk)) {
        reach(&walk, find_entry(&walk, name));
        for (size_t i = 0; i < walk.queued; i++)
            visit_function(&walk, walk.queue[i]);
        tell(&walk, io_entry);
    } else {
        status = hal_fail(HAL_NO_MEMORY, "no memory for %u ids", module->id_bound);
    }
    free(walk.roots);
    free(walk.facts);
    free(walk.queue);
    free(walk.reached);
    return status;
}
