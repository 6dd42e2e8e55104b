/* SPDX-License-Identifier: Apache-2.0 */
/* Function constants and their values. */
#import "hal/host_metal/metal.h"
#import "hal/host_metal/reflect.h"

enum { MAX_CONSTANT_INDEX = 65535, MAX_COMPONENTS = 4 };

/* A value under its index (a number) or name (a string). */
@interface HMConstantValue : NSObject {
  @public
    MTLDataType _type;
    uint64_t _bits[MAX_COMPONENTS];
}
@end
@implementation HMConstantValue
@end

static const struct {
    enum msl_constant_type ours;
    MTLDataType theirs;
} types[] = {
    {MSL_BOOL, MTLDataTypeBool},    {MSL_INT32, MTLDataTypeInt},
    {MSL_UINT32, MTLDataTypeUInt},  {MSL_FLOAT32, MTLDataTypeFloat},
    {MSL_INT8, MTLDataTypeChar},    {MSL_UINT8, MTLDataTypeUChar},
    {MSL_INT16, MTLDataTypeShort},  {MSL_UINT16, MTLDataTypeUShort},
    {MSL_FLOAT16, MTLDataTypeHalf}, {MSL_BFLOAT16, MTLDataTypeBFloat},
    {MSL_INT64, MTLDataTypeLong},   {MSL_UINT64, MTLDataTypeULong},
};

/* Vectors of two to four have the numbers after their components'. */
static enum msl_constant_type constant_type(MTLDataType type, size_t *out_components)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (type >= types[i].theirs && type < types[i].theirs + MAX_COMPONENTS) {
            *out_components = type - types[i].theirs + 1;
            return types[i].ours;
        }
    return 0;
}

static MTLDataType data_type(enum msl_constant_type type, uint32_t components)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].ours == type)
            return types[i].theirs + components - 1;
    return MTLDataTypeNone;
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
    size_t components = 0;
    hm_check(constant_type(type, &components) != 0, "function-constant",
             "%s: type %lu; constants are scalars and vectors", call, type);
    const size_t bytes = hm_data_type_bytes((unsigned)(type - components + 1));
    HMConstantValue *const constant = [[HMConstantValue alloc] init];
    constant->_type = type;
    for (size_t i = 0; i < components; i++)
        memcpy(&constant->_bits[i], (const char *)value + i * bytes, bytes);
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
    hm_check(bytes != 0, "function-constant", "setConstantValues:type:withRange: type %lu", type);
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
/* The index of a value's constant; -1: of none, which is not used, as with Apple. */
static long index_of(id key, NSDictionary *known)
{
    if ([key isKindOfClass:[NSNumber class]])
        return (long)((NSNumber *)key).unsignedIntegerValue;
    MTLFunctionConstant *const constant = [known objectForKey:key];
    return constant ? (long)constant.index : -1;
}

- (HMConstantValue *)hm_valueOf:(MTLFunctionConstant *)constant
{
    HMConstantValue *const value =
        [_values objectForKey:[NSNumber numberWithUnsignedLong:constant.index]];
    return value ? value : [_values objectForKey:constant.name];
}
/* What the kernel uses has a value of its type, unless the source asks whether it has. */
- (BOOL)hm_fits:(NSDictionary *)known kernel:(NSString *)kernel error:(NSError **)error
{
    for (MTLFunctionConstant *constant in known.allValues) {
        HMConstantValue *const value = [self hm_valueOf:constant];
        if (value ? value->_type == constant.type : !constant.required)
            continue;
        if (error && value)
            *error = hm_library_error(
                MTLLibraryErrorCompileFailure,
                "function constant %lu ('%s') has the data type %lu, its value %lu", constant.index,
                constant.name.UTF8String, constant.type, value->_type);
        else if (error)
            *error = hm_library_error(
                MTLLibraryErrorCompileFailure,
                "function constant %lu ('%s') is required by '%s' and has no value", constant.index,
                constant.name.UTF8String, kernel.UTF8String);
        return NO;
    }
    return YES;
}
- (struct msl_constant *)hm_constantsFor:(HMLibrary *)library
                                  kernel:(NSString *)kernel
                                   count:(size_t *)out_count
                                   error:(NSError **)error
{
    NSDictionary *const known = [MTLFunctionConstant hm_constantsOf:library kernel:kernel];
    if (![self hm_fits:known kernel:kernel error:error])
        return NULL;
    struct msl_constant *const result =
        host_metal_allocate((_values.count * MAX_COMPONENTS + 1) * sizeof *result);
    size_t count = 0;
    for (id key in _values) {
        HMConstantValue *const value = [_values objectForKey:key];
        const long index = index_of(key, known);
        size_t components = 0;
        const enum msl_constant_type type = constant_type(value->_type, &components);
        for (size_t i = 0; index >= 0 && i < components; i++)
            result[count++] = (struct msl_constant){
                .index = (uint32_t)index, .type = type, .bits = value->_bits[i]};
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

@implementation MTLFunctionConstant
+ (NSDictionary<NSString *, MTLFunctionConstant *> *)hm_constantsOf:(HMLibrary *)library
                                                             kernel:(NSString *)kernel
{
    NSMutableDictionary *const constants = [NSMutableDictionary dictionary];
    const size_t count = msl_library_constant_count(library->_library);
    if (count == 0)
        return constants;
    struct hm_uses *const uses = hm_uses_read(library->_source->_text, kernel.UTF8String);
    for (size_t i = 0; i < count; i++) {
        const struct msl_constant_info info = msl_library_constant(library->_library, i);
        const enum hm_need need = hm_uses_need(uses, info.name);
        if (need == HM_NOT_USED)
            continue;
        MTLFunctionConstant *const constant = [[MTLFunctionConstant alloc] init];
        constant->_name = [[NSString alloc] initWithUTF8String:info.name];
        constant->_type = data_type(info.type, info.components);
        constant->_index = info.index;
        constant->_required = need == HM_REQUIRED;
        [constants setObject:constant forKey:constant->_name];
        [constant release];
    }
    hm_uses_destroy(uses);
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
