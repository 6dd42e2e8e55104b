/* SPDX-License-Identifier: Apache-2.0 */
/* Events: barriers in two halves. That they order every hazard is in sync.c; here is which signal a
 * wait means, how long events live, and what is refused. */
#include "tests/conformance/suite.h"

static struct hal_event *event_of(struct suite *suite, const char *label)
{
    return suite_event(suite, suite_device(suite), label);
}

/* x = x * 3 + i, in one thread; `model` does the same. */
static void step(struct suite *suite, struct hal_command_buffer *commands, struct hal_buffer *x,
                 uint32_t i, uint32_t *model)
{
    suite_dispatch(suite, commands, &(struct suite_launch){KERNEL_CHAIN, {1, 1, 1}, {x}, {i}, 1});
    *model = *model * 3 + i;
}

static struct hal_buffer *word(struct suite *suite, const char *label, uint32_t value)
{
    struct hal_buffer *buffer = suite_buffer(suite, label, 4);
    suite_write(suite, buffer, 0, &value, 4);
    return buffer;
}

static void signal_event(struct suite *suite, struct hal_command_buffer *commands,
                         struct hal_event *event)
{
    check_ok(suite, hal_command_event_signal(commands, event, 0));
}

static void wait_event(struct suite *suite, struct hal_command_buffer *commands,
                       struct hal_event *event)
{
    check_ok(suite, hal_command_events_wait(commands, &event, 1, NULL));
}

/* ---- Which signal --------------------------------------------------------------------------- */

/* One event, signalled and waited for after each step; or a new one each time. */
static void chain(struct suite *suite, uint64_t events)
{
    enum { STEPS = 300 };
    uint32_t wanted = 1;
    struct hal_buffer *x = word(suite, "x", wanted);
    struct hal_event *list[STEPS];
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    for (uint64_t i = 0; i < events; i++)
        list[i] = event_of(suite, "link");
    for (uint32_t i = 0; i < STEPS; i++) {
        step(suite, commands, x, i, &wanted);
        signal_event(suite, commands, list[i % events]);
        wait_event(suite, commands, list[i % events]);
    }
    suite_run(suite, commands);
    check_buffer(suite, x, 0, &wanted, 4);
}

/* Two chains, each with its own event, step by step in turn; the other chain's steps stand between
 * signal and wait. */
static void two_chains(struct suite *suite, uint64_t steps)
{
    uint32_t wanted[2] = {1, 2};
    struct hal_buffer *x[2] = {word(suite, "x", 1), word(suite, "y", 2)};
    struct hal_event *events[2] = {event_of(suite, "of x"), event_of(suite, "of y")};
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    for (uint32_t i = 0; i < steps; i++) {
        for (size_t k = 0; k < 2; k++) {
            if (i > 0)
                wait_event(suite, commands, events[k]);
            step(suite, commands, x[k], i + (uint32_t)k, &wanted[k]);
            signal_event(suite, commands, events[k]);
        }
    }
    suite_run(suite, commands);
    for (size_t k = 0; k < 2; k++)
        check_buffer(suite, x[k], 0, &wanted[k], 4);
}

static void last_signal_counts(struct suite *suite, uint64_t reset)
{
    uint32_t wanted = 1;
    struct hal_buffer *x = word(suite, "x", wanted);
    struct hal_event *event = event_of(suite, "twice");
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    signal_event(suite, commands, event);
    step(suite, commands, x, 1, &wanted);
    signal_event(suite, commands, event);
    if (reset)
        check_ok(suite, hal_command_event_reset(commands, event));
    check_ok(suite, hal_command_barrier(commands, NULL));
    step(suite, commands, x, 2, &wanted);
    signal_event(suite, commands, event);
    wait_event(suite, commands, event);
    step(suite, commands, x, 3, &wanted);
    suite_run(suite, commands);
    check_buffer(suite, x, 0, &wanted, 4);
}

/* Waiting again for the same signal is allowed; a signal of nothing orders nothing. */
static void waits_repeat(struct suite *suite, uint64_t times)
{
    uint32_t wanted = 1;
    struct hal_buffer *x = word(suite, "x", wanted);
    struct hal_event *event = event_of(suite, NULL), *idle = event_of(suite, "");
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    signal_event(suite, commands, idle);
    wait_event(suite, commands, idle);
    step(suite, commands, x, 5, &wanted);
    signal_event(suite, commands, event);
    for (uint64_t i = 0; i < times; i++)
        wait_event(suite, commands, event);
    step(suite, commands, x, 6, &wanted);
    wait_event(suite, commands, idle);
    suite_run(suite, commands);
    check_buffer(suite, x, 0, &wanted, 4);
}

/* One wait for many events, of which each stands for one fill; then all are copied. */
static void many_events(struct suite *suite, uint64_t count)
{
    enum { EACH = 4096 };
    struct hal_event **events = suite_memory(suite, count * sizeof(struct hal_event *));
    struct hal_buffer *parts = suite_buffer(suite, "parts", count * EACH);
    struct hal_buffer *all = suite_buffer(suite, "all", count * EACH);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    uint8_t *wanted = suite_memory(suite, count * EACH);
    const struct hal_barrier_desc desc = {.source_stages = HAL_STAGE_TRANSFER,
                                          .target_stages = HAL_STAGE_TRANSFER,
                                          .source_access = HAL_ACCESS_WRITE,
                                          .target_access = HAL_ACCESS_READ};
    for (uint32_t i = 0; i < count; i++) {
        events[i] = event_of(suite, "part");
        memset(wanted + i * EACH, (int)i + 1, EACH);
        check_ok(suite, hal_command_fill(commands, parts, i * EACH, EACH, i + 1, 1));
        check_ok(suite, hal_command_event_signal(commands, events[i], HAL_STAGE_TRANSFER));
    }
    check_ok(suite, hal_command_events_wait(commands, events, count, &desc));
    memset(events, 0, count * sizeof(struct hal_event *)); /* they were copied */
    check_ok(suite, hal_command_copy(commands, parts, 0, all, 0, count * EACH));
    suite_run(suite, commands);
    check_buffer(suite, all, 0, wanted, count * EACH);
}

/* The wait names the buffers that it is about. */
static void buffers_of_a_wait(struct suite *suite, uint64_t count)
{
    enum { EACH = 1000 };
    struct hal_event *event = event_of(suite, "filled");
    struct hal_buffer_barrier *barriers = suite_memory(suite, count * sizeof *barriers);
    struct hal_buffer *all = suite_buffer(suite, "all", count * EACH);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    uint8_t *wanted = suite_memory(suite, count * EACH);
    for (uint32_t i = 0; i < count; i++) {
        struct hal_buffer *part = suite_buffer(suite, "part", EACH);
        barriers[i] = (struct hal_buffer_barrier){part, 0, HAL_WHOLE_BUFFER, HAL_ACCESS_WRITE,
                                                  HAL_ACCESS_READ};
        check_ok(suite, hal_command_fill(commands, part, 0, EACH, i + 1, 1));
        memset(wanted + i * EACH, (int)i + 1, EACH);
    }
    const struct hal_barrier_desc desc = {.buffers = barriers, .buffer_count = count};
    signal_event(suite, commands, event);
    check_ok(suite, hal_command_events_wait(commands, &event, 1, &desc));
    for (uint32_t i = 0; i < count; i++)
        check_ok(suite, hal_command_copy(commands, barriers[i].buffer, 0, all, i * EACH, EACH));
    suite_run(suite, commands);
    check_buffer(suite, all, 0, wanted, count * EACH);
}

/* Transfer to dispatch by one event, dispatch to transfer by another. */
static void stages(struct suite *suite, uint64_t rounds)
{
    enum { WORDS = 64 * 64 };
    struct hal_event *filled = event_of(suite, "filled"), *added = event_of(suite, "added");
    struct hal_buffer *x = suite_buffer(suite, "x", WORDS * 4), *out;
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    uint32_t *wanted = suite_memory(suite, rounds * WORDS * 4);
    const struct hal_barrier_desc to_dispatch = {.source_stages = HAL_STAGE_TRANSFER,
                                                 .target_stages = HAL_STAGE_DISPATCH},
                                  to_transfer = {.source_stages = HAL_STAGE_DISPATCH,
                                                 .target_stages = HAL_STAGE_TRANSFER};
    out = suite_buffer(suite, "out", rounds * WORDS * 4);
    for (uint32_t i = 0; i < rounds; i++) {
        check_ok(suite, hal_command_fill(commands, x, 0, WORDS * 4, i * 100, 4));
        check_ok(suite, hal_command_event_signal(commands, filled, HAL_STAGE_TRANSFER));
        check_ok(suite, hal_command_events_wait(commands, &filled, 1, &to_dispatch));
        suite_dispatch(suite, commands,
                       &(struct suite_launch){KERNEL_INCREMENT, {WORDS / 64, 1, 1}, {x}, {0}, 0});
        check_ok(suite, hal_command_event_signal(commands, added, HAL_STAGE_DISPATCH));
        check_ok(suite, hal_command_events_wait(commands, &added, 1, &to_transfer));
        check_ok(suite, hal_command_copy(commands, x, 0, out, i * WORDS * 4, WORDS * 4));
        check_ok(suite, hal_command_barrier(commands, NULL));
        for (uint32_t w = 0; w < WORDS; w++)
            wanted[i * WORDS + w] = i * 100 + 1;
    }
    suite_run(suite, commands);
    check_buffer(suite, out, 0, wanted, rounds * WORDS * 4);
}

/* ---- Life ----------------------------------------------------------------------------------- */

/* The same event in lists that are in flight together, each several times. */
static void shared_by_lists(struct suite *suite, uint64_t lists)
{
    enum { TIMES = 8 };
    struct hal_event *event = event_of(suite, "shared");
    struct hal_semaphore **order = suite_memory(suite, lists * sizeof *order);
    struct hal_buffer **x = suite_memory(suite, lists * sizeof *x);
    uint32_t *wanted = suite_memory(suite, lists * 4);
    for (uint32_t i = 0; i < lists; i++) {
        struct hal_command_buffer *commands = suite_commands(suite, "shares", HAL_REUSABLE);
        order[i] = suite_semaphore(suite, "order", 0);
        x[i] = word(suite, "x", i);
        step(suite, commands, x[i], 1, &(uint32_t){0});
        signal_event(suite, commands, event);
        wait_event(suite, commands, event);
        step(suite, commands, x[i], 2, &(uint32_t){0});
        check_ok(suite, hal_command_buffer_end(commands));
        wanted[i] = i;
        for (uint64_t k = 0; k < TIMES; k++) {
            check_ok(suite, suite_submit(suite, 0, commands, suite_at(order[i], k),
                                         suite_at(order[i], k + 1)));
            wanted[i] = (wanted[i] * 3 + 1) * 3 + 2;
        }
    }
    for (uint32_t i = 0; i < lists; i++) {
        suite_wait(suite, order[i], TIMES);
        check_buffer(suite, x[i], 0, &wanted[i], 4);
    }
}

static void kept_by_its_list(struct suite *suite, uint64_t unused)
{
    (void)unused;
    uint32_t wanted = 1;
    struct hal_event *event;
    struct hal_buffer *x = word(suite, "x", wanted);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    check_ok(suite, hal_event_create(suite_device(suite), "gone", &event));
    step(suite, commands, x, 1, &wanted);
    enum hal_status status = hal_command_event_signal(commands, event, 0);
    if (status == HAL_OK)
        status = hal_command_events_wait(commands, &event, 1, NULL);
    hal_event_release(event);
    check_ok(suite, status);
    step(suite, commands, x, 2, &wanted);
    suite_run(suite, commands);
    check_buffer(suite, x, 0, &wanted, 4);
}

static void many_lives(struct suite *suite, uint64_t count)
{
    struct hal_event *event;
    for (uint64_t i = 0; i < count; i++) {
        check_ok(suite, hal_event_create(suite_device(suite), i % 2 ? "odd" : NULL, &event));
        hal_event_retain(event);
        hal_event_release(event);
        hal_event_release(event);
    }
    hal_event_retain(NULL);
    hal_event_release(NULL);
}

/* ---- Errors --------------------------------------------------------------------------------- */

enum mistake { NEVER, BEFORE, AFTER_RESET, OTHER_LIST, SECOND_OF_TWO, WRONG_STAGES };

static void unsignalled(struct suite *suite, uint64_t mistake)
{
    struct hal_event *event = event_of(suite, "late"), *fine = event_of(suite, "fine");
    struct hal_command_buffer *other = suite_commands(suite, "other", HAL_ONE_SHOT);
    struct hal_command_buffer *commands = suite_commands(suite, "list", HAL_ONE_SHOT);
    const struct hal_barrier_desc desc = {.source_stages =
                                              mistake == WRONG_STAGES ? HAL_STAGE_TRANSFER : 0};
    struct hal_event *const both[2] = {fine, event};
    signal_event(suite, other, event);
    signal_event(suite, commands, fine);
    if (mistake == AFTER_RESET || mistake == WRONG_STAGES)
        check_ok(suite, hal_command_event_signal(commands, event, HAL_STAGE_DISPATCH));
    if (mistake == AFTER_RESET)
        check_ok(suite, hal_command_event_reset(commands, event));
    check_ok(suite, hal_command_events_wait(commands, mistake == SECOND_OF_TWO ? both : &event,
                                            mistake == SECOND_OF_TWO ? 2 : 1, &desc));
    if (mistake == BEFORE)
        signal_event(suite, commands, event);
    if (mistake == WRONG_STAGES)
        check_fails(suite, hal_command_buffer_end(commands), HAL_INVALID, "list", "command 2",
                    "0x1", "0x2");
    else
        check_fails(suite, hal_command_buffer_end(commands), HAL_INVALID, "'list'", "event 'late'",
                    mistake == AFTER_RESET ? "command 3" : "command 1");
    suite_run(suite, other);
}

static void errors(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_event *event = event_of(suite, "mine"), *null = NULL;
    struct hal_event *foreign = suite_event(suite, suite_open(suite, ""), "foreign");
    struct hal_event *const second[2] = {event, foreign};
    struct hal_command_buffer *commands = suite_commands(suite, "list", HAL_ONE_SHOT);
    const struct hal_barrier_desc bits = {.target_stages = 0x80};
    check_fails(suite, hal_event_create(NULL, "x", &null), HAL_INVALID, "device", "NULL");
    check_fails(suite, hal_command_event_signal(NULL, event, 0), HAL_INVALID, "command buffer");
    check_fails(suite, hal_command_event_signal(commands, NULL, 0), HAL_INVALID, "event", "NULL");
    check_fails(suite, hal_command_event_signal(commands, foreign, 0), HAL_INVALID, "foreign",
                "another device");
    check_fails(suite, hal_command_event_signal(commands, event, 0x10), HAL_INVALID, "list", "0x10",
                "0x7");
    check_fails(suite, hal_command_event_reset(commands, NULL), HAL_INVALID, "event", "NULL");
    check_fails(suite, hal_command_event_reset(commands, foreign), HAL_INVALID, "foreign");
    check_fails(suite, hal_command_events_wait(commands, &event, 0, NULL), HAL_INVALID, "list",
                "0 events", "65536");
    check_fails(suite, hal_command_events_wait(commands, NULL, 3, NULL), HAL_INVALID, "3 events",
                "NULL");
    check_fails(suite, hal_command_events_wait(commands, &event, HAL_MAX_LIST + 1, NULL),
                HAL_INVALID, "65537 events", "65536");
    check_fails(suite, hal_command_events_wait(commands, &null, 1, NULL), HAL_INVALID, "event",
                "NULL");
    check_fails(suite, hal_command_events_wait(commands, second, 2, NULL), HAL_INVALID, "foreign");
    check_fails(suite, hal_command_events_wait(commands, &event, 1, &bits), HAL_INVALID, "list",
                "0x80");
    suite_run(suite, commands); /* nothing was recorded */
    check_fails(suite, hal_command_event_signal(commands, event, 0), HAL_INVALID, "list", "ended");
    check_fails(suite, hal_command_events_wait(commands, &event, 1, NULL), HAL_INVALID, "ended");
}

static const struct suite_case cases[] = {
    {"chain_of_one_event", chain, 1},
    {"chain_of_seven_events", chain, 7},
    {"chain_of_300_events", chain, 300},
    {"two_chains", two_chains, 100},
    {"last_signal_counts", last_signal_counts, false},
    {"last_signal_counts_after_reset", last_signal_counts, true},
    {"waits_repeat", waits_repeat, 20},
    {"one_event", many_events, 1},
    {"many_events", many_events, 250},
    {"buffer_of_a_wait", buffers_of_a_wait, 1},
    {"buffers_of_a_wait", buffers_of_a_wait, 40},
    {"stages", stages, 30},
    {"shared_by_lists", shared_by_lists, 10},
    {"kept_by_its_list", kept_by_its_list, 0},
    {"many_lives", many_lives, 1000},
    {"never_signalled", unsignalled, NEVER},
    {"signalled_after_the_wait", unsignalled, BEFORE},
    {"reset_before_the_wait", unsignalled, AFTER_RESET},
    {"signalled_elsewhere", unsignalled, OTHER_LIST},
    {"second_never_signalled", unsignalled, SECOND_OF_TWO},
    {"wrong_source_stages", unsignalled, WRONG_STAGES},
    {"errors", errors, 0},
};

const struct suite_area area_events = {"events", cases, SUITE_COUNT(cases)};
