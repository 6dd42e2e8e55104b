/* SPDX-License-Identifier: Apache-2.0 */
/* Entry points of devices, buffers, mappings and scopes: check the arguments, enter
 * the gate, call the top of the chain, complete the object. */
#include "hal/base/log.h"
#include "hal/base/mem.h"
#include "hal/core.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- All open devices ---------------------------------------------------------------------- */

static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t devices_changed = PTHREAD_COND_INITIALIZER;
static struct hal_device *first_open;
static uint32_t ending_count; /* devices that threads of their own destroy */

static void lock_before_fork(void)
{
    pthread_mutex_lock(&devices_lock);
}

static void unlock_in_parent(void)
{
    pthread_mutex_unlock(&devices_lock);
}

/* The child has neither the workers nor the capture's writer: it must not touch either. */
static void leave_devices_to_parent(void)
{
    for (struct hal_device *device = first_open; device; device = device->next_open) {
        atomic_store(&device->gate.state, HAL_GATE_FORKED);
        atomic_store(&device->captured, false);
    }
    first_open = NULL;
    ending_count = 0;
    pthread_mutex_unlock(&devices_lock);
}

static void watch_forks(void)
{
    pthread_atfork(lock_before_fork, unlock_in_parent, leave_devices_to_parent);
}

static void list_device(struct hal_device *device)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&devices_lock);
    device->next_open = first_open;
    first_open = device;
    pthread_mutex_unlock(&devices_lock);
}

static void unlist_device(struct hal_device *device)
{
    pthread_mutex_lock(&devices_lock);
    while (device->pins)
        pthread_cond_wait(&devices_changed, &devices_lock);
    struct hal_device **link = &first_open;
    while (*link && *link != device)
        link = &(*link)->next_open;
    if (*link)
        *link = device->next_open;
    pthread_mutex_unlock(&devices_lock);
}

void hal_each_device(void (*visit)(struct hal_device *device))
{
    pthread_mutex_lock(&devices_lock);
    for (struct hal_device *device = first_open; device; device = device->next_open) {
        device->pins++;
        pthread_mutex_unlock(&devices_lock);
        visit(device);
        pthread_mutex_lock(&devices_lock);
        device->pins--;
        pthread_cond_broadcast(&devices_changed);
    }
    pthread_mutex_unlock(&devices_lock);
}

/* ---- Devices ------------------------------------------------------------------------------ */

static void destroy_device(struct hal_device *device)
{
    hal_profiling_finish(device);
    hal_window_destroy(device);
    hal_recorder_finish(device);
    unlist_device(device);
    device->driver->ops->device_destroy(device->driver);
    hal_spare_arenas_free(device);
    hal_pool_finish(&device->pool);
    pthread_cond_destroy(&device->profiling_changed);
    pthread_mutex_destroy(&device->profiling_lock);
    pthread_mutex_destroy(&device->objects_lock);
    free(device);
}

static void *end_device(void *device)
{
    destroy_device(device);
    pthread_mutex_lock(&devices_lock);
    ending_count--;
    pthread_cond_broadcast(&devices_changed);
    pthread_mutex_unlock(&devices_lock);
    return NULL;
}

/* The process does not end in the middle of it. */
static void wait_for_endings(void)
{
    pthread_mutex_lock(&devices_lock);
    while (ending_count > 0)
        pthread_cond_wait(&devices_changed, &devices_lock);
    pthread_mutex_unlock(&devices_lock);
}

static void watch_exit(void)
{
    (void)atexit(wait_for_endings);
}

/* A thread of the device would wait for its own end. */
static void destroy_elsewhere(struct hal_device *device)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_t thread;
    pthread_once(&once, watch_exit);
    pthread_mutex_lock(&devices_lock);
    ending_count++;
    pthread_mutex_unlock(&devices_lock);
    if (hal_thread_start("hal-end", end_device, device, &thread) == HAL_OK) {
        pthread_detach(thread);
        return;
    }
    hal_log(HAL_LOG_WARN, "device '%s' stays as it is: %s", device->info.uri, hal_message());
    pthread_mutex_lock(&devices_lock);
    ending_count--;
    pthread_mutex_unlock(&devices_lock);
}

/* Devices share semaphores: the last object of one may go with work of another one, whose thread,
 * or the thread of its own that found this work ready, is the one that comes here. */
void hal_device_unreference(struct hal_device *device)
{
    if (atomic_fetch_sub_explicit(&device->references, 1, memory_order_acq_rel) != 1)
        return;
    if (hal_thread_is_ours())
        destroy_elsewhere(device);
    else
        destroy_device(device);
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
    atomic_init(&device->handles, 1);
    atomic_init(&device->references, 1);
    atomic_init(&device->recorder.due_ns, INT64_MAX);
    hal_pool_init(&device->pool);
    pthread_mutex_init(&device->objects_lock, NULL);
    pthread_mutex_init(&device->profiling_lock, NULL);
    hal_condition_init(&device->profiling_changed);
    list_device(device);
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

enum hal_status hal_device_open(const char *uri, struct hal_device **out_device)
{
    struct hal_settings settings;
    struct hal_device_info info = {0};
    struct hal_driver_device *driver;
    struct hal_caching *caching;
    struct hal_device *device = NULL;
    HAL_TRY(hal_check_place(out_device, "the device"));
    HAL_TRY(hal_settings_get(&settings));
    HAL_TRY(hal_driver_open(uri ? uri : settings.device, &info, &settings.caching_bytes, &driver));
    enum hal_status status = add_caching(driver, settings.caching_bytes, &info, &caching);
    if (status != HAL_OK) {
        driver->ops->device_destroy(driver);
        return status;
    }
    HAL_TRY(create_handle(driver, &info, caching, &device));
    status = hal_profiling_begin_from_settings(device);
    if (status != HAL_OK) {
        hal_device_unreference(device);
        return hal_add_context(status, "device '%s' cannot be captured", info.uri);
    }
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
    static const int64_t patience_ns = 10000000000;
    while (device->driver->ops->device_wait_idle(device->driver, patience_ns) == HAL_TIMEOUT)
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

static enum hal_status fail_forked(const struct hal_device *device)
{
    return hal_fail(HAL_DEVICE_LOST,
                    "device '%s' was opened before a fork and works in the parent process only",
                    device->info.uri);
}

enum hal_status hal_device_enter(struct hal_device *device)
{
    return hal_gate_enter(&device->gate) ? HAL_OK : fail_forked(device);
}

enum hal_status hal_device_check_here(const struct hal_device *device)
{
    return atomic_load(&device->gate.state) != HAL_GATE_FORKED ? HAL_OK : fail_forked(device);
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

/* ---- Buffers ------------------------------------------------------------------------------ */

struct hal_buffer_desc hal_buffer_desc_resolve(const struct hal_buffer_desc *desc)
{
    struct hal_buffer_desc full = *desc;
    if (full.memory == 0)
        full.memory = HAL_MEMORY_DEVICE_LOCAL | HAL_MEMORY_HOST_VISIBLE | HAL_MEMORY_HOST_COHERENT;
    if (full.memory & (HAL_MEMORY_HOST_COHERENT | HAL_MEMORY_HOST_CACHED))
        full.memory |= HAL_MEMORY_HOST_VISIBLE;
    if (full.usage == 0) {
        full.usage = HAL_USAGE_TRANSFER | HAL_USAGE_DISPATCH;
        if (full.memory & HAL_MEMORY_HOST_VISIBLE)
            full.usage |= HAL_USAGE_MAPPING;
    }
    return full;
}

enum hal_status hal_buffer_create(struct hal_device *device, const struct hal_buffer_desc *desc,
                                  struct hal_buffer **out_buffer)
{
    char *label;
    struct hal_buffer *buffer;
    HAL_TRY(hal_check_buffer_desc(device, desc));
    HAL_TRY(hal_check_place(out_buffer, "the buffer"));
    const struct hal_buffer_desc full = hal_buffer_desc_resolve(desc);
    HAL_TRY(hal_copy_label(desc->label, &label));
    enum hal_status status = hal_device_enter(device);
    if (status != HAL_OK)
        goto fail_label;
    status = device->top->ops->buffer_create(device->top, &full, &buffer);
    if (status != HAL_OK)
        goto fail_gate;
    hal_memory_come(device, buffer);
    hal_object_publish(&buffer->object, device, label);
    hal_gate_leave(&device->gate);
    *out_buffer = buffer;
    return HAL_OK;

fail_gate:
    hal_gate_leave(&device->gate);
fail_label:
    free(label);
    return status;
}

void hal_buffer_retain(struct hal_buffer *buffer)
{
    hal_object_retain(buffer ? &buffer->object : NULL);
}

void hal_buffer_release(struct hal_buffer *buffer)
{
    hal_object_release(buffer ? &buffer->object : NULL);
}

uint64_t hal_buffer_bytes(const struct hal_buffer *buffer)
{
    return buffer ? buffer->bytes : 0;
}

/* Both with the gate entered. */
static enum hal_status map_inside(struct hal_device *device, struct hal_buffer *buffer,
                                  uint32_t mode, uint64_t offset, uint64_t bytes,
                                  struct hal_mapping *out_mapping)
{
    *out_mapping =
        (struct hal_mapping){.buffer = buffer, .offset = offset, .bytes = bytes, .mode = mode};
    const enum hal_status status = device->top->ops->buffer_map(device->top, buffer, out_mapping);
    if (status == HAL_OK)
        hal_object_retain(&buffer->object);
    else
        *out_mapping = (struct hal_mapping){0};
    return status;
}

static enum hal_status unmap_inside(struct hal_device *device, struct hal_mapping *mapping)
{
    return device->top->ops->buffer_unmap(device->top, mapping);
}

/* The buffer stays: the caller has a reference. */
static void take_back(struct hal_device *device, struct hal_mapping *mapping)
{
    struct hal_buffer *buffer = mapping->buffer;
    (void)unmap_inside(device, mapping);
    *mapping = (struct hal_mapping){0};
    hal_buffer_release(buffer);
}

enum hal_status hal_buffer_map(struct hal_buffer *buffer, uint32_t mode, uint64_t offset,
                               uint64_t bytes, struct hal_mapping *out_mapping)
{
    HAL_TRY(hal_check_map(buffer, mode, offset, bytes));
    char name[HAL_OBJECT_NAME_BYTES];
    HAL_TRY(hal_add_context(hal_check_place(out_mapping, "the mapping"), "%s",
                            hal_object_name(&buffer->object, name)));
    if (bytes == HAL_WHOLE_BUFFER)
        bytes = buffer->bytes - offset;
    buffer = hal_root_of(buffer, &offset);
    struct hal_device *device = buffer->object.device;
    HAL_TRY(hal_device_enter(device));
    enum hal_status status = map_inside(device, buffer, mode, offset, bytes, out_mapping);
    if (status == HAL_OK) {
        status = hal_mapping_note(out_mapping);
        if (status != HAL_OK)
            take_back(device, out_mapping);
    }
    hal_gate_leave(&device->gate);
    return status;
}

enum hal_status hal_buffer_unmap(struct hal_mapping *mapping)
{
    HAL_TRY(hal_check_mapping(mapping, 0, 0));
    struct hal_buffer *buffer = mapping->buffer;
    struct hal_device *device = buffer->object.device;
    HAL_TRY(hal_device_enter(device));
    const enum hal_status status = unmap_inside(device, mapping);
    hal_mapping_forget(mapping);
    hal_gate_leave(&device->gate);
    *mapping = (struct hal_mapping){0};
    hal_buffer_release(buffer);
    return status;
}

enum hal_status hal_mapping_flush(struct hal_mapping *mapping, uint64_t offset, uint64_t bytes)
{
    HAL_TRY(hal_check_mapping(mapping, offset, bytes));
    if (bytes == HAL_WHOLE_BUFFER)
        bytes = mapping->bytes - offset;
    struct hal_device *device = mapping->buffer->object.device;
    HAL_TRY(hal_device_enter(device));
    const enum hal_status status =
        device->top->ops->mapping_flush(device->top, mapping, offset, bytes);
    hal_gate_leave(&device->gate);
    return status;
}

enum hal_status hal_mapping_invalidate(struct hal_mapping *mapping, uint64_t offset, uint64_t bytes)
{
    HAL_TRY(hal_check_mapping(mapping, offset, bytes));
    if (bytes == HAL_WHOLE_BUFFER)
        bytes = mapping->bytes - offset;
    struct hal_device *device = mapping->buffer->object.device;
    HAL_TRY(hal_device_enter(device));
    const enum hal_status status =
        device->top->ops->mapping_invalidate(device->top, mapping, offset, bytes);
    hal_gate_leave(&device->gate);
    return status;
}

/* Exactly one of `source` and `target` is given. The gate stays entered, so that a capture sees
 * all of it or nothing. */
static enum hal_status transfer(struct hal_buffer *buffer, uint32_t mode, uint64_t offset,
                                const void *source, void *target, uint64_t bytes)
{
    struct hal_mapping mapping;
    HAL_TRY(hal_check_map(buffer, mode, offset, bytes));
    HAL_TRY(hal_check_transfer_memory(buffer, source ? source : target, bytes));
    if (bytes == HAL_WHOLE_BUFFER)
        bytes = buffer->bytes - offset;
    buffer = hal_root_of(buffer, &offset);
    struct hal_device *device = buffer->object.device;
    HAL_TRY(hal_device_enter(device));
    enum hal_status status = map_inside(device, buffer, mode, offset, bytes, &mapping);
    if (status == HAL_OK) {
        if (source && device->top->ops->mapping_store)
            device->top->ops->mapping_store(device->top, &mapping, source);
        else if (source)
            memcpy(mapping.data, source, bytes);
        else if (target) /* NULL for no bytes */
            memcpy(target, mapping.data, bytes);
        status = unmap_inside(device, &mapping);
    }
    hal_gate_leave(&device->gate);
    if (mapping.buffer)
        hal_buffer_release(buffer);
    return status;
}

enum hal_status hal_buffer_write(struct hal_buffer *buffer, uint64_t offset, const void *data,
                                 uint64_t bytes)
{
    if (bytes == 0)
        return hal_check_range(buffer, offset, 0);
    return transfer(buffer, HAL_MAP_WRITE | HAL_MAP_DISCARD, offset, data, NULL, bytes);
}

enum hal_status hal_buffer_read(struct hal_buffer *buffer, uint64_t offset, void *out_data,
                                uint64_t bytes)
{
    if (bytes == 0)
        return hal_check_range(buffer, offset, 0);
    return transfer(buffer, HAL_MAP_READ, offset, NULL, out_data, bytes);
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
    if (device && device->window)
        hal_window_scope_begin(device, name ? name : "");
    scope(device, name ? name : "");
}

void hal_scope_end(struct hal_device *device)
{
    scope(device, NULL);
    if (device && device->window)
        hal_window_scope_end(device);
}
