/* SPDX-License-Identifier: Apache-2.0 */
/* A pipeline's information about its buffers. Compared with: names.txt. */
#ifndef HOST_METAL_MTLPIPELINE_H
#define HOST_METAL_MTLPIPELINE_H

#import <Foundation/Foundation.h>

NS_ASSUME_NONNULL_BEGIN

typedef NS_ENUM(NSUInteger, MTLMutability) {
    MTLMutabilityDefault = 0,
    MTLMutabilityMutable = 1,
    MTLMutabilityImmutable = 2,
};

@interface MTLPipelineBufferDescriptor : NSObject <NSCopying> {
    MTLMutability _mutability;
}
@property(nonatomic) MTLMutability mutability;
@end

@interface MTLPipelineBufferDescriptorArray : NSObject {
    id _descriptors[31];
}
- (MTLPipelineBufferDescriptor *)objectAtIndexedSubscript:(NSUInteger)bufferIndex;
- (void)setObject:(nullable MTLPipelineBufferDescriptor *)buffer
    atIndexedSubscript:(NSUInteger)bufferIndex;
@end

NS_ASSUME_NONNULL_END

#endif
