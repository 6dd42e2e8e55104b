/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes operations. Metal takes transfers and dispatches in encoders of different kinds, one open
 * at a time. Metal does not track our buffers: we enforce the order between commands. Inside a
 * compute encoder, whose dispatches may overlap, a barrier is a memory barrier; a blit encoder has
 * none, so it ends there. The encoders of a submission form a chain through a fence: each updates
 * it at its end, and each except the first waits for it. */
#include "hal/base/mem.h"
#import "hal/drivers/metal/program.h"

struct bound {
    id<MTLBuffer> buffer;
    NSUInteger offset;
};

struct encoder {
    struct metal_device *device;
    const struct metal_program *program;
    const struct metal_target *target;
    id<MTLBlitCommandEncoder> blit;       /* borrowed from the command buffer; one of them */
    id<MTLComputeCommandEncoder> compute; /* is open at most */
    bool follows;                         /* an encoder went before */
    bool barrier;                         /* precedes the next command */
    id<MTLComputePipelineState> pipeline; /* what the compute encoder has now */
    struct bound bound[METAL_MAX_SLOTS];
    size_t *groups; /* operations that began the open debug groups */
    size_t group_count;
};

/* ---- Encoders ----------------------------------------------------------------------------- */

static id<MTLCommandEncoder> open_encoder(const struct encoder *encoder)
{
    return encoder->blit ? (id<MTLCommandEncoder>)encoder->blit
                         : (id<MTLCommandEncoder>)encoder->compute;
}

static void end_encoder(struct encoder *encoder)
{
    id<MTLCommandEncoder> open = open_encoder(encoder);
    if (!open)
        return;
    for (size_t i = 0; i < encoder->group_count; i++)
        [open popDebugGroup];
    if (encoder->blit)
        [encoder->blit updateFence:encoder->target->fence];
    else
        [encoder->compute updateFence:encoder->target->fence];
    [open endEncoding];
    encoder->blit = nil;
    encoder->compute = nil;
}

/* A debug group may span encoders: each of them has it. */
static void begin_encoder(struct encoder *encoder)
{
    id<MTLCommandEncoder> open = open_encoder(encoder);
    open.label = encoder->program->label;
    for (size_t i = 0; i < encoder->group_count; i++)
        [open pushDebugGroup:encoder->program->ops[encoder->groups[i]].label];
    encoder->follows = true;
    encoder->barrier = false;
}

static bool need_blit(struct encoder *encoder)
{
    if (encoder->blit && !encoder->barrier)
        return true;
    end_encoder(encoder);
    encoder->blit = [encoder->target->commands blitCommandEncoder];
    if (!encoder->blit)
        return false;
    if (encoder->follows)
        [encoder->blit waitForFence:encoder->target->fence];
    begin_encoder(encoder);
    return true;
}

static id<MTLComputeCommandEncoder> make_compute(const struct encoder *encoder,
                                                 const struct metal_sample_place *place)
{
    if (!place)
        return [encoder->target->commands
            computeCommandEncoderWithDispatchType:MTLDispatchTypeConcurrent];
    MTLComputePassDescriptor *pass = [MTLComputePassDescriptor computePassDescriptor];
    MTLComputePassSampleBufferAttachmentDescriptor *samples =
        [pass.sampleBufferAttachments objectAtIndexedSubscript:0];
    pass.dispatchType = MTLDispatchTypeConcurrent;
    samples.sampleBuffer = place->buffer;
    samples.startOfEncoderSampleIndex = place->first;
    samples.endOfEncoderSampleIndex = place->first + 1;
    return [encoder->target->commands computeCommandEncoderWithDescriptor:pass];
}

/* `place`: of the samples at the ends of a new encoder; NULL: none. */
static bool need_compute(struct encoder *encoder, const struct metal_sample_place *place)
{
    if (encoder->compute) {
        if (encoder->barrier)
            [encoder->compute memoryBarrierWithScope:MTLBarrierScopeBuffers];
        encoder->barrier = false;
        return true;
    }
    end_encoder(encoder);
    encoder->compute = make_compute(encoder, place);
    if (!encoder->compute)
        return false;
    encoder->pipeline = nil;
    memset(encoder->bound, 0, sizeof encoder->bound);
    if (encoder->follows)
        [encoder->compute waitForFence:encoder->target->fence];
    begin_encoder(encoder);
    return true;
}

/* ---- Commands ----------------------------------------------------------------------------- */

static struct bound what_is_bound(const struct encoder *encoder,
                                  const struct metal_argument *argument)
{
    const struct metal_sets *sets = &encoder->program->sets;
    switch (argument->kind) {
    case METAL_ARGUMENT_COUNTS: return (struct bound){encoder->target->counts, argument->offset};
    case METAL_ARGUMENT_SET:
        return (struct bound){sets->buffer, metal_table_offset(sets, argument->table)};
    case METAL_ARGUMENT_BUFFER: break;
    }
    return (struct bound){argument->buffer, argument->offset};
}

static void set_argument(struct encoder *encoder, const struct metal_argument *argument)
{
    struct bound *bound = &encoder->bound[argument->slot];
    const struct bound wanted = what_is_bound(encoder, argument);
    if (bound->buffer == wanted.buffer && bound->offset == wanted.offset)
        return; /* the encoder tracks what a set references, too */
    if (argument->kind == METAL_ARGUMENT_SET)
        metal_sets_bind(&encoder->program->sets, argument->table, encoder->compute);
    if (bound->buffer != wanted.buffer)
        [encoder->compute setBuffer:wanted.buffer offset:wanted.offset atIndex:argument->slot];
    else
        [encoder->compute setBufferOffset:wanted.offset atIndex:argument->slot];
    *bound = wanted;
}

static void set_state(struct encoder *encoder, const struct metal_op *op)
{
    const struct metal_program *program = encoder->program;
    if (encoder->pipeline != op->dispatch.pipeline)
        [encoder->compute setComputePipelineState:op->dispatch.pipeline];
    encoder->pipeline = op->dispatch.pipeline;
    for (size_t i = 0; i < op->dispatch.argument_count; i++)
        set_argument(encoder, &program->arguments[op->dispatch.first_argument + i]);
    for (size_t i = 0; i < op->dispatch.bytes_count; i++) {
        const struct metal_bytes *bytes = &op->dispatch.bytes[i];
        [encoder->compute setBytes:program->constants + bytes->offset
                            length:bytes->bytes
                           atIndex:bytes->slot];
        encoder->bound[bytes->slot].buffer = nil;
    }
    for (size_t i = 0; i < HAL_MAX_WORKGROUP_ARGUMENTS; i++)
        if (op->dispatch.workgroup_argument_bytes[i])
            [encoder->compute setThreadgroupMemoryLength:op->dispatch.workgroup_argument_bytes[i]
                                                 atIndex:i];
}

static void launch(struct encoder *encoder, const struct metal_op *op)
{
    if (op->dispatch.is_indirect)
        [encoder->compute dispatchThreadgroupsWithIndirectBuffer:encoder->target->counts
                                            indirectBufferOffset:op->dispatch.counts_offset
                                           threadsPerThreadgroup:op->dispatch.workgroup_size];
    else
        [encoder->compute dispatchThreadgroups:op->dispatch.workgroup_count
                         threadsPerThreadgroup:op->dispatch.workgroup_size];
}

static void sample(struct encoder *encoder, const struct metal_sample_place *place,
                   NSUInteger which)
{
    [encoder->compute sampleCountersInBuffer:place->buffer
                               atSampleIndex:place->first + which
                                 withBarrier:YES];
}

/* The application's dispatches are timed, not the kernels of ours. */
static bool take_place(struct encoder *encoder, const struct metal_op *op,
                       struct metal_sample_place *out_place)
{
    struct metal_samples *samples = encoder->target->samples;
    return samples && op->dispatch.number != METAL_NO_NUMBER &&
           metal_samples_take(encoder->device, samples, op->dispatch.number, out_place);
}

static bool encode_dispatch(struct encoder *encoder, const struct metal_op *op)
{
    struct metal_sample_place place;
    const bool timed = take_place(encoder, op, &place);
    const bool at_encoder = timed && encoder->device->times.place == METAL_TIMES_AT_ENCODER;
    const bool at_dispatch = timed && !at_encoder;
    if (at_encoder)
        end_encoder(encoder);
    if (!need_compute(encoder, at_encoder ? &place : NULL))
        return false;
    set_state(encoder, op);
    if (at_dispatch)
        sample(encoder, &place, 0);
    launch(encoder, op);
    if (at_dispatch)
        sample(encoder, &place, 1);
    if (at_encoder || encoder->device->isolated)
        end_encoder(encoder);
    return true;
}

static bool encode_op(struct encoder *encoder, size_t index)
{
    const struct metal_op *op = &encoder->program->ops[index];
    switch (op->kind) {
    case METAL_OP_BARRIER: encoder->barrier = true; return true;
    case METAL_OP_DISPATCH: return encode_dispatch(encoder, op);
    case METAL_OP_FILL:
        if (!need_blit(encoder))
            return false;
        [encoder->blit fillBuffer:op->fill.target range:op->fill.range value:op->fill.value];
        return true;
    case METAL_OP_COPY:
        if (!need_blit(encoder))
            return false;
        [encoder->blit copyFromBuffer:op->copy.source
                         sourceOffset:op->copy.source_offset
                             toBuffer:op->copy.target
                    destinationOffset:op->copy.target_offset
                                 size:op->copy.bytes];
        return true;
    case METAL_OP_DEBUG_BEGIN:
        encoder->groups[encoder->group_count++] = index;
        [open_encoder(encoder) pushDebugGroup:op->label];
        return true;
    case METAL_OP_DEBUG_END:
        encoder->group_count--;
        [open_encoder(encoder) popDebugGroup];
        return true;
    }
    return false;
}

bool metal_encode(struct metal_device *device, const struct metal_program *program,
                  const struct metal_target *target)
{
    struct encoder encoder = {
        .device = device,
        .program = program,
        .target = target,
        .follows = target->follows,
        .groups = hal_alloc(program->group_depth, sizeof *encoder.groups),
    };
    bool good = encoder.groups != NULL;
    for (size_t i = 0; good && i < program->op_count; i++)
        good = encode_op(&encoder, i);
    end_encoder(&encoder);
    free(encoder.groups);
    return good;
}
