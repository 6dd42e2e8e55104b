/* SPDX-License-Identifier: Apache-2.0 */
/* The rows above and below the tracks (viewer/ui/status_bars.c, overview.c), and screens with
 * little room.
 */
#include "tests/support/test.h"
#include "tests/unit/viewer/view_fixture.h"

/* ---- The first and the last row ------------------------------------------------------------- */

/* A number that is cut is another number. */
TEST(the_title_says_whole_things)
{
    static const struct {
        int columns;
        const char *has, *lacks;
    } tries[] = {{120, " dispatches ~ busy ", NULL},
                 {80, " submissions ~ busy ", "dispatches"},
                 {40, "  busy ", "submissions"}};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        resize(24, tries[i].columns);
        assert_non_null(strstr(row_text(0), tries[i].has));
        assert_non_null(strstr(row_text(0), " %  "));
        assert_true(!tries[i].lacks || !strstr(row_text(0), tries[i].lacks));
    }
}

TEST(a_long_message_takes_the_whole_row)
{
    resize(24, 80);
    type("c");
    assert_true(strlen(view->message) > 50 && strlen(view->message) < 78);
    assert_non_null(strstr(row_text(23), view->message));
    assert_null(strstr(row_text(23), "/col"));
    type("j");
    assert_non_null(strstr(row_text(23), "/col"));
}

/* Also where there are no colours, and however small it is. */
TEST(the_overview_brackets_what_is_shown)
{
    type("g50%<Enter>wwwwwwwwwwww");
    const char *text = row_text(1), *begin = strchr(text, '['), *end = strchr(text, ']');
    assert_true(strncmp(text, " overview", 9) == 0 && begin && end);
    assert_in_range(end - begin, 2, 3);
}

/* "1.250 ms" stays together at the end of a row, wherever that is. */
TEST(numbers_keep_their_units)
{
    for (int columns = 44; columns < 100; columns++) {
        resize(60, columns);
        type("1");
        for (int row = row_with(" health "); row < screen.rows - 1; row++) {
            const char *text = row_text(row), *word = text + strspn(text, " ");
            const char *const units[] = {"ms", "ms,", "ms;", "us", "us,", "us;", "%", "MiB", "s"};
            const size_t length = strcspn(word, " ");
            for (size_t i = 0; i < sizeof units / sizeof *units; i++)
                assert_false(strlen(units[i]) == length && memcmp(word, units[i], length) == 0);
        }
    }
}

/* ---- Narrow screens ----------------------------------------------------------------------- */

/* Two threads of one name differ by their numbers, 4711 and 4712 in this trace. */
TEST(names_of_tracks_keep_their_number)
{
    for (size_t i = 0; i < model->hosts_count; i++)
        model->hosts[i].shares_name = true;
    resize(10, 40); /* eight columns for names */
    assert_int_equal(model->hosts_count, 2);
    assert_true(row_with(" mai~4711 ") > 0);
    assert_true(row_with(" loa~4712 ") > 0);
    for (size_t i = 0; i < model->hosts_count; i++)
        model->hosts[i].shares_name = false;
}

/* As when a click opens another panel, on a screen with room for one choice. */
TEST(choices_of_another_panel_are_not_asked_for)
{
    type("6C");
    assert_non_null(view->menu);
    view->panel = (enum view_panel)0; /* which has no columns */
    resize(10, 40);
    type("<Esc>");
    assert_null(view->menu);
}

/* Whichever it is, its name stands on the bar, and a click on it finds it. */
TEST(the_open_panel_is_named_on_the_narrowest_bar)
{
    resize(10, 40);
    type("_");
    for (unsigned p = 0; p < view_panel_count(view); p++) {
        const char *name = view_panel_pane(view, (enum view_panel)p)->name;
        char key[2] = {(char)('1' + p), '\0'}, tab[64];
        type(key);
        snprintf(tab, sizeof tab, " %u %s", p + 1, name);
        const char *bar = row_text(1), *found = strstr(bar, tab);
        if (!found)
            fail_msg("'%s' is not on the bar: %s", tab, bar);
        const int column = (int)(found - bar) + 1;
        view_point(view,
                   (struct view_pointer){.kind = VIEW_POINTER_CLICK, .row = 1, .column = column});
        assert_int_equal(view->panel, p);
    }
    type("3"); /* the one before it is where the bar says */
    const char *bar = row_text(1), *before = strstr(bar, " 2 ");
    assert_non_null(before);
    view_point(view, (struct view_pointer){
                         .kind = VIEW_POINTER_CLICK, .row = 1, .column = (int)(before - bar) + 1});
    assert_int_equal(view->panel, VIEW_PANEL_DETAILS);
}

TEST(a_panel_without_room_says_how_it_is_opened)
{
    resize(10, 40);
    type("8");
    assert_string_equal(view->message, "_ opens Iterations");
    type("_8");
    assert_string_equal(view->message, "");
    resize(40, 120);
    type("_7");
    assert_string_equal(view->message, "");
}

/* The mark of more covers text only where that is said. */
TEST(what_goes_on_below_is_marked)
{
    struct view_lines lines = {0};
    static const char *const values[] = {"short", "a line that is long enough to reach its end"};
    static const char *const ends[] = {"short", "~ J more"}; /* ~: an ellipsis */
    for (int i = 0; i < 2; i++) {
        resize(40, 46);
        const struct view_area area = view_area_part(view_area_all(&screen), 0, 0, 1, 46);
        view_screen_clear(&screen);
        view_lines_add(&lines, "", "%s", values[i]);
        view_lines_add(&lines, "", "more");
        view_draw_lines(view, area, &lines);
        assert_non_null(strstr(row_text(0), ends[i]));
        assert_non_null(strstr(row_text(0), "J more"));
        assert_int_equal(strstr(row_text(0), "~") != NULL, i);
        view_lines_finish(&lines);
    }
}

TEST_FIXTURE(open_view, close_view);
TEST_SUITE_FIXTURE(view_set_up, view_tear_down);
