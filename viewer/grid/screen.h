/* SPDX-License-Identifier: Apache-2.0 */
/* A grid of cells in memory. Panes draw into areas of it and cannot draw outside them; a terminal,
 * a text file or a picture shows it. Text is sanitised on input: no control character or escape
 * sequence in a label ever becomes a cell. */
#ifndef VIEWER_SCREEN_H
#define VIEWER_SCREEN_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The meaning of a cell; palettes define its appearance. Style never carries meaning alone. */
enum view_style {
    VIEW_STYLE_TEXT,
    VIEW_STYLE_DIM,
    VIEW_STYLE_TITLE,
    VIEW_STYLE_KEY,
    VIEW_STYLE_GOOD,
    VIEW_STYLE_BAD,
    VIEW_STYLE_SELECT,
    VIEW_STYLE_FLOW,
    VIEW_STYLE_SCOPE,
    VIEW_STYLE_RECORD,
    VIEW_STYLE_OBJECT,
    VIEW_STYLE_COMPILE,
    VIEW_STYLE_MAP,
    VIEW_STYLE_SIGNAL,
    VIEW_STYLE_SUBMIT,
    VIEW_STYLE_WAIT,
    VIEW_STYLE_QUEUED,
    VIEW_STYLE_EXECUTE,
    VIEW_STYLE_UPLOAD,
    VIEW_STYLE_READBACK,
    VIEW_STYLE_GAP_HOST,
    VIEW_STYLE_GAP_SEMAPHORE,
    VIEW_STYLE_GAP_LAUNCH,
    VIEW_STYLE_GAP_UNKNOWN,
    VIEW_STYLE_KERNEL, /* and following: equal names get equal styles */
    VIEW_STYLE_COUNT = VIEW_STYLE_KERNEL + 6,
    /* Flags that may be added. */
    VIEW_BOLD = 0x100,
    VIEW_REVERSE = 0x200,
    VIEW_UNDERLINE = 0x400,
    VIEW_STYLE_MASK = 0xff,
};

struct view_cell {
    uint32_t character; /* 0: the right half of a wide character */
    uint32_t style;
};

struct view_screen {
    int rows, columns;
    int cursor_row, cursor_column; /* where a terminal shows its cursor; -1: nowhere */
    struct view_cell *cells;
};

/* Clears the screen and sets its size, from 1x1 to 1000x1000. An all-zero screen has none. */
enum hal_status view_screen_resize(struct view_screen *screen, int rows, int columns) HAL_CHECKED;
void view_screen_finish(struct view_screen *screen);
void view_screen_clear(struct view_screen *screen);
const struct view_cell *view_screen_cell(const struct view_screen *screen, int row, int column);

/* The first and last differing column of a row in two screens of equal size; false: none. */
bool view_screen_row_differs(const struct view_screen *old, const struct view_screen *new, int row,
                             int *out_first, int *out_last);

/* A part of a screen with its own coordinates. */
struct view_area {
    struct view_screen *screen;
    int top, left, rows, columns;
};

struct view_area view_area_all(struct view_screen *screen);
struct view_area view_area_part(struct view_area area, int top, int left, int rows, int columns);

/* Ignores positions outside of the area. */
void view_put(struct view_area area, int row, int column, uint32_t character, unsigned style);
void view_fill(struct view_area area, int row, int column, int count, uint32_t character,
               unsigned style);
/* Both return the column after the text, even if it was cut at the area's right edge. */
int view_write(struct view_area area, int row, int column, unsigned style, const char *text);
int view_print(struct view_area area, int row, int column, unsigned style, const char *format, ...)
    HAL_PRINTF(5, 6);
/* Number of columns that the text occupies. */
int view_text_columns(const char *text);
/* Truncates the text to `columns`, with an ellipsis. Returns the column after it. */
int view_write_cut(struct view_area area, int row, int column, int columns, unsigned style,
                   const char *text);
/* Highlights cells: reverses letters, and gives blocks its colour, which looks the same. */
void view_highlight(struct view_area area, int row, int column, int count, unsigned style);
/* Sets where a terminal shows its cursor; nowhere if outside. */
void view_place_cursor(struct view_area area, int row, int column);
uint32_t view_character(struct view_area area, int row, int column);
/* Whether nothing was drawn there; a blank in a label counts as drawn. */
bool view_is_blank(struct view_area area, int row, int column);

/* ---- Output -------------------------------------------------------------------------------- */

struct view_color {
    uint8_t red, green, blue;
    uint8_t of_256, of_16; /* the nearest colours of such terminals */
};
struct view_color view_style_color(enum view_style style);

enum { VIEW_TRUE_COLORS = 1 << 24 };

/* The palette index for a terminal with 8, 16 or 256 colours; -1: the terminal's own foreground,
 * also with true colour. Styles that are merely brighter or darker than text use it: the background
 * is unknown, and black on black or white on white would be unreadable. */
int view_style_number(enum view_style style, int colors);
/* Whether a dim style needs the terminal's faint attribute for lack of a colour. */
bool view_style_is_faint(enum view_style style, int colors);

struct view_text_form {
    bool ascii; /* ASCII characters only */
    int colors; /* 0: no escape sequences; 8, 16, 256, VIEW_TRUE_COLORS */
};

/* Writes the rows as lines without trailing blanks. */
void view_screen_write_text(const struct view_screen *screen, FILE *file,
                            struct view_text_form form);
void view_screen_write_svg(const struct view_screen *screen, FILE *file);

#endif
