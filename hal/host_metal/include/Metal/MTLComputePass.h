/* SPDX-License-Identifier: Apache-2.0 */
/* Compute passes: an encoder with counters sampled at its ends. Compared with: names.txt. */
#ifndef HOST_METAL_MTLCOMPUTEPASS_H
#define HOST_METAL_MTLCOMPUTEPASS_H

#import <Metal/MTLComputeCommandEncoder.h>

NS_ASSUME_NONNULL_BEGIN

@interface MTLComputePassSampleBufferAttachmentDescriptor : NSObject <NSCopying> {
    id<MTLCounterSampleBuffer> _sampleBuffer;
    NSUInteger _startOfEncoderSampleIndex, _endOfEncoderSampleIndex;
}
@property(nullable, nonatomic, retain) id<MTLCounterSampleBuffer> sampleBuffer;
@property(nonatomic) NSUInteger startOfEncoderSampleIndex;
@property(nonatomic) NSUInteger endOfEncoderSampleIndex;
@end

@interface MTLComputePassSampleBufferAttachmentDescriptorArray : NSObject {
    id _attachments[4];
}
- (MTLComputePassSampleBufferAttachmentDescriptor *)objectAtIndexedSubscript:
    (NSUInteger)attachmentIndex;
- (void)setObject:(nullable MTLComputePassSampleBufferAttachmentDescriptor *)attachment
    atIndexedSubscript:(NSUInteger)attachmentIndex;
@end

@interface MTLComputePassDescriptor : NSObject <NSCopying> {
    MTLDispatchType _dispatchType;
    MTLComputePassSampleBufferAttachmentDescriptorArray *_sampleBufferAttachments;
}
+ (MTLComputePassDescriptor *)computePassDescriptor;
@property(nonatomic) MTLDispatchType dispatchType;
@property(readonly) MTLComputePassSampleBufferAttachmentDescriptorArray *sampleBufferAttachments;
@end

NS_ASSUME_NONNULL_END

#endif
