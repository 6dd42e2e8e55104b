/* SPDX-License-Identifier: Apache-2.0 */
/* Executable caches: where a driver keeps what it compiled, and many executables at once.
 *
 * Preparing: helpers take the next description, compile, and put the index into a list of what is
 * finished; the calling thread takes from there and reports, so that the application is called
 * without a lock and on its own thread. */
#include "hal/base/mem.h"
#include "hal/base/store.h"
#include "hal/base/text.h"
#include "hal/core/core.h"

#include <limits.h>

/* ---- Life --------------------------------------------------------------------------------- */

static void destroy(struct hal_executable_cache *cache)
{
    free(cache->label);
    free(cache->directory);
    free(cache);
}

static enum hal_status open_directory(struct hal_device *device, const char *wanted,
                                      struct hal_executable_cache *cache)
{
    const struct hal_driver_ops *ops = device->driver->ops;
    if (!ops->cache_open && wanted)
        return hal_fail(HAL_UNSUPPORTED,
                        "device '%s' does not store executables: not in '%s' either",
                        device->info.uri, wanted);
    if (!ops->cache_open)
        return HAL_OK;
    HAL_TRY(hal_device_enter(device));
    char path[PATH_MAX];
    const enum hal_status status = ops->cache_open(device->driver, wanted, path, sizeof path);
    hal_gate_leave(&device->gate);
    HAL_TRY(status);
    if (cache->max_bytes == 0)
        cache->max_bytes = hal_store_limit_bytes();
    cache->directory = hal_copy_string(path);
    return cache->directory
               ? HAL_OK
               : hal_fail(HAL_NO_MEMORY, "no memory for the name of the folder '%s'", path);
}

enum hal_status hal_executable_cache_create(struct hal_device *device,
                                            const struct hal_executable_cache_desc *desc,
                                            struct hal_executable_cache **out_cache)
{
    HAL_KNOW(hal_executable_cache_desc, desc);
    static const struct hal_executable_cache_desc usual;
    HAL_TRY(hal_check_device(device));
    HAL_TRY(hal_check_place(out_cache, "the executable cache"));
    desc = desc ? desc : &usual;
    const char *label = desc->label ? desc->label : "";
    HAL_TRY(hal_check_cache_desc(desc));
    struct hal_executable_cache *cache = hal_alloc(1, sizeof *cache);
    if (!cache)
        return hal_fail(HAL_NO_MEMORY, "no memory for executable cache '%s'", label);
    atomic_init(&cache->references, 1);
    cache->max_bytes = desc->max_bytes;
    enum hal_status status = hal_copy_label(desc->label, &cache->label);
    if (status == HAL_OK)
        status = hal_add_context(open_directory(device, desc->directory, cache),
                                 "executable cache '%s'", label);
    if (status != HAL_OK) {
        destroy(cache);
        return status;
    }
    cache->device = device;
    atomic_fetch_add_explicit(&device->references, 1, memory_order_relaxed);
    *out_cache = cache;
    return HAL_OK;
}

void hal_executable_cache_retain(struct hal_executable_cache *cache)
{
    if (cache)
        atomic_fetch_add_explicit(&cache->references, 1, memory_order_relaxed);
}

void hal_executable_cache_release(struct hal_executable_cache *cache)
{
    if (!cache || atomic_fetch_sub_explicit(&cache->references, 1, memory_order_acq_rel) != 1)
        return;
    struct hal_device *device = cache->device;
    destroy(cache);
    hal_device_unreference(device);
}

enum hal_status hal_executable_cache_get_info(struct hal_executable_cache *cache,
                                              struct hal_executable_cache_info *out_info)
{
    HAL_TRY(hal_check_cache(cache));
    HAL_TRY(hal_check_place(out_info, "the information about an executable cache"));
    struct hal_executable_cache_info info = {
        .label = cache->label,
        .directory = cache->directory,
        .max_bytes = cache->max_bytes,
        .prepared_count = atomic_load(&cache->prepared_count),
        .cache_hits = atomic_load(&cache->cache_hits),
    };
    struct hal_device *device = cache->device;
    if (cache->directory) {
        HAL_TRY(hal_device_enter(device));
        const enum hal_status status = device->driver->ops->cache_measure(
            device->driver, cache->directory, &info.used_bytes, &info.entry_count);
        hal_gate_leave(&device->gate);
        HAL_TRY(status);
    }
    return HAL_GIVE(hal_executable_cache_info, out_info, &info);
}

/* ---- Formats ------------------------------------------------------------------------------ */

static bool is_spirv(const uint8_t *data, size_t bytes)
{
    static const uint8_t little[4] = {3, 2, 0x23, 7}, big[4] = {7, 0x23, 2, 3};
    enum { HEADER_BYTES = 20 };
    return bytes >= HEADER_BYTES && bytes % 4 == 0 &&
           (memcmp(data, little, 4) == 0 || memcmp(data, big, 4) == 0);
}

/* UTF-8 without control characters but white space. */
static bool is_text(const uint8_t *data, size_t bytes)
{
    for (size_t i = 0; i < bytes;) {
        const uint8_t first = data[i];
        const size_t more = first < 0x80 ? 0 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
        if ((first >= 0x80 && first < 0xC2) || first > 0xF4 || more >= bytes - i ||
            (first < ' ' && (first < '\t' || first > '\r')) || first == 0x7F)
            return false;
        for (size_t k = 1; k <= more; k++) {
            if ((data[i + k] & 0xC0) != 0x80)
                return false;
        }
        i += more + 1;
    }
    return true;
}

enum hal_status hal_executable_infer_format(const void *data, size_t bytes,
                                            enum hal_executable_format *out_format)
{
    HAL_TRY(hal_check_place(out_format, "the format of an executable"));
    if (!data || bytes == 0)
        return hal_fail(HAL_INVALID, "an executable without data has no format");
    if (is_spirv(data, bytes))
        *out_format = HAL_FORMAT_SPIRV;
    else if (bytes >= 4 && memcmp(data, "MTLB", 4) == 0)
        *out_format = HAL_FORMAT_METALLIB;
    else if (is_text(data, bytes))
        *out_format = HAL_FORMAT_MSL;
    else
        return hal_fail(HAL_NOT_FOUND, "%s neither text (MSL) nor a SPIR-V module nor a metallib",
                        hal_count(bytes, "byte is", "bytes are").text);
    return HAL_OK;
}

/* ---- Preparing many ----------------------------------------------------------------------- */

struct item {
    enum hal_status status;
    char *message;
    struct hal_executable *executable;
};

struct preparation {
    struct hal_executable_cache *cache;
    bool only_compiles; /* no executables are made */
    const struct hal_executable_desc *descs;
    size_t count;
    struct item *items;
    _Atomic size_t next; /* the first one that is not taken */
    _Atomic bool is_cancelled;

    pthread_mutex_t lock; /* the next two */
    pthread_cond_t finished_one;
    size_t *finished; /* indices in the order in which they finished */
    size_t finished_count;
};

/* The first one holds the size of each of them. */
static const struct hal_executable_desc *desc_at(const struct hal_executable_desc *descs,
                                                 size_t index)
{
    const size_t bytes = descs->struct_size ? descs->struct_size : sizeof *descs;
    return (const void *)((const uint8_t *)descs + index * bytes);
}

static enum hal_status prepare_item(const struct preparation *preparation, size_t index,
                                    struct hal_executable **out_executable)
{
    const struct hal_executable_desc *given = desc_at(preparation->descs, index);
    HAL_KNOW(hal_executable_desc, given);
    struct hal_executable_desc desc = *given;
    desc.struct_size = sizeof desc;
    if (atomic_load(&preparation->is_cancelled))
        return hal_fail(HAL_FAILED, "executable '%s' was not prepared: preparation was cancelled",
                        desc.label ? desc.label : "");
    if (!desc.variant_count && !desc.format && desc.data && desc.bytes)
        HAL_TRY(hal_add_context(hal_executable_infer_format(desc.data, desc.bytes, &desc.format),
                                "executable '%s'", desc.label ? desc.label : ""));
    desc.cache = preparation->cache;
    return preparation->only_compiles
               ? hal_executable_compile(preparation->cache->device, &desc)
               : hal_executable_create(preparation->cache->device, &desc, out_executable);
}

/* Takes and prepares one; false: none left. */
static bool prepare_next(struct preparation *preparation)
{
    const size_t index = atomic_fetch_add(&preparation->next, 1);
    if (index >= preparation->count)
        return false;
    struct item *item = &preparation->items[index];
    item->status = prepare_item(preparation, index, &item->executable);
    if (item->status != HAL_OK)
        item->message = hal_copy_string(hal_message());
    pthread_mutex_lock(&preparation->lock);
    preparation->finished[preparation->finished_count++] = index;
    pthread_cond_signal(&preparation->finished_one);
    pthread_mutex_unlock(&preparation->lock);
    return true;
}

static void *help(void *argument)
{
    while (prepare_next(argument))
        continue;
    return NULL;
}

/* Without a helper the calling thread works itself. */
static size_t wait_for_next(struct preparation *preparation, size_t done, bool has_helpers)
{
    if (!has_helpers)
        (void)prepare_next(preparation);
    pthread_mutex_lock(&preparation->lock);
    while (preparation->finished_count == done)
        pthread_cond_wait(&preparation->finished_one, &preparation->lock);
    const size_t index = preparation->finished[done];
    pthread_mutex_unlock(&preparation->lock);
    return index;
}

static void report(struct preparation *preparation, const struct hal_prepare_options *options,
                   size_t index, size_t done)
{
    const struct item *item = &preparation->items[index];
    const struct hal_prepared prepared = {.struct_size = sizeof prepared,
                                          .index = index,
                                          .done_count = done,
                                          .count = preparation->count,
                                          .executable = item->executable,
                                          .status = item->status,
                                          .message = item->message ? item->message : ""};
    if (options->progress && !options->progress(options->user, &prepared))
        atomic_store(&preparation->is_cancelled, true);
}

static void run(struct preparation *preparation, const struct hal_prepare_options *options)
{
    enum { MOST_HELPERS = 64 };
    pthread_t helpers[MOST_HELPERS];
    size_t started = 0,
           wanted = options->thread_count ? options->thread_count : hal_processor_count();
    if (wanted > preparation->count)
        wanted = preparation->count;
    if (wanted > MOST_HELPERS)
        wanted = MOST_HELPERS;
    while (wanted > 1 && started < wanted) {
        if (hal_thread_start("hal-prepare", help, preparation, &helpers[started]) != HAL_OK)
            break;
        started++;
    }
    for (size_t done = 0; done < preparation->count; done++)
        report(preparation, options, wait_for_next(preparation, done, started > 0), done + 1);
    for (size_t i = 0; i < started; i++)
        hal_thread_join(helpers[i]);
}

/* Returns the results and the first failure. */
static enum hal_status collect(struct preparation *preparation,
                               struct hal_executable **out_executables,
                               enum hal_status *out_statuses)
{
    enum hal_status status = HAL_OK;
    for (size_t i = 0; i < preparation->count; i++) {
        struct item *item = &preparation->items[i];
        if (out_executables)
            out_executables[i] = item->executable;
        if (out_statuses)
            out_statuses[i] = item->status;
        if (status == HAL_OK && item->status != HAL_OK)
            status = hal_fail(item->status, "%s", item->message ? item->message : "");
        free(item->message);
    }
    return status;
}

/* `out_executables` NULL: they are only compiled. */
static enum hal_status prepare_all(struct hal_executable_cache *cache,
                                   const struct hal_executable_desc *descs, size_t count,
                                   const struct hal_prepare_options *options,
                                   struct hal_executable **out_executables,
                                   enum hal_status *out_statuses)
{
    HAL_KNOW(hal_prepare_options, options);
    static const struct hal_prepare_options usual;
    struct preparation preparation = {
        .cache = cache,
        .only_compiles = !out_executables,
        .descs = descs,
        .count = count,
        .items = hal_alloc(count, sizeof *preparation.items),
        .finished = hal_alloc(count, sizeof *preparation.finished),
    };
    enum hal_status status;
    pthread_mutex_init(&preparation.lock, NULL);
    pthread_cond_init(&preparation.finished_one, NULL);
    if (preparation.items && preparation.finished) {
        run(&preparation, options ? options : &usual);
        status = collect(&preparation, out_executables, out_statuses);
    } else {
        status = hal_fail(HAL_NO_MEMORY, "no memory to prepare %zu executables", count);
        for (size_t i = 0; out_statuses && i < count; i++)
            out_statuses[i] = status;
    }
    pthread_cond_destroy(&preparation.finished_one);
    pthread_mutex_destroy(&preparation.lock);
    free(preparation.items);
    free(preparation.finished);
    return status;
}

enum hal_status hal_executable_cache_prepare(struct hal_executable_cache *cache,
                                             const struct hal_executable_desc *descs, size_t count,
                                             const struct hal_prepare_options *options,
                                             struct hal_executable **out_executables,
                                             enum hal_status *out_statuses)
{
    HAL_TRY(hal_check_prepare(cache, descs, count));
    if (count && !out_executables)
        return hal_fail(HAL_INVALID, "executable cache '%s': %s for executables at NULL",
                        cache->label ? cache->label : "", hal_count(count, "place", "places").text);
    for (size_t i = 0; i < count; i++)
        out_executables[i] = NULL;
    return count ? prepare_all(cache, descs, count, options, out_executables, out_statuses)
                 : HAL_OK;
}

enum hal_status hal_executable_cache_compile(struct hal_executable_cache *cache,
                                             const struct hal_executable_desc *descs, size_t count,
                                             const struct hal_prepare_options *options,
                                             enum hal_status *out_statuses)
{
    HAL_TRY(hal_check_prepare(cache, descs, count));
    return prepare_all(cache, descs, count, options, NULL, out_statuses);
}
