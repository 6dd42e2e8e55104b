/* SPDX-License-Identifier: Apache-2.0 */
/* What a driver implements: the object headers and one function table per device.
 *
 * The core (device.c, commands.c) owns the handles that applications hold, checks every argument
 * (check*.c), assigns ids and then calls the table, so a driver may rely on valid input. A *layer*
 * is a driver whose device sits in front of another one: it does its work and calls the next
 * device's table. Layers need no wrapper objects, since objects are created by the real driver and
 * pass through.
 *
 *     struct hal_device (core) --top--> capture layer --next--> cpu driver
 *
 * Objects begin with struct hal_object. A driver allocates its own struct, whose first member is
 * the object's base below, fills the fields that the base's comment names as the driver's, and
 * hands it out. The core sets the rest after the outermost table entry has returned.
 *
 * Threads. Table entries may be called from any thread at the same time, with no lock of the core
 * held, except the attach and detach of layers, which the core calls alone. The application's
 * rules of hal.h hold: one thread at a time per command buffer, for instance. But subspans and
 * transient buffers are objects of their own, and drivers get the buffer behind them: several
 * threads may map different parts of that at a time. */
#ifndef HAL_DRIVER_H
#define HAL_DRIVER_H

#include "hal/base/os.h"
#include "hal/core/collectives/rendezvous.h"
#include "hal/hal.h"

#include <stdatomic.h>

/* Grows with every incompatible change of this header; loadable modules check it. */
enum { HAL_DRIVER_ABI = 18 };

/* ---- Objects ------------------------------------------------------------------------------ */

/* Written into traces. */
enum hal_object_kind {
    HAL_OBJECT_BUFFER = 1,
    HAL_OBJECT_EXECUTABLE = 2,
    HAL_OBJECT_COMMAND_BUFFER = 3,
    HAL_OBJECT_SEMAPHORE = 4,
    HAL_OBJECT_SUBSPAN = 5, /* a struct hal_buffer with a root; drivers see its end alone */
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
    struct hal_object *next_dead;                 /* core: released while a layer came or went */
    void *layer_data; /* of the running layer alone: NULL before it begins and after its end */
    /* Core: the last reference went. Calls object_destroy of `top`, then frees what else the object
     * has. */
    void (*destroy)(struct hal_driver_device *top, struct hal_object *object);
};

struct hal_buffer {
    struct hal_object object;
    uint64_t bytes;         /* driver */
    uint32_t memory;        /* driver: what it really gave, at least what was asked for */
    uint32_t usage;         /* driver */
    uint32_t wanted_memory; /* caching.c: the type that was asked for */
    struct hal_open_mapping *open_mappings; /* core */
    /* Core: of a subspan, the buffer that it is a range of, retained. Commands, mappings and
     * submissions that reach a driver always name roots. */
    struct hal_buffer *root;
    uint64_t root_offset;
    bool is_apart;                    /* driver: shares its pages with no other buffer */
    void *imported;                   /* driver: the host's memory, of buffer_import; else NULL */
    struct hal_import *import;        /* core */
    struct hal_mapping exported;      /* core: `data` is NULL before the first export */
    struct hal_pool_block *transient; /* core (pool.h): of an alloca, until the dealloca */
    /* Core: the buffer of an alloca that this one is, or a subspan of; then it is retained. */
    struct hal_buffer *allocation;
    _Atomic bool is_freed; /* core: of such a buffer, by its dealloca */
    bool is_slab;          /* core: holds transient memory, and is counted by the pool */
};

struct hal_executable {
    struct hal_object object;
    size_t variant;  /* driver: the one that it took */
    bool from_cache; /* driver: nothing had to be compiled */
    /* The core fills these with its own copies; they live as long as the object. */
    struct hal_executable_variant *variants;
    size_t variant_count;
    struct hal_entry_point *entry_points;
    size_t entry_point_count;
    struct hal_pipeline_layout **layouts; /* NULL: no entry point has one */
    struct hal_constant *constants;
    size_t constant_count;
    struct hal_entry_info *reflection; /* of each entry point; NULL: the driver cannot tell */
};

/* Made by the core, which tells the driver by object_created. */
struct hal_event {
    struct hal_object object;
    void *driver_data; /* the driver's */
};

static inline struct hal_pipeline_layout *hal_entry_layout(const struct hal_executable *executable,
                                                           uint32_t entry)
{
    return executable->layouts ? executable->layouts[entry] : NULL;
}

/* Likewise. */
struct hal_set_layout {
    struct hal_object object;
    void *driver_data;
    struct hal_layout_binding *bindings; /* by rising index */
    size_t binding_count, dynamic_count;
};

struct hal_pipeline_layout {
    struct hal_object object;
    void *driver_data;
    struct hal_set_layout *sets[HAL_MAX_SETS];
    size_t set_count;
    uint32_t constant_bytes;
};

/* One rank; likewise. */
struct hal_channel {
    struct hal_object object;
    void *driver_data;
    uint32_t rank, count;
    uint64_t group_id;
    struct hal_group *group;     /* core */
    struct hal_leaving *leaving; /* core */
};

/* No object that commands name: layers do not see it. */
struct hal_executable_cache {
    _Atomic uint32_t references;
    struct hal_device *device;
    char *label;
    char *directory;    /* the driver's answer; NULL: it keeps nothing */
    uint64_t max_bytes; /* never 0 with a directory */
    _Atomic uint64_t prepared_count, cache_hits;
};

struct hal_wait;
struct hal_signal;

/* Created and changed by the submission engine (engine.h) alone. */
struct hal_semaphore {
    struct hal_object object;
    uint64_t initial_value;
    _Atomic uint64_t value; /* UINT64_MAX: failed */
    uint64_t reached;       /* what it was before; as are the following: of the failure */
    enum hal_status failure;
    char *message;
    struct hal_outlook *outlook;             /* core (promise.h); NULL: nothing is known */
    struct hal_wait *first_wait, *last_wait; /* the engine's, as is what follows */
    struct hal_signal *promises;
};

/* UINT64_MAX: it has failed, for good. */
static inline uint64_t hal_timeline_value(const struct hal_semaphore *semaphore)
{
    return atomic_load_explicit(&semaphore->value, memory_order_acquire);
}

/* Prepares a zeroed struct: kind, one reference, a new id. */
HAL_API void hal_object_init(struct hal_object *object, enum hal_object_kind kind);

/* Used by drivers for objects that commands and submissions keep alive. The last release calls
 * the device's object_destroy. Both accept NULL. */
HAL_API void hal_object_retain(struct hal_object *object);
HAL_API void hal_object_release(struct hal_object *object);

/* "buffer 'weights'" or "buffer 17": how messages name an object. Returns `out`. */
enum { HAL_OBJECT_NAME_BYTES = 96 };
HAL_API const char *hal_object_name(const struct hal_object *object,
                                    char out[HAL_OBJECT_NAME_BYTES]);

/* ---- Command buffers: segments ------------------------------------------------------------ */

/* One recorded command with its data. Segments lie one after the other in a command buffer's
 * arena, each aligned to 8 bytes. The numbers are written into traces. */
enum hal_segment_kind {
    HAL_SEGMENT_BARRIER = 1,
    HAL_SEGMENT_FILL = 2,
    HAL_SEGMENT_COPY = 3,
    HAL_SEGMENT_UPDATE = 4,
    HAL_SEGMENT_PUSH_CONSTANTS = 5,
    HAL_SEGMENT_PUSH_DESCRIPTOR_SET = 6,
    HAL_SEGMENT_DISPATCH = 7,
    HAL_SEGMENT_DEBUG_BEGIN = 8,
    HAL_SEGMENT_DEBUG_END = 9,
    HAL_SEGMENT_DISPATCH_INDIRECT = 10,
    HAL_SEGMENT_EVENT_SIGNAL = 11,
    HAL_SEGMENT_EVENT_RESET = 12,
    HAL_SEGMENT_EVENTS_WAIT = 13,
};

struct hal_segment {
    uint16_t kind;     /* enum hal_segment_kind */
    uint16_t reserved; /* 0 */
    uint32_t bytes;    /* of the whole segment: the next one begins there */
};

struct hal_segment_barrier {
    struct hal_segment head;
    uint32_t source_stages, target_stages; /* never 0: "all" is spelled out */
    uint32_t source_access, target_access;
    uint32_t buffer_count;
    uint32_t reserved;
    struct hal_buffer_barrier buffers[]; /* ranges resolved: no HAL_WHOLE_BUFFER */
};

struct hal_segment_event {
    struct hal_segment head;
    struct hal_event *event;
    uint32_t source_stages; /* of a signal; never 0 */
    uint32_t reserved;
};

/* A barrier, then the events. Each was signalled before: hal_command_buffer_end has seen to it. */
struct hal_segment_events_wait {
    struct hal_segment head;
    uint32_t source_stages; /* of the signals together; valid once sealed */
    uint32_t target_stages;
    uint32_t source_access, target_access;
    uint32_t buffer_count;
    uint32_t event_count;
    struct hal_buffer_barrier buffers[]; /* then event_count pointers */
};

static inline struct hal_event *const *hal_waited_events(const struct hal_segment_events_wait *wait)
{
    return (struct hal_event *const *)(const void *)(wait->buffers + wait->buffer_count);
}

struct hal_segment_fill {
    struct hal_segment head;
    struct hal_buffer *target;
    uint64_t offset, bytes;
    uint32_t pattern; /* repeated to 4 bytes */
    uint32_t pattern_bytes;
};

struct hal_segment_copy {
    struct hal_segment head;
    struct hal_buffer *source, *target;
    uint64_t source_offset, target_offset, bytes;
};

struct hal_segment_update {
    struct hal_segment head;
    struct hal_buffer *target;
    uint64_t offset, bytes;
    uint8_t data[]; /* padded to 8 */
};

struct hal_segment_push_constants {
    struct hal_segment head;
    uint32_t offset, bytes;
    uint8_t data[]; /* padded to 8 */
};

struct hal_segment_push_descriptor_set {
    struct hal_segment head;
    uint32_t set, binding_count;
    struct hal_binding bindings[]; /* ranges resolved: no HAL_WHOLE_BUFFER */
};

struct hal_segment_dispatch {
    struct hal_segment head;
    struct hal_executable *executable;
    uint32_t entry;
    uint32_t workgroup_count[3];
    uint32_t state; /* index into hal_command_buffer.states; valid once sealed */
    uint32_t reserved;
};

struct hal_segment_dispatch_indirect {
    struct hal_segment head;
    struct hal_executable *executable;
    struct hal_buffer *counts; /* HAL_COUNTS_BYTES at `offset`: three uint32_t */
    uint64_t offset;
    uint32_t entry;
    uint32_t state; /* as above */
};

enum { HAL_COUNTS_BYTES = 12 };

struct hal_segment_debug {
    struct hal_segment head; /* DEBUG_BEGIN; an end is a bare head */
    uint32_t color;
    uint32_t label_bytes;
    char label[]; /* ends in 0, padded to 8 */
};

/* What a dispatch sees: its constants and bindings as the pushes before it left them. Dispatches
 * with the same state share one. Pointers live as long as the command buffer. */
struct hal_dispatch_state {
    const uint8_t *constants; /* HAL_MAX_CONSTANT_BYTES at most */
    uint32_t constant_bytes;  /* highest byte ever pushed */
    uint32_t binding_count[HAL_MAX_SETS];
    const struct hal_binding *bindings[HAL_MAX_SETS];
};

struct hal_command_buffer {
    struct hal_object object;
    enum hal_command_buffer_mode mode;
    uint32_t categories;                 /* never 0 */
    struct hal_command_buffer_info info; /* core: counted by hal_command_buffer_end */
    bool sealed;
    _Atomic bool submitted; /* core: a one-shot buffer was handed in */
    const char *operation;  /* core: the function that made it; NULL: the application */
    uint8_t *arena;         /* the segments, verbatim, in order of recording */
    size_t arena_bytes;
    uint32_t segment_count;
    uint32_t dispatch_count;           /* indirect ones, too */
    struct hal_dispatch_state *states; /* resolved by hal_command_buffer_end */
    uint32_t state_count;
    void *driver_data; /* the driver's translation, made by prepare, freed by object_destroy */
    struct hal_recording *recording; /* core (recording.h): what only recording needs */
    /* Core, during command_buffer_prepare: what the layer's note_command said of each segment;
     * NULL: nothing. */
    const uint32_t *notes;
};

static inline const struct hal_segment *hal_segment_first(const struct hal_command_buffer *commands)
{
    return commands->arena_bytes ? (const struct hal_segment *)(const void *)commands->arena : NULL;
}

static inline const struct hal_segment *hal_segment_next(const struct hal_command_buffer *commands,
                                                         const struct hal_segment *segment)
{
    const uint8_t *next = (const uint8_t *)segment + segment->bytes;
    return next < commands->arena + commands->arena_bytes
               ? (const struct hal_segment *)(const void *)next
               : NULL;
}

/* Whether counts of workgroups are inside the limits. HAL_INVALID: the message names the entry
 * point, the counts and the limit. For counts that are known only when they are needed. */
HAL_API enum hal_status hal_check_workgroups(const struct hal_entry_point *entry,
                                             const uint32_t counts[3]) HAL_CHECKED;

/* For executable_create: whether the bindings that an entry point turned out to have agree with its
 * layout (may be NULL). HAL_INVALID: the layout lacks one, or one is written that is read-only
 * there. */
HAL_API enum hal_status hal_check_entry_bindings(const struct hal_entry_point *entry,
                                                 const struct hal_pipeline_layout *layout,
                                                 const struct hal_entry_binding *bindings,
                                                 size_t count) HAL_CHECKED;

/* For executable_create: what a driver found in a kernel, against its entry point. HAL_INVALID with
 * a message that names the kernel, the value and the limit: whether MSL has the [[buffer(n)]] for
 * the constants; whether the module's push constants are no more than those; whether the arguments
 * in threadgroup memory, `taken` by their indices, are those that have a length, and fit with the
 * kernel's own bytes (HAL_UNSUPPORTED: there is one with an index beyond the last). */
HAL_API enum hal_status hal_check_entry_slot(const struct hal_entry_point *entry,
                                             bool is_there) HAL_CHECKED;
HAL_API enum hal_status hal_check_entry_constants(const struct hal_entry_point *entry,
                                                  uint32_t bytes) HAL_CHECKED;
HAL_API enum hal_status hal_check_entry_group_memory(const struct hal_entry_point *entry,
                                                     uint32_t taken, uint64_t own_bytes,
                                                     uint64_t limit) HAL_CHECKED;

#define hal_each_segment(commands, segment)                                                        \
    for (const struct hal_segment *segment = hal_segment_first(commands); segment;                 \
         segment = hal_segment_next(commands, segment))

/* ---- Submissions -------------------------------------------------------------------------- */

/* When one dispatch ran, on the clock of hal_clock_ns. */
struct hal_dispatch_time {
    uint32_t command_buffer;  /* index in the submission's batch */
    uint32_t dispatch;        /* of that command buffer: 0, 1, ..., indirect ones counted, too */
    int64_t begin_ns, end_ns; /* device time: its first thread began, its last one ended */
};

/* What became of a submission. Times are 0 when the driver cannot tell. */
struct hal_submission_result {
    enum hal_status status;
    const char *message; /* of a failure; borrowed for the call */
    int64_t ready_ns;    /* its waits were met */
    int64_t begin_ns;    /* device time: the first command began */
    int64_t end_ns;      /* the last command ended */
    int64_t busy_ns;     /* of that, time in which at least one worker or unit had work */

    /* Of a submission that asked for them; borrowed for the call, in any order. A dispatch that the
     * device did not time is missing. */
    const struct hal_dispatch_time *dispatches;
    size_t dispatch_count;
    bool is_isolated; /* dispatches were kept apart to be timed: none overlapped another */
};

/* What the application asked the queue for; tools tell by it. Written into traces. */
enum hal_operation {
    HAL_OPERATION_EXECUTE = 0,
    HAL_OPERATION_BARRIER = 1,
    HAL_OPERATION_FILL = 2, /* to DISPATCH: one command buffer with one command */
    HAL_OPERATION_COPY = 3,
    HAL_OPERATION_UPDATE = 4,
    HAL_OPERATION_DISPATCH = 5,
    HAL_OPERATION_ALLOCA = 6, /* and DEALLOCA: no work; the range comes and goes */
    HAL_OPERATION_DEALLOCA = 7,
    HAL_OPERATION_READ = 8, /* and WRITE: a host call */
    HAL_OPERATION_WRITE = 9,
    HAL_OPERATION_COLLECTIVE = 10, /* other ranks take part: `collective` */
};

/* A function that is called in queue order, in place of commands: after the waits, before the
 * signals, on a thread that may block. `data` is the submission's range as host memory; what the
 * call leaves there is in the buffer afterwards if it `writes`. A status other than HAL_OK, with
 * the calling thread's hal_message(), is the submission's. */
struct hal_host_call {
    enum hal_status (*run)(void *user, void *data, uint64_t bytes); /* NULL: there is none */
    void *user;
    bool writes;
};

struct hal_submission {
    uint64_t id;    /* core: 0, 1, 2, ... per device, in the order of the calls */
    uint32_t queue; /* core: resolved from the affinity */
    const struct hal_semaphore_value *waits;
    size_t wait_count;
    const struct hal_semaphore_value *signals;
    size_t signal_count;
    struct hal_command_buffer *const *commands;
    size_t command_count;

    enum hal_operation operation;
    struct hal_buffer *buffer; /* of ALLOCA to WRITE, COLLECTIVE: a root, retained */
    uint64_t offset, bytes;
    const char *file; /* of READ and WRITE */
    uint64_t file_offset;
    struct hal_host_call host; /* no commands then */
    /* Of COLLECTIVE, else NULL; no commands then. The range above is what the rank receives, or
     * else what it sends. Drivers copy it and retain channel and buffers. */
    const struct hal_collective_work *collective;

    /* A layer wants the times of its dispatches: drivers that can tell them do, even if the work
     * takes longer by that. */
    bool time_dispatches;

    /* Optional. Called once when the work has ended, well or not, on any thread, possibly before
     * queue_submit has returned, and *before* its signals can be observed. Must not block and
     * must not call the device, but for semaphore_query. Not called when queue_submit itself fails.
     */
    void (*retired)(void *user, const struct hal_submission_result *result);
    void *user;
};

/* ---- The table ---------------------------------------------------------------------------- */

struct hal_driver_device;
struct hal_core;
struct hal_layer;

/* Every entry is mandatory unless marked optional (NULL is then legal in a driver; a layer that
 * does not care forwards). */
struct hal_driver_ops {
    /* Stops threads and frees the device. No object of it is alive, no work is in flight. */
    void (*device_destroy)(struct hal_driver_device *self);

    /* What the description does not say already: the core answers that. "waits.on.host" is 1 of a
     * driver that starts no submission before the host can see that its waits are over. */
    enum hal_status (*device_query)(struct hal_driver_device *self, const char *key,
                                    int64_t *out_value);

    /* Blocks. Everything submitted before the call has retired when it returns HAL_OK, and the
     * driver holds no object for it any more. HAL_DEVICE_LOST: so it is for good. */
    enum hal_status (*device_wait_idle)(struct hal_driver_device *self, int64_t timeout_ns);

    /* Optional; drivers only, called past the layers: hal_device_running. */
    enum hal_status (*device_running)(struct hal_driver_device *self, struct hal_running *out);

    enum hal_status (*buffer_create)(struct hal_driver_device *self,
                                     const struct hal_buffer_desc *desc, struct hal_buffer **out);
    /* Optional. The same, and no other buffer shares a page with it, so that a layer that asks the
     * system which pages the host stored into is told of this buffer alone. */
    enum hal_status (*buffer_create_apart)(struct hal_driver_device *self,
                                           const struct hal_buffer_desc *desc,
                                           struct hal_buffer **out);

    /* Optional; drivers only. A buffer that was destroyed comes back as another one, whose label
     * (may be NULL) is the name that the system's tools should show. */
    void (*buffer_rename)(struct hal_driver_device *self, struct hal_buffer *buffer,
                          const char *label);

    /* Optional. A buffer over host memory; fills `imported`. */
    enum hal_status (*buffer_import)(struct hal_driver_device *self,
                                     const struct hal_buffer_desc *desc, void *pointer,
                                     struct hal_buffer **out);

    /* Fills out->data; the core has set the other fields, with the range resolved. */
    enum hal_status (*buffer_map)(struct hal_driver_device *self, struct hal_buffer *buffer,
                                  struct hal_mapping *out);
    enum hal_status (*buffer_unmap)(struct hal_driver_device *self,
                                    const struct hal_mapping *mapping);
    /* Optional; layers only. Copies `source` into the whole mapping, whose unmap comes next; nobody
     * else writes there. A layer that wants the bytes takes them from here: a device's memory may
     * be slow to read. */
    void (*mapping_store)(struct hal_driver_device *self, const struct hal_mapping *mapping,
                          const void *source);
    enum hal_status (*mapping_flush)(struct hal_driver_device *self,
                                     const struct hal_mapping *mapping, uint64_t offset,
                                     uint64_t bytes);
    enum hal_status (*mapping_invalidate)(struct hal_driver_device *self,
                                          const struct hal_mapping *mapping, uint64_t offset,
                                          uint64_t bytes);

    /* The core has put a single variant into the list: format, data and bytes are unset. */
    enum hal_status (*executable_create)(struct hal_driver_device *self,
                                         const struct hal_executable_desc *desc,
                                         struct hal_executable **out);

    /* Optional; drivers only, called past the layers. Compiles what executable_create would, into
     * the cache of the description, and neither loads nor runs any of it. A driver without this
     * never loads native code of a kernel's making into the process: the core creates the
     * executable and releases it. */
    enum hal_status (*executable_compile)(struct hal_driver_device *self,
                                          const struct hal_executable_desc *desc);

    /* Optional; drivers only, called past the layers. They fill what the core cannot know: the
     * constants; an entry's bindings and group memory. Lists live as long as the executable. No
     * dispatch reaches the driver that lacks one of these bindings, or whose binding is not as the
     * list says. */
    enum hal_status (*executable_reflect)(struct hal_driver_device *self,
                                          struct hal_executable *executable,
                                          struct hal_executable_info *out_info);
    enum hal_status (*entry_reflect)(struct hal_driver_device *self,
                                     struct hal_executable *executable, uint32_t entry,
                                     struct hal_entry_info *out_info);

    /* Optional; drivers only, called past the layers. Makes the directory in which executables are
     * kept, `wanted` or the usual one for NULL, and gives its absolute path. And measures one.
     * executable_create finds the cache in its description. */
    enum hal_status (*cache_open)(struct hal_driver_device *self, const char *wanted,
                                  char *out_path, size_t bytes);
    enum hal_status (*cache_measure)(struct hal_driver_device *self, const char *directory,
                                     uint64_t *out_bytes, uint64_t *out_entries);

    /* The core allocates command buffers itself and records into them. `created` tells the driver
     * (optional); `prepare` is called once, by hal_command_buffer_end, with the sealed list: a
     * driver translates here. */
    void (*command_buffer_created)(struct hal_driver_device *self,
                                   struct hal_command_buffer *commands);
    enum hal_status (*command_buffer_prepare)(struct hal_driver_device *self,
                                              struct hal_command_buffer *commands);

    /* Optional; layers only. The application records a command: what the layer wants to know of it
     * comes back in `notes`, 0 for those that were recorded before the layer came. */
    uint32_t (*note_command)(struct hal_driver_device *self,
                             const struct hal_command_buffer *commands);

    /* Optional. An object that the core makes by itself: an event, a subspan, a layout. */
    void (*object_created)(struct hal_driver_device *self, struct hal_object *object);

    /* The driver takes semaphores of all its devices wherever it takes its own. */
    bool shares_semaphores;

    /* The driver takes submissions with a collective. */
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

    /* Copies what it needs of the submission and retains its objects until retired. */
    enum hal_status (*queue_submit)(struct hal_driver_device *self,
                                    const struct hal_submission *submission);

    /* The last reference went: frees the driver's part (driver_data) and the struct itself. Of
     * command buffers and other objects of the core, the core frees the rest afterwards. */
    void (*object_destroy)(struct hal_driver_device *self, struct hal_object *object);

    /* Optional. Begin with what was submitted; `queues` names at least one. */
    void (*queue_flush)(struct hal_driver_device *self, uint64_t queues);

    /* Optional; for layers. `name` NULL ends the innermost scope of the calling thread. */
    void (*scope)(struct hal_driver_device *self, const char *name);

    /* Drivers only; a layer leaves it NULL and is never asked. While `on`, semaphores_wait and
     * device_wait_idle return HAL_TIMEOUT at once, also those that block already: the core gets
     * the application's threads out of the chain before a layer comes or goes, and repeats their
     * waits afterwards. A layer sees such a wait end with HAL_TIMEOUT before its time. */
    void (*waits_interrupt)(struct hal_driver_device *self, bool on);

    /* Optional; drivers only. Begins a capture in a format that the system's own tools read, which
     * the file's name asks for (".gputrace"); as hal_layer_begin below. */
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
    const char *parameters;  /* that its URIs take; "": none */
    /* Visits the devices that could be opened, until `visit` returns false. */
    void (*list)(bool (*visit)(void *user, const struct hal_device_entry *entry), void *user);
    /* Opens a device; `path` is what follows "scheme://", or "". Fills *out_info (zeroed). */
    enum hal_status (*open)(const char *path, const struct hal_uri_parameter *parameters,
                            size_t parameter_count, struct hal_device_info *out_info,
                            struct hal_driver_device **out_device);
};

/* A loadable driver's one exported symbol: its driver, or NULL when it was built for another
 * HAL_DRIVER_ABI than `abi`. The module links libhal. */
typedef const struct hal_driver *hal_driver_module(uint32_t abi);

/* The core's services for a layer, which must not link the core a second time. */
struct hal_core {
    uint32_t abi; /* HAL_DRIVER_ABI */
    uint32_t bytes;
    const struct hal_device_info *(*device_info)(const struct hal_device *device);
    /* Calls `visit` for every live object in order of creation, with the list locked. */
    void (*each_object)(struct hal_device *device,
                        void (*visit)(void *user, struct hal_object *object), void *user);
    const char *(*object_name)(const struct hal_object *object, char out[HAL_OBJECT_NAME_BYTES]);

    /* Calls `visit` for every mapping that the application holds open, with the list locked: a
     * layer that begins late has not seen them made, but will see their flushes and unmaps. */
    void (*each_mapping)(struct hal_device *device,
                         void (*visit)(void *user, const struct hal_mapping *mapping), void *user);

    /* The module need not be linked with the core. The last release calls the device. */
    void (*object_retain)(struct hal_object *object);
    void (*object_release)(struct hal_object *object);

    /* Two devices have been open at once: each may raise the other's semaphores. */
    bool (*had_several_devices)(void);
};

/* A layer that is running on a device. */
struct hal_layer {
    struct hal_driver_device *device; /* the layer's device: the new top of the chain */
    enum hal_status (*flush)(struct hal_layer *self);
    /* The layer is out of the chain, no call is inside it and no submission that it saw is in
     * flight: close the file and free everything. Returns the first recording error. */
    enum hal_status (*end)(struct hal_layer *self);
    /* Instead of `end` when the process exits with work in flight: the layer is out of the chain
     * and no call is inside it, but `retired` of what it saw may be called until the process is
     * gone. Closes the file, which says so, and keeps the memory that these calls need. */
    enum hal_status (*leave)(struct hal_layer *self);
    /* Optional. Of a layer that was begun with `last_ns`: from now on nothing from before the
     * checkpoint before this one needs to be kept. No call is inside, no submission in flight. */
    enum hal_status (*checkpoint)(struct hal_layer *self);
};

/* The capture module's one exported symbol, `hal_capture_begin`. The core calls it with the device
 * idle and the gate closed: no other call is inside the device. `device` is the handle, `next` the
 * present top of the chain. `options` has no NULL left. */
typedef enum hal_status hal_layer_begin(const struct hal_core *core, struct hal_device *device,
                                        struct hal_driver_device *next,
                                        const struct hal_profiling_options *options,
                                        struct hal_layer **out_layer);
#define HAL_CAPTURE_SYMBOL "hal_capture_begin"

/* ---- Variants of executables --------------------------------------------------------------- */

/* How a driver makes an executable of one variant. */
struct hal_variant_builder {
    const char *driver;                        /* for messages: "Metal" */
    const enum hal_executable_format *formats; /* those that it runs, the best first */
    size_t format_count;

    /* HAL_UNSUPPORTED: the next one of the formats may be possible; what was made of this one is
     * gone. `*out_variant` has its index already. */
    enum hal_status (*build)(void *user, const struct hal_executable_desc *desc,
                             const struct hal_executable_variant *variant);
};

/* Builds the best variant that can be built; `*out_variant`: the last one that was tried.
 * HAL_UNSUPPORTED: none can be; others: how the last one failed. */
HAL_API enum hal_status hal_variants_build(const struct hal_variant_builder *builder, void *user,
                                           const struct hal_executable_desc *desc,
                                           size_t *out_variant) HAL_CHECKED;

/* ---- Settings ----------------------------------------------------------------------------- */

/* Whether kernels are to be watched (--check-bounds, HAL_CHECK_BOUNDS). HAL_INVALID: the variable
 * is neither true nor false. */
HAL_API enum hal_status hal_bounds_wanted(bool *out_wanted) HAL_CHECKED;

#endif
