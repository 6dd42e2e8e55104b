/* SPDX-License-Identifier: Apache-2.0 */
/* format/timeline/: which lane a slice gets, what is remembered of commands and for how long, and
 * the sums of memory. */
#include "format/timeline/timeline.h"
#include "tests/support/hal_fixture.h"

/* ---- Tracks -------------------------------------------------------------------------------- */

static struct trace_track *place(struct trace_timeline *timeline, enum trace_track_kind kind,
                                 uint32_t queue, int64_t begin_ns, int64_t end_ns)
{
    const struct trace_slice slice = {.begin_ns = begin_ns, .end_ns = end_ns};
    struct trace_track *track;
    assert_ok(trace_timeline_track(timeline, kind, queue, 0, &slice, &track));
    return track;
}

TEST(slices_that_overlap_get_lanes_of_their_own)
{
    struct trace_timeline timeline = {.most_tracks = 4, .most_lanes = 2};
    char name[TRACE_TRACK_NAME_BYTES];
    assert_int_equal(place(&timeline, TRACE_TRACK_WORK, 1, 10, 20)->lane, 0);
    assert_int_equal(place(&timeline, TRACE_TRACK_WORK, 1, 15, 40)->lane, 1);
    assert_null(place(&timeline, TRACE_TRACK_WORK, 1, 19, 21));
    /* Another queue, also of the same bucket, and another kind. */
    assert_int_equal(place(&timeline, TRACE_TRACK_WORK, 1 + TRACE_TRACK_BUCKETS, 19, 21)->lane, 0);
    struct trace_track *dispatches = place(&timeline, TRACE_TRACK_DISPATCHES, 1, 19, 21);
    assert_int_equal(dispatches->lane, 0);
    trace_track_name(dispatches, name);
    assert_string_equal(name, "queue 1 dispatches");
    assert_null(place(&timeline, TRACE_TRACK_GROUPS, 1, 19, 21)); /* there are four */
    assert_int_equal(place(&timeline, TRACE_TRACK_WORK, 1, 20, 30)->lane, 0);
    trace_timeline_finish(&timeline);
}

/* ---- Commands ------------------------------------------------------------------------------ */

static void submit(struct trace_recorded *recorded, uint64_t submission, uint64_t command_buffer)
{
    struct {
        struct trace_submit record;
        uint64_t command_buffer;
    } s = {.record = {.submission = submission, .command_buffer_count = 1},
           .command_buffer = command_buffer};
    s.record.head.kind = TRACE_SUBMIT;
    trace_recorded_event(recorded, &s.record.head);
}

static void seal(struct trace_recorded *recorded, uint64_t id, uint32_t count,
                 const struct trace_dispatch *commands)
{
    struct trace_command_buffer_seal event = {.command_buffer = id, .segment_count = count};
    event.head.kind = TRACE_COMMAND_BUFFER_SEAL;
    trace_recorded_event(recorded, &event.head);
    for (uint32_t i = 0; i < count; i++)
        trace_recorded_segment(recorded, id, &commands[i].head);
}

static struct trace_dispatch command(uint32_t kind, uint32_t workgroups)
{
    struct trace_dispatch command = {.workgroup_count = {workgroups, 1, 1}};
    command.head.kind = (uint16_t)kind;
    return command;
}

TEST(groups_hold_what_is_between_their_ends)
{
    const struct trace_dispatch commands[] = {
        command(TRACE_DEBUG_BEGIN, 0), command(TRACE_DISPATCH, 5),  command(TRACE_DEBUG_BEGIN, 0),
        command(TRACE_DISPATCH, 6),    command(TRACE_DEBUG_END, 0), command(TRACE_DEBUG_BEGIN, 0),
        command(TRACE_DEBUG_END, 0),   command(TRACE_DEBUG_END, 0), command(TRACE_DEBUG_END, 0)};
    struct trace_recorded recorded = {0};
    uint32_t count;
    seal(&recorded, 7, 8, commands);
    const struct trace_group *groups = trace_recorded_groups(&recorded, 7, &count);
    assert_int_equal(count, 3);
    const struct {
        uint32_t depth, first, end;
        bool is_all;
    } wanted[] = {{0, 0, 2, true}, {1, 1, 2, false}, {1, 2, 2, false}};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(groups[i].depth, wanted[i].depth);
        assert_int_equal(groups[i].first_dispatch, wanted[i].first);
        assert_int_equal(groups[i].end_dispatch, wanted[i].end);
        assert_int_equal(groups[i].is_all, wanted[i].is_all);
    }
    /* Sealed again, with an end too many and one too few. */
    seal(&recorded, 7, 2, (struct trace_dispatch[]){commands[4], commands[0]});
    groups = trace_recorded_groups(&recorded, 7, &count);
    assert_int_equal(count, 1);
    assert_int_equal(groups[0].end_dispatch, UINT32_MAX);
    trace_recorded_groups(&recorded, 8, &count);
    assert_int_equal(count, 0);
    assert_false(recorded.is_failed);
    trace_recorded_finish(&recorded);
}

/* The workgroups of the kernel in submission `number`; 0: unknown. */
static uint32_t groups_of(const struct trace_recorded *recorded, uint64_t number)
{
    const struct trace_dispatch_time time = {.dispatch = 0};
    const struct trace_kernel *kernel = trace_recorded_kernel(recorded, number, &time);
    return kernel ? kernel->groups[0] : 0;
}

TEST(the_oldest_is_forgotten_where_memory_is_bounded)
{
    enum { MANY = 300000, RECENT = 1 << 16 };
    for (int is_bounded = 0; is_bounded < 2; is_bounded++) {
        struct trace_recorded recorded = {.is_bounded = is_bounded, .without_groups = true};
        for (uint32_t i = 1; i <= MANY; i++) {
            const struct trace_dispatch dispatch = command(TRACE_DISPATCH, i);
            seal(&recorded, 1000 + i, 1, &dispatch);
            submit(&recorded, i, 1000 + i);
            assert_int_equal(groups_of(&recorded, i), i);
        }
        for (uint32_t i = MANY - RECENT; i <= MANY; i++)
            assert_int_equal(groups_of(&recorded, i), i);
        assert_int_equal(groups_of(&recorded, 1), !is_bounded);
        assert_int_equal(groups_of(&recorded, MANY + 1), 0);
        trace_recorded_finish(&recorded);
    }
}

/* One list of more than all may take: its beginning stays. */
TEST(a_command_buffer_that_is_too_large_is_known_in_part)
{
    enum { MANY = 3 << 20 };
    struct trace_recorded recorded = {.is_bounded = true, .without_groups = true};
    const struct trace_dispatch dispatch = command(TRACE_DISPATCH, 9);
    struct trace_dispatch_time time = {.dispatch = 1000};
    seal(&recorded, 1, 0, NULL);
    submit(&recorded, 1, 1);
    for (uint32_t i = 0; i < MANY; i++)
        trace_recorded_segment(&recorded, 1, &dispatch.head);
    assert_int_equal(trace_recorded_kernel(&recorded, 1, &time)->groups[0], 9);
    time.dispatch = MANY - 1;
    assert_null(trace_recorded_kernel(&recorded, 1, &time));
    assert_false(recorded.is_failed);
    trace_recorded_finish(&recorded);
}

/* ---- Memory -------------------------------------------------------------------------------- */

static struct trace_memory_change create(struct trace_memory *memory, uint64_t buffer,
                                         uint64_t size, uint32_t type)
{
    struct trace_buffer_create event = {.buffer = buffer, .size = size, .memory = type};
    struct trace_memory_change change;
    event.head = (struct trace_event){.kind = TRACE_BUFFER_CREATE, .begin_ns = 1, .end_ns = 2};
    assert_ok(trace_memory_take(memory, &event.head, &change));
    return change;
}

static struct trace_memory_change destroy(struct trace_memory *memory, uint64_t buffer)
{
    struct trace_object_event event = {.object = buffer};
    struct trace_memory_change change;
    event.head = (struct trace_event){.kind = TRACE_BUFFER_DESTROY, .begin_ns = 3, .end_ns = 4};
    assert_ok(trace_memory_take(memory, &event.head, &change));
    return change;
}

TEST(memory_is_what_the_buffers_take_that_are_there)
{
    struct trace_memory memory = {0};
    for (unsigned round = 0; round < 100; round++) {
        assert_int_equal(create(&memory, 2 * round + 1, 100, 1).ns, 2);
        assert_int_equal(create(&memory, 2 * round + 2, 50, 3).type, 3);
        assert_int_equal(memory.bytes[1], 100);
        assert_int_equal(memory.bytes[3], 50);
        assert_int_equal(memory.all_bytes, 150);
        assert_int_equal(destroy(&memory, 2 * round + 1).type, 1);
        assert_int_equal(destroy(&memory, 2 * round + 1).type, TRACE_MEMORY_TYPES);
        assert_int_equal(destroy(&memory, 2 * round + 2).ns, 3);
        assert_int_equal(memory.all_bytes, 0);
    }
    assert_true(memory.count <= 2); /* places are used again */
    create(&memory, 7, 10, 1);
    create(&memory, 7, 30, 2); /* it cannot be there twice */
    assert_int_equal(memory.bytes[1], 0);
    assert_int_equal(memory.all_bytes, 30);
    trace_memory_finish(&memory);
}
