/* SPDX-License-Identifier: Apache-2.0 */
#include "format/analysis/lifetimes.h"

#include "format/analysis/events.h"
#include "hal/base/mem.h"

#include <inttypes.h>

enum deed {
    CREATED,   /* or submitted */
    DESTROYED, /* or done */
    USED,
    ENDED,     /* a command buffer; of submissions: the host call begins */
    SUBMITTED, /* a command buffer; of submissions: the host call ends */
    DEEDS,
};

struct trace_lifetime {
    uint64_t id;
    uint64_t first[DEEDS], last[DEEDS]; /* tickets; 0: never */
    uint16_t kinds;                     /* bits of enum trace_subject, of all deeds */
    uint8_t kind;                       /* enum trace_subject, of the creation */
    uint8_t twice;                      /* bits of enum deed */
    bool one_shot;
    bool left_out; /* no replay has it */
};

static const char *const names[] = {[TRACE_OF_OTHERS] = "object",
                                    [TRACE_OF_BUFFER] = "buffer",
                                    [TRACE_OF_SUBSPAN] = "subspan",
                                    [TRACE_OF_EXECUTABLE] = "executable",
                                    [TRACE_OF_COMMAND_BUFFER] = "command buffer",
                                    [TRACE_OF_SEMAPHORE] = "semaphore",
                                    [TRACE_OF_EVENT] = "event",
                                    [TRACE_OF_LAYOUT] = "layout",
                                    [TRACE_OF_CHANNEL] = "channel"};

/* ---- Taking -------------------------------------------------------------------------------- */

/* What takes one event's deeds; the first failure sticks. */
struct taking {
    struct trace_lifetimes *lifetimes;
    uint64_t ticket;
    bool failed;
};

static struct trace_lifetime *find(struct taking *taking, struct trace_lifetime_list *list,
                                   uint64_t id)
{
    void *grown = list->list;
    uint32_t index = (uint32_t)list->count;
    const bool has_room = list->count < UINT32_MAX - 1 &&
                          hal_grow(&grown, &list->capacity, list->count + 1, sizeof *list->list);
    list->list = grown;
    if (!has_room || !hal_idmap_add(&list->ids, id, index, &index)) {
        taking->failed = true;
        return NULL;
    }
    if (index == list->count)
        list->list[list->count++] = (struct trace_lifetime){.id = id};
    return &list->list[index];
}

static void note(struct trace_lifetime *lifetime, enum deed deed, uint64_t ticket)
{
    lifetime->twice |= (uint8_t)(lifetime->first[deed] ? 1u << deed : 0);
    if (!lifetime->first[deed] || ticket < lifetime->first[deed])
        lifetime->first[deed] = ticket;
    if (ticket > lifetime->last[deed])
        lifetime->last[deed] = ticket;
}

static struct trace_lifetime *take(struct taking *taking, enum trace_subject kind, uint64_t id,
                                   enum deed deed)
{
    struct trace_lifetime *lifetime = find(taking, &taking->lifetimes->objects, id);
    if (!lifetime)
        return NULL;
    note(lifetime, deed, taking->ticket);
    lifetime->kinds |= (uint16_t)(1u << kind);
    if (deed == CREATED)
        lifetime->kind = (uint8_t)kind;
    return lifetime;
}

static void use(struct taking *taking, enum trace_subject kind, uint64_t id)
{
    take(taking, kind, id, USED);
}

static void take_submission(struct taking *taking, uint64_t id, enum deed deed)
{
    struct trace_lifetime *lifetime = find(taking, &taking->lifetimes->submissions, id);
    if (lifetime)
        note(lifetime, deed, taking->ticket);
}

static void use_barriers(struct taking *taking, const struct trace_buffer_barrier *barriers,
                         uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        use(taking, TRACE_OF_BUFFER, barriers[i].buffer);
}

static void take_segment(struct taking *taking, const struct trace_segment *head)
{
    const void *segment = head;
    const struct trace_copy *copy = segment;
    const struct trace_events_wait *wait = segment;
    const struct trace_push_descriptor_set *set = segment;
    switch ((enum trace_segment_kind)head->kind) {
    case TRACE_BARRIER: {
        const struct trace_barrier *barrier = segment;
        use_barriers(taking, barrier->buffers, barrier->buffer_count);
        return;
    }
    case TRACE_FILL: use(taking, TRACE_OF_BUFFER, TRACE_AS(trace_fill, head)->target); return;
    case TRACE_COPY:
        use(taking, TRACE_OF_BUFFER, copy->source);
        use(taking, TRACE_OF_BUFFER, copy->target);
        return;
    case TRACE_UPDATE: use(taking, TRACE_OF_BUFFER, TRACE_AS(trace_update, head)->target); return;
    case TRACE_PUSH_DESCRIPTOR_SET:
        for (uint32_t i = 0; i < set->binding_count; i++) {
            if (set->bindings[i].buffer)
                use(taking, TRACE_OF_BUFFER, set->bindings[i].buffer);
        }
        return;
    case TRACE_DISPATCH_INDIRECT:
        use(taking, TRACE_OF_BUFFER, TRACE_AS(trace_dispatch_indirect, head)->counts);
        /* fall through */
    case TRACE_DISPATCH:
        use(taking, TRACE_OF_EXECUTABLE, trace_dispatched(head).executable);
        return;
    case TRACE_EVENT_SIGNAL:
    case TRACE_EVENT_RESET:
        use(taking, TRACE_OF_EVENT, TRACE_AS(trace_event_command, head)->event);
        return;
    case TRACE_EVENTS_WAIT:
        use_barriers(taking, wait->buffers, wait->buffer_count);
        for (uint32_t i = 0; i < wait->event_count; i++)
            use(taking, TRACE_OF_EVENT, trace_waited_events(wait)[i]);
        return;
    case TRACE_PUSH_CONSTANTS:
    case TRACE_DEBUG_BEGIN:
    case TRACE_DEBUG_END: return;
    }
}

static void take_seal(struct taking *taking, const struct trace_command_buffer_seal *seal,
                      const struct trace_segment *segments)
{
    take(taking, TRACE_OF_COMMAND_BUFFER, seal->command_buffer, ENDED);
    use(taking, TRACE_OF_COMMAND_BUFFER, seal->command_buffer);
    for (uint32_t i = 0; i < seal->segment_count; i++) {
        take_segment(taking, segments);
        segments = trace_next_segment(segments);
    }
}

static void take_submit(struct taking *taking, const struct trace_submit *submit)
{
    const uint64_t *commands = trace_submit_command_buffers(submit);
    take_submission(taking, submit->submission, CREATED);
    for (uint64_t i = 0; i < (uint64_t)submit->wait_count + submit->signal_count; i++)
        use(taking, TRACE_OF_SEMAPHORE, submit->values[i].semaphore);
    for (uint32_t i = 0; i < submit->command_buffer_count; i++) {
        take(taking, TRACE_OF_COMMAND_BUFFER, commands[i], SUBMITTED);
        use(taking, TRACE_OF_COMMAND_BUFFER, commands[i]);
    }
    if (submit->operation >= TRACE_OPERATION_ALLOCA)
        use(taking, TRACE_OF_BUFFER, submit->buffer);
}

static void take_host_call(struct taking *taking, const struct trace_host_call *call)
{
    const bool begins = call->head.kind == TRACE_HOST_CALL_BEGIN;
    take_submission(taking, call->submission, begins ? ENDED : SUBMITTED);
    take_submission(taking, call->submission, USED);
}

static void take_outputs(struct taking *taking, const struct trace_submission_outputs *outputs)
{
    take_submission(taking, outputs->submission, USED);
    for (uint32_t i = 0; i < outputs->output_count; i++)
        use(taking, TRACE_OF_BUFFER, outputs->outputs[i].buffer);
}

static void take_creation(struct taking *taking, const struct trace_event *event)
{
    const struct trace_executable_create *executable = (const void *)event;
    const struct trace_pipeline_layout_create *layout = (const void *)event;
    struct trace_lifetime *lifetime =
        take(taking, trace_event_traits(event->kind).subject, trace_event_object(event), CREATED);
    if (event->kind == TRACE_COMMAND_BUFFER_CREATE && lifetime)
        lifetime->one_shot = TRACE_AS(trace_command_buffer_create, event)->mode == TRACE_ONE_SHOT;
    for (uint32_t i = 0;
         event->kind == TRACE_EXECUTABLE_CREATE && i < executable->entry_point_count; i++) {
        if (executable->entry_points[i].layout)
            use(taking, TRACE_OF_LAYOUT, executable->entry_points[i].layout);
    }
    for (uint32_t i = 0; event->kind == TRACE_PIPELINE_LAYOUT_CREATE && i < layout->set_count; i++)
        use(taking, TRACE_OF_LAYOUT, layout->sets[i]);
}

/* Calls that failed did nothing, and may have named anything. */
static bool counts(const struct trace_event *event)
{
    return event->status == HAL_OK || event->kind == TRACE_SEMAPHORE_FAIL ||
           event->kind == TRACE_HOST_CALL_END || event->kind == TRACE_SUBMISSION_DONE ||
           event->kind == TRACE_UNSUPPORTED;
}

static void take_single(struct taking *taking, const struct trace_event *event)
{
    const struct trace_event_traits traits = trace_event_traits(event->kind);
    const uint64_t object = trace_event_object(event);
    /* Commands name the root of a subspan; what a channel did is in the trace. */
    if (traits.subject == TRACE_OF_SUBSPAN || traits.subject == TRACE_OF_CHANNEL)
        return;
    if (traits.deed == TRACE_CREATES)
        take_creation(taking, event);
    else if (traits.deed == TRACE_DESTROYS)
        take(taking, traits.subject, object, DESTROYED);
    else if (traits.deed == TRACE_MAPS || traits.deed == TRACE_USES)
        use(taking, traits.subject, object);
}

static void take_event(struct taking *taking, const struct trace_event *event,
                       const struct trace_segment *segments)
{
    const void *record = event;
    const struct trace_semaphore_wait *wait = record;
    const struct trace_unsupported *unsupported = record;
    struct trace_lifetime *lifetime;
    if (event->kind == TRACE_COMMAND_BUFFER_SEAL) {
        take_seal(taking, record, segments);
    } else if (event->kind == TRACE_SUBMIT) {
        take_submit(taking, record);
    } else if (event->kind == TRACE_SEMAPHORE_WAIT) {
        for (uint32_t i = 0; i < wait->value_count; i++)
            use(taking, TRACE_OF_SEMAPHORE, wait->values[i].semaphore);
    } else if (event->kind == TRACE_SUBMISSION_DONE) {
        take_submission(taking, TRACE_AS(trace_submission_done, event)->submission, DESTROYED);
    } else if (event->kind == TRACE_HOST_CALL_BEGIN || event->kind == TRACE_HOST_CALL_END) {
        take_host_call(taking, record);
    } else if (event->kind == TRACE_SUBMISSION_OUTPUTS) {
        take_outputs(taking, record);
    } else if (event->kind == TRACE_UNSUPPORTED) {
        lifetime = find(taking, &taking->lifetimes->objects, unsupported->object);
        if (lifetime)
            lifetime->left_out = true;
    } else if (event->kind == TRACE_HOST_WRITE || event->kind == TRACE_HOST_READ) {
        use(taking, TRACE_OF_BUFFER, TRACE_AS(trace_content_event, event)->buffer);
    } else if (event->kind == TRACE_MAPPED_CHANGE) {
        use(taking, TRACE_OF_BUFFER, TRACE_AS(trace_mapped_change, event)->part.buffer);
    } else if (event->kind == TRACE_SUBSPAN_CREATE) {
        use(taking, TRACE_OF_BUFFER, TRACE_AS(trace_subspan_create, event)->root);
    } else {
        take_single(taking, event);
    }
}

enum hal_status trace_lifetimes_take(struct trace_lifetimes *lifetimes,
                                     const struct trace_event *event,
                                     const struct trace_segment *segments)
{
    /* The end of a submission has no ticket, and no order here. */
    struct taking taking = {.lifetimes = lifetimes,
                            .ticket = event->kind == TRACE_SUBMISSION_DONE ? 1 : event->ticket};
    if (taking.ticket && counts(event))
        take_event(&taking, event, segments);
    return taking.failed ? hal_fail(HAL_NO_MEMORY, "no memory for the objects of a trace") : HAL_OK;
}

void trace_lifetimes_finish(struct trace_lifetimes *lifetimes)
{
    hal_idmap_finish(&lifetimes->objects.ids);
    hal_idmap_finish(&lifetimes->submissions.ids);
    free(lifetimes->objects.list);
    free(lifetimes->submissions.list);
    *lifetimes = (struct trace_lifetimes){0};
}

/* ---- Checking ------------------------------------------------------------------------------ */

static bool is_twice(const struct trace_lifetime *lifetime, enum deed deed)
{
    return lifetime->twice >> deed & 1;
}

/* Whether the deed was done, and before the other one or, if nothing is missing, without it. */
static bool comes_before(const struct trace_lifetime *lifetime, enum deed deed, enum deed other,
                         bool is_whole)
{
    const uint64_t first = lifetime->first[deed], since = lifetime->first[other];
    return first && (since ? first < since : is_whole);
}

static const char *first_contradiction(const struct trace_lifetime *object, bool is_whole)
{
    if (is_twice(object, CREATED))
        return "is created twice";
    if (is_twice(object, DESTROYED))
        return "is destroyed twice";
    if (object->first[CREATED] && object->kinds & ~(1u << object->kind))
        return "is used as another kind of object";
    if (comes_before(object, USED, CREATED, is_whole) ||
        comes_before(object, DESTROYED, CREATED, is_whole))
        return object->first[CREATED] ? "is used before it is created" : "is never created";
    if (object->first[DESTROYED] && object->last[USED] > object->first[DESTROYED])
        return "is used after it has been destroyed";
    if (is_twice(object, ENDED))
        return "is ended twice";
    if (comes_before(object, SUBMITTED, ENDED, is_whole))
        return "is submitted before it has been ended";
    if (object->one_shot && is_twice(object, SUBMITTED))
        return "is one-shot and is submitted twice";
    return NULL;
}

static const char *first_contradiction_of(const struct trace_lifetime *submission, bool is_whole)
{
    if (is_twice(submission, CREATED))
        return "is there twice";
    if (is_twice(submission, DESTROYED))
        return "ends twice";
    if (comes_before(submission, USED, CREATED, is_whole))
        return "does its work before it is submitted";
    if (is_twice(submission, ENDED) || is_twice(submission, SUBMITTED))
        return "has two host calls";
    if (comes_before(submission, SUBMITTED, ENDED, is_whole))
        return "has a host call that ends without having begun";
    return NULL;
}

void trace_lifetimes_check(const struct trace_lifetimes *lifetimes, bool is_whole,
                           void (*tell)(void *user, enum hal_status status), void *user)
{
    for (size_t i = 0; i < lifetimes->objects.count; i++) {
        const struct trace_lifetime *object = &lifetimes->objects.list[i];
        const char *what = object->left_out ? NULL : first_contradiction(object, is_whole);
        if (what)
            tell(user,
                 hal_fail(HAL_CORRUPT, "%s %" PRIu64 " %s", names[object->kind], object->id, what));
    }
    for (size_t i = 0; i < lifetimes->submissions.count; i++) {
        const struct trace_lifetime *submission = &lifetimes->submissions.list[i];
        const char *what = first_contradiction_of(submission, is_whole);
        if (what)
            tell(user, hal_fail(HAL_CORRUPT, "submission #s%" PRIu64 " %s", submission->id, what));
    }
}
