/* SPDX-License-Identifier: Apache-2.0 */
/* Compute pipelines. Compared with: names.txt. */
#ifndef HOST_METAL_MTLCOMPUTEPIPELINE_H
#define HOST_METAL_MTLCOMPUTEPIPELINE_H

#import <Metal/MTLBinaryArchive.h>
#import <Metal/MTLLibrary.h>
#import <Metal/MTLPipeline.h>

NS_ASSUME_NONNULL_BEGIN

typedef NS_OPTIONS(NSUInteger, MTLPipelineOption) {
    MTLPipelineOptionNone = 0,
    MTLPipelineOptionArgumentInfo = 1,
    MTLPipelineOptionBindingInfo = 1,
    MTLPipelineOptionBufferTypeInfo = 2,
    MTLPipelineOptionFailOnBinaryArchiveMiss = 4,
};

@interface MTLComputePipelineReflection : NSObject {
    NSArray *_bindings;
}
@property(readonly) NSArray<id<MTLBinding>> *bindings;
@end
typedef __autoreleasing MTLComputePipelineReflection *MTLAutoreleasedComputePipelineReflection;

@interface MTLComputePipelineDescriptor : NSObject <NSCopying> {
    NSString *_label;
    id<MTLFunction> _computeFunction;
    BOOL _threadGroupSizeIsMultipleOfThreadExecutionWidth;
    BOOL _supportIndirectCommandBuffers;
    NSUInteger _maxTotalThreadsPerThreadgroup;
    MTLPipelineBufferDescriptorArray *_buffers;
    NSArray *_binaryArchives;
}
@property(nullable, copy, nonatomic) NSString *label;
@property(nullable, readwrite, nonatomic, retain) id<MTLFunction> computeFunction;
@property(readwrite, nonatomic) BOOL threadGroupSizeIsMultipleOfThreadExecutionWidth;
@property(readwrite, nonatomic) BOOL supportIndirectCommandBuffers;
@property(readwrite, nonatomic) NSUInteger maxTotalThreadsPerThreadgroup;
@property(readonly) MTLPipelineBufferDescriptorArray *buffers;
@property(nullable, readwrite, nonatomic, copy) NSArray<id<MTLBinaryArchive>> *binaryArchives;
- (void)reset;
@end

@protocol MTLComputePipelineState <NSObject>
@property(nullable, readonly) NSString *label;
@property(readonly) id<MTLDevice> device;
@property(readonly) NSUInteger maxTotalThreadsPerThreadgroup;
@property(readonly) NSUInteger threadExecutionWidth;
@property(readonly) NSUInteger staticThreadgroupMemoryLength;
@property(readonly) BOOL supportIndirectCommandBuffers;
@end

typedef void (^MTLNewComputePipelineStateCompletionHandler)(
    id<MTLComputePipelineState> _Nullable computePipelineState, NSError *_Nullable error);
typedef void (^MTLNewComputePipelineStateWithReflectionCompletionHandler)(
    id<MTLComputePipelineState> _Nullable computePipelineState,
    MTLComputePipelineReflection *_Nullable reflection, NSError *_Nullable error);

NS_ASSUME_NONNULL_END

#endif
