/* SPDX-License-Identifier: Apache-2.0 */
/* capture/layer/layer.c with several threads: their order, and their rings. */
#include "tests/support/captured.h"
#include "tests/support/hal_fixture.h"
#include "tests/support/trace_folder.h"

#include "hal/driver.h"

enum { ROUNDS = 200 };

struct player {
    struct hal_device *device;
    struct hal_semaphore *mine, *other;
};

/* Each waits for the other's value, then signals the next of its own. */
static void *play(void *argument)
{
    struct player *player = argument;
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        assert_ok(hal_semaphore_wait(player->other, round, HAL_FOREVER));
        assert_ok(hal_semaphore_signal(player->mine, round));
    }
    return NULL;
}

static uint64_t ticket_of(const struct captured *captured, enum trace_event_kind kind,
                          uint64_t semaphore, uint64_t value)
{
    for (size_t i = 0; i < captured->count; i++) {
        const struct trace_event *event = captured->events[i].event;
        const struct trace_semaphore_event *signal = (const void *)event;
        const struct trace_semaphore_wait *wait = (const void *)event;
        if (event->kind != kind || event->status != HAL_OK)
            continue;
        if (kind == TRACE_SEMAPHORE_SIGNAL && signal->semaphore == semaphore &&
            signal->value == value)
            return event->ticket;
        if (kind == TRACE_SEMAPHORE_WAIT && wait->values[0].semaphore == semaphore &&
            wait->values[0].value == value)
            return event->ticket;
    }
    fail_msg("value %llu of semaphore %llu: not recorded", (unsigned long long)value,
             (unsigned long long)semaphore);
    return 0;
}

TEST(tickets_respect_causality_across_threads)
{
    struct captured captured;
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, path);
    struct hal_semaphore *a = fixture_semaphore(device, "a", 0);
    struct hal_semaphore *b = fixture_semaphore(device, "b", 0);
    const uint64_t a_id = a->object.id, b_id = b->object.id;
    struct player player = {device, a, b};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, play, &player), 0);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        assert_ok(hal_semaphore_signal(b, round));
        assert_ok(hal_semaphore_wait(a, round, HAL_FOREVER));
    }
    pthread_join(thread, NULL);
    hal_semaphore_release(a);
    hal_semaphore_release(b);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);

    captured_open(&captured, path);
    uint64_t last = 0;
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        const uint64_t tickets[4] = {ticket_of(&captured, TRACE_SEMAPHORE_SIGNAL, b_id, round),
                                     ticket_of(&captured, TRACE_SEMAPHORE_WAIT, b_id, round),
                                     ticket_of(&captured, TRACE_SEMAPHORE_SIGNAL, a_id, round),
                                     ticket_of(&captured, TRACE_SEMAPHORE_WAIT, a_id, round)};
        for (unsigned i = 0; i < 4; i++) {
            assert_true(tickets[i] > last);
            last = tickets[i];
        }
    }
    assert_int_equal(trace_reader_thread_count(captured.reader), 2);
    captured_close(&captured);
}

struct recorder {
    struct hal_device *device;
    uint32_t number;
};

static void *record_and_submit(void *argument)
{
    const struct recorder *recorder = argument;
    struct hal_buffer *buffer = fixture_buffer(recorder->device, "b", 4096);
    struct hal_semaphore *done = fixture_semaphore(recorder->device, "done", 0);
    for (uint32_t round = 1; round <= 50; round++) {
        struct hal_command_buffer *commands = fixture_commands(recorder->device, "c", HAL_ONE_SHOT);
        for (uint32_t i = 0; i < 1000; i++) {
            if (i % 5 == 4)
                assert_ok(i % 10 == 4 ? hal_command_debug_begin(commands, "group", i)
                                      : hal_command_debug_end(commands));
            else
                assert_ok(hal_command_fill(commands, buffer, 4 * i, 4,
                                           recorder->number << 24 | round << 16 | i, 4));
        }
        assert_ok(hal_command_buffer_end(commands));
        assert_ok(fixture_submit(recorder->device, commands, done, round - 1, done, round));
        hal_command_buffer_release(commands);
    }
    assert_ok(hal_semaphore_wait(done, 50, HAL_FOREVER));
    hal_semaphore_release(done);
    hal_buffer_release(buffer);
    return NULL;
}

/* Every seal has its 1000 segments, in order and unmixed. */
static void check_recorded(const struct captured *captured, uint32_t threads)
{
    uint32_t rounds[8] = {0};
    for (size_t n = 0; n < captured_count(captured, TRACE_COMMAND_BUFFER_SEAL); n++) {
        const struct trace_command_buffer_seal *seal =
            captured_find(captured, TRACE_COMMAND_BUFFER_SEAL, n);
        const struct trace_segment *at = captured_segments(captured, n);
        assert_int_equal(seal->segment_count, 1000);
        const uint32_t number = ((const struct trace_fill *)(const void *)at)->pattern >> 24;
        assert_true(number < threads);
        rounds[number]++;
        for (uint32_t i = 0; i < 1000; i++) {
            if (i % 5 == 4) {
                captured_next_segment(&at, i % 10 == 4 ? TRACE_DEBUG_BEGIN : TRACE_DEBUG_END);
                continue;
            }
            const struct trace_fill *fill = captured_next_segment(&at, TRACE_FILL);
            assert_int_equal(fill->pattern, number << 24 | rounds[number] << 16 | i);
            assert_int_equal(fill->offset, 4 * i);
        }
    }
    for (uint32_t i = 0; i < threads; i++)
        assert_int_equal(rounds[i], 50);
    assert_int_equal(captured_count(captured, TRACE_SUBMIT), 50 * threads);
    assert_int_equal(captured_count(captured, TRACE_SUBMISSION_DONE), 50 * threads);
}

static void record_with_threads(const char *ring_kib, uint32_t threads, struct captured *captured)
{
    struct recorder recorders[8];
    pthread_t ids[8];
    struct hal_device *device = fixture_device("cpu");
    if (ring_kib)
        setenv("HAL_DEVICE_PROFILING_RING_KIB", ring_kib, 1);
    captured_begin(device, path);
    unsetenv("HAL_DEVICE_PROFILING_RING_KIB");
    for (uint32_t i = 0; i < threads; i++) {
        recorders[i] = (struct recorder){device, i};
        assert_int_equal(pthread_create(&ids[i], NULL, record_and_submit, &recorders[i]), 0);
    }
    for (uint32_t i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);
    captured_open(captured, path);
    check_recorded(captured, threads);
}

TEST(threads_record_at_the_same_time_and_outgrow_their_rings)
{
    struct captured captured;
    record_with_threads(NULL, 3, &captured);
    captured_close(&captured);
}

TEST(full_rings_wait_and_say_so)
{
    struct captured captured;
    record_with_threads("64", 2, &captured);
    const struct trace_health *health = trace_reader_health(captured.reader);
    assert_true(health->ring_stalls > 0);
    assert_true(health->ring_stall_ns > 0);
    captured_close(&captured);
}

static void *create_and_forget(void *device)
{
    struct hal_semaphore *semaphore = fixture_semaphore(device, "short", 0);
    hal_semaphore_release(semaphore);
    return NULL;
}

TEST(many_short_threads_share_few_rings)
{
    enum { MANY = 3000 };
    struct captured captured;
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, path);
    for (unsigned i = 0; i < MANY; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, create_and_forget, device), 0);
        pthread_join(thread, NULL);
        if (i % 100 == 99)
            assert_ok(hal_device_profiling_flush(device));
    }
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);
    captured_open(&captured, path);
    assert_int_equal(captured_count(&captured, TRACE_SEMAPHORE_CREATE), MANY);
    assert_int_equal(captured_count(&captured, TRACE_SEMAPHORE_DESTROY), MANY);
    assert_int_equal(trace_reader_thread_count(captured.reader), MANY + 1);
    captured_close(&captured);
}

TEST_FIXTURE(NULL, remove_trace);
TEST_SUITE_FIXTURE(make_trace_folder, remove_folder);
