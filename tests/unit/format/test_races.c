/* SPDX-License-Identifier: Apache-2.0 */
/* format/analysis/happens_before.c, races.c, race_commands.c: traces in which exactly one thing is
 * not ordered, or is ordered in exactly one way; and random programs, captured, from which one
 * semaphore or one barrier is left out that nothing stands in for. */
#include "format/analysis/races.h"
#include "tests/support/captured.h"
#include "tests/support/folder.h"
#include "tests/support/hal_fixture.h"
#include "tests/support/trace_builder.h"

enum { BUFFER = 10, OTHER = 11, FIRST = 30, SECOND = 31, COMMANDS = 100, KERNEL = 900 };

struct fixture {
    struct test_folder folder;
    char path[PATH_MAX];
    struct trace_builder b;
    struct trace_reader *reader;
    struct trace_races races;
};

static int begin(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    *state = f;
    if (!f || !test_folder_make(&f->folder))
        return -1;
    builder_open(&f->b, test_folder_file(&f->folder, "t.pb.zst", f->path), NULL);
    builder_buffer_create(&f->b, BUFFER, "out", 4096);
    builder_buffer_create(&f->b, OTHER, "other", 4096);
    builder_semaphore_create(&f->b, FIRST, "first", 0);
    builder_semaphore_create(&f->b, SECOND, "second", 0);
    return 0;
}

static int end(void **state)
{
    struct fixture *f = *state;
    trace_races_finish(&f->races);
    trace_reader_close(f->reader);
    test_folder_remove(&f->folder);
    free(f);
    return 0;
}

static const struct trace_semaphore_value none;

#define FIRST_AT(n)  ((struct trace_semaphore_value){FIRST, (n)})
#define SECOND_AT(n) ((struct trace_semaphore_value){SECOND, (n)})

/* What was recorded since the last seal, as submission n. */
static void submit(struct fixture *f, uint64_t n, uint32_t queue, struct trace_semaphore_value wait,
                   struct trace_semaphore_value signal)
{
    const uint64_t commands = COMMANDS + n;
    builder_end_commands(&f->b, commands);
    builder_submit(&f->b, n, queue, builder_values(&wait, wait.semaphore != 0),
                   builder_values(&signal, signal.semaphore != 0), IDS(commands));
}

/* Submission n fills [0, 64). */
static void fill(struct fixture *f, uint64_t n, struct trace_semaphore_value wait,
                 struct trace_semaphore_value signal)
{
    builder_command_buffer_create(&f->b, COMMANDS + n, NULL, 0);
    builder_fill(&f->b, BUFFER, 0, 64, 1, 1);
    submit(f, n, 0, wait, signal);
}

static void host_wait(struct fixture *f, uint32_t mode, struct trace_semaphore_value value,
                      enum hal_status status)
{
    f->b.status = (uint16_t)status;
    builder_semaphore_wait(&f->b, mode, &value, 1, INT64_MAX);
    f->b.status = HAL_OK;
}

static void host_access(struct fixture *f, bool writes)
{
    static const uint8_t bytes[16];
    if (writes)
        builder_host_write(&f->b, BUFFER, 0, bytes, sizeof bytes);
    else
        builder_host_read(&f->b, BUFFER, 0, bytes, sizeof bytes);
}

static void find(struct fixture *f)
{
    trace_races_begin(&f->races);
    if (builder_close(&f->b, NULL) != HAL_OK || trace_reader_open(f->path, &f->reader) != HAL_OK ||
        trace_races_find(f->reader, &f->races) != HAL_OK)
        fail_msg("%s", hal_message());
}

static void expect(struct fixture *f, uint64_t declared, uint64_t possible)
{
    find(f);
    assert_int_equal(f->races.declared_count, declared);
    assert_int_equal(f->races.count, declared + possible);
    assert_int_equal(f->races.list_count, declared + possible);
}

static void expect_names(struct fixture *f, const char *before, const char *after)
{
    char name[TRACE_RACE_NAME_BYTES];
    const struct trace_race *race = &f->races.list[0];
    assert_string_equal(trace_race_side_name(&race->before, f->reader, name), before);
    assert_string_equal(trace_race_side_name(&race->after, f->reader, name), after);
}

/* ---- Between submissions ---- */

TEST_ON(queues_order_nothing, struct fixture *f)
{
    fill(f, 0, none, FIRST_AT(1));
    fill(f, 1, none, SECOND_AT(1)); /* on the same queue */
    expect(f, 1, 0);
    expect_names(f, "#s0 (fill, command 0 of command buffer 0)",
                 "#s1 (fill, command 0 of command buffer 0)");
    assert_int_equal(f->races.list[0].buffer, BUFFER);
    assert_int_equal(f->races.list[0].begin, 0);
    assert_int_equal(f->races.list[0].end, 64);
    assert_false(f->races.list[0].inside);
}

TEST_ON(a_semaphore_orders, struct fixture *f)
{
    fill(f, 0, none, FIRST_AT(3));
    fill(f, 1, FIRST_AT(2), SECOND_AT(1)); /* reached by 3 */
    fill(f, 2, SECOND_AT(1), none);
    expect(f, 0, 0);
}

TEST_ON(a_wait_before_its_signal_orders, struct fixture *f)
{
    fill(f, 0, FIRST_AT(1), none);
    fill(f, 1, none, FIRST_AT(1)); /* and runs first */
    expect(f, 0, 0);
}

TEST_ON(the_host_orders_what_it_waits_for, struct fixture *f)
{
    fill(f, 0, none, FIRST_AT(1));
    host_wait(f, HAL_WAIT_ALL, FIRST_AT(1), HAL_OK);
    fill(f, 1, none, FIRST_AT(2));
    builder_semaphore(&f->b, TRACE_SEMAPHORE_QUERY, FIRST, 2, NULL);
    fill(f, 2, none, FIRST_AT(3));
    builder_wait_idle(&f->b, INT64_MAX);
    host_access(f, false);
    host_access(f, true);
    fill(f, 3, none, none);
    expect(f, 0, 0);
}

/* A wait for any may be for this one; the wait that failed has seen the work end. */
TEST_ON(what_may_order_raises_no_alarm, struct fixture *f)
{
    fill(f, 0, none, FIRST_AT(1));
    host_wait(f, HAL_WAIT_ANY, FIRST_AT(1), HAL_OK);
    fill(f, 1, none, FIRST_AT(2));
    host_wait(f, HAL_WAIT_ALL, FIRST_AT(2), HAL_FAILED);
    fill(f, 2, none, none);
    expect(f, 0, 0);
}

TEST_ON(a_wait_that_timed_out_orders_nothing, struct fixture *f)
{
    fill(f, 0, none, FIRST_AT(1));
    host_wait(f, HAL_WAIT_ALL, FIRST_AT(1), HAL_TIMEOUT);
    fill(f, 1, none, none);
    expect(f, 1, 0);
}

TEST_ON(a_query_of_an_earlier_value_orders_nothing, struct fixture *f)
{
    fill(f, 0, none, FIRST_AT(1));
    builder_semaphore(&f->b, TRACE_SEMAPHORE_QUERY, FIRST, 0, NULL);
    fill(f, 1, none, none);
    expect(f, 1, 0);
}

TEST_ON(the_host_s_signal_orders_what_it_knows, struct fixture *f)
{
    fill(f, 0, none, FIRST_AT(1));
    fill(f, 1, SECOND_AT(1), none);
    host_wait(f, HAL_WAIT_ALL, FIRST_AT(1), HAL_OK);
    host_access(f, true);
    builder_semaphore(&f->b, TRACE_SEMAPHORE_SIGNAL, SECOND, 1, NULL);
    expect(f, 0, 0);
}

TEST_ON(a_signal_too_early_orders_nothing, struct fixture *f)
{
    fill(f, 0, SECOND_AT(1), none);
    builder_semaphore(&f->b, TRACE_SEMAPHORE_SIGNAL, SECOND, 1, NULL);
    host_access(f, true);
    expect(f, 1, 0);
    assert_true(f->races.list[0].after.host);
}

TEST_ON(the_host_races_with_work_in_flight, struct fixture *f)
{
    fill(f, 0, none, FIRST_AT(1));
    host_access(f, false);
    host_wait(f, HAL_WAIT_ALL, FIRST_AT(1), HAL_OK);
    host_access(f, false);
    expect(f, 1, 0);
    char name[TRACE_RACE_NAME_BYTES];
    assert_string_equal(trace_race_side_name(&f->races.list[0].after, f->reader, name),
                        "the host's read at ticket 8");
}

/* Of what it might see in a mapping nobody knows whether it looks. */
TEST_ON(what_the_host_could_see_is_no_access, struct fixture *f)
{
    fill(f, 0, none, none);
    f->b.flags = TRACE_FLAG_OBSERVED;
    host_access(f, false);
    expect(f, 0, 0);
}

TEST_ON(writes_through_persistent_mappings_are_possible, struct fixture *f)
{
    builder_map(&f->b, BUFFER, 1, HAL_MAP_WRITE | HAL_MAP_PERSISTENT, 0, 64);
    fill(f, 0, none, none);
    host_access(f, true);
    expect(f, 0, 1);
}

TEST_ON(command_buffers_of_a_submission_are_in_order, struct fixture *f)
{
    for (uint64_t n = 0; n < 2; n++) {
        builder_command_buffer_create(&f->b, COMMANDS + n, NULL, 0);
        builder_fill(&f->b, BUFFER, 0, 64, 1, 1);
        builder_end_commands(&f->b, COMMANDS + n);
    }
    builder_submit(&f->b, 0, 0, NO_VALUES, NO_VALUES, IDS(COMMANDS, COMMANDS + 1));
    expect(f, 0, 0);
}

/* A fill, an ordering and a copy out of it: by a barrier, by one of the range, by an event. */
enum { BY_BARRIER, BY_RANGE, BY_EVENT, ORDERINGS };

static void narrow(void *user, struct trace_event *event, struct trace_segment *segment)
{
    (void)user;
    if (segment && segment->kind == TRACE_BARRIER && event)
        ((struct trace_barrier *)(void *)segment)->source_access = TRACE_ACCESS_READ;
    else if (segment && segment->kind == TRACE_EVENTS_WAIT)
        ((struct trace_events_wait *)(void *)segment)->source_access = TRACE_ACCESS_READ;
}

static void fill_and_copy(struct fixture *f, uint64_t n, int ordering, uint32_t source_access)
{
    const struct trace_buffer_barrier range = {.buffer = BUFFER,
                                               .size = 64,
                                               .source_access = source_access,
                                               .target_access = TRACE_ACCESS_READ};
    f->b.alter = source_access == TRACE_ACCESS_READ && ordering != BY_RANGE ? narrow : NULL;
    builder_command_buffer_create(&f->b, COMMANDS + n, NULL, 0);
    builder_fill(&f->b, BUFFER, 0, 64, 1, 1);
    if (ordering == BY_EVENT) {
        builder_event(&f->b, TRACE_EVENT_SIGNAL, 77, 7);
        builder_events_wait(&f->b, 7, (uint64_t[]){77}, 1);
    } else {
        builder_barrier(&f->b, &range, ordering == BY_RANGE);
    }
    builder_copy(&f->b, BUFFER, 0, OTHER, 64 * n, 64);
    submit(f, n, 0, n ? FIRST_AT(n) : none, FIRST_AT(n + 1));
    f->b.alter = NULL;
}

TEST_ON(what_makes_writes_available_orders, struct fixture *f)
{
    for (int i = 0; i < ORDERINGS; i++)
        fill_and_copy(f, (uint64_t)i, i, TRACE_ACCESS_WRITE);
    expect(f, 0, 0);
}

TEST_ON(a_barrier_of_reads_makes_no_write_available, struct fixture *f)
{
    for (int i = 0; i < ORDERINGS; i++)
        fill_and_copy(f, (uint64_t)i, i, TRACE_ACCESS_READ);
    expect(f, ORDERINGS, 0);
    assert_true(f->races.list[0].inside);
    expect_names(f, "#s0 (fill, command 0 of command buffer 0)",
                 "#s0 (copy, command 2 of command buffer 0)");
}

TEST_ON(queues_that_move_files_take_part, struct fixture *f)
{
    fill(f, 0, none, none);
    f->b.operation = (struct trace_submit){
        .operation = TRACE_OPERATION_READ, .buffer = BUFFER, .offset = 32, .size = 64};
    builder_submit(&f->b, 1, 0, NO_VALUES, NO_VALUES, NO_IDS);
    builder_host_call(&f->b, TRACE_HOST_CALL_BEGIN, 1);
    host_access(f, true); /* is the queue's, and no more than it says */
    builder_host_call(&f->b, TRACE_HOST_CALL_END, 1);
    expect(f, 1, 0);
    expect_names(f, "#s0 (fill, command 0 of command buffer 0)", "#s1 (write of the queue)");
    assert_int_equal(f->races.list[0].begin, 32);
}

/* Its waits are in the traces of other devices. */
TEST_ON(semaphores_of_others_raise_no_alarm, struct fixture *f)
{
    f->b.flags = TRACE_FLAG_EXTERNAL;
    builder_semaphore_create(&f->b, 50, "far", 0);
    f->b.flags = 0;
    fill(f, 0, none, (struct trace_semaphore_value){50, 1});
    host_access(f, false);
    expect(f, 0, 0);
}

/* ---- Kernels ---- */

enum { READS, WRITES, ENTRIES };

static void create_kernels(struct fixture *f)
{
    static const struct trace_entry_binding takes[ENTRIES] = {{READS, 0, 0, HAL_ACCESS_READ},
                                                              {WRITES, 0, 0, HAL_ACCESS_WRITE}};
    const struct trace_entry_point entries[ENTRIES] = {
        {.name = builder_string(&f->b, "reads"), .group_size = {1, 1, 1}},
        {.name = builder_string(&f->b, "writes"), .group_size = {1, 1, 1}}};
    f->b.executable = (struct builder_executable){.bindings = takes, .binding_count = ENTRIES};
    builder_executable_create(&f->b, KERNEL, NULL, "", entries, ENTRIES);
}

static void dispatch(struct fixture *f, uint64_t executable, uint32_t entry, uint64_t offset,
                     uint64_t size)
{
    const struct trace_binding binding = {BUFFER, offset, size};
    builder_push_descriptor_set(&f->b, 0, &binding, 1);
    builder_dispatch(&f->b, executable, entry, 1, 1, 1);
}

static void run(struct fixture *f, uint64_t n, uint64_t executable, uint32_t entry, uint64_t offset,
                uint64_t size)
{
    builder_command_buffer_create(&f->b, COMMANDS + n, NULL, 0);
    dispatch(f, executable, entry, offset, size);
    submit(f, n, 0, none, none);
}

TEST_ON(kernels_that_read_never_write, struct fixture *f)
{
    create_kernels(f);
    run(f, 0, KERNEL, READS, 0, 64);
    run(f, 1, KERNEL, READS, 0, 64);
    expect(f, 0, 0);
}

TEST_ON(a_kernel_that_writes_races_with_one_that_reads, struct fixture *f)
{
    create_kernels(f);
    run(f, 0, KERNEL, READS, 0, 64);
    run(f, 1, KERNEL, WRITES, 32, 64);
    expect(f, 1, 0);
    expect_names(f, "#s0.d0 (dispatch of 'reads')", "#s1.d0 (dispatch of 'writes')");
}

TEST_ON(a_kernel_that_declares_nothing_is_possible, struct fixture *f)
{
    create_kernels(f);
    run(f, 0, KERNEL, WRITES, 0, 64);
    run(f, 1, KERNEL + 1, 0, 32, 64);
    expect(f, 0, 1);
}

/* To the end of the buffer: a thread for each word touches all, a few of them some part. */
TEST_ON(few_threads_on_a_whole_buffer_are_possible, struct fixture *f)
{
    create_kernels(f);
    run(f, 0, KERNEL, WRITES, 0, 4096); /* a slot, say */
    run(f, 1, KERNEL, WRITES, 0, 4096);
    expect(f, 0, 1);
}

TEST_ON(a_thread_for_each_word_of_a_whole_buffer_races, struct fixture *f)
{
    const struct trace_binding whole = {BUFFER, 0, 4096};
    create_kernels(f);
    builder_command_buffer_create(&f->b, COMMANDS, NULL, 0);
    builder_push_descriptor_set(&f->b, 0, &whole, 1);
    builder_dispatch(&f->b, KERNEL, WRITES, 32, 32, 1);
    builder_dispatch(&f->b, KERNEL, WRITES, 1024, 1, 1);
    dispatch(f, KERNEL, WRITES, 1024, 4096 - 1024); /* possibly with either */
    submit(f, 0, 0, none, none);
    find(f);
    assert_int_equal(f->races.declared_count, 1);
    assert_true(f->races.count > 1);
    expect_names(f, "#s0.d0 (dispatch of 'writes')", "#s0.d1 (dispatch of 'writes')");
    assert_true(f->races.list[0].inside);
}

/* ---- Cost ---- */

/* `count` submissions, all of which wait for what the host signals at last, one after the other,
 * and use the slots of a ring of eight. Returns what that cost. */
static uint64_t cost_of(uint64_t count)
{
    struct trace_races races;
    struct {
        struct trace_submit submit;
        struct trace_semaphore_value values[2];
        uint64_t commands;
    } record = {0};
    struct {
        struct trace_command_buffer_seal seal;
        struct trace_fill fill;
    } ended = {0};
    trace_races_begin(&races);
    for (uint64_t slot = 0; slot < 8; slot++) {
        ended.seal.head.kind = TRACE_COMMAND_BUFFER_SEAL;
        ended.seal.command_buffer = COMMANDS + slot;
        ended.seal.segment_count = 1;
        ended.fill.head = (struct trace_segment){.bytes = sizeof ended.fill, .kind = TRACE_FILL};
        ended.fill.target = BUFFER;
        ended.fill.offset = 64 * slot;
        ended.fill.size = 64;
        assert_ok(trace_races_take(&races, &ended.seal.head, &ended.fill.head));
    }
    for (uint64_t n = 0; n < count; n++) {
        record.submit.head.kind = TRACE_SUBMIT;
        record.submit.submission = n;
        record.submit.wait_count = record.submit.signal_count = 1;
        record.submit.command_buffer_count = 1;
        record.values[0] = FIRST_AT(n + 1);
        record.values[1] = FIRST_AT(n + 2);
        record.commands = COMMANDS + n % 8;
        assert_ok(trace_races_take(&races, &record.submit.head, NULL));
    }
    assert_int_equal(races.order.held_count, count);
    const struct trace_semaphore_event signal = {
        .head.kind = TRACE_SEMAPHORE_SIGNAL, .semaphore = FIRST, .value = 1};
    assert_ok(trace_races_take(&races, &signal.head, NULL));
    assert_int_equal(races.order.held_count, 0);
    assert_int_equal(races.count, 0);
    assert_int_equal(races.undecided, 0);
    assert_false(races.order.incomplete); /* what was dropped nobody asked for */
    const uint64_t cost = races.visits + races.order.steps;
    trace_races_finish(&races);
    return cost;
}

TEST_ON(cost_is_linear_in_submissions, struct fixture *f)
{
    assert_ok(builder_close(&f->b, NULL)); /* it makes records of its own */
    const uint64_t few = cost_of(10000), many = cost_of(100000);
    print_message("%llu steps for 10,000 submissions, %llu for 100,000\n", (unsigned long long)few,
                  (unsigned long long)many);
    assert_true(many <= 10 * few + 10);
    assert_true(many <= 8 * 100000);
}

/* Work that nothing orders with anything: there are not so many chains, and no false alarm. */
TEST_ON(beyond_the_limits_nothing_is_reported_wrongly, struct fixture *f)
{
    enum { COUNT = TRACE_ORDER_CHAINS + 10 };
    for (uint64_t n = 0; n < COUNT; n++) {
        builder_command_buffer_create(&f->b, COMMANDS + n, NULL, 0);
        builder_fill(&f->b, BUFFER, n, 1, 1, 1);
        submit(f, n, 0, none, FIRST_AT(n + 1));
    }
    host_wait(f, HAL_WAIT_ALL, FIRST_AT(COUNT), HAL_OK);
    builder_wait_idle(&f->b, INT64_MAX);
    host_access(f, false);
    expect(f, 0, 0);
    assert_true(f->races.order.incomplete);
    assert_int_equal(f->races.undecided, COUNT - (TRACE_ORDER_CHAINS - 1));
}

/* Of a semaphore with very many values the first are gone: no alarm, and it is known. */
TEST_ON(a_wait_for_a_value_of_long_ago_raises_no_alarm, struct fixture *f)
{
    fill(f, 0, none, FIRST_AT(1));
    for (uint64_t value = 2; value < 3 * TRACE_ORDER_VALUES; value++)
        builder_semaphore(&f->b, TRACE_SEMAPHORE_SIGNAL, FIRST, value, NULL);
    fill(f, 1, FIRST_AT(1), none);
    expect(f, 0, 0);
    assert_true(f->races.order.incomplete);
}

/* ---- Random programs ---- */

enum { PROGRAMS = 32, MOST = 14, BUFFERS = 3, UNIT = 16, UNITS = 8, BUFFER_BYTES = 4096 };

struct operation {
    enum { FILL, COPY, ADD, MOVE } kind;
    uint32_t target, source; /* buffers */
    uint64_t target_begin, source_begin, bytes;
    uint64_t waits; /* bit i: for operation i; with barriers: any bit: a barrier before it */
};

struct program {
    struct operation list[MOST];
    size_t count;
};

static const char source[] =
    "#include <metal_stdlib>\nusing namespace metal;\n"
    "kernel void add(device uint *a [[buffer(0)]], uint i [[thread_position_in_grid]])"
    "{ a[i] += 1; }\n"
    "kernel void move(device uint *a [[buffer(0)]], device const uint *b [[buffer(1)]],"
    " uint i [[thread_position_in_grid]]) { a[i] = b[i]; }\n";

static bool overlap(uint32_t a, uint64_t a_begin, uint64_t a_bytes, uint32_t b, uint64_t b_begin,
                    uint64_t b_bytes)
{
    return a == b && a_begin < b_begin + b_bytes && b_begin < a_begin + a_bytes;
}

static bool conflict(const struct operation *a, const struct operation *b)
{
    const bool a_reads = a->kind == COPY || a->kind == MOVE;
    const bool b_reads = b->kind == COPY || b->kind == MOVE;
    return overlap(a->target, a->target_begin, a->bytes, b->target, b->target_begin, b->bytes) ||
           (a_reads &&
            overlap(a->source, a->source_begin, a->bytes, b->target, b->target_begin, b->bytes)) ||
           (b_reads &&
            overlap(b->source, b->source_begin, b->bytes, a->target, a->target_begin, a->bytes));
}

static struct operation random_operation(uint64_t *seed)
{
    struct operation o = {.kind = fixture_random(seed) % 4};
    o.target = fixture_random(seed) % BUFFERS;
    o.source = (o.target + 1 + fixture_random(seed) % (BUFFERS - 1)) % BUFFERS;
    o.bytes = UNIT * (1 + fixture_random(seed) % 3);
    o.target_begin = UNIT * (fixture_random(seed) % UNITS);
    o.source_begin = UNIT * (fixture_random(seed) % UNITS);
    return o;
}

/* Each waits for those before it that it conflicts with, unless another wait orders them already:
 * no wait can be missed. */
static void make_submissions(uint64_t *seed, struct program *out)
{
    uint64_t reached[MOST] = {0};
    out->count = MOST / 2 + fixture_random(seed) % (MOST / 2);
    for (size_t i = 0; i < out->count; i++) {
        struct operation *o = &out->list[i];
        *o = random_operation(seed);
        for (size_t k = i; k-- > 0;) {
            if (!conflict(o, &out->list[k]) || reached[i] >> k & 1)
                continue;
            o->waits |= UINT64_C(1) << k;
            reached[i] |= reached[k] | UINT64_C(1) << k;
        }
    }
}

/* A barrier stands before what conflicts with anything since the one before. */
static void make_commands(uint64_t *seed, struct program *out)
{
    size_t since = 0;
    out->count = MOST / 2 + fixture_random(seed) % (MOST / 2);
    for (size_t i = 0; i < out->count; i++) {
        struct operation *o = &out->list[i];
        *o = random_operation(seed);
        for (size_t k = since; k < i; k++)
            o->waits |= conflict(o, &out->list[k]);
        since = o->waits ? i : since;
    }
}

/* Leaves the n-th wait out, of those that there are. False: there are not so many. */
static bool leave_out(struct program *program, size_t n)
{
    for (size_t i = 0; i < program->count; i++) {
        for (size_t k = 0; k < MOST; k++) {
            if (program->list[i].waits >> k & 1 && n-- == 0) {
                program->list[i].waits &= ~(UINT64_C(1) << k);
                return true;
            }
        }
    }
    return false;
}

struct machine {
    struct hal_device *device;
    struct hal_executable *executable;
    struct hal_buffer *buffers[BUFFERS];
    struct hal_semaphore *done[MOST];
};

static void record(const struct machine *m, struct hal_command_buffer *commands,
                   const struct operation *o)
{
    struct hal_buffer *target = m->buffers[o->target], *from = m->buffers[o->source];
    const struct hal_binding bindings[2] = {{target, o->target_begin, o->bytes},
                                            {from, o->source_begin, o->bytes}};
    const uint32_t groups[3] = {(uint32_t)o->bytes / 4, 1, 1};
    switch (o->kind) {
    case FILL:
        assert_ok(hal_command_fill(commands, target, o->target_begin, o->bytes, 7, 1));
        break;
    case COPY:
        assert_ok(
            hal_command_copy(commands, from, o->source_begin, target, o->target_begin, o->bytes));
        break;
    case ADD:
    case MOVE:
        assert_ok(hal_command_push_descriptor_set(commands, 0, bindings, o->kind == ADD ? 1 : 2));
        assert_ok(hal_command_dispatch(commands, m->executable, o->kind == MOVE, groups));
        break;
    }
}

static void end_and_submit(const struct machine *m, struct hal_command_buffer *commands,
                           uint64_t waits, size_t signal, uint64_t queues)
{
    struct hal_semaphore_value values[MOST];
    size_t count = 0;
    for (size_t k = 0; k < MOST; k++) {
        if (waits >> k & 1)
            values[count++] = (struct hal_semaphore_value){m->done[k], 1};
    }
    const struct hal_semaphore_value done = {m->done[signal], 1};
    assert_ok(hal_command_buffer_end(commands));
    assert_ok(hal_queue_submit(m->device, &(struct hal_submit_desc){.queues = queues,
                                                                    .waits = values,
                                                                    .wait_count = count,
                                                                    .signals = &done,
                                                                    .signal_count = 1,
                                                                    .commands = &commands,
                                                                    .command_count = 1}));
    hal_command_buffer_release(commands);
}

static void run_submissions(const struct machine *m, const struct program *program)
{
    for (size_t i = 0; i < program->count; i++) {
        struct hal_command_buffer *commands = fixture_commands(m->device, "one", HAL_ONE_SHOT);
        record(m, commands, &program->list[i]);
        end_and_submit(m, commands, program->list[i].waits, i, 1u << i % 2);
    }
}

static void run_commands(const struct machine *m, const struct program *program)
{
    struct hal_command_buffer *commands = fixture_commands(m->device, "all", HAL_ONE_SHOT);
    for (size_t i = 0; i < program->count; i++) {
        if (program->list[i].waits)
            assert_ok(hal_command_barrier(commands, NULL));
        record(m, commands, &program->list[i]);
    }
    end_and_submit(m, commands, 0, 0, 1);
}

/* Runs the program and returns how many races its trace has, all of them declared. */
static uint64_t count_races(struct fixture *f, const struct program *program, bool submissions)
{
    struct machine m = {.device = fixture_device("cpu?threads=2&queues=2")};
    static const struct hal_entry_point entries[2] = {
        {.name = "add", .workgroup_size = {1, 1, 1}},
        {.name = "move", .workgroup_size = {1, 1, 1}}};
    struct captured captured;
    struct trace_races races;
    captured_begin(m.device, f->path);
    assert_ok(hal_executable_create(m.device,
                                    &(struct hal_executable_desc){.format = HAL_FORMAT_MSL,
                                                                  .data = source,
                                                                  .bytes = sizeof source - 1,
                                                                  .entry_points = entries,
                                                                  .entry_point_count = 2},
                                    &m.executable));
    for (size_t i = 0; i < BUFFERS; i++) {
        static const uint8_t zeros[BUFFER_BYTES];
        m.buffers[i] = fixture_buffer(m.device, "data", BUFFER_BYTES);
        assert_ok(hal_buffer_write(m.buffers[i], 0, zeros, sizeof zeros));
    }
    for (size_t i = 0; i < MOST; i++)
        m.done[i] = fixture_semaphore(m.device, "done", 0);
    if (submissions)
        run_submissions(&m, program);
    else
        run_commands(&m, program);
    assert_ok(hal_device_wait_idle(m.device, HAL_FOREVER));
    for (size_t i = 0; i < BUFFERS; i++) {
        uint8_t bytes[BUFFER_BYTES];
        assert_ok(hal_buffer_read(m.buffers[i], 0, bytes, sizeof bytes));
        hal_buffer_release(m.buffers[i]);
    }
    for (size_t i = 0; i < MOST; i++)
        hal_semaphore_release(m.done[i]);
    hal_executable_release(m.executable);
    hal_device_release(m.device);
    captured_open(&captured, f->path);
    trace_races_begin(&races);
    assert_ok(trace_races_find(captured.reader, &races));
    const uint64_t count = races.count;
    assert_int_equal(races.declared_count, count);
    assert_int_equal(races.undecided, 0);
    trace_races_finish(&races);
    captured_close(&captured);
    assert_int_equal(remove(f->path), 0);
    return count;
}

/* `PROGRAMS` that have anything to leave out. */
static void leave_one_out(struct fixture *f, bool submissions)
{
    uint64_t seed = fixture_seed();
    size_t found = 0, clean = 0;
#ifdef __SANITIZE_THREAD__
    return; /* it finds the races itself */
#endif
    assert_ok(builder_close(&f->b, NULL));
    assert_int_equal(remove(f->path), 0);
    for (size_t made = 0; made < PROGRAMS;) {
        struct program program = {0};
        if (submissions)
            make_submissions(&seed, &program);
        else
            make_commands(&seed, &program);
        struct program without = program;
        if (!leave_out(&without, fixture_random(&seed) % 3))
            continue;
        made++;
        clean += count_races(f, &program, submissions) == 0;
        found += count_races(f, &without, submissions) > 0;
    }
    print_message("found %zu of %d, clean %zu of %d\n", found, PROGRAMS, clean, PROGRAMS);
    assert_int_equal(found, PROGRAMS);
    assert_int_equal(clean, PROGRAMS);
}

TEST_ON(every_missing_semaphore_is_found, struct fixture *f)
{
    leave_one_out(f, true);
}

TEST_ON(every_missing_barrier_is_found, struct fixture *f)
{
    leave_one_out(f, false);
}

TEST_FIXTURE(begin, end);
