/* SPDX-License-Identifier: Apache-2.0 */
/* Compute pipelines and their reflection. */
#import "hal/host_metal/metal.h"
#import "hal/host_metal/reflect.h"

#include <time.h>

/* ---- Reflection --------------------------------------------------------------------------- */

@interface HMBinding : NSObject <MTLBufferBinding, MTLThreadgroupBinding> {
  @public
    NSString *_name;
    MTLBindingType _type;
    MTLBindingAccess _access;
    NSUInteger _index;
    BOOL _used;
    MTLDataType _data_type;
    NSUInteger _bytes;
}
@end

@implementation HMBinding
- (NSString *)name
{
    return _name;
}
- (MTLBindingType)type
{
    return _type;
}
- (MTLBindingAccess)access
{
    return _access;
}
- (NSUInteger)index
{
    return _index;
}
- (BOOL)isUsed
{
    return _used;
}
- (BOOL)isArgument
{
    return YES;
}
- (NSUInteger)bufferAlignment
{
    return _bytes ? _bytes : 1;
}
- (NSUInteger)bufferDataSize
{
    return _bytes;
}
- (MTLDataType)bufferDataType
{
    return _data_type;
}
- (NSUInteger)threadgroupMemoryAlignment
{
    return 16;
}
- (NSUInteger)threadgroupMemoryDataSize
{
    return _bytes;
}
- (void)dealloc
{
    [_name release];
    [super dealloc];
}
@end

static HMBinding *make_binding(HMFunction *function, const char *attribute, uint32_t index)
{
    struct hm_parameter parameter = {.name = ""};
    HMBinding *const binding = [[[HMBinding alloc] init] autorelease];
    binding->_index = index;
    binding->_used = YES;
    binding->_type =
        strcmp(attribute, "buffer") == 0 ? MTLBindingTypeBuffer : MTLBindingTypeThreadgroupMemory;
    binding->_access = MTLBindingAccessReadWrite;
    if (hm_reflect_parameter(function->_owner->_source->_text, function->_name_string.UTF8String,
                             attribute, index, &parameter)) {
        binding->_data_type = parameter.data_type;
        binding->_bytes = parameter.bytes;
    }
    binding->_name = [[NSString alloc] initWithUTF8String:parameter.name];
    return binding;
}

@interface MTLComputePipelineReflection ()
- (instancetype)hm_initWithPipeline:(HMPipeline *)pipeline HM_INITIALIZER;
@end

@implementation MTLComputePipelineReflection
- (instancetype)hm_initWithPipeline:(HMPipeline *)pipeline
{
    NSMutableArray *const bindings = [[NSMutableArray alloc] init];
    const struct msl_function_info *const info = pipeline->_info;
    for (uint32_t i = 0; i < MSL_MAX_BUFFERS; i++) {
        if (!(info->buffer_mask >> i & 1))
            continue;
        HMBinding *const binding = make_binding(pipeline->_function, "buffer", i);
        binding->_used = info->buffer_access[i] != MSL_UNUSED;
        binding->_access = info->buffer_access[i] & MSL_WRITE ? MTLBindingAccessReadWrite
                                                              : MTLBindingAccessReadOnly;
        [bindings addObject:binding];
    }
    for (uint32_t i = 0; i < MSL_MAX_THREADGROUP_ARGUMENTS; i++)
        if (info->threadgroup_mask >> i & 1)
            [bindings addObject:make_binding(pipeline->_function, "threadgroup", i)];
    _bindings = bindings;
    return self;
}
- (NSArray<id<MTLBinding>> *)bindings
{
    return _bindings;
}
- (void)dealloc
{
    [_bindings release];
    [super dealloc];
}
@end

/* ---- Pipelines ---------------------------------------------------------------------------- */

@implementation HMPipeline
- (NSUInteger)maxTotalThreadsPerThreadgroup
{
    return _max_threads;
}
- (NSUInteger)threadExecutionWidth
{
    return MSL_SIMD_WIDTH;
}
- (NSUInteger)staticThreadgroupMemoryLength
{
    return _info->static_group_memory_bytes;
}
- (BOOL)supportIndirectCommandBuffers
{
    return _indirect;
}
- (void)dealloc
{
    [_function release];
    [super dealloc];
}
@end

/* ---- HOST_METAL=pipelines-meet=N ------------------------------------------------------------ */

static pthread_mutex_t overlap_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t met = PTHREAD_COND_INITIALIZER;

/* A program that creates the pipelines of a library one after another runs into the time limit. */
static void meet(HMLibrary *library)
{
    HMSource *const source = library->_source;
    const uint64_t needed = hm_modes()->pipelines_meet, timeout = hm_modes()->timeout;
    if (!needed || library->_names.count < needed)
        return;
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += (time_t)timeout;
    int late = 0;
    pthread_mutex_lock(&overlap_lock);
    source->_pipelines++;
    if (source->_pipelines > 1)
        source->_pipelines_have_met = YES;
    pthread_cond_broadcast(&met);
    while (!source->_pipelines_have_met && !late)
        late = pthread_cond_timedwait(&met, &overlap_lock, &end);
    hm_check(source->_pipelines_have_met, "pipeline-made-alone",
             "newComputePipelineState: nobody else makes one of the library's %lu kernels for %lu "
             "seconds",
             library->_names.count, timeout);
    source->_pipelines--;
    pthread_mutex_unlock(&overlap_lock);
}

/* ---- Making them -------------------------------------------------------------------------- */

/* Offsets of bound buffers are multiples of the size of the kernel's type, at most 16 bytes. */
static void find_alignments(HMPipeline *pipeline)
{
    const HMFunction *const function = pipeline->_function;
    struct hm_parameter parameter;
    for (uint32_t i = 0; i < MSL_MAX_BUFFERS; i++) {
        const bool known =
            pipeline->_info->buffer_mask >> i & 1 &&
            hm_reflect_parameter(function->_owner->_source->_text,
                                 function->_name_string.UTF8String, "buffer", i, &parameter);
        pipeline->_alignment[i] = known && parameter.bytes ? (uint8_t)parameter.bytes : 1;
    }
}

@implementation HMDevice (Pipelines)
- (HMPipeline *)hm_pipelineFor:(HMFunction *)function NS_RETURNS_RETAINED
{
    hm_check_device(function, self, "newComputePipelineState");
    HMPipeline *const pipeline = [[HMPipeline alloc] hm_initWithDevice:self];
    pipeline->_function = [function retain];
    pipeline->_info = msl_function_get_info(function->_function);
    pipeline->_max_threads = MSL_MAX_GROUP_THREADS;
    find_alignments(pipeline);
    pipeline.label = function->_name_string;
    return pipeline;
}
- (id<MTLComputePipelineState>)newComputePipelineStateWithFunction:(id<MTLFunction>)function
                                                             error:(NSError **)error
{
    return [self newComputePipelineStateWithFunction:function
                                             options:MTLPipelineOptionNone
                                          reflection:NULL
                                               error:error];
}
- (id<MTLComputePipelineState>)
    newComputePipelineStateWithFunction:(id<MTLFunction>)function
                                options:(MTLPipelineOption)options
                             reflection:(MTLAutoreleasedComputePipelineReflection *)reflection
                                  error:(NSError **)error
{
    MTLComputePipelineDescriptor *const descriptor = [[MTLComputePipelineDescriptor alloc] init];
    descriptor.computeFunction = function;
    const id<MTLComputePipelineState> pipeline =
        [self newComputePipelineStateWithDescriptor:descriptor
                                            options:options
                                         reflection:reflection
                                              error:error];
    [descriptor release];
    return pipeline;
}
- (id<MTLComputePipelineState>)
    newComputePipelineStateWithDescriptor:(MTLComputePipelineDescriptor *)descriptor
                                  options:(MTLPipelineOption)options
                               reflection:(MTLAutoreleasedComputePipelineReflection *)reflection
                                    error:(NSError **)error
{
    static const char call[] = "newComputePipelineState";
    hm_check(descriptor && descriptor.computeFunction, "argument-is-nil", "%s without a function",
             call);
    const NSUInteger max_threads = descriptor.maxTotalThreadsPerThreadgroup;
    hm_check(max_threads <= MSL_MAX_GROUP_THREADS, "threadgroup-too-large",
             "%s: maxTotalThreadsPerThreadgroup is %lu, the device's limit %d", call, max_threads,
             MSL_MAX_GROUP_THREADS);
    if (((HMFunction *)descriptor.computeFunction)->_needs_constants) {
        if (error)
            *error = hm_library_error(
                MTLLibraryErrorInternal,
                "function '%s' has function constants and was not specialized: make it by "
                "newFunctionWithName:constantValues:error:",
                ((HMFunction *)descriptor.computeFunction)->_name_string.UTF8String);
        return nil;
    }
    if (!hm_is_archived(descriptor) && options & MTLPipelineOptionFailOnBinaryArchiveMiss) {
        if (error)
            *error = hm_library_error(MTLLibraryErrorInternal,
                                      "the pipeline is in none of the binary archives");
        return nil;
    }
    HMPipeline *const pipeline = [self hm_pipelineFor:(HMFunction *)descriptor.computeFunction];
    meet(pipeline->_function->_owner);
    if (pipeline->_info->static_group_memory_bytes > MSL_MAX_GROUP_MEMORY_BYTES) {
        if (error)
            *error = hm_library_error(
                MTLLibraryErrorInternal, "threadgroup memory: %u bytes, the limit is %d",
                pipeline->_info->static_group_memory_bytes, MSL_MAX_GROUP_MEMORY_BYTES);
        [pipeline release];
        return nil;
    }
    if (max_threads)
        pipeline->_max_threads = max_threads;
    if (descriptor.label)
        pipeline.label = descriptor.label;
    pipeline->_multiple_of_width = descriptor.threadGroupSizeIsMultipleOfThreadExecutionWidth;
    pipeline->_indirect = descriptor.supportIndirectCommandBuffers;
    if (reflection && options & (MTLPipelineOptionBindingInfo | MTLPipelineOptionBufferTypeInfo))
        *reflection =
            [[[MTLComputePipelineReflection alloc] hm_initWithPipeline:pipeline] autorelease];
    return pipeline;
}
- (void)newComputePipelineStateWithFunction:(id<MTLFunction>)function
                          completionHandler:(MTLNewComputePipelineStateCompletionHandler)handler
{
    const dispatch_queue_t queue = dispatch_queue_create("pipeline", DISPATCH_QUEUE_SERIAL);
    dispatch_async(queue, ^{
      NSError *error = nil;
      const id<MTLComputePipelineState> pipeline =
          [self newComputePipelineStateWithFunction:function error:&error];
      handler(pipeline, error);
      [pipeline release];
    });
    dispatch_release(queue);
}
- (void)newComputePipelineStateWithDescriptor:(MTLComputePipelineDescriptor *)descriptor
                                      options:(MTLPipelineOption)options
                            completionHandler:
                                (MTLNewComputePipelineStateWithReflectionCompletionHandler)handler
{
    MTLComputePipelineDescriptor *const copy = [descriptor copy];
    const dispatch_queue_t queue = dispatch_queue_create("pipeline", DISPATCH_QUEUE_SERIAL);
    dispatch_async(queue, ^{
      NSError *error = nil;
      MTLComputePipelineReflection *reflection = nil;
      const id<MTLComputePipelineState> pipeline =
          [self newComputePipelineStateWithDescriptor:copy
                                              options:options
                                           reflection:&reflection
                                                error:&error];
      handler(pipeline, reflection, error);
      [pipeline release];
    });
    [copy release];
    dispatch_release(queue);
}
@end
