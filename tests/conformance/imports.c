/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the host as buffers, and buffers as memory of the host. */
#include "tests/conformance/suite.h"

#include <stdlib.h>

enum { BYTES = 70000 };

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

/* The device may want a larger alignment, if it says so. */
static void import_or_skip(struct suite *suite, const struct hal_buffer_desc *desc,
                           struct lent *lent, struct hal_buffer **out_buffer)
{
    static const char words[] = "must be a multiple of ";
    const enum hal_status status =
        hal_buffer_import(suite_device(suite), desc, lent->memory, give_back, lent, out_buffer);
    const char *told = status == HAL_INVALID ? strstr(hal_message(), words) : NULL;
    const unsigned long alignment = told ? strtoul(told + sizeof words - 1, NULL, 10) : 1;
    if (alignment && (uintptr_t)lent->memory % alignment)
        suite_skip(suite, "the device imports memory at larger multiples");
    check_ok(suite, status);
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
    struct suite_step step;
    struct hal_semaphore *line = suite_semaphore(suite, "line", 0);
    struct hal_buffer *target = suite_buffer(suite, "target", desc.bytes);
    uint8_t *model = suite_memory(suite, desc.bytes);
    suite_random_bytes(suite, model, desc.bytes);
    memcpy(lent.memory, model, desc.bytes);
    import_or_skip(suite, &desc, &lent, &buffer);
    check_ok(suite, hal_queue_copy(device, suite_step_to(&step, line, 1), buffer, 0, target, 0,
                                   desc.bytes));
    suite_wait(suite, line, 1);
    check_buffer(suite, target, 0, model, desc.bytes);
    memset(lent.memory + 100, 0xA1, 5000);
    memset(model + 100, 0xA1, 5000);
    check_ok(suite, hal_queue_copy(device, suite_step_to(&step, line, 2), buffer, 0, target, 0,
                                   desc.bytes));
    check_ok(suite,
             hal_queue_fill(device, suite_step_to(&step, line, 3), buffer, 20000, 300, 0x42, 1));
    suite_wait(suite, line, 3);
    check_buffer(suite, target, 0, model, desc.bytes);
    memset(model + 20000, 0x42, 300);
    check_bytes(suite, lent.memory, model, desc.bytes);
    check_buffer(suite, buffer, 0, model, desc.bytes);
    check_u64(suite, lent.released, 0);
    check_ok(suite, hal_device_wait_idle(device, SUITE_TIMEOUT_NS));
    hal_buffer_release(buffer);
    check_u64(suite, lent.released, 1);
}

/* Every kind of command on it; the offsets of commands count from where the memory begins. */
static void import_in_commands(struct suite *suite, uint64_t offset)
{
    enum { MEMORY_BYTES = 16384, COUNTS_AT = 1024, NUMBERS_AT = 8192, GROUPS = 3 };
    static const uint32_t counts[] = {GROUPS, 1, 1}, first = 1000;
    static const uint8_t odd[] = {1, 2, 3, 4, 5};
    suite_need_import(suite);
    struct lent *lent = suite_memory(suite, sizeof *lent); /* until the suite releases the buffer */
    uint8_t *memory = suite_memory(suite, MEMORY_BYTES + 128);
    lent->memory = memory + 64 - (uintptr_t)memory % 64 + offset;
    const struct hal_buffer_desc desc = {.label = "imported", .bytes = MEMORY_BYTES};
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    struct hal_buffer *buffer;
    uint8_t *model = suite_memory(suite, MEMORY_BYTES);
    suite_random_bytes(suite, model, MEMORY_BYTES);
    memcpy(lent->memory, model, MEMORY_BYTES);
    import_or_skip(suite, &desc, lent, &buffer);
    suite_own_buffer(suite, buffer);
    const struct hal_binding numbers = {buffer, NUMBERS_AT, HAL_WHOLE_BUFFER};
    const struct hal_buffer_barrier written = {.source_access = HAL_ACCESS_WRITE,
                                               .target_access = HAL_ACCESS_READ,
                                               .buffer = buffer,
                                               .offset = COUNTS_AT,
                                               .bytes = sizeof counts};
    check_ok(suite, hal_command_update(commands, odd, buffer, 3, sizeof odd));
    check_ok(suite, hal_command_fill(commands, buffer, 29, 70, 0x5A, 1));
    check_ok(suite, hal_command_update(commands, counts, buffer, COUNTS_AT, sizeof counts));
    check_ok(suite, hal_command_barrier(
                        commands, &(struct hal_barrier_desc){.source_stages = HAL_STAGE_TRANSFER,
                                                             .target_stages = HAL_STAGE_DISPATCH,
                                                             .buffers = &written,
                                                             .buffer_count = 1}));
    check_ok(suite, hal_command_push_descriptor_set(commands, 0, &numbers, 1));
    check_ok(suite, hal_command_push_constants(commands, 0, &first, sizeof first));
    check_ok(suite, hal_command_dispatch_indirect(commands, suite_kernels(suite), KERNEL_NUMBER,
                                                  buffer, COUNTS_AT));
    suite_run(suite, commands);
    memcpy(model + 3, odd, sizeof odd);
    memset(model + 29, 0x5A, 70);
    memcpy(model + COUNTS_AT, counts, sizeof counts);
    for (uint32_t i = 0; i < GROUPS * 64; i++)
        memcpy(model + NUMBERS_AT + i * 4, &(uint32_t){first + i}, 4);
    check_bytes(suite, lent->memory, model, MEMORY_BYTES);
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
    check_ok(suite, hal_device_wait_idle(device, SUITE_TIMEOUT_NS));
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
    struct hal_buffer *buffer = suite_coherent_buffer(suite, "exported", BYTES), *part;
    struct hal_semaphore *line = suite_semaphore(suite, "line", 0);
    struct suite_step step;
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
    check_ok(suite,
             hal_queue_fill(device, suite_step_to(&step, line, 1), buffer, 8, 1000, 0x66, 1));
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
    {"at_0", import, 0},
    {"at_16", import, 16},
    {"at_48", import, 48},
    {"in_commands_0", import_in_commands, 0},
    {"in_commands_16", import_in_commands, 16},
    {"waits_for_work", import_waits_for_work, 0},
    {"wrongly", import_wrongly, 0},
    {"export", export, 0},
};

const struct suite_area area_imports = {"imports", cases, SUITE_COUNT(cases)};
