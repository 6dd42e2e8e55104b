/* SPDX-License-Identifier: Apache-2.0 */
/* Reports as JSON. Unknown times are null. */
#include "format/base/json.h"
#include "hal/base/mem.h"
#include "viewer/describe/compare.h"
#include "viewer/describe/iterations.h"
#include "viewer/findings/findings.h"
#include "viewer/model/work.h"
#include "viewer/report/report.h"

#include <math.h>

static void add_ns(struct trace_text *t, const char *key, int64_t ns)
{
    trace_json_key(t, key);
    if (ns == VIEW_NO_TIME)
        trace_json_double(t, NAN);
    else
        trace_json_i64(t, ns);
}

static void add_typical(struct trace_text *t, const struct trace_typical *typical)
{
    const bool any = typical->count > 0;
    add_ns(t, "median_ns", any ? typical->median_ns : VIEW_NO_TIME);
    add_ns(t, "low_ns", any ? typical->low_ns : VIEW_NO_TIME);
    add_ns(t, "high_ns", any ? typical->high_ns : VIEW_NO_TIME);
    add_ns(t, "min_ns", any ? typical->min_ns : VIEW_NO_TIME);
    add_ns(t, "max_ns", any ? typical->max_ns : VIEW_NO_TIME);
    trace_json_member_u64(t, "warm_up", typical->warm_up);
}

static void add_tally(struct trace_text *t, const char *key, const struct view_tally *tally)
{
    trace_json_member_open(t, key, '{');
    trace_json_member_u64(t, "count", tally->count);
    trace_json_member_u64(t, "bytes", tally->bytes);
    add_ns(t, "ns", tally->ns);
    trace_json_close(t, '}');
}

static void add_health(struct trace_text *t, const struct view_model *m)
{
    char health[512];
    trace_json_member_open(t, "health", '{');
    trace_json_member_bool(t, "ok", view_health(m, health, sizeof health));
    trace_json_member_text(t, "text", health);
    trace_json_member_text(t, "truncated", m->truncated);
    trace_json_member_u64(t, "implausible_events", m->summary.implausible);
    trace_json_member_u64(t, "lost_records", m->health ? m->health->lost_records : 0);
    trace_json_member_u64(t, "overhead_ns", m->health ? m->health->overhead_ns : 0);
    trace_json_close(t, '}');
}

struct gap_key {
    char text[24];
};

/* The cause's name as a member: "host_late". */
static struct gap_key gap_key(size_t cause)
{
    struct gap_key key;
    snprintf(key.text, sizeof key.text, "%s",
             view_class_info((enum view_class)(VIEW_GAP_HOST + cause))->name);
    for (char *at = key.text; *at; at++)
        *at = *at == ' ' ? '_' : *at;
    return key;
}

static void add_device(struct trace_text *t, const struct view_model *m)
{
    const struct view_summary *s = &m->summary;
    trace_json_member_open(t, "device", '{');
    trace_json_member_text(t, "uri", m->header->device.uri);
    trace_json_member_text(t, "name", m->header->device.name);
    add_ns(t, "first_work_ns", s->device_begin_ns);
    add_ns(t, "last_work_ns", s->device_end_ns);
    add_ns(t, "busy_ns", s->device_busy_ns);
    add_ns(t, "computing_ns", s->computing_ns);
    trace_json_close(t, '}');
    trace_json_member_open(t, "idle", '{');
    for (size_t c = 0; c < VIEW_GAP_COUNT; c++)
        add_tally(t, gap_key(c).text, &s->gaps[c]);
    trace_json_close(t, '}');
}

static void add_rank(struct trace_text *t, const char *key, uint32_t first, uint32_t last,
                     uint32_t count)
{
    trace_json_key(t, key);
    if (count && first == last)
        trace_json_u64(t, first);
    else
        trace_json_double(t, NAN);
}

static void add_devices(struct trace_text *t, const struct view_model *m)
{
    trace_json_member_open(t, "devices", '[');
    for (size_t i = 0; i < m->devices_count; i++) {
        const struct view_device *d = &m->devices[i];
        trace_json_open(t, '{');
        trace_json_member_text(t, "uri", d->about->uri);
        trace_json_member_text(t, "program", d->program);
        trace_json_member_u64(t, "process_id", d->process_id);
        trace_json_member_text(t, "host", d->host);
        trace_json_member_u64(t, "queue_base", d->queue_base);
        add_rank(t, "rank", d->first_rank, d->last_rank, d->rank_count);
        trace_json_member_u64(t, "ranks", d->rank_count);
        add_ns(t, "busy_ns", d->busy_ns);
        trace_json_member_u64(t, "collectives", d->collectives);
        add_ns(t, "collective_ns", d->collective_ns);
        add_ns(t, "waiting_ns", d->waiting_ns);
        trace_json_close(t, '}');
    }
    trace_json_close(t, ']');
}

static void add_families(struct trace_text *t, const struct view_model *m)
{
    trace_json_member_open(t, "scopes", '[');
    for (size_t i = 0; i < m->families_count; i++) {
        const struct view_family *f = &m->families[i];
        trace_json_open(t, '{');
        trace_json_member_text(t, "name", f->name);
        trace_json_member_u64(t, "count", f->count);
        add_ns(t, "total_ns", f->total_ns);
        add_typical(t, &f->time);
        trace_json_member_u64(t, "submissions", f->submissions);
        trace_json_member_u64(t, "syncs", f->syncs);
        add_ns(t, "sync_ns", f->sync_ns);
        add_ns(t, "device_ns", f->device_ns);
        trace_json_close(t, '}');
    }
    trace_json_close(t, ']');
}

static enum hal_status add_summary(struct trace_text *t, const struct view_model *m)
{
    const struct view_summary *s = &m->summary;
    trace_json_member_text(t, "program", m->header->program);
    trace_json_member_text(t, "mode", m->header->mode);
    trace_json_member_i64(t, "origin_ns", m->origin_ns);
    add_ns(t, "first_ns", m->first_ns);
    add_ns(t, "last_ns", m->last_ns);
    add_health(t, m);
    add_device(t, m);
    add_devices(t, m);
    trace_json_member_u64(t, "submissions", s->submissions);
    trace_json_member_u64(t, "failed_submissions", s->failed_submissions);
    trace_json_member_u64(t, "unfinished_submissions", s->unfinished_submissions);
    trace_json_member_u64(t, "failed_calls", s->failed_calls);
    trace_json_member_u64(t, "dispatches", s->dispatches);
    add_tally(t, "syncs", &s->syncs);
    add_tally(t, "polls", &s->polls);
    add_tally(t, "uploads", &s->uploads);
    add_tally(t, "readbacks", &s->readbacks);
    add_tally(t, "observed", &s->observed);
    add_families(t, m);
    return HAL_OK;
}

static void add_values(struct trace_text *t, const char *key, const struct view_model *m,
                       uint32_t first, uint32_t count)
{
    char name[128];
    trace_json_member_open(t, key, '[');
    for (uint32_t i = first; i < first + count; i++) {
        view_semaphore_name(m, m->values[i].semaphore, name, sizeof name);
        trace_json_open(t, '{');
        trace_json_member_text(t, "semaphore", name);
        trace_json_member_u64(t, "value", m->values[i].value);
        trace_json_close(t, '}');
    }
    trace_json_close(t, ']');
}

static void add_collective(struct trace_text *t, const struct view_model *m,
                           const struct view_collective *c)
{
    const struct view_collective_names names = view_collective_names(c);
    const struct view_other *end = &m->others[c->channel];
    size_t count;
    const uint32_t *met = view_model_rendezvous(m, c, &count);
    trace_json_member_open(t, "collective", '{');
    trace_json_member_text(t, "kind", names.kind);
    trace_json_member_u64(t, "count", c->count);
    trace_json_member_text(t, "type", names.type);
    trace_json_member_text(t, "reduction", names.reduction);
    trace_json_member_u64(t, "peer", c->peer);
    trace_json_member_text(t, "channel", view_model_string(m, end->label));
    trace_json_member_u64(t, "group", end->group);
    trace_json_member_u64(t, "number", c->number);
    trace_json_member_u64(t, "rank", end->rank);
    trace_json_member_u64(t, "ranks", end->rank_count);
    trace_json_member_u64(t, "send_bytes", c->send_bytes);
    trace_json_member_u64(t, "receive_bytes", c->receive_bytes);
    add_ns(t, "waiting_ns", view_collective_wait_ns(m, c));
    trace_json_member_open(t, "met", '[');
    for (size_t i = 0; i < count; i++) {
        if (&m->collectives[met[i]] != c)
            trace_json_u64(t, m->collectives[met[i]].submission);
    }
    trace_json_close(t, ']');
    trace_json_close(t, '}');
}

static void add_submissions(struct trace_text *t, const struct view_model *m)
{
    trace_json_member_open(t, "submissions", '[');
    for (size_t i = 0; i < m->submissions_count; i++) {
        const struct view_submission *s = &m->submissions[i];
        trace_json_open(t, '{');
        trace_json_member_u64(t, "number", s->number);
        trace_json_member_u64(t, "queue", s->queue);
        const struct view_device *d = &m->devices[view_model_device(m, s->queue)];
        add_rank(t, "rank", d->first_rank, d->last_rank, d->rank_count);
        add_ns(t, "submit_ns", view_submit_ns(m, s));
        add_ns(t, "ready_ns", s->ready_ns);
        add_ns(t, "begin_ns", s->begin_ns);
        add_ns(t, "end_ns", s->end_ns);
        add_ns(t, "busy_ns", s->busy_ns);
        trace_json_member_u64(t, "dispatches", s->dispatch_count);
        trace_json_member_u64(t, "command_buffers", s->commands_count);
        trace_json_member_text(t, "status", hal_status_name((enum hal_status)s->status));
        const struct view_collective *collective = view_model_collective(m, s);
        if (collective)
            add_collective(t, m, collective);
        add_values(t, "waits", m, s->first_wait, s->wait_count);
        add_values(t, "signals", m, s->first_wait + s->wait_count, s->signal_count);
        trace_json_close(t, '}');
    }
    trace_json_close(t, ']');
}

static void add_number_of(struct trace_text *t, const char *key, const struct view_model *m,
                          uint32_t submission)
{
    trace_json_key(t, key);
    if (submission == VIEW_NO_REF)
        trace_json_double(t, NAN);
    else
        trace_json_u64(t, m->submissions[submission].number);
}

static void add_gaps(struct trace_text *t, const struct view_model *m)
{
    char host[256];
    trace_json_member_open(t, "gaps", '[');
    for (size_t i = 0; i < m->gaps_count; i++) {
        const struct view_gap *gap = &m->gaps[i];
        int64_t causes_ns[VIEW_GAP_COUNT];
        view_gap_causes(m, gap, causes_ns);
        trace_json_open(t, '{');
        add_ns(t, "begin_ns", gap->begin_ns);
        add_ns(t, "end_ns", gap->end_ns);
        trace_json_member_text(t, "cause", view_class_info(gap->cause)->name);
        for (size_t c = 0; c < VIEW_GAP_COUNT; c++)
            add_ns(t, gap_key(c).text, causes_ns[c]);
        add_number_of(t, "before", m, gap->before);
        add_number_of(t, "after", m, gap->after);
        view_describe_host(m, gap, host, sizeof host);
        trace_json_member_text(t, "meanwhile", host);
        trace_json_close(t, '}');
    }
    trace_json_close(t, ']');
}

static void add_tracks(struct trace_text *t, const struct view_model *m)
{
    char text[256];
    trace_json_member_open(t, "tracks", '[');
    for (size_t i = 0; i < m->tracks_count; i++) {
        const struct view_track *track = &m->tracks[i];
        if (view_track_iterations(m, track))
            continue;
        view_track_name(m, track, text, sizeof text);
        trace_json_open(t, '{');
        trace_json_member_text(t, "name", text);
        trace_json_member_open(t, "events", '[');
        for (size_t k = 0; k < track->events.count; k++) {
            const struct view_span made = view_spans_at(&track->events, k), *event = &made;
            view_span_label(m, track, event, text, sizeof text);
            trace_json_open(t, '{');
            add_ns(t, "begin_ns", event->begin_ns);
            add_ns(t, "end_ns", event->end_ns);
            trace_json_member_text(t, "class",
                                   view_class_info((enum view_class)event->class)->name);
            trace_json_member_text(t, "label", text);
            trace_json_close(t, '}');
        }
        trace_json_close(t, ']');
        trace_json_close(t, '}');
    }
    trace_json_close(t, ']');
}

static enum hal_status add_findings(struct trace_text *t, const struct view_model *m)
{
    struct view_findings findings;
    char command[1024];
    HAL_TRY(view_findings_find(m, &findings));
    trace_json_member_open(t, "findings", '[');
    for (size_t i = 0; i < findings.list_count; i++) {
        const struct view_finding *f = &findings.list[i];
        trace_json_open(t, '{');
        trace_json_member_text(t, "kind", view_finding_names[f->kind]);
        add_ns(t, "cost_ns", f->cost_ns);
        add_ns(t, "possible_ns", f->possible_ns);
        trace_json_member_double(t, "share", view_finding_share(m, f));
        trace_json_member_u64(t, "count", f->count);
        trace_json_member_u64(t, "bytes", f->bytes);
        add_ns(t, "at_ns", f->at_ns);
        trace_json_member_text(t, "locator", f->locator);
        trace_json_member_text(t, "title", f->title);
        trace_json_member_text(t, "evidence", f->evidence);
        trace_json_member_text(t, "proof", view_finding_command(m, f, command, sizeof command));
        trace_json_close(t, '}');
    }
    trace_json_close(t, ']');
    view_findings_finish(&findings);
    return HAL_OK;
}

static void add_kernel(struct trace_text *t, const struct view_work *work,
                       const struct view_kernel_time *time)
{
    char name[256];
    view_work_name(work, time->kernel, name, sizeof name);
    trace_json_open(t, '{');
    trace_json_member_text(t, "name", name);
    trace_json_member_u64(t, "dispatches", time->dispatches);
    trace_json_member_u64(t, "indirect_dispatches", time->indirect);
    trace_json_member_u64(t, "workgroups", time->groups);
    trace_json_member_u64(t, "submissions", time->submissions);
    trace_json_member_u64(t, "alone_submissions", time->alone);
    trace_json_member_u64(t, "alone_dispatches", time->alone_dispatches);
    add_ns(t, "alone_ns", time->alone_ns);
    add_ns(t, "mixed_ns", time->mixed_ns);
    add_typical(t, &time->each);
    trace_json_close(t, '}');
}

static enum hal_status add_kernels(struct trace_text *t, const struct view_model *m)
{
    struct view_work work;
    struct view_work_total total;
    HAL_TRY(view_work_init(m, NULL, &work));
    struct view_kernel_time *times = hal_alloc(work.kernels_count, sizeof *times);
    enum hal_status status =
        times ? view_work_times(&work, NULL, m->first_ns, m->last_ns, times, &total)
              : hal_fail(HAL_NO_MEMORY, "no memory for %zu kernels", work.kernels_count);
    if (status == HAL_OK) {
        add_ns(t, "executed_ns", total.executed_ns);
        trace_json_member_u64(t, "submissions", total.submissions);
        trace_json_member_u64(t, "alone_submissions", total.alone);
        trace_json_member_open(t, "kernels", '[');
        for (size_t i = 0; i < work.kernels_count; i++)
            add_kernel(t, &work, &times[i]);
        trace_json_close(t, ']');
    }
    free(times);
    view_work_finish(&work);
    return status;
}

static void add_iteration(struct trace_text *t, const struct view_model *m,
                          const struct view_iteration *it)
{
    trace_json_open(t, '{');
    add_ns(t, "begin_ns", it->begin_ns);
    add_ns(t, "end_ns", it->end_ns);
    add_number_of(t, "first_submission", m, it->submission);
    trace_json_member_u64(t, "submissions", it->submissions);
    trace_json_member_u64(t, "dispatches", it->dispatches);
    trace_json_member_u64(t, "syncs", it->syncs);
    add_ns(t, "sync_ns", it->sync_ns);
    add_ns(t, "device_ns", it->device_ns);
    trace_json_member_bool(t, "warm_up", it->warm_up);
    trace_json_member_bool(t, "outlier", it->outlier);
    trace_json_close(t, '}');
}

static enum hal_status add_iterations(struct trace_text *t, const struct view_model *m)
{
    struct view_work work;
    struct view_iterations its;
    HAL_TRY(view_work_init(m, NULL, &work));
    const enum hal_status status = view_iterations_find(m, &work, NULL, &its);
    view_work_finish(&work);
    HAL_TRY(status);
    trace_json_member_text(t, "name", its.name);
    trace_json_member_bool(t, "named", its.named);
    trace_json_member_u64(t, "outliers", its.outliers);
    add_typical(t, &its.time);
    trace_json_member_open(t, "iterations", '[');
    for (size_t i = 0; i < its.list_count; i++)
        add_iteration(t, m, &its.list[i]);
    trace_json_close(t, ']');
    view_iterations_finish(&its);
    return HAL_OK;
}

static void add_buffer(struct trace_text *t, const struct view_model *m, uint32_t buffer)
{
    const struct view_buffer *b = &m->buffers[buffer];
    trace_json_open(t, '{');
    trace_json_member_u64(t, "id", b->id);
    trace_json_member_text(t, "label", view_model_string(m, b->label));
    trace_json_member_u64(t, "bytes", b->bytes);
    add_ns(t, "create_ns", b->create_ns);
    add_ns(t, "destroy_ns", b->destroy_ns);
    trace_json_close(t, '}');
}

static void add_memory(struct trace_text *t, const struct view_model *m)
{
    const bool any = m->peak_level != VIEW_NO_REF,
               transient = m->transient_peak_level != VIEW_NO_REF;
    trace_json_member_u64(t, "peak_bytes", any ? m->levels[m->peak_level].bytes : 0);
    add_ns(t, "peak_ns", any ? m->levels[m->peak_level].time_ns : VIEW_NO_TIME);
    trace_json_member_u64(t, "transient_peak_bytes",
                          transient ? m->levels[m->transient_peak_level].transient_bytes : 0);
    trace_json_member_open(t, "levels", '[');
    for (size_t i = 0; i < m->levels_count; i++) {
        trace_json_open(t, '{');
        add_ns(t, "ns", m->levels[i].time_ns);
        trace_json_member_u64(t, "bytes", m->levels[i].bytes);
        trace_json_member_u64(t, "transient_bytes", m->levels[i].transient_bytes);
        trace_json_member_u64(t, "buffers", m->levels[i].buffers);
        trace_json_close(t, '}');
    }
    trace_json_close(t, ']');
    trace_json_member_open(t, "buffers", '[');
    for (uint32_t i = 0; i < m->buffers_count; i++)
        add_buffer(t, m, i);
    trace_json_close(t, ']');
}

static void add_side(struct trace_text *t, const char *key, const struct view_pair *pair,
                     size_t side)
{
    trace_json_member_open(t, key, '{');
    trace_json_member_u64(t, "count", pair->count[side]);
    add_ns(t, "total_ns", pair->total_ns[side]);
    add_typical(t, &pair->each[side]);
    trace_json_close(t, '}');
}

static void add_pairs(struct trace_text *t, const char *key, const struct view_pair *pairs,
                      size_t count)
{
    trace_json_member_open(t, key, '[');
    for (size_t i = 0; i < count; i++) {
        trace_json_open(t, '{');
        trace_json_member_text(t, "name", pairs[i].name);
        trace_json_member_text(
            t, "change",
            trace_change_names[trace_typical_compare(&pairs[i].each[0], &pairs[i].each[1])]);
        add_side(t, "first", &pairs[i], 0);
        add_side(t, "second", &pairs[i], 1);
        trace_json_close(t, '}');
    }
    trace_json_close(t, ']');
}

static void add_totals(struct trace_text *t, const struct view_comparison *c)
{
    static const char *const units[] = {
        [VIEW_UNIT_TIME] = "ns", [VIEW_UNIT_COUNT] = "", [VIEW_UNIT_BYTES] = "bytes"};
    trace_json_member_open(t, "totals", '[');
    for (size_t i = 0; i < c->totals_count; i++) {
        trace_json_open(t, '{');
        trace_json_member_text(t, "name", c->totals[i].name);
        trace_json_member_text(t, "unit", units[c->totals[i].unit]);
        trace_json_member_u64(t, "first", c->totals[i].values[0]);
        trace_json_member_u64(t, "second", c->totals[i].values[1]);
        trace_json_close(t, '}');
    }
    trace_json_close(t, ']');
}

/* Ends the object and writes it, unless that failed; frees the text. */
static enum hal_status write_object(struct trace_text *t, enum hal_status status, FILE *file)
{
    trace_json_close(t, '}');
    const bool failed = t->is_failed;
    if (!failed && status == HAL_OK) {
        fwrite(t->data, 1, t->bytes, file);
        fputc('\n', file);
    }
    trace_text_finish(t);
    HAL_TRY(status);
    return failed ? hal_fail(HAL_NO_MEMORY, "no memory for the report") : HAL_OK;
}

enum hal_status view_comparison_json(const struct view_comparison *comparison, FILE *file)
{
    struct trace_text text = {0};
    trace_json_open(&text, '{');
    trace_json_member_text(&text, "first", comparison->models[0]->path);
    trace_json_member_text(&text, "second", comparison->models[1]->path);
    add_totals(&text, comparison);
    add_pairs(&text, "scopes", comparison->scopes, comparison->scopes_count);
    add_pairs(&text, "kernels", comparison->kernels, comparison->kernels_count);
    return write_object(&text, HAL_OK, file);
}

enum hal_status view_report_json(const struct view_model *model, enum view_report report,
                                 FILE *file)
{
    struct trace_text text = {0};
    enum hal_status status = HAL_OK;
    trace_json_open(&text, '{');
    switch (report) {
    case VIEW_REPORT_SUMMARY: status = add_summary(&text, model); break;
    case VIEW_REPORT_TIMELINE: add_tracks(&text, model); break;
    case VIEW_REPORT_SUBMISSIONS: add_submissions(&text, model); break;
    case VIEW_REPORT_GAPS: add_gaps(&text, model); break;
    case VIEW_REPORT_FINDINGS: status = add_findings(&text, model); break;
    case VIEW_REPORT_KERNELS: status = add_kernels(&text, model); break;
    case VIEW_REPORT_MEMORY: add_memory(&text, model); break;
    case VIEW_REPORT_ITERATIONS: status = add_iterations(&text, model); break;
    case VIEW_REPORT_COUNT: break;
    }
    return write_object(&text, status, file);
}
