/* SPDX-License-Identifier: Apache-2.0 */
/* Fences: order between encoders of untracked resources. Compared with: names.txt. */
#ifndef HOST_METAL_MTLFENCE_H
#define HOST_METAL_MTLFENCE_H

#import <Foundation/Foundation.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLDevice;

@protocol MTLFence <NSObject>
@property(readonly) id<MTLDevice> device;
@property(nullable, copy, atomic) NSString *label;
@end

NS_ASSUME_NONNULL_END

#endif
