/* SPDX-License-Identifier: Apache-2.0 */
/* The interactive view of a model: which part is shown, and what keys do. Needs no terminal: keys
 * and pointer events are numbers, and frames are drawn into a screen.
 *
 *     view_create(model, &view);
 *     view_type(view, "wwl]");             as if these keys were hit
 *     view_screen_resize(&screen, 32, 120);
 *     view_draw(view, &screen);
 *
 * The cursor is a moment and the selection an event: both stay when the window or the screen size
 * changes. One thread at a time. */
#ifndef VIEWER_VIEW_H
#define VIEWER_VIEW_H

#include "viewer/describe/describe.h"
#include "viewer/grid/screen.h"
#include "viewer/model/model.h"

/* ---- Keys --------------------------------------------------------------------------------- */

/* Characters represent themselves. */
enum view_key {
    VIEW_KEY_NONE = 0,
    VIEW_KEY_TAB = '\t',
    VIEW_KEY_ENTER = '\n',
    VIEW_KEY_REDO = 'R' - '@',     /* Ctrl-r */
    VIEW_KEY_TO_BEGIN = 'A' - '@', /* of the input line, as in other programs */
    VIEW_KEY_TO_END = 'E' - '@',
    VIEW_KEY_CUT_END = 'K' - '@',
    VIEW_KEY_CUT_BEGIN = 'U' - '@',
    VIEW_KEY_CUT_WORD = 'W' - '@',
    VIEW_KEY_ESCAPE = 27,
    VIEW_KEY_BACKSPACE = 127,
    VIEW_KEY_UP = 0x110000,
    VIEW_KEY_DOWN,
    VIEW_KEY_LEFT,
    VIEW_KEY_RIGHT,
    VIEW_KEY_PAGE_UP,
    VIEW_KEY_PAGE_DOWN,
    VIEW_KEY_HOME,
    VIEW_KEY_END,
    VIEW_KEY_BACK_TAB,
    VIEW_KEY_DELETE,
    VIEW_KEY_COUNT
};

enum view_pointer_kind {
    VIEW_POINTER_CLICK,
    VIEW_POINTER_DOUBLE,
    VIEW_POINTER_DRAG, /* moved with the button down */
    VIEW_POINTER_IN,
    VIEW_POINTER_OUT,
    VIEW_POINTER_LEFT,
    VIEW_POINTER_RIGHT
};

struct view_pointer {
    enum view_pointer_kind kind; /* in, out: the wheel; left, right: with Shift */
    int row, column;
};

/* ---- The state ---------------------------------------------------------------------------- */

enum { VIEW_HISTORY = 64, VIEW_PROMPT_BYTES = 1024, VIEW_BOOKMARKS = 26, VIEW_VISITED = 64 };

struct view_window {
    int64_t begin_ns, span_ns;
};

/* The latest one is last. */
struct view_history {
    struct view_window list[VIEW_HISTORY];
    int count;
};

enum view_panel {
    VIEW_PANEL_SUMMARY,
    VIEW_PANEL_DETAILS,
    VIEW_PANEL_SUBMISSIONS,
    VIEW_PANEL_GAPS,
    VIEW_PANEL_FINDINGS,
    VIEW_PANEL_KERNELS,
    VIEW_PANEL_MEMORY,
    VIEW_PANEL_ITERATIONS,
    VIEW_PANEL_CONTENTS,
    VIEW_PANEL_DIFFERENCE, /* only with another trace */
    VIEW_PANEL_COUNT
};

/* What dragging moves. */
enum view_drag { VIEW_DRAG_NONE, VIEW_DRAG_RANGE, VIEW_DRAG_WINDOW };

/* None; its end follows the cursor; both ends set. */
enum view_range_state { VIEW_RANGE_NONE, VIEW_RANGE_OPEN, VIEW_RANGE_SET };

/* How far lines go from the selected event. */
enum view_flow { VIEW_FLOW_NEIGHBOURS, VIEW_FLOW_CHAIN, VIEW_FLOW_NONE, VIEW_FLOW_COUNT };

/* A previous selection. */
struct view_visited {
    uint32_t track, event;
};

/* Screen layout of the last frame. */
struct view_layout {
    struct view_area title, overview, ruler, tracks, bar, panel, status;
    int gutter;      /* columns of track names, left of the time axis */
    int meters;      /* rows of counters, the last ones of the tracks */
    int axis;        /* columns of the time axis, at least 1 */
    bool short_tabs; /* the panels' names do not fit */
    bool side;       /* the panel is beside the tracks, not below */
};

/* File formats for a frame. */
enum view_picture { VIEW_PICTURE_NONE, VIEW_PICTURE_SVG, VIEW_PICTURE_TEXT, VIEW_PICTURE_ANSI };

struct view;

/* Operations longer than a frame: job.h. */
enum view_job_kind {
    VIEW_JOB_FINDINGS,
    VIEW_JOB_FILTER,
    VIEW_JOB_KERNELS,
    VIEW_JOB_ITERATIONS,
    VIEW_JOB_PATH,
    VIEW_JOB_RANGE,
    VIEW_JOB_SORT, /* of submissions; the others likewise */
    VIEW_JOB_SORT_GAPS,
    VIEW_JOB_SORT_BUFFERS,
    VIEW_JOB_SORT_ITERATIONS,
    VIEW_JOB_SORT_KERNELS,
    VIEW_JOB_SORT_FINDINGS,
    VIEW_JOB_COUNTERS,
    VIEW_JOB_DIFFERENCE,
    VIEW_JOB_READING, /* of a file that grew: follow.c */
    VIEW_JOB_RELEASE,
    VIEW_JOB_COUNT
};

struct view {
    const struct view_model *model;
    const struct view_pane *const *parts; /* by enum view_part: panes.h */
    void **states;                        /* of the parts */

    struct view_window window;
    struct view_history past, future;
    int moved_by; /* key of the last window change: repeats are one history step */

    int64_t skipped_ns; /* a long begin without work, outside of the first window */
    int64_t cursor_ns;
    uint32_t track;             /* the current one; VIEW_NO_TRACK: none */
    uint32_t event;             /* the selected event of that track, or VIEW_NO_REF */
    bool *open;                 /* by track: expanded */
    uint32_t *places;           /* all tracks in display order */
    bool *hidden, *pinned;      /* by track; pinned ones come first and do not scroll */
    struct view_filter *filter; /* NULL: everything is shown */
    void (*next_key)(struct view *view,
                     int key); /* handles the next key, whatever it is; or NULL */
    enum view_range_state range;
    int64_t range_begin_ns, range_end_ns;
    uint32_t first_row;
    struct view_visited visited[VIEW_VISITED]; /* the latest one is last */
    int visited_count;

    enum view_panel panel;
    bool panel_full, help;
    int scroll;                    /* of the panel or help, in lines */
    struct view_job *jobs;         /* running, latest first */
    uint64_t jobs_from;            /* jobs that examine fewer things run synchronously */
    bool given_up[VIEW_JOB_COUNT]; /* until the result is requested again */
    bool is_live;                  /* interactive: the caller calls view_poll */
    int track_height;              /* screen rows per track */

    const struct view_menu *menu; /* the open one, or NULL */
    size_t menu_row;
    const struct view_prompt *prompt; /* the active one, or NULL */
    char typed[VIEW_PROMPT_BYTES];
    size_t typed_at; /* position of the next character */
    char message[512];

    struct view_layout layout;
    uint64_t keys; /* number pressed so far */
    enum view_drag drag;
    int64_t drag_ns; /* the moment where it began */
    bool mouse, quit;
    bool following; /* the file is still being written, and followed */
    bool wants_redraw;
    bool wants_run; /* of `command`: the screen's owner gives the screen to it */
    char command[VIEW_PROMPT_BYTES];
    enum view_picture wants_picture; /* of the frame, as a file: the screen's owner writes it */
    char copied[512]; /* for the clipboard; the screen's owner sends and empties it */
    uint64_t frames;  /* drawn so far */
    bool show_frames;
};

enum hal_status view_create(const struct view_model *model, struct view **out_view) HAL_CHECKED;
void view_destroy(struct view *view);

/* Takes completed background results, and does one step of work between frames; false: nothing was
 * pending, the last frame is up to date. */
bool view_poll(struct view *view);
/* Whether more steps are pending. */
bool view_has_steps(const struct view *view);

void view_key(struct view *view, int key);
void view_point(struct view *view, struct view_pointer pointer);

/* Keys as text: characters, and <Enter> <Tab> <Esc> <Space> <BS> <Up> <Down> <Left> <Right> <PgUp>
 * <PgDn> <Home> <End> <Del> <lt>, <C-r> and other letters with Ctrl. HAL_INVALID: unknown name. */
enum hal_status view_type(struct view *view, const char *keys) HAL_CHECKED;

/* Lays out for the screen's size and draws everything. */
void view_draw(struct view *view, struct view_screen *screen);

/* Draws overview, ruler and all tracks, from the first row down. */
void view_draw_timeline(struct view *view, struct view_screen *screen);

/* ---- Time and columns --------------------------------------------------------------------- */

static inline int64_t view_clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* The moment at which a column of an axis of `columns` begins. */
int64_t view_column_begin(struct view_window window, int columns, int column);

/* The column of a moment; -1 before the window, `columns` after it. */
int view_column_of(struct view_window window, int columns, int64_t ns);

/* The nearest allowed window: at least a nanosecond per column, inside the trace. */
struct view_window view_allowed_window(const struct view *view, int64_t begin_ns, int64_t span_ns);

/* Moves the window within the trace; `key` groups changes in the history. */
void view_set_window(struct view *view, int64_t begin_ns, int64_t span_ns, int key);

/* Goes to the previous window, or with `later` to the next one; false: none. */
bool view_window_again(struct view *view, bool later);

/* Makes a moment visible by the smallest movement. */
void view_reveal(struct view *view, int64_t ns, int key);

/* ---- Tracks and events --------------------------------------------------------------------- */

/* Whether the track has a row: its parent is expanded. */
bool view_track_shown(const struct view *view, uint32_t track);

/* The row on which the track is drawn, out of `rows`; -1: scrolled out of view. The track row drawn
 * there. */
int view_drawn_row(const struct view *view, uint32_t track, int rows);
uint32_t view_row_drawn(const struct view *view, int row);

/* Makes the track of that row, or of the nearest row, the current one. */
void view_go_to_row(struct view *view, int64_t row);

/* The number of shown tracks before this one: pinned ones come first. */
uint32_t view_row_of(const struct view *view, uint32_t track);
uint32_t view_row_count(const struct view *view);
/* VIEW_NO_TRACK: out of range. */
uint32_t view_track_of_row(const struct view *view, uint32_t row);

/* NULL: no selection. */
const struct view_span *view_selected(const struct view *view, struct view_span *out_span);

/* The submission that is selected or that the selected call made; or VIEW_NO_REF. */
uint32_t view_selected_submission(const struct view *view);

/* Selects it, and moves cursor and window to make it visible. */
void view_select(struct view *view, uint32_t track, uint32_t event);

/* Fits the selected event into the window; with its neighbours on the track. */
void view_fit(struct view *view);
void view_show_neighbours(struct view *view);

/* Moves the cursor; selects what the current track has there. */
void view_set_cursor(struct view *view, int64_t ns);

/* Shows the panel from its first line, and allows cancelled searches again. */
void view_show_panel(struct view *view, enum view_panel panel);

void view_say(struct view *view, const char *format, ...) HAL_PRINTF(2, 3);

#endif
