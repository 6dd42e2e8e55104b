/* SPDX-License-Identifier: Apache-2.0 */
/* NSArray and NSDictionary, with Foundation's checks. */
#import "hal/host_metal/runtime/runtime.h"

@interface NSArray ()
- (void)hm_insert:(id)object at:(NSUInteger)index;
- (void)hm_removeAt:(NSUInteger)index;
@end

@implementation NSArray
+ (instancetype)array
{
    return [[[self alloc] init] autorelease];
}
+ (instancetype)arrayWithObject:(id)object
{
    return [self arrayWithObjects:&object count:1];
}
+ (instancetype)arrayWithObjects:(const id *)objects count:(NSUInteger)count
{
    return [[[self alloc] initWithObjects:objects count:count] autorelease];
}
+ (instancetype)arrayWithArray:(NSArray *)array
{
    NSArray *const copy = [self array];
    for (id object in array)
        [copy hm_insert:object at:copy->_count];
    return (id)copy;
}
- (instancetype)initWithObjects:(const id *)objects count:(NSUInteger)count
{
    for (NSUInteger i = 0; i < count; i++)
        [self hm_insert:objects[i] at:i];
    return self;
}
- (void)hm_checkIndex:(NSUInteger)index below:(NSUInteger)limit
{
    if (index >= limit)
        host_metal_broken("array-index", "index %lu is beyond the %lu objects of the array", index,
                          _count);
}
- (void)hm_insert:(id)object at:(NSUInteger)index
{
    if (!object)
        host_metal_broken("array-nil", "nil cannot be put into an array");
    [self hm_checkIndex:index below:_count + 1];
    if (_count == _capacity) {
        _capacity = _capacity * 2 + 8;
        _objects = host_metal_reallocate(_objects, _capacity * sizeof *_objects);
    }
    memmove(_objects + index + 1, _objects + index, (_count - index) * sizeof *_objects);
    _objects[index] = [object retain];
    _count++;
    _mutations++;
}
- (void)hm_removeAt:(NSUInteger)index
{
    [self hm_checkIndex:index below:_count];
    const id object = _objects[index];
    memmove(_objects + index, _objects + index + 1, (_count - index - 1) * sizeof *_objects);
    _count--;
    _mutations++;
    [object release];
}
- (NSUInteger)count
{
    return _count;
}
- (id)objectAtIndex:(NSUInteger)index
{
    [self hm_checkIndex:index below:_count];
    return _objects[index];
}
- (id)objectAtIndexedSubscript:(NSUInteger)index
{
    return [self objectAtIndex:index];
}
- (NSUInteger)indexOfObject:(id)object
{
    for (NSUInteger i = 0; i < _count; i++)
        if ([_objects[i] isEqual:object])
            return i;
    return NSNotFound;
}
- (BOOL)containsObject:(id)object
{
    return [self indexOfObject:object] != NSNotFound;
}
- (id)firstObject
{
    return _count ? _objects[0] : nil;
}
- (id)lastObject
{
    return _count ? _objects[_count - 1] : nil;
}
- (id)copyWithZone:(void *)zone
{
    (void)zone;
    return [[NSArray alloc] initWithObjects:_objects count:_count];
}
- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState *)state
                                  objects:(id *)buffer
                                    count:(NSUInteger)count
{
    (void)buffer, (void)count;
    if (state->state)
        return 0;
    state->state = 1;
    state->itemsPtr = _objects;
    state->mutationsPtr = &_mutations;
    return _count;
}
- (void)dealloc
{
    for (NSUInteger i = 0; i < _count; i++)
        [_objects[i] release];
    free(_objects);
    [super dealloc];
}
@end

/* What a changed array calls inside a fast enumeration. */
void objc_enumerationMutation(id object)
{
    host_metal_broken("array-changed-while-enumerated", "a %s changed inside for (... in ...)",
                      object_getClassName(object));
}

@implementation NSMutableArray
+ (instancetype)arrayWithCapacity:(NSUInteger)count
{
    (void)count;
    return [self array];
}
- (instancetype)initWithCapacity:(NSUInteger)count
{
    (void)count;
    return [self init];
}
- (void)addObject:(id)object
{
    [self hm_insert:object at:_count];
}
- (void)addObjectsFromArray:(NSArray *)array
{
    for (NSUInteger i = 0, count = array.count; i < count; i++)
        [self addObject:[array objectAtIndex:i]];
}
- (void)insertObject:(id)object atIndex:(NSUInteger)index
{
    [self hm_insert:object at:index];
}
- (void)removeObjectAtIndex:(NSUInteger)index
{
    [self hm_removeAt:index];
}
- (void)removeObject:(id)object
{
    for (NSUInteger i = _count; i-- > 0;)
        if ([_objects[i] isEqual:object])
            [self hm_removeAt:i];
}
- (void)removeLastObject
{
    [self hm_removeAt:_count - 1];
}
- (void)removeAllObjects
{
    while (_count)
        [self hm_removeAt:_count - 1];
}
- (void)replaceObjectAtIndex:(NSUInteger)index withObject:(id)object
{
    [self hm_insert:object at:index];
    [self hm_removeAt:index + 1];
}
- (void)setObject:(id)object atIndexedSubscript:(NSUInteger)index
{
    if (index == _count)
        [self addObject:object];
    else
        [self replaceObjectAtIndex:index withObject:object];
}
@end

@interface NSDictionary ()
- (void)hm_set:(id)object forKey:(id)key;
@end

@implementation NSDictionary
+ (instancetype)dictionary
{
    return [[[self alloc] init] autorelease];
}
+ (instancetype)dictionaryWithObject:(id)object forKey:(id)key
{
    return [self dictionaryWithObjects:&object forKeys:&key count:1];
}
+ (instancetype)dictionaryWithObjects:(const id *)objects
                              forKeys:(const id *)keys
                                count:(NSUInteger)count
{
    NSDictionary *const result = [self dictionary];
    for (NSUInteger i = 0; i < count; i++)
        [result hm_set:objects[i] forKey:keys[i]];
    return (id)result;
}
- (instancetype)init
{
    _keys = [[NSMutableArray alloc] init];
    _values = [[NSMutableArray alloc] init];
    return self;
}
- (void)hm_set:(id)object forKey:(id)key
{
    if (!object || !key)
        host_metal_broken("dictionary-nil", "nil cannot be put into a dictionary");
    const NSUInteger index = [_keys indexOfObject:key];
    if (index != NSNotFound) {
        [_values replaceObjectAtIndex:index withObject:object];
        return;
    }
    const id copy = [key copy];
    [_keys addObject:copy];
    [copy release];
    [_values addObject:object];
}
- (NSUInteger)count
{
    return _keys.count;
}
- (id)objectForKey:(id)key
{
    const NSUInteger index = [_keys indexOfObject:key];
    return index == NSNotFound ? nil : [_values objectAtIndex:index];
}
- (id)objectForKeyedSubscript:(id)key
{
    return [self objectForKey:key];
}
- (NSArray *)allKeys
{
    return [NSArray arrayWithArray:_keys];
}
- (NSArray *)allValues
{
    return [NSArray arrayWithArray:_values];
}
- (id)copyWithZone:(void *)zone
{
    (void)zone;
    NSDictionary *const copy = [[NSDictionary alloc] init];
    for (id key in _keys)
        [copy hm_set:[self objectForKey:key] forKey:key];
    return copy;
}
- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState *)state
                                  objects:(id *)buffer
                                    count:(NSUInteger)count
{
    return [_keys countByEnumeratingWithState:state objects:buffer count:count];
}
- (void)dealloc
{
    [_keys release];
    [_values release];
    [super dealloc];
}
@end

@implementation NSMutableDictionary
- (void)setObject:(id)object forKey:(id)key
{
    [self hm_set:object forKey:key];
}
- (void)setObject:(id)object forKeyedSubscript:(id)key
{
    if (object)
        [self hm_set:object forKey:key];
    else
        [self removeObjectForKey:key];
}
- (void)removeObjectForKey:(id)key
{
    const NSUInteger index = [_keys indexOfObject:key];
    if (index == NSNotFound)
        return;
    [_keys removeObjectAtIndex:index];
    [_values removeObjectAtIndex:index];
}
@end
