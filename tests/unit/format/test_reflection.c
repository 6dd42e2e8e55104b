/* SPDX-License-Identifier: Apache-2.0 */
/* format/analysis/reflection.c: what a record tells of bindings, and records that lie. */
#include "format/analysis/reflection.h"
#include "tests/support/test.h"

enum { ENTRIES = 3, MOST = 8 };

/* An executable with three entry points, no variants, one constant. */
static struct trace_executable_create *record(const struct trace_entry_binding *bindings,
                                              uint32_t count)
{
    struct trace_executable_create *made =
        calloc(1, sizeof *made + ENTRIES * sizeof(struct trace_entry_point) +
                      sizeof(struct trace_constant) + MOST * sizeof *bindings);
    assert_non_null(made);
    made->flags = TRACE_FLAG_REFLECTED;
    made->entry_point_count = ENTRIES;
    made->constant_count = 1;
    made->binding_count = count;
    memcpy((void *)(uintptr_t)trace_executable_bindings(made), bindings, count * sizeof *bindings);
    return made;
}

static const struct trace_entry_binding good[5] = {
    {0, 0, 0, 1}, {0, 0, 7, 3}, {0, 3, 2, 2}, {2, 0, 0, 0}, {2, 1, 30, 1}};

static void add(struct trace_reflection *r, uint64_t id, const struct trace_executable_create *what)
{
    assert_int_equal(trace_reflection_add(r, id, what), HAL_OK);
}

TEST(modes_are_those_of_the_record)
{
    struct trace_reflection r = {0};
    struct trace_executable_create *made = record(good, 5);
    assert_true(trace_reflection_is_sound(made));
    add(&r, 77, made);
    free(made); /* it was copied */
    assert_int_equal(trace_reflection_mode(&r, 77, 0, 0, 0), TRACE_ACCESS_MAY_READ);
    assert_int_equal(trace_reflection_mode(&r, 77, 0, 0, 7), TRACE_ACCESS_MAY_WRITE);
    assert_int_equal(trace_reflection_mode(&r, 77, 0, 3, 2), TRACE_ACCESS_MAY_WRITE);
    assert_int_equal(trace_reflection_mode(&r, 77, 2, 0, 0), TRACE_ACCESS_UNKNOWN);
    assert_int_equal(trace_reflection_mode(&r, 77, 2, 1, 30), TRACE_ACCESS_MAY_READ);
    assert_int_equal(trace_reflection_mode(&r, 77, 1, 0, 0), TRACE_ACCESS_NONE);
    assert_int_equal(trace_reflection_mode(&r, 77, 0, 0, 1), TRACE_ACCESS_NONE);
    assert_int_equal(trace_reflection_mode(&r, 77, 2, 3, 30), TRACE_ACCESS_NONE);
    assert_int_equal(trace_reflection_mode(&r, 78, 0, 0, 0), TRACE_ACCESS_UNKNOWN);
    trace_reflection_finish(&r);
}

TEST(no_binding_at_all_is_known_too)
{
    struct trace_reflection r = {0};
    struct trace_executable_create *made = record(good, 0);
    add(&r, 1, made);
    made->flags = 0; /* an older trace: nothing is known */
    add(&r, 2, made);
    assert_int_equal(trace_reflection_mode(&r, 1, 0, 0, 0), TRACE_ACCESS_NONE);
    assert_int_equal(trace_reflection_mode(&r, 2, 0, 0, 0), TRACE_ACCESS_UNKNOWN);
    free(made);
    trace_reflection_finish(&r);
}

TEST(a_record_that_lies_tells_nothing)
{
    static const struct trace_entry_binding wrong[][2] = {
        {{0, 0, 1, 1}, {0, 0, 0, 1}},
        {{0, 0, 0, 1}, {0, 0, 0, 1}},
        {{0, 0, 0, 1}, {3, 0, 0, 1}},
        {{0, 0, 0, 1}, {0, 4, 0, 1}},
        {{0, 0, 0, 1}, {0, 0, 31, 1}},
        {{0, 0, 0, 1}, {0, 0, 1, 4}},
        {{1, 0, 0, 1}, {0, 0, 0, 1}},
        {{0, 1, 0, 1}, {0, 0, 0, 1}},
        {{0, 0, 0, 1}, {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}},
    };
    struct trace_reflection r = {0};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct trace_executable_create *made = record(wrong[i], 2);
        assert_false(trace_reflection_is_sound(made));
        add(&r, i, made);
        assert_int_equal(trace_reflection_mode(&r, i, 0, 0, 0), TRACE_ACCESS_UNKNOWN);
        free(made);
    }
    assert_int_equal(r.count, 0);
    trace_reflection_finish(&r);
}

/* Kernels that only read need no order among themselves, but against a write. */
TEST(readers_do_not_conflict)
{
    static const enum trace_access_mode modes[3] = {TRACE_ACCESS_MAY_READ, TRACE_ACCESS_READ,
                                                    TRACE_ACCESS_MAY_READ};
    struct trace_hazards h;
    trace_hazards_begin(&h);
    for (uint32_t i = 0; i < 3; i++) {
        trace_hazards_access(&h, &(struct trace_access){2 * i, 2, modes[i], 5, 0, 64});
        trace_hazards_barrier(
            &h, &(struct trace_ordering){2 * i + 1, 2 * i + 1, 7, 7, {0, 0}, NULL, 0});
    }
    trace_hazards_access(&h, &(struct trace_access){6, 2, TRACE_ACCESS_WRITE, 5, 0, 8});
    assert_int_equal(trace_hazards_end(&h), HAL_OK);
    assert_int_equal(h.barriers[0].need, TRACE_BARRIER_REDUNDANT);
    assert_int_equal(h.barriers[1].need, TRACE_BARRIER_REDUNDANT);
    assert_int_equal(h.barriers[2].need, TRACE_BARRIER_NEEDED); /* the certain read */
    assert_int_equal(h.race_count, 0);
    trace_hazards_finish(&h);
}

/* A write after a kernel that may only read is a race, of declared accesses, but no certain one; of
 * a kernel that declares nothing, it is not even that. */
TEST(what_may_be_is_not_certain)
{
    struct trace_hazards h;
    trace_hazards_begin(&h);
    trace_hazards_access(&h, &(struct trace_access){0, 2, TRACE_ACCESS_MAY_READ, 5, 0, 64});
    trace_hazards_access(&h, &(struct trace_access){1, 1, TRACE_ACCESS_WRITE, 5, 0, 64});
    trace_hazards_access(&h, &(struct trace_access){2, 2, TRACE_ACCESS_MAY_READ, 5, 32, 64});
    trace_hazards_access(&h, &(struct trace_access){3, 2, TRACE_ACCESS_UNKNOWN, 6, 0, 64});
    trace_hazards_access(&h, &(struct trace_access){4, 2, TRACE_ACCESS_MAY_WRITE, 6, 0, 64});
    trace_hazards_access(&h, &(struct trace_access){5, 2, TRACE_ACCESS_MAY_WRITE, 6, 32, 64});
    assert_int_equal(trace_hazards_end(&h), HAL_OK);
    assert_int_equal(h.race_count, 2 + 3);          /* 3 and 5, too */
    assert_int_equal(h.declared_race_count, 2 + 1); /* 4 and 5 */
    for (size_t i = 0; i < h.kept_race_count; i++)
        assert_false(h.races[i].certain);
    trace_hazards_finish(&h);
}
