/* SPDX-License-Identifier: Apache-2.0 */
/* What host threads did: objects, mappings, waits, semaphores. */
#include "hal/base/order.h"
#include "viewer/model/ingest.h"

/* ---- Calls ------------------------------------------------------------------------------- */

enum hal_status view_ingest_mapping(struct ingest *in, const struct trace_mapping_event *event)
{
    uint32_t buffer;
    HAL_TRY(view_ingest_buffer_row(in, event->buffer, &buffer));
    return view_ingest_call(in, &event->head, buffer, event->offset, event->size);
}

enum hal_status view_ingest_buffer(struct ingest *in, const struct trace_buffer_create *event)
{
    uint32_t buffer;
    HAL_TRY(view_ingest_buffer_row(in, event->buffer, &buffer));
    in->model->buffers[buffer].bytes = event->size;
    in->model->buffers[buffer].label = event->label;
    if (event->flags & TRACE_FLAG_SNAPSHOT)
        return HAL_OK;
    return view_ingest_call(in, &event->head, buffer, 0, event->size);
}

enum hal_status view_ingest_executable(struct ingest *in,
                                       const struct trace_executable_create *event)
{
    struct view_model *m = in->model;
    uint32_t row;
    HAL_TRY(view_ingest_executable_row(in, event->executable, &row));
    HAL_TRY(VIEW_ROOM(m, kernels, event->entry_point_count));
    HAL_TRY(trace_reflection_add(&m->reflection, event->executable, event));
    m->executables[row].label = event->label;
    m->executables[row].first_kernel = (uint32_t)m->kernels_count;
    m->executables[row].kernel_count = event->entry_point_count;
    for (uint32_t i = 0; i < event->entry_point_count; i++) {
        struct view_kernel *kernel = &m->kernels[m->kernels_count++];
        kernel->name = event->entry_points[i].name;
        memcpy(kernel->group_size, event->entry_points[i].group_size, sizeof kernel->group_size);
    }
    if (event->flags & TRACE_FLAG_SNAPSHOT)
        return HAL_OK;
    return view_ingest_call(in, &event->head, row, 0, event->size);
}

enum hal_status view_ingest_destroy(struct ingest *in, const struct trace_object_event *event)
{
    uint32_t object = VIEW_NO_REF;
    if (event->head.kind == TRACE_BUFFER_DESTROY)
        HAL_TRY(view_ingest_buffer_row(in, event->object, &object));
    else if (event->head.kind == TRACE_EXECUTABLE_DESTROY)
        HAL_TRY(view_ingest_executable_row(in, event->object, &object));
    else if (event->head.kind == TRACE_COMMAND_BUFFER_DESTROY)
        HAL_TRY(view_ingest_command_buffer_row(in, event->object, &object));
    else if (event->head.kind == TRACE_SEMAPHORE_DESTROY)
        HAL_TRY(view_ingest_semaphore_row(in, event->object, &object));
    else
        HAL_TRY(view_ingest_other_row(in, event->object, &object));
    return view_ingest_call(in, &event->head, object, 0, 0);
}

enum hal_status view_ingest_other(struct ingest *in, const struct trace_event *event, uint64_t id,
                                  uint32_t label)
{
    uint32_t row;
    HAL_TRY(view_ingest_other_row(in, id, &row));
    in->model->others[row].label = label;
    return view_ingest_call(in, event, row, 0, 0);
}

enum hal_status view_ingest_channel(struct ingest *in, const struct trace_channel_create *event)
{
    uint32_t row;
    HAL_TRY(view_ingest_other_row(in, event->channel, &row));
    in->model->others[row].rank = event->rank;
    in->model->others[row].rank_count = event->count;
    in->model->others[row].group = event->group;
    return view_ingest_other(in, &event->head, event->channel, event->label);
}

enum hal_status view_ingest_wait(struct ingest *in, const struct trace_semaphore_wait *event)
{
    const struct view_what what = {.offset = (uint64_t)event->timeout_ns,
                                   .size = event->mode,
                                   .value_count = event->value_count,
                                   .stack = event->head.stack};
    uint32_t first;
    HAL_TRY(view_ingest_values(in, event->values, event->value_count, &first));
    return view_ingest_call_of(in, &event->head, first, &what);
}

/* ---- Semaphores --------------------------------------------------------------------------- */

static enum hal_status add_step(struct ingest *in, struct view_step step)
{
    struct view_model *m = in->model;
    HAL_TRY(VIEW_ROOM(m, steps, 1));
    m->steps[m->steps_count++] = step;
    if (step.time_ns != VIEW_NO_TIME)
        view_ingest_moment(m, step.time_ns);
    return HAL_OK;
}

enum hal_status view_ingest_semaphore(struct ingest *in, const struct trace_semaphore_create *event)
{
    struct view_model *m = in->model;
    struct view_step step = {.time_ns = VIEW_NO_TIME, /* of a snapshot: from the start */
                             .value = event->initial_value,
                             .submission = VIEW_NO_REF,
                             .call = VIEW_NO_REF};
    const size_t calls = m->calls_count;
    HAL_TRY(view_ingest_semaphore_row(in, event->semaphore, &step.semaphore));
    m->semaphores[step.semaphore].label = event->label;
    if (!(event->flags & TRACE_FLAG_SNAPSHOT)) {
        HAL_TRY(view_ingest_call(in, &event->head, step.semaphore, event->initial_value, 0));
        if (m->calls_count == calls)
            return HAL_OK;
        step.time_ns = m->calls[calls].end_ns;
        step.call = (uint32_t)calls;
    }
    return add_step(in, step);
}

enum hal_status view_ingest_semaphore_event(struct ingest *in,
                                            const struct trace_semaphore_event *event)
{
    struct view_model *m = in->model;
    const size_t calls = m->calls_count;
    struct view_step step = {.value = event->value,
                             .submission = VIEW_NO_REF,
                             .call = (uint32_t)calls,
                             .status = event->head.status};
    HAL_TRY(view_ingest_semaphore_row(in, event->semaphore, &step.semaphore));
    HAL_TRY(view_ingest_call(in, &event->head, step.semaphore, event->value, event->message));
    const bool steps = event->head.kind == TRACE_SEMAPHORE_FAIL ||
                       (event->head.kind == TRACE_SEMAPHORE_SIGNAL && event->head.status == HAL_OK);
    if (!steps || m->calls_count == calls)
        return HAL_OK;
    step.time_ns = m->calls[calls].begin_ns;
    return add_step(in, step);
}

/* Once everything is known: what finished submissions signalled, and each semaphore's steps. */
HAL_COMPARE_2(compare_steps, struct view_step, time_ns, value)

struct named {
    const char *text;
    uint32_t semaphore;
};

static int compare_texts(const void *left, const void *right)
{
    return strcmp(((const struct named *)left)->text, ((const struct named *)right)->text);
}

/* Programs give all objects of a kind the same label, and so do several processes in one trace. */
static enum hal_status note_same_labels(struct view_model *m)
{
    struct named *names = hal_alloc(m->semaphores_count, sizeof *names);
    if (!names)
        return hal_fail(HAL_NO_MEMORY, "no memory for the labels of %zu semaphores",
                        m->semaphores_count);
    for (uint32_t i = 0; i < m->semaphores_count; i++)
        names[i] = (struct named){view_model_string(m, m->semaphores[i].label), i};
    qsort(names, m->semaphores_count, sizeof *names, compare_texts);
    for (size_t i = 1; i < m->semaphores_count; i++) {
        if (*names[i].text && compare_texts(&names[i - 1], &names[i]) == 0)
            m->semaphores[names[i - 1].semaphore].shares_label =
                m->semaphores[names[i].semaphore].shares_label = true;
    }
    free(names);
    return HAL_OK;
}

/* By semaphore, and each semaphore's by time: most are in that order already. */
static enum hal_status sort_steps(struct view_model *m)
{
    struct view_step *sorted = hal_alloc(m->steps_count, sizeof *sorted);
    uint32_t next = 0;
    if (!sorted)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu values of semaphores", m->steps_count);
    for (size_t i = 0; i < m->steps_count; i++)
        m->semaphores[m->steps[i].semaphore].step_count++;
    for (size_t i = 0; i < m->semaphores_count; i++) {
        m->semaphores[i].first_step = next;
        next += m->semaphores[i].step_count;
        m->semaphores[i].step_count = 0;
    }
    for (size_t i = 0; i < m->steps_count; i++) {
        struct view_semaphore *s = &m->semaphores[m->steps[i].semaphore];
        sorted[s->first_step + s->step_count++] = m->steps[i];
    }
    for (size_t i = 0; i < m->semaphores_count; i++) {
        const struct view_semaphore *s = &m->semaphores[i];
        bool in_order = true;
        for (uint32_t k = 1; k < s->step_count && in_order; k++)
            in_order =
                compare_steps(&sorted[s->first_step + k - 1], &sorted[s->first_step + k]) <= 0;
        if (!in_order)
            qsort(sorted + s->first_step, s->step_count, sizeof *sorted, compare_steps);
    }
    free(m->steps);
    m->steps = sorted;
    m->steps_capacity = m->steps_count;
    return HAL_OK;
}

enum hal_status view_ingest_finish_steps(struct ingest *in)
{
    struct view_model *m = in->model;
    for (uint32_t i = 0; i < m->submissions_count; i++) {
        const struct view_submission *s = &m->submissions[i];
        for (uint32_t k = 0; k < s->signal_count && s->done && s->end_ns != VIEW_NO_TIME; k++) {
            const struct view_value *signal = &m->values[s->first_wait + s->wait_count + k];
            HAL_TRY(add_step(in, (struct view_step){.time_ns = s->end_ns,
                                                    .value = signal->value,
                                                    .semaphore = signal->semaphore,
                                                    .submission = i,
                                                    .call = VIEW_NO_REF,
                                                    .status = s->status}));
        }
    }
    for (uint32_t i = 0; i < m->steps_count; i++) {
        if (m->steps[i].time_ns == VIEW_NO_TIME)
            m->steps[i].time_ns = m->first_ns;
    }
    HAL_TRY(note_same_labels(m));
    return sort_steps(m);
}
