/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatches of a program: what a kernel's slots get, and the counts of indirect ones. */
#include "hal/base/mem.h"
#import "hal/drivers/metal/builder.h"

#include <inttypes.h>

/* ---- Dispatches --------------------------------------------------------------------------- */

/* What direct and indirect dispatches have in common. */
struct launch {
    struct hal_executable *executable;
    uint32_t entry, state;
};

static bool is_ours(const struct metal_entry *entry, uint32_t slot)
{
    return slot == entry->slots.sizes_slot ||
           (entry->slots.constant_bytes && slot == entry->slots.constants_slot);
}

static enum hal_status add_bindings(struct metal_builder *builder, const struct metal_entry *entry,
                                    const struct hal_dispatch_state *state)
{
    for (uint32_t slot = 0; slot < METAL_MAX_SLOTS; slot++) {
        if (!(entry->buffer_mask >> slot & 1) || is_ours(entry, slot))
            continue;
        const struct hal_binding *binding = hal_kernel_binding(&entry->slots, slot, state);
        if (entry->written_mask >> slot & 1)
            HAL_TRY(metal_builder_note_write(builder, binding->buffer));
        const struct metal_buffer *buffer = to_metal_buffer(binding->buffer);
        HAL_TRY(metal_builder_add_buffer(builder, slot, buffer->buffer,
                                         buffer->origin + binding->offset));
    }
    return HAL_OK;
}

/* Each set that the kernel has is an argument buffer. */
static enum hal_status add_sets(struct metal_builder *builder, const struct metal_entry *entry,
                                const struct hal_dispatch_state *state)
{
    for (uint32_t set = 0; set < entry->layout->set_count; set++) {
        const struct hal_set_layout *layout = entry->layout->sets[set];
        struct metal_argument argument = {.kind = METAL_ARGUMENT_SET, .slot = set};
        if (!(entry->buffer_mask >> set & 1))
            continue;
        for (size_t i = 0; i < layout->binding_count; i++) {
            if (!(layout->bindings[i].flags & HAL_BINDING_READ_ONLY))
                HAL_TRY(metal_builder_note_write(
                    builder, state->bindings[set][layout->bindings[i].index].buffer));
        }
        HAL_TRY(metal_sets_add(&builder->program->sets, set, layout, state->bindings[set],
                               &argument.table));
        HAL_TRY(metal_builder_add_argument(builder, &argument));
    }
    return HAL_OK;
}

/* What was pushed, then zeros. */
static enum hal_status copy_constants(struct metal_builder *builder,
                                      const struct metal_entry *entry,
                                      const struct hal_dispatch_state *state, struct metal_op *op)
{
    const uint32_t wanted = entry->slots.constant_bytes;
    const uint32_t pushed = state->constant_bytes < wanted ? state->constant_bytes : wanted;
    if (!wanted)
        return HAL_OK;
    uint8_t *constants = metal_builder_add_bytes(builder, op, entry->slots.constants_slot, wanted);
    if (!constants)
        return metal_builder_no_memory(builder);
    if (pushed)
        memcpy(constants, state->constants, pushed);
    return HAL_OK;
}

/* The bytes of each buffer, for kernels that ask how long an array is. */
static enum hal_status list_sizes(struct metal_builder *builder, const struct metal_entry *entry,
                                  const struct hal_dispatch_state *state, struct metal_op *op)
{
    uint32_t sizes[HAL_MAX_BINDINGS];
    if (entry->slots.sizes_slot == SPIRV_NO_SLOT)
        return HAL_OK;
    hal_kernel_list_sizes(&entry->slots, state, sizes);
    uint8_t *copy = metal_builder_add_bytes(builder, op, entry->slots.sizes_slot, sizeof sizes);
    if (!copy)
        return metal_builder_no_memory(builder);
    memcpy(copy, sizes, sizeof sizes);
    return HAL_OK;
}

/* All of it but the counts. */
static enum hal_status make_dispatch(struct metal_builder *builder, const struct launch *launch,
                                     struct metal_op *out_op)
{
    const struct metal_entry *entry =
        &to_metal_executable(launch->executable)->entries[launch->entry];
    const struct hal_dispatch_state *state = &builder->commands->states[launch->state];
    struct metal_op op = {.kind = METAL_OP_DISPATCH};
    op.dispatch.pipeline = entry->pipeline;
    op.dispatch.workgroup_size = entry->workgroup_size;
    memcpy(op.dispatch.workgroup_argument_bytes, entry->workgroup_argument_bytes,
           sizeof op.dispatch.workgroup_argument_bytes);
    op.dispatch.first_argument = builder->program->argument_count;
    HAL_TRY(entry->layout ? add_sets(builder, entry, state) : add_bindings(builder, entry, state));
    op.dispatch.argument_count = builder->program->argument_count - op.dispatch.first_argument;
    HAL_TRY(copy_constants(builder, entry, state, &op));
    HAL_TRY(list_sizes(builder, entry, state, &op));
    op.dispatch.number = builder->dispatch_number++;
    *out_op = op;
    return HAL_OK;
}

enum hal_status metal_builder_add_dispatch(struct metal_builder *builder,
                                           const struct hal_command_dispatch *dispatch)
{
    const struct launch launch = {dispatch->executable, dispatch->entry, dispatch->state};
    const uint32_t *count = dispatch->workgroup_count;
    struct metal_op op;
    HAL_TRY(make_dispatch(builder, &launch, &op));
    op.dispatch.workgroup_count = MTLSizeMake(count[0], count[1], count[2]);
    return count[0] && count[1] && count[2] ? metal_builder_add_op(builder, &op) : HAL_OK;
}

/* ---- Indirect dispatches ------------------------------------------------------------------ */

/* A kernel of ours reads the counts and puts those that are used where the dispatch finds them. */
static enum hal_status add_check(struct metal_builder *builder, const struct hal_entry_point *entry,
                                 struct hal_buffer *counts, uint64_t offset, size_t result)
{
    struct metal_counts_arguments arguments = {.reserved = 0};
    const size_t before = builder->program->argument_count;
    struct metal_op op;
    memcpy(arguments.workgroup_size, entry->workgroup_size, sizeof arguments.workgroup_size);
    HAL_TRY(metal_builder_add_buffer(builder, 0, to_metal_buffer(counts)->buffer,
                                     to_metal_buffer(counts)->origin + offset));
    HAL_TRY(metal_builder_add_argument(
        builder,
        &(struct metal_argument){.kind = METAL_ARGUMENT_COUNTS, .slot = 1, .offset = result}));
    HAL_TRY(metal_builder_make_builtin(builder, builder->device->builtin.counts, &arguments,
                                       sizeof arguments, before, &op));
    if (!HAL_GROW(builder->checks, &builder->check_capacity, builder->check_count + 1))
        return metal_builder_no_memory(builder);
    builder->checks[builder->check_count++] = op;
    return HAL_OK;
}

enum hal_status metal_builder_add_dispatch_indirect(
    struct metal_builder *builder, const struct hal_command_dispatch_indirect *dispatch)
{
    const struct launch launch = {dispatch->executable, dispatch->entry, dispatch->state};
    const struct hal_entry_point *entry = &dispatch->executable->entry_points[dispatch->entry];
    struct metal_program *program = builder->program;
    const size_t result = program->indirect_count * sizeof(struct metal_counts);
    struct metal_op op;
    if (!HAL_GROW(program->indirects, &program->indirect_capacity, program->indirect_count + 1))
        return metal_builder_no_memory(builder);
    program->indirects[program->indirect_count++] =
        (struct metal_indirect){entry, builder->dispatch_number};
    HAL_TRY(make_dispatch(builder, &launch, &op));
    HAL_TRY(add_check(builder, entry, dispatch->counts, dispatch->offset, result));
    op.dispatch.is_indirect = true;
    op.dispatch.counts_offset = result;
    return metal_builder_add_op(builder, &op);
}

/* Nothing between two barriers may write counts that are read between them: so all are read at the
 * beginning, at the price of one more barrier. */
enum hal_status metal_builder_end_interval(struct metal_builder *builder)
{
    struct metal_program *program = builder->program;
    const size_t added = builder->check_count + 1, tail = program->op_count - builder->interval;
    if (builder->check_count == 0)
        return HAL_OK;
    if (!HAL_GROW(program->ops, &program->op_capacity, program->op_count + added))
        return metal_builder_no_memory(builder);
    struct metal_op *first = program->ops + builder->interval;
    memmove(first + added, first, tail * sizeof *first);
    memcpy(first, builder->checks, builder->check_count * sizeof *first);
    first[added - 1] = (struct metal_op){.kind = METAL_OP_BARRIER};
    program->op_count += added;
    builder->check_count = 0;
    return HAL_OK;
}

enum hal_status metal_builder_add_barrier(struct metal_builder *builder)
{
    HAL_TRY(metal_builder_end_interval(builder));
    HAL_TRY(metal_builder_add_op(builder, &(struct metal_op){.kind = METAL_OP_BARRIER}));
    builder->interval = builder->program->op_count;
    return HAL_OK;
}

enum hal_status metal_program_check_counts(const struct metal_program *program,
                                           id<MTLBuffer> counts)
{
    const struct metal_counts *results = counts ? counts.contents : NULL;
    for (size_t i = 0; results && i < program->indirect_count; i++) {
        const struct metal_indirect *indirect = &program->indirects[i];
        HAL_TRY(hal_add_context(hal_check_workgroups(indirect->entry, results[i].given),
                                "%s, dispatch %u", program->label.UTF8String,
                                indirect->dispatch_number));
    }
    return HAL_OK;
}
