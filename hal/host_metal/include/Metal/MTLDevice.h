/* SPDX-License-Identifier: Apache-2.0 */
/* Devices. Compared with: names.txt. */
#ifndef HOST_METAL_MTLDEVICE_H
#define HOST_METAL_MTLDEVICE_H

#import <Metal/MTLCommandQueue.h>

NS_ASSUME_NONNULL_BEGIN

typedef NS_ENUM(NSInteger, MTLGPUFamily) {
    MTLGPUFamilyApple1 = 1001,
    MTLGPUFamilyApple2 = 1002,
    MTLGPUFamilyApple3 = 1003,
    MTLGPUFamilyApple4 = 1004,
    MTLGPUFamilyApple5 = 1005,
    MTLGPUFamilyApple6 = 1006,
    MTLGPUFamilyApple7 = 1007,
    MTLGPUFamilyApple8 = 1008,
    MTLGPUFamilyApple9 = 1009,
    MTLGPUFamilyMac1 = 2001,
    MTLGPUFamilyMac2 = 2002,
    MTLGPUFamilyCommon1 = 3001,
    MTLGPUFamilyCommon2 = 3002,
    MTLGPUFamilyCommon3 = 3003,
    MTLGPUFamilyMetal3 = 5001,
};

typedef NS_ENUM(NSUInteger, MTLDeviceLocation) {
    MTLDeviceLocationBuiltIn = 0,
    MTLDeviceLocationSlot = 1,
    MTLDeviceLocationExternal = 2,
    MTLDeviceLocationUnspecified = NSUIntegerMax,
};

typedef NS_ENUM(NSUInteger, MTLArgumentBuffersTier) {
    MTLArgumentBuffersTier1 = 0,
    MTLArgumentBuffersTier2 = 1,
};

@interface MTLArgumentDescriptor : NSObject <NSCopying> {
    MTLDataType _dataType;
    NSUInteger _index, _arrayLength, _constantBlockAlignment;
    MTLBindingAccess _access;
}
+ (MTLArgumentDescriptor *)argumentDescriptor;
@property(nonatomic) MTLDataType dataType;
@property(nonatomic) NSUInteger index;
@property(nonatomic) NSUInteger arrayLength;
@property(nonatomic) MTLBindingAccess access;
@property(nonatomic) NSUInteger constantBlockAlignment;
@end

@protocol MTLDevice <NSObject>
@property(readonly) NSString *name;
@property(readonly) uint64_t registryID;
@property(readonly) MTLSize maxThreadsPerThreadgroup;
@property(readonly) NSUInteger maxThreadgroupMemoryLength;
@property(readonly) NSUInteger maxBufferLength;
@property(readonly) NSUInteger maxArgumentBufferSamplerCount;
@property(readonly) NSUInteger currentAllocatedSize;
@property(readonly) uint64_t recommendedMaxWorkingSetSize;
@property(readonly) BOOL hasUnifiedMemory;
@property(readonly) uint64_t maxTransferRate;
@property(readonly, getter=isLowPower) BOOL lowPower;
@property(readonly, getter=isHeadless) BOOL headless;
@property(readonly, getter=isRemovable) BOOL removable;
@property(readonly) MTLDeviceLocation location;
@property(readonly) NSUInteger locationNumber;
@property(readonly) MTLArgumentBuffersTier argumentBuffersSupport;
@property(nullable, readonly) NSArray<id<MTLCounterSet>> *counterSets;
- (BOOL)supportsFamily:(MTLGPUFamily)gpuFamily;
- (BOOL)supportsCounterSampling:(MTLCounterSamplingPoint)samplingPoint;
- (void)sampleTimestamps:(MTLTimestamp *)cpuTimestamp gpuTimestamp:(MTLTimestamp *)gpuTimestamp;

- (nullable id<MTLCommandQueue>)newCommandQueue NS_RETURNS_RETAINED;
- (nullable id<MTLCommandQueue>)newCommandQueueWithMaxCommandBufferCount:
    (NSUInteger)maxCommandBufferCount NS_RETURNS_RETAINED;

- (MTLSizeAndAlign)heapBufferSizeAndAlignWithLength:(NSUInteger)length
                                            options:(MTLResourceOptions)options;
- (nullable id<MTLHeap>)newHeapWithDescriptor:(MTLHeapDescriptor *)descriptor NS_RETURNS_RETAINED;
- (nullable id<MTLBuffer>)newBufferWithLength:(NSUInteger)length
                                      options:(MTLResourceOptions)options NS_RETURNS_RETAINED;
- (nullable id<MTLBuffer>)newBufferWithBytes:(const void *)pointer
                                      length:(NSUInteger)length
                                     options:(MTLResourceOptions)options NS_RETURNS_RETAINED;
- (nullable id<MTLBuffer>)newBufferWithBytesNoCopy:(void *)pointer
                                            length:(NSUInteger)length
                                           options:(MTLResourceOptions)options
                                       deallocator:(void (^_Nullable)(void *pointer,
                                                                      NSUInteger length))deallocator
    NS_RETURNS_RETAINED;

- (nullable id<MTLFence>)newFence NS_RETURNS_RETAINED;
- (nullable id<MTLEvent>)newEvent NS_RETURNS_RETAINED;
- (nullable id<MTLSharedEvent>)newSharedEvent NS_RETURNS_RETAINED;
- (nullable id<MTLSharedEvent>)newSharedEventWithHandle:(MTLSharedEventHandle *)sharedEventHandle
    NS_RETURNS_RETAINED;

- (nullable id<MTLLibrary>)newDefaultLibrary NS_RETURNS_RETAINED;
- (nullable id<MTLLibrary>)newLibraryWithSource:(NSString *)source
                                        options:(nullable MTLCompileOptions *)options
                                          error:(NSError *_Nullable *_Nullable)error
    NS_RETURNS_RETAINED;
- (void)newLibraryWithSource:(NSString *)source
                     options:(nullable MTLCompileOptions *)options
           completionHandler:(MTLNewLibraryCompletionHandler)completionHandler;
- (nullable id<MTLLibrary>)newLibraryWithData:(dispatch_data_t)data
                                        error:(NSError *_Nullable *_Nullable)error
    NS_RETURNS_RETAINED;
- (nullable id<MTLLibrary>)newLibraryWithURL:(NSURL *)url
                                       error:(NSError *_Nullable *_Nullable)error
    NS_RETURNS_RETAINED;

- (nullable id<MTLComputePipelineState>)
    newComputePipelineStateWithFunction:(id<MTLFunction>)computeFunction
                                  error:(NSError *_Nullable *_Nullable)error NS_RETURNS_RETAINED;
- (nullable id<MTLComputePipelineState>)
    newComputePipelineStateWithFunction:(id<MTLFunction>)computeFunction
                                options:(MTLPipelineOption)options
                             reflection:
                                 (MTLAutoreleasedComputePipelineReflection _Nullable *_Nullable)
                                     reflection
                                  error:(NSError *_Nullable *_Nullable)error NS_RETURNS_RETAINED;
- (nullable id<MTLComputePipelineState>)
    newComputePipelineStateWithDescriptor:(MTLComputePipelineDescriptor *)descriptor
                                  options:(MTLPipelineOption)options
                               reflection:
                                   (MTLAutoreleasedComputePipelineReflection _Nullable *_Nullable)
                                       reflection
                                    error:(NSError *_Nullable *_Nullable)error NS_RETURNS_RETAINED;
- (void)newComputePipelineStateWithFunction:(id<MTLFunction>)computeFunction
                          completionHandler:
                              (MTLNewComputePipelineStateCompletionHandler)completionHandler;
- (void)newComputePipelineStateWithDescriptor:(MTLComputePipelineDescriptor *)descriptor
                                      options:(MTLPipelineOption)options
                            completionHandler:
                                (MTLNewComputePipelineStateWithReflectionCompletionHandler)
                                    completionHandler;

- (nullable id<MTLBinaryArchive>)newBinaryArchiveWithDescriptor:
                                     (MTLBinaryArchiveDescriptor *)descriptor
                                                          error:(NSError *_Nullable *_Nullable)error
    NS_RETURNS_RETAINED;

- (nullable id<MTLArgumentEncoder>)newArgumentEncoderWithArguments:
    (NSArray<MTLArgumentDescriptor *> *)arguments NS_RETURNS_RETAINED;
- (nullable id<MTLCounterSampleBuffer>)
    newCounterSampleBufferWithDescriptor:(MTLCounterSampleBufferDescriptor *)descriptor
                                   error:(NSError *_Nullable *_Nullable)error NS_RETURNS_RETAINED;
@end

FOUNDATION_EXPORT id<MTLDevice> _Nullable MTLCreateSystemDefaultDevice(void) NS_RETURNS_RETAINED;
FOUNDATION_EXPORT NSArray<id<MTLDevice>> *MTLCopyAllDevices(void) NS_RETURNS_RETAINED;

NS_ASSUME_NONNULL_END

#endif
