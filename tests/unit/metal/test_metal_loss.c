/* SPDX-License-Identifier: Apache-2.0 */
/* hal/drivers/metal on a Metal whose command buffers fail with a code that HOST_METAL names: what
 * the code is for the HAL, and, where it says that the device is gone, that the device stays lost:
 * all that is in flight fails, everything later is refused, and what there is can be let go of. */
#include "tests/support/hal_fixture.h"

#include <limits.h>

static const int64_t timeout_ns = 60000000000;

/* By Apple's documentation of MTLCommandBufferError. */
static const struct {
    unsigned code;
    enum hal_status status;
    const char *meaning;
} codes[] = {
    {1, HAL_FAILED, "internal"},        {2, HAL_FAILED, "timeout"},
    {3, HAL_FAILED, "page fault"},      {4, HAL_DEVICE_LOST, "access revoked"},
    {7, HAL_FAILED, "not permitted"},   {8, HAL_NO_MEMORY, "out of memory"},
    {9, HAL_FAILED, "bad resource"},    {11, HAL_DEVICE_LOST, "device removed"},
    {12, HAL_FAILED, "stack overflow"},
};

static enum hal_status wanted_status(void)
{
    unsigned code = 0;
    const char *modes = getenv("HOST_METAL"), *at = modes ? strstr(modes, "fail-code=") : NULL;
    if (at && sscanf(at, "fail-code=%u", &code) == 1)
        for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
            if (codes[i].code == code)
                return codes[i].status;
    fail_msg("HOST_METAL=%s has no fail-code that this test knows", modes ? modes : "");
    return HAL_OK;
}

/* Each test has a device of Metal's of its own (devices=7): it stays lost with ours. */
struct nth {
    unsigned left;
    const char *parameters;
    char uri[128];
};

static bool take_nth(void *user, const struct hal_device_entry *entry)
{
    struct nth *nth = user;
    snprintf(nth->uri, sizeof nth->uri, "%s%s", entry->uri, nth->parameters);
    return nth->left-- > 0;
}

static struct hal_device *open_nth(unsigned n, const char *parameters)
{
    struct nth nth = {.left = n, .parameters = parameters};
    assert_ok(hal_devices_list("metal", take_nth, &nth));
    assert_int_equal(nth.left, UINT_MAX);
    return fixture_device(nth.uri);
}

enum { BYTES = 4096 };

/* A fill that signals `done`. */
static enum hal_status submit_fill(struct hal_device *device, struct hal_buffer *buffer,
                                   uint8_t byte, struct hal_semaphore *done)
{
    const struct hal_semaphore_value signal = {done, 1};
    return hal_queue_fill(device, &(struct hal_submit_desc){.signals = &signal, .signal_count = 1},
                          buffer, 0, BYTES, byte, 1);
}

/* Fills with 1, 2, ... until one fails; returns the last that did not. */
static uint8_t fill_until_failure(struct hal_device *device, struct hal_buffer *buffer,
                                  enum hal_status wanted)
{
    for (uint8_t i = 1; i < 30; i++) {
        struct hal_semaphore *done = fixture_semaphore(device, "filled", 0);
        assert_ok(submit_fill(device, buffer, i, done));
        const enum hal_status status = hal_semaphore_wait(done, 1, timeout_ns);
        if (status != HAL_OK)
            assert_fails(status, wanted, "injected by HOST_METAL");
        hal_semaphore_release(done);
        if (status != HAL_OK)
            return (uint8_t)(i - 1);
    }
    fail_msg("nothing has failed");
    return 0;
}

/* ---- Loss ----------------------------------------------------------------------------------- */

static void assert_lost(enum hal_status status)
{
    assert_fails(status, HAL_DEVICE_LOST, "injected by HOST_METAL");
}

/* Work that waits for what only the host, or nobody, would signal; in chains, on both queues. */
enum { STUCK = 12 };

static void get_stuck(struct hal_device *device, struct hal_semaphore *never,
                      struct hal_semaphore *stuck[STUCK])
{
    for (size_t i = 0; i < STUCK; i++) {
        stuck[i] = fixture_semaphore(device, "stuck", 0);
        const struct hal_semaphore_value wait = {i % 4 ? stuck[i - 1] : never, 1};
        const struct hal_semaphore_value signal = {stuck[i], 1};
        assert_ok(
            hal_queue_barrier(device, &(struct hal_submit_desc){.queues = (uint64_t)1 << i % 2,
                                                                .waits = &wait,
                                                                .wait_count = 1,
                                                                .signals = &signal,
                                                                .signal_count = 1}));
    }
}

/* Coherent memory never was elsewhere. Of managed memory the device had a copy of its own. */
static void check_memory(struct hal_buffer *coherent, struct hal_buffer *local, uint8_t last)
{
    uint8_t bytes[BYTES], wanted[BYTES];
    memset(wanted, last, BYTES);
    assert_ok(hal_buffer_read(coherent, 0, bytes, BYTES));
    assert_memory_equal(bytes, wanted, BYTES);
    const enum hal_status status = hal_buffer_read(local, 0, bytes, BYTES);
    if (strstr(getenv("HOST_METAL"), "managed")) {
        assert_lost(status);
        return;
    }
    assert_ok(status);
    assert_memory_equal(bytes, memset(wanted, 55, BYTES), BYTES);
}

/* `later` was created before. */
static void check_refused(struct hal_device *device, struct hal_buffer *buffer,
                          struct hal_semaphore *later)
{
    struct hal_semaphore *none;
    assert_lost(hal_semaphore_create(device, "none", 0, &none));
    assert_fails(hal_queue_barrier(device, NULL), HAL_DEVICE_LOST, "submission ");
    assert_lost(submit_fill(device, buffer, 99, later));
    assert_lost(hal_semaphore_wait(later, 1, timeout_ns));
    assert_lost(hal_queue_barrier(device, NULL));
    assert_lost(hal_device_wait_idle(device, timeout_ns));
}

/* Memory that is managed on devices with their own. */
static struct hal_buffer *create_local(struct hal_device *device)
{
    struct hal_buffer *buffer;
    const struct hal_buffer_desc desc = {.label = "local",
                                         .bytes = BYTES,
                                         .memory =
                                             HAL_MEMORY_DEVICE_LOCAL | HAL_MEMORY_HOST_VISIBLE};
    assert_ok(hal_buffer_create(device, &desc, &buffer));
    return buffer;
}

/* Filled with 55 by work. */
static struct hal_buffer *local_buffer(struct hal_device *device)
{
    struct hal_buffer *buffer = create_local(device);
    struct hal_semaphore *done = fixture_semaphore(device, "filled", 0);
    assert_ok(submit_fill(device, buffer, 55, done));
    assert_ok(hal_semaphore_wait(done, 1, timeout_ns));
    hal_semaphore_release(done);
    return buffer;
}

/* The first case: it counts on the first fills. */
TEST(a_lost_device_stays_lost)
{
    if (wanted_status() != HAL_DEVICE_LOST)
        return; /* a_code_is_a_status has seen that the device goes on */
    uint8_t zeros[BYTES] = {0};
    uint64_t value = 1;
    struct hal_device *device = open_nth(1, "?queues=2");
    struct hal_buffer *buffer = fixture_buffer(device, "filled", BYTES);
    struct hal_semaphore *never = fixture_semaphore(device, "never", 0), *stuck[STUCK];
    struct hal_semaphore *later = fixture_semaphore(device, "later", 0);
    struct hal_buffer *local = local_buffer(device);
    assert_ok(hal_buffer_write(buffer, 0, zeros, BYTES));
    get_stuck(device, never, stuck);
    const uint8_t last = fill_until_failure(device, buffer, HAL_DEVICE_LOST);
    for (size_t i = 0; i < STUCK; i++)
        assert_lost(hal_semaphore_wait(stuck[i], 1, timeout_ns));
    assert_ok(hal_semaphore_query(never, &value));
    assert_int_equal(value, 0);
    check_refused(device, buffer, later);
    check_refused(device, buffer, later);
    check_memory(buffer, local, last);
    assert_ok(hal_semaphore_signal(never, 1));
    for (size_t i = 0; i < STUCK; i++)
        hal_semaphore_release(stuck[i]);
    hal_semaphore_release(never);
    hal_semaphore_release(later);
    hal_buffer_release(local);
    hal_buffer_release(buffer);
    hal_device_release(device);
}

/* Who waits until the device is idle is told, whatever part of the work it was that failed. */
static void check_idle(struct hal_device *device)
{
    const enum hal_status status = hal_device_wait_idle(device, timeout_ns);
    if (wanted_status() == HAL_DEVICE_LOST)
        assert_lost(status);
    else
        assert_ok(status);
}

TEST(a_code_is_a_status)
{
    const enum hal_status wanted = wanted_status();
    struct hal_device *device = open_nth(0, "");
    struct hal_buffer *buffer = fixture_buffer(device, "filled", BYTES);
    struct hal_semaphore *after = fixture_semaphore(device, "after", 0);
    fill_until_failure(device, buffer, wanted);
    if (wanted != HAL_DEVICE_LOST) { /* it goes on */
        assert_ok(hal_device_wait_idle(device, timeout_ns));
        assert_ok(submit_fill(device, buffer, 77, after));
        assert_ok(hal_semaphore_wait(after, 1, timeout_ns));
        assert_ok(hal_device_wait_idle(device, timeout_ns));
    }
    hal_semaphore_release(after);
    hal_buffer_release(buffer);
    hal_device_release(device);
}

TEST(work_without_semaphores_is_lost)
{
    struct hal_device *device = open_nth(3, "?queues=2");
    struct hal_buffer *buffer = fixture_buffer(device, "filled", BYTES);
    for (size_t i = 0; i < 30; i++) {
        const enum hal_status status = hal_queue_fill(device, NULL, buffer, 0, BYTES, 3, 1);
        if (status != HAL_OK)
            assert_lost(status);
    }
    check_idle(device);
    hal_buffer_release(buffer);
    hal_device_release(device);
}

TEST(signals_without_work_are_lost)
{
    struct hal_device *device = open_nth(4, "?queues=2");
    struct hal_semaphore *done = fixture_semaphore(device, "done", 0);
    for (uint64_t i = 1; i < 30; i++) {
        const struct hal_semaphore_value signal = {done, i};
        const enum hal_status status = hal_queue_barrier(
            device, &(struct hal_submit_desc){.signals = &signal, .signal_count = 1});
        if (status != HAL_OK)
            assert_true(status == wanted_status() || status == HAL_FAILED);
    }
    check_idle(device);
    const enum hal_status status = hal_semaphore_wait(done, 29, timeout_ns); /* one has failed */
    assert_true(status == wanted_status() || status == HAL_FAILED);
    assert_non_null(strstr(hal_message(), "injected by HOST_METAL"));
    hal_semaphore_release(done);
    hal_device_release(device);
}

/* ---- Loss that reading shows ----------------------------------------------------------------- */

/* A device of Metal's with managed memory that work has filled. The fill may be what fails, but not
 * on two devices, one after the other. */
static struct hal_device *open_filled(struct hal_buffer **out_buffer)
{
    for (unsigned n = 5; n < 7; n++) {
        struct hal_device *device = open_nth(n, "");
        struct hal_buffer *buffer = create_local(device);
        struct hal_semaphore *done = fixture_semaphore(device, "filled", 0);
        assert_ok(submit_fill(device, buffer, 55, done));
        const enum hal_status status = hal_semaphore_wait(done, 1, timeout_ns);
        hal_semaphore_release(done);
        *out_buffer = buffer;
        if (status == HAL_OK)
            return device;
        hal_buffer_release(buffer);
        hal_device_release(device);
    }
    fail_msg("two fills have failed");
    return NULL;
}

/* No work is told of it: who reads managed memory is, and nothing begins after that. Parts, for of
 * these each is read anew. */
TEST(a_read_shows_a_loss)
{
    if (wanted_status() != HAL_DEVICE_LOST || !strstr(getenv("HOST_METAL"), "managed"))
        return;
    uint8_t bytes[8];
    enum hal_status status = HAL_OK;
    struct hal_buffer *buffer;
    struct hal_device *device = open_filled(&buffer);
    struct hal_semaphore *later = fixture_semaphore(device, "later", 0);
    for (int i = 0; status == HAL_OK && i < 30; i++)
        status = hal_buffer_read(buffer, 8, bytes, sizeof bytes);
    assert_lost(status);
    check_refused(device, buffer, later);
    hal_semaphore_release(later);
    hal_buffer_release(buffer);
    hal_device_release(device);
}

/* ---- Loss while many submit ------------------------------------------------------------------ */

enum { THREADS = 4, SUBMISSIONS = 40 };

struct submitter {
    struct hal_device *device;
    struct hal_buffer *buffer;
    struct hal_semaphore *links[SUBMISSIONS];
    size_t refused;
};

/* A chain of its own, on queues in turn. Whatever is refused has a failed semaphore, too. */
static void *submit_chain(void *argument)
{
    struct submitter *me = argument;
    for (size_t i = 0; i < SUBMISSIONS; i++) {
        const struct hal_semaphore_value wait = {i ? me->links[i - 1] : NULL, 1};
        const struct hal_semaphore_value signal = {me->links[i], 1};
        const enum hal_status status =
            hal_queue_fill(me->device,
                           &(struct hal_submit_desc){.queues = (uint64_t)1 << i % 2,
                                                     .waits = &wait,
                                                     .wait_count = i ? 1 : 0,
                                                     .signals = &signal,
                                                     .signal_count = 1},
                           me->buffer, 0, BYTES, (uint8_t)i, 1);
        me->refused += status != HAL_OK;
    }
    return NULL;
}

/* Done up to a link, and lost from there on: all of them end. */
static void check_links(const struct submitter *submitter)
{
    size_t done = 0;
    while (done < SUBMISSIONS &&
           hal_semaphore_wait(submitter->links[done], 1, timeout_ns) == HAL_OK)
        done++;
    assert_true(done < SUBMISSIONS);
    for (size_t i = done; i < SUBMISSIONS; i++)
        assert_lost(hal_semaphore_wait(submitter->links[i], 1, timeout_ns));
}

TEST(all_threads_learn_of_a_loss)
{
    if (wanted_status() != HAL_DEVICE_LOST)
        return;
    struct submitter submitters[THREADS];
    pthread_t threads[THREADS];
    struct hal_device *device = open_nth(2, "?queues=2");
    struct hal_semaphore *later = fixture_semaphore(device, "later", 0);
    for (size_t i = 0; i < THREADS; i++) {
        submitters[i] =
            (struct submitter){.device = device, .buffer = fixture_buffer(device, "filled", BYTES)};
        for (size_t k = 0; k < SUBMISSIONS; k++)
            submitters[i].links[k] = fixture_semaphore(device, "link", 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        assert_ok(hal_thread_start("test-submit", submit_chain, &submitters[i], &threads[i]));
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < THREADS; i++) {
        check_links(&submitters[i]);
        print_message("%zu of %d were refused\n", submitters[i].refused, SUBMISSIONS);
        for (size_t k = 0; k < SUBMISSIONS; k++)
            hal_semaphore_release(submitters[i].links[k]);
    }
    check_refused(device, submitters[0].buffer, later);
    hal_semaphore_release(later);
    for (size_t i = 0; i < THREADS; i++)
        hal_buffer_release(submitters[i].buffer);
    hal_device_release(device);
}
