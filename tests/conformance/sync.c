/* SPDX-License-Identifier: Apache-2.0 */
/* Order: every hazard between every two commands, with every means that orders them. */
#include "tests/conformance/suite.h"

/* ---- Hazards -------------------------------------------------------------------------------- */

/* Two commands work on one range of buffer `x`. A command that only reads it copies it to `out`;
 * one that reads and writes is there twice, once for each role. The first and the second one use
 * different values, so that every wrong order leaves other bytes. */
enum command { FILL, UPDATE, COPY_TO, DISPATCH_TO, COPY_FROM, DISPATCH_FROM, INCREMENT };

/* Means of ordering. */
enum means {
    BY_BARRIER,
    BY_STAGES,
    BY_ACCESS,
    BY_BUFFER_BARRIER,
    BY_EVENT,
    BY_EVENT_OF_STAGES,
    BY_COMMAND_BUFFERS,
    BY_SEMAPHORE,
    BY_OTHER_QUEUE,
    MEANS_COUNT,
};

static const char *const means_names[MEANS_COUNT] = {
    "barrier",         "barrier of stages", "barrier of accesses", "buffer barrier",        "event",
    "event of stages", "command buffers",   "semaphore",           "semaphore, other queue"};

enum { WORDS = 16384, BYTES = WORDS * 4 };

struct hazard {
    struct hal_buffer *x;          /* the memory in question */
    struct hal_buffer *sources[2]; /* of the first and the second command */
    struct hal_buffer *outs[2];
    uint32_t *x_model, *source_model[2], *out_model[2];
};

static uint32_t stage_of(enum command command)
{
    return command == DISPATCH_TO || command == DISPATCH_FROM || command == INCREMENT
               ? HAL_STAGE_DISPATCH
               : HAL_STAGE_TRANSFER;
}

static bool reads(enum command command)
{
    return command == COPY_FROM || command == DISPATCH_FROM || command == INCREMENT;
}

static bool writes(enum command command)
{
    return command != COPY_FROM && command != DISPATCH_FROM;
}

static struct hal_buffer *filled(struct suite *suite, const char *label, uint32_t *words,
                                 uint32_t start)
{
    struct hal_buffer *buffer = suite_buffer(suite, label, BYTES);
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = start + i * 2654435761U;
    suite_write(suite, buffer, 0, words, BYTES);
    return buffer;
}

static void prepare(struct suite *suite, struct hazard *hazard)
{
    hazard->x_model = suite_memory(suite, BYTES);
    hazard->x = filled(suite, "x", hazard->x_model, 1);
    for (uint32_t i = 0; i < 2; i++) {
        hazard->source_model[i] = suite_memory(suite, BYTES);
        hazard->out_model[i] = suite_memory(suite, BYTES);
        hazard->sources[i] = filled(suite, "source", hazard->source_model[i], 1000 + i);
        hazard->outs[i] = filled(suite, "out", hazard->out_model[i], 2000 + i);
    }
}

static void record(struct suite *suite, struct hal_command_buffer *commands, enum command command,
                   const struct hazard *hazard, int which)
{
    static const uint32_t patterns[2] = {0xA1B2C3D4, 0x15263748};
    struct hal_buffer *source = hazard->sources[which], *out = hazard->outs[which];
    struct suite_launch launch = {KERNEL_COPY, {WORDS / 64, 1, 1}, {NULL}, {0}, 0};
    switch (command) {
    case FILL:
        check_ok(suite, hal_command_fill(commands, hazard->x, 0, BYTES, patterns[which], 4));
        return;
    case UPDATE:
        check_ok(suite,
                 hal_command_update(commands, hazard->source_model[which], hazard->x, 0, BYTES));
        return;
    case COPY_TO:
        check_ok(suite, hal_command_copy(commands, source, 0, hazard->x, 0, BYTES));
        return;
    case COPY_FROM:
        check_ok(suite, hal_command_copy(commands, hazard->x, 0, out, 0, BYTES));
        return;
    case DISPATCH_TO:
        launch.buffers[0] = source;
        launch.buffers[1] = hazard->x;
        break;
    case DISPATCH_FROM:
        launch.buffers[0] = hazard->x;
        launch.buffers[1] = out;
        break;
    case INCREMENT:
        launch.kernel = KERNEL_INCREMENT;
        launch.buffers[0] = hazard->x;
        break;
    }
    suite_dispatch(suite, commands, &launch);
}

static void model(enum command command, struct hazard *hazard, int which)
{
    static const uint32_t patterns[2] = {0xA1B2C3D4, 0x15263748};
    for (uint32_t i = 0; i < WORDS; i++) {
        switch (command) {
        case FILL: hazard->x_model[i] = patterns[which]; break;
        case UPDATE:
        case COPY_TO:
        case DISPATCH_TO: hazard->x_model[i] = hazard->source_model[which][i]; break;
        case COPY_FROM:
        case DISPATCH_FROM: hazard->out_model[which][i] = hazard->x_model[i]; break;
        case INCREMENT: hazard->x_model[i]++; break;
        }
    }
}

static void order(struct suite *suite, struct hal_command_buffer *commands, enum means means,
                  enum command first, enum command second, struct hal_buffer *x)
{
    const uint32_t source =
        (reads(first) ? HAL_ACCESS_READ : 0) | (writes(first) ? HAL_ACCESS_WRITE : 0);
    const uint32_t target =
        (reads(second) ? HAL_ACCESS_READ : 0) | (writes(second) ? HAL_ACCESS_WRITE : 0);
    const struct hal_buffer_barrier barrier = {x, 0, HAL_WHOLE_BUFFER, source, target};
    struct hal_barrier_desc desc = {.source_stages = stage_of(first),
                                    .target_stages = stage_of(second)};
    if (means == BY_BARRIER) {
        check_ok(suite, hal_command_barrier(commands, NULL));
        return;
    }
    if (means != BY_STAGES) {
        desc.source_access = source;
        desc.target_access = target;
    }
    if (means == BY_EVENT || means == BY_EVENT_OF_STAGES) {
        struct hal_event *event = suite_event(suite, suite_device(suite), "between");
        const bool whole = means == BY_EVENT;
        check_ok(suite, hal_command_event_signal(commands, event, whole ? 0 : stage_of(first)));
        check_ok(suite, hal_command_events_wait(commands, &event, 1, whole ? NULL : &desc));
        return;
    }
    if (means == BY_BUFFER_BARRIER) {
        desc.buffers = &barrier;
        desc.buffer_count = 1;
    }
    check_ok(suite, hal_command_barrier(commands, &desc));
}

static void run_two(struct suite *suite, struct hal_command_buffer *a, struct hal_command_buffer *b,
                    enum means means)
{
    struct hal_semaphore *done = suite_semaphore(suite, "done", 0);
    check_ok(suite, hal_command_buffer_end(a));
    check_ok(suite, hal_command_buffer_end(b));
    if (means == BY_COMMAND_BUFFERS) {
        struct hal_command_buffer *const both[2] = {a, b};
        const struct hal_submit_desc desc = {
            .signals = &(struct hal_semaphore_value){done, 2},
            .signal_count = 1,
            .commands = both,
            .command_count = 2,
        };
        check_ok(suite, hal_queue_submit(suite_device(suite), &desc));
    } else {
        const uint64_t last = (uint64_t)1 << (suite_info(suite)->queue_count - 1);
        check_ok(suite, suite_submit(suite, means == BY_OTHER_QUEUE ? last : 1, b,
                                     suite_at(done, 1), suite_at(done, 2)));
        check_ok(suite, suite_submit(suite, 1, a, SUITE_NONE, suite_at(done, 1)));
    }
    suite_wait(suite, done, 2);
}

static void try_hazard(struct suite *suite, enum command first, enum command second,
                       enum means means)
{
    struct hazard hazard;
    struct hal_command_buffer *a = suite_commands(suite, "first", HAL_ONE_SHOT), *b = a;
    prepare(suite, &hazard);
    if (means >= BY_COMMAND_BUFFERS)
        b = suite_commands(suite, "second", HAL_ONE_SHOT);
    record(suite, a, first, &hazard, 0);
    if (a == b)
        order(suite, a, means, first, second, hazard.x);
    record(suite, b, second, &hazard, 1);
    if (a == b)
        suite_run(suite, a);
    else
        run_two(suite, a, b, means);
    model(first, &hazard, 0);
    model(second, &hazard, 1);
    check_buffer(suite, hazard.x, 0, hazard.x_model, BYTES);
    for (int i = 0; i < 2; i++)
        check_buffer(suite, hazard.outs[i], 0, hazard.out_model[i], BYTES);
}

#define PAIR(first, second) ((uint64_t)(first)*16 + (second))

static void hazard(struct suite *suite, uint64_t pair)
{
    for (int means = 0; means < MEANS_COUNT; means++) {
        suite_note(suite, "%s", means_names[means]);
        try_hazard(suite, (enum command)(pair / 16), (enum command)(pair % 16), (enum means)means);
    }
}

/* ---- Barriers ------------------------------------------------------------------------------- */

/* x = x * 3 + i, in one thread, 1000 times: any step out of turn shows. */
static void long_chain(struct suite *suite, uint64_t steps)
{
    uint32_t wanted = 1;
    struct hal_buffer *x = suite_buffer(suite, "x", 4);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    suite_write(suite, x, 0, &wanted, 4);
    for (uint32_t i = 0; i < steps; i++) {
        suite_dispatch(suite, commands,
                       &(struct suite_launch){KERNEL_CHAIN, {1, 1, 1}, {x}, {i}, 1});
        check_ok(suite, hal_command_barrier(commands, NULL));
        wanted = wanted * 3 + i;
    }
    suite_run(suite, commands);
    check_buffer(suite, x, 0, &wanted, 4);
}

/* Barriers where there is nothing to order. */
static void idle_barriers(struct suite *suite, uint64_t count)
{
    const uint32_t wanted = 0x61626364;
    struct hal_buffer *x = suite_buffer(suite, "x", 4);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    for (uint64_t i = 0; i < count; i++)
        check_ok(suite, hal_command_barrier(commands, NULL));
    check_ok(suite, hal_command_fill(commands, x, 0, 4, wanted, 4));
    for (uint64_t i = 0; i < count; i++)
        check_ok(suite, hal_command_barrier(commands, &(struct hal_barrier_desc){0}));
    suite_run(suite, commands);
    check_buffer(suite, x, 0, &wanted, 4);
}

/* One barrier names parts of many buffers. */
static void barrier_of_many_buffers(struct suite *suite, uint64_t unused)
{
    (void)unused;
    enum { COUNT = 64, EACH = 4096 };
    struct hal_buffer_barrier barriers[COUNT];
    struct hal_buffer *buffers[COUNT], *all = suite_buffer(suite, "all", COUNT * EACH);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    uint8_t *wanted = suite_memory(suite, COUNT * EACH);
    for (uint32_t i = 0; i < COUNT; i++) {
        buffers[i] = suite_buffer(suite, "part", EACH);
        barriers[i] = (struct hal_buffer_barrier){buffers[i], i, EACH - COUNT, HAL_ACCESS_WRITE,
                                                  HAL_ACCESS_READ};
        check_ok(suite, hal_command_fill(commands, buffers[i], i, EACH - COUNT, i + 1, 1));
        memset(wanted + i * (EACH - COUNT), (int)i + 1, EACH - COUNT);
    }
    const struct hal_barrier_desc desc = {.buffers = barriers, .buffer_count = COUNT};
    check_ok(suite, hal_command_barrier(commands, &desc));
    memset(barriers, 0, sizeof barriers); /* they were copied */
    for (uint32_t i = 0; i < COUNT; i++)
        check_ok(suite,
                 hal_command_copy(commands, buffers[i], i, all, i * (EACH - COUNT), EACH - COUNT));
    suite_run(suite, commands);
    check_buffer(suite, all, 0, wanted, COUNT * (EACH - COUNT));
}

/* A barrier towards the host, then the host looks. */
static void barrier_to_the_host(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_mapping mapping;
    struct hal_buffer *x = suite_coherent_buffer(suite, "x", BYTES);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    uint32_t *wanted = suite_memory(suite, BYTES);
    suite_clear(suite, x, 0);
    suite_dispatch(suite, commands,
                   &(struct suite_launch){KERNEL_NUMBER, {WORDS / 64, 1, 1}, {x}, {9}, 1});
    const struct hal_barrier_desc desc = {.source_stages = HAL_STAGE_DISPATCH,
                                          .target_stages = HAL_STAGE_HOST,
                                          .source_access = HAL_ACCESS_WRITE,
                                          .target_access = HAL_ACCESS_READ};
    check_ok(suite, hal_command_barrier(commands, &desc));
    for (uint32_t i = 0; i < WORDS; i++)
        wanted[i] = 9 + i;
    check_ok(suite, hal_buffer_map(x, HAL_MAP_READ | HAL_MAP_PERSISTENT, 0, BYTES, &mapping));
    suite_run(suite, commands);
    check_bytes(suite, mapping.data, wanted, BYTES);
    check_ok(suite, hal_buffer_unmap(&mapping));
}

/* Commands on either side of several barriers, many on each side. */
static void wide_phases(struct suite *suite, uint64_t phases)
{
    enum { PIECES = 64, PIECE = WORDS / PIECES };
    struct hal_buffer *x = suite_buffer(suite, "x", BYTES);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    uint32_t *wanted = suite_memory(suite, BYTES), *before = suite_memory(suite, BYTES);
    struct hal_buffer *y = filled(suite, "y", wanted, 7);
    suite_clear(suite, x, 0);
    for (uint32_t phase = 0; phase < phases; phase++) {
        struct hal_buffer *from = phase % 2 ? x : y, *to = phase % 2 ? y : x;
        memcpy(before, wanted, BYTES);
        for (uint32_t i = 0; i < PIECES; i++) {
            const uint32_t at = (i * 5 + phase) % PIECES;
            check_ok(suite, hal_command_copy(commands, from, i * PIECE * 4, to, at * PIECE * 4,
                                             PIECE * 4));
            memcpy(wanted + at * PIECE, before + i * PIECE, PIECE * 4);
        }
        check_ok(suite, hal_command_barrier(commands, NULL));
    }
    suite_run(suite, commands);
    check_buffer(suite, phases % 2 ? x : y, 0, wanted, BYTES);
}

static const struct suite_case cases[] = {
    {"raw_fill_copy", hazard, PAIR(FILL, COPY_FROM)},
    {"raw_fill_dispatch", hazard, PAIR(FILL, DISPATCH_FROM)},
    {"raw_update_copy", hazard, PAIR(UPDATE, COPY_FROM)},
    {"raw_update_dispatch", hazard, PAIR(UPDATE, DISPATCH_FROM)},
    {"raw_copy_copy", hazard, PAIR(COPY_TO, COPY_FROM)},
    {"raw_copy_dispatch", hazard, PAIR(COPY_TO, DISPATCH_FROM)},
    {"raw_dispatch_copy", hazard, PAIR(DISPATCH_TO, COPY_FROM)},
    {"raw_dispatch_dispatch", hazard, PAIR(DISPATCH_TO, DISPATCH_FROM)},
    {"war_copy_fill", hazard, PAIR(COPY_FROM, FILL)},
    {"war_copy_update", hazard, PAIR(COPY_FROM, UPDATE)},
    {"war_copy_copy", hazard, PAIR(COPY_FROM, COPY_TO)},
    {"war_copy_dispatch", hazard, PAIR(COPY_FROM, DISPATCH_TO)},
    {"war_dispatch_fill", hazard, PAIR(DISPATCH_FROM, FILL)},
    {"war_dispatch_update", hazard, PAIR(DISPATCH_FROM, UPDATE)},
    {"war_dispatch_copy", hazard, PAIR(DISPATCH_FROM, COPY_TO)},
    {"war_dispatch_dispatch", hazard, PAIR(DISPATCH_FROM, DISPATCH_TO)},
    {"waw_fill_fill", hazard, PAIR(FILL, FILL)},
    {"waw_fill_update", hazard, PAIR(FILL, UPDATE)},
    {"waw_fill_copy", hazard, PAIR(FILL, COPY_TO)},
    {"waw_fill_dispatch", hazard, PAIR(FILL, DISPATCH_TO)},
    {"waw_update_fill", hazard, PAIR(UPDATE, FILL)},
    {"waw_update_update", hazard, PAIR(UPDATE, UPDATE)},
    {"waw_update_copy", hazard, PAIR(UPDATE, COPY_TO)},
    {"waw_update_dispatch", hazard, PAIR(UPDATE, DISPATCH_TO)},
    {"waw_copy_fill", hazard, PAIR(COPY_TO, FILL)},
    {"waw_copy_update", hazard, PAIR(COPY_TO, UPDATE)},
    {"waw_copy_copy", hazard, PAIR(COPY_TO, COPY_TO)},
    {"waw_copy_dispatch", hazard, PAIR(COPY_TO, DISPATCH_TO)},
    {"waw_dispatch_fill", hazard, PAIR(DISPATCH_TO, FILL)},
    {"waw_dispatch_update", hazard, PAIR(DISPATCH_TO, UPDATE)},
    {"waw_dispatch_copy", hazard, PAIR(DISPATCH_TO, COPY_TO)},
    {"waw_dispatch_dispatch", hazard, PAIR(DISPATCH_TO, DISPATCH_TO)},
    {"increment_after_fill", hazard, PAIR(FILL, INCREMENT)},
    {"increment_after_copy", hazard, PAIR(COPY_TO, INCREMENT)},
    {"increment_after_increment", hazard, PAIR(INCREMENT, INCREMENT)},
    {"copy_after_increment", hazard, PAIR(INCREMENT, COPY_FROM)},
    {"fill_after_increment", hazard, PAIR(INCREMENT, FILL)},
    {"long_chain", long_chain, 1000},
    {"idle_barriers", idle_barriers, 100},
    {"barrier_of_many_buffers", barrier_of_many_buffers, 0},
    {"barrier_to_the_host", barrier_to_the_host, 0},
    {"wide_phases", wide_phases, 21},
};

const struct suite_area area_sync = {"sync", cases, SUITE_COUNT(cases)};
