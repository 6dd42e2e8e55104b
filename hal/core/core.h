/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the core: the device handle, the gate, and one prototype per service.
 *
 * Lock order: devices_lock (devices.c), then nothing; the pool's lock (pool.h), then promises_lock
 * (promise.h), then nothing; a range's lock (capture_range.c; outside the gate), then
 * profiling_lock; profiling_lock, then nothing; objects_lock, then nothing. None is held while a
 * table entry is called.
 * nothing; objects_lock, then nothing. None is held while a table entry is called. */
#ifndef HAL_CORE_H
#define HAL_CORE_H

#include "hal/core/caching.h"
#include "hal/core/completion.h"
#include "hal/core/pool/pool.h"
#include "hal/core/promise.h"
#include "hal/core/sized.h"
#include "hal/driver.h"

/* ---- Gate (gate.c) ------------------------------------------------------------------------ */

/* The chain of a device may change while the application runs. Every call through the chain enters
 * the gate, and whatever changes the chain closes it. Entering costs two additions on a counter
 * shared by few threads: there is one per stripe, and each thread keeps its stripe. */
enum hal_gate_state {
    HAL_GATE_OPEN,
    HAL_GATE_DRAINING, /* new calls wait; objects may still be destroyed through the chain */
    HAL_GATE_CLOSED, /* no call is inside; objects released now are destroyed when the gate opens */
    HAL_GATE_FORKED, /* a child process: the device belongs to the parent */
};

enum { HAL_GATE_STRIPES = 16 };

struct hal_gate {
    struct {
        _Alignas(64) _Atomic uint32_t inside;
    } stripes[HAL_GATE_STRIPES];
    _Alignas(64) _Atomic uint32_t state; /* enum hal_gate_state; threads wait on it */
};

/* Blocks while the gate is not open; false in a forked child. Not recursive: re-entering while
 * another thread drains deadlocks. Never call the application from inside. */
bool hal_gate_enter(struct hal_gate *gate);

/* A call made by its thread after leaving its last gate; the caller owns the memory. */
struct hal_deferred_call {
    void (*run)(struct hal_deferred_call *self);
    struct hal_deferred_call *next;
};

/* Calls immediately if the calling thread is inside no gate. */
void hal_gate_defer(struct hal_deferred_call *call);

/* For destruction: never blocks; false if the gate is closed or the process was forked. */
bool hal_gate_enter_destroy(struct hal_gate *gate);
void hal_gate_leave(struct hal_gate *gate);

/* One thread at a time. Goes from open to draining and waits until all calls have left; false: the
 * deadline passed, and the gate is open again. */
bool hal_gate_drain(struct hal_gate *gate, int64_t deadline_ns);
void hal_gate_close(struct hal_gate *gate); /* from draining to closed; waits for destructions */
void hal_gate_open(struct hal_gate *gate);

/* ---- Device handle (device.c) ------------------------------------------------------------- */

/* Memory of a destroyed command buffer, which the next large one reuses. */
enum { HAL_SPARE_ARENAS = 2 };

struct hal_spare_arena {
    uint8_t *data;
    size_t capacity;
};

struct hal_memory_account {
    _Atomic uint64_t current_bytes, peak_bytes, current_count, total_count;
};

/* State of a capture that keeps the last part of a run (flight_recorder.c). */
struct hal_flight_recorder {
    struct hal_profiling_options options; /* `file` is `base` */
    char *base;                           /* later files add numbers to its name */
    bool goes_on;                         /* the next capture is a later file of this one */
    bool warned;
    _Atomic int64_t due_ns; /* of the next checkpoint; INT64_MAX: no such capture */
};

#define HAL_FLIGHT_RECORDER_BUSY (INT64_MAX - 1) /* a thread is making a checkpoint */
#define HAL_LEAST_LAST_NS        10000000ll
#define HAL_MOST_LAST_NS         86400000000000ll

struct hal_device {
    struct hal_gate gate;
    struct hal_driver_device *driver; /* end of the chain */
    struct hal_driver_device *top;    /* begin of the chain; changes with the gate closed */
    struct hal_device_info info;
    _Atomic uint32_t handles;    /* references owned by the application */
    _Atomic uint32_t references; /* one for all handles, one per live object */
    void (*end)(struct hal_device
                    *device); /* set by device.c: called when the last reference is released */
    _Atomic uint64_t submissions;
    _Atomic uint32_t queue_load[HAL_MAX_QUEUES]; /* submissions in flight */

    pthread_mutex_t objects_lock;
    struct hal_object *first_live, *last_live; /* in creation order */
    struct hal_object *first_dead;             /* to be destroyed when the gate opens */
    _Atomic uint32_t scoped_count;             /* open scoped mappings */

    struct hal_spare_arena spares[HAL_SPARE_ARENAS]; /* guarded by objects_lock; for recording.c */

    struct hal_memory_account memory[HAL_MEMORY_TYPES + 1]; /* by type, and total */
    struct hal_pool pool;
    struct hal_caching *caching; /* owned by the driver; NULL: none */

    pthread_mutex_t profiling_lock;
    pthread_cond_t profiling_changed;
    bool profiling_busy;     /* only one begin, flush or end at a time */
    uint64_t captures;       /* number begun; changes with the gate closed */
    _Atomic bool captured;   /* a layer is in the chain */
    struct hal_layer *layer; /* used only by the thread that set profiling_busy */
    char *announced_file;    /* the log names it at the end; NULL: the program named it */
    struct hal_flight_recorder flight_recorder;
    struct hal_capture_range *range; /* lives as long as the handle; NULL: none */

    struct hal_device *next_open; /* guarded by devices_lock */
    uint32_t pins;                /* guarded by devices_lock: at_exit uses the device */
};

struct hal_settings;

/* Creates the handle of a driver's device and takes ownership of it: with a cache of freed buffers
 * unless `settings` give it 0 bytes, and with the capture that they request. */
enum hal_status hal_device_create(struct hal_driver_device *driver,
                                  const struct hal_device_info *driver_info,
                                  const struct hal_settings *settings,
                                  struct hal_device **out_device) HAL_CHECKED;

/* Enters the gate, or fails with the reason. */
enum hal_status hal_device_enter(struct hal_device *device) HAL_CHECKED;

/* The same check without entering, for code that takes a lock of the core outside the gate: in a
 * forked child no thread might ever release it. */
enum hal_status hal_device_check_here(const struct hal_device *device) HAL_CHECKED;

/* ---- All devices (devices.c) --------------------------------------------------------------- */

void hal_devices_add(struct hal_device *device);
void hal_devices_remove(struct hal_device *device);

/* Calls `visit` for every open device, keeping it alive during the call. */
void hal_each_device(void (*visit)(struct hal_device *device));

/* Whether two devices were ever open at once. */
bool hal_had_several_devices(void);

/* Call around the destruction of a device on its own thread: delays process exit until then. */
void hal_devices_hold_exit(void);
void hal_devices_let_exit(void);

/* ---- Objects (object.c) ------------------------------------------------------------------- */

/* Releases a reference; the last one ends the device. */
void hal_device_unreference(struct hal_device *device);

/* Completes a new object with `destroy` set: its handle, its label (taken over), its list entry. */
void hal_object_publish(struct hal_object *object, struct hal_device *device, char *label);

/* The same for an object created by the core itself, which is reported to the chain. Copies
 * `label`. On failure the object is unchanged. */
enum hal_status hal_object_announce(struct hal_object *object, enum hal_object_kind kind,
                                    struct hal_device *device, const char *label) HAL_CHECKED;

/* Defines name_retain and name_release of struct name, which begins with its object. */
#define HAL_REFERENCED(name)                                                                       \
    void name##_retain(struct name *self)                                                          \
    {                                                                                              \
        hal_object_retain(self ? &self->object : NULL);                                            \
    }                                                                                              \
    void name##_release(struct name *self)                                                         \
    {                                                                                              \
        hal_object_release(self ? &self->object : NULL);                                           \
    }

/* With the gate closed: opens it and destroys objects released meanwhile. */
void hal_objects_reopen(struct hal_device *device);
void hal_objects_each(struct hal_device *device,
                      void (*visit)(void *user, struct hal_object *object), void *user);

/* Tracks the buffer's open mappings. */
struct hal_open_mapping {
    struct hal_open_mapping *next;
    struct hal_mapping mapping;
};
enum hal_status hal_mapping_note(const struct hal_mapping *mapping) HAL_CHECKED;
void hal_mapping_forget(const struct hal_mapping *mapping);
void hal_mappings_each(struct hal_device *device,
                       void (*visit)(void *user, const struct hal_mapping *mapping), void *user);

/* The buffer known to the driver, and the offset in it. */
static inline struct hal_buffer *hal_root_of(const struct hal_buffer *buffer, uint64_t *offset)
{
    *offset += buffer->root_offset;
    return buffer->root ? buffer->root : (struct hal_buffer *)(uintptr_t)buffer;
}

/* `destroy` of a subspan, or of a transient buffer, which is one as well. */
void hal_subspan_destroy(struct hal_driver_device *top, struct hal_object *object);

/* The description with defaults filled in. */
struct hal_buffer_desc hal_buffer_desc_resolve(const struct hal_buffer_desc *desc);

/* ---- Memory (statistics.c, transient.c) --------------------------------------------------- */

void hal_account_add(struct hal_device *device, const struct hal_buffer *buffer);
void hal_account_sub(struct hal_device *device, uint64_t bytes, uint32_t memory);

/* The application releases the device: from now on the pool keeps no reference to it. */
void hal_transient_close(struct hal_device *device);

/* A copy of `label`, NULL for NULL. */
enum hal_status hal_copy_label(const char *label, char **out_copy) HAL_CHECKED;

/* ---- Command buffers (recording.c) -------------------------------------------------------- */

void hal_spare_arenas_free(struct hal_device *device);

/* ---- Events (event.c) --------------------------------------------------------------------- */

/* Call with the list complete: HAL_INVALID if a wait has no signal. Sets the waits' stages. */
enum hal_status hal_events_resolve(struct hal_command_buffer *commands) HAL_CHECKED;
/* ---- Queues (queue.c) --------------------------------------------------------------------- */

/* Submits the checked `desc` as the operation described by the members of `what` from `operation`
 * to `host`. `completion` may be NULL. */
enum hal_status hal_queue_submit_work(struct hal_device *device, const struct hal_submit_desc *desc,
                                      const struct hal_submission *what,
                                      struct hal_completion *completion) HAL_CHECKED;

/* ---- What work may use (use.c) ------------------------------------------------------------- */

/* Checks a submission before hal_queue_submit_work passes it on. HAL_INVALID: it names a freed
 * buffer, or bytes that the host still maps in a scoped mapping. */
enum hal_status hal_check_use(struct hal_device *device, const struct hal_submit_desc *desc,
                              const struct hal_submission *what) HAL_CHECKED;

/* ---- Flags (flags.c) ----------------------------------------------------------------------- */

/* The part of a run to capture. */
enum hal_capture_range_kind {
    HAL_RANGE_NONE, /* everything */
    HAL_RANGE_SUBMISSIONS,
    HAL_RANGE_SCOPE,
    HAL_RANGE_SIGNAL,
    HAL_RANGE_GROUP,
    HAL_RANGE_FLIGHT_RECORDER, /* everything, of which the last part is kept */
};

struct hal_capture_range_spec {
    enum hal_capture_range_kind kind;
    uint64_t first, last; /* submissions */
    const char *scope;    /* or debug group */
};

/* The current values of flags and environment. Pointers are valid until the next
 * hal_flags_parse. */
struct hal_settings {
    const char *device;     /* never NULL */
    uint64_t caching_bytes; /* for a URI that does not specify it; 0: off */
    bool profiling;         /* requested */
    struct hal_profiling_options options;
    struct hal_capture_range_spec range;
};
enum hal_status hal_settings_get(struct hal_settings *out_settings) HAL_CHECKED;

/* The trace's mode by its current name; NULL: unknown. Of a list with commas, what records most. */
const char *hal_profiling_mode(const char *text);

/* Fails for counters requested by name, so that their user knows. `source` names who asked. */
enum hal_status hal_profiling_check_counters(const char *source, const char *text) HAL_CHECKED;

enum hal_profiling_word { HAL_STACKS, HAL_CONTENTS, HAL_OUTPUTS, HAL_FILES, HAL_WORD_COUNT };

/* The option's copy of the word; NULL: the default. HAL_INVALID: `source` requires another one. */
enum hal_status hal_profiling_choose(enum hal_profiling_word option, const char *source,
                                     const char **word) HAL_CHECKED;

/* Replaces every NULL except the file by its default. HAL_UNSUPPORTED: no such mode. HAL_INVALID:
 * another option has an illegal value. */
enum hal_status hal_profiling_complete(struct hal_profiling_options *options) HAL_CHECKED;

/* Parses "#s3..#s5", "#s3", "#s3..", "signal". */
bool hal_capture_range_parse(const char *text, struct hal_capture_range_spec *out_place);

/* How long the end of a capture waits for work in flight. */
enum hal_status hal_profiling_limit(int64_t *out_limit_ns) HAL_CHECKED;

/* Whether to print nothing about captures requested by flags or environment. */
bool hal_profiling_quiet(void);

/* ---- Modules (modules.c) ------------------------------------------------------------------ */

/* Loads the module named by the environment variable, else `file` beside libhal, and finds the
 * symbol. The module stays loaded. HAL_NOT_FOUND: the message names `what`. */
enum hal_status hal_module_load(const char *what, const char *variable, const char *file,
                                const char *symbol, void **out_symbol) HAL_CHECKED;

/* Keeps libhal, or the plugin that contains it, in memory when it is unloaded: its threads, signal
 * handlers and captures continue. */
void hal_module_pin(void);

/* The function that begins a capture into `file`: the driver's own if the file's extension selects
 * it, else the capture module's. HAL_NOT_FOUND: it is missing. */
enum hal_status hal_capture_find(const struct hal_device *device, const char *file,
                                 hal_layer_begin **out_begin) HAL_CHECKED;

/* ---- Names of traces (names.c) ------------------------------------------------------------ */

/* A file name for a capture requested by `options`, which no other capture of this process or run
 * uses, and (unless `force`) which does not exist. HAL_INVALID: too long. */
enum hal_status hal_name_claim(const struct hal_profiling_options *options, char *out_file,
                               size_t bytes) HAL_CHECKED;

/* The first unused name of FILE-2, FILE-3. HAL_INVALID: too long. */
enum hal_status hal_name_next(const char *file, char *out_file, size_t bytes) HAL_CHECKED;

/* Releases a claimed file that was not used. */
void hal_name_unused(const char *file);

/* ---- Layers (layers.c) -------------------------------------------------------------------- */

/* Begins the capture that `settings` request, if any. A failure is only reported. */
void hal_profiling_begin_from_settings(struct hal_device *device,
                                       const struct hal_settings *settings);

/* Reports the calling thread's message, which says why no capture has begun: through hal-capture if
 * that started the program, else in the log. */
void hal_profiling_tell_failure(const struct hal_device *device);

/* Ends a running capture, if any; logs failures. Waits for work in flight. */
void hal_profiling_finish(struct hal_device *device);

/* Begin or end a capture of a running device, as hal_device_profiling_begin and _end do;
 * HAL_TIMEOUT changes nothing. `options` has no NULL but for the file; the first file of that name
 * that is free is claimed. HAL_EXISTS: it is captured; ending has no effect if not. */
enum hal_status hal_profiling_begin_now(struct hal_device *device,
                                        const struct hal_profiling_options *options,
                                        int64_t timeout_ns) HAL_CHECKED;
enum hal_status hal_profiling_end_now(struct hal_device *device, int64_t timeout_ns) HAL_CHECKED;

/* Makes a checkpoint of the running capture, if it makes any, unless another thread is beginning,
 * flushing or ending a capture; HAL_TIMEOUT changes nothing. */
enum hal_status hal_profiling_checkpoint_now(struct hal_device *device,
                                             int64_t timeout_ns) HAL_CHECKED;

/* Completes its file and continues in the next one; HAL_TIMEOUT changes nothing. */
enum hal_status hal_profiling_write_out_now(struct hal_device *device,
                                            int64_t timeout_ns) HAL_CHECKED;

/* ---- Flight recorder (flight_recorder.c) ----------------------------------------------------- */

/* With the turn taken: a capture with `last_ns` has begun, or one has ended. */
enum hal_status hal_flight_recorder_begun(struct hal_device *device,
                                          const struct hal_profiling_options *options) HAL_CHECKED;
void hal_flight_recorder_ended(struct hal_device *device);
void hal_flight_recorder_finish(struct hal_device *device);

/* At a submission: makes a checkpoint if one is due. Call it outside the gate. */
void hal_flight_recorder_before(struct hal_device *device);

/* ---- Capture ranges (capture_range.c) -------------------------------------------------------- */

/* Sets the device's capture range. HAL_EXISTS: the program handles the range's signal itself. */
enum hal_status hal_capture_range_create(struct hal_device *device,
                                         const struct hal_settings *settings) HAL_CHECKED;
void hal_capture_range_destroy(struct hal_device *device); /* accepts a device without a range */

/* Call around operations that may begin or end the capture range of a device that has one, outside
 * the gate: they may wait, for a limited time, until no call is inside. */
void hal_capture_range_before(struct hal_device *device, uint64_t submission,
                              const struct hal_submit_desc *desc);
void hal_capture_range_after(struct hal_device *device, uint64_t submission);
void hal_capture_range_scope_begin(struct hal_device *device, const char *name);
void hal_capture_range_scope_end(struct hal_device *device);

/* ---- Rules (check*.c) --------------------------------------------------------------------- */

/* Each returns HAL_OK or, unless stated otherwise, HAL_INVALID with a message that names the
 * object, the value and the limit. */
enum hal_status hal_check_device(const struct hal_device *device) HAL_CHECKED;
enum hal_status hal_check_object(const struct hal_object *object, const char *what) HAL_CHECKED;
/* `place` is the out-parameter for `what`. */
enum hal_status hal_check_place(const void *place, const char *what) HAL_CHECKED;
enum hal_status hal_check_belongs(const struct hal_object *object, const char *what,
                                  const struct hal_device *device) HAL_CHECKED;
enum hal_status hal_check_label(const char *label) HAL_CHECKED; /* accepts NULL */
enum hal_status hal_check_buffer_desc(const struct hal_device *device,
                                      const struct hal_buffer_desc *desc) HAL_CHECKED;
enum hal_status hal_check_executable_desc(const struct hal_device *device,
                                          const struct hal_executable_desc *desc) HAL_CHECKED;
enum hal_status hal_check_entry(const struct hal_executable *executable,
                                uint32_t entry) HAL_CHECKED;
enum hal_status hal_check_cache(const struct hal_executable_cache *cache) HAL_CHECKED;
enum hal_status hal_check_cache_desc(const struct hal_executable_cache_desc *desc) HAL_CHECKED;
/* executable.c: hal_executable_cache_compile for one executable. */
enum hal_status hal_executable_compile(struct hal_device *device,
                                       const struct hal_executable_desc *desc) HAL_CHECKED;
enum hal_status hal_check_prepare(const struct hal_executable_cache *cache,
                                  const struct hal_executable_desc *descs,
                                  size_t count) HAL_CHECKED;
enum hal_status hal_check_range(const struct hal_buffer *buffer, uint64_t offset,
                                uint64_t bytes) HAL_CHECKED;
enum hal_status hal_check_usage(const struct hal_buffer *buffer,
                                enum hal_buffer_usage usage) HAL_CHECKED;
/* HAL_INVALID: hal_queue_dealloca has freed the buffer, or the one of which it is a subspan. */
enum hal_status hal_check_freed(const struct hal_buffer *buffer) HAL_CHECKED;
enum hal_status hal_check_map(const struct hal_buffer *buffer, uint32_t mode, uint64_t offset,
                              uint64_t bytes) HAL_CHECKED;
enum hal_status hal_check_mapping(const struct hal_mapping *mapping, uint64_t offset,
                                  uint64_t bytes) HAL_CHECKED;
/* Host memory passed to hal_buffer_read and _write. */
enum hal_status hal_check_transfer_memory(const struct hal_buffer *buffer, const void *memory,
                                          uint64_t bytes) HAL_CHECKED;
enum hal_status hal_check_subspan(const struct hal_buffer *buffer, uint64_t offset,
                                  uint64_t bytes) HAL_CHECKED;
/* HAL_UNSUPPORTED: the device does not support it. */
enum hal_status hal_check_import(const struct hal_device *device,
                                 const struct hal_buffer_desc *desc,
                                 const void *pointer) HAL_CHECKED;
enum hal_status hal_check_transient(const struct hal_device *device,
                                    const struct hal_buffer *buffer) HAL_CHECKED;
enum hal_status hal_check_transient_lists(const struct hal_submit_desc *desc,
                                          size_t more) HAL_CHECKED;
/* HAL_UNSUPPORTED: the driver does not support it, or the group spans several processes. */
enum hal_status hal_check_channel_desc(struct hal_device *const *devices, size_t count,
                                       const struct hal_channel_desc *desc) HAL_CHECKED;
enum hal_status hal_check_collective(const struct hal_device *device,
                                     const struct hal_collective_desc *desc) HAL_CHECKED;
/* A file to open; and an open file (`path` NULL: none) for a transfer of this mode. */
enum hal_status hal_check_file_mode(const char *path, uint32_t mode) HAL_CHECKED;
enum hal_status hal_check_file_use(const char *path, uint32_t opened, uint32_t mode,
                                   uint64_t offset, uint64_t bytes) HAL_CHECKED;
enum hal_status hal_check_set_layout_desc(const struct hal_device *device,
                                          const struct hal_set_layout_desc *desc) HAL_CHECKED;
enum hal_status hal_check_pipeline_layout_desc(
    const struct hal_device *device, const struct hal_pipeline_layout_desc *desc) HAL_CHECKED;
enum hal_status hal_check_push_set(const struct hal_command_buffer *commands,
                                   const struct hal_push_set_desc *desc) HAL_CHECKED;
enum hal_status hal_check_commands_desc(const struct hal_command_buffer_desc *desc) HAL_CHECKED;
enum hal_status hal_check_recording(const struct hal_command_buffer *commands) HAL_CHECKED;
enum hal_status hal_check_events(const struct hal_command_buffer *commands,
                                 struct hal_event *const *events, size_t count,
                                 uint32_t source_stages) HAL_CHECKED;
enum hal_status hal_check_barrier(const struct hal_command_buffer *commands,
                                  const struct hal_barrier_desc *desc) HAL_CHECKED;

/* `buffer` as the source or target of a transfer in these commands. */
enum hal_status hal_check_transfer(const struct hal_command_buffer *commands,
                                   const struct hal_buffer *buffer, uint64_t offset,
                                   uint64_t bytes) HAL_CHECKED;
enum hal_status hal_check_fill(const struct hal_command_buffer *commands,
                               uint32_t pattern_bytes) HAL_CHECKED;
enum hal_status hal_check_overlap(const struct hal_buffer *source, uint64_t source_offset,
                                  const struct hal_buffer *target, uint64_t target_offset,
                                  uint64_t bytes) HAL_CHECKED;
enum hal_status hal_check_update(const struct hal_command_buffer *commands, const void *data,
                                 uint64_t bytes) HAL_CHECKED;
enum hal_status hal_check_constants(const struct hal_command_buffer *commands, const void *data,
                                    uint32_t offset, uint32_t bytes) HAL_CHECKED;
enum hal_status hal_check_bindings(const struct hal_command_buffer *commands, uint32_t set,
                                   const struct hal_binding *bindings, size_t count) HAL_CHECKED;
enum hal_status hal_check_debug(const struct hal_command_buffer *commands, const char *label,
                                uint32_t color) HAL_CHECKED;
enum hal_status hal_check_dispatch(const struct hal_command_buffer *commands,
                                   const struct hal_executable *executable, uint32_t entry,
                                   const uint32_t workgroup_count[3]) HAL_CHECKED;
enum hal_status hal_check_dispatch_indirect(const struct hal_command_buffer *commands,
                                            const struct hal_executable *executable, uint32_t entry,
                                            const struct hal_buffer *counts,
                                            uint64_t offset) HAL_CHECKED;
enum hal_status hal_check_debug_end(const struct hal_command_buffer *commands) HAL_CHECKED;

/* Call with the list complete. Command `number` waits for an event that was signalled with these
 * stages (0: never), for several that were signalled together, with `wanted` (0: any). */
enum hal_status hal_check_end(const struct hal_command_buffer *commands) HAL_CHECKED;
enum hal_status hal_check_signalled(const struct hal_command_buffer *commands, uint32_t number,
                                    const struct hal_event *event, uint32_t stages) HAL_CHECKED;
enum hal_status hal_check_wait_stages(const struct hal_command_buffer *commands, uint32_t number,
                                      uint32_t wanted, uint32_t signalled) HAL_CHECKED;
/* Also with states resolved: checks every dispatch against its kernel's requirements. */
enum hal_status hal_check_dispatches(const struct hal_command_buffer *commands) HAL_CHECKED;
enum hal_status hal_check_ended(const struct hal_command_buffer *commands) HAL_CHECKED;

/* `buffer` as the source or target of a transfer on the device's queues. */
enum hal_status hal_check_transfer_of(const struct hal_device *device,
                                      const struct hal_buffer *buffer, uint64_t offset,
                                      uint64_t bytes) HAL_CHECKED;

/* Arguments of an operation directly on a queue; NULL is legal. */
enum hal_status hal_check_operation(const struct hal_device *device,
                                    const struct hal_submit_desc *desc) HAL_CHECKED;
enum hal_status hal_check_submit(const struct hal_device *device,
                                 const struct hal_submit_desc *desc) HAL_CHECKED;
enum hal_status hal_check_wait(const struct hal_device *device, enum hal_wait_mode mode,
                               const struct hal_semaphore_value *values, size_t count) HAL_CHECKED;
enum hal_status hal_check_value(const struct hal_semaphore *semaphore, const char *what,
                                uint64_t value) HAL_CHECKED;
enum hal_status hal_check_initial_value(const char *label, uint64_t value) HAL_CHECKED;

#endif
