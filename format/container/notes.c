/* SPDX-License-Identifier: Apache-2.0 */
/* Counts and ranges of a frame's events. */
#include "format/container/notes.h"

static void note_time(Haltrace__Note *note, const struct trace_event *event)
{
    if (!event->begin_ns && !event->end_ns)
        return;
    if (!note->first_ns || event->begin_ns < note->first_ns)
        note->first_ns = event->begin_ns;
    if (!note->last_ns || event->end_ns > note->last_ns)
        note->last_ns = event->end_ns;
}

static void note_submission(Haltrace__Note *note, uint64_t submission)
{
    if (submission == UINT64_MAX)
        return;
    if (!note->first_submission || submission + 1 < note->first_submission)
        note->first_submission = submission + 1;
    if (submission + 1 > note->last_submission)
        note->last_submission = submission + 1;
}

void trace_note_event(Haltrace__Note *note, const struct trace_event *event)
{
    Haltrace__Counts *counts = note->counts;
    const struct trace_content_event *access = (const void *)event;
    counts->events++;
    if (event->kind == TRACE_SUBMIT) {
        counts->submissions++;
        note_submission(note, TRACE_AS(trace_submit, event)->submission);
    }
    if (event->kind == TRACE_DISPATCH_TIMES)
        note_submission(note, TRACE_AS(trace_dispatch_times, event)->submission);
    if (event->kind == TRACE_SUBMISSION_OUTPUTS)
        note_submission(note, TRACE_AS(trace_submission_outputs, event)->submission);
    if (event->kind == TRACE_COLLECTIVE)
        note_submission(note, TRACE_AS(trace_collective, event)->submission);
    if (event->kind == TRACE_HOST_CALL_BEGIN || event->kind == TRACE_HOST_CALL_END)
        note_submission(note, TRACE_AS(trace_host_call, event)->submission);
    if (event->kind == TRACE_SUBMISSION_DONE)
        note_submission(note, TRACE_AS(trace_submission_done, event)->submission);
    if (event->kind == TRACE_HOST_WRITE) {
        counts->host_writes++;
        counts->host_write_bytes += access->size;
    }
    if (event->kind == TRACE_HOST_READ) {
        counts->host_reads++;
        counts->host_read_bytes += access->size;
    }
    if (event->ticket && (!note->first_ticket || event->ticket < note->first_ticket))
        note->first_ticket = event->ticket;
    if (event->ticket > note->last_ticket)
        note->last_ticket = event->ticket;
    note_time(note, event);
}

void trace_note_segments(Haltrace__Note *note, const void *segments, size_t count)
{
    const uint8_t *at = segments;
    for (size_t i = 0; i < count; i++) {
        const struct trace_segment *segment = (const void *)at;
        note->counts->dispatches += trace_is_dispatch(segment->kind);
        note->counts->barriers += segment->kind == TRACE_BARRIER;
        at += segment->bytes;
    }
    note->counts->segments += count;
}
