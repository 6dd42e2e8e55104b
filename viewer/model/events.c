/* SPDX-License-Identifier: Apache-2.0 */
/* What the tables know about each event of a track. Tracks store only numbers: a row, and in the
 * highest bits which of several events of that row is meant. */
#include "format/analysis/events.h"
#include "hal/base/text.h"
#include "viewer/model/build.h"

enum { VARIETY_SHIFT = 30, ROW_MASK = (1u << VARIETY_SHIFT) - 1 };

uint32_t view_event_code(uint32_t row, uint32_t variety)
{
    return row | variety << VARIETY_SHIFT;
}

enum hal_status view_event_check(const struct view_model *model)
{
    if (model->calls_count > ROW_MASK || model->command_buffers_count > ROW_MASK ||
        model->submissions_count > ROW_MASK)
        return hal_fail(
            HAL_UNSUPPORTED,
            "%s, %zu command buffers and %s: at most %u of each can be shown, see 'hal-trace "
            "trim'",
            hal_count(model->calls_count, "call", "calls").text, model->command_buffers_count,
            hal_count(model->submissions_count, "submission", "submissions").text, ROW_MASK);
    return HAL_OK;
}

uint32_t view_event_state_code(uint32_t submission, const struct view_span *state)
{
    return view_event_code(submission, (uint32_t)state->class - VIEW_QUEUED_UNKNOWN);
}

/* Class of a call's span; VIEW_CLASS_NONE: it is not drawn on the thread's track. */
static enum view_class class_of_call(const struct view_model *m, const struct view_call *call)
{
    const struct trace_event_traits traits = trace_event_traits(call->kind);
    const bool is_drawn = traits.subject != TRACE_OF_SUBSPAN;
    switch (call->kind) {
    case TRACE_COMMAND_BUFFER_CREATE: return VIEW_CLASS_NONE;
    case TRACE_EXECUTABLE_CREATE: return VIEW_COMPILE;
    case TRACE_SEMAPHORE_QUERY: return VIEW_QUERY;
    case TRACE_SEMAPHORE_SIGNAL:
    case TRACE_SEMAPHORE_FAIL: return VIEW_SIGNAL;
    case TRACE_SEMAPHORE_WAIT:
    case TRACE_WAIT_IDLE: return view_call_is_sync(m, call) ? VIEW_WAIT : VIEW_QUERY;
    case TRACE_SUBMIT: return VIEW_SUBMIT;
    default: break;
    }
    switch (traits.deed) {
    case TRACE_CREATES: return is_drawn ? VIEW_CREATE : VIEW_CLASS_NONE;
    case TRACE_DESTROYS: return is_drawn ? VIEW_DESTROY : VIEW_CLASS_NONE;
    case TRACE_MAPS: return VIEW_MAP;
    case TRACE_TELLS:
    case TRACE_USES: break;
    }
    return VIEW_CLASS_NONE;
}

bool view_call_is_sync(const struct view_model *model, const struct view_call *call)
{
    return (call->kind == TRACE_SEMAPHORE_WAIT || call->kind == TRACE_WAIT_IDLE) &&
           view_call_what(model, call)->offset != 0;
}

/* A wait that met its limit did what it was asked to. */
static uint8_t failed(uint16_t status)
{
    return status != HAL_OK && status != HAL_TIMEOUT ? VIEW_SPAN_FAILED : 0;
}

int64_t view_build_submission_end(const struct view_model *model,
                                  const struct view_submission *submission)
{
    if (submission->end_ns != VIEW_NO_TIME)
        return submission->end_ns;
    return submission->done ? view_submit_end_ns(model, submission) : model->last_ns;
}

/* ---- Host threads ------------------------------------------------------------------------- */

struct view_span view_event_scope(const void *tables, uint32_t code)
{
    const struct view_model *m = tables;
    const struct view_scope *scope = &m->scopes[code];
    return (struct view_span){.begin_ns = scope->begin_ns,
                              .end_ns = scope->end_ns,
                              .ref = code,
                              .class = VIEW_SCOPE,
                              .flags = scope->open ? VIEW_SPAN_OPEN : 0,
                              .overlap = 1};
}

static struct view_span tell_recording(const struct view_model *m, uint32_t row, uint32_t variety)
{
    const struct view_command_buffer *c = &m->command_buffers[row];
    return (struct view_span){.begin_ns = variety == VIEW_EVENT_END ? c->end_ns : c->create_ns,
                              .end_ns = variety == VIEW_EVENT_MAKE ? c->create_ns : c->end_ns,
                              .ref = row,
                              .class = VIEW_RECORD,
                              .overlap = 1};
}

struct view_span view_event_host(const void *tables, uint32_t code)
{
    const struct view_model *m = tables;
    const uint32_t row = code & ROW_MASK, variety = code >> VARIETY_SHIFT;
    if (variety != VIEW_EVENT_CALL)
        return tell_recording(m, row, variety);
    const struct view_call *call = &m->calls[row];
    return (struct view_span){.begin_ns = call->begin_ns,
                              .end_ns = call->end_ns,
                              .ref = row,
                              .class = (uint8_t)class_of_call(m, call),
                              .flags = failed(call->status),
                              .overlap = 1};
}

/* ---- Queues and the device ---------------------------------------------------------------- */

size_t view_build_states(const struct view_model *model, uint32_t index, struct view_span *out)
{
    const struct view_submission *s = &model->submissions[index];
    const bool ran = s->begin_ns != VIEW_NO_TIME;
    struct view_span span = {.ref = index, .overlap = 1, .flags = failed(s->status)};
    size_t count = 0;
    if (view_submit_ns(model, s) != VIEW_NO_TIME) {
        int64_t begin_ns = view_submit_ns(model, s), ready_ns = s->ready_ns;
        const int64_t end_ns = ran ? s->begin_ns : view_build_submission_end(model, s);
        enum view_class rest = VIEW_QUEUED_READY;
        if (!s->wait_count && ran)
            ready_ns = begin_ns;
        if (ready_ns == VIEW_NO_TIME || !ran)
            rest = VIEW_QUEUED_UNKNOWN;
        else if (ready_ns > begin_ns) {
            ready_ns = ready_ns < end_ns ? ready_ns : end_ns;
            span.begin_ns = begin_ns, span.end_ns = ready_ns, span.class = VIEW_QUEUED_WAITING;
            if (ready_ns > begin_ns)
                out[count++] = span;
            begin_ns = ready_ns;
        }
        span.begin_ns = begin_ns, span.end_ns = end_ns, span.class = (uint8_t)rest;
        if (end_ns > begin_ns)
            out[count++] = span;
    }
    span.begin_ns = s->begin_ns, span.end_ns = s->end_ns, span.class = VIEW_EXECUTE;
    if (ran)
        out[count++] = span;
    return count;
}

struct view_span view_event_execution(const void *tables, uint32_t code)
{
    const struct view_model *m = tables;
    return (struct view_span){.begin_ns = m->submissions[code].begin_ns,
                              .end_ns = m->submissions[code].end_ns,
                              .ref = code,
                              .class = VIEW_EXECUTE,
                              .flags = failed(m->submissions[code].status),
                              .overlap = 1};
}

struct view_span view_event_state(const void *tables, uint32_t code)
{
    const uint32_t class = VIEW_QUEUED_UNKNOWN + (code >> VARIETY_SHIFT);
    struct view_span states[3] = {{.ref = VIEW_NO_REF, .overlap = 1}};
    if (class == VIEW_EXECUTE)
        return view_event_execution(tables, code & ROW_MASK);
    size_t i = view_build_states(tables, code & ROW_MASK, states);
    while (i > 0 && states[i - 1].class != class)
        i--;
    return states[i > 0 ? i - 1 : 0];
}

struct view_span view_event_submission(const void *tables, uint32_t code)
{
    const struct view_model *m = tables;
    const struct view_submission *s = &m->submissions[code];
    const int64_t submit_ns = view_submit_ns(m, s);
    return (struct view_span){.begin_ns = submit_ns != VIEW_NO_TIME ? submit_ns : s->begin_ns,
                              .end_ns = view_build_submission_end(m, s),
                              .ref = code,
                              .class = VIEW_EXECUTE,
                              .flags =
                                  (uint8_t)(failed(s->status) | (s->done ? 0 : VIEW_SPAN_OPEN)),
                              .overlap = 1};
}

struct view_span view_event_dispatch(const void *tables, uint32_t code)
{
    const struct view_model *m = tables;
    return (struct view_span){.begin_ns = m->dispatches[code].begin_ns,
                              .end_ns = m->dispatches[code].end_ns,
                              .ref = code,
                              .class = VIEW_EXECUTE,
                              .overlap = 1};
}

/* ---- The rest ----------------------------------------------------------------------------- */

struct view_span view_event_step(const void *tables, uint32_t code)
{
    const struct view_model *m = tables;
    const struct view_step *step = &m->steps[code];
    return (struct view_span){.begin_ns = step->time_ns,
                              .end_ns = step->time_ns,
                              .ref = code,
                              .class = VIEW_STEP,
                              .flags = failed(step->status),
                              .overlap = 1};
}

struct view_span view_event_transfer(const void *tables, uint32_t code)
{
    const struct view_model *m = tables;
    return (struct view_span){.begin_ns = m->transfers[code].begin_ns,
                              .end_ns = m->transfers[code].end_ns,
                              .ref = code,
                              .class = m->transfers[code].class,
                              .overlap = 1};
}

struct view_span view_event_level(const void *tables, uint32_t code)
{
    const struct view_model *m = tables;
    return (struct view_span){.begin_ns = m->levels[code].time_ns,
                              .end_ns = m->levels[code].time_ns,
                              .ref = code,
                              .class = VIEW_MEMORY,
                              .overlap = 1};
}

struct view_span view_event_gap(const void *tables, uint32_t code)
{
    const struct view_model *m = tables;
    return (struct view_span){.begin_ns = m->gaps[code].begin_ns,
                              .end_ns = m->gaps[code].end_ns,
                              .ref = code,
                              .class = (uint8_t)m->gaps[code].cause,
                              .overlap = 1};
}

struct view_span view_event_gap_part(const void *tables, uint32_t code)
{
    const struct view_model *m = tables;
    const struct view_gap_part *part = &m->gap_parts[code];
    const bool last = code + 1 == m->gap_parts_count || part[1].gap != part->gap;
    return (struct view_span){.begin_ns = part->begin_ns,
                              .end_ns = last ? m->gaps[part->gap].end_ns : part[1].begin_ns,
                              .ref = part->gap,
                              .class = (uint8_t)(VIEW_GAP_HOST + part->cause),
                              .overlap = 1};
}
