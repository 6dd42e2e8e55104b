/* SPDX-License-Identifier: Apache-2.0 */
/* Devices, from opening to the last release, wherever that is, and scopes. Entry points check the
 * arguments, enter the gate, call the top of the chain, and complete the object. */
#include "hal/base/log.h"
#include "hal/base/mem.h"
#include "hal/core/core.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- Devices ------------------------------------------------------------------------------ */

static void destroy_device(struct hal_device *device)
{
    hal_profiling_finish(device);
    hal_capture_range_destroy(device);
    hal_flight_recorder_finish(device);
    hal_devices_remove(device);
    device->driver->ops->device_destroy(device->driver);
    hal_spare_arenas_free(device);
    hal_pool_finish(&device->pool);
    pthread_cond_destroy(&device->profiling_changed);
    pthread_mutex_destroy(&device->profiling_lock);
    pthread_mutex_destroy(&device->objects_lock);
    free(device);
}

static void *destroy_on_thread(void *device)
{
    destroy_device(device);
    hal_devices_let_exit();
    return NULL;
}

/* Devices share semaphores: the last object of one may go with work of another one, whose thread,
 * or the thread of its own that found this work ready, is the one that comes here. A thread of the
 * device would wait for its own end. */
static void end_device(struct hal_device *device)
{
    pthread_t thread;
    if (!hal_thread_is_ours()) {
        destroy_device(device);
        return;
    }
    hal_devices_hold_exit();
    if (hal_thread_start("hal-end", destroy_on_thread, device, &thread) == HAL_OK) {
        pthread_detach(thread);
        return;
    }
    hal_log(HAL_LOG_WARN, "device '%s' is not changed: %s", device->info.uri, hal_message());
    hal_devices_let_exit();
}

/* `driver` is taken over. */
static enum hal_status create_handle(struct hal_driver_device *driver,
                                     const struct hal_device_info *info,
                                     struct hal_caching *caching, struct hal_device **out_device)
{
    struct hal_device *device = aligned_alloc(
        _Alignof(struct hal_device), hal_align_up(sizeof *device, _Alignof(struct hal_device)));
    if (!device) {
        driver->ops->device_destroy(driver);
        return hal_fail(HAL_NO_MEMORY, "no memory for device '%s'", info->uri);
    }
    memset(device, 0, sizeof *device);
    device->driver = device->top = driver;
    device->info = *info;
    device->caching = caching;
    device->end = end_device;
    atomic_init(&device->handles, 1);
    atomic_init(&device->references, 1);
    atomic_init(&device->flight_recorder.due_ns, INT64_MAX);
    hal_pool_init(&device->pool);
    pthread_mutex_init(&device->objects_lock, NULL);
    pthread_mutex_init(&device->profiling_lock, NULL);
    hal_condition_init(&device->profiling_changed);
    hal_devices_add(device);
    *out_device = device;
    return HAL_OK;
}

/* Puts the cache before the driver, if it is wanted, and into the device's URI. */
static enum hal_status add_caching(struct hal_driver_device *driver, uint64_t bytes,
                                   struct hal_device_info *info, struct hal_caching **out_caching)
{
    *out_caching = NULL;
    if (!bytes)
        return HAL_OK;
    const size_t length = strlen(info->uri);
    snprintf(info->uri + length, sizeof info->uri - length, "%ccaching=%" PRIu64,
             strchr(info->uri, '?') ? '&' : '?', bytes);
    return hal_caching_create(driver, bytes, out_caching);
}

enum hal_status hal_device_create(struct hal_driver_device *driver,
                                  const struct hal_device_info *driver_info,
                                  const struct hal_settings *settings,
                                  struct hal_device **out_device)
{
    struct hal_device_info info = *driver_info;
    info.struct_size = sizeof info;
    struct hal_caching *caching;
    struct hal_device *device = NULL;
    const enum hal_status status = add_caching(driver, settings->caching_bytes, &info, &caching);
    if (status != HAL_OK) {
        driver->ops->device_destroy(driver);
        return status;
    }
    HAL_TRY(create_handle(driver, &info, caching, &device));
    hal_profiling_begin_from_settings(device, settings);
    hal_log(HAL_LOG_DEBUG, "opened device '%s'", info.uri);
    *out_device = device;
    return HAL_OK;
}

void hal_device_retain(struct hal_device *device)
{
    if (device)
        atomic_fetch_add_explicit(&device->handles, 1, memory_order_relaxed);
}

/* The driver's own references to objects end with the work. */
static void finish_work(struct hal_device *device)
{
    static const int64_t timeout_ns = 10000000000;
    while (device->driver->ops->device_wait_idle(device->driver, timeout_ns) == HAL_TIMEOUT)
        hal_log(HAL_LOG_WARN, "releasing device '%s': %s", device->info.uri, hal_message());
}

void hal_device_release(struct hal_device *device)
{
    if (!device || atomic_fetch_sub_explicit(&device->handles, 1, memory_order_acq_rel) != 1 ||
        atomic_load(&device->gate.state) == HAL_GATE_FORKED)
        return;
    finish_work(device);
    hal_transient_close(device);
    hal_profiling_finish(device);
    hal_device_unreference(device);
}

const struct hal_device_info *hal_device_get_info(const struct hal_device *device)
{
    return device ? &device->info : NULL;
}

enum hal_status hal_device_wait_idle(struct hal_device *device, int64_t timeout_ns)
{
    HAL_TRY(hal_check_device(device));
    const int64_t deadline_ns = hal_deadline_ns(timeout_ns);
    for (int64_t left_ns = timeout_ns;; left_ns = deadline_ns - hal_clock_ns()) {
        if (deadline_ns == HAL_FOREVER)
            left_ns = HAL_FOREVER;
        HAL_TRY(hal_device_enter(device));
        const enum hal_status status =
            device->top->ops->device_wait_idle(device->top, left_ns > 0 ? left_ns : 0);
        hal_gate_leave(&device->gate);
        /* A wait that ended before its time was interrupted for a change of the chain. */
        if (status != HAL_TIMEOUT || hal_clock_ns() >= deadline_ns)
            return status;
    }
}

enum hal_status hal_device_running(struct hal_device *device, struct hal_running *out_running)
{
    HAL_TRY(hal_check_device(device));
    HAL_TRY(hal_check_place(out_running, "the running dispatch"));
    struct hal_driver_device *const driver = device->driver;
    if (!driver->ops->device_running)
        return hal_fail(HAL_UNSUPPORTED, "device '%s' cannot report which dispatch is running",
                        device->info.uri);
    struct hal_running running = {0};
    HAL_TRY(hal_device_enter(device));
    const enum hal_status status = driver->ops->device_running(driver, &running);
    hal_gate_leave(&device->gate);
    HAL_TRY(status);
    return HAL_GIVE(hal_running, out_running, &running);
}

/* ---- Scopes ------------------------------------------------------------------------------- */

static void scope(struct hal_device *device, const char *name)
{
    if (!device || !atomic_load_explicit(&device->captured, memory_order_relaxed) ||
        !hal_gate_enter(&device->gate))
        return;
    if (device->top->ops->scope)
        device->top->ops->scope(device->top, name);
    hal_gate_leave(&device->gate);
}

void hal_scope_begin(struct hal_device *device, const char *name)
{
    if (device && device->range)
        hal_capture_range_scope_begin(device, name ? name : "");
    scope(device, name ? name : "");
}

void hal_scope_end(struct hal_device *device)
{
    scope(device, NULL);
    if (device && device->range)
        hal_capture_range_scope_end(device);
}
