/* SPDX-License-Identifier: Apache-2.0 */
/* The device's clock, and counter sample buffers: timestamps at the boundaries of encoders. */
#import "hal/host_metal/metal.h"

#include <stdatomic.h>
#include <time.h>

MTLCommonCounter const MTLCommonCounterTimestamp = @"GPUTimestamp";
MTLCommonCounterSet const MTLCommonCounterSetTimestamp = @"timestamp";
NSErrorDomain const MTLCounterErrorDomain = @"MTLCounterErrorDomain";

enum { GPU_CLOCK_ORIGIN = 1000000 };

uint64_t hm_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

/* 24 MHz: 3 ticks in 125 ns. */
MTLTimestamp hm_device_time(uint64_t ns)
{
    return hm_modes()->gpu_clock ? ns / 125 * 3 + ns % 125 * 3 / 125 + GPU_CLOCK_ORIGIN : ns;
}

@interface HMCounter : NSObject <MTLCounter>
@end
@implementation HMCounter
- (NSString *)name
{
    return MTLCommonCounterTimestamp;
}
@end

/* The only one: timestamps. */
@interface HMCounterSet : NSObject <MTLCounterSet>
@end
@implementation HMCounterSet
- (NSString *)name
{
    return MTLCommonCounterSetTimestamp;
}
- (NSArray<id<MTLCounter>> *)counters
{
    HMCounter *const counter = [[[HMCounter alloc] init] autorelease];
    return [NSArray arrayWithObject:counter];
}
@end

static _Atomic int buffer_count;

@implementation HMCounterSampleBuffer
- (NSUInteger)sampleCount
{
    return _count;
}
- (void)hm_sample:(NSUInteger)index time:(uint64_t)ns
{
    static _Atomic uint64_t count;
    const bool lost = hm_every_nth(&count, hm_modes()->lost_samples);
    atomic_store(&_samples[index], lost ? MTLCounterErrorValue : hm_device_time(ns));
}
- (NSData *)resolveCounterRange:(NSRange)range
{
    hm_check(_storage == MTLStorageModeShared, "storage-mode",
             "resolveCounterRange: %s has private storage", hm_name(self));
    hm_check(range.location <= _count && range.length <= _count - range.location,
             "range-out-of-bounds", "resolveCounterRange: samples %lu to %lu of %s, which has %lu",
             range.location, range.location + range.length, hm_name(self), _count);
    MTLCounterResultTimestamp *const results = host_metal_allocate(range.length * sizeof *results);
    for (NSUInteger i = 0; i < range.length; i++)
        results[i].timestamp = atomic_load(&_samples[range.location + i]);
    NSData *const data = [NSData dataWithBytes:results length:range.length * sizeof *results];
    free(results);
    return data;
}
- (void)dealloc
{
    atomic_fetch_sub(&buffer_count, 1);
    free(_samples);
    [super dealloc];
}
@end

@implementation HMDevice (Counters)
- (NSArray<id<MTLCounterSet>> *)counterSets
{
    if (hm_modes()->no_counters)
        return nil;
    HMCounterSet *const set = [[[HMCounterSet alloc] init] autorelease];
    return [NSArray arrayWithObject:set];
}
- (id<MTLCounterSampleBuffer>)newCounterSampleBufferWithDescriptor:
                                  (MTLCounterSampleBufferDescriptor *)descriptor
                                                             error:(NSError **)error
{
    static const char call[] = "newCounterSampleBufferWithDescriptor";
    hm_check(descriptor && descriptor.counterSet, "argument-is-nil", "%s without a counter set",
             call);
    hm_check(descriptor.storageMode == MTLStorageModeShared ||
                 descriptor.storageMode == MTLStorageModePrivate,
             "storage-mode", "%s: sample buffers are shared or private", call);
    const NSUInteger count = descriptor.sampleCount;
    if (count == 0 || count > HM_MAX_SAMPLES) {
        if (error)
            *error = host_metal_error(
                MTLCounterErrorDomain,
                count ? MTLCounterSampleBufferErrorOutOfMemory : MTLCounterSampleBufferErrorInvalid,
                [NSString stringWithFormat:@"a sample buffer of %lu samples; 1 to %d are supported",
                                           count, HM_MAX_SAMPLES]);
        return nil;
    }
    if (atomic_fetch_add(&buffer_count, 1) >= HM_MAX_SAMPLE_BUFFERS) {
        atomic_fetch_sub(&buffer_count, 1);
        if (error)
            *error = host_metal_error(MTLCounterErrorDomain, MTLCounterSampleBufferErrorOutOfMemory,
                                      @"Cannot allocate sample buffer");
        return nil;
    }
    HMCounterSampleBuffer *const buffer = [[HMCounterSampleBuffer alloc] hm_initWithDevice:self];
    buffer->_samples = host_metal_allocate(count * sizeof *buffer->_samples);
    for (NSUInteger i = 0; i < count; i++)
        atomic_init(&buffer->_samples[i], MTLCounterErrorValue);
    buffer->_count = count;
    buffer->_storage = descriptor.storageMode;
    buffer.label = descriptor.label;
    return buffer;
}
@end
