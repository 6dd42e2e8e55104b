/* SPDX-License-Identifier: Apache-2.0 */
/* Order: every hazard between every two commands, with every means that orders them; one-shot and
 * reusable command buffers; debug groups and scopes, which order nothing. */
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
        check_ok(suite,
                 suite_submit(suite, means == BY_OTHER_QUEUE ? last : 1, b, done, 1, done, 2));
        check_ok(suite, suite_submit(suite, 1, a, NULL, 0, done, 1));
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
    struct hal_buffer *x = suite_buffer(suite, "x", BYTES);
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
    check_fails(suite, suite_submit(suite, 0, commands, NULL, 0, NULL, 0), HAL_INVALID, "once",
                "one-shot");
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
    check_fails(suite, suite_submit(suite, 0, commands, NULL, 0, used, 5), HAL_INVALID, "used",
                "5");
    check_ok(suite, suite_submit(suite, 0, commands, NULL, 0, used, 6));
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
        check_ok(suite, suite_submit(suite, 0, commands, turn, i, turn, i + 1));
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
        check_ok(suite, suite_submit(suite, 0, commands, go, 1, done[i], 1));
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
        status = suite_submit(suite, 0, commands, go, 1, done, 1);
    hal_command_buffer_release(commands);
    check_ok(suite, status);
    check_ok(suite, hal_semaphore_signal(go, 1));
    suite_wait(suite, done, 1);
    check_buffer(suite, x, 0, &wanted, 4);
}

/* Recorded and thrown away, sealed or not. */
static void never_submitted(struct suite *suite, uint64_t sealed)
{
    const uint32_t wanted = 0x33333333;
    struct hal_buffer *x = suite_buffer(suite, "x", 4);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    suite_clear(suite, x, 0x33);
    check_ok(suite, hal_command_fill(commands, x, 0, 4, 0, 1));
    if (sealed)
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
    {"empty_one_shot", empty_command_buffer, HAL_ONE_SHOT},
    {"empty_reusable", empty_command_buffer, HAL_REUSABLE},
    {"one_shot_runs_once", one_shot_runs_once, 0},
    {"refused_submission_can_be_repeated", refused_submission_can_be_repeated, 0},
    {"reusable_in_turn", reusable_in_turn, 200},
    {"reusable_at_once", reusable_at_once, 50},
    {"reusable_in_one_submission", reusable_in_one_submission, 0},
    {"state_is_the_command_buffers_own", state_is_the_command_buffers_own, 0},
    {"kept_by_its_submission", kept_by_its_submission, 0},
    {"never_sealed", never_submitted, false},
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
};

const struct suite_area area_sync = {"sync", cases, SUITE_COUNT(cases)};
