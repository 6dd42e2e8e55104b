/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks runtime, after the Block ABI that clang documents. Blocks are Objective-C objects:
 * the symbols that the compiler writes into a block's isa are classes of ours. */
#import "hal/host_metal/runtime/runtime.h"

#include <stdatomic.h>

enum flags {
    REFERENCES = 0xffff,
    ON_HEAP = 1 << 24,
    HAS_HELPERS = 1 << 25,
    IS_GLOBAL = 1 << 28,
    /* In the helpers' arguments: */
    FIELD_KIND = 7,
    FIELD_IS_BLOCK = 7,
    FIELD_IS_BYREF = 8,
    FIELD_OF_BYREF = 128
};

struct descriptor {
    unsigned long reserved, bytes;
    void (*copy)(void *target, const void *source);
    void (*dispose)(const void *block);
};
struct block {
    void *isa;
    _Atomic int flags;
    int reserved;
    void (*invoke)(void *, ...);
    const struct descriptor *descriptor;
};
struct byref { /* a __block variable */
    void *isa;
    struct byref *_Atomic forwarding;
    _Atomic int flags;
    int bytes;
    void (*keep)(struct byref *target, const struct byref *source);
    void (*destroy)(struct byref *);
};

extern void *_NSConcreteMallocBlock[];

__attribute__((visibility("default"))) void *_Block_copy(const void *);
__attribute__((visibility("default"))) void _Block_release(const void *);
__attribute__((visibility("default"))) void _Block_object_assign(void *, const void *, int);
__attribute__((visibility("default"))) void _Block_object_dispose(const void *, int);

static const struct descriptor *descriptor_of(const struct block *block)
{
    return block->descriptor;
}

void *_Block_copy(const void *argument)
{
    struct block *const block = (struct block *)(uintptr_t)argument;
    if (!block)
        return NULL;
    const int flags = atomic_load(&block->flags);
    if (flags & ON_HEAP) {
        atomic_fetch_add(&block->flags, 1);
        return block;
    }
    if (flags & IS_GLOBAL)
        return block;
    struct block *const copy = host_metal_allocate(descriptor_of(block)->bytes);
    memcpy((void *)copy, (const void *)block, descriptor_of(block)->bytes);
    atomic_store(&copy->flags, (flags & ~REFERENCES) | ON_HEAP | 1);
    copy->isa = _NSConcreteMallocBlock;
    if (flags & HAS_HELPERS)
        descriptor_of(block)->copy(copy, block);
    return copy;
}

void _Block_release(const void *argument)
{
    struct block *const block = (struct block *)(uintptr_t)argument;
    if (!block || !(atomic_load(&block->flags) & ON_HEAP))
        return;
    const int flags = atomic_fetch_sub(&block->flags, 1);
    if ((flags & REFERENCES) == 0)
        host_metal_broken("released-too-often", "a block was released once too often");
    if ((flags & REFERENCES) != 1)
        return;
    if (flags & HAS_HELPERS)
        descriptor_of(block)->dispose(block);
    free(block);
}

static struct byref *copy_byref(struct byref *source)
{
    struct byref *const forwarding = atomic_load(&source->forwarding);
    const int flags = atomic_load(&forwarding->flags);
    if (flags & ON_HEAP) {
        atomic_fetch_add(&forwarding->flags, 1);
        return forwarding;
    }
    struct byref *const copy = host_metal_allocate((size_t)source->bytes);
    memcpy((void *)copy, (const void *)source, (size_t)source->bytes);
    atomic_store(&copy->flags, (flags & ~REFERENCES) | ON_HEAP | 2); /* block and stack frame */
    copy->isa = NULL;
    atomic_store(&copy->forwarding, copy);
    atomic_store(&source->forwarding, copy);
    if (flags & HAS_HELPERS)
        copy->keep(copy, source);
    return copy;
}

static void release_byref(struct byref *byref)
{
    struct byref *const forwarding = atomic_load(&byref->forwarding);
    if (!(atomic_load(&forwarding->flags) & ON_HEAP))
        return;
    const int flags = atomic_fetch_sub(&forwarding->flags, 1);
    if ((flags & REFERENCES) != 1)
        return;
    if (flags & HAS_HELPERS)
        forwarding->destroy(forwarding);
    free(forwarding);
}

void _Block_object_assign(void *target, const void *object, int flags)
{
    const void **const field = target;
    if (flags & FIELD_OF_BYREF) /* not retained: no automatic reference counting */
        *field = object;
    else if (flags & FIELD_IS_BYREF)
        *field = copy_byref((struct byref *)(uintptr_t)object);
    else if ((flags & FIELD_KIND) == FIELD_IS_BLOCK)
        *field = _Block_copy(object);
    else
        *field = [(id)(uintptr_t)object retain];
}

void _Block_object_dispose(const void *object, int flags)
{
    if (flags & FIELD_OF_BYREF)
        return;
    if (flags & FIELD_IS_BYREF)
        release_byref((struct byref *)(uintptr_t)object);
    else if ((flags & FIELD_KIND) == FIELD_IS_BLOCK)
        _Block_release(object);
    else
        [(id)(uintptr_t)object release];
}

@interface HMStackBlock : NSObject
@end
@implementation HMStackBlock
- (id)copy
{
    return (id)_Block_copy(self);
}
- (id)copyWithZone:(void *)zone
{
    (void)zone;
    return (id)_Block_copy(self);
}
- (instancetype)retain
{
    host_metal_broken("stack-block-retained",
                      "a block on the stack was retained: only copy makes it outlive its function");
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
    return 1;
}
@end

@interface HMMallocBlock : HMStackBlock
@end
@implementation HMMallocBlock
- (instancetype)retain
{
    return (id)_Block_copy(self);
}
- (oneway void)release
{
    _Block_release(self);
}
- (instancetype)autorelease
{
    host_metal_broken("block-autoreleased", "blocks cannot be autoreleased on the host");
}
@end

@interface HMGlobalBlock : HMStackBlock
@end
@implementation HMGlobalBlock
- (instancetype)retain
{
    return self;
}
@end

__asm__(".globl _NSConcreteStackBlock\n.set _NSConcreteStackBlock, _OBJC_CLASS_HMStackBlock\n"
        ".globl _NSConcreteMallocBlock\n.set _NSConcreteMallocBlock, _OBJC_CLASS_HMMallocBlock\n"
        ".globl _NSConcreteGlobalBlock\n.set _NSConcreteGlobalBlock, _OBJC_CLASS_HMGlobalBlock\n");
