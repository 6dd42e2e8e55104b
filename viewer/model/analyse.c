/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks become numbers: when the device was idle and why, how much happened, iterations' costs. */
#include "hal/base/idmap.h"
#include "hal/base/order.h"
#include "viewer/model/build.h"

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

/* The gaps track while it grows. */
struct gaps {
    struct view_model *model;
    int64_t end_ns;  /* of the last part */
    size_t transfer; /* of the transfers, the first that may still matter */
};

/* Each part begins where the one before it ended. */
static enum hal_status add_part(struct gaps *g, enum view_class cause, int64_t begin_ns,
                                int64_t end_ns)
{
    enum { MOST_GAPS = (1u << 29) - 1 };
    struct view_model *m = g->model;
    if (end_ns <= begin_ns)
        return HAL_OK;
    if (m->gaps_count > MOST_GAPS)
        return hal_fail(HAL_UNSUPPORTED, "more than %d gaps", MOST_GAPS);
    HAL_TRY(VIEW_ROOM(m, gap_parts, 1));
    m->gap_parts[m->gap_parts_count++] =
        (struct view_gap_part){.begin_ns = begin_ns,
                               .gap = (uint32_t)m->gaps_count & MOST_GAPS,
                               .cause = ((uint32_t)cause - VIEW_GAP_HOST) & 7};
    g->end_ns = end_ns;
    return HAL_OK;
}

/* Nothing was submitted: the host wrote into buffers, or did something else. */
static enum hal_status add_host_parts(struct gaps *g, int64_t begin_ns, int64_t end_ns)
{
    const struct view_model *m = g->model;
    const struct view_series *transfers =
        m->transfer_track == VIEW_NO_TRACK ? NULL : &m->tracks[m->transfer_track].series;
    for (; transfers && g->transfer < transfers->spans.count; g->transfer++) { /* gaps rise */
        if (view_spans_at(&transfers->spans, g->transfer).end_ns > begin_ns)
            break;
    }
    for (size_t i = g->transfer; transfers && i < transfers->spans.count && begin_ns < end_ns;
         i++) {
        const struct view_span transfer = view_spans_at(&transfers->spans, i);
        if (transfer.begin_ns >= end_ns)
            break;
        if (transfer.class != VIEW_UPLOAD || transfer.end_ns <= begin_ns)
            continue;
        const int64_t from_ns = transfer.begin_ns > begin_ns ? transfer.begin_ns : begin_ns;
        const int64_t to_ns = transfer.end_ns < end_ns ? transfer.end_ns : end_ns;
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
    if (first == m->gap_parts_count)
        return HAL_OK;
    HAL_TRY(VIEW_ROOM(m, gaps, 1));
    struct view_gap gap = {.begin_ns = m->gap_parts[first].begin_ns,
                           .end_ns = g->end_ns,
                           .before = before,
                           .after = after,
                           .cause = VIEW_GAP_HOST};
    int64_t causes_ns[VIEW_GAP_COUNT] = {0}; /* [class - VIEW_GAP_HOST] */
    for (size_t i = first; i < m->gap_parts_count; i++) {
        const bool last = i + 1 == m->gap_parts_count;
        const int64_t end_ns = last ? g->end_ns : m->gap_parts[i + 1].begin_ns;
        causes_ns[m->gap_parts[i].cause] += end_ns - m->gap_parts[i].begin_ns;
    }
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

/* What the submissions together do while they are walked through. */
struct walk {
    struct gaps *gaps;
    struct view_span last; /* execution */
    bool ran;
    int64_t at_ns; /* until then everything is known */
    size_t first;  /* part of the present gap */
};

/* At every moment something ran, else could have run, else waited for a semaphore; nothing: there
 * was nothing to do. */
static enum hal_status take_state(void *user, const struct view_span *state)
{
    struct walk *w = user;
    struct gaps *g = w->gaps;
    struct view_summary *summary = &g->model->summary;
    const bool runs = state->class == VIEW_EXECUTE;
    if (w->ran)
        HAL_TRY(add_host_parts(g, w->at_ns, state->begin_ns));
    if (w->ran && !runs)
        HAL_TRY(add_part(g, cause_of(state), state->begin_ns, state->end_ns));
    w->at_ns = state->end_ns;
    if (!runs)
        return HAL_OK;
    if (w->ran)
        HAL_TRY(close_gap(g, w->first, w->last.ref, state->ref));
    else
        summary->device_begin_ns = state->begin_ns;
    summary->device_busy_ns += state->end_ns - state->begin_ns;
    summary->device_end_ns = state->end_ns;
    w->first = g->model->gap_parts_count;
    w->last = *state;
    w->ran = true;
    return HAL_OK;
}

/* What the queues' tracks paint, concatenated. */
struct states {
    const struct view_series *queues[TRACE_MAX_QUEUES];
    uint32_t first[TRACE_MAX_QUEUES]; /* codes of a queue begin there */
    size_t queue_count;
};

static struct view_span tell_state(const void *tables, uint32_t code)
{
    const struct states *states = tables;
    size_t q = states->queue_count - 1;
    while (states->first[q] > code)
        q--;
    return view_spans_at(&states->queues[q]->spans, code - states->first[q]);
}

static enum hal_status gather_states(const struct view_model *m, struct states *states,
                                     uint32_t **out_codes, size_t *out_count)
{
    uint64_t count = 0;
    for (uint32_t q = 0; q < TRACE_MAX_QUEUES; q++) {
        if (m->queue_tracks[q] == VIEW_NO_TRACK)
            continue;
        const struct view_series *series = &m->tracks[m->queue_tracks[q]].series;
        states->queues[states->queue_count] = series;
        states->first[states->queue_count++] = (uint32_t)count;
        count += series->spans.count;
        if (count >= VIEW_NO_REF)
            return hal_fail(HAL_UNSUPPORTED, "more than %u states of submissions", VIEW_NO_REF);
    }
    *out_count = (size_t)count;
    *out_codes = hal_alloc(*out_count, sizeof **out_codes);
    if (!*out_codes)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu states of submissions", *out_count);
    for (uint32_t i = 0; i < *out_count; i++)
        (*out_codes)[i] = i;
    return HAL_OK;
}

static enum hal_status find_gaps(struct gaps *g)
{
    struct walk walk = {.gaps = g};
    struct states states = {0};
    struct view_spans spans;
    uint32_t *codes = NULL;
    size_t count = 0;
    HAL_TRY(gather_states(g->model, &states, &codes, &count));
    enum hal_status status = view_spans_order(&codes, count, tell_state, &states, &spans);
    if (status == HAL_OK)
        status = view_spans_cut(&spans, take_state, &walk);
    free(codes);
    g->model->gap_parts_count = walk.first; /* time after the last execution is not a gap */
    return status;
}

static enum hal_status add_gap_track(struct view_model *m)
{
    const struct view_spans gaps = {.count = m->gaps_count, .tell = view_event_gap, .tables = m};
    const struct view_spans parts = {
        .count = m->gap_parts_count, .tell = view_event_gap_part, .tables = m};
    struct view_track track = {.kind = VIEW_TRACK_GAPS, .parent = VIEW_NO_TRACK, .events = gaps};
    HAL_TRY(VIEW_ROOM(m, tracks, 1));
    HAL_TRY(view_series_of(&track.series, &parts, VIEW_GAP_HOST, VIEW_GAP_LAUNCH));
    m->gap_track = (uint32_t)m->tracks_count;
    m->tracks[m->tracks_count++] = track;
    return HAL_OK;
}

static enum hal_status build_gaps(struct view_model *m)
{
    struct gaps g = {.model = m};
    m->gap_track = VIEW_NO_TRACK;
    enum hal_status status = find_gaps(&g);
    if (status == HAL_OK && m->gaps_count)
        status = add_gap_track(m);
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
    struct view_family fresh = {0};
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
    if (m->hosts[scope->host].track != VIEW_NO_TRACK) {
        view_series_measure(&m->tracks[m->hosts[scope->host].track].series, scope->begin_ns,
                            scope->end_ns, &measure);
        family->submissions += measure.begun[VIEW_SUBMIT];
        family->syncs += measure.begun[VIEW_WAIT];
        family->sync_ns += measure.busy_ns[VIEW_WAIT];
    }
    if (m->device_track != VIEW_NO_TRACK) {
        view_series_measure(&m->tracks[m->device_track].series, scope->begin_ns, scope->end_ns,
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

/* A closed scope. */
struct scope_time {
    uint32_t family;
    int64_t begin_ns, ns;
};

HAL_COMPARE_2(compare_scope_times, struct scope_time, family, begin_ns)

static enum hal_status collect_families(struct view_model *m, struct scope_time *times,
                                        size_t *out_count)
{
    struct hal_idmap ids = {0};
    struct view_family *family = NULL;
    enum hal_status status = HAL_OK;
    *out_count = 0;
    for (size_t i = 0; i < m->scopes_count && status == HAL_OK; i++) {
        const struct view_scope *scope = &m->scopes[i];
        if (scope->open)
            continue;
        status = find_family(m, &ids, view_model_string(m, scope->name), &family);
        if (status != HAL_OK)
            break;
        add_to_family(m, scope, family);
        times[(*out_count)++] = (struct scope_time){.family = (uint32_t)(family - m->families),
                                                    .begin_ns = scope->begin_ns,
                                                    .ns = scope->end_ns - scope->begin_ns};
    }
    hal_idmap_finish(&ids);
    return status;
}

/* `times`: by family, and in order of time. */
static enum hal_status add_typical_times(struct view_model *m, const struct scope_time *times,
                                         size_t count)
{
    int64_t *durations_ns = hal_alloc(count, sizeof *durations_ns);
    enum hal_status status = HAL_OK;
    if (!durations_ns)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu scopes", count);
    for (size_t i = 0; i < count; i++)
        durations_ns[i] = times[i].ns;
    for (size_t i = 0; i < count && status == HAL_OK;) {
        struct view_family *family = &m->families[times[i].family];
        status = trace_typical_of(durations_ns + i, (size_t)family->count, &family->time);
        family->steady_ns = times[i + family->time.warm_up].begin_ns;
        i += (size_t)family->count;
    }
    free(durations_ns);
    return status;
}

static enum hal_status build_families(struct view_model *m)
{
    struct scope_time *times = hal_alloc(m->scopes_count, sizeof *times);
    size_t count = 0;
    if (!times)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu scopes", m->scopes_count);
    enum hal_status status = collect_families(m, times, &count);
    if (status == HAL_OK && count) {
        qsort(times, count, sizeof *times, compare_scope_times);
        status = add_typical_times(m, times, count);
        qsort(m->families, m->families_count, sizeof *m->families, compare_families);
    }
    free(times);
    return status;
}

/* ---- All ---------------------------------------------------------------------------------- */

enum hal_status view_build_numbers(struct view_model *model)
{
    HAL_TRY(build_gaps(model));
    tally_calls(model);
    tally_transfers(model);
    tally_submissions(model);
    view_build_devices(model);
    return build_families(model);
}
