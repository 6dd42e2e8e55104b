/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers and heaps. */
#import "hal/host_metal/metal.h"

#include <stdatomic.h>

MTLStorageMode hm_storage_mode(MTLResourceOptions options)
{
    return (options & MTLResourceStorageModeMask) >> MTLResourceStorageModeShift;
}

static MTLHazardTrackingMode hazard_mode(MTLResourceOptions options)
{
    return (options & MTLResourceHazardTrackingModeMask) >> MTLResourceHazardTrackingModeShift;
}

static MTLCPUCacheMode cache_mode(MTLResourceOptions options)
{
    return (options & MTLResourceCPUCacheModeMask) >> MTLResourceCPUCacheModeShift;
}

void hm_check_options(MTLResourceOptions options, const char *call)
{
    hm_check(hm_storage_mode(options) != MTLStorageModeMemoryless, "storage-mode",
             "%s: buffers cannot be memoryless", call);
    hm_check(hm_storage_mode(options) <= MTLStorageModePrivate &&
                 cache_mode(options) <= MTLCPUCacheModeWriteCombined &&
                 hazard_mode(options) <= MTLHazardTrackingModeTracked &&
                 options < (MTLResourceHazardTrackingModeMask << 1),
             "resource-options", "%s: 0x%lx are no resource options", call, options);
    hm_check(hm_storage_mode(options) != MTLStorageModePrivate ||
                 cache_mode(options) != MTLCPUCacheModeWriteCombined,
             "resource-options", "%s: private memory has no CPU cache mode", call);
}

/* Protection is by pages, so that each buffer needs some of its own then. */
NSUInteger hm_heap_alignment(void)
{
    return hm_modes()->use_resource ? HM_PAGE_BYTES : 256;
}

static enum hm_views views_of(MTLStorageMode mode)
{
    if (mode == MTLStorageModePrivate)
        return HM_DEVICE_ONLY;
    return mode == MTLStorageModeManaged && hm_modes()->managed ? HM_TWO_COPIES : HM_COHERENT;
}

static NSUInteger round_up(NSUInteger value, NSUInteger alignment)
{
    return (value + alignment - 1) / alignment * alignment;
}

/* ---- Buffers ------------------------------------------------------------------------------ */

@implementation HMBuffer
- (void)hm_addSpan
{
    _span = (struct hm_span){
        .device = _device_bytes, .bytes = round_up(_length, HM_PAGE_BYTES), .label = &_name};
    _has_span = YES;
    hm_span_add(&_span);
}
- (NSUInteger)length
{
    return _length;
}
- (uint64_t)gpuAddress
{
    return (uint64_t)(uintptr_t)_device_bytes;
}
- (void *)contents
{
    hm_check(_host != NULL, "storage-mode", "contents: %s has private storage", hm_name(self));
    return _host;
}
- (MTLResourceOptions)resourceOptions
{
    return _options;
}
- (MTLStorageMode)storageMode
{
    return hm_storage_mode(_options);
}
- (MTLCPUCacheMode)cpuCacheMode
{
    return cache_mode(_options);
}
- (MTLHazardTrackingMode)hazardTrackingMode
{
    return [self hm_isTracked] ? MTLHazardTrackingModeTracked : MTLHazardTrackingModeUntracked;
}
- (BOOL)hm_isTracked
{
    if (_heap) /* a heap is one resource for hazards, and untracked unless it was asked for */
        return hazard_mode(_heap->_options) == MTLHazardTrackingModeTracked;
    return hazard_mode(_options) != MTLHazardTrackingModeUntracked;
}
- (NSUInteger)allocatedSize
{
    return _heap ? round_up(_length, hm_heap_alignment()) : round_up(_length, HM_PAGE_BYTES);
}
- (id<MTLHeap>)heap
{
    return _heap;
}
- (NSUInteger)heapOffset
{
    return _heap_offset;
}
- (void)hm_checkRange:(NSRange)range call:(const char *)call
{
    hm_check(range.location <= _length && range.length <= _length - range.location,
             "range-out-of-bounds", "%s: bytes %lu to %lu of %s, which has %lu", call,
             range.location, range.location + range.length, hm_name(self), _length);
}
- (void)didModifyRange:(NSRange)range
{
    hm_check(self.storageMode == MTLStorageModeManaged, "storage-mode",
             "didModifyRange: %s does not have managed storage", hm_name(self));
    [self hm_checkRange:range call:"didModifyRange"];
    [self hm_copyToDevice:range];
}
- (void)hm_copyToDevice:(NSRange)range
{
    if (_two_copies) {
        hm_span_open(&_span, HM_WRITE);
        memcpy(_device_bytes + range.location, _host + range.location, range.length);
        hm_span_close(&_span, HM_WRITE);
    }
}
- (void)hm_copyToHost
{
    if (_two_copies)
        memcpy(_host, _device_bytes, _length);
}
- (void)addDebugMarker:(NSString *)marker range:(NSRange)range
{
    hm_check(marker != nil, "argument-is-nil", "addDebugMarker:range: without a marker");
    [self hm_checkRange:range call:"addDebugMarker:range:"];
}
- (void)removeAllDebugMarkers
{
}
- (MTLPurgeableState)setPurgeableState:(MTLPurgeableState)state
{
    hm_check(!_heap, "purgeable-state", "setPurgeableState: %s is part of a heap", hm_name(self));
    const MTLPurgeableState previous = _purgeable;
    if (state != MTLPurgeableStateKeepCurrent)
        _purgeable = state;
    return previous;
}
- (void)makeAliasable
{
    hm_check(_heap, "heap-misuse", "makeAliasable: %s is not part of a heap", hm_name(self));
    if (!_aliasable)
        [_heap hm_remove:self];
    _aliasable = YES;
}
- (BOOL)isAliasable
{
    return _aliasable;
}
- (void)dealloc
{
    hm_check(atomic_load(&_uses) == 0, "released-in-flight",
             "%s was released while a command buffer that does not retain it was not complete",
             hm_name(self));
    if (_has_span)
        hm_span_remove(&_span);
    if (_lent)
        hm_lent_destroy(_lent);
    if (_heap) {
        if (!_aliasable)
            [_heap hm_remove:self];
        [_heap release];
    } else if (_memory.device) {
        [_device hm_give:_memory.bytes];
        hm_memory_destroy(&_memory);
    }
    if (_deallocator) {
        _deallocator(_host, _length);
        [_deallocator release];
    }
    [super dealloc];
}
@end

@implementation HMDevice (Memory)
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options
{
    hm_check_options(options, "newBufferWithLength:options:");
    hm_check(length > 0, "empty-buffer", "newBufferWithLength:options: a buffer of 0 bytes");
    if (length > self.maxBufferLength)
        return nil;
    const NSUInteger bytes = round_up(length, HM_PAGE_BYTES);
    if (![self hm_take:bytes])
        return nil;
    HMBuffer *const buffer = [[HMBuffer alloc] hm_initWithDevice:self];
    if (!hm_memory_create(bytes, views_of(hm_storage_mode(options)), &buffer->_memory)) {
        [self hm_give:bytes];
        [buffer release];
        return nil;
    }
    buffer->_host = buffer->_memory.host;
    buffer->_device_bytes = buffer->_memory.device;
    buffer->_two_copies = buffer->_memory.two_copies;
    buffer->_length = length;
    buffer->_options = options;
    buffer->_purgeable = MTLPurgeableStateNonVolatile;
    [buffer hm_addSpan];
    return buffer;
}
- (id<MTLBuffer>)newBufferWithBytes:(const void *)bytes
                             length:(NSUInteger)length
                            options:(MTLResourceOptions)options
{
    hm_check(bytes != NULL, "argument-is-nil", "newBufferWithBytes:length:options: NULL");
    hm_check(hm_storage_mode(options) != MTLStorageModePrivate, "storage-mode",
             "newBufferWithBytes:length:options: private storage cannot begin with contents");
    HMBuffer *const buffer = [self newBufferWithLength:length options:options];
    if (buffer) {
        memcpy(buffer->_host, bytes, length);
        [buffer hm_copyToDevice:NSMakeRange(0, length)];
    }
    return buffer;
}
- (id<MTLBuffer>)newBufferWithBytesNoCopy:(void *)bytes
                                   length:(NSUInteger)length
                                  options:(MTLResourceOptions)options
                              deallocator:(void (^)(void *, NSUInteger))deallocator
{
    static const char call[] = "newBufferWithBytesNoCopy:length:options:deallocator:";
    hm_check_options(options, call);
    hm_check(bytes && (uintptr_t)bytes % HM_PAGE_BYTES == 0, "no-copy-alignment",
             "%s address %p is not at the begin of a page", call, bytes);
    hm_check(length > 0 && length % HM_PAGE_BYTES == 0, "no-copy-alignment",
             "%s %lu bytes are not whole pages of %d", call, length, HM_PAGE_BYTES);
    hm_check(hm_storage_mode(options) == MTLStorageModeShared, "storage-mode",
             "%s the host's memory can only be shared", call);
    if (length > self.maxBufferLength || ![self hm_take:length])
        return nil;
    HMBuffer *const buffer = [[HMBuffer alloc] hm_initWithDevice:self];
    buffer->_memory = (struct hm_memory){bytes, bytes, length, .borrowed = true};
    if (hm_modes()->use_resource && !hm_memory_create(length, HM_DEVICE_ONLY, &buffer->_memory)) {
        [buffer release];
        return nil;
    }
    buffer->_host = bytes;
    buffer->_device_bytes = buffer->_memory.device;
    buffer->_length = length;
    buffer->_options = options;
    buffer->_purgeable = MTLPurgeableStateNonVolatile;
    buffer->_deallocator = [deallocator copy];
    if (hm_modes()->use_resource) {
        buffer->_lent = hm_lent_create(bytes, buffer->_device_bytes, length);
        [buffer hm_addSpan];
    }
    return buffer;
}
- (MTLSizeAndAlign)heapBufferSizeAndAlignWithLength:(NSUInteger)length
                                            options:(MTLResourceOptions)options
{
    hm_check_options(options, "heapBufferSizeAndAlignWithLength:options:");
    return (MTLSizeAndAlign){round_up(length, hm_heap_alignment()), hm_heap_alignment()};
}
- (id<MTLHeap>)newHeapWithDescriptor:(MTLHeapDescriptor *)descriptor
{
    static const char call[] = "newHeapWithDescriptor";
    hm_check(descriptor != nil, "argument-is-nil", "%s: nil", call);
    hm_check_options(descriptor.resourceOptions, call);
    hm_check(descriptor.size > 0, "empty-buffer", "%s: a heap of 0 bytes", call);
    hm_check(descriptor.storageMode != MTLStorageModeManaged, "storage-mode",
             "%s: heaps cannot be managed", call);
    hm_check(descriptor.storageMode != MTLStorageModeShared ||
                 [self supportsFamily:MTLGPUFamilyApple2],
             "storage-mode", "%s: only Apple's GPUs have shared heaps", call);
    hm_check(descriptor.type != MTLHeapTypeSparse, "heap-misuse",
             "%s: sparse heaps are not part of the host Metal", call);
    const NSUInteger bytes = round_up(descriptor.size, HM_PAGE_BYTES);
    if (![self hm_take:bytes])
        return nil;
    HMHeap *const heap = [[HMHeap alloc] hm_initWithDevice:self];
    if (!hm_memory_create(bytes, views_of(descriptor.storageMode), &heap->_memory)) {
        [self hm_give:bytes];
        [heap release];
        return nil;
    }
    heap->_size = descriptor.size;
    heap->_options = descriptor.resourceOptions;
    heap->_type = descriptor.type;
    return heap;
}
@end

/* ---- Heaps -------------------------------------------------------------------------------- */

@implementation HMHeap
- (instancetype)hm_initWithDevice:(HMDevice *)device
{
    pthread_mutex_init(&_lock, NULL);
    return [super hm_initWithDevice:device];
}
- (MTLStorageMode)storageMode
{
    return hm_storage_mode(_options);
}
- (MTLCPUCacheMode)cpuCacheMode
{
    return cache_mode(_options);
}
- (MTLHazardTrackingMode)hazardTrackingMode
{
    return hazard_mode(_options) == MTLHazardTrackingModeTracked ? MTLHazardTrackingModeTracked
                                                                 : MTLHazardTrackingModeUntracked;
}
- (MTLResourceOptions)resourceOptions
{
    return _options;
}
- (MTLHeapType)type
{
    return _type;
}
- (NSUInteger)size
{
    return _size;
}
- (NSUInteger)allocatedSize
{
    return _memory.bytes;
}
- (NSUInteger)currentAllocatedSize
{
    return _memory.bytes;
}
- (MTLPurgeableState)setPurgeableState:(MTLPurgeableState)state
{
    (void)state;
    return MTLPurgeableStateNonVolatile;
}
- (NSUInteger)usedSize
{
    NSUInteger used = 0;
    pthread_mutex_lock(&_lock);
    for (size_t i = 0; i < _span_count; i++)
        used += _spans[i].bytes;
    pthread_mutex_unlock(&_lock);
    return used;
}
/* The gap before span `index`, whose begin is aligned. */
- (NSRange)hm_gapBefore:(size_t)index alignment:(NSUInteger)alignment
{
    const NSUInteger begin =
        round_up(index ? _spans[index - 1].offset + _spans[index - 1].bytes : 0, alignment);
    const NSUInteger end = index < _span_count ? _spans[index].offset : _size;
    return NSMakeRange(begin, end > begin ? end - begin : 0);
}
- (NSUInteger)maxAvailableSizeWithAlignment:(NSUInteger)alignment
{
    hm_check(alignment && (alignment & (alignment - 1)) == 0, "heap-misuse",
             "maxAvailableSizeWithAlignment: %lu is not a power of two", alignment);
    if (alignment < hm_heap_alignment())
        alignment = hm_heap_alignment();
    NSUInteger largest = 0;
    pthread_mutex_lock(&_lock);
    for (size_t i = 0; i <= _span_count; i++) {
        const NSRange gap = [self hm_gapBefore:i alignment:alignment];
        largest = gap.length > largest ? gap.length : largest;
    }
    pthread_mutex_unlock(&_lock);
    return largest;
}
/* First fit. Returns NO when no gap is large enough. */
- (BOOL)hm_place:(HMBuffer *)buffer bytes:(NSUInteger)bytes
{
    for (size_t i = 0; i <= _span_count; i++) {
        const NSRange gap = [self hm_gapBefore:i alignment:hm_heap_alignment()];
        if (gap.length < bytes)
            continue;
        hm_grow((void **)&_spans, _span_count, &_span_capacity, sizeof *_spans);
        memmove(_spans + i + 1, _spans + i, (_span_count - i) * sizeof *_spans);
        _spans[i] = (struct hm_heap_span){gap.location, bytes, buffer};
        _span_count++;
        buffer->_heap_offset = gap.location;
        return YES;
    }
    return NO;
}
/* Placement heaps leave order and overlap to their user: the list only names the buffers. */
- (void)hm_add:(HMBuffer *)buffer bytes:(NSUInteger)bytes offset:(NSUInteger)offset
{
    hm_grow((void **)&_spans, _span_count, &_span_capacity, sizeof *_spans);
    _spans[_span_count++] = (struct hm_heap_span){offset, bytes, buffer};
    buffer->_heap_offset = offset;
}
- (HMBuffer *)hm_newBufferWithLength:(NSUInteger)length
                             options:(MTLResourceOptions)options
                                call:(const char *)call NS_RETURNS_RETAINED
{
    hm_check_options(options, call);
    hm_check(length > 0, "empty-buffer", "%s a buffer of 0 bytes", call);
    hm_check(
        hm_storage_mode(options) == self.storageMode && cache_mode(options) == self.cpuCacheMode,
        "heap-misuse", "%s storage and cache mode differ from those of %s", call, hm_name(self));
    HMBuffer *const buffer = [[HMBuffer alloc] hm_initWithDevice:_device];
    buffer->_length = length;
    buffer->_options = options;
    buffer->_purgeable = MTLPurgeableStateNonVolatile;
    return buffer;
}
- (HMBuffer *)hm_placed:(HMBuffer *)buffer
{
    buffer->_heap = [self retain];
    buffer->_device_bytes = _memory.device + buffer->_heap_offset;
    buffer->_host = _memory.host ? _memory.host + buffer->_heap_offset : NULL;
    if (_type == MTLHeapTypeAutomatic) /* others may overlap */
        [buffer hm_addSpan];
    return buffer;
}
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options
{
    static const char call[] = "newBufferWithLength:options: (heap)";
    hm_check(_type == MTLHeapTypeAutomatic, "heap-misuse", "%s %s is a placement heap", call,
             hm_name(self));
    HMBuffer *const buffer = [self hm_newBufferWithLength:length options:options call:call];
    pthread_mutex_lock(&_lock);
    const BOOL placed = [self hm_place:buffer bytes:round_up(length, hm_heap_alignment())];
    pthread_mutex_unlock(&_lock);
    if (placed)
        return [self hm_placed:buffer];
    [buffer release];
    return nil;
}
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length
                             options:(MTLResourceOptions)options
                              offset:(NSUInteger)offset
{
    static const char call[] = "newBufferWithLength:options:offset:";
    hm_check(_type == MTLHeapTypePlacement, "heap-misuse", "%s %s is not a placement heap", call,
             hm_name(self));
    hm_check(offset % hm_heap_alignment() == 0, "heap-misuse",
             "%s offset %lu is not a multiple of %lu", call, offset, hm_heap_alignment());
    const NSUInteger bytes = round_up(length, hm_heap_alignment());
    hm_check(offset <= _size && length <= _size - offset, "range-out-of-bounds",
             "%s bytes %lu to %lu of %s, which has %lu", call, offset, offset + length,
             hm_name(self), _size);
    HMBuffer *const buffer = [self hm_newBufferWithLength:length options:options call:call];
    pthread_mutex_lock(&_lock);
    [self hm_add:buffer bytes:bytes offset:offset];
    pthread_mutex_unlock(&_lock);
    return [self hm_placed:buffer];
}
- (void)hm_remove:(HMBuffer *)buffer
{
    pthread_mutex_lock(&_lock);
    size_t i = 0;
    while (i < _span_count && _spans[i].buffer != buffer)
        i++;
    if (i < _span_count) {
        memmove(_spans + i, _spans + i + 1, (_span_count - i - 1) * sizeof *_spans);
        _span_count--;
    }
    pthread_mutex_unlock(&_lock);
}
/* A buffer that is just being deallocated has no references any more and is left out. */
- (NSArray *)hm_buffers
{
    NSMutableArray *const buffers = [NSMutableArray array];
    pthread_mutex_lock(&_lock);
    for (size_t i = 0; i < _span_count; i++)
        if (_spans[i].buffer.retainCount > 0)
            [buffers addObject:_spans[i].buffer];
    pthread_mutex_unlock(&_lock);
    return buffers;
}
- (void)dealloc
{
    if (_memory.device) {
        [_device hm_give:_memory.bytes];
        hm_memory_destroy(&_memory);
    }
    free(_spans);
    pthread_mutex_destroy(&_lock);
    [super dealloc];
}
@end
