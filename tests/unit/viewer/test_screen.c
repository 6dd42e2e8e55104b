/* SPDX-License-Identifier: Apache-2.0 */
/* viewer/grid/screen.c and text.c: clipping, cleaning, wide characters, differences, numbers. */
#include "tests/support/test.h"
#include "viewer/grid/screen.h"
#include "viewer/text/text.h"

static struct view_screen make_screen(int rows, int columns)
{
    struct view_screen screen = {0};
    assert_int_equal(view_screen_resize(&screen, rows, columns), HAL_OK);
    return screen;
}

/* The screen as text; free() it. */
static char *text_of(const struct view_screen *screen, bool ascii)
{
    char *text;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);
    view_screen_write_text(screen, file, (struct view_text_form){.ascii = ascii});
    fclose(file);
    return text;
}

static void assert_shows(const struct view_screen *screen, const char *expected)
{
    char *text = text_of(screen, false);
    assert_string_equal(text, expected);
    free(text);
}

TEST(areas_clip)
{
    struct view_screen screen = make_screen(3, 6);
    const struct view_area part = view_area_part(view_area_all(&screen), 1, 2, 1, 3);
    assert_int_equal(view_write(part, 0, -1, 0, "abcdefgh"), 7);
    view_put(part, 1, 0, 'X', 0);
    view_put(part, -1, 0, 'X', 0);
    view_put(part, 0, 3, 'X', 0);
    view_fill(part, 0, -5, 100, 'z', 0);
    view_put(part, 0, 1, 'b', 0);
    assert_shows(&screen, "\n  zbz\n\n");
    const struct view_area outside = view_area_part(view_area_all(&screen), 5, 9, 4, 4);
    view_write(outside, 0, 0, 0, "never");
    assert_shows(&screen, "\n  zbz\n\n");
    view_screen_finish(&screen);
}

/* As ECMA-48 and ISO 8613-6 have them, and nothing where nothing was asked for. */
TEST(styles_become_sequences)
{
    static const struct {
        int colors;
        const char *expected;
    } tries[] = {
        {0, " ab c\n\n"},
        {8, " \033[0;1;32mab\033[0m \033[0;7mc \033[0m\n\n"},
        {16, " \033[0;1;32mab\033[0m \033[0;7mc \033[0m\n\n"},
        {256, " \033[0;1;38;5;36mab\033[0m \033[0;7mc \033[0m\n\n"},
        {VIEW_TRUE_COLORS, " \033[0;1;38;2;0;168;120mab\033[0m \033[0;7mc \033[0m\n\n"},
    };
    struct view_screen screen = make_screen(2, 8);
    const struct view_area all = view_area_all(&screen);
    view_write(all, 0, 1, VIEW_STYLE_EXECUTE | VIEW_BOLD, "ab");
    view_write(all, 0, 4, VIEW_REVERSE, "c ");
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        char *text;
        size_t bytes;
        FILE *file = open_memstream(&text, &bytes);
        view_screen_write_text(&screen, file, (struct view_text_form){.colors = tries[i].colors});
        fclose(file);
        assert_string_equal(text, tries[i].expected);
        free(text);
    }
    view_screen_finish(&screen);
}

/* On a terminal whose background is black, as on one that is white. */
TEST(nothing_is_black_or_white)
{
    static const struct {
        int colors;
        const char *refused[4];
    } tries[] = {
        {8, {";30m", ";37m"}},
        {16, {";30m", ";37m", ";97m"}},
        {256, {";38;5;255m", ";38;5;231m", ";38;5;15m", ";38;5;0m"}},
        {VIEW_TRUE_COLORS, {";38;2;255;255;255m", ";38;2;240;240;240m"}},
    };
    struct view_screen screen = make_screen(1, VIEW_STYLE_COUNT);
    for (int style = 0; style < VIEW_STYLE_COUNT; style++)
        view_put(view_area_all(&screen), 0, style, 'a', (unsigned)style);
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        char *text;
        size_t bytes;
        FILE *file = open_memstream(&text, &bytes);
        view_screen_write_text(&screen, file, (struct view_text_form){.colors = tries[i].colors});
        fclose(file);
        for (int k = 0; k < 4 && tries[i].refused[k]; k++)
            assert_null(strstr(text, tries[i].refused[k]));
        /* what is dim is faint where no grey is */
        assert_int_equal(strstr(text, "\033[0;2m") != NULL, tries[i].colors == 8);
        free(text);
    }
    view_screen_finish(&screen);
}

TEST(text_is_cleaned)
{
    struct view_screen screen = make_screen(1, 20);
    /* escape sequence, bell, C1 CSI, right-to-left override, broken UTF-8, newline */
    view_write(view_area_all(&screen), 0, 0, 0,
               "a\033[2Jb\a\xC2\x9B"
               "c\xE2\x80\xAE"
               "d\xFF"
               "e\n");
    assert_shows(&screen, "a?[2Jb??cd\xEF\xBF\xBD"
                          "e?\n");
    char *text = text_of(&screen, true);
    assert_string_equal(text, "a?[2Jb??cd?e?\n");
    free(text);
    view_screen_finish(&screen);
}

TEST(wide_characters_stay_whole)
{
    struct view_screen screen = make_screen(1, 6);
    const struct view_area all = view_area_all(&screen);
    assert_int_equal(view_write(all, 0, 0, 0, "\xE6\xBC\xA2\xE5\xAD\x97"), 4); /* two of them */
    assert_int_equal(view_text_columns("\xE6\xBC\xA2\xE5\xAD\x97"), 4);
    assert_shows(&screen, "\xE6\xBC\xA2\xE5\xAD\x97\n");
    view_put(all, 0, 1, 'x', 0); /* the right half of the first one */
    assert_shows(&screen, " x\xE5\xAD\x97\n");
    view_put(all, 0, 2, 'y', 0); /* the left half of the second one */
    assert_shows(&screen, " xy\n");
    view_put(all, 0, 5, 0x6F22, 0); /* does not fit */
    assert_shows(&screen, " xy\n");
    view_screen_finish(&screen);
}

TEST(long_text_ends_visibly)
{
    struct view_screen screen = make_screen(2, 10);
    const struct view_area all = view_area_all(&screen);
    assert_int_equal(view_write_cut(all, 0, 1, 5, 0, "abcdefg"), 6);
    assert_int_equal(view_write_cut(all, 1, 0, 5, 0, "abcde"), 5);
    assert_shows(&screen, " abcd\xE2\x80\xA6\nabcde\n");
    view_screen_finish(&screen);
}

TEST(only_changed_columns_differ)
{
    struct view_screen old = make_screen(2, 8), new = make_screen(2, 8);
    int first, last;
    assert_false(view_screen_row_differs(&old, &new, 0, &first, &last));
    view_put(view_area_all(&new), 0, 2, 'x', 0);
    view_put(view_area_all(&new), 0, 5, ' ', VIEW_BOLD);
    assert_true(view_screen_row_differs(&old, &new, 0, &first, &last));
    assert_int_equal(first, 2);
    assert_int_equal(last, 5);
    assert_false(view_screen_row_differs(&old, &new, 1, &first, &last));
    view_screen_finish(&old);
    view_screen_finish(&new);
}

TEST(impossible_sizes_are_refused)
{
    struct view_screen screen = {0};
    assert_int_equal(view_screen_resize(&screen, 0, 10), HAL_INVALID);
    assert_int_equal(view_screen_resize(&screen, 10, 100000), HAL_INVALID);
    assert_null(screen.cells);
}

TEST(pictures_are_well_formed_whatever_is_in_them)
{
    struct view_screen screen = make_screen(1, 30);
    char *text;
    size_t bytes;
    view_write(view_area_all(&screen), 0, 0, VIEW_REVERSE, "<a href=\"&\">\033]");
    view_put(view_area_all(&screen), 0, 20, 0x2584, VIEW_STYLE_EXECUTE);
    view_put(view_area_all(&screen), 0, 22, 0x2588, VIEW_STYLE_EXECUTE | VIEW_UNDERLINE);
    FILE *file = open_memstream(&text, &bytes);
    view_screen_write_svg(&screen, file);
    fclose(file);
    assert_null(strstr(text, "<a"));
    assert_null(strchr(text, 033));
    assert_non_null(strstr(text, "&lt;a"));
    assert_non_null(strstr(text, "\"&amp;\""));
    assert_non_null(strstr(text, "</svg>"));
    /* A whole block and, at the bottom of its cell, the line that it would hide: 17/8 high. */
    assert_non_null(strstr(text, "x=\"184\" y=\"8.00\" width=\"8\" height=\"17.00\""));
    assert_non_null(strstr(text, "x=\"184\" y=\"22.88\" width=\"8\" height=\"2.12\""));
    free(text);
    view_screen_finish(&screen);
}

TEST(numbers_read_well)
{
    assert_string_equal(view_bytes(1023).text, "1023 B");
    assert_string_equal(view_bytes(2202009).text, "2.10 MiB");
    assert_string_equal(view_bytes(UINT64_MAX).text, "16.0 EiB");
    assert_string_equal(view_count(0).text, "0");
    assert_string_equal(view_count(39804).text, "39 804");
    assert_string_equal(view_count(UINT64_MAX).text, "18 446 744 073 709 551 615");
    assert_string_equal(view_share(612, 1000).text, "61.2 %");
    assert_string_equal(view_share(1, 0).text, "-");
    assert_string_equal(view_ratio(24, 12).text, "2");
    assert_string_equal(view_ratio(5, 2).text, "2.50");
    assert_string_equal(view_right("µ", 3).text, "  µ");
}

TEST(utf8_survives_a_round_trip)
{
    static const uint32_t characters[] = {'a',    0xB5,   0x7FF,   0x800,
                                          0x2588, 0xFFFF, 0x10000, 0x10FFFF};
    for (size_t i = 0; i < sizeof characters / sizeof *characters; i++) {
        char bytes[5] = {0};
        const size_t length = view_utf8_write(characters[i], bytes);
        const char *at = bytes;
        assert_int_equal(view_utf8_next(&at), characters[i]);
        assert_int_equal(at - bytes, length);
    }
    static const char *const broken[] = {
        "\x80", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82", "\xFE"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        const char *at = broken[i];
        assert_int_equal(view_utf8_next(&at), 0xFFFD);
        assert_int_equal(at - broken[i], 1);
    }
}
