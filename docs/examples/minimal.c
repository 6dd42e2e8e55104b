/* SPDX-License-Identifier: Apache-2.0 */
/* What an application looks like: adds two vectors on the device and checks the sum. It uses only
 * the installed headers:  cc minimal.c $(pkg-config --cflags --libs haltrace) */
#include "hal/hal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 100000, GROUP_THREADS = 64, VECTOR_BYTES = COUNT * sizeof(float) };

static const char kernel_source[] = "#include <metal_stdlib>\n"
                                    "using namespace metal;\n"
                                    "kernel void add(device const float *a [[buffer(0)]],\n"
                                    "                device const float *b [[buffer(1)]],\n"
                                    "                device float *sum [[buffer(2)]],\n"
                                    "                constant uint &count [[buffer(3)]],\n"
                                    "                uint i [[thread_position_in_grid]])\n"
                                    "{\n"
                                    "    if (i < count)\n"
                                    "        sum[i] = a[i] + b[i];\n"
                                    "}\n";

struct objects {
    struct hal_device *device;
    struct hal_buffer *a, *b, *sum;
    struct hal_executable *executable;
    struct hal_command_buffer *commands;
    struct hal_semaphore *done;
};

static enum hal_status create_objects(struct objects *objects)
{
    const struct hal_entry_point add = {
        .name = "add",
        .workgroup_size = {GROUP_THREADS, 1, 1},
        .constant_bytes = sizeof(uint32_t),
        .constants_slot = 3,
    };
    const struct hal_executable_desc executable = {
        .label = "add.metal",
        .format = HAL_FORMAT_MSL,
        .data = kernel_source,
        .bytes = strlen(kernel_source),
        .entry_points = &add,
        .entry_point_count = 1,
    };
    const struct hal_buffer_desc a = {.label = "a", .bytes = VECTOR_BYTES};
    const struct hal_buffer_desc b = {.label = "b", .bytes = VECTOR_BYTES};
    const struct hal_buffer_desc sum = {.label = "sum", .bytes = VECTOR_BYTES};
    const struct hal_command_buffer_desc commands = {.label = "add vectors"};
    HAL_TRY(hal_device_open(NULL, &objects->device));
    HAL_TRY(hal_executable_create(objects->device, &executable, &objects->executable));
    HAL_TRY(hal_buffer_create(objects->device, &a, &objects->a));
    HAL_TRY(hal_buffer_create(objects->device, &b, &objects->b));
    HAL_TRY(hal_buffer_create(objects->device, &sum, &objects->sum));
    HAL_TRY(hal_semaphore_create(objects->device, "done", 0, &objects->done));
    return hal_command_buffer_create(objects->device, &commands, &objects->commands);
}

static void release_objects(struct objects *objects)
{
    hal_command_buffer_release(objects->commands);
    hal_semaphore_release(objects->done);
    hal_buffer_release(objects->sum);
    hal_buffer_release(objects->b);
    hal_buffer_release(objects->a);
    hal_executable_release(objects->executable);
    hal_device_release(objects->device);
}

/* Records one dispatch, submits it, and waits for its signal. */
static enum hal_status run_kernel(struct objects *objects)
{
    const struct hal_binding bindings[] = {
        {objects->a, 0, HAL_WHOLE_BUFFER},
        {objects->b, 0, HAL_WHOLE_BUFFER},
        {objects->sum, 0, HAL_WHOLE_BUFFER},
    };
    const uint32_t count = COUNT;
    const uint32_t groups[3] = {(COUNT + GROUP_THREADS - 1) / GROUP_THREADS, 1, 1};
    HAL_TRY(hal_command_push_constants(objects->commands, 0, &count, sizeof count));
    HAL_TRY(hal_command_push_descriptor_set(objects->commands, 0, bindings, 3));
    HAL_TRY(hal_command_dispatch(objects->commands, objects->executable, 0, groups));
    HAL_TRY(hal_command_buffer_end(objects->commands));

    const struct hal_semaphore_value signal = {objects->done, 1};
    const struct hal_submit_desc submit = {
        .signals = &signal,
        .signal_count = 1,
        .commands = &objects->commands,
        .command_count = 1,
    };
    HAL_TRY(hal_queue_submit(objects->device, &submit));
    return hal_semaphore_wait(objects->done, 1, HAL_FOREVER);
}

/* `vectors` has room for a, b and the sum. */
static enum hal_status add_vectors(struct objects *objects, float *vectors)
{
    float *a = vectors, *b = vectors + COUNT, *sum = vectors + 2 * COUNT;
    for (int i = 0; i < COUNT; i++) {
        a[i] = (float)i;
        b[i] = 2.0f * (float)i;
    }
    HAL_TRY(create_objects(objects));
    HAL_TRY(hal_buffer_write(objects->a, 0, a, VECTOR_BYTES));
    HAL_TRY(hal_buffer_write(objects->b, 0, b, VECTOR_BYTES));
    HAL_TRY(run_kernel(objects));
    HAL_TRY(hal_buffer_read(objects->sum, 0, sum, VECTOR_BYTES));
    for (int i = 0; i < COUNT; i++) {
        if (sum[i] != 3.0f * (float)i) /* exact: all values are small whole numbers */
            return hal_fail(HAL_FAILED, "sum[%d] is %g, not %g", i, (double)sum[i], 3.0 * i);
    }
    return HAL_OK;
}

int main(int argc, char **argv)
{
    struct objects objects = {0};
    float *vectors = malloc(3 * VECTOR_BYTES);
    enum hal_status status = hal_flags_parse(&argc, argv);
    if (status == HAL_OK && !vectors)
        status = hal_fail(HAL_NO_MEMORY, "3 vectors of %d floats", COUNT);
    if (status == HAL_OK)
        status = add_vectors(&objects, vectors);
    if (status == HAL_OK)
        printf("minimal: added %d numbers on the device, all right\n", COUNT);
    else
        fprintf(stderr, "minimal: %s\n", hal_message());
    release_objects(&objects);
    free(vectors);
    return status == HAL_OK ? 0 : 1;
}
