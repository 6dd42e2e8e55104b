/* SPDX-License-Identifier: Apache-2.0 */
/* Planted bugs, each to be reported under the name of its rule. */
#ifndef HOST_METAL_TESTS_PLANTED_H
#define HOST_METAL_TESTS_PLANTED_H

#import <Metal/Metal.h>

struct planted {
    const char *name;
    const char *rule;  /* "rule" or "rule: call"; NULL: only its result shows it, see below */
    const char *modes; /* HOST_METAL, or NULL */
    /* Runs in its own process, inside an autorelease pool. With a rule, the process must be
     * aborted. Without: returns whether the result was wrong, which it must be with `modes` and
     * must not be otherwise. */
    bool (*run)(void);
};

/* Terminated by an entry without a name. */
extern const struct planted planted_calls[], planted_order[], planted_memory[], planted_runtime[],
    planted_modes[], planted_counters[], planted_driver[];

/* Objects that most bugs need, kept until the process ends. */
struct bench {
    id<MTLDevice> device;
    id<MTLCommandQueue> queue;
    id<MTLCommandBuffer> commands;
    id<MTLComputePipelineState> add, twice, through;
    id<MTLBuffer> shared, private, managed;
    id<MTLFunction> function;
};

enum { BENCH_BYTES = 4096 };

void bench_begin(struct bench *bench);

/* Releases everything, to avoid leaks. */
void bench_end(struct bench *bench);

id<MTLBlitCommandEncoder> bench_blit(struct bench *bench);
id<MTLComputeCommandEncoder> bench_compute(struct bench *bench);

/* target[i] += 3 or target[i] *= 2, for all words. */
void bench_dispatch(id<MTLComputeCommandEncoder> compute, const struct bench *bench,
                    id<MTLBuffer> target, bool add);

/* A bug in one statement, on a prepared encoder. */
#define PLANT_ON(name, kind, ...)                                                                  \
    static bool name(void)                                                                         \
    {                                                                                              \
        struct bench bench;                                                                        \
        const id encoder = (id)bench_##kind(&bench);                                               \
        const id<MTL_##kind> e = encoder;                                                          \
        __VA_ARGS__;                                                                               \
        (void)e;                                                                                   \
        return false;                                                                              \
    }
#define MTL_blit    MTLBlitCommandEncoder
#define MTL_compute MTLComputeCommandEncoder

#endif
