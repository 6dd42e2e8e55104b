/* SPDX-License-Identifier: Apache-2.0 */
/* hal-view: shows a trace in the terminal, or as text, JSON or a picture without one. */
#include "hal/base/os.h"
#include "hal/base/output.h"
#include "hal/base/print.h"
#include "hal/base/text.h"
#include "viewer/options.h"
#include "viewer/report/plain.h"
#include "viewer/terminal/term.h"
#include "viewer/ui/follow.h"
#include "viewer/ui/panes.h"
#include "viewer/ui/preview.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_CONDITION = 1, EXIT_USAGE = 2, EXIT_UNREADABLE = VIEW_EXIT_UNREADABLE };

/* ---- Without a terminal ------------------------------------------------------------------- */

static enum hal_status print(const struct view_model *model, const struct view_options *o)
{
    const struct view_report_options options = {.width = o->width,
                                                .screen = o->screen,
                                                .ascii = o->ascii,
                                                .colors = o->text_colors,
                                                .json = o->json};
    bool first = true;
    for (unsigned i = 0; i < VIEW_REPORT_COUNT; i++) {
        if (!o->reports[i])
            continue;
        if (!first && !o->json)
            fputc('\n', stdout);
        HAL_TRY(view_report_write(model, (enum view_report)i, &options, stdout));
        first = false;
    }
    return HAL_OK;
}

static enum hal_status write_svg(const struct view_screen *screen, const char *path)
{
    if (strcmp(path, "-") == 0) {
        view_screen_write_svg(screen, stdout);
        return HAL_OK;
    }
    FILE *file = fopen(path, "wx");
    if (!file && errno == EEXIST)
        return hal_fail(
            HAL_IO,
            "'%s' exists: hal-view does not overwrite files; --svg=- writes to standard output",
            path);
    if (!file)
        return hal_fail(HAL_IO, "cannot write '%s': %s", path, strerror(errno));
    view_screen_write_svg(screen, file);
    const bool failed = ferror(file) != 0;
    if (fclose(file) == 0 && !failed)
        return HAL_OK;
    const int error = errno;
    unlink(path);
    return hal_fail(HAL_IO, "cannot write '%s': %s", path, strerror(error));
}

/* The first frame gives panes their sizes, which keys then rely on. */
static enum hal_status dump_frame(const struct view_model *model, const struct view_options *o)
{
    struct view_screen screen = {0};
    struct view *view;
    HAL_TRY(view_create(model, &view));
    view_bookmarks_load(view);
    enum hal_status status = view_screen_resize(&screen, o->rows, o->columns);
    if (status == HAL_OK) {
        view_draw(view, &screen);
        status = o->keys ? view_type(view, o->keys) : HAL_OK;
    }
    if (status == HAL_OK) {
        view->show_frames = o->frame_count;
        view_draw(view, &screen);
        if (o->dump)
            view_screen_write_text(&screen, stdout,
                                   (struct view_text_form){o->ascii, o->text_colors});
        if (o->svg)
            status = write_svg(&screen, o->svg);
    }
    view_screen_finish(&screen);
    view_destroy(view);
    return status;
}

static enum hal_status diff(const struct view_model *model, const struct view_options *o)
{
    const struct view_report_options options = {
        .width = o->width, .screen = o->screen, .ascii = o->ascii, .json = o->json};
    struct view_model *other;
    HAL_TRY(view_model_open(o->diff, &other));
    const enum hal_status status = view_report_compare(model, other, &options, stdout);
    view_model_close(other);
    return status;
}

/* A line at a time. */
static enum hal_status talk(const struct view_model *model, const struct view_options *o)
{
    const struct view_plain_options options = {
        .width = o->width, .ascii = o->ascii, .prompt = isatty(STDIN_FILENO) != 0};
    struct view *view;
    HAL_TRY(view_create(model, &view));
    view_bookmarks_load(view);
    const enum hal_status status = view_plain(view, &options, stdin, stdout);
    view_destroy(view);
    return status;
}

/* ---- Conditions --------------------------------------------------------------------------- */

/* Says which conditions hold, on the standard error output: the other one may be JSON. */
static enum hal_status check_conditions(const struct view_model *model,
                                        const struct view_options *o, bool *out_holds)
{
    struct view_findings findings = {0};
    bool needed = false;
    char text[160];
    *out_holds = false;
    for (size_t i = 0; i < o->condition_count; i++)
        needed = needed || view_condition_needs_findings(&o->conditions[i]);
    if (needed)
        HAL_TRY(view_findings_find(model, &findings));
    for (size_t i = 0; i < o->condition_count; i++) {
        if (!view_condition_holds(&o->conditions[i], model, &findings, text, sizeof text))
            continue;
        hal_print(stderr, "hal-view: %s: %s, and %s is a failure\n", o->path, text,
                  o->conditions[i].text);
        *out_holds = true;
    }
    view_findings_finish(&findings);
    return HAL_OK;
}

/* ---- With a terminal ---------------------------------------------------------------------- */

static void run(struct view *view)
{
    view->wants_run = false;
    const int result = view_term_run(view->command);
    if (result < 0)
        view_say(view, "cannot start a shell: %s", strerror(errno));
    else if (result)
        view_say(view, "exit status %d of %s", result, view->command);
    else
        view_say(view, "done: %s", view->command);
}

static void handle(struct view *view, struct view_term_event event)
{
    if (event.kind == VIEW_TERM_KEY)
        view_key(view, event.key);
    else if (event.kind == VIEW_TERM_POINTER && view->mouse)
        view_point(view, event.pointer);
    else if (event.kind == VIEW_TERM_END)
        view->quit = true;
    if (*view->copied) {
        view_term_copy(view->copied);
        view->copied[0] = '\0';
    }
    if (view->wants_run)
        run(view);
    if (view->wants_redraw)
        view_term_forget();
    view->wants_redraw = false;
}

/* Under the first name that is not taken. */
static void write_picture(struct view *view, const struct view_screen *screen)
{
    enum { MOST = 1000 };
    static const char *const endings[] = {
        [VIEW_PICTURE_SVG] = "svg", [VIEW_PICTURE_TEXT] = "txt", [VIEW_PICTURE_ANSI] = "ansi"};
    const enum view_picture kind = view->wants_picture;
    char path[32];
    FILE *file = NULL;
    int number = 1;
    view->wants_picture = VIEW_PICTURE_NONE;
    for (; !file && number <= MOST; number++) {
        snprintf(path, sizeof path, "hal-view-%d.%s", number, endings[kind]);
        file = fopen(path, "wx");
        if (!file && errno != EEXIST)
            break;
    }
    if (!file) {
        view_say(view, "cannot write %s: %s", path, strerror(errno));
        return;
    }
    if (kind == VIEW_PICTURE_SVG)
        view_screen_write_svg(screen, file);
    else
        view_screen_write_text(
            screen, file,
            (struct view_text_form){.colors = kind == VIEW_PICTURE_ANSI ? VIEW_TRUE_COLORS : 0});
    const bool failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed)
        view_say(view, "cannot write %s", path);
    else
        view_say(view, "written to %s", path);
}

/* The shown view, and its file if that is still growing. */
struct session {
    struct view_model *model;
    struct view *view;
    struct view_follow follow;
    bool follows;
};

enum { FRAME_NS = 33000000 };

/* Until something happens, or the file has to be looked at. */
static void await(struct session *s, struct view_term_event *out_event)
{
    const int64_t step_ns = 100000000; /* shown progress of background work */
    const int64_t until_ns = hal_clock_ns() + FRAME_NS;
    int64_t pause_ns = s->follows ? view_follow_pause_ns(&s->follow, s->view) : -1;
    const bool steps = view_has_steps(s->view);
    while (view_has_steps(s->view) && hal_clock_ns() < until_ns) {
        view_poll(s->view);
        *out_event = view_term_read(0);
        if (out_event->kind != VIEW_TERM_NOTHING)
            return;
    }
    if (steps)
        pause_ns = 0; /* what they have come to is shown */
    else if (view_poll(s->view) && (pause_ns < 0 || pause_ns > step_ns))
        pause_ns = step_ns;
    *out_event = view_term_read(pause_ns);
    if (s->follows && out_event->kind == VIEW_TERM_NOTHING)
        view_follow_look(&s->follow, &s->model, &s->view);
}

/* Input that has arrived is handled before the next frame, and there are at most 30 frames per
 * second: a slow line never lags behind. */
static enum hal_status interact(struct session *s, const char *keys)
{
    struct view_screen screen = {0};
    struct view *view = s->view;
    enum hal_status status = HAL_OK;
    bool mouse = view->mouse;
    while (!view->quit && status == HAL_OK) {
        int rows, columns;
        view_term_size(&rows, &columns);
        status = view_screen_resize(&screen, rows, columns);
        if (status != HAL_OK)
            break;
        view_poll(view);
        view_draw(view, &screen);
        if (view->wants_picture) { /* of the frame without the menu that asked for it */
            write_picture(view, &screen);
            view_draw(view, &screen);
        }
        if (keys) {
            status = view_type(view, keys);
            keys = NULL;
            continue;
        }
        view_term_draw(&screen);
        const int64_t next_ns = hal_clock_ns() + FRAME_NS;
        struct view_term_event event;
        await(s, &event);
        view = s->view;
        while (event.kind != VIEW_TERM_NOTHING && !view->quit) {
            handle(view, event);
            const int64_t left_ns = next_ns - hal_clock_ns();
            event = view_term_read(left_ns > 0 ? left_ns : 0);
        }
        if (mouse != view->mouse)
            view_term_set_mouse(mouse = view->mouse);
    }
    view_screen_finish(&screen);
    return status;
}

/* A trace while it is read. */
struct reading {
    const char *path;
    struct view_preview preview;
    struct view_screen screen;
    int64_t next_ns; /* when to show how far it is */
    bool given_up;
};

/* At most 20 frames a second; the first at once. */
static bool show_progress(void *user, struct trace_reader *reader, uint64_t read, uint64_t total)
{
    struct reading *r = user;
    const int64_t pause_ns = 50000000, now_ns = hal_clock_ns();
    int rows, columns;
    if (now_ns < r->next_ns)
        return true;
    r->next_ns = now_ns + pause_ns;
    for (struct view_term_event event = view_term_read(0); event.kind != VIEW_TERM_NOTHING;
         event = view_term_read(0)) {
        if (event.kind == VIEW_TERM_END ||
            (event.kind == VIEW_TERM_KEY && (event.key == 'q' || event.key == VIEW_KEY_ESCAPE)))
            r->given_up = true;
    }
    view_term_size(&rows, &columns);
    if (view_screen_resize(&r->screen, rows, columns) == HAL_OK) {
        view_preview_draw(&r->preview, &r->screen, reader, r->path, read, total);
        view_term_draw(&r->screen);
    }
    return !r->given_up;
}

/* `model` is replaced when the file grew. */
static enum hal_status show(struct view_model **model, const struct view_options *o,
                            int64_t took_ns)
{
    struct session s = {.model = *model, .follows = o->follow};
    if (s.follows)
        view_follow_begin(&s.follow, o->path, *model, took_ns);
    HAL_TRY(view_create(*model, &s.view));
    view_bookmarks_load(s.view);
    s.view->is_live = true;
    s.view->mouse = !o->no_mouse;
    s.view->show_frames = o->frame_count;
    s.view->following = (*model)->grows;
    const enum hal_status status = interact(&s, o->keys);
    view_destroy(s.view);
    view_follow_end(&s.follow);
    *model = s.model;
    return status;
}

/* The terminal opens before the trace: what the index contains is visible at once. */
static enum hal_status open_and_show(const struct view_options *o, struct view_model **out_model)
{
    const struct view_term_options options = {
        .colors = o->colors, .ascii = o->ascii, .mouse = !o->no_mouse};
    struct reading reading = {.path = o->path};
    const struct view_progress progress = {.tell = show_progress, .user = &reading};
    const int64_t begin_ns = hal_clock_ns();
    *out_model = NULL;
    HAL_TRY(view_term_open(&options));
    enum hal_status status = view_model_open_slowly(o->path, &progress, out_model);
    view_screen_finish(&reading.screen);
    if (status == HAL_OK)
        status = show(out_model, o, hal_clock_ns() - begin_ns);
    view_term_close();
    return reading.given_up ? HAL_OK : status;
}

static int fail(int code)
{
    fprintf(stderr, "hal-view: %s\n", hal_shown_lines(hal_message()).text);
    return code;
}

static bool needs_terminal(const struct view_options *o)
{
    return !o->dump && !o->svg && !o->print && !o->diff && !o->plain && !o->conditions_only;
}

static bool is_trace(const char *path)
{
    struct trace_reader *reader;
    const bool is = trace_reader_open(path, &reader) == HAL_OK;
    trace_reader_close(reader);
    return is;
}

/* Evaluates the conditions, if the trace was shown; `model` NULL: it was not read. */
static int finish(struct view_model *model, const struct view_options *o, enum hal_status status)
{
    bool failed = false;
    if (status == HAL_OK)
        status = hal_output_end();
    if (status == HAL_OK && model)
        status = check_conditions(model, o, &failed);
    if (status == HAL_OK && model && o->condition_count && !model->health && !failed)
        status =
            hal_fail(HAL_CORRUPT, "%s: conditions cannot be evaluated on an incomplete trace: %s",
                     o->path, model->truncated);
    view_model_close(model);
    if (status == HAL_OK)
        return failed ? EXIT_CONDITION : EXIT_SUCCESS;
    return fail(status == HAL_INVALID || status == HAL_UNSUPPORTED ? EXIT_USAGE : EXIT_UNREADABLE);
}

int main(int argc, char **argv)
{
    struct view_options options;
    struct view_model *model;
    (void)argc;
    hal_size_signal_ignore();
    setlocale(LC_CTYPE, "");
    if (view_options_parse(argv, &options) != HAL_OK)
        return fail(EXIT_USAGE);
    if (needs_terminal(&options)) {
        if (!is_trace(options.path)) /* said where it stays to be seen */
            return fail(EXIT_UNREADABLE);
        const enum hal_status shown = open_and_show(&options, &model);
        if (shown == HAL_OK && model && *model->truncated && !model->grows)
            hal_print(stderr, "hal-view: %s: %s\n", options.path, model->truncated);
        return finish(model, &options, shown);
    }
    enum hal_status status = view_model_open(options.path, &model);
    if (status != HAL_OK)
        return fail(EXIT_UNREADABLE);
    if (*model->truncated && !model->grows)
        hal_print(stderr, "hal-view: %s: %s\n", options.path, model->truncated);
    if (options.dump || options.svg)
        status = dump_frame(model, &options);
    else if (options.print)
        status = print(model, &options);
    else if (options.diff)
        status = diff(model, &options);
    else if (options.plain)
        status = talk(model, &options);
    return finish(model, &options, status);
}
