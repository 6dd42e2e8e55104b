/* SPDX-License-Identifier: Apache-2.0 */
/* hal/drivers/metal on a Metal that fails now and then (HOST_METAL says how): whatever fails is
 * told, by a failed call or a failed semaphore, what is not told is right, and nothing hangs. */
#include "tests/support/hal_fixture.h"

/* So large that a buffer has memory of its own: where a heap fails, the driver tries another way.
 */
enum { ROUNDS = 60, WORDS = 40000 };

static const int64_t timeout_ns = 60000000000;

struct counts {
    unsigned good, refused, failed;
    unsigned named; /* failures that say which encoder it was */
};

static bool has_mode(const char *word)
{
    const char *modes = getenv("HOST_METAL");
    return modes && strstr(modes, word);
}

static void assert_told(enum hal_status status)
{
    assert_int_not_equal(status, HAL_TIMEOUT);
    assert_int_not_equal(status, HAL_OK);
    assert_true(strlen(hal_message()) > 0);
}

/* What was signalled has happened. */
static void check_result(struct hal_buffer *buffer, uint32_t wanted, struct counts *counts)
{
    uint32_t words[WORDS];
    if (hal_buffer_read(buffer, 0, words, sizeof words) != HAL_OK) {
        counts->refused++;
        return;
    }
    for (size_t i = 0; i < WORDS; i++)
        assert_int_equal(words[i], wanted);
    counts->good++;
}

/* Two submissions, of which the second copies what the first has filled. */
static void run_pair(struct hal_device *device, struct hal_buffer *first, struct hal_buffer *second,
                     uint32_t value, struct counts *counts)
{
    struct hal_semaphore *filled = fixture_semaphore(device, "filled", 0);
    struct hal_semaphore *copied = fixture_semaphore(device, "copied", 0);
    struct hal_command_buffer *fill = fixture_commands(device, "fill", HAL_ONE_SHOT);
    struct hal_command_buffer *copy = fixture_commands(device, "copy", HAL_ONE_SHOT);
    assert_ok(hal_command_fill(fill, first, 0, WORDS * 4, value, 4));
    assert_ok(hal_command_copy(copy, first, 0, second, 0, WORDS * 4));
    assert_ok(hal_command_buffer_end(fill));
    assert_ok(hal_command_buffer_end(copy));
    assert_ok(fixture_submit(device, copy, filled, 1, copied, 1));
    assert_ok(fixture_submit(device, fill, NULL, 0, filled, 1));
    const enum hal_status status = hal_semaphore_wait(copied, 1, timeout_ns);
    if (status == HAL_OK) {
        check_result(second, value, counts);
    } else {
        assert_told(status);
        counts->failed++;
        if (strstr(hal_message(), "its commands")) {
            assert_non_null(strstr(hal_message(), "(encoder 1 of 1, 'command buffer '"));
            assert_true(strstr(hal_message(), "command buffer 'fill' (encoder") ||
                        strstr(hal_message(), "command buffer 'copy' (encoder"));
            counts->named++;
        }
    }
    uint64_t reached;
    if (hal_semaphore_query(filled, &reached) != HAL_OK) /* then the second failed, too */
        assert_int_not_equal(status, HAL_OK);
    hal_command_buffer_release(copy);
    hal_command_buffer_release(fill);
    hal_semaphore_release(copied);
    hal_semaphore_release(filled);
}

static bool try_buffer(struct hal_device *device, uint32_t memory, struct hal_buffer **out_buffer)
{
    const struct hal_buffer_desc desc = {.label = "words", .bytes = WORDS * 4, .memory = memory};
    const enum hal_status status = hal_buffer_create(device, &desc, out_buffer);
    if (status == HAL_OK)
        return true;
    assert_int_equal(status, HAL_NO_MEMORY);
    assert_non_null(strstr(hal_message(), "words"));
    return false;
}

TEST(failures_are_told)
{
    struct counts counts = {0};
    struct hal_device *device = fixture_device("metal?queues=2");
    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct hal_buffer *first = NULL, *second = NULL;
        if (try_buffer(device, HAL_MEMORY_DEVICE_LOCAL, &first) &&
            try_buffer(device, HAL_MEMORY_DEVICE_LOCAL | HAL_MEMORY_HOST_VISIBLE, &second))
            run_pair(device, first, second, i * 2654435761U, &counts);
        else
            counts.refused++;
        assert_ok(hal_device_wait_idle(device, timeout_ns));
        hal_buffer_release(second);
        hal_buffer_release(first);
    }
    hal_device_release(device);
    print_message("%u good, %u refused, %u failed\n", counts.good, counts.refused, counts.failed);
    assert_true(counts.good > 0);
    assert_true(counts.refused + counts.failed > 0);
    assert_true(counts.named > 0 || !has_mode("fail-command-buffers"));
}

/* ---- A chain over two queues, all of it submitted at once --------------------------------------
 */

enum { LINKS = 100, VALUE = 0x5eed };

/* Link i waits for the one before and copies word i to word i + 1. */
static enum hal_status submit_link(struct hal_device *device, struct hal_buffer *words, uint64_t i,
                                   struct hal_semaphore *const links[])
{
    struct hal_command_buffer *copy = fixture_commands(device, "link", HAL_ONE_SHOT);
    assert_ok(hal_command_copy(copy, words, i * 4, words, (i + 1) * 4, 4));
    enum hal_status status = hal_command_buffer_end(copy);
    const struct hal_semaphore_value wait = {i ? links[i - 1] : NULL, 1}, signal = {links[i], 1};
    if (status == HAL_OK)
        status = hal_queue_submit(device, &(struct hal_submit_desc){.queues = (uint64_t)1 << i % 2,
                                                                    .waits = &wait,
                                                                    .wait_count = i ? 1 : 0,
                                                                    .signals = &signal,
                                                                    .signal_count = 1,
                                                                    .commands = &copy,
                                                                    .command_count = 1});
    hal_command_buffer_release(copy);
    return status;
}

/* Links up to `given` were taken. One of them fails, and behind it all do: none is left waiting,
 * none goes on. What the others say is done is done. */
static void check_chain(struct hal_buffer *words, struct hal_semaphore *const links[], size_t given)
{
    uint32_t values[LINKS + 1];
    size_t broken = given;
    for (size_t i = 0; i < given; i++) {
        const enum hal_status status = hal_semaphore_wait(links[i], 1, timeout_ns);
        if (status != HAL_OK)
            assert_told(status);
        if (status != HAL_OK && broken == given)
            broken = i;
        if (status == HAL_OK && i > broken)
            fail_msg("link %zu is done, and link %zu before it has failed", i, broken);
    }
    if (has_mode("fail-command-buffers") && given == LINKS)
        assert_true(broken < LINKS);
    if (!getenv("HOST_METAL"))
        assert_int_equal(broken, LINKS);
    if (hal_buffer_read(words, 0, values, sizeof values) != HAL_OK)
        return; /* also a command buffer, on a device whose memory is its own */
    for (size_t i = 0; i <= broken; i++)
        assert_int_equal(values[i], VALUE);
    print_message("%zu of %zu links\n", broken, given);
}

TEST(a_chain_breaks_at_one_place)
{
    static const uint32_t first = VALUE;
    struct hal_device *device = fixture_device("metal?queues=2");
    struct hal_semaphore *links[LINKS];
    struct hal_buffer *words = NULL;
    size_t given = 0;
    const struct hal_buffer_desc desc = {.label = "words",
                                         .bytes = (LINKS + 1) * 4,
                                         .memory =
                                             HAL_MEMORY_DEVICE_LOCAL | HAL_MEMORY_HOST_VISIBLE};
    for (size_t i = 0; i < LINKS; i++)
        links[i] = fixture_semaphore(device, "link", 0);
    while (!words && hal_buffer_create(device, &desc, &words) != HAL_OK)
        assert_told(HAL_NO_MEMORY);
    while (hal_buffer_write(words, 0, &first, sizeof first) != HAL_OK)
        assert_told(HAL_FAILED);
    while (given < LINKS && submit_link(device, words, given, links) == HAL_OK)
        given++;
    check_chain(words, links, given);
    assert_ok(hal_device_wait_idle(device, timeout_ns));
    hal_buffer_release(words);
    for (size_t i = 0; i < LINKS; i++)
        hal_semaphore_release(links[i]);
    hal_device_release(device);
}
