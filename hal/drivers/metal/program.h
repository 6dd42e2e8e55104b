/* SPDX-License-Identifier: Apache-2.0 */
/* The result of translating an ended command buffer, and its encoding. Private to the driver. */
#ifndef HAL_METAL_PROGRAM_H
#define HAL_METAL_PROGRAM_H

#import "hal/drivers/metal/metal.h"

/* ---- Descriptor sets (sets.m) -------------------------------------------------------------- */

/* Resources that a kernel may access through a table. */
struct metal_use {
    id<MTLBuffer> buffer; /* borrowed */
    MTLResourceUsage usage;
};

/* One set's state as the kernel sees it: an array of addresses. */
struct metal_table {
    size_t first_word, word_count;
    size_t first_use, use_count;
};

/* The tables of a program. Initialise to zero. */
struct metal_sets {
    uint64_t *words; /* NULL once copied to the buffer */
    size_t word_count, word_capacity;
    struct metal_use *uses;
    size_t use_count, use_capacity;
    struct metal_table *tables;
    size_t table_count, table_capacity;
    uint32_t last[HAL_MAX_SETS]; /* last table added for the set, + 1; 0: none */
    id<MTLBuffer> buffer;        /* all tables; nil: none */
};

/* `bindings` has all of the layout's. May return a table added before. */
enum hal_status metal_sets_add(struct metal_sets *sets, uint32_t set,
                               const struct hal_set_layout *layout,
                               const struct hal_binding *bindings, uint32_t *out_table) HAL_CHECKED;
/* Call when no more tables are added. */
enum hal_status metal_sets_finish(struct metal_sets *sets, struct metal_device *device,
                                  const char *label) HAL_CHECKED;
/* Declares to the encoder the resources that kernels access through the table. */
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

/* The argument for a kernel's slot. */
struct metal_argument {
    enum metal_argument_kind kind;
    uint32_t slot;
    uint32_t table;       /* of a set */
    id<MTLBuffer> buffer; /* borrowed */
    NSUInteger offset;    /* in the buffer, or in the counts */
};

/* Constant data for a kernel's slot. */
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
            MTLSize workgroup_size, workgroup_count;
            size_t first_argument, argument_count;
            struct metal_bytes bytes[METAL_BYTES_PER_DISPATCH];
            size_t bytes_count;
            uint32_t workgroup_argument_bytes[HAL_MAX_WORKGROUP_ARGUMENTS];
            bool is_indirect; /* workgroup_count is in the submission's counts */
            size_t counts_offset;
            uint32_t number; /* among the command buffer's dispatches; METAL_NO_NUMBER: our own */
        } dispatch;
        NSString *label; /* debug begin; owned */
    };
};

/* A dispatch whose counts come from a buffer. */
struct metal_indirect {
    const struct hal_entry_point *entry; /* borrowed */
    uint32_t dispatch_number;
};

/* Everything needed to encode an ended command buffer any number of times; the command buffer keeps
 * the borrowed buffers and executables alive. */
struct metal_program {
    struct metal_op *ops;
    size_t op_count, op_capacity;
    struct metal_argument *arguments;
    size_t argument_count, argument_capacity;
    uint8_t *constants;
    size_t constant_count, constant_capacity;
    struct metal_buffer **managed; /* borrowed: managed memory that the device may write */
    size_t managed_count, managed_capacity;
    struct metal_indirect *indirects;
    size_t indirect_count, indirect_capacity;
    struct metal_sets sets;
    id<MTLBuffer> staging; /* data of updates */
    NSString *label;
    size_t group_depth; /* maximum nesting of debug groups */
    bool empty;         /* only barriers and labels */
};

enum hal_status metal_program_create(struct metal_device *device,
                                     const struct hal_command_buffer *commands,
                                     struct metal_program **out_program) HAL_CHECKED;
void metal_program_destroy(struct metal_program *program);

/* Where the device stores its clock before and after a dispatch: two samples. */
struct metal_sample_place {
    id<MTLCounterSampleBuffer> buffer; /* borrowed */
    NSUInteger first;
};

/* The samples of a command buffer that was passed to the device. Initialise to zero. */
struct metal_samples {
    struct metal_sample_page *pages;
    size_t count;
    bool is_full; /* Metal provides no more */
};

/* False: that dispatch is not timed. One thread at a time per command buffer, also below. */
bool metal_samples_take(struct metal_device *device, struct metal_samples *samples,
                        uint32_t dispatch, struct metal_sample_place *out_place);

/* Call after the commands have completed: stores the samples in any order, at most samples->count,
 * and returns their number. The window is when the command buffer ran. Blocks for at most 2 ms if
 * the device was opened just now. */
size_t metal_samples_read(struct metal_device *device, const struct metal_samples *samples,
                          const struct hal_dispatch_time *window,
                          struct hal_dispatch_time *out_times);
void metal_samples_release(struct metal_device *device, struct metal_samples *samples);

/* The destination and options for encoding a program. */
struct metal_target {
    id<MTLCommandBuffer> commands;
    id<MTLFence> fence;            /* orders the encoders */
    bool follows;                  /* earlier encoders of the submission precede it */
    id<MTLBuffer> counts;          /* a struct metal_counts per indirect dispatch; nil: none */
    struct metal_samples *samples; /* NULL: no times requested */
};

/* False: Metal provides no encoder, or out of memory. */
bool metal_encode(struct metal_device *device, const struct metal_program *program,
                  const struct metal_target *target);

/* Call after the commands have completed: checks that the counts read by the device were legal. */
enum hal_status metal_program_check_counts(const struct metal_program *program,
                                           id<MTLBuffer> counts) HAL_CHECKED;

#endif
