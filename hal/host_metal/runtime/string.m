/* SPDX-License-Identifier: Apache-2.0 */
/* NSString: bytes of UTF-8, and constant strings as the compiler lays them out. */
#import "hal/host_metal/runtime/runtime.h"

/* What every NSString but a constant one is. */
@interface HMString : NSString {
    char *_bytes;
    size_t _count;
}
- (instancetype)hm_initWithOwnedBytes:(char *)bytes count:(size_t)count HM_INITIALIZER;
@end

/* ---- Formats ------------------------------------------------------------------------------ */

struct text {
    char *bytes;
    size_t count, capacity;
};

static void append(struct text *text, const char *bytes, size_t count)
{
    if (text->count + count + 1 > text->capacity) {
        text->capacity = (text->count + count + 1) * 2;
        text->bytes = host_metal_reallocate(text->bytes, text->capacity);
    }
    if (count)
        memcpy(text->bytes + text->count, bytes, count);
    text->count += count;
    text->bytes[text->count] = 0;
}

/* A printf conversion up to and with its letter; false: not one that is known here. */
struct conversion {
    char text[48];
    char letter;
    unsigned longs; /* 1 for l, z, t; 2 for ll, j, q */
    unsigned stars;
};

static const char *read_conversion(const char *format, struct conversion *out)
{
    size_t count = 0;
    *out = (struct conversion){.longs = 0};
    do {
        if (count + 2 >= sizeof out->text)
            host_metal_broken("string-format", "a conversion is too long: %s", format);
        out->text[count++] = *format++;
        if (*format == 'l' || *format == 'z' || *format == 't')
            out->longs++;
        if (*format == 'j' || *format == 'q')
            out->longs = 2;
        if (*format == '*')
            out->stars++;
    } while (*format && !strchr("diouxXcsSpfFeEgGaA%@", *format));
    if (!*format || out->stars > 1)
        host_metal_broken("string-format", "a conversion that is not known: %s", out->text);
    out->letter = *format;
    out->text[count] = *format;
    return format + 1;
}

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wformat-nonliteral"
static void append_printf(struct text *text, const char *conversion, ...)
{
    va_list arguments, again;
    va_start(arguments, conversion);
    va_copy(again, arguments);
    const int count = vsnprintf(NULL, 0, conversion, arguments);
    va_end(arguments);
    if (count > 0) {
        char *const bytes = host_metal_allocate((size_t)count + 1);
        vsnprintf(bytes, (size_t)count + 1, conversion, again);
        append(text, bytes, (size_t)count);
        free(bytes);
    }
    va_end(again);
}
#pragma clang diagnostic pop

struct arguments {
    va_list list;
};

static void append_conversion(struct text *text, const struct conversion *c,
                              struct arguments *arguments)
{
    if (c->letter == '%') {
        append(text, "%", 1);
    } else if (c->letter == '@') {
        const id object = va_arg(arguments->list, id);
        const char *const bytes = object ? [[object description] UTF8String] : "(null)";
        append(text, bytes, strlen(bytes));
    } else if (c->letter == 's' && c->stars) {
        const int precision = va_arg(arguments->list, int);
        append_printf(text, c->text, precision, va_arg(arguments->list, char *));
    } else if (c->stars) {
        host_metal_broken("string-format", "%s: a star is known with s alone", c->text);
    } else if (c->letter == 's' || c->letter == 'p') {
        append_printf(text, c->text, va_arg(arguments->list, void *));
    } else if (strchr("fFeEgGaA", c->letter)) {
        append_printf(text, c->text, va_arg(arguments->list, double));
    } else if (c->longs) { /* long and long long have one size here */
        append_printf(text, c->text, va_arg(arguments->list, long));
    } else {
        append_printf(text, c->text, va_arg(arguments->list, int));
    }
}

static NSString *format_string(const char *format, struct arguments *arguments)
{
    struct text text = {0};
    append(&text, "", 0);
    while (*format) {
        const size_t plain = strcspn(format, "%");
        append(&text, format, plain);
        format += plain;
        if (!*format)
            break;
        struct conversion conversion;
        format = read_conversion(format, &conversion);
        append_conversion(&text, &conversion, arguments);
    }
    return [[HMString alloc] hm_initWithOwnedBytes:text.bytes count:text.count];
}

NSString *host_metal_string(const char *format, ...)
{
    struct arguments arguments;
    va_start(arguments.list, format);
    NSString *const string = format_string(format, &arguments);
    va_end(arguments.list);
    return string;
}

/* ---- Strings ------------------------------------------------------------------------------ */

static size_t utf16_length(const char *bytes)
{
    size_t count = 0;
    for (; *bytes; bytes++) {
        const unsigned char byte = (unsigned char)*bytes;
        count += (byte & 0xc0) != 0x80; /* of a sequence, the first byte */
        count += byte >= 0xf0;          /* which needs a surrogate pair */
    }
    return count;
}

@implementation NSString
+ (instancetype)alloc
{
    if (self == objc_lookUpClass("NSString"))
        return (id)[HMString alloc];
    return [super alloc];
}
+ (instancetype)string
{
    return [self stringWithUTF8String:""];
}
+ (instancetype)stringWithUTF8String:(const char *)bytes
{
    return [[[self alloc] initWithUTF8String:bytes] autorelease];
}
+ (instancetype)stringWithCString:(const char *)bytes encoding:(NSStringEncoding)encoding
{
    return [[[self alloc] initWithCString:bytes encoding:encoding] autorelease];
}
+ (instancetype)stringWithString:(NSString *)string
{
    return [self stringWithUTF8String:string.UTF8String];
}
+ (instancetype)stringWithFormat:(NSString *)format, ...
{
    struct arguments arguments;
    va_start(arguments.list, format);
    NSString *const string = format_string(format.UTF8String, &arguments);
    va_end(arguments.list);
    return (id)[string autorelease];
}
+ (NSStringEncoding)defaultCStringEncoding
{
    return NSUTF8StringEncoding;
}
- (instancetype)initWithBytes:(const void *)bytes
                       length:(NSUInteger)length
                     encoding:(NSStringEncoding)encoding
{
    (void)bytes, (void)length, (void)encoding;
    host_metal_broken("string-class", "%s has no bytes of its own", class_getName([self class]));
}
- (instancetype)initWithUTF8String:(const char *)bytes
{
    if (!bytes)
        host_metal_broken("string-is-null", "a string cannot be made from NULL");
    return [self initWithBytes:bytes length:strlen(bytes) encoding:NSUTF8StringEncoding];
}
- (instancetype)initWithCString:(const char *)bytes encoding:(NSStringEncoding)encoding
{
    if (!bytes)
        host_metal_broken("string-is-null", "a string cannot be made from NULL");
    return [self initWithBytes:bytes length:strlen(bytes) encoding:encoding];
}
- (instancetype)initWithFormat:(NSString *)format, ...
{
    struct arguments arguments;
    va_start(arguments.list, format);
    NSString *const string = format_string(format.UTF8String, &arguments);
    va_end(arguments.list);
    [self release];
    return (id)string;
}
- (instancetype)initWithFormat:(NSString *)format arguments:(va_list)list
{
    struct arguments arguments;
    va_copy(arguments.list, list);
    NSString *const string = format_string(format.UTF8String, &arguments);
    va_end(arguments.list);
    [self release];
    return (id)string;
}
- (const char *)UTF8String
{
    return "";
}
- (const char *)cStringUsingEncoding:(NSStringEncoding)encoding
{
    (void)encoding;
    return self.UTF8String;
}
- (NSUInteger)length
{
    return utf16_length(self.UTF8String);
}
- (NSUInteger)lengthOfBytesUsingEncoding:(NSStringEncoding)encoding
{
    (void)encoding;
    return strlen(self.UTF8String);
}
- (BOOL)isEqualToString:(NSString *)other
{
    return other && strcmp(self.UTF8String, other.UTF8String) == 0;
}
- (BOOL)isEqual:(id)other
{
    return [other isKindOfClass:[NSString class]] && [self isEqualToString:other];
}
- (NSUInteger)hash
{
    NSUInteger hash = 5381;
    for (const char *byte = self.UTF8String; *byte; byte++)
        hash = hash * 33 + (unsigned char)*byte;
    return hash;
}
- (BOOL)hasPrefix:(NSString *)other
{
    const char *const bytes = other.UTF8String;
    return strncmp(self.UTF8String, bytes, strlen(bytes)) == 0;
}
- (BOOL)hasSuffix:(NSString *)other
{
    const char *const bytes = self.UTF8String, *const end = other.UTF8String;
    const size_t count = strlen(bytes), end_count = strlen(end);
    return end_count <= count && strcmp(bytes + count - end_count, end) == 0;
}
- (NSString *)stringByAppendingString:(NSString *)other
{
    return [NSString stringWithFormat:@"%@%@", self, other];
}
- (id)copyWithZone:(void *)zone
{
    (void)zone;
    return [self retain]; /* it cannot change */
}
- (NSString *)description
{
    return [[self retain] autorelease];
}
/* Without "//", "/./" and a slash at the end; "..", "~" and links are left as they are. */
- (NSString *)stringByStandardizingPath
{
    struct text text = {0};
    const char *byte = self.UTF8String;
    append(&text, "", 0);
    while (*byte) {
        if (*byte == '/' && byte[1] == '.' && (byte[2] == '/' || !byte[2]))
            byte += 2;
        else if (*byte == '/' && (byte[1] == '/' || (!byte[1] && text.count)))
            byte++;
        else
            append(&text, byte++, 1);
    }
    if (!text.count && [self length])
        append(&text, "/", 1);
    return [[[HMString alloc] hm_initWithOwnedBytes:text.bytes count:text.count] autorelease];
}
- (NSString *)lastPathComponent
{
    const char *const bytes = self.UTF8String, *const slash = strrchr(bytes, '/');
    return [NSString stringWithUTF8String:slash && slash[1] ? slash + 1 : bytes];
}
- (NSString *)pathExtension
{
    const char *const name = [self lastPathComponent].UTF8String, *const dot = strrchr(name, '.');
    return [NSString stringWithUTF8String:dot && dot != name ? dot + 1 : ""];
}
@end

@implementation HMString
- (instancetype)hm_initWithOwnedBytes:(char *)bytes count:(size_t)count
{
    _bytes = bytes;
    _count = count;
    return self;
}
- (instancetype)initWithBytes:(const void *)bytes
                       length:(NSUInteger)length
                     encoding:(NSStringEncoding)encoding
{
    if (encoding != NSUTF8StringEncoding && encoding != NSASCIIStringEncoding)
        host_metal_broken("string-encoding", "encoding %lu is not known here", encoding);
    _bytes = host_metal_allocate(length + 1);
    if (length)
        memcpy(_bytes, bytes, length);
    _count = length;
    return self;
}
- (instancetype)init
{
    return [self initWithBytes:"" length:0 encoding:NSUTF8StringEncoding];
}
- (const char *)UTF8String
{
    return _bytes ? _bytes : "";
}
- (NSUInteger)lengthOfBytesUsingEncoding:(NSStringEncoding)encoding
{
    (void)encoding;
    return _count;
}
- (void)dealloc
{
    free(_bytes);
    [super dealloc];
}
@end

@implementation NSConstantString
- (const char *)UTF8String
{
    return _bytes;
}
- (instancetype)retain
{
    return self;
}
- (oneway void)release
{
}
- (instancetype)autorelease
{
    return self;
}
- (NSUInteger)retainCount
{
    return NSUIntegerMax;
}
@end

void NSLog(NSString *format, ...)
{
    struct arguments arguments;
    va_start(arguments.list, format);
    NSString *const string = format_string(format.UTF8String, &arguments);
    va_end(arguments.list);
    fprintf(stderr, "%s\n", string.UTF8String);
    [string release];
}
