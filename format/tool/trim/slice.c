/* SPDX-License-Identifier: Apache-2.0 */
/* Finding what some submissions need; slice.h has the outline. */
#include "format/tool/trim/slice.h"

#include "hal/base/mem.h"

enum { MODE_ANY = 1 }; /* enum hal_wait_mode */

/* ---- Ranges: one per buffer, which covers all that was put into it ---- */

static bool meets(const struct slice_range *range, uint64_t begin, uint64_t end)
{
    return range->end && begin < range->end && end > range->begin;
}

static void add_range(struct slice_range *range, uint64_t begin, uint64_t end)
{
    if (begin >= end)
        return;
    if (!range->end) {
        *range = (struct slice_range){begin, end};
        return;
    }
    range->begin = begin < range->begin ? begin : range->begin;
    range->end = end > range->end ? end : range->end;
}

/* Takes bytes away, where what is left is one range. */
static void cut_range(struct slice_range *range, uint64_t begin, uint64_t end)
{
    if (!meets(range, begin, end))
        return;
    if (begin <= range->begin && end >= range->end)
        *range = (struct slice_range){0};
    else if (begin <= range->begin)
        range->begin = end;
    else if (end >= range->end)
        range->end = begin;
}

static uint64_t end_of(uint64_t offset, uint64_t size)
{
    uint64_t end;
    return hal_add_u64(offset, size, &end) ? end : UINT64_MAX;
}

/* ---- What a submission does ---- */

typedef void visit_access(struct slice *slice, const struct slice_access *access, bool *result);

static struct slice_access read_of(uint64_t offset, uint64_t size)
{
    return (struct slice_access){.reads = true, .begin = offset, .end = end_of(offset, size)};
}

static struct slice_access write_of(uint64_t offset, uint64_t size)
{
    return (struct slice_access){
        .writes = true, .covers = true, .begin = offset, .end = end_of(offset, size)};
}

static void visit_buffer(struct slice *slice, uint64_t buffer, struct slice_access access,
                         visit_access *visit, bool *result)
{
    if (buffer && hal_idmap_find(&slice->ids, buffer, &access.object))
        visit(slice, &access, result);
}

/* What it sends is compared. One that never met the other ranks did nothing. */
static void visit_collective(struct slice *slice, const struct trace_submit *submit,
                             visit_access *visit, bool *result)
{
    uint32_t event;
    if (!hal_idmap_find(&slice->collectives, submit->submission, &event))
        return;
    const struct trace_collective *did = (const void *)slice->events[event].record;
    visit_buffer(slice, did->receive, write_of(did->receive_offset, did->receive_size), visit,
                 result);
    visit_buffer(slice, did->send, read_of(did->send_offset, did->send_size), visit, result);
}

/* All accesses, the last one first. */
static void each_access_backwards(struct slice *slice, const struct trace_submit *submit,
                                  visit_access *visit, bool *result)
{
    const uint64_t *commands = trace_submit_command_buffers(submit);
    for (uint32_t i = submit->command_buffer_count; i-- > 0;) {
        const struct slice_object *object = slice_object(slice, commands[i]);
        for (size_t k = object ? object->access_count : 0; k-- > 0;)
            visit(slice, &slice->accesses[object->first_access + k], result);
    }
    if (submit->operation == TRACE_OPERATION_COLLECTIVE)
        visit_collective(slice, submit, visit, result);
    else if (submit->operation == TRACE_OPERATION_WRITE)
        visit_buffer(slice, submit->buffer, read_of(submit->offset, submit->size), visit, result);
    else if (submit->operation == TRACE_OPERATION_READ)
        visit_buffer(slice, submit->buffer, write_of(submit->offset, submit->size), visit, result);
}

static void writes_needed(struct slice *slice, const struct slice_access *access, bool *result)
{
    *result |=
        access->writes && meets(&slice->objects[access->object].needed, access->begin, access->end);
}

static void need_inputs(struct slice *slice, const struct slice_access *access, bool *result)
{
    struct slice_range *needed = &slice->objects[access->object].needed;
    const struct slice_range before = *needed;
    if (access->covers && !slice->out_of_order)
        cut_range(needed, access->begin, access->end);
    if (access->reads)
        add_range(needed, access->begin, access->end);
    *result |= before.begin != needed->begin || before.end != needed->end;
}

static void spoil(struct slice *slice, const struct slice_access *access, bool *result)
{
    (void)result;
    if (access->writes)
        add_range(&slice->objects[access->object].wrong, access->begin, access->end);
}

/* ---- Backwards: what is needed ---- */

/* A wait for a value that only a later submission or signal promises. */
static void find_disorder(struct slice *slice)
{
    for (size_t i = 0; i < slice->object_count; i++)
        slice->objects[i].reached = slice->objects[i].initial;
    for (size_t i = 0; i < slice->order_count && !slice->out_of_order; i++) {
        const struct trace_event *record = slice->events[slice->order[i]].record;
        const struct trace_submit *submit = (const void *)record;
        const struct trace_semaphore_event *signal = (const void *)record;
        struct slice_object *semaphore;
        if (record->kind == TRACE_SEMAPHORE_SIGNAL) {
            semaphore = slice_object(slice, signal->semaphore);
            if (semaphore && signal->value > semaphore->reached)
                semaphore->reached = signal->value;
        }
        if (record->kind != TRACE_SUBMIT || record->status != HAL_OK)
            continue;
        for (uint32_t k = 0; k < submit->wait_count; k++) {
            semaphore = slice_object(slice, submit->values[k].semaphore);
            slice->out_of_order |= semaphore && semaphore->reached < submit->values[k].value;
        }
        for (uint32_t k = 0; k < submit->signal_count; k++) {
            const struct trace_semaphore_value *value = &submit->values[submit->wait_count + k];
            semaphore = slice_object(slice, value->semaphore);
            if (semaphore && value->value > semaphore->reached)
                semaphore->reached = value->value;
        }
    }
}

static bool look_at(struct slice *slice, struct slice_event *event)
{
    const void *record = event->record;
    bool changed = false;
    const bool may_change = event->record->kind == TRACE_MAPPED_CHANGE;
    if ((event->record->kind == TRACE_HOST_WRITE || may_change) && !event->call) {
        const struct trace_content_event *write = record;
        struct slice_object *buffer = slice_object(slice, write->buffer);
        const uint64_t end = end_of(write->offset, write->size);
        if (!buffer || event->fate == SLICE_KEPT || !meets(&buffer->needed, write->offset, end))
            return false;
        event->fate = SLICE_KEPT;
        if (!slice->out_of_order && !may_change)
            cut_range(&buffer->needed, write->offset, end);
        return false;
    }
    if (event->record->kind != TRACE_SUBMIT || event->record->status != HAL_OK)
        return false;
    bool belongs = event->wanted || event->fate == SLICE_KEPT;
    if (!belongs)
        each_access_backwards(slice, record, writes_needed, &belongs);
    if (!belongs)
        return false;
    changed = event->fate != SLICE_KEPT;
    event->fate = SLICE_KEPT;
    each_access_backwards(slice, record, need_inputs, &changed);
    return changed;
}

/* Where submissions wait for later ones, the order of tickets is not that of the work: then every
 * writer of what is read anywhere is needed, and that is looked for until nothing more is found. */
static void find_dependencies(struct slice *slice)
{
    bool changed;
    find_disorder(slice);
    do {
        changed = false;
        for (size_t i = slice->order_count; i-- > 0;)
            changed |= look_at(slice, &slice->events[slice->order[i]]);
    } while (changed && slice->out_of_order);
}

/* ---- The window ---- */

/* Whether the host saw, at this event, that the submission was done. */
static bool observes(const struct trace_event *record, const struct trace_submit *submit)
{
    const struct trace_semaphore_wait *wait = (const void *)record;
    const struct trace_semaphore_event *query = (const void *)record;
    if (record->status != HAL_OK)
        return false;
    if (record->kind == TRACE_WAIT_IDLE)
        return true;
    for (uint32_t i = 0; i < submit->signal_count; i++) {
        const struct trace_semaphore_value *signal = &submit->values[submit->wait_count + i];
        if (record->kind == TRACE_SEMAPHORE_QUERY && query->semaphore == signal->semaphore &&
            query->value >= signal->value)
            return true;
        for (uint32_t k = 0; record->kind == TRACE_SEMAPHORE_WAIT && k < wait->value_count; k++) {
            if (wait->values[k].semaphore == signal->semaphore &&
                wait->values[k].value >= signal->value)
                return true;
        }
    }
    return false;
}

enum { MOST_PENDING = 1024 };

/* Submissions that the host has not seen end yet. */
struct pending {
    const struct trace_submit *submits[MOST_PENDING];
    size_t count;
};

static void add_pending(struct pending *pending, const struct trace_submit *submit)
{
    if (pending->count == MOST_PENDING) /* the oldest one ended long ago, most likely */
        pending->submits[0] = pending->submits[--pending->count];
    pending->submits[pending->count++] = submit;
}

static void remove_observed(struct pending *pending, const struct trace_event *record)
{
    for (size_t i = pending->count; i-- > 0;) {
        if (observes(record, pending->submits[i]))
            pending->submits[i] = pending->submits[--pending->count];
    }
}

/* From the first submission that is kept to the next submission after the host saw all of them end:
 * so the read-backs of what they made are inside, and what they wait for. */
static void find_window(struct slice *slice)
{
    struct pending pending = {.count = 0};
    slice->first_ticket = slice->end_ticket = UINT64_MAX;
    slice->first_ns = slice->end_ns = INT64_MAX;
    for (size_t i = 0; i < slice->order_count; i++) {
        const struct slice_event *event = &slice->events[slice->order[i]];
        const struct trace_event *record = event->record;
        if (record->kind != TRACE_SUBMIT) {
            remove_observed(&pending, record);
        } else if (event->fate == SLICE_KEPT) {
            if (slice->first_ticket == UINT64_MAX) {
                slice->first_ticket = record->ticket;
                slice->first_ns = record->begin_ns;
            }
            if (event->wanted || TRACE_AS(trace_submit, record)->signal_count)
                add_pending(&pending, (const void *)record);
            slice->end_ticket = UINT64_MAX;
            slice->end_ns = INT64_MAX;
        } else if (slice->first_ticket != UINT64_MAX && !pending.count &&
                   slice->end_ticket == UINT64_MAX) {
            slice->end_ticket = record->ticket;
            slice->end_ns = record->begin_ns;
        }
    }
}

/* ---- Semaphores ---- */

static struct trace_semaphore_value signal_of(const struct trace_submit *submit, uint32_t number)
{
    return submit->values[submit->wait_count + number];
}

static bool waits_are_met(const struct slice *slice, const struct trace_submit *submit)
{
    for (uint32_t i = 0; i < submit->wait_count; i++) {
        const struct slice_object *semaphore = slice_object(slice, submit->values[i].semaphore);
        if (semaphore && semaphore->reached < submit->values[i].value)
            return false;
    }
    return true;
}

static bool reaches_later(const struct slice *slice, const struct trace_submit *submit)
{
    for (uint32_t i = 0; i < submit->signal_count; i++) {
        const struct trace_semaphore_value signal = signal_of(submit, i);
        const struct slice_object *semaphore = slice_object(slice, signal.semaphore);
        if (semaphore && signal.value >= semaphore->later)
            return true;
    }
    return false;
}

static void reach(const struct slice *slice, const struct trace_submit *submit)
{
    for (uint32_t i = 0; i < submit->signal_count; i++) {
        const struct trace_semaphore_value signal = signal_of(submit, i);
        struct slice_object *semaphore = slice_object(slice, signal.semaphore);
        if (semaphore && signal.value > semaphore->reached)
            semaphore->reached = signal.value;
    }
}

static void note_later(const struct slice *slice, uint64_t id, uint64_t value)
{
    struct slice_object *semaphore = slice_object(slice, id);
    if (semaphore && value < semaphore->later)
        semaphore->later = value;
}

static bool is_before(const struct slice *slice, const struct trace_event *record)
{
    return record->ticket < slice->first_ticket;
}

/* The smallest value that the window gives each semaphore. */
static void find_later(struct slice *slice)
{
    for (size_t i = 0; i < slice->object_count; i++)
        slice->objects[i].later = UINT64_MAX;
    for (size_t i = 0; i < slice->order_count; i++) {
        const struct trace_event *record = slice->events[slice->order[i]].record;
        const struct trace_submit *submit = (const void *)record;
        const struct trace_semaphore_event *signal = (const void *)record;
        if (is_before(slice, record) || record->ticket >= slice->end_ticket)
            continue;
        if (record->kind == TRACE_SEMAPHORE_SIGNAL)
            note_later(slice, signal->semaphore, signal->value);
        for (uint32_t k = 0; record->kind == TRACE_SUBMIT && k < submit->signal_count; k++)
            note_later(slice, signal_of(submit, k).semaphore, signal_of(submit, k).value);
    }
}

/* What comes before the window leaves only semaphores' values, `reached`, or stays as a barrier. */
static void collapse(struct slice *slice)
{
    bool changed;
    find_later(slice);
    for (size_t i = 0; i < slice->object_count; i++)
        slice->objects[i].reached = slice->objects[i].initial;
    for (size_t i = 0; i < slice->order_count; i++) {
        struct slice_event *event = &slice->events[slice->order[i]];
        const struct trace_semaphore_event *signal = (const void *)event->record;
        if (!is_before(slice, event->record) || event->record->kind != TRACE_SEMAPHORE_SIGNAL)
            continue;
        struct slice_object *semaphore = slice_object(slice, signal->semaphore);
        if (semaphore && signal->value < semaphore->later && signal->value > semaphore->reached)
            semaphore->reached = signal->value;
    }
    do {
        changed = false;
        for (size_t i = 0; i < slice->order_count; i++) {
            struct slice_event *event = &slice->events[slice->order[i]];
            const struct trace_submit *submit = (const void *)event->record;
            if (event->record->kind != TRACE_SUBMIT || event->record->status != HAL_OK ||
                !is_before(slice, event->record) || event->wanted)
                continue;
            if (waits_are_met(slice, submit) && !reaches_later(slice, submit)) {
                changed |= !event->ended;
                event->fate = SLICE_DROPPED;
                event->ended = true;
                reach(slice, submit);
            } else {
                event->fate = SLICE_EMPTIED;
            }
        }
    } while (changed);
    for (size_t i = 0; i < slice->object_count; i++)
        slice->objects[i].initial = slice->objects[i].reached;
}

/* What the semaphores reach by what stays, and which submissions that lets run. */
static void run_what_stays(struct slice *slice)
{
    bool changed;
    for (size_t i = 0; i < slice->object_count; i++)
        slice->objects[i].reached = slice->objects[i].initial;
    for (size_t i = 0; i < slice->order_count; i++) {
        const struct trace_event *record = slice->events[slice->order[i]].record;
        const struct trace_semaphore_event *signal = (const void *)record;
        if (record->kind != TRACE_SEMAPHORE_SIGNAL || record->ticket >= slice->end_ticket)
            continue;
        struct slice_object *semaphore = slice_object(slice, signal->semaphore);
        if (semaphore && signal->value > semaphore->reached)
            semaphore->reached = signal->value;
    }
    do {
        changed = false;
        for (size_t i = 0; i < slice->order_count; i++) {
            struct slice_event *event = &slice->events[slice->order[i]];
            const struct trace_submit *submit = (const void *)event->record;
            if (event->record->kind != TRACE_SUBMIT || event->fate == SLICE_DROPPED ||
                event->ended || !waits_are_met(slice, submit))
                continue;
            event->ended = changed = true;
            reach(slice, submit);
        }
    } while (changed);
}

/* Inside the window all submissions stay, but for those whose waits nothing meets any more. */
static void empty_others(struct slice *slice)
{
    for (size_t i = 0; i < slice->order_count; i++) {
        struct slice_event *event = &slice->events[slice->order[i]];
        const struct trace_event *record = event->record;
        if (record->kind == TRACE_SUBMIT && record->status == HAL_OK &&
            event->fate == SLICE_DROPPED && !is_before(slice, record) &&
            record->ticket < slice->end_ticket)
            event->fate = SLICE_EMPTIED;
    }
    run_what_stays(slice);
    for (size_t i = 0; i < slice->order_count; i++) {
        struct slice_event *event = &slice->events[slice->order[i]];
        if (event->fate == SLICE_EMPTIED && !event->ended)
            event->fate = SLICE_DROPPED;
    }
}

/* ---- Forwards: what the host did ---- */

static bool in_window(const struct slice *slice, const struct trace_event *record)
{
    return record->ticket >= slice->first_ticket && record->ticket < slice->end_ticket;
}

static enum slice_fate fate_of_submission(const struct slice *slice, uint64_t submission)
{
    const struct slice_event *event = slice_submission(slice, submission);
    return event ? (enum slice_fate)event->fate : SLICE_DROPPED;
}

static bool wait_is_met(const struct slice *slice, const struct trace_semaphore_wait *wait)
{
    uint32_t met = 0;
    for (uint32_t i = 0; i < wait->value_count; i++) {
        const struct slice_object *semaphore = slice_object(slice, wait->values[i].semaphore);
        met += semaphore && semaphore->reached >= wait->values[i].value;
    }
    return wait->mode == MODE_ANY ? met > 0 || !wait->value_count : met == wait->value_count;
}

static void note_made(struct slice *slice, const struct slice_access *access, bool *result)
{
    (void)result;
    slice->objects[access->object].made |= access->writes;
}

static void cover_read(struct slice *slice, const struct slice_access *access, bool *result)
{
    (void)result;
    if (access->covers && !slice->out_of_order)
        cut_range(&slice->objects[access->object].read, access->begin, access->end);
}

static void keep_if_read(struct slice *slice, struct slice_event *event)
{
    const struct trace_content_event *access = (const void *)event->record;
    struct slice_object *buffer = slice_object(slice, access->buffer);
    const uint64_t end = end_of(access->offset, access->size);
    if (!buffer || !buffer->made || event->call)
        return;
    if (event->record->kind == TRACE_HOST_READ) {
        if (in_window(slice, event->record))
            add_range(&buffer->read, access->offset, end);
        return;
    }
    if (!meets(&buffer->read, access->offset, end))
        return;
    event->fate = SLICE_KEPT;
    if (event->record->kind == TRACE_HOST_WRITE && !slice->out_of_order)
        cut_range(&buffer->read, access->offset, end);
}

/* What the host wrote beside what submissions that stay computed, and then read together with it:
 * without such a write, the read-back could not stay, either. */
static void keep_what_is_read_too(struct slice *slice)
{
    for (size_t i = 0; i < slice->order_count; i++) {
        struct slice_event *event = &slice->events[slice->order[i]];
        if (event->record->kind == TRACE_SUBMIT && event->fate == SLICE_KEPT)
            each_access_backwards(slice, (const void *)event->record, note_made, NULL);
    }
    for (size_t i = slice->order_count; i-- > 0;) {
        struct slice_event *event = &slice->events[slice->order[i]];
        const enum trace_event_kind kind = event->record->kind;
        if (kind == TRACE_SUBMIT && event->fate == SLICE_KEPT)
            each_access_backwards(slice, (const void *)event->record, cover_read, NULL);
        else if (kind == TRACE_HOST_READ || kind == TRACE_HOST_WRITE || kind == TRACE_MAPPED_CHANGE)
            keep_if_read(slice, event);
    }
}

/* A read-back stays when nothing else wrote its bytes; a write that is not needed leaves other
 * bytes than were there. */
static void check_content(struct slice *slice, struct slice_event *event)
{
    const struct trace_content_event *access = (const void *)event->record;
    struct slice_object *buffer = slice_object(slice, access->buffer);
    const uint64_t end = end_of(access->offset, access->size);
    if (!buffer)
        return;
    if (event->call) {
        event->fate =
            fate_of_submission(slice, event->call - 1) == SLICE_KEPT ? SLICE_KEPT : SLICE_DROPPED;
        return; /* the submission said what it writes */
    }
    if (event->record->kind == TRACE_HOST_READ) {
        if (in_window(slice, event->record) && buffer->touched &&
            !meets(&buffer->wrong, access->offset, end))
            event->fate = SLICE_KEPT;
    } else if (event->fate == SLICE_KEPT) {
        if (!slice->out_of_order && event->record->kind == TRACE_HOST_WRITE)
            cut_range(&buffer->wrong, access->offset, end);
    } else {
        add_range(&buffer->wrong, access->offset, end);
    }
}

static void unspoil(struct slice *slice, const struct slice_access *access, bool *result)
{
    struct slice_object *buffer = &slice->objects[access->object];
    (void)result;
    if (access->covers && !slice->out_of_order)
        cut_range(&buffer->wrong, access->begin, access->end);
    buffer->touched |= access->writes;
}

static void check_event(struct slice *slice, struct slice_event *event)
{
    const struct trace_event *record = event->record;
    const struct trace_semaphore_event *signal = (const void *)record;
    switch (record->kind) {
    case TRACE_SUBMIT:
        if (record->status == HAL_OK)
            each_access_backwards(slice, (const void *)record,
                                  event->fate == SLICE_KEPT ? unspoil : spoil, NULL);
        break;
    case TRACE_HOST_WRITE:
    case TRACE_MAPPED_CHANGE:
    case TRACE_HOST_READ: check_content(slice, event); break;
    case TRACE_SEMAPHORE_WAIT:
        if (in_window(slice, record) && wait_is_met(slice, (const void *)record))
            event->fate = SLICE_KEPT;
        break;
    case TRACE_SEMAPHORE_QUERY: {
        const struct slice_object *semaphore = slice_object(slice, signal->semaphore);
        if (in_window(slice, record) && semaphore && semaphore->reached >= signal->value)
            event->fate = SLICE_KEPT;
        break;
    }
    case TRACE_SEMAPHORE_FAIL:
        if (record->ticket < slice->end_ticket)
            event->fate = SLICE_KEPT;
        break;
    case TRACE_COLLECTIVE:
    case TRACE_HOST_CALL_BEGIN:
    case TRACE_HOST_CALL_END:
        if (event->call && fate_of_submission(slice, event->call - 1) == SLICE_KEPT)
            event->fate = SLICE_KEPT;
        break;
    case TRACE_SEMAPHORE_SIGNAL:
    case TRACE_WAIT_IDLE:
    case TRACE_QUEUE_FLUSH:
        if (in_window(slice, record))
            event->fate = SLICE_KEPT;
        break;
    default: break; /* by the objects that are used, see slice_keep.c */
    }
}

void slice_find(struct slice *slice)
{
    find_dependencies(slice);
    find_window(slice);
    collapse(slice);
    empty_others(slice);
    keep_what_is_read_too(slice);
    for (size_t i = 0; i < slice->order_count; i++)
        check_event(slice, &slice->events[slice->order[i]]);
    slice_keep(slice);
}
