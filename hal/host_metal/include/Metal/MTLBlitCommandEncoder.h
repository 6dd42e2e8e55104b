/* SPDX-License-Identifier: Apache-2.0 */
/* Blit encoders, for buffers. Compared with: names.txt. */
#ifndef HOST_METAL_MTLBLITCOMMANDENCODER_H
#define HOST_METAL_MTLBLITCOMMANDENCODER_H

#import <Metal/MTLBuffer.h>
#import <Metal/MTLCommandEncoder.h>
#import <Metal/MTLCounters.h>
#import <Metal/MTLFence.h>

NS_ASSUME_NONNULL_BEGIN

/* On macOS, copies of buffers need offsets and sizes that are multiples of 4. */
@protocol MTLBlitCommandEncoder <MTLCommandEncoder>
- (void)synchronizeResource:(id<MTLResource>)resource;
- (void)fillBuffer:(id<MTLBuffer>)buffer range:(NSRange)range value:(uint8_t)value;
- (void)copyFromBuffer:(id<MTLBuffer>)sourceBuffer
          sourceOffset:(NSUInteger)sourceOffset
              toBuffer:(id<MTLBuffer>)destinationBuffer
     destinationOffset:(NSUInteger)destinationOffset
                  size:(NSUInteger)size;
- (void)updateFence:(id<MTLFence>)fence;
- (void)waitForFence:(id<MTLFence>)fence;
- (void)optimizeContentsForGPUAccess:(id<MTLResource>)resource;
- (void)optimizeContentsForCPUAccess:(id<MTLResource>)resource;
- (void)sampleCountersInBuffer:(id<MTLCounterSampleBuffer>)sampleBuffer
                 atSampleIndex:(NSUInteger)sampleIndex
                   withBarrier:(BOOL)barrier;
- (void)resolveCounters:(id<MTLCounterSampleBuffer>)sampleBuffer
                inRange:(NSRange)range
      destinationBuffer:(id<MTLBuffer>)destinationBuffer
      destinationOffset:(NSUInteger)destinationOffset;
@end

NS_ASSUME_NONNULL_END

#endif
