/* SPDX-License-Identifier: Apache-2.0 */
/* The hardware abstraction layer: everything that an application may call. Kernels stand in
 * hal/executables.h, the command line's part in hal/flags.h, profiling in hal/profiling.h and work
 * of several devices together in hal/channels.h; this header includes them.
 *
 * A program opens a device, creates buffers and executables, records commands into a command
 * buffer, ends (seals) it, and submits it to a queue together with the semaphore values to wait
 * for and to signal. Then it waits for a value and maps a buffer to read the result:
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
 * atomic. Any other object is used by one thread at a time, but different objects by different
 * threads freely; a sealed command buffer may be submitted from several threads.
 *
 * Ordering. Commands of a command buffer may overlap and run in any order unless a barrier stands
 * between them. Submissions may overlap and run in any order, on the same queue too, unless
 * semaphores order them. All effects of a submission are visible to whoever observes one of the
 * values that it signals.
 *
 * Errors. Functions return a status and store a message (hal/base/status.h). A failing call has
 * no effect. NULL in place of an object or of a place for a result is HAL_INVALID. Failed work
 * fails the semaphores that it would have signalled: waiting for them returns that status and
 * message.
 *
 * Growth. Later versions add members at the end of structs that begin with `struct_size`. A program
 * sets it to the size of the struct that it was compiled with, or to 0 for the members that version
 * 0.1 has, also in a struct that a function fills in: initialise them ({0}). A library that is
 * older than the program refuses members that it does not know and that are not zero (HAL_INVALID),
 * and leaves zeros in those that it would fill in. In what a program only gets to see, struct_size
 * is how much of it the library has. Structs without it never change.
 *
 * Unless stated, a call does not block, and a description struct that is all zero means the
 * default. Labels are copied; NULL is "no label"; one of more than HAL_MAX_LABEL_BYTES is
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

/* What a program was built against. */
#define HAL_VERSION_MAJOR  0
#define HAL_VERSION_MINOR  1
#define HAL_VERSION_PATCH  0
#define HAL_VERSION_STRING "0.1.0"

/* Versions as numbers that compare as the versions do. */
#define HAL_MAKE_VERSION(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))

#define HAL_VERSION_NUMBER HAL_MAKE_VERSION(HAL_VERSION_MAJOR, HAL_VERSION_MINOR, HAL_VERSION_PATCH)

/* HAL_VERSION_NUMBER of the library that runs. Any thread, at any time. */
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

/* "Wait for ever" as a timeout in nanoseconds; 0 polls. */
#ifndef HAL_FOREVER
#define HAL_FOREVER INT64_MAX
#endif

/* The range from the given offset to the end of the buffer. */
#define HAL_WHOLE_BUFFER UINT64_MAX

/* Limits that hold on every device. */
enum {
    HAL_MAX_BINDINGS = 31,         /* per descriptor set; Metal has 31 buffer slots */
    HAL_MAX_SETS = 4,              /* descriptor sets that a dispatch sees */
    HAL_MAX_CONSTANT_BYTES = 4096, /* push constants; Metal's limit for setBytes; a device may take
                                      fewer */
    HAL_MAX_UPDATE_BYTES = 65536,  /* one update command; Vulkan's vkCmdUpdateBuffer */
    HAL_MAX_QUEUES = 64,           /* an affinity is a 64-bit mask */
    HAL_MAX_FORMATS = 8,           /* that a device can run */
    HAL_MAX_LIST = 65536,          /* each list of a call: waits, signals, command buffers, ... */
    HAL_MAX_LABEL_BYTES = 4095,    /* without the end; of objects and debug groups */
};

/* ---- Devices ------------------------------------------------------------------------------ */

/* What a device is and can do; a trace records it and a replay compares it. */
struct hal_device_info {
    size_t struct_size;    /* see "Growth" above */
    char uri[128];         /* as opened, made explicit: "cpu?threads=2&queues=2" */
    char driver[16];       /* "cpu" */
    char name[128];        /* the processor's name */
    char architecture[32]; /* what kernels are compiled for: "x86_64" */
    char features[256];    /* of that, sorted, with commas between: "avx2,fma" */
    uint32_t queue_count;
    uint32_t simd_width;             /* threads of a simdgroup */
    uint32_t max_group_size[3];      /* threads per workgroup, by dimension */
    uint32_t max_group_threads;      /* and in total */
    uint64_t max_group_memory_bytes; /* threadgroup memory */
    uint64_t max_buffer_bytes;
    uint32_t max_constant_bytes; /* push constants, at most HAL_MAX_CONSTANT_BYTES */
    uint32_t worker_count;       /* CPU: worker threads; others: 0 */
    uint32_t format_count;
    enum hal_executable_format formats[HAL_MAX_FORMATS]; /* that it runs, the best first */
};

/* A driver of this build; everything lives as long as the process. */
struct hal_driver_info {
    size_t struct_size;
    const char *name;        /* the scheme of its URIs */
    const char *description; /* one line */
    const char *parameters;  /* of its URIs, beside "caching": "threads, queues"; "": none */
};

/* Calls `visit` for each driver until it returns false. */
HAL_API void hal_drivers_list(bool (*visit)(void *user, const struct hal_driver_info *driver),
                              void *user);

/* Their names with commas between, "cpu, vulkan". As snprintf. */
HAL_API size_t hal_drivers_describe(char *out_text, size_t bytes);

/* A device that could be opened now; the strings live for the call. */
struct hal_device_entry {
    size_t struct_size;
    const char *uri, *driver, *name;
};

/* Calls `visit` for each device of the driver (NULL: of all) until it returns false, without
 * opening any. HAL_NOT_FOUND: there is no such driver, the message names those that there are. */
HAL_API enum hal_status hal_devices_list(const char *driver,
                                         bool (*visit)(void *user,
                                                       const struct hal_device_entry *entry),
                                         void *user) HAL_CHECKED;

/* Opens a device by URI: "cpu", "cpu?threads=4&queues=2". NULL: --device, else HAL_DEVICE, else
 * "cpu". When profiling was asked for by flag or environment, the capture starts here. One that
 * cannot start (there is no room, the file exists, the device cannot tell what was asked for) does
 * not fail the call: the device works, nothing is recorded, and the log, or hal-capture when it
 * started the program, says why. HAL_NOT_FOUND: no driver or device of that name. HAL_INVALID: a
 * parameter, a flag or one of the HAL's environment variables is unknown or has a wrong value.
 *
 * Every device takes the parameter `caching`: "off", or how many bytes of freed buffers it keeps,
 * with their memory, for those who create buffers of exactly the same size, memory type and usage:
 * "cpu?caching=64M". Without it, HAL_CACHING says so; else, it is off. What is kept is used up
 * before a creation fails for want of memory. */
HAL_API enum hal_status hal_device_open(const char *uri,
                                        struct hal_device **out_device) HAL_CHECKED;
HAL_API void hal_device_retain(struct hal_device *device);

/* The last release waits for the work in flight, ends a running capture and stops the threads. */
HAL_API void hal_device_release(struct hal_device *device);
/* NULL for NULL. */
HAL_API const struct hal_device_info *hal_device_get_info(const struct hal_device *device);

/* The same as text, a line "key: value" for each fact. As snprintf: writes what fits into `bytes`
 * bytes, with an end, and returns the length of all of it. The device must not be NULL. */
HAL_API size_t hal_device_describe(const struct hal_device *device, char *out_text, size_t bytes);

/* One number by name: those of the description ("queue.count", "worker.count", "simd.width",
 * "group.max.threads", and with ".x", ".y", ".z"; "group.max.memory.bytes", "buffer.max.bytes",
 * "bindings.max", "sets.max", "constants.max.bytes"; 1 or 0: "format.msl", "format.metallib",
 * "format.spir-v", "collectives"), and what only the driver knows: "memory.total.bytes",
 * "memory.used.bytes"; "clock.resolution.ns" of the times of submissions; 1, or not found:
 * "dispatch.times" (of each dispatch can be recorded), "kernel.faults.caught" (a kernel that faults
 * fails its submission alone). HAL_NOT_FOUND for what the device does not know; never a made-up
 * value. */
HAL_API enum hal_status hal_device_query(struct hal_device *device, const char *key,
                                         int64_t *out_value) HAL_CHECKED;

/* Blocks until everything submitted before the call has finished, well or not.
 * HAL_TIMEOUT: the limit passed first. HAL_DEVICE_LOST: the device has stopped working; the message
 * says why. Then all semaphores have failed that work in flight would have signalled, as do those
 * of later submissions, which are refused. Whether anything can still be created or compiled is the
 * device's affair; what fails for this reason says HAL_DEVICE_LOST. What there is can be mapped
 * (its bytes are what the device left, unless they are gone with it), queried and released. */
HAL_API enum hal_status hal_device_wait_idle(struct hal_device *device,
                                             int64_t timeout_ns) HAL_CHECKED;

/* ---- Buffers ------------------------------------------------------------------------------ */

/* Where memory lives and what the host may do with it; bits. Written into traces. */
enum hal_memory_type {
    HAL_MEMORY_DEVICE_LOCAL = 1,  /* fastest for the device */
    HAL_MEMORY_HOST_VISIBLE = 2,  /* may be mapped */
    HAL_MEMORY_HOST_COHERENT = 4, /* needs no flush and invalidate; implies HOST_VISIBLE */
    HAL_MEMORY_HOST_CACHED = 8,   /* the host reads it fast; implies HOST_VISIBLE */
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
/* 0 for NULL. */
HAL_API uint64_t hal_buffer_bytes(const struct hal_buffer *buffer);

/* A name for [offset, offset + bytes) of `buffer`, to be used wherever a buffer is: offsets then
 * count from its start. Retains the buffer; memory type and usage are the buffer's. A subspan of a
 * subspan is one of the buffer behind it. HAL_INVALID: the range is empty or outside. */
HAL_API enum hal_status hal_buffer_subspan(struct hal_buffer *buffer, uint64_t offset,
                                           uint64_t bytes, const char *label,
                                           struct hal_buffer **out_subspan) HAL_CHECKED;

/* A buffer over the host's own memory: `desc->bytes` from `pointer`, host-visible and coherent. The
 * memory stays the caller's and must be there until `release` (optional) is called, once, on any
 * thread, when the last reference to the buffer has gone: it may call the HAL, but not wait for
 * work. The host may read and write the memory as if it were mapped persistently. It is not counted
 * as the device's memory. HAL_UNSUPPORTED: this device cannot; HAL_INVALID names the alignment that
 * it needs. On failure `release` is not called. */
HAL_API enum hal_status hal_buffer_import(struct hal_device *device,
                                          const struct hal_buffer_desc *desc, void *pointer,
                                          void (*release)(void *user, void *pointer), void *user,
                                          struct hal_buffer **out_buffer) HAL_CHECKED;

/* Where the host sees the buffer, as long as the buffer lives: a persistent mapping of all of it,
 * to read and to write, that need not be undone. Each call returns the same address. */
HAL_API enum hal_status hal_buffer_export(struct hal_buffer *buffer,
                                          void **out_pointer) HAL_CHECKED;

/* What the buffers of a device hold; slabs of transient memory are buffers, too. Taken without a
 * lock: while other threads create buffers, the numbers may be of slightly different moments. */
struct hal_memory_use {
    uint64_t current_bytes, peak_bytes;
    uint64_t current_count; /* buffers that exist, also as work in flight holds them */
    uint64_t total_count;   /* that were ever created */
};

enum { HAL_MEMORY_TYPES = 16 };

struct hal_memory_statistics {
    size_t struct_size;
    struct hal_memory_use total;                     /* without what is kept for later */
    struct hal_memory_use by_type[HAL_MEMORY_TYPES]; /* index: enum hal_memory_type, as given */
    uint64_t cached_bytes, cached_count;             /* freed, and kept by `caching` */
    uint64_t reused_count;                           /* buffers that were such memory before */
};

HAL_API enum hal_status hal_device_memory_statistics(
    struct hal_device *device, struct hal_memory_statistics *out_statistics) HAL_CHECKED;

/* Gives back to the system what `caching` keeps. */
HAL_API enum hal_status hal_device_memory_trim(struct hal_device *device) HAL_CHECKED;

/* How the host accesses a mapping; bits. Written into traces. */
enum hal_map_mode {
    HAL_MAP_READ = 1,
    HAL_MAP_WRITE = 2,
    HAL_MAP_DISCARD = 4,    /* with WRITE: old contents of the range are not needed */
    HAL_MAP_PERSISTENT = 8, /* may stay mapped while the device uses the buffer */
};

struct hal_mapping {
    struct hal_buffer *buffer; /* retained until unmapped; of a subspan: the buffer behind it */
    void *data;                /* the first mapped byte */
    uint64_t offset, bytes;
    uint32_t mode;
};

/* Makes [offset, offset + bytes) accessible to the host until hal_buffer_unmap. The caller sees
 * to it that no work in flight conflicts. Without HAL_MAP_PERSISTENT the mapping is *scoped*: it
 * may not be open while work that uses its bytes is submitted (HAL_INVALID; all that a dispatch is
 * bound to counts as used) or runs, what the host wrote reaches the device at unmap, and what the
 * device wrote before is visible at map. A persistent mapping of memory that is not host-coherent
 * needs flush after writing and invalidate before reading. Several mappings of one buffer may be
 * open. */
HAL_API enum hal_status hal_buffer_map(struct hal_buffer *buffer, uint32_t mode, uint64_t offset,
                                       uint64_t bytes, struct hal_mapping *out_mapping) HAL_CHECKED;
/* HAL_INVALID: it is not open. */
HAL_API enum hal_status hal_buffer_unmap(struct hal_mapping *mapping);

/* Make host writes of a persistent mapping visible to the device, and device writes to the host.
 * `offset` counts from the start of the mapping. Harmless on coherent memory. */
HAL_API enum hal_status hal_mapping_flush(struct hal_mapping *mapping, uint64_t offset,
                                          uint64_t bytes) HAL_CHECKED;
HAL_API enum hal_status hal_mapping_invalidate(struct hal_mapping *mapping, uint64_t offset,
                                               uint64_t bytes) HAL_CHECKED;

/* Scoped map, copy, unmap. HAL_WHOLE_BUFFER: as many bytes as the buffer has from `offset` on. */
HAL_API enum hal_status hal_buffer_write(struct hal_buffer *buffer, uint64_t offset,
                                         const void *data, uint64_t bytes) HAL_CHECKED;
HAL_API enum hal_status hal_buffer_read(struct hal_buffer *buffer, uint64_t offset, void *out_data,
                                        uint64_t bytes) HAL_CHECKED;

/* ---- Command buffers ---------------------------------------------------------------------- */

/* What may be recorded; bits. Written into traces. */
enum hal_command_category {
    HAL_COMMANDS_TRANSFER = 1, /* fill, copy, update */
    HAL_COMMANDS_DISPATCH = 2, /* dispatches, and pushes of what they see */
};

/* Written into traces. */
enum hal_command_buffer_mode {
    HAL_ONE_SHOT = 0, /* submitted at most once */
    HAL_REUSABLE = 1, /* any number of times, also while it still runs */
};

struct hal_command_buffer_desc {
    size_t struct_size;
    const char *label;
    enum hal_command_buffer_mode mode;
    uint32_t categories; /* enum hal_command_category; 0: any */
};

/* A new command buffer records. The functions below append one command each; hal_command_buffer_end
 * seals it, after which it cannot change. A recording call that fails appends nothing. */
HAL_API enum hal_status hal_command_buffer_create(
    struct hal_device *device, const struct hal_command_buffer_desc *desc,
    struct hal_command_buffer **out_commands) HAL_CHECKED;
HAL_API void hal_command_buffer_retain(struct hal_command_buffer *commands);
HAL_API void hal_command_buffer_release(struct hal_command_buffer *commands);
/* HAL_INVALID: it is sealed, a debug group is open, a wait has no signal, or a dispatch lacks what
 * its kernel takes; HAL_NO_MEMORY, HAL_UNSUPPORTED, HAL_DEVICE_LOST: the driver cannot prepare it.
 * Then it goes on recording. */
HAL_API enum hal_status hal_command_buffer_end(struct hal_command_buffer *commands) HAL_CHECKED;

/* What is in a sealed command buffer. Redundant: pushed what was there already, so that drivers do
 * nothing for it. */
struct hal_command_buffer_info {
    size_t struct_size;
    const char *label; /* NULL: none; lives as long as the command buffer */
    enum hal_command_buffer_mode mode;
    uint32_t categories;
    uint32_t command_count; /* all of them, with what follows */
    uint32_t barrier_count; /* waits for events, too */
    uint32_t transfer_count, dispatch_count;
    uint32_t constants_count, redundant_constants_count; /* pushes of constants */
    uint32_t set_count, redundant_set_count;             /* pushes of descriptor sets */
    uint32_t state_count; /* different states that dispatches see, in a row */
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

/* Memory accesses that a barrier makes available and visible; bits. Written into traces. The stages
 * alone say which commands run before which, and that is enough for a write after a read. What a
 * command has written is there for a later one only when the source accesses have WRITE and the
 * target accesses have what the later one does: READ, or WRITE to write the bytes again. A barrier
 * whose source accesses are READ alone orders no write before anything. */
enum hal_access {
    HAL_ACCESS_READ = 1,
    HAL_ACCESS_WRITE = 2,
};

struct hal_buffer_barrier {
    struct hal_buffer *buffer; /* retained */
    uint64_t offset, bytes;    /* HAL_WHOLE_BUFFER: to the end */
    uint32_t source_access, target_access;
};

/* Zero means "all stages" and "all accesses". With a list of buffers only accesses to bytes of the
 * listed ranges are ordered; without one, all. A device may order more than was asked for, and
 * programs may not rely on that. */
struct hal_barrier_desc {
    size_t struct_size;
    uint32_t source_stages, target_stages;    /* enum hal_stage */
    uint32_t source_access, target_access;    /* enum hal_access, of all memory */
    const struct hal_buffer_barrier *buffers; /* copied; the ranges that are ordered */
    size_t buffer_count;
};

/* Commands of the source stages recorded before finish, and their writes are visible as the
 * accesses say, before commands of the target stages recorded after begin. NULL orders everything.
 */
HAL_API enum hal_status hal_command_barrier(struct hal_command_buffer *commands,
                                            const struct hal_barrier_desc *desc) HAL_CHECKED;

/* An event orders commands of one command buffer like a barrier in two halves: what stands between
 * a signal and the wait for it may run on either side. Signals count by their place in the list,
 * so one event serves any number of command buffers and submissions, also at once. */
HAL_API enum hal_status hal_event_create(struct hal_device *device, const char *label,
                                         struct hal_event **out_event) HAL_CHECKED;
HAL_API void hal_event_retain(struct hal_event *event);
HAL_API void hal_event_release(struct hal_event *event);

/* The event stands for the commands of the source stages (0: all) recorded before. Of several
 * signals, the last one before a wait counts. */
HAL_API enum hal_status hal_command_event_signal(struct hal_command_buffer *commands,
                                                 struct hal_event *event,
                                                 uint32_t source_stages) HAL_CHECKED;

/* Takes the signal back for waits that follow. */
HAL_API enum hal_status hal_command_event_reset(struct hal_command_buffer *commands,
                                                struct hal_event *event) HAL_CHECKED;

/* Commands that the events stand for finish before commands of the target stages recorded after
 * begin, as with a barrier. `desc` NULL: all stages, all memory; its source stages are those of the
 * signals together, or 0. hal_command_buffer_end fails, naming the event, when one has not been
 * signalled before in this command buffer, or was reset since. */
HAL_API enum hal_status hal_command_events_wait(struct hal_command_buffer *commands,
                                                struct hal_event *const *events, size_t event_count,
                                                const struct hal_barrier_desc *desc) HAL_CHECKED;

/* Repeats the `pattern_bytes` (1, 2 or 4) lowest bytes of `pattern`, from the lowest on, beginning
 * at `offset`. Any alignment; a size that is no multiple of pattern_bytes ends in the middle. */
HAL_API enum hal_status hal_command_fill(struct hal_command_buffer *commands,
                                         struct hal_buffer *target, uint64_t offset, uint64_t bytes,
                                         uint32_t pattern, uint32_t pattern_bytes) HAL_CHECKED;

/* Any alignment. The ranges may not overlap. */
HAL_API enum hal_status hal_command_copy(struct hal_command_buffer *commands,
                                         struct hal_buffer *source, uint64_t source_offset,
                                         struct hal_buffer *target, uint64_t target_offset,
                                         uint64_t bytes) HAL_CHECKED;

/* Copies `data` now and writes it when the command runs; at most HAL_MAX_UPDATE_BYTES. */
HAL_API enum hal_status hal_command_update(struct hal_command_buffer *commands, const void *data,
                                           struct hal_buffer *target, uint64_t offset,
                                           uint64_t bytes) HAL_CHECKED;

/* Sets bytes [offset, offset + bytes) of the constants that following dispatches see; multiples
 * of 4, below the device's max_constant_bytes. They start as zero. */
HAL_API enum hal_status hal_command_push_constants(struct hal_command_buffer *commands,
                                                   uint32_t offset, const void *data,
                                                   uint32_t bytes) HAL_CHECKED;

struct hal_binding {
    struct hal_buffer *buffer; /* NULL: unbound */
    uint64_t offset, bytes;    /* HAL_WHOLE_BUFFER: to the end */
};

/* Replaces descriptor set `set` for following dispatches: binding i is bindings[i]. */
HAL_API enum hal_status hal_command_push_descriptor_set(struct hal_command_buffer *commands,
                                                        uint32_t set,
                                                        const struct hal_binding *bindings,
                                                        size_t binding_count) HAL_CHECKED;

struct hal_push_set_desc {
    size_t struct_size;
    struct hal_set_layout *layout;
    uint32_t set;
    const struct hal_binding *bindings; /* one for each binding of the layout, at its index */
    size_t binding_count;
    const uint64_t *dynamic_offsets; /* one for each dynamic binding, by rising index */
    size_t dynamic_offset_count;
};

/* The same, checked against a layout. A dynamic offset moves where its binding begins: a binding
 * of HAL_WHOLE_BUFFER then ends where the buffer does, others keep their size. */
HAL_API enum hal_status hal_command_push_set(struct hal_command_buffer *commands,
                                             const struct hal_push_set_desc *desc) HAL_CHECKED;

/* Runs workgroup_count[0] * [1] * [2] workgroups of the entry point; zero is legal and runs none.
 * hal_command_buffer_end fails, naming the dispatch and its kernel, when nothing is bound where the
 * kernel or its layout has a binding, when what is bound there is too short or begins at no
 * multiple of the alignment (struct hal_entry_binding), and when constants beyond those of the
 * layout were pushed since the dispatch before. */
HAL_API enum hal_status hal_command_dispatch(struct hal_command_buffer *commands,
                                             struct hal_executable *executable, uint32_t entry,
                                             const uint32_t workgroup_count[3]) HAL_CHECKED;

/* The same with the three counts (uint32_t) that `counts` holds at `offset`, a multiple of 4, when
 * the command runs: they are read once, by the stage HAL_STAGE_DISPATCH. Counts that
 * hal_command_dispatch would refuse fail the submission. */
HAL_API enum hal_status hal_command_dispatch_indirect(struct hal_command_buffer *commands,
                                                      struct hal_executable *executable,
                                                      uint32_t entry, struct hal_buffer *counts,
                                                      uint64_t offset) HAL_CHECKED;

/* Names a nested range of commands for tools. `color` is 0xRRGGBB, 0: none; HAL_INVALID: a higher
 * bit is set. */
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
    uint64_t queues; /* affinity: bit i allows queue i; of those allowed, the one with the fewest
                        submissions in flight is taken, the lowest of equals; 0: queue 0 */
    const struct hal_semaphore_value *waits; /* all are reached before the commands start */
    size_t wait_count;
    const struct hal_semaphore_value *signals; /* set after all commands have finished, see below */
    size_t signal_count;
    struct hal_command_buffer *const *commands; /* sealed; run one after the other, as if a full
                                                   barrier stood between them; none is legal */
    size_t command_count;
};

/* Hands work to a queue and returns. Values may be waited for before anybody has promised to
 * signal them. A value to signal lies above what its semaphore has reached: HAL_INVALID when it
 * does not at the call. When somebody else has raised the semaphore to it, or beyond, by the time
 * the work is done, the semaphore fails with HAL_INVALID, since its order is wrong; the work's
 * effects and other signals stand. */
HAL_API enum hal_status hal_queue_submit(struct hal_device *device,
                                         const struct hal_submit_desc *desc) HAL_CHECKED;

/* One operation straight on a queue: the same as submitting a command buffer with that one command.
 * `desc` has queues, waits and signals, and no command buffers; NULL: queue 0, nothing to wait for
 * and nothing to signal. Arguments have the rules of the hal_command_... functions, and are
 * retained or copied until the work is done. */
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

/* Transient memory. The buffer can be named at once, and may be used by work that waits for a
 * signal of this submission. The memory comes from a pool, which hands it out again once the
 * dealloca has finished, or at once to an alloca that waits for a signal of the dealloca. A buffer
 * that is released without a dealloca gives its memory back to the device, not to the pool. The
 * handle is released as any other.
 *
 * With a limit (hal_device_transient_limit) that leaves no other memory, the alloca takes memory
 * whose dealloca has been submitted and not finished, and waits for that in queue order: it signals
 * later, the call returns at once. It does so only where this cannot end in a circle: where the
 * dealloca waits, in the end, for nothing but submitted work, or for values that the alloca itself
 * waits for, too. A value that nobody has promised yet, and that only the dealloca waits for, may
 * come from work that waits for this alloca. Where what comes back so has another shape or memory
 * type, the call itself blocks until submitted work that needs nothing more is done. If the
 * dealloca fails, so does the alloca.
 *
 * HAL_NO_MEMORY: nothing comes back without further work of the application. The message names the
 * size, what is held, the limit, and a value that memory waits for. */
HAL_API enum hal_status hal_queue_alloca(struct hal_device *device,
                                         const struct hal_submit_desc *desc,
                                         const struct hal_buffer_desc *buffer_desc,
                                         struct hal_buffer **out_buffer) HAL_CHECKED;

/* Gives the memory back when the waits are met: all work that uses the buffer must have finished by
 * then. Afterwards, nothing can be recorded with the buffer or a subspan of it, and nothing
 * submitted that names them (HAL_INVALID); the host may look at it until the waits are met.
 * HAL_INVALID: it is not transient, or was given back before. */
HAL_API enum hal_status hal_queue_dealloca(struct hal_device *device,
                                           const struct hal_submit_desc *desc,
                                           struct hal_buffer *buffer) HAL_CHECKED;

struct hal_transient_statistics {
    size_t struct_size;
    uint64_t reserved_bytes, peak_reserved_bytes; /* slabs, until the device has them back */
    uint64_t used_bytes, peak_used_bytes;         /* between alloca and dealloca, as called */
    uint64_t slab_count, live_count;
    uint64_t total_count;  /* allocas */
    uint64_t reused_count; /* that took what another gave back */
};

HAL_API enum hal_status hal_device_transient_statistics(
    struct hal_device *device, struct hal_transient_statistics *out_statistics) HAL_CHECKED;

/* Most bytes that slabs may hold; 0: as much as the device has. What is reserved already stays; set
 * the limit before work is submitted, for allocas wait for no work from before the process's first
 * limit. What `caching` keeps of slabs that went does not count. */
HAL_API enum hal_status hal_device_transient_limit(struct hal_device *device,
                                                   uint64_t bytes) HAL_CHECKED;

/* Gives slabs back to the device of which nothing is in use; `caching` may keep them. A slab goes,
 * and stops counting, when work in flight, command buffers and handles of its buffers are gone. */
HAL_API enum hal_status hal_device_transient_trim(struct hal_device *device) HAL_CHECKED;

/* Files. */
struct hal_file;

enum hal_file_mode {
    HAL_FILE_READ = 1,
    HAL_FILE_WRITE = 2,
    HAL_FILE_CREATE = 4,   /* if it is not there */
    HAL_FILE_TRUNCATE = 8, /* to nothing */
};

/* HAL_NOT_FOUND, HAL_IO; HAL_UNSUPPORTED: neither a regular file nor a block device. May be used
 * with all devices, from any thread. */
HAL_API enum hal_status hal_file_open(const char *path, uint32_t mode,
                                      struct hal_file **out_file) HAL_CHECKED;
HAL_API void hal_file_retain(struct hal_file *file);
HAL_API void hal_file_release(struct hal_file *file); /* work in flight keeps it open */
HAL_API enum hal_status hal_file_bytes(struct hal_file *file, uint64_t *out_bytes) HAL_CHECKED;

/* In queue order, between a file and a buffer with usage transfer. A file that ends too early, or
 * any error of the system, fails the submission with HAL_IO; the target then holds unspecified
 * bytes. Transfers that no semaphore orders may run at the same time, but at most four of a device
 * do: those that block, on the files of a slow network say, hold the others up. */
HAL_API enum hal_status hal_queue_read(struct hal_device *device,
                                       const struct hal_submit_desc *desc, struct hal_file *file,
                                       uint64_t file_offset, struct hal_buffer *target,
                                       uint64_t offset, uint64_t bytes) HAL_CHECKED;
HAL_API enum hal_status hal_queue_write(struct hal_device *device,
                                        const struct hal_submit_desc *desc,
                                        struct hal_buffer *source, uint64_t offset,
                                        struct hal_file *file, uint64_t file_offset,
                                        uint64_t bytes) HAL_CHECKED;

/* Tells the device to begin with what it has, where it collects work. Nothing waits for it, and
 * nothing depends on it. `queues`: bit i names queue i; 0: all. */
HAL_API enum hal_status hal_queue_flush(struct hal_device *device, uint64_t queues) HAL_CHECKED;

/* Signals when the waits are met, and does nothing else. */
HAL_API enum hal_status hal_queue_barrier(struct hal_device *device,
                                          const struct hal_submit_desc *desc) HAL_CHECKED;

/* ---- Semaphores --------------------------------------------------------------------------- */

/* A 64-bit value that only rises. UINT64_MAX is reserved: it cannot be signalled. Where the driver
 * can do it (the CPU driver can), a semaphore may be waited for and signalled on any device of the
 * same driver; elsewhere, that is HAL_INVALID. HAL_INVALID: it would begin at UINT64_MAX;
 * HAL_NO_MEMORY, HAL_DEVICE_LOST. */
HAL_API enum hal_status hal_semaphore_create(struct hal_device *device, const char *label,
                                             uint64_t initial_value,
                                             struct hal_semaphore **out_semaphore) HAL_CHECKED;
HAL_API void hal_semaphore_retain(struct hal_semaphore *semaphore);
HAL_API void hal_semaphore_release(struct hal_semaphore *semaphore);

/* The value that is reached now; the failure status and message once the semaphore has failed. */
HAL_API enum hal_status hal_semaphore_query(struct hal_semaphore *semaphore,
                                            uint64_t *out_value) HAL_CHECKED;

/* Raises the value from the host. HAL_INVALID: not above the present value. */
HAL_API enum hal_status hal_semaphore_signal(struct hal_semaphore *semaphore,
                                             uint64_t value) HAL_CHECKED;

/* Fails the semaphore for good with `status` (not HAL_OK): waiters and dependent submissions
 * get it and `message` (copied). Only the first failure counts. HAL_TIMEOUT becomes HAL_FAILED: a
 * wait returns HAL_TIMEOUT for its own limit alone. */
HAL_API void hal_semaphore_fail(struct hal_semaphore *semaphore, enum hal_status status,
                                const char *message);

/* Blocks until the value is reached. HAL_TIMEOUT, or the semaphore's failure. */
HAL_API enum hal_status hal_semaphore_wait(struct hal_semaphore *semaphore, uint64_t value,
                                           int64_t timeout_ns) HAL_CHECKED;

/* Written into traces. */
enum hal_wait_mode { HAL_WAIT_ALL = 0, HAL_WAIT_ANY = 1 };

/* Blocks until all, or any, of the values are reached. A failed semaphore ends the wait with its
 * status at once (ALL), or counts as never reached unless all have failed (ANY). */
HAL_API enum hal_status hal_semaphores_wait(struct hal_device *device, enum hal_wait_mode mode,
                                            const struct hal_semaphore_value *values, size_t count,
                                            int64_t timeout_ns) HAL_CHECKED;

/* Where a dispatch is that runs. */
struct hal_running {
    size_t struct_size;
    struct hal_semaphore_value
        signal;              /* the first of its submission; semaphore NULL: it has none */
    uint32_t command_buffer; /* index in its submission */
    uint32_t dispatch;       /* index in its command buffer, indirect ones included */
};

/* Finds a dispatch that runs now, in the oldest submission that has one: for messages about work
 * that does not end. The semaphore is borrowed, and only to be compared with those that the caller
 * holds. HAL_NOT_FOUND: no dispatch runs; HAL_UNSUPPORTED: the device cannot tell. */
HAL_API enum hal_status hal_device_running(struct hal_device *device,
                                           struct hal_running *out_running) HAL_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
