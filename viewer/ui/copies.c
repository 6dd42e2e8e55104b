/* SPDX-License-Identifier: Apache-2.0 */
/* What one takes along: the selection's locator, a command that shows or proves it, the picture. */
#include "viewer/findings/findings.h"
#include "viewer/text/text.h"
#include "viewer/ui/panes.h"

#include <inttypes.h>
#include <string.h>

/* A terminal does not report whether it accepts this; without one, nothing is sent. */
static void say_copied(struct view *view)
{
    view_say(view, "%s%s", view->is_live ? "sent to the terminal (OSC 52, some ignore it): " : "",
             view->copied);
}

static void copy_locator(struct view *view, int key)
{
    (void)key;
    struct view_span selected;
    const struct view_span *event = view_selected(view, &selected);
    const struct view_span cursor = {.begin_ns = view->cursor_ns};
    const struct view_track nowhere = {.kind = VIEW_TRACK_GAPS};
    view_span_locator(view->model, event ? &view->model->tracks[view->track] : &nowhere,
                      event ? event : &cursor, view->copied, sizeof view->copied);
    say_copied(view);
}

/* The selected finding, or without a selection the first one with a command; NULL: none. */
static const struct view_finding *finding_to_copy(struct view *view, uint32_t submission)
{
    if (view->panel != VIEW_PANEL_FINDINGS)
        return NULL;
    const struct view_findings *findings = view_findings_of(view);
    const struct view_order *order = view_pane_order(view, &view_findings_pane);
    const size_t current = view_findings_pane.list->current(view);
    const size_t at = current == SIZE_MAX && submission == VIEW_NO_REF ? 0 : current;
    return at < findings->list_count ? &findings->list[view_order_row(order, at)] : NULL;
}

/* For a finding its proof; for a submission its replay; else a command that shows this place. */
static void copy_command(struct view *view, int key)
{
    const struct view_model *m = view->model;
    const uint32_t submission = view_selected_submission(view);
    const struct view_finding *finding = finding_to_copy(view, submission);
    char place[64];
    (void)key;
    if (finding && *finding->proof)
        snprintf(view->copied, sizeof view->copied, "%s ", finding->proof);
    else if (submission != VIEW_NO_REF)
        snprintf(view->copied, sizeof view->copied, "hal-replay --range='#s%" PRIu64 "' ",
                 m->submissions[submission].number);
    else {
        snprintf(place, sizeof place, "--keys=g%s<Enter>", hal_moment_text(view->cursor_ns).text);
        snprintf(view->copied, sizeof view->copied, "hal-view ");
        view_add_word(view->copied, sizeof view->copied, place);
        strncat(view->copied, " ", sizeof view->copied - strlen(view->copied) - 1);
    }
    view_add_file(view->copied, sizeof view->copied, m->path);
    say_copied(view);
}

/* ---- Pictures ----------------------------------------------------------------------------- */

static const char *const picture_texts[] = {"a picture, hal-view-N.svg", "text, hal-view-N.txt",
                                            "text with colours for a terminal, hal-view-N.ansi"};

static bool picture_choose(struct view *view, size_t row)
{
    view->wants_picture = (enum view_picture)(VIEW_PICTURE_SVG + row);
    if (!view->is_live)
        view_say(view, "frames can be written only on a terminal: use --svg=FILE or --dump-frame");
    return false;
}

static const struct view_menu picture_menu = {.title = "write the frame as",
                                              .rows = VIEW_PICTURE_ANSI,
                                              .texts = picture_texts,
                                              .choose = picture_choose};

static const struct view_binding bindings[] = {
    {'y', VIEW_KEY_NONE, "y", "send the locator to the terminal's clipboard (OSC 52)",
     copy_locator},
    {'Y', VIEW_KEY_NONE, "Y",
     "copy a command: the finding's proof, the submission's replay, this place", copy_command},
    {'p', VIEW_KEY_NONE, "p", "write the frame to a new file: picture, text, text with colours",
     .menu = &picture_menu},
    {0, 0, NULL, NULL, NULL},
};

const struct view_pane view_copies_part = {.name = "Taking along", .bindings = bindings};
