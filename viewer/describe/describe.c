/* SPDX-License-Identifier: Apache-2.0 */
/* Names and labels. */
#include "viewer/describe/describe.h"

#include "format/analysis/events.h"
#include "hal/base/mem.h"
#include "hal/base/text.h"
#include "viewer/text/text.h"

#include <inttypes.h>
#include <stdarg.h>

const struct view_class_info *view_class_info(enum view_class class)
{
    static const struct view_class_info infos[VIEW_CLASS_COUNT] = {
        [VIEW_CLASS_NONE] = {' ', "nothing", VIEW_STYLE_DIM},
        [VIEW_RECORD] = {'r', "recording", VIEW_STYLE_RECORD},
        [VIEW_DESTROY] = {'d', "destroying", VIEW_STYLE_OBJECT},
        [VIEW_CREATE] = {'c', "creating", VIEW_STYLE_OBJECT},
        [VIEW_COMPILE] = {'x', "compiling", VIEW_STYLE_COMPILE},
        [VIEW_MAP] = {'m', "mapping", VIEW_STYLE_MAP},
        [VIEW_QUERY] = {'q', "polling", VIEW_STYLE_SIGNAL},
        [VIEW_SIGNAL] = {'g', "signalling", VIEW_STYLE_SIGNAL},
        [VIEW_SUBMIT] = {'s', "submitting", VIEW_STYLE_SUBMIT},
        [VIEW_WAIT] = {'w', "waiting", VIEW_STYLE_WAIT},
        [VIEW_SCOPE] = {'-', "scope", VIEW_STYLE_SCOPE},
        [VIEW_QUEUED_UNKNOWN] = {'?', "queued", VIEW_STYLE_QUEUED},
        [VIEW_QUEUED_WAITING] = {'.', "waiting for a semaphore", VIEW_STYLE_WAIT},
        [VIEW_QUEUED_READY] = {':', "ready", VIEW_STYLE_QUEUED},
        [VIEW_EXECUTE] = {'#', "executing", VIEW_STYLE_EXECUTE},
        [VIEW_STEP] = {'o', "value", VIEW_STYLE_SIGNAL},
        [VIEW_OBSERVED] = {'o', "visible to the host", VIEW_STYLE_DIM},
        [VIEW_UPLOAD] = {'^', "upload", VIEW_STYLE_UPLOAD},
        [VIEW_READBACK] = {'v', "read-back", VIEW_STYLE_READBACK},
        [VIEW_MEMORY] = {'b', "memory", VIEW_STYLE_OBJECT},
        [VIEW_GAP_HOST] = {'H', "host late", VIEW_STYLE_GAP_HOST},
        [VIEW_GAP_UPLOAD] = {'U', "upload", VIEW_STYLE_UPLOAD},
        [VIEW_GAP_UNKNOWN] = {'?', "unknown", VIEW_STYLE_GAP_UNKNOWN},
        [VIEW_GAP_SEMAPHORE] = {'S', "semaphore", VIEW_STYLE_GAP_SEMAPHORE},
        [VIEW_GAP_LAUNCH] = {'L', "launch", VIEW_STYLE_GAP_LAUNCH},
    };
    return &infos[class];
}

/* As much as fits: labels may be long, and a frame asks for many of them. */
static void copy_text(const char *text, char *out, size_t bytes)
{
    const size_t length = strnlen(text, bytes - 1);
    memcpy(out, text, length);
    out[length] = '\0';
}

/* ---- Names --------------------------------------------------------------------------------- */

static void name_or_number(const struct view_model *m, uint32_t label, const char *noun,
                           uint64_t number, char *out, size_t bytes)
{
    const char *text = view_model_string(m, label);
    if (*text)
        copy_text(text, out, bytes);
    else
        snprintf(out, bytes, "%s %" PRIu64, noun, number);
}

void view_semaphore_name(const struct view_model *model, uint32_t semaphore, char *out,
                         size_t bytes)
{
    const struct view_semaphore *s = &model->semaphores[semaphore];
    name_or_number(model, s->label, "semaphore", s->id, out, bytes);
    const size_t length = strlen(out);
    if (s->shares_label)
        snprintf(out + length, bytes - length, " (%" PRIu64 ")", s->id);
}

void view_buffer_name(const struct view_model *model, uint32_t buffer, char *out, size_t bytes)
{
    const struct view_buffer *b = &model->buffers[buffer];
    name_or_number(model, b->label, "buffer", b->id, out, bytes);
}

static void other_name(const struct view_model *m, uint32_t other, const char *noun, char *out,
                       size_t bytes)
{
    name_or_number(m, m->others[other].label, noun, m->others[other].id, out, bytes);
}

static void host_name(const struct view_model *m, uint32_t host, char *out, size_t bytes)
{
    const struct view_host *h = &m->hosts[host];
    name_or_number(m, h->name, "thread", h->system_id, out, bytes);
    const size_t length = strlen(out);
    if (h->shares_name && h->name && length < bytes)
        snprintf(out + length, bytes - length, " %" PRIu64, h->system_id);
}

static void device_name(const struct view_model *m, uint32_t device, char *out, size_t bytes)
{
    if (device == VIEW_NO_REF) {
        snprintf(out, bytes, "all %s", hal_count(m->devices_count, "device", "devices").text);
    } else if (m->devices_count == 1 && !m->devices[0].rank_count) {
        snprintf(out, bytes, "device");
    } else {
        char rank[64];
        view_rank_name(m, device, rank, sizeof rank);
        snprintf(out, bytes, "%s: %s", rank, m->devices[device].about->uri);
    }
}

/* With several devices the number alone does not identify the queue. */
static void queue_name(const struct view_model *m, uint32_t queue, char *out, size_t bytes)
{
    const uint32_t device = view_model_device(m, queue);
    const struct view_device *d = &m->devices[device];
    if (m->devices_count == 1)
        snprintf(out, bytes, "queue %u", queue);
    else if (d->rank_count && d->first_rank == d->last_rank)
        snprintf(out, bytes, "queue %u, rank %u", queue, d->first_rank);
    else
        snprintf(out, bytes, "queue %u, device %u", queue, device);
}

void view_track_name(const struct view_model *model, const struct view_track *track, char *out,
                     size_t bytes)
{
    char name[64];
    switch (track->kind) {
    case VIEW_TRACK_SCOPE:
        host_name(model, track->object, name, sizeof name);
        if (track->depth > 0)
            snprintf(out, bytes, "level %u", track->depth + 1);
        else if (model->scoped_hosts > 1)
            snprintf(out, bytes, "scope %s", name);
        else
            snprintf(out, bytes, "scope");
        return;
    case VIEW_TRACK_HOST: host_name(model, track->object, out, bytes); return;
    case VIEW_TRACK_QUEUE: queue_name(model, track->object, out, bytes); return;
    case VIEW_TRACK_DEVICE: device_name(model, track->object, out, bytes); return;
    case VIEW_TRACK_COMMANDS: snprintf(out, bytes, "~ commands"); return;
    case VIEW_TRACK_BARRIERS: snprintf(out, bytes, "~ barriers"); return;
    case VIEW_TRACK_DISPATCHES: snprintf(out, bytes, "dispatches"); return;
    case VIEW_TRACK_SEMAPHORES: snprintf(out, bytes, "semaphores"); return;
    case VIEW_TRACK_SEMAPHORE: view_semaphore_name(model, track->object, out, bytes); return;
    case VIEW_TRACK_TRANSFERS: snprintf(out, bytes, "transfers"); return;
    case VIEW_TRACK_MEMORY: snprintf(out, bytes, "memory"); return;
    case VIEW_TRACK_GAPS: snprintf(out, bytes, "gaps"); return;
    }
}

/* ---- Labels -------------------------------------------------------------------------------- */

static const char *kernel_name(const struct view_model *m, const struct view_op *op)
{
    const struct view_executable *executable = &m->executables[op->object];
    if (op->entry >= executable->kernel_count)
        return "";
    return view_model_string(m, m->kernels[executable->first_kernel + op->entry].name);
}

enum view_style view_op_style(const struct view_model *model, const struct view_op *op)
{
    enum { STYLES = VIEW_STYLE_COUNT - VIEW_STYLE_KERNEL };
    uint32_t hash = 2166136261u;
    for (const char *c = kernel_name(model, op); *c; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    return (enum view_style)(VIEW_STYLE_KERNEL + (hash >> 16) % STYLES);
}

void view_op_label(const struct view_model *model, const struct view_op *op, char *out,
                   size_t bytes)
{
    switch ((enum trace_segment_kind)op->kind) {
    case TRACE_DISPATCH: {
        const char *name = kernel_name(model, op);
        snprintf(out, bytes, "%.200s %ux%ux%u", *name ? name : "dispatch", op->groups[0],
                 op->groups[1], op->groups[2]);
        return;
    }
    case TRACE_DISPATCH_INDIRECT: {
        const char *name = kernel_name(model, op);
        snprintf(out, bytes, "%.200s indirect", *name ? name : "dispatch");
        return;
    }
    case TRACE_PUSH_CONSTANTS:
        snprintf(out, bytes, "constants of %s", view_bytes(op->bytes).text);
        return;
    case TRACE_FILL:
    case TRACE_COPY:
    case TRACE_UPDATE:
        snprintf(out, bytes, "%s %s", trace_segment_name(op->kind), view_bytes(op->bytes).text);
        return;
    case TRACE_BARRIER:
        if (op->object)
            snprintf(out, bytes, "barrier of %s", hal_count(op->object, "buffer", "buffers").text);
        else
            snprintf(out, bytes, "barrier");
        return;
    case TRACE_PUSH_DESCRIPTOR_SET:
        snprintf(out, bytes, "descriptor set %u with %s", op->object,
                 hal_count(op->bytes, "binding", "bindings").text);
        return;
    case TRACE_EVENT_SIGNAL:
    case TRACE_EVENT_RESET: {
        char name[64];
        other_name(model, op->object, "event", name, sizeof name);
        snprintf(out, bytes, "%s %s", op->kind == TRACE_EVENT_SIGNAL ? "signal" : "reset", name);
        return;
    }
    case TRACE_EVENTS_WAIT:
        snprintf(out, bytes, "wait for %s", hal_count(op->object, "event", "events").text);
        return;
    case TRACE_DEBUG_BEGIN:
        snprintf(out, bytes, "begin %.200s", view_model_string(model, op->object));
        return;
    case TRACE_DEBUG_END: snprintf(out, bytes, "end"); return;
    }
    snprintf(out, bytes, "%s", trace_segment_name(op->kind));
}

/* NULL: the operation is described by its command, or the work has its own name. */
static const char *operation_verb(uint32_t operation)
{
    switch (operation) {
    case TRACE_OPERATION_BARRIER: return "barrier";
    case TRACE_OPERATION_FILL: return "fill";
    case TRACE_OPERATION_COPY: return "copy";
    case TRACE_OPERATION_UPDATE: return "update";
    case TRACE_OPERATION_ALLOCA: return "alloca";
    case TRACE_OPERATION_DEALLOCA: return "dealloca";
    case TRACE_OPERATION_READ: return "read file";
    case TRACE_OPERATION_WRITE: return "write file";
    case TRACE_OPERATION_COLLECTIVE: return "collective";
    default: return NULL;
    }
}

void view_work_label(const struct view_model *model, uint32_t submission, char *out, size_t bytes)
{
    const struct view_submission *s = &model->submissions[submission];
    const uint32_t *commands = model->submitted + s->first_commands;
    const char *label = s->commands_count == 1
                            ? view_model_string(model, model->command_buffers[commands[0]].label)
                            : "";
    const struct view_op *only = view_model_dispatch(model, s, 0);
    const char *verb = operation_verb(s->operation);
    const struct view_collective *collective = view_model_collective(model, s);
    if (collective)
        view_collective_label(model, collective, out, bytes);
    else if (verb && s->range_bytes)
        snprintf(out, bytes, "%s %s", verb, view_bytes(s->range_bytes).text);
    else if (verb)
        snprintf(out, bytes, "%s", verb);
    else if (s->dispatch_count == 1 && only && *kernel_name(model, only))
        copy_text(kernel_name(model, only), out, bytes);
    else if (*label)
        copy_text(label, out, bytes);
    else if (s->dispatch_count)
        snprintf(out, bytes, "%s", view_things(s->dispatch_count, "dispatch").text);
    else
        snprintf(out, bytes, "#s%" PRIu64, s->number);
}

/* Who let the wait return: "#s12", else the first semaphore's name. */
static void wait_label(const struct view_model *m, const struct view_call *call, char *out,
                       size_t bytes)
{
    char name[64];
    const char *verb = view_call_is_sync(m, call) ? "wait" : "poll";
    if (call->kind == TRACE_WAIT_IDLE || !view_call_what(m, call)->value_count) {
        snprintf(out, bytes, "%s idle", verb);
        return;
    }
    const struct view_value *value =
        &m->values[call->object + view_call_what(m, call)->value_count - 1];
    const uint32_t step = view_model_reached(m, value->semaphore, value->value);
    view_semaphore_name(m, value->semaphore, name, sizeof name);
    if (step != VIEW_NO_REF && m->steps[step].submission != VIEW_NO_REF)
        snprintf(out, bytes, "%s #s%" PRIu64, verb,
                 m->submissions[m->steps[step].submission].number);
    else
        snprintf(out, bytes, "%s %s", verb, name);
}

static void call_label(const struct view_model *m, const struct view_call *call, char *out,
                       size_t bytes)
{
    char name[64];
    const char *verb = trace_event_name(call->kind);
    const struct trace_event_traits traits = trace_event_traits(call->kind);
    if (call->kind == TRACE_SUBMIT) {
        if (call->object != VIEW_NO_REF)
            snprintf(out, bytes, "submit #s%" PRIu64, m->submissions[call->object].number);
        else
            snprintf(out, bytes, "submit");
        return;
    }
    if (call->kind == TRACE_SEMAPHORE_WAIT || call->kind == TRACE_WAIT_IDLE) {
        wait_label(m, call, out, bytes);
        return;
    }
    name[0] = '\0';
    switch (traits.subject) {
    case TRACE_OF_BUFFER:
        name_or_number(m, m->buffers[call->object].label, "buffer", m->buffers[call->object].id,
                       name, sizeof name);
        break;
    case TRACE_OF_EXECUTABLE:
        name_or_number(m, m->executables[call->object].label, "executable",
                       m->executables[call->object].id, name, sizeof name);
        break;
    case TRACE_OF_COMMAND_BUFFER:
        if (traits.deed == TRACE_DESTROYS)
            name_or_number(m, m->command_buffers[call->object].label, "command buffer",
                           m->command_buffers[call->object].id, name, sizeof name);
        break;
    case TRACE_OF_SEMAPHORE: view_semaphore_name(m, call->object, name, sizeof name); break;
    case TRACE_OF_EVENT: other_name(m, call->object, "event", name, sizeof name); break;
    case TRACE_OF_LAYOUT: other_name(m, call->object, "layout", name, sizeof name); break;
    case TRACE_OF_CHANNEL: other_name(m, call->object, "channel", name, sizeof name); break;
    case TRACE_OF_SUBSPAN:
    case TRACE_OF_OTHERS: break;
    }
    /* "buffer_map" is "map": the object's type is shown anyway. */
    const char *noun_end = strrchr(verb, '_');
    snprintf(out, bytes, "%s %s", noun_end ? noun_end + 1 : verb, name);
}

void view_span_label(const struct view_model *model, const struct view_track *track,
                     const struct view_span *span, char *out, size_t bytes)
{
    const uint32_t ref = span->ref;
    if (ref == VIEW_NO_REF) {
        snprintf(out, bytes, "%u %s", span->overlap,
                 view_class_info((enum view_class)span->class)->name);
        return;
    }
    switch (track->kind) {
    case VIEW_TRACK_SCOPE:
        copy_text(view_model_string(model, model->scopes[ref].name), out, bytes);
        return;
    case VIEW_TRACK_HOST:
        if (span->class == VIEW_RECORD)
            name_or_number(model, model->command_buffers[ref].label, "record",
                           model->command_buffers[ref].id, out, bytes);
        else
            call_label(model, &model->calls[ref], out, bytes);
        return;
    case VIEW_TRACK_QUEUE:
        snprintf(out, bytes, "#s%" PRIu64, model->submissions[ref].number);
        return;
    case VIEW_TRACK_DEVICE:
    case VIEW_TRACK_COMMANDS:
    case VIEW_TRACK_BARRIERS: view_work_label(model, ref, out, bytes); return;
    case VIEW_TRACK_DISPATCHES:
        view_op_label(model, &model->ops[model->dispatches[ref].op], out, bytes);
        return;
    case VIEW_TRACK_SEMAPHORES:
    case VIEW_TRACK_SEMAPHORE:
        if (model->steps[ref].status)
            snprintf(out, bytes, "failed");
        else
            snprintf(out, bytes, "%" PRIu64, model->steps[ref].value);
        return;
    case VIEW_TRACK_TRANSFERS:
        snprintf(out, bytes, "%s", view_bytes(model->transfers[ref].bytes).text);
        return;
    case VIEW_TRACK_MEMORY:
        snprintf(out, bytes, "%s", view_bytes(model->levels[ref].bytes).text);
        return;
    case VIEW_TRACK_GAPS:
        snprintf(out, bytes, "%c %s", view_class_info((enum view_class)span->class)->letter,
                 hal_duration_text(span->end_ns - span->begin_ns).text);
        return;
    }
}

void view_span_locator(const struct view_model *model, const struct view_track *track,
                       const struct view_span *span, char *out, size_t bytes)
{
    const uint32_t submission = view_span_submission(model, track, span);
    if (track->kind == VIEW_TRACK_DISPATCHES) {
        snprintf(out, bytes, "#s%" PRIu64 ".d%u", model->submissions[submission].number,
                 model->dispatches[span->ref].index);
        return;
    }
    if (submission != VIEW_NO_REF) {
        snprintf(out, bytes, "#s%" PRIu64, model->submissions[submission].number);
        return;
    }
    snprintf(out, bytes, "%s", hal_moment_text(span->begin_ns).text);
}

void view_typical_text(const struct trace_typical *typical, char *out, size_t bytes)
{
    char interval[128] = "";
    if (typical->count > 1)
        snprintf(interval, sizeof interval, " (%s to %s)", hal_duration_text(typical->low_ns).text,
                 hal_duration_text(typical->high_ns).text);
    snprintf(out, bytes, "%s%s", hal_duration_text(typical->median_ns).text, interval);
}

/* ---- Health -------------------------------------------------------------------------------- */

/* What is known by digest alone: chosen, not lost. */
static void add_digests(const struct trace_health *h, char *out, size_t bytes)
{
    const size_t length = strlen(out);
    if (h->over_budget_bytes)
        snprintf(out + length, bytes - length, "; %s over the budget, as digests only",
                 view_bytes(h->over_budget_bytes).text);
    else if (h->digest_only)
        snprintf(out + length, bytes - length, "; %s as digests only",
                 view_things(h->digest_only, "read").text);
}

/* Mostly the reader itself describes the file. */
static bool tells_state(const char *truncated)
{
    static const char *const states[] = {"cut off", "being recorded"};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        if (strncmp(truncated, states[i], strlen(states[i])) == 0)
            return true;
    }
    return false;
}

bool view_health(const struct view_model *model, char *out, size_t bytes)
{
    const struct trace_health *h = model->health;
    const int64_t whole_ns = model->last_ns - model->first_ns;
    if (*model->truncated)
        snprintf(out, bytes, "%s%s",
                 tells_state(model->truncated) ? "" : "cut off: ", model->truncated);
    else if (!h)
        snprintf(out, bytes, "the capture did not end: the last events may be missing");
    else if (h->status != HAL_OK || h->lost_records)
        snprintf(out, bytes, "recording stopped, %s lost: %s",
                 view_things(h->lost_records, "record").text,
                 h->message && *h->message ? h->message
                                           : hal_status_name((enum hal_status)h->status));
    else if (model->summary.implausible)
        snprintf(out, bytes, "%s with impossible times, not drawn",
                 view_things(model->summary.implausible, "event").text);
    else if (h->recovered) {
        snprintf(out, bytes,
                 "complete, recovered: the process ended before the capture did; "
                 "contents not checked");
        return true;
    } else {
        const int length =
            snprintf(out, bytes, "complete, nothing lost, contents not checked; recording took %s",
                     hal_duration_text((int64_t)h->overhead_ns).text);
        if (h->ring_stalls && length > 0 && (size_t)length < bytes)
            snprintf(out + length, bytes - (size_t)length, ", %s of it waiting (%s of the trace)",
                     hal_duration_text((int64_t)h->ring_stall_ns).text,
                     view_share((int64_t)h->ring_stall_ns, whole_ns).text);
        add_digests(h, out, bytes);
        return true;
    }
    return false;
}
