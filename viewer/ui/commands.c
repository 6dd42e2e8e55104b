/* SPDX-License-Identifier: Apache-2.0 */
/* Actions by name, for the palette and line mode. A name maps to keys, which implement it. */
#include "viewer/ui/commands.h"

#include "hal/base/mem.h"
#include "viewer/text/text.h"
#include "viewer/ui/prompt.h"

#include <string.h>

const struct view_command view_commands[] = {
    {"next event", "]", false, "of the track"},
    {"previous event", "[", false, "of the track"},
    {"next gap", "}", false, "of the device"},
    {"previous gap", "{", false, "of the device"},
    {"next sync", ")", false, "a host thread waits for the device"},
    {"previous sync", "(", false, "a host thread waits for the device"},
    {"next kernel", ".", false, "submission with the same kernel"},
    {"previous kernel", ",", false, "submission with the same kernel"},
    {"next iteration", "t", false, ""},
    {"previous iteration", "T", false, ""},
    {"next finding", "!", false, ""},
    {"next match", "n", false, "of the search"},
    {"previous match", "N", false, "of the search"},
    {"producer", "<lt>", false, "what the event waited for"},
    {"consumer", ">", false, "what waited for the event"},
    {"back", "B", false, "to the previous selection"},
    {"lines", "e", false, "of neighbours, the whole chain, none"},
    {"critical path", "c", false, "critical path, on or off"},
    {"search", "/", true, "labels, by a regular expression"},
    {"filter", "&", true, "show only name~mul dur>50us queue=0 failed"},
    {"show everything", "\\", false, "no filter"},
    {"go", "g", true, "to 1.5ms, +250us, 50%, #s12, #s12.d4"},
    {"bookmark", "m", true, "the moment with a letter"},
    {"save bookmarks", "m<Enter>", false, "beside the trace, in TRACE.marks"},
    {"go to bookmark", "'", true, "with that letter"},
    {"first", "<Home>", false, "moment of the trace"},
    {"last", "<End>", false, "moment of the trace"},
    {"whole trace", "0", false, "zoom out to all of it"},
    {"fit", "f", false, "the selected event into the window"},
    {"zoom in", "w", false, "at the cursor"},
    {"zoom out", "s", false, "at the cursor"},
    {"zoom range", "z", false, "to the marked range"},
    {"range", "v", false, "begin it, or end it"},
    {"undo", "u", false, "the previous view"},
    {"redo", "<C-r>", false, "the next view"},
    {"track down", "j", false, ""},
    {"track up", "k", false, ""},
    {"hide track", "x", false, ""},
    {"hidden tracks", "X", false, "listed, to show them again"},
    {"order tracks", "o", false, "most work first, by name, one by one"},
    {"pin track", "*", false, "to the top, and back"},
    {"counters", "i", false, "below the tracks: waiting, in flight, bytes per second"},
    {"open", "<Space>", false, "or close the track"},
    {"summary", "1", false, "panel"},
    {"details", "2", false, "panel: all about the selection"},
    {"submissions", "3", false, "panel"},
    {"gaps", "4", false, "panel: when and why the device was idle"},
    {"findings", "5", false, "panel: what to look at first"},
    {"kernels", "6", false, "panel"},
    {"memory", "7", false, "panel: buffers"},
    {"iterations", "8", false, "panel"},
    {"contents", "9", false, "panel: bytes of the selected buffer"},
    {"type", "9C", false, "bytes as the next type"},
    {"next buffer", "9b", false, "with contents"},
    {"compare", "D", true, "with another trace"},
    {"columns", "C", false, "of the list: which are shown"},
    {"sort", "S", false, "the list by its next column"},
    {"down", "J", false, "in the panel"},
    {"up", "K", false, "in the panel"},
    {"full", "_", false, "the panel on the whole screen, and back"},
    {"copy", "y", false, "the locator of the selection"},
    {"copy command", "Y", false, "the finding's proof, the submission's replay, this place"},
    {"replay", "r", false, "the range or the selection, by hal-replay"},
    {"verify", "V", false, "every submission, by hal-replay"},
    {"what if", "I", false, "another way to do the same work is measured"},
    {"export", "E", false, "the range or the selection, by hal-trace"},
    {"picture", "p", false, "of the frame, into a new file hal-view-N.svg"},
    {"mouse", "M", false, "on or off"},
    {"help", "?", false, ""},
    {"quit", "q", false, ""},
    {NULL, NULL, false, NULL},
};

/* ---- Matching ----------------------------------------------------------------------------- */

static const char *skip_blanks(const char *text)
{
    while (*text == ' ')
        text++;
    return text;
}

static size_t word_length(const char *text)
{
    return strcspn(text, " ");
}

/* The word of a command's name as it is typed: "mark" is the older spelling of "bookmark". */
static const char *spelling(const char *name, const char *typed)
{
    return hal_same_letters(name, "bookmark", 8) && hal_same_letters(typed, "m", 1) ? name + 4
                                                                                    : name;
}

/* Whether every typed word begins the command's word in its place: 0: no, 1: yes, 2: all of its
 * words were typed in full. What follows those is the argument. */
static int match(const struct view_command *command, const char *text, const char **out_argument)
{
    const char *name = command->name;
    bool full = true;
    text = skip_blanks(text);
    while (*text && *name) {
        name = spelling(name, text);
        const size_t typed = word_length(text), length = word_length(name);
        if (typed > length || !hal_same_letters(text, name, typed))
            return 0;
        full = full && typed == length;
        text = skip_blanks(text + typed);
        name = skip_blanks(name + length);
    }
    *out_argument = text;
    if (*text && !command->takes_text)
        return 0;
    return full && !*name ? 2 : 1;
}

/* Whether every word of the text begins the word of the name in its place: "n g" is "next gap". */
static bool matches(const struct view_command *command, const char *text)
{
    const char *argument;
    return match(command, text, &argument) != 0;
}

/* Of several that were typed in full, the longest: "go to bookmark a" is no moment. */
static const struct view_command *find(const char *text, const char **out_argument,
                                       size_t *out_count)
{
    const struct view_command *best = NULL, *exact = NULL;
    const char *argument = "";
    *out_count = 0;
    for (const struct view_command *c = view_commands; c->name; c++) {
        const int how = match(c, text, &argument);
        if (!how)
            continue;
        ++*out_count;
        if (how == 2 && (!exact || strlen(c->name) > strlen(exact->name)))
            exact = c;
        best = best ? best : c;
    }
    best = exact ? exact : *out_count == 1 ? best : NULL;
    if (best)
        match(best, text, out_argument);
    return best;
}

/* "next event, next gap, ...", as many as fit. */
static void list_matches(const char *text, char *out, size_t bytes)
{
    size_t length = 0;
    out[0] = '\0';
    for (const struct view_command *c = view_commands; c->name; c++) {
        if (!matches(c, text))
            continue;
        const int added =
            snprintf(out + length, bytes - length, "%s%s", length ? ", " : "", c->name);
        if (added < 0 || (size_t)added >= bytes - length) {
            snprintf(bytes > 8 ? out + bytes - 8 : out, bytes > 8 ? 8 : bytes, ", ...");
            return;
        }
        length += (size_t)added;
    }
}

const struct view_command *view_command_run(struct view *view, const char *text)
{
    const char *argument = "";
    size_t count;
    const struct view_command *command = find(text, &argument, &count);
    if (!command) {
        char names[160];
        list_matches(text, names, sizeof names);
        if (count)
            view_say(view, "'%s' may be %s", text, names);
        else
            view_say(view, "unknown command '%s': help shows the known ones", text);
        return NULL;
    }
    if (command->takes_text && !*argument) {
        view_say(view, "%s what? %s", command->name, command->help);
        return NULL;
    }
    if (view_type(view, command->keys) != HAL_OK)
        return NULL;
    if (view->prompt == &view_run_prompt && !view->is_live)
        view_key(view, VIEW_KEY_ENTER); /* which says the command line */
    if (command->takes_text && view->next_key) {
        view_key(view, (unsigned char)*argument);
    } else if (command->takes_text) {
        view_prompt_start(view, view->prompt, argument);
        view_key(view, VIEW_KEY_ENTER);
    }
    return command;
}

/* ---- Completion --------------------------------------------------------------------------- */

/* Adds to what was typed whatever all commands that match have in common. */
static void complete(char *typed, size_t bytes)
{
    const struct view_command *only = NULL;
    size_t common = SIZE_MAX, count = 0;
    for (const struct view_command *c = view_commands; c->name; c++) {
        if (!matches(c, typed))
            continue;
        size_t same = 0;
        while (only && only->name[same] && only->name[same] == c->name[same])
            same++;
        common = !only ? strlen(c->name) : same < common ? same : common;
        only = only ? only : c;
        count++;
    }
    if (count == 1 && strlen(typed) <= strlen(only->name))
        snprintf(typed, bytes, "%s%s", only->name, only->takes_text ? " " : "");
    else if (count > 1 && common > strlen(typed))
        snprintf(typed, bytes, "%.*s", (int)common, only->name);
}

/* ---- The palette -------------------------------------------------------------------------- */

static void draw(struct view *view, struct view_area area)
{
    const int key_column = 22, help_column = 32;
    int row = 0, more = 0;
    for (const struct view_command *c = view_commands; c->name; c++) {
        if (!matches(c, view->typed))
            continue;
        if (row >= area.rows - 1) {
            more++;
            continue;
        }
        view_write_cut(area, row, 1, key_column - 2, VIEW_STYLE_KEY, c->name);
        view_write_cut(area, row, key_column, help_column - key_column - 1, VIEW_STYLE_TITLE,
                       c->keys);
        view_write_cut(area, row++, help_column, area.columns - help_column - 1, VIEW_STYLE_DIM,
                       c->help);
    }
    if (!row)
        view_write(area, 0, 1, VIEW_STYLE_BAD, "no such command");
    if (more)
        view_print(area, row, 1, VIEW_STYLE_DIM, "and %d more: Tab completes", more);
}

static const struct view_pane palette = {.name = "Commands", .draw = draw};

static void run(struct view *view, const char *text)
{
    if (*text)
        (void)view_command_run(view, text);
}

const struct view_prompt view_command_prompt = {.before = ":",
                                                .hint = "Tab completes, Enter, Esc",
                                                .enter = run,
                                                .complete = complete,
                                                .pane = &palette};
