/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the view. */
#include "tests/unit/viewer/view_fixture.h"

#include "tests/support/test.h"
#include "tests/viewer/decode_trace.h"

#include <unistd.h>

char path[64], other_path[64];
struct view_model *model;
struct view *view;
struct view_screen screen;

static char folder[] = "/tmp/test view.XXXXXX";

int view_set_up(void **state)
{
    const struct decode_options options = {.tokens = 4, .layers = 2, .sync = DECODE_SYNC_OP};
    const struct decode_options other = {.tokens = 4, .layers = 2, .sync = DECODE_SYNC_TOKEN};
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/t.pb.zst", folder);
    snprintf(other_path, sizeof other_path, "%s/other.pb.zst", folder);
    if (decode_trace_write(path, &options, true) != HAL_OK ||
        decode_trace_write(other_path, &other, true) != HAL_OK ||
        view_model_open(path, &model) != HAL_OK)
        return -1;
    return 0;
}

int view_tear_down(void **state)
{
    (void)state;
    view_model_close(model);
    unlink(path);
    unlink(other_path);
    return rmdir(folder);
}

int open_view(void **state)
{
    (void)state;
    if (view_create(model, &view) != HAL_OK || view_screen_resize(&screen, 40, 120) != HAL_OK)
        return -1;
    view_draw(view, &screen);
    return 0;
}

int close_view(void **state)
{
    (void)state;
    view_destroy(view);
    view_screen_finish(&screen);
    return 0;
}

void type(const char *keys)
{
    assert_int_equal(view_type(view, keys), HAL_OK);
    view_draw(view, &screen);
}

void resize(int rows, int columns)
{
    assert_int_equal(view_screen_resize(&screen, rows, columns), HAL_OK);
    view_draw(view, &screen);
}

const char *row_text(int row)
{
    static char text[1024];
    char *at = text;
    for (int column = 0; column < screen.columns; column++) {
        const uint32_t character = view_screen_cell(&screen, row, column)->character;
        *at++ = character < 0x80 ? (char)character : '~';
    }
    while (at > text && at[-1] == ' ')
        at--;
    *at = '\0';
    return text;
}

int row_with(const char *text)
{
    for (int row = 0; row < screen.rows; row++) {
        if (strstr(row_text(row), text))
            return row;
    }
    return -1;
}
