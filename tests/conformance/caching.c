/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of freed buffers, `caching=` of a device. What is kept, and for whom, is worked out
 * here from sizes and the order of calls; contents are compared with plain memory. */
#include "tests/conformance/suite.h"

#include <stdio.h>

enum { KIB = 1 << 10, MIB = 1 << 20 };

/* Not suite_buffer_of: these go before the case ends. */
static struct hal_buffer *create(struct suite *suite, struct hal_device *device,
                                 const struct hal_buffer_desc *desc)
{
    struct hal_buffer *buffer;
    check_ok(suite, hal_buffer_create(device, desc, &buffer));
    return buffer;
}

static struct hal_buffer *create_bytes(struct suite *suite, struct hal_device *device,
                                       uint64_t bytes)
{
    return create(suite, device, &(struct hal_buffer_desc){.label = "cached", .bytes = bytes});
}

static void create_and_release(struct suite *suite, struct hal_device *device, uint64_t bytes)
{
    hal_buffer_release(create_bytes(suite, device, bytes));
}

/* Once what is in flight has let go. */
static void check_kept(struct suite *suite, struct hal_device *device, uint64_t bytes,
                       uint64_t count, uint64_t reused)
{
    struct hal_memory_statistics now = {0};
    check_ok(suite, hal_device_wait_idle(device, SUITE_TIMEOUT_NS));
    check_ok(suite, hal_device_memory_statistics(device, &now));
    check_u64(suite, now.cached_bytes, bytes);
    check_u64(suite, now.cached_count, count);
    check_u64(suite, now.reused_count, reused);
}

static void is_reused(struct suite *suite, uint64_t bytes)
{
    struct hal_device *device = suite_open(suite, "caching=4M");
    struct hal_memory_statistics now = {0};
    create_and_release(suite, device, bytes);
    check_kept(suite, device, bytes, 1, 0);
    struct hal_buffer *buffer = create_bytes(suite, device, bytes);
    check_kept(suite, device, 0, 0, 1);
    check_ok(suite, hal_device_memory_statistics(device, &now));
    check_u64(suite, now.total.current_bytes, bytes);
    check_u64(suite, now.total.current_count, 1);
    check_u64(suite, now.total.peak_bytes, bytes);
    check_u64(suite, now.total.total_count, 2);
    hal_buffer_release(buffer);
    check_kept(suite, device, bytes, 1, 1);
}

/* What differs in size, memory type or usage is another buffer. */
static void must_be_the_same(struct suite *suite, uint64_t argument)
{
    static const struct hal_buffer_desc first = {.bytes = 256 * KIB,
                                                 .memory = HAL_MEMORY_DEVICE_LOCAL |
                                                           HAL_MEMORY_HOST_VISIBLE,
                                                 .usage = HAL_USAGE_TRANSFER | HAL_USAGE_DISPATCH};
    struct hal_device *device = suite_open(suite, "caching=4M");
    struct hal_buffer_desc other = first;
    if (argument == 0)
        other.bytes--;
    else if (argument == 1)
        other.bytes++;
    else if (argument == 2)
        other.memory = HAL_MEMORY_DEVICE_LOCAL;
    else if (argument == 3)
        other.memory |= HAL_MEMORY_HOST_CACHED;
    else
        other.usage |= HAL_USAGE_MAPPING;
    hal_buffer_release(create(suite, device, &first));
    hal_buffer_release(create(suite, device, &other));
    check_kept(suite, device, first.bytes + other.bytes, 2, 0);
    hal_buffer_release(create(suite, device, &first));
    hal_buffer_release(create(suite, device, &other));
    check_kept(suite, device, first.bytes + other.bytes, 2, 2);
}

/* The defaults, spelled out, are the same. */
static void defaults_are_the_same(struct suite *suite, uint64_t argument)
{
    static const struct hal_buffer_desc spelled_out = {
        .bytes = MIB,
        .memory = HAL_MEMORY_DEVICE_LOCAL | HAL_MEMORY_HOST_VISIBLE | HAL_MEMORY_HOST_COHERENT,
        .usage = HAL_USAGE_TRANSFER | HAL_USAGE_DISPATCH | HAL_USAGE_MAPPING};
    struct hal_device *device = suite_open(suite, "caching=4M");
    (void)argument;
    create_and_release(suite, device, MIB);
    hal_buffer_release(create(suite, device, &spelled_out));
    check_kept(suite, device, MIB, 1, 1);
}

/* The message of a failing call names an object without label by its id. */
static void message_of(struct suite *suite, struct hal_buffer *buffer, char *out, size_t bytes)
{
    check_fails(suite, hal_buffer_read(buffer, 999, out, 9), HAL_INVALID, "buffer ");
    snprintf(out, bytes, "%s", hal_message());
}

static void is_another_object(struct suite *suite, uint64_t argument)
{
    static const struct hal_buffer_desc desc = {.bytes = 1000};
    struct hal_device *device = suite_open(suite, "caching=4M");
    char first[512], second[512];
    (void)argument;
    struct hal_buffer *buffer = create(suite, device, &desc);
    message_of(suite, buffer, first, sizeof first);
    hal_buffer_release(buffer);
    buffer = suite_own_buffer(suite, create(suite, device, &desc));
    message_of(suite, buffer, second, sizeof second);
    check(suite, strcmp(first, second) != 0);
    check_kept(suite, device, 0, 0, 1);
}

static void has_its_own_label(struct suite *suite, uint64_t argument)
{
    struct hal_device *device = suite_open(suite, "caching=4M");
    uint8_t byte;
    (void)argument;
    hal_buffer_release(
        create(suite, device, &(struct hal_buffer_desc){.label = "before", .bytes = 100}));
    struct hal_buffer *buffer = suite_own_buffer(
        suite, create(suite, device, &(struct hal_buffer_desc){.label = "after", .bytes = 100}));
    check_kept(suite, device, 0, 0, 1);
    check_fails(suite, hal_buffer_read(buffer, 100, &byte, 1), HAL_INVALID, "buffer 'after'");
}

/* ---- Limits -------------------------------------------------------------------------------- */

static void the_oldest_goes(struct suite *suite, uint64_t argument)
{
    struct hal_device *device = suite_open(suite, "caching=1M");
    (void)argument;
    create_and_release(suite, device, 400 * KIB);
    create_and_release(suite, device, 500 * KIB);
    check_kept(suite, device, 900 * KIB, 2, 0);
    create_and_release(suite, device, 300 * KIB);
    check_kept(suite, device, 800 * KIB, 2, 0);
    create_and_release(suite, device, 400 * KIB);
    check_kept(suite, device, 700 * KIB, 2, 0);
    create_and_release(suite, device, 300 * KIB);
    check_kept(suite, device, 700 * KIB, 2, 1);
}

static void exactly_the_limit(struct suite *suite, uint64_t argument)
{
    struct hal_device *device = suite_open(suite, "caching=1M");
    (void)argument;
    create_and_release(suite, device, MIB + 1);
    check_kept(suite, device, 0, 0, 0);
    create_and_release(suite, device, MIB);
    check_kept(suite, device, MIB, 1, 0);
    create_and_release(suite, device, 1);
    check_kept(suite, device, 1, 1, 0);
    create_and_release(suite, device, MIB - 1);
    check_kept(suite, device, MIB, 2, 0);
    create_and_release(suite, device, MIB + 1);
    check_kept(suite, device, MIB, 2, 0);
}

/* More than it has places for: it keeps some of the youngest, and never too many bytes. */
static void many_small_ones(struct suite *suite, uint64_t argument)
{
    enum { COUNT = 3000 };
    struct hal_device *device = suite_open(suite, "caching=1M");
    struct hal_memory_statistics now = {0};
    (void)argument;
    for (uint64_t i = 1; i <= COUNT; i++)
        create_and_release(suite, device, i);
    check_ok(suite, hal_device_memory_statistics(device, &now));
    check(suite, now.cached_count > 0 && now.cached_bytes <= MIB);
    check_u64(suite, now.reused_count, 0);
    create_and_release(suite, device, COUNT);
    create_and_release(suite, device, 1);
    check_ok(suite, hal_device_memory_statistics(device, &now));
    check_u64(suite, now.reused_count, 1);
    check_u64(suite, now.total.current_bytes, 0);
}

static void trims(struct suite *suite, uint64_t argument)
{
    struct hal_device *device = suite_open(suite, "caching=4M");
    (void)argument;
    check_ok(suite, hal_device_memory_trim(device));
    create_and_release(suite, device, MIB);
    create_and_release(suite, device, MIB + 1);
    check_ok(suite, hal_device_memory_trim(device));
    check_kept(suite, device, 0, 0, 0);
    create_and_release(suite, device, MIB);
    check_kept(suite, device, MIB, 1, 0);
    check_fails(suite, hal_device_memory_trim(NULL), HAL_INVALID, "device");
}

static void off(struct suite *suite, uint64_t argument)
{
    static const char *const parameters[] = {"caching=off", "caching=0", "caching=0G"};
    struct hal_device *device = suite_open(suite, parameters[argument]);
    create_and_release(suite, device, MIB);
    create_and_release(suite, device, MIB);
    check_kept(suite, device, 0, 0, 0);
    check_ok(suite, hal_device_memory_trim(device));
    check(suite, !strstr(hal_device_get_info(device)->uri, "caching"));
}

static void parameters(struct suite *suite, uint64_t argument)
{
    static const char *const right[][2] = {{"caching=1", "caching=1"},
                                           {"caching=4096", "caching=4096"},
                                           {"caching=2K", "caching=2048"},
                                           {"caching=3M", "caching=3145728"},
                                           {"caching=1G", "caching=1073741824"}};
    static const char *const wrong[] = {"x",           "-1",  "+1", "1T",   "K",
                                        "1k",          "1KK", "1 ", "0x10", "99999999999999999999",
                                        "17179869184G"};
    struct hal_device *device;
    char uri[256];
    (void)argument;
    for (size_t i = 0; i < SUITE_COUNT(right); i++)
        check(suite, strstr(hal_device_get_info(suite_open(suite, right[i][0]))->uri, right[i][1]));
    for (size_t i = 0; i < SUITE_COUNT(wrong); i++) {
        snprintf(uri, sizeof uri, "%s?caching=%s", suite_info(suite)->driver, wrong[i]);
        check_fails(suite, hal_device_open(uri, &device), HAL_INVALID, "caching=", wrong[i],
                    "number of bytes");
    }
}

/* ---- Use ----------------------------------------------------------------------------------- */

/* Until its work has ended, a buffer is not for others. */
static void work_in_flight(struct suite *suite, uint64_t argument)
{
    enum { BYTES = 256 * KIB };
    struct hal_device *device = suite_open(suite, "caching=4M");
    struct hal_semaphore *gate = suite_semaphore_of(suite, device, "gate", 0);
    struct hal_buffer *target = suite_buffer_of(
        suite, device, &(struct hal_buffer_desc){.label = "target", .bytes = BYTES});
    struct hal_buffer *first = create_bytes(suite, device, BYTES);
    uint8_t *model = suite_memory(suite, BYTES), *other = suite_memory(suite, BYTES);
    const struct hal_semaphore_value wait = {gate, 1}, signal = {gate, 2};
    (void)argument;
    suite_random_bytes(suite, model, BYTES);
    suite_random_bytes(suite, other, BYTES);
    suite_write(suite, first, 0, model, BYTES);
    check_ok(suite, hal_queue_copy(
                        device,
                        &(struct hal_submit_desc){
                            .waits = &wait, .wait_count = 1, .signals = &signal, .signal_count = 1},
                        first, 0, target, 0, BYTES));
    hal_buffer_release(first);
    struct hal_buffer *second = suite_own_buffer(suite, create_bytes(suite, device, BYTES));
    suite_write(suite, second, 0, other, BYTES);
    check_ok(suite, hal_semaphore_signal(gate, 1));
    suite_wait(suite, gate, 2);
    check_buffer(suite, target, 0, model, BYTES);
    check_buffer(suite, second, 0, other, BYTES);
    check_kept(suite, device, BYTES, 1, 0);
}

static void exported_and_mapped(struct suite *suite, uint64_t argument)
{
    enum { BYTES = 300 * KIB, ROUNDS = 5 };
    struct hal_device *device = suite_open(suite, "caching=4M");
    struct hal_buffer *target = suite_buffer_of(
        suite, device, &(struct hal_buffer_desc){.label = "target", .bytes = BYTES});
    struct hal_semaphore *done = suite_semaphore_of(suite, device, "done", 0);
    uint8_t *model = suite_memory(suite, BYTES);
    (void)argument;
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        struct hal_buffer *buffer = create_bytes(suite, device, BYTES);
        const struct hal_semaphore_value signal = {done, round};
        void *data;
        check_ok(suite, hal_buffer_export(buffer, &data));
        suite_random_bytes(suite, model, BYTES);
        memcpy(data, model, BYTES);
        check_ok(suite,
                 hal_queue_copy(device,
                                &(struct hal_submit_desc){.signals = &signal, .signal_count = 1},
                                buffer, 0, target, 0, BYTES));
        hal_buffer_release(buffer);
        suite_wait(suite, done, round);
        check_buffer(suite, target, 0, model, BYTES);
        check_ok(suite, hal_device_wait_idle(device, SUITE_TIMEOUT_NS));
    }
    check_kept(suite, device, BYTES, 1, ROUNDS - 1);
}

static void imported_is_not_kept(struct suite *suite, uint64_t argument)
{
    suite_need_import(suite);
    struct hal_device *device = suite_open(suite, "caching=4M");
    static _Alignas(4096) uint8_t memory[8192];
    struct hal_buffer *buffer;
    (void)argument;
    check_ok(suite, hal_buffer_import(device, &(struct hal_buffer_desc){.bytes = sizeof memory},
                                      memory, NULL, NULL, &buffer));
    hal_buffer_release(buffer);
    check_kept(suite, device, 0, 0, 0);
}

static void subspans_keep_their_root(struct suite *suite, uint64_t argument)
{
    struct hal_device *device = suite_open(suite, "caching=4M");
    struct hal_buffer *root = create_bytes(suite, device, MIB), *subspan;
    (void)argument;
    check_ok(suite, hal_buffer_subspan(root, 100, 1000, "part", &subspan));
    hal_buffer_release(root);
    check_kept(suite, device, 0, 0, 0);
    hal_buffer_release(subspan);
    check_kept(suite, device, MIB, 1, 0);
}

static void slabs_are_kept(struct suite *suite, uint64_t argument)
{
    struct hal_device *device = suite_open(suite, "caching=1G");
    struct hal_transient_statistics transient = {0};
    uint64_t slab_bytes = 0;
    (void)argument;
    for (uint64_t round = 0; round < 3; round++) {
        struct hal_buffer *buffer;
        check_ok(suite,
                 hal_queue_alloca(device, NULL, &(struct hal_buffer_desc){.bytes = MIB}, &buffer));
        check_ok(suite, hal_queue_dealloca(device, NULL, buffer));
        hal_buffer_release(buffer);
        check_ok(suite, hal_device_wait_idle(device, SUITE_TIMEOUT_NS));
        check_ok(suite, hal_device_transient_statistics(device, &transient));
        slab_bytes = transient.reserved_bytes;
        check_kept(suite, device, 0, 0, round);
        check_ok(suite, hal_device_transient_trim(device));
        check_kept(suite, device, slab_bytes, 1, round);
    }
}

/* The cache lives as long as the last buffer. */
static void handle_goes_first(struct suite *suite, uint64_t argument)
{
    struct hal_device *device;
    char uri[64];
    (void)argument;
    snprintf(uri, sizeof uri, "%s?caching=4M", suite_info(suite)->driver);
    check_ok(suite, hal_device_open(uri, &device));
    struct hal_buffer *buffer = create_bytes(suite, device, MIB);
    create_and_release(suite, device, MIB);
    hal_device_release(device);
    hal_buffer_release(buffer);
}

/* A device with a cache and one without are still devices of one driver. */
static void semaphores_are_shared(struct suite *suite, uint64_t argument)
{
    struct hal_device *device = suite_open(suite, "caching=4M");
    struct hal_semaphore *semaphore = suite_semaphore(suite, "shared", 0);
    const struct hal_semaphore_value signal = {semaphore, 1};
    const struct hal_submit_desc desc = {.signals = &signal, .signal_count = 1};
    struct hal_device *plain = suite_open(suite, "caching=off");
    (void)argument;
    if (hal_queue_submit(plain, &desc) != HAL_OK)
        suite_skip(suite, "devices of this driver do not share semaphores");
    suite_wait(suite, semaphore, 1);
    const struct hal_semaphore_value next = {semaphore, 2};
    check_ok(suite, hal_queue_submit(
                        device, &(struct hal_submit_desc){.signals = &next, .signal_count = 1}));
    suite_wait(suite, semaphore, 2);
}

/* ---- Programs ------------------------------------------------------------------------------ */

struct program {
    struct hal_device *device;
    uint64_t random;
};

static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(*state >> 33);
}

/* Nobody else's bytes turn up in a buffer while it lives. */
static void run_program(struct suite *suite, void *user)
{
    enum { HELD = 8, ROUNDS = 300 };
    static const uint64_t sizes[] = {1000, 64 * KIB, 200 * KIB, 200 * KIB + 1};
    struct program *program = user;
    struct hal_buffer *held[HELD] = {0};
    uint8_t marks[HELD] = {0}, bytes[64];
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const uint32_t at = next_random(&program->random) % HELD;
        if (held[at]) {
            check_ok(suite, hal_buffer_read(held[at], 900, bytes, sizeof bytes));
            for (size_t i = 0; i < sizeof bytes; i++)
                check_u64(suite, bytes[i], marks[at]);
            hal_buffer_release(held[at]);
            held[at] = NULL;
            continue;
        }
        held[at] = create_bytes(suite, program->device, sizes[next_random(&program->random) % 4]);
        marks[at] = (uint8_t)next_random(&program->random);
        memset(bytes, marks[at], sizeof bytes);
        check_ok(suite, hal_buffer_write(held[at], 900, bytes, sizeof bytes));
    }
    for (size_t i = 0; i < HELD; i++)
        hal_buffer_release(held[i]);
}

static void programs(struct suite *suite, uint64_t threads)
{
    struct hal_device *device = suite_open(suite, "caching=1M");
    struct hal_memory_statistics now = {0};
    struct program states[8];
    for (uint64_t i = 0; i < threads; i++) {
        states[i] = (struct program){device, suite_random(suite)};
        suite_thread(suite, run_program, &states[i]);
    }
    suite_join(suite);
    check_ok(suite, hal_device_memory_statistics(device, &now));
    check_u64(suite, now.total.current_count, 0);
    check(suite, now.reused_count > 0 && now.cached_bytes <= MIB);
    check_ok(suite, hal_device_memory_trim(device));
    check_kept(suite, device, 0, 0, now.reused_count);
}

static const struct suite_case cases[] = {
    {"reused_1_byte", is_reused, 1},
    {"reused_4097_bytes", is_reused, 4097},
    {"reused_128_kib", is_reused, 128 * KIB},
    {"reused_1_mib", is_reused, MIB},
    {"reused_4_mib", is_reused, 4 * MIB},
    {"other_size_less", must_be_the_same, 0},
    {"other_size_more", must_be_the_same, 1},
    {"other_memory_type", must_be_the_same, 2},
    {"other_memory_type_more", must_be_the_same, 3},
    {"other_usage", must_be_the_same, 4},
    {"defaults_are_the_same", defaults_are_the_same, 0},
    {"is_another_object", is_another_object, 0},
    {"has_its_own_label", has_its_own_label, 0},
    {"the_oldest_goes", the_oldest_goes, 0},
    {"exactly_the_limit", exactly_the_limit, 0},
    {"many_small_ones", many_small_ones, 0},
    {"trims", trims, 0},
    {"off", off, 0},
    {"off_by_0", off, 1},
    {"off_by_0_gib", off, 2},
    {"parameters", parameters, 0},
    {"work_in_flight", work_in_flight, 0},
    {"exported_and_mapped", exported_and_mapped, 0},
    {"imported_is_not_kept", imported_is_not_kept, 0},
    {"subspans_keep_their_root", subspans_keep_their_root, 0},
    {"slabs_are_kept", slabs_are_kept, 0},
    {"handle_goes_first", handle_goes_first, 0},
    {"semaphores_are_shared", semaphores_are_shared, 0},
    {"one_thread", programs, 1},
    {"four_threads", programs, 4},
    {"eight_threads", programs, 8},
};

const struct suite_area area_caching = {"caching", cases, SUITE_COUNT(cases)};
