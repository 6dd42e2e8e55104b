/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the host's Objective-C runtime and the host Metal. */
#ifndef HOST_METAL_RUNTIME_H
#define HOST_METAL_RUNTIME_H

#import <dispatch/dispatch.h>

#include <pthread.h>

/* For the analyzer: methods that behave like init under another name. */
#define HM_INITIALIZER __attribute__((objc_method_family(init)))

/* Reports the broken rule with details, and aborts. Rules are short words that tests search for. */
_Noreturn void host_metal_broken(const char *rule, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Allocates memory; aborts on failure. */
void *host_metal_allocate(size_t bytes);
void *host_metal_reallocate(void *memory, size_t bytes);

/* A string from a C format, owned by the caller. */
NSString *host_metal_string(const char *format, ...)
    __attribute__((format(printf, 1, 2))) NS_RETURNS_RETAINED;

NSError *host_metal_error(NSErrorDomain domain, NSInteger code, NSString *message);

/* Starts a thread for blocks or command buffers: the census at exit waits for it. */
void host_metal_start_thread(void *(*main)(void *), void *context);

/* Counts busy threads; the census waits until there are none, for a limited time. */
void host_metal_busy(int change);
bool host_metal_wait_until_idle(uint64_t seconds);

/* Excludes an object that the runtime itself keeps from the leak check. */
void host_metal_exempt(id object);

/* Prints one line per class of live objects to `file`. Returns their number. */
size_t host_metal_print_census(FILE *file);

/* Number of live objects whose class name begins with `prefix` (NULL: all). */
size_t host_metal_object_count(const char *prefix);

#endif
