/* SPDX-License-Identifier: Apache-2.0 */
/* viewer/ui/prompt.c: editing what is typed. */
#include "tests/support/test.h"
#include "tests/unit/viewer/view_fixture.h"
#include "viewer/ui/filter.h"

TEST(the_line_is_edited_where_the_cursor_is)
{
    static const struct {
        const char *keys, *typed;
        size_t at;
    } tries[] = {
        {"", "mul dur", 7},
        {"<BS>s", "mul dus", 7},
        {"<Left><Left>p", "mul dpur", 6},
        {"<Left><Left><Del>", "mul dr", 5},
        {"<Del>", "mul dur", 7},
        {"<Right>x", "mul durx", 8},
        {"<Left><Right><Right>x", "mul durx", 8},
        {"<Home>x<End>y", "xmul dury", 9},
        {"<Home><Left><BS>x", "xmul dur", 1},
        {"<C-a>x<C-e>y", "xmul dury", 9},
        {"<C-w>", "mul ", 4},
        {"<C-w><C-w>", "", 0},
        {"<C-w><C-w><C-w>x", "x", 1},
        {"<Left><C-w>", "mul r", 4},
        {"<C-u>", "", 0},
        {"<Left><Left><C-u>x", "xur", 1},
        {"<Left><Left><C-k>x", "mul dx", 6},
        {"<Home><C-k>", "", 0},
        {"<Up><Down><PgUp><Tab><S-Tab><C-r>", "mul dur", 7},
    };
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        type("/mul dur");
        type(tries[i].keys);
        if (strcmp(view->typed, tries[i].typed) != 0 || view->typed_at != tries[i].at)
            fail_msg("%s gives '%s' at %zu", tries[i].keys, view->typed, view->typed_at);
        type("<Esc>");
        assert_null(view->prompt);
    }
}

/* Of two to four bytes each. */
TEST(characters_stay_whole)
{
    type("/a\u00e9\u4e2d\U0001f600b<Left><Left><Left><BS>x");
    assert_string_equal(view->typed, "ax\u4e2d\U0001f600b");
    type("<Del>");
    assert_string_equal(view->typed, "ax\U0001f600b");
    type("<Right>y");
    assert_string_equal(view->typed, "ax\U0001f600yb");
}

TEST(the_filter_that_holds_is_edited)
{
    type("&queue=0<Enter>");
    type("&");
    assert_string_equal(view->typed, "queue=0");
    type("<BS>1");
    assert_string_equal(view->typed, "queue=1");
    type("<C-u>name~q<Enter>");
    assert_string_equal(view->filter->text, "name~q");
    type("&<C-u><Enter>");
    assert_null(view->filter);
}

TEST(a_completed_command_goes_on_at_its_end)
{
    type(":sear<Home><Tab>x");
    assert_string_equal(view->typed, "search x");
}

/* Whatever is longer than the row, the cursor is on it, and what stands before it. */
TEST(long_lines_show_the_cursor)
{
    resize(20, 40);
    type("/");
    const int begin = screen.cursor_column;
    assert_int_equal(screen.cursor_row, 19);
    for (int i = 0; i < 60; i++) {
        char key[2] = {(char)('a' + i % 26), '\0'};
        type(key);
        const int column = screen.cursor_column;
        assert_true(column > begin && column < 40 && column <= begin + i + 1);
        assert_int_equal(row_text(19)[column - 1], key[0]);
    }
    type("<Home>");
    assert_int_equal(screen.cursor_column, begin);
    assert_memory_equal(row_text(19) + begin, "abcdefghijklmnopqrstuvwxyz", 26);
}

TEST(there_is_no_more_than_room)
{
    type("/");
    for (int i = 0; i < VIEW_PROMPT_BYTES + 10; i++)
        assert_int_equal(view_type(view, "<Home>\u00e9"), HAL_OK);
    assert_int_equal(strlen(view->typed), (VIEW_PROMPT_BYTES - 1) / 2 * 2);
}

TEST_FIXTURE(open_view, close_view);
TEST_SUITE_FIXTURE(view_set_up, view_tear_down);
