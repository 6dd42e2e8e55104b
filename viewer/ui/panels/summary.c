/* SPDX-License-Identifier: Apache-2.0 */
/* The first panel: the numbers that are asked for first, in that order. */
#include "viewer/text/text.h"
#include "viewer/ui/panes.h"

#include <inttypes.h>
#include <string.h>

static int64_t longest_gap(const struct view_model *m)
{
    int64_t longest_ns = 0;
    for (size_t i = 0; i < m->gaps_count; i++) {
        const int64_t ns = m->gaps[i].end_ns - m->gaps[i].begin_ns;
        longest_ns = ns > longest_ns ? ns : longest_ns;
    }
    return longest_ns;
}

static void add_device(const struct view_model *m, struct view_lines *lines)
{
    const struct view_summary *s = &m->summary;
    const int64_t span_ns = s->device_end_ns - s->device_begin_ns;
    const char *key = "idle";
    if (span_ns <= 0) {
        view_lines_add(lines, "device", "no work with device times");
        return;
    }
    view_lines_add(lines, "device", "busy %s of the %s from first to last work",
                   view_share(s->device_busy_ns, span_ns).text, hal_duration_text(span_ns).text);
    for (size_t c = 0; c < VIEW_GAP_COUNT; c++) {
        const struct view_class_info *info = view_class_info((enum view_class)(VIEW_GAP_HOST + c));
        static const char *const causes[] = {
            "nothing was submitted", "nothing was submitted: the host wrote into buffers",
            "queued; the reason is unknown", "queued; waiting for its semaphores",
            "ready, not started yet"};
        if (!s->gaps[c].ns)
            continue;
        view_lines_add(lines, key, "%c %-9s %s %s  %s", info->letter, info->name,
                       view_right(view_share(s->gaps[c].ns, span_ns).text, 7).text,
                       view_right(hal_duration_text(s->gaps[c].ns).text, 10).text, causes[c]);
        key = "";
    }
    view_lines_add(lines, "gaps", "%s; mean %s, longest %s", view_count(m->gaps_count).text,
                   hal_duration_text(
                       m->gaps_count ? (span_ns - s->device_busy_ns) / (int64_t)m->gaps_count : 0)
                       .text,
                   hal_duration_text(longest_gap(m)).text);
}

static void add_family(const struct view_family *f, const char *key, struct view_lines *lines)
{
    char times[384], typical[256];
    view_typical_text(&f->time, typical, sizeof typical);
    if (f->time.warm_up)
        snprintf(times, sizeof times, "%s × %s, and %s of warm-up", view_count(f->time.count).text,
                 typical, view_count(f->time.warm_up).text);
    else if (f->count > 1)
        snprintf(times, sizeof times, "%s × %s", view_count(f->count).text, typical);
    else
        snprintf(times, sizeof times, "once, %s", typical);
    view_lines_add(lines, key, "%s: %s", f->name, times);
    view_lines_add(lines, "", "  submissions %s, syncs %s, blocked %s, device busy %s",
                   view_ratio(f->submissions, f->count).text, view_ratio(f->syncs, f->count).text,
                   view_share(f->sync_ns, f->total_ns).text,
                   view_share(f->device_ns, f->total_ns).text);
}

static void add_work(const struct view_model *m, struct view_lines *lines)
{
    enum { MAX_FAMILIES = 4 };
    const struct view_summary *s = &m->summary;
    view_lines_add(lines, "work", "%s, %s, %s per submission",
                   view_things(s->submissions, "submission").text,
                   view_things(s->dispatches, "dispatch").text,
                   view_ratio(s->dispatches, s->submissions).text);
    if (m->written_ranges)
        view_lines_add(lines, "digests",
                       "%s after submissions, %s of them known: hal-replay --verify=submissions "
                       "compares these",
                       view_things(m->written_ranges, "written range").text,
                       view_count(m->written_digests).text);
    if (s->failed_submissions || s->failed_calls)
        view_lines_add(lines, "failed", "%s, %s",
                       view_things(s->failed_submissions, "submission").text,
                       view_things(s->failed_calls, "call").text);
    if (s->unfinished_submissions)
        view_lines_add(lines, m->grows ? "running" : "unfinished", "%s",
                       view_things(s->unfinished_submissions, "submission").text);
    view_lines_add(lines, "syncs", "%s, blocked for %s (%s of the trace); %s",
                   view_things(s->syncs.count, "host wait").text,
                   hal_duration_text(s->syncs.ns).text,
                   view_share(s->syncs.ns, m->last_ns - m->first_ns).text,
                   view_things(s->polls.count, "poll").text);
    for (size_t i = 0; i < m->families_count && i < MAX_FAMILIES; i++)
        add_family(&m->families[i], i == 0 ? "scopes" : "", lines);
}

void view_summary(const struct view_model *model, struct view_lines *lines)
{
    const struct view_summary *s = &model->summary;
    char health[512];
    view_health(model, health, sizeof health);
    view_lines_add(lines, "health", "%s", health);
    if (view_model_late_ns(model) > 0)
        view_lines_add(lines, "times", "count from the first event, %s after the capture began",
                       hal_duration_text(view_model_late_ns(model)).text);
    add_device(model, lines);
    view_describe_devices(model, lines);
    add_work(model, lines);
    view_lines_add(lines, "transfers", "%s up in %s, %s down in %s",
                   view_bytes(s->uploads.bytes).text, view_count(s->uploads.count).text,
                   view_bytes(s->readbacks.bytes).text, view_count(s->readbacks.count).text);
    if (s->observed.count)
        view_lines_add(lines, "", "%s visible to the host through mappings, at %s",
                       view_bytes(s->observed.bytes).text,
                       view_things(s->observed.count, "moment").text);
    if (model->peak_level != VIEW_NO_REF)
        view_memory_peaks(model, lines);
    view_lines_add(lines, "program", "%s, process %" PRIu64 " on %s, %s", model->header->program,
                   model->header->process_id, model->header->host, model->header->system);
    for (size_t i = 0; i < model->header->edit_count; i++)
        view_lines_add(lines, i ? "" : "changed", "%s", model->header->edits[i]);
    if (model->header->view_only[0])
        view_lines_add(lines, "view only", "%s", model->header->view_only);
    view_lines_add(lines, "hardware", "%s %s, mode %s", model->header->device.uri,
                   model->header->device.name, model->header->mode);
}

static void draw(struct view *view, struct view_area area)
{
    struct view_lines lines = {0};
    if (view->skipped_ns && view->window.begin_ns == view->skipped_ns)
        view_lines_add(&lines, "shown",
                       "without the first %s, which have no submission: 0 shows them",
                       hal_duration_text(view->skipped_ns).text);
    view_summary(view->model, &lines);
    view_draw_lines(view, area, &lines);
    view_lines_finish(&lines);
}

const struct view_pane view_summary_pane = {.name = "Summary", .draw = draw};
