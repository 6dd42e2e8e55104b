/* SPDX-License-Identifier: Apache-2.0 */
/* A part of the work to capture. Compared with: names.txt. */
#ifndef HOST_METAL_MTLCAPTURESCOPE_H
#define HOST_METAL_MTLCAPTURESCOPE_H

#import <Metal/MTLDevice.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLCaptureScope <NSObject>
@property(nullable, copy, atomic) NSString *label;
@property(nonnull, readonly, nonatomic) id<MTLDevice> device;
@property(nullable, readonly, nonatomic) id<MTLCommandQueue> commandQueue;
- (void)beginScope;
- (void)endScope;
@end

NS_ASSUME_NONNULL_END

#endif
