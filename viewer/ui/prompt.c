/* SPDX-License-Identifier: Apache-2.0 */
/* Typing a search, a filter, a moment, a command; and the row on which that is done. */
#include "viewer/ui/prompt.h"

#include "viewer/text/text.h"

#include <string.h>

void view_prompt_start(struct view *view, const struct view_prompt *prompt, const char *text)
{
    view->prompt = prompt;
    snprintf(view->typed, sizeof view->typed, "%s", text);
    view->typed_at = strlen(view->typed);
}

/* ---- Editing ------------------------------------------------------------------------------ */

static bool is_inside_character(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

static size_t one_back(const struct view *view)
{
    size_t at = view->typed_at;
    while (at > 0 && is_inside_character(view->typed[--at]))
        ;
    return at;
}

static size_t one_on(const struct view *view)
{
    size_t at = view->typed_at;
    if (view->typed[at])
        while (is_inside_character(view->typed[++at]))
            ;
    return at;
}

static size_t word_back(const struct view *view)
{
    size_t at = view->typed_at;
    while (at > 0 && view->typed[at - 1] == ' ')
        at--;
    while (at > 0 && view->typed[at - 1] != ' ')
        at--;
    return at;
}

static void cut(struct view *view, size_t begin, size_t end)
{
    memmove(view->typed + begin, view->typed + end, strlen(view->typed + end) + 1);
    view->typed_at = begin;
}

static void insert(struct view *view, int key)
{
    char bytes[4];
    const size_t count = view_utf8_write((uint32_t)key, bytes), length = strlen(view->typed);
    char *const at = view->typed + view->typed_at;
    if (length + count >= sizeof view->typed)
        return;
    memmove(at + count, at, length - view->typed_at + 1);
    memcpy(at, bytes, count);
    view->typed_at += count;
}

static void complete(struct view *view)
{
    view->prompt->complete(view->typed, sizeof view->typed);
    view->typed_at = strlen(view->typed);
}

/* What it is for may start another one. */
static void enter(struct view *view)
{
    const struct view_prompt *prompt = view->prompt;
    char text[VIEW_PROMPT_BYTES];
    memcpy(text, view->typed, sizeof text);
    view->prompt = NULL;
    prompt->enter(view, text);
}

void view_prompt_key(struct view *view, int key)
{
    const size_t length = strlen(view->typed);
    switch (key) {
    case VIEW_KEY_ESCAPE: view->prompt = NULL; break;
    case VIEW_KEY_ENTER: enter(view); break;
    case VIEW_KEY_LEFT: view->typed_at = one_back(view); break;
    case VIEW_KEY_RIGHT: view->typed_at = one_on(view); break;
    case VIEW_KEY_HOME:
    case VIEW_KEY_TO_BEGIN: view->typed_at = 0; break;
    case VIEW_KEY_END:
    case VIEW_KEY_TO_END: view->typed_at = length; break;
    case VIEW_KEY_BACKSPACE: cut(view, one_back(view), view->typed_at); break;
    case VIEW_KEY_DELETE: cut(view, view->typed_at, one_on(view)); break;
    case VIEW_KEY_CUT_WORD: cut(view, word_back(view), view->typed_at); break;
    case VIEW_KEY_CUT_BEGIN: cut(view, 0, view->typed_at); break;
    case VIEW_KEY_CUT_END: cut(view, view->typed_at, length); break;
    default:
        if (key == VIEW_KEY_TAB && view->prompt->complete)
            complete(view);
        else if (key < VIEW_KEY_UP && view_width((uint32_t)key) > 0)
            insert(view, key);
        break;
    }
}

static const struct view_binding bindings[] = {
    {0, 0, "Left Right", "one character; Home, End: to the begin, to the end", NULL},
    {0, 0, "Ctrl-W", "delete the word before the cursor", NULL},
    {0, 0, "Ctrl-U", "delete everything before the cursor; Ctrl-K: everything after it", NULL},
    {0, 0, NULL, NULL, NULL},
};

const struct view_pane view_prompt_part = {.name = "Typing", .bindings = bindings};

/* ---- Drawing ------------------------------------------------------------------------------ */

/* If a line is too long, shows its part before the cursor. */
static const char *shown_from(const struct view *view, int room, int *out_cursor)
{
    const char *text = view->typed, *const at = text + view->typed_at;
    *out_cursor = 0;
    while (text < at)
        *out_cursor += view_width(view_utf8_next(&text));
    for (text = view->typed; text < at && *out_cursor >= room;)
        *out_cursor -= view_width(view_utf8_next(&text));
    return text;
}

void view_prompt_draw(struct view *view, struct view_area area)
{
    const int begin = view_write(area, 0, 1, VIEW_STYLE_KEY | VIEW_BOLD, view->prompt->before);
    int cursor;
    const char *const text = shown_from(view, area.columns - begin, &cursor);
    const int end = view_write(area, 0, begin, VIEW_STYLE_TITLE, text);
    view_place_cursor(area, 0, begin + cursor);
    view_write(area, 0, end + 2, VIEW_STYLE_DIM, view->prompt->hint);
}
