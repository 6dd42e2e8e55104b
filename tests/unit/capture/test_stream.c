/* SPDX-License-Identifier: Apache-2.0 */
/* capture/stream/stream.c, reserve.c, threads.c and writer.c without a device: records and contents
 * of several threads, the error that ends recording, and a forked child. */
#include "capture/stream/threads.h"

#include "format/limits.h"
#include "hal/base/log.h"
#include "tests/support/captured.h"
#include "tests/support/hal_fixture.h"
#include "tests/support/trace_folder.h"

#include <sys/stat.h>
#include <sys/wait.h>

/* Without a writer. */
static void prepare_stream(struct capture_stream *stream, uint64_t ring_bytes)
{
    const struct capture_stream_options options = {.destination = path,
                                                   .sidecar_folder = folder.path,
                                                   .start_ns = hal_clock_ns(),
                                                   .staging_bytes = 1 << 20,
                                                   .ring_bytes = ring_bytes};
    assert_ok(capture_stream_open(stream, &options));
}

static void open_stream(struct capture_stream *stream, uint64_t ring_bytes)
{
    const struct trace_header header = {.writer = "test", .program = "test", .mode = "queue"};
    struct trace_writer *writer;
    prepare_stream(stream, ring_bytes);
    assert_ok(trace_writer_open(&(struct trace_writer_options){.path = path}, &header, &writer));
    assert_ok(capture_stream_start(stream, writer));
}

/* A signal whose value tells the records apart. */
static bool record(struct capture_stream *stream, uint16_t kind, uint64_t value)
{
    struct capture_thread *thread = capture_enter(stream);
    struct trace_semaphore_event *event = thread ? capture_reserve(thread, sizeof *event) : NULL;
    if (!event)
        return false;
    *event = (struct trace_semaphore_event){
        .head = {.kind = kind, .bytes = sizeof *event, .ticket = capture_ticket(stream)},
        .semaphore = thread->number,
        .value = value};
    capture_publish(thread, sizeof *event);
    return true;
}

/* ---- Order ---- */

enum { THREADS = 3, EVENTS = 30000 };

static void *record_many(void *stream)
{
    for (uint64_t i = 1; i <= EVENTS; i++)
        assert_true(record(stream, TRACE_SEMAPHORE_SIGNAL, i));
    return NULL;
}

/* Of rings of 64 KiB there is one each, which is full often; of 1 MiB there are several. */
TEST(every_thread_keeps_its_order)
{
    static const uint64_t ring_bytes[] = {64 << 10, 1 << 20};
    for (unsigned round = 0; round < 2; round++) {
        struct capture_stream stream;
        struct captured captured;
        pthread_t threads[THREADS];
        uint64_t next[THREADS + 2] = {0};
        open_stream(&stream, ring_bytes[round]);
        for (unsigned i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, record_many, &stream), 0);
        record_many(&stream);
        for (unsigned i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        assert_ok(capture_stream_close(&stream));

        captured_open(&captured, path);
        assert_int_equal(captured.count, (THREADS + 1) * EVENTS);
        for (size_t i = 0; i < captured.count; i++) {
            const struct trace_semaphore_event *event = (const void *)captured.events[i].event;
            assert_int_equal(event->head.ticket, i + 1);
            assert_int_equal(event->head.thread, event->semaphore);
            assert_in_range(event->semaphore, 1, THREADS + 1);
            assert_int_equal(event->value, ++next[event->semaphore]);
        }
        captured_close(&captured);
        unlink(path);
    }
}

TEST(strings_are_defined_once_and_cut_when_they_are_too_long)
{
    struct capture_stream stream;
    struct captured captured;
    char *text = malloc(TRACE_MAX_STRING_BYTES + 2);
    open_stream(&stream, 1 << 20);
    struct capture_thread *thread = capture_enter(&stream);
    memset(text, 'x', TRACE_MAX_STRING_BYTES + 1);
    text[TRACE_MAX_STRING_BYTES + 1] = '\0';
    const uint32_t longest = capture_string(thread, text), name = capture_string(thread, "name");
    assert_int_equal(capture_string(thread, NULL), 0);
    assert_int_not_equal(capture_string(thread, ""), 0);
    assert_int_equal(capture_string(thread, "name"), name);
    assert_int_equal(capture_string(thread, text), longest);
    assert_ok(capture_stream_close(&stream));
    captured_open(&captured, path);
    assert_string_equal(captured_string(&captured, name), "name");
    assert_int_equal(strlen(captured_string(&captured, longest)), TRACE_MAX_STRING_BYTES);
    captured_close(&captured);
    free(text);
}

/* Those that are known stay what they are; what says something else is not touched by the limit. */
TEST(messages_are_not_kept_without_end)
{
    struct capture_stream stream;
    struct captured captured;
    char text[64];
    uint32_t first = 0, last = 0;
    open_stream(&stream, 1 << 20);
    struct capture_thread *thread = capture_enter(&stream);
    for (unsigned i = 0; i < CAPTURE_MOST_MESSAGES + 100; i++) {
        snprintf(text, sizeof text, "it has reached %u", i);
        last = capture_message(thread, text);
        first = i ? first : last;
    }
    assert_int_equal(capture_message(thread, "it has reached 0"), first);
    assert_int_equal(capture_message(thread, "another one"), last);
    assert_int_equal(capture_message(thread, NULL), 0);
    const uint32_t name = capture_string(thread, "a name");
    assert_ok(capture_stream_close(&stream));
    captured_open(&captured, path);
    assert_string_equal(captured_string(&captured, first), "it has reached 0");
    assert_string_equal(captured_string(&captured, last),
                        "(not recorded: thousands of different messages came before)");
    assert_string_equal(captured_string(&captured, name), "a name");
    /* the thread's name, and those above */
    assert_true(name <= CAPTURE_MOST_MESSAGES + 4);
    captured_close(&captured);
}

/* ---- Many threads ---- */

/* 64 rings of 64 KiB fit the area that belongs to rings of that size. Many: half as much again as
 * 16 MiB have rings of 128 KiB. */
enum { MOST_THREADS = 64, MANY_THREADS = 192, TAKES_RINGS = 0 };

struct crowd {
    struct capture_stream *stream;
    unsigned count, records; /* TAKES_RINGS: one, and then all the rings that a thread gets */
    pthread_t threads[MANY_THREADS];
    pthread_barrier_t entered, recorded, released;
    _Atomic unsigned refused;
};

static void *record_and_hold(void *argument)
{
    struct crowd *crowd = argument;
    bool recorded = record(crowd->stream, TRACE_SEMAPHORE_SIGNAL, 1);
    pthread_barrier_wait(&crowd->entered);
    while (crowd->records == TAKES_RINGS && capture_ring_grow(capture_enter(crowd->stream), 64))
        continue;
    for (unsigned i = 1; i < crowd->records; i++)
        recorded &= record(crowd->stream, TRACE_SEMAPHORE_SIGNAL, 1);
    if (!recorded)
        atomic_fetch_add(&crowd->refused, 1);
    pthread_barrier_wait(&crowd->recorded);
    pthread_barrier_wait(&crowd->released);
    return NULL;
}

/* When it returns, all have recorded and none has ended. */
static void gather(struct crowd *crowd, struct capture_stream *stream, unsigned count,
                   unsigned records)
{
    *crowd = (struct crowd){.stream = stream, .count = count, .records = records};
    pthread_barrier_init(&crowd->entered, NULL, count);
    pthread_barrier_init(&crowd->recorded, NULL, count + 1);
    pthread_barrier_init(&crowd->released, NULL, count + 1);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(pthread_create(&crowd->threads[i], NULL, record_and_hold, crowd), 0);
    pthread_barrier_wait(&crowd->recorded);
}

static void dismiss(struct crowd *crowd)
{
    pthread_barrier_wait(&crowd->released);
    for (unsigned i = 0; i < crowd->count; i++)
        pthread_join(crowd->threads[i], NULL);
    pthread_barrier_destroy(&crowd->entered);
    pthread_barrier_destroy(&crowd->recorded);
    pthread_barrier_destroy(&crowd->released);
}

TEST(rings_of_threads_that_have_exited_serve_the_next_ones)
{
    struct capture_stream stream;
    struct crowd crowd;
    open_stream(&stream, 64 << 10);
    for (unsigned round = 0; round < 3; round++) {
        gather(&crowd, &stream, MOST_THREADS, 1);
        dismiss(&crowd);
        assert_int_equal(crowd.refused, 0);
    }
    assert_ok(capture_stream_close(&stream));
}

TEST(too_many_threads_at_once_are_told_the_limits)
{
    struct capture_stream stream;
    struct crowd crowd;
    hal_log_set_level(HAL_LOG_ERROR);
    open_stream(&stream, 64 << 10);
    assert_true(record(&stream, TRACE_SEMAPHORE_SIGNAL, 1));
    gather(&crowd, &stream, MOST_THREADS, 1);
    dismiss(&crowd);
    assert_int_not_equal(crowd.refused, 0);
    assert_fails(capture_stream_close(&stream), HAL_NO_MEMORY,
                 "64 rings are in use (the limit is 6144), with 4194304 of 4194304 bytes");
    hal_log_set_level(HAL_LOG_WARN);
}

/* Of 32 MiB, the first half is given out in rings of 128 KiB, which are 128, the rest in smaller
 * ones. */
TEST(many_threads_have_smaller_rings)
{
    struct capture_stream stream;
    struct crowd crowd;
    open_stream(&stream, 512 << 10);
    gather(&crowd, &stream, MANY_THREADS, 1);
    dismiss(&crowd);
    assert_int_equal(crowd.refused, 0);
    assert_ok(capture_stream_close(&stream));
}

/* Of what all of the first crowd take as long as they get it, a quarter of 32 MiB is left to
 * others. Nobody writes, so that nothing comes back. */
TEST(threads_with_many_rings_leave_room_for_others)
{
    struct capture_stream stream;
    struct crowd busy, late;
    prepare_stream(&stream, 512 << 10);
    gather(&busy, &stream, 120, TAKES_RINGS);
    gather(&late, &stream, 90, 1);
    dismiss(&late);
    dismiss(&busy);
    assert_int_equal(busy.refused + late.refused, 0);
    assert_ok(capture_stream_close(&stream));
}

/* ---- A thread's rings ---- */

static uint64_t memory_of(const struct capture_stream *stream)
{
    struct stat info;
    assert_int_equal(fstat(stream->sidecar.object.number, &info), 0);
    return (uint64_t)info.st_blocks * 512;
}

/* The memory of four was made ready when the stream was opened. Nobody writes: nothing comes back.
 */
TEST(a_thread_has_eight_rings_at_most)
{
    enum { RINGS = 8, READY = 4, RING = 256 << 10 };
    struct capture_stream stream;
    unsigned rings = 1;
    prepare_stream(&stream, READY * RING);
    const uint64_t before = memory_of(&stream);
    struct capture_thread *thread = capture_enter(&stream);
    assert_non_null(thread);
    while (rings <= RINGS && capture_ring_grow(thread, 8))
        rings++;
    assert_int_equal(rings, RINGS);
    assert_in_range(memory_of(&stream) - before, (RINGS - READY) * RING,
                    (RINGS - READY + 1) * RING - 1);
    assert_ok(capture_stream_close(&stream));
}

TEST(what_the_file_has_is_no_ring_of_the_thread)
{
    enum { RING = 256 << 10 };
    struct capture_stream stream;
    open_stream(&stream, 4 * RING);
    for (unsigned round = 0; round < 3; round++) {
        assert_true(record(&stream, TRACE_SEMAPHORE_SIGNAL, 1));
        struct capture_thread *thread = capture_enter(&stream);
        for (unsigned i = 0; i < 3; i++)
            assert_true(capture_ring_grow(thread, 8));
        assert_true(record(&stream, TRACE_SEMAPHORE_SIGNAL, 2));
        assert_ok(capture_stream_flush(&stream));
        assert_int_equal(atomic_load(&thread->rings_bytes), RING);
    }
    assert_ok(capture_stream_close(&stream));
}

static void *tell_ring(void *stream)
{
    assert_true(record(stream, TRACE_SEMAPHORE_SIGNAL, 1));
    return capture_enter(stream)->ring->base;
}

/* Where it is mapped already: its pages are there. */
TEST(the_next_thread_has_the_ring_of_the_last)
{
    struct capture_stream stream;
    void *base = NULL;
    open_stream(&stream, 1 << 20);
    for (unsigned round = 0; round < 3; round++) {
        pthread_t thread;
        void *found;
        assert_int_equal(pthread_create(&thread, NULL, tell_ring, &stream), 0);
        pthread_join(thread, &found);
        assert_true(!base || found == base);
        base = found;
        assert_ok(capture_stream_flush(&stream));
        assert_ok(capture_stream_flush(&stream)); /* threads leave behind a flush */
    }
    assert_ok(capture_stream_close(&stream));
}

/* Until then it leaves the processors to those who record. */
TEST(the_writer_is_woken_when_no_ring_is_ready)
{
    struct capture_stream stream;
    prepare_stream(&stream, 1 << 20);
    assert_true(record(&stream, TRACE_SEMAPHORE_SIGNAL, 1));
    struct capture_thread *thread = capture_enter(&stream);
    atomic_store(&stream.state, CAPTURE_WRITER_RESTS);
    for (unsigned ready = 1; ready < 4; ready++)
        assert_true(capture_ring_grow(thread, 8));
    assert_int_equal(atomic_load(&stream.state), CAPTURE_WRITER_RESTS);
    assert_true(capture_ring_grow(thread, 8));
    assert_int_equal(atomic_load(&stream.state), CAPTURE_WRITER_AWAKE);
    assert_ok(capture_stream_close(&stream));
}

/* With records of so many bytes, until there is room for no other, and no other ring. The writer
 * has no part. */
static struct capture_thread *fill_all_rings(struct capture_stream *stream, uint64_t bytes)
{
    prepare_stream(stream, CAPTURE_LEAST_RING_BYTES);
    struct capture_thread *thread = capture_enter(stream);
    assert_non_null(thread);
    do {
        while (capture_ring_reserve(thread->ring, bytes))
            capture_ring_publish(thread->ring, bytes);
    } while (capture_ring_grow(thread, bytes));
    return thread;
}

/* The writer is woken before there is no room, once there is nothing else to go on in. Here
 * recording ends when all rings are full. */
TEST(who_gets_no_other_ring_wakes_the_writer_early)
{
    enum { BYTES = 64 };
    struct capture_stream stream;
    hal_log_set_level(HAL_LOG_ERROR);
    struct capture_thread *thread = fill_all_rings(&stream, BYTES);
    assert_int_equal(thread->ring->wake_bytes, CAPTURE_LEAST_RING_BYTES);
    atomic_store(stream.recording, 0);
    assert_null(capture_reserve(thread, BYTES));
    assert_int_equal(thread->ring->wake_bytes, CAPTURE_LEAST_RING_BYTES / 4);
    (void)capture_stream_close(&stream);
    hal_log_set_level(HAL_LOG_WARN);
}

/* A seal's segments come in several records: once one of them was refused, smaller ones, for which
 * there is room, would stand in its place. */
TEST(what_follows_a_refused_record_is_refused)
{
    enum { LARGE = 1000, SMALL = 64 };
    struct capture_stream stream;
    hal_log_set_level(HAL_LOG_ERROR);
    struct capture_thread *thread = fill_all_rings(&stream, LARGE);
    assert_non_null(capture_ring_reserve(thread->ring, SMALL));
    atomic_store(stream.recording, 0);
    assert_null(capture_reserve(thread, LARGE));
    assert_null(capture_reserve(thread, SMALL));
    atomic_store_explicit(&thread->ring->slot->tail, thread->ring->write, memory_order_release);
    assert_null(capture_reserve(thread, SMALL));
    assert_int_equal(atomic_load(&stream.sidecar.header->lost_records), 3);
    (void)capture_stream_close(&stream);
    hal_log_set_level(HAL_LOG_WARN);
}

/* ---- Flushes ---- */

/* One record in the first ring, and a larger ring full of them. */
TEST(a_flush_writes_all_that_was_published)
{
    enum { COUNT = TRACE_MAX_RECORD_BYTES / sizeof(struct trace_semaphore_event) };
    struct capture_stream stream;
    struct captured captured;
    open_stream(&stream, 256 << 10);
    assert_true(record(&stream, TRACE_SEMAPHORE_SIGNAL, 0));
    struct capture_thread *thread = capture_enter(&stream);
    struct trace_semaphore_event *events = capture_reserve(thread, COUNT * sizeof *events);
    assert_non_null(events);
    for (uint64_t i = 0; i < COUNT; i++)
        events[i] = (struct trace_semaphore_event){.head = {.kind = TRACE_SEMAPHORE_SIGNAL,
                                                            .bytes = sizeof *events,
                                                            .ticket = capture_ticket(&stream)},
                                                   .semaphore = thread->number,
                                                   .value = i + 1};
    capture_publish(thread, COUNT * sizeof *events);
    assert_ok(capture_stream_flush(&stream));

    captured_open_incomplete(&captured, path);
    assert_int_equal(captured_count(&captured, TRACE_SEMAPHORE_SIGNAL), COUNT + 1);
    captured_close(&captured);
    assert_ok(capture_stream_close(&stream));
}

/* ---- Errors ---- */

TEST(what_follows_an_error_is_lost_and_counted)
{
    enum { BEFORE = 100, AFTER = 50 };
    struct capture_stream stream;
    struct captured captured;
    hal_log_set_level(HAL_LOG_ERROR);
    open_stream(&stream, 1 << 20);
    for (unsigned i = 0; i < BEFORE; i++)
        assert_true(record(&stream, TRACE_SEMAPHORE_SIGNAL, i));
    assert_ok(capture_stream_flush(&stream));
    /* The file does not take a kind that it does not know. */
    assert_true(record(&stream, 999, 0));
    assert_fails(capture_stream_flush(&stream), HAL_CORRUPT, "");
    for (unsigned i = 0; i < AFTER; i++)
        assert_false(record(&stream, TRACE_SEMAPHORE_SIGNAL, i));
    assert_fails(capture_stream_close(&stream), HAL_CORRUPT, "");
    hal_log_set_level(HAL_LOG_WARN);

    captured_open_incomplete(&captured, path);
    assert_string_equal(trace_reader_truncated(captured.reader), "");
    assert_int_equal(captured_count(&captured, TRACE_SEMAPHORE_SIGNAL), BEFORE);
    const struct trace_health *health = trace_reader_health(captured.reader);
    assert_int_equal(health->status, HAL_CORRUPT);
    assert_int_equal(health->lost_records, 1 + AFTER);
    captured_close(&captured);
}

TEST(records_that_fit_nowhere_stop_recording)
{
    struct capture_stream stream;
    char before[HAL_MESSAGE_BYTES];
    hal_log_set_level(HAL_LOG_ERROR);
    open_stream(&stream, 64 << 10);
    struct capture_thread *thread = capture_enter(&stream);
    hal_fail(HAL_INVALID, "the application's own");
    snprintf(before, sizeof before, "%s", hal_message());
    assert_non_null(capture_reserve(thread, 64 << 10));
    assert_non_null(capture_reserve(thread, (64 << 10) + 8));
    assert_null(capture_reserve(thread, TRACE_MAX_RECORD_BYTES + 8));
    assert_string_equal(hal_message(), before);
    assert_null(capture_enter(&stream));
    assert_fails(capture_stream_close(&stream), HAL_UNSUPPORTED, "4194312 bytes");
    hal_log_set_level(HAL_LOG_WARN);
}

/* What belongs together can ask first: who can get a larger ring has it then, and where all memory
 * is given out the answer is no, before anything is published. */
TEST(room_for_the_largest_record_can_be_had_in_advance)
{
    struct capture_stream stream;
    struct crowd first, others[2];
    hal_log_set_level(HAL_LOG_ERROR);
    for (unsigned full = 0; full < 2; full++) {
        open_stream(&stream, 256 << 10);
        gather(&first, &stream, 1, 1);
        struct capture_thread *thread = capture_enter(&stream);
        const uint64_t before = thread->ring->bytes;
        /* 256 * 64 KiB are 16 MiB. */
        gather(&others[0], &stream, full ? MANY_THREADS : 1, 1);
        gather(&others[1], &stream, full ? 254 - MANY_THREADS : 1, 1);
        const bool holds = capture_can_hold(thread, 100 << 10);
        const uint64_t after = thread->ring->bytes;
        dismiss(&others[0]);
        dismiss(&others[1]);
        dismiss(&first);
        assert_int_equal(others[0].refused + others[1].refused, 0);
        assert_int_equal(before, 64 << 10);
        assert_int_equal(holds, !full);
        assert_int_equal(after, full ? 64 << 10 : 128 << 10);
        if (full)
            assert_fails(capture_stream_close(&stream), HAL_NO_MEMORY, "record of 102400 bytes");
        else
            assert_ok(capture_stream_close(&stream));
        unlink(path);
    }
    hal_log_set_level(HAL_LOG_WARN);
}

/* Even where all rings are small and in use: two threads can have it at once. */
TEST(the_largest_record_fits_beside_the_smallest_rings)
{
    struct capture_stream stream;
    struct crowd others;
    open_stream(&stream, CAPTURE_LEAST_RING_BYTES);
    struct capture_thread *thread = capture_enter(&stream);
    gather(&others, &stream, MOST_THREADS - 1, 1);
    assert_true(capture_can_hold(thread, TRACE_MAX_RECORD_BYTES));
    assert_non_null(capture_reserve(thread, TRACE_MAX_RECORD_BYTES));
    dismiss(&others);
    assert_int_equal(others.refused, 0);
    assert_ok(capture_stream_close(&stream));
}

/* ---- Forks ---- */

TEST(a_forked_child_does_not_record)
{
    struct capture_stream stream;
    struct captured captured;
    int status;
    open_stream(&stream, 1 << 20);
    assert_true(record(&stream, TRACE_SEMAPHORE_SIGNAL, 1));
    assert_false(capture_stream_forked(&stream));
    const pid_t child = fork();
    if (child == 0) {
        const bool right = capture_stream_forked(&stream) && !capture_enter(&stream) &&
                           !record(&stream, TRACE_SEMAPHORE_SIGNAL, 2);
        _exit(right ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(record(&stream, TRACE_SEMAPHORE_SIGNAL, 3));
    assert_ok(capture_stream_close(&stream));
    captured_open(&captured, path);
    assert_int_equal(captured_count(&captured, TRACE_SEMAPHORE_SIGNAL), 2);
    captured_close(&captured);
}

TEST_FIXTURE(NULL, remove_trace);
TEST_SUITE_FIXTURE(make_trace_folder, remove_folder);
