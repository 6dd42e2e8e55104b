/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of lists by number. A bounded one has two halves: when the newer one is full, the older
 * one is forgotten and the newer takes its place. */
#include "format/timeline/recorded.h"

#include "hal/base/mem.h"

enum { BOUNDED_ROWS = 1 << 16, BOUNDED_BYTES = 16 << 20 };

struct trace_remembered_row {
    void *list;
    size_t count, capacity;
};

static const size_t element_bytes[TRACE_REMEMBERED_TABLES] = {
    [TRACE_OF_ENTRY_POINTS] = sizeof(uint32_t),
    [TRACE_OF_KERNELS] = sizeof(struct trace_kernel),
    [TRACE_OF_GROUPS] = sizeof(struct trace_group),
    [TRACE_OF_SUBMISSIONS] = sizeof(uint64_t),
    [TRACE_OF_COLLECTIVES] = sizeof(struct trace_collective),
};

static void forget(struct trace_remembered *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->rows[i].list);
    free(table->rows);
    hal_idmap_finish(&table->ids);
    *table = (struct trace_remembered){0};
}

void trace_recorded_finish(struct trace_recorded *recorded)
{
    for (size_t t = 0; t < TRACE_REMEMBERED_TABLES; t++) {
        forget(&recorded->newer[t]);
        forget(&recorded->older[t]);
    }
    *recorded = (struct trace_recorded){0};
}

/* NULL: there is no such number. */
static struct trace_remembered_row *find_in(const struct trace_remembered *table, uint64_t id)
{
    uint32_t row;
    return hal_idmap_find(&table->ids, id, &row) ? &table->rows[row] : NULL;
}

static struct trace_remembered_row *find(const struct trace_recorded *recorded,
                                         enum trace_remembered_table which, uint64_t id)
{
    struct trace_remembered_row *row = find_in(&recorded->newer[which], id);
    return row || !recorded->is_bounded ? row : find_in(&recorded->older[which], id);
}

/* Makes the number's list an empty one. */
static void begin_list(struct trace_recorded *recorded, enum trace_remembered_table which,
                       uint64_t id)
{
    struct trace_remembered *table = &recorded->newer[which];
    uint32_t row = 0;
    if (recorded->is_bounded && (table->count == BOUNDED_ROWS || table->bytes > BOUNDED_BYTES)) {
        forget(&recorded->older[which]);
        recorded->older[which] = *table;
        *table = (struct trace_remembered){0};
    }
    const bool grown =
        table->count < UINT32_MAX - 1 && HAL_GROW(table->rows, &table->capacity, table->count + 1);
    if (!grown || !hal_idmap_add(&table->ids, id, (uint32_t)table->count, &row)) {
        recorded->is_failed = true;
        return;
    }
    if (row == table->count)
        table->rows[table->count++] = (struct trace_remembered_row){0};
    table->rows[row].count = 0;
}

/* Adds to the number's list; what there is no room for is left out. */
static void add(struct trace_recorded *recorded, enum trace_remembered_table which, uint64_t id,
                const void *elements, size_t count)
{
    struct trace_remembered *table = &recorded->newer[which];
    struct trace_remembered_row *row = find(recorded, which, id);
    const size_t bytes_each = element_bytes[which];
    if (!row || !count || (recorded->is_bounded && table->bytes > BOUNDED_BYTES))
        return;
    if (row->count + count > row->capacity) { /* most lists come at once */
        const size_t capacity = row->count + (count > row->count ? count : row->count);
        void *list = realloc(row->list, capacity * bytes_each);
        recorded->is_failed |= !list;
        if (!list)
            return;
        table->bytes += (capacity - row->capacity) * bytes_each;
        row->list = list;
        row->capacity = capacity;
    }
    memcpy((uint8_t *)row->list + row->count * bytes_each, elements, count * bytes_each);
    row->count += count;
}

static void take_executable(struct trace_recorded *recorded,
                            const struct trace_executable_create *create)
{
    begin_list(recorded, TRACE_OF_ENTRY_POINTS, create->executable);
    for (uint32_t i = 0; i < create->entry_point_count; i++)
        add(recorded, TRACE_OF_ENTRY_POINTS, create->executable, &create->entry_points[i].name, 1);
}

static void take_seal(struct trace_recorded *recorded, const struct trace_command_buffer_seal *seal)
{
    begin_list(recorded, TRACE_OF_KERNELS, seal->command_buffer);
    if (!recorded->without_groups)
        begin_list(recorded, TRACE_OF_GROUPS, seal->command_buffer);
    recorded->segment = recorded->dispatch = recorded->groups = recorded->depth = 0;
    recorded->segment_count = seal->segment_count;
    recorded->open = UINT32_MAX;
}

void trace_recorded_event(struct trace_recorded *recorded, const struct trace_event *event)
{
    const void *record = event;
    const struct trace_submit *submit = record;
    const struct trace_collective *collective = record;
    if (event->kind == TRACE_COLLECTIVE) {
        begin_list(recorded, TRACE_OF_COLLECTIVES, collective->submission);
        add(recorded, TRACE_OF_COLLECTIVES, collective->submission, collective, 1);
    }
    if (recorded->without_commands || event->status)
        return;
    if (event->kind == TRACE_EXECUTABLE_CREATE) {
        take_executable(recorded, record);
    } else if (event->kind == TRACE_COMMAND_BUFFER_SEAL) {
        take_seal(recorded, record);
    } else if (event->kind == TRACE_SUBMIT) {
        begin_list(recorded, TRACE_OF_SUBMISSIONS, submit->submission);
        add(recorded, TRACE_OF_SUBMISSIONS, submit->submission,
            trace_submit_command_buffers(submit), submit->command_buffer_count);
    }
}

/* ---- Commands ------------------------------------------------------------------------------ */

static void take_dispatch(struct trace_recorded *recorded, uint64_t command_buffer,
                          const struct trace_segment *segment)
{
    const struct trace_dispatched run = trace_dispatched(segment);
    const struct trace_remembered_row *names =
        find(recorded, TRACE_OF_ENTRY_POINTS, run.executable);
    struct trace_kernel kernel = {0};
    if (names && run.entry < names->count)
        kernel.name = ((const uint32_t *)names->list)[run.entry];
    if (segment->kind == TRACE_DISPATCH)
        memcpy(kernel.groups, TRACE_AS(trace_dispatch, segment)->workgroup_count,
               sizeof kernel.groups);
    add(recorded, TRACE_OF_KERNELS, command_buffer, &kernel, 1);
    recorded->dispatch++;
}

static void begin_group(struct trace_recorded *recorded, uint64_t command_buffer,
                        const struct trace_debug *begin)
{
    const struct trace_group group = {.label = begin->label,
                                      .depth = recorded->depth,
                                      .parent = recorded->open,
                                      .first_dispatch = recorded->dispatch,
                                      .end_dispatch = UINT32_MAX,
                                      .is_all = recorded->segment == recorded->depth};
    recorded->open = recorded->groups++;
    recorded->depth++;
    add(recorded, TRACE_OF_GROUPS, command_buffer, &group, 1);
}

static void end_group(struct trace_recorded *recorded, uint64_t command_buffer)
{
    const struct trace_remembered_row *row = find(recorded, TRACE_OF_GROUPS, command_buffer);
    if (!row || recorded->open >= row->count)
        return;
    struct trace_group *group = (struct trace_group *)row->list + recorded->open;
    recorded->depth--;
    recorded->open = group->parent;
    group->end_dispatch = recorded->dispatch;
    group->is_all &= recorded->segment + recorded->depth + 1 == recorded->segment_count;
}

void trace_recorded_segment(struct trace_recorded *recorded, uint64_t command_buffer,
                            const struct trace_segment *segment)
{
    if (recorded->without_commands)
        return;
    if (trace_is_dispatch(segment->kind))
        take_dispatch(recorded, command_buffer, segment);
    else if (segment->kind == TRACE_DEBUG_BEGIN && !recorded->without_groups)
        begin_group(recorded, command_buffer, (const void *)segment);
    else if (segment->kind == TRACE_DEBUG_END && !recorded->without_groups)
        end_group(recorded, command_buffer);
    recorded->segment++;
}

/* ---- Questions ----------------------------------------------------------------------------- */

const struct trace_kernel *trace_recorded_kernel(const struct trace_recorded *recorded,
                                                 uint64_t submission,
                                                 const struct trace_dispatch_time *time)
{
    const struct trace_remembered_row *submitted = find(recorded, TRACE_OF_SUBMISSIONS, submission);
    if (!submitted || time->command_buffer >= submitted->count)
        return NULL;
    const uint64_t id = ((const uint64_t *)submitted->list)[time->command_buffer];
    const struct trace_remembered_row *kernels = find(recorded, TRACE_OF_KERNELS, id);
    return kernels && time->dispatch < kernels->count
               ? (const struct trace_kernel *)kernels->list + time->dispatch
               : NULL;
}

const struct trace_group *trace_recorded_groups(const struct trace_recorded *recorded,
                                                uint64_t command_buffer, uint32_t *out_count)
{
    const struct trace_remembered_row *row = find(recorded, TRACE_OF_GROUPS, command_buffer);
    *out_count = row ? (uint32_t)row->count : 0;
    return row ? row->list : NULL;
}

const struct trace_collective *trace_recorded_collective(const struct trace_recorded *recorded,
                                                         uint64_t submission)
{
    const struct trace_remembered_row *row = find(recorded, TRACE_OF_COLLECTIVES, submission);
    return row && row->count ? row->list : NULL;
}
