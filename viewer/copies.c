/* SPDX-License-Identifier: Apache-2.0 */
/* What one takes along: the locator of the selection, a command that shows or proves the same, and
 * the frame as a picture. */
#include "viewer/findings.h"
#include "viewer/view.h"

#include <inttypes.h>
#include <string.h>

static void copy_locator(struct view *view, int key)
{
    (void)key;
    const struct view_span *event = view_selected(view);
    const struct view_span cursor = {.begin_ns = view->cursor_ns};
    const struct view_lane nowhere = {.kind = VIEW_LANE_GAPS};
    view_span_locator(view->model, event ? &view->model->lanes[view->lane] : &nowhere,
                      event ? event : &cursor, view->copied, sizeof view->copied);
    view_say(view, "copied %s", view->copied);
}

/* Of a finding its proof; of a submission its replay; else what shows this place again. */
static void copy_command(struct view *view, int key)
{
    const struct view_model *m = view->model;
    const struct view_span *event = view_selected(view);
    const struct view_finding *finding =
        view->panel == VIEW_PANEL_FINDINGS ? view_current_finding(view) : NULL;
    const uint32_t submission =
        event ? view_span_submission(m, &m->lanes[view->lane], event) : VIEW_NO_REF;
    char place[64];
    (void)key;
    if (finding && *finding->proof)
        snprintf(view->copied, sizeof view->copied, "%s ", finding->proof);
    else if (submission != VIEW_NO_REF)
        snprintf(view->copied, sizeof view->copied, "hal-replay --range='#s%" PRIu64 "' ",
                 m->submissions[submission].number);
    else {
        snprintf(place, sizeof place, "--keys=g%.9fs<Enter>", (double)view->cursor_ns / 1e9);
        snprintf(view->copied, sizeof view->copied, "hal-view ");
        view_add_word(view->copied, sizeof view->copied, place);
        strncat(view->copied, " ", sizeof view->copied - strlen(view->copied) - 1);
    }
    view_add_file(view->copied, sizeof view->copied, m->path);
    view_say(view, "copied %s", view->copied);
}

static void print_frame(struct view *view, int key)
{
    (void)key;
    view->wants_picture = true;
    view_say(view, "pictures are written where there is a terminal: --svg=FILE does it without");
}

const struct view_binding view_copy_bindings[] = {
    {'y', VIEW_KEY_NONE, "y", "copy the locator (OSC 52)", copy_locator},
    {'Y', VIEW_KEY_NONE, "Y",
     "copy a command: the finding's proof, the submission's replay, this place", copy_command},
    {'p', VIEW_KEY_NONE, "p", "write the frame into a new file hal-view-N.svg", print_frame},
    {0, 0, NULL, NULL, NULL},
};
