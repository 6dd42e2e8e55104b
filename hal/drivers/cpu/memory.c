/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers. Host and device access one memory object through two mappings, so that host writes can
 * be distinguished from device writes. Small buffers are slots of shared objects. On systems
 * without memory objects, memory is private and has a single mapping. */
#include "hal/base/mem.h"
#include "hal/base/text.h"
#include "hal/drivers/cpu/cpu.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SLOTS_PER_SLAB = 64 };

struct cpu_slab {
    struct cpu_slab *next, *previous; /* in heap.open while a slot is free */
    uint8_t *device_view, *host_view;
    size_t bytes;
    uint64_t free_slots; /* bit i: slot i is free */
    uint32_t slot_class;
};

static size_t slot_bytes(uint32_t slot_class)
{
    return (size_t)1 << (slot_class + CPU_SMALLEST_SLOT_SHIFT);
}

static uint32_t class_of(uint64_t bytes)
{
    uint32_t slot_class = 0;
    while (slot_bytes(slot_class) < bytes)
        slot_class++;
    return slot_class;
}

/* ---- Memory objects ------------------------------------------------------------------------ */

static enum hal_status map_view(int descriptor, size_t bytes, uint8_t **out_view)
{
    void *view = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (view == MAP_FAILED)
        return hal_fail(HAL_NO_MEMORY, "cannot map %s: %s", hal_count(bytes, "byte", "bytes").text,
                        strerror(errno));
    *out_view = view;
    return HAL_OK;
}

/* Where a process can have no memory objects. No huge pages, as in shared memory: comparable. */
static enum hal_status map_private(size_t bytes, uint8_t **out_view)
{
    void *view = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (view == MAP_FAILED)
        return hal_fail(HAL_NO_MEMORY, "cannot map %s: %s", hal_count(bytes, "byte", "bytes").text,
                        strerror(errno));
#if defined(MADV_NOHUGEPAGE)
    (void)madvise(view, bytes, MADV_NOHUGEPAGE);
#endif
    *out_view = view;
    return HAL_OK;
}

/* Memory seen twice, or once when the host never looks: then both views are the same. The object
 * lives as long as a view, so that buffers keep no descriptor open. */
static enum hal_status create_views(size_t bytes, bool for_host, uint8_t **out_device_view,
                                    uint8_t **out_host_view)
{
    int descriptor;
    enum hal_status status = hal_shared_memory("hal-buffer", bytes, &descriptor);
    if (status == HAL_UNSUPPORTED) {
        status = map_private(bytes, out_device_view);
        *out_host_view = *out_device_view;
        return status;
    }
    HAL_TRY(status);
    status = map_view(descriptor, bytes, out_device_view);
    if (status == HAL_OK && for_host) {
        status = map_view(descriptor, bytes, out_host_view);
        if (status != HAL_OK)
            munmap(*out_device_view, bytes);
    } else if (status == HAL_OK) {
        *out_host_view = *out_device_view;
    }
    close(descriptor);
    return status;
}

static void destroy_views(uint8_t *device_view, uint8_t *host_view, size_t bytes)
{
    munmap(device_view, bytes);
    if (host_view != device_view)
        munmap(host_view, bytes);
}

static enum hal_status create_slab(uint32_t slot_class, struct cpu_slab **out_slab)
{
    struct cpu_slab *slab = hal_alloc(1, sizeof *slab);
    if (!slab)
        return hal_fail(HAL_NO_MEMORY, "no memory for a slab");
    slab->bytes = slot_bytes(slot_class) * SLOTS_PER_SLAB;
    slab->slot_class = slot_class;
    slab->free_slots = UINT64_MAX;
    const enum hal_status status =
        create_views(slab->bytes, true, &slab->device_view, &slab->host_view);
    if (status == HAL_OK)
        *out_slab = slab;
    else
        free(slab);
    return status;
}

static void destroy_slab(struct cpu_slab *slab)
{
    destroy_views(slab->device_view, slab->host_view, slab->bytes);
    free(slab);
}

/* ---- Heap --------------------------------------------------------------------------------- */

void cpu_heap_init(struct cpu_heap *heap, uint64_t limit_bytes)
{
    pthread_mutex_init(&heap->lock, NULL);
    heap->limit_bytes = limit_bytes;
}

void cpu_heap_finish(struct cpu_heap *heap)
{
    for (size_t i = 0; i < CPU_SLOT_CLASSES; i++) {
        while (heap->open[i]) {
            struct cpu_slab *next = heap->open[i]->next;
            destroy_slab(heap->open[i]);
            heap->open[i] = next;
        }
    }
    pthread_mutex_destroy(&heap->lock);
}

uint64_t cpu_heap_used_bytes(struct cpu_heap *heap)
{
    pthread_mutex_lock(&heap->lock);
    const uint64_t used = heap->used_bytes;
    pthread_mutex_unlock(&heap->lock);
    return used;
}

/* Pages fault in on first touch, too late to fail, so the limit is enforced here. */
static enum hal_status charge(struct cpu_heap *heap, uint64_t bytes)
{
    pthread_mutex_lock(&heap->lock);
    const uint64_t used = heap->used_bytes;
    const bool fits = hal_range_fits(used, bytes, heap->limit_bytes);
    if (fits)
        heap->used_bytes += bytes;
    pthread_mutex_unlock(&heap->lock);
    if (fits)
        return HAL_OK;
    return hal_fail(HAL_NO_MEMORY, "%" PRIu64 " of %s are in use", used,
                    hal_count(heap->limit_bytes, "byte", "bytes").text);
}

static void credit(struct cpu_heap *heap, uint64_t bytes)
{
    pthread_mutex_lock(&heap->lock);
    heap->used_bytes -= bytes;
    pthread_mutex_unlock(&heap->lock);
}

static void link_locked(struct cpu_heap *heap, struct cpu_slab *slab)
{
    struct cpu_slab **head = &heap->open[slab->slot_class];
    slab->previous = NULL;
    slab->next = *head;
    if (*head)
        (*head)->previous = slab;
    *head = slab;
}

static void unlink_locked(struct cpu_heap *heap, struct cpu_slab *slab)
{
    if (slab->previous)
        slab->previous->next = slab->next;
    else
        heap->open[slab->slot_class] = slab->next;
    if (slab->next)
        slab->next->previous = slab->previous;
}

static void take_slot_locked(struct cpu_heap *heap, struct cpu_slab *slab, uint32_t *out_slot)
{
    *out_slot = (uint32_t)__builtin_ctzll(slab->free_slots);
    slab->free_slots &= slab->free_slots - 1;
    if (!slab->free_slots)
        unlink_locked(heap, slab);
}

static enum hal_status take_slot(struct cpu_heap *heap, struct cpu_buffer *buffer,
                                 uint64_t least_bytes)
{
    const uint64_t bytes = buffer->base.bytes;
    const uint32_t slot_class = class_of(bytes > least_bytes ? bytes : least_bytes);
    pthread_mutex_lock(&heap->lock);
    struct cpu_slab *slab = heap->open[slot_class];
    if (slab)
        take_slot_locked(heap, slab, &buffer->slot);
    pthread_mutex_unlock(&heap->lock);
    if (!slab) {
        HAL_TRY(create_slab(slot_class, &slab));
        pthread_mutex_lock(&heap->lock);
        link_locked(heap, slab);
        take_slot_locked(heap, slab, &buffer->slot);
        pthread_mutex_unlock(&heap->lock);
    }
    const size_t offset = buffer->slot * slot_bytes(slot_class);
    buffer->slab = slab;
    buffer->device_view = slab->device_view + offset;
    buffer->host_view = slab->host_view + offset;
    return HAL_OK;
}

/* An empty slab is returned to the system, unless it is the last one of its class. */
static void give_slot(struct cpu_heap *heap, struct cpu_slab *slab, uint32_t slot)
{
    pthread_mutex_lock(&heap->lock);
    if (!slab->free_slots)
        link_locked(heap, slab);
    slab->free_slots |= (uint64_t)1 << slot;
    const bool last = !slab->next && !slab->previous;
    const bool surplus = slab->free_slots == UINT64_MAX && !last;
    if (surplus)
        unlink_locked(heap, slab);
    pthread_mutex_unlock(&heap->lock);
    if (surplus)
        destroy_slab(slab);
}

/* ---- Buffers ------------------------------------------------------------------------------ */

/* Slots are multiples of their size apart: one of a page begins and ends with one. */
static enum hal_status create_buffer(struct hal_driver_device *self,
                                     const struct hal_buffer_desc *desc, uint64_t least_slot_bytes,
                                     struct hal_buffer **out)
{
    struct cpu_device *device = to_cpu_device(self);
    struct cpu_heap *heap = &device->heap;
    struct cpu_buffer *buffer = hal_alloc(1, sizeof *buffer);
    enum hal_status status = buffer ? hal_engine_check_buffer(&device->engine)
                                    : hal_fail(HAL_NO_MEMORY, "no memory for its struct");
    if (status == HAL_OK)
        status = charge(heap, desc->bytes);
    if (status != HAL_OK)
        goto fail;
    hal_object_init(&buffer->base.object, HAL_OBJECT_BUFFER);
    buffer->base.bytes = desc->bytes;
    buffer->base.memory = desc->memory | HAL_MEMORY_DEVICE_LOCAL;
    if (desc->memory & HAL_MEMORY_HOST_VISIBLE)
        buffer->base.memory |= HAL_MEMORY_HOST_CACHED;
    buffer->base.usage = desc->usage;
    status = desc->bytes <= slot_bytes(CPU_SLOT_CLASSES - 1)
                 ? take_slot(heap, buffer, least_slot_bytes)
                 : create_views(desc->bytes, (desc->memory & HAL_MEMORY_HOST_VISIBLE) != 0,
                                &buffer->device_view, &buffer->host_view);
    if (status != HAL_OK)
        goto fail_charge;
    *out = &buffer->base;
    return HAL_OK;

fail_charge:
    credit(heap, desc->bytes);
fail:
    free(buffer);
    return hal_add_context(status, "buffer '%s' of %s", desc->label ? desc->label : "",
                           hal_count(desc->bytes, "byte", "bytes").text);
}

enum hal_status cpu_buffer_create(struct hal_driver_device *self,
                                  const struct hal_buffer_desc *desc, struct hal_buffer **out)
{
    return create_buffer(self, desc, 0, out);
}

enum hal_status cpu_buffer_create_apart(struct hal_driver_device *self,
                                        const struct hal_buffer_desc *desc, struct hal_buffer **out)
{
    const enum hal_status status = create_buffer(self, desc, (uint64_t)sysconf(_SC_PAGESIZE), out);
    if (status == HAL_OK)
        (*out)->is_apart = true;
    return status;
}

/* Kernels read up to 16 bytes at once. */
enum { IMPORT_ALIGNMENT = 16 };

enum hal_status cpu_buffer_import(struct hal_driver_device *self,
                                  const struct hal_buffer_desc *desc, void *pointer,
                                  struct hal_buffer **out)
{
    const char *label = desc->label ? desc->label : "";
    HAL_TRY(hal_add_context(hal_engine_check(&to_cpu_device(self)->engine), "buffer '%s'", label));
    if ((uintptr_t)pointer % IMPORT_ALIGNMENT)
        return hal_fail(HAL_INVALID, "buffer '%s': imported memory at %p must be a multiple of %d",
                        label, pointer, IMPORT_ALIGNMENT);
    struct cpu_buffer *buffer = hal_alloc(1, sizeof *buffer);
    if (!buffer)
        return hal_fail(HAL_NO_MEMORY, "no memory for buffer '%s'", label);
    hal_object_init(&buffer->base.object, HAL_OBJECT_BUFFER);
    buffer->base.bytes = desc->bytes;
    buffer->base.memory = desc->memory | HAL_MEMORY_DEVICE_LOCAL | HAL_MEMORY_HOST_CACHED;
    buffer->base.usage = desc->usage;
    buffer->base.imported = buffer->device_view = buffer->host_view = pointer;
    *out = &buffer->base;
    return HAL_OK;
}

void cpu_buffer_destroy(struct cpu_heap *heap, struct cpu_buffer *buffer)
{
    if (buffer->base.imported) {
        free(buffer);
        return;
    }
    if (buffer->slab)
        give_slot(heap, buffer->slab, buffer->slot);
    else
        destroy_views(buffer->device_view, buffer->host_view, buffer->base.bytes);
    credit(heap, buffer->base.bytes);
    free(buffer);
}

enum hal_status cpu_buffer_map(struct hal_driver_device *self, struct hal_buffer *buffer,
                               struct hal_mapping *out)
{
    (void)self;
    out->data = to_cpu_buffer(buffer)->host_view + out->offset;
    return HAL_OK;
}
