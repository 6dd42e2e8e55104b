/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the CPU driver.
 *
 *   device.c     the table, opening, queries
 *   memory.c     buffers: two mappings of one memory object
 *   kernel.c     executables, through hal/compiler/msl
 *   op.c         what an operation of a program does, and takes
 *   program.c    an ended command buffer as stage lists of phases of tiles
 *   fault.c      kernels that fault
 *   phase.c      a run of programs: which phases are ready
 *   run.c        the workers: which tile runs where
 *   collective.c submissions that meet those of other ranks
 *   target.c     what the processor has
 *   queue.c      what the submission engine asks for: starting one
 *
 * The engine's lock and the pool lock are leaves: never held together or while calling out. */
#ifndef HAL_CPU_CPU_H
#define HAL_CPU_CPU_H

#include "hal/compiler/msl/msl.h"
#include "hal/core/engine/engine.h"
#include "hal/drivers/shared/kernels.h"

enum { CPU_MAX_WORKERS = 1024 };

/* ---- Memory (memory.c) -------------------------------------------------------------------- */

struct cpu_slab;

/* Small buffers share memory objects: by power of two, slots with a bit each. */
enum { CPU_SMALLEST_SLOT_SHIFT = 8, CPU_LARGEST_SLOT_SHIFT = 17 };
enum { CPU_SLOT_CLASSES = CPU_LARGEST_SLOT_SHIFT - CPU_SMALLEST_SLOT_SHIFT + 1 };

struct cpu_heap {
    pthread_mutex_t lock;
    struct cpu_slab *open[CPU_SLOT_CLASSES]; /* slabs with a free slot */
    uint64_t used_bytes, limit_bytes;
};

struct cpu_buffer {
    struct hal_buffer base;
    uint8_t *device_view;  /* what kernels and transfers use */
    uint8_t *host_view;    /* what the application sees */
    struct cpu_slab *slab; /* NULL: a memory object of its own */
    uint32_t slot;
};

void cpu_heap_init(struct cpu_heap *heap, uint64_t limit_bytes);
void cpu_heap_finish(struct cpu_heap *heap);
uint64_t cpu_heap_used_bytes(struct cpu_heap *heap);
enum hal_status cpu_buffer_create(struct hal_driver_device *self,
                                  const struct hal_buffer_desc *desc, struct hal_buffer **out);
enum hal_status cpu_buffer_create_apart(struct hal_driver_device *self,
                                        const struct hal_buffer_desc *desc,
                                        struct hal_buffer **out);
enum hal_status cpu_buffer_import(struct hal_driver_device *self,
                                  const struct hal_buffer_desc *desc, void *pointer,
                                  struct hal_buffer **out);
void cpu_buffer_destroy(struct cpu_heap *heap, struct cpu_buffer *buffer);
enum hal_status cpu_buffer_map(struct hal_driver_device *self, struct hal_buffer *buffer,
                               struct hal_mapping *out);

/* ---- Executables (kernel.c) ---------------------------------------------------------------- */

struct cpu_entry {
    const struct msl_function *function;
    const struct msl_function_info *info;
    uint32_t workgroup_size[3];
    struct hal_kernel_slots slots;
    uint32_t workgroup_argument_bytes[MSL_MAX_THREADGROUP_ARGUMENTS];
    const struct hal_pipeline_layout *layout; /* NULL: bindings of set 0 are buffer slots */
    struct hal_entry_binding *bindings;
    uint32_t binding_count;
    _Atomic uint32_t group_cost; /* what a workgroup took, in 1/16 ns; 0: not known yet */
};

struct cpu_executable {
    struct hal_executable base;
    struct msl_library *library;
    struct spirv_translation *spirv;     /* source of the library; NULL: MSL */
    struct hal_constant_info *constants; /* for reflection, like each entry's bindings */
    size_t constant_count;
    enum msl_math math;
    size_t entry_count;
    struct cpu_entry entries[];
};

enum hal_status cpu_executable_compile(struct hal_driver_device *self,
                                       const struct hal_executable_desc *desc) HAL_CHECKED;
enum hal_status cpu_executable_create(struct hal_driver_device *self,
                                      const struct hal_executable_desc *desc,
                                      struct hal_executable **out);
void cpu_executable_destroy(struct cpu_executable *executable);
enum hal_status cpu_executable_reflect(struct hal_driver_device *self,
                                       struct hal_executable *executable,
                                       struct hal_executable_info *out_info);
enum hal_status cpu_entry_reflect(struct hal_driver_device *self, struct hal_executable *executable,
                                  uint32_t entry, struct hal_entry_info *out_info);

enum hal_status cpu_cache_open(struct hal_driver_device *self, const char *wanted, char *out_path,
                               size_t bytes);
enum hal_status cpu_cache_measure(struct hal_driver_device *self, const char *directory,
                                  uint64_t *out_bytes, uint64_t *out_entries);

/* The formats that the driver runs, best first; returns their number. */
uint32_t cpu_executable_formats(enum hal_executable_format out_formats[HAL_MAX_FORMATS]);

/* ---- Programs (program.c) ----------------------------------------------------------------- */

/* The commands of one stage form a stage list. A barrier only adds to what later commands of a
 * stage wait for, so a list's commands become ready in recording order. */
enum cpu_stage_list { CPU_TRANSFERS, CPU_DISPATCHES, CPU_STAGE_LISTS };

/* A command, cut into tiles that may run concurrently and in any order. */
enum cpu_op_kind { CPU_OP_DISPATCH, CPU_OP_DISPATCH_INDIRECT, CPU_OP_COPY, CPU_OP_FILL };

struct cpu_op {
    enum cpu_op_kind kind;
    uint64_t first_tile; /* counted from the phase's first tile */
    uint64_t units;      /* workgroups or bytes; of an indirect dispatch: tiles */
    uint64_t units_per_tile;
    union {
        struct {
            const struct msl_function *function;
            struct msl_launch launch;
            _Atomic uint32_t *group_cost; /* the entry's */
            uint32_t number;              /* among all of the program's dispatches */
            uint32_t indirect;            /* among its indirect dispatches */
        } dispatch;
        struct {
            uint8_t *target;
            const uint8_t *source;
        } copy;
        struct {
            uint8_t *target;
            uint32_t pattern;
        } fill;
    };
};

/* Commands of a list without ordering between them; at least one tile. They may begin when the
 * first needs[i] phases of each list i have ended. */
struct cpu_phase {
    const struct cpu_op *ops;
    size_t op_count;
    uint64_t tile_count;
    size_t needs[CPU_STAGE_LISTS];
    size_t first_indirect, indirect_count;
};

struct cpu_program_list {
    struct cpu_op *ops;
    size_t op_count, op_capacity;
    struct cpu_phase *phases;
    size_t phase_count, phase_capacity;
};

/* Workgroup counts, as read when the dispatch became ready. */
struct cpu_counts {
    uint32_t groups[3];
};

struct cpu_indirect {
    const uint8_t *counts; /* where they are read */
    const struct hal_entry_point *entry;
    uint32_t dispatch_number;
};

struct cpu_program {
    const struct hal_command_buffer *commands;
    struct cpu_program_list lists[CPU_STAGE_LISTS];
    struct cpu_indirect *indirects;
    size_t indirect_count, indirect_capacity;
    struct cpu_block *blocks; /* buffer tables and constants */
    uint32_t dispatch_count;  /* including indirect ones */
    uint64_t transfer_bytes;
};

enum hal_status cpu_program_create(const struct hal_command_buffer *commands, uint32_t workers,
                                   struct cpu_program **out_program) HAL_CHECKED;
void cpu_program_destroy(struct cpu_program *program);

/* ---- Operations (op.c) -------------------------------------------------------------------- */

/* Reads the counts of an indirect dispatch from its buffer. HAL_INVALID: they exceed a limit. */
enum hal_status cpu_indirect_read(const struct cpu_program *program, size_t number,
                                  struct cpu_counts *out_counts) HAL_CHECKED;

/* Runs tiles [first, last) of the op. Dispatches need the thread's msl_worker; `counts` are those
 * of the program's indirect dispatches. HAL_FAILED: a kernel faulted; the message names it.
 * HAL_INVALID: with checked bounds, it left them. */
enum hal_status cpu_op_run(const struct cpu_op *op, const struct cpu_counts *counts,
                           struct msl_worker *worker, uint64_t first, uint64_t last) HAL_CHECKED;

/* Estimated duration of a tile of the op; 0: unknown. The second learns from what `tiles` took. */
uint64_t cpu_op_tile_ns(const struct cpu_op *op, const struct cpu_counts *counts);
void cpu_op_measured(const struct cpu_op *op, const struct cpu_counts *counts, uint64_t tiles,
                     int64_t ns);

/* ---- Faults (fault.c) --------------------------------------------------------------------- */

/* Whether a kernel's fault fails its submission rather than the process. */
bool cpu_faults_caught(void);

/* Call before the first kernel runs; and around the life of a thread that runs kernels. */
void cpu_faults_watch(void);
void *cpu_faults_enter_thread(void);
void cpu_faults_leave_thread(void *entered);

/* msl_function_run. HAL_FAILED: the kernel faulted; the message names it. */
enum hal_status cpu_kernel_run(const struct msl_function *function, struct msl_worker *worker,
                               const struct msl_launch *launch, uint64_t first,
                               uint64_t last) HAL_CHECKED;

/* ---- Runs (phase.c) ----------------------------------------------------------------------- */

/* When a dispatch ran: begin of its first tile, end of its last. 0: no tile ran. */
struct cpu_time {
    _Atomic int64_t begin_ns, end_ns;
};

/* A phase of a run. Workers claim its tiles from `unclaimed`. */
struct cpu_step {
    const struct cpu_phase *phase;
    const struct cpu_counts *counts; /* of the program's indirect dispatches */
    struct cpu_time *times;          /* of the program's dispatches; NULL: not requested */
    _Atomic uint64_t unclaimed, unfinished;
};

/* The phases of a list, of all programs in sequence. Non-atomic members are written by the thread
 * that advances the run, one at a time. */
struct cpu_run_list {
    struct cpu_step *steps;
    _Atomic size_t ready;          /* steps that may run; later ones are not filled in yet */
    _Atomic size_t cursor;         /* steps before it have no tile left to claim */
    size_t finished;               /* number ended */
    size_t program, phase;         /* next to become ready */
    size_t bases[CPU_STAGE_LISTS]; /* steps of the previous programs, by list */
    struct cpu_counts *counts;     /* of the program, like the times */
    struct cpu_time *times;
};

/* Programs that run one after the other, shared by the workers. The owner sets programs, done, free
 * and is_timed and zeroes the rest. */
struct cpu_run {
    struct cpu_program *const *programs;
    size_t program_count;
    bool is_timed;                     /* times each dispatch */
    struct hal_semaphore_value signal; /* first signal of its submission; semaphore NULL: none */
    void (*done)(struct cpu_run *run); /* on the thread that ended it; times are set */
    void (*free)(struct cpu_run *run); /* no worker refers to it any more */
    int64_t begin_ns, end_ns, busy_ns;
    enum hal_status status; /* why it was cut short */
    char *message;
    _Atomic bool failed; /* remaining tiles do nothing */

    struct cpu_run_list lists[CPU_STAGE_LISTS];
    void *memory;           /* for the lists' steps, counts and times */
    struct cpu_time *times; /* of all dispatches; NULL: not requested */
    _Atomic uint32_t
        advances; /* requested and not done yet: the first to request performs them all */
    bool over;    /* for the advancing thread: everything has ended */

    struct cpu_run *next, *previous; /* guarded by the pool lock: running */
    uint32_t inside;                 /* guarded by the pool lock: workers taking tiles */
    int64_t busy_since_ns;           /* guarded by the pool lock */
    bool ended;                      /* guarded by the pool lock */
    _Atomic uint32_t references;
};

/* Allocates the run's steps; cpu_run_finish frees them. Not needed for cpu_run_here. */
enum hal_status cpu_run_prepare(struct cpu_run *run) HAL_CHECKED;
void cpu_run_finish(struct cpu_run *run);

/* Records when a tile of the step's op ran. Any worker. */
void cpu_run_note(const struct cpu_step *step, const struct cpu_op *op, int64_t begin_ns,
                  int64_t end_ns);

/* Call when it is over: the times of dispatches that ran, to free(); NULL: none, or no memory. */
struct hal_dispatch_time *cpu_run_times(const struct cpu_run *run, size_t *out_count);

/* Unclaimed tiles will do nothing; the run's status is unchanged. Any thread, during the run. */
void cpu_run_cancel(struct cpu_run *run);

/* The same, with the status and this thread's message; the first of several failures counts. */
void cpu_run_fail(struct cpu_run *run, enum hal_status status);

/* The run begins, or a phase has ended: makes phases that waited for it ready. Concurrent calls
 * leave this to the thread already doing it. Returns true to one thread when all has ended. */
bool cpu_run_advance(struct cpu_run *run);

/* ---- Workers (run.c) ---------------------------------------------------------------------- */

struct cpu_pool;

enum hal_status cpu_pool_create(uint32_t workers, struct cpu_pool **out_pool) HAL_CHECKED;
void cpu_pool_destroy(struct cpu_pool *pool); /* nothing may be running */
void cpu_pool_start(struct cpu_pool *pool, struct cpu_run *run);

/* Implements hal_device_running. */
enum hal_status cpu_pool_running(struct cpu_pool *pool, struct hal_running *out) HAL_CHECKED;

/* Runs transfers only, on the calling thread; calls `done` but not `free`. */
void cpu_run_here(struct cpu_run *run);

/* Drops the owner's reference. */
void cpu_run_release(struct cpu_run *run);

/* ---- Collectives (collective.c) ----------------------------------------------------------- */

/* When a rank arrived, and when the data of all ranks was moved; 0: it was not. */
struct cpu_moved {
    int64_t arrived_ns, begin_ns, end_ns;
};

/* Part of a submission. */
struct cpu_collective {
    struct hal_collective_work work;
    struct cpu_device *device; /* NULL: the submission is not a collective */
    struct hal_participant participant;
    struct hal_thread_call call;
    enum hal_status failure; /* of the submission, before arrival */
    const char *failure_message;
    /* Called on any thread; the last use of the collective. */
    void (*done)(struct cpu_collective *collective, enum hal_status status, const char *message,
                 const struct cpu_moved *moved);
};

/* Initialises a zeroed struct with `done`, and retains what it names. */
void cpu_collective_init(struct cpu_collective *collective, struct cpu_device *device,
                         const struct hal_collective_work *work);
void cpu_collective_release(struct cpu_collective *collective);

/* The submission's waits are satisfied, or it has failed. */
void cpu_collective_start(struct cpu_collective *collective, enum hal_status failure,
                          const char *message);

/* ---- Submissions (queue.c) ---------------------------------------------------------------- */

extern const struct hal_engine_ops cpu_engine_ops;

/* ---- Target (target.c) -------------------------------------------------------------------- */

/* Fills architecture and features. */
void cpu_describe_target(struct hal_device_info *out_info);

/* ---- Device (device.c) -------------------------------------------------------------------- */

struct cpu_device {
    struct hal_engine engine;
    struct cpu_heap heap;
    struct cpu_pool *pool;
    uint32_t worker_count, queue_count;
    enum msl_math math; /* for compiling kernels */
    uint64_t memory_total_bytes;
};

static inline struct cpu_device *to_cpu_device(struct hal_driver_device *device)
{
    return (struct cpu_device *)device;
}

static inline struct cpu_buffer *to_cpu_buffer(struct hal_buffer *buffer)
{
    return (struct cpu_buffer *)buffer;
}

static inline struct cpu_executable *to_cpu_executable(struct hal_executable *executable)
{
    return (struct cpu_executable *)executable;
}

#endif
