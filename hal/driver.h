/* SPDX-License-Identifier: Apache-2.0 */
/* The driver interface: object headers and one function table per device.
 *
 * The core (hal/core/) owns the handles that applications hold, checks every argument
 * (hal/core/check/), assigns ids and then calls the table, so a driver may rely on valid input. A
 * *layer* is a driver whose device sits in front of another one: it does its work and calls the
 * next device's table. Layers need no wrapper objects: the real driver creates the objects, and
 * they pass through unchanged.
 *
 *     struct hal_device (core) --top--> capture layer --next--> cpu driver
 *
 * Objects begin with struct hal_object. A driver allocates its own struct, whose first member is
 * the object's base below, fills in the fields marked as the driver's, and returns it. The core
 * sets the rest after the outermost table entry has returned.
 *
 * Threads. Table entries may be called from any thread concurrently, without any core lock held,
 * except for attaching and detaching layers, which the core does exclusively. The application's
 * rules of hal.h apply: for example, one thread at a time per command buffer. However, subspans and
 * transient buffers are separate objects, and drivers get the underlying buffer: several threads
 * may map different parts of it concurrently. */
#ifndef HAL_DRIVER_H
#define HAL_DRIVER_H

#include "hal/base/os.h"
#include "hal/core/collectives/rendezvous.h"
#include "hal/hal.h"

#include <stdatomic.h>

/* Incremented with every incompatible change of this header; loadable modules check it. */
enum { HAL_DRIVER_ABI = 20 };

/* ---- Objects ------------------------------------------------------------------------------ */

/* Written into traces. */
enum hal_object_kind {
    HAL_OBJECT_BUFFER = 1,
    HAL_OBJECT_EXECUTABLE = 2,
    HAL_OBJECT_COMMAND_BUFFER = 3,
    HAL_OBJECT_SEMAPHORE = 4,
    HAL_OBJECT_SUBSPAN = 5, /* a struct hal_buffer with a root; drivers see only its destruction */
    HAL_OBJECT_EVENT = 8,
    HAL_OBJECT_SET_LAYOUT = 9,
    HAL_OBJECT_PIPELINE_LAYOUT = 10,
    HAL_OBJECT_CHANNEL = 11,
};

struct hal_driver_device;

struct hal_object {
    enum hal_object_kind kind;
    _Atomic uint32_t references;
    uint64_t id;               /* unique in the process, never 0; set by hal_object_init */
    struct hal_device *device; /* core: the handle; retained; NULL until the create call is done */
    char *label;               /* core: a copy or NULL */
    struct hal_object *next_live, *previous_live; /* core: the device's list of live objects */
    struct hal_object *next_dead; /* core: released while a layer was attached or detached */
    void *layer_data; /* owned by the attached layer: NULL before it begins and after it ends */
    /* Core: called without a reference left: object_destroy of `top`, then frees the rest. */
    void (*destroy)(struct hal_driver_device *top, struct hal_object *object);
};

struct hal_buffer {
    struct hal_object object;
    uint64_t bytes;         /* driver */
    uint32_t memory;        /* driver: what was allocated; includes what was requested */
    uint32_t usage;         /* driver */
    uint32_t wanted_memory; /* caching.c: the requested type */
    struct hal_open_mapping *open_mappings; /* core */
    /* Core: for a subspan, the underlying buffer, retained. Commands, mappings and submissions that
     * reach a driver always name roots. */
    struct hal_buffer *root;
    uint64_t root_offset;
    bool is_apart;                    /* driver: shares no page with another buffer */
    void *imported;                   /* driver: host memory of buffer_import; else NULL */
    struct hal_import *import;        /* core */
    struct hal_mapping exported;      /* core: `data` is NULL before the first export */
    struct hal_pool_block *transient; /* core (pool.h): block of an alloca, until the dealloca */
    /* Core: the alloca's buffer: this one, or (retained) the one that this is a subspan of. */
    struct hal_buffer *allocation;
    _Atomic bool is_freed; /* core: set by the dealloca of such a buffer */
    bool is_slab;          /* core: holds transient memory; counted by the pool */
};

struct hal_executable {
    struct hal_object object;
    size_t variant;  /* driver: the variant that it took */
    bool from_cache; /* driver: compilation was not needed */
    /* The core fills these in with its own copies, which live as long as the object. */
    struct hal_executable_variant *variants;
    size_t variant_count;
    struct hal_entry_point *entry_points;
    size_t entry_point_count;
    struct hal_pipeline_layout **layouts; /* NULL: no entry point has one */
    struct hal_constant *constants;
    size_t constant_count;
    struct hal_entry_info *reflection; /* one per entry point; NULL: the driver cannot tell */
};

/* Created by the core, which notifies the driver through object_created. */
struct hal_event {
    struct hal_object object;
    void *driver_data; /* the driver's */
};

static inline struct hal_pipeline_layout *hal_entry_layout(const struct hal_executable *executable,
                                                           uint32_t entry)
{
    return executable->layouts ? executable->layouts[entry] : NULL;
}

/* Also created by the core. */
struct hal_set_layout {
    struct hal_object object;
    void *driver_data;
    struct hal_layout_binding *bindings; /* by ascending index */
    size_t binding_count, dynamic_count;
};

struct hal_pipeline_layout {
    struct hal_object object;
    void *driver_data;
    struct hal_set_layout *sets[HAL_MAX_SETS];
    size_t set_count;
    uint32_t constant_bytes;
};

/* One rank; also created by the core. */
struct hal_channel {
    struct hal_object object;
    void *driver_data;
    uint32_t rank, count;
    uint64_t group_id;
    struct hal_group *group;     /* core */
    struct hal_leaving *leaving; /* core */
};

/* Not an object that commands can name, so layers do not see it. */
struct hal_executable_cache {
    _Atomic uint32_t references;
    struct hal_device *device;
    char *label;
    char *directory;    /* from the driver; NULL: it caches nothing */
    uint64_t max_bytes; /* nonzero if there is a directory */
    _Atomic uint64_t prepared_count, cache_hits;
};

struct hal_wait;
struct hal_signal;

/* Created and changed only by the submission engine (engine.h). */
struct hal_semaphore {
    struct hal_object object;
    uint64_t initial_value;
    _Atomic uint64_t value; /* UINT64_MAX: failed */
    uint64_t reached;       /* the value before the failure, whose status and message follow */
    enum hal_status failure;
    char *message;
    struct hal_outlook *outlook;             /* core (promise.h); NULL: nothing is known */
    struct hal_wait *first_wait, *last_wait; /* engine, like the next member */
    struct hal_signal *promises;
};

/* UINT64_MAX: it has failed permanently. */
static inline uint64_t hal_timeline_value(const struct hal_semaphore *semaphore)
{
    return atomic_load_explicit(&semaphore->value, memory_order_acquire);
}

/* Initialises a zeroed struct: kind, one reference, a new id. */
HAL_API void hal_object_init(struct hal_object *object, enum hal_object_kind kind);

/* Drivers use these for objects that commands and submissions keep alive. The last release calls
 * the device's object_destroy. Both accept NULL. */
HAL_API void hal_object_retain(struct hal_object *object);
HAL_API void hal_object_release(struct hal_object *object);

/* Writes the object's name for messages: "buffer 'weights'" or "buffer 17". Returns `out`. */
enum { HAL_OBJECT_NAME_BYTES = 96 };
HAL_API const char *hal_object_name(const struct hal_object *object,
                                    char out[HAL_OBJECT_NAME_BYTES]);

/* ---- Recorded commands --------------------------------------------------------------------- */

/* A recorded command with its data; a trace calls it a segment. Commands are contiguous in a
 * command buffer's arena, each aligned to 8 bytes. The numbers are written into traces. */
enum hal_command_kind {
    HAL_COMMAND_BARRIER = 1,
    HAL_COMMAND_FILL = 2,
    HAL_COMMAND_COPY = 3,
    HAL_COMMAND_UPDATE = 4,
    HAL_COMMAND_PUSH_CONSTANTS = 5,
    HAL_COMMAND_PUSH_DESCRIPTOR_SET = 6,
    HAL_COMMAND_DISPATCH = 7,
    HAL_COMMAND_DEBUG_BEGIN = 8,
    HAL_COMMAND_DEBUG_END = 9,
    HAL_COMMAND_DISPATCH_INDIRECT = 10,
    HAL_COMMAND_EVENT_SIGNAL = 11,
    HAL_COMMAND_EVENT_RESET = 12,
    HAL_COMMAND_EVENTS_WAIT = 13,
};

struct hal_command {
    uint16_t kind;     /* enum hal_command_kind */
    uint16_t reserved; /* 0 */
    uint32_t bytes;    /* size of the whole command, and so the offset of the next */
};

struct hal_command_barrier {
    struct hal_command head;
    uint32_t source_stages, target_stages; /* never 0: "all" is expanded */
    uint32_t source_access, target_access;
    uint32_t buffer_count;
    uint32_t reserved;
    struct hal_buffer_barrier buffers[]; /* ranges resolved: no HAL_WHOLE_BUFFER */
};

struct hal_command_event {
    struct hal_command head;
    struct hal_event *event;
    uint32_t source_stages; /* for a signal; never 0 */
    uint32_t reserved;
};

/* A barrier, then the events. hal_command_buffer_end checks that each was signalled before. */
struct hal_command_events_wait {
    struct hal_command head;
    uint32_t source_stages; /* union of the signals' stages; valid once ended */
    uint32_t target_stages;
    uint32_t source_access, target_access;
    uint32_t buffer_count;
    uint32_t event_count;
    struct hal_buffer_barrier buffers[]; /* followed by event_count pointers */
};

static inline struct hal_event *const *hal_waited_events(const struct hal_command_events_wait *wait)
{
    return (struct hal_event *const *)(const void *)(wait->buffers + wait->buffer_count);
}

struct hal_command_fill {
    struct hal_command head;
    struct hal_buffer *target;
    uint64_t offset, bytes;
    uint32_t pattern; /* repeated to 4 bytes */
    uint32_t pattern_bytes;
};

struct hal_command_copy {
    struct hal_command head;
    struct hal_buffer *source, *target;
    uint64_t source_offset, target_offset, bytes;
};

struct hal_command_update {
    struct hal_command head;
    struct hal_buffer *target;
    uint64_t offset, bytes;
    uint8_t data[]; /* padded to 8 */
};

struct hal_command_push_constants {
    struct hal_command head;
    uint32_t offset, bytes;
    uint8_t data[]; /* padded to 8 */
};

struct hal_command_push_descriptor_set {
    struct hal_command head;
    uint32_t set, binding_count;
    struct hal_binding bindings[]; /* ranges resolved: no HAL_WHOLE_BUFFER */
};

struct hal_command_dispatch {
    struct hal_command head;
    struct hal_executable *executable;
    uint32_t entry;
    uint32_t workgroup_count[3];
    uint32_t state; /* index into hal_command_buffer.states; valid once ended */
    uint32_t reserved;
};

struct hal_command_dispatch_indirect {
    struct hal_command head;
    struct hal_executable *executable;
    struct hal_buffer *counts; /* HAL_COUNTS_BYTES at `offset`: three uint32_t */
    uint64_t offset;
    uint32_t entry;
    uint32_t state; /* as above */
};

enum { HAL_COUNTS_BYTES = 12 };

struct hal_command_debug {
    struct hal_command head; /* DEBUG_BEGIN; an end is a bare head */
    uint32_t color;
    uint32_t label_bytes;
    char label[]; /* zero-terminated, padded to 8 */
};

/* The constants and bindings of a dispatch, as set by the pushes before it. Dispatches with the
 * same state share one. Pointers live as long as the command buffer. */
struct hal_dispatch_state {
    const uint8_t *constants; /* at most HAL_MAX_CONSTANT_BYTES */
    uint32_t constant_bytes;  /* end of the highest range pushed */
    uint32_t binding_count[HAL_MAX_SETS];
    const struct hal_binding *bindings[HAL_MAX_SETS];
};

struct hal_command_buffer {
    struct hal_object object;
    enum hal_command_buffer_mode mode;
    uint32_t categories;                 /* never 0 */
    struct hal_command_buffer_info info; /* core: filled in by hal_command_buffer_end */
    bool is_ended;
    _Atomic bool submitted; /* core: a one-shot buffer was submitted */
    const char *operation;  /* core: the function that created it; NULL: the application */
    uint8_t *arena;         /* the commands, verbatim, in recording order */
    size_t arena_bytes;
    uint32_t command_count;
    uint32_t dispatch_count;           /* including indirect ones */
    struct hal_dispatch_state *states; /* resolved by hal_command_buffer_end */
    uint32_t state_count;
    void *driver_data; /* the driver's translation; created by prepare, freed by object_destroy */
    struct hal_recording *recording; /* core (recording.h): state needed only while recording */
    /* Core, during command_buffer_prepare: the layer's note_command of each command; NULL: none. */
    const uint32_t *notes;
};

static inline const struct hal_command *hal_command_first(const struct hal_command_buffer *commands)
{
    return commands->arena_bytes ? (const struct hal_command *)(const void *)commands->arena : NULL;
}

static inline const struct hal_command *hal_command_next(const struct hal_command_buffer *commands,
                                                         const struct hal_command *command)
{
    const uint8_t *next = (const uint8_t *)command + command->bytes;
    return next < commands->arena + commands->arena_bytes
               ? (const struct hal_command *)(const void *)next
               : NULL;
}

/* Checks workgroup counts against the limits. HAL_INVALID: the message names the entry point, the
 * counts and the limit. For counts that are known only at execution. */
HAL_API enum hal_status hal_check_workgroups(const struct hal_entry_point *entry,
                                             const uint32_t counts[3]) HAL_CHECKED;

/* For executable_create: checks the reflected bindings of an entry point against its layout (may be
 * NULL). HAL_INVALID: the layout lacks a binding, or the kernel writes a read-only one. */
HAL_API enum hal_status hal_check_entry_bindings(const struct hal_entry_point *entry,
                                                 const struct hal_pipeline_layout *layout,
                                                 const struct hal_entry_binding *bindings,
                                                 size_t count) HAL_CHECKED;

/* For executable_create: check a compiled kernel against its entry point. On HAL_INVALID the
 * message names the kernel, the value and the limit. They check that MSL has the [[buffer(n)]] for
 * the constants; that the module's push constants do not exceed the declared ones; and that the
 * arguments in workgroup memory (`taken`, a mask of their indices) are exactly those that have a
 * length, and fit together with the kernel's own bytes (HAL_UNSUPPORTED: an index is too large). */
HAL_API enum hal_status hal_check_entry_slot(const struct hal_entry_point *entry,
                                             bool is_there) HAL_CHECKED;
HAL_API enum hal_status hal_check_entry_constants(const struct hal_entry_point *entry,
                                                  uint32_t bytes) HAL_CHECKED;
HAL_API enum hal_status hal_check_entry_workgroup_memory(const struct hal_entry_point *entry,
                                                         uint32_t taken, uint64_t own_bytes,
                                                         uint64_t limit) HAL_CHECKED;

#define hal_each_command(commands, command)                                                        \
    for (const struct hal_command *command = hal_command_first(commands); command;                 \
         command = hal_command_next(commands, command))

/* ---- Submissions -------------------------------------------------------------------------- */

/* Times of one dispatch, on the clock of hal_clock_ns. */
struct hal_dispatch_time {
    uint32_t command_buffer;  /* index in the submission's batch */
    uint32_t dispatch;        /* index in that command buffer, from 0, counting indirect ones */
    int64_t begin_ns, end_ns; /* device time: begin of the first thread, end of the last */
};

/* Outcome of a submission. Times are 0 if the driver cannot tell. */
struct hal_submission_result {
    enum hal_status status;
    const char *message; /* reason of a failure; borrowed for the call */
    int64_t ready_ns;    /* when its waits were met */
    int64_t begin_ns;    /* device time: the first command began */
    int64_t end_ns;      /* the last command ended */
    int64_t busy_ns;     /* part of that time in which at least one worker or unit had work */

    /* For a submission that requested them; borrowed for the call, in any order. Dispatches that
     * the device did not time are missing. */
    const struct hal_dispatch_time *dispatches;
    size_t dispatch_count;
    bool is_isolated; /* dispatches were serialised for timing: none overlapped another */
};

/* The queue operation that the application requested; informs tools. Written into traces. */
enum hal_operation {
    HAL_OPERATION_EXECUTE = 0,
    HAL_OPERATION_BARRIER = 1,
    HAL_OPERATION_FILL = 2, /* FILL to DISPATCH: one command buffer with one command */
    HAL_OPERATION_COPY = 3,
    HAL_OPERATION_UPDATE = 4,
    HAL_OPERATION_DISPATCH = 5,
    HAL_OPERATION_ALLOCA = 6, /* and DEALLOCA: no work; the range is allocated and freed */
    HAL_OPERATION_DEALLOCA = 7,
    HAL_OPERATION_READ = 8, /* and WRITE: a host call */
    HAL_OPERATION_WRITE = 9,
    HAL_OPERATION_COLLECTIVE = 10, /* with other ranks; see `collective` */
};

/* A function called in queue order instead of commands: after the waits and before the signals, on
 * a thread that may block. `data` is the submission's range as host memory; if `writes` is set, the
 * bytes that the call leaves there end up in the buffer. A status other than HAL_OK, with the
 * calling thread's hal_message(), becomes the submission's. */
struct hal_host_call {
    enum hal_status (*run)(void *user, void *data, uint64_t bytes); /* NULL: none */
    void *user;
    bool writes;
};

struct hal_submission {
    uint64_t id;       /* core: 0, 1, 2, ... per device, in the order of the calls */
    uint64_t affinity; /* core: bit i allows queue i; 0: queue 0 */
    uint32_t queue;    /* core: resolved from the affinity */
    const struct hal_semaphore_value *waits;
    size_t wait_count;
    const struct hal_semaphore_value *signals;
    size_t signal_count;
    struct hal_command_buffer *const *commands;
    size_t command_count;

    enum hal_operation operation;
    struct hal_buffer *buffer; /* for ALLOCA to WRITE and COLLECTIVE: a root, retained */
    uint64_t offset, bytes;
    const char *file; /* for READ and WRITE */
    uint64_t file_offset;
    struct hal_host_call host; /* excludes commands */
    /* For COLLECTIVE, else NULL; excludes commands. The range above is the range that the rank
     * receives, or else the one that it sends. Drivers copy it and retain channel and buffers. */
    const struct hal_collective_work *collective;

    /* A layer requests dispatch times: drivers that have them provide them, even at a cost. */
    bool time_dispatches;

    /* Optional. Called once when the work has ended or failed, on any thread, possibly before
     * queue_submit has returned, and *before* its signals can be observed. Must not block and must
     * not call the device, except for semaphore_query. Not called if queue_submit fails. */
    void (*retired)(void *user, const struct hal_submission_result *result);
    void *user;
};

/* ---- The table ---------------------------------------------------------------------------- */

struct hal_driver_device;
struct hal_core;
struct hal_layer;

/* Every entry is mandatory unless marked optional (NULL is then legal in a driver; a layer that
 * does not need it forwards the call). */
struct hal_driver_ops {
    /* Stops threads and frees the device. No object is alive and no work is in flight. */
    void (*device_destroy)(struct hal_driver_device *self);

    /* Answers keys that the description does not cover; the core answers those. "waits.on.host" is
     * 1 for a driver that starts a submission only when the host can see that its waits are met. */
    enum hal_status (*device_query)(struct hal_driver_device *self, const char *key,
                                    int64_t *out_value);

    /* Blocks. When it returns HAL_OK, everything submitted before the call has retired, and the
     * driver no longer holds objects for it. HAL_DEVICE_LOST is permanent. */
    enum hal_status (*device_wait_idle)(struct hal_driver_device *self, int64_t timeout_ns);

    /* Optional; drivers only, called past the layers: hal_device_running. */
    enum hal_status (*device_running)(struct hal_driver_device *self, struct hal_running *out);

    enum hal_status (*buffer_create)(struct hal_driver_device *self,
                                     const struct hal_buffer_desc *desc, struct hal_buffer **out);
    /* Optional. The same, but no other buffer shares a page with it, so that a layer that asks the
     * system which pages the host stored into gets answers about this buffer only. */
    enum hal_status (*buffer_create_apart)(struct hal_driver_device *self,
                                           const struct hal_buffer_desc *desc,
                                           struct hal_buffer **out);

    /* Optional; drivers only. A destroyed buffer is reused as another one; the system's tools
     * should show the new `label` (may be NULL). */
    void (*buffer_rename)(struct hal_driver_device *self, struct hal_buffer *buffer,
                          const char *label);

    /* Optional. Creates a buffer over host memory; fills in `imported`. */
    enum hal_status (*buffer_import)(struct hal_driver_device *self,
                                     const struct hal_buffer_desc *desc, void *pointer,
                                     struct hal_buffer **out);

    /* Fills in out->data; the core has set the other fields, with the range resolved. */
    enum hal_status (*buffer_map)(struct hal_driver_device *self, struct hal_buffer *buffer,
                                  struct hal_mapping *out);
    enum hal_status (*buffer_unmap)(struct hal_driver_device *self,
                                    const struct hal_mapping *mapping);
    /* Optional; layers only. Copies `source` into the whole mapping, which is unmapped next;
     * nothing else writes there. A layer that records the bytes should read `source`, because
     * device memory may be slow to read. */
    void (*mapping_store)(struct hal_driver_device *self, const struct hal_mapping *mapping,
                          const void *source);
    enum hal_status (*mapping_flush)(struct hal_driver_device *self,
                                     const struct hal_mapping *mapping, uint64_t offset,
                                     uint64_t bytes);
    enum hal_status (*mapping_invalidate)(struct hal_driver_device *self,
                                          const struct hal_mapping *mapping, uint64_t offset,
                                          uint64_t bytes);

    /* The core has moved a single variant into the list: format, data and bytes are unset. */
    enum hal_status (*executable_create)(struct hal_driver_device *self,
                                         const struct hal_executable_desc *desc,
                                         struct hal_executable **out);

    /* Optional; drivers only, called past the layers. Compiles what executable_create would, into
     * the cache of the description, without loading or running it. A driver without this entry must
     * never load native code of a kernel into the process, because the core then creates and
     * releases the executable instead. */
    enum hal_status (*executable_compile)(struct hal_driver_device *self,
                                          const struct hal_executable_desc *desc);

    /* Optional; drivers only, called past the layers. They fill in what the core cannot know: the
     * constants, and an entry's bindings and workgroup memory. Lists live as long as the
     * executable. The core passes no dispatch to the driver in which one of these bindings is
     * missing or does not match the list. */
    enum hal_status (*executable_reflect)(struct hal_driver_device *self,
                                          struct hal_executable *executable,
                                          struct hal_executable_info *out_info);
    enum hal_status (*entry_reflect)(struct hal_driver_device *self,
                                     struct hal_executable *executable, uint32_t entry,
                                     struct hal_entry_info *out_info);

    /* Optional; drivers only, called past the layers. cache_open creates the directory for cached
     * executables, `wanted` or the default if NULL, and returns its absolute path. cache_measure
     * measures one. executable_create gets the cache in its description. */
    enum hal_status (*cache_open)(struct hal_driver_device *self, const char *wanted,
                                  char *out_path, size_t bytes);
    enum hal_status (*cache_measure)(struct hal_driver_device *self, const char *directory,
                                     uint64_t *out_bytes, uint64_t *out_entries);

    /* The core allocates command buffers and records into them. `created` notifies the driver
     * (optional). hal_command_buffer_end calls `prepare` once, with the ended list: a driver
     * translates it here. */
    void (*command_buffer_created)(struct hal_driver_device *self,
                                   struct hal_command_buffer *commands);
    enum hal_status (*command_buffer_prepare)(struct hal_driver_device *self,
                                              struct hal_command_buffer *commands);

    /* Optional; layers only. Called when the application records a command. The returned value
     * comes back in `notes`; it is 0 for commands recorded before the layer was attached. */
    uint32_t (*note_command)(struct hal_driver_device *self,
                             const struct hal_command_buffer *commands);

    /* Optional. Called for objects that the core creates: events, subspans, layouts. */
    void (*object_created)(struct hal_driver_device *self, struct hal_object *object);

    /* The driver accepts semaphores of any of its devices wherever it accepts the device's own. */
    bool shares_semaphores;

    /* The driver accepts submissions with a collective. */
    bool collectives;

    enum hal_status (*semaphore_create)(struct hal_driver_device *self, const char *label,
                                        uint64_t initial_value, struct hal_semaphore **out);
    enum hal_status (*semaphore_query)(struct hal_driver_device *self,
                                       struct hal_semaphore *semaphore, uint64_t *out_value);
    enum hal_status (*semaphore_signal)(struct hal_driver_device *self,
                                        struct hal_semaphore *semaphore, uint64_t value);
    void (*semaphore_fail)(struct hal_driver_device *self, struct hal_semaphore *semaphore,
                           enum hal_status status, const char *message);
    enum hal_status (*semaphores_wait)(struct hal_driver_device *self, enum hal_wait_mode mode,
                                       const struct hal_semaphore_value *values, size_t count,
                                       int64_t timeout_ns);

    /* Copies what it needs from the submission and retains its objects until retired. */
    enum hal_status (*queue_submit)(struct hal_driver_device *self,
                                    const struct hal_submission *submission);

    /* Called when the last reference is gone: frees the driver's part (driver_data) and the struct
     * itself. For command buffers and other core objects, the core frees the rest afterwards. */
    void (*object_destroy)(struct hal_driver_device *self, struct hal_object *object);

    /* Optional. Starts what was submitted; `queues` names at least one. */
    void (*queue_flush)(struct hal_driver_device *self, uint64_t queues);

    /* Optional; for layers. `name` NULL ends the innermost scope of the calling thread. */
    void (*scope)(struct hal_driver_device *self, const char *name);

    /* Drivers only; a layer leaves it NULL and is never called. While `on`, semaphores_wait and
     * device_wait_idle return HAL_TIMEOUT immediately, including calls that already block: the core
     * moves the application's threads out of the chain before it attaches or detaches a layer, and
     * repeats their waits afterwards. A layer sees such a wait end early with HAL_TIMEOUT. */
    void (*waits_interrupt)(struct hal_driver_device *self, bool on);

    /* Optional; drivers only. Begins a capture in a format for the system's own tools, selected by
     * the file's name (".gputrace"); otherwise like hal_layer_begin below. */
    enum hal_status (*native_capture)(const struct hal_core *core, struct hal_device *device,
                                      struct hal_driver_device *next,
                                      const struct hal_profiling_options *options,
                                      struct hal_layer **out_layer);
};

struct hal_driver_device {
    const struct hal_driver_ops *ops;
    struct hal_driver_device *next; /* layers: the device behind; drivers: NULL */
};

/* ---- Drivers and layers ------------------------------------------------------------------- */

/* One parameter of a device URI, as in "cpu?threads=4". */
struct hal_uri_parameter {
    const char *name, *value;
};

struct hal_driver {
    const char *name;        /* the URI's scheme */
    const char *description; /* one line for users */
    const char *parameters;  /* URI parameters; "": none */
    /* Calls `visit` for each device that could be opened until it returns false. */
    void (*list)(bool (*visit)(void *user, const struct hal_device_entry *entry), void *user);
    /* Opens a device; `path` is the part after "scheme://", or "". Fills in *out_info (zeroed). */
    enum hal_status (*open)(const char *path, const struct hal_uri_parameter *parameters,
                            size_t parameter_count, struct hal_device_info *out_info,
                            struct hal_driver_device **out_device);
};

/* Type of a loadable driver's one exported symbol. Returns its driver, or NULL if it was built for
 * another HAL_DRIVER_ABI than `abi`. The module links libhal. */
typedef const struct hal_driver *hal_driver_module(uint32_t abi);

/* Core services for a layer, which must not link a second copy of the core. */
struct hal_core {
    uint32_t abi; /* HAL_DRIVER_ABI */
    uint32_t bytes;
    const struct hal_device_info *(*device_info)(const struct hal_device *device);
    /* Calls `visit` for every live object in creation order, with the list locked. */
    void (*each_object)(struct hal_device *device,
                        void (*visit)(void *user, struct hal_object *object), void *user);
    const char *(*object_name)(const struct hal_object *object, char out[HAL_OBJECT_NAME_BYTES]);

    /* Calls `visit` for every mapping that the application holds open, with the list locked: a
     * layer that begins late did not see them created, but will see their flushes and unmaps. */
    void (*each_mapping)(struct hal_device *device,
                         void (*visit)(void *user, const struct hal_mapping *mapping), void *user);

    /* For modules that are not linked with the core. The last release calls the device. */
    void (*object_retain)(struct hal_object *object);
    void (*object_release)(struct hal_object *object);

    /* True if two devices have ever been open at once; each may raise the other's semaphores. */
    bool (*had_several_devices)(void);
};

/* A layer attached to a device. */
struct hal_layer {
    struct hal_driver_device *device; /* the layer's device: the new top of the chain */
    enum hal_status (*flush)(struct hal_layer *self);
    /* The layer is out of the chain, no call is inside it, and no submission that it saw is in
     * flight: closes the file and frees everything. Returns the first recording error. */
    enum hal_status (*end)(struct hal_layer *self);
    /* Called instead of `end` if the process exits with work in flight: the layer is out of the
     * chain and no call is inside it, but `retired` of submissions that it saw may be called until
     * the process ends. Closes the file, which says so, and keeps what these calls need. */
    enum hal_status (*leave)(struct hal_layer *self);
    /* Optional. For a layer that began with `last_ns`: it may now discard everything from before
     * the previous checkpoint. No call is inside the layer, and no submission is in flight. */
    enum hal_status (*checkpoint)(struct hal_layer *self);
};

/* Type of the capture module's one exported symbol, `hal_capture_begin`. The core calls it with the
 * device idle and the gate closed: no other call is inside the device. `device` is the handle,
 * `next` the current top of the chain. `options` has no NULL left. */
typedef enum hal_status hal_layer_begin(const struct hal_core *core, struct hal_device *device,
                                        struct hal_driver_device *next,
                                        const struct hal_profiling_options *options,
                                        struct hal_layer **out_layer);
#define HAL_CAPTURE_SYMBOL "hal_capture_begin"

/* ---- Variants of executables --------------------------------------------------------------- */

/* How a driver builds an executable from one variant. */
struct hal_variant_builder {
    const char *driver;                        /* for messages: "Metal" */
    const enum hal_executable_format *formats; /* supported formats, best first */
    size_t format_count;

    /* HAL_UNSUPPORTED: another format may work; everything created for this one has been freed.
     * `*out_variant` is already set to its index. */
    enum hal_status (*build)(void *user, const struct hal_executable_desc *desc,
                             const struct hal_executable_variant *variant);
};

/* Builds the best variant that can be built; `*out_variant` is the last one tried. HAL_UNSUPPORTED:
 * none can be built. Others: the failure of the last one. */
HAL_API enum hal_status hal_variants_build(const struct hal_variant_builder *builder, void *user,
                                           const struct hal_executable_desc *desc,
                                           size_t *out_variant) HAL_CHECKED;

/* ---- Settings ----------------------------------------------------------------------------- */

/* Whether to bounds-check kernels (--check-bounds, HAL_CHECK_BOUNDS). HAL_INVALID: neither. */
HAL_API enum hal_status hal_bounds_wanted(bool *out_wanted) HAL_CHECKED;

#endif
