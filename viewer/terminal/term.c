/* SPDX-License-Identifier: Apache-2.0 */
/* The only file that uses curses. crash_restore.c gets what a crash needs. */
#define NCURSES_WIDECHAR 1
#include "viewer/terminal/term.h"

#include "hal/base/os.h"
#include "viewer/terminal/clipboard.h"
#include "viewer/terminal/crash_restore.h"
#include "viewer/terminal/shell.h"
#include "viewer/terminal/signals.h"
#include "viewer/text/text.h"

#include <curses.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#undef columns /* one of many macros of term.h */

/* A report of the pointer that has begun to come in. */
struct report {
    bool is_open;
    int which, numbers[3];
};

static struct {
    struct view_term_options options;
    SCREEN *curses;
    struct view_screen shown;
    bool has_shown;
    int colors; /* in use */
    struct view_pointer last_click;
    int64_t last_click_ns;
    bool has_mouse;
    bool is_down; /* the left button is held */
    struct report report;
} term;

enum { KEY_REPORT = KEY_MAX + 100 }; /* of the pointer */

/* ---- Colours ------------------------------------------------------------------------------ */

/* Terminals whose colours are their red, green and blue: xterm-direct and its like. */
#if defined NCURSES_EXT_COLORS && NCURSES_EXT_COLORS
#define HAS_TRUE_COLORS 1
#else
#define HAS_TRUE_COLORS 0
#endif

static int choose_colors(int wanted)
{
    if (wanted == 0 || !has_colors() || start_color() != OK)
        return 0;
    use_default_colors();
    const int available = COLORS >= VIEW_TRUE_COLORS && HAS_TRUE_COLORS ? VIEW_TRUE_COLORS
                          : COLORS >= 256                               ? 256
                          : COLORS >= 16                                ? 16
                          : COLORS >= 8                                 ? 8
                                                                        : 0;
    const int colors = wanted > 0 && wanted < available ? wanted : available;
    for (int style = 0; style < VIEW_STYLE_COUNT && colors; style++) {
        const struct view_color color = view_style_color((enum view_style)style);
        const int number = view_style_number((enum view_style)style, colors);
#if HAS_TRUE_COLORS
        if (colors == VIEW_TRUE_COLORS) {
            const int rgb = color.red << 16 | color.green << 8 | color.blue;
            init_extended_pair(style + 1, number < 0 ? -1 : rgb, -1);
            continue;
        }
#endif
        init_pair((short)(style + 1), (short)number, -1);
    }
    return colors;
}

static attr_t attributes_of(uint32_t style)
{
    const unsigned role = style & VIEW_STYLE_MASK;
    attr_t attributes = 0;
    if (style & VIEW_BOLD)
        attributes |= A_BOLD;
    if (style & VIEW_UNDERLINE)
        attributes |= A_UNDERLINE;
    if (style & VIEW_REVERSE)
        attributes |= A_REVERSE;
    if (!term.colors && role == VIEW_STYLE_SELECT) /* apart from reversed neighbours */
        attributes = (attributes & ~(attr_t)A_REVERSE) | A_BOLD | A_UNDERLINE;
    if (term.colors ? view_style_is_faint((enum view_style)role, term.colors)
                    : role == VIEW_STYLE_DIM)
        attributes |= A_DIM;
    return attributes;
}

/* ---- Life --------------------------------------------------------------------------------- */

/* What makes a terminal usable again, in case of a crash. */
static void prepare_crash_restore(void)
{
    static const char *const names[] = {"rmcup", "cnorm", "sgr0", "rmkx"};
    char sequence[256] = "";
    size_t length = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = tigetstr(names[i]);
        if (!text || text == (const char *)-1 || strlen(text) > sizeof sequence - length - 40)
            continue;
        memcpy(sequence + length, text, strlen(text) + 1);
        length += strlen(text);
    }
    snprintf(sequence + length, sizeof sequence - length, "\033[?1000l\033[?1002l\033[?1006l\r\n");
    view_crash_restore_prepare(sequence);
}

/* Reports arrive in a modern form, which curses garbles if they follow each other quickly, as in
 * dragging: they are parsed here. The old form is left to curses. */
void view_term_set_mouse(bool on)
{
    const char *text = tigetstr("kmous");
    term.is_down = false;
    term.has_mouse = on;
    if (!text || text == (const char *)-1)
        return;
    if (strcmp(text, "\033[<") != 0) {
        mousemask(on ? BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED : 0, NULL);
        mouseinterval(0);
    }
    define_key("\033[<", KEY_REPORT);
    fputs(on ? "\033[?1000h\033[?1002h\033[?1006h" : "\033[?1006l\033[?1002l\033[?1000l", stdout);
    fflush(stdout);
}

/* The description of the same terminal with true colour (tmux-direct for tmux-256color), if the
 * terminal claims to support it and the system has such a description. */
static const char *direct_name(const char *name, int colors, char *out, size_t bytes)
{
    const char *says = getenv("COLORTERM");
    const char *tail = name ? strstr(name, "-256color") : NULL;
    const bool wanted =
        colors == VIEW_TRUE_COLORS ||
        (colors < 0 && says && (strcmp(says, "truecolor") == 0 || strcmp(says, "24bit") == 0));
    int known = 0;
    if (!wanted || !HAS_TRUE_COLORS || !tail || tail[strlen("-256color")])
        return NULL;
    if (snprintf(out, bytes, "%.*s-direct", (int)(tail - name), name) >= (int)bytes ||
        setupterm(out, STDOUT_FILENO, &known) != OK)
        return NULL;
    del_curterm(cur_term);
    return out;
}

enum hal_status view_term_open(const struct view_term_options *options)
{
    const char *name = getenv("TERM");
    char direct[64];
    term.options = *options;
    if (!view_crash_restore_keep_modes())
        return hal_fail(HAL_UNSUPPORTED, "standard input is not a terminal: use --print");
    int known = 0;
    if (setupterm(NULL, STDOUT_FILENO, &known) == OK) {
        del_curterm(cur_term);
        term.curses =
            newterm(direct_name(name, options->colors, direct, sizeof direct), stdout, stdin);
    }
    if (!term.curses)
        return hal_fail(HAL_UNSUPPORTED, "the terminal '%s' is unknown: set TERM, or use --print",
                        name ? name : "");
    if (!tigetstr("cup") || tigetstr("cup") == (char *)-1) {
        view_term_close();
        return hal_fail(HAL_UNSUPPORTED, "the terminal '%s' cannot move its cursor: use --print",
                        name ? name : "");
    }
    cbreak();
    noecho();
    nonl();
    intrflush(stdscr, FALSE);
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    if (!getenv("ESCDELAY"))
        set_escdelay(25);
    term.colors = choose_colors(options->colors);
    view_term_set_mouse(options->mouse);
    view_signals_take();
    prepare_crash_restore();
    return HAL_OK;
}

/* Terminals without a second screen keep the frame: their prompt comes below it. */
static void leave_screen(void)
{
    move(LINES - 1, 0);
    attr_set(0, 0, NULL);
    clrtoeol();
    refresh();
    endwin();
}

void view_term_close(void)
{
    if (!term.curses)
        return;
    view_term_set_mouse(false);
    leave_screen();
    delscreen(term.curses);
    view_crash_restore_end();
    view_screen_finish(&term.shown);
    memset(&term, 0, sizeof term);
    view_signals_end();
}

void view_term_size(int *out_rows, int *out_columns)
{
    getmaxyx(stdscr, *out_rows, *out_columns);
}

void view_term_forget(void)
{
    term.has_shown = false;
}

/* ---- Drawing ------------------------------------------------------------------------------ */

static void draw_run(const struct view_cell *cells, int row, int from, int to)
{
    wchar_t text[256];
    size_t length = 0;
    const uint32_t style = cells[from].style;
    attr_set(attributes_of(style), term.colors ? (short)((style & VIEW_STYLE_MASK) + 1) : (short)0,
             NULL);
    move(row, from);
    for (int column = from; column < to; column++) {
        const uint32_t character = cells[column].character;
        if (character)
            text[length++] = term.options.ascii ? (wchar_t)(unsigned char)view_ascii(character)
                                                : (wchar_t)character;
        else if (term.options.ascii)
            text[length++] = L' ';
        if (length == sizeof text / sizeof *text || column + 1 == to) {
            addnwstr(text, (int)length);
            length = 0;
        }
    }
}

/* Wide characters are drawn whole: a changed half takes the other one along. */
static void draw_row(const struct view_screen *screen, int row, int first, int last)
{
    const struct view_cell *cells = view_screen_cell(screen, row, 0);
    while (first > 0 && cells[first].character == 0)
        first--;
    while (last + 1 < screen->columns && cells[last + 1].character == 0)
        last++;
    for (int from = first, to; from <= last; from = to) {
        for (to = from + 1; to <= last && cells[to].style == cells[from].style;)
            to++;
        draw_run(cells, row, from, to);
    }
}

void view_term_draw(const struct view_screen *screen)
{
    const bool fits =
        term.has_shown && term.shown.rows == screen->rows && term.shown.columns == screen->columns;
    if (!fits && view_screen_resize(&term.shown, screen->rows, screen->columns) != HAL_OK)
        return;
    if (!fits)
        clear();
    for (int row = 0; row < screen->rows; row++) {
        int first = 0, last = screen->columns - 1;
        if (!fits || view_screen_row_differs(&term.shown, screen, row, &first, &last))
            draw_row(screen, row, first, last);
    }
    memcpy(term.shown.cells, screen->cells,
           (size_t)screen->rows * (size_t)screen->columns * sizeof *screen->cells);
    term.has_shown = true;
    const bool cursor = screen->cursor_row >= 0 && screen->cursor_column >= 0;
    curs_set(cursor);
    if (cursor)
        move(screen->cursor_row, screen->cursor_column);
    refresh();
}

void view_term_copy(const char *text)
{
    view_clipboard_write(stdout, text);
}

/* ---- Input -------------------------------------------------------------------------------- */

/* As if the program began to draw only now. */
static void come_back(void)
{
    reset_prog_mode();
    view_term_set_mouse(term.has_mouse);
    view_term_forget();
    clearok(stdscr, TRUE);
    view_signals.resized = 1; /* whatever happened meanwhile */
}

static void go_away(void)
{
    const bool had_mouse = term.has_mouse;
    def_prog_mode();
    view_term_set_mouse(false);
    term.has_mouse = had_mouse;
    leave_screen();
}

static void stop_here(void)
{
    go_away();
    view_signals_stop();
    come_back();
}

int view_term_run(const char *command)
{
    go_away();
    const int result = view_shell_run(command);
    come_back();
    return result;
}

static void take_size(void)
{
    struct winsize size;
    view_signals.resized = 0;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
        resizeterm(size.ws_row, size.ws_col);
    view_term_forget();
}

static void note_click(struct view_pointer *pointer)
{
    enum { DOUBLE_CLICK_NS = 400000000 };
    const int64_t now_ns = hal_clock_ns();
    const bool twice = now_ns - term.last_click_ns < DOUBLE_CLICK_NS &&
                       pointer->row == term.last_click.row &&
                       pointer->column == term.last_click.column;
    pointer->kind = twice ? VIEW_POINTER_DOUBLE : VIEW_POINTER_CLICK;
    term.last_click = *pointer;
    term.last_click_ns = twice ? 0 : now_ns;
}

/* The event of a complete report. */
static struct view_term_event pointer_of(const struct report *report, bool is_pressed)
{
    enum { BUTTON = 3, SHIFT = 4, MODIFIERS = 28, MOTION = 32, WHEEL = 64 };
    const int button = report->numbers[0] & ~MODIFIERS;
    const bool is_shifted = report->numbers[0] & SHIFT;
    struct view_term_event event = {.kind = VIEW_TERM_POINTER};
    event.pointer.column = report->numbers[1] - 1;
    event.pointer.row = report->numbers[2] - 1;
    if (button == WHEEL)
        event.pointer.kind = is_shifted ? VIEW_POINTER_LEFT : VIEW_POINTER_IN;
    else if (button == WHEEL + 1)
        event.pointer.kind = is_shifted ? VIEW_POINTER_RIGHT : VIEW_POINTER_OUT;
    else if (button == MOTION && term.is_down)
        event.pointer.kind = VIEW_POINTER_DRAG;
    else if (button == 0 && is_pressed)
        note_click(&event.pointer);
    else
        event.kind = VIEW_TERM_NOTHING;
    if ((button & BUTTON) == 0 && button < WHEEL)
        term.is_down = is_pressed;
    return event;
}

/* "0;30;6M" after the key: button, column, row, and whether it was pressed. On a slow line the rest
 * arrives later; a character that does not belong to a report ends it. */
static struct view_term_event take_report(void)
{
    enum { LARGEST = 100000 };
    struct report *report = &term.report;
    wint_t key = 0;
    while (report->is_open) {
        if (get_wch(&key) != OK)
            break;
        int *number = &report->numbers[report->which];
        if (key >= '0' && key <= '9' && *number < LARGEST) {
            *number = *number * 10 + (int)(key - '0');
            continue;
        }
        if (key == ';' && report->which < 2) {
            report->which++;
            continue;
        }
        report->is_open = false;
        if ((key == 'M' || key == 'm') && report->which == 2)
            return pointer_of(report, key == 'M');
    }
    return (struct view_term_event){.kind = VIEW_TERM_NOTHING};
}

static struct view_term_event pointer_event(void)
{
    struct view_term_event event = {.kind = VIEW_TERM_NOTHING};
    MEVENT mouse;
    if (getmouse(&mouse) != OK)
        return event;
    event.kind = VIEW_TERM_POINTER;
    event.pointer.row = mouse.y;
    event.pointer.column = mouse.x;
    if (mouse.bstate & BUTTON4_PRESSED) {
        event.pointer.kind = VIEW_POINTER_IN;
    } else if (mouse.bstate & BUTTON5_PRESSED) {
        event.pointer.kind = VIEW_POINTER_OUT;
    } else if (mouse.bstate & BUTTON1_PRESSED) {
        note_click(&event.pointer);
    } else {
        event.kind = VIEW_TERM_NOTHING;
    }
    return event;
}

static int named_key(wint_t key)
{
    switch (key) {
    case KEY_UP: return VIEW_KEY_UP;
    case KEY_DOWN: return VIEW_KEY_DOWN;
    case KEY_LEFT: return VIEW_KEY_LEFT;
    case KEY_RIGHT: return VIEW_KEY_RIGHT;
    case KEY_PPAGE: return VIEW_KEY_PAGE_UP;
    case KEY_NPAGE: return VIEW_KEY_PAGE_DOWN;
    case KEY_HOME: return VIEW_KEY_HOME;
    case KEY_END: return VIEW_KEY_END;
    case KEY_BTAB: return VIEW_KEY_BACK_TAB;
    case KEY_ENTER: return VIEW_KEY_ENTER;
    case KEY_DC: return VIEW_KEY_DELETE;
    case KEY_BACKSPACE: return VIEW_KEY_BACKSPACE;
    default: return VIEW_KEY_NONE;
    }
}

/* What curses has already; VIEW_TERM_NOTHING: it needs more input. */
static struct view_term_event pending_event(void)
{
    struct view_term_event event = {.kind = VIEW_TERM_NOTHING};
    wint_t key;
    if (term.report.is_open)
        return take_report();
    const int kind = get_wch(&key);
    if (kind == KEY_CODE_YES && key == KEY_REPORT) {
        term.report = (struct report){.is_open = true};
        return take_report();
    }
    if (kind == KEY_CODE_YES && key == KEY_MOUSE)
        return pointer_event();
    if (kind == KEY_CODE_YES && key == KEY_RESIZE) {
        event.kind = VIEW_TERM_REDRAW;
        return event;
    }
    if (kind == KEY_CODE_YES)
        event.key = named_key(key);
    else if (kind == OK)
        event.key = key == L'\r' ? VIEW_KEY_ENTER : key == 8 ? VIEW_KEY_BACKSPACE : (int)key;
    if (event.key != VIEW_KEY_NONE)
        event.kind = VIEW_TERM_KEY;
    return event;
}

/* False: the terminal is gone. */
static bool wait_for_input(int64_t wait_ns)
{
    const struct timespec limit = {.tv_sec = (time_t)(wait_ns / 1000000000),
                                   .tv_nsec = (long)(wait_ns % 1000000000)};
    fd_set input; /* not every system's poll supports terminals */
    int bytes = 0;
    FD_ZERO(&input);
    FD_SET(STDIN_FILENO, &input);
    const int ready = pselect(STDIN_FILENO + 1, &input, NULL, NULL, wait_ns < 0 ? NULL : &limit,
                              view_signals_while_waiting());
    if (ready <= 0)
        return ready == 0 || errno == EINTR;
    return ioctl(STDIN_FILENO, FIONREAD, &bytes) == 0 && bytes > 0;
}

struct view_term_event view_term_read(int64_t wait_ns)
{
    const int64_t until_ns = wait_ns > 0 ? hal_clock_ns() + wait_ns : 0;
    for (;;) {
        if (view_signals.ended)
            return (struct view_term_event){.kind = VIEW_TERM_END};
        if (view_signals.stopped)
            stop_here();
        if (view_signals.resized) {
            take_size();
            return (struct view_term_event){.kind = VIEW_TERM_REDRAW};
        }
        const struct view_term_event event = pending_event();
        if (event.kind != VIEW_TERM_NOTHING || wait_ns == 0)
            return event;
        if (view_signals.ended || view_signals.stopped || view_signals.resized)
            continue; /* ThreadSanitizer runs handlers some calls after the one that they end */
        if (!wait_for_input(wait_ns))
            return (struct view_term_event){.kind = VIEW_TERM_END};
        if (wait_ns > 0) /* what came meanwhile is taken without waiting */
            wait_ns = hal_clock_ns() < until_ns ? until_ns - hal_clock_ns() : 0;
    }
}
