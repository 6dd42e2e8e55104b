/* SPDX-License-Identifier: Apache-2.0 */
/* capture/stream/copier.c and the storing of contents: the application's copy and the file's are
 * both what was to be stored, whoever copied them. */
#include "capture/capture.h"

#include "tests/support/captured.h"
#include "tests/support/hal_fixture.h"
#include "tests/support/trace_folder.h"

#include "hal/base/os.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { STAGING_BYTES = 4 << 20, MOST_BYTES = 9 << 20, STORES = 6, THREADS = 3 };

static void open_stream(struct capture_stream *stream, uint32_t threads)
{
    struct trace_writer *writer;
    const struct capture_stream_options options = {.destination = path,
                                                   .sidecar_folder = folder.path,
                                                   .start_ns = hal_clock_ns(),
                                                   .staging_bytes = STAGING_BYTES,
                                                   .ring_bytes = 1 << 20};
    const struct trace_header header = {.writer = "test", .program = "test", .mode = "queue"};
    assert_ok(capture_stream_open(stream, &options));
    stream->copier.thread_limit = threads; /* however many processors there are */
    assert_ok(trace_writer_open(&(struct trace_writer_options){.path = path}, &header, &writer));
    assert_ok(capture_stream_start(stream, writer));
}

/* What one thread stores: each content into a buffer of its own. */
struct storer {
    struct capture_stream *stream;
    pthread_t thread;
    uint64_t first_buffer;
    uint64_t bytes[STORES];
    uint8_t *data[STORES];
};

static uint8_t *random_bytes(uint64_t bytes, uint64_t *random)
{
    uint8_t *data = malloc(bytes);
    assert_non_null(data);
    for (uint64_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)(fixture_random(random) >> 24);
    return data;
}

static void make_storer(struct storer *storer, struct capture_stream *stream, unsigned number,
                        uint64_t *random)
{
    static const uint64_t sizes[STORES] = {1,
                                           CAPTURE_COPIER_LEAST_BYTES - 1,
                                           CAPTURE_COPIER_LEAST_BYTES,
                                           CAPTURE_COPIER_LEAST_BYTES + 12345,
                                           STAGING_BYTES + 1,
                                           MOST_BYTES};
    *storer = (struct storer){.stream = stream, .first_buffer = 1 + number * STORES};
    for (unsigned i = 0; i < STORES; i++) {
        storer->bytes[i] = sizes[(i + number) % STORES];
        storer->data[i] = random_bytes(storer->bytes[i], random);
    }
}

static void store(struct capture_stream *stream, uint64_t buffer, const uint8_t *data,
                  uint64_t bytes, uint8_t *target)
{
    struct capture_thread *thread = capture_enter(stream);
    assert_non_null(thread);
    capture_record_store(
        thread,
        &(struct capture_content){
            .kind = TRACE_HOST_WRITE, .buffer = buffer, .bytes = bytes, .data = data},
        target);
}

static void *store_all(void *argument)
{
    const struct storer *storer = argument;
    uint8_t *target = malloc(MOST_BYTES);
    assert_non_null(target);
    for (unsigned i = 0; i < STORES; i++) {
        capture_copier_expect(storer->stream, storer->bytes[i]);
        store(storer->stream, storer->first_buffer + i, storer->data[i], storer->bytes[i], target);
        assert_memory_equal(target, storer->data[i], storer->bytes[i]);
    }
    free(target);
    return NULL;
}

static void check_file(const struct storer *storers)
{
    struct captured captured;
    uint8_t *found = malloc(MOST_BYTES);
    captured_open(&captured, path);
    for (unsigned i = 0; i < THREADS * STORES; i++) {
        const struct storer *storer = &storers[i / STORES];
        const uint64_t bytes = storer->bytes[i % STORES];
        assert_int_not_equal(
            captured_replay(&captured, TRACE_HOST_WRITE, 1 + i, UINT64_MAX, found, bytes), 0);
        assert_memory_equal(found, storer->data[i % STORES], bytes);
    }
    captured_close(&captured);
    free(found);
}

static void store_with_threads(uint32_t threads)
{
    struct capture_stream stream;
    struct storer storers[THREADS];
    uint64_t random = fixture_seed();
    open_stream(&stream, threads);
    for (unsigned i = 0; i < THREADS; i++)
        make_storer(&storers[i], &stream, i, &random);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&storers[i].thread, NULL, store_all, &storers[i]), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(storers[i].thread, NULL);
    assert_int_equal(stream.copier.thread_count, threads);
    assert_ok(capture_stream_close(&stream));
    check_file(storers);
    for (unsigned i = 0; i < THREADS * STORES; i++)
        free(storers[i / STORES].data[i % STORES]);
}

/* The staging memory is smaller than what they store: copies wait for the writer, too. */
TEST(threads_that_share_a_copier_store_and_record_the_same)
{
    store_with_threads(1);
    unlink(path);
    store_with_threads(CAPTURE_COPIER_MOST_THREADS);
}

TEST(so_do_threads_without_one)
{
    store_with_threads(0);
}

/* Nobody but the copier's thread takes a part here. */
TEST(the_thread_copies_without_help)
{
    struct capture_stream stream;
    uint64_t random = fixture_seed(), position = 0, other = 0;
    uint8_t *data = random_bytes(CAPTURE_COPIER_LEAST_BYTES, &random);
    open_stream(&stream, 1);
    assert_false(capture_copier_begin(&stream, data, CAPTURE_COPIER_LEAST_BYTES - 1, &position));
    assert_true(capture_copier_begin(&stream, data, CAPTURE_COPIER_LEAST_BYTES, &position));
    assert_false(capture_copier_begin(&stream, data, CAPTURE_COPIER_LEAST_BYTES, &other));
    assert_int_equal(other, 0);
    while (atomic_load(&stream.copier.next) < CAPTURE_COPIER_LEAST_BYTES)
        sched_yield();
    assert_true(capture_copier_finish(&stream));
    assert_memory_equal(capture_staging_at(&stream.staging, position), data,
                        CAPTURE_COPIER_LEAST_BYTES);
    assert_true(capture_copier_begin(&stream, data, CAPTURE_COPIER_LEAST_BYTES, &other));
    assert_true(capture_copier_finish(&stream));
    assert_ok(capture_stream_close(&stream));
    free(data);
}

static void *finish_copy(void *stream)
{
    return capture_copier_finish(stream) ? stream : NULL;
}

/* Nobody takes the content away from a thread that looks at it: here one that only counted itself
 * in. */
TEST(who_is_inside_is_waited_for)
{
    struct capture_stream stream;
    uint64_t random = fixture_seed(), position = 0, other = 0;
    uint8_t *data = random_bytes(CAPTURE_COPIER_LEAST_BYTES, &random);
    pthread_t finisher;
    void *works;
    open_stream(&stream, 1);
    assert_true(capture_copier_begin(&stream, data, CAPTURE_COPIER_LEAST_BYTES, &position));
    const uint32_t open = atomic_load(&stream.copier.state);
    atomic_fetch_add(&stream.copier.inside, 1);
    assert_int_equal(pthread_create(&finisher, NULL, finish_copy, &stream), 0);
    while (atomic_load(&stream.copier.state) == open)
        sched_yield();
    for (unsigned i = 0; i < 1000; i++) {
        assert_false(capture_copier_begin(&stream, data, CAPTURE_COPIER_LEAST_BYTES, &other));
        sched_yield();
    }
    atomic_fetch_sub(&stream.copier.inside, 1);
    hal_word_wake(&stream.copier.inside, INT32_MAX);
    pthread_join(finisher, &works);
    assert_non_null(works);
    assert_ok(capture_stream_close(&stream));
    free(data);
}

/* It would bind the copier's threads as well; another one starts them. */
TEST(a_bound_thread_starts_none)
{
    struct capture_stream stream;
    uint64_t random = fixture_seed(), position = 0;
    uint8_t *data = random_bytes(CAPTURE_COPIER_LEAST_BYTES, &random);
    open_stream(&stream, 1);
    stream.copier.processors++; /* one more than this thread may use */
    assert_false(capture_copier_begin(&stream, data, CAPTURE_COPIER_LEAST_BYTES, &position));
    assert_int_equal(stream.copier.thread_count, 0);
    stream.copier.processors--;
    assert_true(capture_copier_begin(&stream, data, CAPTURE_COPIER_LEAST_BYTES, &position));
    assert_true(capture_copier_finish(&stream));
    assert_ok(capture_stream_close(&stream));
    free(data);
}

/* As the system counts it. */
static uint64_t memory_of(const struct capture_stream *stream)
{
    struct stat info;
    assert_int_equal(fstat(stream->sidecar.object.number, &info), 0);
    return (uint64_t)info.st_blocks * 512;
}

/* What there is more once the threads are joined: in parts of the least size that counts, since the
 * system's own notes of a file are memory, too. */
static uint64_t memory_expected(const struct capture_policy *policy, uint64_t bytes, unsigned count)
{
    struct capture_stream stream;
    open_stream(&stream, 1);
    stream.policy = *policy;
    const uint64_t before = memory_of(&stream);
    for (unsigned i = 0; i < count; i++)
        capture_copier_expect(&stream, bytes);
    while (atomic_load(&stream.copier.prepared) < atomic_load(&stream.copier.expected))
        sched_yield();
    capture_copier_end(&stream);
    const uint64_t after = memory_of(&stream);
    assert_ok(capture_stream_close(&stream));
    unlink(path);
    return (after - before) / CAPTURE_COPIER_LEAST_BYTES;
}

TEST(memory_for_what_is_expected_is_made_ready)
{
    struct capture_policy policy = {0};
    const uint64_t least = CAPTURE_COPIER_LEAST_BYTES;
    assert_int_equal(policy.contents, CAPTURE_BYTES);
    assert_int_equal(memory_expected(&policy, least - 1, 2), 0);
    assert_int_equal(memory_expected(&policy, least, 2), 2);
    assert_int_equal(memory_expected(&policy, STAGING_BYTES - least, 3), STAGING_BYTES / least);
    assert_int_equal(memory_expected(&policy, UINT64_MAX, 2), STAGING_BYTES / least);
    policy.budget_bytes = 2 * least;
    assert_int_equal(memory_expected(&policy, STAGING_BYTES, 1), 2);
    policy.contents = CAPTURE_DIGEST;
    assert_int_equal(memory_expected(&policy, STAGING_BYTES, 1), 0);
}

/* The program's bytes arrive all the same, and the loss is counted. */
TEST(what_cannot_be_recorded_is_stored)
{
    struct capture_stream stream;
    uint64_t random = fixture_seed();
    uint8_t *data = random_bytes(MOST_BYTES, &random), *target = calloc(1, MOST_BYTES);
    open_stream(&stream, 1);
    struct capture_thread *thread = capture_enter(&stream);
    capture_stop(&stream, HAL_IO, "planted");
    capture_record_store(
        thread,
        &(struct capture_content){
            .kind = TRACE_HOST_WRITE, .buffer = 1, .bytes = MOST_BYTES, .data = data},
        target);
    assert_memory_equal(target, data, MOST_BYTES);
    assert_int_equal(atomic_load(&stream.sidecar.header->lost_records), 1);
    assert_int_equal(capture_stream_close(&stream), HAL_IO);
    free(target);
    free(data);
}

/* A piece that the host stored into since the last look is none that it has seen; with the first
 * ticket or a new one, and so are those behind. */
TEST(what_is_stored_into_meanwhile_is_a_change)
{
    enum { PIECES = 4, PIECE = STAGING_BYTES / 8 };
    struct capture_stream stream;
    struct capture_pages pages;
    struct captured captured;
    int object;
    capture_pages_open(&pages);
    if (!pages.works) {
        capture_pages_close(&pages);
        skip();
    }
    assert_ok(hal_shared_memory("test", PIECES * PIECE, &object));
    uint8_t *memory = mmap(NULL, PIECES * PIECE, PROT_READ | PROT_WRITE, MAP_SHARED, object, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    close(object);
    assert_true(capture_pages_watch(&pages, memory, memory + PIECES * PIECE));
    open_stream(&stream, 0);
    memory[0] = memory[3 * PIECE - 1] = 9; /* in the first and in the third one */
    capture_record_content(capture_enter(&stream),
                           &(struct capture_content){.kind = TRACE_HOST_READ,
                                                     .flags = TRACE_FLAG_OBSERVED,
                                                     .buffer = 1,
                                                     .bytes = PIECES * PIECE,
                                                     .data = memory,
                                                     .watched_by = &pages});
    assert_ok(capture_stream_close(&stream));
    capture_pages_unwatch(&pages, memory, memory + PIECES * PIECE);
    capture_pages_close(&pages);
    munmap(memory, PIECES * PIECE);
    captured_open(&captured, path);
    assert_int_equal(captured_count(&captured, TRACE_HOST_READ), 2);
    assert_int_equal(captured_count(&captured, TRACE_MAPPED_CHANGE), 2);
    uint64_t ticket = 0;
    for (size_t i = 0; i < PIECES; i++) {
        const enum trace_event_kind kind = i % 2 ? TRACE_HOST_READ : TRACE_MAPPED_CHANGE;
        const struct trace_content_event *event = captured_find(&captured, kind, i / 2);
        assert_int_equal(event->offset, i * PIECE);
        assert_int_equal(event->size, PIECE);
        assert_true(event->content != 0 && event->head.ticket > ticket);
        ticket = event->head.ticket;
        assert_int_equal(event->flags, i % 2 ? TRACE_FLAG_OBSERVED : 0);
        assert_true(i % 2 ||
                    ((const struct trace_mapped_change *)(const void *)event)->before == 0);
    }
    captured_close(&captured);
}

TEST_FIXTURE(NULL, remove_trace);
TEST_SUITE_FIXTURE(make_trace_folder, remove_folder);
