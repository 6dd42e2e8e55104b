/* SPDX-License-Identifier: Apache-2.0 */
/* Devices: their properties, and the objects that they create. */
#import "hal/host_metal/metal.h"

#include <stdatomic.h>
#include <unistd.h>

/* In other files: see metal.h. */
#pragma clang diagnostic ignored "-Wprotocol"
#pragma clang diagnostic ignored "-Wobjc-property-implementation"

enum { MAX_DEVICES = 8 };
static const uint64_t FIRST_REGISTRY_ID = UINT64_C(0x100000001);

/* ---- The devices of the process ----------------------------------------------------------- */

static HMDevice *devices[MAX_DEVICES];
static size_t device_count;

static void make_devices(void)
{
    @autoreleasepool {
        const uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES);
        const uint64_t bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
        const uint64_t limit = hm_modes()->memory_mib ? hm_modes()->memory_mib << 20 : bytes;
        for (device_count = 0; device_count < hm_modes()->devices; device_count++) {
            HMDevice *const device = [[HMDevice alloc] init];
            device->_registry_id = FIRST_REGISTRY_ID + device_count;
            device->_memory_limit = limit;
            host_metal_exempt(device);
            devices[device_count] = device;
        }
    }
}

static void need_devices(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_devices);
}

id<MTLDevice> MTLCreateSystemDefaultDevice(void)
{
    need_devices();
    return [devices[0] retain];
}

NSArray<id<MTLDevice>> *MTLCopyAllDevices(void)
{
    need_devices();
    return [[NSArray alloc] initWithObjects:devices count:device_count];
}

/* Runs after the census: destructors without a number come first. */
__attribute__((destructor(500))) static void check_devices(void)
{
    if (hm_modes()->no_census)
        return;
    for (size_t i = 0; i < device_count; i++)
        hm_check(devices[i].retainCount == 1, "leaked-objects",
                 "the device %s was retained %lu times more than released",
                 devices[i].name.UTF8String, devices[i].retainCount - 1);
}

/* ---- Queries ------------------------------------------------------------------------------ */

@implementation HMDevice
- (NSString *)name
{
    return @"Metal (host emulation)";
}
- (uint64_t)registryID
{
    return _registry_id;
}
- (MTLSize)maxThreadsPerThreadgroup
{
    return MTLSizeMake(MSL_MAX_GROUP_THREADS, MSL_MAX_GROUP_THREADS, MSL_MAX_GROUP_THREADS);
}
- (NSUInteger)maxThreadgroupMemoryLength
{
    return MSL_MAX_GROUP_MEMORY_BYTES;
}
- (NSUInteger)maxBufferLength
{
    return _memory_limit / 2;
}
- (NSUInteger)maxArgumentBufferSamplerCount
{
    return 1024;
}
- (NSUInteger)currentAllocatedSize
{
    return atomic_load(&_allocated);
}
- (uint64_t)recommendedMaxWorkingSetSize
{
    return _memory_limit / 4 * 3;
}
- (BOOL)hasUnifiedMemory
{
    return !hm_modes()->managed;
}
- (uint64_t)maxTransferRate
{
    return 0; /* built in */
}
- (BOOL)isLowPower
{
    return NO;
}
- (BOOL)isHeadless
{
    return YES;
}
- (BOOL)isRemovable
{
    return NO;
}
- (MTLDeviceLocation)location
{
    return MTLDeviceLocationBuiltIn;
}
- (NSUInteger)locationNumber
{
    return 0;
}
- (MTLArgumentBuffersTier)argumentBuffersSupport
{
    return MTLArgumentBuffersTier2;
}
- (BOOL)supportsFamily:(MTLGPUFamily)family
{
    if (family >= MTLGPUFamilyApple1 && family <= MTLGPUFamilyApple8)
        return self.hasUnifiedMemory;
    return family == MTLGPUFamilyMac1 || family == MTLGPUFamilyMac2 ||
           (family >= MTLGPUFamilyCommon1 && family <= MTLGPUFamilyCommon3) ||
           family == MTLGPUFamilyMetal3;
}
- (BOOL)supportsCounterSampling:(MTLCounterSamplingPoint)point
{
    if (hm_modes()->no_counters)
        return NO;
    if (hm_modes()->dispatch_counters)
        return point == MTLCounterSamplingPointAtDrawBoundary ||
               point == MTLCounterSamplingPointAtDispatchBoundary ||
               point == MTLCounterSamplingPointAtBlitBoundary;
    return point == MTLCounterSamplingPointAtStageBoundary; /* as on Apple's own GPUs */
}
- (void)sampleTimestamps:(MTLTimestamp *)cpu_timestamp gpuTimestamp:(MTLTimestamp *)gpu_timestamp
{
    const uint64_t now = hm_now_ns();
    *cpu_timestamp = now;
    *gpu_timestamp = hm_modes()->stopped_clock ? 0 : hm_device_time(now);
}
- (NSString *)description
{
    return self.name;
}

/* ---- Memory ------------------------------------------------------------------------------- */

- (BOOL)hm_take:(uint64_t)bytes
{
    static _Atomic uint64_t calls;
    if (hm_every_nth(&calls, hm_modes()->fail_allocations))
        return NO;
    if (atomic_fetch_add(&_allocated, bytes) + bytes <= _memory_limit)
        return YES;
    atomic_fetch_sub(&_allocated, bytes);
    return NO;
}
- (void)hm_give:(uint64_t)bytes
{
    atomic_fetch_sub(&_allocated, bytes);
}

/* ---- Queues and events -------------------------------------------------------------------- */

- (id<MTLCommandQueue>)newCommandQueue
{
    return [self newCommandQueueWithMaxCommandBufferCount:HM_DEFAULT_COMMAND_BUFFERS];
}
- (id<MTLCommandQueue>)newCommandQueueWithMaxCommandBufferCount:(NSUInteger)count
{
    hm_check(count > 0, "command-queue-limit",
             "newCommandQueueWithMaxCommandBufferCount: a queue for 0 command buffers");
    HMQueue *const queue = [[HMQueue alloc] hm_initWithDevice:self];
    queue->_limit = count;
    return queue;
}
- (id<MTLFence>)newFence
{
    return [[HMFence alloc] hm_initWithDevice:self];
}
- (id<MTLEvent>)newEvent
{
    return [[HMEvent alloc] hm_initWithDevice:self];
}
- (id<MTLSharedEvent>)newSharedEvent
{
    HMEvent *const event = [[HMEvent alloc] hm_initWithDevice:self];
    event->_shared = YES;
    return event;
}
- (void)dealloc
{
    host_metal_broken("released-too-often", "a device was released once too often");
    [super dealloc];
}
@end
