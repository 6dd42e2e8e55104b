/* SPDX-License-Identifier: Apache-2.0 */
/* Random command graphs, whose result a serial model in plain C predicts.
 *
 * Each buffer has a semaphore that counts the submissions which use it. A submission waits for the
 * present counts of the buffers that it touches and signals the next ones: so submissions that
 * share nothing may overlap, and those that share something follow each other. Inside a command
 * buffer, a barrier stands before a command that conflicts with one since the last barrier, or a
 * wait for an event that stands for those that it conflicts with, and nowhere else. Submissions are
 * submitted in random order, to random queues, by one or several threads. --seed repeats a graph.
 */
#include "tests/conformance/suite.h"

enum { MOST_BUFFERS = 12, MOST_RANGES = 256, GROUP_WORDS = 64 };

struct shape {
    uint32_t buffers, buffer_bytes, batches, submissions, command_buffers, commands, threads;
};

static const struct shape shapes[] = {
    {1, 64, 1, 1, 1, 200, 1},     {2, 1000, 2, 10, 1, 20, 1},  {4, 5000, 3, 20, 2, 10, 1},
    {8, 70000, 2, 16, 2, 12, 1},  {12, 4096, 4, 40, 3, 4, 1},  {3, 300000, 2, 8, 1, 16, 1},
    {12, 256, 2, 200, 1, 2, 1},   {4, 2048, 2, 30, 2, 8, 4},   {12, 20000, 2, 32, 2, 6, 4},
    {6, 100, 20, 3, 1, 10, 1},    {2, 4000, 1, 2, 1, 400, 1},  {12, 600, 3, 64, 4, 3, 4},
    {1, 100000, 3, 10, 2, 10, 2}, {5, 33333, 2, 25, 1, 15, 3},
};

/* Bytes of a buffer that commands since the last barrier have used. */
struct range {
    uint32_t buffer;
    uint64_t begin, end;
    bool written;
};

struct submission {
    struct hal_command_buffer *commands[4];
    struct hal_semaphore_value waits[MOST_BUFFERS], signals[MOST_BUFFERS];
    size_t count; /* of waits and of signals */
    uint64_t queues;
};

struct graph {
    struct suite *suite;
    const struct shape *shape;
    struct hal_buffer *buffers[MOST_BUFFERS];
    uint8_t *models[MOST_BUFFERS];
    struct hal_semaphore *counts[MOST_BUFFERS];
    uint64_t reached[MOST_BUFFERS]; /* what the semaphores will have reached */

    /* The command buffer that is being recorded. */
    struct hal_command_buffer *commands;
    struct range ranges[MOST_RANGES];
    size_t range_count;
    struct hal_event *event; /* stands for the first `signalled` ranges; 0: not signalled */
    size_t signalled;
    bool touched[MOST_BUFFERS]; /* by the submission */
    uint8_t *scratch;
    uint64_t alignment; /* of what a kernel takes */
};

static uint32_t below(const struct graph *graph, uint32_t limit)
{
    return suite_random_below(graph->suite, limit);
}

/* ---- Barriers ------------------------------------------------------------------------------- */

/* So many ranges, from the first, must be ordered before this one. */
static size_t conflicts(const struct graph *graph, const struct range *range)
{
    size_t i = graph->range_count;
    for (; i > 0; i--) {
        const struct range *other = &graph->ranges[i - 1];
        if (other->buffer == range->buffer && (other->written || range->written) &&
            other->begin < range->end && range->begin < other->end)
            break;
    }
    return i;
}

/* Orders at least that many ranges before what follows: by the event, if it stands for them. */
static void order(struct graph *graph, size_t count)
{
    size_t ordered = graph->range_count;
    if (count <= graph->signalled) {
        ordered = graph->signalled;
        check_ok(graph->suite, hal_command_events_wait(graph->commands, &graph->event, 1, NULL));
    } else {
        check_ok(graph->suite, hal_command_barrier(graph->commands, NULL));
    }
    graph->signalled = 0;
    graph->range_count -= ordered;
    memmove(graph->ranges, graph->ranges + ordered, graph->range_count * sizeof graph->ranges[0]);
}

static void use(struct graph *graph, const struct range *ranges, size_t count)
{
    size_t earlier = graph->range_count + count > MOST_RANGES ? graph->range_count : 0;
    for (size_t i = 0; i < count; i++) {
        const size_t until = conflicts(graph, &ranges[i]);
        earlier = until > earlier ? until : earlier;
    }
    if (earlier > 0)
        order(graph, earlier);
    if (graph->range_count > 0 && below(graph, 4) == 0) {
        check_ok(graph->suite, hal_command_event_signal(graph->commands, graph->event, 0));
        graph->signalled = graph->range_count;
    }
    for (size_t i = 0; i < count; i++) {
        graph->ranges[graph->range_count++] = ranges[i];
        graph->touched[ranges[i].buffer] = true;
    }
}

/* ---- Random commands ------------------------------------------------------------------------ */

/* Any range, often a small one; a multiple of `unit` in place and size. */
static struct range pick(struct graph *graph, uint32_t unit, uint64_t most, bool written)
{
    const uint32_t units = graph->shape->buffer_bytes / unit;
    const uint32_t limit = below(graph, 2) ? units : units / 16 + 1;
    uint32_t size = 1 + below(graph, limit);
    if (size > most / unit)
        size = (uint32_t)(most / unit);
    const uint64_t begin = (uint64_t)below(graph, units - size + 1) * unit;
    return (struct range){below(graph, graph->shape->buffers), begin, begin + (uint64_t)size * unit,
                          written};
}

static void random_fill(struct graph *graph)
{
    const uint32_t unit = 1U << below(graph, 3), pattern = suite_random(graph->suite);
    const struct range to = pick(graph, 1, UINT64_MAX, true);
    use(graph, &to, 1);
    check_ok(graph->suite, hal_command_fill(graph->commands, graph->buffers[to.buffer], to.begin,
                                            to.end - to.begin, pattern, unit));
    for (uint64_t i = to.begin; i < to.end; i++)
        graph->models[to.buffer][i] = (uint8_t)(pattern >> 8 * ((i - to.begin) % unit));
}

static void random_update(struct graph *graph)
{
    const struct range to = pick(graph, 1, HAL_MAX_UPDATE_BYTES, true);
    const uint64_t bytes = to.end - to.begin;
    suite_random_bytes(graph->suite, graph->scratch, bytes);
    use(graph, &to, 1);
    check_ok(graph->suite, hal_command_update(graph->commands, graph->scratch,
                                              graph->buffers[to.buffer], to.begin, bytes));
    memcpy(graph->models[to.buffer] + to.begin, graph->scratch, bytes);
}

static void random_copy(struct graph *graph)
{
    struct range both[2] = {pick(graph, 1, graph->shape->buffer_bytes / 2, false)};
    const uint64_t bytes = both[0].end - both[0].begin;
    both[1] = pick(graph, 1, 1, true);
    if (both[1].begin + bytes > graph->shape->buffer_bytes)
        both[1].begin = graph->shape->buffer_bytes - bytes;
    both[1].end = both[1].begin + bytes;
    if (both[0].buffer == both[1].buffer && both[0].begin < both[1].end &&
        both[1].begin < both[0].end)
        return;
    use(graph, both, 2);
    check_ok(graph->suite,
             hal_command_copy(graph->commands, graph->buffers[both[0].buffer], both[0].begin,
                              graph->buffers[both[1].buffer], both[1].begin, bytes));
    memcpy(graph->models[both[1].buffer] + both[1].begin,
           graph->models[both[0].buffer] + both[0].begin, bytes);
}

static uint32_t word_at(const uint8_t *bytes, uint64_t index)
{
    uint32_t word;
    memcpy(&word, bytes + index * 4, 4);
    return word;
}

/* x = x * a + b on whole groups of words. */
static void random_affine(struct graph *graph)
{
    if (graph->shape->buffer_bytes < GROUP_WORDS * 4)
        return;
    const uint64_t unit = graph->alignment > 4 ? graph->alignment : 4;
    struct range range = pick(graph, (uint32_t)unit, UINT64_MAX, true);
    const uint64_t group = GROUP_WORDS * 4, most = graph->shape->buffer_bytes / 4 * 4;
    const uint32_t groups = (uint32_t)((range.end - range.begin + group - 1) / group);
    if (groups * group > most)
        return;
    if (range.begin + groups * group > most)
        range.begin = (most - groups * group) / unit * unit;
    range.end = range.begin + groups * group;
    const uint32_t constants[2] = {suite_random(graph->suite) | 1, suite_random(graph->suite)};
    const struct hal_binding binding = {graph->buffers[range.buffer], range.begin,
                                        range.end - range.begin};
    use(graph, &range, 1);
    check_ok(graph->suite, hal_command_push_descriptor_set(graph->commands, 0, &binding, 1));
    check_ok(graph->suite, hal_command_push_constants(graph->commands, 0, constants, 8));
    check_ok(graph->suite, hal_command_dispatch(graph->commands, suite_kernels(graph->suite),
                                                KERNEL_AFFINE, (uint32_t[3]){groups, 1, 1}));
    uint8_t *model = graph->models[range.buffer] + range.begin;
    for (uint64_t i = 0; i < (uint64_t)groups * GROUP_WORDS; i++) {
        const uint32_t word = word_at(model, i) * constants[0] + constants[1];
        memcpy(model + i * 4, &word, 4);
    }
}

/* Bytes at any place that can be bound, by groups of 16, from one range to another. */
static void random_bytes_kernel(struct graph *graph)
{
    const uint32_t most = graph->shape->buffer_bytes / 2 / 16;
    const uint32_t groups = 1 + below(graph, most), last = graph->shape->buffer_bytes - groups * 16;
    const uint32_t unit = (uint32_t)graph->alignment, places = last / unit + 1;
    struct range both[2] = {
        {below(graph, graph->shape->buffers), (uint64_t)below(graph, places) * unit, 0, false},
        {below(graph, graph->shape->buffers), (uint64_t)below(graph, places) * unit, 0, true}};
    both[0].end = both[0].begin + (uint64_t)groups * 16;
    both[1].end = both[1].begin + (uint64_t)groups * 16;
    if (both[0].buffer == both[1].buffer && both[0].begin < both[1].end &&
        both[1].begin < both[0].end)
        return;
    const struct hal_binding bindings[2] = {
        {graph->buffers[both[0].buffer], both[0].begin, (uint64_t)groups * 16},
        {graph->buffers[both[1].buffer], both[1].begin, (uint64_t)groups * 16}};
    use(graph, both, 2);
    check_ok(graph->suite, hal_command_push_descriptor_set(graph->commands, 0, bindings, 2));
    check_ok(graph->suite, hal_command_dispatch(graph->commands, suite_kernels(graph->suite),
                                                KERNEL_BYTES, (uint32_t[3]){groups, 1, 1}));
    for (uint64_t i = 0; i < (uint64_t)groups * 16; i++)
        graph->models[both[1].buffer][both[1].begin + i] =
            graph->models[both[0].buffer][both[0].begin + i] ^ 0x5A;
}

static void random_command(struct graph *graph)
{
    switch (below(graph, 6)) {
    case 0: random_fill(graph); return;
    case 1: random_update(graph); return;
    case 2:
    case 3: random_copy(graph); return;
    case 4: random_affine(graph); return;
    default: random_bytes_kernel(graph); return;
    }
}

/* ---- Submissions ---------------------------------------------------------------------------- */

static void record_submission(struct graph *graph, struct submission *submission)
{
    memset(graph->touched, 0, sizeof graph->touched);
    for (uint32_t c = 0; c < graph->shape->command_buffers; c++) {
        graph->commands = suite_commands(graph->suite, "random", HAL_ONE_SHOT);
        graph->range_count = graph->signalled = 0;
        for (uint32_t i = 0; i < graph->shape->commands; i++)
            random_command(graph);
        check_ok(graph->suite, hal_command_buffer_end(graph->commands));
        submission->commands[c] = graph->commands;
    }
    for (uint32_t b = 0; b < graph->shape->buffers; b++) {
        if (!graph->touched[b])
            continue;
        submission->waits[submission->count] =
            (struct hal_semaphore_value){graph->counts[b], graph->reached[b]};
        graph->reached[b] += 1 + below(graph, 3);
        submission->signals[submission->count++] =
            (struct hal_semaphore_value){graph->counts[b], graph->reached[b]};
    }
    submission->queues = (uint64_t)1 << below(graph, suite_info(graph->suite)->queue_count);
}

static void shuffle(struct graph *graph, struct submission *submissions, uint32_t count)
{
    for (uint32_t i = count; i > 1; i--) {
        const uint32_t other = below(graph, i);
        const struct submission kept = submissions[i - 1];
        submissions[i - 1] = submissions[other];
        submissions[other] = kept;
    }
}

/* A thread's part of a batch. */
struct part {
    const struct submission *submissions;
    uint32_t first, count, step, command_buffers;
};

static void submit_part(struct suite *suite, void *user)
{
    const struct part *part = user;
    for (uint32_t i = part->first; i < part->count; i += part->step) {
        const struct submission *submission = &part->submissions[i];
        const struct hal_submit_desc desc = {
            .queues = submission->queues,
            .waits = submission->waits,
            .wait_count = submission->count,
            .signals = submission->signals,
            .signal_count = submission->count,
            .commands = submission->commands,
            .command_count = part->command_buffers,
        };
        check_ok(suite, hal_queue_submit(suite_device(suite), &desc));
    }
}

static void run_batch(struct graph *graph)
{
    const struct shape *shape = graph->shape;
    struct submission *submissions =
        suite_memory(graph->suite, shape->submissions * sizeof *submissions);
    struct part *parts = suite_memory(graph->suite, shape->threads * sizeof *parts);
    for (uint32_t i = 0; i < shape->submissions; i++)
        record_submission(graph, &submissions[i]);
    shuffle(graph, submissions, shape->submissions);
    for (uint32_t t = 0; t < shape->threads; t++) {
        parts[t] = (struct part){submissions, t, shape->submissions, shape->threads,
                                 shape->command_buffers};
        if (t > 0)
            suite_thread(graph->suite, submit_part, &parts[t]);
    }
    submit_part(graph->suite, &parts[0]);
    suite_join(graph->suite);
    for (uint32_t b = 0; b < shape->buffers; b++)
        suite_wait(graph->suite, graph->counts[b], graph->reached[b]);
}

/* ---- Cases ---------------------------------------------------------------------------------- */

static void check_models(struct graph *graph, uint32_t batch)
{
    for (uint32_t b = 0; b < graph->shape->buffers; b++) {
        suite_note(graph->suite, "--seed=%llu, batch %u, buffer %u",
                   (unsigned long long)suite_seed(graph->suite), batch, b);
        check_buffer(graph->suite, graph->buffers[b], 0, graph->models[b],
                     graph->shape->buffer_bytes);
    }
    suite_note(graph->suite, "%s", "");
}

/* Between batches the host writes, too. */
static void write_from_host(struct graph *graph)
{
    for (uint32_t i = 0; i < graph->shape->buffers; i++) {
        const struct range to = pick(graph, 1, UINT64_MAX, true);
        uint8_t *model = graph->models[to.buffer] + to.begin;
        suite_random_bytes(graph->suite, model, to.end - to.begin);
        suite_write(graph->suite, graph->buffers[to.buffer], to.begin, model, to.end - to.begin);
    }
}

static void random_graph(struct suite *suite, uint64_t which)
{
    struct graph *graph = suite_memory(suite, sizeof *graph);
    graph->suite = suite;
    graph->shape = &shapes[which];
    graph->event = suite_event(suite, suite_device(suite), "some");
    graph->scratch = suite_memory(suite, HAL_MAX_UPDATE_BYTES);
    graph->alignment = suite_alignment(suite);
    const uint32_t bytes = graph->shape->buffer_bytes;
    for (uint32_t b = 0; b < graph->shape->buffers; b++) {
        graph->buffers[b] = suite_buffer(suite, "random", bytes);
        graph->models[b] = suite_memory(suite, bytes);
        graph->counts[b] = suite_semaphore(suite, "count", 0);
        suite_random_bytes(suite, graph->models[b], bytes);
        suite_write(suite, graph->buffers[b], 0, graph->models[b], bytes);
    }
    for (uint32_t batch = 0; batch < graph->shape->batches; batch++) {
        run_batch(graph);
        check_models(graph, batch);
        write_from_host(graph);
    }
    check_models(graph, graph->shape->batches);
}

static const struct suite_case cases[] = {
    {"one_small_buffer", random_graph, 0},
    {"two_buffers", random_graph, 1},
    {"four_buffers", random_graph, 2},
    {"large_buffers", random_graph, 3},
    {"many_buffers", random_graph, 4},
    {"very_large_buffers", random_graph, 5},
    {"many_short_submissions", random_graph, 6},
    {"four_threads", random_graph, 7},
    {"four_threads_large_buffers", random_graph, 8},
    {"many_batches", random_graph, 9},
    {"long_command_buffers", random_graph, 10},
    {"four_threads_many_buffers", random_graph, 11},
    {"two_threads_one_buffer", random_graph, 12},
    {"three_threads_odd_sizes", random_graph, 13},
};

const struct suite_area area_stress = {"stress", cases, SUITE_COUNT(cases)};
