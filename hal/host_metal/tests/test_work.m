/* SPDX-License-Identifier: Apache-2.0 */
/* Values: blits, dispatches, argument buffers, memory. */
#import "hal/host_metal/tests/work.h"

#include <sys/mman.h>

enum { WORDS = 1024 };

TEST(test_blits)
{
    struct work work;
    work_begin(&work);
    const id<MTLBuffer> a = work_buffer(&work, WORDS, 0, 0), b = work_buffer(&work, WORDS, 7, 1);
    const id<MTLCommandBuffer> commands = [work.queue commandBuffer];
    const id<MTLBlitCommandEncoder> blit = [commands blitCommandEncoder];
    [blit fillBuffer:a range:NSMakeRange(4, 8) value:0xab];
    [blit copyFromBuffer:b sourceOffset:40 toBuffer:a destinationOffset:400 size:8];
    [blit copyFromBuffer:a sourceOffset:400 toBuffer:a destinationOffset:800 size:8];
    [blit endEncoding];
    work_finish(commands);
    const uint32_t *const words = a.contents;
    assert_int_equal(words[0], 0);
    assert_int_equal(words[1], 0xabababab);
    assert_int_equal(words[2], 0xabababab);
    assert_int_equal(words[3], 0);
    assert_int_equal(words[100], 17);
    assert_int_equal(words[101], 18);
    assert_int_equal(words[200], 17); /* tracked buffers: in order, also when shuffled */
    assert_int_equal(words[201], 18);
    assert_true(commands.GPUEndTime >= commands.GPUStartTime && commands.GPUStartTime > 0);
    [a release];
    [b release];
    work_end(&work);
}

TEST(test_dispatch)
{
    struct work work;
    work_begin(&work);
    const id<MTLBuffer> target = work_buffer(&work, WORDS, 5, 3);
    const id<MTLComputePipelineState> add = work_pipeline(&work, "add"),
                                      twice = work_pipeline(&work, "twice");
    const id<MTLCommandBuffer> commands = [work.queue commandBuffer];
    const id<MTLComputeCommandEncoder> compute = [commands computeCommandEncoder];
    const uint32_t value = 41;
    [compute setComputePipelineState:add];
    [compute setBuffer:target offset:256 atIndex:0];
    [compute setBytes:&value length:sizeof value atIndex:1];
    [compute dispatchThreadgroups:MTLSizeMake(4, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
    [compute setComputePipelineState:twice]; /* bindings stay */
    [compute setBufferOffset:0 atIndex:0];
    [compute dispatchThreads:MTLSizeMake(128, 1, 1) threadsPerThreadgroup:MTLSizeMake(64, 1, 1)];
    [compute endEncoding];
    work_finish(commands);
    const uint32_t *const words = target.contents;
    for (uint32_t i = 0; i < WORDS; i++) {
        uint32_t expected = 5 + 3 * i;
        expected += i >= 64 && i < 192 ? 41 : 0;
        expected *= i < 128 ? 2 : 1;
        assert_int_equal(words[i], expected);
    }
    [add release];
    [twice release];
    [target release];
    work_end(&work);
}

TEST(test_indirect_dispatch_and_threadgroup_memory)
{
    struct work work;
    work_begin(&work);
    const id<MTLBuffer> source = work_buffer(&work, WORDS, 1, 1),
                        target = work_buffer(&work, 8, 0, 0),
                        arguments = work_buffer(&work, 8, 1, 0);
    ((uint32_t *)arguments.contents)[2] = 4;
    const id<MTLComputePipelineState> sum = work_pipeline(&work, "sum");
    const id<MTLCommandBuffer> commands = [work.queue commandBuffer];
    const id<MTLComputeCommandEncoder> compute = [commands computeCommandEncoder];
    [compute setComputePipelineState:sum];
    [compute setBuffer:source offset:0 atIndex:0];
    [compute setBuffer:target offset:0 atIndex:1];
    [compute setThreadgroupMemoryLength:256 * 4 atIndex:0];
    [compute dispatchThreadgroupsWithIndirectBuffer:arguments
                               indirectBufferOffset:8
                              threadsPerThreadgroup:MTLSizeMake(256, 1, 1)];
    [compute endEncoding];
    work_finish(commands);
    const uint32_t *const words = target.contents;
    for (uint32_t group = 0; group < 8; group++) /* of 256 numbers that follow each other */
        assert_int_equal(words[group], group < 4 ? 256 * (group * 256) + 256 * 257 / 2 : 0);
    [sum release];
    [source release];
    [target release];
    [arguments release];
    work_end(&work);
}

/* The encoder's way, and with addresses that the host writes. */
static void run_through(const struct work *work, id<MTLBuffer> arguments, id<MTLBuffer> source,
                        id<MTLBuffer> target)
{
    const id<MTLComputePipelineState> pipeline = work_pipeline(work, "through");
    const id<MTLCommandBuffer> commands = [work->queue commandBuffer];
    const id<MTLComputeCommandEncoder> compute =
        [commands computeCommandEncoderWithDispatchType:MTLDispatchTypeConcurrent];
    [compute setComputePipelineState:pipeline];
    [compute setBuffer:arguments offset:0 atIndex:0];
    [compute useResource:source usage:MTLResourceUsageRead];
    [compute useResource:target usage:MTLResourceUsageWrite];
    [compute dispatchThreadgroups:MTLSizeMake(WORDS / 64, 1, 1)
            threadsPerThreadgroup:MTLSizeMake(64, 1, 1)];
    [compute endEncoding];
    work_finish(commands);
    [pipeline release];
}

TEST(test_argument_buffers)
{
    struct work work;
    work_begin(&work);
    const id<MTLBuffer> source = work_buffer(&work, WORDS, 100, 2),
                        target = work_buffer(&work, WORDS, 0, 0);
    const id<MTLFunction> function = [work.library newFunctionWithName:@"through"];
    const id<MTLArgumentEncoder> encoder = [function newArgumentEncoderWithBufferIndex:0];
    assert_true(encoder.encodedLength >= 20);
    const id<MTLBuffer> arguments = [work.device newBufferWithLength:encoder.encodedLength * 2
                                                             options:0];
    [encoder setArgumentBuffer:arguments offset:0];
    [encoder setBuffer:source offset:0 atIndex:0];
    [encoder setBuffer:target offset:0 atIndex:1];
    *(uint32_t *)[encoder constantDataAtIndex:2] = 11;
    run_through(&work, arguments, source, target);
    for (uint32_t i = 0; i < WORDS; i++)
        assert_int_equal(((const uint32_t *)target.contents)[i], 111 + 2 * i);

    const uint64_t addresses[3] = {source.gpuAddress, target.gpuAddress, 22};
    memcpy(arguments.contents, addresses, sizeof addresses);
    run_through(&work, arguments, source, target);
    assert_int_equal(((const uint32_t *)target.contents)[WORDS - 1], 122 + 2 * (WORDS - 1));
    [arguments release];
    [encoder release];
    [function release];

    MTLArgumentDescriptor *const first = [MTLArgumentDescriptor argumentDescriptor],
                                 *const second = [MTLArgumentDescriptor argumentDescriptor];
    first.dataType = second.dataType = MTLDataTypePointer;
    first.index = 5;
    second.index = 2;
    const id list[] = {first, second};
    const id<MTLArgumentEncoder> plain =
        [work.device newArgumentEncoderWithArguments:[NSArray arrayWithObjects:list count:2]];
    const id<MTLBuffer> place = work_buffer(&work, 16, 0, 0);
    [plain setArgumentBuffer:place offset:16];
    [plain setBuffer:target offset:8 atIndex:5];
    assert_int_equal(((const uint64_t *)place.contents)[2], 0);
    assert_int_equal(((const uint64_t *)place.contents)[3], target.gpuAddress + 8);
    [plain release];
    [place release];
    [source release];
    [target release];
    work_end(&work);
}

TEST(test_libraries)
{
    struct work work;
    work_begin(&work);
    assert_int_equal(work.library.functionNames.count, 5);
    assert_true(work_is_nothing([work.library newFunctionWithName:@"absent"]));
    NSError *error = nil;
    assert_true(work_is_nothing([work.device newLibraryWithSource:@"kernel void broken( {"
                                                          options:nil
                                                            error:&error]));
    assert_int_equal(error.code, MTLLibraryErrorCompileFailure);
    assert_true([error.domain isEqualToString:MTLLibraryErrorDomain]);
    assert_non_null(strstr(error.localizedDescription.UTF8String, "error"));

    MTLCompileOptions *const options = [[MTLCompileOptions alloc] init];
    options.preprocessorMacros = [NSDictionary dictionaryWithObject:@"named" forKey:@"NAME"];
    id<MTLLibrary> library = [work.device
        newLibraryWithSource:@"kernel void NAME(device int *p [[buffer(2)]]) { *p = 1; }"
                     options:options
                       error:&error];
    assert_true([[library.functionNames objectAtIndex:0] isEqualToString:@"named"]);
    [library release];
    assert_int_equal(options.mathMode, MTLMathModeFast);
    options.fastMathEnabled = NO;
    assert_int_equal(options.mathMode, MTLMathModeSafe);
    options.languageVersion = MTLLanguageVersion3_0;
    NSString *const wide = @"kernel void wide(device bfloat *p) { *p = 1; }";
    assert_true(work_is_nothing([work.device newLibraryWithSource:wide
                                                          options:options
                                                            error:&error]));
    assert_int_equal(error.code, MTLLibraryErrorCompileFailure);
    assert_non_null(strstr(error.localizedDescription.UTF8String, "bfloat"));
    options.languageVersion = MTLLanguageVersion3_1;
    library = [work.device newLibraryWithSource:wide options:options error:&error];
    assert_non_null(library);
    [library release];
    [options release];

    const char text[] = "hostmetallib\nkernel void stored(device int *p) { *p = 1; }";
    dispatch_data_t data =
        dispatch_data_create(text, sizeof text - 1, nil, DISPATCH_DATA_DESTRUCTOR_DEFAULT);
    library = [work.device newLibraryWithData:data error:&error];
    assert_true([[library.functionNames objectAtIndex:0] isEqualToString:@"stored"]);
    [library release];
    dispatch_release(data);
    data = dispatch_data_create("MTLBxxxx", 8, nil, DISPATCH_DATA_DESTRUCTOR_DEFAULT);
    assert_true(work_is_nothing([work.device newLibraryWithData:data error:&error]));
    assert_int_equal(error.code, MTLLibraryErrorUnsupported);
    dispatch_release(data);
    assert_true(work_is_nothing([work.device
        newLibraryWithURL:[NSURL fileURLWithPath:@"/nonexistent.metallib"]
                    error:&error]));
    assert_int_equal(error.code, MTLLibraryErrorFileNotFound);
    work_end(&work);
}

TEST(test_reflection)
{
    struct work work;
    work_begin(&work);
    const id<MTLFunction> function = [work.library newFunctionWithName:@"sum"];
    MTLComputePipelineReflection *reflection = nil;
    const id<MTLComputePipelineState> pipeline =
        [work.device newComputePipelineStateWithFunction:function
                                                 options:MTLPipelineOptionBindingInfo
                                              reflection:&reflection
                                                   error:NULL];
    assert_int_equal(pipeline.threadExecutionWidth, 32);
    assert_int_equal(reflection.bindings.count, 3);
    const id<MTLBinding> source = [reflection.bindings objectAtIndex:0],
                         target = [reflection.bindings objectAtIndex:1],
                         shared = [reflection.bindings objectAtIndex:2];
    assert_string_equal(source.name.UTF8String, "source");
    assert_int_equal(source.access, MTLBindingAccessReadOnly);
    assert_int_equal(target.index, 1);
    assert_int_equal(target.access, MTLBindingAccessReadWrite);
    assert_int_equal(shared.type, MTLBindingTypeThreadgroupMemory);
    assert_string_equal(shared.name.UTF8String, "shared");
    [pipeline release];
    [function release];
    work_end(&work);
}

TEST(test_heaps)
{
    struct work work;
    work_begin(&work);
    MTLHeapDescriptor *const descriptor = [[MTLHeapDescriptor alloc] init];
    descriptor.size = 65536;
    const bool is_shared = [work.device supportsFamily:MTLGPUFamilyApple2]; /* else it is private */
    const MTLResourceOptions options =
        is_shared ? MTLResourceStorageModeShared : MTLResourceStorageModePrivate;
    if (is_shared)
        descriptor.storageMode = MTLStorageModeShared;
    const NSUInteger before = work.device.currentAllocatedSize;
    const id<MTLHeap> heap = [work.device newHeapWithDescriptor:descriptor];
    assert_int_equal(work.device.currentAllocatedSize, before + 65536);
    const id<MTLBuffer> a = [heap newBufferWithLength:10000 options:options],
                        b = [heap newBufferWithLength:20000 options:options];
    assert_ptr_equal(a.heap, heap);
    assert_true(b.heapOffset >= a.heapOffset + 10000);
    assert_true(heap.usedSize >= 30000);
    assert_true(work_is_nothing([heap newBufferWithLength:60000 options:options]));
    if (is_shared) {
        memset(a.contents, 1, 10000);
        memset(b.contents, 2, 20000);
        assert_int_equal(((const uint8_t *)a.contents)[9999], 1);
    }
    const NSUInteger offset = a.heapOffset;
    [a makeAliasable];
    const id<MTLBuffer> c = [heap newBufferWithLength:8000 options:options];
    assert_int_equal(c.heapOffset, offset);
    [a release];
    [b release];
    [c release];
    assert_int_equal(heap.usedSize, 0);
    assert_int_equal([heap maxAvailableSizeWithAlignment:4096], 65536);
    [heap release];
    descriptor.type = MTLHeapTypePlacement;
    const id<MTLHeap> placement = [work.device newHeapWithDescriptor:descriptor];
    const id<MTLBuffer> first = [placement newBufferWithLength:4096 options:options offset:8192];
    const id<MTLBuffer> same = [placement newBufferWithLength:4096 options:options offset:8192];
    assert_int_equal(first.gpuAddress, same.gpuAddress);
    if (is_shared) {
        *(int *)first.contents = 77;
        assert_int_equal(*(const int *)same.contents, 77);
    }
    [first release];
    [same release];
    [placement release];
    [descriptor release];
    assert_int_equal(work.device.currentAllocatedSize, before);
    work_end(&work);
}

TEST(test_memory_of_the_application)
{
    struct work work;
    work_begin(&work);
    void *const bytes =
        mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    __block NSUInteger freed = 0;
    const id<MTLBuffer> buffer =
        [work.device newBufferWithBytesNoCopy:bytes
                                       length:8192
                                      options:0
                                  deallocator:^(void *pointer, NSUInteger length) {
                                    munmap(pointer, length);
                                    freed = length;
                                  }];
    assert_ptr_equal(buffer.contents, bytes);
    const id<MTLCommandBuffer> commands = [work.queue commandBuffer];
    const id<MTLBlitCommandEncoder> blit = [commands blitCommandEncoder];
    [blit fillBuffer:buffer range:NSMakeRange(0, 8192) value:3];
    [blit endEncoding];
    work_finish(commands);
    assert_int_equal(((const uint8_t *)bytes)[8191], 3);
    [buffer release];
    assert_int_equal(freed, 8192);
    work_end(&work);
}

TEST(test_managed_memory)
{
    struct work work;
    work_begin(&work);
    const uint32_t before[4] = {1, 2, 3, 4};
    const id<MTLBuffer> buffer = [work.device newBufferWithBytes:before
                                                          length:sizeof before
                                                         options:MTLResourceStorageModeManaged];
    uint32_t *const words = buffer.contents;
    words[1] = 20;
    [buffer didModifyRange:NSMakeRange(4, 4)];
    const id<MTLComputePipelineState> twice = work_pipeline(&work, "twice");
    const id<MTLCommandBuffer> commands = [work.queue commandBuffer];
    const id<MTLComputeCommandEncoder> compute = [commands computeCommandEncoder];
    [compute setComputePipelineState:twice];
    [compute setBuffer:buffer offset:0 atIndex:0];
    [compute dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(4, 1, 1)];
    [compute endEncoding];
    const id<MTLBlitCommandEncoder> blit = [commands blitCommandEncoder];
    [blit synchronizeResource:buffer];
    [blit endEncoding];
    work_finish(commands);
    const uint32_t expected[4] = {2, 40, 6, 8};
    assert_memory_equal(words, expected, sizeof expected);
    assert_int_equal(work.device.hasUnifiedMemory, !work_mode("managed"));
    [twice release];
    [buffer release];
    work_end(&work);
}

TEST(test_device)
{
    const NSArray *const all = MTLCopyAllDevices();
    assert_int_equal(all.count, work_mode("devices=2") ? 2 : 1);
    const id<MTLDevice> device = [all objectAtIndex:0];
    assert_string_equal(device.name.UTF8String, "Metal (host emulation)");
    assert_true([device supportsFamily:MTLGPUFamilyMetal3]);
    assert_true(work_is_nothing([device newBufferWithLength:device.maxBufferLength + 1 options:0]));
    [all release];
}
