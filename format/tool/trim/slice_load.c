/* SPDX-License-Identifier: Apache-2.0 */
/* Reading what a slice is found in: events, objects, and what command buffers touch and name. */
#include "format/tool/trim/slice.h"

#include "format/analysis/events.h"
#include "format/columns/layout.h"
#include "hal/base/mem.h"
#include "hal/base/order.h"

#include <stdlib.h>
#include <string.h>

/* An open call or scopes of a thread. */
struct thread_state {
    uint64_t call;  /* submission, plus 1 */
    size_t *scopes; /* numbers of begins */
    size_t scope_count, scope_capacity;
};

struct loading {
    struct slice *slice;
    struct thread_state *threads;
    size_t thread_capacity;
};

static enum hal_status no_memory(void)
{
    return hal_fail(HAL_NO_MEMORY, "no memory for what the submissions need");
}

static enum hal_status row_of(struct slice *slice, uint64_t id, uint32_t *out_row)
{
    if (slice->object_count >= UINT32_MAX - 1 ||
        !HAL_GROW(slice->objects, &slice->object_capacity, slice->object_count + 1))
        return no_memory();
    if (!hal_idmap_add(&slice->ids, id, (uint32_t)slice->object_count, out_row))
        return no_memory();
    if (*out_row == slice->object_count)
        slice->objects[slice->object_count++] = (struct slice_object){0};
    return HAL_OK;
}

struct slice_object *slice_object(const struct slice *slice, uint64_t id)
{
    uint32_t row = 0;
    return id && hal_idmap_find(&slice->ids, id, &row) ? &slice->objects[row] : NULL;
}

const struct slice_event *slice_submission(const struct slice *slice, uint64_t submission)
{
    uint32_t number;
    return hal_idmap_find(&slice->submissions, submission, &number) ? &slice->events[number] : NULL;
}

/* ---- Command buffers ---- */

static void add_access(void *user, const struct trace_access *access)
{
    struct slice *slice = user;
    struct slice_access *added;
    uint32_t row = 0;
    if (slice->failed || row_of(slice, access->buffer, &row) != HAL_OK ||
        !HAL_GROW(slice->accesses, &slice->access_capacity, slice->access_count + 1)) {
        slice->failed = true;
        return;
    }
    added = &slice->accesses[slice->access_count++];
    *added = (struct slice_access){.object = row, .begin = access->begin, .end = access->end};
    switch (access->mode) {
    case TRACE_ACCESS_NONE: break;
    case TRACE_ACCESS_READ:
    case TRACE_ACCESS_MAY_READ: added->reads = true; break;
    case TRACE_ACCESS_WRITE: added->writes = added->covers = true; break;
    case TRACE_ACCESS_READ_WRITE:
    case TRACE_ACCESS_MAY_WRITE:
    case TRACE_ACCESS_UNKNOWN: added->reads = added->writes = true; break;
    }
}

static enum hal_status add_name(struct slice *slice, size_t first, uint64_t id)
{
    uint32_t row = 0;
    if (!id)
        return HAL_OK;
    HAL_TRY(row_of(slice, id, &row));
    /* Most commands name what the ones before them did. */
    for (size_t i = slice->name_count, looked = 0; i-- > first && looked < 64; looked++) {
        if (slice->names[i] == row)
            return HAL_OK;
    }
    if (!HAL_GROW(slice->names, &slice->name_capacity, slice->name_count + 1))
        return no_memory();
    slice->names[slice->name_count++] = row;
    return HAL_OK;
}

static enum hal_status add_names(struct slice *slice, size_t first,
                                 const struct trace_column *columns, uint32_t count,
                                 const uint8_t *base)
{
    for (uint32_t i = 0; i < count; i++) {
        if (columns[i].reference == TRACE_REFERENCE_OBJECT)
            HAL_TRY(
                add_name(slice, first, trace_load(base + columns[i].member_at, columns[i].width)));
    }
    return HAL_OK;
}

static enum hal_status name_all(struct slice *slice, size_t first,
                                const struct trace_family *family, const void *record)
{
    const struct trace_layout *layout =
        trace_family_layout(family, TRACE_AS(trace_segment, record)->kind);
    HAL_TRY(add_names(slice, first, layout->columns, layout->column_count, record));
    const uint8_t *at = (const uint8_t *)record + layout->record_bytes;
    for (uint32_t i = 0; i < layout->part_count; i++) {
        const struct trace_part *part = &layout->parts[i];
        const uint64_t count = trace_part_count(part, record);
        for (uint64_t k = 0; part->columns && k < count; k++)
            HAL_TRY(add_names(slice, first, part->columns, part->column_count,
                              at + k * part->element_bytes));
        at += count * part->element_bytes;
    }
    return HAL_OK;
}

static enum hal_status load_seal(struct slice *slice, const struct trace_command_buffer_seal *seal,
                                 const struct trace_segment *segments)
{
    uint32_t row = 0;
    HAL_TRY(row_of(slice, seal->command_buffer, &row));
    const size_t first_access = slice->access_count, first_name = slice->name_count;
    trace_each_access(seal, segments, trace_reflection_mode, &slice->reflection, add_access, slice);
    if (slice->failed)
        return no_memory();
    for (uint32_t i = 0; i < seal->segment_count; i++) {
        HAL_TRY(name_all(slice, first_name, &trace_segment_family, segments));
        segments = trace_next_segment(segments);
    }
    struct slice_object *object = &slice->objects[row];
    object->first_access = first_access;
    object->access_count = slice->access_count - first_access;
    object->first_name = first_name;
    object->name_count = slice->name_count - first_name;
    return HAL_OK;
}

/* ---- Events ---- */

static enum hal_status thread_of(struct loading *loading, uint32_t thread,
                                 struct thread_state **out_state)
{
    const size_t old = loading->thread_capacity;
    if (!HAL_GROW(loading->threads, &loading->thread_capacity, (size_t)thread + 1))
        return no_memory();
    for (size_t i = old; i < loading->thread_capacity; i++)
        loading->threads[i] = (struct thread_state){0};
    *out_state = &loading->threads[thread];
    return HAL_OK;
}

static enum hal_status load_scope(struct slice *slice, struct thread_state *thread, size_t number)
{
    if (slice->events[number].record->kind == TRACE_SCOPE_END) {
        if (thread->scope_count)
            slice->events[thread->scopes[--thread->scope_count]].scope_end = number + 1;
        return HAL_OK;
    }
    if (!HAL_GROW(thread->scopes, &thread->scope_capacity, thread->scope_count + 1))
        return no_memory();
    thread->scopes[thread->scope_count++] = number;
    return HAL_OK;
}

/* Objects by what creates them. A creation's members have their own places. */
static enum hal_status load_object(struct slice *slice, const struct trace_event *event)
{
    const uint64_t id = trace_event_object(event);
    uint32_t row = 0;
    if (trace_event_traits(event->kind).deed != TRACE_CREATES)
        return HAL_OK;
    if (event->kind == TRACE_EXECUTABLE_CREATE)
        HAL_TRY(
            trace_reflection_add(&slice->reflection, id, TRACE_AS(trace_executable_create, event)));
    if (event->status != HAL_OK)
        return HAL_OK;
    HAL_TRY(row_of(slice, id, &row));
    struct slice_object *object = &slice->objects[row];
    object->created = event;
    object->size =
        event->kind == TRACE_BUFFER_CREATE ? TRACE_AS(trace_buffer_create, event)->size : 0;
    object->initial = event->kind == TRACE_SEMAPHORE_CREATE
                          ? TRACE_AS(trace_semaphore_create, event)->initial_value
                          : 0;
    return HAL_OK;
}

static enum hal_status load_event(void *user, const struct trace_event *event,
                                  const struct trace_segment *segments)
{
    struct loading *loading = user;
    struct slice *slice = loading->slice;
    struct thread_state *thread = NULL;
    const size_t number = slice->event_count;
    struct trace_event *copy = trace_arena_alloc(&slice->arena, event->bytes);
    if (!copy || number >= UINT32_MAX ||
        !HAL_GROW(slice->events, &slice->event_capacity, number + 1))
        return no_memory();
    memcpy(copy, event, event->bytes);
    HAL_TRY(thread_of(loading, event->thread, &thread));
    const struct trace_host_call *call = (const void *)copy;
    if (event->kind == TRACE_HOST_CALL_BEGIN)
        thread->call = call->submission + 1;
    if (event->kind == TRACE_COLLECTIVE)
        thread->call = TRACE_AS(trace_collective, copy)->submission + 1;
    slice->events[slice->event_count++] =
        (struct slice_event){.record = copy, .call = thread->call};
    slice->order_count += copy->ticket > 0;
    if (event->kind == TRACE_HOST_CALL_END)
        thread->call = 0;
    uint32_t known;
    if (event->kind == TRACE_COLLECTIVE &&
        !hal_idmap_add(&slice->collectives, thread->call - 1, (uint32_t)number, &known))
        return no_memory();
    if (event->kind == TRACE_SUBMIT && event->status == HAL_OK &&
        !hal_idmap_add(&slice->submissions, TRACE_AS(trace_submit, event)->submission,
                       (uint32_t)number, &known))
        return no_memory();
    if (event->kind == TRACE_SCOPE_BEGIN || event->kind == TRACE_SCOPE_END)
        return load_scope(slice, thread, number);
    if (event->kind == TRACE_COMMAND_BUFFER_SEAL)
        return load_seal(slice, (const void *)event, segments);
    return load_object(slice, copy);
}

/* ---- Order ---- */

struct place {
    uint64_t ticket;
    uint32_t number;
};

HAL_COMPARE_2(compare_places, struct place, ticket, number)

static enum hal_status sort_events(struct slice *slice)
{
    struct place *places = hal_alloc(slice->order_count, sizeof *places);
    slice->order = hal_alloc(slice->order_count, sizeof *slice->order);
    size_t count = 0;
    if (!places || !slice->order) {
        free(places);
        return no_memory();
    }
    for (size_t i = 0; i < slice->event_count; i++) {
        if (slice->events[i].record->ticket)
            places[count++] = (struct place){slice->events[i].record->ticket, (uint32_t)i};
    }
    if (count)
        qsort(places, count, sizeof *places, compare_places);
    for (size_t i = 0; i < count; i++)
        slice->order[i] = places[i].number;
    free(places);
    return HAL_OK;
}

enum hal_status slice_load(struct slice *slice, struct trace_reader *reader)
{
    *slice = (struct slice){0};
    trace_arena_init(&slice->arena, SIZE_MAX);
    struct loading loading = {.slice = slice};
    enum hal_status status = trace_reader_each(reader, load_event, &loading);
    if (status == HAL_OK)
        status = sort_events(slice);
    for (size_t i = 0; i < loading.thread_capacity; i++)
        free(loading.threads[i].scopes);
    free(loading.threads);
    return status;
}

void slice_finish(struct slice *slice)
{
    trace_arena_finish(&slice->arena);
    trace_reflection_finish(&slice->reflection);
    hal_idmap_finish(&slice->ids);
    hal_idmap_finish(&slice->submissions);
    hal_idmap_finish(&slice->collectives);
    free(slice->events);
    free(slice->order);
    free(slice->objects);
    free(slice->accesses);
    free(slice->names);
}

/* ---- What is asked for ---- */

static bool is_submit(const struct slice_event *event)
{
    return event->record->kind == TRACE_SUBMIT && event->record->status == HAL_OK;
}

uint64_t slice_want(struct slice *slice, uint64_t first, uint64_t last)
{
    uint64_t found = 0;
    for (size_t i = 0; i < slice->event_count; i++) {
        const struct trace_submit *submit = (const void *)slice->events[i].record;
        if (!is_submit(&slice->events[i]) || submit->submission < first ||
            submit->submission > last)
            continue;
        slice->events[i].wanted = true;
        found++;
    }
    return found;
}

uint64_t slice_want_scope(struct slice *slice, const struct trace_reader *reader, const char *name)
{
    uint64_t found = 0;
    for (size_t i = 0; i < slice->event_count; i++) {
        const struct slice_event *event = &slice->events[i];
        if (event->record->kind != TRACE_SCOPE_BEGIN)
            continue;
        const char *text = trace_reader_string(reader, TRACE_AS(trace_scope, event->record)->name);
        const size_t end = event->scope_end ? (size_t)event->scope_end : slice->event_count;
        for (size_t k = i; text && strcmp(text, name) == 0 && k < end; k++) {
            if (slice->events[k].record->thread != event->record->thread ||
                !is_submit(&slice->events[k]) || slice->events[k].wanted)
                continue;
            slice->events[k].wanted = true;
            found++;
        }
    }
    return found;
}
