/* SPDX-License-Identifier: Apache-2.0 */
/* A grid of cells in memory. Panes draw into areas of it and cannot draw beside them; a terminal,
 * a text file or a picture shows it. Text is cleaned on the way in: no control character and no
 * escape sequence of a label ever becomes a cell. */
#ifndef VIEWER_SCREEN_H
#define VIEWER_SCREEN_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* What a cell means; palettes say how that looks. Never the only carrier of what it means. */
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
    VIEW_STYLE_KERNEL, /* and the next ones: the same name always has the same one */
    VIEW_STYLE_COUNT = VIEW_STYLE_KERNEL + 6,
    /* Or one of these to it. */
    VIEW_BOLD = 0x100,
    VIEW_REVERSE = 0x200,
    VIEW_UNDERLINE = 0x400,
    VIEW_STYLE_MASK = 0xff,
};

struct view_cell {
    uint32_t character; /* 0: the right half of a wide one */
    uint32_t style;
};

struct view_screen {
    int rows, columns;
    int cursor_row, cursor_column; /* where a terminal shows its cursor; -1: nowhere */
    struct view_cell *cells;
};

/* Sizes from 1x1 to 1000x1000, cleared. Also changes the size of an existing one; all zero is a
 * screen without size. HAL_INVALID, HAL_NO_MEMORY. */
enum hal_status view_screen_resize(struct view_screen *screen, int rows, int columns) HAL_CHECKED;
void view_screen_finish(struct view_screen *screen);
void view_screen_clear(struct view_screen *screen);
const struct view_cell *view_screen_cell(const struct view_screen *screen, int row, int column);

/* First and last column of the row in which two screens of one size differ; false: none. */
bool view_screen_row_differs(const struct view_screen *old, const struct view_screen *new, int row,
                             int *out_first, int *out_last);

/* A part of a screen with its own coordinates. */
struct view_area {
    struct view_screen *screen;
    int top, left, rows, columns;
};

struct view_area view_area_all(struct view_screen *screen);
struct view_area view_area_part(struct view_area area, int top, int left, int rows, int columns);

/* Outside of the area nothing happens. */
void view_put(struct view_area area, int row, int column, uint32_t character, unsigned style);
void view_fill(struct view_area area, int row, int column, int count, uint32_t character,
               unsigned style);
/* Both return the column after the text, also when it was cut at the area's right end. */
int view_write(struct view_area area, int row, int column, unsigned style, const char *text);
int view_print(struct view_area area, int row, int column, unsigned style, const char *format, ...)
    HAL_PRINTF(5, 6);
/* Columns that the text takes. */
int view_text_columns(const char *text);
/* At most `columns` wide; a longer one ends in an ellipsis. Returns the column after it. */
int view_write_cut(struct view_area area, int row, int column, int columns, unsigned style,
                   const char *text);
/* Gives cells another style: letters reversed, blocks in its colour, which looks the same. */
void view_highlight(struct view_area area, int row, int column, int count, unsigned style);
/* Where a terminal shows its cursor; nowhere when that is outside. */
void view_place_cursor(struct view_area area, int row, int column);
uint32_t view_character(struct view_area area, int row, int column);
/* Whether nothing was drawn there: a blank of a label is none. */
bool view_is_blank(struct view_area area, int row, int column);

/* ---- Showing it --------------------------------------------------------------------------- */

struct view_color {
    uint8_t red, green, blue;
    uint8_t of_256, of_16; /* the nearest ones of terminals */
};
struct view_color view_style_color(enum view_style style);

enum { VIEW_TRUE_COLORS = 1 << 24 };

/* The palette's number for so many colours, 8, 16 or 256; -1: the terminal's own foreground, also
 * with all colours. What only is brighter or darker than text has none: black on black and white on
 * white could not be read, and what the background is nobody knows. */
int view_style_number(enum view_style style, int colors);
/* Whether what is dim has no colour that says so. */
bool view_style_is_faint(enum view_style style, int colors);

struct view_text_form {
    bool ascii; /* no other characters */
    int colors; /* 0: no sequences at all; 8, 16, 256, VIEW_TRUE_COLORS */
};

/* Rows as lines, without blanks at their ends. */
void view_screen_write_text(const struct view_screen *screen, FILE *file,
                            struct view_text_form form);
void view_screen_write_svg(const struct view_screen *screen, FILE *file);

#endif
