/* SPDX-License-Identifier: Apache-2.0 */
/* The first row: what trace this is and whether to trust it. The last row: where the cursor is,
 * and what can be done. */
#include "viewer/text/text.h"
#include "viewer/ui/filter.h"
#include "viewer/ui/job.h"
#include "viewer/ui/panes.h"
#include "viewer/ui/prompt.h"

#include <string.h>

/* What fits of: how much work, where it ran; the device's utilisation is last and always kept. */
static void add_facts(const struct view_model *m, int columns, char *out, size_t bytes)
{
    enum { DRIVER, TIME, SUBMISSIONS, DISPATCHES, BUSY, FACTS };
    static const int first_to_go[] = {DISPATCHES, SUBMISSIONS, DRIVER, TIME};
    const struct view_summary *s = &m->summary;
    char facts[FACTS][64];
    snprintf(facts[DRIVER], sizeof facts[DRIVER], "%s", m->header->device.driver);
    snprintf(facts[TIME], sizeof facts[TIME], "%s",
             hal_duration_text(m->last_ns - m->first_ns).text);
    snprintf(facts[SUBMISSIONS], sizeof facts[SUBMISSIONS], "%s",
             view_things(s->submissions, "submission").text);
    snprintf(facts[DISPATCHES], sizeof facts[DISPATCHES], "%s",
             view_things(s->dispatches, "dispatch").text);
    snprintf(facts[BUSY], sizeof facts[BUSY], "busy %s",
             view_share(s->device_busy_ns, s->device_end_ns - s->device_begin_ns).text);
    for (size_t gone = 0;; gone++) {
        size_t length = 0;
        for (int i = 0; i < FACTS; i++) {
            if (*facts[i])
                length += (size_t)snprintf(out + length, bytes - length, "%s%s",
                                           length ? " · " : "  ", facts[i]);
        }
        if (view_text_columns(out) <= columns || gone == sizeof first_to_go / sizeof *first_to_go)
            return;
        *facts[first_to_go[gone]] = '\0';
    }
}

static void draw_title(struct view *view, struct view_area area)
{
    const struct view_model *m = view->model;
    const char *slash = strrchr(m->path, '/');
    char text[512];
    const bool healthy = view_health(m, text, sizeof text);
    view_fill(area, 0, 0, area.columns, ' ', VIEW_STYLE_TITLE | VIEW_REVERSE);
    int column =
        view_write_cut(area, 0, 1, area.columns / 3, VIEW_STYLE_TITLE | VIEW_REVERSE | VIEW_BOLD,
                       slash ? slash + 1 : m->path);
    char frames[64] = "";
    if (view->show_frames)
        snprintf(frames, sizeof frames, " frame %s ", view_count(view->frames).text);
    const char *state = view->following ? " recording " : healthy ? " healthy " : " ! incomplete ";
    const int right = area.columns - view_text_columns(state) - view_text_columns(frames);
    char facts[512];
    add_facts(m, right - column - 1, facts, sizeof facts);
    if (view->filter)
        snprintf(facts, sizeof facts, "  only %s · %s of %s shown", view->filter->text,
                 view_count(view->filter->passed).text,
                 view_things(view->filter->of, "event").text);
    view_write_cut(area, 0, column, right - column - 1, VIEW_STYLE_TITLE | VIEW_REVERSE, facts);
    view_write(area, 0, right,
               (healthy || view->following ? VIEW_STYLE_GOOD : VIEW_STYLE_BAD) | VIEW_REVERSE |
                   VIEW_BOLD,
               state);
    view_write(area, 0, right + view_text_columns(state), VIEW_STYLE_TITLE | VIEW_REVERSE, frames);
}

static int draw_hints(struct view_area area, int column, int end)
{
    static const char *const hints[][2] = {{"?", "help"},  {"w s", "zoom"},  {"[ ]", "event"},
                                           {"{ }", "gap"}, {"( )", "sync"},  {"/", "search"},
                                           {"g", "go"},    {"Tab", "panel"}, {"q", "quit"}};
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
        const int needed = view_text_columns(hints[i][0]) + view_text_columns(hints[i][1]) + 3;
        if (column + needed > end)
            break;
        column = view_write(area, 0, column, VIEW_STYLE_KEY | VIEW_BOLD, hints[i][0]);
        column = view_write(area, 0, column + 1, VIEW_STYLE_DIM, hints[i][1]) + 2;
    }
    return column;
}

static void draw_status(struct view *view, struct view_area area)
{
    const struct view_window w = view->window;
    char position[192];
    if (view->prompt) {
        view_prompt_draw(view, area);
        return;
    }
    char work[64] = "";
    if (view_has_steps(view))
        snprintf(work, sizeof work, "searching %u %%", view_seek_percent(view));
    else
        view_job_text(view, work, sizeof work);
    const char *stops = *work ? "  Esc stops  " : "";
    snprintf(position, sizeof position, "%s%s%s  %s/col ", work, stops,
             hal_moment_text(view->cursor_ns).text,
             hal_duration_text(w.span_ns / (view->layout.axis ? view->layout.axis : 1)).text);
    const int taken = *view->message ? view_text_columns(view->message) + 3 : 0;
    if (taken && view_text_columns(position) + taken > area.columns) /* until the next key */
        snprintf(position, sizeof position, "%s%s", work, stops);
    else if (view_text_columns(position) > area.columns) /* the moment is what is left */
        snprintf(position, sizeof position, "%s", hal_moment_text(view->cursor_ns).text);
    int right = area.columns - view_text_columns(position);
    right = right < 0 ? 0 : right;
    if (*view->message)
        view_write_cut(area, 0, 1, right - 2, VIEW_STYLE_TITLE | VIEW_BOLD, view->message);
    else
        draw_hints(area, 1, right);
    if (right > 20 || !*view->message)
        view_write(area, 0, right, VIEW_STYLE_DIM, position);
}

const struct view_pane view_title_pane = {.name = "Title", .draw = draw_title};
const struct view_pane view_status_pane = {.name = "Status", .draw = draw_status};
