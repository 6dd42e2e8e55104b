/* SPDX-License-Identifier: Apache-2.0 */
/* replay/variant/order.c and whatif_hazards.c: which pairs of accesses another way to do the work
 * leaves without order. The pairs of each trace are counted by hand, in its comment. */
#include "replay/variant/order.h"
#include "replay/variant/whatif_parts.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"
#include "tests/support/trace_builder.h"

enum { BUFFER = 10, DONE = 30, OTHER = 31, FIRST = 40, KERNEL = 900 };

struct fixture {
    struct test_folder folder;
    char path[PATH_MAX];
    struct trace_builder b;
    struct replay_plan *plan, *variant;
    struct replay_what_if_info info;
    struct replay_what_if_hazards hazards;
};

static int begin(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    *state = f;
    if (!f || !test_folder_make(&f->folder))
        return -1;
    builder_open(&f->b, test_folder_file(&f->folder, "t.pb.zst", f->path), NULL);
    builder_buffer_create(&f->b, BUFFER, "out", 64);
    builder_semaphore_create(&f->b, DONE, "done", 0);
    builder_semaphore_create(&f->b, OTHER, "other", 0);
    return 0;
}

static int end(void **state)
{
    struct fixture *f = *state;
    replay_plan_destroy(f->variant);
    replay_plan_destroy(f->plan);
    test_folder_remove(&f->folder);
    free(f);
    return 0;
}

static const struct trace_semaphore_value none;

#define DONE_AT(n)  ((struct trace_semaphore_value){DONE, (n)})
#define OTHER_AT(n) ((struct trace_semaphore_value){OTHER, (n)})

static void submit(struct fixture *f, uint64_t n, uint32_t queue, struct trace_semaphore_value wait,
                   struct trace_semaphore_value signal)
{
    const uint64_t commands = FIRST + n;
    builder_end_commands(&f->b, commands);
    builder_submit(&f->b, n, queue, builder_values(&wait, wait.semaphore != 0),
                   builder_values(&signal, signal.semaphore != 0), IDS(commands));
    builder_submission_done(&f->b, n, queue, f->b.begin_ns, f->b.begin_ns, f->b.begin_ns + 1);
}

/* Submission n fills [0, 8). */
static void fill(struct fixture *f, uint64_t n, uint32_t queue, struct trace_semaphore_value wait,
                 struct trace_semaphore_value signal)
{
    builder_command_buffer_create(&f->b, FIRST + n, NULL, 0);
    builder_fill(&f->b, BUFFER, 0, 8, (uint32_t)n + 1, 1);
    submit(f, n, queue, wait, signal);
}

static void host_wait(struct fixture *f, struct trace_semaphore_value value)
{
    builder_semaphore_wait(&f->b, HAL_WAIT_ALL, &value, 1, INT64_MAX);
}

static void host_read(struct fixture *f)
{
    static const uint8_t bytes[64];
    builder_host_read(&f->b, BUFFER, 0, bytes, sizeof bytes);
}

static void load(struct fixture *f)
{
    if (builder_close(&f->b, NULL) != HAL_OK ||
        replay_plan_load(f->path, &(struct replay_load_options){0}, &f->plan) != HAL_OK)
        fail_msg("%s", hal_message());
}

static void change(struct fixture *f, struct replay_what_if what_if)
{
    load(f);
    if (replay_plan_what_if(f->plan, &what_if, &f->info, &f->variant) != HAL_OK)
        fail_msg("%s", hal_message());
    assert_true(f->info.changed);
    f->hazards = f->info.hazards;
}

/* The same operations, less the first wait of the host: `dropped` 0: all of them. Submissions stay
 * what they are. */
static void judge(struct fixture *f, size_t dropped)
{
    static const uint32_t places[] = {0, 1, 2, 3, 4, 5, 6, 7};
    size_t waits = 0;
    load(f);
    assert_int_equal(replay_plan_clone(f->plan, &f->variant), HAL_OK);
    for (size_t i = 0; i < f->plan->op_count; i++) {
        const struct replay_op *op = &f->plan->ops[i];
        const bool waiting = op->action == REPLAY_WAIT || op->action == REPLAY_WAIT_IDLE;
        if (!waiting || ++waits != dropped)
            assert_int_equal(replay_plan_emit(f->variant, op), HAL_OK);
    }
    if (replay_what_if_exit_code(f->plan, f->variant, places, &f->hazards) != HAL_OK)
        fail_msg("%s", hal_message());
    assert_false(f->hazards.incomplete);
}

static void expect(const struct fixture *f, uint64_t pairs, uint64_t together, uint64_t lost,
                   uint64_t unordered)
{
    const struct replay_what_if_hazards *h = &f->hazards;
    assert_int_equal(h->pairs, pairs);
    assert_int_equal(h->together, together);
    assert_int_equal(h->lost, lost);
    assert_int_equal(h->unordered, unordered);
    assert_false(h->incomplete);
}

/* ---- Changes ---- */

/* #s0 and #s1, #s1 and #s2, #s2 and the read. */
TEST_ON(what_becomes_one_submission_keeps_its_order, struct fixture *f)
{
    for (uint64_t n = 0; n < 3; n++) {
        fill(f, n, 0, none, DONE_AT(n + 1));
        host_wait(f, DONE_AT(n + 1));
    }
    host_read(f);
    change(f, (struct replay_what_if){.coalesce_submissions = true});
    assert_int_equal(f->info.after.submissions, 1);
    expect(f, 3, 2, 0, 0);
}

/* #s0 and #s1, #s1 and the host's write, #s1 and #s2, the write and #s2 (which fills the same), #s2
 * and the read, and what is left of the host's write and the read. */
TEST_ON(dropped_waits_that_queues_keep_lose_nothing, struct fixture *f)
{
    fill(f, 0, 0, none, DONE_AT(1));
    host_wait(f, DONE_AT(1));
    fill(f, 1, 1, none, DONE_AT(2));
    host_wait(f, DONE_AT(2));
    builder_host_write(&f->b, BUFFER, 4, "12345678", 8);
    fill(f, 2, 0, none, DONE_AT(3));
    host_wait(f, DONE_AT(3));
    host_read(f);
    change(f, (struct replay_what_if){.drop_host_waits = true});
    assert_int_equal(f->info.before.host_waits - f->info.after.host_waits, 1);
    expect(f, 6, 0, 0, 0);
}

/* Nothing orders #s0: not with #s1, which fills the same on its queue, nor with the read. */
TEST_ON(what_nothing_orders_may_leave_its_queue, struct fixture *f)
{
    fill(f, 0, 0, none, none);
    fill(f, 1, 0, none, DONE_AT(1));
    host_wait(f, DONE_AT(1));
    host_read(f);
    change(f, (struct replay_what_if){.queues = 2});
    expect(f, 3, 0, 0, 2);
    assert_int_equal(f->hazards.apart, 1);
}

/* They were on two queues before. */
TEST_ON(who_was_apart_leaves_no_queue, struct fixture *f)
{
    fill(f, 0, 1, none, none);
    fill(f, 1, 0, none, none);
    change(f, (struct replay_what_if){.queues = 2});
    expect(f, 1, 0, 0, 1);
    assert_int_equal(f->hazards.apart, 0);
}

/* The fill and the copy behind it in #s0. The copy of #s1 and the fill; what it writes, and what
 * the copy before wrote and read there. The read, and each of the three last writers. */
TEST_ON(merged_command_buffers_keep_their_order, struct fixture *f)
{
    const uint64_t commands[2] = {FIRST, FIRST + 1};
    builder_command_buffer_create(&f->b, commands[0], NULL, 0);
    builder_fill(&f->b, BUFFER, 0, 16, 7, 1);
    builder_end_commands(&f->b, commands[0]);
    builder_command_buffer_create(&f->b, commands[1], NULL, HAL_REUSABLE);
    builder_copy(&f->b, BUFFER, 0, BUFFER, 16, 16);
    builder_barrier(&f->b, NULL, 0);
    builder_copy(&f->b, BUFFER, 16, BUFFER, 32, 16);
    builder_end_commands(&f->b, commands[1]);
    builder_submit(&f->b, 0, 0, NO_VALUES, VALUES(DONE_AT(1)), builder_ids(commands, 2));
    builder_submit(&f->b, 1, 0, VALUES(DONE_AT(1)), VALUES(DONE_AT(2)),
                   builder_ids(commands + 1, 1));
    builder_submission_done(&f->b, 0, 0, f->b.begin_ns, f->b.begin_ns, f->b.begin_ns + 1);
    builder_submission_done(&f->b, 1, 0, f->b.begin_ns, f->b.begin_ns, f->b.begin_ns + 1);
    host_wait(f, DONE_AT(2));
    host_read(f);
    change(f, (struct replay_what_if){.merge_dispatches = true});
    expect(f, 8, 1, 0, 0);
    assert_int_equal(f->hazards.races_before, 0);
    assert_int_equal(f->hazards.races_after, 0); /* for the full barrier */
}

/* The copy reads what both fills write; the barrier that goes stands between the second and it.
 * It is submitted twice. */
TEST_ON(dropped_barriers_leave_pairs_without_order, struct fixture *f)
{
    const uint64_t commands = FIRST;
    builder_command_buffer_create(&f->b, commands, NULL, HAL_REUSABLE);
    builder_fill(&f->b, BUFFER, 0, 16, 1, 1);
    builder_barrier(&f->b, NULL, 0);
    builder_fill(&f->b, BUFFER, 16, 16, 2, 1);
    builder_barrier(&f->b, NULL, 0);
    builder_copy(&f->b, BUFFER, 8, BUFFER, 32, 16);
    builder_end_commands(&f->b, commands);
    builder_submit(&f->b, 0, 0, NO_VALUES, VALUES(DONE_AT(1)), IDS(commands));
    builder_submit(&f->b, 1, 0, VALUES(DONE_AT(1)), VALUES(DONE_AT(2)), IDS(commands));
    change(f, (struct replay_what_if){.barriers = REPLAY_BARRIERS_ONE, .barrier = 1});
    assert_int_equal(f->hazards.races_before, 0);
    assert_int_equal(f->hazards.races_after, 2);
    assert_int_equal(f->hazards.lost, 0); /* between submissions */
}

/* ---- Order ---- */

/* Without the first wait #s0 may run beside #s1, and beside the read, which waits for #s1 alone. */
TEST_ON(what_only_a_wait_ordered_is_lost_and_named, struct fixture *f)
{
    fill(f, 0, 0, none, DONE_AT(1));
    host_wait(f, DONE_AT(1));
    builder_command_buffer_create(&f->b, FIRST + 1, NULL, 0);
    builder_copy(&f->b, BUFFER, 4, BUFFER, 16, 8);
    submit(f, 1, 0, none, OTHER_AT(1));
    host_wait(f, OTHER_AT(1));
    host_read(f);
    judge(f, 1);
    expect(f, 3, 0, 2, 0);
    assert_int_equal(f->hazards.lost_for_certain, 2);
    assert_int_equal(f->hazards.begin, 4);
    assert_int_equal(f->hazards.end, 8);
    assert_string_equal(f->hazards.buffer, "buffer 'out'");
    assert_false(f->hazards.first.host);
    assert_int_equal(f->hazards.first.where.submission, 0);
    assert_string_equal(f->hazards.first.what, "fill, segment 0");
    assert_int_equal(f->hazards.second.where.submission, 1);
    assert_string_equal(f->hazards.second.what, "copy, segment 0");
}

/* The second dispatch may read what #s0 fills, and the host's write is over what it may read. */
TEST_ON(kernels_that_may_touch_bytes_are_not_certain, struct fixture *f)
{
    static const struct trace_entry_binding takes[1] = {{0, 0, 0, 1}};
    const struct trace_entry_point entry = {.name = builder_string(&f->b, "reads"),
                                            .group_size = {1, 1, 1}};
    const struct trace_binding other = {BUFFER, 32, 8}, same = {BUFFER, 0, 8};
    f->b.executable = (struct builder_executable){.bindings = takes, .binding_count = 1};
    builder_executable_create(&f->b, KERNEL, NULL, "none", &entry, 1);
    fill(f, 0, 0, none, DONE_AT(1));
    host_wait(f, DONE_AT(1));
    builder_command_buffer_create(&f->b, FIRST + 1, NULL, 0);
    builder_push_descriptor_set(&f->b, 0, &other, 1);
    builder_dispatch(&f->b, KERNEL, 0, 1, 1, 1);
    builder_push_descriptor_set(&f->b, 0, &same, 1);
    builder_dispatch(&f->b, KERNEL, 0, 1, 1, 1);
    submit(f, 1, 0, none, OTHER_AT(1));
    host_wait(f, OTHER_AT(1));
    builder_host_write(&f->b, BUFFER, 32, "1", 1);
    judge(f, 1);
    expect(f, 2, 0, 1, 0);
    assert_int_equal(f->hazards.lost_for_certain, 0);
    assert_true(f->hazards.second.where.has_dispatch);
    assert_int_equal(f->hazards.second.where.dispatch, 1);
    assert_string_equal(f->hazards.second.what, "dispatch of 'reads'");
}

/* The host's write after the wait was behind the fill. */
TEST_ON(the_host_loses_its_order_too, struct fixture *f)
{
    fill(f, 0, 0, none, DONE_AT(1));
    host_wait(f, DONE_AT(1));
    builder_host_write(&f->b, BUFFER, 7, "12", 2);
    judge(f, 1);
    expect(f, 1, 0, 1, 0);
    assert_false(f->hazards.first.host);
    assert_true(f->hazards.second.host);
    assert_non_null(strstr(f->hazards.second.what, "the host's write at ticket "));
    assert_int_equal(f->hazards.begin, 7);
    assert_int_equal(f->hazards.end, 8);
}

/* A wait for idle is for all: #s0 and #s1 have none between them, and both are before the read. */
TEST_ON(waits_for_idle_order_all, struct fixture *f)
{
    fill(f, 0, 0, none, none);
    fill(f, 1, 0, none, none);
    builder_wait_idle(&f->b, INT64_MAX);
    host_read(f);
    judge(f, 1);
    expect(f, 3, 0, 2, 1);
}

/* #s0 waits for #s1, which is submitted after it: together with the read, all are ordered. */
TEST_ON(waits_may_come_before_their_signals, struct fixture *f)
{
    fill(f, 0, 0, OTHER_AT(1), DONE_AT(1));
    fill(f, 1, 1, none, OTHER_AT(1));
    host_wait(f, DONE_AT(1));
    host_read(f);
    judge(f, 0);
    expect(f, 3, 0, 0, 0);
}

/* One of two came, and which, the trace does not say. */
TEST_ON(a_wait_for_any_orders_neither, struct fixture *f)
{
    const struct trace_semaphore_value values[2] = {DONE_AT(1), OTHER_AT(1)};
    fill(f, 0, 0, none, DONE_AT(1));
    fill(f, 1, 0, DONE_AT(1), OTHER_AT(1));
    builder_semaphore_wait(&f->b, HAL_WAIT_ANY, values, 2, INT64_MAX);
    host_read(f);
    judge(f, 0);
    expect(f, 2, 0, 0, 1); /* #s1 and #s0, #s1 and the read */
}

/* What the host signals comes after what it saw, and so does what waits for that. */
TEST_ON(a_signal_of_the_host_hands_on, struct fixture *f)
{
    fill(f, 0, 0, none, DONE_AT(1));
    fill(f, 1, 0, OTHER_AT(1), DONE_AT(2));
    host_wait(f, DONE_AT(1));
    builder_semaphore(&f->b, TRACE_SEMAPHORE_SIGNAL, OTHER, 1, NULL);
    judge(f, 1);
    expect(f, 1, 0, 1, 0);
}

/* More than is kept apart at once. */
TEST_ON(too_much_side_by_side_is_said, struct fixture *f)
{
    enum { COUNT = TRACE_ORDER_CHAINS + 1 };
    struct replay_order order;
    for (uint64_t n = 0; n < COUNT; n++)
        fill(f, n, 0, none, none);
    load(f);
    assert_int_equal(replay_order_make(f->plan, &order), HAL_OK);
    assert_int_equal(order.submission_count, COUNT);
    assert_true(order.incomplete);
    for (size_t n = 1; n < COUNT; n++)
        assert_false(replay_order_has(&order.submissions[n - 1], &order.submissions[n]));
    replay_order_finish(&order);
}

TEST_FIXTURE(begin, end);
