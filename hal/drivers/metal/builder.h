/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a program: shared by program.m and launch.m (builder.m). */
#ifndef HAL_METAL_BUILDER_H
#define HAL_METAL_BUILDER_H

#import "hal/drivers/metal/program.h"

struct metal_builder {
    struct metal_device *device;
    const struct hal_command_buffer *commands;
    struct metal_program *program;
    uint64_t staged; /* bytes of the staging buffer in use */
    uint32_t dispatch_number;
    size_t open_groups;
    struct metal_op *checks; /* for counts of indirect dispatches since the last barrier */
    size_t check_count, check_capacity;
    size_t interval; /* first operation after that barrier */
};

/* HAL_NO_MEMORY with the command buffer's name. */
enum hal_status metal_builder_no_memory(const struct metal_builder *builder) HAL_CHECKED;

enum hal_status metal_builder_add_op(struct metal_builder *builder,
                                     const struct metal_op *op) HAL_CHECKED;
enum hal_status metal_builder_add_argument(struct metal_builder *builder,
                                           const struct metal_argument *argument) HAL_CHECKED;
enum hal_status metal_builder_add_buffer(struct metal_builder *builder, uint32_t slot,
                                         id<MTLBuffer> buffer, uint64_t offset) HAL_CHECKED;

/* Adds `bytes` of zeroed constants for the operation's slot, to be filled in. NULL: no memory. */
uint8_t *metal_builder_add_bytes(struct metal_builder *builder, struct metal_op *op, uint32_t slot,
                                 uint32_t bytes);

/* The device may write the buffer: the host's copy of managed memory becomes stale. */
enum hal_status metal_builder_note_write(struct metal_builder *builder,
                                         struct hal_buffer *base) HAL_CHECKED;

/* For one of our own kernels: its arguments from `first_argument` on, followed by its constants. */
enum hal_status metal_builder_make_builtin(struct metal_builder *builder,
                                           id<MTLComputePipelineState> pipeline,
                                           const void *constants, size_t bytes,
                                           size_t first_argument,
                                           struct metal_op *out_op) HAL_CHECKED;

/* launch.m */
enum hal_status metal_builder_add_dispatch(struct metal_builder *builder,
                                           const struct hal_command_dispatch *dispatch) HAL_CHECKED;
enum hal_status metal_builder_add_dispatch_indirect(
    struct metal_builder *builder,
    const struct hal_command_dispatch_indirect *dispatch) HAL_CHECKED;
enum hal_status metal_builder_add_barrier(struct metal_builder *builder) HAL_CHECKED;
/* Call after the last command: inserts the checks of indirect dispatches' counts before them. */
enum hal_status metal_builder_end_interval(struct metal_builder *builder) HAL_CHECKED;

#endif
