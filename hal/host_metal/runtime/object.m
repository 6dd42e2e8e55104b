/* SPDX-License-Identifier: Apache-2.0 */
/* NSObject and autorelease pools: reference counts in front of each object, a list of all live
 * objects, zombies. */
#import "hal/host_metal/runtime/runtime.h"

#include <objc/message.h>
#include <objc/objc-exception.h>
#include <stdatomic.h>
#include <time.h>

/* Released objects stay as zombies that name themselves, up to a total size; the address sanitizer
 * has a better memory. */
#if __has_feature(address_sanitizer)
enum { ZOMBIE_BYTES = 0 };
#else
enum { ZOMBIE_BYTES = 16 << 20 };
#endif

struct header {
    _Alignas(16) _Atomic long references;
    const char *class_name;
    struct header *next, *previous;
    bool exempt;
    uint32_t bytes;
};

static pthread_mutex_t live_lock = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static struct header live = {.next = &live, .previous = &live};
static struct header *oldest_zombie, *newest_zombie;
static size_t zombie_bytes;

static struct header *header_of(id object)
{
    return (struct header *)(void *)object - 1;
}

_Noreturn void host_metal_broken(const char *rule, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "Metal (host emulation): %s: %s\n", rule, text);
    fflush(stderr);
    abort();
}

void *host_metal_reallocate(void *memory, size_t bytes)
{
    void *const result = realloc(memory, bytes ? bytes : 1);
    if (!result)
        host_metal_broken("out-of-memory", "no memory for %zu bytes of bookkeeping", bytes);
    return result;
}

void *host_metal_allocate(size_t bytes)
{
    return memset(host_metal_reallocate(NULL, bytes), 0, bytes);
}

/* ---- The list of what lives --------------------------------------------------------------- */

static void remember(struct header *header)
{
    pthread_mutex_lock(&live_lock);
    header->next = live.next;
    header->previous = &live;
    live.next->previous = header;
    live.next = header;
    pthread_mutex_unlock(&live_lock);
}

/* Returns zombies that have become too many; `header` leaves the list and may become one. */
static struct header *forget(struct header *header)
{
    struct header *surplus = NULL;
    pthread_mutex_lock(&live_lock);
    header->next->previous = header->previous;
    header->previous->next = header->next;
    header->next = NULL;
    if (newest_zombie)
        newest_zombie->next = header;
    else
        oldest_zombie = header;
    newest_zombie = header;
    zombie_bytes += header->bytes;
    while (oldest_zombie && zombie_bytes > ZOMBIE_BYTES) {
        struct header *const last = oldest_zombie;
        oldest_zombie = last->next;
        if (!oldest_zombie)
            newest_zombie = NULL;
        zombie_bytes -= last->bytes;
        last->next = surplus;
        surplus = last;
    }
    pthread_mutex_unlock(&live_lock);
    return surplus;
}

static id make_object(Class class)
{
    const size_t bytes = sizeof(struct header) + class_getInstanceSize(class);
    struct header *const header = host_metal_allocate((bytes + 15) & ~(size_t)15);
    header->references = 1;
    header->class_name = class_getName(class);
    header->bytes = (uint32_t)bytes;
    remember(header);
    const id object = (id)(void *)(header + 1);
    object_setClass(object, class);
    return object;
}

size_t host_metal_object_count(const char *prefix)
{
    size_t count = 0;
    pthread_mutex_lock(&live_lock);
    for (const struct header *header = live.next; header != &live; header = header->next)
        count += !header->exempt &&
                 (!prefix || strncmp(header->class_name, prefix, strlen(prefix)) == 0);
    pthread_mutex_unlock(&live_lock);
    return count;
}

void host_metal_exempt(id object)
{
    header_of(object)->exempt = true;
}

size_t host_metal_print_census(FILE *file)
{
    size_t total = 0;
    pthread_mutex_lock(&live_lock);
    for (const struct header *header = live.next; header != &live; header = header->next) {
        bool first = !header->exempt;
        for (const struct header *seen = live.next; first && seen != header; seen = seen->next)
            first = seen->exempt || strcmp(seen->class_name, header->class_name) != 0;
        if (!first)
            continue;
        size_t count = 0;
        for (const struct header *same = header; same != &live; same = same->next)
            count += !same->exempt && strcmp(same->class_name, header->class_name) == 0;
        fprintf(file, "  %zu of class %s\n", count, header->class_name);
        total += count;
    }
    pthread_mutex_unlock(&live_lock);
    return total;
}

/* ---- Objects ------------------------------------------------------------------------------ */

/* The class of a released object. It has no methods, so every message ends in `unknown`. */
__attribute__((objc_root_class))
@interface HMZombie {
    Class isa;
}
@end
@implementation HMZombie
+ (void)initialize
{
}
@end

static IMP unknown(id object, SEL selector)
{
    const char *const class_name = object_getClassName(object);
    if (strcmp(class_name, "HMZombie") == 0)
        host_metal_broken("message-to-released-object", "-%s was sent to a %s that is released",
                          sel_getName(selector), header_of(object)->class_name);
    host_metal_broken("unknown-selector", "%s does not have the method %s", class_name,
                      sel_getName(selector));
}

static _Thread_local NSAutoreleasePool *top_pool;

@interface NSAutoreleasePool ()
- (void)hm_add:(id)object;
@end

@implementation NSObject
+ (void)load
{
    __objc_msg_forward2 = unknown;
}
+ (void)initialize
{
}
+ (instancetype)alloc
{
    return make_object(self);
}
+ (instancetype)new
{
    return [[self alloc] init];
}
+ (Class)class
{
    return self;
}
+ (BOOL)conformsToProtocol:(Protocol *)protocol
{
    for (Class class = self; class; class = class_getSuperclass(class))
        if (class_conformsToProtocol(class, protocol))
            return YES;
    return NO;
}
+ (BOOL)instancesRespondToSelector:(SEL)selector
{
    return class_respondsToSelector(self, selector);
}
+ (instancetype)retain
{
    return (id)self;
}
+ (oneway void)release
{
}
+ (instancetype)autorelease
{
    return (id)self;
}
+ (id)copy
{
    return self;
}
- (instancetype)init
{
    return self;
}
- (instancetype)self
{
    return self;
}
- (Class)class
{
    return isa;
}
- (Class)superclass
{
    return class_getSuperclass(isa);
}
- (id)copy
{
    return [(id<NSCopying>)self copyWithZone:NULL];
}
- (instancetype)retain
{
    struct header *const header = header_of(self);
    if (atomic_fetch_add_explicit(&header->references, 1, memory_order_relaxed) <= 0)
        host_metal_broken("retain-of-dying-object", "a %s was retained while it was deallocated",
                          header->class_name);
    return self;
}
- (oneway void)release
{
    struct header *const header = header_of(self);
    const long before = atomic_fetch_sub_explicit(&header->references, 1, memory_order_acq_rel);
    if (before <= 0)
        host_metal_broken("released-too-often", "a %s was released once too often",
                          header->class_name);
    if (before == 1)
        [self dealloc];
}
- (NSUInteger)retainCount
{
    return (NSUInteger)atomic_load(&header_of(self)->references);
}
- (void)dealloc
{
    static Class zombie;
    if (!zombie)
        zombie = objc_lookUpClass("HMZombie");
    object_setClass(self, zombie);
    for (struct header *dead = forget(header_of(self)), *next; dead; dead = next) {
        next = dead->next;
        free(dead);
    }
}
- (BOOL)isEqual:(id)object
{
    return object == self;
}
- (NSUInteger)hash
{
    return (NSUInteger)self >> 4;
}
- (BOOL)isKindOfClass:(Class)wanted
{
    for (Class class = isa; class; class = class_getSuperclass(class))
        if (class == wanted)
            return YES;
    return NO;
}
- (BOOL)isMemberOfClass:(Class)wanted
{
    return isa == wanted;
}
- (BOOL)respondsToSelector:(SEL)selector
{
    return class_respondsToSelector(isa, selector);
}
- (BOOL)conformsToProtocol:(Protocol *)protocol
{
    return [isa conformsToProtocol:protocol];
}
- (NSString *)description
{
    return [NSString stringWithFormat:@"<%s: %p>", class_getName(isa), (void *)self];
}
- (void)doesNotRecognizeSelector:(SEL)selector
{
    unknown(self, selector);
}
- (instancetype)autorelease
{
    if (!top_pool)
        host_metal_broken("no-autorelease-pool",
                          "a %s was autoreleased on a thread without a pool: it leaks",
                          class_getName(isa));
    [top_pool hm_add:self];
    return self;
}
@end

@implementation NSAutoreleasePool
- (instancetype)init
{
    _outer = top_pool;
    top_pool = self;
    return self;
}
- (void)hm_add:(id)object
{
    if (_count == _capacity) {
        _capacity = _capacity * 2 + 16;
        _objects = host_metal_reallocate(_objects, _capacity * sizeof *_objects);
    }
    _objects[_count++] = object;
}
- (instancetype)retain
{
    host_metal_broken("pool-retained", "an autorelease pool cannot be retained");
}
- (void)drain
{
    [self release];
}
- (void)dealloc
{
    while (top_pool && top_pool != self)
        [top_pool release];             /* inner ones that were left by an exception */
    for (size_t i = 0; i < _count; i++) /* may grow while it empties */
        [_objects[i] release];
    free(_objects);
    top_pool = _outer;
    [super dealloc];
}
@end

NSString *NSStringFromClass(Class class)
{
    return [NSString stringWithUTF8String:class_getName(class)];
}

NSString *NSStringFromSelector(SEL selector)
{
    return [NSString stringWithUTF8String:sel_getName(selector)];
}
