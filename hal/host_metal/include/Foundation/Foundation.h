/* SPDX-License-Identifier: Apache-2.0 */
/* The part of Foundation that the Metal driver uses, for manual retain and release.
 *
 * The declarations are Apple's: class names, selectors, types and enum values are those of
 * Foundation; hal/host_metal/names.txt records what each was compared with. Anything not declared
 * here is unavailable on Linux; add it here first, then in hal/host_metal/runtime/.
 *
 * The runtime checks the following, and reports a violation with one sentence and abort(): messages
 * to released objects (which stay as zombies unless the address sanitizer looks for them), too many
 * releases, nil in arrays and dictionaries, indices out of range, autorelease without a pool,
 * unknown selectors. */
#ifndef HOST_METAL_FOUNDATION_H
#define HOST_METAL_FOUNDATION_H

#include <inttypes.h>
#include <limits.h>
#include <objc/objc.h>
#include <objc/runtime.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long NSUInteger;
typedef long NSInteger;
typedef double NSTimeInterval;
typedef double CFTimeInterval;
typedef unsigned short unichar;

#define NSUIntegerMax ULONG_MAX
#define NSIntegerMax  LONG_MAX
#define NSNotFound    NSIntegerMax

#define NS_ENUM(type, name)                                                                        \
    enum name : type name;                                                                         \
    enum name : type
#define NS_OPTIONS(type, name)          NS_ENUM(type, name)
#define NS_ERROR_ENUM(domain, name)     NS_ENUM(NSInteger, name)
#define NS_ASSUME_NONNULL_BEGIN         _Pragma("clang assume_nonnull begin")
#define NS_ASSUME_NONNULL_END           _Pragma("clang assume_nonnull end")
#define NS_RETURNS_RETAINED             __attribute__((ns_returns_retained))
#define NS_RETURNS_INNER_POINTER        __attribute__((objc_returns_inner_pointer))
#define NS_DESIGNATED_INITIALIZER       __attribute__((objc_designated_initializer))
#define NS_UNAVAILABLE                  __attribute__((unavailable))
#define NS_FORMAT_FUNCTION(text, first) __attribute__((format(__NSString__, text, first)))
#define NS_REQUIRES_NIL_TERMINATION     __attribute__((sentinel(0, 1)))
#define FOUNDATION_EXPORT               extern __attribute__((visibility("default")))
#define API_AVAILABLE(...)
#define API_UNAVAILABLE(...)
#define API_DEPRECATED(...)
#define API_DEPRECATED_WITH_REPLACEMENT(...)

typedef struct _NSRange {
    NSUInteger location;
    NSUInteger length;
} NSRange;

static inline NSRange NSMakeRange(NSUInteger location, NSUInteger length)
{
    NSRange range = {location, length};
    return range;
}
static inline NSUInteger NSMaxRange(NSRange range)
{
    return range.location + range.length;
}

NS_ASSUME_NONNULL_BEGIN

@class NSString, NSArray<T>, NSDictionary<K, V>;

@protocol NSObject
- (instancetype)retain;
- (oneway void)release;
- (instancetype)autorelease;
- (NSUInteger)retainCount;
- (Class)class;
- (Class)superclass;
- (instancetype)self;
- (BOOL)isEqual:(nullable id)object;
- (BOOL)isKindOfClass:(Class)aClass;
- (BOOL)isMemberOfClass:(Class)aClass;
- (BOOL)respondsToSelector:(SEL)aSelector;
- (BOOL)conformsToProtocol:(Protocol *)aProtocol;
@property(readonly) NSUInteger hash;
@property(readonly, copy) NSString *description;
@end

@protocol NSCopying
- (id)copyWithZone:(nullable void *)zone;
@end

__attribute__((objc_root_class))
@interface NSObject<NSObject> {
    Class isa;
}
+ (void)load;
+ (void)initialize;
+ (instancetype)alloc;
+ (instancetype)new;
+ (Class)class;
+ (BOOL)conformsToProtocol:(Protocol *)protocol;
+ (BOOL)instancesRespondToSelector:(SEL)aSelector;
- (instancetype)init;
- (void)dealloc;
- (id)copy;
- (void)doesNotRecognizeSelector:(SEL)aSelector;
@end

@interface NSAutoreleasePool : NSObject {
    NSAutoreleasePool *_outer;
    id *_objects;
    size_t _count, _capacity;
}
- (void)drain;
@end

typedef NSUInteger NSStringEncoding;
enum { NSASCIIStringEncoding = 1, NSUTF8StringEncoding = 4 };

@interface NSString : NSObject <NSCopying>
+ (instancetype)string;
+ (nullable instancetype)stringWithUTF8String:(const char *)nullTerminatedCString;
+ (nullable instancetype)stringWithCString:(const char *)cString encoding:(NSStringEncoding)enc;
+ (instancetype)stringWithString:(NSString *)string;
+ (instancetype)stringWithFormat:(NSString *)format, ... NS_FORMAT_FUNCTION(1, 2);
+ (NSStringEncoding)defaultCStringEncoding;
- (nullable instancetype)initWithBytes:(const void *)bytes
                                length:(NSUInteger)len
                              encoding:(NSStringEncoding)encoding;
- (nullable instancetype)initWithUTF8String:(const char *)nullTerminatedCString;
- (nullable instancetype)initWithCString:(const char *)nullTerminatedCString
                                encoding:(NSStringEncoding)encoding;
- (instancetype)initWithFormat:(NSString *)format, ... NS_FORMAT_FUNCTION(1, 2);
- (instancetype)initWithFormat:(NSString *)format
                     arguments:(va_list)argList NS_FORMAT_FUNCTION(1, 0);
- (nullable const char *)cStringUsingEncoding:(NSStringEncoding)encoding NS_RETURNS_INNER_POINTER;
- (NSUInteger)lengthOfBytesUsingEncoding:(NSStringEncoding)enc;
- (BOOL)isEqualToString:(NSString *)aString;
- (BOOL)hasPrefix:(NSString *)str;
- (BOOL)hasSuffix:(NSString *)str;
- (NSString *)stringByAppendingString:(NSString *)aString;
@property(readonly) NSUInteger length; /* in UTF-16 units */
@property(nullable, readonly) const char *UTF8String NS_RETURNS_INNER_POINTER;
@property(readonly, copy) NSString *stringByStandardizingPath;
@property(readonly, copy) NSString *lastPathComponent;
@property(readonly, copy) NSString *pathExtension;
@end

/* The layout of @"literals", which the compiler generates. */
@interface NSConstantString : NSString {
    const char *_bytes;
    unsigned int _length;
}
@end

typedef struct {
    unsigned long state;
    id __unsafe_unretained _Nullable *_Nullable itemsPtr;
    unsigned long *_Nullable mutationsPtr;
    unsigned long extra[5];
} NSFastEnumerationState;

@protocol NSFastEnumeration
- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState *)state
                                  objects:(id __unsafe_unretained _Nullable[_Nonnull])buffer
                                    count:(NSUInteger)len;
@end

@interface NSArray<T> : NSObject <NSCopying, NSFastEnumeration> {
    id *_objects;
    NSUInteger _count, _capacity;
    unsigned long _mutations;
}
+ (instancetype)array;
+ (instancetype)arrayWithObject:(T)anObject;
+ (instancetype)arrayWithObjects:(const T _Nonnull[_Nullable])objects count:(NSUInteger)cnt;
+ (instancetype)arrayWithArray:(NSArray<T> *)array;
- (instancetype)initWithObjects:(const T _Nonnull[_Nullable])objects count:(NSUInteger)cnt;
- (T)objectAtIndex:(NSUInteger)index;
- (T)objectAtIndexedSubscript:(NSUInteger)idx;
- (BOOL)containsObject:(T)anObject;
- (NSUInteger)indexOfObject:(T)anObject;
@property(readonly) NSUInteger count;
@property(nullable, nonatomic, readonly) T firstObject;
@property(nullable, nonatomic, readonly) T lastObject;
@end

@interface NSMutableArray<T> : NSArray <T>
+ (instancetype)arrayWithCapacity:(NSUInteger)numItems;
- (instancetype)initWithCapacity:(NSUInteger)numItems;
- (void)addObject:(T)anObject;
- (void)addObjectsFromArray:(NSArray<T> *)otherArray;
- (void)insertObject:(T)anObject atIndex:(NSUInteger)index;
- (void)removeObjectAtIndex:(NSUInteger)index;
- (void)removeObject:(T)anObject;
- (void)removeLastObject;
- (void)removeAllObjects;
- (void)replaceObjectAtIndex:(NSUInteger)index withObject:(T)anObject;
- (void)setObject:(T)obj atIndexedSubscript:(NSUInteger)idx;
@end

/* Fast enumeration enumerates the keys. */
@interface NSDictionary<K, V> : NSObject <NSCopying, NSFastEnumeration> {
    NSMutableArray *_keys, *_values;
}
+ (instancetype)dictionary;
+ (instancetype)dictionaryWithObject:(V)object forKey:(K)key;
+ (instancetype)dictionaryWithObjects:(const V _Nonnull[_Nullable])objects
                              forKeys:(const K _Nonnull[_Nullable])keys
                                count:(NSUInteger)cnt;
- (nullable V)objectForKey:(K)aKey;
- (nullable V)objectForKeyedSubscript:(K)key;
@property(readonly) NSUInteger count;
@property(readonly, copy) NSArray<K> *allKeys;
@property(readonly, copy) NSArray<V> *allValues;
@end

@interface NSMutableDictionary<K, V> : NSDictionary <K, V>
- (void)setObject:(V)anObject forKey:(K)aKey;
- (void)setObject:(nullable V)obj forKeyedSubscript:(K)key;
- (void)removeObjectForKey:(K)aKey;
@end

@interface NSNumber : NSObject <NSCopying> {
    double _real;
    long long _integer;
    BOOL _is_real;
}
+ (NSNumber *)numberWithBool:(BOOL)value;
+ (NSNumber *)numberWithInt:(int)value;
+ (NSNumber *)numberWithUnsignedInt:(unsigned int)value;
+ (NSNumber *)numberWithLong:(long)value;
+ (NSNumber *)numberWithUnsignedLong:(unsigned long)value;
+ (NSNumber *)numberWithLongLong:(long long)value;
+ (NSNumber *)numberWithUnsignedLongLong:(unsigned long long)value;
+ (NSNumber *)numberWithInteger:(NSInteger)value;
+ (NSNumber *)numberWithUnsignedInteger:(NSUInteger)value;
+ (NSNumber *)numberWithDouble:(double)value;
- (BOOL)isEqualToNumber:(NSNumber *)number;
@property(readonly) BOOL boolValue;
@property(readonly) int intValue;
@property(readonly) unsigned int unsignedIntValue;
@property(readonly) double doubleValue;
@property(readonly) long long longLongValue;
@property(readonly) unsigned long long unsignedLongLongValue;
@property(readonly) NSInteger integerValue;
@property(readonly) NSUInteger unsignedIntegerValue;
@end

@interface NSData : NSObject <NSCopying> {
    void *_bytes;
    NSUInteger _length;
}
+ (instancetype)dataWithBytes:(nullable const void *)bytes length:(NSUInteger)length;
- (instancetype)initWithBytes:(nullable const void *)bytes length:(NSUInteger)length;
@property(readonly) NSUInteger length;
@property(nullable, readonly) const void *bytes NS_RETURNS_INNER_POINTER;
@end

typedef NSString *NSErrorDomain;
typedef NSString *NSErrorUserInfoKey;
FOUNDATION_EXPORT NSErrorUserInfoKey const NSLocalizedDescriptionKey;
FOUNDATION_EXPORT NSErrorUserInfoKey const NSLocalizedFailureReasonErrorKey;
FOUNDATION_EXPORT NSErrorUserInfoKey const NSUnderlyingErrorKey;

@interface NSError : NSObject <NSCopying> {
    NSString *_domain;
    NSInteger _code;
    NSDictionary *_userInfo;
}
+ (instancetype)errorWithDomain:(NSErrorDomain)domain
                           code:(NSInteger)code
                       userInfo:(nullable NSDictionary<NSErrorUserInfoKey, id> *)dict;
- (instancetype)initWithDomain:(NSErrorDomain)domain
                          code:(NSInteger)code
                      userInfo:(nullable NSDictionary<NSErrorUserInfoKey, id> *)dict;
@property(readonly, copy) NSErrorDomain domain;
@property(readonly) NSInteger code;
@property(readonly, copy) NSDictionary<NSErrorUserInfoKey, id> *userInfo;
@property(readonly, copy) NSString *localizedDescription;
@property(nullable, readonly, copy) NSString *localizedFailureReason;
@end

/* Only file URLs. */
@interface NSURL : NSObject <NSCopying> {
    NSString *_path;
}
+ (NSURL *)fileURLWithPath:(NSString *)path;
+ (NSURL *)fileURLWithPath:(NSString *)path isDirectory:(BOOL)isDir;
- (instancetype)initFileURLWithPath:(NSString *)path;
- (instancetype)initFileURLWithPath:(NSString *)path isDirectory:(BOOL)isDir;
@property(nullable, readonly, copy) NSString *path;
@property(nullable, readonly, copy) NSString *absoluteString;
@property(nullable, readonly, copy) NSString *lastPathComponent;
@property(nullable, readonly, copy) NSString *pathExtension;
@property(readonly, getter=isFileURL) BOOL fileURL;
@end

@interface NSProcessInfo : NSObject
@property(class, readonly, strong) NSProcessInfo *processInfo;
@property(readonly, copy) NSString *operatingSystemVersionString;
@end

FOUNDATION_EXPORT void NSLog(NSString *format, ...) NS_FORMAT_FUNCTION(1, 2);
FOUNDATION_EXPORT NSString *NSStringFromClass(Class aClass);
FOUNDATION_EXPORT NSString *NSStringFromSelector(SEL aSelector);

NS_ASSUME_NONNULL_END

#endif
