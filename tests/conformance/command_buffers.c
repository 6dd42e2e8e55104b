/* SPDX-License-Identifier: Apache-2.0 */
/* Command buffers: one-shot and reusable, how long they live, what they may hold (categories), what
 * they tell about themselves; debug groups and scopes, which order
 * nothing; names. */
#include "tests/conformance/suite.h"

/* ---- Command buffers ------------------------------------------------------------------------ */

static void empty_command_buffer(struct suite *suite, uint64_t mode)
{
    struct hal_command_buffer *commands =
        suite_commands(suite, "empty", (enum hal_command_buffer_mode)mode);
    suite_run(suite, commands);
    if (mode == HAL_REUSABLE)
        suite_submit_and_wait(suite, commands);
}

static void one_shot_runs_once(struct suite *suite, uint64_t unused)
{
    (void)unused;
    const uint32_t wanted = 1;
    struct hal_buffer *x = suite_buffer(suite, "x", 256);
    struct hal_command_buffer *commands = suite_commands(suite, "once", HAL_ONE_SHOT);
    struct hal_command_buffer *const twice[2] = {commands, commands};
    const struct hal_submit_desc both = {.commands = twice, .command_count = 2};
    suite_clear(suite, x, 0);
    suite_dispatch(suite, commands,
                   &(struct suite_launch){KERNEL_INCREMENT, {1, 1, 1}, {x}, {0}, 0});
    check_ok(suite, hal_command_buffer_end(commands));
    check_fails(suite, hal_queue_submit(suite_device(suite), &both), HAL_INVALID, "once",
                "one-shot");
    suite_submit_and_wait(suite, commands);
    check_fails(suite, suite_submit(suite, 0, commands, SUITE_NONE, SUITE_NONE), HAL_INVALID,
                "once", "one-shot");
    check_buffer(suite, x, 0, &wanted, 4);
}

/* A submission that is refused leaves its command buffers as they were. */
static void refused_submission_can_be_repeated(struct suite *suite, uint64_t unused)
{
    (void)unused;
    const uint32_t wanted = 0x11111111;
    struct hal_buffer *x = suite_buffer(suite, "x", 4);
    struct hal_semaphore *used = suite_semaphore(suite, "used", 5);
    struct hal_command_buffer *commands = suite_commands(suite, "again", HAL_ONE_SHOT);
    check_ok(suite, hal_command_fill(commands, x, 0, 4, 0x11, 1));
    check_ok(suite, hal_command_buffer_end(commands));
    check_fails(suite, suite_submit(suite, 0, commands, SUITE_NONE, suite_at(used, 5)), HAL_INVALID,
                "used", "5");
    check_ok(suite, suite_submit(suite, 0, commands, SUITE_NONE, suite_at(used, 6)));
    suite_wait(suite, used, 6);
    check_buffer(suite, x, 0, &wanted, 4);
}

/* `count` runs, one after the other by semaphore values. */
static void reusable_in_turn(struct suite *suite, uint64_t count)
{
    uint32_t wanted[64];
    struct hal_buffer *x = suite_buffer(suite, "x", sizeof wanted);
    struct hal_semaphore *turn = suite_semaphore(suite, "turn", 0);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_REUSABLE);
    suite_clear(suite, x, 0);
    suite_dispatch(suite, commands,
                   &(struct suite_launch){KERNEL_AFFINE, {1, 1, 1}, {x}, {5, 3}, 2});
    check_ok(suite, hal_command_buffer_end(commands));
    memset(wanted, 0, sizeof wanted);
    for (uint64_t i = 0; i < count; i++) {
        check_ok(suite, suite_submit(suite, 0, commands, suite_at(turn, i), suite_at(turn, i + 1)));
        for (size_t w = 0; w < 64; w++)
            wanted[w] = wanted[w] * 5 + 3;
    }
    suite_wait(suite, turn, count);
    check_buffer(suite, x, 0, wanted, sizeof wanted);
}

/* Several submissions of one command buffer in flight at once; the additions are atomic. */
static void reusable_at_once(struct suite *suite, uint64_t count)
{
    const uint32_t wanted = (uint32_t)count * 64 * 8;
    struct hal_buffer *x = suite_buffer(suite, "x", 4);
    struct hal_semaphore *go = suite_semaphore(suite, "go", 0);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_REUSABLE);
    struct hal_semaphore **done = suite_memory(suite, count * sizeof(struct hal_semaphore *));
    suite_clear(suite, x, 0);
    suite_dispatch(suite, commands,
                   &(struct suite_launch){KERNEL_COUNT_THREADS, {8, 1, 1}, {x}, {0}, 0});
    check_ok(suite, hal_command_buffer_end(commands));
    for (uint64_t i = 0; i < count; i++) {
        done[i] = suite_semaphore(suite, "done", 0);
        check_ok(suite, suite_submit(suite, 0, commands, suite_at(go, 1), suite_at(done[i], 1)));
    }
    check_ok(suite, hal_semaphore_signal(go, 1));
    for (uint64_t i = 0; i < count; i++)
        suite_wait(suite, done[i], 1);
    check_buffer(suite, x, 0, &wanted, 4);
}

/* The same one several times in a single submission: each run sees the one before. */
static void reusable_in_one_submission(struct suite *suite, uint64_t unused)
{
    (void)unused;
    enum { TIMES = 16 };
    uint32_t wanted = 0;
    struct hal_buffer *x = suite_buffer(suite, "x", 4);
    struct hal_semaphore *done = suite_semaphore(suite, "done", 0);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_REUSABLE), *all[TIMES];
    suite_clear(suite, x, 0);
    suite_dispatch(suite, commands, &(struct suite_launch){KERNEL_CHAIN, {1, 1, 1}, {x}, {7}, 1});
    check_ok(suite, hal_command_buffer_end(commands));
    for (int i = 0; i < TIMES; i++) {
        all[i] = commands;
        wanted = wanted * 3 + 7;
    }
    const struct hal_submit_desc desc = {.signals = &(struct hal_semaphore_value){done, 1},
                                         .signal_count = 1,
                                         .commands = all,
                                         .command_count = TIMES};
    check_ok(suite, hal_queue_submit(suite_device(suite), &desc));
    suite_wait(suite, done, 1);
    check_buffer(suite, x, 0, &wanted, 4);
}

/* State does not leak from one command buffer into the next: constants begin as zero. */
static void state_is_the_command_buffers_own(struct suite *suite, uint64_t unused)
{
    (void)unused;
    const uint32_t wanted[2] = {5, 0};
    struct hal_buffer *x = suite_buffer(suite, "x", 256), *y = suite_buffer(suite, "y", 256);
    struct hal_command_buffer *a = suite_commands(suite, "a", HAL_ONE_SHOT);
    struct hal_command_buffer *b = suite_commands(suite, "b", HAL_ONE_SHOT);
    struct hal_command_buffer *const both[2] = {a, b};
    struct hal_semaphore *done = suite_semaphore(suite, "done", 0);
    suite_clear(suite, x, 0xFF);
    suite_clear(suite, y, 0xFF);
    suite_dispatch(suite, a, &(struct suite_launch){KERNEL_NUMBER, {1, 1, 1}, {x}, {5}, 1});
    suite_dispatch(suite, b, &(struct suite_launch){KERNEL_NUMBER, {1, 1, 1}, {y}, {0}, 0});
    check_ok(suite, hal_command_buffer_end(a));
    check_ok(suite, hal_command_buffer_end(b));
    const struct hal_submit_desc desc = {.signals = &(struct hal_semaphore_value){done, 1},
                                         .signal_count = 1,
                                         .commands = both,
                                         .command_count = 2};
    check_ok(suite, hal_queue_submit(suite_device(suite), &desc));
    suite_wait(suite, done, 1);
    check_buffer(suite, x, 0, &wanted[0], 4);
    check_buffer(suite, y, 0, &wanted[1], 4);
}

/* Released while it waits to run. */
static void kept_by_its_submission(struct suite *suite, uint64_t unused)
{
    (void)unused;
    const uint32_t wanted = 0xABABABAB;
    struct hal_buffer *x = suite_buffer(suite, "x", 4);
    struct hal_semaphore *go = suite_semaphore(suite, "go", 0),
                         *done = suite_semaphore(suite, "d", 0);
    struct hal_command_buffer *commands;
    const struct hal_command_buffer_desc desc = {0};
    check_ok(suite, hal_command_buffer_create(suite_device(suite), &desc, &commands));
    enum hal_status status = hal_command_fill(commands, x, 0, 4, 0xAB, 1);
    if (status == HAL_OK)
        status = hal_command_buffer_end(commands);
    if (status == HAL_OK)
        status = suite_submit(suite, 0, commands, suite_at(go, 1), suite_at(done, 1));
    hal_command_buffer_release(commands);
    check_ok(suite, status);
    check_ok(suite, hal_semaphore_signal(go, 1));
    suite_wait(suite, done, 1);
    check_buffer(suite, x, 0, &wanted, 4);
}

/* Recorded and thrown away, ended or not. */
static void never_submitted(struct suite *suite, uint64_t ended)
{
    const uint32_t wanted = 0x33333333;
    struct hal_buffer *x = suite_buffer(suite, "x", 4);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    suite_clear(suite, x, 0x33);
    check_ok(suite, hal_command_fill(commands, x, 0, 4, 0, 1));
    if (ended)
        check_ok(suite, hal_command_buffer_end(commands));
    check_buffer(suite, x, 0, &wanted, 4);
}

/* ---- Names ---------------------------------------------------------------------------------- */

static void debug_groups(struct suite *suite, uint64_t depth)
{
    const uint32_t wanted[2] = {0x01010101, 0x02020202};
    static char longest[HAL_MAX_LABEL_BYTES + 1];
    struct hal_buffer *x = suite_buffer(suite, "x", 8);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    memset(longest, 'g', sizeof longest - 1);
    for (uint64_t i = 0; i < depth; i++)
        check_ok(suite, hal_command_debug_begin(commands,
                                                i % 3 == 0   ? NULL
                                                : i % 3 == 1 ? ""
                                                             : longest,
                                                (uint32_t)i * 0x10203 & 0xFFFFFF));
    check_ok(suite, hal_command_fill(commands, x, 0, 4, 1, 1));
    for (uint64_t i = 0; i < depth; i++)
        check_ok(suite, hal_command_debug_end(commands));
    check_ok(suite, hal_command_fill(commands, x, 4, 4, 2, 1));
    suite_run(suite, commands);
    check_buffer(suite, x, 0, wanted, sizeof wanted);
}

static void scopes(struct suite *suite, uint64_t depth)
{
    const uint32_t wanted = 0x44444444;
    struct hal_device *device = suite_device(suite);
    struct hal_buffer *x = suite_buffer(suite, "x", 4);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    for (uint64_t i = 0; i < depth; i++)
        hal_scope_begin(device, i % 2 ? "scope" : "");
    check_ok(suite, hal_command_fill(commands, x, 0, 4, 0x44, 1));
    suite_run(suite, commands);
    for (uint64_t i = 0; i < depth; i++)
        hal_scope_end(device);
    check_buffer(suite, x, 0, &wanted, 4);
}

/* Any bytes make a label, and messages show it. */
static void label(struct suite *suite, uint64_t which)
{
    static const char *const labels[] = {"",
                                         "two words",
                                         "\xC3\xB6\xC3\x9F \xE2\x82\xAC",
                                         "quote ' and \" and \\",
                                         "line\nbreak",
                                         "%s%n%d"};
    uint8_t byte;
    struct hal_buffer *buffer = suite_buffer(suite, labels[which], 4);
    struct hal_semaphore *semaphore = suite_semaphore(suite, labels[which], 3);
    struct hal_command_buffer *commands = suite_commands(suite, labels[which], HAL_ONE_SHOT);
    suite_clear(suite, buffer, 1);
    check_fails(suite, hal_buffer_read(buffer, 4, &byte, 1), HAL_INVALID, labels[which]);
    check_fails(suite, hal_semaphore_signal(semaphore, 3), HAL_INVALID, labels[which]);
    check_ok(suite, hal_command_fill(commands, buffer, 0, 4, 9, 1));
    suite_run(suite, commands);
    check_fails(suite, hal_command_fill(commands, buffer, 0, 4, 9, 1), HAL_INVALID, labels[which]);
    check_buffer(suite, buffer, 0, "\x09\x09\x09\x09", 4);
}

static void long_label(struct suite *suite, uint64_t length)
{
    char *text = suite_memory(suite, length + 1);
    uint8_t byte;
    memset(text, 'L', length);
    struct hal_buffer *buffer = suite_buffer(suite, text, 4);
    memset(text, 'x', length); /* it was copied */
    check_fails(suite, hal_buffer_read(buffer, 4, &byte, 1), HAL_INVALID, "LLLLLLLL");
}

/* ---- Categories ----------------------------------------------------------------------------- */

static void categories(struct suite *suite, uint64_t allowed)
{
    struct hal_command_buffer *commands;
    struct hal_buffer *x = suite_buffer(suite, "x", 256), *y = suite_buffer(suite, "y", 256);
    const struct hal_command_buffer_desc desc = {.label = "only", .categories = (uint32_t)allowed};
    const struct hal_binding binding = {y, 0, HAL_WHOLE_BUFFER};
    const uint32_t one[3] = {1, 1, 1};
    const struct hal_push_set_desc of_set = {
        .layout = suite_set_layout(suite, "single",
                                   &(struct hal_layout_binding){0, HAL_BINDING_STORAGE, 0}, 1),
        .bindings = &binding,
        .binding_count = 1};
    check_ok(suite, hal_command_buffer_create(suite_device(suite), &desc, &commands));
    const bool transfers = allowed != HAL_COMMANDS_DISPATCH;
    const bool dispatches = allowed != HAL_COMMANDS_TRANSFER;
    const char *wrong = NULL;
    if ((hal_command_fill(commands, x, 0, 4, 0, 4) == HAL_OK) != transfers)
        wrong = "fill";
    if ((hal_command_update(commands, one, x, 16, 4) == HAL_OK) != transfers)
        wrong = "update";
    if ((hal_command_copy(commands, x, 32, x, 48, 4) == HAL_OK) != transfers)
        wrong = "copy";
    if (!transfers && !strstr(hal_message(), "'only'"))
        wrong = "message";
    if ((hal_command_push_descriptor_set(commands, 0, &binding, 1) == HAL_OK) != dispatches)
        wrong = "push";
    if ((hal_command_push_set(commands, &of_set) == HAL_OK) != dispatches)
        wrong = "push by a layout";
    if ((hal_command_push_constants(commands, 0, one, 4) == HAL_OK) != dispatches)
        wrong = "constants";
    if (!dispatches && (!strstr(hal_message(), "'only'") || !strstr(hal_message(), "0x1") ||
                        !strstr(hal_message(), "push of constants has 0x2")))
        wrong = "message";
    if ((hal_command_dispatch(commands, suite_kernels(suite), KERNEL_INCREMENT, one) == HAL_OK) !=
        dispatches)
        wrong = "dispatch";
    if (!dispatches && !strstr(hal_message(), "'only'"))
        wrong = "message";
    if (hal_command_barrier(commands, NULL) != HAL_OK || hal_command_buffer_end(commands) != HAL_OK)
        wrong = "barrier";
    hal_command_buffer_release(commands);
    if (wrong)
        suite_fail(suite, __FILE__, __LINE__, "%s is treated wrongly", wrong);
    check_fails(suite,
                hal_command_buffer_create(
                    suite_device(suite),
                    &(struct hal_command_buffer_desc){.label = "bits", .categories = 0x14},
                    &commands),
                HAL_INVALID, "bits", "0x14", "0x3");
}

/* ---- What a list tells ---------------------------------------------------------------------- */

static void counts(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_command_buffer *commands = suite_commands(suite, "told", HAL_REUSABLE);
    struct hal_command_buffer_info info = {0};
    struct hal_buffer *x = suite_buffer(suite, "x", 256), *y = suite_buffer(suite, "y", 256);
    const uint32_t one[3] = {1, 1, 1}, words_pushed[2] = {3, 4};
    const struct hal_binding of_x = {x, 0, HAL_WHOLE_BUFFER}, of_y = {y, 0, HAL_WHOLE_BUFFER};
    check_fails(suite, hal_command_buffer_get_info(commands, &info), HAL_INVALID, "told",
                "not been ended");
    check_ok(suite, hal_command_fill(commands, x, 16, 4, 0, 4));
    check_ok(suite, hal_command_copy(commands, x, 0, y, 0, 4));
    check_ok(suite, hal_command_barrier(commands, NULL));
    for (int i = 0; i < 3; i++) {
        check_ok(suite, hal_command_push_constants(commands, 0, words_pushed, 8));
        check_ok(suite, hal_command_push_descriptor_set(commands, 0, i < 2 ? &of_x : &of_y, 1));
        check_ok(suite,
                 hal_command_dispatch(commands, suite_kernels(suite), KERNEL_INCREMENT, one));
    }
    check_ok(suite, hal_command_push_constants(commands, 4, words_pushed + 1, 4)); /* the same */
    check_ok(suite, hal_command_push_constants(commands, 0, words_pushed + 1, 4)); /* another */
    check_ok(suite, hal_command_buffer_end(commands));
    check_ok(suite, hal_command_buffer_get_info(commands, &info));
    check(suite, strcmp(info.label, "told") == 0);
    check_u64(suite, info.mode, HAL_REUSABLE);
    check_u64(suite, info.categories, HAL_COMMANDS_TRANSFER | HAL_COMMANDS_DISPATCH);
    check_u64(suite, info.command_count, 14);
    check_u64(suite, info.barrier_count, 1);
    check_u64(suite, info.transfer_count, 2);
    check_u64(suite, info.dispatch_count, 3);
    check_u64(suite, info.constants_count, 5);
    check_u64(suite, info.redundant_constants_count, 3);
    check_u64(suite, info.set_count, 3);
    check_u64(suite, info.redundant_set_count, 1);
    check_u64(suite, info.state_count, 2);
    check_fails(suite, hal_command_buffer_get_info(NULL, &info), HAL_INVALID, "command buffer");
}

static const struct suite_case cases[] = {
    {"empty_one_shot", empty_command_buffer, HAL_ONE_SHOT},
    {"empty_reusable", empty_command_buffer, HAL_REUSABLE},
    {"one_shot_runs_once", one_shot_runs_once, 0},
    {"refused_submission_can_be_repeated", refused_submission_can_be_repeated, 0},
    {"reusable_in_turn", reusable_in_turn, 200},
    {"reusable_at_once", reusable_at_once, 50},
    {"reusable_in_one_submission", reusable_in_one_submission, 0},
    {"state_is_the_command_buffers_own", state_is_the_command_buffers_own, 0},
    {"kept_by_its_submission", kept_by_its_submission, 0},
    {"never_submitted_open", never_submitted, false},
    {"never_submitted", never_submitted, true},
    {"debug_group", debug_groups, 1},
    {"debug_groups_nest", debug_groups, 50},
    {"scopes_nest", scopes, 20},
    {"empty_label", label, 0},
    {"label_of_two_words", label, 1},
    {"label_in_utf8", label, 2},
    {"label_with_quotes", label, 3},
    {"label_of_two_lines", label, 4},
    {"label_like_a_format", label, 5},
    {"long_label", long_label, 3000},
    {"transfers_only", categories, HAL_COMMANDS_TRANSFER},
    {"dispatches_only", categories, HAL_COMMANDS_DISPATCH},
    {"any_category", categories, 0},
    {"counts", counts, 0},
};

const struct suite_area area_command_buffers = {"command_buffers", cases, SUITE_COUNT(cases)};
