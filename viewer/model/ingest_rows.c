/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the tables by the numbers that records name, and what all calls have in common. */
#include "hal/base/hash.h"
#include "viewer/model/ingest.h"

/* A call outside [start - an hour, start + a year] has a damaged time, not a long life. */

enum hal_status view_build_room(void *array, size_t *capacity, size_t count, size_t extra,
                                size_t bytes_each, const char *what)
{
    if (count + extra >= VIEW_NO_REF)
        return hal_fail(HAL_UNSUPPORTED, "more than %u %s", VIEW_NO_REF - 1, what);
    if (!hal_grow_typed(array, capacity, count + extra, bytes_each))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu %s", count + extra, what);
    return HAL_OK;
}

/* ---- Rows by id --------------------------------------------------------------------------- */

/* The row of an id, `count` when it is new. */
static enum hal_status row_of(struct hal_idmap *ids, uint64_t id, size_t count, uint32_t *out_row)
{
    if (!hal_idmap_add(ids, id, (uint32_t)count, out_row))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu numbers", count);
    return HAL_OK;
}

/* Defines `name(ingest, id, &row)`: the table's row of that id, made when it is new. */
#define ROW_BY_ID(name, table, ...)                                                                \
    enum hal_status name(struct ingest *in, uint64_t id, uint32_t *out_row)                        \
    {                                                                                              \
        struct view_model *m = in->model;                                                          \
        struct last_row *last = &in->last_##table;                                                 \
        *out_row = last->row;                                                                      \
        if (last->is_set && last->id == id)                                                        \
            return HAL_OK;                                                                         \
        HAL_TRY(VIEW_ROOM(m, table, 1));                                                           \
        HAL_TRY(row_of(&in->table, id, m->table##_count, out_row));                                \
        if (*out_row == m->table##_count) {                                                        \
            m->table[*out_row] = __VA_ARGS__;                                                      \
            m->table##_count++;                                                                    \
        }                                                                                          \
        *last = (struct last_row){.id = id, .row = *out_row, .is_set = true};                      \
        return HAL_OK;                                                                             \
    }

ROW_BY_ID(view_ingest_buffer_row, buffers,
          (struct view_buffer){.id = id, .create_ns = VIEW_NO_TIME, .destroy_ns = VIEW_NO_TIME})
ROW_BY_ID(view_ingest_executable_row, executables, (struct view_executable){.id = id})
ROW_BY_ID(view_ingest_other_row, others, (struct view_other){.id = id})
ROW_BY_ID(view_ingest_semaphore_row, semaphores, (struct view_semaphore){.id = id})
ROW_BY_ID(view_ingest_command_buffer_row, command_buffers,
          (struct view_command_buffer){.id = id,
                                       .create_ns = VIEW_NO_TIME,
                                       .end_ns = VIEW_NO_TIME,
                                       .create_host = VIEW_NO_REF,
                                       .end_host = VIEW_NO_REF})
ROW_BY_ID(view_ingest_submission_row, submissions,
          (struct view_submission){.number = id,
                                   .ready_ns = VIEW_NO_TIME,
                                   .begin_ns = VIEW_NO_TIME,
                                   .end_ns = VIEW_NO_TIME,
                                   .call = VIEW_NO_REF})
static ROW_BY_ID(host_row, hosts,
                 (struct view_host){.thread = (uint32_t)id, .track = VIEW_NO_TRACK})

#undef ROW_BY_ID

    enum hal_status view_ingest_host(struct ingest *in, uint32_t thread, uint32_t *out_host)
{
    HAL_TRY(host_row(in, thread, out_host));
    if (*out_host >> VIEW_HOST_BITS)
        return hal_fail(HAL_UNSUPPORTED, "more than %u threads", 1u << VIEW_HOST_BITS);
    if (*out_host < in->open_scopes_count)
        return HAL_OK;
    HAL_TRY(VIEW_ROOM(in, open_scopes, 1));
    in->open_scopes[in->open_scopes_count++] = (struct open_scopes){0};
    const struct trace_thread *known = trace_reader_find_thread(in->model->reader, thread);
    if (known) {
        in->model->hosts[*out_host].name = known->name;
        in->model->hosts[*out_host].system_id = known->system_id;
    }
    return HAL_OK;
}

/* ---- Times -------------------------------------------------------------------------------- */

bool view_ingest_plausible(const struct ingest *in, int64_t absolute_ns, int64_t *out_ns)
{
    const bool good = trace_reader_is_plausible(in->model->reader, absolute_ns);
    if (good)
        *out_ns = absolute_ns - in->model->origin_ns;
    return good;
}

/* A moment is inside the trace when the trace ends after it. */
void view_ingest_moment(struct view_model *m, int64_t ns)
{
    if (ns < m->first_ns)
        m->first_ns = ns;
    if (ns >= m->last_ns)
        m->last_ns = ns + 1;
}

/* Begin and end as the model's times; false, and counted, when they cannot be. */
bool view_ingest_times(struct ingest *in, int64_t begin, int64_t end, int64_t *out_begin_ns,
                       int64_t *out_end_ns)
{
    struct view_model *m = in->model;
    if (!view_ingest_plausible(in, begin, out_begin_ns) ||
        !view_ingest_plausible(in, end, out_end_ns) || end < begin) {
        m->summary.implausible++;
        return false;
    }
    view_ingest_moment(m, *out_begin_ns);
    if (*out_end_ns > m->last_ns)
        m->last_ns = *out_end_ns;
    return true;
}

/* ---- Calls -------------------------------------------------------------------------------- */

/* Looked for among the last ones only: having some twice costs less than a search. */
static enum hal_status find_what(struct ingest *in, const struct view_what *what, uint32_t *out_row)
{
    struct view_model *m = in->model;
    uint64_t words[sizeof *what / 8], hash = 0;
    memcpy(words, what, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hash = hal_hash_add(hash, words[i]);
    uint32_t *recent = &in->recent_whats[hash >> 56];
    HAL_TRY(VIEW_ROOM(m, whats, 1));
    if (*recent >= m->whats_count || memcmp(&m->whats[*recent], what, sizeof *what) != 0) {
        *recent = (uint32_t)m->whats_count;
        m->whats[m->whats_count++] = *what;
    }
    *out_row = *recent;
    return HAL_OK;
}

enum hal_status view_ingest_call_of(struct ingest *in, const struct trace_event *event,
                                    uint32_t object, const struct view_what *what)
{
    static const uint32_t max_status = 63;
    const uint32_t status = event->status < max_status ? event->status : max_status;
    struct view_model *m = in->model;
    int64_t begin_ns, end_ns;
    uint32_t host, row;
    HAL_TRY(view_ingest_host(in, event->thread, &host));
    HAL_TRY(find_what(in, what, &row));
    HAL_TRY(VIEW_ROOM(m, calls, 1));
    if (event->status != HAL_OK && event->status != HAL_TIMEOUT)
        m->summary.failed_calls++;
    if (view_ingest_times(in, event->begin_ns, event->end_ns, &begin_ns, &end_ns))
        m->calls[m->calls_count++] = (struct view_call){.begin_ns = begin_ns,
                                                        .end_ns = end_ns,
                                                        .object = object,
                                                        .what = row,
                                                        .host = host & ((1u << VIEW_HOST_BITS) - 1),
                                                        .kind = (uint8_t)event->kind,
                                                        .status = status & 63u};
    return HAL_OK;
}

enum hal_status view_ingest_call(struct ingest *in, const struct trace_event *event,
                                 uint32_t object, uint64_t offset, uint64_t size)
{
    const struct view_what what = {.offset = offset, .size = size, .stack = event->stack};
    return view_ingest_call_of(in, event, object, &what);
}

enum hal_status view_ingest_values(struct ingest *in, const struct trace_semaphore_value *values,
                                   uint32_t count, uint32_t *out_first)
{
    struct view_model *m = in->model;
    *out_first = (uint32_t)m->values_count;
    HAL_TRY(VIEW_ROOM(m, values, count));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t semaphore;
        HAL_TRY(view_ingest_semaphore_row(in, values[i].semaphore, &semaphore));
        m->values[m->values_count++] =
            (struct view_value){.value = values[i].value, .semaphore = semaphore};
    }
    return HAL_OK;
}
