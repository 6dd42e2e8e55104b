/* SPDX-License-Identifier: Apache-2.0 */
/* Files in queue order. What a file holds is checked with plain reads and writes. */
#include "tests/conformance/suite.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BYTES = 70000 };

/* A file in a folder of its own. */
struct place {
    const char *folder, *path;
};

static void make_folder(struct suite *suite, struct place *place)
{
    place->folder = suite_folder(suite);
    place->path = suite_path(suite, place->folder, "data");
}

static void put_file(struct suite *suite, const struct place *place, const void *data, size_t bytes)
{
    FILE *file = fopen(place->path, "wb");
    check(suite, file && fwrite(data, 1, bytes, file) == bytes && fclose(file) == 0);
}

static void check_file(struct suite *suite, const struct place *place, const void *wanted,
                       size_t bytes)
{
    uint8_t *got = suite_memory(suite, bytes + 1);
    FILE *file = fopen(place->path, "rb");
    check(suite, file != NULL);
    check_u64(suite, fread(got, 1, bytes + 1, file), bytes);
    fclose(file);
    check_bytes(suite, got, wanted, bytes);
}

/* From a file and back into it, at any alignment of both. */
static void round_trip(struct suite *suite, uint64_t alignment)
{
    struct hal_device *device = suite_device(suite);
    struct place place;
    struct suite_step step;
    uint8_t *model = suite_memory(suite, BYTES);
    struct hal_buffer *buffer = suite_buffer(suite, "of file", BYTES);
    struct hal_semaphore *line = suite_semaphore(suite, "line", 0);
    make_folder(suite, &place);
    suite_random_bytes(suite, model, BYTES);
    put_file(suite, &place, model, BYTES);
    suite_clear(suite, buffer, 0);
    struct hal_file *file = suite_file(suite, place.path, HAL_FILE_READ | HAL_FILE_WRITE);
    check_ok(suite, hal_queue_read(device, suite_step_to(&step, line, 1), file, 100, buffer,
                                   alignment, 50000));
    check_ok(suite, hal_queue_fill(device, suite_step_to(&step, line, 2), buffer, alignment + 64,
                                   16, 0xEE, 1));
    check_ok(suite, hal_queue_write(device, suite_step_to(&step, line, 3), buffer, alignment, file,
                                    1000 + alignment, 50000));
    suite_wait(suite, line, 3);
    uint8_t *moved = suite_memory(suite, 50000);
    memcpy(moved, model + 100, 50000);
    memset(moved + 64, 0xEE, 16);
    check_buffer(suite, buffer, alignment, moved, 50000);
    memcpy(model + 1000 + alignment, moved, 50000);
    check_file(suite, &place, model, BYTES);
}

/* What one submission wrote, the next one reads: the file is in the queue's order. */
static void through_the_file(struct suite *suite, uint64_t argument)
{
    struct hal_device *device = suite_device(suite);
    struct place place;
    struct suite_step step;
    struct hal_buffer *source = suite_buffer(suite, "source", 4096);
    struct hal_buffer *target = suite_buffer(suite, "target", 4096);
    struct hal_semaphore *line = suite_semaphore(suite, "line", 0);
    uint8_t model[4096];
    uint64_t bytes;
    (void)argument;
    make_folder(suite, &place);
    struct hal_file *file =
        suite_file(suite, place.path, HAL_FILE_READ | HAL_FILE_WRITE | HAL_FILE_CREATE);
    for (uint32_t i = 0; i < 16; i++) {
        check_ok(suite, hal_queue_fill(device, suite_step_to(&step, line, 3 * i + 1), source, 0,
                                       256, i + 1, 1));
        check_ok(suite, hal_queue_write(device, suite_step_to(&step, line, 3 * i + 2), source, 0,
                                        file, 256 * i, 256));
        check_ok(suite, hal_queue_read(device, suite_step_to(&step, line, 3 * i + 3), file, 256 * i,
                                       target, 4096 - 256 * (i + 1), 256));
        memset(model + 4096 - 256 * (i + 1), (int)i + 1, 256);
    }
    suite_wait(suite, line, 48);
    check_buffer(suite, target, 0, model, sizeof model);
    check_ok(suite, hal_file_bytes(file, &bytes));
    check_u64(suite, bytes, 4096);
}

/* Memory that the host does not see, and transient memory. */
static void other_memory(struct suite *suite, uint64_t transient)
{
    struct hal_device *device = suite_device(suite);
    struct place place;
    struct suite_step step;
    struct hal_buffer *buffer;
    struct hal_buffer *target = suite_buffer(suite, "target", BYTES);
    struct hal_semaphore *line = suite_semaphore(suite, "line", 0);
    uint8_t *model = suite_memory(suite, BYTES);
    const struct hal_buffer_desc desc = {
        .label = "private", .bytes = BYTES, .memory = HAL_MEMORY_DEVICE_LOCAL};
    make_folder(suite, &place);
    suite_random_bytes(suite, model, BYTES);
    put_file(suite, &place, model, BYTES);
    struct hal_file *file = suite_file(suite, place.path, HAL_FILE_READ);
    if (transient)
        check_ok(suite, hal_queue_alloca(device, suite_step_to(&step, line, 1), &desc, &buffer));
    else
        check_ok(suite, hal_buffer_create(device, &desc, &buffer));
    if (!transient)
        check_ok(suite, hal_queue_barrier(device, suite_step_to(&step, line, 1)));
    suite_own_buffer(suite, buffer);
    check_ok(suite, hal_queue_read(device, suite_step_to(&step, line, 2), file, 0, buffer, 0,
                                   HAL_WHOLE_BUFFER));
    check_ok(suite,
             hal_queue_copy(device, suite_step_to(&step, line, 3), buffer, 0, target, 0, BYTES));
    if (transient)
        check_ok(suite, hal_queue_dealloca(device, suite_step_to(&step, line, 4), buffer));
    suite_wait(suite, line, transient ? 4 : 3);
    check_buffer(suite, target, 0, model, BYTES);
}

/* Many at once, without any order, from several threads of the device. */
static void many_transfers(struct suite *suite, uint64_t argument)
{
    enum { COUNT = 64, EACH = 1000 };
    struct hal_device *device = suite_device(suite);
    struct place place;
    uint8_t *model = suite_memory(suite, COUNT * EACH);
    struct hal_buffer *buffer = suite_buffer(suite, "of file", COUNT * EACH);
    (void)argument;
    make_folder(suite, &place);
    suite_random_bytes(suite, model, COUNT * EACH);
    put_file(suite, &place, model, COUNT * EACH);
    struct hal_file *file = suite_file(suite, place.path, HAL_FILE_READ);
    for (uint32_t i = 0; i < COUNT; i++)
        check_ok(suite, hal_queue_read(device, NULL, file, i * EACH, buffer, i * EACH, EACH));
    check_ok(suite, hal_device_wait_idle(device, SUITE_TIMEOUT_NS));
    check_buffer(suite, buffer, 0, model, COUNT * EACH);
}

/* A failing transfer fails its signals, with the path and the numbers. */
static void file_ends_early(struct suite *suite, uint64_t argument)
{
    struct hal_device *device = suite_device(suite);
    struct place place;
    struct suite_step step;
    struct hal_buffer *buffer = suite_buffer(suite, "of file", 4096);
    struct hal_semaphore *line = suite_semaphore(suite, "line", 0);
    (void)argument;
    make_folder(suite, &place);
    put_file(suite, &place, "0123456789", 10);
    struct hal_file *file = suite_file(suite, place.path, HAL_FILE_READ);
    check_ok(suite, hal_queue_read(device, suite_step_to(&step, line, 1), file, 4, buffer, 0, 7));
    check_fails(suite, hal_semaphore_wait(line, 1, SUITE_TIMEOUT_NS), HAL_IO, place.path, "10",
                "7 bytes");
}

static void failed_wait_leaves_the_file(struct suite *suite, uint64_t argument)
{
    struct hal_device *device = suite_device(suite);
    struct place place;
    struct hal_buffer *buffer = suite_buffer(suite, "of file", 64);
    struct hal_semaphore *gate = suite_semaphore(suite, "gate", 0);
    struct hal_semaphore *done = suite_semaphore(suite, "done", 0);
    const struct hal_semaphore_value wait = {gate, 1}, signal = {done, 1};
    (void)argument;
    make_folder(suite, &place);
    put_file(suite, &place, "untouched", 9);
    suite_clear(suite, buffer, 1);
    struct hal_file *file = suite_file(suite, place.path, HAL_FILE_WRITE);
    check_ok(suite, hal_queue_write(
                        device,
                        &(struct hal_submit_desc){
                            .waits = &wait, .wait_count = 1, .signals = &signal, .signal_count = 1},
                        buffer, 0, file, 0, 64));
    hal_semaphore_fail(gate, HAL_FAILED, "gate");
    check_fails(suite, hal_semaphore_wait(done, 1, SUITE_TIMEOUT_NS), HAL_FAILED, "gate");
    check_ok(suite, hal_device_wait_idle(device, SUITE_TIMEOUT_NS));
    check_file(suite, &place, "untouched", 9);
}

static void wrong_arguments(struct suite *suite, uint64_t argument)
{
    struct hal_device *device = suite_device(suite);
    struct place place;
    struct hal_file *none;
    struct hal_buffer *buffer = suite_buffer(suite, "small", 64);
    (void)argument;
    make_folder(suite, &place);
    check_fails(suite, hal_file_open(place.path, HAL_FILE_READ, &none), HAL_NOT_FOUND, place.path);
    check_fails(suite, hal_file_open(place.folder, HAL_FILE_READ, &none), HAL_UNSUPPORTED,
                place.folder);
    check_fails(suite, hal_file_open("", HAL_FILE_READ, &none), HAL_INVALID, "path");
    check_fails(suite, hal_file_open(place.path, 0, &none), HAL_INVALID, "mode");
    check_fails(suite, hal_file_open(place.path, HAL_FILE_READ | HAL_FILE_CREATE, &none),
                HAL_INVALID, "without writing");
    put_file(suite, &place, "12345678", 8);
    struct hal_file *file = suite_file(suite, place.path, HAL_FILE_READ);
    check_fails(suite, hal_queue_write(device, NULL, buffer, 0, file, 0, 8), HAL_INVALID,
                place.path, "writing");
    check_fails(suite, hal_queue_read(device, NULL, file, 0, buffer, 60, 5), HAL_INVALID, "'small'",
                "64", "60 + 5");
    check_fails(suite, hal_queue_read(device, NULL, NULL, 0, buffer, 0, 5), HAL_INVALID, "NULL");
    check_fails(suite, hal_queue_read(device, NULL, file, INT64_MAX, buffer, 0, 5), HAL_INVALID,
                "2^63");
}

static void flush(struct suite *suite, uint64_t argument)
{
    struct hal_device *device = suite_device(suite);
    struct hal_buffer *buffer = suite_buffer(suite, "flushed", 64);
    uint8_t model[64];
    (void)argument;
    check_ok(suite, hal_queue_flush(device, 0));
    check_ok(suite, hal_queue_fill(device, NULL, buffer, 0, 64, 4, 1));
    check_ok(suite, hal_queue_flush(device, 1));
    check_ok(suite, hal_device_wait_idle(device, SUITE_TIMEOUT_NS));
    memset(model, 4, sizeof model);
    check_buffer(suite, buffer, 0, model, sizeof model);
    if (suite_info(suite)->queue_count < HAL_MAX_QUEUES)
        check_fails(suite, hal_queue_flush(device, UINT64_MAX), HAL_INVALID, "queues");
}

/* Made where it is not there, emptied where that is asked for, refused where neither is. */
static void modes(struct suite *suite, uint64_t argument)
{
    (void)argument;
    struct place place;
    struct hal_file *file = NULL;
    uint64_t bytes = 7;
    make_folder(suite, &place);
    check_fails(suite, hal_file_open(place.path, HAL_FILE_READ, &file), HAL_NOT_FOUND, place.path);
    file = suite_file(suite, place.path, HAL_FILE_WRITE | HAL_FILE_CREATE);
    check_ok(suite, hal_file_bytes(file, &bytes));
    check_u64(suite, bytes, 0);
    put_file(suite, &place, "12345", 5);
    check_ok(suite, hal_file_bytes(file, &bytes));
    check_u64(suite, bytes, 5);
    file = suite_file(suite, place.path, HAL_FILE_WRITE | HAL_FILE_CREATE);
    check_file(suite, &place, "12345", 5);
    file = suite_file(suite, place.path, HAL_FILE_WRITE | HAL_FILE_TRUNCATE);
    check_file(suite, &place, "", 0);
}

/* Work in flight keeps it open, and so does a reference. */
static void kept_by_its_users(struct suite *suite, uint64_t argument)
{
    (void)argument;
    struct hal_device *device = suite_device(suite);
    struct place place;
    struct hal_file *file = NULL;
    uint64_t bytes = 0;
    struct hal_buffer *buffer = suite_buffer(suite, "of file", 16);
    struct hal_semaphore *go = suite_semaphore(suite, "go", 0);
    struct hal_semaphore *done = suite_semaphore(suite, "done", 0);
    const struct hal_semaphore_value wait = {go, 1}, signal = {done, 1};
    const struct hal_submit_desc desc = {
        .waits = &wait, .wait_count = 1, .signals = &signal, .signal_count = 1};
    make_folder(suite, &place);
    put_file(suite, &place, "0123456789abcdef", 16);
    suite_clear(suite, buffer, 0);
    check_ok(suite, hal_file_open(place.path, HAL_FILE_READ, &file));
    hal_file_retain(file);
    hal_file_release(file);
    const enum hal_status known = hal_file_bytes(file, &bytes);
    const enum hal_status submitted = hal_queue_read(device, &desc, file, 4, buffer, 0, 12);
    hal_file_release(file);
    hal_file_retain(NULL);
    hal_file_release(NULL);
    check_ok(suite, known);
    check_u64(suite, bytes, 16);
    check_ok(suite, submitted);
    check_ok(suite, hal_semaphore_signal(go, 1));
    suite_wait(suite, done, 1);
    check_buffer(suite, buffer, 0, "456789abcdef\0\0\0\0", 16);
}

static const struct suite_case cases[] = {
    {"round_trip_0", round_trip, 0},
    {"round_trip_1", round_trip, 1},
    {"round_trip_15", round_trip, 15},
    {"round_trip_4096", round_trip, 4096},
    {"through_the_file", through_the_file, 0},
    {"private_memory", other_memory, 0},
    {"transient_memory", other_memory, 1},
    {"many_transfers", many_transfers, 0},
    {"file_ends_early", file_ends_early, 0},
    {"failed_wait_leaves_the_file", failed_wait_leaves_the_file, 0},
    {"modes", modes, 0},
    {"kept_by_its_users", kept_by_its_users, 0},
    {"wrong_arguments", wrong_arguments, 0},
    {"flush", flush, 0},
};

const struct suite_area area_files = {"files", cases, SUITE_COUNT(cases)};
