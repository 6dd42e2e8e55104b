/* SPDX-License-Identifier: Apache-2.0 */
/* The grid: clipping, cleaning, wide characters, comparison; text and SVG. */
#include "viewer/grid/screen.h"

#include "hal/base/mem.h"
#include "viewer/text/text.h"

enum { MAX_SIDE = 1000, TEXT_BYTES = 1024 };

enum hal_status view_screen_resize(struct view_screen *screen, int rows, int columns)
{
    if (rows < 1 || columns < 1 || rows > MAX_SIDE || columns > MAX_SIDE)
        return hal_fail(HAL_INVALID, "a screen of %dx%d: sides are 1 to %d", columns, rows,
                        MAX_SIDE);
    struct view_cell *cells = hal_alloc((size_t)rows * (size_t)columns, sizeof *cells);
    if (!cells)
        return hal_fail(HAL_NO_MEMORY, "no memory for a screen of %dx%d", columns, rows);
    view_screen_finish(screen);
    screen->rows = rows;
    screen->columns = columns;
    screen->cells = cells;
    view_screen_clear(screen);
    return HAL_OK;
}

void view_screen_finish(struct view_screen *screen)
{
    free(screen->cells);
    *screen = (struct view_screen){0};
}

void view_screen_clear(struct view_screen *screen)
{
    for (int i = 0; i < screen->rows * screen->columns; i++)
        screen->cells[i] = (struct view_cell){.character = ' '};
    screen->cursor_row = screen->cursor_column = -1;
}

static struct view_cell *cell_at(const struct view_screen *screen, int row, int column)
{
    return &screen->cells[row * screen->columns + column];
}

const struct view_cell *view_screen_cell(const struct view_screen *screen, int row, int column)
{
    return cell_at(screen, row, column);
}

bool view_screen_row_differs(const struct view_screen *old, const struct view_screen *new, int row,
                             int *out_first, int *out_last)
{
    const struct view_cell *a = cell_at(old, row, 0), *b = cell_at(new, row, 0);
    int first = 0, last = new->columns - 1;
    while (first <= last && memcmp(&a[first], &b[first], sizeof *a) == 0)
        first++;
    while (last > first && memcmp(&a[last], &b[last], sizeof *a) == 0)
        last--;
    *out_first = first;
    *out_last = last;
    return first <= last;
}

/* ---- Areas -------------------------------------------------------------------------------- */

struct view_area view_area_all(struct view_screen *screen)
{
    return (struct view_area){.screen = screen, .rows = screen->rows, .columns = screen->columns};
}

static int clamp(int value, int low, int high)
{
    return value < low ? low : value > high ? high : value;
}

struct view_area view_area_part(struct view_area area, int top, int left, int rows, int columns)
{
    top = clamp(top, 0, area.rows);
    left = clamp(left, 0, area.columns);
    return (struct view_area){.screen = area.screen,
                              .top = area.top + top,
                              .left = area.left + left,
                              .rows = clamp(rows, 0, area.rows - top),
                              .columns = clamp(columns, 0, area.columns - left)};
}

static struct view_cell *inside(struct view_area area, int row, int column)
{
    if (row < 0 || column < 0 || row >= area.rows || column >= area.columns)
        return NULL;
    return cell_at(area.screen, area.top + row, area.left + column);
}

/* A cell that is overwritten takes the other half of a wide character with it. */
static void set_cell(struct view_area area, int row, int column, uint32_t character, unsigned style)
{
    struct view_cell *cell = inside(area, row, column);
    const int absolute = area.left + column;
    if (!cell)
        return;
    if (cell->character == 0 && absolute > 0)
        cell[-1].character = ' ';
    if (absolute + 1 < area.screen->columns && cell[1].character == 0)
        cell[1].character = ' ';
    *cell = (struct view_cell){.character = character, .style = style};
}

void view_put(struct view_area area, int row, int column, uint32_t character, unsigned style)
{
    const int width = view_width(character);
    if (width == 2 && inside(area, row, column) && inside(area, row, column + 1)) {
        set_cell(area, row, column, ' ', style);
        set_cell(area, row, column + 1, ' ', style);
        cell_at(area.screen, area.top + row, area.left + column)->character = character;
        cell_at(area.screen, area.top + row, area.left + column + 1)->character = 0;
    } else {
        set_cell(area, row, column, width == 1 ? character : width == 2 ? ' ' : '?', style);
    }
}

void view_fill(struct view_area area, int row, int column, int count, uint32_t character,
               unsigned style)
{
    const int last = clamp(column + count, 0, area.columns);
    for (int c = column < 0 ? 0 : column; c < last; c++)
        view_put(area, row, c, character, style);
}

int view_write(struct view_area area, int row, int column, unsigned style, const char *text)
{
    while (*text) {
        const uint32_t character = view_utf8_next(&text);
        const int width = view_width(character);
        if (width == 0)
            continue;
        view_put(area, row, column, character, style);
        column += width == 2 ? 2 : 1;
    }
    return column;
}

int view_print(struct view_area area, int row, int column, unsigned style, const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return view_write(area, row, column, style, text);
}

int view_text_columns(const char *text)
{
    int columns = 0;
    while (*text) {
        const int width = view_width(view_utf8_next(&text));
        columns += width < 0 ? 1 : width;
    }
    return columns;
}

int view_write_cut(struct view_area area, int row, int column, int columns, unsigned style,
                   const char *text)
{
    if (columns <= 0)
        return column;
    const int wanted = view_text_columns(text);
    struct view_area part = view_area_part(area, row, column, 1, columns);
    view_write(part, 0, 0, style, text);
    if (wanted <= columns)
        return column + wanted;
    view_put(part, 0, columns - 1, 0x2026, style);
    return column + columns;
}

static bool is_block(uint32_t character)
{
    return character >= 0x2580 && character < 0x25A0;
}

void view_highlight(struct view_area area, int row, int column, int count, unsigned style)
{
    for (int c = column; c < column + count; c++) {
        struct view_cell *cell = inside(area, row, c);
        if (cell)
            cell->style = is_block(cell->character) ? style : style | VIEW_REVERSE;
    }
}

void view_place_cursor(struct view_area area, int row, int column)
{
    const bool shown = inside(area, row, column) != NULL;
    area.screen->cursor_row = shown ? area.top + row : -1;
    area.screen->cursor_column = shown ? area.left + column : -1;
}

uint32_t view_character(struct view_area area, int row, int column)
{
    const struct view_cell *cell = inside(area, row, column);
    return cell ? cell->character : 0;
}

bool view_is_blank(struct view_area area, int row, int column)
{
    const struct view_cell *cell = inside(area, row, column);
    return cell && cell->character == ' ' && cell->style == VIEW_STYLE_TEXT;
}

/* ---- Palette ------------------------------------------------------------------------------ */

/* After Okabe and Ito: distinguishable with colour vision deficiencies. */
struct view_color view_style_color(enum view_style style)
{
    static const struct view_color palette[VIEW_STYLE_COUNT] = {
        [VIEW_STYLE_TEXT] = {212, 212, 212, 252, 7},
        [VIEW_STYLE_DIM] = {128, 128, 128, 244, 8},
        [VIEW_STYLE_TITLE] = {240, 240, 240, 255, 15},
        [VIEW_STYLE_KEY] = {86, 180, 233, 74, 14},
        [VIEW_STYLE_GOOD] = {46, 184, 138, 36, 10},
        [VIEW_STYLE_BAD] = {230, 90, 50, 203, 9},
        [VIEW_STYLE_SELECT] = {255, 255, 255, 231, 15},
        [VIEW_STYLE_FLOW] = {240, 228, 66, 227, 11},
        [VIEW_STYLE_SCOPE] = {160, 170, 190, 146, 7},
        [VIEW_STYLE_RECORD] = {86, 180, 233, 74, 14},
        [VIEW_STYLE_OBJECT] = {150, 150, 150, 246, 8},
        [VIEW_STYLE_COMPILE] = {110, 145, 230, 68, 12},
        [VIEW_STYLE_MAP] = {204, 121, 167, 175, 13},
        [VIEW_STYLE_SIGNAL] = {180, 160, 220, 140, 5},
        [VIEW_STYLE_SUBMIT] = {240, 228, 66, 227, 11},
        [VIEW_STYLE_WAIT] = {230, 159, 0, 178, 3},
        [VIEW_STYLE_QUEUED] = {86, 140, 180, 67, 6},
        [VIEW_STYLE_EXECUTE] = {0, 168, 120, 36, 2},
        [VIEW_STYLE_UPLOAD] = {204, 121, 167, 175, 13},
        [VIEW_STYLE_READBACK] = {86, 180, 233, 74, 14},
        [VIEW_STYLE_GAP_HOST] = {225, 100, 30, 166, 9},
        [VIEW_STYLE_GAP_SEMAPHORE] = {230, 159, 0, 178, 3},
        [VIEW_STYLE_GAP_LAUNCH] = {240, 228, 66, 227, 11},
        [VIEW_STYLE_GAP_UNKNOWN] = {150, 150, 150, 246, 8},
        [VIEW_STYLE_KERNEL] = {0, 168, 120, 36, 2},
        [VIEW_STYLE_KERNEL + 1] = {86, 180, 233, 74, 14},
        [VIEW_STYLE_KERNEL + 2] = {204, 121, 167, 175, 13},
        [VIEW_STYLE_KERNEL + 3] = {230, 159, 0, 178, 3},
        [VIEW_STYLE_KERNEL + 4] = {110, 145, 230, 68, 12},
        [VIEW_STYLE_KERNEL + 5] = {160, 200, 90, 149, 10},
    };
    return palette[(unsigned)style & VIEW_STYLE_MASK];
}

/* ---- Text and SVG ------------------------------------------------------------------------- */

static void write_character(FILE *file, uint32_t character, bool ascii)
{
    char bytes[4];
    if (ascii)
        fputc(view_ascii(character), file);
    else
        fwrite(bytes, 1, view_utf8_write(character, bytes), file);
}

int view_style_number(enum view_style style, int colors)
{
    enum { BLACK = 0, WHITE = 7 };
    const struct view_color color = view_style_color(style);
    if (style == VIEW_STYLE_TEXT || style == VIEW_STYLE_TITLE || style == VIEW_STYLE_SELECT)
        return -1;
    if (colors >= 256)
        return color.of_256;
    const int number = colors == 16 ? color.of_16 : color.of_16 % 8;
    return number == BLACK || number == WHITE ? -1 : number;
}

bool view_style_is_faint(enum view_style style, int colors)
{
    return style == VIEW_STYLE_DIM && view_style_number(style, colors) < 0;
}

/* As terminals take it (ECMA-48, with the colours of ISO 8613-6). */
static void write_style(FILE *file, uint32_t style, int colors)
{
    const enum view_style role = (enum view_style)(style & VIEW_STYLE_MASK);
    const struct view_color color = view_style_color(role);
    const int number = view_style_number(role, colors);
    fputs("\033[0", file);
    if (style & VIEW_BOLD)
        fputs(";1", file);
    if (view_style_is_faint(role, colors))
        fputs(";2", file);
    if (style & VIEW_UNDERLINE)
        fputs(";4", file);
    if (style & VIEW_REVERSE)
        fputs(";7", file);
    if (number >= 0 && colors == VIEW_TRUE_COLORS)
        fprintf(file, ";38;2;%d;%d;%d", color.red, color.green, color.blue);
    else if (number >= 0 && colors == 256)
        fprintf(file, ";38;5;%d", number);
    else if (number >= 0)
        fprintf(file, ";%d", number < 8 ? 30 + number : 90 + number - 8);
    fputc('m', file);
}

/* A line ends where nothing follows that can be seen. */
static int visible_columns(const struct view_screen *screen, int row, bool has_styles)
{
    int last = screen->columns;
    while (last > 0) {
        const struct view_cell *cell = cell_at(screen, row, last - 1);
        const bool is_marked = has_styles && (cell->style & (VIEW_REVERSE | VIEW_UNDERLINE));
        if (cell->character != ' ' || is_marked)
            break;
        last--;
    }
    return last;
}

void view_screen_write_text(const struct view_screen *screen, FILE *file,
                            struct view_text_form form)
{
    for (int row = 0; row < screen->rows; row++) {
        const int last = visible_columns(screen, row, form.colors != 0);
        uint32_t style = VIEW_STYLE_TEXT;
        for (int column = 0; column < last; column++) {
            const struct view_cell *cell = cell_at(screen, row, column);
            if (form.colors && cell->style != style)
                write_style(file, style = cell->style, form.colors);
            if (cell->character)
                write_character(file, cell->character, form.ascii);
            else if (form.ascii)
                fputc(' ', file);
        }
        fputs(style != VIEW_STYLE_TEXT ? "\033[0m\n" : "\n", file);
    }
}

enum { CELL_WIDTH = 8, CELL_HEIGHT = 17, MARGIN = 8 };
#define SVG_BACKGROUND "#14161a"

static void write_svg_color(FILE *file, uint32_t style)
{
    const struct view_color color = view_style_color((enum view_style)(style & VIEW_STYLE_MASK));
    fprintf(file, "#%02x%02x%02x", color.red, color.green, color.blue);
}

/* Cells of one row. */
struct run {
    int row, from, to;
};

/* `eighths` from the bottom. */
static void write_svg_box(FILE *file, struct run run, int eighths, double opacity, uint32_t style)
{
    const double height = CELL_HEIGHT * eighths / 8.0;
    fprintf(file, "<rect x=\"%d\" y=\"%.2f\" width=\"%d\" height=\"%.2f\" fill=\"",
            MARGIN + run.from * CELL_WIDTH, MARGIN + (run.row + 1) * CELL_HEIGHT - height,
            (run.to - run.from) * CELL_WIDTH, height);
    write_svg_color(file, style);
    if (opacity < 1)
        fprintf(file, "\" fill-opacity=\"%.2f", opacity);
    fputs("\"/>\n", file);
}

/* Blocks and shades as boxes: fonts leave seams between them. */
static bool write_svg_block(FILE *file, struct run run, const struct view_cell *cell)
{
    if (cell->style & VIEW_REVERSE)
        return false;
    if (cell->character >= 0x2581 && cell->character <= 0x2588)
        write_svg_box(file, run, (int)(cell->character - 0x2580), 1, cell->style);
    else if (cell->character >= 0x2591 && cell->character <= 0x2593)
        write_svg_box(file, run, 8, 0.25 * (cell->character - 0x2590), cell->style);
    else
        return false;
    if (cell->style & VIEW_UNDERLINE) /* which a block would hide */
        write_svg_box(file, run, 1, 1, VIEW_STYLE_TITLE);
    return true;
}

static void write_svg_backgrounds(const struct view_screen *screen, FILE *file, int row)
{
    for (int from = 0, to; from < screen->columns; from = to) {
        const uint32_t style = cell_at(screen, row, from)->style;
        for (to = from + 1; to < screen->columns && cell_at(screen, row, to)->style == style;)
            to++;
        if (style & VIEW_REVERSE)
            write_svg_box(file, (struct run){row, from, to}, 8, 1, style);
    }
}

static void write_svg_character(FILE *file, uint32_t character)
{
    if (character == '<')
        fputs("&lt;", file);
    else if (character == '&')
        fputs("&amp;", file);
    else if (character == '>')
        fputs("&gt;", file);
    else
        write_character(file, character, false);
}

static void write_svg_text(const struct view_screen *screen, FILE *file, struct run run)
{
    const uint32_t style = cell_at(screen, run.row, run.from)->style;
    fprintf(file, "<text x=\"%d\" y=\"%d\" textLength=\"%d\"%s%s fill=\"",
            MARGIN + run.from * CELL_WIDTH, MARGIN + run.row * CELL_HEIGHT + 13,
            (run.to - run.from) * CELL_WIDTH, style & VIEW_BOLD ? " font-weight=\"bold\"" : "",
            style & VIEW_UNDERLINE ? " text-decoration=\"underline\"" : "");
    if (style & VIEW_REVERSE)
        fputs(SVG_BACKGROUND, file);
    else
        write_svg_color(file, style);
    fputs("\">", file);
    for (int column = run.from; column < run.to; column++) {
        if (cell_at(screen, run.row, column)->character)
            write_svg_character(file, cell_at(screen, run.row, column)->character);
    }
    fputs("</text>\n", file);
}

/* One element per run of a style, at its column: a font of another width moves nothing. */
static void write_svg_row(const struct view_screen *screen, FILE *file, int row)
{
    for (int from = 0, to; from < screen->columns; from = to) {
        const struct view_cell *cell = cell_at(screen, row, from);
        to = from + 1;
        if (is_block(cell->character)) {
            while (to < screen->columns &&
                   memcmp(cell_at(screen, row, to), cell, sizeof *cell) == 0)
                to++;
            if (write_svg_block(file, (struct run){row, from, to}, cell))
                continue;
        }
        if (cell->character == ' ')
            continue;
        while (to < screen->columns && cell_at(screen, row, to)->style == cell->style &&
               cell_at(screen, row, to)->character != ' ' &&
               !is_block(cell_at(screen, row, to)->character))
            to++;
        write_svg_text(screen, file, (struct run){row, from, to});
    }
}

void view_screen_write_svg(const struct view_screen *screen, FILE *file)
{
    const int width = 2 * MARGIN + screen->columns * CELL_WIDTH;
    const int height = 2 * MARGIN + screen->rows * CELL_HEIGHT;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"DejaVu Sans Mono,Menlo,Consolas,monospace\" font-size=\"13\" "
            "xml:space=\"preserve\">\n<rect width=\"%d\" height=\"%d\" rx=\"6\" "
            "fill=\"" SVG_BACKGROUND "\"/>\n",
            width, height, width, height);
    for (int row = 0; row < screen->rows; row++) {
        write_svg_backgrounds(screen, file, row);
        write_svg_row(screen, file, row);
    }
    fputs("</svg>\n", file);
}
