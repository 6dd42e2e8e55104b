/* SPDX-License-Identifier: Apache-2.0 */
/* Appends operations and what they take to a program that is made. */
#import "hal/drivers/metal/builder.h"

#include "hal/base/mem.h"

enum hal_status metal_builder_no_memory(const struct metal_builder *builder)
{
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_fail(HAL_NO_MEMORY, "no memory to prepare %s",
                    hal_object_name(&builder->commands->object, name));
}

enum hal_status metal_builder_add_op(struct metal_builder *builder, const struct metal_op *op)
{
    struct metal_program *program = builder->program;
    if (!HAL_GROW(program->ops, &program->op_capacity, program->op_count + 1))
        return metal_builder_no_memory(builder);
    program->ops[program->op_count++] = *op;
    return HAL_OK;
}

enum hal_status metal_builder_add_argument(struct metal_builder *builder,
                                           const struct metal_argument *argument)
{
    struct metal_program *program = builder->program;
    if (!HAL_GROW(program->arguments, &program->argument_capacity, program->argument_count + 1))
        return metal_builder_no_memory(builder);
    program->arguments[program->argument_count++] = *argument;
    return HAL_OK;
}

enum hal_status metal_builder_add_buffer(struct metal_builder *builder, uint32_t slot,
                                         id<MTLBuffer> buffer, uint64_t offset)
{
    const struct metal_argument argument = {METAL_ARGUMENT_BUFFER, slot, .buffer = buffer,
                                            .offset = offset};
    return metal_builder_add_argument(builder, &argument);
}

uint8_t *metal_builder_add_bytes(struct metal_builder *builder, struct metal_op *op, uint32_t slot,
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

enum hal_status metal_builder_note_write(struct metal_builder *builder, struct hal_buffer *base)
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
        return metal_builder_no_memory(builder);
    program->managed[program->managed_count++] = buffer;
    return HAL_OK;
}

enum hal_status metal_builder_make_builtin(struct metal_builder *builder,
                                           id<MTLComputePipelineState> pipeline,
                                           const void *constants, size_t bytes,
                                           size_t first_argument, struct metal_op *out_op)
{
    struct metal_op op = {.kind = METAL_OP_DISPATCH};
    op.dispatch.pipeline = pipeline;
    op.dispatch.number = METAL_NO_NUMBER;
    op.dispatch.workgroup_size = op.dispatch.workgroup_count = MTLSizeMake(1, 1, 1);
    op.dispatch.first_argument = first_argument;
    op.dispatch.argument_count = builder->program->argument_count - first_argument;
    uint8_t *copy = metal_builder_add_bytes(builder, &op, (uint32_t)op.dispatch.argument_count,
                                            (uint32_t)bytes);
    if (!copy)
        return metal_builder_no_memory(builder);
    memcpy(copy, constants, bytes);
    *out_op = op;
    return HAL_OK;
}
