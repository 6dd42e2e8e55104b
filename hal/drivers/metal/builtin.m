/* SPDX-License-Identifier: Apache-2.0 */
/* Our own kernels for what blit commands cannot do: fills of more than one byte, and ranges whose
 * offset or size is not a multiple of 4; and for counts of workgroups that are known only on the
 * device. A thread of the former handles 16 bytes, aligned to 16 in the target: whole chunks by one
 * store, the ends byte by byte, so that nothing outside the range is touched. */
#import "hal/drivers/metal/metal.h"

static const char source[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "struct fill_arguments { ulong first, end; uint pattern, reserved; };\n"
    "struct copy_arguments { ulong first, end, source; };\n"
    "kernel void hal_fill(device uchar *target [[buffer(0)]],\n"
    "                     constant fill_arguments &a [[buffer(1)]],\n"
    "                     uint group [[threadgroup_position_in_grid]],\n"
    "                     uint thread_index [[thread_position_in_threadgroup]],\n"
    "                     uint threads [[threads_per_threadgroup]])\n"
    "{\n"
    "    const ulong chunk = (ulong(group) * threads + thread_index) * 16;\n"
    "    if (chunk >= a.first && chunk + 16 <= a.end) {\n"
    "        const uint shift = uint(chunk - a.first) % 4 * 8;\n"
    "        const uint word = shift ? a.pattern >> shift | a.pattern << (32 - shift) : "
    "a.pattern;\n"
    "        *(device uint4 *)(target + chunk) = uint4(word);\n"
    "        return;\n"
    "    }\n"
    "    const ulong first = max(chunk, a.first), last = min(chunk + 16, a.end);\n"
    "    for (ulong i = first; i < last; i++)\n"
    "        target[i] = uchar(a.pattern >> (uint(i - a.first) % 4 * 8));\n"
    "}\n"
    "kernel void hal_copy(device uchar *target [[buffer(0)]],\n"
    "                     device const uchar *source [[buffer(1)]],\n"
    "                     constant copy_arguments &a [[buffer(2)]],\n"
    "                     uint group [[threadgroup_position_in_grid]],\n"
    "                     uint thread_index [[thread_position_in_threadgroup]],\n"
    "                     uint threads [[threads_per_threadgroup]])\n"
    "{\n"
    "    const ulong chunk = (ulong(group) * threads + thread_index) * 16;\n"
    "    const ulong first = max(chunk, a.first), last = min(chunk + 16, a.end);\n"
    "    const ulong from = a.source + (first - a.first);\n"
    "    if (last == first + 16 && from % 4 == 0) {\n"
    "        device const uint *words = (device const uint *)(source + from);\n"
    "        *(device uint4 *)(target + chunk) = uint4(words[0], words[1], words[2], words[3]);\n"
    "        return;\n"
    "    }\n"
    "    for (ulong i = first; i < last; i++)\n"
    "        target[i] = source[from + (i - first)];\n"
    "}\n"
    "struct counts_arguments { uint workgroup_size[3]; uint reserved; };\n"
    "kernel void hal_counts(device const uint *source [[buffer(0)]],\n"
    "                       device uint *target [[buffer(1)]],\n"
    "                       constant counts_arguments &a [[buffer(2)]])\n"
    "{\n"
    "    uint given[3];\n"
    "    bool good = true;\n"
    "    for (uint i = 0; i < 3; i++) {\n"
    "        given[i] = source[i];\n"
    "        good = good && ulong(given[i]) * a.workgroup_size[i] <= 0xFFFFFFFFul;\n"
    "    }\n"
    "    const ulong plane = ulong(given[0]) * given[1];\n"
    "    good = good && (given[2] == 0 || plane <= 0x7FFFFFFFFFFFFFFFul / given[2]);\n"
    "    for (uint i = 0; i < 3; i++) {\n"
    "        target[i] = good ? given[i] : 0;\n"
    "        target[i + 4] = given[i];\n"
    "    }\n"
    "}\n";

static enum hal_status create(struct metal_device *device, id<MTLLibrary> library, NSString *name,
                              id<MTLComputePipelineState> *out_pipeline)
{
    NSError *error = nil;
    id<MTLFunction> function = [library newFunctionWithName:name];
    if (function)
        *out_pipeline = [device->device newComputePipelineStateWithFunction:function error:&error];
    [function release];
    if (*out_pipeline)
        return HAL_OK;
    return hal_fail(HAL_FAILED, "the driver's own kernel '%s': %s", name.UTF8String,
                    metal_error_text(error));
}

enum hal_status metal_builtin_create(struct metal_device *device)
{
    enum { GROUP_THREADS = 256 };
    struct metal_builtin *builtin = &device->builtin;
    NSError *error = nil;
    id<MTLLibrary> library = [device->device newLibraryWithSource:metal_string(source)
                                                          options:nil
                                                            error:&error];
    if (!library)
        return hal_fail(HAL_FAILED, "the driver's own kernels: %s", metal_error_text(error));
    enum hal_status status = create(device, library, @"hal_fill", &builtin->fill);
    if (status == HAL_OK)
        status = create(device, library, @"hal_copy", &builtin->copy);
    if (status == HAL_OK)
        status = create(device, library, @"hal_counts", &builtin->counts);
    [library release];
    if (status != HAL_OK) {
        metal_builtin_destroy(device);
        return status;
    }
    builtin->group_threads = GROUP_THREADS;
    if (builtin->fill.maxTotalThreadsPerThreadgroup < GROUP_THREADS ||
        builtin->copy.maxTotalThreadsPerThreadgroup < GROUP_THREADS)
        builtin->group_threads = (uint32_t)builtin->fill.threadExecutionWidth;
    return HAL_OK;
}

void metal_builtin_destroy(struct metal_device *device)
{
    [device->builtin.fill release];
    [device->builtin.copy release];
    [device->builtin.counts release];
    device->builtin = (struct metal_builtin){0};
}
