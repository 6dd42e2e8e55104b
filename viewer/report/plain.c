/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/report/plain.h"

#include "hal/base/mem.h"
#include "viewer/text/text.h"
#include "viewer/ui/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_ROWS = 20, PANEL_ROWS = 400, LINE_BYTES = 1024 };

struct plain {
    struct view *view;
    const struct view_plain_options *options;
    struct view_screen screen;
    FILE *out;
    size_t next_row; /* of the list that was shown last */
};

/* One line, cleaned as cells are: whatever the file calls things. */
static enum hal_status write_line(struct plain *p, const char *text)
{
    HAL_TRY(view_screen_resize(&p->screen, 1, 1000));
    view_screen_clear(&p->screen);
    view_write(view_area_all(&p->screen), 0, 0, VIEW_STYLE_TEXT, text);
    view_screen_write_text(&p->screen, p->out, (struct view_text_form){.ascii = p->options->ascii});
    return HAL_OK;
}

/* ---- Where we are ------------------------------------------------------------------------- */

static enum hal_status write_place(struct plain *p)
{
    struct view *view = p->view;
    struct view_span selected;
    const struct view_span *event = view_selected(view, &selected);
    char track[64] = "no track", label[160], line[400];
    if (view->track != VIEW_NO_TRACK)
        view_track_name(view->model, &view->model->tracks[view->track], track, sizeof track);
    if (!event) {
        snprintf(line, sizeof line, "%s, nothing selected, at %s", track,
                 hal_moment_text(view->cursor_ns).text);
        return write_line(p, line);
    }
    view_span_label(view->model, &view->model->tracks[view->track], event, label, sizeof label);
    snprintf(
        line, sizeof line, "%s, %s, at %s%s%s%s%s", track, label,
        hal_moment_text(event->begin_ns).text, event->end_ns > event->begin_ns ? ", took " : "",
        event->end_ns > event->begin_ns ? hal_duration_text(event->end_ns - event->begin_ns).text
                                        : "",
        event->flags & VIEW_SPAN_FAILED ? ", failed" : "",
        event->flags & VIEW_SPAN_OPEN ? ", not ended in this file" : "");
    return write_line(p, line);
}

/* ---- Panels ------------------------------------------------------------------------------- */

static enum hal_status write_list(struct plain *p, const struct view_list *list, size_t from)
{
    char row[512], line[600];
    const size_t count = list->count(p->view), current = list->current(p->view);
    const size_t to = count - from < LIST_ROWS ? count : from + LIST_ROWS;
    if (!count)
        return write_line(p, "none");
    view_list_text(p->view, list, SIZE_MAX, row, sizeof row);
    HAL_TRY(write_line(p, row));
    for (size_t i = from; i < to; i++) {
        view_list_text(p->view, list, i, row, sizeof row);
        snprintf(line, sizeof line, "%s%s", row, i == current ? "  (selected)" : "");
        HAL_TRY(write_line(p, line));
    }
    p->next_row = to;
    if (to == count)
        return HAL_OK;
    snprintf(line, sizeof line, "%zu to %zu of %zu: more shows the next ones", from + 1, to, count);
    return write_line(p, line);
}

/* As it is drawn on a screen that is high enough. */
static enum hal_status write_drawn(struct plain *p, const struct view_pane *pane)
{
    const int rows = PANEL_ROWS;
    HAL_TRY(view_screen_resize(&p->screen, rows, p->options->width));
    view_screen_clear(&p->screen);
    pane->draw(p->view, view_area_all(&p->screen));
    int last = rows - 1;
    for (bool blank = true; last > 0 && blank; last -= blank) {
        for (int column = 0; column < p->screen.columns && blank; column++)
            blank = view_screen_cell(&p->screen, last, column)->character == ' ';
    }
    p->screen.rows = last + 1;
    view_screen_write_text(&p->screen, p->out, (struct view_text_form){.ascii = p->options->ascii});
    p->screen.rows = rows;
    return HAL_OK;
}

static enum hal_status write_panel(struct plain *p)
{
    const struct view_pane *pane = view_panel_pane(p->view, p->view->panel);
    p->view->scroll = 0;
    if (!pane->list || !pane->list->row)
        return write_drawn(p, pane);
    const size_t current = pane->list->current(p->view);
    return write_list(p, pane->list, current == SIZE_MAX ? 0 : current / LIST_ROWS * LIST_ROWS);
}

static enum hal_status write_more(struct plain *p)
{
    const struct view_list *list = view_panel_pane(p->view, p->view->panel)->list;
    if (!list || !list->row || p->next_row >= list->count(p->view))
        return write_line(p, "there are no more");
    return write_list(p, list, p->next_row);
}

/* ---- Commands ----------------------------------------------------------------------------- */

static enum hal_status write_help(struct plain *p)
{
    char line[200];
    HAL_TRY(write_line(
        p, "Words may be shortened: n g is next gap. An empty line shows the position."));
    HAL_TRY(write_line(p, "where               what is selected, and when"));
    HAL_TRY(write_line(p, "more                rows of the list"));
    for (const struct view_command *c = view_commands; c->name; c++) {
        snprintf(line, sizeof line, "%-19s %s", c->name, c->help);
        HAL_TRY(write_line(p, line));
    }
    return HAL_OK;
}

static bool is(const char *text, const char *word)
{
    return hal_same_letters(text, word, SIZE_MAX);
}

/* Whether the command is about a panel: then that is what the answer shows. */
static bool is_of_panel(const struct view_command *command)
{
    return strchr("123456789SJK", command->keys[0]) != NULL;
}

/* What there is to choose from. */
static enum hal_status write_menu(struct plain *p)
{
    const struct view_menu *menu = p->view->menu;
    char choice[160], line[200];
    snprintf(line, sizeof line, "%s: choose a number", menu->title);
    HAL_TRY(write_line(p, line));
    for (size_t i = 0; i < view_menu_count(p->view); i++) {
        view_menu_text(p->view, i, choice, sizeof choice);
        snprintf(line, sizeof line, "%zu %s", i + 1, choice);
        HAL_TRY(write_line(p, line));
    }
    return HAL_OK;
}

/* A number; anything else closes the menu and is what it is. */
static bool choose(struct plain *p, const char *text)
{
    char *end;
    const unsigned long number = strtoul(text, &end, 10);
    const bool is_number = end > text && !*end && number > 0;
    if (is_number)
        view_menu_choose(p->view, number - 1);
    else
        p->view->menu = NULL;
    if (p->view->prompt == &view_run_prompt)
        view_key(p->view, VIEW_KEY_ENTER);
    return is_number;
}

static enum hal_status answer(struct plain *p, const char *text)
{
    struct view *view = p->view;
    view->message[0] = '\0';
    if (view->menu && choose(p, text)) {
        if (*view->message)
            HAL_TRY(write_line(p, view->message));
        return view->menu ? write_menu(p) : HAL_OK;
    }
    if (!*text || is(text, "where"))
        return write_place(p);
    if (is(text, "more"))
        return write_more(p);
    if (is(text, "help"))
        return write_help(p);
    if (is(text, "quit")) {
        view->quit = true;
        return HAL_OK;
    }
    view->message[0] = '\0';
    const struct view_command *done = view_command_run(view, text);
    if (*view->message)
        HAL_TRY(write_line(p, view->message));
    if (!done)
        return HAL_OK;
    if (view->menu)
        return write_menu(p);
    /* A jump opens the details, which are printed here only on request. */
    return is_of_panel(done) ? write_panel(p) : write_place(p);
}

/* Layout and lists get their sizes from a frame. */
static enum hal_status draw_frame(struct plain *p)
{
    HAL_TRY(view_screen_resize(&p->screen, 50, p->options->width));
    view_draw(p->view, &p->screen);
    return HAL_OK;
}

static enum hal_status answer_all(struct plain *p, FILE *in)
{
    char line[LINE_BYTES];
    while (!p->view->quit) {
        if (p->options->prompt)
            fputs("hal-view> ", p->out);
        fflush(p->out);
        if (!fgets(line, sizeof line, in))
            return HAL_OK;
        size_t length = strcspn(line, "\n");
        if (line[length] != '\n' && length == sizeof line - 1) {
            for (int c; (c = fgetc(in)) != EOF && c != '\n';)
                ;
            HAL_TRY(write_line(p, "this line is too long"));
            continue;
        }
        while (length > 0 && strchr(" \t\r", line[length - 1]))
            length--;
        line[length] = '\0';
        HAL_TRY(answer(p, line + strspn(line, " \t")));
        HAL_TRY(draw_frame(p));
    }
    return HAL_OK;
}

enum hal_status view_plain(struct view *view, const struct view_plain_options *options, FILE *in,
                           FILE *out)
{
    struct plain p = {.view = view, .options = options, .out = out};
    enum hal_status status = draw_frame(&p);
    if (status == HAL_OK)
        status = draw_frame(&p);
    if (status == HAL_OK && options->prompt)
        status = write_line(&p, "Type help for the commands, quit to leave.");
    if (status == HAL_OK)
        status = write_place(&p);
    if (status == HAL_OK)
        status = answer_all(&p, in);
    view_screen_finish(&p.screen);
    if (status == HAL_OK && (fflush(out) != 0 || ferror(out)))
        return hal_fail(HAL_IO, "cannot write: %s", strerror(errno));
    return status;
}
