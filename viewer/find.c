/* SPDX-License-Identifier: Apache-2.0 */
/* Jumping: to the next event, gap or host synchronisation, to what a search finds, to a moment or
 * a submission. */
#include "viewer/view.h"

#include "hal/base/locator.h"
#include "viewer/filter.h"
#include "viewer/kernels.h"
#include "viewer/repeats.h"
#include "viewer/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Neighbours --------------------------------------------------------------------------- */

/* Whether the event is of the kind that is looked for. */
typedef bool wanted(struct view *view, const struct view_lane *lane, const struct view_span *event);

static bool any_event(struct view *view, const struct view_lane *lane,
                      const struct view_span *event)
{
    (void)view, (void)lane, (void)event;
    return true;
}

static bool is_sync(struct view *view, const struct view_lane *lane, const struct view_span *event)
{
    (void)view;
    return lane->kind == VIEW_LANE_HOST && event->class == VIEW_WAIT;
}

static bool matches(struct view *view, const struct view_lane *lane, const struct view_span *event)
{
    char label[256];
    view_span_label(view->model, lane, event, label, sizeof label);
    return regexec(&view->search, label, 0, NULL, 0) == 0;
}

/* The nearest wanted event of the lane behind (or before) the selection. Of events at the same
 * moment, those of lower lanes come later. */
static uint32_t neighbour(struct view *view, uint32_t index, bool forward, wanted *want)
{
    const struct view_lane *lane = &view->model->lanes[index];
    const bool current = index == view->lane;
    const bool include_moment = current ? forward : index < view->lane;
    size_t at =
        view_spans_before(lane->events, lane->event_count, view->cursor_ns + include_moment);
    if (current && view->event != VIEW_NO_REF)
        at = forward ? view->event + 1 : view->event;
    while (forward ? at < lane->event_count : at > 0) {
        const size_t next = forward ? at++ : --at;
        if (view_shows(view, lane, &lane->events[next]) && want(view, lane, &lane->events[next]))
            return (uint32_t)next;
    }
    return VIEW_NO_REF;
}

/* The nearest one of all lanes; false when there is none. */
static bool jump(struct view *view, bool forward, wanted *want)
{
    const struct view_model *m = view->model;
    uint32_t best_lane = VIEW_NO_LANE, best = VIEW_NO_REF;
    for (uint32_t i = 0; i < m->lanes_count; i++) {
        const uint32_t lane = forward ? i : (uint32_t)m->lanes_count - 1 - i;
        if (m->lanes[lane].kind == VIEW_LANE_COMMANDS ||
            m->lanes[lane].kind == VIEW_LANE_BARRIERS ||
            m->lanes[lane].kind == VIEW_LANE_SEMAPHORES)
            continue; /* they repeat other lanes' events */
        const uint32_t event = neighbour(view, lane, forward, want);
        if (event == VIEW_NO_REF)
            continue;
        const int64_t ns = m->lanes[lane].events[event].begin_ns;
        const int64_t best_ns = best == VIEW_NO_REF ? 0 : m->lanes[best_lane].events[best].begin_ns;
        if (best == VIEW_NO_REF || (forward ? ns < best_ns : ns > best_ns)) {
            best_lane = lane;
            best = event;
        }
    }
    if (best == VIEW_NO_REF)
        return false;
    view_select(view, best_lane, best);
    return true;
}

static void in_lane(struct view *view, uint32_t lane, bool forward, const char *noun)
{
    const uint32_t event =
        lane == VIEW_NO_LANE ? VIEW_NO_REF : neighbour(view, lane, forward, any_event);
    if (event == VIEW_NO_REF)
        view_say(view, "no %s %s", forward ? "later" : "earlier", noun);
    else
        view_select(view, lane, event);
}

static void to_event(struct view *view, int key)
{
    in_lane(view, view->lane, key == ']', "event in this lane");
}

static void to_gap(struct view *view, int key)
{
    in_lane(view, view->model->gap_lane, key == '}', "gap of the device");
}

static void to_sync(struct view *view, int key)
{
    if (!jump(view, key == ')', is_sync))
        view_say(view, "no %s host synchronisation", key == ')' ? "later" : "earlier");
}

/* ---- Search ------------------------------------------------------------------------------- */

/* Behind the last match comes the first one: that is said. */
static void search_on(struct view *view, bool forward)
{
    const uint32_t lane = view->lane, event = view->event;
    const int64_t cursor_ns = view->cursor_ns;
    if (jump(view, forward, matches))
        return;
    view->lane = VIEW_NO_LANE;
    view->event = VIEW_NO_REF;
    view->cursor_ns = forward ? view->model->first_ns - 1 : view->model->last_ns;
    if (jump(view, forward, matches)) {
        const bool same = lane == view->lane && event == view->event;
        view_say(view, same      ? "the only match"
                       : forward ? "went on from the start: no later match"
                                 : "went on from the end: no earlier match");
        return;
    }
    view->lane = lane;
    view->event = event;
    view->cursor_ns = cursor_ns;
    view_say(view, "nothing matches '%s'", view->searched);
}

static void again(struct view *view, int key)
{
    if (!view->has_search)
        view_say(view, "nothing was searched for yet: / starts a search");
    else
        search_on(view, key == 'n');
}

void view_find(struct view *view)
{
    if (!*view->typed)
        return;
    regex_t search;
    const int failure = regcomp(&search, view->typed, REG_EXTENDED | REG_ICASE | REG_NOSUB);
    if (failure) {
        char why[100];
        regerror(failure, &search, why, sizeof why);
        view_say(view, "'%s' is no regular expression: %s", view->typed, why);
        return;
    }
    if (view->has_search)
        regfree(&view->search);
    view->search = search;
    view->has_search = true;
    snprintf(view->searched, sizeof view->searched, "%s", view->typed);
    search_on(view, true);
}

/* ---- Filter ------------------------------------------------------------------------------- */

bool view_shows(const struct view *view, const struct view_lane *lane,
                const struct view_span *event)
{
    return !view->filter || view_filter_passes(view->filter, lane, event);
}

void view_set_filter(struct view *view)
{
    struct view_filter *filter = NULL;
    if (view->typed[strspn(view->typed, " ")] &&
        view_filter_create(view->model, view->typed, &filter) != HAL_OK) {
        view_say(view, "%s", hal_message());
        return;
    }
    view_filter_destroy(view->filter);
    view->filter = filter;
    if (!filter)
        view_say(view, "everything is shown");
    else if (!filter->passed)
        view_say(view, "nothing passes '%s': \\ shows everything", filter->text);
    view_set_cursor(view, view->cursor_ns);
}

static void start_filter(struct view *view, int key)
{
    (void)key;
    view->prompt = VIEW_PROMPT_FILTER;
    snprintf(view->typed, sizeof view->typed, "%s", view->filter ? view->filter->text : "");
}

static void clear_filter(struct view *view, int key)
{
    (void)key;
    view->typed[0] = '\0';
    view_set_filter(view);
}

static void to_iteration(struct view *view, int key)
{
    view_next_iteration(view, key == 't');
}

/* ---- Go to -------------------------------------------------------------------------------- */

static void go_to_moment(struct view *view, int64_t ns)
{
    const struct view_model *m = view->model;
    if (ns < m->first_ns || ns >= m->last_ns)
        view_say(view, "outside the trace: it lasts from %s to %s", view_moment(m->first_ns).text,
                 view_moment(m->last_ns).text);
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
             op ? label : "there are not so many dispatches");
}

static void go_to_submission(struct view *view, const char *text)
{
    struct hal_locator place;
    uint32_t lane;
    if (hal_locator_parse(text, &place) != HAL_OK) {
        view_say(view, "%s", hal_message());
        return;
    }
    const uint32_t submission = view_model_submission(view->model, place.submission);
    if (submission == VIEW_NO_REF) {
        view_say(view, "there is no submission #s%" PRIu64, place.submission);
        return;
    }
    const uint32_t event = view_model_queue_event(view->model, submission, &lane);
    if (event == VIEW_NO_REF) {
        view_say(view, "#s%" PRIu64 " has no times: it cannot be shown", place.submission);
        return;
    }
    view->panel = VIEW_PANEL_DETAILS;
    view_select(view, lane, event);
    if (place.has_dispatch)
        show_dispatch(view, submission, &place);
}

static int64_t add_saturated(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (b > 0 ? INT64_MAX : INT64_MIN) : sum;
}

void view_go(struct view *view)
{
    const struct view_model *m = view->model;
    const char *text = view->typed;
    int64_t ns;
    char *end;
    while (*text == ' ' || *text == '@')
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
    else if (!view_parse_time(text, &ns))
        view_say(view, "'%s' is none of 1.5ms, +250us, 50%%, #s12, #s12.d40", text);
    else if (*text == '+' || *text == '-')
        go_to_moment(view, add_saturated(view->cursor_ns, ns));
    else
        go_to_moment(view, ns);
}

/* ---- Keys --------------------------------------------------------------------------------- */

static void start_search(struct view *view, int key)
{
    (void)key;
    view->prompt = VIEW_PROMPT_SEARCH;
    view->typed[0] = '\0';
}

static void start_difference(struct view *view, int key)
{
    (void)key;
    view->prompt = VIEW_PROMPT_DIFFERENCE;
    view->typed[0] = '\0';
}

static void start_go(struct view *view, int key)
{
    (void)key;
    view->prompt = VIEW_PROMPT_GO;
    view->typed[0] = '\0';
}

static void to_kernel(struct view *view, int key)
{
    view_next_kernel(view, key == '.');
}

static void to_finding(struct view *view, int key)
{
    (void)key;
    view_next_finding(view);
}

const struct view_binding view_find_bindings[] = {
    {'[', VIEW_KEY_NONE, "[ ]", "previous, next event of the lane", to_event},
    {']', VIEW_KEY_NONE, "", NULL, to_event},
    {'{', VIEW_KEY_NONE, "{ }", "previous, next gap of the device", to_gap},
    {'}', VIEW_KEY_NONE, "", NULL, to_gap},
    {'(', VIEW_KEY_NONE, "( )", "previous, next host synchronisation", to_sync},
    {')', VIEW_KEY_NONE, "", NULL, to_sync},
    {',', VIEW_KEY_NONE, ", .", "previous, next submission with the same kernel", to_kernel},
    {'.', VIEW_KEY_NONE, "", NULL, to_kernel},
    {'t', VIEW_KEY_NONE, "t T", "next, previous iteration", to_iteration},
    {'T', VIEW_KEY_NONE, "", NULL, to_iteration},
    {'!', VIEW_KEY_NONE, "!", "next finding", to_finding},
    {'/', VIEW_KEY_NONE, "/", "search labels (regular expression)", start_search},
    {'n', VIEW_KEY_NONE, "n N", "next, previous match", again},
    {'N', VIEW_KEY_NONE, "", NULL, again},
    {'&', VIEW_KEY_NONE, "& \\", "show only: name~mul dur>50us queue=0 failed; show all",
     start_filter},
    {'\\', VIEW_KEY_NONE, "", NULL, clear_filter},
    {'D', VIEW_KEY_NONE, "D", "compare with another trace", start_difference},
    {'g', VIEW_KEY_NONE, "g", "go to 1.5ms, +250us, 50%, #s12", start_go},
    {0, 0, NULL, NULL, NULL},
};
