/* SPDX-License-Identifier: Apache-2.0 */
/* Transient memory: alloca and dealloca in queue order. Contents are compared with what plain
 * memory would hold; use and reuse with what the timelines allow. */
#include "tests/conformance/line.h"

enum { MIB = 1 << 20 };

static struct hal_buffer *alloca_of(struct suite *suite, struct suite_line *line, uint64_t bytes)
{
    struct hal_buffer *buffer;
    const struct hal_buffer_desc desc = {.label = "transient", .bytes = bytes};
    check_ok(suite, hal_queue_alloca(line->device, suite_line_next(line), &desc, &buffer));
    return suite_own_buffer(suite, buffer);
}

static void dealloca_of(struct suite *suite, struct suite_line *line, struct hal_buffer *buffer)
{
    check_ok(suite, hal_queue_dealloca(line->device, suite_line_next(line), buffer));
}

static struct hal_transient_statistics statistics(struct suite *suite, struct hal_device *device)
{
    struct hal_transient_statistics now = {0};
    check_ok(suite, hal_device_transient_statistics(device, &now));
    return now;
}

/* ---- Contents ------------------------------------------------------------------------------- */

static void holds_bytes(struct suite *suite, uint64_t bytes)
{
    struct suite_line line = suite_line_begin(suite, suite_device(suite));
    struct hal_buffer *target = suite_buffer(suite, "target", bytes);
    uint8_t *model = suite_memory(suite, bytes);
    struct hal_buffer *buffer = alloca_of(suite, &line, bytes);
    check_u64(suite, hal_buffer_bytes(buffer), bytes);
    check_ok(suite, hal_queue_fill(line.device, suite_line_next(&line), buffer, 0, bytes, 0x3C, 1));
    check_ok(suite,
             hal_queue_fill(line.device, suite_line_next(&line), buffer, bytes / 2, 1, 0x99, 1));
    check_ok(suite,
             hal_queue_copy(line.device, suite_line_next(&line), buffer, 0, target, 0, bytes));
    dealloca_of(suite, &line, buffer);
    suite_line_finish(suite, &line);
    memset(model, 0x3C, bytes);
    model[bytes / 2] = 0x99;
    check_buffer(suite, target, 0, model, bytes);
}

static void kernels_use_it(struct suite *suite, uint64_t argument)
{
    enum { COUNT = 4096 };
    struct suite_line line = suite_line_begin(suite, suite_device(suite));
    struct hal_buffer *target = suite_buffer(suite, "target", COUNT * 4);
    struct hal_buffer *buffer = alloca_of(suite, &line, COUNT * 4);
    const struct hal_binding one = {buffer, 0, HAL_WHOLE_BUFFER};
    const struct hal_binding two[] = {{buffer, 0, HAL_WHOLE_BUFFER}, {target, 0, COUNT * 4}};
    const uint32_t first = 77;
    uint32_t *model = suite_memory(suite, COUNT * 4);
    (void)argument;
    check_ok(suite,
             hal_queue_dispatch(line.device, suite_line_next(&line),
                                &(struct hal_dispatch_desc){.executable = suite_kernels(suite),
                                                            .entry = KERNEL_NUMBER,
                                                            .workgroup_count = {COUNT / 64, 1, 1},
                                                            .bindings = &one,
                                                            .binding_count = 1,
                                                            .constants = &first,
                                                            .constant_bytes = 4}));
    check_ok(suite,
             hal_queue_dispatch(line.device, suite_line_next(&line),
                                &(struct hal_dispatch_desc){.executable = suite_kernels(suite),
                                                            .entry = KERNEL_COPY,
                                                            .workgroup_count = {COUNT / 64, 1, 1},
                                                            .bindings = two,
                                                            .binding_count = 2}));
    dealloca_of(suite, &line, buffer);
    suite_line_finish(suite, &line);
    for (uint32_t i = 0; i < COUNT; i++)
        model[i] = first + i;
    check_buffer(suite, target, 0, model, COUNT * 4);
}

static void mapped(struct suite *suite, uint64_t argument)
{
    struct suite_line line = suite_line_begin(suite, suite_device(suite));
    struct hal_buffer *buffer = alloca_of(suite, &line, 1000);
    uint8_t model[1000];
    (void)argument;
    suite_line_finish(suite, &line);
    suite_random_bytes(suite, model, sizeof model);
    suite_write(suite, buffer, 0, model, sizeof model);
    check_buffer(suite, buffer, 0, model, sizeof model);
    dealloca_of(suite, &line, buffer);
    suite_line_finish(suite, &line);
}

/* Two that live at the same time share no byte. */
static void no_aliases(struct suite *suite, uint64_t argument)
{
    enum { COUNT = 40 };
    struct suite_line line = suite_line_begin(suite, suite_device(suite));
    struct hal_buffer *buffers[COUNT];
    uint8_t model[3000];
    (void)argument;
    for (uint32_t i = 0; i < COUNT; i++) {
        buffers[i] = alloca_of(suite, &line, 1 + 70 * i);
        check_ok(suite, hal_queue_fill(line.device, suite_line_next(&line), buffers[i], 0,
                                       HAL_WHOLE_BUFFER, i, 1));
        if (i % 3 == 2) {
            dealloca_of(suite, &line, buffers[i - 1]);
            buffers[i - 1] = NULL;
        }
    }
    suite_line_finish(suite, &line);
    for (uint32_t i = 0; i < COUNT; i++) {
        memset(model, (int)i, sizeof model);
        if (buffers[i])
            check_buffer(suite, buffers[i], 0, model, 1 + 70 * i);
    }
}

/* ---- Reuse ---------------------------------------------------------------------------------- */

static void reuses_what_has_finished(struct suite *suite, uint64_t argument)
{
    struct hal_device *device = suite_open(suite, "");
    struct suite_line line = suite_line_begin(suite, device);
    (void)argument;
    for (uint32_t i = 0; i < 100; i++) {
        struct hal_buffer *buffer;
        const struct hal_buffer_desc desc = {.label = "again", .bytes = 100000};
        check_ok(suite, hal_queue_alloca(device, suite_line_next(&line), &desc, &buffer));
        check_u64(suite, statistics(suite, device).live_count, 1);
        check_ok(suite, hal_queue_dealloca(device, suite_line_next(&line), buffer));
        hal_buffer_release(buffer);
        suite_line_finish(suite, &line);
    }
    const struct hal_transient_statistics now = statistics(suite, device);
    check_u64(suite, now.slab_count, 1);
    check_u64(suite, now.total_count, 100);
    check_u64(suite, now.reused_count, 99);
    check_u64(suite, now.used_bytes, 0);
    check(suite, now.peak_used_bytes >= 100000 && now.peak_used_bytes < 101000);
}

/* Everything behind a closed gate: a chain of large buffers takes the place of one. */
static void reuses_in_queue_order(struct suite *suite, uint64_t argument)
{
    enum { COUNT = 20, BYTES = 3 * MIB };
    struct hal_device *device = suite_open(suite, "");
    struct hal_semaphore *gate = suite_semaphore_of(suite, device, "gate", 0);
    struct suite_line line = suite_line_begin(suite, device);
    struct hal_buffer *sums = suite_buffer_of(
        suite, device, &(struct hal_buffer_desc){.label = "results", .bytes = COUNT * 16});
    const struct hal_semaphore_value wait = {gate, 1};
    uint8_t model[COUNT * 16];
    (void)argument;
    struct hal_submit_desc first = *suite_line_next(&line);
    first.waits = &wait;
    first.wait_count = 1;
    check_ok(suite, hal_queue_barrier(device, &first));
    for (uint32_t i = 0; i < COUNT; i++) {
        struct hal_buffer *buffer = alloca_of(suite, &line, BYTES);
        check_ok(suite, hal_queue_fill(device, suite_line_next(&line), buffer, 0, HAL_WHOLE_BUFFER,
                                       i + 1, 1));
        check_ok(suite, hal_queue_copy(device, suite_line_next(&line), buffer, BYTES - 16, sums,
                                       16 * i, 16));
        dealloca_of(suite, &line, buffer);
        memset(model + (size_t)16 * i, (int)i + 1, 16);
    }
    check_u64(suite, statistics(suite, device).slab_count, 1);
    check_u64(suite, statistics(suite, device).reused_count, COUNT - 1);
    check_ok(suite, hal_semaphore_signal(gate, 1));
    suite_line_finish(suite, &line);
    check_buffer(suite, sums, 0, model, sizeof model);
}

/* The dealloca has not run and the alloca does not wait for it: it gets other memory. */
static void keeps_what_is_pending(struct suite *suite, uint64_t argument)
{
    struct hal_device *device = suite_open(suite, "");
    struct hal_semaphore *gate = suite_semaphore_of(suite, device, "gate", 0);
    struct hal_semaphore *gone = suite_semaphore_of(suite, device, "gone", 0);
    struct suite_line line = suite_line_begin(suite, device),
                      other = suite_line_begin(suite, device);
    struct hal_buffer *first = alloca_of(suite, &line, MIB), *second;
    const struct hal_semaphore_value wait = {gate, 1}, signal = {gone, 1};
    uint8_t *model = suite_memory(suite, MIB);
    (void)argument;
    check_ok(suite,
             hal_queue_fill(device, suite_line_next(&line), first, 0, HAL_WHOLE_BUFFER, 1, 1));
    suite_line_finish(suite, &line);
    check_ok(suite, hal_queue_dealloca(
                        device,
                        &(struct hal_submit_desc){
                            .waits = &wait, .wait_count = 1, .signals = &signal, .signal_count = 1},
                        first));
    second = alloca_of(suite, &other, MIB);
    check_ok(suite,
             hal_queue_fill(device, suite_line_next(&other), second, 0, HAL_WHOLE_BUFFER, 2, 1));
    suite_line_finish(suite, &other);
    memset(model, 1, MIB);
    check_buffer(suite, first, 0, model, MIB);
    memset(model, 2, MIB);
    check_buffer(suite, second, 0, model, MIB);
    check_u64(suite, statistics(suite, device).reused_count, 0);
    check_ok(suite, hal_semaphore_signal(gate, 1));
    suite_wait(suite, gone, 1);
}

/* Small pieces that were given back serve one large request, when all of them are over. */
static void joins_neighbours(struct suite *suite, uint64_t argument)
{
    enum { COUNT = 16, BYTES = 64 * 1024 };
    struct hal_device *device = suite_open(suite, "");
    struct suite_line line = suite_line_begin(suite, device);
    struct hal_buffer *buffers[COUNT];
    (void)argument;
    for (uint32_t i = 0; i < COUNT; i++)
        buffers[i] = alloca_of(suite, &line, BYTES);
    for (uint32_t i = 0; i < COUNT; i++)
        dealloca_of(suite, &line, buffers[(i * 7) % COUNT]);
    struct hal_buffer *large = alloca_of(suite, &line, COUNT * BYTES);
    check_u64(suite, statistics(suite, device).slab_count, 1);
    check_ok(suite,
             hal_queue_fill(device, suite_line_next(&line), large, 0, HAL_WHOLE_BUFFER, 5, 1));
    dealloca_of(suite, &line, large);
    suite_line_finish(suite, &line);
}

static void limits(struct suite *suite, uint64_t argument)
{
    struct hal_device *device = suite_open(suite, "");
    struct suite_line line = suite_line_begin(suite, device);
    const struct hal_buffer_desc large = {.label = "large", .bytes = 3 * MIB};
    struct hal_buffer *buffer = NULL;
    (void)argument;
    check_ok(suite, hal_device_transient_limit(device, 4 * MIB));
    struct hal_buffer *first = alloca_of(suite, &line, 3 * MIB);
    check_fails(suite, hal_queue_alloca(device, NULL, &large, &buffer), HAL_NO_MEMORY, "'large'",
                "3145728", "4194304");
    check(suite, buffer == NULL);
    dealloca_of(suite, &line, first);
    suite_line_finish(suite, &line);
    check_ok(suite, hal_queue_alloca(device, NULL, &large, &buffer));
    check_ok(suite, hal_queue_dealloca(device, NULL, buffer));
    hal_buffer_release(buffer);
    check(suite, statistics(suite, device).peak_reserved_bytes <= 4 * MIB);
    check_ok(suite, hal_device_transient_limit(device, 0));
    struct hal_buffer *huge = alloca_of(suite, &line, 10 * MIB);
    dealloca_of(suite, &line, huge);
    suite_line_finish(suite, &line);
}

struct crowd {
    struct hal_device *device;
    uint64_t bytes;
};

/* Takes one and keeps it. */
static void take_one(struct suite *suite, void *user)
{
    const struct crowd *crowd = user;
    const struct hal_buffer_desc desc = {.label = "of many", .bytes = crowd->bytes};
    struct hal_buffer *buffer;
    check_ok(suite, hal_queue_alloca(crowd->device, NULL, &desc, &buffer));
    suite_own_buffer(suite, buffer);
}

/* Room for exactly as much as threads ask for at the same moment: all get it, and no more slabs are
 * made than that takes. */
static void limit_of_a_crowd(struct suite *suite, uint64_t bytes)
{
    enum { THREADS = 8 };
    for (int round = 0; round < 5; round++) {
        struct crowd crowd = {suite_open(suite, ""), bytes};
        const uint64_t limit = bytes * THREADS < MIB ? MIB : bytes * THREADS;
        check_ok(suite, hal_device_transient_limit(crowd.device, limit));
        for (int i = 0; i < THREADS; i++)
            suite_thread(suite, take_one, &crowd);
        suite_join(suite);
        const struct hal_transient_statistics now = statistics(suite, crowd.device);
        check(suite, now.peak_reserved_bytes <= limit);
        check_u64(suite, now.live_count, THREADS);
        check_u64(suite, now.used_bytes, bytes * THREADS);
    }
}

/* Memory of other types goes before the limit says no. */
static void limit_trims(struct suite *suite, uint64_t argument)
{
    struct hal_device *device = suite_open(suite, "");
    struct suite_line line = suite_line_begin(suite, device);
    const struct hal_buffer_desc any = {.label = "any", .bytes = 2 * MIB};
    const struct hal_buffer_desc private = {
        .label = "private", .bytes = 2 * MIB, .memory = HAL_MEMORY_DEVICE_LOCAL};
    struct hal_buffer *buffer;
    (void)argument;
    check_ok(suite, hal_device_transient_limit(device, 3 * MIB));
    check_ok(suite, hal_queue_alloca(device, suite_line_next(&line), &any, &buffer));
    dealloca_of(suite, &line, buffer);
    hal_buffer_release(buffer);
    suite_line_finish(suite, &line);
    check_ok(suite, hal_queue_alloca(device, suite_line_next(&line), &private, &buffer));
    suite_own_buffer(suite, buffer);
    dealloca_of(suite, &line, buffer);
    suite_line_finish(suite, &line);
    check(suite, statistics(suite, device).reserved_bytes <= 3 * MIB);
}

static void trims(struct suite *suite, uint64_t argument)
{
    struct hal_device *device = suite_open(suite, "");
    struct suite_line line = suite_line_begin(suite, device);
    const struct hal_buffer_desc small = {.label = "kept", .bytes = MIB};
    const struct hal_buffer_desc large = {.label = "gone", .bytes = 9 * MIB};
    struct hal_buffer *kept, *gone;
    (void)argument;
    check_ok(suite, hal_queue_alloca(device, suite_line_next(&line), &small, &kept));
    check_ok(suite, hal_queue_alloca(device, suite_line_next(&line), &large, &gone));
    dealloca_of(suite, &line, gone);
    suite_line_finish(suite, &line);
    check_ok(suite, hal_device_transient_trim(device));
    check_u64(suite, statistics(suite, device).slab_count, 2); /* the handle holds it */
    hal_buffer_release(gone);
    check_u64(suite, statistics(suite, device).slab_count, 1);
    dealloca_of(suite, &line, kept);
    hal_buffer_release(kept);
    suite_line_finish(suite, &line);
    check_ok(suite, hal_device_transient_trim(device));
    check_u64(suite, statistics(suite, device).slab_count, 0);
    check_u64(suite, statistics(suite, device).reserved_bytes, 0);
}

/* ---- Ends ----------------------------------------------------------------------------------- */

static void released_without_dealloca(struct suite *suite, uint64_t argument)
{
    struct hal_device *device = suite_open(suite, "");
    const struct hal_buffer_desc desc = {.label = "forgotten", .bytes = 5000};
    (void)argument;
    for (int i = 0; i < 10; i++) {
        struct hal_buffer *buffer;
        check_ok(suite, hal_queue_alloca(device, NULL, &desc, &buffer));
        check_ok(suite, hal_queue_fill(device, NULL, buffer, 0, HAL_WHOLE_BUFFER, 1, 1));
        hal_buffer_release(buffer);
        check_ok(suite, hal_device_wait_idle(device, SUITE_TIMEOUT_NS));
        check_u64(suite, statistics(suite, device).used_bytes, 0);
        check_u64(suite, statistics(suite, device).slab_count, 0);
    }
}

static void outlives_the_device_handle(struct suite *suite, uint64_t dealloca_first)
{
    struct hal_device *device;
    struct hal_buffer *buffer;
    const struct hal_buffer_desc desc = {.label = "late", .bytes = 256};
    uint8_t model[256];
    check_ok(suite, hal_device_open("cpu", &device));
    enum hal_status status = hal_queue_alloca(device, NULL, &desc, &buffer);
    if (status == HAL_OK && dealloca_first)
        status = hal_queue_dealloca(device, NULL, buffer);
    hal_device_release(device);
    check_ok(suite, status);
    memset(model, 8, sizeof model);
    suite_write(suite, buffer, 0, model, sizeof model);
    check_buffer(suite, buffer, 0, model, sizeof model);
    hal_buffer_release(buffer);
}

/* The memory of a dealloca that failed may still be in use: nobody gets it. */
static void failed_dealloca(struct suite *suite, uint64_t argument)
{
    struct hal_device *device = suite_open(suite, "");
    struct hal_semaphore *gate = suite_semaphore_of(suite, device, "gate", 0);
    struct suite_line line = suite_line_begin(suite, device),
                      other = suite_line_begin(suite, device);
    const struct hal_semaphore_value wait = {gate, 1};
    (void)argument;
    struct hal_buffer *first = alloca_of(suite, &line, 4096);
    check_ok(suite,
             hal_queue_fill(device, suite_line_next(&line), first, 0, HAL_WHOLE_BUFFER, 6, 1));
    suite_line_finish(suite, &line);
    check_ok(suite, hal_queue_dealloca(
                        device, &(struct hal_submit_desc){.waits = &wait, .wait_count = 1}, first));
    hal_semaphore_fail(gate, HAL_FAILED, "gate");
    check_ok(suite, hal_device_wait_idle(device, SUITE_TIMEOUT_NS));
    for (int i = 0; i < 5; i++) {
        struct hal_buffer *second = alloca_of(suite, &other, 4096);
        check_ok(suite, hal_queue_fill(device, suite_line_next(&other), second, 0, HAL_WHOLE_BUFFER,
                                       7, 1));
        dealloca_of(suite, &other, second);
    }
    suite_line_finish(suite, &other);
    uint8_t model[4096];
    memset(model, 6, sizeof model);
    check_buffer(suite, first, 0, model, sizeof model);
}

static void wrong_arguments(struct suite *suite, uint64_t argument)
{
    struct hal_device *device = suite_device(suite);
    struct suite_line line = suite_line_begin(suite, device);
    struct hal_buffer *buffer = NULL, *ordinary = suite_buffer(suite, "ordinary", 64);
    struct hal_transient_statistics now = {0};
    (void)argument;
    check_fails(suite, hal_queue_alloca(device, NULL, NULL, &buffer), HAL_INVALID, "description");
    check_fails(
        suite, hal_queue_alloca(device, NULL, &(struct hal_buffer_desc){.label = "empty"}, &buffer),
        HAL_INVALID, "'empty'", "0 bytes");
    check_fails(suite, hal_queue_dealloca(device, NULL, ordinary), HAL_INVALID, "'ordinary'",
                "transient");
    check_fails(suite, hal_queue_dealloca(device, NULL, NULL), HAL_INVALID, "NULL");
    check_fails(suite, hal_device_transient_statistics(NULL, &now), HAL_INVALID, "NULL");
    check_fails(suite, hal_device_transient_statistics(device, NULL), HAL_INVALID, "out-parameter");
    buffer = alloca_of(suite, &line, 64);
    dealloca_of(suite, &line, buffer);
    check_fails(suite, hal_queue_dealloca(device, NULL, buffer), HAL_INVALID, "'transient'",
                "already");
    suite_line_finish(suite, &line);
}

/* The pool adds waits and a signal of its own, for which there must be room. */
static void full_lists(struct suite *suite, uint64_t signals)
{
    struct hal_device *device = suite_device(suite);
    struct hal_semaphore *semaphore = suite_semaphore(suite, "full", 0);
    struct hal_semaphore_value *values = suite_memory(suite, HAL_MAX_LIST * sizeof *values);
    const struct hal_buffer_desc wanted = {.label = "transient", .bytes = 64};
    struct hal_submit_desc desc = {0};
    struct hal_buffer *buffer;
    for (size_t i = 0; i < HAL_MAX_LIST; i++)
        values[i] = (struct hal_semaphore_value){semaphore, 1};
    *(signals ? &desc.signals : &desc.waits) = values;
    *(signals ? &desc.signal_count : &desc.wait_count) = HAL_MAX_LIST;
    check_fails(suite, hal_queue_alloca(device, &desc, &wanted, &buffer), HAL_INVALID, "65536");
    check_ok(suite, hal_queue_alloca(device, NULL, &wanted, &buffer));
    suite_own_buffer(suite, buffer);
    check_fails(suite, hal_queue_dealloca(device, &desc, buffer), HAL_INVALID, "65536");
    check_ok(suite, hal_queue_dealloca(device, NULL, buffer));
}

static const struct suite_case cases[] = {
    {"holds_1_byte", holds_bytes, 1},
    {"holds_255_bytes", holds_bytes, 255},
    {"holds_256_bytes", holds_bytes, 256},
    {"holds_4097_bytes", holds_bytes, 4097},
    {"holds_5_mib", holds_bytes, 5 * MIB + 1},
    {"kernels_use_it", kernels_use_it, 0},
    {"mapped", mapped, 0},
    {"no_aliases", no_aliases, 0},
    {"reuses_what_has_finished", reuses_what_has_finished, 0},
    {"reuses_in_queue_order", reuses_in_queue_order, 0},
    {"keeps_what_is_pending", keeps_what_is_pending, 0},
    {"joins_neighbours", joins_neighbours, 0},
    {"limits", limits, 0},
    {"limit_trims", limit_trims, 0},
    {"limit_of_a_crowd_small", limit_of_a_crowd, 4096},
    {"limit_of_a_crowd_large", limit_of_a_crowd, 2 * MIB},
    {"trims", trims, 0},
    {"released_without_dealloca", released_without_dealloca, 0},
    {"outlives_the_device_handle", outlives_the_device_handle, 0},
    {"given_back_outlives_the_device_handle", outlives_the_device_handle, 1},
    {"failed_dealloca", failed_dealloca, 0},
    {"wrong_arguments", wrong_arguments, 0},
    {"no_room_for_a_wait", full_lists, 0},
    {"no_room_for_a_signal", full_lists, 1},
};

const struct suite_area area_transients = {"transients", cases, SUITE_COUNT(cases)};
