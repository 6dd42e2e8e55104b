/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the screen, their keys, and the interfaces between the view's files. */
#ifndef VIEWER_PANES_H
#define VIEWER_PANES_H

#include "viewer/ui/sorting.h"
#include "viewer/ui/view.h"

struct view_binding {
    int key, alias; /* alias: a second key or VIEW_KEY_NONE */
    const char *shown, *help;
    void (*run)(struct view *view, int key);
    const struct view_prompt *prompt; /* starts this prompt instead */
    const struct view_menu *menu;     /* opens this menu instead */
};

/* A column of a list: its name and the screen column after it (0 for the last one). */
struct view_column {
    const char *name;
    int end;
};

/* The sort orders of a list: `by` indexes `names`. */
struct view_ordering {
    enum view_job_kind kind; /* VIEW_JOB_SORT... */
    const char *noun;        /* "gaps" */
    const char *const *names;
    int count;
    view_order_key *key;
};

/* The rows of a list in display order. */
struct view_order {
    const struct view_ordering *ordering;
    const void *of; /* the sort keys' data, which is immutable; NULL: not ready */
    size_t count;
    uint32_t *rows; /* NULL: unsorted */
    int by;         /* requested order */
    int shown_by;   /* displayed order until that is ready */
};

/* A list of rows, one of which belongs to the selection. */
struct view_list {
    const char *header;
    const struct view_column *columns; /* sorted; the last one's end is 0; NULL: all are shown */
    size_t (*count)(struct view *view);
    size_t (*current)(struct view *view); /* SIZE_MAX: none */
    void (*row)(struct view *view, size_t row, char *out, size_t bytes);
    void (*select)(struct view *view, size_t row);
    void (*missing)(struct view *view, char *out,
                    size_t bytes);                        /* why there are no rows, or NULL */
    struct view_order *(*order)(const struct view *view); /* NULL: only one order */
};

/* A menu of choices. Static rows need no functions. */
struct view_menu {
    const char *title;
    size_t rows;
    const char *const *texts;
    size_t (*count)(const struct view *view);
    void (*text)(const struct view *view, size_t row, char *out, size_t bytes);
    bool (*choose)(struct view *view, size_t row); /* true: stays open */
};

/* A line typed by the user, used on Enter. */
struct view_prompt {
    const char *before, *hint; /* text before and after it */
    void (*enter)(struct view *view, const char *text);
    void (*complete)(char *text, size_t bytes); /* on Tab, or NULL */
    const struct view_pane *pane;               /* shown meanwhile, or NULL: the panel */
};

/* A part of the view: its own state, what it draws, and the keys that it handles. One file defines
 * it as one const table; absent functions are NULL. */
struct view_pane {
    const char *name;
    size_t state_bytes;                        /* of its state: view_state */
    void (*init)(struct view *view);           /* if the state does not start as all zero */
    void (*finish)(struct view *view);         /* also for a state that is still all zero */
    bool (*is_there)(const struct view *view); /* NULL: always */
    void (*open)(struct view *view);           /* on opening its panel */
    /* Restores what it showed in `old`, from an earlier reading of the file; called again until the
     * jobs that it starts are done: restore.h. */
    void (*restore)(struct view *view, const struct view *old);
    void (*draw)(struct view *view, struct view_area area);
    const struct view_list *list; /* drawn if there is no `draw` */
    /* Returns the key that completes the action, or VIEW_KEY_NONE. */
    int (*point)(struct view *view, struct view_area area, struct view_pointer pointer);
    const struct view_binding *bindings; /* ends with an entry whose `shown` is NULL */
};

/* The panels come first. The others have keys, which the help lists in this order. */
enum view_part {
    VIEW_PART_MOVES = VIEW_PANEL_COUNT,
    VIEW_PART_ROWS,
    VIEW_PART_FIND,
    VIEW_PART_PROMPT,
    VIEW_PART_HISTORY,
    VIEW_PART_COPIES,
    VIEW_PART_ACTIONS,
    VIEW_PART_RANGE,
    VIEW_PART_METERS,
    VIEW_PART_COMMON, /* keys that always work */
    VIEW_PART_COLUMNS,
    VIEW_PART_SEEK, /* which has none */
    VIEW_PART_COUNT
};
extern const struct view_pane view_navigation_part, view_rows_part, view_find_part,
    view_prompt_part, view_history_part, view_copies_part, view_actions_part, view_range_part,
    view_meters_part, view_columns_part, view_seek_part;
extern const struct view_pane view_summary_pane, view_details_pane, view_submissions_pane,
    view_gaps_pane, view_findings_pane, view_kernels_pane, view_memory_pane, view_iterations_pane,
    view_contents_pane, view_difference_pane;

/* What is drawn besides the panel. */
extern const struct view_pane view_title_pane, view_overview_pane, view_ruler_pane,
    view_timeline_pane, view_status_pane, view_help_pane, view_menu_pane;

/* The part's private state. */
static inline void *view_state(const struct view *view, unsigned part)
{
    return view->states[part];
}

static inline const struct view_pane *view_panel_pane(const struct view *view,
                                                      enum view_panel panel)
{
    return view->parts[panel];
}

/* The order of its list, or NULL. */
static inline struct view_order *view_pane_order(const struct view *view,
                                                 const struct view_pane *pane)
{
    return pane->list && pane->list->order ? pane->list->order(view) : NULL;
}

/* The number of available panels. */
static inline unsigned view_panel_count(const struct view *view)
{
    const bool all = view_panel_pane(view, VIEW_PANEL_DIFFERENCE)->is_there(view);
    return all ? VIEW_PANEL_COUNT : VIEW_PANEL_DIFFERENCE;
}

/* Whether the panel covers the tracks. */
static inline bool view_panel_covers(const struct view *view)
{
    return view->panel_full && !view->layout.side;
}

/* The legend of letters and marks on the tracks; without `all`, only of those shown. */
void view_legend(const struct view *view, bool all, struct view_lines *lines);

/* menu.c */
void view_menu_open(struct view *view, const struct view_menu *menu);
size_t view_menu_count(const struct view *view);
void view_menu_text(const struct view *view, size_t row, char *out, size_t bytes);
void view_menu_key(struct view *view, int key);
void view_menu_choose(struct view *view, size_t row);

/* layout.c: columns of a panel's name on the bar, including its number and blanks. */
int view_tab_columns(const struct view *view, unsigned panel);
/* The first panel on the bar. */
unsigned view_first_tab(const struct view *view);

/* Draws key\tvalue lines from view->scroll on, with keys in their own column. */
void view_draw_lines(struct view *view, struct view_area area, const struct view_lines *lines);

/* Scrolls so that this line, from 0, is the first one. */
void view_scroll_to_line(struct view *view, struct view_area area, const struct view_lines *lines,
                         size_t line);

/* lists.c: sorts the rows by that key. */
void view_order_sort(struct view *view, struct view_order *order, int by);
/* Sorts by that key once the data is ready, unless cancelled. */
void view_order_restore(struct view *view, struct view_order *order, int by);
/* The row at a position; the position of a row, SIZE_MAX for VIEW_NO_REF. */
uint32_t view_order_row(const struct view_order *order, size_t index);
size_t view_order_find(const struct view_order *order, uint32_t row);

/* columns.c: text of the list's row, or for SIZE_MAX its header, without hidden columns. */
void view_list_text(struct view *view, const struct view_list *list, size_t row, char *out,
                    size_t bytes);

void view_list_draw(struct view *view, const struct view_list *list, struct view_area area);
/* Key binding: sorts the panel's list by its next key. */
void view_list_sort(struct view *view, int key);
void view_list_point(struct view *view, const struct view_list *list, struct view_area area,
                     struct view_pointer pointer);
/* Goes from the current row of the panel's list to its event; false if there is none. */
bool view_list_enter(struct view *view);
void view_list_move(struct view *view, const struct view_list *list, int64_t rows);

/* Whether an event matches the search. */
typedef bool view_wanted(struct view *view, const struct view_track *track,
                         const struct view_span *event);

/* A search for the nearest matching event. */
struct view_seek {
    view_wanted *want; /* NULL: no search */
    bool forward;
    bool wraps;       /* continues at the first after the last one: a text search */
    bool in_hosts;    /* only in threads' tracks */
    bool in_devices;  /* only in tracks of device work */
    uint32_t only;    /* the only track, or VIEW_NO_TRACK */
    const char *noun; /* for the message that there is none; of a text search, the text */
    bool says_noun;   /* also says it when there is one */

    bool has_start;        /* else it begins at the selection */
    uint32_t track, event; /* start position */
    int64_t cursor_ns;
    bool has_wrapped, has_place;
    uint32_t tracks_done;
    size_t at; /* position in the next track */
    uint32_t best_track, best;
    int64_t best_ns;
    uint64_t looked_at, of; /* events */
};

/* seek.c: searches from the selection on, and selects the result or says that there is none; on an
 * interactive screen it takes one step, and view_poll continues. True: there is more. */
void view_seek_start(struct view *view, const struct view_seek *seek);
bool view_seek_step(struct view *view);
void view_seek_stop(struct view *view);
const struct view_seek *view_seek_of(const struct view *view);
unsigned view_seek_percent(const struct view *view);

/* find.c */
extern const struct view_prompt view_search_prompt;

/* Whether no filter hides the event. */
bool view_shows(const struct view *view, const struct view_track *track,
                const struct view_span *event);

/* range.c: VIEW_BOOKMARKS moments, VIEW_NO_TIME: not set. bookmarks.c: beside the trace. */
int64_t *view_bookmarks(const struct view *view);
void view_bookmarks_save(struct view *view);
void view_bookmarks_load(struct view *view);

/* actions.c: a command line for another program. */
extern const struct view_prompt view_run_prompt;

/* range.c: the ends of the range in order; false: no range. */
bool view_range(const struct view *view, int64_t *out_begin_ns, int64_t *out_end_ns);
void view_describe_range(struct view *view, struct view_lines *lines);
/* Draws the range's ends and the bookbookmarks on the ruler. */
void view_draw_bookmarks(struct view *view, struct view_area axis);

/* buffers.c: the chosen buffer, or VIEW_NO_REF. */
uint32_t view_chosen_buffer(const struct view *view);

/* Peak memory; peaks in equal parts of the trace. */
void view_memory_peaks(const struct view_model *model, struct view_lines *lines);
void view_memory_over_time(const struct view_model *model, struct view_lines *lines);

/* findings_panel.c: searched for on first use; until then there are none. The next one, in its
 * panel and on the tracks. What is known about a barrier; in a large trace every barrier counts as
 * needed until findings are requested. */
const struct view_findings *view_findings_of(struct view *view);
void view_next_finding(struct view *view, int key);
enum trace_barrier_need view_barrier_need(struct view *view, uint32_t commands, uint32_t segment);

/* A trace along one row of the screen. */
struct view_axis {
    const struct view_model *model;
    struct view_window window;
    struct view_area area; /* of the row, after the track's name */
    struct view *view;     /* of that trace; NULL: the other trace */
};

/* submission_commands.c: a submission's commands or barriers, in those columns of the row. */
void view_draw_commands(const struct view_axis *axis, uint32_t submission, int column, int count);
void view_draw_barriers(const struct view_axis *axis, uint32_t submission, int column, int count);

/* history.c: how far lines go from the selection. The critical path as drawn; of the selection. */
enum view_flow view_flow_of(const struct view *view);
void view_draw_path(struct view *view, struct view_area axis);
void view_describe_path(struct view *view, struct view_lines *lines);

/* difference.c: compares with the trace that the user names, and shows it below each track. */
extern const struct view_prompt view_difference_prompt;
/* The other trace's track shown below this one, or NULL; its axis, aligned by first work, without
 * an area. Where the device did more, and where less. */
const struct view_track *view_compare_track(const struct view *view, uint32_t track);
struct view_axis view_compare_axis(const struct view *view);
void view_compare_draw_delta(struct view *view, struct view_area row);

/* flow.c: draws where the selected event came from and what it led to. */
void view_draw_flow(struct view *view, struct view_area area);

#endif
