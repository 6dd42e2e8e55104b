/* SPDX-License-Identifier: Apache-2.0 */
/* An ended command buffer as operations with everything resolved: pipelines, buffers, offsets,
 * constants, and the choice between a blit command and a kernel of our own. */
#include "hal/base/mem.h"
#import "hal/drivers/metal/builder.h"

#include <inttypes.h>

enum {
    BLIT_ALIGNMENT = 4, /* of offsets and sizes, on macOS */
    STAGING_ALIGNMENT = METAL_CHUNK_BYTES,
};

/* ---- Our own kernels ---------------------------------------------------------------------- */

/* A fill or a copy, whose threads do a chunk each up to `end`. */
static enum hal_status add_chunks(struct metal_builder *builder, struct metal_op op, uint64_t end)
{
    const uint64_t chunks = (end + METAL_CHUNK_BYTES - 1) / METAL_CHUNK_BYTES;
    const uint32_t threads = builder->device->builtin.group_threads;
    op.dispatch.workgroup_size = MTLSizeMake(threads, 1, 1);
    op.dispatch.workgroup_count = MTLSizeMake((chunks + threads - 1) / threads, 1, 1);
    return metal_builder_add_op(builder, &op);
}

static enum hal_status fill_by_kernel(struct metal_builder *builder, id<MTLBuffer> target,
                                      uint64_t offset, const struct hal_command_fill *fill)
{
    const uint64_t first = offset % METAL_CHUNK_BYTES;
    const struct metal_fill_arguments arguments = {
        .first = first, .end = first + fill->bytes, .pattern = fill->pattern};
    const size_t before = builder->program->argument_count;
    struct metal_op op;
    HAL_TRY(metal_builder_add_buffer(builder, 0, target, offset - first));
    HAL_TRY(metal_builder_make_builtin(builder, builder->device->builtin.fill, &arguments,
                                       sizeof arguments, before, &op));
    return add_chunks(builder, op, arguments.end);
}

static enum hal_status copy_by_kernel(struct metal_builder *builder, id<MTLBuffer> source,
                                      uint64_t source_offset, id<MTLBuffer> target,
                                      uint64_t target_offset, uint64_t bytes)
{
    const uint64_t first = target_offset % METAL_CHUNK_BYTES;
    const uint64_t source_first = source_offset % METAL_CHUNK_BYTES;
    const struct metal_copy_arguments arguments = {first, first + bytes, source_first};
    const size_t before = builder->program->argument_count;
    struct metal_op op;
    HAL_TRY(metal_builder_add_buffer(builder, 0, target, target_offset - first));
    HAL_TRY(metal_builder_add_buffer(builder, 1, source, source_offset - source_first));
    HAL_TRY(metal_builder_make_builtin(builder, builder->device->builtin.copy, &arguments,
                                       sizeof arguments, before, &op));
    return add_chunks(builder, op, arguments.end);
}

/* ---- Transfers ---------------------------------------------------------------------------- */

static enum hal_status add_fill(struct metal_builder *builder, const struct hal_command_fill *fill)
{
    const NSUInteger offset = to_metal_buffer(fill->target)->origin + fill->offset;
    const bool one_byte = fill->pattern == (fill->pattern & 0xFF) * 0x01010101U;
    id<MTLBuffer> target = to_metal_buffer(fill->target)->buffer;
    if (fill->bytes == 0)
        return HAL_OK;
    HAL_TRY(metal_builder_note_write(builder, fill->target));
    if (!one_byte || (offset | fill->bytes) % BLIT_ALIGNMENT)
        return fill_by_kernel(builder, target, offset, fill);
    struct metal_op op = {.kind = METAL_OP_FILL};
    op.fill.target = target;
    op.fill.range = NSMakeRange(offset, fill->bytes);
    op.fill.value = (uint8_t)fill->pattern;
    return metal_builder_add_op(builder, &op);
}

static enum hal_status add_copy(struct metal_builder *builder, id<MTLBuffer> source,
                                uint64_t source_offset, struct hal_buffer *target,
                                uint64_t target_offset, uint64_t bytes)
{
    id<MTLBuffer> to = to_metal_buffer(target)->buffer;
    target_offset += to_metal_buffer(target)->origin;
    if (bytes == 0)
        return HAL_OK;
    HAL_TRY(metal_builder_note_write(builder, target));
    if ((source_offset | target_offset | bytes) % BLIT_ALIGNMENT)
        return copy_by_kernel(builder, source, source_offset, to, target_offset, bytes);
    struct metal_op op = {.kind = METAL_OP_COPY};
    op.copy.source = source;
    op.copy.target = to;
    op.copy.source_offset = source_offset;
    op.copy.target_offset = target_offset;
    op.copy.bytes = bytes;
    return metal_builder_add_op(builder, &op);
}

static enum hal_status add_update(struct metal_builder *builder,
                                  const struct hal_command_update *update)
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

/* The data of all updates is in one buffer. */
static enum hal_status make_staging(struct metal_builder *builder)
{
    uint64_t bytes = 0;
    hal_each_command (builder->commands, command) {
        const struct hal_command_update *update = (const void *)command;
        if (command->kind == HAL_COMMAND_UPDATE)
            bytes += hal_align_up(update->bytes, STAGING_ALIGNMENT);
    }
    if (bytes == 0)
        return HAL_OK;
    builder->program->staging =
        metal_staging_create(builder->device, bytes, builder->commands->object.label);
    return builder->program->staging ? HAL_OK : metal_builder_no_memory(builder);
}

/* ---- Labels ------------------------------------------------------------------------------- */

static enum hal_status add_debug_begin(struct metal_builder *builder,
                                       const struct hal_command_debug *debug)
{
    struct metal_op op = {.kind = METAL_OP_DEBUG_BEGIN};
    builder->open_groups++;
    if (builder->open_groups > builder->program->group_depth)
        builder->program->group_depth = builder->open_groups;
    op.label = [metal_string(debug->label) retain];
    const enum hal_status status = metal_builder_add_op(builder, &op);
    if (status != HAL_OK)
        [op.label release];
    return status;
}

/* ---- All of it ---------------------------------------------------------------------------- */

static enum hal_status add_command(struct metal_builder *builder, const struct hal_command *command)
{
    const void *whole = command;
    switch ((enum hal_command_kind)command->kind) {
    case HAL_COMMAND_BARRIER:
    case HAL_COMMAND_EVENTS_WAIT:
        return metal_builder_add_barrier(builder); /* more than is asked for */
    case HAL_COMMAND_FILL: return add_fill(builder, whole);
    case HAL_COMMAND_COPY: {
        const struct hal_command_copy *copy = whole;
        return add_copy(builder, to_metal_buffer(copy->source)->buffer,
                        to_metal_buffer(copy->source)->origin + copy->source_offset, copy->target,
                        copy->target_offset, copy->bytes);
    }
    case HAL_COMMAND_UPDATE: return add_update(builder, whole);
    case HAL_COMMAND_DISPATCH: return metal_builder_add_dispatch(builder, whole);
    case HAL_COMMAND_DISPATCH_INDIRECT: return metal_builder_add_dispatch_indirect(builder, whole);
    case HAL_COMMAND_DEBUG_BEGIN: return add_debug_begin(builder, whole);
    case HAL_COMMAND_DEBUG_END:
        builder->open_groups--;
        return metal_builder_add_op(builder, &(struct metal_op){.kind = METAL_OP_DEBUG_END});
    case HAL_COMMAND_EVENT_SIGNAL:
    case HAL_COMMAND_EVENT_RESET:
    case HAL_COMMAND_PUSH_CONSTANTS:
    case HAL_COMMAND_PUSH_DESCRIPTOR_SET: return HAL_OK;
    }
    return hal_fail(HAL_INVALID, "there is no command of kind %u", command->kind);
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
    struct metal_builder builder = {
        .device = device,
        .commands = commands,
        .program = hal_alloc(1, sizeof *builder.program),
    };
    if (!builder.program)
        return metal_builder_no_memory(&builder);
    enum hal_status status;
    @autoreleasepool {
        builder.program->label = [metal_string(hal_object_name(&commands->object, name)) retain];
        status = make_staging(&builder);
        for (const struct hal_command *command = hal_command_first(commands);
             status == HAL_OK && command; command = hal_command_next(commands, command))
            status = add_command(&builder, command);
        if (status == HAL_OK)
            status = metal_builder_end_interval(&builder);
        if (status == HAL_OK)
            status = metal_sets_finish(&builder.program->sets, device, commands->object.label);
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
