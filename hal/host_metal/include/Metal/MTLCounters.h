/* SPDX-License-Identifier: Apache-2.0 */
/* Counter sample buffers: device times at encoder boundaries. Compared with: names.txt. */
#ifndef HOST_METAL_MTLCOUNTERS_H
#define HOST_METAL_MTLCOUNTERS_H

#import <Metal/MTLResource.h>

NS_ASSUME_NONNULL_BEGIN

typedef NSString *MTLCommonCounter;
typedef NSString *MTLCommonCounterSet;
FOUNDATION_EXPORT MTLCommonCounter const MTLCommonCounterTimestamp;
FOUNDATION_EXPORT MTLCommonCounterSet const MTLCommonCounterSetTimestamp;

typedef struct {
    uint64_t timestamp;
} MTLCounterResultTimestamp;

#define MTLCounterErrorValue ((uint64_t)-1)
#define MTLCounterDontSample ((NSUInteger)-1)

typedef NS_ENUM(NSUInteger, MTLCounterSamplingPoint) {
    MTLCounterSamplingPointAtStageBoundary = 0,
    MTLCounterSamplingPointAtDrawBoundary = 1,
    MTLCounterSamplingPointAtDispatchBoundary = 2,
    MTLCounterSamplingPointAtTileDispatchBoundary = 3,
    MTLCounterSamplingPointAtBlitBoundary = 4,
};

FOUNDATION_EXPORT NSErrorDomain const MTLCounterErrorDomain;
typedef NS_ENUM(NSInteger, MTLCounterSampleBufferError) {
    MTLCounterSampleBufferErrorOutOfMemory = 0,
    MTLCounterSampleBufferErrorInvalid = 1,
    MTLCounterSampleBufferErrorInternal = 2,
};

@protocol MTLCounter <NSObject>
@property(readonly, copy) NSString *name;
@end

@protocol MTLCounterSet <NSObject>
@property(readonly, copy) NSString *name;
@property(readonly, copy) NSArray<id<MTLCounter>> *counters;
@end

@interface MTLCounterSampleBufferDescriptor : NSObject <NSCopying> {
    id<MTLCounterSet> _counterSet;
    NSString *_label;
    MTLStorageMode _storageMode;
    NSUInteger _sampleCount;
}
@property(readwrite, retain, nullable) id<MTLCounterSet> counterSet;
@property(readwrite, copy) NSString *label;
@property(readwrite) MTLStorageMode storageMode; /* shared or private */
@property(readwrite) NSUInteger sampleCount;
@end

@protocol MTLCounterSampleBuffer <NSObject>
@property(readonly) id<MTLDevice> device;
@property(readonly) NSString *label;
@property(readonly) NSUInteger sampleCount;
- (nullable NSData *)resolveCounterRange:(NSRange)range;
@end

NS_ASSUME_NONNULL_END

#endif
