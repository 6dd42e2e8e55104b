/* SPDX-License-Identifier: Apache-2.0 */
/* Reading filters, and the series of what passes: frames stay as cheap as without a filter. */
#include "viewer/ui/filter.h"

#include "viewer/describe/describe.h"
#include "viewer/model/build.h"
#include "viewer/text/text.h"

#include "hal/base/moment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Reading ------------------------------------------------------------------------------ */

static enum hal_status parse_name(const char *pattern, bool negated, struct view_filter_term *term)
{
    char why[100];
    const int failure = regcomp(&term->regex, pattern, REG_EXTENDED | REG_ICASE | REG_NOSUB);
    term->what = VIEW_FILTER_NAME;
    term->negated = negated;
    if (!failure)
        return HAL_OK;
    regerror(failure, &term->regex, why, sizeof why);
    return hal_fail(HAL_INVALID, "'%s' is not a regular expression: %s", pattern, why);
}

static enum hal_status parse_duration(const char *text, struct view_filter_term *term)
{
    const bool equal = text[1] == '=';
    int64_t ns;
    term->what = VIEW_FILTER_DURATION;
    term->most_ns = INT64_MAX;
    if (!hal_time_parse(text + 1 + equal, 1000000000, &ns) || ns < 0)
        return hal_fail(HAL_INVALID, "'dur%s': expected a time such as 50us", text);
    if (*text == '>')
        term->least_ns = equal ? ns : ns + 1;
    else
        term->most_ns = equal ? ns : ns - 1;
    return HAL_OK;
}

static enum hal_status parse_term(const char *text, struct view_filter_term *term)
{
    char *end;
    if (strncmp(text, "name~", 5) == 0)
        return parse_name(text + 5, false, term);
    if (strncmp(text, "name!~", 6) == 0)
        return parse_name(text + 6, true, term);
    if (strncmp(text, "dur>", 4) == 0 || strncmp(text, "dur<", 4) == 0)
        return parse_duration(text + 3, term);
    if (strncmp(text, "queue=", 6) == 0) {
        const unsigned long queue = strtoul(text + 6, &end, 10);
        if (end == text + 6 || *end || queue >= TRACE_MAX_QUEUES)
            return hal_fail(HAL_INVALID, "'%s': expected a number below %u", text,
                            TRACE_MAX_QUEUES);
        term->what = VIEW_FILTER_QUEUE;
        term->queue = (uint32_t)queue;
        return HAL_OK;
    }
    if (strcmp(text, "failed") == 0) {
        term->what = VIEW_FILTER_FAILED;
        return HAL_OK;
    }
    if (strpbrk(text, "=<>~"))
        return hal_fail(HAL_INVALID, "'%s' is not one of name~mul dur>50us queue=0 failed", text);
    return parse_name(text, false, term);
}

static enum hal_status parse(struct view_filter *f, const char *text)
{
    char word[VIEW_FILTER_BYTES];
    while (*(text += strspn(text, " "))) {
        const size_t length = strcspn(text, " ");
        if (f->term_count == VIEW_FILTER_TERMS)
            return hal_fail(HAL_INVALID, "more than %d terms", VIEW_FILTER_TERMS);
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        HAL_TRY(parse_term(word, &f->terms[f->term_count]));
        f->term_count++; /* only what is whole is freed */
        text += length;
    }
    return HAL_OK;
}

/* ---- Judging ------------------------------------------------------------------------------ */

/* VIEW_NO_REF: it has none. */
static uint32_t queue_of(const struct view_model *m, const struct view_track *track,
                         const struct view_span *event)
{
    const uint32_t submission = view_span_submission(m, track, event);
    return submission == VIEW_NO_REF ? VIEW_NO_REF : m->submissions[submission].queue;
}

/* A submission is called by its number, and by what it does. */
static bool name_matches(const struct view_model *m, const struct view_filter_term *term,
                         const struct view_track *track, const struct view_span *event)
{
    char label[256];
    view_span_label(m, track, event, label, sizeof label);
    if (regexec(&term->regex, label, 0, NULL, 0) == 0)
        return true;
    if (track->kind != VIEW_TRACK_QUEUE)
        return false;
    view_work_label(m, event->ref, label, sizeof label);
    return regexec(&term->regex, label, 0, NULL, 0) == 0;
}

static bool term_holds(const struct view_filter *f, const struct view_filter_term *term,
                       const struct view_track *track, const struct view_span *event)
{
    const int64_t ns = event->end_ns - event->begin_ns;
    switch (term->what) {
    case VIEW_FILTER_DURATION: return ns >= term->least_ns && ns <= term->most_ns;
    case VIEW_FILTER_QUEUE: return queue_of(f->model, track, event) == term->queue;
    case VIEW_FILTER_FAILED: return (event->flags & VIEW_SPAN_FAILED) != 0;
    case VIEW_FILTER_NAME: return name_matches(f->model, term, track, event) != term->negated;
    }
    return false;
}

bool view_filter_passes(const struct view_filter *filter, const struct view_track *track,
                        const struct view_span *event)
{
    if (track->kind == VIEW_TRACK_MEMORY)
        return true;
    for (int names = 0; names < 2; names++) { /* the cheap ones first */
        for (size_t i = 0; i < filter->term_count; i++) {
            const struct view_filter_term *term = &filter->terms[i];
            if ((term->what == VIEW_FILTER_NAME) == names &&
                !term_holds(filter, term, track, event))
                return false;
        }
    }
    return true;
}

/* ---- What passes -------------------------------------------------------------------------- */

/* A queue's track paints the states of its submissions, all others their events. */
static enum hal_status filter_track(struct view_filter *f, size_t index, struct view_task *task)
{
    const struct view_track *track = &f->model->tracks[index];
    const struct view_series *whole = &track->series;
    const bool repeats = view_track_iterations(f->model, track) || track->kind == VIEW_TRACK_MEMORY;
    struct view_series *series = &f->series[index];
    const bool states = track->kind == VIEW_TRACK_QUEUE;
    struct view_span *parts = hal_alloc(track->events.count, (states ? 3 : 1) * sizeof *parts);
    size_t count = 0;
    if (!parts)
        return hal_fail(HAL_NO_MEMORY, "no memory to filter %zu events", track->events.count);
    for (size_t i = 0; i < track->events.count && !view_task_stopped(task); i++) {
        const struct view_span made = view_spans_at(&track->events, i), *event = &made;
        const bool passes = view_filter_passes(f, track, event);
        f->of += !repeats;
        f->passed += passes && !repeats;
        if (passes && states)
            count += view_build_states(f->model, event->ref, parts + count);
        else if (passes)
            parts[count++] = *event;
        view_task_advance(task, i, track->events.count);
    }
    const enum view_class last =
        (enum view_class)((uint32_t)whole->first_class + whole->class_count - 1);
    enum hal_status status = view_task_check(task);
    if (status == HAL_OK)
        status = view_series_init(series, parts, count, whole->first_class, last);
    if (status != HAL_OK || series->owned)
        free(parts);
    else
        series->owned = parts;
    return status;
}

enum hal_status view_filter_create(const struct view_model *model, const char *text,
                                   struct view_filter **out_filter)
{
    struct view_filter *f = hal_alloc(1, sizeof *f);
    *out_filter = NULL;
    if (!f)
        return hal_fail(HAL_NO_MEMORY, "no memory for a filter");
    f->model = model;
    snprintf(f->text, sizeof f->text, "%s", text);
    enum hal_status status = parse(f, text);
    if (status == HAL_OK && !(f->series = hal_alloc(model->tracks_count, sizeof *f->series)))
        status = hal_fail(HAL_NO_MEMORY, "no memory to filter %zu tracks", model->tracks_count);
    if (status == HAL_OK)
        *out_filter = f;
    else
        view_filter_destroy(f);
    return status;
}

enum hal_status view_filter_apply(struct view_filter *filter, struct view_task *task)
{
    const struct view_model *m = filter->model;
    uint64_t all = 0, before = 0;
    for (size_t i = 0; i < m->tracks_count; i++)
        all += m->tracks[i].events.count;
    for (size_t i = 0; i < m->tracks_count; i++) {
        const unsigned first = (unsigned)(all ? before * VIEW_TASK_WHOLE / all : 0);
        before += m->tracks[i].events.count;
        view_task_part(task, first, (unsigned)(all ? before * VIEW_TASK_WHOLE / all : 0));
        HAL_TRY(filter_track(filter, i, task));
    }
    return HAL_OK;
}

void view_filter_destroy(struct view_filter *filter)
{
    if (!filter)
        return;
    for (size_t i = 0; i < filter->term_count; i++) {
        if (filter->terms[i].what == VIEW_FILTER_NAME)
            regfree(&filter->terms[i].regex);
    }
    for (size_t i = 0; filter->series && i < filter->model->tracks_count; i++)
        view_series_finish(&filter->series[i]);
    free(filter->series);
    free(filter);
}
