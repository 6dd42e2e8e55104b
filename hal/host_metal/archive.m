/* SPDX-License-Identifier: Apache-2.0 */
/* Binary archives: which pipelines one contains. The code itself is in the cache of
 * hal/compiler/msl; a file holds a key per pipeline, as many bytes as code would have, and a
 * checksum. An archive of another device or another build of the system can be opened, but nothing
 * is found in it, as on a Mac; a file with modified bytes is invalid. */
#import "hal/host_metal/metal.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/stat.h>

NSErrorDomain const MTLBinaryArchiveDomain = @"MTLBinaryArchiveDomain";

enum { CODE_BYTES = 4096, MAX_FILE_BYTES = 64 << 20 };
static const char magic[] = "hostarchive 1\n";

/* ---- Keys ----------------------------------------------------------------------------------- */

static uint64_t hash(uint64_t state, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        state = (state ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
    return state;
}

static uint64_t key_of(MTLComputePipelineDescriptor *descriptor)
{
    const HMFunction *const function = (HMFunction *)descriptor.computeFunction;
    const HMSource *const source = function->_owner->_source;
    const char *const name = function->_name_string.UTF8String;
    const uint64_t threads = descriptor.maxTotalThreadsPerThreadgroup;
    uint64_t key = hash(UINT64_C(0xcbf29ce484222325), source->_text, source->_bytes);
    key = hash(key, name, strlen(name) + 1);
    key = hash(key, &threads, sizeof threads);
    key = hash(key, &source->_math, sizeof source->_math);
    for (size_t i = 0; i < function->_constant_count; i++) {
        const struct msl_constant *const constant = &function->_constants[i];
        const uint64_t words[] = {constant->index, constant->type, constant->bits};
        key = hash(key, words, sizeof words);
    }
    return key;
}

static NSError *archive_error(MTLBinaryArchiveError code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static NSError *archive_error(MTLBinaryArchiveError code, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return host_metal_error(MTLBinaryArchiveDomain, (NSInteger)code,
                            [NSString stringWithUTF8String:text]);
}

/* HOST_METAL=fail-archives */
static bool is_injected(NSError **error)
{
    static _Atomic uint64_t calls;
    if (!hm_every_nth(&calls, hm_modes()->fail_archives))
        return false;
    if (error)
        *error = archive_error(MTLBinaryArchiveErrorInternalError, "injected failure");
    return true;
}

/* ---- Archives ------------------------------------------------------------------------------- */

@interface HMBinaryArchive : HMObject <MTLBinaryArchive> {
  @public
    pthread_mutex_t _lock;
    uint64_t *_keys;
    size_t _count, _capacity;
}
@end

@implementation HMBinaryArchive
- (instancetype)hm_initWithDevice:(HMDevice *)device
{
    [super hm_initWithDevice:device];
    pthread_mutex_init(&_lock, NULL);
    return self;
}
- (bool)hm_has:(uint64_t)key
{
    bool found = false;
    pthread_mutex_lock(&_lock);
    for (size_t i = 0; i < _count && !found; i++)
        found = _keys[i] == key;
    pthread_mutex_unlock(&_lock);
    return found;
}
- (void)hm_add:(uint64_t)key
{
    if ([self hm_has:key])
        return;
    pthread_mutex_lock(&_lock);
    hm_grow((void **)&_keys, _count, &_capacity, sizeof *_keys);
    _keys[_count++] = key;
    pthread_mutex_unlock(&_lock);
}
- (BOOL)addComputePipelineFunctionsWithDescriptor:(MTLComputePipelineDescriptor *)descriptor
                                            error:(NSError **)error
{
    static const char call[] = "addComputePipelineFunctionsWithDescriptor";
    hm_check(descriptor && descriptor.computeFunction, "argument-is-nil", "%s without a function",
             call);
    hm_check_device((HMFunction *)descriptor.computeFunction, _device, call);
    if (is_injected(error))
        return NO;
    [self hm_add:key_of(descriptor)];
    return YES;
}
- (BOOL)serializeToURL:(NSURL *)url error:(NSError **)error
{
    static const char code[CODE_BYTES];
    hm_check(url && url.path, "argument-is-nil", "serializeToURL: nil");
    if (is_injected(error))
        return NO;
    char *text = NULL;
    size_t bytes = 0;
    FILE *const memory = open_memstream(&text, &bytes);
    pthread_mutex_lock(&_lock);
    fprintf(memory, "%s%" PRIu64 " %s\n%zu\n", magic, hm_modes()->system, _device.name.UTF8String,
            _count);
    for (size_t i = 0; i < _count; i++) {
        fwrite(&_keys[i], sizeof *_keys, 1, memory);
        fwrite(code, sizeof code, 1, memory);
    }
    pthread_mutex_unlock(&_lock);
    fflush(memory);
    const uint64_t sum = hash(1, text, bytes);
    fwrite(&sum, sizeof sum, 1, memory);
    fclose(memory);
    FILE *const file = fopen(url.path.UTF8String, "w");
    const bool written = file && fwrite(text, bytes, 1, file) == 1;
    const int number = errno;
    free(text);
    if (file && fclose(file) == 0 && written)
        return YES;
    if (error)
        *error = archive_error(MTLBinaryArchiveErrorInternalError, "cannot write '%s': %s",
                               url.path.UTF8String, strerror(number));
    return NO;
}
/* Parses the bytes; false: they were modified. */
- (bool)hm_read:(const char *)text bytes:(size_t)bytes
{
    char device[256];
    uint64_t sum, system;
    size_t count = 0;
    int used = 0;
    if (bytes < sizeof sum + sizeof magic || memcmp(text, magic, sizeof magic - 1) != 0)
        return false;
    bytes -= sizeof sum;
    memcpy(&sum, text + bytes, sizeof sum);
    if (sum != hash(1, text, bytes))
        return false;
    if (sscanf(text + sizeof magic - 1, "%" SCNu64 " %255[^\n]\n%zu%n", &system, device, &count,
               &used) != 3)
        return false;
    const size_t head = sizeof magic - 1 + (size_t)used + 1;
    const char *keys = text + head;
    if (head > bytes || count != (bytes - head) / (sizeof(uint64_t) + CODE_BYTES))
        return false;
    if (system != hm_modes()->system || strcmp(device, _device.name.UTF8String) != 0)
        return true; /* nothing in it is for us */
    for (size_t i = 0; i < count; i++) {
        uint64_t key;
        memcpy(&key, keys + i * (sizeof key + CODE_BYTES), sizeof key);
        [self hm_add:key];
    }
    return true;
}
- (bool)hm_load:(const char *)path
{
    FILE *const file = fopen(path, "r");
    char *const text = file ? calloc(1, MAX_FILE_BYTES) : NULL;
    const size_t bytes = text ? fread(text, 1, MAX_FILE_BYTES, file) : 0;
    const bool good = bytes && bytes < MAX_FILE_BYTES && [self hm_read:text bytes:bytes];
    free(text);
    if (file)
        fclose(file);
    return good;
}
- (void)dealloc
{
    free(_keys);
    pthread_mutex_destroy(&_lock);
    [super dealloc];
}
@end

@implementation MTLBinaryArchiveDescriptor
@synthesize url = _url;
- (id)copyWithZone:(void *)zone
{
    (void)zone;
    MTLBinaryArchiveDescriptor *const copy = [[MTLBinaryArchiveDescriptor alloc] init];
    copy.url = _url;
    return copy;
}
- (void)dealloc
{
    [_url release];
    [super dealloc];
}
@end

bool hm_is_archived(MTLComputePipelineDescriptor *descriptor)
{
    const uint64_t key = key_of(descriptor);
    NSArray<id<MTLBinaryArchive>> *const archives = descriptor.binaryArchives;
    for (NSUInteger i = 0; i < archives.count; i++) {
        HMBinaryArchive *const archive = (HMBinaryArchive *)[archives objectAtIndex:i];
        hm_check_device(archive, ((HMFunction *)descriptor.computeFunction)->_device,
                        "binaryArchives");
        if ([archive hm_has:key])
            return true;
    }
    return false;
}

@implementation HMDevice (Archives)
- (id<MTLBinaryArchive>)newBinaryArchiveWithDescriptor:(MTLBinaryArchiveDescriptor *)descriptor
                                                 error:(NSError **)error
{
    hm_check(descriptor != nil, "argument-is-nil", "newBinaryArchiveWithDescriptor: nil");
    if (is_injected(error))
        return nil;
    NSString *const path = descriptor.url.path;
    HMBinaryArchive *const archive = [[HMBinaryArchive alloc] hm_initWithDevice:self];
    if (!path || [archive hm_load:path.UTF8String])
        return archive;
    if (error)
        *error =
            archive_error(MTLBinaryArchiveErrorInvalidFile, "'%s' is no archive", path.UTF8String);
    [archive release];
    return nil;
}
@end
