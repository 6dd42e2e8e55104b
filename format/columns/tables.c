/* SPDX-License-Identifier: Apache-2.0 */
/* What the numbers of a trace mean. */
#include "format/columns/tables.h"

#include "format/limits.h"

void trace_tables_init(struct trace_tables *tables)
{
    *tables = (struct trace_tables){0};
    trace_arena_init(&tables->arena, SIZE_MAX);
}

void trace_tables_finish(struct trace_tables *tables)
{
    trace_arena_finish(&tables->arena);
    free(tables->strings.records);
    free(tables->stacks.records);
    free(tables->threads.records);
    free(tables->thread_list);
    free(tables->module_list);
    trace_tables_init(tables);
}

static const struct trace_event *find(const struct trace_numbered *numbered, uint64_t id)
{
    return id < numbered->capacity ? numbered->records[id] : NULL;
}

const struct trace_string *trace_tables_string(const struct trace_tables *tables, uint64_t id)
{
    return TRACE_AS(trace_string, find(&tables->strings, id));
}

const struct trace_stack *trace_tables_stack(const struct trace_tables *tables, uint64_t id)
{
    return TRACE_AS(trace_stack, find(&tables->stacks, id));
}

const struct trace_thread *trace_tables_thread(const struct trace_tables *tables, uint64_t id)
{
    return TRACE_AS(trace_thread, find(&tables->threads, id));
}

/* Number, table and limits of a record; NULL: a module, which has no number. */
static struct trace_numbered *numbered_of(struct trace_tables *tables,
                                          const struct trace_event *record, uint32_t *out_id,
                                          uint32_t *out_first, uint32_t *out_limit)
{
    const void *data = record;
    *out_id = *out_first = *out_limit = 0;
    switch (record->kind) {
    case TRACE_STRING:
        *out_id = TRACE_AS(trace_string, data)->id;
        *out_first = 1;
        *out_limit = TRACE_MAX_STRINGS;
        return &tables->strings;
    case TRACE_STACK:
        *out_id = TRACE_AS(trace_stack, data)->id;
        *out_first = 1;
        *out_limit = TRACE_MAX_STACKS;
        return &tables->stacks;
    case TRACE_THREAD:
        *out_id = TRACE_AS(trace_thread, data)->id;
        *out_first = 0;
        *out_limit = TRACE_MAX_THREADS;
        return &tables->threads;
    default: return NULL;
    }
}

static bool same_record(const struct trace_event *a, const struct trace_event *b)
{
    if (a->kind != b->kind || a->bytes != b->bytes)
        return false;
    size_t bytes = a->bytes;
    if (a->kind == TRACE_STRING) /* not what pads it */
        bytes = sizeof(struct trace_string) + TRACE_AS(trace_string, b)->length;
    return memcmp(a + 1, b + 1, bytes - sizeof *a) == 0;
}

enum hal_status trace_tables_check(const struct trace_tables *tables,
                                   const struct trace_event *record, bool *out_is_new)
{
    uint32_t id = 0, first = 0, limit = 0;
    const struct trace_numbered *numbered =
        numbered_of((struct trace_tables *)(uintptr_t)tables, record, &id, &first, &limit);
    *out_is_new = true;
    if (record->kind == TRACE_MODULE) {
        if (tables->module_count >= TRACE_MAX_MODULES)
            return hal_fail(HAL_CORRUPT, "more than %u modules", TRACE_MAX_MODULES);
        return HAL_OK;
    }
    const char *what = record->kind == TRACE_STRING  ? "string"
                       : record->kind == TRACE_STACK ? "stack"
                                                     : "thread";
    if (id < first || id > limit)
        return hal_fail(HAL_CORRUPT, "%s number %u is not in %u to %u", what, id, first, limit);
    const struct trace_event *old = find(numbered, id);
    *out_is_new = !old;
    if (old && !same_record(old, record))
        return hal_fail(HAL_CORRUPT, "%s number %u is defined twice", what, id);
    return HAL_OK;
}

static enum hal_status add_number(struct trace_numbered *numbered, uint32_t id,
                                  const struct trace_event *record)
{
    const size_t old = numbered->capacity;
    if (!HAL_GROW(numbered->records, &numbered->capacity, (size_t)id + 1))
        return hal_fail(HAL_NO_MEMORY, "no memory for number %u", id);
    if (numbered->capacity > old)
        memset(numbered->records + old, 0, (numbered->capacity - old) * sizeof(void *));
    numbered->records[id] = record;
    return HAL_OK;
}

static enum hal_status add_to_list(void **list, size_t *count, size_t *capacity, const void *record)
{
    if (!hal_grow(list, capacity, *count + 1, sizeof(void *)))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu records", *count + 1);
    ((const void **)*list)[(*count)++] = record;
    return HAL_OK;
}

enum hal_status trace_tables_add(struct trace_tables *tables, const struct trace_event *record)
{
    static const uint64_t end_mark = 0;
    uint8_t *copy = trace_arena_alloc(&tables->arena, record->bytes + sizeof end_mark);
    if (!copy)
        return hal_fail(HAL_NO_MEMORY, "no memory for a record of %u bytes", record->bytes);
    memcpy(copy, record, record->bytes);
    memcpy(copy + record->bytes, &end_mark, sizeof end_mark);
    const struct trace_event *kept = (const void *)copy;
    uint32_t id = 0, first = 0, limit = 0;
    struct trace_numbered *numbered = numbered_of(tables, kept, &id, &first, &limit);
    if (kept->kind == TRACE_STRING) {
        struct trace_string *string = (void *)copy;
        string->text[string->length] = '\0';
    }
    if (kept->kind == TRACE_THREAD) {
        void *list = tables->thread_list;
        HAL_TRY(add_to_list(&list, &tables->thread_count, &tables->thread_capacity, kept));
        tables->thread_list = list;
    }
    if (kept->kind == TRACE_MODULE) {
        void *list = tables->module_list;
        HAL_TRY(add_to_list(&list, &tables->module_count, &tables->module_capacity, kept));
        tables->module_list = list;
        return HAL_OK;
    }
    return add_number(numbered, id, kept);
}
