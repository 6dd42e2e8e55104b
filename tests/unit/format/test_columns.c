/* SPDX-License-Identifier: Apache-2.0 */
/* format/columns/columns.c, format/base/arena.c: messages that no writer of ours would make. The
 * messages are filled by hand, packed, and decoded as if they came from a file. */
#include "format/columns/columns.h"
#include "format/container/frames.h"
#include "format/limits.h"
#include "format/trace.h"
#include "tests/support/random_records.h"
#include "tests/support/test.h"

#include <unistd.h>

/* Numbers up to 9 exist. */
static bool resolve_digits(void *user, enum trace_reference reference, uint64_t *number)
{
    (void)user;
    (void)reference;
    return *number < 10;
}

static enum hal_status decode_bytes(const struct trace_family *family,
                                    const ProtobufCMessageDescriptor *descriptor, const void *data,
                                    size_t bytes, struct trace_bytes *records, size_t *out_count)
{
    struct trace_arena arena;
    ProtobufCMessage *message;
    trace_arena_init(&arena, TRACE_MAX_DECODE_BYTES);
    enum hal_status status = trace_message_unpack(descriptor, data, bytes, &arena, &message);
    if (status == HAL_OK)
        status = trace_columns_decode(family, message, &arena,
                                      &(struct trace_resolver){resolve_digits, NULL}, records,
                                      out_count);
    trace_arena_finish(&arena);
    return status;
}

static enum hal_status decode_chunk(const Haltrace__Chunk *chunk, struct trace_bytes *records)
{
    const size_t bytes = haltrace__chunk__get_packed_size(chunk);
    uint8_t *packed = malloc(bytes + 1);
    size_t count;
    haltrace__chunk__pack(chunk, packed);
    const enum hal_status status = decode_bytes(&trace_event_family, &haltrace__chunk__descriptor,
                                                packed, bytes, records, &count);
    free(packed);
    return status;
}

static enum hal_status decode_segments(const Haltrace__Segments *segments,
                                       struct trace_bytes *records)
{
    const size_t bytes = haltrace__segments__get_packed_size(segments);
    uint8_t *packed = malloc(bytes + 1);
    size_t count;
    haltrace__segments__pack(segments, packed);
    const enum hal_status status = decode_bytes(
        &trace_segment_family, &haltrace__segments__descriptor, packed, bytes, records, &count);
    free(packed);
    return status;
}

/* Two submissions: one waits for (7, 100), both run command buffer 5. */
struct two_submits {
    Haltrace__Chunk chunk;
    Haltrace__Submit submit;
    Haltrace__EventKind kinds[2];
    int64_t submission[2], begin[2], wait_semaphore[2], wait_value[2], buffer[2];
    uint64_t queue[2], wait_count[2], buffer_count[2], stack[2];
};

static void make_submits(struct two_submits *s)
{
    memset(s, 0, sizeof *s);
    haltrace__chunk__init(&s->chunk);
    haltrace__submit__init(&s->submit);
    s->kinds[0] = s->kinds[1] = HALTRACE__EVENT_KIND__SUBMIT;
    s->chunk.n_kind = 2;
    s->chunk.kind = s->kinds;
    s->begin[0] = 1000;
    s->begin[1] = -1;
    s->chunk.n_begin_ns = 2;
    s->chunk.begin_ns = s->begin;
    s->submission[0] = s->submission[1] = 1;
    s->submit.n_submission = 2;
    s->submit.submission = s->submission;
    s->queue[1] = 3;
    s->submit.n_queue = 2;
    s->submit.queue = s->queue;
    s->wait_count[0] = 1;
    s->submit.n_wait_count = 2;
    s->submit.wait_count = s->wait_count;
    s->buffer_count[0] = s->buffer_count[1] = 1;
    s->submit.n_command_buffer_count = 2;
    s->submit.command_buffer_count = s->buffer_count;
    s->wait_semaphore[0] = 7;
    s->submit.n_wait_semaphore = 1;
    s->submit.wait_semaphore = s->wait_semaphore;
    s->wait_value[0] = 100;
    s->submit.n_wait_value = 1;
    s->submit.wait_value = s->wait_value;
    s->buffer[0] = 5;
    s->submit.n_command_buffer = 2;
    s->submit.command_buffer = s->buffer;
    s->chunk.submit = &s->submit;
}

TEST(columns_mean_what_the_document_says)
{
    struct two_submits s;
    struct trace_bytes records = {0};
    make_submits(&s);
    assert_int_equal(decode_chunk(&s.chunk, &records), HAL_OK);
    const struct trace_submit *first = (const void *)records.data;
    assert_int_equal(first->head.kind, TRACE_SUBMIT);
    assert_int_equal(first->head.bytes, sizeof *first + 16 + 8);
    assert_int_equal(first->head.begin_ns, 1000);
    assert_int_equal(first->head.end_ns, 1000); /* no duration column: zeros */
    assert_int_equal(first->head.ticket, 0);
    assert_int_equal(first->submission, 1);
    assert_int_equal(first->wait_count, 1);
    assert_int_equal(first->values[0].semaphore, 7);
    assert_int_equal(first->values[0].value, 100);
    assert_int_equal(trace_submit_command_buffers(first)[0], 5);
    const struct trace_submit *second = (const void *)trace_next_event(&first->head);
    assert_int_equal(second->head.begin_ns, 999);
    assert_int_equal(second->submission, 2); /* a difference */
    assert_int_equal(second->queue, 3);      /* a value */
    assert_int_equal(second->wait_count, 0);
    assert_int_equal(trace_submit_command_buffers(second)[0], 5);
    assert_int_equal(records.count, first->head.bytes + second->head.bytes);
    free(records.data);
}

static void expect_refused(const struct two_submits *s, enum hal_status expected, const char *text)
{
    struct trace_bytes records = {0};
    assert_int_equal(decode_chunk(&s->chunk, &records), expected);
    if (!strstr(hal_message(), text))
        fail_msg("'%s' does not say '%s'", hal_message(), text);
    free(records.data);
}

TEST(lengths_must_agree)
{
    struct two_submits s;
    make_submits(&s);
    s.chunk.n_begin_ns = 1;
    expect_refused(&s, HAL_CORRUPT, "begin_ns has 1 value, expected 2");
    make_submits(&s);
    s.submit.n_queue = 1;
    expect_refused(&s, HAL_CORRUPT, "queue has 1 value, expected 2");
    make_submits(&s);
    s.submit.n_wait_count = 1;
    expect_refused(&s, HAL_CORRUPT, "wait_count has 1 value, expected 2");
    make_submits(&s);
    s.submit.n_wait_value = 2;
    expect_refused(&s, HAL_CORRUPT, "wait_value has 2 values, expected 1");
    make_submits(&s);
    s.wait_count[1] = 1; /* two waits, one value each */
    expect_refused(&s, HAL_CORRUPT, "wait_semaphore has 1 value, expected 2");
    make_submits(&s);
    s.chunk.submit = NULL;
    expect_refused(&s, HAL_CORRUPT, "no columns");
    make_submits(&s);
    Haltrace__WaitIdle idle = HALTRACE__WAIT_IDLE__INIT;
    s.chunk.wait_idle = &idle;
    expect_refused(&s, HAL_CORRUPT, "wait_idle: 0 records, but there are columns");
}

TEST(values_must_fit)
{
    struct two_submits s;
    make_submits(&s);
    s.queue[1] = 1ull << 32;
    expect_refused(&s, HAL_CORRUPT, "queue needs more than 32 bits");
    make_submits(&s);
    uint64_t status[2] = {0, 65536};
    s.chunk.n_status = 2;
    s.chunk.status = status;
    expect_refused(&s, HAL_CORRUPT, "status needs more than 16 bits");
    make_submits(&s);
    s.wait_count[0] = TRACE_MAX_LIST + 1;
    expect_refused(&s, HAL_CORRUPT, "the limit is 65536");
    make_submits(&s);
    s.wait_count[0] = UINT64_MAX;
    expect_refused(&s, HAL_CORRUPT, "the limit is 65536");
}

TEST(kinds_and_numbers_must_be_known)
{
    struct two_submits s;
    make_submits(&s);
    s.kinds[1] = (Haltrace__EventKind)63;
    expect_refused(&s, HAL_VERSION, "unknown kind 63");
    make_submits(&s);
    s.kinds[1] = (Haltrace__EventKind)TRACE_STRING;
    expect_refused(&s, HAL_VERSION, "unknown kind 64");
    make_submits(&s);
    s.kinds[1] = (Haltrace__EventKind)-1;
    expect_refused(&s, HAL_VERSION, "unknown kind");
    make_submits(&s);
    s.stack[1] = 10;
    s.chunk.n_stack = 2;
    s.chunk.stack = s.stack;
    expect_refused(&s, HAL_CORRUPT, "stack number 10 does not exist");
    s.stack[1] = 9;
    struct trace_bytes records = {0};
    assert_int_equal(decode_chunk(&s.chunk, &records), HAL_OK);
    free(records.data);
}

TEST(bytes_must_be_all_used)
{
    uint8_t data[5] = {1, 2, 3, 4, 5};
    uint64_t sizes[2] = {2, 3};
    Haltrace__SegmentKind kinds[2] = {HALTRACE__SEGMENT_KIND__UPDATE,
                                      HALTRACE__SEGMENT_KIND__UPDATE};
    Haltrace__Update update = HALTRACE__UPDATE__INIT;
    Haltrace__Segments segments = HALTRACE__SEGMENTS__INIT;
    struct trace_bytes records = {0};
    segments.n_kind = 2;
    segments.kind = kinds;
    segments.update = &update;
    update.n_size = 2;
    update.size = sizes;
    update.data = (ProtobufCBinaryData){5, data};
    assert_int_equal(decode_segments(&segments, &records), HAL_OK);
    const struct trace_update *first = (const void *)records.data;
    const struct trace_update *second = (const void *)trace_next_segment(&first->head);
    assert_int_equal(first->head.bytes, sizeof *first + 8);
    assert_memory_equal(first->data, data, 2);
    assert_memory_equal(second->data, data + 2, 3);
    update.data.len = 4;
    assert_int_equal(decode_segments(&segments, &records), HAL_CORRUPT);
    assert_non_null(
        strstr(hal_message(), "4 bytes of data are too few")); /* before they are read */
    update.data.len = 5;
    sizes[1] = 2;
    assert_int_equal(decode_segments(&segments, &records), HAL_CORRUPT);
    sizes[1] = TRACE_MAX_UPDATE_BYTES + 1;
    assert_int_equal(decode_segments(&segments, &records), HAL_CORRUPT);
    free(records.data);
}

/* A few bytes of input must not become gigabytes of records: columns of zeros may be absent. */
TEST(small_messages_cannot_take_much_memory)
{
    const size_t count = 12u << 20;
    uint8_t *packed = malloc(count + 64);
    size_t at = 0, made;
    packed[at++] = 2 << 3 | 2; /* Chunk.kind */
    for (size_t value = count;; value >>= 7) {
        packed[at++] = (uint8_t)(value >= 0x80 ? value | 0x80 : value);
        if (value < 0x80)
            break;
    }
    memset(packed + at, TRACE_EXECUTABLE_CREATE, count);
    at += count;
    packed[at++] = 0xEA; /* Chunk.executable_create: empty */
    packed[at++] = 0x01;
    packed[at++] = 0;
    struct trace_bytes records = {0};
    assert_int_equal(decode_bytes(&trace_event_family, &haltrace__chunk__descriptor, packed, at,
                                  &records, &made),
                     HAL_CORRUPT);
    assert_true(records.capacity <= TRACE_MAX_DECODE_BYTES);
    free(packed);
    free(records.data);

    /* Empty submessages, which protobuf-c would give 100 bytes each. */
    struct trace_arena arena;
    ProtobufCMessage *message;
    uint8_t *notes = malloc(2u << 20);
    for (size_t i = 0; i < 2u << 20; i += 2) {
        notes[i] = 1 << 3 | 2; /* Index.note */
        notes[i + 1] = 0;
    }
    trace_arena_init(&arena, 64u << 20);
    assert_int_equal(
        trace_message_unpack(&haltrace__index__descriptor, notes, 2u << 20, &arena, &message),
        HAL_CORRUPT);
    trace_arena_finish(&arena);
    free(notes);
}

TEST(unknown_fields_below_1000_need_a_newer_reader)
{
    size_t count;
    struct trace_bytes records = {0};
    static const uint8_t required[] = {0xB8, 0x3E, 1}; /* field 999, number 1 */
    static const uint8_t optional[] = {0xC8, 0x3E, 1}; /* field 1001 */
    static const uint8_t inside[] = {0x10, 20, 0xC2, 0x02, 3, 0xB8, 0x3E, 1}; /* in Submit */
    assert_int_equal(decode_bytes(&trace_event_family, &haltrace__chunk__descriptor, required, 3,
                                  &records, &count),
                     HAL_VERSION);
    assert_non_null(strstr(hal_message(), "999"));
    assert_int_equal(decode_bytes(&trace_event_family, &haltrace__chunk__descriptor, optional, 3,
                                  &records, &count),
                     HAL_OK);
    assert_int_equal(count, 0);
    assert_int_equal(decode_bytes(&trace_event_family, &haltrace__chunk__descriptor, inside,
                                  sizeof inside, &records, &count),
                     HAL_VERSION);
    free(records.data);

    uint8_t top[] = {0xBA, 0x3E, 1, 0, 0xC2, 0x3E, 1, 0, 0xB2, 0x06, 0};
    struct trace_field field;
    struct trace_bytes raw = {.data = top, .count = 4};
    size_t at = 0;
    assert_int_equal(trace_field_next(&raw, &at, &field), HAL_VERSION); /* 999 */
    raw = (struct trace_bytes){.data = top + 4, .count = sizeof top - 4};
    at = 0;
    assert_int_equal(trace_field_next(&raw, &at, &field), HAL_OK); /* 1000 skipped, then 102 */
    assert_int_equal(field.number, 102);
    assert_int_equal(trace_field_next(&raw, &at, &field), HAL_NOT_FOUND);
}

/* Random bytes, and random changes of good messages: anything but a crash. */
TEST(noise_is_survived)
{
    const uint64_t seed = 4;
    print_message("seed %llu\n", (unsigned long long)seed);
    struct random_records r = {.state = seed, .next_ticket = 1, .now_ns = 1};
    for (uint32_t kind = TRACE_BUFFER_CREATE; kind <= RANDOM_LAST_EVENT; kind++) {
        if (kind != TRACE_COMMAND_BUFFER_SEAL)
            random_event(&r, kind, 0);
    }
    struct trace_arena arena;
    trace_arena_init(&arena, SIZE_MAX);
    Haltrace__Chunk chunk = HALTRACE__CHUNK__INIT;
    assert_int_equal(
        trace_columns_encode(&trace_event_family, r.data, r.event_count, &arena, &chunk), HAL_OK);
    const size_t bytes = haltrace__chunk__get_packed_size(&chunk);
    uint8_t *good = malloc(bytes), *bad = malloc(bytes);
    haltrace__chunk__pack(&chunk, good);
    size_t accepted = 0;
    for (int round = 0; round < 20000; round++) {
        size_t count;
        struct trace_bytes records = {0};
        memcpy(bad, good, bytes);
        for (uint64_t changes = 1 + random_below(&r, 3); changes-- > 0;)
            bad[random_below(&r, bytes)] = (uint8_t)random_number(&r);
        accepted += decode_bytes(&trace_event_family, &haltrace__chunk__descriptor, bad, bytes,
                                 &records, &count) == HAL_OK;
        free(records.data);
    }
    assert_in_range(accepted, 1, 19999);
    trace_arena_finish(&arena);
    random_finish(&r);
    free(good);
    free(bad);
}

TEST(numbers_that_nobody_defined)
{
    char path[] = "/tmp/haltrace-columns-XXXXXX";
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    static const struct trace_header header = {.program = "x"};
    const struct trace_writer_options options = {.path = path, .force = true};
    struct trace_scope scope = {.head = {.kind = TRACE_SCOPE_BEGIN, .bytes = sizeof scope},
                                .name = 77};
    struct trace_content_event access = {.head = {.kind = TRACE_HOST_READ, .bytes = sizeof access},
                                         .content = 1};
    const void *records[] = {&scope, &access};
    const char *const texts[] = {"string number 77", "content number 1"};
    for (int i = 0; i < 2; i++) {
        struct trace_writer *writer;
        struct trace_reader *reader;
        struct trace_chunk chunk;
        assert_int_equal(trace_writer_open(&options, &header, &writer), HAL_OK);
        assert_int_equal(trace_writer_records(writer, 0, records[i],
                                              ((const struct trace_event *)records[i])->bytes),
                         HAL_OK);
        assert_int_equal(trace_writer_close(writer, NULL), HAL_OK);
        assert_int_equal(trace_reader_open(path, &reader), HAL_OK);
        assert_int_equal(trace_reader_chunk(reader, 0, &chunk), HAL_CORRUPT);
        assert_non_null(strstr(hal_message(), texts[i]));
        trace_reader_close(reader);
    }
    unlink(path);
}

/* A record in memory: whole, cut off, with a list that is longer than any may be. */
TEST(records_must_be_whole)
{
    enum { MANY = TRACE_MAX_STACK_FRAMES + 1 };
    union {
        struct trace_stack record;
        uint8_t bytes[sizeof(struct trace_stack) + MANY * sizeof(uint64_t)];
    } stack;
    memset(&stack, 0, sizeof stack);
    stack.record.head.kind = TRACE_STACK;
    stack.record.id = 1;
    for (uint32_t count = MANY - 1; count <= MANY; count++) {
        const size_t bytes = sizeof stack.record + count * sizeof(uint64_t);
        stack.record.head.bytes = (uint32_t)bytes;
        stack.record.frame_count = count;
        assert_int_equal(trace_record_check(&trace_table_family, &stack, bytes),
                         count < MANY ? HAL_OK : HAL_CORRUPT);
        assert_int_equal(trace_record_check(&trace_table_family, &stack, bytes - 8), HAL_CORRUPT);
        assert_int_equal(trace_record_check(&trace_table_family, &stack, 8), HAL_CORRUPT);
    }
    stack.record.frame_count = 1; /* fewer than it has bytes for */
    assert_int_equal(trace_record_check(&trace_table_family, &stack, sizeof stack), HAL_CORRUPT);
}

TEST(arenas_keep_their_limit)
{
    struct trace_arena arena;
    trace_arena_init(&arena, 1000);
    uint8_t *first = trace_arena_alloc(&arena, 600);
    assert_non_null(first);
    memset(first, 1, 600);
    assert_null(trace_arena_alloc(&arena, 401));
    uint8_t *second = trace_arena_alloc(&arena, 400);
    assert_non_null(second);
    assert_int_equal((uintptr_t)second % 16, 0);
    memset(second, 2, 400);
    assert_int_equal(first[599], 1);
    assert_null(trace_arena_alloc(&arena, 1));
    assert_null(trace_arena_array(&arena, SIZE_MAX / 2, 4));
    trace_arena_reset(&arena);
    assert_non_null(trace_arena_alloc(&arena, 1000));
    trace_arena_finish(&arena);
}
