/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of the host Metal. */
#ifndef HOST_METAL_TESTS_WORK_H
#define HOST_METAL_TESTS_WORK_H

#include "tests/support/test.h"

#import <Metal/Metal.h>

struct work {
    id<MTLDevice> device;
    id<MTLCommandQueue> queue;
    id<MTLLibrary> library;
};

/* Compiles the tests' kernels: */
void work_begin(struct work *work);
void work_end(struct work *work);

id<MTLComputePipelineState> work_pipeline(const struct work *work,
                                          const char *kernel) NS_RETURNS_RETAINED;

/* A shared buffer with 32-bit words `first`, `first` + step, ... */
id<MTLBuffer> work_buffer(const struct work *work, size_t words, uint32_t first,
                          uint32_t step) NS_RETURNS_RETAINED;

/* Commits and waits; fails the test on an error. */
void work_finish(id<MTLCommandBuffer> buffer);

/* Whether a call that transfers ownership of a new object returned nothing. */
static inline bool work_is_nothing(__attribute__((ns_consumed)) id object)
{
    const bool is_nothing = object == nil;
    [object release];
    return is_nothing;
}

extern const char work_kernels[];

/* Whether the word is in HOST_METAL. */
bool work_mode(const char *word);

#endif
