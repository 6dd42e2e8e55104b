/* SPDX-License-Identifier: Apache-2.0 */
/* Archives of compiled pipelines. Compared with: names.txt. */
#ifndef HOST_METAL_MTLBINARYARCHIVE_H
#define HOST_METAL_MTLBINARYARCHIVE_H

#import <Foundation/Foundation.h>

NS_ASSUME_NONNULL_BEGIN

@class MTLComputePipelineDescriptor;
@protocol MTLDevice;

FOUNDATION_EXPORT NSErrorDomain const MTLBinaryArchiveDomain;
typedef NS_ENUM(NSUInteger, MTLBinaryArchiveError) {
    MTLBinaryArchiveErrorNone = 0,
    MTLBinaryArchiveErrorInvalidFile = 1,
    MTLBinaryArchiveErrorUnexpectedElement = 2,
    MTLBinaryArchiveErrorCompilationFailure = 3,
    MTLBinaryArchiveErrorInternalError = 4,
};

@interface MTLBinaryArchiveDescriptor : NSObject <NSCopying> {
    NSURL *_url;
}
@property(nullable, readwrite, nonatomic, copy) NSURL *url;
@end

@protocol MTLBinaryArchive <NSObject>
@property(nullable, copy, atomic) NSString *label;
@property(readonly) id<MTLDevice> device;
- (BOOL)addComputePipelineFunctionsWithDescriptor:(MTLComputePipelineDescriptor *)descriptor
                                            error:(NSError *_Nullable *_Nullable)error;
- (BOOL)serializeToURL:(NSURL *)url error:(NSError *_Nullable *_Nullable)error;
@end

NS_ASSUME_NONNULL_END

#endif
