/* SPDX-License-Identifier: Apache-2.0 */
/* The capture manager. As on a Mac, documents need MTL_CAPTURE_ENABLED=1, or
 * METAL_CAPTURE_ENABLED=1 (depending on the version there), and an existing one is not overwritten.
 * The document is a folder with a note. */
#import "hal/host_metal/metal.h"

#include <errno.h>
#include <sys/stat.h>

NSErrorDomain const MTLCaptureErrorDomain = @"MTLCaptureErrorDomain";

@interface HMCaptureScope : HMObject <MTLCaptureScope> {
  @public
    HMQueue *_queue;
    BOOL _open;
}
@end

@implementation HMCaptureScope
- (id<MTLCommandQueue>)commandQueue
{
    return _queue;
}
- (void)beginScope
{
    hm_check(!_open, "capture-scope", "beginScope: %s is open already", hm_name(self));
    _open = YES;
}
- (void)endScope
{
    hm_check(_open, "capture-scope", "endScope: %s is not open", hm_name(self));
    _open = NO;
}
- (void)dealloc
{
    [_queue release];
    [super dealloc];
}
@end

@implementation MTLCaptureDescriptor
@synthesize captureObject = _captureObject;
@synthesize destination = _destination;
@synthesize outputURL = _outputURL;
- (instancetype)init
{
    _destination = MTLCaptureDestinationDeveloperTools;
    return self;
}
- (id)copyWithZone:(void *)zone
{
    (void)zone;
    MTLCaptureDescriptor *const copy = [[MTLCaptureDescriptor alloc] init];
    copy.captureObject = _captureObject;
    copy.destination = _destination;
    copy.outputURL = _outputURL;
    return copy;
}
- (void)dealloc
{
    [_captureObject release];
    [_outputURL release];
    [super dealloc];
}
@end

static MTLCaptureManager *shared_manager;

static bool is_one(const char *variable)
{
    const char *const value = getenv(variable);
    return value && strcmp(value, "1") == 0;
}

static void make_manager(void)
{
    @autoreleasepool {
        shared_manager = [[MTLCaptureManager alloc] init];
        host_metal_exempt(shared_manager);
    }
}

static NSError *capture_error(MTLCaptureError code, NSString *message)
{
    return host_metal_error(MTLCaptureErrorDomain, code, message);
}

@implementation MTLCaptureManager
@synthesize defaultCaptureScope = _defaultCaptureScope;
+ (MTLCaptureManager *)sharedCaptureManager
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_manager);
    return shared_manager;
}
- (id<MTLCaptureScope>)newCaptureScopeWithDevice:(id<MTLDevice>)device
{
    return [[HMCaptureScope alloc] hm_initWithDevice:(HMDevice *)device];
}
- (id<MTLCaptureScope>)newCaptureScopeWithCommandQueue:(id<MTLCommandQueue>)queue
{
    HMCaptureScope *const scope =
        [[HMCaptureScope alloc] hm_initWithDevice:((HMQueue *)queue)->_device];
    scope->_queue = [(HMQueue *)queue retain];
    return scope;
}
- (BOOL)supportsDestination:(MTLCaptureDestination)destination
{
    return destination == MTLCaptureDestinationGPUTraceDocument &&
           (is_one("MTL_CAPTURE_ENABLED") || is_one("METAL_CAPTURE_ENABLED"));
}
- (BOOL)isCapturing
{
    @synchronized(self) {
        return _isCapturing;
    }
}
- (NSError *)hm_objectionTo:(MTLCaptureDescriptor *)descriptor
{
    if (![self supportsDestination:descriptor.destination])
        return capture_error(MTLCaptureErrorNotSupported,
                             @"Capturing is not supported. Capture to the destination needs "
                             @"MTL_CAPTURE_ENABLED=1.");
    if (_isCapturing)
        return capture_error(MTLCaptureErrorAlreadyCapturing, @"Already capturing.");
    const id object = descriptor.captureObject;
    if (![object isKindOfClass:[HMDevice class]] && ![object isKindOfClass:[HMQueue class]] &&
        ![object isKindOfClass:[HMCaptureScope class]])
        return capture_error(MTLCaptureErrorInvalidDescriptor,
                             @"The capture object is no device, command queue or capture scope.");
    NSString *const path = descriptor.outputURL.path;
    if (!path || ![path.pathExtension isEqualToString:@"gputrace"])
        return capture_error(MTLCaptureErrorInvalidDescriptor,
                             @"The output URL does not end in .gputrace.");
    struct stat found;
    if (lstat(path.UTF8String, &found) == 0)
        return capture_error(MTLCaptureErrorInvalidDescriptor, @"The output URL already exists.");
    if (mkdir(path.UTF8String, 0777) != 0)
        return capture_error(
            MTLCaptureErrorInvalidDescriptor,
            [NSString stringWithFormat:@"The output URL cannot be made: %s.", strerror(errno)]);
    return nil;
}
- (BOOL)startCaptureWithDescriptor:(MTLCaptureDescriptor *)descriptor error:(NSError **)error
{
    hm_check(descriptor != nil, "argument-is-nil", "startCaptureWithDescriptor: nil");
    @synchronized(self) {
        NSError *const objection = [self hm_objectionTo:descriptor];
        if (error)
            *error = objection;
        if (objection)
            return NO;
        _document = [descriptor.outputURL retain];
        hm_notes_begin([_document.path stringByAppendingString:@"/host-metal.txt"].UTF8String);
        _isCapturing = YES;
        return YES;
    }
}
- (void)stopCapture
{
    @synchronized(self) {
        hm_check(_isCapturing, "capture-not-running", "stopCapture: nothing is captured");
        hm_notes_end();
        [_document release];
        _document = nil;
        _isCapturing = NO;
    }
}
@end
