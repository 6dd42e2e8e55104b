/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries and functions: MSL source, compiled by hal/compiler/msl.
 *
 * newLibraryWithData takes what the host calls a metallib: "hostmetallib\n" and then the source.
 * Apple's own begin with "MTLB", hold code for Apple's GPUs, and are refused. */
#import "hal/host_metal/metal.h"
#import "hal/host_metal/reflect.h"

NSErrorDomain const MTLLibraryErrorDomain = @"MTLLibraryErrorDomain";
static const char host_metallib[] = "hostmetallib\n";

NSError *hm_library_error(MTLLibraryError code, const char *format, ...)
{
    char text[HAL_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return host_metal_error(MTLLibraryErrorDomain, (NSInteger)code,
                            [NSString stringWithUTF8String:text]);
}

static NSError *compile_error(enum hal_status status)
{
    if (status == HAL_INVALID)
        return hm_library_error(MTLLibraryErrorCompileFailure, "%s", hal_message());
    return hm_library_error(status == HAL_UNSUPPORTED ? MTLLibraryErrorUnsupported
                                                      : MTLLibraryErrorInternal,
                            "%s: %s", hal_status_name(status), hal_message());
}

@implementation HMSource
- (void)dealloc
{
    free(_text);
    [super dealloc];
}
@end

/* ---- Libraries ---------------------------------------------------------------------------- */

static enum hal_status compile(HMSource *source, const struct msl_constant *constants,
                               size_t constant_count, const struct msl_group_size *size,
                               struct msl_library **out_library)
{
    const struct msl_source description = {.name = "program_source",
                                           .text = source->_text,
                                           .bytes = source->_bytes,
                                           .math = source->_math,
                                           .constants = constants,
                                           .constant_count = constant_count,
                                           .group_sizes = size,
                                           .group_size_count = size ? 1 : 0};
    return msl_compile(&description, out_library);
}

static HMLibrary *compile_library(HMSource *source, HMDevice *device,
                                  const struct msl_constant *constants, size_t constant_count,
                                  NSError **error) NS_RETURNS_RETAINED
{
    struct msl_library *compiled = NULL;
    const enum hal_status status = compile(source, constants, constant_count, NULL, &compiled);
    if (status != HAL_OK) {
        if (error)
            *error = compile_error(status);
        return nil;
    }
    HMLibrary *const library = [[HMLibrary alloc] hm_initWithDevice:device];
    library->_source = [source retain];
    library->_library = compiled;
    NSMutableArray *const names = [[NSMutableArray alloc] init];
    for (size_t i = 0; i < msl_library_function_count(compiled); i++)
        [names addObject:[NSString stringWithUTF8String:msl_function_get_info(
                                                            msl_library_function(compiled, i))
                                                            ->name]];
    library->_names = names;
    return library;
}

@implementation HMLibrary
+ (HMLibrary *)hm_libraryWithSource:(HMSource *)source
                             device:(HMDevice *)device
                              error:(NSError **)error
{
    @autoreleasepool {
        NSError *failure = nil;
        HMLibrary *const library = compile_library(source, device, NULL, 0, &failure);
        [failure retain];
        if (library)
            return library;
        if (error)
            *error = failure;
        else
            [failure release];
    }
    if (error)
        [*error autorelease];
    return nil;
}
- (NSArray<NSString *> *)functionNames
{
    return _names;
}
- (MTLLibraryType)type
{
    return MTLLibraryTypeExecutable;
}
- (HMFunction *)hm_function:(const struct msl_function *)code
                       name:(NSString *)name
                      owner:(HMLibrary *)owner NS_RETURNS_RETAINED
{
    HMFunction *const function = [[HMFunction alloc] hm_initWithDevice:_device];
    pthread_mutex_init(&function->_lock, NULL);
    function->_owner = [owner retain];
    function->_name_string = [name copy];
    function->_function = code;
    return function;
}
- (id<MTLFunction>)newFunctionWithName:(NSString *)name
{
    hm_check(name != nil, "argument-is-nil", "newFunctionWithName: nil");
    const struct msl_function *code = NULL;
    if (msl_library_find(_library, name.UTF8String, &code) != HAL_OK)
        return nil;
    HMFunction *const function = [self hm_function:code name:name owner:self];
    function->_needs_constants = function.functionConstantsDictionary.allKeys.count > 0;
    return function;
}
- (id<MTLFunction>)newFunctionWithName:(NSString *)name
                        constantValues:(MTLFunctionConstantValues *)values
                                 error:(NSError **)error
{
    hm_check(name && values, "argument-is-nil",
             "newFunctionWithName:constantValues:error: without a name or values");
    size_t count = 0;
    struct msl_constant *const constants = [values hm_constantsFor:self
                                                            kernel:name
                                                             count:&count
                                                             error:error];
    if (!constants)
        return nil;
    HMLibrary *const special = compile_library(_source, _device, constants, count, error);
    HMFunction *function = nil;
    if (special) {
        const struct msl_function *code = NULL;
        if (msl_library_find(special->_library, name.UTF8String, &code) == HAL_OK)
            function = [self hm_function:code name:name owner:special];
        else if (error)
            *error = hm_library_error(MTLLibraryErrorFunctionNotFound, "%s", hal_message());
    }
    [special release];
    if (function) {
        function->_constants = constants;
        function->_constant_count = count;
    } else {
        free(constants);
    }
    return function;
}
- (void)newFunctionWithName:(NSString *)name
             constantValues:(MTLFunctionConstantValues *)values
          completionHandler:(void (^)(id<MTLFunction>, NSError *))handler
{
    MTLFunctionConstantValues *const copy = [values copy];
    const dispatch_queue_t queue = dispatch_queue_create("function", DISPATCH_QUEUE_SERIAL);
    dispatch_async(queue, ^{
      NSError *error = nil;
      const id<MTLFunction> function = [self newFunctionWithName:name
                                                  constantValues:copy
                                                           error:&error];
      handler(function, error);
      [function release];
    });
    [copy release];
    dispatch_release(queue);
}
- (void)dealloc
{
    [_names release];
    msl_library_destroy(_library);
    [_source release];
    [super dealloc];
}
@end

/* ---- Making them -------------------------------------------------------------------------- */

/* "#define NAME VALUE" for each macro, then the lines count from 1 again. */
static NSString *macros(MTLCompileOptions *options)
{
    NSMutableArray *const names = [NSMutableArray array];
    for (NSString *name in options.preprocessorMacros)
        [names addObject:name];
    NSString *text = @"";
    for (NSString *name in names)
        text = [text stringByAppendingString:[NSString stringWithFormat:@"#define %@ %@\n", name,
                                                                        [options.preprocessorMacros
                                                                            objectForKey:name]]];
    return names.count ? [text stringByAppendingString:@"#line 1\n"] : text;
}

static HMSource *make_source(const char *before, const char *text, size_t bytes)
{
    HMSource *const source = [[[HMSource alloc] init] autorelease];
    const size_t before_bytes = strlen(before);
    source->_bytes = before_bytes + bytes;
    source->_text = host_metal_allocate(source->_bytes + 1);
    memcpy(source->_text, before, before_bytes);
    memcpy(source->_text + before_bytes, text, bytes);
    source->_math = MSL_MATH_FAST; /* as Apple's compilers do by default */
    return source;
}

/* A name, or the begin of one: bfloat, bfloat4. */
static bool has_word(const char *text, const char *word)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if (at == text || !strchr(letters, at[-1]))
            return true;
    return false;
}

@implementation HMDevice (Libraries)
- (id<MTLLibrary>)newDefaultLibrary
{
    return nil; /* there is no application bundle */
}
- (id<MTLLibrary>)newLibraryWithSource:(NSString *)text
                               options:(MTLCompileOptions *)options
                                 error:(NSError **)error
{
    hm_check(text != nil, "argument-is-nil", "newLibraryWithSource:options:error: nil");
    if (options && options.languageVersion < MTLLanguageVersion3_1 &&
        has_word(text.UTF8String, "bfloat")) {
        if (error)
            *error = hm_library_error(MTLLibraryErrorCompileFailure,
                                      "program_source: unknown type name 'bfloat', which is there "
                                      "from version 3.1 of the language on");
        return nil;
    }
    HMSource *const source = make_source(macros(options).UTF8String, text.UTF8String,
                                         [text lengthOfBytesUsingEncoding:NSUTF8StringEncoding]);
    if (options && options.mathMode == MTLMathModeSafe)
        source->_math = MSL_MATH_PRECISE;
    return [HMLibrary hm_libraryWithSource:source device:self error:error];
}
- (void)newLibraryWithSource:(NSString *)text
                     options:(MTLCompileOptions *)options
           completionHandler:(MTLNewLibraryCompletionHandler)handler
{
    MTLCompileOptions *const copy = [options copy];
    const dispatch_queue_t queue = dispatch_queue_create("library", DISPATCH_QUEUE_SERIAL);
    dispatch_async(queue, ^{
      NSError *error = nil;
      const id<MTLLibrary> library = [self newLibraryWithSource:text options:copy error:&error];
      handler(library, error);
      [library release];
    });
    [copy release];
    dispatch_release(queue);
}
- (id<MTLLibrary>)hm_libraryWithBytes:(const char *)bytes
                                count:(size_t)count
                                error:(NSError **)error NS_RETURNS_RETAINED
{
    const size_t magic = sizeof host_metallib - 1;
    if (count >= magic && memcmp(bytes, host_metallib, magic) == 0)
        return [HMLibrary hm_libraryWithSource:make_source("", bytes + magic, count - magic)
                                        device:self
                                         error:error];
    const bool apples = count >= 4 && memcmp(bytes, "MTLB", 4) == 0;
    if (error)
        *error = apples ? hm_library_error(MTLLibraryErrorUnsupported,
                                           "a metallib holds code for Apple's GPUs, which the host "
                                           "emulation cannot run: use the source")
                        : hm_library_error(MTLLibraryErrorInternal,
                                           "the library's %zu bytes are not a metallib", count);
    return nil;
}
- (id<MTLLibrary>)newLibraryWithData:(dispatch_data_t)data error:(NSError **)error
{
    hm_check(data != nil, "argument-is-nil", "newLibraryWithData:error: nil");
    __block id<MTLLibrary> library = nil;
    __block NSError *failure = nil;
    __block bool empty = true;
    dispatch_data_apply(
        data, ^bool(dispatch_data_t region, size_t offset, const void *bytes, size_t count) {
          (void)region, (void)offset;
          empty = false;
          library = [self hm_libraryWithBytes:bytes count:count error:&failure];
          return true;
        });
    if (empty)
        failure = hm_library_error(MTLLibraryErrorInternal, "the library's data are empty");
    if (error && !library)
        *error = failure;
    return library;
}
- (id<MTLLibrary>)newLibraryWithURL:(NSURL *)url error:(NSError **)error
{
    hm_check(url != nil, "argument-is-nil", "newLibraryWithURL:error: nil");
    FILE *const file = fopen(url.path.UTF8String, "rb");
    if (!file) {
        if (error)
            *error = hm_library_error(MTLLibraryErrorFileNotFound, "cannot open '%s'",
                                      url.path.UTF8String);
        return nil;
    }
    char *bytes = NULL;
    size_t count = 0, capacity = 0, got = 0;
    do {
        count += got;
        if (capacity < count + 65536)
            bytes = host_metal_reallocate(bytes, capacity = count * 2 + 65536);
        got = fread(bytes + count, 1, capacity - count, file);
    } while (got);
    fclose(file);
    const id<MTLLibrary> library = [self hm_libraryWithBytes:bytes count:count error:error];
    free(bytes);
    return library;
}
@end

/* ---- Functions ---------------------------------------------------------------------------- */

@implementation HMFunction
- (MTLFunctionType)functionType
{
    return MTLFunctionTypeKernel;
}
- (NSString *)name
{
    return _name_string;
}
- (NSDictionary<NSString *, MTLFunctionConstant *> *)functionConstantsDictionary
{
    return [MTLFunctionConstant hm_constantsOf:_owner kernel:_name_string];
}
/* Threads that wait for each other run as loops of one size, which has to be known. */
- (const struct msl_function *)hm_functionForSize:(const uint32_t[3])size
{
    if (!msl_function_get_info(_function)->has_barriers)
        return _function;
    const struct msl_function *function = NULL;
    pthread_mutex_lock(&_lock);
    for (size_t i = 0; i < _version_count && !function; i++)
        if (memcmp(_versions[i].size, size, sizeof _versions[i].size) == 0)
            function = _versions[i].function;
    if (!function) {
        const struct msl_group_size group = {_name_string.UTF8String, {size[0], size[1], size[2]}};
        struct hm_version version = {{size[0], size[1], size[2]}, NULL, _function};
        if (compile(_owner->_source, _constants, _constant_count, &group, &version.library) ==
                HAL_OK &&
            msl_library_find(version.library, _name_string.UTF8String, &version.function) != HAL_OK)
            version.function = _function;
        hm_grow((void **)&_versions, _version_count, &_version_capacity, sizeof *_versions);
        _versions[_version_count++] = version;
        function = version.function;
    }
    pthread_mutex_unlock(&_lock);
    return function;
}
- (id<MTLArgumentEncoder>)newArgumentEncoderWithBufferIndex:(NSUInteger)index
{
    static const char call[] = "newArgumentEncoderWithBufferIndex";
    hm_check(index < MSL_MAX_BUFFERS, "index-out-of-range", "%s: %lu, the last one is %d", call,
             index, MSL_MAX_BUFFERS - 1);
    struct hm_parameter parameter;
    hm_check(hm_reflect_parameter(_owner->_source->_text, _name_string.UTF8String, "buffer",
                                  (uint32_t)index, &parameter),
             "argument-encoder", "%s: the source of %s shows no [[buffer(%lu)]]", call,
             _name_string.UTF8String, index);
    struct hm_layout layout;
    char reason[HM_NAME_BYTES];
    hm_check(hm_reflect_struct(_owner->_source->_text, parameter.type, &layout, reason),
             "argument-encoder",
             "%s: [[buffer(%lu)]] of %s is no struct of arguments: the type "
             "'%s' is not known here",
             call, index, _name_string.UTF8String, reason);
    return hm_make_argument_encoder(_device, &layout);
}
- (void)dealloc
{
    for (size_t i = 0; i < _version_count; i++)
        msl_library_destroy(_versions[i].library);
    free(_versions);
    free(_constants);
    if (_owner)
        pthread_mutex_destroy(&_lock);
    [_name_string release];
    [_owner release];
    [super dealloc];
}
@end
