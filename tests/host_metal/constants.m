/* SPDX-License-Identifier: Apache-2.0 */
/* Function constants and their values. */
#import "tests/host_metal/metal.h"
#import "tests/host_metal/reflect.h"

enum { MAX_CONSTANT_INDEX = 65535 };

/* A value under its index (a number) or name (a string). */
@interface HMConstantValue : NSObject {
  @public
    MTLDataType _type;
    uint32_t _bits;
}
@end
@implementation HMConstantValue
@end

static enum msl_constant_type constant_type(MTLDataType type)
{
    switch ((NSUInteger)type) {
    case MTLDataTypeBool: return MSL_BOOL;
    case MTLDataTypeInt: return MSL_INT32;
    case MTLDataTypeUInt: return MSL_UINT32;
    case MTLDataTypeFloat: return MSL_FLOAT32;
    default: return 0;
    }
}

@implementation MTLFunctionConstantValues
- (instancetype)init
{
    _values = [[NSMutableDictionary alloc] init];
    return self;
}
- (void)hm_set:(const void *)value type:(MTLDataType)type key:(id)key call:(const char *)call
{
    hm_check(value != NULL, "argument-is-nil", "%s: NULL", call);
    hm_check(constant_type(type) != 0, "function-constant",
             "%s: type %lu; the host Metal has constants of bool, int, uint and float", call, type);
    HMConstantValue *const constant = [[HMConstantValue alloc] init];
    constant->_type = type;
    memcpy(&constant->_bits, value, hm_data_type_bytes((unsigned)type));
    [_values setObject:constant forKey:key];
    [constant release];
}
- (void)setConstantValue:(const void *)value type:(MTLDataType)type atIndex:(NSUInteger)index
{
    static const char call[] = "setConstantValue:type:atIndex:";
    hm_check(index <= MAX_CONSTANT_INDEX, "index-out-of-range", "%s %lu, the last one is %d", call,
             index, MAX_CONSTANT_INDEX);
    [self hm_set:value type:type key:[NSNumber numberWithUnsignedLong:index] call:call];
}
- (void)setConstantValues:(const void *)values type:(MTLDataType)type withRange:(NSRange)range
{
    const size_t bytes = hm_data_type_bytes((unsigned)type);
    for (NSUInteger i = 0; i < range.length; i++)
        [self setConstantValue:(const char *)values + i * bytes
                          type:type
                       atIndex:range.location + i];
}
- (void)setConstantValue:(const void *)value type:(MTLDataType)type withName:(NSString *)name
{
    hm_check(name != nil, "argument-is-nil", "setConstantValue:type:withName: nil");
    [self hm_set:value type:type key:name call:"setConstantValue:type:withName:"];
}
- (void)reset
{
    [_values release];
    _values = [[NSMutableDictionary alloc] init];
}
- (id)copyWithZone:(void *)zone
{
    (void)zone;
    MTLFunctionConstantValues *const copy = [[MTLFunctionConstantValues alloc] init];
    for (id key in _values)
        [copy->_values setObject:[_values objectForKey:key] forKey:key];
    return copy;
}
- (struct msl_constant *)hm_constantsFor:(const struct msl_library *)library
                                   count:(size_t *)out_count
                                   error:(NSError **)error
{
    NSDictionary *const known = [MTLFunctionConstant hm_constantsOf:library];
    struct msl_constant *const result = host_metal_allocate((_values.count + 1) * sizeof *result);
    size_t count = 0;
    for (id key in _values) {
        HMConstantValue *const value = [_values objectForKey:key];
        NSUInteger index = 0;
        if ([key isKindOfClass:[NSNumber class]]) {
            index = ((NSNumber *)key).unsignedIntegerValue;
        } else {
            MTLFunctionConstant *const constant = [known objectForKey:key];
            if (!constant) /* as for Apple: it is not used */
                continue;
            index = constant.index;
        }
        for (MTLFunctionConstant *constant in known.allValues)
            if (constant.index == index && constant.type != value->_type) {
                if (error)
                    *error = hm_library_error(
                        MTLLibraryErrorCompileFailure,
                        "function constant %lu ('%s') has the data type %lu, its value %lu", index,
                        constant.name.UTF8String, constant.type, value->_type);
                free(result);
                return NULL;
            }
        result[count++] = (struct msl_constant){
            .index = (uint32_t)index, .type = constant_type(value->_type), .bits = value->_bits};
    }
    *out_count = count;
    return result;
}
- (void)dealloc
{
    [_values release];
    [super dealloc];
}
@end

static MTLDataType data_type(enum msl_constant_type type)
{
    switch (type) {
    case MSL_BOOL: return MTLDataTypeBool;
    case MSL_INT32: return MTLDataTypeInt;
    case MSL_UINT32: return MTLDataTypeUInt;
    case MSL_FLOAT32: return MTLDataTypeFloat;
    }
    return MTLDataTypeNone;
}

@implementation MTLFunctionConstant
+ (NSDictionary<NSString *, MTLFunctionConstant *> *)hm_constantsOf:
    (const struct msl_library *)library
{
    NSMutableDictionary *const constants = [NSMutableDictionary dictionary];
    for (size_t i = 0; i < msl_library_constant_count(library); i++) {
        const struct msl_constant_info info = msl_library_constant(library, i);
        MTLFunctionConstant *const constant = [[MTLFunctionConstant alloc] init];
        constant->_name = [[NSString alloc] initWithUTF8String:info.name];
        constant->_type = data_type(info.type);
        constant->_index = info.index;
        constant->_required = NO; /* the host's have a default: 0 */
        [constants setObject:constant forKey:constant->_name];
        [constant release];
    }
    return constants;
}
- (NSString *)name
{
    return _name;
}
- (MTLDataType)type
{
    return _type;
}
- (NSUInteger)index
{
    return _index;
}
- (BOOL)required
{
    return _required;
}
- (void)dealloc
{
    [_name release];
    [super dealloc];
}
@end
