/* SPDX-License-Identifier: Apache-2.0 */
/* Everything known about one event, as lines of a key and a value. */
#include "viewer/describe/describe.h"
#include "viewer/describe/stacks.h"

#include "hal/base/mem.h"
#include "viewer/text/text.h"

#include <inttypes.h>
#include <stdarg.h>

static bool has_room(struct view_lines *lines, size_t bytes)
{
    if (lines->failed || !HAL_GROW(lines->text, &lines->capacity, lines->length + bytes + 1))
        lines->failed = true;
    return !lines->failed;
}

void view_lines_add(struct view_lines *lines, const char *key, const char *format, ...)
{
    char value[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    for (char *c = value; *c; c++) { /* a label's own line ends must not make lines */
        if (*c == '\n' || *c == '\t')
            *c = ' ';
    }
    if (!has_room(lines, strlen(key) + strlen(value) + 2))
        return;
    lines->length += (size_t)sprintf(lines->text + lines->length, "%s\t%s\n", key, value);
    lines->count++;
}

void view_lines_add_text(struct view_lines *lines, const char *text, size_t bytes)
{
    if (!bytes || !has_room(lines, bytes))
        return;
    for (size_t i = 0; i < bytes; i++)
        lines->count += text[i] == '\n';
    memcpy(lines->text + lines->length, text, bytes);
    lines->length += bytes;
    lines->text[lines->length] = '\0';
}

void view_lines_finish(struct view_lines *lines)
{
    free(lines->text);
    *lines = (struct view_lines){0};
}

/* ---- Parts -------------------------------------------------------------------------------- */

static void add_span(struct view_lines *lines, const char *key, int64_t begin_ns, int64_t end_ns)
{
    view_lines_add(lines, key, "%s, took %s", hal_moment_text(begin_ns).text,
                   hal_duration_text(end_ns - begin_ns).text);
}

static void add_status(struct view_lines *lines, uint16_t status)
{
    if (status != HAL_OK)
        view_lines_add(lines, "returned", "%s", hal_status_name((enum hal_status)status));
}

static void add_host(const struct view_model *m, uint32_t host, struct view_lines *lines)
{
    const struct view_host *h = &m->hosts[host];
    view_lines_add(lines, "thread", "%s (%" PRIu64 ")", view_model_string(m, h->name),
                   h->system_id);
}

static void add_value(const struct view_model *m, const char *key, const char *relation,
                      const struct view_value *value, struct view_lines *lines)
{
    char name[64];
    view_semaphore_name(m, value->semaphore, name, sizeof name);
    const uint32_t index = view_model_reached(m, value->semaphore, value->value);
    if (index == VIEW_NO_REF) {
        view_lines_add(lines, key, "%s %s %" PRIu64 ": never reached in this file", name, relation,
                       value->value);
        return;
    }
    const struct view_step *step = &m->steps[index];
    const struct hal_time_text moment = hal_moment_text(step->time_ns);
    const char *outcome = step->status ? "failed" : "reached";
    if (step->submission != VIEW_NO_REF)
        view_lines_add(lines, key, "%s %s %" PRIu64 ", %s by #s%" PRIu64 " at %s", name, relation,
                       value->value, outcome, m->submissions[step->submission].number, moment.text);
    else if (step->call != VIEW_NO_REF)
        view_lines_add(lines, key, "%s %s %" PRIu64 ", %s by %s at %s", name, relation,
                       value->value, outcome,
                       view_model_string(m, m->hosts[m->calls[step->call].host].name), moment.text);
    else
        view_lines_add(lines, key, "%s %s %" PRIu64 ", from the start", name, relation,
                       value->value);
}

static void add_stack(const struct view_model *m, uint32_t stack, struct view_lines *lines)
{
    enum { MAX_FRAMES = 16 };
    const struct trace_stack *frames = stack ? trace_reader_stack(m->reader, stack) : NULL;
    char name[256];
    for (uint32_t i = 0; frames && i < frames->frame_count && i < MAX_FRAMES; i++) {
        view_stacks_name(lines->stacks, m, frames->frames[i], name, sizeof name);
        view_lines_add(lines, i == 0 ? "called from" : "", "%s", name);
    }
}

/* Equal commands share a line, "28 × mul_mv 64x1x1"; commands that are not work are counted in the
 * last one. */
static void add_commands(const struct view_model *m, const struct view_submission *s,
                         struct view_lines *lines)
{
    enum { MAX_KINDS = 24 };
    uint32_t ops[MAX_KINDS], kinds = 0;
    uint64_t counts[MAX_KINDS] = {0}, barriers = 0, states = 0, others = 0;
    char label[128];
    for (uint32_t k = 0; k < s->commands_count; k++) {
        const struct view_body *c = view_body(m, m->submitted[s->first_commands + k]);
        for (uint32_t i = 0, kind = 0; i < c->op_count; i++) {
            const uint32_t op = m->segments[c->first_op + i];
            barriers += m->ops[op].kind == TRACE_BARRIER;
            states += !trace_is_work(m->ops[op].kind) && m->ops[op].kind != TRACE_BARRIER;
            for (kind = 0; kind < kinds && ops[kind] != op;)
                kind++;
            if (kind == kinds && kinds < MAX_KINDS && trace_is_work(m->ops[op].kind))
                ops[kinds++] = op;
            if (kind < kinds)
                counts[kind]++;
            else
                others += trace_is_work(m->ops[op].kind);
        }
    }
    for (uint32_t kind = 0; kind < kinds; kind++) {
        view_op_label(m, &m->ops[ops[kind]], label, sizeof label);
        view_lines_add(lines, kind == 0 ? "commands" : "", "%s × %s",
                       view_right(view_count(counts[kind]).text, 4).text, label);
    }
    if (others)
        view_lines_add(lines, "", "%s × others", view_right(view_count(others).text, 4).text);
    view_lines_add(
        lines, kinds ? "" : "commands", "%s, %s",
        view_right(view_things(barriers, "barrier").text, 4 + (barriers == 1 ? 8 : 9)).text,
        view_things(states, "state change").text);
}

/* ---- Events ------------------------------------------------------------------------------- */

static void describe_times(const struct view_model *m, const struct view_submission *s,
                           struct view_lines *lines)
{
    const bool ran = s->begin_ns != VIEW_NO_TIME;
    if (view_submit_ns(m, s) != VIEW_NO_TIME)
        view_lines_add(lines, "submitted", "%s by %s, took %s",
                       hal_moment_text(view_submit_ns(m, s)).text,
                       view_model_string(m, m->hosts[m->calls[s->call].host].name),
                       hal_duration_text(view_submit_end_ns(m, s) - view_submit_ns(m, s)).text);
    if (!s->done)
        view_lines_add(lines, "executed", "not finished in this file");
    else if (!ran)
        view_lines_add(lines, "executed", "no device times");
    if (!ran)
        return;
    if (view_submit_ns(m, s) != VIEW_NO_TIME && s->ready_ns != VIEW_NO_TIME)
        view_lines_add(lines, "queued",
                       "%s: %s until its waits were satisfied, then %s until it ran",
                       hal_duration_text(s->begin_ns - view_submit_ns(m, s)).text,
                       hal_duration_text(s->ready_ns - view_submit_ns(m, s)).text,
                       hal_duration_text(s->begin_ns - s->ready_ns).text);
    else if (view_submit_ns(m, s) != VIEW_NO_TIME)
        view_lines_add(lines, "queued", "%s",
                       hal_duration_text(s->begin_ns - view_submit_ns(m, s)).text);
    add_span(lines, "executed", s->begin_ns, s->end_ns);
    if (s->busy_ns > 0)
        view_lines_add(lines, "computing", "%s, %s of that time",
                       hal_duration_text(s->busy_ns).text,
                       view_share(s->busy_ns, s->end_ns - s->begin_ns).text);
}

static void describe_submission(const struct view_model *m, uint32_t index,
                                struct view_lines *lines)
{
    const struct view_submission *s = &m->submissions[index];
    if (s->operation == TRACE_OPERATION_COLLECTIVE)
        view_lines_add(lines, "submission", "#s%" PRIu64 " on queue %u", s->number, s->queue);
    else
        view_lines_add(lines, "submission", "#s%" PRIu64 " on queue %u: %s in %s", s->number,
                       s->queue, view_things(s->dispatch_count, "dispatch").text,
                       view_things(s->commands_count, "command buffer").text);
    view_describe_collective(m, s, lines);
    add_status(lines, s->status);
    if (s->message)
        view_lines_add(lines, "message", "%s", view_model_string(m, s->message));
    describe_times(m, s, lines);
    for (uint32_t k = 0; k < s->wait_count; k++)
        add_value(m, k == 0 ? "waits for" : "", "≥", &m->values[s->first_wait + k], lines);
    for (uint32_t k = 0; k < s->signal_count; k++)
        add_value(m, k == 0 ? "signals" : "", "=", &m->values[s->first_wait + s->wait_count + k],
                  lines);
    const uint32_t consumer = view_model_consumer(m, index, VIEW_NO_REF);
    if (consumer != VIEW_NO_REF)
        view_lines_add(lines, "needed by", "#s%" PRIu64, m->submissions[consumer].number);
    const uint32_t observer = view_model_observer(m, index);
    if (observer != VIEW_NO_REF)
        view_lines_add(lines, "seen by", "%s, %s after it finished",
                       view_model_string(m, m->hosts[m->calls[observer].host].name),
                       hal_duration_text(m->calls[observer].end_ns - s->end_ns).text);
    if (s->operation != TRACE_OPERATION_COLLECTIVE)
        add_commands(m, s, lines);
    if (s->call != VIEW_NO_REF)
        add_stack(m, view_call_what(m, &m->calls[s->call])->stack, lines);
}

static void describe_dispatch(const struct view_model *m, uint32_t index, struct view_lines *lines)
{
    const struct view_dispatch *d = &m->dispatches[index];
    char label[160];
    view_op_label(m, &m->ops[d->op], label, sizeof label);
    view_lines_add(lines, "dispatch", "%s, #s%" PRIu64 ".d%u", label,
                   m->submissions[d->submission].number, d->index);
    add_span(lines, "ran", d->begin_ns, d->end_ns);
    if (m->isolated)
        view_lines_add(lines, "", "dispatches were isolated for timing");
    describe_submission(m, d->submission, lines);
}

static void describe_call(const struct view_model *m, const struct view_track *track,
                          const struct view_span *event, struct view_lines *lines)
{
    const struct view_call *call = &m->calls[event->ref];
    const struct view_what *what = view_call_what(m, call);
    char label[160];
    view_span_label(m, track, event, label, sizeof label);
    view_lines_add(lines, "call", "%s", label);
    add_status(lines, call->status);
    add_span(lines, "at", call->begin_ns, call->end_ns);
    add_host(m, call->host, lines);
    for (uint32_t k = 0; k < what->value_count; k++)
        add_value(m, k == 0 ? "waits for" : "", "≥", &m->values[call->object + k], lines);
    if (event->class == VIEW_MAP)
        view_lines_add(lines, "range", "%s from byte %" PRIu64, view_bytes(what->size).text,
                       what->offset);
    else if (event->class == VIEW_CREATE || event->class == VIEW_COMPILE)
        view_lines_add(lines, "size", "%s", view_bytes(what->size).text);
    else if (event->class == VIEW_SIGNAL ||
             (event->class == VIEW_QUERY && call->kind == TRACE_SEMAPHORE_QUERY))
        view_lines_add(lines, "value", "%" PRIu64, what->offset);
    if (call->kind == TRACE_SUBMIT && call->object != VIEW_NO_REF)
        describe_submission(m, call->object, lines);
    else
        add_stack(m, what->stack, lines);
}

static void describe_recording(const struct view_model *m, const struct view_span *event,
                               struct view_lines *lines)
{
    const struct view_command_buffer *c = &m->command_buffers[event->ref];
    const struct view_body *body = &m->bodies[c->body];
    const char *label = view_model_string(m, c->label);
    view_lines_add(lines, "recording", "command buffer %" PRIu64 "%s%s", c->id, *label ? " " : "",
                   label);
    add_span(lines, "at", event->begin_ns, event->end_ns);
    if (c->create_host != VIEW_NO_REF)
        view_lines_add(lines, "made for", "%s, %s",
                       c->is_reusable ? "many submissions" : "one submission",
                       c->transfers && c->dispatches ? "any commands"
                       : c->transfers                ? "transfers alone"
                                                     : "dispatches alone");
    view_lines_add(lines, "commands", "%s: %s, %s, %s", view_count(body->op_count).text,
                   view_things(body->dispatch_count, "dispatch").text,
                   view_things(body->barrier_count, "barrier").text,
                   view_things(body->transfer_count, "transfer").text);
    if (body->op_count)
        view_lines_add(lines, "per command", "%s",
                       hal_duration_text((event->end_ns - event->begin_ns) / body->op_count).text);
}

static void describe_gap(const struct view_model *m, const struct view_gap *gap,
                         struct view_lines *lines)
{
    char host[160];
    int64_t causes_ns[VIEW_GAP_COUNT];
    view_gap_causes(m, gap, causes_ns);
    view_lines_add(lines, "gap", "the device was idle for %s",
                   hal_duration_text(gap->end_ns - gap->begin_ns).text);
    view_lines_add(lines, "from", "%s", hal_moment_text(gap->begin_ns).text);
    for (size_t c = 0; c < VIEW_GAP_COUNT; c++) {
        const struct view_class_info *info = view_class_info((enum view_class)(VIEW_GAP_HOST + c));
        if (causes_ns[c])
            view_lines_add(lines, info->name, "%s, %s", hal_duration_text(causes_ns[c]).text,
                           view_share(causes_ns[c], gap->end_ns - gap->begin_ns).text);
    }
    if (gap->before != VIEW_NO_REF && gap->after != VIEW_NO_REF)
        view_lines_add(lines, "between", "#s%" PRIu64 " and #s%" PRIu64,
                       m->submissions[gap->before].number, m->submissions[gap->after].number);
    view_describe_host(m, gap, host, sizeof host);
    if (*host)
        view_lines_add(lines, "meanwhile", "%s", host);
}

void view_describe_host(const struct view_model *model, const struct view_gap *gap, char *out,
                        size_t bytes)
{
    struct view_measure measure;
    *out = '\0';
    if (gap->after == VIEW_NO_REF || model->submissions[gap->after].call == VIEW_NO_REF)
        return;
    const struct view_submission *s = &model->submissions[gap->after];
    const struct view_host *host = &model->hosts[model->calls[s->call].host];
    const int64_t end_ns =
        view_submit_end_ns(model, s) < gap->end_ns ? view_submit_end_ns(model, s) : gap->end_ns;
    if (host->track == VIEW_NO_TRACK || end_ns <= gap->begin_ns)
        return;
    view_series_measure(&model->tracks[host->track].series, gap->begin_ns, end_ns, &measure);
    measure.busy_ns[VIEW_CLASS_NONE] = end_ns - gap->begin_ns - view_measure_busy(&measure);
    int length = snprintf(out, bytes, "%s", view_model_string(model, host->name));
    while (length > 0 && (size_t)length < bytes) { /* longest first */
        size_t most = VIEW_CLASS_NONE;
        for (size_t c = 1; c < VIEW_CLASS_COUNT; c++)
            most = measure.busy_ns[c] > measure.busy_ns[most] ? c : most;
        if (measure.busy_ns[most] * 100 < gap->end_ns - gap->begin_ns)
            break;
        length += snprintf(out + length, bytes - (size_t)length, ", %s %s",
                           most == VIEW_CLASS_NONE ? "outside the HAL"
                                                   : view_class_info((enum view_class)most)->name,
                           hal_duration_text(measure.busy_ns[most]).text);
        measure.busy_ns[most] = 0;
    }
}

static void describe_level(const struct view_model *m, const struct view_level *level,
                           struct view_lines *lines)
{
    char name[96];
    view_lines_add(lines, "memory", "%s in %s", view_bytes(level->bytes).text,
                   view_things(level->buffers, "buffer").text);
    view_lines_add(lines, "from", "%s", hal_moment_text(level->time_ns).text);
    if (level->transient_bytes)
        view_lines_add(lines, "transient", "%s in use", view_bytes(level->transient_bytes).text);
    if (level->buffer != VIEW_NO_REF) {
        view_buffer_name(m, level->buffer, name, sizeof name);
        view_lines_add(lines, level->change < 0 ? "less" : "more", "%s: %s", name,
                       view_bytes(m->buffers[level->buffer].bytes).text);
    } else if (level->submission != VIEW_NO_REF) {
        view_lines_add(lines, level->change < 0 ? "less" : "more", "#s%" PRIu64 ": transient %s",
                       m->submissions[level->submission].number,
                       view_bytes(m->submissions[level->submission].range_bytes).text);
    }
    view_lines_add(lines, "peak", "%s at %s", view_bytes(m->levels[m->peak_level].bytes).text,
                   hal_moment_text(m->levels[m->peak_level].time_ns).text);
}

void view_describe(const struct view_model *model, const struct view_track *track,
                   const struct view_span *event, struct view_lines *lines)
{
    char name[64];
    switch (track->kind) {
    case VIEW_TRACK_SCOPE: {
        const struct view_scope *scope = &model->scopes[event->ref];
        view_lines_add(lines, "scope", "%s", view_model_string(model, scope->name));
        add_span(lines, scope->open ? "open since" : "at", scope->begin_ns, scope->end_ns);
        add_host(model, scope->host, lines);
        return;
    }
    case VIEW_TRACK_HOST:
        if (event->class == VIEW_RECORD)
            describe_recording(model, event, lines);
        else
            describe_call(model, track, event, lines);
        return;
    case VIEW_TRACK_QUEUE:
    case VIEW_TRACK_DEVICE:
    case VIEW_TRACK_COMMANDS:
    case VIEW_TRACK_BARRIERS: describe_submission(model, event->ref, lines); return;
    case VIEW_TRACK_DISPATCHES: describe_dispatch(model, event->ref, lines); return;
    case VIEW_TRACK_SEMAPHORES:
    case VIEW_TRACK_SEMAPHORE: {
        const struct view_step *step = &model->steps[event->ref];
        const struct view_value value = {.value = step->value, .semaphore = step->semaphore};
        view_semaphore_name(model, step->semaphore, name, sizeof name);
        view_lines_add(lines, "semaphore", "%s", name);
        add_value(model, "value", "=", &value, lines);
        add_status(lines, step->status);
        return;
    }
    case VIEW_TRACK_TRANSFERS: {
        const struct view_transfer *t = &model->transfers[event->ref];
        const char *label = view_model_string(model, model->buffers[t->buffer].label);
        view_lines_add(lines, view_class_info((enum view_class)t->class)->name,
                       "%s %s buffer %" PRIu64 "%s%s, from byte %" PRIu64,
                       view_bytes(t->bytes).text, t->class == VIEW_UPLOAD ? "into" : "of",
                       model->buffers[t->buffer].id, *label ? " " : "", label, t->offset);
        add_span(lines, "at", t->begin_ns, t->end_ns);
        add_host(model, t->host, lines);
        return;
    }
    case VIEW_TRACK_MEMORY: describe_level(model, &model->levels[event->ref], lines); return;
    case VIEW_TRACK_GAPS: describe_gap(model, &model->gaps[event->ref], lines); return;
    }
}
