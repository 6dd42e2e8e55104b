/* SPDX-License-Identifier: Apache-2.0 */
/* What an ended command buffer becomes, and how that is encoded. Private to the Metal driver. */
#ifndef HAL_METAL_PROGRAM_H
#define HAL_METAL_PROGRAM_H

#import "hal/drivers/metal/metal.h"

/* ---- Descriptor sets (sets.m) -------------------------------------------------------------- */

/* What a kernel may reach through a table. */
struct metal_use {
    id<MTLBuffer> buffer; /* borrowed */
    MTLResourceUsage usage;
};

/* One set's state, as the kernel sees it: an array of addresses. */
struct metal_table {
    size_t first_word, word_count;
    size_t first_use, use_count;
};

/* The tables of a program. Starts as zeros. */
struct metal_sets {
    uint64_t *words; /* NULL once they are in the buffer */
    size_t word_count, word_capacity;
    struct metal_use *uses;
    size_t use_count, use_capacity;
    struct metal_table *tables;
    size_t table_count, table_capacity;
    uint32_t last[HAL_MAX_SETS]; /* the last table that was added for the set, + 1; 0: none */
    id<MTLBuffer> buffer;        /* all tables; nil: there is none */
};

/* `bindings` has all of the layout. The table may be one that was added before. */
enum hal_status metal_sets_add(struct metal_sets *sets, uint32_t set,
                               const struct hal_set_layout *layout,
                               const struct hal_binding *bindings, uint32_t *out_table) HAL_CHECKED;
/* Nothing is added any more. */
enum hal_status metal_sets_finish(struct metal_sets *sets, struct metal_device *device,
                                  const char *label) HAL_CHECKED;
/* Names to the encoder what kernels reach through the table. */
void metal_sets_bind(const struct metal_sets *sets, uint32_t table,
                     id<MTLComputeCommandEncoder> encoder);
void metal_sets_destroy(struct metal_sets *sets);

static inline NSUInteger metal_table_offset(const struct metal_sets *sets, uint32_t table)
{
    return sets->tables[table].first_word * sizeof *sets->words;
}

/* ---- Programs (program.m) ----------------------------------------------------------------- */

enum metal_op_kind {
    METAL_OP_BARRIER,
    METAL_OP_FILL, /* by blit */
    METAL_OP_COPY, /* by blit */
    METAL_OP_DISPATCH,
    METAL_OP_DEBUG_BEGIN,
    METAL_OP_DEBUG_END,
};

enum metal_argument_kind {
    METAL_ARGUMENT_BUFFER,
    METAL_ARGUMENT_COUNTS, /* of the submission */
    METAL_ARGUMENT_SET,
};

/* What a slot of a kernel gets. */
struct metal_argument {
    enum metal_argument_kind kind;
    uint32_t slot;
    uint32_t table;       /* of a set */
    id<MTLBuffer> buffer; /* borrowed */
    NSUInteger offset;    /* of a buffer, or in the counts */
};

/* Bytes that a slot of a kernel gets. */
struct metal_bytes {
    size_t offset; /* in the program's constants */
    uint32_t bytes, slot;
};

#define METAL_NO_NUMBER UINT32_MAX

/* Constants, and the sizes of buffers. */
enum { METAL_BYTES_PER_DISPATCH = 2 };

struct metal_op {
    enum metal_op_kind kind;
    union {
        struct {
            id<MTLBuffer> target;
            NSRange range;
            uint8_t value;
        } fill;
        struct {
            id<MTLBuffer> source, target;
            NSUInteger source_offset, target_offset, bytes;
        } copy;
        struct {
            id<MTLComputePipelineState> pipeline;
            MTLSize group_size, group_count;
            size_t first_argument, argument_count;
            struct metal_bytes bytes[METAL_BYTES_PER_DISPATCH];
            size_t bytes_count;
            uint32_t group_argument_bytes[HAL_MAX_GROUP_ARGUMENTS];
            bool is_indirect; /* group_count is in the submission's counts */
            size_t counts_offset;
            uint32_t number; /* of the command buffer's dispatches; METAL_NO_NUMBER: ours */
        } dispatch;
        NSString *label; /* debug begin; owned */
    };
};

/* A dispatch whose counts come out of a buffer. */
struct metal_indirect {
    const struct hal_entry_point *entry; /* borrowed */
    uint32_t dispatch_number;
};

/* Everything that an ended command buffer needs to be encoded any number of times; the command
 * buffer keeps the buffers and executables that are borrowed here. */
struct metal_program {
    struct metal_op *ops;
    size_t op_count, op_capacity;
    struct metal_argument *arguments;
    size_t argument_count, argument_capacity;
    uint8_t *constants;
    size_t constant_count, constant_capacity;
    struct metal_buffer **managed; /* borrowed: what the device may write of managed memory */
    size_t managed_count, managed_capacity;
    struct metal_indirect *indirects;
    size_t indirect_count, indirect_capacity;
    struct metal_sets sets;
    id<MTLBuffer> staging; /* data of updates */
    NSString *label;
    size_t group_depth; /* debug groups that are open at the same time, at most */
    bool empty;         /* nothing but barriers and labels */
};

enum hal_status metal_program_create(struct metal_device *device,
                                     const struct hal_command_buffer *commands,
                                     struct metal_program **out_program) HAL_CHECKED;
void metal_program_destroy(struct metal_program *program);

/* Where the clock of the device is left before and behind a dispatch: two samples. */
struct metal_sample_place {
    id<MTLCounterSampleBuffer> buffer; /* borrowed */
    NSUInteger first;
};

/* All those of a command buffer that is with the device. Starts as zeros. */
struct metal_samples {
    struct metal_sample_page *pages;
    size_t count;
    bool is_full; /* Metal gives no more */
};

/* False: that dispatch is not timed. One thread at a time per command buffer, as below. */
bool metal_samples_take(struct metal_device *device, struct metal_samples *samples,
                        uint32_t dispatch, struct metal_sample_place *out_place);

/* After the commands have completed: what was sampled, in any order; at most samples->count, and
 * returns how many. The window is when the command buffer ran. Blocks for 2 ms at most when the
 * device was opened just now. */
size_t metal_samples_read(struct metal_device *device, const struct metal_samples *samples,
                          const struct hal_dispatch_time *window,
                          struct hal_dispatch_time *out_times);
void metal_samples_release(struct metal_device *device, struct metal_samples *samples);

/* Where and how a program is encoded. */
struct metal_target {
    id<MTLCommandBuffer> commands;
    id<MTLFence> fence;   /* orders the encoders */
    bool follows;         /* encoders of the submission went before */
    id<MTLBuffer> counts; /* a struct metal_counts per indirect dispatch; nil: there is none */
    struct metal_samples *samples; /* NULL: nobody asked for times */
};

/* False: Metal has no encoder, or there is no memory. */
bool metal_encode(struct metal_device *device, const struct metal_program *program,
                  const struct metal_target *target);

/* After the commands have completed: whether the counts that the device met were legal. */
enum hal_status metal_program_check_counts(const struct metal_program *program,
                                           id<MTLBuffer> counts) HAL_CHECKED;

#endif
