/* SPDX-License-Identifier: Apache-2.0 */
/* Jumping: to the next event, gap or host synchronisation, to what a search finds, to a moment or
 * a submission. */
#include "viewer/ui/panes.h"

#include "hal/base/locator.h"
#include "hal/base/mem.h"
#include "hal/base/moment.h"
#include "viewer/text/text.h"
#include "viewer/ui/filter.h"
#include "viewer/ui/job.h"
#include "viewer/ui/panels/iteration_panel.h"
#include "viewer/ui/panels/kernels.h"
#include "viewer/ui/prompt.h"

#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

/* A search. */
struct search {
    bool is_there;
    regex_t regex;
    uint8_t *ops, *bodies;        /* whether they match */
    char text[VIEW_PROMPT_BYTES]; /* what it was made of */
};

static struct search *search_of(const struct view *view)
{
    return view_state(view, VIEW_PART_FIND);
}

/* ---- Neighbours --------------------------------------------------------------------------- */

static bool any_event(struct view *view, const struct view_track *track,
                      const struct view_span *event)
{
    (void)view, (void)track, (void)event;
    return true;
}

static bool is_sync(struct view *view, const struct view_track *track,
                    const struct view_span *event)
{
    (void)view, (void)track;
    return event->class == VIEW_WAIT;
}

static void in_track(struct view *view, uint32_t track, bool forward, const char *noun)
{
    if (track == VIEW_NO_TRACK)
        view_say(view, "no %s %s", forward ? "later" : "earlier", noun);
    else
        view_seek_start(view,
                        &(struct view_seek){
                            .want = any_event, .forward = forward, .only = track, .noun = noun});
}

static void to_event(struct view *view, int key)
{
    in_track(view, view->track, key == ']', "event in this track");
}

static void to_gap(struct view *view, int key)
{
    in_track(view, view->model->gap_track, key == '}', "gap of the device");
}

static void to_sync(struct view *view, int key)
{
    view_seek_start(view, &(struct view_seek){.want = is_sync,
                                              .forward = key == ')',
                                              .in_hosts = true,
                                              .only = VIEW_NO_TRACK,
                                              .noun = "host synchronisation"});
}

/* ---- Search ------------------------------------------------------------------------------- */

enum { MATCH_UNKNOWN, MATCH_NO, MATCH_YES };

static uint8_t match(const struct search *search, const char *text)
{
    return regexec(&search->regex, text, 0, NULL, 0) == 0 ? MATCH_YES : MATCH_NO;
}

/* Each different command is looked at once. */
static bool body_matches(struct view *view, uint32_t index)
{
    const struct view_model *m = view->model;
    const struct view_body *body = &m->bodies[index];
    const struct search *search = search_of(view);
    uint8_t *known = &search->bodies[index];
    char label[256];
    if (*known != MATCH_UNKNOWN)
        return *known == MATCH_YES;
    *known = MATCH_NO;
    for (uint32_t i = 0; i < body->op_count && *known == MATCH_NO; i++) {
        const uint32_t op = m->segments[body->first_op + i];
        if (search->ops[op] == MATCH_UNKNOWN) {
            view_op_label(m, &m->ops[op], label, sizeof label);
            search->ops[op] = match(search, label);
        }
        *known = search->ops[op];
    }
    return *known == MATCH_YES;
}

/* Work is found by its label and by each of its commands. */
static bool matches(struct view *view, const struct view_track *track,
                    const struct view_span *event)
{
    const struct view_model *m = view->model;
    char label[256];
    view_span_label(m, track, event, label, sizeof label);
    if (match(search_of(view), label) == MATCH_YES)
        return true;
    if (track->kind != VIEW_TRACK_DEVICE)
        return false;
    const struct view_submission *s = &m->submissions[event->ref];
    for (uint32_t k = 0; k < s->commands_count; k++) {
        if (body_matches(view, m->command_buffers[m->submitted[s->first_commands + k]].body))
            return true;
    }
    return false;
}

static void search_on(struct view *view, bool forward)
{
    view_seek_start(view, &(struct view_seek){.want = matches,
                                              .forward = forward,
                                              .wraps = true,
                                              .only = VIEW_NO_TRACK,
                                              .noun = search_of(view)->text});
}

static void end_search(struct view *view)
{
    struct search *search = search_of(view);
    if (search->is_there)
        regfree(&search->regex);
    free(search->ops);
    free(search->bodies);
    *search = (struct search){0};
}

static void again(struct view *view, int key)
{
    if (!search_of(view)->is_there)
        view_say(view, "no previous search: / starts one");
    else
        search_on(view, key == 'n');
}

/* Replaces the search without starting it. False: the view shows why. */
static bool begin_search(struct view *view, const char *text)
{
    struct search next = {.is_there = true};
    const int failure = regcomp(&next.regex, text, REG_EXTENDED | REG_ICASE | REG_NOSUB);
    if (failure) {
        char why[100];
        regerror(failure, &next.regex, why, sizeof why);
        view_say(view, "'%s' is not a regular expression: %s", text, why);
        return false;
    }
    next.ops = hal_alloc(view->model->ops_count, 1);
    next.bodies = hal_alloc(view->model->bodies_count, 1);
    snprintf(next.text, sizeof next.text, "%s", text);
    end_search(view);
    *search_of(view) = next;
    if (next.ops && next.bodies)
        return true;
    end_search(view);
    view_say(view, "no memory to search");
    return false;
}

static void search(struct view *view, const char *text)
{
    if (*text && begin_search(view, text))
        search_on(view, true);
}

const struct view_prompt view_search_prompt = {
    .before = "/", .hint = "regular expression, Enter, Esc", .enter = search};

/* ---- Filter ------------------------------------------------------------------------------- */

static enum hal_status apply(const struct view_model *model, void *work, struct view_task *task)
{
    (void)model;
    return view_filter_apply(work, task);
}

static void destroy(void *work)
{
    view_filter_destroy(work);
}

static void take(struct view *view, void *work)
{
    struct view_filter *filter = work;
    view_filter_destroy(view->filter);
    view->filter = filter;
    if (!filter->passed)
        view_say(view, "nothing passes '%s': \\ shows everything", filter->text);
    struct view_span selected;
    if (!view_selected(view, &selected) ||
        !view_shows(view, &view->model->tracks[view->track], &selected))
        view_set_cursor(view, view->cursor_ns);
}

static const struct view_job_type filter_type = {
    .kind = VIEW_JOB_FILTER, .name = "filter", .run = apply, .take = take, .destroy = destroy};

static void filter_by(struct view *view, const char *text)
{
    struct view_filter *filter;
    if (view_filter_create(view->model, text, &filter) == HAL_OK)
        view_job_start(view, &filter_type, filter, view_job_whole(view));
    else
        view_say(view, "%s", hal_message());
}

static void set_filter(struct view *view, const char *text)
{
    if (text[strspn(text, " ")]) {
        filter_by(view, text);
        return;
    }
    view_job_stop(view, VIEW_JOB_FILTER);
    view_filter_destroy(view->filter);
    view->filter = NULL;
    view_say(view, "everything is shown");
    view_set_cursor(view, view->cursor_ns);
}

static const struct view_prompt filter_prompt = {
    .before = "show ", .hint = "name~mul dur>50us queue=0 failed", .enter = set_filter};

static void start_filter(struct view *view, int key)
{
    (void)key;
    view_prompt_start(view, &filter_prompt, view->filter ? view->filter->text : "");
}

static void clear_filter(struct view *view, int key)
{
    (void)key;
    set_filter(view, "");
}

/* ---- Go to -------------------------------------------------------------------------------- */

static void go_to_moment(struct view *view, int64_t ns)
{
    const struct view_model *m = view->model;
    if (ns < m->first_ns || ns >= m->last_ns)
        view_say(view, "outside the trace: it lasts from %s to %s",
                 hal_moment_text(m->first_ns).text, hal_moment_text(m->last_ns).text);
    ns = ns < m->first_ns ? m->first_ns : ns >= m->last_ns ? m->last_ns - 1 : ns;
    view_reveal(view, ns, VIEW_KEY_NONE);
    view_set_cursor(view, ns);
}

static void show_dispatch(struct view *view, uint32_t submission, const struct hal_locator *place)
{
    char label[160], where[HAL_LOCATOR_BYTES];
    const struct view_model *m = view->model;
    const struct view_op *op = view_model_dispatch(m, &m->submissions[submission], place->dispatch);
    if (op)
        view_op_label(m, op, label, sizeof label);
    view_say(view, "%s: %s", hal_locator_print(place, where),
             op ? label : "there are fewer dispatches");
}

static void go_to_submission(struct view *view, const char *text)
{
    struct hal_locator place;
    uint32_t track;
    if (hal_locator_parse(text, &place) != HAL_OK) {
        view_say(view, "%s", hal_message());
        return;
    }
    const uint32_t submission = view_model_submission(view->model, place.submission);
    if (submission == VIEW_NO_REF) {
        view_say(view, "there is no submission #s%" PRIu64, place.submission);
        return;
    }
    const uint32_t event = view_model_queue_event(view->model, submission, &track);
    if (event == VIEW_NO_REF) {
        view_say(view, "#s%" PRIu64 " has no times: it cannot be shown", place.submission);
        return;
    }
    view->panel = VIEW_PANEL_DETAILS;
    view_select(view, track, event);
    if (place.has_dispatch)
        show_dispatch(view, submission, &place);
}

static int64_t add_saturated(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (b > 0 ? INT64_MAX : INT64_MIN) : sum;
}

static void go(struct view *view, const char *text)
{
    const struct view_model *m = view->model;
    int64_t ns;
    char *end;
    while (*text == ' ')
        text++;
    if (!*text)
        return;
    if (strncmp(text, "#s", 2) == 0) {
        go_to_submission(view, text);
        return;
    }
    const double percent = strtod(text, &end);
    if (end != text && strcmp(end, "%") == 0 && percent >= 0 && percent <= 100)
        go_to_moment(view, m->first_ns +
                               (int64_t)((double)(m->last_ns - m->first_ns - 1) * percent / 100));
    else if (!hal_moment_parse(text, 1000000000, &ns))
        view_say(view, "'%s' is not one of 1.5ms, +250us, 50%%, #s12, #s12.d40", text);
    else if (*text == '+' || *text == '-')
        go_to_moment(view, add_saturated(view->cursor_ns, ns));
    else
        go_to_moment(view, ns);
}

static const struct view_prompt go_prompt = {
    .before = "go to ", .hint = "1.5ms  +250us  50%  #s12", .enter = go};

static const struct view_binding bindings[] = {
    {'[', VIEW_KEY_NONE, "[ ]", "previous, next event of the track", to_event},
    {']', VIEW_KEY_NONE, "", NULL, to_event},
    {'{', VIEW_KEY_NONE, "{ }", "previous, next gap of the device", to_gap},
    {'}', VIEW_KEY_NONE, "", NULL, to_gap},
    {'(', VIEW_KEY_NONE, "( )", "previous, next host synchronisation", to_sync},
    {')', VIEW_KEY_NONE, "", NULL, to_sync},
    {',', VIEW_KEY_NONE, ", .", "previous, next submission with the same kernel", view_next_kernel},
    {'.', VIEW_KEY_NONE, "", NULL, view_next_kernel},
    {'t', VIEW_KEY_NONE, "t T", "next, previous iteration", view_next_iteration},
    {'T', VIEW_KEY_NONE, "", NULL, view_next_iteration},
    {'!', VIEW_KEY_NONE, "!", "next finding", view_next_finding},
    {'/', VIEW_KEY_NONE, "/", "search labels (regular expression)", .prompt = &view_search_prompt},
    {'n', VIEW_KEY_NONE, "n N", "next, previous match", again},
    {'N', VIEW_KEY_NONE, "", NULL, again},
    {'&', VIEW_KEY_NONE, "& \\", "show only: name~mul dur>50us queue=0 failed; show all",
     start_filter},
    {'\\', VIEW_KEY_NONE, "", NULL, clear_filter},
    {'D', VIEW_KEY_NONE, "D", "compare with another trace", .prompt = &view_difference_prompt},
    {'g', VIEW_KEY_NONE, "g", "go to 1.5ms, +250us, 50%, #s12", .prompt = &go_prompt},
    {0, 0, NULL, NULL, NULL},
};

static const struct view_filter *asked_filter(const struct view *view)
{
    const struct view_filter *next = view_job_work(view, VIEW_JOB_FILTER);
    return next ? next : view->filter;
}

static void restore(struct view *view, const struct view *old)
{
    const struct view_filter *filter = asked_filter(old), *own = asked_filter(view);
    const bool is_other = filter && (!own || strcmp(own->text, filter->text) != 0);
    if (is_other && !view->given_up[VIEW_JOB_FILTER])
        filter_by(view, filter->text);
    else if (!filter && own)
        set_filter(view, "");
    if (search_of(old)->is_there && strcmp(search_of(view)->text, search_of(old)->text) != 0)
        (void)begin_search(view, search_of(old)->text);
}

const struct view_pane view_find_part = {.name = "Finding",
                                         .state_bytes = sizeof(struct search),
                                         .finish = end_search,
                                         .restore = restore,
                                         .bindings = bindings};
