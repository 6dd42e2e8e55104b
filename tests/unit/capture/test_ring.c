/* SPDX-License-Identifier: Apache-2.0 */
/* capture/stream/ring.c: records across the end, full rings, two threads. */
#include "capture/stream/ring.h"

#include "hal/base/os.h"
#include "tests/support/hal_fixture.h"

#include <sched.h>
#include <unistd.h>

enum { RING_BYTES = 64 << 10, RECORD_COUNT = 200000, LARGEST = 1024 };

struct setup {
    struct capture_sidecar sidecar;
    struct capture_ring ring;
    uint8_t *base;
};

static void open_ring(struct setup *setup)
{
    const struct capture_sidecar_desc desc = {
        .destination = "/tmp/x.pb.zst", .staging_bytes = 1 << 20, .rings_bytes = 1 << 20};
    assert_ok(capture_sidecar_open(&desc, &setup->sidecar));
    struct trace_ring_slot *slot = &setup->sidecar.header->slots[0];
    slot->offset = setup->sidecar.header->rings_offset;
    slot->bytes = RING_BYTES;
    assert_ok(capture_sidecar_commit(&setup->sidecar, slot->offset, slot->bytes));
    assert_ok(capture_ring_map(&setup->sidecar, slot, &setup->base));
    capture_ring_init(&setup->ring, slot, setup->base);
}

static void close_ring(struct setup *setup)
{
    capture_sidecar_unmap_twice(setup->base, RING_BYTES);
    capture_sidecar_remove(&setup->sidecar);
    capture_sidecar_close(&setup->sidecar);
}

TEST(the_sidecar_describes_itself)
{
    struct setup setup;
    open_ring(&setup);
    const struct trace_sidecar_header *header = setup.sidecar.header;
    assert_memory_equal(header->magic, "HTsidecr", 8);
    assert_int_equal(header->process_id, getpid());
    assert_string_equal(header->destination, "/tmp/x.pb.zst");
    assert_int_equal(header->rings_offset, header->staging_offset + (1 << 20));

    /* What was published is found by position in the object alone. */
    const uint64_t value = 0x1122334455667788;
    uint64_t found = 0;
    memcpy(capture_ring_reserve(&setup.ring, sizeof value), &value, sizeof value);
    capture_ring_publish(&setup.ring, sizeof value);
    assert_int_equal(atomic_load(&header->slots[0].head), sizeof value);
    assert_int_equal(
        pread(setup.sidecar.object.number, &found, sizeof found, (off_t)header->slots[0].offset),
        sizeof found);
    assert_int_equal(found, value);
    close_ring(&setup);
}

TEST(a_full_ring_refuses_until_memory_is_released)
{
    struct setup setup;
    open_ring(&setup);
    struct capture_ring *ring = &setup.ring;
    unsigned wakes = 0;
    for (unsigned i = 0; i < RING_BYTES / LARGEST; i++) {
        uint8_t *record = capture_ring_reserve(ring, LARGEST);
        assert_non_null(record);
        memset(record, (int)i, LARGEST);
        wakes += capture_ring_publish(ring, LARGEST);
    }
    assert_int_equal(wakes, 1);
    assert_null(capture_ring_reserve(ring, 8));

    /* Reading alone makes no room. */
    uint64_t bytes;
    const uint8_t *data = capture_ring_peek(ring, &bytes);
    assert_int_equal(bytes, RING_BYTES);
    assert_int_equal(data[5 * LARGEST], 5);
    ring->read += LARGEST;
    assert_null(capture_ring_reserve(ring, 8));
    capture_ring_release(ring);
    assert_non_null(capture_ring_reserve(ring, LARGEST));
    assert_null(capture_ring_reserve(ring, LARGEST + 8));
    close_ring(&setup);
}

/* Once its producer has nowhere else to go. */
TEST(a_low_latency_ring_wakes_four_times)
{
    struct setup setup;
    unsigned wakes = 0;
    open_ring(&setup);
    capture_ring_lower_latency(&setup.ring);
    for (unsigned i = 0; i < RING_BYTES / LARGEST; i++) {
        assert_non_null(capture_ring_reserve(&setup.ring, LARGEST));
        wakes += capture_ring_publish(&setup.ring, LARGEST);
    }
    assert_int_equal(wakes, 4);
    close_ring(&setup);
}

TEST(records_across_the_end_are_contiguous)
{
    struct setup setup;
    open_ring(&setup);
    struct capture_ring *ring = &setup.ring;
    capture_ring_reserve(ring, RING_BYTES - 16);
    capture_ring_publish(ring, RING_BYTES - 16);
    ring->read = RING_BYTES - 16;
    capture_ring_release(ring);

    uint8_t *record = capture_ring_reserve(ring, 64);
    for (unsigned i = 0; i < 64; i++)
        record[i] = (uint8_t)(100 + i);
    capture_ring_publish(ring, 64);
    uint64_t bytes;
    const uint8_t *data = capture_ring_peek(ring, &bytes);
    assert_int_equal(bytes, 64);
    for (unsigned i = 0; i < 64; i++)
        assert_int_equal(data[i], 100 + i);
    assert_int_equal(ring->base[0], 100 + 16);
    close_ring(&setup);
}

/* ---- Two threads ---- */

/* A record: its size and number, then bytes that follow from the number. */
static void fill(uint8_t *record, uint32_t bytes, uint32_t number)
{
    memcpy(record, &bytes, 4);
    memcpy(record + 4, &number, 4);
    memset(record + 8, (int)(number % 251), bytes - 8);
}

static void *produce(void *argument)
{
    struct setup *setup = argument;
    uint64_t random = 7;
    for (uint32_t number = 0; number < RECORD_COUNT; number++) {
        const uint32_t bytes = 8 + fixture_random(&random) % (LARGEST / 8) * 8;
        uint8_t *record;
        while (!(record = capture_ring_reserve(&setup->ring, bytes)))
            sched_yield();
        fill(record, bytes, number);
        capture_ring_publish(&setup->ring, bytes);
    }
    return NULL;
}

static uint32_t check_record(const uint8_t *record, uint32_t number)
{
    uint32_t bytes, found;
    memcpy(&bytes, record, 4);
    memcpy(&found, record + 4, 4);
    assert_int_equal(found, number);
    for (uint32_t i = 8; i < bytes; i++) {
        if (record[i] != number % 251)
            fail_msg("byte %u of record %u is %u", i, number, record[i]);
    }
    return bytes;
}

TEST(one_thread_reads_what_the_other_wrote)
{
    struct setup setup;
    pthread_t producer;
    open_ring(&setup);
    assert_int_equal(pthread_create(&producer, NULL, produce, &setup), 0);
    for (uint32_t number = 0; number < RECORD_COUNT;) {
        uint64_t bytes;
        const uint8_t *data = capture_ring_peek(&setup.ring, &bytes);
        for (uint64_t at = 0; at < bytes; number++)
            at += check_record(data + at, number);
        setup.ring.read += bytes;
        capture_ring_release(&setup.ring);
        if (!bytes)
            sched_yield();
    }
    pthread_join(producer, NULL);
    close_ring(&setup);
}
