/* SPDX-License-Identifier: Apache-2.0 */
/* Divides a frame's time into equal slots. A value is the share of a slot used by the queue's
 * submissions, in percent; concurrent submissions add up, to at most 255. Rounding errors carry
 * over to the next slot, so that sums over many slots are correct too. All values are in one field:
 * protobuf-c takes a kibibyte more to decode a message with over 16 fields, which a note would
 * otherwise have, and an index has thousands of notes. */
#include "format/container/activity.h"

#include "format/limits.h"

struct trace_work {
    int64_t begin_ns, end_ns;
    uint32_t queue;
};

/* Equal parts of a time. */
struct parts {
    int64_t begin_ns, end_ns;
    double part_ns;
    size_t count;
};

static struct parts parts_of(int64_t begin_ns, int64_t end_ns, size_t count)
{
    const double span_ns = end_ns > begin_ns ? (double)((uint64_t)end_ns - (uint64_t)begin_ns) : 0;
    return (struct parts){begin_ns, end_ns, count ? span_ns / (double)count : 0, count};
}

/* In parts of a slot, from the first one's begin. */
static double place_in(const struct parts *parts, int64_t ns)
{
    if (ns <= parts->begin_ns || !(parts->part_ns > 0))
        return 0;
    if (ns >= parts->end_ns)
        return (double)parts->count;
    return (double)((uint64_t)ns - (uint64_t)parts->begin_ns) / parts->part_ns;
}

/* Adds `weight` times the share of each part between two places. */
static void spread(double begin, double end, size_t count, double weight, double *shares)
{
    for (size_t i = (size_t)begin; i < count && (double)i < end; i++) {
        const double from = begin > (double)i ? begin : (double)i;
        const double to = end < (double)(i + 1) ? end : (double)(i + 1);
        shares[i] += weight * (to - from);
    }
}

/* ---- Writing ------------------------------------------------------------------------------ */

bool trace_activity_event(struct trace_activity *activity, const struct trace_event *event)
{
    const struct trace_submission_done *done = (const void *)event;
    if (event->kind != TRACE_SUBMISSION_DONE || event->end_ns <= event->begin_ns ||
        done->queue >= TRACE_MAX_QUEUES)
        return true;
    if (!HAL_GROW(activity->works, &activity->capacity, activity->count + 1))
        return false;
    activity->works[activity->count++] =
        (struct trace_work){event->begin_ns, event->end_ns, done->queue};
    return true;
}

static void round_percent(const double *shares, size_t count, uint8_t *out)
{
    double rest = 0;
    for (size_t i = 0; i < count; i++) {
        const double percent = 100 * shares[i] + rest;
        out[i] = percent > 0 ? (uint8_t)(percent < UINT8_MAX ? percent + 0.5 : UINT8_MAX) : 0;
        rest = percent < UINT8_MAX ? percent - out[i] : 0;
    }
}

/* Gives each queue that did something a row, by rising numbers. Returns how many they are. */
static size_t number_queues(const struct trace_activity *activity, uint8_t rows[TRACE_MAX_QUEUES],
                            uint8_t queues[TRACE_MAX_QUEUES])
{
    bool is_used[TRACE_MAX_QUEUES] = {0};
    size_t count = 0;
    for (size_t i = 0; i < activity->count; i++)
        is_used[activity->works[i].queue] = true;
    for (uint8_t queue = 0; queue < TRACE_MAX_QUEUES; queue++) {
        rows[queue] = (uint8_t)count;
        if (is_used[queue])
            queues[count++] = queue;
    }
    return count;
}

bool trace_activity_store(struct trace_activity *activity, Haltrace__Note *note,
                          struct trace_arena *arena)
{
    double shares[TRACE_ACTIVITY_VALUES] = {0};
    uint8_t rows[TRACE_MAX_QUEUES], queues[TRACE_MAX_QUEUES];
    const size_t queue_count = number_queues(activity, rows, queues);
    if (!queue_count)
        return true;
    const size_t most = TRACE_ACTIVITY_VALUES / queue_count;
    const size_t slots = most < TRACE_ACTIVITY_SLOTS ? most : TRACE_ACTIVITY_SLOTS;
    const size_t bytes = 1 + queue_count * (1 + slots);
    const struct parts parts = parts_of(note->first_ns, note->last_ns, slots);
    uint8_t *row = trace_arena_alloc(arena, bytes);
    if (!row)
        return false;
    for (size_t i = 0; i < activity->count; i++) {
        const struct trace_work *work = &activity->works[i];
        spread(place_in(&parts, work->begin_ns), place_in(&parts, work->end_ns), slots, 1,
               shares + rows[work->queue] * slots);
    }
    note->activity = (ProtobufCBinaryData){.len = bytes, .data = row};
    *row++ = (uint8_t)queue_count;
    for (size_t i = 0; i < queue_count; i++, row += 1 + slots) {
        row[0] = queues[i];
        round_percent(shares + i * slots, slots, row + 1);
    }
    activity->count = 0;
    return true;
}

void trace_activity_finish(struct trace_activity *activity)
{
    free(activity->works);
    *activity = (struct trace_activity){0};
}

/* ---- Reading ------------------------------------------------------------------------------ */

static size_t row_count(const Haltrace__Note *note)
{
    return note->activity.len ? note->activity.data[0] : 0;
}

static size_t row_bytes(const Haltrace__Note *note)
{
    return (note->activity.len - 1) / row_count(note);
}

bool trace_activity_is_plausible(const Haltrace__Note *note)
{
    return !note->activity.len ||
           (row_count(note) && note->activity.len > row_count(note) &&
            (note->activity.len - 1) % row_count(note) == 0 && note->first_ns <= note->last_ns);
}

uint64_t trace_activity_queues(const Haltrace__Note *note)
{
    uint64_t queues = 0;
    for (size_t k = 0; k < row_count(note); k++) {
        const uint8_t queue = note->activity.data[1 + k * row_bytes(note)];
        queues |= queue < TRACE_MAX_QUEUES ? 1ull << queue : 0;
    }
    return queues;
}

static int64_t slot_begin(const struct parts *slots, size_t slot)
{
    const double ns = slots->part_ns * (double)slot;
    return slot < slots->count ? (int64_t)((uint64_t)slots->begin_ns + (uint64_t)ns)
                               : slots->end_ns;
}

/* The frame's values of one queue, as shares of the parts asked for. */
static void add_row(const Haltrace__Note *note, const uint8_t *values, size_t count,
                    const struct parts *parts, double *shares)
{
    const struct parts slots = parts_of(note->first_ns, note->last_ns, count);
    for (size_t i = 0; i < count; i++) {
        const double begin = place_in(parts, slot_begin(&slots, i));
        const double end = place_in(parts, slot_begin(&slots, i + 1));
        if (values[i])
            spread(begin, end, parts->count, values[i] / 100.0, shares);
    }
}

void trace_activity_add(const Haltrace__Note *note, const struct trace_activity_query *query)
{
    const struct parts parts = parts_of(query->begin_ns, query->end_ns, query->count);
    if (note->last_ns < query->begin_ns || note->first_ns > query->end_ns)
        return;
    for (size_t k = 0; k < row_count(note); k++) {
        const uint8_t *row = note->activity.data + 1 + k * row_bytes(note);
        if (row[0] == query->queue)
            add_row(note, row + 1, row_bytes(note) - 1, &parts, query->shares);
    }
}
