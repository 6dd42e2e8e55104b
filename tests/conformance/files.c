/* SPDX-License-Identifier: Apache-2.0 */
/* Files in queue order, and host memory as buffers. What a file holds is checked with plain reads
 * and writes. */
#include "tests/conformance/suite.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
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

/* Signals `value` of the semaphore, waits for the value before. */
struct step {
    struct hal_semaphore_value wait, signal;
    struct hal_submit_desc desc;
};

static const struct hal_submit_desc *step_to(struct step *step, struct hal_semaphore *semaphore,
                                             uint64_t value)
{
    step->wait = (struct hal_semaphore_value){semaphore, value - 1};
    step->signal = (struct hal_semaphore_value){semaphore, value};
    step->desc = (struct hal_submit_desc){
        .waits = &step->wait, .wait_count = value > 1, .signals = &step->signal, .signal_count = 1};
    return &step->desc;
}

/* From a file and back into it, at any alignment of both. */
static void round_trip(struct suite *suite, uint64_t alignment)
{
    struct hal_device *device = suite_device(suite);
    struct place place;
    struct step step;
    uint8_t *model = suite_memory(suite, BYTES);
    struct hal_buffer *buffer = suite_buffer(suite, "of file", BYTES);
    struct hal_semaphore *line = suite_semaphore(suite, "line", 0);
    make_folder(suite, &place);
    suite_random_bytes(suite, model, BYTES);
    put_file(suite, &place, model, BYTES);
    suite_clear(suite, buffer, 0);
    struct hal_file *file = suite_file(suite, place.path, HAL_FILE_READ | HAL_FILE_WRITE);
    check_ok(suite,
             hal_queue_read(device, step_to(&step, line, 1), file, 100, buffer, alignment, 50000));
    check_ok(suite,
             hal_queue_fill(device, step_to(&step, line, 2), buffer, alignment + 64, 16, 0xEE, 1));
    check_ok(suite, hal_queue_write(device, step_to(&step, line, 3), buffer, alignment, file,
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
    struct step step;
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
        check_ok(suite,
                 hal_queue_fill(device, step_to(&step, line, 3 * i + 1), source, 0, 256, i + 1, 1));
        check_ok(suite, hal_queue_write(device, step_to(&step, line, 3 * i + 2), source, 0, file,
                                        256 * i, 256));
        check_ok(suite, hal_queue_read(device, step_to(&step, line, 3 * i + 3), file, 256 * i,
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
    struct step step;
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
        check_ok(suite, hal_queue_alloca(device, step_to(&step, line, 1), &desc, &buffer));
    else
        check_ok(suite, hal_buffer_create(device, &desc, &buffer));
    if (!transient)
        check_ok(suite, hal_queue_barrier(device, step_to(&step, line, 1)));
    suite_own_buffer(suite, buffer);
    check_ok(suite,
             hal_queue_read(device, step_to(&step, line, 2), file, 0, buffer, 0, HAL_WHOLE_BUFFER));
    check_ok(suite, hal_queue_copy(device, step_to(&step, line, 3), buffer, 0, target, 0, BYTES));
    if (transient)
        check_ok(suite, hal_queue_dealloca(device, step_to(&step, line, 4), buffer));
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
    check_ok(suite, hal_device_wait_idle(device, SUITE_PATIENCE_NS));
    check_buffer(suite, buffer, 0, model, COUNT * EACH);
}

/* A failing transfer fails its signals, with the path and the numbers. */
static void file_ends_early(struct suite *suite, uint64_t argument)
{
    struct hal_device *device = suite_device(suite);
    struct place place;
    struct step step;
    struct hal_buffer *buffer = suite_buffer(suite, "of file", 4096);
    struct hal_semaphore *line = suite_semaphore(suite, "line", 0);
    (void)argument;
    make_folder(suite, &place);
    put_file(suite, &place, "0123456789", 10);
    struct hal_file *file = suite_file(suite, place.path, HAL_FILE_READ);
    check_ok(suite, hal_queue_read(device, step_to(&step, line, 1), file, 4, buffer, 0, 7));
    check_fails(suite, hal_semaphore_wait(line, 1, SUITE_PATIENCE_NS), HAL_IO, place.path, "10",
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
    check_fails(suite, hal_semaphore_wait(done, 1, SUITE_PATIENCE_NS), HAL_FAILED, "gate");
    check_ok(suite, hal_device_wait_idle(device, SUITE_PATIENCE_NS));
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
    check_ok(suite, hal_device_wait_idle(device, SUITE_PATIENCE_NS));
    memset(model, 4, sizeof model);
    check_buffer(suite, buffer, 0, model, sizeof model);
    if (suite_info(suite)->queue_count < HAL_MAX_QUEUES)
        check_fails(suite, hal_queue_flush(device, UINT64_MAX), HAL_INVALID, "queues");
}

/* ---- Import and export ---------------------------------------------------------------------- */

struct lent {
    uint8_t *memory;
    _Atomic uint32_t released;
};

static void give_back(void *user, void *pointer)
{
    struct lent *lent = user;
    if (pointer == lent->memory)
        lent->released++;
}

/* Host and device take turns in the host's own memory. */
static void import(struct suite *suite, uint64_t offset)
{
    suite_need_import(suite);
    struct hal_device *device = suite_device(suite);
    struct lent lent = {.memory = (uint8_t *)suite_memory(suite, BYTES + 64)};
    lent.memory += 64 - (uintptr_t)lent.memory % 64 + offset;
    struct hal_buffer *buffer;
    const struct hal_buffer_desc desc = {.label = "imported", .bytes = BYTES / 4 * 2};
    struct step step;
    struct hal_semaphore *line = suite_semaphore(suite, "line", 0);
    struct hal_buffer *target = suite_buffer(suite, "target", desc.bytes);
    uint8_t *model = suite_memory(suite, desc.bytes);
    suite_random_bytes(suite, model, desc.bytes);
    memcpy(lent.memory, model, desc.bytes);
    check_ok(suite, hal_buffer_import(device, &desc, lent.memory, give_back, &lent, &buffer));
    check_ok(suite,
             hal_queue_copy(device, step_to(&step, line, 1), buffer, 0, target, 0, desc.bytes));
    suite_wait(suite, line, 1);
    check_buffer(suite, target, 0, model, desc.bytes);
    memset(lent.memory + 100, 0xA1, 5000);
    memset(model + 100, 0xA1, 5000);
    check_ok(suite,
             hal_queue_copy(device, step_to(&step, line, 2), buffer, 0, target, 0, desc.bytes));
    check_ok(suite, hal_queue_fill(device, step_to(&step, line, 3), buffer, 20000, 300, 0x42, 1));
    suite_wait(suite, line, 3);
    check_buffer(suite, target, 0, model, desc.bytes);
    memset(model + 20000, 0x42, 300);
    check_bytes(suite, lent.memory, model, desc.bytes);
    check_buffer(suite, buffer, 0, model, desc.bytes);
    check_u64(suite, lent.released, 0);
    check_ok(suite, hal_device_wait_idle(device, SUITE_PATIENCE_NS));
    hal_buffer_release(buffer);
    check_u64(suite, lent.released, 1);
}

static void import_waits_for_work(struct suite *suite, uint64_t argument)
{
    suite_need_import(suite);
    struct hal_device *device = suite_device(suite);
    static _Alignas(64) uint8_t memory[4096];
    struct lent lent = {.memory = memory};
    struct hal_semaphore *gate = suite_semaphore(suite, "gate", 0);
    const struct hal_semaphore_value wait = {gate, 1};
    struct hal_buffer *buffer;
    (void)argument;
    memset(lent.memory, 0, 4096);
    check_ok(suite,
             hal_buffer_import(device, &(struct hal_buffer_desc){.label = "lent", .bytes = 4096},
                               lent.memory, give_back, &lent, &buffer));
    check_ok(suite,
             hal_queue_fill(device, &(struct hal_submit_desc){.waits = &wait, .wait_count = 1},
                            buffer, 0, 4096, 3, 1));
    hal_buffer_release(buffer);
    check_u64(suite, lent.released, 0);
    check_ok(suite, hal_semaphore_signal(gate, 1));
    check_ok(suite, hal_device_wait_idle(device, SUITE_PATIENCE_NS));
    check_u64(suite, lent.released, 1);
    check_u64(suite, lent.memory[4095], 3);
}

static void import_wrongly(struct suite *suite, uint64_t argument)
{
    suite_need_import(suite);
    struct hal_device *device = suite_device(suite);
    struct lent lent = {0};
    struct hal_buffer *buffer = NULL;
    uint8_t *memory = suite_memory(suite, 256);
    const struct hal_buffer_desc desc = {.label = "wrong", .bytes = 64};
    const struct hal_buffer_desc private = {
        .label = "private", .bytes = 64, .memory = HAL_MEMORY_DEVICE_LOCAL};
    (void)argument;
    check_fails(suite, hal_buffer_import(device, &desc, NULL, give_back, &lent, &buffer),
                HAL_INVALID, "'wrong'", "NULL");
    check_fails(suite, hal_buffer_import(device, &desc, memory + 1, give_back, &lent, &buffer),
                HAL_INVALID, "'wrong'", "multiple of");
    check_fails(suite, hal_buffer_import(device, &private, memory, give_back, &lent, &buffer),
                HAL_INVALID, "'private'", "visible");
    check_fails(suite, hal_buffer_import(device, NULL, memory, give_back, &lent, &buffer),
                HAL_INVALID, "description");
    check_u64(suite, lent.released, 0);
    check(suite, buffer == NULL);
}

static void export(struct suite *suite, uint64_t argument)
{
    struct hal_device *device = suite_device(suite);
    struct hal_buffer *buffer = suite_buffer(suite, "exported", BYTES), *part;
    struct hal_semaphore *line = suite_semaphore(suite, "line", 0);
    struct step step;
    void *pointer, *again, *inside;
    uint8_t *model = suite_memory(suite, BYTES);
    (void)argument;
    suite_random_bytes(suite, model, BYTES);
    check_ok(suite, hal_buffer_export(buffer, &pointer));
    memcpy(pointer, model, BYTES);
    check_ok(suite, hal_buffer_export(buffer, &again));
    check(suite, pointer == again);
    check_ok(suite, hal_buffer_subspan(buffer, 77, 100, "part", &part));
    suite_own_buffer(suite, part);
    check_ok(suite, hal_buffer_export(part, &inside));
    check(suite, (uint8_t *)inside == (uint8_t *)pointer + 77);
    check_ok(suite, hal_queue_fill(device, step_to(&step, line, 1), buffer, 8, 1000, 0x66, 1));
    suite_wait(suite, line, 1);
    memset(model + 8, 0x66, 1000);
    check_bytes(suite, pointer, model, BYTES);
    struct hal_buffer *hidden =
        suite_buffer_of(suite, device,
                        &(struct hal_buffer_desc){
                            .label = "hidden", .bytes = 64, .memory = HAL_MEMORY_DEVICE_LOCAL});
    check_fails(suite, hal_buffer_export(hidden, &pointer), HAL_INVALID, "'hidden'", "mapping");
    check_fails(suite, hal_buffer_export(buffer, NULL), HAL_INVALID, "place");
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
    {"wrong_arguments", wrong_arguments, 0},
    {"flush", flush, 0},
    {"import_0", import, 0},
    {"import_16", import, 16},
    {"import_48", import, 48},
    {"import_waits_for_work", import_waits_for_work, 0},
    {"import_wrongly", import_wrongly, 0},
    {"export", export, 0},
};

const struct suite_area area_files = {"files", cases, SUITE_COUNT(cases)};
