/* SPDX-License-Identifier: Apache-2.0 */
/* The module's entry: begins a capture, flushes it, ends it. Everything that can be refused is
 * refused before anything is recorded. */
#include "capture/layer/flight_recorder.h"
#include "capture/layer/ops.h"
#include "hal/base/text.h"

#include "capture/stream/threads.h"
#include "hal/base/mem.h"
#include "hal/base/message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

HAL_API hal_layer_begin hal_capture_begin;

enum {
    DEFAULT_STAGING_MIB = 256,
    DEFAULT_RING_KIB = 8 << 10,
    DEFAULT_COPIES_MIB = 1 << 10, /* if the size of memory is unknown */
    SMALLEST_RING_KIB = CAPTURE_LEAST_RING_BYTES >> 10,
    LARGEST_RING_KIB = 1 << 20,
    LARGEST_STAGING_MIB = 1 << 18,
    COMMAND_LINE_BYTES = 1 << 16,
};

/* ---- Options ---- */

static enum hal_status check_file(const char *file)
{
    static const char extension[] = ".gputrace";
    const size_t length = strlen(file), end = sizeof extension - 1;
    if (length == 0)
        return hal_fail(HAL_INVALID, "a capture needs a file name");
    if (length >= TRACE_PATH_BYTES)
        return hal_fail(HAL_INVALID, "the file name of the capture has %s, the limit is %d",
                        hal_count(length, "byte", "bytes").text, TRACE_PATH_BYTES - 1);
    if (length >= end && strcmp(file + length - end, extension) == 0)
        return hal_fail(HAL_UNSUPPORTED,
                        "'%s': only the Metal driver writes traces of MTLCaptureManager", file);
    return HAL_OK;
}

/* A number of the environment, rounded up to a power of two. */
static enum hal_status read_size(const char *name, uint64_t otherwise, uint64_t least,
                                 uint64_t most, uint64_t *out_value)
{
    const char *text = getenv(name);
    char *end = NULL;
    *out_value = otherwise;
    if (!text || !text[0])
        return HAL_OK;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno || value < least || value > most)
        return hal_fail(HAL_INVALID, "%s=%s is not in %llu to %llu", name, text,
                        (unsigned long long)least, (unsigned long long)most);
    uint64_t rounded = least;
    while (rounded < value)
        rounded *= 2;
    *out_value = rounded;
    return HAL_OK;
}

/* The core has checked the words. */
static enum capture_detail detail_of(const char *word)
{
    return strcmp(word, "none") == 0     ? CAPTURE_NOTHING
           : strcmp(word, "digest") == 0 ? CAPTURE_DIGEST
                                         : CAPTURE_BYTES;
}

static struct capture_policy policy_of(const struct hal_profiling_options *options)
{
    return (struct capture_policy){
        .contents = detail_of(options->contents),
        .outputs = detail_of(options->outputs),
        .files = strcmp(options->files, "fail") == 0        ? CAPTURE_FILES_FAIL
                 : strcmp(options->files, "reference") == 0 ? CAPTURE_FILES_REFERENCE
                 : strcmp(options->files, "all") == 0       ? CAPTURE_FILES_ALL
                                                            : CAPTURE_FILES_RANGES,
        .budget_bytes = options->budget_bytes,
    };
}

static enum hal_status read_options(const struct hal_profiling_options *options,
                                    struct capture_stream_options *out_options)
{
    uint64_t staging_mib, ring_kib;
    HAL_TRY(read_size("HAL_DEVICE_PROFILING_STAGING_MIB", DEFAULT_STAGING_MIB, 1,
                      LARGEST_STAGING_MIB, &staging_mib));
    HAL_TRY(read_size("HAL_DEVICE_PROFILING_RING_KIB", DEFAULT_RING_KIB, SMALLEST_RING_KIB,
                      LARGEST_RING_KIB, &ring_kib));
    *out_options =
        (struct capture_stream_options){.destination = options->file,
                                        .sidecar_folder = getenv("HAL_DEVICE_PROFILING_SIDECAR"),
                                        .start_ns = hal_clock_ns(),
                                        .staging_bytes = staging_mib << 20,
                                        .ring_bytes = ring_kib << 10,
                                        .policy = policy_of(options)};
    return HAL_OK;
}

/* A quarter of the memory, unless the environment specifies it. */
static enum hal_status read_copy_limit(uint64_t *out_bytes)
{
    uint64_t mib;
    HAL_TRY(read_size("HAL_DEVICE_PROFILING_COPIES_MIB", 0, 1, LARGEST_STAGING_MIB, &mib));
    const uint64_t memory = hal_memory_total_bytes();
    *out_bytes = mib ? mib << 20 : memory ? memory / 4 : (uint64_t)DEFAULT_COPIES_MIB << 20;
    return HAL_OK;
}

/* ---- Metadata about the process ---- */

struct process {
    char program[TRACE_PATH_BYTES];
    char host[256], system[512];
    char *command_line;
    const char **arguments;
    size_t argument_count;
};

static void read_command_line(struct process *process)
{
    const int descriptor = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    process->command_line = malloc(COMMAND_LINE_BYTES + 1);
    if (descriptor < 0 || !process->command_line) {
        if (descriptor >= 0)
            close(descriptor);
        return;
    }
    const ssize_t bytes = read(descriptor, process->command_line, COMMAND_LINE_BYTES);
    close(descriptor);
    const char *end = process->command_line + (bytes > 0 ? bytes : 0);
    size_t capacity = 0;
    for (char *at = process->command_line; at < end; at += strlen(at) + 1) {
        process->command_line[bytes] = '\0';
        if (!HAL_GROW(process->arguments, &capacity, process->argument_count + 1))
            return;
        process->arguments[process->argument_count++] = at;
    }
}

static void read_process(struct process *process)
{
    struct utsname system;
    memset(process, 0, sizeof *process);
    if (hal_program_path(process->program, sizeof process->program) != HAL_OK)
        snprintf(process->program, sizeof process->program, "unknown");
    if (gethostname(process->host, sizeof process->host - 1) != 0)
        process->host[0] = '\0';
    if (uname(&system) == 0)
        snprintf(process->system, sizeof process->system, "%s %s %s", system.sysname,
                 system.release, system.machine);
    read_command_line(process);
}

static void forget_process(struct process *process)
{
    free(process->arguments);
    free(process->command_line);
}

_Static_assert((int)TRACE_MAX_FORMATS == (int)HAL_MAX_FORMATS, "all of them fit");

static struct trace_device describe_device(const struct hal_device_info *info)
{
    struct trace_device described = {
        .uri = info->uri,
        .driver = info->driver,
        .name = info->name,
        .queue_count = info->queue_count,
        .simd_width = info->simd_width,
        .max_group_threads = info->max_workgroup_threads,
        .max_group_size = {info->max_workgroup_size[0], info->max_workgroup_size[1],
                           info->max_workgroup_size[2]},
        .max_group_memory_bytes = info->max_workgroup_memory_bytes,
        .max_buffer_bytes = info->max_buffer_bytes,
        .max_constant_bytes = info->max_constant_bytes,
        .worker_count = info->worker_count,
        .architecture = info->architecture,
        .features = info->features,
        .format_count = info->format_count,
    };
    for (uint32_t i = 0; i < info->format_count; i++)
        described.formats[i] = (uint32_t)info->formats[i];
    return described;
}

/* ---- Begin ---- */

enum hal_status capture_open_file(const struct capture *capture, const char *path,
                                  const struct hal_profiling_options *options, int64_t start_ns,
                                  bool late, struct trace_writer **out_writer)
{
    struct process process;
    read_process(&process);
    const struct trace_header header = {
        .writer = "haltrace " HAL_VERSION_STRING,
        .program = process.program,
        .arguments = process.arguments,
        .argument_count = process.argument_count,
        .process_id = (uint64_t)getpid(),
        .host = process.host,
        .system = process.system,
        .mode = options->mode,
        .stacks = options->stacks,
        .contents = options->contents,
        .outputs = options->outputs,
        .files = options->files,
        .budget_bytes = options->budget_bytes,
        .window = options->window,
        .last_ns = (uint64_t)options->last_ns,
        .base = options->base,
        .start_ns = start_ns,
        .start_wall_ns = hal_wall_clock_ns() - (hal_clock_ns() - start_ns),
        .late_start = late,
        .sidecar = capture->stream.sidecar.path,
        .device = describe_device(capture->core.device_info(capture->handle)),
    };
    const struct trace_writer_options writer = {.path = path,
                                                .force = options->force,
                                                .provisional = true,
                                                .base = options->base,
                                                .without_sha256 = true,
                                                .compression_level = 1};
    struct hal_size_guard guard;
    hal_size_guard_enter(&guard);
    const enum hal_status status = trace_writer_open(&writer, &header, out_writer);
    hal_size_guard_leave(&guard);
    forget_process(&process);
    return status;
}

static void finish_parts(struct capture *capture)
{
    capture_stacks_finish(&capture->stacks);
    capture_mappings_finish(&capture->mappings);
    capture_outputs_finish(capture);
    capture_inflight_finish(&capture->inflight);
    capture_external_finish(&capture->external);
    capture_flight_recorder_finish(capture);
    free(capture);
}

/* Modules, then what is alive. */
static enum hal_status record_beginning(struct capture *capture, bool late)
{
    struct capture_thread *thread = capture_enter(&capture->stream);
    if (thread && capture->records_stacks)
        capture_modules(&capture->stacks, thread);
    if (late)
        HAL_TRY(capture_snapshot(capture));
    return capture_stream_flush(&capture->stream);
}

/* Everything after the stream. The file gets its name last. */
static enum hal_status begin_file(struct capture *capture,
                                  const struct hal_profiling_options *options, int64_t start_ns)
{
    struct trace_writer *writer;
    const bool late = capture_snapshot_needed(capture);
    HAL_TRY(capture_open_file(capture, options->file, options, start_ns, late, &writer));
    HAL_TRY(capture_stream_start(&capture->stream, writer));
    enum hal_status status = record_beginning(capture, late);
    if (status == HAL_OK)
        status = trace_writer_publish(writer);
    if (status == HAL_OK)
        capture_sidecar_locate(&capture->stream.sidecar);
    capture->stream.has_file = status == HAL_OK;
    if (status != HAL_OK)
        capture_forget_objects(capture);
    return status;
}

static enum hal_status flush(struct hal_layer *layer)
{
    struct capture *capture = (struct capture *)((char *)layer - offsetof(struct capture, layer));
    if (capture_stream_forked(&capture->stream))
        return HAL_OK;
    return capture_stream_flush(&capture->stream);
}

/* A forked child has copies of everything, but no writer thread: the parent continues, and the
 * child's copy is never freed. */
static _Atomic(struct capture *) left_to_parent;

static enum hal_status end(struct hal_layer *layer)
{
    struct capture *capture = (struct capture *)((char *)layer - offsetof(struct capture, layer));
    if (capture_stream_forked(&capture->stream)) {
        atomic_store(&left_to_parent, capture);
        return HAL_OK;
    }
    capture_forget_objects(capture);
    const enum hal_status status = capture_stream_close(&capture->stream);
    finish_parts(capture);
    return status;
}

/* Work in flight keeps its entries, which name the capture: nothing is freed. */
static enum hal_status leave(struct hal_layer *layer)
{
    struct capture *capture = (struct capture *)((char *)layer - offsetof(struct capture, layer));
    if (capture_stream_forked(&capture->stream)) {
        atomic_store(&left_to_parent, capture);
        return HAL_OK;
    }
    capture_forget_objects(capture);
    return capture_stream_leave(&capture->stream);
}

/* Drivers that do not declare otherwise may pass work to a device that waits by itself. */
static bool waits_on_host(struct hal_driver_device *next)
{
    int64_t answer = 0;
    return next->ops->device_query(next, "waits.on.host", &answer) == HAL_OK && answer;
}

static enum hal_status create(const struct hal_core *core, struct hal_device *device,
                              struct hal_driver_device *next,
                              const struct hal_profiling_options *options, uint64_t copy_bytes,
                              struct capture **out_capture)
{
    if (core->abi != HAL_DRIVER_ABI || core->bytes < sizeof *core)
        return hal_fail(HAL_VERSION, "this capture module belongs to another version of libhal");
    struct capture *capture = hal_alloc(1, sizeof *capture);
    if (!capture)
        return hal_fail(HAL_NO_MEMORY, "no memory for a capture");
    capture->ops = capture_ops;
    if (strcmp(options->stacks, "command") == 0)
        capture->ops.note_command = capture_op_note_command;
    capture->device = (struct hal_driver_device){.ops = &capture->ops, .next = next};
    capture->layer = (struct hal_layer){.device = &capture->device,
                                        .flush = flush,
                                        .end = end,
                                        .leave = leave,
                                        .checkpoint = options->last_ns ? capture_checkpoint : NULL};
    capture->core = *core;
    capture->handle = device;
    capture_external_init(&capture->external, device);
    capture_inflight_init(&capture->inflight);
    capture->inflight.external = &capture->external;
    capture->inflight.others_may_signal = core->had_several_devices;
    capture->inflight.starts_ahead = !waits_on_host(next);
    capture_mappings_init(&capture->mappings);
    capture_outputs_init(&capture->outputs, strcmp(options->outputs, "all") == 0, copy_bytes);
    capture->times_dispatches = strcmp(options->mode, "queue") != 0;
    capture->records_stacks = strcmp(options->stacks, "none") != 0;
    const enum hal_status status =
        capture_stacks_init(&capture->stacks, (const void *)(uintptr_t)core->device_info);
    if (status != HAL_OK) {
        finish_parts(capture);
        return status;
    }
    *out_capture = capture;
    return HAL_OK;
}

enum hal_status hal_capture_begin(const struct hal_core *core, struct hal_device *device,
                                  struct hal_driver_device *next,
                                  const struct hal_profiling_options *options,
                                  struct hal_layer **out_layer)
{
    struct capture *capture = NULL;
    struct capture_stream_options stream;
    uint64_t copy_bytes;
    HAL_TRY(check_file(options->file));
    HAL_TRY(read_options(options, &stream));
    HAL_TRY(read_copy_limit(&copy_bytes));
    HAL_TRY(create(core, device, next, options, copy_bytes, &capture));
    enum hal_status status = capture_stream_open(&capture->stream, &stream);
    if (status == HAL_OK)
        status = capture_flight_recorder_init(capture, options);
    if (status == HAL_OK)
        status = begin_file(capture, options, stream.start_ns);
    if (status == HAL_OK) {
        *out_layer = &capture->layer;
        return HAL_OK;
    }
    const struct hal_kept_message kept = hal_keep_message();
    capture_stream_close(&capture->stream);
    finish_parts(capture);
    hal_restore_message(&kept, HAL_FAILED);
    return status;
}
