/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps freed buffers for whoever wants the same again. The driver's table is replaced by a copy in
 * which three entries are the cache's: whatever goes to the driver comes through here, behind all
 * layers, and nothing else costs a call more. */
#include "hal/core/caching.h"

#include "hal/base/mem.h"

#include <errno.h>

/* Few enough to look through all: what a program frees and wants again are a handful of sizes. */
enum { MAX_KEPT = 512 };

struct kept {
    uint64_t bytes;
    uint32_t memory, usage; /* as they were asked for */
    struct hal_buffer *buffer;
};

struct hal_caching {
    struct hal_driver_ops ops; /* first: found by the device's table */
    const struct hal_driver_ops *behind;
    struct hal_driver_device *device;
    pthread_mutex_t lock; /* nothing is called with it */
    uint64_t limit_bytes;
    struct hal_caching_statistics statistics;
    struct kept kept[MAX_KEPT]; /* the oldest first */
};

static struct hal_caching *caching_of(const struct hal_driver_device *device)
{
    return (struct hal_caching *)(uintptr_t)device->ops;
}

/* ---- What is kept -------------------------------------------------------------------------- */

static struct hal_buffer *remove_locked(struct hal_caching *caching, size_t index)
{
    struct hal_buffer *buffer = caching->kept[index].buffer;
    caching->statistics.cached_count--;
    caching->statistics.cached_bytes -= caching->kept[index].bytes;
    memmove(&caching->kept[index], &caching->kept[index + 1],
            (caching->statistics.cached_count - index) * sizeof caching->kept[0]);
    return buffer;
}

/* The one that was freed last: its memory is the most likely to be in the processor's caches. */
static struct hal_buffer *take(struct hal_caching *caching, const struct hal_buffer_desc *desc)
{
    struct hal_buffer *buffer = NULL;
    pthread_mutex_lock(&caching->lock);
    for (size_t i = caching->statistics.cached_count; i-- > 0 && !buffer;) {
        const struct kept *kept = &caching->kept[i];
        if (kept->bytes == desc->bytes && kept->memory == desc->memory &&
            kept->usage == desc->usage)
            buffer = remove_locked(caching, i);
    }
    caching->statistics.reused_count += buffer != NULL;
    pthread_mutex_unlock(&caching->lock);
    return buffer;
}

/* The oldest, if there are more bytes than that; NULL: there are not. */
static struct hal_buffer *take_surplus(struct hal_caching *caching, uint64_t bytes)
{
    struct hal_buffer *buffer = NULL;
    pthread_mutex_lock(&caching->lock);
    if (caching->statistics.cached_bytes > bytes)
        buffer = remove_locked(caching, 0);
    pthread_mutex_unlock(&caching->lock);
    return buffer;
}

static void destroy(struct hal_caching *caching, struct hal_buffer *buffer)
{
    caching->behind->object_destroy(caching->device, &buffer->object);
}

/* Down to `bytes`; whether anything was there that had to go. */
static bool shrink(struct hal_caching *caching, uint64_t bytes)
{
    struct hal_buffer *buffer;
    bool any = false;
    while ((buffer = take_surplus(caching, bytes))) {
        destroy(caching, buffer);
        any = true;
    }
    return any;
}

static void keep(struct hal_caching *caching, struct hal_buffer *buffer)
{
    const struct kept kept = {buffer->bytes, buffer->wanted_memory, buffer->usage, buffer};
    struct hal_buffer *oldest = NULL;
    pthread_mutex_lock(&caching->lock);
    if (caching->statistics.cached_count == MAX_KEPT)
        oldest = remove_locked(caching, 0);
    caching->kept[caching->statistics.cached_count++] = kept;
    caching->statistics.cached_bytes += kept.bytes;
    pthread_mutex_unlock(&caching->lock);
    if (oldest)
        destroy(caching, oldest);
    shrink(caching, caching->limit_bytes);
}

/* ---- Table --------------------------------------------------------------------------------- */

/* Another object with the same memory. */
static void begin_anew(struct hal_caching *caching, struct hal_buffer *buffer, const char *label)
{
    *buffer = (struct hal_buffer){.bytes = buffer->bytes,
                                  .memory = buffer->memory,
                                  .usage = buffer->usage,
                                  .wanted_memory = buffer->wanted_memory};
    hal_object_init(&buffer->object, HAL_OBJECT_BUFFER);
    if (caching->behind->buffer_rename)
        caching->behind->buffer_rename(caching->device, buffer, label);
}

typedef enum hal_status create_buffer(struct hal_driver_device *self,
                                      const struct hal_buffer_desc *desc, struct hal_buffer **out);

static enum hal_status create_with(struct hal_driver_device *self, create_buffer *create,
                                   const struct hal_buffer_desc *desc, struct hal_buffer **out)
{
    struct hal_caching *caching = caching_of(self);
    struct hal_buffer *buffer = take(caching, desc);
    if (buffer) {
        begin_anew(caching, buffer, desc->label);
        *out = buffer;
        return HAL_OK;
    }
    enum hal_status status = create(self, desc, out);
    if (status == HAL_NO_MEMORY && shrink(caching, 0))
        status = create(self, desc, out);
    if (status == HAL_OK)
        (*out)->wanted_memory = desc->memory;
    return status;
}

static enum hal_status buffer_create(struct hal_driver_device *self,
                                     const struct hal_buffer_desc *desc, struct hal_buffer **out)
{
    return create_with(self, caching_of(self)->behind->buffer_create, desc, out);
}

/* One that was kept may share its pages, which it says. */
static enum hal_status buffer_create_apart(struct hal_driver_device *self,
                                           const struct hal_buffer_desc *desc,
                                           struct hal_buffer **out)
{
    return create_with(self, caching_of(self)->behind->buffer_create_apart, desc, out);
}

static void object_destroy(struct hal_driver_device *self, struct hal_object *object)
{
    struct hal_caching *caching = caching_of(self);
    struct hal_buffer *buffer =
        object->kind == HAL_OBJECT_BUFFER ? (struct hal_buffer *)object : NULL;
    if (buffer && !buffer->imported && buffer->bytes <= caching->limit_bytes)
        keep(caching, buffer);
    else
        caching->behind->object_destroy(self, object);
}

static void device_destroy(struct hal_driver_device *self)
{
    struct hal_caching *caching = caching_of(self);
    shrink(caching, 0);
    self->ops = caching->behind;
    self->ops->device_destroy(self);
    pthread_mutex_destroy(&caching->lock);
    free(caching);
}

/* ---- The cache as a whole ------------------------------------------------------------------ */

enum hal_status hal_caching_create(struct hal_driver_device *driver, uint64_t limit_bytes,
                                   struct hal_caching **out_caching)
{
    struct hal_caching *caching = hal_alloc(1, sizeof *caching);
    if (!caching)
        return hal_fail(HAL_NO_MEMORY, "no memory for a cache of buffers");
    caching->behind = driver->ops;
    caching->device = driver;
    caching->limit_bytes = limit_bytes;
    pthread_mutex_init(&caching->lock, NULL);
    caching->ops = *driver->ops;
    caching->ops.buffer_create = buffer_create;
    if (caching->behind->buffer_create_apart)
        caching->ops.buffer_create_apart = buffer_create_apart;
    caching->ops.object_destroy = object_destroy;
    caching->ops.device_destroy = device_destroy;
    driver->ops = &caching->ops;
    *out_caching = caching;
    return HAL_OK;
}

void hal_caching_trim(struct hal_caching *caching)
{
    shrink(caching, 0);
}

struct hal_caching_statistics hal_caching_measure(struct hal_caching *caching)
{
    pthread_mutex_lock(&caching->lock);
    const struct hal_caching_statistics statistics = caching->statistics;
    pthread_mutex_unlock(&caching->lock);
    return statistics;
}

bool hal_caching_parse(const char *text, uint64_t *out_bytes)
{
    static const char units[] = "KMG";
    char *end;
    *out_bytes = 0;
    if (strcmp(text, "off") == 0)
        return true;
    errno = 0;
    const unsigned long long number = strtoull(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    const unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if (text[0] < '0' || text[0] > '9' || errno || end[unit != NULL] ||
        number > UINT64_MAX >> shift)
        return false;
    *out_bytes = number << shift;
    return true;
}
