/* SPDX-License-Identifier: Apache-2.0 */
/* Captures come and go: putting the capture module's layer into the chain and taking
 * it out again while the application runs, and at the process's end. */
#include "hal/base/log.h"
#include "hal/base/mem.h"
#include "hal/base/message.h"
#include "hal/base/run.h"
#include "hal/base/text.h"
#include "hal/core/core.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- What a layer is given ---------------------------------------------------------------- */

static const struct hal_device_info *device_info(const struct hal_device *device)
{
    return &device->info;
}

static const struct hal_core core = {
    .abi = HAL_DRIVER_ABI,
    .bytes = sizeof core,
    .device_info = device_info,
    .each_object = hal_objects_each,
    .object_name = hal_object_name,
    .each_mapping = hal_mappings_each,
    .object_retain = hal_object_retain,
    .object_release = hal_object_release,
    .had_several_devices = hal_had_several_devices,
};

/* ---- Turns and the chain ------------------------------------------------------------------ */

/* One begin, flush or end at a time on a device, without a lock. False: others take too long. */
static bool try_turn(struct hal_device *device, int64_t deadline_ns)
{
    bool is_late = false;
    pthread_mutex_lock(&device->profiling_lock);
    while (device->profiling_busy && !is_late)
        is_late =
            !hal_condition_wait(&device->profiling_changed, &device->profiling_lock, deadline_ns);
    const bool taken = !device->profiling_busy;
    device->profiling_busy = true;
    pthread_mutex_unlock(&device->profiling_lock);
    return taken;
}

static void take_turn(struct hal_device *device)
{
    (void)try_turn(device, HAL_FOREVER);
}

static enum hal_status late_turn(const struct hal_device *device)
{
    return hal_fail(HAL_TIMEOUT,
                    "another thread is beginning, flushing or ending a capture of '%s'",
                    device->info.uri);
}

static void end_turn(struct hal_device *device)
{
    pthread_mutex_lock(&device->profiling_lock);
    device->profiling_busy = false;
    pthread_cond_signal(&device->profiling_changed);
    pthread_mutex_unlock(&device->profiling_lock);
}

static int64_t time_left(int64_t deadline_ns)
{
    if (deadline_ns == HAL_FOREVER)
        return HAL_FOREVER;
    const int64_t left_ns = deadline_ns - hal_clock_ns();
    return left_ns > 0 ? left_ns : 0;
}

/* Waits until every call has left the chain; the gate then admits only destructions. */
static enum hal_status empty_chain(struct hal_device *device, int64_t deadline_ns)
{
    const struct hal_driver_ops *ops = device->driver->ops;
    ops->waits_interrupt(device->driver, true);
    const bool left = hal_gate_drain(&device->gate, deadline_ns);
    ops->waits_interrupt(device->driver, false);
    if (left)
        return HAL_OK;
    return hal_fail(HAL_TIMEOUT, "a call is still inside device '%s'", device->info.uri);
}

/* A lost device is idle. */
static bool is_idle(enum hal_status status)
{
    return status == HAL_OK || status == HAL_DEVICE_LOST;
}

/* Waits until every call has left the chain and the work in flight is done. Work may depend on what
 * a thread waiting at the gate does next (a host signal, a submission): so the gate opens again
 * after a while, and longer attempts alternate with short openings. */
static enum hal_status close_chain(struct hal_device *device, int64_t timeout_ns)
{
    static const int64_t first_try_ns = 50000000, opening_ns = 20000000,
                         warn_after_ns = 10000000000;
    const struct hal_driver_ops *ops = device->driver->ops;
    const int64_t deadline_ns = hal_deadline_ns(timeout_ns);
    int64_t warn_ns = hal_clock_ns() + warn_after_ns;
    for (int64_t try_ns = first_try_ns;; try_ns = hal_min_i64(2 * try_ns, warn_after_ns)) {
        HAL_TRY(empty_chain(device, deadline_ns));
        enum hal_status status =
            ops->device_wait_idle(device->driver, hal_min_i64(try_ns, time_left(deadline_ns)));
        if (is_idle(status)) {
            hal_gate_close(&device->gate);
            return HAL_OK;
        }
        hal_gate_open(&device->gate);
        if (status != HAL_TIMEOUT || time_left(deadline_ns) == 0)
            return status;
        status =
            ops->device_wait_idle(device->driver, hal_min_i64(opening_ns, time_left(deadline_ns)));
        if (!is_idle(status) && status != HAL_TIMEOUT)
            return status;
        if (status == HAL_TIMEOUT && hal_clock_ns() >= warn_ns) {
            hal_log(HAL_LOG_WARN, "beginning or ending a capture of '%s': %s", device->info.uri,
                    hal_message());
            warn_ns = hal_clock_ns() + warn_after_ns;
        }
    }
}

/* ---- End ---------------------------------------------------------------------------------- */

/* For users who did not name the exact file: requested by flag or variable, numbered, or with the
 * program's name. hal-capture prints its own summary. */
static void announce_file(struct hal_device *device)
{
    const char *run = getenv(HAL_RUN_VARIABLE);
    struct stat info;
    if (device->announced_file && !(run && run[0]) && !hal_profiling_quiet() &&
        stat(device->announced_file, &info) == 0)
        hal_log_note("captured '%s' into '%s' (%s)", device->info.uri, device->announced_file,
                     hal_count((uint64_t)((long long)info.st_size), "byte", "bytes").text);
    free(device->announced_file);
    device->announced_file = NULL;
}

/* The same, and the next file is announced, too; NULL: none. */
static void announce_next(struct hal_device *device, const char *next)
{
    char *copy = device->announced_file && next ? hal_copy_string(next) : NULL;
    announce_file(device);
    device->announced_file = copy;
}

/* With the gate closed. */
static struct hal_layer *take_layer_out(struct hal_device *device)
{
    struct hal_layer *layer = device->layer;
    device->layer = NULL;
    device->top = device->driver;
    hal_flight_recorder_ended(device);
    atomic_store(&device->captured, false);
    return layer;
}

/* With the turn taken and a layer there. */
static enum hal_status end_capture(struct hal_device *device, int64_t timeout_ns)
{
    HAL_TRY(close_chain(device, timeout_ns));
    struct hal_layer *layer = take_layer_out(device);
    const enum hal_status status = layer->end(layer);
    hal_objects_reopen(device);
    announce_file(device);
    return status;
}

enum hal_status hal_profiling_checkpoint_now(struct hal_device *device, int64_t timeout_ns)
{
    enum hal_status status = HAL_OK;
    /* Whose turn it is may wait for the work of this very thread, and completes the file itself. */
    if (!try_turn(device, 0))
        return HAL_OK;
    if (device->layer && device->layer->checkpoint) {
        status = close_chain(device, timeout_ns);
        if (status == HAL_OK) {
            status = device->layer->checkpoint(device->layer);
            hal_objects_reopen(device);
        }
    }
    end_turn(device);
    return status;
}

void hal_profiling_finish(struct hal_device *device)
{
    take_turn(device);
    if (device->layer && end_capture(device, HAL_FOREVER) != HAL_OK)
        hal_log(HAL_LOG_ERROR, "ending the capture of '%s': %s", device->info.uri, hal_message());
    end_turn(device);
}

/* An exit does not wait for work, which may depend on threads that are gone. But a submission
 * leaves the device a moment after its signals: what has just ended must not count as in flight. */
static enum hal_status end_capture_at_exit(struct hal_device *device)
{
    static const int64_t longest_call_ns = 5000000000, longest_retiring_ns = 50000000;
    HAL_TRY(empty_chain(device, hal_deadline_ns(longest_call_ns)));
    const bool idle =
        is_idle(device->driver->ops->device_wait_idle(device->driver, longest_retiring_ns));
    hal_gate_close(&device->gate);
    struct hal_layer *layer = take_layer_out(device);
    const enum hal_status status = idle ? layer->end(layer) : layer->leave(layer);
    hal_objects_reopen(device);
    announce_file(device);
    if (!idle)
        hal_log(HAL_LOG_WARN,
                "the capture of '%s' is incomplete: the process exits with work in "
                "flight",
                device->info.uri);
    return status;
}

static void finish_at_exit(struct hal_device *device)
{
    take_turn(device);
    if (device->layer && end_capture_at_exit(device) != HAL_OK)
        hal_log(HAL_LOG_ERROR, "ending the capture of '%s': %s", device->info.uri, hal_message());
    if (device->layer && device->layer->flush(device->layer) != HAL_OK)
        hal_log(HAL_LOG_ERROR, "flushing the capture of '%s': %s", device->info.uri, hal_message());
    end_turn(device);
}

/* A program that leaves without releasing its device still gets a whole file. */
static void at_exit(void)
{
    hal_each_device(finish_at_exit);
}

static pthread_once_t exit_watched = PTHREAD_ONCE_INIT;

static void watch_exit(void)
{
    if (atexit(at_exit) != 0)
        hal_log(HAL_LOG_WARN, "exit() will not end captures");
}

/* ---- Begin -------------------------------------------------------------------------------- */

static enum hal_status being_captured(const struct hal_device *device)
{
    return hal_fail(HAL_EXISTS, "device '%s' is already being captured", device->info.uri);
}

/* A trace without the requested data would not show that it is missing. */
static enum hal_status check_mode(const struct hal_device *device, const char *mode)
{
    const struct hal_driver_ops *ops = device->driver->ops;
    int64_t timed = 0;
    if (strcmp(mode, "queue") == 0 ||
        (ops->device_query(device->driver, "dispatch.times", &timed) == HAL_OK && timed))
        return HAL_OK;
    return hal_fail(HAL_UNSUPPORTED,
                    "profiling mode '%s' needs the time of each dispatch, which device '%s' cannot "
                    "measure (supported: queue)",
                    mode, device->info.uri);
}

/* With the gate closed. */
static enum hal_status put_layer_in(struct hal_device *device, hal_layer_begin *begin,
                                    const struct hal_profiling_options *options)
{
    struct hal_layer *layer;
    const enum hal_status status = begin(&core, device, device->top, options, &layer);
    if (status == HAL_OK) {
        device->captures++;
        device->layer = layer;
        device->top = layer->device;
        atomic_store(&device->captured, true);
    }
    return status;
}

/* With the gate closed: what is claimed is made at once, so no process leaves a claim of a file
 * that it never made. Another process may take the name between its choice and its use. */
static enum hal_status put_numbered_in(struct hal_device *device,
                                       const struct hal_profiling_options *options, char *out_file,
                                       size_t bytes)
{
    static const unsigned most_tries = 100;
    struct hal_profiling_options full = *options;
    enum hal_status status = HAL_EXISTS;
    full.file = out_file;
    for (unsigned i = 0; i < most_tries && status == HAL_EXISTS; i++) {
        hal_layer_begin *begin;
        HAL_TRY(hal_name_claim(options, out_file, bytes));
        status = hal_capture_find(device, out_file, &begin);
        if (status == HAL_OK)
            status = put_layer_in(device, begin, &full);
        if (status == HAL_OK) {
            device->announced_file = hal_copy_string(out_file);
            return HAL_OK;
        }
        const struct hal_kept_message kept = hal_keep_message();
        hal_name_unused(out_file);
        hal_restore_message(&kept, status);
    }
    return status;
}

/* `wish` has no NULL but the file's name. `numbered`: into the first free file of that name. */
static enum hal_status begin_capture(struct hal_device *device,
                                     const struct hal_profiling_options *wish, bool numbered,
                                     int64_t timeout_ns)
{
    char file[PATH_MAX];
    hal_layer_begin *begin;
    struct hal_profiling_options options = *wish;
    if (device->layer)
        return being_captured(device);
    HAL_TRY(check_mode(device, options.mode));
    HAL_TRY(hal_capture_find(device, options.file ? options.file : "", &begin));
    HAL_TRY(close_chain(device, timeout_ns));
    if (numbered)
        options.file = file;
    const enum hal_status status = numbered ? put_numbered_in(device, wish, file, sizeof file)
                                            : put_layer_in(device, begin, &options);
    hal_objects_reopen(device);
    if (status == HAL_OK && device->layer->checkpoint)
        HAL_TRY(hal_flight_recorder_begun(device, &options));
    /* Handlers run in reverse order: ours must come before those that the module brought. */
    if (status == HAL_OK)
        pthread_once(&exit_watched, watch_exit);
    return status;
}

static enum hal_status begin_from(struct hal_device *device, const struct hal_settings *settings)
{
    const enum hal_capture_range_kind range = settings->range.kind;
    if (range != HAL_RANGE_NONE)
        HAL_TRY(hal_capture_range_create(device, settings));
    if (range != HAL_RANGE_NONE && range != HAL_RANGE_FLIGHT_RECORDER)
        return HAL_OK;
    take_turn(device);
    const enum hal_status status = begin_capture(device, &settings->options, true, HAL_FOREVER);
    end_turn(device);
    return status;
}

void hal_profiling_begin_from_settings(struct hal_device *device,
                                       const struct hal_settings *settings)
{
    if (settings->profiling && begin_from(device, settings) != HAL_OK)
        hal_profiling_tell_failure(device);
}

void hal_profiling_tell_failure(const struct hal_device *device)
{
    char text[HAL_MESSAGE_BYTES];
    snprintf(text, sizeof text, "device '%s' is not captured: %s", device->info.uri, hal_message());
    if (!hal_run_report(HAL_RUN_FAILED, text))
        hal_log(HAL_LOG_ERROR, "%s", text);
}

enum hal_status hal_profiling_begin_now(struct hal_device *device,
                                        const struct hal_profiling_options *options,
                                        int64_t timeout_ns)
{
    const int64_t deadline_ns = hal_deadline_ns(timeout_ns);
    if (!try_turn(device, deadline_ns))
        return late_turn(device);
    const enum hal_status status = begin_capture(device, options, true, time_left(deadline_ns));
    end_turn(device);
    return status;
}

enum hal_status hal_profiling_end_now(struct hal_device *device, int64_t timeout_ns)
{
    const int64_t deadline_ns = hal_deadline_ns(timeout_ns);
    if (!try_turn(device, deadline_ns))
        return late_turn(device);
    const enum hal_status status =
        device->layer ? end_capture(device, time_left(deadline_ns)) : HAL_OK;
    end_turn(device);
    return status;
}

/* ---- Entry points ------------------------------------------------------------------------- */

/* Fails in a forked child, where no turn could be taken. */
static enum hal_status enter_turn(struct hal_device *device, int64_t deadline_ns)
{
    HAL_TRY(hal_check_device(device));
    HAL_TRY(hal_device_check_here(device));
    return try_turn(device, deadline_ns) ? HAL_OK : late_turn(device);
}

static enum hal_status not_captured(const struct hal_device *device)
{
    return hal_fail(HAL_NOT_FOUND, "device '%s' is not being captured", device->info.uri);
}

enum hal_status hal_device_profiling_begin(struct hal_device *device,
                                           const struct hal_profiling_options *options,
                                           int64_t timeout_ns)
{
    HAL_KNOW(hal_profiling_options, options);
    struct hal_profiling_options full = options ? *options : (struct hal_profiling_options){0};
    const int64_t deadline_ns = hal_deadline_ns(timeout_ns);
    HAL_TRY(hal_profiling_complete(&full));
    HAL_TRY(enter_turn(device, deadline_ns));
    const int64_t left_ns = time_left(deadline_ns);
    const enum hal_status status = begin_capture(device, &full, !full.file, left_ns);
    end_turn(device);
    return status;
}

/* Completes the file, and continues the recording in the next one before anything else happens:
 * otherwise events in neither of the files would be lost. */
static enum hal_status continue_in(struct hal_device *device, hal_layer_begin *begin,
                                   const struct hal_profiling_options *options)
{
    struct hal_layer *layer = take_layer_out(device);
    const enum hal_status ended = layer->end(layer);
    const struct hal_kept_message kept = hal_keep_message();
    enum hal_status begun = put_layer_in(device, begin, options);
    hal_objects_reopen(device);
    announce_next(device, begun == HAL_OK ? options->file : NULL);
    if (begun == HAL_OK) {
        device->flight_recorder.goes_on = true;
        begun = hal_flight_recorder_begun(device, options);
        device->flight_recorder.goes_on = false;
    } else {
        const struct hal_kept_message failure = hal_keep_message();
        hal_name_unused(options->file);
        (void)hal_run_report(HAL_RUN_FAILED, failure.text);
        begun = hal_restore_message(&failure, begun);
    }
    return begun != HAL_OK || ended == HAL_OK ? begun : hal_restore_message(&kept, ended);
}

static enum hal_status write_out(struct hal_device *device, int64_t timeout_ns)
{
    char file[PATH_MAX];
    hal_layer_begin *begin;
    struct hal_profiling_options options = device->flight_recorder.options;
    HAL_TRY(hal_capture_find(device, options.file, &begin));
    HAL_TRY(close_chain(device, timeout_ns));
    const enum hal_status status = hal_name_next(options.file, file, sizeof file);
    if (status != HAL_OK) {
        hal_objects_reopen(device);
        return status;
    }
    options.file = file;
    options.force = false;
    return continue_in(device, begin, &options);
}

enum hal_status hal_profiling_write_out_now(struct hal_device *device, int64_t timeout_ns)
{
    const int64_t deadline_ns = hal_deadline_ns(timeout_ns);
    if (!try_turn(device, deadline_ns))
        return late_turn(device);
    const bool records = device->layer && device->layer->checkpoint;
    const enum hal_status status = records ? write_out(device, time_left(deadline_ns)) : HAL_OK;
    end_turn(device);
    return status;
}

static enum hal_status flush_capture(struct hal_device *device, int64_t timeout_ns)
{
    if (!device->layer)
        return not_captured(device);
    return device->layer->checkpoint ? write_out(device, timeout_ns)
                                     : device->layer->flush(device->layer);
}

/* The deadline of the call. */
static enum hal_status find_deadline(int64_t *out_deadline_ns)
{
    int64_t limit_ns;
    HAL_TRY(hal_profiling_limit(&limit_ns));
    *out_deadline_ns = hal_deadline_ns(limit_ns);
    return HAL_OK;
}

enum hal_status hal_device_profiling_flush(struct hal_device *device)
{
    int64_t deadline_ns;
    HAL_TRY(find_deadline(&deadline_ns));
    HAL_TRY(enter_turn(device, deadline_ns));
    const enum hal_status status = flush_capture(device, time_left(deadline_ns));
    end_turn(device);
    return status;
}

enum hal_status hal_device_profiling_end(struct hal_device *device)
{
    int64_t deadline_ns;
    HAL_TRY(find_deadline(&deadline_ns));
    HAL_TRY(enter_turn(device, deadline_ns));
    const enum hal_status status =
        device->layer ? end_capture(device, time_left(deadline_ns)) : not_captured(device);
    end_turn(device);
    return status;
}
