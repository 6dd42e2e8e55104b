/* SPDX-License-Identifier: Apache-2.0 */
/* Blit passes: an encoder with counters sampled at its ends. Compared with: names.txt. */
#ifndef HOST_METAL_MTLBLITPASS_H
#define HOST_METAL_MTLBLITPASS_H

#import <Metal/MTLBlitCommandEncoder.h>

NS_ASSUME_NONNULL_BEGIN

@interface MTLBlitPassSampleBufferAttachmentDescriptor : NSObject <NSCopying> {
    id<MTLCounterSampleBuffer> _sampleBuffer;
    NSUInteger _startOfEncoderSampleIndex, _endOfEncoderSampleIndex;
}
@property(nullable, nonatomic, retain) id<MTLCounterSampleBuffer> sampleBuffer;
@property(nonatomic) NSUInteger startOfEncoderSampleIndex;
@property(nonatomic) NSUInteger endOfEncoderSampleIndex;
@end

@interface MTLBlitPassSampleBufferAttachmentDescriptorArray : NSObject {
    id _attachments[4];
}
- (MTLBlitPassSampleBufferAttachmentDescriptor *)objectAtIndexedSubscript:
    (NSUInteger)attachmentIndex;
- (void)setObject:(nullable MTLBlitPassSampleBufferAttachmentDescriptor *)attachment
    atIndexedSubscript:(NSUInteger)attachmentIndex;
@end

@interface MTLBlitPassDescriptor : NSObject <NSCopying> {
    MTLBlitPassSampleBufferAttachmentDescriptorArray *_sampleBufferAttachments;
}
+ (MTLBlitPassDescriptor *)blitPassDescriptor;
@property(readonly) MTLBlitPassSampleBufferAttachmentDescriptorArray *sampleBufferAttachments;
@end

NS_ASSUME_NONNULL_END

#endif
