/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatches whose workgroup counts lie in a buffer: who writes them, where they lie, when they are
 * read, and what is refused. */
#include "tests/conformance/suite.h"

struct counts {
    uint32_t groups[3];
};

static struct hal_buffer *counts_buffer(struct suite *suite, uint32_t x, uint32_t y, uint32_t z)
{
    const struct counts counts = {{x, y, z}};
    struct hal_buffer *buffer = suite_buffer(suite, "counts", sizeof counts);
    suite_write(suite, buffer, 0, &counts, sizeof counts);
    return buffer;
}

static void bind_one(struct suite *suite, struct hal_command_buffer *commands,
                     struct hal_buffer *buffer)
{
    const struct hal_binding binding = {buffer, 0, HAL_WHOLE_BUFFER};
    check_ok(suite, hal_command_push_descriptor_set(commands, 0, &binding, 1));
}

/* out[i] = first + i, in groups of 64. */
static void number(struct suite *suite, struct hal_command_buffer *commands, struct hal_buffer *out,
                   uint32_t first, struct hal_buffer *counts, uint64_t offset)
{
    bind_one(suite, commands, out);
    check_ok(suite, hal_command_push_constants(commands, 0, &first, 4));
    check_ok(suite, hal_command_dispatch_indirect(commands, suite_kernels(suite), KERNEL_NUMBER,
                                                  counts, offset));
}

/* `out` holds first, first + 1, ... in `groups` groups, and zeros behind them. */
static void check_numbers(struct suite *suite, struct hal_buffer *out, uint32_t first,
                          uint64_t groups)
{
    const uint64_t words = hal_buffer_bytes(out) / 4;
    uint32_t *wanted = suite_memory(suite, words * 4);
    for (uint32_t i = 0; i < groups * 64; i++)
        wanted[i] = first + i;
    check_buffer(suite, out, 0, wanted, words * 4);
}

static struct hal_buffer *zeros(struct suite *suite, uint64_t groups)
{
    struct hal_buffer *out = suite_buffer(suite, "out", groups * 256);
    suite_clear(suite, out, 0);
    return out;
}

/* ---- Grids ---------------------------------------------------------------------------------- */

static void groups(struct suite *suite, uint64_t count)
{
    struct hal_buffer *out = zeros(suite, count + 2);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    number(suite, commands, out, 5, counts_buffer(suite, (uint32_t)count, 1, 1), 0);
    suite_run(suite, commands);
    check_numbers(suite, out, 5, count);
}

/* Each thread adds one, in three dimensions. */
static void grid(struct suite *suite, uint64_t shape)
{
    const uint32_t x = shape & 0xFF, y = shape >> 8 & 0xFF, z = shape >> 16 & 0xFF;
    const uint32_t wanted = x * y * z * 64;
    struct hal_buffer *out = suite_buffer(suite, "count", 4);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    suite_clear(suite, out, 0);
    bind_one(suite, commands, out);
    check_ok(suite,
             hal_command_dispatch_indirect(commands, suite_kernels(suite), KERNEL_COUNT_THREADS,
                                           counts_buffer(suite, x, y, z), 0));
    suite_run(suite, commands);
    check_buffer(suite, out, 0, &wanted, 4);
}

/* At this word of the buffer, between counts that would be seen. */
static void offset(struct suite *suite, uint64_t word)
{
    uint32_t words[19];
    struct hal_buffer *counts = suite_buffer(suite, "counts", sizeof words);
    struct hal_buffer *out = zeros(suite, 9);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    for (size_t i = 0; i < SUITE_COUNT(words); i++)
        words[i] = 9;
    words[word] = 7;
    words[word + 1] = words[word + 2] = 1;
    suite_write(suite, counts, 0, words, sizeof words);
    number(suite, commands, out, 1000, counts, word * 4);
    suite_run(suite, commands);
    check_numbers(suite, out, 1000, 7);
}

/* ---- Who writes them ------------------------------------------------------------------------ */

enum writer { BY_FILL, BY_UPDATE, BY_COPY, BY_DISPATCH, BY_OTHER_COMMANDS };

static void write_counts(struct suite *suite, struct hal_command_buffer *commands,
                         enum writer writer, struct hal_buffer *counts)
{
    static const struct counts value = {{6, 1, 1}};
    switch (writer) {
    case BY_FILL:
        check_ok(suite, hal_command_fill(commands, counts, 0, 4, 6, 4));
        check_ok(suite, hal_command_fill(commands, counts, 4, 8, 1, 4));
        return;
    case BY_OTHER_COMMANDS:
    case BY_UPDATE:
        check_ok(suite, hal_command_update(commands, &value, counts, 0, sizeof value));
        return;
    case BY_COPY:
        check_ok(suite, hal_command_copy(commands, counts_buffer(suite, 6, 1, 1), 0, counts, 0,
                                         sizeof value));
        return;
    case BY_DISPATCH:
        for (uint32_t i = 0; i < 3; i++)
            suite_dispatch(suite, commands,
                           &(struct suite_launch){
                               KERNEL_WRITE_ONE, {1, 1, 1}, {counts}, {i, value.groups[i]}, 2});
        return;
    }
}

static void written(struct suite *suite, uint64_t writer)
{
    struct hal_buffer *counts = counts_buffer(suite, 0, 0, 0), *out = zeros(suite, 8);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    const struct hal_barrier_desc barrier = {
        .source_stages = writer == BY_DISPATCH ? HAL_STAGE_DISPATCH : HAL_STAGE_TRANSFER,
        .target_stages = HAL_STAGE_DISPATCH,
        .source_access = HAL_ACCESS_WRITE,
        .target_access = HAL_ACCESS_READ};
    write_counts(suite, commands, (enum writer)writer, counts);
    if (writer == BY_OTHER_COMMANDS) {
        suite_run(suite, commands);
        commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    } else {
        check_ok(suite, hal_command_barrier(commands, &barrier));
    }
    number(suite, commands, out, 3, counts, 0);
    suite_run(suite, commands);
    check_numbers(suite, out, 3, 6);
}

/* Each dispatch computes the count of the next one: x = x * 3 + c in the place of the count. */
static void chain_of_counts(struct suite *suite, uint64_t unused)
{
    (void)unused;
    enum { STEPS = 5 };
    struct hal_buffer *counts = counts_buffer(suite, 1, 1, 1), *total = zeros(suite, 1);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    uint32_t count = 1, wanted = 0;
    for (uint32_t i = 0; i < STEPS; i++) {
        bind_one(suite, commands, total);
        check_ok(suite, hal_command_dispatch_indirect(commands, suite_kernels(suite),
                                                      KERNEL_COUNT_THREADS, counts, 0));
        check_ok(suite, hal_command_barrier(commands, NULL));
        suite_dispatch(suite, commands,
                       &(struct suite_launch){KERNEL_CHAIN, {1, 1, 1}, {counts}, {1}, 1});
        check_ok(suite, hal_command_barrier(commands, NULL));
        wanted += count * 64;
        count = count * 3 + 1;
    }
    suite_run(suite, commands);
    check_buffer(suite, total, 0, &wanted, 4);
    check_buffer(suite, counts, 0, &count, 4);
}

/* The kernel writes over its own counts: they were read before. */
static void counts_are_read_once(struct suite *suite, uint64_t unused)
{
    (void)unused;
    enum { GROUPS = 700 };
    const struct counts counts = {{GROUPS, 1, 1}};
    struct hal_buffer *out = zeros(suite, GROUPS + 1);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    suite_write(suite, out, 0, &counts, sizeof counts);
    number(suite, commands, out, 0xFFFF0000, out, 0);
    suite_run(suite, commands);
    check_numbers(suite, out, 0xFFFF0000, GROUPS);
}

/* A reusable list sees what the buffer holds each time, in any number of submissions at once. */
static void every_run_reads_again(struct suite *suite, uint64_t runs)
{
    struct hal_buffer *counts = counts_buffer(suite, 0, 1, 1), *total = zeros(suite, 1);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_REUSABLE);
    struct hal_semaphore *order = suite_semaphore(suite, "order", 0);
    uint32_t wanted = 0;
    bind_one(suite, commands, total);
    check_ok(suite, hal_command_dispatch_indirect(commands, suite_kernels(suite),
                                                  KERNEL_COUNT_THREADS, counts, 0));
    check_ok(suite, hal_command_buffer_end(commands));
    for (uint32_t i = 0; i < runs; i++) {
        const uint32_t count = i * 7 % 40;
        struct hal_command_buffer *update = suite_commands(suite, NULL, HAL_ONE_SHOT);
        check_ok(suite, hal_command_update(update, &count, counts, 0, 4));
        check_ok(suite, hal_command_buffer_end(update));
        check_ok(suite, suite_submit(suite, 0, update, suite_at(order, 2 * i + 1),
                                     suite_at(order, 2 * i + 2)));
        check_ok(suite, suite_submit(suite, 0, commands, suite_at(order, 2 * i + 2),
                                     suite_at(order, 2 * i + 3)));
        wanted += count * 64;
    }
    check_ok(suite, hal_semaphore_signal(order, 1));
    suite_wait(suite, order, 2 * runs + 1);
    check_buffer(suite, total, 0, &wanted, 4);
}

/* Many without a barrier, each on its own part; between them direct ones. */
static void many_at_once(struct suite *suite, uint64_t count)
{
    struct hal_buffer *out = zeros(suite, count * 4);
    struct hal_buffer *counts = suite_buffer(suite, "counts", count * 12);
    uint32_t *wanted = suite_memory(suite, count * 4 * 256);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    for (uint32_t i = 0; i < count; i++) {
        const struct counts value = {{i % 5, 1, 1}};
        const struct hal_binding binding = {out, (uint64_t)i * 1024, 1024};
        const uint32_t first = i * 1000 + 1;
        suite_write(suite, counts, i * 12, &value, 12);
        check_ok(suite, hal_command_push_descriptor_set(commands, 0, &binding, 1));
        check_ok(suite, hal_command_push_constants(commands, 0, &first, 4));
        if (i % 3 == 0)
            check_ok(suite, hal_command_dispatch(commands, suite_kernels(suite), KERNEL_NUMBER,
                                                 value.groups));
        else
            check_ok(suite, hal_command_dispatch_indirect(commands, suite_kernels(suite),
                                                          KERNEL_NUMBER, counts, i * 12));
        for (uint32_t w = 0; w < i % 5 * 64; w++)
            wanted[i * 256 + w] = first + w;
    }
    suite_run(suite, commands);
    check_buffer(suite, out, 0, wanted, count * 4 * 256);
}

/* ---- Limits --------------------------------------------------------------------------------- */

/* The submission fails with a message about the counts, and only that one. */
static void over_the_limit(struct suite *suite, uint64_t which)
{
    static const struct {
        struct counts counts;
        enum suite_kernel kernel;
        const char *texts[3];
    } tries[] = {
        {{{0x4000000, 1, 1}}, KERNEL_COUNT_THREADS, {"count_threads", "67108864", "4294967295"}},
        {{{1, 1, 0x80000000}}, KERNEL_POSITIONS, {"positions", "2147483648", "dimension 2"}},
        {{{3000000, 4000000, 4000000}},
         KERNEL_COUNT_THREADS,
         {"3000000 x 4000000", "2^63", "dispatch 0"}},
    };
    struct hal_buffer *out = zeros(suite, 1);
    struct hal_semaphore *done = suite_semaphore(suite, "done", 0);
    struct hal_command_buffer *commands = suite_commands(suite, "sums", HAL_ONE_SHOT);
    const uint32_t *wrong = tries[which].counts.groups;
    uint64_t value;
    bind_one(suite, commands, out);
    check_ok(suite,
             hal_command_dispatch_indirect(commands, suite_kernels(suite), tries[which].kernel,
                                           counts_buffer(suite, wrong[0], wrong[1], wrong[2]), 0));
    check_ok(suite, hal_command_buffer_end(commands));
    check_ok(suite, suite_submit(suite, 0, commands, SUITE_NONE, suite_at(done, 1)));
    const char *const *texts = tries[which].texts;
    check_fails(suite, hal_semaphore_wait(done, 1, SUITE_TIMEOUT_NS), HAL_INVALID, texts[0],
                texts[1], texts[2], "sums");
    check_fails(suite, hal_semaphore_query(done, &value), HAL_INVALID, texts[0]);
    check_numbers(suite, out, 0, 0);
    groups(suite, 3); /* the device goes on */
}

/* ---- Errors --------------------------------------------------------------------------------- */

static void errors(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_executable *kernels = suite_kernels(suite);
    struct hal_command_buffer *commands = suite_commands(suite, "list", HAL_ONE_SHOT);
    struct hal_buffer *counts = suite_buffer(suite, "sixteen", 16);
    struct hal_buffer *transfer = suite_buffer_of(
        suite, suite_device(suite),
        &(struct hal_buffer_desc){.label = "copied", .bytes = 16, .usage = HAL_USAGE_TRANSFER});
    struct hal_device *other = suite_open(suite, "");
    struct hal_buffer *foreign =
        suite_buffer_of(suite, other, &(struct hal_buffer_desc){.label = "foreign", .bytes = 16});
    check_fails(suite, hal_command_dispatch_indirect(NULL, kernels, KERNEL_NUMBER, counts, 0),
                HAL_INVALID, "command buffer", "NULL");
    check_fails(suite, hal_command_dispatch_indirect(commands, NULL, 0, counts, 0), HAL_INVALID,
                "executable", "NULL");
    check_fails(suite, hal_command_dispatch_indirect(commands, kernels, KERNEL_TOTAL, counts, 0),
                HAL_INVALID, "kernels.metal", "entry points");
    check_fails(suite, hal_command_dispatch_indirect(commands, kernels, KERNEL_NUMBER, NULL, 0),
                HAL_INVALID, "buffer", "NULL");
    check_fails(suite, hal_command_dispatch_indirect(commands, kernels, KERNEL_NUMBER, counts, 8),
                HAL_INVALID, "number", "sixteen", "16", "8 + 12");
    check_fails(suite,
                hal_command_dispatch_indirect(commands, kernels, KERNEL_NUMBER, counts, UINT64_MAX),
                HAL_INVALID, "number", "sixteen");
    check_fails(suite, hal_command_dispatch_indirect(commands, kernels, KERNEL_NUMBER, counts, 2),
                HAL_INVALID, "number", "sixteen", "offset 2", "multiple of 4");
    check_fails(suite, hal_command_dispatch_indirect(commands, kernels, KERNEL_NUMBER, transfer, 0),
                HAL_INVALID, "number", "copied", "dispatch");
    check_fails(suite, hal_command_dispatch_indirect(commands, kernels, KERNEL_NUMBER, foreign, 0),
                HAL_INVALID, "foreign", "another device");
    suite_run(suite, commands); /* nothing was recorded */
    check_fails(suite, hal_command_dispatch_indirect(commands, kernels, KERNEL_NUMBER, counts, 0),
                HAL_INVALID, "list", "ended");
}

/* Bindings are asked for before the counts are known. */
static void nothing_bound(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_command_buffer *commands = suite_commands(suite, "list", HAL_ONE_SHOT);
    check_ok(suite,
             hal_command_dispatch_indirect(commands, suite_kernels(suite), KERNEL_COUNT_THREADS,
                                           counts_buffer(suite, 1, 1, 1), 0));
    check_fails(suite, hal_command_buffer_end(commands), HAL_INVALID, "list", "dispatch 0",
                "count_threads");
}

/* The rule is about the memory: what a multiple of 4 is there decides, and the message says so. */
static void counts_in_an_odd_subspan(struct suite *suite, uint64_t unused)
{
    struct hal_buffer *counts = suite_buffer(suite, "counts", 64), *part;
    struct hal_command_buffer *commands = suite_commands(suite, "list", HAL_ONE_SHOT);
    struct hal_executable *kernels = suite_kernels(suite);
    (void)unused;
    check_ok(suite, hal_buffer_subspan(counts, 6, 32, "part", &part));
    suite_own_buffer(suite, part);
    check_fails(suite, hal_command_dispatch_indirect(commands, kernels, KERNEL_WRITE_ONE, part, 4),
                HAL_INVALID, "workgroup counts at offset 10 of the buffer behind buffer 'part'",
                "not a multiple of 4");
    check_fails(
        suite, hal_command_dispatch_indirect(commands, kernels, KERNEL_WRITE_ONE, counts, 3),
        HAL_INVALID, "workgroup counts at offset 3 of buffer 'counts'", "not a multiple of 4");
    check_ok(suite, hal_command_dispatch_indirect(commands, kernels, KERNEL_WRITE_ONE, part, 2));
}

static const struct suite_case cases[] = {
    {"counts_in_an_odd_subspan", counts_in_an_odd_subspan, 0},
    {"no_group", groups, 0},
    {"1_group", groups, 1},
    {"2_groups", groups, 2},
    {"15_groups", groups, 15},
    {"64_groups", groups, 64},
    {"65_groups", groups, 65},
    {"5000_groups", groups, 5000},
    {"grid_3_4_5", grid, 0x050403},
    {"grid_1_200_2", grid, 0x02C801},
    {"grid_0_1_1", grid, 0x010100},
    {"grid_7_0_1", grid, 0x010007},
    {"grid_7_7_0", grid, 0x000707},
    SUITE_SIXTEEN("at_word_", offset),
    {"after_fill", written, BY_FILL},
    {"after_update", written, BY_UPDATE},
    {"after_copy", written, BY_COPY},
    {"after_dispatch", written, BY_DISPATCH},
    {"after_other_commands", written, BY_OTHER_COMMANDS},
    {"chain_of_counts", chain_of_counts, 0},
    {"counts_are_read_once", counts_are_read_once, 0},
    {"every_run_reads_again", every_run_reads_again, 50},
    {"many_at_once", many_at_once, 200},
    {"over_the_limit_in_x", over_the_limit, 0},
    {"over_the_limit_in_z", over_the_limit, 1},
    {"over_the_limit_in_all", over_the_limit, 2},
    {"errors", errors, 0},
    {"nothing_bound", nothing_bound, 0},
};

const struct suite_area area_indirect = {"indirect", cases, SUITE_COUNT(cases)};
