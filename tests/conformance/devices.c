/* SPDX-License-Identifier: Apache-2.0 */
/* Devices: opening, describing, several at once, and who may use what. These cases open devices of
 * their own beside the run's; where the run is captured, each of them leaves a trace of its own. */
#include "tests/conformance/suite.h"

#include <stdio.h>
#include <unistd.h>

/* ---- Opening -------------------------------------------------------------------------------- */

static void description_makes_sense(struct suite *suite, uint64_t unused)
{
    (void)unused;
    const struct hal_device_info *info = suite_info(suite);
    const uint64_t most = (uint64_t)info->max_workgroup_size[0] * info->max_workgroup_size[1] *
                          info->max_workgroup_size[2];
    check(suite, info->uri[0] && info->driver[0] && info->name[0]);
    check(suite, strncmp(info->uri, info->driver, strlen(info->driver)) == 0);
    check(suite, info->queue_count >= 1 && info->queue_count <= HAL_MAX_QUEUES);
    check(suite, info->simd_width >= 1 && (info->simd_width & (info->simd_width - 1)) == 0);
    check(suite, info->max_workgroup_threads >= 256 && info->max_workgroup_threads <= most);
    check(suite, info->max_workgroup_memory_bytes >= 16384);
    check(suite, info->max_buffer_bytes >= UINT64_C(1) << 27);
    check(suite, info->max_constant_bytes >= 128 && info->max_constant_bytes <= 4096);
    check_u64(suite, info->max_constant_bytes % 4, 0);
}

static void its_own_uri_opens_it(struct suite *suite, uint64_t unused)
{
    (void)unused;
    const struct hal_device_info *mine = suite_info(suite), *again;
    const char *parameters = strchr(mine->uri, '?');
    again = hal_device_get_info(suite_open(suite, parameters ? parameters + 1 : ""));
    check(suite, strcmp(mine->uri, again->uri) == 0);
    check_u64(suite, again->queue_count, mine->queue_count);
    check_u64(suite, again->worker_count, mine->worker_count);
    check_u64(suite, again->max_buffer_bytes, mine->max_buffer_bytes);
    check_u64(suite, again->max_constant_bytes, mine->max_constant_bytes);
}

/* A URI that is refused with a message that repeats what is wrong. */
static void refused(struct suite *suite, uint64_t which)
{
    static const struct {
        const char *uri;
        enum hal_status status;
        const char *says;
    } wrong[] = {
        {"nonsense", HAL_NOT_FOUND, "nonsense"},
        {"", HAL_NOT_FOUND, "driver"},
        {"CPU", HAL_NOT_FOUND, "CPU"},
        {"nonsense://3?queues=1", HAL_NOT_FOUND, "nonsense"},
        {"%s?nonsense=1", HAL_INVALID, "nonsense"},
        {"%s?queues", HAL_INVALID, "queues"},
        {"%s?queues=", HAL_INVALID, "queues"},
        {"%s?=3", HAL_INVALID, "=3"},
        {"%s?queues=2&queues=2", HAL_INVALID, "queues"},
        {"%s?queues=2&", HAL_INVALID, "name=value"},
        {"%s://no-such-path", HAL_NOT_FOUND, "no-such-path"},
    };
    char uri[128];
    struct hal_device *device;
    snprintf(uri, sizeof uri, wrong[which].uri, suite_info(suite)->driver);
    const enum hal_status status = hal_device_open(uri, &device);
    if (status == HAL_OK)
        hal_device_release(device);
    check_fails(suite, status, wrong[which].status, wrong[which].says);
}

static void cpu_parameters(struct suite *suite, uint64_t unused)
{
    (void)unused;
    static const char *const values[] = {"0", "-1", "65", "1x", "0x2", " 1", "1e1", "99999999999"};
    if (strcmp(suite_info(suite)->driver, "cpu") != 0)
        suite_skip(suite, "about the CPU driver's parameters");
    for (size_t i = 0; i < SUITE_COUNT(values); i++) {
        char uri[64];
        struct hal_device *device;
        snprintf(uri, sizeof uri, "cpu?queues=%s", values[i]);
        suite_note(suite, "%s", uri);
        check_fails(suite, hal_device_open(uri, &device), HAL_INVALID, values[i], "1 to 64");
    }
}

static void cpu_queues_and_threads(struct suite *suite, uint64_t unused)
{
    (void)unused;
    if (strcmp(suite_info(suite)->driver, "cpu") != 0)
        suite_skip(suite, "about the CPU driver's parameters");
    const struct hal_device_info *info =
        hal_device_get_info(suite_open(suite, "queues=64&threads=3"));
    check_u64(suite, info->queue_count, 64);
    check_u64(suite, info->worker_count, 3);
    check(suite, strstr(info->uri, "queues=64") && strstr(info->uri, "threads=3"));
}

/* ---- Queries -------------------------------------------------------------------------------- */

static void query(struct suite *suite, uint64_t unused)
{
    (void)unused;
    int64_t value = 0;
    struct hal_device *device = suite_device(suite);
    check_ok(suite, hal_device_query(device, "simd.width", &value));
    check_u64(suite, value, suite_info(suite)->simd_width);
    check_ok(suite, hal_device_query(device, "queue.count", &value));
    check_u64(suite, value, suite_info(suite)->queue_count);
}

static void query_the_unknown(struct suite *suite, uint64_t unused)
{
    (void)unused;
    int64_t value = 123;
    struct hal_device *device = suite_device(suite);
    check_fails(suite, hal_device_query(device, "answer.to.everything", &value), HAL_NOT_FOUND,
                "answer.to.everything");
    check_fails(suite, hal_device_query(device, "", &value), HAL_NOT_FOUND, "");
    check_fails(suite, hal_device_query(device, NULL, &value), HAL_INVALID, "key");
    check_fails(suite, hal_device_query(device, "simd.width", NULL), HAL_INVALID, "out-parameter");
    check_u64(suite, value, 123);
}

static void memory_in_use(struct suite *suite, uint64_t unused)
{
    (void)unused;
    int64_t before, with, after;
    struct hal_buffer *buffer;
    struct hal_device *device = suite_device(suite);
    const struct hal_buffer_desc desc = {.bytes = 50 << 20};
    const enum hal_status status = hal_device_query(device, "memory.used.bytes", &before);
    if (status == HAL_NOT_FOUND)
        suite_skip(suite, "the device does not know how much memory is in use");
    check_ok(suite, status);
    check_ok(suite, hal_buffer_create(device, &desc, &buffer));
    const enum hal_status then = hal_device_query(device, "memory.used.bytes", &with);
    hal_buffer_release(buffer);
    check_ok(suite, then);
    check_ok(suite, hal_device_query(device, "memory.used.bytes", &after));
    check(suite, with - before >= 50 << 20);
    check(suite, with - after >= 50 << 20);
}

/* ---- Several devices ------------------------------------------------------------------------ */

/* A fill on this device, through everything that it takes. */
static void fill_on(struct suite *suite, struct hal_device *device, struct hal_buffer *buffer,
                    struct hal_semaphore *done, uint8_t byte)
{
    struct hal_command_buffer *commands = suite_commands_of(suite, device, "fill", HAL_ONE_SHOT);
    check_ok(suite, hal_command_fill(commands, buffer, 0, HAL_WHOLE_BUFFER, byte, 1));
    check_ok(suite, hal_command_buffer_end(commands));
    const struct hal_submit_desc desc = {.signals = &(struct hal_semaphore_value){done, byte},
                                         .signal_count = 1,
                                         .commands = &commands,
                                         .command_count = 1};
    check_ok(suite, hal_queue_submit(device, &desc));
}

static void devices_work_side_by_side(struct suite *suite, uint64_t count)
{
    struct hal_device *devices[8];
    struct hal_buffer *buffers[8];
    struct hal_semaphore *done[8];
    uint8_t wanted[1000];
    const struct hal_buffer_desc desc = {.label = "own", .bytes = sizeof wanted};
    for (uint64_t i = 0; i < count; i++) {
        devices[i] = suite_open(suite, "");
        buffers[i] = suite_buffer_of(suite, devices[i], &desc);
        done[i] = suite_semaphore_of(suite, devices[i], "done", 0);
    }
    for (uint64_t i = 0; i < count; i++)
        fill_on(suite, devices[i], buffers[i], done[i], (uint8_t)(i + 10));
    for (uint64_t i = 0; i < count; i++) {
        suite_wait(suite, done[i], i + 10);
        memset(wanted, (int)i + 10, sizeof wanted);
        check_buffer(suite, buffers[i], 0, wanted, sizeof wanted);
    }
}

static void devices_come_and_go(struct suite *suite, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        struct hal_device *device;
        check_ok(suite, hal_device_open(suite_info(suite)->uri, &device));
        hal_device_retain(device);
        hal_device_release(device);
        const enum hal_status status = hal_device_wait_idle(device, SUITE_TIMEOUT_NS);
        hal_device_release(device);
        check_ok(suite, status);
    }
}

/* Objects of another device are refused, by name. */
static void strangers_in_commands(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_device *other = suite_open(suite, "");
    const struct hal_buffer_desc desc = {.label = "stranger", .bytes = 256};
    struct hal_buffer *stranger = suite_buffer_of(suite, other, &desc);
    struct hal_buffer *own = suite_buffer(suite, "own", 256);
    struct hal_command_buffer *here = suite_commands(suite, "here", HAL_ONE_SHOT);
    struct hal_command_buffer *there = suite_commands_of(suite, other, "there", HAL_ONE_SHOT);
    const struct hal_binding binding = {stranger, 0, 256};
    const struct hal_buffer_barrier barrier = {stranger, 0, 256, 0, 0};
    const struct hal_barrier_desc barriers = {.buffers = &barrier, .buffer_count = 1};
    check_fails(suite, hal_command_fill(here, stranger, 0, 4, 0, 4), HAL_INVALID, "stranger",
                "another device");
    check_fails(suite, hal_command_update(here, "1234", stranger, 0, 4), HAL_INVALID, "stranger");
    check_fails(suite, hal_command_copy(here, stranger, 0, own, 0, 4), HAL_INVALID, "stranger");
    check_fails(suite, hal_command_copy(here, own, 0, stranger, 0, 4), HAL_INVALID, "stranger");
    check_fails(suite, hal_command_barrier(here, &barriers), HAL_INVALID, "stranger");
    check_fails(suite, hal_command_push_descriptor_set(here, 0, &binding, 1), HAL_INVALID,
                "stranger", "binding 0");
    check_fails(suite,
                hal_command_dispatch(there, suite_kernels(suite), 0, (const uint32_t[3]){1, 1, 1}),
                HAL_INVALID, "kernels.metal", "another device");
}

static void strangers_in_submissions(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_device *other = suite_open(suite, "");
    struct hal_command_buffer *there = suite_commands_of(suite, other, "there", HAL_ONE_SHOT);
    check_ok(suite, hal_command_buffer_end(there));
    const struct hal_submit_desc wrong = {.commands = &there, .command_count = 1};
    check_fails(suite, hal_queue_submit(suite_device(suite), &wrong), HAL_INVALID, "there",
                "another device");
    check_ok(suite, hal_queue_submit(other, &wrong));
    check_ok(suite, hal_device_wait_idle(other, SUITE_TIMEOUT_NS));
}

/* ---- Lives ---------------------------------------------------------------------------------- */

/* Objects keep their device, whoever lets go of it first. */
static void objects_keep_their_device(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_device *device;
    struct hal_buffer *buffer = NULL;
    struct hal_semaphore *semaphore = NULL;
    uint32_t value = 0xBEEF;
    uint64_t reached = 0;
    const struct hal_buffer_desc desc = {.label = "survivor", .bytes = 4};
    check_ok(suite, hal_device_open(suite_info(suite)->uri, &device));
    enum hal_status status = hal_buffer_create(device, &desc, &buffer);
    if (status == HAL_OK)
        status = hal_semaphore_create(device, "survivor", 3, &semaphore);
    hal_device_release(device);
    if (status == HAL_OK)
        status = hal_buffer_write(buffer, 0, &value, 4);
    value = 0;
    if (status == HAL_OK)
        status = hal_buffer_read(buffer, 0, &value, 4);
    if (status == HAL_OK)
        status = hal_semaphore_signal(semaphore, 9);
    if (status == HAL_OK)
        status = hal_semaphore_query(semaphore, &reached);
    hal_buffer_release(buffer);
    hal_semaphore_release(semaphore);
    check_ok(suite, status);
    check_u64(suite, value, 0xBEEF);
    check_u64(suite, reached, 9);
}

/* The last release waits for what was submitted; nobody else needs to. */
static void release_waits_for_the_work(struct suite *suite, uint64_t unused)
{
    (void)unused;
    enum { WORDS = 64 * 200, STEPS = 2000 };
    uint32_t *words = suite_memory(suite, WORDS * 4), *wanted = suite_memory(suite, WORDS * 4);
    struct hal_device *device;
    struct hal_executable *executable = NULL;
    struct hal_command_buffer *commands = NULL;
    struct hal_buffer *x = NULL;
    const struct hal_buffer_desc desc = {.bytes = WORDS * 4};
    const uint32_t steps = STEPS, groups[3] = {WORDS / 64, 1, 1};
    check_ok(suite, hal_device_open(suite_info(suite)->uri, &device));
    enum hal_status status = hal_executable_create(device, suite_kernels_desc(), &executable);
    if (status == HAL_OK)
        status = hal_buffer_create(device, &desc, &x);
    if (status == HAL_OK)
        status = hal_buffer_write(x, 0, words, WORDS * 4);
    if (status == HAL_OK)
        status = hal_command_buffer_create(device, &(struct hal_command_buffer_desc){0}, &commands);
    if (status == HAL_OK)
        status =
            hal_command_push_descriptor_set(commands, 0, &(struct hal_binding){x, 0, WORDS * 4}, 1);
    if (status == HAL_OK)
        status = hal_command_push_constants(commands, 0, &steps, 4);
    if (status == HAL_OK)
        status = hal_command_dispatch(commands, executable, KERNEL_SPIN, groups);
    if (status == HAL_OK)
        status = hal_command_buffer_end(commands);
    const struct hal_submit_desc submit = {.commands = &commands, .command_count = 1};
    if (status == HAL_OK)
        status = hal_queue_submit(device, &submit);
    hal_executable_release(executable);
    hal_command_buffer_release(commands);
    hal_device_release(device);
    if (status == HAL_OK)
        status = hal_buffer_read(x, 0, words, WORDS * 4);
    hal_buffer_release(x);
    check_ok(suite, status);
    for (uint32_t i = 0; i < WORDS; i++) {
        for (uint32_t n = 0; n < STEPS; n++)
            wanted[i] = wanted[i] * 1664525 + 1013904223;
    }
    check_bytes(suite, words, wanted, WORDS * 4);
}

/* ---- Profiling ------------------------------------------------------------------------------ */

static void no_capture(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_device *device = suite_open(suite, "");
    const enum hal_status first = hal_device_profiling_end(device); /* the whole run's, perhaps */
    check(suite, first == HAL_OK || first == HAL_NOT_FOUND);
    check_fails(suite, hal_device_profiling_end(device), HAL_NOT_FOUND, "not being captured");
    check_fails(suite, hal_device_profiling_flush(device), HAL_NOT_FOUND, "not being captured");
}

static const struct suite_case cases[] = {
    {"description_makes_sense", description_makes_sense, 0},
    {"its_own_uri_opens_it", its_own_uri_opens_it, 0},
    {"no_such_driver", refused, 0},
    {"empty_uri", refused, 1},
    {"driver_in_capitals", refused, 2},
    {"path_of_no_driver", refused, 3},
    {"unknown_parameter", refused, 4},
    {"parameter_without_equals", refused, 5},
    {"parameter_without_value", refused, 6},
    {"parameter_without_name", refused, 7},
    {"parameter_given_twice", refused, 8},
    {"parameter_that_is_empty", refused, 9},
    {"no_such_path", refused, 10},
    {"cpu_parameters", cpu_parameters, 0},
    {"cpu_queues_and_threads", cpu_queues_and_threads, 0},
    {"query", query, 0},
    {"query_the_unknown", query_the_unknown, 0},
    {"memory_in_use", memory_in_use, 0},
    {"two_side_by_side", devices_work_side_by_side, 2},
    {"eight_side_by_side", devices_work_side_by_side, 8},
    {"devices_come_and_go", devices_come_and_go, 10},
    {"strangers_in_commands", strangers_in_commands, 0},
    {"strangers_in_submissions", strangers_in_submissions, 0},
    {"objects_keep_their_device", objects_keep_their_device, 0},
    {"release_waits_for_the_work", release_waits_for_the_work, 0},
    {"no_capture_to_end", no_capture, 0},
};

const struct suite_area area_devices = {"devices", cases, SUITE_COUNT(cases)};
