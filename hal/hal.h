/* SPDX-License-Identifier: Apache-2.0 */
/* The hardware abstraction layer: everything that an application may call. hal/executables.h
 * declares kernels, hal/flags.h command-line flags, hal/profiling.h profiling, and hal/channels.h
 * collectives between devices; this header includes them all.
 *
 * A program opens a device, creates buffers and executables, records commands into a command
 * buffer, ends it (an ended command buffer cannot change), and submits it to a queue
 * with the semaphore values to wait for and to signal. It then waits for a value and maps a buffer
 * to read the result:
 *
 *     hal_flags_parse(&argc, argv);
 *     hal_device_open(NULL, &device);
 *     hal_buffer_create(device, &(struct hal_buffer_desc){...}, &buffer);
 *     hal_executable_create(device, &(struct hal_executable_desc){...}, &executable);
 *     hal_command_buffer_create(device, &(struct hal_command_buffer_desc){...}, &commands);
 *     hal_command_push_descriptor_set(commands, 0, bindings, 2);
 *     hal_command_dispatch(commands, executable, 0, (uint32_t[3]){64, 1, 1});
 *     hal_command_buffer_end(commands);
 *     hal_queue_submit(device, &(struct hal_submit_desc){...});
 *     hal_semaphore_wait(done, 1, HAL_FOREVER);
 *     hal_buffer_read(buffer, 0, result, sizeof result);
 *
 * Ownership. `..._create` and `hal_device_open` return a reference that the caller owns and gives
 * up with `..._release`; `..._retain` adds one. Both accept NULL. Arguments are borrowed for the
 * call unless the text says "retains" or "copies". An object keeps its device alive; a command
 * buffer retains what its commands name; a submission retains its command buffers and semaphores
 * until it has finished. Accessors return borrowed pointers.
 *
 * Threads. Devices and semaphores may be used from any thread at any time. Reference counts are
 * atomic. Any other object may be used by one thread at a time; different objects may be used by
 * different threads concurrently. An ended command buffer may be submitted from several threads.
 *
 * Ordering. Commands of a command buffer may overlap and run in any order unless a barrier
 * separates them. Submissions may overlap and run in any order, even on the same queue, unless
 * semaphores order them. All effects of a submission are visible to any observer of one of the
 * values that it signals.
 *
 * Errors. Functions return a status and store a message (hal/base/status.h). A failing call has no
 * effect. A NULL object or result pointer is HAL_INVALID. Failed work fails the semaphores that it
 * would have signalled: waiting for them returns that status and message.
 *
 * Growth. Later versions add members at the end of structs that begin with `struct_size`. A program
 * sets it to the size of the struct that it was compiled with, or to 0 to use only the members of
 * version 0.1. This includes structs that a function fills in: initialise them ({0}). A library
 * that is older than the program refuses unknown members that are not zero (HAL_INVALID) and leaves
 * them zero in structs that it fills in. In a struct that the library passes to the program,
 * struct_size is the size that the library knows. Structs without it never change.
 *
 * Numbers. Names with `bytes` are numbers of bytes, names with `count` of elements; a workgroup's
 * size is in threads.
 *
 * Unless stated otherwise, a call does not block, and an all-zero description struct means the
 * default. Labels are copied; NULL means no label; a label longer than HAL_MAX_LABEL_BYTES is
 * HAL_INVALID. Times are nanoseconds of hal_clock_ns(). */
#ifndef HAL_HAL_H
#define HAL_HAL_H

#include "hal/base/status.h"
#include "hal/channels.h"
#include "hal/executables.h"
#include "hal/flags.h"
#include "hal/profiling.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version that the program was built against. */
#define HAL_VERSION_MAJOR  0
#define HAL_VERSION_MINOR  1
#define HAL_VERSION_PATCH  0
#define HAL_VERSION_STRING "0.1.0"

/* A version as a number; numbers compare in the order of the versions. */
#define HAL_MAKE_VERSION(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))

#define HAL_VERSION_NUMBER HAL_MAKE_VERSION(HAL_VERSION_MAJOR, HAL_VERSION_MINOR, HAL_VERSION_PATCH)

/* HAL_VERSION_NUMBER of the loaded library. May be called from any thread at any time. */
HAL_API uint32_t hal_version(void);

struct hal_device;
struct hal_buffer;
struct hal_executable;
struct hal_executable_cache;
struct hal_command_buffer;
struct hal_event;
struct hal_set_layout;
struct hal_pipeline_layout;
struct hal_semaphore;

/* Timeout in nanoseconds that never expires; 0 polls. */
#ifndef HAL_FOREVER
#define HAL_FOREVER INT64_MAX
#endif

/* The range from the given offset to the end of the buffer. */
#define HAL_WHOLE_BUFFER UINT64_MAX

/* Limits that hold on every device. */
enum {
    HAL_MAX_BINDINGS = 31,         /* per descriptor set; Metal has 31 buffer slots */
    HAL_MAX_SETS = 4,              /* descriptor sets that a dispatch sees */
    HAL_MAX_CONSTANT_BYTES = 4096, /* push constants (Metal's setBytes); a device may allow fewer */
    HAL_MAX_UPDATE_BYTES = 65536,  /* one update command; Vulkan's vkCmdUpdateBuffer */
    HAL_MAX_QUEUES = 64,           /* an affinity is a 64-bit mask */
    HAL_MAX_FORMATS = 8,           /* executable formats that a device can run */
    HAL_MAX_LIST = 65536,          /* each list of a call: waits, signals, command buffers, ... */
    HAL_MAX_LABEL_BYTES = 4095,    /* without the terminator; objects and debug groups */
};

/* ---- Devices ------------------------------------------------------------------------------ */

/* A device's identity and limits. A trace records them, and a replay compares them. */
struct hal_device_info {
    size_t struct_size;    /* see "Growth" above */
    char uri[128];         /* as opened, with defaults spelled out: "cpu?threads=2&queues=2" */
    char driver[16];       /* "cpu" */
    char name[128];        /* the processor's name */
    char architecture[32]; /* the target of kernel compilation: "x86_64" */
    char features[256];    /* of the architecture, sorted and comma-separated: "avx2,fma" */
    uint32_t queue_count;
    uint32_t simd_width;                 /* threads of a simdgroup */
    uint32_t max_workgroup_size[3];      /* threads per workgroup, by dimension */
    uint32_t max_workgroup_threads;      /* and in total */
    uint64_t max_workgroup_memory_bytes; /* shared by its threads */
    uint64_t max_buffer_bytes;
    uint32_t max_constant_bytes; /* push constants, at most HAL_MAX_CONSTANT_BYTES */
    uint32_t worker_count;       /* CPU: worker threads; others: 0 */
    uint32_t format_count;
    enum hal_executable_format formats[HAL_MAX_FORMATS]; /* supported formats, best first */
};

/* A driver of this build. Its strings live as long as the process. */
struct hal_driver_info {
    size_t struct_size;
    const char *name;        /* the scheme of its URIs */
    const char *description; /* one line */
    const char *parameters;  /* URI parameters besides "caching": "threads, queues"; "": none */
};

/* Calls `visit` for each driver until it returns false. */
HAL_API void hal_drivers_list(bool (*visit)(void *user, const struct hal_driver_info *driver),
                              void *user);

/* Writes the driver names, comma-separated: "cpu, vulkan". Same contract as snprintf. */
HAL_API size_t hal_drivers_describe(char *out_text, size_t bytes);

/* A device that could be opened now. The strings are borrowed for the call. */
struct hal_device_entry {
    size_t struct_size;
    const char *uri, *driver, *name;
};

/* Calls `visit` for each device of the driver (NULL: of all drivers) until it returns false,
 * without opening any. HAL_NOT_FOUND: there is no such driver; the message lists the others. */
HAL_API enum hal_status hal_devices_list(const char *driver,
                                         bool (*visit)(void *user,
                                                       const struct hal_device_entry *entry),
                                         void *user) HAL_CHECKED;

/* Opens a device by URI: "cpu", "cpu?threads=4&queues=2". NULL uses --device, else HAL_DEVICE, else
 * "cpu". If a flag or the environment asks for profiling, the capture starts here. A capture that
 * cannot start (no space, the file exists, the device cannot measure what was asked for) does not
 * fail the call: the device works and nothing is recorded. The log says why, or hal-capture does if
 * it started the program. HAL_NOT_FOUND: there is no driver or device of that name. HAL_INVALID: a
 * parameter, a flag or one of the HAL's environment variables is unknown or has a wrong value.
 *
 * Every device takes the parameter `caching`: "off", or the number of bytes of freed buffers to
 * keep, with their memory, for new buffers of exactly the same size, memory type and usage:
 * "cpu?caching=64M". The default is HAL_CACHING, else "off". A creation fails for lack of memory
 * only after the cache has been emptied. */
HAL_API enum hal_status hal_device_open(const char *uri,
                                        struct hal_device **out_device) HAL_CHECKED;
HAL_API void hal_device_retain(struct hal_device *device);

/* The last release waits for work in flight, ends a running capture and stops the threads. */
HAL_API void hal_device_release(struct hal_device *device);
/* Returns NULL for NULL. */
HAL_API const struct hal_device_info *hal_device_get_info(const struct hal_device *device);

/* Writes the same as text, one "key: value" line per fact. Like snprintf, it writes what fits into
 * `bytes` bytes, terminated, and returns the full length. The device must not be NULL. */
HAL_API size_t hal_device_describe(const struct hal_device *device, char *out_text, size_t bytes);

/* Looks up one number by name. Keys of the description are "queue.count", "worker.count",
 * "simd.width", "workgroup.max.threads" (also with ".x", ".y", ".z"), "workgroup.max.memory.bytes",
 * "buffer.max.bytes", "bindings.max", "sets.max" and "constants.max.bytes". "format.msl",
 * "format.metallib", "format.spir-v" and "collectives" are 1 or 0. Only the driver knows
 * "memory.total.bytes", "memory.used.bytes" and "clock.resolution.ns" (of submission times).
 * "dispatch.times" (each dispatch can be timed) and "kernel.faults.caught" (a faulting kernel fails
 * only its submission) are 1 or not found. HAL_NOT_FOUND: the device does not know the value.
 * Values are never made up. */
HAL_API enum hal_status hal_device_query(struct hal_device *device, const char *key,
                                         int64_t *out_value) HAL_CHECKED;

/* Blocks until everything submitted before the call has finished or failed. HAL_TIMEOUT: the limit
 * passed first. HAL_DEVICE_LOST: the device has stopped working; the message says why. By then, all
 * semaphores that work in flight would have signalled have failed. Later submissions are refused,
 * and their semaphores fail too. Whether anything can still be created or compiled is up to the
 * device; calls that fail for this reason return HAL_DEVICE_LOST. Existing objects can be mapped
 * (with the bytes that the device left, unless lost with it), queried and released. */
HAL_API enum hal_status hal_device_wait_idle(struct hal_device *device,
                                             int64_t timeout_ns) HAL_CHECKED;

/* ---- Buffers ------------------------------------------------------------------------------ */

/* Where memory lives and how the host may access it; bits. Written into traces. */
enum hal_memory_type {
    HAL_MEMORY_DEVICE_LOCAL = 1,  /* fastest for the device */
    HAL_MEMORY_HOST_VISIBLE = 2,  /* may be mapped */
    HAL_MEMORY_HOST_COHERENT = 4, /* needs no flush or invalidate; implies HOST_VISIBLE */
    HAL_MEMORY_HOST_CACHED = 8,   /* fast for the host to read; implies HOST_VISIBLE */
};

/* What a buffer will be used for; bits. Written into traces. */
enum hal_buffer_usage {
    HAL_USAGE_TRANSFER = 1, /* fill, copy, update */
    HAL_USAGE_DISPATCH = 2, /* bound to kernels */
    HAL_USAGE_MAPPING = 4,  /* mapped by the host */
};

struct hal_buffer_desc {
    size_t struct_size;
    const char *label;
    uint64_t bytes;  /* at least 1 */
    uint32_t memory; /* enum hal_memory_type; 0: device-local, host-visible, coherent */
    uint32_t usage;  /* enum hal_buffer_usage; 0: everything that the memory allows */
};

/* New buffers hold unspecified bytes. HAL_NO_MEMORY names size and label. */
HAL_API enum hal_status hal_buffer_create(struct hal_device *device,
                                          const struct hal_buffer_desc *desc,
                                          struct hal_buffer **out_buffer) HAL_CHECKED;
HAL_API void hal_buffer_retain(struct hal_buffer *buffer);
HAL_API void hal_buffer_release(struct hal_buffer *buffer);
/* Returns 0 for NULL. */
HAL_API uint64_t hal_buffer_bytes(const struct hal_buffer *buffer);

/* Creates a view of [offset, offset + bytes) of `buffer`, usable wherever a buffer is; offsets then
 * count from its start. Retains the buffer and has its memory type and usage. A subspan of a
 * subspan refers to the underlying buffer. HAL_INVALID: the range is empty or out of bounds. */
HAL_API enum hal_status hal_buffer_subspan(struct hal_buffer *buffer, uint64_t offset,
                                           uint64_t bytes, const char *label,
                                           struct hal_buffer **out_subspan) HAL_CHECKED;

/* Creates a buffer over host memory: `desc->bytes` from `pointer`, host-visible and coherent. The
 * caller keeps ownership and must keep the memory valid until `release` (optional) is called: once,
 * on any thread, when the last reference to the buffer is gone. `release` may call the HAL but must
 * not wait for work. The host may read and write the memory as if it were mapped persistently. It
 * does not count as device memory. HAL_UNSUPPORTED: the device cannot import. HAL_INVALID names the
 * required alignment. On failure `release` is not called. */
HAL_API enum hal_status hal_buffer_import(struct hal_device *device,
                                          const struct hal_buffer_desc *desc, void *pointer,
                                          void (*release)(void *user, void *pointer), void *user,
                                          struct hal_buffer **out_buffer) HAL_CHECKED;

/* Returns the buffer's host address: a persistent read-write mapping of the whole buffer that lasts
 * as long as the buffer and needs no unmap. Each call returns the same address. */
HAL_API enum hal_status hal_buffer_export(struct hal_buffer *buffer,
                                          void **out_pointer) HAL_CHECKED;

/* Memory held by a device's buffers, including slabs of transient memory. Read without a lock:
 * while other threads create buffers, the numbers may come from slightly different moments. */
struct hal_memory_use {
    uint64_t current_bytes, peak_bytes;
    uint64_t current_count; /* live buffers, including those that only work in flight keeps */
    uint64_t total_count;   /* buffers ever created */
};

enum { HAL_MEMORY_TYPES = 16 };

struct hal_memory_statistics {
    size_t struct_size;
    struct hal_memory_use total;                     /* without cached memory */
    struct hal_memory_use by_type[HAL_MEMORY_TYPES]; /* index: enum hal_memory_type, as allocated */
    uint64_t cached_bytes, cached_count;             /* freed, but kept by `caching` */
    uint64_t reused_count;                           /* buffers created from cached memory */
};

HAL_API enum hal_status hal_device_memory_statistics(
    struct hal_device *device, struct hal_memory_statistics *out_statistics) HAL_CHECKED;

/* Returns the memory that `caching` keeps to the system. */
HAL_API enum hal_status hal_device_memory_trim(struct hal_device *device) HAL_CHECKED;

/* How the host accesses a mapping; bits. Written into traces. */
enum hal_map_mode {
    HAL_MAP_READ = 1,
    HAL_MAP_WRITE = 2,
    HAL_MAP_DISCARD = 4,    /* with WRITE: the old contents of the range may be discarded */
    HAL_MAP_PERSISTENT = 8, /* may stay mapped while the device uses the buffer */
};

struct hal_mapping {
    struct hal_buffer *buffer; /* retained until unmapped; for a subspan, the underlying buffer */
    void *data;                /* the first mapped byte */
    uint64_t offset, bytes;
    uint32_t mode;
};

/* Makes [offset, offset + bytes) accessible to the host until hal_buffer_unmap. The caller must
 * ensure that no work in flight conflicts. Without HAL_MAP_PERSISTENT the mapping is *scoped*: it
 * must not be open while work that uses its bytes is submitted (HAL_INVALID; everything bound to a
 * dispatch counts as used) or runs. Host writes reach the device at unmap, and earlier device
 * writes are visible at map. A persistent mapping of memory that is not host-coherent needs a flush
 * after writing and an invalidate before reading. Several mappings of one buffer may be open. */
HAL_API enum hal_status hal_buffer_map(struct hal_buffer *buffer, uint32_t mode, uint64_t offset,
                                       uint64_t bytes, struct hal_mapping *out_mapping) HAL_CHECKED;
/* HAL_INVALID: the mapping is not open. */
HAL_API enum hal_status hal_buffer_unmap(struct hal_mapping *mapping);

/* Make host writes through a persistent mapping visible to the device, and device writes visible to
 * the host. `offset` counts from the start of the mapping. No effect on coherent memory. */
HAL_API enum hal_status hal_mapping_flush(struct hal_mapping *mapping, uint64_t offset,
                                          uint64_t bytes) HAL_CHECKED;
HAL_API enum hal_status hal_mapping_invalidate(struct hal_mapping *mapping, uint64_t offset,
                                               uint64_t bytes) HAL_CHECKED;

/* Scoped map, copy, unmap. HAL_WHOLE_BUFFER: everything from `offset` to the end of the buffer. */
HAL_API enum hal_status hal_buffer_write(struct hal_buffer *buffer, uint64_t offset,
                                         const void *data, uint64_t bytes) HAL_CHECKED;
HAL_API enum hal_status hal_buffer_read(struct hal_buffer *buffer, uint64_t offset, void *out_data,
                                        uint64_t bytes) HAL_CHECKED;

/* ---- Command buffers ---------------------------------------------------------------------- */

/* Kinds of commands that may be recorded; bits. Written into traces. */
enum hal_command_category {
    HAL_COMMANDS_TRANSFER = 1, /* fill, copy, update */
    HAL_COMMANDS_DISPATCH = 2, /* dispatches and their push commands */
};

/* Written into traces. */
enum hal_command_buffer_mode {
    HAL_ONE_SHOT = 0, /* submitted at most once */
    HAL_REUSABLE = 1, /* any number of times, even while it is still running */
};

struct hal_command_buffer_desc {
    size_t struct_size;
    const char *label;
    enum hal_command_buffer_mode mode;
    uint32_t categories; /* enum hal_command_category; 0: any */
};

/* A new command buffer is recording. The functions below append one command each.
 * hal_command_buffer_end ends it; it cannot change afterwards. A recording call that fails
 * appends nothing. */
HAL_API enum hal_status hal_command_buffer_create(
    struct hal_device *device, const struct hal_command_buffer_desc *desc,
    struct hal_command_buffer **out_commands) HAL_CHECKED;
HAL_API void hal_command_buffer_retain(struct hal_command_buffer *commands);
HAL_API void hal_command_buffer_release(struct hal_command_buffer *commands);
/* HAL_INVALID: it has already ended, a debug group is open, a wait has no signal, or a dispatch
 * lacks something that its kernel takes. HAL_NO_MEMORY, HAL_UNSUPPORTED, HAL_DEVICE_LOST: the
 * driver cannot prepare it. On failure it is still recording. */
HAL_API enum hal_status hal_command_buffer_end(struct hal_command_buffer *commands) HAL_CHECKED;

/* Statistics of an ended command buffer. Drivers skip redundant pushes, which change nothing. */
struct hal_command_buffer_info {
    size_t struct_size;
    const char *label; /* NULL: none; lives as long as the command buffer */
    enum hal_command_buffer_mode mode;
    uint32_t categories;
    uint32_t command_count; /* all commands, including those counted below */
    uint32_t barrier_count; /* including waits for events */
    uint32_t transfer_count, dispatch_count;
    uint32_t constants_count, redundant_constants_count; /* pushes of constants */
    uint32_t set_count, redundant_set_count;             /* pushes of descriptor sets */
    uint32_t state_count; /* dispatch states; consecutive equal states count once */
};
HAL_API enum hal_status hal_command_buffer_get_info(const struct hal_command_buffer *commands,
                                                    struct hal_command_buffer_info *out_info)
    HAL_CHECKED;

/* Pipeline stages that a barrier orders; bits. Written into traces. */
enum hal_stage {
    HAL_STAGE_TRANSFER = 1,
    HAL_STAGE_DISPATCH = 2,
    HAL_STAGE_HOST = 4,
    HAL_STAGE_ALL = 7,
};

/* Memory accesses that a barrier makes available and visible; bits. Written into traces. Stages
 * alone determine which commands run before which; that is enough for a write after a read. A later
 * command sees an earlier command's writes only if the source accesses include WRITE and the target
 * accesses include those of the later command: READ, or WRITE to overwrite the bytes. A barrier
 * with only READ as source access does not order writes. */
enum hal_access {
    HAL_ACCESS_READ = 1,
    HAL_ACCESS_WRITE = 2,
};

struct hal_buffer_barrier {
    struct hal_buffer *buffer; /* retained */
    uint64_t offset, bytes;    /* HAL_WHOLE_BUFFER: to the end */
    uint32_t source_access, target_access;
};

/* Zero means "all stages" or "all accesses". A list of buffers restricts the barrier to accesses
 * within the listed ranges; without one, it orders all accesses. A device may order more than
 * requested, but programs must not rely on that. */
struct hal_barrier_desc {
    size_t struct_size;
    uint32_t source_stages, target_stages;    /* enum hal_stage */
    uint32_t source_access, target_access;    /* enum hal_access, of all memory */
    const struct hal_buffer_barrier *buffers; /* copied; the ranges to order */
    size_t buffer_count;
};

/* Commands of the source stages that were recorded earlier finish before commands of the target
 * stages that are recorded later begin. Their writes become visible as the accesses say. NULL
 * orders everything. */
HAL_API enum hal_status hal_command_barrier(struct hal_command_buffer *commands,
                                            const struct hal_barrier_desc *desc) HAL_CHECKED;

/* An event is a split barrier within one command buffer: commands recorded between a signal and its
 * wait may run on either side of it. Signals are matched by their position in the command buffer,
 * so one event can serve any number of command buffers and submissions, even concurrently. */
HAL_API enum hal_status hal_event_create(struct hal_device *device, const char *label,
                                         struct hal_event **out_event) HAL_CHECKED;
HAL_API void hal_event_retain(struct hal_event *event);
HAL_API void hal_event_release(struct hal_event *event);

/* The event covers the commands of the source stages (0: all) recorded so far. If there are several
 * signals before a wait, the last one counts. */
HAL_API enum hal_status hal_command_event_signal(struct hal_command_buffer *commands,
                                                 struct hal_event *event,
                                                 uint32_t source_stages) HAL_CHECKED;

/* Clears the signal for later waits. */
HAL_API enum hal_status hal_command_event_reset(struct hal_command_buffer *commands,
                                                struct hal_event *event) HAL_CHECKED;

/* The commands that the events cover finish before commands of the target stages that are recorded
 * later begin, as with a barrier. `desc` NULL: all stages, all memory. Its source stages are the
 * union of those of the signals, or 0. hal_command_buffer_end fails and names the event if it was
 * not signalled earlier in this command buffer or was reset since. */
HAL_API enum hal_status hal_command_events_wait(struct hal_command_buffer *commands,
                                                struct hal_event *const *events, size_t event_count,
                                                const struct hal_barrier_desc *desc) HAL_CHECKED;

/* Repeats the `pattern_bytes` (1, 2 or 4) lowest bytes of `pattern`, lowest first, starting at
 * `offset`. Any alignment. A size that is no multiple of pattern_bytes ends mid-pattern. */
HAL_API enum hal_status hal_command_fill(struct hal_command_buffer *commands,
                                         struct hal_buffer *target, uint64_t offset, uint64_t bytes,
                                         uint32_t pattern, uint32_t pattern_bytes) HAL_CHECKED;

/* Any alignment. The ranges must not overlap. */
HAL_API enum hal_status hal_command_copy(struct hal_command_buffer *commands,
                                         struct hal_buffer *source, uint64_t source_offset,
                                         struct hal_buffer *target, uint64_t target_offset,
                                         uint64_t bytes) HAL_CHECKED;

/* Copies `data` now and writes it when the command runs; at most HAL_MAX_UPDATE_BYTES. */
HAL_API enum hal_status hal_command_update(struct hal_command_buffer *commands, const void *data,
                                           struct hal_buffer *target, uint64_t offset,
                                           uint64_t bytes) HAL_CHECKED;

/* Sets bytes [offset, offset + bytes) of the push constants for later dispatches; both are
 * multiples of 4 and within the device's max_constant_bytes. Push constants start as zero. */
HAL_API enum hal_status hal_command_push_constants(struct hal_command_buffer *commands,
                                                   uint32_t offset, const void *data,
                                                   uint32_t bytes) HAL_CHECKED;

struct hal_binding {
    struct hal_buffer *buffer; /* NULL: unbound */
    uint64_t offset, bytes;    /* HAL_WHOLE_BUFFER: to the end */
};

/* Replaces descriptor set `set` for later dispatches: binding i is bindings[i]. */
HAL_API enum hal_status hal_command_push_descriptor_set(struct hal_command_buffer *commands,
                                                        uint32_t set,
                                                        const struct hal_binding *bindings,
                                                        size_t binding_count) HAL_CHECKED;

struct hal_push_set_desc {
    size_t struct_size;
    struct hal_set_layout *layout;
    uint32_t set;
    const struct hal_binding *bindings; /* one per binding of the layout, at its index */
    size_t binding_count;
    const uint64_t *dynamic_offsets; /* one per dynamic binding, in ascending index order */
    size_t dynamic_offset_count;
};

/* The same, checked against a layout. A dynamic offset shifts the start of its binding: a binding
 * of HAL_WHOLE_BUFFER still ends at the end of the buffer; others keep their size. */
HAL_API enum hal_status hal_command_push_set(struct hal_command_buffer *commands,
                                             const struct hal_push_set_desc *desc) HAL_CHECKED;

/* Runs workgroup_count[0] * [1] * [2] workgroups of the entry point; zero is legal and runs none.
 * hal_command_buffer_end fails, naming the dispatch and its kernel, if a binding of the kernel or
 * its layout is unbound, if what is bound is too short or misaligned (struct hal_entry_binding), or
 * if constants beyond those of the layout were pushed since the previous dispatch. */
HAL_API enum hal_status hal_command_dispatch(struct hal_command_buffer *commands,
                                             struct hal_executable *executable, uint32_t entry,
                                             const uint32_t workgroup_count[3]) HAL_CHECKED;

/* The same, but reads the three counts (uint32_t) from `counts` at `offset`, a multiple of 4, when
 * the command runs. They are read once, by HAL_STAGE_DISPATCH. Counts that hal_command_dispatch
 * would refuse fail the submission. */
HAL_API enum hal_status hal_command_dispatch_indirect(struct hal_command_buffer *commands,
                                                      struct hal_executable *executable,
                                                      uint32_t entry, struct hal_buffer *counts,
                                                      uint64_t offset) HAL_CHECKED;

/* Opens a named, nestable group of commands for tools. `color` is 0xRRGGBB; 0: none. HAL_INVALID: a
 * higher bit is set. */
HAL_API enum hal_status hal_command_debug_begin(struct hal_command_buffer *commands,
                                                const char *label, uint32_t color) HAL_CHECKED;
/* HAL_INVALID: no group is open. */
HAL_API enum hal_status hal_command_debug_end(struct hal_command_buffer *commands) HAL_CHECKED;

/* ---- Queues ------------------------------------------------------------------------------- */

struct hal_semaphore_value {
    struct hal_semaphore *semaphore;
    uint64_t value;
};

struct hal_submit_desc {
    size_t struct_size;
    uint64_t queues; /* affinity: bit i allows queue i; picks the allowed queue with the fewest
                        submissions in flight, the lowest on a tie; 0: queue 0 */
    const struct hal_semaphore_value *waits; /* all must be reached before the commands start */
    size_t wait_count;
    const struct hal_semaphore_value *signals; /* set after all commands have finished, see below */
    size_t signal_count;
    struct hal_command_buffer *const *commands; /* ended; run one after the other, as if
                                                   separated by full barriers; may be empty */
    size_t command_count;
};

/* Submits work to a queue and returns. Waits may precede the submission of their signals. A value
 * to signal must be greater than the semaphore's current value: otherwise the call is HAL_INVALID.
 * If something else has raised the semaphore to that value or beyond by the time the work is done,
 * the semaphore fails with HAL_INVALID because its signals are out of order; the work's effects and
 * other signals remain valid. */
HAL_API enum hal_status hal_queue_submit(struct hal_device *device,
                                         const struct hal_submit_desc *desc) HAL_CHECKED;

/* Submits one operation directly to a queue, like a command buffer with that one command. `desc`
 * has queues, waits and signals but no command buffers; NULL: queue 0, no waits, no signals.
 * Arguments follow the rules of the hal_command_... functions and are retained or copied until it
 * is done. */
HAL_API enum hal_status hal_queue_fill(struct hal_device *device,
                                       const struct hal_submit_desc *desc,
                                       struct hal_buffer *target, uint64_t offset, uint64_t bytes,
                                       uint32_t pattern, uint32_t pattern_bytes) HAL_CHECKED;
HAL_API enum hal_status hal_queue_copy(struct hal_device *device,
                                       const struct hal_submit_desc *desc,
                                       struct hal_buffer *source, uint64_t source_offset,
                                       struct hal_buffer *target, uint64_t target_offset,
                                       uint64_t bytes) HAL_CHECKED;
HAL_API enum hal_status hal_queue_update(struct hal_device *device,
                                         const struct hal_submit_desc *desc, const void *data,
                                         struct hal_buffer *target, uint64_t offset,
                                         uint64_t bytes) HAL_CHECKED;

struct hal_dispatch_desc {
    size_t struct_size;
    struct hal_executable *executable;
    uint32_t entry;
    uint32_t workgroup_count[3];
    const struct hal_binding *bindings; /* descriptor set 0 */
    size_t binding_count;
    const void *constants; /* from byte 0 */
    uint32_t constant_bytes;
};

HAL_API enum hal_status hal_queue_dispatch(struct hal_device *device,
                                           const struct hal_submit_desc *desc,
                                           const struct hal_dispatch_desc *dispatch) HAL_CHECKED;

/* Transient memory. The buffer can be recorded immediately and used by work that waits for a signal
 * of this submission. The memory comes from a pool, which reuses it after the dealloca has
 * finished, or immediately for an alloca that waits for a signal of the dealloca. A buffer released
 * without a dealloca returns its memory to the device, not to the pool. The handle is released like
 * any other.
 *
 * If a limit (hal_device_transient_limit) leaves no other memory, the alloca takes memory whose
 * dealloca is submitted but unfinished, and waits for it in queue order: the call returns
 * immediately, and the signals come later. This happens only where it cannot deadlock: where the
 * dealloca ultimately waits only for submitted work, or for values that the alloca waits for too. A
 * value whose signal is not submitted yet, and that only the dealloca waits for, may come from work
 * that waits for this alloca. If the memory that becomes free has another shape or memory type, the
 * call itself blocks until submitted work that depends on nothing else is done. If the dealloca
 * fails, the alloca fails too.
 *
 * HAL_NO_MEMORY: no memory becomes free without further work by the application. The message names
 * the size, the memory held, the limit, and a value that memory waits for. */
HAL_API enum hal_status hal_queue_alloca(struct hal_device *device,
                                         const struct hal_submit_desc *desc,
                                         const struct hal_buffer_desc *buffer_desc,
                                         struct hal_buffer **out_buffer) HAL_CHECKED;

/* Returns the memory when the waits are met: all work that uses the buffer must have finished by
 * then. After the call, the buffer and its subspans cannot be recorded, and work that names them
 * cannot be submitted (HAL_INVALID). The host may access the buffer until the waits are met.
 * HAL_INVALID: the buffer is not transient, or already has a dealloca. */
HAL_API enum hal_status hal_queue_dealloca(struct hal_device *device,
                                           const struct hal_submit_desc *desc,
                                           struct hal_buffer *buffer) HAL_CHECKED;

struct hal_transient_statistics {
    size_t struct_size;
    uint64_t reserved_bytes, peak_reserved_bytes; /* slabs, until returned to the device */
    uint64_t used_bytes, peak_used_bytes;         /* between the alloca and dealloca calls */
    uint64_t slab_count, live_count;
    uint64_t total_count;  /* allocas */
    uint64_t reused_count; /* allocas that reused memory */
};

HAL_API enum hal_status hal_device_transient_statistics(
    struct hal_device *device, struct hal_transient_statistics *out_statistics) HAL_CHECKED;

/* Limits the bytes that slabs may hold; 0: as much as the device has. Memory already reserved
 * stays. Set the limit before submitting work: allocas do not wait for work submitted before the
 * process's first limit. Released slabs that `caching` keeps do not count. */
HAL_API enum hal_status hal_device_transient_limit(struct hal_device *device,
                                                   uint64_t bytes) HAL_CHECKED;

/* Returns unused slabs to the device; `caching` may keep them. A slab is returned, and no longer
 * counts, when no work in flight, command buffer or handle uses its buffers. */
HAL_API enum hal_status hal_device_transient_trim(struct hal_device *device) HAL_CHECKED;

/* Files. */
struct hal_file;

enum hal_file_mode {
    HAL_FILE_READ = 1,
    HAL_FILE_WRITE = 2,
    HAL_FILE_CREATE = 4,   /* if it does not exist */
    HAL_FILE_TRUNCATE = 8, /* to zero bytes */
};

/* HAL_NOT_FOUND; HAL_IO; HAL_UNSUPPORTED: neither a regular file nor a block device. A file can be
 * used with all devices, from any thread. */
HAL_API enum hal_status hal_file_open(const char *path, uint32_t mode,
                                      struct hal_file **out_file) HAL_CHECKED;
HAL_API void hal_file_retain(struct hal_file *file);
HAL_API void hal_file_release(struct hal_file *file); /* work in flight keeps it open */
HAL_API enum hal_status hal_file_bytes(struct hal_file *file, uint64_t *out_bytes) HAL_CHECKED;

/* Transfer between a file and a buffer with usage transfer, in queue order. A file that ends too
 * early, or any system error, fails the submission with HAL_IO; the target then holds unspecified
 * bytes. Transfers that no semaphore orders may run concurrently, at most four per device; blocking
 * ones, for instance on a slow network file system, delay the others. */
HAL_API enum hal_status hal_queue_read(struct hal_device *device,
                                       const struct hal_submit_desc *desc, struct hal_file *file,
                                       uint64_t file_offset, struct hal_buffer *target,
                                       uint64_t offset, uint64_t bytes) HAL_CHECKED;
HAL_API enum hal_status hal_queue_write(struct hal_device *device,
                                        const struct hal_submit_desc *desc,
                                        struct hal_buffer *source, uint64_t offset,
                                        struct hal_file *file, uint64_t file_offset,
                                        uint64_t bytes) HAL_CHECKED;

/* Makes the device start work that it has batched. This is only a hint: no result depends on it,
 * and nothing waits for it. `queues`: bit i names queue i; 0: all. */
HAL_API enum hal_status hal_queue_flush(struct hal_device *device, uint64_t queues) HAL_CHECKED;

/* Signals when the waits are met and does nothing else. */
HAL_API enum hal_status hal_queue_barrier(struct hal_device *device,
                                          const struct hal_submit_desc *desc) HAL_CHECKED;

/* ---- Semaphores --------------------------------------------------------------------------- */

/* A timeline semaphore: a 64-bit value that only increases. UINT64_MAX is reserved and cannot be
 * signalled. If the driver supports it (the CPU driver does), a semaphore may be waited for and
 * signalled on any device of the same driver; otherwise that is HAL_INVALID. HAL_INVALID: the
 * initial value is UINT64_MAX; HAL_NO_MEMORY, HAL_DEVICE_LOST. */
HAL_API enum hal_status hal_semaphore_create(struct hal_device *device, const char *label,
                                             uint64_t initial_value,
                                             struct hal_semaphore **out_semaphore) HAL_CHECKED;
HAL_API void hal_semaphore_retain(struct hal_semaphore *semaphore);
HAL_API void hal_semaphore_release(struct hal_semaphore *semaphore);

/* Returns the current value, or the failure status and message if the semaphore has failed. */
HAL_API enum hal_status hal_semaphore_query(struct hal_semaphore *semaphore,
                                            uint64_t *out_value) HAL_CHECKED;

/* Raises the value from the host. HAL_INVALID: not greater than the current value. */
HAL_API enum hal_status hal_semaphore_signal(struct hal_semaphore *semaphore,
                                             uint64_t value) HAL_CHECKED;

/* Fails the semaphore permanently with `status` (not HAL_OK): waiters and dependent submissions get
 * it and `message` (copied). Only the first failure counts. HAL_TIMEOUT becomes HAL_FAILED, because
 * a wait returns HAL_TIMEOUT only for its own limit. */
HAL_API void hal_semaphore_fail(struct hal_semaphore *semaphore, enum hal_status status,
                                const char *message);

/* Blocks until the value is reached. Fails with HAL_TIMEOUT or the semaphore's failure. */
HAL_API enum hal_status hal_semaphore_wait(struct hal_semaphore *semaphore, uint64_t value,
                                           int64_t timeout_ns) HAL_CHECKED;

/* Written into traces. */
enum hal_wait_mode { HAL_WAIT_ALL = 0, HAL_WAIT_ANY = 1 };

/* Blocks until all, or any, of the values are reached. With ALL, a failed semaphore ends the wait
 * immediately with its status. With ANY, it counts as never reached unless all have failed. */
HAL_API enum hal_status hal_semaphores_wait(struct hal_device *device, enum hal_wait_mode mode,
                                            const struct hal_semaphore_value *values, size_t count,
                                            int64_t timeout_ns) HAL_CHECKED;

/* The position of a running dispatch. */
struct hal_running {
    size_t struct_size;
    struct hal_semaphore_value signal; /* first signal of its submission; semaphore NULL: none */
    uint32_t command_buffer;           /* index in its submission */
    uint32_t dispatch;                 /* index in its command buffer, counting indirect ones */
};

/* Finds a dispatch that is running now, in the oldest submission that has one: for diagnosing
 * hangs. The semaphore is borrowed and may only be compared with semaphores that the caller holds.
 * HAL_NOT_FOUND: no dispatch is running; HAL_UNSUPPORTED: the device cannot tell. */
HAL_API enum hal_status hal_device_running(struct hal_device *device,
                                           struct hal_running *out_running) HAL_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
