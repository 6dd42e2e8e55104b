/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory buffers hold, as levels in order of time, from the calls that made and destroyed
 * them and from the submissions that took transient memory and gave it back. */
#include "viewer/model/build.h"

enum { BLOCK_LEVELS = 64 };

/* A buffer or transient memory is created (change 1) or destroyed (-1). */
struct change {
    int64_t ns;
    uint64_t bytes;
    uint32_t buffer, submission; /* one of them */
    int32_t change;
};

struct changes {
    VIEW_TABLE(change, list);
};

static int compare(const void *left, const void *right)
{
    const struct change *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns < b->ns ? -1 : 1;
    if (a->change != b->change)
        return a->change - b->change;
    if (a->buffer != b->buffer)
        return a->buffer < b->buffer ? -1 : 1;
    return a->submission < b->submission ? -1 : a->submission > b->submission;
}

static enum hal_status add(struct changes *changes, struct change change)
{
    HAL_TRY(VIEW_ROOM(changes, list, 1));
    changes->list[changes->list_count++] = change;
    return HAL_OK;
}

/* ---- Changes ------------------------------------------------------------------------------ */

static enum hal_status take_calls(struct view_model *m, struct changes *changes)
{
    for (size_t i = 0; i < m->calls_count; i++) {
        const struct view_call *call = &m->calls[i];
        struct change change = {.buffer = call->object, .submission = VIEW_NO_REF};
        if (call->kind == TRACE_BUFFER_CREATE && call->status == HAL_OK) {
            change.ns = m->buffers[call->object].create_ns = call->end_ns;
            change.bytes = view_call_what(m, call)->size;
            change.change = 1;
        } else if (call->kind == TRACE_BUFFER_DESTROY) {
            change.ns = m->buffers[call->object].destroy_ns = call->begin_ns;
            change.bytes = m->buffers[call->object].bytes;
            change.change = -1;
        } else {
            continue;
        }
        HAL_TRY(add(changes, change));
    }
    return HAL_OK;
}

/* Buffers that were there when the capture began. */
static enum hal_status take_snapshot(struct view_model *m, struct changes *changes)
{
    for (uint32_t i = 0; i < m->buffers_count; i++) {
        if (m->buffers[i].create_ns == VIEW_NO_TIME && m->buffers[i].bytes)
            HAL_TRY(add(changes, (struct change){.ns = m->first_ns,
                                                 .bytes = m->buffers[i].bytes,
                                                 .buffer = i,
                                                 .submission = VIEW_NO_REF,
                                                 .change = 1}));
    }
    return HAL_OK;
}

/* Transient memory is the application's from the alloca's end to the dealloca's begin. */
static enum hal_status take_submissions(struct view_model *m, struct changes *changes)
{
    for (uint32_t i = 0; i < m->submissions_count; i++) {
        const struct view_submission *s = &m->submissions[i];
        const bool takes = s->operation == TRACE_OPERATION_ALLOCA;
        if ((!takes && s->operation != TRACE_OPERATION_DEALLOCA) || s->status != HAL_OK)
            continue;
        int64_t ns = takes ? s->end_ns : s->begin_ns;
        if (ns == VIEW_NO_TIME)
            ns = view_submit_ns(m, s);
        if (ns == VIEW_NO_TIME)
            continue;
        HAL_TRY(add(changes, (struct change){.ns = ns,
                                             .bytes = s->range_bytes,
                                             .buffer = VIEW_NO_REF,
                                             .submission = i,
                                             .change = takes ? 1 : -1}));
    }
    return HAL_OK;
}

/* ---- Levels ------------------------------------------------------------------------------- */

/* Sizes come from the file: any number, and what is destroyed may never have been created. */
static uint64_t changed(uint64_t bytes, const struct change *change)
{
    if (change->change > 0)
        return bytes > UINT64_MAX - change->bytes ? UINT64_MAX : bytes + change->bytes;
    return bytes > change->bytes ? bytes - change->bytes : 0;
}

static void note_peaks(struct view_model *m, uint32_t level)
{
    const struct view_level *now = &m->levels[level];
    if (m->peak_level == VIEW_NO_REF || now->bytes > m->levels[m->peak_level].bytes)
        m->peak_level = level;
    if (now->transient_bytes &&
        (m->transient_peak_level == VIEW_NO_REF ||
         now->transient_bytes > m->levels[m->transient_peak_level].transient_bytes))
        m->transient_peak_level = level;
}

static enum hal_status add_levels(struct view_model *m, const struct changes *changes)
{
    struct view_level level = {0};
    HAL_TRY(VIEW_ROOM(m, levels, changes->list_count));
    for (size_t i = 0; i < changes->list_count; i++) {
        const struct change *change = &changes->list[i];
        const bool same = i > 0 && change->ns == level.time_ns; /* the last of a moment counts */
        level.time_ns = change->ns;
        level.change = change->change;
        level.submission = change->submission;
        level.buffer = same ? VIEW_NO_REF : change->buffer;
        if (change->submission != VIEW_NO_REF) {
            level.transient_bytes = changed(level.transient_bytes, change);
        } else {
            level.bytes = changed(level.bytes, change);
            level.buffers += change->change > 0;
            level.buffers -= change->change < 0 && level.buffers > 0;
        }
        m->levels_count -= same;
        m->levels[m->levels_count++] = level;
    }
    for (uint32_t i = 0; i < m->levels_count; i++)
        note_peaks(m, i);
    if (m->levels_count && level.time_ns >= m->last_ns)
        m->last_ns = level.time_ns + 1; /* a moment is inside the trace when that ends after it */
    return HAL_OK;
}

static enum hal_status add_blocks(struct view_model *m)
{
    const size_t blocks = (m->levels_count + BLOCK_LEVELS - 1) / BLOCK_LEVELS;
    m->highest = hal_alloc(blocks, sizeof *m->highest);
    if (!m->highest)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu levels", m->levels_count);
    for (uint32_t i = 0; i < m->levels_count; i++) {
        uint32_t *highest = &m->highest[i / BLOCK_LEVELS];
        if (i % BLOCK_LEVELS == 0 || m->levels[i].bytes > m->levels[*highest].bytes)
            *highest = i;
    }
    return HAL_OK;
}

uint32_t view_model_highest(const struct view_model *model, size_t first, size_t last)
{
    uint32_t highest = VIEW_NO_REF;
    while (first < last) {
        const bool whole = first % BLOCK_LEVELS == 0 && first + BLOCK_LEVELS <= last;
        const uint32_t level = whole ? model->highest[first / BLOCK_LEVELS] : (uint32_t)first;
        if (highest == VIEW_NO_REF || model->levels[level].bytes > model->levels[highest].bytes)
            highest = level;
        first += whole ? BLOCK_LEVELS : 1;
    }
    return highest;
}

/* ---- All ---------------------------------------------------------------------------------- */

enum hal_status view_build_memory(struct view_model *model)
{
    struct changes changes = {0};
    model->memory_track = VIEW_NO_TRACK;
    model->peak_level = model->transient_peak_level = VIEW_NO_REF;
    enum hal_status status = take_calls(model, &changes);
    if (status == HAL_OK)
        status = take_snapshot(model, &changes);
    if (status == HAL_OK)
        status = take_submissions(model, &changes);
    if (status == HAL_OK && changes.list_count) {
        qsort(changes.list, changes.list_count, sizeof *changes.list, compare);
        status = add_levels(model, &changes);
        if (status == HAL_OK)
            status = add_blocks(model);
        if (status == HAL_OK)
            status = view_build_memory_track(model);
    }
    free(changes.list);
    return status;
}
