/* SPDX-License-Identifier: Apache-2.0 */
/* A sealed command buffer as operations with everything resolved: pipelines, buffers, offsets,
 * constants, and the choice between a blit command and a kernel of our own. */
#include "hal/base/mem.h"
#import "hal/metal/metal.h"

#include <inttypes.h>

enum {
    BLIT_ALIGNMENT = 4, /* of offsets and sizes, on macOS */
    STAGING_ALIGNMENT = METAL_CHUNK_BYTES,
};

struct builder {
    struct metal_device *device;
    const struct hal_command_buffer *commands;
    struct metal_program *program;
    uint64_t staged; /* bytes of the staging buffer that are in use */
    uint32_t dispatch_number;
    size_t open_groups;
    struct metal_op *checks; /* of the counts of indirect dispatches since the last barrier */
    size_t check_count, check_capacity;
    size_t interval; /* the first operation behind that barrier */
};

static enum hal_status no_memory(const struct builder *builder)
{
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_fail(HAL_NO_MEMORY, "no memory to prepare %s",
                    hal_object_name(&builder->commands->object, name));
}

static enum hal_status add_op(struct builder *builder, const struct metal_op *op)
{
    struct metal_program *program = builder->program;
    if (!hal_grow((void **)&program->ops, &program->op_capacity, program->op_count + 1,
                  sizeof *program->ops))
        return no_memory(builder);
    program->ops[program->op_count++] = *op;
    return HAL_OK;
}

static enum hal_status add_argument_of_kind(struct builder *builder,
                                            const struct metal_argument *argument)
{
    struct metal_program *program = builder->program;
    if (!hal_grow((void **)&program->arguments, &program->argument_capacity,
                  program->argument_count + 1, sizeof *program->arguments))
        return no_memory(builder);
    program->arguments[program->argument_count++] = *argument;
    return HAL_OK;
}

static enum hal_status add_argument(struct builder *builder, uint32_t slot, id<MTLBuffer> buffer,
                                    uint64_t offset)
{
    const struct metal_argument argument = {METAL_ARGUMENT_BUFFER, slot, .buffer = buffer,
                                            .offset = offset};
    return add_argument_of_kind(builder, &argument);
}

/* Gives the operation's slot `bytes` of constants, which are zeroed and for the caller to fill.
 * NULL: no memory. */
static uint8_t *add_bytes(struct builder *builder, struct metal_op *op, uint32_t slot,
                          uint32_t bytes)
{
    struct metal_program *program = builder->program;
    const size_t offset = hal_align_up(program->constant_count, 8);
    if (!hal_grow((void **)&program->constants, &program->constant_capacity, offset + bytes, 1))
        return NULL;
    memset(program->constants + offset, 0, bytes);
    program->constant_count = offset + bytes;
    op->dispatch.bytes[op->dispatch.bytes_count++] = (struct metal_bytes){offset, bytes, slot};
    return program->constants + offset;
}

/* The device may write the buffer: the host's copy of managed memory is then old. */
static enum hal_status note_write(struct builder *builder, struct hal_buffer *base)
{
    struct metal_buffer *buffer = to_metal_buffer(base);
    struct metal_program *program = builder->program;
    if (buffer->storage != MTLStorageModeManaged)
        return HAL_OK;
    for (size_t i = 0; i < program->managed_count; i++) {
        if (program->managed[i] == buffer)
            return HAL_OK;
    }
    if (!hal_grow((void **)&program->managed, &program->managed_capacity,
                  program->managed_count + 1, sizeof(void *)))
        return no_memory(builder);
    program->managed[program->managed_count++] = buffer;
    return HAL_OK;
}

/* ---- Our own kernels ---------------------------------------------------------------------- */

/* The kernel's arguments, from `first_argument` on, are followed by its constants. */
static enum hal_status make_builtin(struct builder *builder, id<MTLComputePipelineState> pipeline,
                                    const void *constants, size_t bytes, size_t first_argument,
                                    struct metal_op *out_op)
{
    struct metal_op op = {.kind = METAL_OP_DISPATCH};
    op.dispatch.pipeline = pipeline;
    op.dispatch.group_size = op.dispatch.group_count = MTLSizeMake(1, 1, 1);
    op.dispatch.first_argument = first_argument;
    op.dispatch.argument_count = builder->program->argument_count - first_argument;
    uint8_t *copy = add_bytes(builder, &op, (uint32_t)op.dispatch.argument_count, (uint32_t)bytes);
    if (!copy)
        return no_memory(builder);
    memcpy(copy, constants, bytes);
    *out_op = op;
    return HAL_OK;
}

/* A fill or a copy, whose threads do a chunk each up to `end`. */
static enum hal_status add_chunks(struct builder *builder, struct metal_op op, uint64_t end)
{
    const uint64_t chunks = (end + METAL_CHUNK_BYTES - 1) / METAL_CHUNK_BYTES;
    const uint32_t threads = builder->device->builtin.group_threads;
    op.dispatch.group_size = MTLSizeMake(threads, 1, 1);
    op.dispatch.group_count = MTLSizeMake((chunks + threads - 1) / threads, 1, 1);
    return add_op(builder, &op);
}

static enum hal_status fill_by_kernel(struct builder *builder, id<MTLBuffer> target,
                                      uint64_t offset, const struct hal_segment_fill *fill)
{
    const uint64_t first = offset % METAL_CHUNK_BYTES;
    const struct metal_fill_arguments arguments = {
        .first = first, .end = first + fill->bytes, .pattern = fill->pattern};
    const size_t before = builder->program->argument_count;
    struct metal_op op;
    HAL_TRY(add_argument(builder, 0, target, offset - first));
    HAL_TRY(make_builtin(builder, builder->device->builtin.fill, &arguments, sizeof arguments,
                         before, &op));
    return add_chunks(builder, op, arguments.end);
}

static enum hal_status copy_by_kernel(struct builder *builder, id<MTLBuffer> source,
                                      uint64_t source_offset, id<MTLBuffer> target,
                                      uint64_t target_offset, uint64_t bytes)
{
    const uint64_t first = target_offset % METAL_CHUNK_BYTES;
    const uint64_t source_first = source_offset % METAL_CHUNK_BYTES;
    const struct metal_copy_arguments arguments = {first, first + bytes, source_first};
    const size_t before = builder->program->argument_count;
    struct metal_op op;
    HAL_TRY(add_argument(builder, 0, target, target_offset - first));
    HAL_TRY(add_argument(builder, 1, source, source_offset - source_first));
    HAL_TRY(make_builtin(builder, builder->device->builtin.copy, &arguments, sizeof arguments,
                         before, &op));
    return add_chunks(builder, op, arguments.end);
}

/* ---- Transfers ---------------------------------------------------------------------------- */

static enum hal_status add_fill(struct builder *builder, const struct hal_segment_fill *fill)
{
    const NSUInteger offset = to_metal_buffer(fill->target)->origin + fill->offset;
    const bool one_byte = fill->pattern == (fill->pattern & 0xFF) * 0x01010101U;
    id<MTLBuffer> target = to_metal_buffer(fill->target)->buffer;
    if (fill->bytes == 0)
        return HAL_OK;
    HAL_TRY(note_write(builder, fill->target));
    if (!one_byte || (offset | fill->bytes) % BLIT_ALIGNMENT)
        return fill_by_kernel(builder, target, offset, fill);
    struct metal_op op = {.kind = METAL_OP_FILL};
    op.fill.target = target;
    op.fill.range = NSMakeRange(offset, fill->bytes);
    op.fill.value = (uint8_t)fill->pattern;
    return add_op(builder, &op);
}

static enum hal_status add_copy(struct builder *builder, id<MTLBuffer> source,
                                uint64_t source_offset, struct hal_buffer *target,
                                uint64_t target_offset, uint64_t bytes)
{
    id<MTLBuffer> to = to_metal_buffer(target)->buffer;
    target_offset += to_metal_buffer(target)->origin;
    if (bytes == 0)
        return HAL_OK;
    HAL_TRY(note_write(builder, target));
    if ((source_offset | target_offset | bytes) % BLIT_ALIGNMENT)
        return copy_by_kernel(builder, source, source_offset, to, target_offset, bytes);
    struct metal_op op = {.kind = METAL_OP_COPY};
    op.copy.source = source;
    op.copy.target = to;
    op.copy.source_offset = source_offset;
    op.copy.target_offset = target_offset;
    op.copy.bytes = bytes;
    return add_op(builder, &op);
}

static enum hal_status add_update(struct builder *builder, const struct hal_segment_update *update)
{
    struct metal_program *program = builder->program;
    const uint64_t offset = builder->staged;
    if (update->bytes == 0)
        return HAL_OK;
    memcpy((uint8_t *)program->staging.contents + offset, update->data, update->bytes);
    builder->staged = hal_align_up(offset + update->bytes, STAGING_ALIGNMENT);
    return add_copy(builder, program->staging, offset, update->target, update->offset,
                    update->bytes);
}

/* The data of all updates lies in one buffer. */
static enum hal_status make_staging(struct builder *builder)
{
    uint64_t bytes = 0;
    hal_each_segment (builder->commands, segment) {
        const struct hal_segment_update *update = (const void *)segment;
        if (segment->kind == HAL_SEGMENT_UPDATE)
            bytes += hal_align_up(update->bytes, STAGING_ALIGNMENT);
    }
    if (bytes == 0)
        return HAL_OK;
    builder->program->staging =
        metal_staging_create(builder->device, bytes, builder->commands->object.label);
    return builder->program->staging ? HAL_OK : no_memory(builder);
}

/* ---- Dispatches --------------------------------------------------------------------------- */

/* What direct and indirect dispatches have in common. */
struct launch {
    struct hal_executable *executable;
    uint32_t entry, state;
};

static enum hal_status fail_unbound(const struct builder *builder, const struct launch *launch,
                                    uint32_t slot, struct metal_place place, uint32_t bound)
{
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_fail(HAL_INVALID,
                    "%s, dispatch %u: kernel '%s' has a [[buffer(%u)]] for set %u, binding %u, but "
                    "nothing is bound there (descriptor set %u has %u bindings)",
                    hal_object_name(&builder->commands->object, name), builder->dispatch_number,
                    launch->executable->entry_points[launch->entry].name, slot, place.set,
                    place.binding, place.set, bound);
}

static enum hal_status fail_unaligned(const struct builder *builder, const struct launch *launch,
                                      uint32_t slot, uint32_t alignment,
                                      const struct hal_binding *binding)
{
    char name[HAL_OBJECT_NAME_BYTES], buffer[HAL_OBJECT_NAME_BYTES];
    return hal_fail(HAL_INVALID,
                    "%s, dispatch %u: kernel '%s' needs its [[buffer(%u)]] at a multiple of %u "
                    "bytes, and %" PRIu64 " of %s is bound there",
                    hal_object_name(&builder->commands->object, name), builder->dispatch_number,
                    launch->executable->entry_points[launch->entry].name, slot, alignment,
                    binding->offset, hal_object_name(&binding->buffer->object, buffer));
}

/* NULL: nothing is bound there. */
static const struct hal_binding *binding_of(const struct metal_entry *entry, uint32_t slot,
                                            const struct hal_dispatch_state *state)
{
    const struct metal_place place = entry->places[slot];
    if (place.binding >= state->binding_count[place.set])
        return NULL;
    const struct hal_binding *binding = &state->bindings[place.set][place.binding];
    return binding->buffer ? binding : NULL;
}

static bool is_ours(const struct metal_entry *entry, uint32_t slot)
{
    return slot == entry->sizes_slot || (entry->constant_bytes && slot == entry->constants_slot);
}

static enum hal_status add_bindings(struct builder *builder, const struct launch *launch,
                                    const struct metal_entry *entry,
                                    const struct hal_dispatch_state *state)
{
    for (uint32_t slot = 0; slot < METAL_MAX_SLOTS; slot++) {
        if (!(entry->buffer_mask >> slot & 1) || is_ours(entry, slot))
            continue;
        const struct hal_binding *binding = binding_of(entry, slot, state);
        const struct metal_place place = entry->places[slot];
        if (!binding)
            return fail_unbound(builder, launch, slot, place, state->binding_count[place.set]);
        if (binding->offset % entry->alignments[slot])
            return fail_unaligned(builder, launch, slot, entry->alignments[slot], binding);
        if (entry->written_mask >> slot & 1)
            HAL_TRY(note_write(builder, binding->buffer));
        const struct metal_buffer *buffer = to_metal_buffer(binding->buffer);
        HAL_TRY(add_argument(builder, slot, buffer->buffer, buffer->origin + binding->offset));
    }
    return HAL_OK;
}

/* Each set that the kernel has is an argument buffer. */
static enum hal_status add_sets(struct builder *builder, const struct metal_entry *entry,
                                const struct hal_dispatch_state *state)
{
    for (uint32_t set = 0; set < entry->layout->set_count; set++) {
        const struct hal_set_layout *layout = entry->layout->sets[set];
        struct metal_argument argument = {.kind = METAL_ARGUMENT_SET, .slot = set};
        if (!(entry->buffer_mask >> set & 1))
            continue;
        for (size_t i = 0; i < layout->binding_count; i++) {
            if (!(layout->bindings[i].flags & HAL_BINDING_READ_ONLY))
                HAL_TRY(
                    note_write(builder, state->bindings[set][layout->bindings[i].index].buffer));
        }
        HAL_TRY(metal_sets_add(&builder->program->sets, set, layout, state->bindings[set],
                               &argument.table));
        HAL_TRY(add_argument_of_kind(builder, &argument));
    }
    return HAL_OK;
}

/* What was pushed, then zeros. */
static enum hal_status copy_constants(struct builder *builder, const struct metal_entry *entry,
                                      const struct hal_dispatch_state *state, struct metal_op *op)
{
    const uint32_t wanted = entry->constant_bytes;
    const uint32_t pushed = state->constant_bytes < wanted ? state->constant_bytes : wanted;
    if (!wanted)
        return HAL_OK;
    uint8_t *constants = add_bytes(builder, op, entry->constants_slot, wanted);
    if (!constants)
        return no_memory(builder);
    if (pushed)
        memcpy(constants, state->constants, pushed);
    return HAL_OK;
}

/* The bytes of each buffer, for kernels that ask how long an array is. */
static enum hal_status list_sizes(struct builder *builder, const struct metal_entry *entry,
                                  const struct hal_dispatch_state *state, struct metal_op *op)
{
    uint32_t sizes[METAL_MAX_SLOTS];
    if (entry->sizes_slot == SPIRV_NO_SLOT)
        return HAL_OK;
    for (uint32_t i = 0; i < METAL_MAX_SLOTS; i++) {
        const struct hal_binding *binding = binding_of(entry, i, state);
        const uint64_t bytes = binding ? binding->bytes : 0;
        sizes[i] = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
    }
    uint8_t *copy = add_bytes(builder, op, entry->sizes_slot, sizeof sizes);
    if (!copy)
        return no_memory(builder);
    memcpy(copy, sizes, sizeof sizes);
    return HAL_OK;
}

/* All of it but the counts. */
static enum hal_status make_dispatch(struct builder *builder, const struct launch *launch,
                                     struct metal_op *out_op)
{
    const struct metal_entry *entry =
        &to_metal_executable(launch->executable)->entries[launch->entry];
    const struct hal_dispatch_state *state = &builder->commands->states[launch->state];
    struct metal_op op = {.kind = METAL_OP_DISPATCH};
    op.dispatch.pipeline = entry->pipeline;
    op.dispatch.group_size = entry->group_size;
    memcpy(op.dispatch.group_argument_bytes, entry->group_argument_bytes,
           sizeof op.dispatch.group_argument_bytes);
    op.dispatch.first_argument = builder->program->argument_count;
    HAL_TRY(entry->layout ? add_sets(builder, entry, state)
                          : add_bindings(builder, launch, entry, state));
    op.dispatch.argument_count = builder->program->argument_count - op.dispatch.first_argument;
    HAL_TRY(copy_constants(builder, entry, state, &op));
    HAL_TRY(list_sizes(builder, entry, state, &op));
    builder->dispatch_number++;
    *out_op = op;
    return HAL_OK;
}

static enum hal_status add_dispatch(struct builder *builder,
                                    const struct hal_segment_dispatch *dispatch)
{
    const struct launch launch = {dispatch->executable, dispatch->entry, dispatch->state};
    const uint32_t *count = dispatch->workgroup_count;
    struct metal_op op;
    HAL_TRY(make_dispatch(builder, &launch, &op));
    op.dispatch.group_count = MTLSizeMake(count[0], count[1], count[2]);
    return count[0] && count[1] && count[2] ? add_op(builder, &op) : HAL_OK;
}

/* ---- Indirect dispatches ------------------------------------------------------------------ */

/* A kernel of ours reads the counts and puts those that are used where the dispatch finds them. */
static enum hal_status add_check(struct builder *builder, const struct hal_entry_point *entry,
                                 struct hal_buffer *counts, uint64_t offset, size_t result)
{
    struct metal_counts_arguments arguments = {.reserved = 0};
    const size_t before = builder->program->argument_count;
    struct metal_op op;
    memcpy(arguments.group_size, entry->group_size, sizeof arguments.group_size);
    HAL_TRY(add_argument(builder, 0, to_metal_buffer(counts)->buffer,
                         to_metal_buffer(counts)->origin + offset));
    HAL_TRY(add_argument_of_kind(
        builder,
        &(struct metal_argument){.kind = METAL_ARGUMENT_COUNTS, .slot = 1, .offset = result}));
    HAL_TRY(make_builtin(builder, builder->device->builtin.counts, &arguments, sizeof arguments,
                         before, &op));
    if (!hal_grow((void **)&builder->checks, &builder->check_capacity, builder->check_count + 1,
                  sizeof *builder->checks))
        return no_memory(builder);
    builder->checks[builder->check_count++] = op;
    return HAL_OK;
}

static enum hal_status add_dispatch_indirect(struct builder *builder,
                                             const struct hal_segment_dispatch_indirect *dispatch)
{
    const struct launch launch = {dispatch->executable, dispatch->entry, dispatch->state};
    const struct hal_entry_point *entry = &dispatch->executable->entry_points[dispatch->entry];
    struct metal_program *program = builder->program;
    const size_t result = program->indirect_count * sizeof(struct metal_counts);
    struct metal_op op;
    if (!hal_grow((void **)&program->indirects, &program->indirect_capacity,
                  program->indirect_count + 1, sizeof *program->indirects))
        return no_memory(builder);
    program->indirects[program->indirect_count++] =
        (struct metal_indirect){entry, builder->dispatch_number};
    HAL_TRY(make_dispatch(builder, &launch, &op));
    HAL_TRY(add_check(builder, entry, dispatch->counts, dispatch->offset, result));
    op.dispatch.is_indirect = true;
    op.dispatch.counts_offset = result;
    return add_op(builder, &op);
}

/* Nothing between two barriers may write counts that are read between them: so all are read at the
 * beginning, at the price of one more barrier. */
static enum hal_status end_interval(struct builder *builder)
{
    struct metal_program *program = builder->program;
    const size_t added = builder->check_count + 1, tail = program->op_count - builder->interval;
    if (builder->check_count == 0)
        return HAL_OK;
    if (!hal_grow((void **)&program->ops, &program->op_capacity, program->op_count + added,
                  sizeof *program->ops))
        return no_memory(builder);
    struct metal_op *first = program->ops + builder->interval;
    memmove(first + added, first, tail * sizeof *first);
    memcpy(first, builder->checks, builder->check_count * sizeof *first);
    first[added - 1] = (struct metal_op){.kind = METAL_OP_BARRIER};
    program->op_count += added;
    builder->check_count = 0;
    return HAL_OK;
}

static enum hal_status add_barrier(struct builder *builder)
{
    HAL_TRY(end_interval(builder));
    HAL_TRY(add_op(builder, &(struct metal_op){.kind = METAL_OP_BARRIER}));
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

/* ---- Labels ------------------------------------------------------------------------------- */

static enum hal_status add_debug_begin(struct builder *builder,
                                       const struct hal_segment_debug *debug)
{
    struct metal_op op = {.kind = METAL_OP_DEBUG_BEGIN};
    builder->open_groups++;
    if (builder->open_groups > builder->program->group_depth)
        builder->program->group_depth = builder->open_groups;
    op.label = [metal_string(debug->label) retain];
    const enum hal_status status = add_op(builder, &op);
    if (status != HAL_OK)
        [op.label release];
    return status;
}

/* ---- All of it ---------------------------------------------------------------------------- */

static enum hal_status add_segment(struct builder *builder, const struct hal_segment *segment)
{
    const void *whole = segment;
    switch ((enum hal_segment_kind)segment->kind) {
    case HAL_SEGMENT_BARRIER:
    case HAL_SEGMENT_EVENTS_WAIT: return add_barrier(builder); /* more than is asked for */
    case HAL_SEGMENT_FILL: return add_fill(builder, whole);
    case HAL_SEGMENT_COPY: {
        const struct hal_segment_copy *copy = whole;
        return add_copy(builder, to_metal_buffer(copy->source)->buffer,
                        to_metal_buffer(copy->source)->origin + copy->source_offset, copy->target,
                        copy->target_offset, copy->bytes);
    }
    case HAL_SEGMENT_UPDATE: return add_update(builder, whole);
    case HAL_SEGMENT_DISPATCH: return add_dispatch(builder, whole);
    case HAL_SEGMENT_DISPATCH_INDIRECT: return add_dispatch_indirect(builder, whole);
    case HAL_SEGMENT_DEBUG_BEGIN: return add_debug_begin(builder, whole);
    case HAL_SEGMENT_DEBUG_END:
        builder->open_groups--;
        return add_op(builder, &(struct metal_op){.kind = METAL_OP_DEBUG_END});
    case HAL_SEGMENT_EVENT_SIGNAL:
    case HAL_SEGMENT_EVENT_RESET:
    case HAL_SEGMENT_PUSH_CONSTANTS:
    case HAL_SEGMENT_PUSH_DESCRIPTOR_SET: return HAL_OK;
    }
    return hal_fail(HAL_INVALID, "there is no segment of kind %u", segment->kind);
}

static bool is_empty(const struct metal_program *program)
{
    for (size_t i = 0; i < program->op_count; i++) {
        const enum metal_op_kind kind = program->ops[i].kind;
        if (kind == METAL_OP_FILL || kind == METAL_OP_COPY || kind == METAL_OP_DISPATCH)
            return false;
    }
    return true;
}

enum hal_status metal_program_create(struct metal_device *device,
                                     const struct hal_command_buffer *commands,
                                     struct metal_program **out_program)
{
    char name[HAL_OBJECT_NAME_BYTES];
    struct builder builder = {
        .device = device,
        .commands = commands,
        .program = hal_alloc(1, sizeof *builder.program),
    };
    if (!builder.program)
        return no_memory(&builder);
    enum hal_status status;
    @autoreleasepool {
        builder.program->label = [metal_string(hal_object_name(&commands->object, name)) retain];
        status = make_staging(&builder);
        for (const struct hal_segment *segment = hal_segment_first(commands);
             status == HAL_OK && segment; segment = hal_segment_next(commands, segment))
            status = add_segment(&builder, segment);
        if (status == HAL_OK)
            status = end_interval(&builder);
        if (status == HAL_OK)
            status = metal_sets_seal(&builder.program->sets, device, commands->object.label);
        free(builder.checks);
        builder.program->empty = is_empty(builder.program);
        if (status != HAL_OK)
            metal_program_destroy(builder.program);
    }
    if (status == HAL_OK)
        *out_program = builder.program;
    return status;
}

void metal_program_destroy(struct metal_program *program)
{
    if (!program)
        return;
    for (size_t i = 0; i < program->op_count; i++) {
        if (program->ops[i].kind == METAL_OP_DEBUG_BEGIN)
            [program->ops[i].label release];
    }
    metal_sets_destroy(&program->sets);
    [program->staging release];
    [program->label release];
    free(program->indirects);
    free(program->managed);
    free(program->constants);
    free(program->arguments);
    free(program->ops);
    free(program);
}
