/* SPDX-License-Identifier: Apache-2.0 */
/* Plain objects that describe others: Apple's defaults, copies. */
#import "hal/host_metal/metal.h"

@implementation MTLCompileOptions
@synthesize preprocessorMacros = _preprocessorMacros;
@synthesize mathMode = _mathMode;
@synthesize languageVersion = _languageVersion;
@synthesize libraryType = _libraryType;
@synthesize installName = _installName;
@synthesize optimizationLevel = _optimizationLevel;
@synthesize maxTotalThreadsPerThreadgroup = _maxTotalThreadsPerThreadgroup;
- (instancetype)init
{
    _mathMode = MTLMathModeFast;
    _languageVersion = MTLLanguageVersion3_1;
    return self;
}
/* An older name for part of the mode. */
- (BOOL)fastMathEnabled
{
    return _mathMode == MTLMathModeFast;
}
- (void)setFastMathEnabled:(BOOL)enabled
{
    _mathMode = enabled ? MTLMathModeFast : MTLMathModeSafe;
}
- (id)copyWithZone:(void *)zone
{
    (void)zone;
    MTLCompileOptions *const copy = [[MTLCompileOptions alloc] init];
    copy.preprocessorMacros = _preprocessorMacros;
    copy.mathMode = _mathMode;
    copy.languageVersion = _languageVersion;
    copy.libraryType = _libraryType;
    copy.installName = _installName;
    copy.optimizationLevel = _optimizationLevel;
    copy.maxTotalThreadsPerThreadgroup = _maxTotalThreadsPerThreadgroup;
    return copy;
}
- (void)dealloc
{
    [_preprocessorMacros release];
    [_installName release];
    [super dealloc];
}
@end

@implementation MTLHeapDescriptor
@synthesize size = _size;
@synthesize storageMode = _storageMode;
@synthesize cpuCacheMode = _cpuCacheMode;
@synthesize hazardTrackingMode = _hazardTrackingMode;
@synthesize type = _type;
- (instancetype)init
{
    _storageMode = MTLStorageModePrivate;
    return self;
}
- (MTLResourceOptions)resourceOptions
{
    return _storageMode << MTLResourceStorageModeShift |
           _cpuCacheMode << MTLResourceCPUCacheModeShift |
           _hazardTrackingMode << MTLResourceHazardTrackingModeShift;
}
- (void)setResourceOptions:(MTLResourceOptions)options
{
    hm_check_options(options, "MTLHeapDescriptor setResourceOptions");
    _storageMode = hm_storage_mode(options);
    _cpuCacheMode = (options & MTLResourceCPUCacheModeMask) >> MTLResourceCPUCacheModeShift;
    _hazardTrackingMode =
        (options & MTLResourceHazardTrackingModeMask) >> MTLResourceHazardTrackingModeShift;
}
- (id)copyWithZone:(void *)zone
{
    (void)zone;
    MTLHeapDescriptor *const copy = [[MTLHeapDescriptor alloc] init];
    copy->_size = _size;
    copy->_storageMode = _storageMode;
    copy->_cpuCacheMode = _cpuCacheMode;
    copy->_hazardTrackingMode = _hazardTrackingMode;
    copy->_type = _type;
    return copy;
}
@end

@implementation MTLCommandBufferDescriptor
@synthesize retainedReferences = _retainedReferences;
@synthesize errorOptions = _errorOptions;
- (instancetype)init
{
    _retainedReferences = YES;
    return self;
}
- (id)copyWithZone:(void *)zone
{
    (void)zone;
    MTLCommandBufferDescriptor *const copy = [[MTLCommandBufferDescriptor alloc] init];
    copy->_retainedReferences = _retainedReferences;
    copy->_errorOptions = _errorOptions;
    return copy;
}
@end

@implementation MTLArgumentDescriptor
@synthesize dataType = _dataType;
@synthesize index = _index;
@synthesize arrayLength = _arrayLength;
@synthesize access = _access;
@synthesize constantBlockAlignment = _constantBlockAlignment;
+ (MTLArgumentDescriptor *)argumentDescriptor
{
    return [[[self alloc] init] autorelease];
}
- (id)copyWithZone:(void *)zone
{
    (void)zone;
    MTLArgumentDescriptor *const copy = [[MTLArgumentDescriptor alloc] init];
    copy->_dataType = _dataType;
    copy->_index = _index;
    copy->_arrayLength = _arrayLength;
    copy->_access = _access;
    copy->_constantBlockAlignment = _constantBlockAlignment;
    return copy;
}
@end

@implementation MTLCounterSampleBufferDescriptor
@synthesize counterSet = _counterSet;
@synthesize label = _label;
@synthesize storageMode = _storageMode;
@synthesize sampleCount = _sampleCount;
- (id)copyWithZone:(void *)zone
{
    (void)zone;
    MTLCounterSampleBufferDescriptor *const copy = [[MTLCounterSampleBufferDescriptor alloc] init];
    copy.counterSet = _counterSet;
    copy.label = _label;
    copy.storageMode = _storageMode;
    copy.sampleCount = _sampleCount;
    return copy;
}
- (void)dealloc
{
    [_counterSet release];
    [_label release];
    [super dealloc];
}
@end

/* ---- Passes ------------------------------------------------------------------------------- */

@implementation MTLComputePassSampleBufferAttachmentDescriptor
@synthesize sampleBuffer = _sampleBuffer;
@synthesize startOfEncoderSampleIndex = _startOfEncoderSampleIndex;
@synthesize endOfEncoderSampleIndex = _endOfEncoderSampleIndex;
- (id)copyWithZone:(void *)zone
{
    (void)zone;
    MTLComputePassSampleBufferAttachmentDescriptor *const copy =
        [[MTLComputePassSampleBufferAttachmentDescriptor alloc] init];
    copy.sampleBuffer = _sampleBuffer;
    copy.startOfEncoderSampleIndex = _startOfEncoderSampleIndex;
    copy.endOfEncoderSampleIndex = _endOfEncoderSampleIndex;
    return copy;
}
- (void)dealloc
{
    [_sampleBuffer release];
    [super dealloc];
}
@end

@implementation MTLBlitPassSampleBufferAttachmentDescriptor
@synthesize sampleBuffer = _sampleBuffer;
@synthesize startOfEncoderSampleIndex = _startOfEncoderSampleIndex;
@synthesize endOfEncoderSampleIndex = _endOfEncoderSampleIndex;
- (id)copyWithZone:(void *)zone
{
    (void)zone;
    MTLBlitPassSampleBufferAttachmentDescriptor *const copy =
        [[MTLBlitPassSampleBufferAttachmentDescriptor alloc] init];
    copy.sampleBuffer = _sampleBuffer;
    copy.startOfEncoderSampleIndex = _startOfEncoderSampleIndex;
    copy.endOfEncoderSampleIndex = _endOfEncoderSampleIndex;
    return copy;
}
- (void)dealloc
{
    [_sampleBuffer release];
    [super dealloc];
}
@end

/* Elements of arrays of descriptors exist as soon as they are asked for. */
static id element(id *elements, NSUInteger count, NSUInteger index, Class class)
{
    hm_check(index < count, "index-out-of-range", "%s: index %lu, the last one is %lu",
             class_getName(class), index, count - 1);
    if (!elements[index])
        elements[index] = [[class alloc] init];
    return elements[index];
}

static void set_element(id *elements, NSUInteger count, NSUInteger index, id object)
{
    hm_check(index < count, "index-out-of-range", "%s: index %lu, the last one is %lu",
             object_getClassName(object), index, count - 1);
    const id copy = [object copy];
    [elements[index] release];
    elements[index] = copy;
}

static void release_elements(id *elements, NSUInteger count)
{
    for (NSUInteger i = 0; i < count; i++)
        [elements[i] release];
}

@implementation MTLComputePassSampleBufferAttachmentDescriptorArray
- (MTLComputePassSampleBufferAttachmentDescriptor *)objectAtIndexedSubscript:(NSUInteger)index
{
    return element(_attachments, HM_PASS_ATTACHMENTS, index,
                   [MTLComputePassSampleBufferAttachmentDescriptor class]);
}
- (void)setObject:(MTLComputePassSampleBufferAttachmentDescriptor *)object
    atIndexedSubscript:(NSUInteger)index
{
    set_element(_attachments, HM_PASS_ATTACHMENTS, index, object);
}
- (void)dealloc
{
    release_elements(_attachments, HM_PASS_ATTACHMENTS);
    [super dealloc];
}
@end

@implementation MTLBlitPassSampleBufferAttachmentDescriptorArray
- (MTLBlitPassSampleBufferAttachmentDescriptor *)objectAtIndexedSubscript:(NSUInteger)index
{
    return element(_attachments, HM_PASS_ATTACHMENTS, index,
                   [MTLBlitPassSampleBufferAttachmentDescriptor class]);
}
- (void)setObject:(MTLBlitPassSampleBufferAttachmentDescriptor *)object
    atIndexedSubscript:(NSUInteger)index
{
    set_element(_attachments, HM_PASS_ATTACHMENTS, index, object);
}
- (void)dealloc
{
    release_elements(_attachments, HM_PASS_ATTACHMENTS);
    [super dealloc];
}
@end

@implementation MTLComputePassDescriptor
@synthesize dispatchType = _dispatchType;
+ (MTLComputePassDescriptor *)computePassDescriptor
{
    return [[[self alloc] init] autorelease];
}
- (instancetype)init
{
    _sampleBufferAttachments = [[MTLComputePassSampleBufferAttachmentDescriptorArray alloc] init];
    return self;
}
- (MTLComputePassSampleBufferAttachmentDescriptorArray *)sampleBufferAttachments
{
    return _sampleBufferAttachments;
}
- (id)copyWithZone:(void *)zone
{
    (void)zone;
    MTLComputePassDescriptor *const copy = [[MTLComputePassDescriptor alloc] init];
    copy->_dispatchType = _dispatchType;
    for (NSUInteger i = 0; i < HM_PASS_ATTACHMENTS; i++)
        [copy->_sampleBufferAttachments
                     setObject:[_sampleBufferAttachments objectAtIndexedSubscript:i]
            atIndexedSubscript:i];
    return copy;
}
- (void)dealloc
{
    [_sampleBufferAttachments release];
    [super dealloc];
}
@end

@implementation MTLBlitPassDescriptor
+ (MTLBlitPassDescriptor *)blitPassDescriptor
{
    return [[[self alloc] init] autorelease];
}
- (instancetype)init
{
    _sampleBufferAttachments = [[MTLBlitPassSampleBufferAttachmentDescriptorArray alloc] init];
    return self;
}
- (MTLBlitPassSampleBufferAttachmentDescriptorArray *)sampleBufferAttachments
{
    return _sampleBufferAttachments;
}
- (id)copyWithZone:(void *)zone
{
    (void)zone;
    MTLBlitPassDescriptor *const copy = [[MTLBlitPassDescriptor alloc] init];
    for (NSUInteger i = 0; i < HM_PASS_ATTACHMENTS; i++)
        [copy->_sampleBufferAttachments
                     setObject:[_sampleBufferAttachments objectAtIndexedSubscript:i]
            atIndexedSubscript:i];
    return copy;
}
- (void)dealloc
{
    [_sampleBufferAttachments release];
    [super dealloc];
}
@end

/* ---- Pipelines ---------------------------------------------------------------------------- */

@implementation MTLPipelineBufferDescriptor
@synthesize mutability = _mutability;
- (id)copyWithZone:(void *)zone
{
    (void)zone;
    MTLPipelineBufferDescriptor *const copy = [[MTLPipelineBufferDescriptor alloc] init];
    copy->_mutability = _mutability;
    return copy;
}
@end

@implementation MTLPipelineBufferDescriptorArray
- (MTLPipelineBufferDescriptor *)objectAtIndexedSubscript:(NSUInteger)index
{
    return element(_descriptors, MSL_MAX_BUFFERS, index, [MTLPipelineBufferDescriptor class]);
}
- (void)setObject:(MTLPipelineBufferDescriptor *)object atIndexedSubscript:(NSUInteger)index
{
    set_element(_descriptors, MSL_MAX_BUFFERS, index, object);
}
- (void)dealloc
{
    release_elements(_descriptors, MSL_MAX_BUFFERS);
    [super dealloc];
}
@end

@implementation MTLComputePipelineDescriptor
@synthesize label = _label;
@synthesize computeFunction = _computeFunction;
@synthesize threadGroupSizeIsMultipleOfThreadExecutionWidth =
    _threadGroupSizeIsMultipleOfThreadExecutionWidth;
@synthesize supportIndirectCommandBuffers = _supportIndirectCommandBuffers;
@synthesize maxTotalThreadsPerThreadgroup = _maxTotalThreadsPerThreadgroup;
@synthesize binaryArchives = _binaryArchives;
- (instancetype)init
{
    _buffers = [[MTLPipelineBufferDescriptorArray alloc] init];
    return self;
}
- (MTLPipelineBufferDescriptorArray *)buffers
{
    return _buffers;
}
- (void)reset
{
    self.label = nil;
    self.computeFunction = nil;
    self.binaryArchives = nil;
    _threadGroupSizeIsMultipleOfThreadExecutionWidth = NO;
    _supportIndirectCommandBuffers = NO;
    _maxTotalThreadsPerThreadgroup = 0;
    [_buffers release];
    _buffers = [[MTLPipelineBufferDescriptorArray alloc] init];
}
- (id)copyWithZone:(void *)zone
{
    (void)zone;
    MTLComputePipelineDescriptor *const copy = [[MTLComputePipelineDescriptor alloc] init];
    copy.label = _label;
    copy.computeFunction = _computeFunction;
    copy.binaryArchives = _binaryArchives;
    copy->_threadGroupSizeIsMultipleOfThreadExecutionWidth =
        _threadGroupSizeIsMultipleOfThreadExecutionWidth;
    copy->_supportIndirectCommandBuffers = _supportIndirectCommandBuffers;
    copy->_maxTotalThreadsPerThreadgroup = _maxTotalThreadsPerThreadgroup;
    for (NSUInteger i = 0; i < MSL_MAX_BUFFERS; i++)
        [copy->_buffers setObject:[_buffers objectAtIndexedSubscript:i] atIndexedSubscript:i];
    return copy;
}
- (void)dealloc
{
    [_label release];
    [_computeFunction release];
    [_binaryArchives release];
    [_buffers release];
    [super dealloc];
}
@end
