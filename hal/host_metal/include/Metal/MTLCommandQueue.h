/* SPDX-License-Identifier: Apache-2.0 */
/* Command queues. Compared with: names.txt. */
#ifndef HOST_METAL_MTLCOMMANDQUEUE_H
#define HOST_METAL_MTLCOMMANDQUEUE_H

#import <Metal/MTLCommandBuffer.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLCommandQueue <NSObject>
@property(nullable, copy, atomic) NSString *label;
@property(readonly) id<MTLDevice> device;
- (nullable id<MTLCommandBuffer>)commandBuffer;
- (nullable id<MTLCommandBuffer>)commandBufferWithUnretainedReferences;
- (nullable id<MTLCommandBuffer>)commandBufferWithDescriptor:
    (MTLCommandBufferDescriptor *)descriptor;
- (void)insertDebugCaptureBoundary;
@end

NS_ASSUME_NONNULL_END

#endif
