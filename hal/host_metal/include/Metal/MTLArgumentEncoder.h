/* SPDX-License-Identifier: Apache-2.0 */
/* Argument encoders: write addresses of buffers into a buffer. Compared with: names.txt. */
#ifndef HOST_METAL_MTLARGUMENTENCODER_H
#define HOST_METAL_MTLARGUMENTENCODER_H

#import <Metal/MTLBuffer.h>

NS_ASSUME_NONNULL_BEGIN

/* Every [[id(n)]] of the host takes 8 bytes, or the size of its type, laid out like the struct. */
@protocol MTLArgumentEncoder <NSObject>
@property(readonly) id<MTLDevice> device;
@property(nullable, copy, atomic) NSString *label;
@property(readonly) NSUInteger encodedLength;
@property(readonly) NSUInteger alignment;
- (void)setArgumentBuffer:(nullable id<MTLBuffer>)argumentBuffer offset:(NSUInteger)offset;
- (void)setArgumentBuffer:(nullable id<MTLBuffer>)argumentBuffer
              startOffset:(NSUInteger)startOffset
             arrayElement:(NSUInteger)arrayElement;
- (void)setBuffer:(nullable id<MTLBuffer>)buffer
           offset:(NSUInteger)offset
          atIndex:(NSUInteger)index;
- (void)setBuffers:(const id<MTLBuffer> _Nullable[_Nonnull])buffers
           offsets:(const NSUInteger[_Nonnull])offsets
         withRange:(NSRange)range;
- (void *)constantDataAtIndex:(NSUInteger)index;
@end

NS_ASSUME_NONNULL_END

#endif
