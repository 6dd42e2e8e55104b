/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the Metal driver share.
 *
 *   device.m     the table, opening, queries
 *   memory.m     buffers: storage modes, heaps, managed memory
 *   library.m    executables: variants, libraries, functions, pipelines
 *   spirv.m      those in SPIR-V, through hal/spirv
 *   reflect.m    what executables tell about themselves
 *   builtin.m    our own kernels, for what blit commands cannot do
 *   sets.m       descriptor sets as argument buffers
 *   program.m    a sealed command buffer as operations with everything resolved
 *   encode.m     operations into encoders of a Metal command buffer
 *   semaphore.m  timeline values and who waits for them
 *   queue.m      submissions: readiness and retiring
 *   commit.m     submissions as command buffers of Metal, and their completion
 *   host.m       host calls of submissions
 *   gputrace.m   captures by Metal itself
 *
 * Manual retain and release: what a struct holds it has retained, unless a comment says "borrowed".
 * A C struct gets its memory from hal_alloc and lets go of its objects before free. Every entry
 * from C that creates Metal objects runs in an autorelease pool of its own.
 *
 * Lock order: shared lock and heap lock are leaves, never held together, and never while calling
 * the application or the core. */
#ifndef HAL_METAL_METAL_H
#define HAL_METAL_METAL_H

#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

#include "hal/driver.h"
#include "hal/spirv/spirv.h"

struct metal_device;
struct metal_submission;

/* What Metal allows in one encoder. */
enum { METAL_MAX_SLOTS = 31 };

/* ---- Text --------------------------------------------------------------------------------- */

/* Autoreleased, never nil; what is no UTF-8 becomes an empty string. NULL: empty. */
NSString *metal_string(const char *text);

/* The error's own words; borrowed from the error, never NULL. */
const char *metal_error_text(NSError *error);

/* ---- Memory (memory.m) -------------------------------------------------------------------- */

/* Small buffers come out of heaps. */
struct metal_heap {
    struct metal_heap *next;
    id<MTLHeap> heap;
    uint32_t buffer_count;
};

enum metal_heap_kind { METAL_HEAP_PRIVATE, METAL_HEAP_SHARED, METAL_HEAP_KINDS };

struct metal_memory {
    pthread_mutex_t lock; /* heaps */
    struct metal_heap *heaps[METAL_HEAP_KINDS];
};

struct metal_buffer {
    struct hal_buffer base;
    id<MTLBuffer> buffer;
    NSUInteger origin;       /* where it begins in that: imported memory need not begin a page */
    struct metal_heap *heap; /* NULL: memory of its own */
    enum metal_heap_kind heap_kind;
    MTLStorageMode storage;
    _Atomic bool host_stale; /* managed: the device may have written since the last copy */
    _Atomic uint32_t open_mappings;
};

void metal_memory_init(struct metal_device *device);
void metal_memory_finish(struct metal_device *device);
enum hal_status metal_buffer_create(struct hal_driver_device *self,
                                    const struct hal_buffer_desc *desc, struct hal_buffer **out);
enum hal_status metal_buffer_import(struct hal_driver_device *self,
                                    const struct hal_buffer_desc *desc, void *pointer,
                                    struct hal_buffer **out);
void metal_buffer_rename(struct hal_driver_device *self, struct hal_buffer *buffer,
                         const char *label);
void metal_buffer_destroy(struct metal_device *device, struct metal_buffer *buffer);
enum hal_status metal_buffer_map(struct hal_driver_device *self, struct hal_buffer *buffer,
                                 struct hal_mapping *out);
enum hal_status metal_buffer_unmap(struct hal_driver_device *self,
                                   const struct hal_mapping *mapping);
enum hal_status metal_mapping_flush(struct hal_driver_device *self,
                                    const struct hal_mapping *mapping, uint64_t offset,
                                    uint64_t bytes);
enum hal_status metal_mapping_invalidate(struct hal_driver_device *self,
                                         const struct hal_mapping *mapping, uint64_t offset,
                                         uint64_t bytes);

/* Memory that the host fills once before the device reads it; the caller owns it. NULL: none. */
id<MTLBuffer> metal_staging_create(struct metal_device *device, uint64_t bytes,
                                   const char *label) NS_RETURNS_RETAINED;

/* Memory in which the device leaves something for the host. */
id<MTLBuffer> metal_scratch_create(struct metal_device *device, uint64_t bytes) NS_RETURNS_RETAINED;

/* ---- Executables (library.m, spirv.m, reflect.m) ------------------------------------------- */

/* Which binding a kernel's buffer is. */
struct metal_place {
    uint8_t set, binding;
};

struct metal_entry {
    id<MTLComputePipelineState> pipeline;
    MTLSize group_size;
    uint32_t buffer_mask;             /* [[buffer(i)]] that the kernel has */
    uint32_t read_mask, written_mask; /* those that it may read, and write */
    uint32_t constant_bytes, constants_slot;
    uint32_t group_argument_bytes[HAL_MAX_GROUP_ARGUMENTS];
    uint32_t sizes_slot; /* buffer that receives the sizes of all; SPIRV_NO_SLOT: none */
    const struct hal_pipeline_layout *layout;   /* NULL: buffers are bound one by one */
    struct metal_place places[METAL_MAX_SLOTS]; /* by [[buffer(i)]], without a layout */
    uint8_t alignments[METAL_MAX_SLOTS];        /* of the kernel's type: a power of two */
    struct hal_entry_binding *bindings;         /* for reflection */
    size_t binding_count;
};

struct metal_executable {
    struct hal_executable base;
    id<MTLLibrary> library;
    struct spirv_translation *spirv;     /* what the library was compiled from; NULL: not SPIR-V */
    struct hal_constant_info *constants; /* for reflection; their names are owned */
    size_t constant_count, constant_capacity;
    size_t entry_count;
    struct metal_entry entries[];
};

enum hal_status metal_executable_create(struct hal_driver_device *self,
                                        const struct hal_executable_desc *desc,
                                        struct hal_executable **out);
void metal_executable_destroy(struct metal_executable *executable);
enum hal_status metal_executable_reflect(struct hal_driver_device *self,
                                         struct hal_executable *executable,
                                         struct hal_executable_info *out_info);
enum hal_status metal_entry_reflect(struct hal_driver_device *self,
                                    struct hal_executable *executable, uint32_t entry,
                                    struct hal_entry_info *out_info);

/* Fills what reflection tells of an executable that is complete otherwise. */
enum hal_status metal_reflection_create(struct metal_executable *executable,
                                        const struct hal_executable_desc *desc) HAL_CHECKED;
void metal_reflection_destroy(struct metal_executable *executable);

enum hal_status metal_spirv_translate(const struct hal_executable_desc *desc,
                                      const struct hal_executable_variant *variant,
                                      struct spirv_translation **out_translation) HAL_CHECKED;
/* Fills the entry's places and slots. HAL_INVALID: the module has more push constants. */
enum hal_status metal_spirv_place(const struct hal_entry_point *wanted,
                                  const struct spirv_entry *where,
                                  struct metal_entry *entry) HAL_CHECKED;

/* What the driver runs, the best first; returns how many. */
/* target.m: architecture and features. */
void metal_describe_target(id<MTLDevice> system, struct hal_device_info *out_info);

uint32_t metal_executable_formats(enum hal_executable_format out_formats[HAL_MAX_FORMATS]);

/* ---- Our own kernels (builtin.m) ---------------------------------------------------------- */

/* Fills and copies work on 16 bytes per thread, counted from a multiple of 16 in the target. */
enum { METAL_CHUNK_BYTES = 16 };

struct metal_fill_arguments {
    uint64_t first, end; /* bytes of the bound range that are filled */
    uint32_t pattern;    /* begins at `first` */
    uint32_t reserved;
};

struct metal_copy_arguments {
    uint64_t first, end; /* bytes of the bound target that are written */
    uint64_t source;     /* where in the bound source the byte for `first` lies */
};

/* Of an indirect dispatch: the product of each with its count has to fit 32 bits. */
struct metal_counts_arguments {
    uint32_t group_size[3];
    uint32_t reserved;
};

/* What the kernel makes of an indirect dispatch's counts; the device writes it. */
struct metal_counts {
    uint32_t used[4];  /* all 0 when the given ones are over a limit */
    uint32_t given[4]; /* what the buffer had, for the host to tell */
};

struct metal_builtin {
    id<MTLComputePipelineState> fill, copy, counts;
    uint32_t group_threads;
};

enum hal_status metal_builtin_create(struct metal_device *device) HAL_CHECKED;
void metal_builtin_destroy(struct metal_device *device);

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
enum hal_status metal_sets_seal(struct metal_sets *sets, struct metal_device *device,
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
        } dispatch;
        NSString *label; /* debug begin; owned */
    };
};

/* A dispatch whose counts come out of a buffer. */
struct metal_indirect {
    const struct hal_entry_point *entry; /* borrowed */
    uint32_t dispatch_number;
};

/* Everything that a sealed command buffer needs to be encoded any number of times; the command
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

/* Where and how a program is encoded. */
struct metal_target {
    id<MTLCommandBuffer> commands;
    id<MTLFence> fence;   /* orders the encoders */
    bool follows;         /* encoders of the submission went before */
    id<MTLBuffer> counts; /* a struct metal_counts per indirect dispatch; nil: there is none */
};

/* False: Metal has no encoder, or there is no memory. */
bool metal_encode(struct metal_device *device, const struct metal_program *program,
                  const struct metal_target *target);

/* After the commands have completed: whether the counts that the device met were legal. */
enum hal_status metal_program_check_counts(const struct metal_program *program,
                                           id<MTLBuffer> counts) HAL_CHECKED;

/* ---- Semaphores (semaphore.m) ------------------------------------------------------------- */

/* The host's value is what everybody asks; it rises when a submission has retired. The event shows
 * it to other users of Metal. */
struct metal_semaphore {
    struct hal_semaphore base;
    id<MTLSharedEvent> event;
    _Atomic uint64_t value;         /* UINT64_MAX: failed */
    enum hal_status failure;        /* shared lock */
    char *message;                  /* shared lock; of the failure */
    struct metal_wait *waits;       /* shared lock; of submissions, for values not reached */
    struct metal_promise *promises; /* shared lock; of committed submissions */
};

/* A submission that waits for a value; shared lock. */
struct metal_wait {
    struct metal_semaphore *semaphore;
    uint64_t value;
    struct metal_submission *submission;
    struct metal_wait *next, *previous; /* the semaphore's, while `linked` */
    bool linked;                        /* the host has not seen the value yet */
    bool promised;                      /* committed work will signal it */
};

/* A submission that will signal a value; shared lock. */
struct metal_promise {
    struct metal_semaphore *semaphore;
    uint64_t value;
    struct metal_submission *submission;
    struct metal_promise *next, *previous; /* the semaphore's, while `linked` */
    bool linked;                           /* the submission is committed */
};

enum hal_status metal_semaphore_create(struct hal_driver_device *self, const char *label,
                                       uint64_t initial_value, struct hal_semaphore **out);
void metal_semaphore_destroy(struct metal_semaphore *semaphore);
enum hal_status metal_semaphore_query(struct hal_driver_device *self, struct hal_semaphore *base,
                                      uint64_t *out_value);
enum hal_status metal_semaphore_signal(struct hal_driver_device *self, struct hal_semaphore *base,
                                       uint64_t value);
void metal_semaphore_fail(struct hal_driver_device *self, struct hal_semaphore *base,
                          enum hal_status status, const char *message);
enum hal_status metal_semaphores_wait(struct hal_driver_device *self, enum hal_wait_mode mode,
                                      const struct hal_semaphore_value *values, size_t count,
                                      int64_t timeout_ns);

/* Under the shared lock. What they make ready is handed to the submitting thread; what they end
 * is added to the device's list of retiring submissions: unlock by metal_queue_unlock. */
void metal_semaphore_raise_locked(struct metal_semaphore *semaphore, uint64_t value);
void metal_semaphore_fail_locked(struct metal_semaphore *semaphore, enum hal_status status,
                                 const char *message);
void metal_promise_link_locked(struct metal_promise *promise);
void metal_promise_unlink_locked(struct metal_promise *promise);
void metal_wait_link_locked(struct metal_wait *wait);
void metal_wait_unlink_locked(struct metal_wait *wait);

/* The first of the values that is enough and that the device's own work promises; NULL: there is
 * none. What other devices promise is waited for on the host. */
const struct metal_promise *metal_promise_find_locked(const struct metal_device *device,
                                                      const struct metal_semaphore *semaphore,
                                                      uint64_t value);

/* ---- Submissions (queue.m, commit.m) ------------------------------------------------------- */

/* How the device tells itself that a submission has run: the event reaches the value. Each is used
 * by one submission at a time, so that host and device can never disagree about its value. */
struct metal_mark {
    id<MTLSharedEvent> event;
    uint64_t value;
    struct metal_mark *next;      /* shared lock: free ones */
    struct metal_mark *next_made; /* all of the device */
};

struct metal_submission {
    struct metal_device *device;
    uint64_t id, sequence;
    uint32_t queue;
    struct metal_submission *next_ready, *next_retiring;
    struct metal_submission *next_in_flight, *previous_in_flight;
    void (*retired)(void *user, const struct hal_submission_result *result);
    void *user;

    /* Shared lock. */
    size_t unpromised; /* waits that nobody has promised to end: it cannot be committed */
    size_t unresolved; /* what keeps it from retiring: waits, command buffers, the commit itself */
    bool is_ready;     /* was handed to the submitting thread */
    enum hal_status status;
    char *message;
    int64_t ready_ns, begin_ns, end_ns, busy_ns;

    size_t wait_count, signal_count, command_count;
    struct metal_wait *waits;      /* their semaphores are retained */
    struct metal_promise *signals; /* their semaphores are retained */
    struct hal_host_call host;     /* instead of commands */
    struct hal_buffer *buffer;     /* of the host call; retained */
    uint64_t offset, bytes;
    struct metal_mark *mark; /* NULL: nothing is signalled, or it is not committed */
    struct hal_command_buffer **commands;
    id<MTLBuffer> *counts; /* by command buffer: of its indirect dispatches, or nil */
};

enum hal_status metal_queue_submit(struct hal_driver_device *self,
                                   const struct hal_submission *source);
enum hal_status metal_wait_idle(struct hal_driver_device *self, int64_t timeout_ns);
void metal_waits_interrupt(struct hal_driver_device *self, bool on);

/* The thread that commits. */
enum hal_status metal_queue_start(struct metal_device *device) HAL_CHECKED;
void metal_queue_stop(struct metal_device *device);

/* Gives up the shared lock after a change, wakes the waiting threads and retires what has ended,
 * and what ends by that. The device may be gone afterwards, unless the caller keeps it. */
void metal_queue_unlock(void);

/* Under the shared lock. One thing less keeps the submission from retiring; it will end with this
 * failure, unless another one came first. */
void metal_submission_resolve_locked(struct metal_submission *submission);
void metal_submission_fail_locked(struct metal_submission *submission, enum hal_status status,
                                  const char *message);

/* Under the shared lock: the wait is over for the host, or committed work promises it, or its
 * semaphore has failed. */
void metal_submission_reached_locked(struct metal_wait *wait);
void metal_submission_promised_locked(struct metal_wait *wait);
void metal_submission_refused_locked(struct metal_wait *wait);

/* ---- Host calls (host.m) ------------------------------------------------------------------- */

enum { METAL_MOST_CALLERS = 4 };

/* Under the shared lock: its waits are over. Resolves the submission once. */
void metal_host_call_locked(struct metal_submission *submission);

/* ---- Captures (gputrace.m) ---------------------------------------------------------------- */

enum hal_status metal_gputrace_begin(const struct hal_core *core, struct hal_device *device,
                                     struct hal_driver_device *next,
                                     const struct hal_profiling_options *options,
                                     struct hal_layer **out_layer);

/* ---- Device (device.m) -------------------------------------------------------------------- */

struct metal_queue {
    id<MTLCommandQueue> queue;
    id<MTLFence> fence; /* orders the encoders of a submission */
};

/* Of all devices: a semaphore may be waited for and signalled by any of them. */
struct metal_shared {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a value rose, a semaphore failed, a submission left its device */
    struct metal_submission *retiring;
};
extern struct metal_shared metal_shared;

struct metal_device {
    struct hal_driver_device base;
    id<MTLDevice> device;
    bool unified, isolated, safe_math;
    uint32_t queue_count;
    struct metal_queue queues[HAL_MAX_QUEUES];
    id<MTLCommandQueue> copies; /* brings managed memory up to date */
    struct metal_memory memory;
    struct metal_builtin builtin;

    /* Shared lock. */
    bool interrupted;
    struct metal_submission *first_in_flight, *last_in_flight;
    struct metal_submission *first_ready, *last_ready; /* to be committed */
    uint64_t next_sequence;
    struct metal_mark *free_marks;
    struct metal_mark *marks; /* the submitting thread's: all that were made */
    pthread_cond_t work;      /* for the submitting thread */
    bool stopping;
    pthread_t submitter;

    pthread_cond_t called; /* for the threads of host calls */
    struct metal_submission *first_call, *last_call;
    uint32_t caller_count, idle_callers;
    pthread_t callers[METAL_MOST_CALLERS];
};

static inline struct metal_device *to_metal_device(struct hal_driver_device *device)
{
    return (struct metal_device *)device;
}

static inline struct metal_buffer *to_metal_buffer(struct hal_buffer *buffer)
{
    return (struct metal_buffer *)buffer;
}

static inline struct metal_executable *to_metal_executable(struct hal_executable *executable)
{
    return (struct metal_executable *)executable;
}

static inline struct metal_semaphore *to_metal_semaphore(struct hal_semaphore *semaphore)
{
    return (struct metal_semaphore *)semaphore;
}

#endif
