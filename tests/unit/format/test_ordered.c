/* SPDX-License-Identifier: Apache-2.0 */
/* format/file/ordered.c: events of several threads come in the order of their tickets, also where a
 * call is recorded behind those that were made inside of it. */
#include "format/trace.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"
#include "tests/support/trace_builder.h"

enum { MOST_SEEN = 64, GATE = 5 };

struct seen {
    uint64_t tickets[MOST_SEEN];
    size_t count;
};

static enum hal_status see(void *user, const struct trace_event *event,
                           const struct trace_segment *segments)
{
    struct seen *seen = user;
    (void)segments;
    if (event->ticket)
        seen->tickets[seen->count++] = event->ticket;
    return HAL_OK;
}

/* A signal of the host with that ticket, of that thread. */
static void add(struct trace_builder *b, uint32_t thread, uint64_t ticket)
{
    b->thread = thread;
    b->ticket = ticket;
    builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, GATE, ticket, NULL);
}

static void expect_order(const char *path, size_t count)
{
    struct trace_reader *reader;
    struct seen seen = {.count = 0};
    const struct trace_walk walk = {.visit = see, .user = &seen};
    assert_int_equal(trace_reader_open(path, &reader), HAL_OK);
    assert_int_equal(trace_reader_each_in_order(reader, &walk), HAL_OK);
    trace_reader_close(reader);
    assert_int_equal(seen.count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(seen.tickets[i], i + 1);
}

/* Thread 1 makes calls 4 and 5 inside of call 2, thread 2 call 3 meanwhile. `cut`: after that many
 * records of thread 1 a chunk of it ends. */
TEST(a_call_comes_before_those_inside_of_it)
{
    static const uint64_t recorded[] = {1, 4, 5, 2, 6};
    enum { COUNT = sizeof recorded / sizeof *recorded };
    struct test_folder folder;
    char path[PATH_MAX];
    assert_true(test_folder_make(&folder));
    test_folder_file(&folder, "t.pb.zst", path);
    for (size_t cut = 0; cut <= COUNT; cut++) {
        static struct trace_builder b;
        builder_open(&b, path, NULL);
        for (size_t i = 0; i < COUNT; i++) {
            if (i == cut)
                builder_flush(&b);
            add(&b, 1, recorded[i]);
        }
        add(&b, 2, 3);
        assert_int_equal(builder_close(&b, NULL), HAL_OK);
        expect_order(path, COUNT + 1);
    }
    test_folder_remove(&folder);
}

/* All that a chunk has may belong before what the one before has. */
TEST(a_chunk_may_have_been_overtaken)
{
    struct test_folder folder;
    char path[PATH_MAX];
    static struct trace_builder b;
    assert_true(test_folder_make(&folder));
    test_folder_file(&folder, "t.pb.zst", path);
    builder_open(&b, path, NULL);
    for (uint64_t ticket = 2; ticket <= 9; ticket++)
        add(&b, 1, ticket);
    builder_flush(&b);
    add(&b, 1, 1);
    builder_flush(&b);
    add(&b, 1, 10);
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
    expect_order(path, 10);
    test_folder_remove(&folder);
}
