/* SPDX-License-Identifier: Apache-2.0 */
#include "format/timeline/timeline.h"

#include "format/base/json.h"
#include "format/columns/collectives.h"
#include "hal/base/mem.h"

#include <stdio.h>

void trace_timeline_finish(struct trace_timeline *timeline)
{
    trace_recorded_finish(&timeline->recorded);
    trace_memory_finish(&timeline->memory);
    free(timeline->tracks);
    free(timeline->threads);
    *timeline = (struct trace_timeline){0};
}

/* ---- Tracks -------------------------------------------------------------------------------- */

enum hal_status trace_timeline_thread(struct trace_timeline *timeline, uint32_t thread,
                                      bool *out_is_new)
{
    const struct trace_thread *known = timeline->source.thread(timeline->source.of, thread);
    const bool has_name = known && timeline->source.string(timeline->source.of, known->name);
    const uint8_t wanted = has_name ? 2 : 1;
    const size_t old = timeline->thread_capacity;
    if (!HAL_GROW(timeline->threads, &timeline->thread_capacity, (size_t)thread + 1))
        return hal_fail(HAL_NO_MEMORY, "no memory for tracks");
    if (timeline->thread_capacity > old)
        memset(timeline->threads + old, 0, timeline->thread_capacity - old);
    *out_is_new = timeline->threads[thread] < wanted;
    if (*out_is_new)
        timeline->threads[thread] = wanted;
    return HAL_OK;
}

static enum hal_status add_track(struct trace_timeline *timeline, const struct trace_track *track,
                                 size_t *out_index)
{
    if (!HAL_GROW(timeline->tracks, &timeline->track_capacity, timeline->track_count + 1))
        return hal_fail(HAL_NO_MEMORY, "no memory for tracks");
    timeline->tracks[timeline->track_count] = *track;
    *out_index = timeline->track_count++;
    return HAL_OK;
}

enum hal_status trace_timeline_track(struct trace_timeline *timeline, enum trace_track_kind kind,
                                     uint32_t queue, uint32_t depth,
                                     const struct trace_slice *slice,
                                     struct trace_track **out_track)
{
    uint32_t *const first = &timeline->buckets[kind][queue % TRACE_TRACK_BUCKETS];
    struct trace_track wanted = {.kind = kind, .queue = queue, .depth = depth};
    size_t last = SIZE_MAX, index = 0;
    *out_track = NULL;
    for (uint32_t at = *first; at; at = timeline->tracks[last].next) {
        struct trace_track *track = &timeline->tracks[at - 1];
        last = at - 1;
        if (track->queue != queue || track->depth != depth)
            continue;
        if (track->free_ns <= slice->begin_ns) {
            track->free_ns = slice->end_ns;
            *out_track = track;
            return HAL_OK;
        }
        wanted.lane++;
    }
    if (wanted.lane == timeline->most_lanes || timeline->track_count == timeline->most_tracks)
        return HAL_OK;
    wanted.free_ns = slice->end_ns;
    HAL_TRY(add_track(timeline, &wanted, &index));
    *(last == SIZE_MAX ? first : &timeline->tracks[last].next) = (uint32_t)index + 1;
    *out_track = &timeline->tracks[index];
    return HAL_OK;
}

void trace_track_name(const struct trace_track *track, char out[TRACE_TRACK_NAME_BYTES])
{
    static const char *const words[TRACE_TRACK_KINDS] = {
        [TRACE_TRACK_WORK] = "",
        [TRACE_TRACK_DISPATCHES] = " dispatches",
        [TRACE_TRACK_GROUPS] = " groups",
    };
    snprintf(out, TRACE_TRACK_NAME_BYTES, "queue %u%s", track->queue, words[track->kind]);
}

/* ---- Slices -------------------------------------------------------------------------------- */

static const char *string_or(const struct trace_timeline *timeline, uint32_t id, const char *other)
{
    const char *string = timeline->source.string(timeline->source.of, id);
    return string && *string ? string : other;
}

void trace_timeline_call(const struct trace_timeline *timeline, const struct trace_event *event,
                         struct trace_slice *out_slice)
{
    const void *record = event;
    out_slice->phase = TRACE_SLICE_WHOLE;
    out_slice->begin_ns = event->begin_ns;
    out_slice->end_ns = event->end_ns;
    out_slice->name = out_slice->text;
    switch (event->kind) {
    case TRACE_SUBMIT:
        trace_put_digits(trace_put_letters(out_slice->text, "submit #s"),
                         TRACE_AS(trace_submit, record)->submission);
        break;
    case TRACE_COLLECTIVE: trace_collective_name(record, out_slice->text); break;
    case TRACE_SCOPE_BEGIN:
        out_slice->phase = TRACE_SLICE_BEGINS;
        out_slice->name = string_or(timeline, TRACE_AS(trace_scope, record)->name, "scope");
        break;
    case TRACE_SCOPE_END:
        out_slice->phase = TRACE_SLICE_ENDS;
        out_slice->begin_ns = event->end_ns;
        out_slice->name = trace_event_name(event->kind);
        break;
    case TRACE_DISPATCH_TIMES: /* the times are the device's: an instant on the thread */
        out_slice->begin_ns = event->end_ns;
        out_slice->name = trace_event_name(event->kind);
        break;
    default: out_slice->name = trace_event_name(event->kind); break;
    }
}

void trace_timeline_work(const struct trace_timeline *timeline,
                         const struct trace_submission_done *done, struct trace_slice *out_slice)
{
    char operation[TRACE_COLLECTIVE_NAME_BYTES];
    char *end = trace_put_digits(trace_put_letters(out_slice->text, "#s"), done->submission);
    out_slice->phase = TRACE_SLICE_WHOLE;
    out_slice->begin_ns = done->head.begin_ns;
    out_slice->end_ns = done->head.end_ns;
    out_slice->is_timed = done->head.begin_ns && done->head.end_ns;
    out_slice->name = out_slice->text;
    out_slice->collective = trace_recorded_collective(&timeline->recorded, done->submission);
    if (out_slice->collective) {
        trace_collective_operation_name(out_slice->collective->collective, operation);
        end = trace_put_letters(trace_put_letters(end, " "), operation);
    }
    end = trace_put_letters(end, done->head.status ? " (failed)" : "");
    trace_put_letters(end, out_slice->is_timed ? "" : " (no times)");
}

void trace_timeline_dispatch(const struct trace_timeline *timeline,
                             const struct trace_dispatch_times *times, uint32_t index,
                             struct trace_slice *out_slice)
{
    const struct trace_dispatch_time *time = &times->times[index];
    const struct trace_kernel *kernel =
        trace_recorded_kernel(&timeline->recorded, times->submission, time);
    const char *name = kernel ? string_or(timeline, kernel->name, NULL) : NULL;
    out_slice->phase = TRACE_SLICE_WHOLE;
    out_slice->begin_ns = time->begin_ns;
    out_slice->end_ns = time->end_ns;
    out_slice->is_timed = time->end_ns != 0;
    out_slice->name = name ? name : "dispatch";
    out_slice->kernel = name ? kernel : NULL;
}
