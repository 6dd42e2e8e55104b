/* SPDX-License-Identifier: Apache-2.0 */
/* format/analysis/events.c: against the names of the kinds, and the columns that refer to objects.
 */
#include "format/analysis/events.h"
#include "format/columns/layout.h"
#include "format/trace.h"
#include "tests/support/test.h"

static bool ends_in(const char *name, const char *end)
{
    const size_t length = strlen(name), tail = strlen(end);
    return length >= tail && strcmp(name + length - tail, end) == 0;
}

/* Of a record that is about one object, the first column that refers to one. */
static uint32_t first_object(const struct trace_layout *layout)
{
    for (uint32_t i = 0; i < layout->column_count; i++) {
        if (layout->columns[i].reference == TRACE_REFERENCE_OBJECT)
            return layout->columns[i].member_at;
    }
    return 0;
}

TEST(creations_and_destructions_are_those_of_that_name)
{
    for (uint32_t kind = 1; kind < TRACE_TABLE_END; kind++) {
        const struct trace_event_traits traits = trace_event_traits(kind);
        const char *name = trace_event_name(kind);
        assert_int_equal(traits.deed == TRACE_CREATES, ends_in(name, "_create"));
        assert_int_equal(traits.deed == TRACE_DESTROYS, ends_in(name, "_destroy"));
        assert_int_equal(traits.deed == TRACE_MAPS, strstr(name, "_map") ||
                                                        strstr(name, "_unmap") ||
                                                        strncmp(name, "mapping_", 8) == 0);
    }
}

TEST(the_object_is_the_first_that_the_record_refers_to)
{
    uint32_t count = 0;
    for (uint32_t kind = 1; kind < TRACE_TABLE_END; kind++) {
        const struct trace_event_traits traits = trace_event_traits(kind);
        const struct trace_layout *layout = trace_family_layout(&trace_event_family, kind);
        if (!traits.object_at)
            continue;
        assert_non_null(layout);
        assert_int_equal(traits.object_at, first_object(layout));
        count++;
    }
    assert_int_equal(count, 28);
    const struct trace_object_event destroyed = {.head.kind = TRACE_EVENT_DESTROY, .object = 77};
    assert_int_equal(trace_event_object(&destroyed.head), 77);
    assert_int_equal(trace_event_object(&(struct trace_event){.kind = TRACE_SUBMIT}), 0);
    assert_int_equal(trace_event_object(&(struct trace_event){.kind = TRACE_FAILURE}), 0);
    assert_int_equal(trace_event_object(&(struct trace_event){.kind = UINT16_MAX}), 0);
}
