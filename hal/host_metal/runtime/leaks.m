/* SPDX-License-Identifier: Apache-2.0 */
/* gcc's Objective-C library loses a few bytes of its tables while classes are loaded. Under the
 * address sanitizer its allocations come here and are left out of the report; objects, blocks and
 * everything else of ours are allocated elsewhere and are not. */
#include <objc/runtime.h>

#if __has_feature(address_sanitizer)
#include <stdlib.h>

/* From the sanitizer, whose header does not come with every compiler. */
void __lsan_disable(void);
void __lsan_enable(void);
__attribute__((visibility("default"))) void *objc_malloc(size_t);
__attribute__((visibility("default"))) void *objc_calloc(size_t, size_t);

void *objc_malloc(size_t bytes)
{
    __lsan_disable();
    void *const memory = malloc(bytes);
    __lsan_enable();
    return memory;
}

void *objc_calloc(size_t count, size_t bytes)
{
    __lsan_disable();
    void *const memory = calloc(count, bytes);
    __lsan_enable();
    return memory;
}
#endif
