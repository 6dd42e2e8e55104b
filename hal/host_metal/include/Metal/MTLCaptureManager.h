/* SPDX-License-Identifier: Apache-2.0 */
/* Captures to .gputrace documents. Compared with: names.txt. */
#ifndef HOST_METAL_MTLCAPTUREMANAGER_H
#define HOST_METAL_MTLCAPTUREMANAGER_H

#import <Metal/MTLCaptureScope.h>

NS_ASSUME_NONNULL_BEGIN

FOUNDATION_EXPORT NSErrorDomain const MTLCaptureErrorDomain;
typedef NS_ENUM(NSInteger, MTLCaptureError) {
    MTLCaptureErrorNotSupported = 1,
    MTLCaptureErrorAlreadyCapturing = 2,
    MTLCaptureErrorInvalidDescriptor = 3,
};

typedef NS_ENUM(NSInteger, MTLCaptureDestination) {
    MTLCaptureDestinationDeveloperTools = 1,
    MTLCaptureDestinationGPUTraceDocument = 2,
};

@interface MTLCaptureDescriptor : NSObject <NSCopying> {
    id _captureObject;
    MTLCaptureDestination _destination;
    NSURL *_outputURL;
}
@property(nonatomic, retain, nullable) id captureObject; /* device, queue or scope */
@property(nonatomic, assign) MTLCaptureDestination destination;
@property(nonatomic, copy, nullable) NSURL *outputURL;
@end

@interface MTLCaptureManager : NSObject {
    BOOL _isCapturing;
    id<MTLCaptureScope> _defaultCaptureScope;
    NSURL *_document;
}
+ (MTLCaptureManager *)sharedCaptureManager;
- (id<MTLCaptureScope>)newCaptureScopeWithDevice:(id<MTLDevice>)device NS_RETURNS_RETAINED;
- (id<MTLCaptureScope>)newCaptureScopeWithCommandQueue:(id<MTLCommandQueue>)commandQueue
    NS_RETURNS_RETAINED;
- (BOOL)supportsDestination:(MTLCaptureDestination)destination;
- (BOOL)startCaptureWithDescriptor:(MTLCaptureDescriptor *)descriptor
                             error:(NSError *_Nullable *_Nullable)error;
- (void)stopCapture;
@property(nullable, readwrite, retain, atomic) id<MTLCaptureScope> defaultCaptureScope;
@property(readonly) BOOL isCapturing;
@end

NS_ASSUME_NONNULL_END

#endif
