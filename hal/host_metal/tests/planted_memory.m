/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: storage modes, heaps, lifetimes, what kernels reach. */
#import "hal/host_metal/tests/planted.h"

#include <signal.h>
#include <unistd.h>

/* A bug of one statement. */
#define PLANT(name, ...)                                                                           \
    static bool name(void)                                                                         \
    {                                                                                              \
        struct bench bench;                                                                        \
        bench_begin(&bench);                                                                       \
        const id<MTLDevice> device = bench.device;                                                 \
        MTLHeapDescriptor *const heap = [[MTLHeapDescriptor alloc] init];                          \
        heap.size = 65536;                                                                         \
        __VA_ARGS__;                                                                               \
        (void)device;                                                                              \
        return false;                                                                              \
    }

/* clang-format off */
PLANT(modified_shared, [bench.shared didModifyRange:NSMakeRange(0, 4)])
PLANT(modified_too_much, [bench.managed didModifyRange:NSMakeRange(4, BENCH_BYTES)])
PLANT(contents_of_private, memset(bench.private.contents, 0, 4))
PLANT(private_with_contents, [device newBufferWithBytes:"abcd" length:4 options:MTLResourceStorageModePrivate])
PLANT(memoryless, [device newBufferWithLength:4 options:MTLResourceStorageModeMemoryless])
PLANT(managed_heap, heap.storageMode = MTLStorageModeManaged; [device newHeapWithDescriptor:heap])
PLANT(shared_heap, heap.storageMode = MTLStorageModeShared; [device newHeapWithDescriptor:heap])
PLANT(no_options, [device newBufferWithLength:4 options:1ul << 12])
PLANT(private_write_combined, [device newBufferWithLength:4 options:MTLResourceStorageModePrivate | MTLResourceCPUCacheModeWriteCombined])
PLANT(empty, [device newBufferWithLength:0 options:0])
PLANT(no_copy_unaligned, [device newBufferWithBytesNoCopy:(char *)bench.shared.contents + 16 length:4096 options:0 deallocator:nil])
PLANT(no_copy_partial, [device newBufferWithBytesNoCopy:bench.shared.contents length:100 options:0 deallocator:nil])
PLANT(heap_other_storage, [[device newHeapWithDescriptor:heap] newBufferWithLength:16 options:0])
PLANT(heap_not_placement, [[device newHeapWithDescriptor:heap] newBufferWithLength:16 options:MTLResourceStorageModePrivate offset:0])
PLANT(heap_beyond, heap.type = MTLHeapTypePlacement; [[device newHeapWithDescriptor:heap] newBufferWithLength:4096 options:MTLResourceStorageModePrivate offset:65536])
PLANT(aliasable_without_heap, [bench.shared makeAliasable])
PLANT(purgeable_in_heap, [[[device newHeapWithDescriptor:heap] newBufferWithLength:16 options:MTLResourceStorageModePrivate] setPurgeableState:MTLPurgeableStateVolatile])
PLANT(leaked, bench_end(&bench); [heap release]; [MTLCreateSystemDefaultDevice() newFence])
PLANT(device_leaked, bench_end(&bench); [heap release]; [device retain])
PLANT(device_released, for (int i = 0; i < 256; i++) [device release])
/* clang-format on */

/* ---- Lifetimes ---------------------------------------------------------------------------- */

static bool released_in_flight(void)
{
    struct bench bench;
    bench_begin(&bench);
    const id<MTLCommandBuffer> commands = [bench.queue commandBufferWithUnretainedReferences];
    const id<MTLBlitCommandEncoder> blit = [commands blitCommandEncoder];
    [blit fillBuffer:bench.shared range:NSMakeRange(0, 4) value:1];
    [blit endEncoding];
    [bench.shared release];
    return false;
}

static bool event_released_in_flight(void)
{
    struct bench bench;
    bench_begin(&bench);
    const id<MTLCommandBuffer> commands = [bench.queue commandBufferWithUnretainedReferences];
    const id<MTLEvent> event = [bench.device newEvent];
    [commands encodeSignalEvent:event value:1];
    [event release];
    return false;
}

/* ---- What kernels reach ------------------------------------------------------------------- */

static void finish(struct bench *bench)
{
    [bench->commands commit];
    [bench->commands waitUntilCompleted];
}

/* target[i] = source[i] + 5 through an argument buffer. */
static id<MTLBuffer> encode_through(struct bench *bench, id<MTLBuffer> source, id<MTLBuffer> target,
                                    MTLResourceUsage target_usage) NS_RETURNS_RETAINED
{
    const id<MTLBuffer> arguments = [bench->device newBufferWithLength:64 options:0];
    const uint64_t values[3] = {source.gpuAddress, target.gpuAddress, 5};
    memcpy(arguments.contents, values, sizeof values);
    const id<MTLComputeCommandEncoder> compute = [bench->commands computeCommandEncoder];
    [compute setComputePipelineState:bench->through];
    [compute setBuffer:arguments offset:0 atIndex:0];
    [compute useResource:source usage:MTLResourceUsageRead];
    if (target_usage)
        [compute useResource:target usage:target_usage];
    [compute dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
    [compute endEncoding];
    return arguments;
}

static bool use_resource_forgotten(void)
{
    struct bench bench;
    bench_begin(&bench);
    encode_through(&bench, bench.shared, bench.private, 0);
    finish(&bench);
    return false;
}

static bool use_resource_forgotten_for_the_hosts_memory(void)
{
    static _Alignas(4096) uint8_t memory[4096];
    struct bench bench;
    bench_begin(&bench);
    const id<MTLBuffer> imported = [bench.device newBufferWithBytesNoCopy:memory
                                                                   length:sizeof memory
                                                                  options:0
                                                              deallocator:nil];
    imported.label = @"imported";
    encode_through(&bench, bench.shared, imported, 0);
    finish(&bench);
    return false;
}

static bool address_of_nothing(void)
{
    struct bench bench;
    bench_begin(&bench);
    const id<MTLBuffer> arguments = [bench.device newBufferWithLength:64 options:0];
    const uint64_t values[3] = {0, 0, 5};
    memcpy(arguments.contents, values, sizeof values);
    const id<MTLComputeCommandEncoder> compute = [bench.commands computeCommandEncoder];
    [compute setComputePipelineState:bench.through];
    [compute setBuffer:arguments offset:0 atIndex:0];
    [compute dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
    [compute endEncoding];
    finish(&bench);
    return false;
}

/* A handler that a test program sets, as cmocka does around each test. */
static void forget_quietly(int signal)
{
    (void)signal;
    _exit(0);
}

static bool use_resource_forgotten_behind_a_handler(void)
{
    struct bench bench;
    bench_begin(&bench);
    signal(SIGSEGV, forget_quietly);
    encode_through(&bench, bench.shared, bench.private, 0);
    finish(&bench);
    return false;
}

/* As drivers' own threads do: those of Metal's queues then begin with the same. */
static bool use_resource_forgotten_on_a_thread_without_signals(void)
{
    struct bench bench;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    bench_begin(&bench);
    encode_through(&bench, bench.shared, bench.private, 0);
    finish(&bench);
    return false;
}

/* While another thread makes and destroys buffers all the time. */
static bool use_resource_forgotten_among_others(void)
{
    struct bench bench;
    bench_begin(&bench);
    const id<MTLDevice> device = bench.device;
    for (int i = 0; i < 3; i++)
        dispatch_async(dispatch_queue_create("others", DISPATCH_QUEUE_SERIAL), ^{
          for (;;)
              [[device newBufferWithLength:BENCH_BYTES options:0] release];
        });
    encode_through(&bench, bench.shared, bench.private, 0);
    finish(&bench);
    return false;
}

static bool use_resource_too_little(void)
{
    struct bench bench;
    bench_begin(&bench);
    encode_through(&bench, bench.shared, bench.private, MTLResourceUsageRead);
    finish(&bench);
    return false;
}

static bool heap_used_for_writing(void)
{
    struct bench bench;
    bench_begin(&bench);
    MTLHeapDescriptor *const descriptor = [[MTLHeapDescriptor alloc] init];
    descriptor.size = 65536;
    const id<MTLHeap> heap = [bench.device newHeapWithDescriptor:descriptor];
    const id<MTLBuffer> target = [heap newBufferWithLength:BENCH_BYTES
                                                   options:MTLResourceStorageModePrivate];
    const id<MTLBuffer> arguments = [bench.device newBufferWithLength:64 options:0];
    const uint64_t values[3] = {bench.shared.gpuAddress, target.gpuAddress, 5};
    memcpy(arguments.contents, values, sizeof values);
    const id<MTLComputeCommandEncoder> compute = [bench.commands computeCommandEncoder];
    [compute setComputePipelineState:bench.through];
    [compute setBuffer:arguments offset:0 atIndex:0];
    [compute useResource:bench.shared usage:MTLResourceUsageRead];
    [compute useHeap:heap];
    [compute dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
    [compute endEncoding];
    finish(&bench);
    return false;
}

static bool kernel_beyond_the_end(void)
{
    struct bench bench;
    bench_begin(&bench);
    const id<MTLComputeCommandEncoder> compute = [bench.commands computeCommandEncoder];
    [compute setComputePipelineState:bench.twice];
    [compute setBuffer:bench.shared offset:0 atIndex:0];
    [compute dispatchThreadgroups:MTLSizeMake(BENCH_BYTES / 4 / 32 + 1, 1, 1)
            threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
    [compute endEncoding];
    finish(&bench);
    return false;
}

static bool kernel_uses_released_buffer(void)
{
    struct bench bench;
    bench_begin(&bench);
    const id<MTLBuffer> target = [bench.device newBufferWithLength:BENCH_BYTES options:0];
    encode_through(&bench, bench.shared, target, 0);
    [target release];
    finish(&bench);
    return false;
}

/* ---- What modes show ---------------------------------------------------------------------- */

static bool modification_not_told(void)
{
    struct bench bench;
    bench_begin(&bench);
    *(uint32_t *)bench.managed.contents = 99;
    const id<MTLBlitCommandEncoder> blit = [bench.commands blitCommandEncoder];
    [blit copyFromBuffer:bench.managed
             sourceOffset:0
                 toBuffer:bench.shared
        destinationOffset:0
                     size:4];
    [blit endEncoding];
    finish(&bench);
    const uint32_t value = *(const uint32_t *)bench.shared.contents;
    bench_end(&bench);
    return value != 99;
}

static bool result_not_synchronized(void)
{
    struct bench bench;
    bench_begin(&bench);
    memset(bench.managed.contents, 0, BENCH_BYTES);
    const id<MTLBlitCommandEncoder> blit = [bench.commands blitCommandEncoder];
    [blit fillBuffer:bench.managed range:NSMakeRange(0, 4) value:1];
    [blit endEncoding];
    finish(&bench);
    const uint32_t value = *(const uint32_t *)bench.managed.contents;
    bench_end(&bench);
    return value != 0x01010101;
}

static bool memory_taken_for_zeros(void)
{
    struct bench bench;
    bench_begin(&bench);
    const uint32_t value = *(const uint32_t *)bench.shared.contents;
    bench_end(&bench);
    return value != 0;
}

const struct planted planted_memory[] = {
    {"didModifyRange of a shared buffer", "storage-mode", NULL, modified_shared},
    {"didModifyRange beyond the end", "range-out-of-bounds", NULL, modified_too_much},
    {"contents of a private buffer", "storage-mode", NULL, contents_of_private},
    {"private buffer with bytes", "storage-mode", NULL, private_with_contents},
    {"memoryless buffer", "storage-mode", NULL, memoryless},
    {"managed heap", "storage-mode", NULL, managed_heap},
    {"shared heap on a GPU of others than Apple", "storage-mode", "managed", shared_heap},
    {"options that do not exist", "resource-options", NULL, no_options},
    {"private and write-combined", "resource-options", NULL, private_write_combined},
    {"buffer of no bytes", "empty-buffer", NULL, empty},
    {"memory not at a page", "no-copy-alignment", NULL, no_copy_unaligned},
    {"memory not whole pages", "no-copy-alignment", NULL, no_copy_partial},
    {"heap with another storage mode", "heap-misuse", NULL, heap_other_storage},
    {"offset in an automatic heap", "heap-misuse", NULL, heap_not_placement},
    {"offset behind a heap", "range-out-of-bounds", NULL, heap_beyond},
    {"aliasable without a heap", "heap-misuse", NULL, aliasable_without_heap},
    {"purgeable inside a heap", "purgeable-state", NULL, purgeable_in_heap},
    {"fence leaked", "leaked-objects", NULL, leaked},
    {"device leaked", "leaked-objects", NULL, device_leaked},
    {"device released too often", "released-too-often", NULL, device_released},
    {"buffer released in flight", "released-in-flight", NULL, released_in_flight},
    {"event released in flight", "released-in-flight", NULL, event_released_in_flight},
    {"useResource forgotten", "use-resource-missing", "useresource", use_resource_forgotten},
    {"useResource forgotten for the host's memory", "use-resource-missing", "useresource",
     use_resource_forgotten_for_the_hosts_memory},
    {"useResource forgotten behind a handler", "use-resource-missing", "useresource",
     use_resource_forgotten_behind_a_handler},
    {"useResource forgotten on a thread without signals", "use-resource-missing", "useresource",
     use_resource_forgotten_on_a_thread_without_signals},
    {"useResource forgotten among others", "use-resource-missing", "useresource",
     use_resource_forgotten_among_others},
    {"kernel reads at no address", "kernel-wild-address", NULL, address_of_nothing},
    {"useResource for reading alone", "use-resource-read-only", "useresource",
     use_resource_too_little},
    {"useHeap for writing", "use-resource-read-only", "useresource", heap_used_for_writing},
    {"kernel beyond the end", "kernel-out-of-bounds", NULL, kernel_beyond_the_end},
    {"kernel uses a released buffer", "kernel-used-released-buffer", NULL,
     kernel_uses_released_buffer},
    {"didModifyRange forgotten", NULL, "managed", modification_not_told},
    {"synchronizeResource forgotten", NULL, "managed", result_not_synchronized},
    {"new memory taken for zeros", NULL, "dirty", memory_taken_for_zeros},
    {.name = NULL},
};
