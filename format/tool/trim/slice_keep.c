/* SPDX-License-Identifier: Apache-2.0 */
/* What stays of a trace because something that stays names it. */
#include "format/tool/trim/slice.h"

#include "format/analysis/events.h"

static void use(struct slice *slice, uint64_t id)
{
    struct slice_object *object = slice_object(slice, id);
    if (object)
        object->used = true;
}

static bool is_used(const struct slice *slice, uint64_t id)
{
    const struct slice_object *object = slice_object(slice, id);
    return object && object->used;
}

/* ---- Objects ---- */

static void use_submission(struct slice *slice, const struct slice_event *event)
{
    const struct trace_submit *submit = (const void *)event->record;
    for (uint32_t i = 0; i < submit->wait_count + submit->signal_count; i++)
        use(slice, submit->values[i].semaphore);
    if (event->fate != SLICE_KEPT)
        return;
    use(slice, submit->buffer);
    for (uint32_t i = 0; i < submit->command_buffer_count; i++) {
        const uint64_t id = trace_submit_command_buffers(submit)[i];
        struct slice_object *commands = slice_object(slice, id);
        for (size_t k = 0; commands && !commands->used && k < commands->name_count; k++)
            slice->objects[slice->names[commands->first_name + k]].used = true;
        use(slice, id);
    }
}

static void use_event(struct slice *slice, const struct slice_event *event)
{
    const void *record = event->record;
    const struct trace_semaphore_wait *wait = record;
    switch (event->record->kind) {
    case TRACE_SUBMIT: use_submission(slice, event); break;
    case TRACE_COLLECTIVE: {
        const struct trace_collective *collective = (const void *)record;
        use(slice, collective->channel);
        use(slice, collective->send);
        use(slice, collective->receive);
        break;
    }
    case TRACE_HOST_WRITE:
    case TRACE_MAPPED_CHANGE:
    case TRACE_HOST_READ: use(slice, TRACE_AS(trace_content_event, record)->buffer); break;
    case TRACE_SEMAPHORE_QUERY:
    case TRACE_SEMAPHORE_SIGNAL:
        use(slice, TRACE_AS(trace_semaphore_event, record)->semaphore);
        break;
    case TRACE_SEMAPHORE_WAIT:
        for (uint32_t i = 0; i < wait->value_count; i++)
            use(slice, wait->values[i].semaphore);
        break;
    default: break;
    }
}

/* Executables name pipeline layouts, which name set layouts; a subspan is one of its root. */
static void use_named(struct slice *slice)
{
    for (size_t i = 0; i < slice->object_count; i++) {
        const void *created = slice->objects[i].created;
        const struct trace_executable_create *executable = created;
        if (!created || !slice->objects[i].used || executable->head.kind != TRACE_EXECUTABLE_CREATE)
            continue;
        for (uint32_t k = 0; k < executable->entry_point_count; k++)
            use(slice, executable->entry_points[k].layout);
    }
    for (size_t i = 0; i < slice->object_count; i++) {
        const void *created = slice->objects[i].created;
        const struct trace_pipeline_layout_create *layout = created;
        const struct trace_subspan_create *subspan = created;
        if (!created)
            continue;
        for (uint32_t k = 0; layout->head.kind == TRACE_PIPELINE_LAYOUT_CREATE &&
                             slice->objects[i].used && k < layout->set_count;
             k++)
            use(slice, layout->sets[k]);
        if (subspan->head.kind == TRACE_SUBSPAN_CREATE && is_used(slice, subspan->root))
            slice->objects[i].used = true;
    }
}

/* ---- Events ---- */

/* The object on which an event depends; 0: none. */
static uint64_t subject(const struct trace_event *event)
{
    const bool is_used = trace_event_traits(event->kind).deed == TRACE_USES;
    return is_used && event->kind != TRACE_SEMAPHORE_FAIL ? 0 : trace_event_object(event);
}

static void keep_scope(struct slice *slice, struct slice_event *event)
{
    struct slice_event *end = event->scope_end ? &slice->events[event->scope_end - 1] : NULL;
    if (event->record->begin_ns >= slice->end_ns || (end && end->record->end_ns < slice->first_ns))
        return;
    event->fate = SLICE_KEPT;
    if (end)
        end->fate = SLICE_KEPT;
}

/* A file stays when work that reads it does. */
static bool file_is_read(const struct slice *slice, uint32_t file)
{
    for (size_t i = 0; i < slice->event_count; i++) {
        const struct trace_submit *submit = (const void *)slice->events[i].record;
        if (submit->head.kind == TRACE_SUBMIT && slice->events[i].fate == SLICE_KEPT &&
            submit->operation == TRACE_OPERATION_READ && submit->file == file)
            return true;
    }
    return false;
}

static void keep_event(struct slice *slice, struct slice_event *event)
{
    const struct trace_event *record = event->record;
    const uint64_t object = subject(record);
    if (object) {
        const bool is_late = record->ticket && record->ticket >= slice->end_ticket;
        const struct slice_object *about = slice_object(slice, object);
        const bool stays = about && about->used && record->status == HAL_OK && !is_late;
        if (record->kind != TRACE_SEMAPHORE_FAIL || event->fate == SLICE_KEPT)
            event->fate = stays || (about && about->used && record->kind == TRACE_SEMAPHORE_FAIL)
                              ? SLICE_KEPT
                              : SLICE_DROPPED;
    } else if (record->kind == TRACE_SCOPE_BEGIN) {
        keep_scope(slice, event);
    } else if (record->kind == TRACE_FILE) {
        event->fate = file_is_read(slice, TRACE_AS(trace_file, record)->part.file) ? SLICE_KEPT
                                                                                   : SLICE_DROPPED;
    } else if (record->kind == TRACE_FAILURE) { /* of a dropped call: the kept ones succeeded */
        event->fate = SLICE_DROPPED;
    } else if (record->kind == TRACE_SUBMISSION_DONE) {
        const struct slice_event *submission =
            slice_submission(slice, TRACE_AS(trace_submission_done, record)->submission);
        event->fate = submission && submission->fate != SLICE_DROPPED ? SLICE_KEPT : SLICE_DROPPED;
    } else if (record->kind == TRACE_DISPATCH_TIMES) {
        const struct slice_event *submission =
            slice_submission(slice, TRACE_AS(trace_dispatch_times, record)->submission);
        event->fate = submission && submission->fate == SLICE_KEPT ? SLICE_KEPT : SLICE_DROPPED;
    } else if (record->kind == TRACE_SUBMISSION_OUTPUTS) {
        const struct slice_event *submission =
            slice_submission(slice, TRACE_AS(trace_submission_outputs, record)->submission);
        event->fate = submission && submission->fate == SLICE_KEPT ? SLICE_KEPT : SLICE_DROPPED;
    }
}

void slice_keep(struct slice *slice)
{
    for (size_t i = 0; i < slice->event_count; i++) {
        if (slice->events[i].fate != SLICE_DROPPED)
            use_event(slice, &slice->events[i]);
    }
    use_named(slice);
    for (size_t i = 0; i < slice->event_count; i++) {
        struct slice_event *event = &slice->events[i];
        keep_event(slice, event);
        if (event->record->kind != TRACE_SUBMIT)
            continue;
        slice->wanted += event->wanted;
        slice->needed += event->fate == SLICE_KEPT && !event->wanted;
        slice->emptied += event->fate == SLICE_EMPTIED;
    }
}
