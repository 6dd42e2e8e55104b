/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers. Compared with: names.txt. */
#ifndef HOST_METAL_MTLBUFFER_H
#define HOST_METAL_MTLBUFFER_H

#import <Metal/MTLResource.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLBuffer <MTLResource>
@property(readonly) NSUInteger length;
@property(readonly) uint64_t gpuAddress;
- (void *)contents NS_RETURNS_INNER_POINTER; /* NULL for private storage */
- (void)didModifyRange:(NSRange)range;
- (void)addDebugMarker:(NSString *)marker range:(NSRange)range;
- (void)removeAllDebugMarkers;
@end

NS_ASSUME_NONNULL_END

#endif
