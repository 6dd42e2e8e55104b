/* SPDX-License-Identifier: Apache-2.0 */
/* The host Metal computes what Metal would, in whatever mode HOST_METAL names. */
#import "hal/host_metal/tests/work.h"

const char work_kernels[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "constant uint factor [[function_constant(3)]];\n"
    "kernel void add(device uint *target [[buffer(0)]], constant uint &value [[buffer(1)]],\n"
    "                uint i [[thread_position_in_grid]]) { target[i] += value; }\n"
    "kernel void twice(device uint *target [[buffer(0)]], uint i [[thread_position_in_grid]])\n"
    "{ target[i] *= 2; }\n"
    "kernel void scale(device uint *target [[buffer(0)]], uint i [[thread_position_in_grid]])\n"
    "{ target[i] *= factor; }\n"
    "kernel void sum(const device uint *source [[buffer(0)]], device uint *target [[buffer(1)]],\n"
    "                threadgroup uint *shared [[threadgroup(0)]],\n"
    "                uint group [[threadgroup_position_in_grid]],\n"
    "                uint i [[thread_position_in_threadgroup]],\n"
    "                uint n [[threads_per_threadgroup]])\n"
    "{\n"
    "    shared[i] = source[group * n + i];\n"
    "    threadgroup_barrier(mem_flags::mem_threadgroup);\n"
    "    for (uint half_of = n / 2; half_of > 0; half_of /= 2) {\n"
    "        if (i < half_of) shared[i] += shared[i + half_of];\n"
    "        threadgroup_barrier(mem_flags::mem_threadgroup);\n"
    "    }\n"
    "    if (i == 0) target[group] = shared[0];\n"
    "}\n"
    "struct arguments {\n"
    "    const device uint *source [[id(0)]];\n"
    "    device uint *target [[id(1)]];\n"
    "    uint value [[id(2)]];\n"
    "};\n"
    "kernel void through(constant arguments &a [[buffer(0)]], uint i [[thread_position_in_grid]])\n"
    "{ a.target[i] = a.source[i] + a.value; }\n";

void work_begin(struct work *work)
{
    NSError *error = nil;
    work->device = MTLCreateSystemDefaultDevice();
    assert_non_null(work->device);
    work->queue = [work->device newCommandQueue];
    work->library = [work->device newLibraryWithSource:[NSString stringWithUTF8String:work_kernels]
                                               options:nil
                                                 error:&error];
    if (!work->library)
        fail_msg("%s", error.localizedDescription.UTF8String);
}

void work_end(struct work *work)
{
    [work->library release];
    [work->queue release];
    [work->device release];
}

id<MTLComputePipelineState> work_pipeline(const struct work *work, const char *kernel)
{
    NSError *error = nil;
    const id<MTLFunction> function =
        [work->library newFunctionWithName:[NSString stringWithUTF8String:kernel]];
    assert_non_null(function);
    const id<MTLComputePipelineState> pipeline =
        [work->device newComputePipelineStateWithFunction:function error:&error];
    if (!pipeline)
        fail_msg("%s", error.localizedDescription.UTF8String);
    [function release];
    return pipeline;
}

id<MTLBuffer> work_buffer(const struct work *work, size_t words, uint32_t first, uint32_t step)
{
    const id<MTLBuffer> buffer = [work->device newBufferWithLength:words * sizeof(uint32_t)
                                                           options:MTLResourceStorageModeShared];
    assert_non_null(buffer);
    uint32_t *const contents = buffer.contents;
    for (size_t i = 0; i < words; i++)
        contents[i] = first + (uint32_t)i * step;
    return buffer;
}

void work_finish(id<MTLCommandBuffer> buffer)
{
    [buffer commit];
    [buffer waitUntilCompleted];
    if (buffer.status != MTLCommandBufferStatusCompleted)
        fail_msg("%s", buffer.error.localizedDescription.UTF8String);
}

bool work_mode(const char *word)
{
    const char *const modes = getenv("HOST_METAL");
    return modes && strstr(modes, word) != NULL;
}

/* Each test in a pool of its own, and without objects left. */
static int begin(void **state)
{
    *state = [[NSAutoreleasePool alloc] init];
    return 0;
}

static int end(void **state)
{
    [(NSAutoreleasePool *)*state drain];
    return 0;
}

TEST_FIXTURE(begin, end);
