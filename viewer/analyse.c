/* SPDX-License-Identifier: Apache-2.0 */
/* The lanes become numbers: when the device was idle and why, how much of what happened, and what
 * an iteration costs. */
#include "hal/base/idmap.h"
#include "viewer/build.h"

#include <ctype.h>

/* ---- Gaps --------------------------------------------------------------------------------- */

static enum view_class cause_of(const struct view_span *state)
{
    switch (state->class) {
    case VIEW_QUEUED_READY: return VIEW_GAP_LAUNCH;
    case VIEW_QUEUED_WAITING: return VIEW_GAP_SEMAPHORE;
    case VIEW_QUEUED_UNKNOWN: return VIEW_GAP_UNKNOWN;
    default: return VIEW_GAP_HOST;
    }
}

/* The gaps lane while it grows. */
struct gaps {
    struct view_model *model;
    struct view_span *parts;
    size_t parts_count, parts_capacity;
};

static enum hal_status add_part(struct gaps *g, enum view_class cause, int64_t begin_ns,
                                int64_t end_ns)
{
    if (end_ns <= begin_ns)
        return HAL_OK;
    HAL_TRY(VIEW_ROOM(g, parts, 1));
    g->parts[g->parts_count++] = (struct view_span){.begin_ns = begin_ns,
                                                    .end_ns = end_ns,
                                                    .ref = (uint32_t)g->model->gaps_count,
                                                    .class = (uint8_t)cause,
                                                    .overlap = 1};
    return HAL_OK;
}

/* Nothing was submitted: the host wrote into buffers, or did something else. */
static enum hal_status add_host_parts(struct gaps *g, int64_t begin_ns, int64_t end_ns)
{
    const struct view_model *m = g->model;
    const struct view_series *transfers =
        m->transfer_lane == VIEW_NO_LANE ? NULL : &m->lanes[m->transfer_lane].series;
    size_t i = transfers && begin_ns < end_ns ? view_series_first(transfers, begin_ns) : 0;
    for (; transfers && i < transfers->count && begin_ns < end_ns; i++) {
        const struct view_span *transfer = &transfers->spans[i];
        if (transfer->begin_ns >= end_ns)
            break;
        if (transfer->class != VIEW_UPLOAD || transfer->end_ns <= begin_ns)
            continue;
        const int64_t from_ns = transfer->begin_ns > begin_ns ? transfer->begin_ns : begin_ns;
        const int64_t to_ns = transfer->end_ns < end_ns ? transfer->end_ns : end_ns;
        HAL_TRY(add_part(g, VIEW_GAP_HOST, begin_ns, from_ns));
        HAL_TRY(add_part(g, VIEW_GAP_UPLOAD, from_ns, to_ns));
        begin_ns = to_ns;
    }
    return add_part(g, VIEW_GAP_HOST, begin_ns, end_ns);
}

/* Parts `first` and on are one gap. */
static enum hal_status close_gap(struct gaps *g, size_t first, uint32_t before, uint32_t after)
{
    struct view_model *m = g->model;
    if (first == g->parts_count)
        return HAL_OK;
    HAL_TRY(VIEW_ROOM(m, gaps, 1));
    struct view_gap gap = {.begin_ns = g->parts[first].begin_ns,
                           .end_ns = g->parts[g->parts_count - 1].end_ns,
                           .before = before,
                           .after = after,
                           .cause = VIEW_GAP_HOST};
    int64_t causes_ns[VIEW_GAP_COUNT] = {0}; /* [class - VIEW_GAP_HOST] */
    for (size_t i = first; i < g->parts_count; i++)
        causes_ns[g->parts[i].class - VIEW_GAP_HOST] += g->parts[i].end_ns - g->parts[i].begin_ns;
    for (size_t c = 1; c < VIEW_GAP_COUNT; c++) {
        if (causes_ns[c] > causes_ns[gap.cause - VIEW_GAP_HOST])
            gap.cause = (enum view_class)(VIEW_GAP_HOST + c);
    }
    for (size_t c = 0; c < VIEW_GAP_COUNT; c++)
        m->summary.gaps[c].ns += causes_ns[c];
    m->summary.gaps[gap.cause - VIEW_GAP_HOST].count++;
    m->gaps[m->gaps_count++] = gap;
    return HAL_OK;
}

/* What all submissions together did at every moment: something ran, else could have run, else
 * waited for a semaphore; nothing: there was nothing to do. */
static enum hal_status all_states(const struct view_model *m, struct view_span **out_spans,
                                  struct view_series *out_states)
{
    size_t count = 0;
    *out_spans = hal_alloc(m->submissions_count, 3 * sizeof **out_spans);
    if (!*out_spans)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu submissions", m->submissions_count);
    for (uint32_t i = 0; i < m->submissions_count; i++)
        count += view_build_states(m, i, *out_spans + count);
    return view_series_init(out_states, *out_spans, count, VIEW_QUEUED_UNKNOWN, VIEW_EXECUTE);
}

static enum hal_status find_gaps(struct gaps *g, const struct view_series *states)
{
    struct view_summary *summary = &g->model->summary;
    const struct view_span *last = NULL; /* execution */
    int64_t at_ns = 0;
    size_t first = 0;
    for (size_t i = 0; i < states->count; i++) {
        const struct view_span *state = &states->spans[i];
        const bool runs = state->class == VIEW_EXECUTE;
        if (last)
            HAL_TRY(add_host_parts(g, at_ns, state->begin_ns));
        if (last && !runs)
            HAL_TRY(add_part(g, cause_of(state), state->begin_ns, state->end_ns));
        at_ns = state->end_ns;
        if (!runs)
            continue;
        if (last)
            HAL_TRY(close_gap(g, first, last->ref, state->ref));
        else
            summary->device_begin_ns = state->begin_ns;
        summary->device_busy_ns += state->end_ns - state->begin_ns;
        summary->device_end_ns = state->end_ns;
        first = g->parts_count;
        last = state;
    }
    g->parts_count = first; /* what followed the last execution is no gap */
    return HAL_OK;
}

static enum hal_status add_gap_lane(struct gaps *g)
{
    struct view_model *m = g->model;
    struct view_lane lane = {.kind = VIEW_LANE_GAPS, .parent = VIEW_NO_LANE};
    HAL_TRY(VIEW_ROOM(m, lanes, 1));
    lane.owned = hal_alloc(m->gaps_count, sizeof *lane.owned);
    if (!lane.owned)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu gaps", m->gaps_count);
    for (uint32_t i = 0; i < m->gaps_count; i++)
        lane.owned[i] = (struct view_span){.begin_ns = m->gaps[i].begin_ns,
                                           .end_ns = m->gaps[i].end_ns,
                                           .ref = i,
                                           .class = (uint8_t)m->gaps[i].cause,
                                           .overlap = 1};
    lane.events = lane.owned;
    lane.event_count = m->gaps_count;
    const enum hal_status status =
        view_series_init(&lane.series, g->parts, g->parts_count, VIEW_GAP_HOST, VIEW_GAP_LAUNCH);
    if (status != HAL_OK) {
        free(lane.owned);
        return status;
    }
    lane.series.owned = g->parts; /* parts never overlap: they were borrowed */
    g->parts = NULL;
    m->gap_lane = (uint32_t)m->lanes_count;
    m->lanes[m->lanes_count++] = lane;
    return HAL_OK;
}

static enum hal_status build_gaps(struct view_model *m)
{
    struct gaps g = {.model = m};
    struct view_series states = {0};
    struct view_span *spans = NULL;
    m->gap_lane = VIEW_NO_LANE;
    enum hal_status status = all_states(m, &spans, &states);
    if (status == HAL_OK)
        status = find_gaps(&g, &states);
    if (status == HAL_OK && m->gaps_count)
        status = add_gap_lane(&g);
    view_series_finish(&states);
    free(spans);
    free(g.parts);
    return status;
}

/* ---- Tallies ------------------------------------------------------------------------------ */

static void tally(struct view_tally *tally, int64_t ns, uint64_t bytes)
{
    tally->count++;
    tally->ns += ns;
    tally->bytes += bytes;
}

static void tally_calls(struct view_model *m)
{
    for (size_t i = 0; i < m->calls_count; i++) {
        const struct view_call *call = &m->calls[i];
        const int64_t ns = call->end_ns - call->begin_ns;
        struct view_host *host = &m->hosts[call->host];
        host->call_count++;
        host->submit_count += call->kind == TRACE_SUBMIT;
        if (view_call_is_sync(m, call)) {
            tally(&m->summary.syncs, ns, 0);
            host->wait_count++;
            host->wait_ns += ns;
        } else if (call->kind == TRACE_SEMAPHORE_QUERY || call->kind == TRACE_SEMAPHORE_WAIT ||
                   call->kind == TRACE_WAIT_IDLE) {
            tally(&m->summary.polls, ns, 0);
        }
    }
}

static void tally_transfers(struct view_model *m)
{
    for (size_t i = 0; i < m->transfers_count; i++) {
        const struct view_transfer *t = &m->transfers[i];
        struct view_tally *of = t->class == VIEW_UPLOAD     ? &m->summary.uploads
                                : t->class == VIEW_READBACK ? &m->summary.readbacks
                                                            : &m->summary.observed;
        tally(of, t->end_ns - t->begin_ns, t->bytes);
    }
}

static void tally_submissions(struct view_model *m)
{
    for (size_t i = 0; i < m->submissions_count; i++) {
        struct view_submission *s = &m->submissions[i];
        for (uint32_t k = 0; k < s->commands_count; k++)
            s->dispatch_count += view_body(m, m->submitted[s->first_commands + k])->dispatch_count;
        m->summary.submissions++;
        m->summary.failed_submissions += s->status != HAL_OK;
        m->summary.unfinished_submissions += !s->done;
        if (s->begin_ns == VIEW_NO_TIME)
            continue;
        m->summary.dispatches += s->dispatch_count;
        if (s->busy_ns > 0 && m->summary.computing_ns <= INT64_MAX - s->busy_ns)
            m->summary.computing_ns += s->busy_ns;
    }
}

/* ---- Families of scopes ------------------------------------------------------------------- */

uint64_t view_family_name(const char *name, char *out, size_t bytes)
{
    size_t length = 0;
    uint64_t hash = 0xcbf29ce484222325ull;
    for (bool digits = false; *name && length + 1 < bytes; name++) {
        const bool digit = isdigit((unsigned char)*name) != 0;
        if (digit && digits)
            continue;
        digits = digit;
        out[length] = digit ? '#' : *name;
        hash = (hash ^ (unsigned char)out[length++]) * 0x100000001b3ull;
    }
    out[length] = '\0';
    return hash;
}

static enum hal_status find_family(struct view_model *m, struct hal_idmap *ids, const char *name,
                                   struct view_family **out_family)
{
    struct view_family fresh = {.min_ns = INT64_MAX};
    uint32_t index;
    HAL_TRY(VIEW_ROOM(m, families, 1));
    for (uint64_t hash = view_family_name(name, fresh.name, sizeof fresh.name);; hash++) {
        if (!hal_idmap_add(ids, hash, (uint32_t)m->families_count, &index))
            return hal_fail(HAL_NO_MEMORY, "no memory for %zu scopes", m->families_count);
        if (index == m->families_count)
            m->families[m->families_count++] = fresh;
        *out_family = &m->families[index];
        if (strcmp((*out_family)->name, fresh.name) == 0)
            return HAL_OK;
    }
}

static void add_to_family(const struct view_model *m, const struct view_scope *scope,
                          struct view_family *family)
{
    const int64_t ns = scope->end_ns - scope->begin_ns;
    struct view_measure measure;
    family->count++;
    family->total_ns += ns;
    family->min_ns = ns < family->min_ns ? ns : family->min_ns;
    family->max_ns = ns > family->max_ns ? ns : family->max_ns;
    if (m->hosts[scope->host].lane != VIEW_NO_LANE) {
        view_series_measure(&m->lanes[m->hosts[scope->host].lane].series, scope->begin_ns,
                            scope->end_ns, &measure);
        family->submissions += measure.begun[VIEW_SUBMIT];
        family->syncs += measure.begun[VIEW_WAIT];
        family->sync_ns += measure.busy_ns[VIEW_WAIT];
    }
    if (m->device_lane != VIEW_NO_LANE) {
        view_series_measure(&m->lanes[m->device_lane].series, scope->begin_ns, scope->end_ns,
                            &measure);
        family->device_ns += measure.busy_ns[VIEW_EXECUTE];
    }
}

/* Repeated ones first, then what took longest. */
static int compare_families(const void *left, const void *right)
{
    const struct view_family *a = left, *b = right;
    if ((a->count > 1) != (b->count > 1))
        return a->count > 1 ? -1 : 1;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return strcmp(a->name, b->name);
}

static enum hal_status build_families(struct view_model *m)
{
    struct hal_idmap ids = {0};
    struct view_family *family = NULL;
    enum hal_status status = HAL_OK;
    for (size_t i = 0; i < m->scopes_count && status == HAL_OK; i++) {
        if (m->scopes[i].open)
            continue;
        status = find_family(m, &ids, view_model_string(m, m->scopes[i].name), &family);
        if (status == HAL_OK)
            add_to_family(m, &m->scopes[i], family);
    }
    hal_idmap_finish(&ids);
    if (m->families_count)
        qsort(m->families, m->families_count, sizeof *m->families, compare_families);
    return status;
}

/* ---- All ---------------------------------------------------------------------------------- */

enum hal_status view_build_numbers(struct view_model *model)
{
    HAL_TRY(build_gaps(model));
    tally_calls(model);
    tally_transfers(model);
    tally_submissions(model);
    return build_families(model);
}
