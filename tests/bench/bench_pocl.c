/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL through whatever ICD there is; only PoCL's platform is used. */
#include "tests/bench/bench_pocl.h"

#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SUM_OF_32                                                                                  \
    "    local float part[64];\n"                                                                  \
    "    uint tid = get_local_id(0);\n"                                                            \
    "    part[tid] = sum;\n"                                                                       \
    "    for (uint s = 16; s > 0; s >>= 1) {\n"                                                    \
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"                                                      \
    "        if (lane < s) part[tid] += part[tid + s];\n"                                          \
    "    }\n"
#define MATRIX_VECTOR(name, loop)                                                                  \
    "kernel __attribute__((reqd_work_group_size(64, 1, 1))) void " name "(global const char *m,\n" \
    "    global const float *x, global const half *scales, global float *y,\n"                     \
    "    global const uint *columns)\n"                                                            \
    "{\n"                                                                                          \
    "    uint lane = get_local_id(0) % 32, simd = get_local_id(0) / 32;\n"                         \
    "    uint row = get_group_id(0) * 2 + simd, n = *columns;\n"                                   \
    "    float sum = 0.0f;\n" loop SUM_OF_32                                                       \
    "    if (lane == 0) y[row] = part[tid] * vload_half(row, scales);\n"                           \
    "}\n"

static const char source[] =
    "kernel __attribute__((reqd_work_group_size(256, 1, 1))) void add(global const float *a,\n"
    "    global const float *b, global float *c)\n"
    "{ uint i = get_global_id(0); c[i] = a[i] + b[i]; }\n"
    "kernel __attribute__((reqd_work_group_size(256, 1, 1))) void saxpy(global const float *x,\n"
    "    global float *y, global const float *a)\n"
    "{ uint i = get_global_id(0); y[i] = *a * x[i] + y[i]; }\n"
    "kernel __attribute__((reqd_work_group_size(16, 16, 1))) void matmul(global const float *A,\n"
    "    global const float *B, global float *C, global const uint *size)\n"
    "{\n"
    "    local float a[16][16], b[16][16];\n"
    "    uint lx = get_local_id(0), ly = get_local_id(1), n = *size;\n"
    "    uint gx = get_global_id(0), gy = get_global_id(1);\n"
    "    float sum = 0.0f;\n"
    "    for (uint k = 0; k < n; k += 16) {\n"
    "        a[ly][lx] = A[gy * n + k + lx];\n"
    "        b[ly][lx] = B[(k + ly) * n + gx];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        for (uint j = 0; j < 16; j++) sum += a[ly][j] * b[j][lx];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    }\n"
    "    C[gy * n + gx] = sum;\n"
    "}\n"
    /* No matrices: each work-item has the two elements that a lane would hold. */
    "kernel __attribute__((reqd_work_group_size(32, 1, 1))) void matrices(global const float *A,\n"
    "    global const float *B, global float *C, global const uint *size)\n"
    "{\n"
    "    uint n = *size, lane = get_local_id(0), y = get_group_id(1) * 8 + lane / 4;\n"
    "    uint x = get_group_id(0) * 8 + lane % 4 * 2;\n"
    "    float first = 0.0f, second = 0.0f;\n"
    "    for (uint k = 0; k < n; k++) {\n"
    "        first += A[y * n + k] * B[k * n + x];\n"
    "        second += A[y * n + k] * B[k * n + x + 1];\n"
    "    }\n"
    "    C[y * n + x] = first;\n"
    "    C[y * n + x + 1] = second;\n"
    "}\n"
    "kernel __attribute__((reqd_work_group_size(256, 1, 1))) void reduce(global const float *in,\n"
    "    global float *out, global const uint *chunks)\n"
    "{\n"
    "    local float part[256];\n"
    "    uint tid = get_local_id(0), group = get_group_id(0), count = *chunks;\n"
    "    float total = 0.0f;\n"
    "    for (uint c = 0; c < count; c++) {\n"
    "        uint at = (group * count + c) * 1024 + tid;\n"
    "        part[tid] = in[at] + in[at + 256] + in[at + 512] + in[at + 768];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        for (uint s = 128; s > 0; s >>= 1) {\n"
    "            if (tid < s) part[tid] += part[tid + s];\n"
    "            barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        }\n"
    "        if (tid == 0) total += part[0];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    }\n"
    "    if (tid == 0) out[group] = total;\n"
    "}\n"
    "kernel __attribute__((reqd_work_group_size(256, 1, 1))) void tree(global const float *in,\n"
    "    global float *out)\n"
    "{\n"
    "    local float sum[256];\n"
    "    uint tid = get_local_id(0), group = get_group_id(0);\n"
    "    sum[tid] = in[group * 256 + tid];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (uint s = 128; s > 0; s >>= 1) {\n"
    "        if (tid < s) sum[tid] += sum[tid + s];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    }\n"
    "    if (tid == 0) out[group] = sum[0];\n"
    "}\n" MATRIX_VECTOR("vector_uniform", "    for (uint i = 0; i < n; i += 32)\n"
                                          "        sum += (float)m[row * n + i + lane] * "
                                          "x[i + lane];\n")
        MATRIX_VECTOR("vector_strided", "    for (uint i = lane; i < n; i += 32)\n"
                                        "        sum += (float)m[row * n + i] * x[i];\n");

struct bench_pocl {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
};

static _Noreturn void die(const char *what, cl_int error)
{
    fprintf(stderr, "bench-msl: PoCL: %s: error %d\n", what, error);
    exit(1);
}

static void need(const char *what, cl_int error)
{
    if (error != CL_SUCCESS)
        die(what, error);
}

static cl_device_id find_device(void)
{
    enum { MAX_PLATFORMS = 16 };
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint count = 0;
    if (clGetPlatformIDs(MAX_PLATFORMS, platforms, &count) != CL_SUCCESS)
        return NULL;
    for (cl_uint i = 0; i < count && i < MAX_PLATFORMS; i++) {
        char name[128] = "";
        cl_device_id device = NULL;
        if (clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name, name, NULL) ==
                CL_SUCCESS &&
            strstr(name, "Portable Computing Language") &&
            clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &device, NULL) == CL_SUCCESS)
            return device;
    }
    return NULL;
}

struct bench_pocl *bench_pocl_open(const char **out_reason)
{
    /* One thread, and nothing left in the home directory. */
    setenv("POCL_MAX_PTHREAD_COUNT", "1", 1);
    setenv("POCL_KERNEL_CACHE", "0", 1);
    const cl_device_id device = find_device();
    struct bench_pocl *const pocl = device ? calloc(1, sizeof *pocl) : NULL;
    *out_reason = "there is no PoCL (Debian: pocl-opencl-icd)";
    if (!pocl)
        return NULL;
    const char *text = source;
    const size_t length = sizeof source - 1;
    cl_int error;
    pocl->device = device;
    pocl->context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    need("context", error);
    pocl->queue = clCreateCommandQueueWithProperties(pocl->context, device, NULL, &error);
    need("queue", error);
    pocl->program = clCreateProgramWithSource(pocl->context, 1, &text, &length, &error);
    need("program", error);
    need("building the kernels",
         clBuildProgram(pocl->program, 1, &device, "-cl-std=CL1.2", NULL, NULL));
    return pocl;
}

void bench_pocl_close(struct bench_pocl *pocl)
{
    if (!pocl)
        return;
    clReleaseProgram(pocl->program);
    clReleaseCommandQueue(pocl->queue);
    clReleaseContext(pocl->context);
    free(pocl);
}

/* Its worker is another thread: what the whole process takes. */
static double process_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

double bench_pocl_run(struct bench_pocl *pocl, const struct bench_pocl_launch *launch)
{
    cl_int error;
    cl_uint count = 0;
    size_t global[3], local[3];
    const cl_kernel kernel = clCreateKernel(pocl->program, launch->kernel, &error);
    need(launch->kernel, error);
    need("arguments", clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL));
    for (cl_uint i = 0; i < count; i++)
        need("argument", clSetKernelArgSVMPointer(kernel, i, launch->buffers[i]));
    for (size_t i = 0; i < 3; i++) {
        local[i] = launch->workgroup_size[i];
        global[i] = local[i] * launch->groups[i];
    }
    const double begin = process_ns();
    need("dispatch",
         clEnqueueNDRangeKernel(pocl->queue, kernel, 3, NULL, global, local, 0, NULL, NULL));
    need("waiting", clFinish(pocl->queue));
    const double end = process_ns();
    clReleaseKernel(kernel);
    return end - begin;
}
