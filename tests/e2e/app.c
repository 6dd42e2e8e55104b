/* SPDX-License-Identifier: Apache-2.0 */
/* e2e-app WHAT [FILE]: one program, several ways of using the HAL, each of which checks its own
 * results. It knows nothing of captures, except where its name says so.
 *
 *   read        fill, scale with a kernel, read back
 *   no-reads    the same without looking at the result
 *   threads     two threads record and submit to two queues; each round of one waits on the device
 *               for the other's round before, and the first for a signal that the host gives last
 *   long-kernel the same as read, with a kernel of more than 2 MiB, most of them comments
 *   file FILE   a queue reads the numbers from the file, a kernel scales them
 *   api FILE    works, starts a capture into FILE, works, ends it, works
 *   bad-kernel  a kernel that does not compile; the mistake is in line 7
 *   query KEY   what the device answers
 *   leave       reads, then leaves main with status 3 and everything unreleased
 *   leave-bad   bad-kernel, then leaves main the same way */
#include "hal/hal.h"

#include <inttypes.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 1000, GROUP_THREADS = 32, BUFFER_BYTES = COUNT * 4, ROUNDS = 50, WORKERS = 2 };

static const char good_kernel[] = "#include <metal_stdlib>\n"
                                  "using namespace metal;\n"
                                  "kernel void scale(device uint *values [[buffer(0)]],\n"
                                  "                  constant uint2 &sizes [[buffer(1)]],\n"
                                  "                  uint i [[thread_position_in_grid]])\n"
                                  "{\n"
                                  "    if (i < sizes.x)\n"
                                  "        values[i] = values[i] * sizes.y + i;\n"
                                  "}\n";
static const char *kernel = good_kernel; /* that workers use */
static const char bad_kernel[] = "#include <metal_stdlib>\n"
                                 "using namespace metal;\n"
                                 "kernel void scale(device uint *values [[buffer(0)]],\n"
                                 "                  constant uint2 &sizes [[buffer(1)]],\n"
                                 "                  uint i [[thread_position_in_grid]])\n"
                                 "{\n"
                                 "    values[i] = undeclared_name;\n"
                                 "}\n";

/* One buffer and the kernel that scales it. A worker of its own queue. */
struct worker {
    struct hal_device *device;
    struct hal_buffer *values;
    struct hal_executable *executable;
    uint64_t queues;
    uint32_t factor;
    struct hal_semaphore *own;           /* counts finished rounds */
    struct hal_semaphore *other, *start; /* NULL, or to wait for: the other's rounds; 1 */
    uint64_t rounds;
    enum hal_status status;
    char message[HAL_MESSAGE_BYTES];
};

static enum hal_status create_executable(struct hal_device *device, const char *source,
                                         struct hal_executable **out)
{
    const struct hal_entry_point scale = {"scale", {GROUP_THREADS, 1, 1}, 8, 1};
    const struct hal_executable_desc desc = {
        .label = "scale.metal",
        .format = HAL_FORMAT_MSL,
        .data = source,
        .bytes = strlen(source),
        .entry_points = &scale,
        .entry_point_count = 1,
    };
    return hal_executable_create(device, &desc, out);
}

static enum hal_status worker_init(struct worker *worker, struct hal_device *device,
                                   uint32_t number)
{
    const struct hal_buffer_desc desc = {.label = number ? "values 1" : "values 0",
                                         .bytes = BUFFER_BYTES};
    *worker = (struct worker){.device = device, .queues = 1u << number, .factor = 3 + number};
    HAL_TRY(hal_semaphore_create(device, number ? "rounds 1" : "rounds 0", 0, &worker->own));
    HAL_TRY(create_executable(device, kernel, &worker->executable));
    return hal_buffer_create(device, &desc, &worker->values);
}

static void worker_finish(struct worker *worker)
{
    hal_buffer_release(worker->values);
    hal_executable_release(worker->executable);
    hal_semaphore_release(worker->own);
}

static enum hal_status record_round(struct worker *worker, struct hal_command_buffer *commands)
{
    const struct hal_binding binding = {worker->values, 0, HAL_WHOLE_BUFFER};
    const uint32_t sizes[2] = {COUNT, worker->factor};
    const uint32_t groups[3] = {(COUNT + GROUP_THREADS - 1) / GROUP_THREADS, 1, 1};
    HAL_TRY(hal_command_push_constants(commands, 0, sizes, sizeof sizes));
    HAL_TRY(hal_command_push_descriptor_set(commands, 0, &binding, 1));
    HAL_TRY(hal_command_dispatch(commands, worker->executable, 0, groups));
    return hal_command_buffer_end(commands);
}

/* Scales once more; does not wait for the device. */
static enum hal_status run_round(struct worker *worker)
{
    const struct hal_semaphore_value waits[3] = {
        {worker->own, worker->rounds},
        {worker->other, worker->rounds},
        {worker->start, 1},
    };
    const struct hal_semaphore_value signal = {worker->own, worker->rounds + 1};
    struct hal_command_buffer *commands;
    const struct hal_command_buffer_desc desc = {.label = "round"};
    HAL_TRY(hal_command_buffer_create(worker->device, &desc, &commands));
    enum hal_status status = record_round(worker, commands);
    const struct hal_submit_desc submit = {
        .queues = worker->queues,
        .waits = waits,
        .wait_count = worker->other ? 3 : 1,
        .signals = &signal,
        .signal_count = 1,
        .commands = &commands,
        .command_count = 1,
    };
    if (status == HAL_OK)
        status = hal_queue_submit(worker->device, &submit);
    hal_command_buffer_release(commands);
    if (status == HAL_OK)
        worker->rounds++;
    return status;
}

/* Writes ones, scales `rounds` times, waits; checks the result if `look`. */
static enum hal_status scale_and_check(struct worker *worker, uint32_t rounds, bool look)
{
    uint32_t values[COUNT];
    for (int i = 0; i < COUNT; i++)
        values[i] = 1;
    HAL_TRY(hal_buffer_write(worker->values, 0, values, sizeof values));
    for (uint32_t round = 0; round < rounds; round++)
        HAL_TRY(run_round(worker));
    HAL_TRY(hal_semaphore_wait(worker->own, worker->rounds, HAL_FOREVER));
    if (!look)
        return HAL_OK;
    HAL_TRY(hal_buffer_read(worker->values, 0, values, sizeof values));
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t expected = 1;
        for (uint32_t round = 0; round < rounds; round++)
            expected = expected * worker->factor + i;
        if (values[i] != expected)
            return hal_fail(HAL_FAILED, "value %u is %u, not %u", i, values[i], expected);
    }
    return HAL_OK;
}

/* ---- What it can do ----------------------------------------------------------------------- */

static enum hal_status scale_alone(struct hal_device *device, bool look)
{
    struct worker worker;
    enum hal_status status = worker_init(&worker, device, 0);
    if (status == HAL_OK)
        status = scale_and_check(&worker, 3, look);
    worker_finish(&worker);
    return status;
}

static enum hal_status read_by_stdio(const char *path, uint32_t values[COUNT])
{
    FILE *file = fopen(path, "rb");
    const size_t count = file ? fread(values, sizeof *values, COUNT, file) : 0;
    if (file)
        fclose(file);
    return count == COUNT ? HAL_OK : hal_fail(HAL_IO, "'%s' has not %d numbers", path, COUNT);
}

static enum hal_status read_by_queue(struct worker *worker, const char *path)
{
    const struct hal_semaphore_value done = {worker->own, ++worker->rounds};
    const struct hal_submit_desc desc = {.signals = &done, .signal_count = 1};
    struct hal_file *file;
    HAL_TRY(hal_file_open(path, HAL_FILE_READ, &file));
    const enum hal_status status =
        hal_queue_read(worker->device, &desc, file, 0, worker->values, 0, BUFFER_BYTES);
    hal_file_release(file);
    return status;
}

static enum hal_status scale_file(struct hal_device *device, const char *path)
{
    struct worker worker = {0};
    uint32_t before[COUNT], after[COUNT] = {0};
    enum hal_status status = read_by_stdio(path, before);
    if (status == HAL_OK)
        status = worker_init(&worker, device, 0);
    if (status == HAL_OK)
        status = read_by_queue(&worker, path);
    if (status == HAL_OK)
        status = run_round(&worker);
    if (status == HAL_OK)
        status = hal_semaphore_wait(worker.own, worker.rounds, HAL_FOREVER);
    if (status == HAL_OK)
        status = hal_buffer_read(worker.values, 0, after, sizeof after);
    for (uint32_t i = 0; status == HAL_OK && i < COUNT; i++) {
        if (after[i] != before[i] * worker.factor + i)
            status = hal_fail(HAL_FAILED, "value %u is %u", i, after[i]);
    }
    worker_finish(&worker);
    return status;
}

static void *run_worker(void *argument)
{
    struct worker *worker = argument;
    worker->status = scale_and_check(worker, ROUNDS, true);
    if (worker->status == HAL_OK)
        return NULL;
    snprintf(worker->message, sizeof worker->message, "%s", hal_message());
    hal_semaphore_fail(worker->own, HAL_FAILED, worker->message); /* the other one waits for it */
    return NULL;
}

static enum hal_status run_workers(struct worker *workers, struct hal_semaphore *start)
{
    pthread_t threads[WORKERS];
    uint64_t value;
    for (int i = 0; i < WORKERS; i++) {
        if (pthread_create(&threads[i], NULL, run_worker, &workers[i]))
            return hal_fail(HAL_NO_MEMORY, "cannot start a thread");
    }
    enum hal_status status = hal_semaphore_signal(start, 1);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    if (status == HAL_OK)
        status = hal_semaphore_query(start, &value);
    for (int i = 0; status == HAL_OK && i < WORKERS; i++) {
        if (workers[i].status != HAL_OK)
            status = hal_fail(workers[i].status, "worker %d: %s", i, workers[i].message);
    }
    return status;
}

static enum hal_status scale_on_threads(struct hal_device *device)
{
    struct worker workers[WORKERS] = {0};
    struct hal_semaphore *start = NULL;
    enum hal_status status = hal_semaphore_create(device, "start", 0, &start);
    for (uint32_t i = 0; status == HAL_OK && i < WORKERS; i++)
        status = worker_init(&workers[i], device, i);
    for (int i = 0; i < WORKERS; i++) {
        workers[i].other = workers[WORKERS - 1 - i].own;
        workers[i].start = start;
    }
    if (status == HAL_OK)
        status = run_workers(workers, start);
    for (int i = 0; i < WORKERS; i++)
        worker_finish(&workers[i]);
    hal_semaphore_release(start);
    return status;
}

static enum hal_status capture_a_part(struct hal_device *device, const char *file)
{
    const struct hal_profiling_options options = {.file = file};
    struct worker worker;
    enum hal_status status = worker_init(&worker, device, 0);
    if (status == HAL_OK)
        status = scale_and_check(&worker, 2, true);
    if (status == HAL_OK)
        status = hal_device_profiling_begin(device, &options, HAL_FOREVER);
    if (status == HAL_OK)
        status = scale_and_check(&worker, 3, true);
    if (status == HAL_OK)
        status = hal_device_profiling_end(device);
    if (status == HAL_OK)
        status = scale_and_check(&worker, 4, true);
    worker_finish(&worker);
    return status;
}

static enum hal_status compile_bad_kernel(struct hal_device *device)
{
    struct hal_executable *executable = NULL;
    const enum hal_status status = create_executable(device, bad_kernel, &executable);
    hal_executable_release(executable);
    return status;
}

/* The worker is left to the end of the process, as by a program that returns at an error. */
static enum hal_status scale_and_forget(struct hal_device *device)
{
    static struct worker forgotten;
    HAL_TRY(worker_init(&forgotten, device, 0));
    return scale_and_check(&forgotten, 3, true);
}

static enum hal_status scale_with_long_kernel(struct hal_device *device)
{
    static char source[(2 << 20) + sizeof good_kernel];
    memset(source, '/', sizeof source);
    for (size_t i = 79; i < sizeof source; i += 80)
        source[i] = '\n';
    memcpy(source + sizeof source - sizeof good_kernel, good_kernel, sizeof good_kernel);
    source[sizeof source - sizeof good_kernel - 1] = '\n';
    kernel = source;
    return scale_alone(device, true);
}

static enum hal_status print_answer(struct hal_device *device, const char *key)
{
    int64_t value;
    HAL_TRY(hal_device_query(device, key, &value));
    printf("%s: %" PRId64 "\n", key, value);
    return HAL_OK;
}

static enum hal_status run(struct hal_device *device, const char *what, const char *file)
{
    if (strcmp(what, "read") == 0)
        return scale_alone(device, true);
    if (strcmp(what, "long-kernel") == 0)
        return scale_with_long_kernel(device);
    if (strcmp(what, "no-reads") == 0)
        return scale_alone(device, false);
    if (strcmp(what, "threads") == 0)
        return scale_on_threads(device);
    if (strcmp(what, "leave") == 0)
        return scale_and_forget(device);
    if (strcmp(what, "bad-kernel") == 0 || strcmp(what, "leave-bad") == 0)
        return compile_bad_kernel(device);
    if (strcmp(what, "api") == 0 && file)
        return capture_a_part(device, file);
    if (strcmp(what, "file") == 0 && file)
        return scale_file(device, file);
    if (strcmp(what, "query") == 0 && file)
        return print_answer(device, file);
    return hal_fail(HAL_INVALID, "'%s': unknown", what);
}

int main(int argc, char **argv)
{
    struct hal_device *device = NULL;
    const char *uri = argc > 1 && strcmp(argv[1], "threads") == 0 ? "cpu?queues=2" : NULL;
    setlocale(LC_ALL, "");
    enum hal_status status = hal_flags_parse(&argc, argv);
    if (status == HAL_OK && argc < 2)
        status = hal_fail(HAL_INVALID, "say what to do");
    if (status == HAL_OK)
        status = hal_device_open(uri, &device);
    if (status == HAL_OK)
        status = run(device, argv[1], argv[2]);
    if (status == HAL_OK)
        puts("e2e-app: all right");
    else
        fprintf(stderr, "e2e-app: %s\n", hal_message());
    if (argc > 1 && strncmp(argv[1], "leave", 5) == 0)
        return 3;
    hal_device_release(device);
    return status == HAL_OK ? 0 : 1;
}
