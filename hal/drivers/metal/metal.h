/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the Metal driver.
 *
 *   device.m     the table, opening, queries
 *   memory.m     buffers: storage modes, heaps, managed memory
 *   library.m    executables: variants, libraries
 *   pipeline.m   their functions and pipelines
 *   archive.m    what executable caches keep of them (archive.h)
 *   reflect.m    what executables tell about themselves
 *   builtin.m    our own kernels, for what blit commands cannot do
 *   gputrace.m   captures by Metal itself
 *
 * program.h, what command buffers become:
 *   program.m    an ended command buffer as operations with everything resolved: transfers, and all
 *   launch.m     its dispatches, direct and indirect
 *   sets.m       descriptor sets as argument buffers
 *   encode.m     operations into encoders of a Metal command buffer
 *   times.m      when each dispatch ran
 *
 * queue.h, what submissions become:
 *   queue.m      what the submission engine asks for
 *   commit.m     submissions as command buffers of Metal, and their completion
 *   completion.m how the device reports that a submission has run
 *   errors.m     what Metal's errors mean
 *   host.m       host calls of submissions
 *
 * Manual retain and release: a struct retains what it holds unless a comment says "borrowed". C
 * structs are allocated with hal_alloc and release their objects before free. Every entry from C
 * that creates Metal objects runs in its own autorelease pool.
 *
 * Lock order: a managed buffer's lock of readers, then one of: the engine's lock, heap lock, lock
 * of times, lock of the list of systems. These are leaves, never held together, and never while
 * calling the application or the core. */
#ifndef HAL_METAL_METAL_H
#define HAL_METAL_METAL_H

#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

#include "hal/core/engine/engine.h"
#include "hal/drivers/shared/kernels.h"

struct metal_device;
struct metal_submission; /* queue.h */
struct metal_completion;

/* What Metal allows in one encoder. */
enum { METAL_MAX_SLOTS = HAL_MAX_BINDINGS };

/* ---- Text (text.m) ------------------------------------------------------------------------ */

/* Autoreleased, never nil; invalid UTF-8 becomes an empty string. NULL: empty. */
NSString *metal_string(const char *text);

/* The error's description; borrowed from the error, never NULL. */
const char *metal_error_text(NSError *error);

/* The HAL status for a command buffer's error. */
enum hal_status metal_error_status(NSError *error);

/* ---- Memory (memory.m) -------------------------------------------------------------------- */

/* Heaps for small buffers. */
struct metal_heap {
    struct metal_heap *next;
    id<MTLHeap> heap;
    uint32_t buffer_count;
};

enum metal_heap_kind { METAL_HEAP_PRIVATE, METAL_HEAP_SHARED, METAL_HEAP_KINDS };

struct metal_memory {
    pthread_mutex_t lock; /* guards heaps */
    struct metal_heap *heaps[METAL_HEAP_KINDS];
};

struct metal_buffer {
    struct hal_buffer base;
    id<MTLBuffer> buffer;
    NSUInteger origin; /* offset of the buffer in it: imported memory need not be page-aligned */
    struct metal_heap *heap; /* NULL: separate memory */
    enum metal_heap_kind heap_kind;
    MTLStorageMode storage;
    /* Managed memory. The lock is for readers on several threads; work takes no lock. */
    pthread_mutex_t reading;
    _Atomic uint32_t writers; /* pending work that may write any part of it */
    _Atomic bool host_stale;  /* the device may have written since all of it was last read */
};

/* Call around work that may write the buffer: from before its commit until it has run. */
static inline void metal_buffer_begin_write(struct metal_buffer *buffer)
{
    atomic_fetch_add(&buffer->writers, 1); /* first: see read_back */
    atomic_store(&buffer->host_stale, true);
}

static inline void metal_buffer_end_write(struct metal_buffer *buffer)
{
    atomic_fetch_sub(&buffer->writers, 1);
}

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

/* Memory that the host fills once before the device reads it; the caller owns it. NULL: failed. */
id<MTLBuffer> metal_staging_create(struct metal_device *device, uint64_t bytes,
                                   const char *label) NS_RETURNS_RETAINED;

/* Memory for results that the device leaves for the host. */
id<MTLBuffer> metal_scratch_create(struct metal_device *device, uint64_t bytes) NS_RETURNS_RETAINED;

/* ---- Executables (library.m, pipeline.m, ...) ---------------------------------------------- */

struct metal_entry {
    id<MTLComputePipelineState> pipeline;
    MTLSize workgroup_size;
    uint32_t buffer_mask;             /* the kernel's [[buffer(i)]] parameters */
    uint32_t read_mask, written_mask; /* those that it may read, and write */
    struct hal_kernel_slots slots;    /* without a layout */
    uint32_t workgroup_argument_bytes[HAL_MAX_WORKGROUP_ARGUMENTS];
    const struct hal_pipeline_layout *layout; /* NULL: buffers are bound one by one */
    uint8_t alignments[METAL_MAX_SLOTS];      /* of the kernel's type: a power of two */
    struct hal_entry_binding *bindings;       /* for reflection */
    uint32_t binding_count;
};

struct metal_executable {
    struct hal_executable base;
    id<MTLLibrary> library;
    struct spirv_translation *spirv;     /* source of the library; NULL: not SPIR-V */
    struct hal_constant_info *constants; /* for reflection; owns their names */
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

/* Creates a function and a pipeline per entry point of the existing library. */
enum hal_status metal_pipelines_create(struct metal_device *device,
                                       const struct hal_executable_desc *desc,
                                       struct metal_executable *executable) HAL_CHECKED;

enum hal_status metal_cache_open(struct hal_driver_device *self, const char *wanted, char *out_path,
                                 size_t bytes);
enum hal_status metal_cache_measure(struct hal_driver_device *self, const char *directory,
                                    uint64_t *out_bytes, uint64_t *out_entries);

/* Fills in the reflection of an otherwise complete executable. */
enum hal_status metal_reflection_create(struct metal_executable *executable,
                                        const struct hal_executable_desc *desc) HAL_CHECKED;
void metal_reflection_destroy(struct metal_executable *executable);

/* target.m: architecture and features. */
void metal_describe_target(id<MTLDevice> system, struct hal_device_info *out_info);

/* The formats that the driver runs, best first; returns their number. */
uint32_t metal_executable_formats(enum hal_executable_format out_formats[HAL_MAX_FORMATS]);

/* ---- Our own kernels (builtin.m) ---------------------------------------------------------- */

/* Fills and copies process 16 bytes per thread, aligned to 16 in the target. */
enum { METAL_CHUNK_BYTES = 16 };

struct metal_fill_arguments {
    uint64_t first, end; /* bytes of the bound range to fill */
    uint32_t pattern;    /* begins at `first` */
    uint32_t reserved;
};

struct metal_copy_arguments {
    uint64_t first, end; /* bytes of the bound target to write */
    uint64_t source;     /* position in the bound source of the byte for `first` */
};

/* For an indirect dispatch: the product of each with its count must fit 32 bits. */
struct metal_counts_arguments {
    uint32_t workgroup_size[3];
    uint32_t reserved;
};

/* The kernel's result for an indirect dispatch's counts, written by the device. */
struct metal_counts {
    uint32_t used[4];  /* all 0 if the given ones exceed a limit */
    uint32_t given[4]; /* from the buffer, for the host's message */
};

struct metal_builtin {
    id<MTLComputePipelineState> fill, copy, counts;
    uint32_t group_threads;
};

enum hal_status metal_builtin_create(struct metal_device *device) HAL_CHECKED;
void metal_builtin_destroy(struct metal_device *device);

/* ---- Times of dispatches (times.m) --------------------------------------------------------- */

/* Where the device samples its clock. */
enum metal_times_place {
    METAL_TIMES_NOWHERE,
    METAL_TIMES_AT_DISPATCH,
    METAL_TIMES_AT_ENCODER, /* at begin and end: an encoder per dispatch */
};

/* The same moment on both clocks. */
struct metal_clock_look {
    int64_t host_ns;
    uint64_t ticks;
};

struct metal_sample_page;

struct metal_times {
    enum metal_times_place place;
    id<MTLCounterSet> set;
    pthread_mutex_t lock; /* a leaf; guards the following */
    struct metal_clock_look first, last;
    struct metal_sample_page *pages; /* unused */
    size_t kept_count;
};

void metal_times_init(struct metal_device *device);
void metal_times_start(struct metal_device *device); /* the system's device is known */
void metal_times_finish(struct metal_device *device);

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

struct metal_device {
    struct hal_engine engine;
    id<MTLDevice> device;
    bool unified, isolated, fast_math;
    uint32_t queue_count;
    struct metal_queue queues[HAL_MAX_QUEUES];
    id<MTLCommandQueue> copies; /* synchronises managed memory */
    struct metal_memory memory;
    struct metal_builtin builtin;
    struct metal_times times;

    /* Guarded by the engine's lock. */
    struct hal_fifo ready; /* submissions to commit */
    struct metal_completion *free_completions;
    pthread_cond_t work; /* wakes the submitting thread */
    bool stopping;
    pthread_t submitter;
    struct metal_completion *completions; /* all; used only by the submitting thread */
    MTLSharedEventListener *listener;     /* constant */
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

#endif
