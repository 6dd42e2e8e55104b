/* SPDX-License-Identifier: Apache-2.0 */
/* Which loops are to be unrolled before the split: those that index private arrays, which can then
 * live in registers; and those that wait, if they are short. All others are better left: their
 * threads go around them together. */
#include "hal/compiler/msl/fission/pass.h"

#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

static unsigned loop_kind(const struct fission *f)
{
    return LLVMGetMDKindIDInContext(f->context, "llvm.loop", 9);
}

static bool is_private(ir_value item)
{
    if (!ir_is(item, LLVMLoad) && !ir_is(item, LLVMStore) && !ir_is(item, LLVMCall))
        return false;
    for (unsigned i = 0; i < ir_operand_count(item); i++) {
        const ir_value root = ir_root(LLVMGetOperand(item, i));
        size_t length;
        if (ir_is(root, LLVMAlloca) &&
            !ir_starts_with(LLVMGetValueName2(root, &length), "group.variable"))
            return true;
    }
    return false;
}

/* NULL: as the unroller likes. */
static const char *hint_for(const struct fission *f, const ir_bits *inside)
{
    bool waits = false, touches = false;
    for (size_t i = 0; i < f->cfg.count; i++)
        if (ir_has(inside, i))
            ir_each_instruction(item, f->cfg.blocks[i])
            {
                waits = waits || fission_waits(f, item);
                touches = touches || is_private(item);
            }
    if (touches)
        return "llvm.loop.unroll.enable";
    return waits ? NULL : "llvm.loop.unroll.disable";
}

/* What the source asked for stays. */
static bool has_pragma(const struct fission *f, ir_value end)
{
    const ir_value old = LLVMGetMetadata(end, loop_kind(f));
    if (!old)
        return false;
    char *text = LLVMPrintValueToString(old);
    const bool has = strstr(text, "llvm.loop.unroll") != NULL;
    LLVMDisposeMessage(text);
    return has;
}

static void set_hint(const struct fission *f, ir_value end, const char *hint)
{
    LLVMMetadataRef name = LLVMMDStringInContext2(f->context, hint, strlen(hint));
    LLVMMetadataRef list[2] = {LLVMTemporaryMDNode(f->context, NULL, 0),
                               LLVMMDNodeInContext2(f->context, &name, 1)};
    const LLVMMetadataRef node = LLVMMDNodeInContext2(f->context, list, 2);
    LLVMMetadataReplaceAllUsesWith(list[0], node);
    LLVMSetMetadata(end, loop_kind(f), LLVMMetadataAsValue(f->context, node));
}

bool fission_choose_unrolling(struct fission *f)
{
    cfg_build(&f->cfg, f->function);
    cfg_find_dominators(&f->cfg);
    ir_bits *inside = ir_alloc(f->cfg.words, sizeof *inside);
    for (size_t header = 0; header < f->cfg.count; header++) {
        if (cfg_loop(&f->cfg, header, inside) != 1)
            continue;
        const char *hint = hint_for(f, inside);
        for (size_t i = 0; i < f->cfg.count; i++)
            for (size_t e = f->cfg.first_next[i]; e < f->cfg.first_next[i + 1]; e++) {
                const ir_value end = LLVMGetBasicBlockTerminator(f->cfg.blocks[i]);
                if (ir_has(inside, i) && f->cfg.next[e] == header && hint && !has_pragma(f, end))
                    set_hint(f, end, hint);
            }
    }
    free(inside);
    return true;
}

/* After the split, the loops are others. */
void fission_forget_hints(struct fission *f)
{
    ir_each_block(block, f->function)
        LLVMSetMetadata(LLVMGetBasicBlockTerminator(block), loop_kind(f), NULL);
}
