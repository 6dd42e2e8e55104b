/* SPDX-License-Identifier: Apache-2.0 */
/* NSNumber, NSData, NSError, NSURL. */
#import "hal/host_metal/runtime/runtime.h"

@implementation NSNumber
static NSNumber *integer(long long value)
{
    NSNumber *const number = [[[NSNumber alloc] init] autorelease];
    number->_integer = value;
    number->_real = (double)value;
    return number;
}
+ (NSNumber *)numberWithBool:(BOOL)value
{
    return integer(value ? 1 : 0);
}
+ (NSNumber *)numberWithInt:(int)value
{
    return integer(value);
}
+ (NSNumber *)numberWithUnsignedInt:(unsigned int)value
{
    return integer(value);
}
+ (NSNumber *)numberWithLong:(long)value
{
    return integer(value);
}
+ (NSNumber *)numberWithUnsignedLong:(unsigned long)value
{
    return integer((long long)value);
}
+ (NSNumber *)numberWithLongLong:(long long)value
{
    return integer(value);
}
+ (NSNumber *)numberWithUnsignedLongLong:(unsigned long long)value
{
    return integer((long long)value);
}
+ (NSNumber *)numberWithInteger:(NSInteger)value
{
    return integer(value);
}
+ (NSNumber *)numberWithUnsignedInteger:(NSUInteger)value
{
    return integer((long long)value);
}
+ (NSNumber *)numberWithDouble:(double)value
{
    NSNumber *const number = [[[NSNumber alloc] init] autorelease];
    number->_is_real = YES;
    number->_real = value;
    number->_integer = value > -9.2e18 && value < 9.2e18 ? (long long)value : 0;
    return number;
}
- (BOOL)boolValue
{
    return _real < 0 || _real > 0;
}
- (int)intValue
{
    return (int)_integer;
}
- (unsigned int)unsignedIntValue
{
    return (unsigned int)_integer;
}
- (double)doubleValue
{
    return _real;
}
- (long long)longLongValue
{
    return _integer;
}
- (unsigned long long)unsignedLongLongValue
{
    return (unsigned long long)_integer;
}
- (NSInteger)integerValue
{
    return _integer;
}
- (NSUInteger)unsignedIntegerValue
{
    return (NSUInteger)_integer;
}
- (BOOL)isEqualToNumber:(NSNumber *)other
{
    return other && _integer == other->_integer && !(_real < other->_real) &&
           !(_real > other->_real);
}
- (BOOL)isEqual:(id)other
{
    return [other isKindOfClass:[NSNumber class]] && [self isEqualToNumber:other];
}
- (NSUInteger)hash
{
    return (NSUInteger)_integer;
}
- (id)copyWithZone:(void *)zone
{
    (void)zone;
    return [self retain];
}
- (NSString *)description
{
    return _is_real ? [NSString stringWithFormat:@"%g", _real]
                    : [NSString stringWithFormat:@"%lld", _integer];
}
@end

@implementation NSData
+ (instancetype)dataWithBytes:(const void *)bytes length:(NSUInteger)length
{
    return [[[self alloc] initWithBytes:bytes length:length] autorelease];
}
- (instancetype)initWithBytes:(const void *)bytes length:(NSUInteger)length
{
    _bytes = host_metal_allocate(length);
    if (length)
        memcpy(_bytes, bytes, length);
    _length = length;
    return self;
}
- (const void *)bytes
{
    return _bytes;
}
- (NSUInteger)length
{
    return _length;
}
- (id)copyWithZone:(void *)zone
{
    (void)zone;
    return [self retain];
}
- (void)dealloc
{
    free(_bytes);
    [super dealloc];
}
@end

NSErrorUserInfoKey const NSLocalizedDescriptionKey = @"NSLocalizedDescription";
NSErrorUserInfoKey const NSLocalizedFailureReasonErrorKey = @"NSLocalizedFailureReason";
NSErrorUserInfoKey const NSUnderlyingErrorKey = @"NSUnderlyingError";

@implementation NSError
+ (instancetype)errorWithDomain:(NSErrorDomain)domain
                           code:(NSInteger)code
                       userInfo:(NSDictionary *)info
{
    return [[[self alloc] initWithDomain:domain code:code userInfo:info] autorelease];
}
- (instancetype)initWithDomain:(NSErrorDomain)domain
                          code:(NSInteger)code
                      userInfo:(NSDictionary *)info
{
    _domain = [domain copy];
    _code = code;
    _userInfo = info ? [info copy] : [[NSDictionary alloc] init];
    return self;
}
- (NSErrorDomain)domain
{
    return _domain;
}
- (NSInteger)code
{
    return _code;
}
- (NSDictionary *)userInfo
{
    return _userInfo;
}
- (NSString *)localizedDescription
{
    NSString *const text = [_userInfo objectForKey:NSLocalizedDescriptionKey];
    return text
               ? text
               : [NSString stringWithFormat:@"The operation couldn't be completed. (%@ error %ld.)",
                                            _domain, (long)_code];
}
- (NSString *)localizedFailureReason
{
    return [_userInfo objectForKey:NSLocalizedFailureReasonErrorKey];
}
- (NSString *)description
{
    return [NSString stringWithFormat:@"Error Domain=%@ Code=%ld \"%@\"", _domain, (long)_code,
                                      self.localizedDescription];
}
- (id)copyWithZone:(void *)zone
{
    (void)zone;
    return [self retain];
}
- (void)dealloc
{
    [_domain release];
    [_userInfo release];
    [super dealloc];
}
@end

NSError *host_metal_error(NSErrorDomain domain, NSInteger code, NSString *message)
{
    return [NSError errorWithDomain:domain
                               code:code
                           userInfo:[NSDictionary dictionaryWithObject:message
                                                                forKey:NSLocalizedDescriptionKey]];
}

@implementation NSURL
+ (NSURL *)fileURLWithPath:(NSString *)path
{
    return [[[self alloc] initFileURLWithPath:path] autorelease];
}
+ (NSURL *)fileURLWithPath:(NSString *)path isDirectory:(BOOL)is_directory
{
    return [[[self alloc] initFileURLWithPath:path isDirectory:is_directory] autorelease];
}
- (instancetype)initFileURLWithPath:(NSString *)path
{
    if (!path)
        host_metal_broken("url-path", "a file URL cannot be made from nil");
    _path = [path copy];
    return self;
}
- (instancetype)initFileURLWithPath:(NSString *)path isDirectory:(BOOL)is_directory
{
    (void)is_directory;
    return [self initFileURLWithPath:path];
}
- (NSString *)path
{
    return _path;
}
- (NSString *)absoluteString
{
    return [NSString stringWithFormat:@"file://%@", _path];
}
- (NSString *)lastPathComponent
{
    return _path.lastPathComponent;
}
- (NSString *)pathExtension
{
    return _path.pathExtension;
}
- (BOOL)isFileURL
{
    return YES;
}
- (BOOL)isEqual:(id)other
{
    return [other isKindOfClass:[NSURL class]] && [_path isEqualToString:((NSURL *)other)->_path];
}
- (NSUInteger)hash
{
    return _path.hash;
}
- (NSString *)description
{
    return self.absoluteString;
}
- (id)copyWithZone:(void *)zone
{
    (void)zone;
    return [self retain];
}
- (void)dealloc
{
    [_path release];
    [super dealloc];
}
@end
