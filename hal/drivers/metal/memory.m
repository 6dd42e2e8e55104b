/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers. Memory visible only to the device is private; memory visible to both is shared on
 * unified memory. On a device with its own memory, what is not coherent may be managed: host and
 * device have a copy each, and the driver knows which is stale. Small buffers come from heaps. */
#include "hal/base/mem.h"
#include "hal/base/text.h"
#import "hal/drivers/metal/queue.h"

#include <inttypes.h>
#include <unistd.h>

enum {
    HEAP_BYTES = 8 << 20,
    LARGEST_IN_HEAP = 128 << 10,
    COPY_ALIGNMENT = 4, /* of blit copies */
};

static const MTLResourceOptions heap_options[METAL_HEAP_KINDS] = {
    [METAL_HEAP_PRIVATE] = MTLResourceStorageModePrivate | MTLResourceHazardTrackingModeUntracked,
    [METAL_HEAP_SHARED] = MTLResourceStorageModeShared | MTLResourceHazardTrackingModeUntracked,
};

/* ---- Heaps -------------------------------------------------------------------------------- */

static struct metal_heap *create_heap(struct metal_device *device, enum metal_heap_kind kind)
{
    struct metal_heap *heap = hal_alloc(1, sizeof *heap);
    MTLHeapDescriptor *descriptor = [[MTLHeapDescriptor alloc] init];
    descriptor.size = HEAP_BYTES;
    descriptor.storageMode =
        kind == METAL_HEAP_PRIVATE ? MTLStorageModePrivate : MTLStorageModeShared;
    descriptor.hazardTrackingMode = MTLHazardTrackingModeUntracked;
    if (heap)
        heap->heap = [device->device newHeapWithDescriptor:descriptor];
    [descriptor release];
    if (heap && !heap->heap) {
        free(heap);
        return NULL;
    }
    if (heap)
        heap->heap.label = @"small buffers";
    return heap;
}

/* Takes the buffer's memory out of the heap if there is room. */
static void take_locked(struct metal_heap *heap, struct metal_buffer *buffer, MTLSizeAndAlign need,
                        enum metal_heap_kind kind)
{
    if ([heap->heap maxAvailableSizeWithAlignment:need.align] < need.size)
        return;
    buffer->buffer = [heap->heap newBufferWithLength:buffer->base.bytes options:heap_options[kind]];
    if (!buffer->buffer)
        return;
    heap->buffer_count++;
    buffer->heap = heap;
    buffer->heap_kind = kind;
}

/* Shared heaps exist where the processor and the GPU are one chip of Apple's. */
static bool has_heaps(const struct metal_device *device, enum metal_heap_kind kind)
{
    return kind == METAL_HEAP_PRIVATE ||
           (device->unified && [device->device supportsFamily:MTLGPUFamilyApple2]);
}

/* False: no heap has space and a new one cannot be created. */
static bool take_from_heap(struct metal_device *device, struct metal_buffer *buffer,
                           enum metal_heap_kind kind)
{
    struct metal_memory *memory = &device->memory;
    const MTLSizeAndAlign need =
        [device->device heapBufferSizeAndAlignWithLength:buffer->base.bytes
                                                 options:heap_options[kind]];
    pthread_mutex_lock(&memory->lock);
    for (struct metal_heap *heap = memory->heaps[kind]; heap && !buffer->heap; heap = heap->next)
        take_locked(heap, buffer, need, kind);
    struct metal_heap *fresh = buffer->heap ? NULL : create_heap(device, kind);
    if (fresh) {
        fresh->next = memory->heaps[kind];
        memory->heaps[kind] = fresh;
        take_locked(fresh, buffer, need, kind);
    }
    pthread_mutex_unlock(&memory->lock);
    return buffer->buffer != nil;
}

static void free_heap(struct metal_heap *heap)
{
    [heap->heap release];
    free(heap);
}

/* An empty heap is returned to Metal, unless it is the last one of its kind. */
static void give_to_heap(struct metal_device *device, struct metal_buffer *buffer)
{
    struct metal_memory *memory = &device->memory;
    struct metal_heap *heap = buffer->heap, *surplus = NULL;
    pthread_mutex_lock(&memory->lock);
    [buffer->buffer release];
    struct metal_heap **link = &memory->heaps[buffer->heap_kind];
    if (--heap->buffer_count == 0 && (*link)->next) {
        while (*link != heap)
            link = &(*link)->next;
        *link = heap->next;
        surplus = heap;
    }
    pthread_mutex_unlock(&memory->lock);
    if (surplus)
        free_heap(surplus);
}

void metal_memory_init(struct metal_device *device)
{
    pthread_mutex_init(&device->memory.lock, NULL);
}

void metal_memory_finish(struct metal_device *device)
{
    struct metal_memory *memory = &device->memory;
    for (size_t i = 0; i < METAL_HEAP_KINDS; i++) {
        while (memory->heaps[i]) {
            struct metal_heap *next = memory->heaps[i]->next;
            free_heap(memory->heaps[i]);
            memory->heaps[i] = next;
        }
    }
    pthread_mutex_destroy(&memory->lock);
}

/* ---- Buffers ------------------------------------------------------------------------------ */

static MTLStorageMode storage_for(const struct metal_device *device, uint32_t memory)
{
    if (!(memory & HAL_MEMORY_HOST_VISIBLE))
        return MTLStorageModePrivate;
    const bool managed = !device->unified && (memory & HAL_MEMORY_DEVICE_LOCAL) &&
                         !(memory & HAL_MEMORY_HOST_COHERENT);
    return managed ? MTLStorageModeManaged : MTLStorageModeShared;
}

/* What the caller asked for, and what else it got. */
static uint32_t memory_given(const struct metal_device *device, MTLStorageMode storage,
                             uint32_t wanted)
{
    if (storage == MTLStorageModePrivate)
        return wanted | HAL_MEMORY_DEVICE_LOCAL;
    if (storage == MTLStorageModeManaged)
        return wanted | HAL_MEMORY_DEVICE_LOCAL | HAL_MEMORY_HOST_CACHED;
    return wanted | HAL_MEMORY_HOST_COHERENT | HAL_MEMORY_HOST_CACHED |
           (device->unified ? (uint32_t)HAL_MEMORY_DEVICE_LOCAL : 0);
}

/* Blit copies of managed memory may go to the end of the last word. */
static NSUInteger length_of(const struct metal_buffer *buffer)
{
    return buffer->storage == MTLStorageModeManaged
               ? hal_align_up(buffer->base.bytes, COPY_ALIGNMENT)
               : buffer->base.bytes;
}

static enum hal_status allocate(struct metal_device *device, struct metal_buffer *buffer)
{
    static const MTLResourceOptions options[] = {
        [MTLStorageModeShared] = MTLResourceStorageModeShared,
        [MTLStorageModeManaged] = MTLResourceStorageModeManaged,
        [MTLStorageModePrivate] = MTLResourceStorageModePrivate,
    };
    const uint64_t limit = device->device.maxBufferLength;
    const enum metal_heap_kind kind =
        buffer->storage == MTLStorageModePrivate ? METAL_HEAP_PRIVATE : METAL_HEAP_SHARED;
    if (buffer->base.bytes > limit)
        return hal_fail(HAL_NO_MEMORY, "a buffer has at most %" PRIu64 " bytes", limit);
    if (buffer->base.bytes <= LARGEST_IN_HEAP && buffer->storage != MTLStorageModeManaged &&
        has_heaps(device, kind) && take_from_heap(device, buffer, kind))
        return HAL_OK;
    buffer->buffer = [device->device
        newBufferWithLength:length_of(buffer)
                    options:options[buffer->storage] | MTLResourceHazardTrackingModeUntracked];
    if (buffer->buffer)
        return HAL_OK;
    return hal_fail(HAL_NO_MEMORY,
                    "Metal has no memory for it: %" PRIu64 " bytes are in use, up to %" PRIu64
                    " are recommended",
                    (uint64_t)device->device.currentAllocatedSize,
                    (uint64_t)device->device.recommendedMaxWorkingSetSize);
}

enum hal_status metal_buffer_create(struct hal_driver_device *self,
                                    const struct hal_buffer_desc *desc, struct hal_buffer **out)
{
    struct metal_device *device = to_metal_device(self);
    struct metal_buffer *buffer = hal_alloc(1, sizeof *buffer);
    enum hal_status status = buffer ? hal_engine_check_buffer(&device->engine)
                                    : hal_fail(HAL_NO_MEMORY, "no memory for its struct");
    if (status == HAL_OK) {
        hal_object_init(&buffer->base.object, HAL_OBJECT_BUFFER);
        buffer->storage = storage_for(device, desc->memory);
        buffer->base.bytes = desc->bytes;
        buffer->base.memory = memory_given(device, buffer->storage, desc->memory);
        buffer->base.usage = desc->usage;
        @autoreleasepool {
            status = allocate(device, buffer);
            if (status == HAL_OK && desc->label)
                buffer->buffer.label = metal_string(desc->label);
        }
    }
    if (status == HAL_OK) {
        pthread_mutex_init(&buffer->reading, NULL);
        *out = &buffer->base;
        return HAL_OK;
    }
    free(buffer);
    return hal_add_context(status, "buffer '%s' of %s", desc->label ? desc->label : "",
                           hal_count(desc->bytes, "byte", "bytes").text);
}

/* Metal takes whole pages: those that hold the memory. */
enum hal_status metal_buffer_import(struct hal_driver_device *self,
                                    const struct hal_buffer_desc *desc, void *pointer,
                                    struct hal_buffer **out)
{
    struct metal_device *device = to_metal_device(self);
    const char *label = desc->label ? desc->label : "";
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), address = (uintptr_t)pointer;
    const NSUInteger origin = address % page;
    HAL_TRY(hal_add_context(hal_engine_check(&device->engine), "buffer '%s'", label));
    if (address % METAL_CHUNK_BYTES)
        return hal_fail(HAL_INVALID, "buffer '%s': imported memory at %p must be a multiple of %d",
                        label, pointer, METAL_CHUNK_BYTES);
    const NSUInteger most = device->device.maxBufferLength,
                     page_bytes = hal_align_up(origin + desc->bytes, page);
    if (desc->bytes > most || page_bytes > most)
        return hal_fail(HAL_NO_MEMORY,
                        "buffer '%s': the pages of its %s exceed Metal's limit of %s", label,
                        hal_count(desc->bytes, "byte", "bytes").text,
                        hal_count((uint64_t)most, "byte", "bytes").text);
    struct metal_buffer *buffer = hal_alloc(1, sizeof *buffer);
    if (!buffer)
        return hal_fail(HAL_NO_MEMORY, "no memory for buffer '%s'", label);
    @autoreleasepool {
        buffer->buffer =
            [device->device newBufferWithBytesNoCopy:(uint8_t *)pointer - origin
                                              length:page_bytes
                                             options:MTLResourceStorageModeShared |
                                                     MTLResourceHazardTrackingModeUntracked
                                         deallocator:nil];
        if (desc->label)
            buffer->buffer.label = metal_string(desc->label);
    }
    if (!buffer->buffer) {
        free(buffer);
        return hal_fail(HAL_NO_MEMORY, "buffer '%s': Metal cannot import %s at %p", label,
                        hal_count(desc->bytes, "byte", "bytes").text, pointer);
    }
    hal_object_init(&buffer->base.object, HAL_OBJECT_BUFFER);
    pthread_mutex_init(&buffer->reading, NULL);
    buffer->origin = origin;
    buffer->storage = MTLStorageModeShared;
    buffer->base.bytes = desc->bytes;
    buffer->base.memory = memory_given(device, buffer->storage, desc->memory);
    buffer->base.usage = desc->usage;
    buffer->base.imported = pointer;
    *out = &buffer->base;
    return HAL_OK;
}

void metal_buffer_rename(struct hal_driver_device *self, struct hal_buffer *buffer,
                         const char *label)
{
    (void)self;
    @autoreleasepool {
        to_metal_buffer(buffer)->buffer.label = label ? metal_string(label) : nil;
    }
}

void metal_buffer_destroy(struct metal_device *device, struct metal_buffer *buffer)
{
    if (buffer->heap)
        give_to_heap(device, buffer);
    else
        [buffer->buffer release];
    pthread_mutex_destroy(&buffer->reading);
    free(buffer);
}

id<MTLBuffer> metal_staging_create(struct metal_device *device, uint64_t bytes, const char *label)
{
    if (bytes > device->device.maxBufferLength)
        return nil;
    id<MTLBuffer> buffer = [device->device
        newBufferWithLength:bytes
                    options:MTLResourceStorageModeShared | MTLResourceCPUCacheModeWriteCombined |
                            MTLResourceHazardTrackingModeUntracked];
    if (label)
        buffer.label = metal_string(label);
    return buffer;
}

id<MTLBuffer> metal_scratch_create(struct metal_device *device, uint64_t bytes)
{
    return [device->device
        newBufferWithLength:bytes
                    options:MTLResourceStorageModeShared | MTLResourceHazardTrackingModeUntracked];
}

/* ---- Managed memory ----------------------------------------------------------------------- */

/* Runs one blit on its own queue, so that it never queues behind work that waits. */
static enum hal_status run_blit(struct metal_device *device,
                                void (^encode)(id<MTLBlitCommandEncoder> blit))
{
    id<MTLCommandBuffer> commands = [device->copies commandBuffer];
    id<MTLBlitCommandEncoder> blit = [commands blitCommandEncoder];
    if (!blit)
        return hal_fail(HAL_NO_MEMORY, "Metal provides no command buffer to read managed memory");
    encode(blit);
    [blit endEncoding];
    [commands commit];
    [commands waitUntilCompleted];
    if (commands.status == MTLCommandBufferStatusCompleted)
        return HAL_OK;
    return hal_fail(metal_error_status(commands.error), "reading managed memory: %s",
                    metal_error_text(commands.error));
}

/* All of it, for a mapping of the whole buffer: what else the host has written there is lost. */
static enum hal_status read_whole(struct metal_device *device, struct metal_buffer *buffer)
{
    id<MTLBuffer> whole = buffer->buffer;
    return run_blit(device, ^(id<MTLBlitCommandEncoder> blit) {
      [blit synchronizeResource:whole];
    });
}

/* Only the range: the host may have written and not flushed the rest. */
static enum hal_status read_range(struct metal_device *device, struct metal_buffer *buffer,
                                  uint64_t offset, uint64_t bytes)
{
    const uint64_t first = offset / COPY_ALIGNMENT * COPY_ALIGNMENT;
    const uint64_t size = hal_align_up(offset + bytes, COPY_ALIGNMENT) - first;
    id<MTLBuffer> source = buffer->buffer;
    id<MTLBuffer> copy = [device->device
        newBufferWithLength:size
                    options:MTLResourceStorageModeShared | MTLResourceHazardTrackingModeUntracked];
    if (!copy)
        return hal_fail(HAL_NO_MEMORY, "no memory for a copy of %" PRIu64 " bytes", size);
    const enum hal_status status = run_blit(device, ^(id<MTLBlitCommandEncoder> blit) {
      [blit copyFromBuffer:source sourceOffset:first toBuffer:copy destinationOffset:0 size:size];
    });
    if (status == HAL_OK)
        memcpy((uint8_t *)source.contents + offset,
               (const uint8_t *)copy.contents + (offset - first), bytes);
    [copy release];
    return status;
}

/* Nothing is stale only if everything was read and nothing was written meanwhile. The flag is
 * cleared before the writers are counted, and writers count themselves before they set it: one that
 * begins in between leaves it set. */
static enum hal_status read_back_locked(struct metal_device *device, struct metal_buffer *buffer,
                                        uint64_t offset, uint64_t bytes)
{
    char name[HAL_OBJECT_NAME_BYTES];
    enum hal_status status;
    if (bytes == 0 || !atomic_exchange(&buffer->host_stale, false))
        return HAL_OK;
    const bool whole = atomic_load(&buffer->writers) == 0 &&
                       bytes == buffer->base.bytes; /* work may begin on another part */
    @autoreleasepool {
        status = whole ? read_whole(device, buffer) : read_range(device, buffer, offset, bytes);
        status = hal_engine_note_loss(&device->engine, status);
    }
    if (!whole || status != HAL_OK)
        atomic_store(&buffer->host_stale, true);
    return hal_add_context(status, "%s", hal_object_name(&buffer->base.object, name));
}

/* ---- Mappings ----------------------------------------------------------------------------- */

/* Also what need not be read waits until the others have read: they may read all of it. */
static enum hal_status map_managed(struct metal_device *device, struct metal_buffer *buffer,
                                   const struct hal_mapping *mapping)
{
    enum hal_status status = HAL_OK;
    pthread_mutex_lock(&buffer->reading);
    if (!(mapping->mode & HAL_MAP_DISCARD))
        status = read_back_locked(device, buffer, mapping->offset, mapping->bytes);
    pthread_mutex_unlock(&buffer->reading);
    return status;
}

enum hal_status metal_buffer_map(struct hal_driver_device *self, struct hal_buffer *base,
                                 struct hal_mapping *out)
{
    struct metal_buffer *buffer = to_metal_buffer(base);
    if (buffer->storage == MTLStorageModeManaged)
        HAL_TRY(map_managed(to_metal_device(self), buffer, out));
    out->data = (uint8_t *)buffer->buffer.contents + buffer->origin + out->offset;
    return HAL_OK;
}

static void flush_range(struct metal_buffer *buffer, uint64_t offset, uint64_t bytes)
{
    if (buffer->storage == MTLStorageModeManaged && bytes > 0)
        [buffer->buffer didModifyRange:NSMakeRange(offset, bytes)];
}

/* What a persistent mapping did not flush, its user did not want to be seen. */
enum hal_status metal_buffer_unmap(struct hal_driver_device *self,
                                   const struct hal_mapping *mapping)
{
    (void)self;
    struct metal_buffer *buffer = to_metal_buffer(mapping->buffer);
    if ((mapping->mode & HAL_MAP_WRITE) && !(mapping->mode & HAL_MAP_PERSISTENT))
        flush_range(buffer, mapping->offset, mapping->bytes);
    return HAL_OK;
}

enum hal_status metal_mapping_flush(struct hal_driver_device *self,
                                    const struct hal_mapping *mapping, uint64_t offset,
                                    uint64_t bytes)
{
    (void)self;
    flush_range(to_metal_buffer(mapping->buffer), mapping->offset + offset, bytes);
    return HAL_OK;
}

enum hal_status metal_mapping_invalidate(struct hal_driver_device *self,
                                         const struct hal_mapping *mapping, uint64_t offset,
                                         uint64_t bytes)
{
    struct metal_buffer *buffer = to_metal_buffer(mapping->buffer);
    if (buffer->storage != MTLStorageModeManaged)
        return HAL_OK;
    pthread_mutex_lock(&buffer->reading);
    const enum hal_status status =
        read_back_locked(to_metal_device(self), buffer, mapping->offset + offset, bytes);
    pthread_mutex_unlock(&buffer->reading);
    return status;
}
