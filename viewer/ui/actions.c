/* SPDX-License-Identifier: Apache-2.0 */
/* Passes the selection or the range to another program, whose command line can be changed first. */
#include "viewer/text/text.h"
#include "viewer/ui/panes.h"
#include "viewer/ui/prompt.h"

#include <inttypes.h>
#include <string.h>

/* ---- What it is done with ----------------------------------------------------------------- */

/* Submissions that began in the range: "3" or "3..7" with `mark` before each number. */
static bool range_text(const struct view *view, const char *mark, char *out, size_t bytes)
{
    const struct view_model *m = view->model;
    int64_t begin_ns, end_ns;
    uint64_t first = UINT64_MAX, last = 0;
    if (!view_range(view, &begin_ns, &end_ns))
        return false;
    for (size_t i = 0; i < m->submissions_count; i++) {
        const struct view_submission *s = &m->submissions[i];
        const int64_t ns = s->begin_ns != VIEW_NO_TIME ? s->begin_ns : view_submit_ns(m, s);
        if (ns == VIEW_NO_TIME || ns < begin_ns || ns >= end_ns)
            continue;
        first = s->number < first ? s->number : first;
        last = s->number > last ? s->number : last;
    }
    if (first > last)
        return false;
    snprintf(out, bytes, "%s%" PRIu64, mark, first);
    if (last > first)
        snprintf(out + strlen(out), bytes - strlen(out), "..%s%" PRIu64, mark, last);
    return true;
}

/* For the range, or else the selection; false: for everything. */
static bool part_text(const struct view *view, const char *mark, char *out, size_t bytes)
{
    const uint32_t submission = view_selected_submission(view);
    if (range_text(view, mark, out, bytes))
        return true;
    if (submission == VIEW_NO_REF)
        return false;
    snprintf(out, bytes, "%s%" PRIu64, mark, view->model->submissions[submission].number);
    return true;
}

/* "#s12.d4"; false: no dispatch is selected. */
static bool dispatch_text(const struct view *view, char *out, size_t bytes)
{
    const struct view_model *m = view->model;
    struct view_span selected;
    const struct view_span *event = view_selected(view, &selected);
    if (!event || m->tracks[view->track].kind != VIEW_TRACK_DISPATCHES)
        return false;
    const struct view_dispatch *dispatch = &m->dispatches[event->ref];
    snprintf(out, bytes, "#s%" PRIu64 ".d%u", m->submissions[dispatch->submission].number,
             dispatch->index);
    return true;
}

/* ---- Commands ----------------------------------------------------------------------------- */

/* Another program needs the terminal; without one, the caller gets its command line. */
static void run(struct view *view, const char *command)
{
    snprintf(view->command, sizeof view->command, "%s", command);
    view->wants_run = view->is_live && *command;
    view_say(view, "%s", command);
}

const struct view_prompt view_run_prompt = {.before = "run: ", .hint = "Enter, Esc", .enter = run};

static void offer(struct view *view, const char *command)
{
    char text[VIEW_PROMPT_BYTES];
    snprintf(text, sizeof text, "%s ", command);
    view_add_file(text, sizeof text, view->model->path);
    view_prompt_start(view, &view_run_prompt, text);
}

static void replay(struct view *view, int key)
{
    char part[64], command[160] = "hal-replay";
    int64_t begin_ns, end_ns;
    (void)key;
    if (!view_range(view, &begin_ns, &end_ns) && dispatch_text(view, part, sizeof part))
        snprintf(command, sizeof command, "hal-replay --stop-at='%s'", part);
    else if (part_text(view, "#s", part, sizeof part))
        snprintf(command, sizeof command, "hal-replay --range='%s'", part);
    offer(view, command);
}

static void verify(struct view *view, int key)
{
    (void)key;
    offer(view, "hal-replay --verify=submissions");
}

static const char *const what_ifs[] = {"coalesce-submissions", "drop-host-waits", "drop-barriers",
                                       "merge-dispatches", "queues=2"};

static void what_if_text(const struct view *view, size_t row, char *out, size_t bytes)
{
    static const char *const meanings[] = {
        "neighbouring submissions are merged", "the host waits only for what it needs",
        "barriers that order nothing are dropped", "one command buffer for each submission",
        "submissions alternate between two queues"};
    (void)view;
    snprintf(out, bytes, "%-22s %s", what_ifs[row], meanings[row]);
}

static bool what_if_choose(struct view *view, size_t row)
{
    char command[96];
    snprintf(command, sizeof command, "hal-replay --what-if=%s", what_ifs[row]);
    offer(view, command);
    return false;
}

static const struct view_menu what_if_menu = {.title = "what if",
                                              .rows = sizeof what_ifs / sizeof *what_ifs,
                                              .text = what_if_text,
                                              .choose = what_if_choose};

enum { EXPORT_TRACE, EXPORT_JSON, EXPORT_TIMELINE, EXPORT_COUNT };

static void export_text(const struct view *view, size_t row, char *out, size_t bytes)
{
    static const char *const names[EXPORT_COUNT] = {
        [EXPORT_JSON] = "all records as JSON",
        [EXPORT_TIMELINE] = "the whole timeline for a trace viewer in a browser"};
    char part[64];
    if (row == EXPORT_TRACE)
        snprintf(out, bytes, "submissions %s as a trace, with their dependencies",
                 part_text(view, "#s", part, sizeof part) ? part : "(none is selected)");
    else
        snprintf(out, bytes, "%s", names[row]);
}

static bool export_choose(struct view *view, size_t row)
{
    char part[64], command[192];
    int64_t begin_ns, end_ns;
    if (row == EXPORT_TRACE && !part_text(view, "#s", part, sizeof part)) {
        view_say(view, "select a submission, or a range with v");
        return true;
    }
    if (row == EXPORT_TRACE)
        snprintf(command, sizeof command, "hal-trace trim -o part.pb.zst --submissions='%s'", part);
    else if (row == EXPORT_JSON && view_range(view, &begin_ns, &end_ns))
        snprintf(command, sizeof command, "hal-trace dump --json --from=%s --to=%s",
                 hal_moment_text(begin_ns).text, hal_moment_text(end_ns).text);
    else if (row == EXPORT_JSON)
        snprintf(command, sizeof command, "hal-trace dump --json");
    else
        snprintf(command, sizeof command, "hal-trace export -o timeline.pftrace");
    offer(view, command);
    return false;
}

static const struct view_menu export_menu = {
    .title = "export", .rows = EXPORT_COUNT, .text = export_text, .choose = export_choose};

static const struct view_binding bindings[] = {
    {'r', VIEW_KEY_NONE, "r", "replay the range, or what is selected", replay},
    {'V', VIEW_KEY_NONE, "V", "replay and verify every submission", verify},
    {'I', VIEW_KEY_NONE, "I", "what if: measure another way to do the same work",
     .menu = &what_if_menu},
    {'E', VIEW_KEY_NONE, "E", "export the range or the selection", .menu = &export_menu},
    {0, 0, NULL, NULL, NULL},
};

const struct view_pane view_actions_part = {.name = "Other programs", .bindings = bindings};
