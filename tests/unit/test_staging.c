/* SPDX-License-Identifier: Apache-2.0 */
/* capture/staging.c: claims, release in any order, restart, several threads. */
#include "capture/staging.h"

#include "hal/base/os.h"
#include "tests/support/hal_fixture.h"

#include <sched.h>

enum { STAGING_BYTES = 1 << 20, KIB = 1024 };

struct setup {
    struct capture_sidecar sidecar;
    struct capture_staging staging;
};

static void open_staging(struct setup *setup)
{
    const struct capture_sidecar_desc desc = {
        .destination = "", .staging_bytes = STAGING_BYTES, .rings_bytes = 1 << 16};
    assert_ok(capture_sidecar_open(&desc, &setup->sidecar));
    assert_ok(capture_staging_init(&setup->staging, &setup->sidecar));
}

static void close_staging(struct setup *setup)
{
    capture_staging_finish(&setup->staging);
    capture_sidecar_remove(&setup->sidecar);
    capture_sidecar_close(&setup->sidecar);
}

/* Puts so many times the same byte there. */
static uint8_t *use(struct setup *setup, uint64_t position, uint64_t bytes, int value)
{
    uint8_t *data = malloc(bytes);
    assert_non_null(data);
    memset(data, value, bytes);
    assert_true(capture_staging_ready(&setup->staging, position, bytes));
    assert_ok(capture_staging_put(&setup->staging, position, data, bytes, value % 2));
    uint8_t *there = capture_staging_at(&setup->staging, position);
    assert_memory_equal(there, data, bytes);
    free(data);
    return there;
}

static void ranges_do_not_overlap_and_zero_is_no_position(void **state)
{
    (void)state;
    struct setup setup;
    open_staging(&setup);
    const uint64_t a = capture_staging_claim(&setup.staging, 1);
    const uint64_t b = capture_staging_claim(&setup.staging, 100);
    const uint64_t c = capture_staging_claim(&setup.staging, 64);
    assert_int_not_equal(a, 0);
    assert_true(b >= a + 1);
    assert_true(c >= b + 100);
    use(&setup, a, 1, 1);
    use(&setup, b, 100, 2);
    use(&setup, c, 64, 3);
    assert_int_equal(*capture_staging_at(&setup.staging, a), 1);
    assert_int_equal(capture_staging_at(&setup.staging, b)[99], 2);
    assert_true(capture_staging_used(&setup.staging) >= 165);
    close_staging(&setup);
}

static void memory_is_used_again_in_the_order_of_claims(void **state)
{
    (void)state;
    struct setup setup;
    uint64_t positions[4];
    open_staging(&setup);
    for (unsigned i = 0; i < 4; i++) {
        positions[i] = capture_staging_claim(&setup.staging, 256 * KIB);
        use(&setup, positions[i], 256 * KIB, (int)i);
    }
    const uint64_t fifth = capture_staging_claim(&setup.staging, 256 * KIB);
    assert_false(capture_staging_ready(&setup.staging, fifth, 256 * KIB));

    /* Later ranges first: the oldest still stands in the way. */
    assert_ok(capture_staging_release(&setup.staging, positions[2], 256 * KIB));
    assert_ok(capture_staging_release(&setup.staging, positions[1], 256 * KIB));
    capture_staging_recycle(&setup.staging);
    assert_false(capture_staging_ready(&setup.staging, fifth, 256 * KIB));
    assert_ok(capture_staging_release(&setup.staging, positions[0], 256 * KIB));
    assert_false(capture_staging_ready(&setup.staging, fifth, 256 * KIB));
    capture_staging_recycle(&setup.staging);
    assert_true(capture_staging_ready(&setup.staging, fifth, 256 * KIB));
    assert_int_equal(capture_staging_used(&setup.staging), 2 * 256 * KIB);
    const uint64_t sixth = capture_staging_claim(&setup.staging, 512 * KIB);
    assert_true(capture_staging_ready(&setup.staging, sixth, 512 * KIB));
    const uint64_t seventh = capture_staging_claim(&setup.staging, 64);
    assert_false(capture_staging_ready(&setup.staging, seventh, 64));
    close_staging(&setup);
}

static void empty_staging_begins_again_at_the_start(void **state)
{
    (void)state;
    struct setup setup;
    open_staging(&setup);
    uint8_t *first = NULL;
    for (unsigned i = 0; i < 10; i++) {
        const uint64_t position = capture_staging_claim(&setup.staging, 3 * KIB);
        uint8_t *memory = use(&setup, position, 3 * KIB, 5);
        if (!first)
            first = memory;
        assert_ptr_equal(memory, first);
        assert_ok(capture_staging_release(&setup.staging, position, 3 * KIB));
        capture_staging_recycle(&setup.staging);
    }
    assert_int_equal(capture_staging_used(&setup.staging), 0);
    close_staging(&setup);
}

static void ranges_across_the_end_are_contiguous(void **state)
{
    (void)state;
    struct setup setup;
    open_staging(&setup);
    const uint64_t most = capture_staging_claim(&setup.staging, 900 * KIB);
    use(&setup, most, 900 * KIB, 7);
    const uint64_t kept = capture_staging_claim(&setup.staging, 64);
    assert_ok(capture_staging_release(&setup.staging, most, 900 * KIB));
    capture_staging_recycle(&setup.staging);
    const uint64_t across = capture_staging_claim(&setup.staging, 512 * KIB);
    use(&setup, across, 512 * KIB, 9);
    assert_int_equal(setup.staging.base[0], 9);
    use(&setup, kept, 64, 8);
    close_staging(&setup);
}

/* ---- Several threads ---- */

enum { THREADS = 4, ROUNDS = 5000, MOST = 100 * KIB };

struct mailbox {
    struct setup *setup;
    uint32_t number;
    _Atomic uint64_t position; /* 0: taken */
    uint64_t bytes;
};

static void *claim_and_publish(void *argument)
{
    struct mailbox *box = argument;
    uint64_t random = 77 + box->number;
    uint8_t data[MOST];
    for (unsigned round = 0; round < ROUNDS; round++) {
        const uint64_t bytes = 1 + fixture_random(&random) % (round % 16 ? 4000 : MOST);
        const uint64_t position = capture_staging_claim(&box->setup->staging, bytes);
        while (!capture_staging_ready(&box->setup->staging, position, bytes))
            sched_yield();
        memset(data, (int)(box->number + round % 50), bytes);
        if (capture_staging_put(&box->setup->staging, position, data, bytes, round % 3 == 0) !=
            HAL_OK)
            abort();
        while (atomic_load_explicit(&box->position, memory_order_acquire))
            sched_yield();
        box->bytes = bytes;
        atomic_store_explicit(&box->position, position, memory_order_release);
    }
    return NULL;
}

static bool take(struct mailbox *box, unsigned round)
{
    const uint64_t position = atomic_load_explicit(&box->position, memory_order_acquire);
    if (!position)
        return false;
    const uint8_t *data = capture_staging_at(&box->setup->staging, position);
    const uint8_t expected = (uint8_t)(box->number + round % 50);
    for (uint64_t i = 0; i < box->bytes; i++) {
        if (data[i] != expected)
            fail_msg("thread %u, round %u, byte %llu", box->number, round, (unsigned long long)i);
    }
    assert_ok(capture_staging_release(&box->setup->staging, position, box->bytes));
    atomic_store_explicit(&box->position, 0, memory_order_release);
    return true;
}

static void threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    struct setup setup;
    struct mailbox boxes[THREADS];
    pthread_t threads[THREADS];
    unsigned rounds[THREADS] = {0}, taken = 0;
    open_staging(&setup);
    for (unsigned i = 0; i < THREADS; i++) {
        boxes[i] = (struct mailbox){.setup = &setup, .number = 50 * i};
        assert_int_equal(pthread_create(&threads[i], NULL, claim_and_publish, &boxes[i]), 0);
    }
    while (taken < THREADS * ROUNDS) {
        for (unsigned i = 0; i < THREADS; i++) {
            if (rounds[i] < ROUNDS && take(&boxes[i], rounds[i])) {
                rounds[i]++;
                taken++;
            }
        }
        capture_staging_recycle(&setup.staging);
        sched_yield();
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    capture_staging_recycle(&setup.staging);
    assert_int_equal(capture_staging_used(&setup.staging), 0);
    close_staging(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_do_not_overlap_and_zero_is_no_position),
        cmocka_unit_test(memory_is_used_again_in_the_order_of_claims),
        cmocka_unit_test(empty_staging_begins_again_at_the_start),
        cmocka_unit_test(ranges_across_the_end_are_contiguous),
        cmocka_unit_test(threads_do_not_disturb_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
