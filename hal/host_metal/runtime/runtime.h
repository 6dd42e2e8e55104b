/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the host's Objective-C runtime and the host Metal share. */
#ifndef HOST_METAL_RUNTIME_H
#define HOST_METAL_RUNTIME_H

#import <dispatch/dispatch.h>

#include <pthread.h>

/* Methods that behave like init, whatever their name, for the analyzer. */
#define HM_INITIALIZER __attribute__((objc_method_family(init)))

/* Says which rule was broken and how, and aborts. Rules are short words that tests look for. */
_Noreturn void host_metal_broken(const char *rule, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Memory that no caller can do without. */
void *host_metal_allocate(size_t bytes);
void *host_metal_reallocate(void *memory, size_t bytes);

/* A string owned by the caller, from a C format. */
NSString *host_metal_string(const char *format, ...)
    __attribute__((format(printf, 1, 2))) NS_RETURNS_RETAINED;

NSError *host_metal_error(NSErrorDomain domain, NSInteger code, NSString *message);

/* Threads that run blocks or command buffers: the census at exit waits for them. */
void host_metal_start_thread(void *(*main)(void *), void *context);

/* Waits until no thread above is busy, at most so long. */
void host_metal_busy(int change);
bool host_metal_wait_until_idle(uint64_t seconds);

/* Objects that the runtime itself keeps and that are no leak. */
void host_metal_exempt(id object);

/* One line per class of what lives, into `file`. Returns how many that is. */
size_t host_metal_print_census(FILE *file);

/* Live objects whose class name begins with `prefix` (NULL: all). */
size_t host_metal_object_count(const char *prefix);

#endif
