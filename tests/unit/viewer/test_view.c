/* SPDX-License-Identifier: Apache-2.0 */
/* viewer/ui/view.c, moves.c, find.c: what keys and the pointer do to window, cursor and selection.
 */
#include "tests/support/test.h"
#include "tests/viewer/decode_trace.h"
#include "viewer/ui/filter.h"
#include "viewer/ui/panes.h"

#include <unistd.h>

static struct view_model *model;
static struct view *view;
static struct view_screen screen;

static int open_model(void **state)
{
    (void)state;
    char folder[] = "/tmp/test_view.XXXXXX", path[64];
    const struct decode_options options = {
        .tokens = 4, .layers = 2, .sync = DECODE_SYNC_LAYER, .seed = 3};
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/t.pb.zst", folder);
    if (decode_trace_write(path, &options, true) != HAL_OK ||
        view_model_open(path, &model) != HAL_OK)
        print_error("%s\n", hal_message());
    unlink(path);
    rmdir(folder);
    return model ? 0 : -1;
}

static int close_model(void **state)
{
    (void)state;
    view_model_close(model);
    return 0;
}

static int start(void **state)
{
    (void)state;
    if (view_create(model, &view) != HAL_OK || view_screen_resize(&screen, 32, 120) != HAL_OK)
        return -1;
    view_draw(view, &screen);
    if (view_type(view, "0<Home>") != HAL_OK)
        return -1;
    view->past.count = 0;
    view_draw(view, &screen);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    view_destroy(view);
    view_screen_finish(&screen);
    return 0;
}

static void type(const char *keys)
{
    if (view_type(view, keys) != HAL_OK)
        fail_msg("%s", hal_message());
    view_draw(view, &screen);
}

static enum view_track_kind current_kind(void)
{
    return model->tracks[view->track].kind;
}

TEST(a_long_start_up_is_left_out_at_first)
{
    struct view *fresh;
    assert_int_equal(view_create(model, &fresh), HAL_OK);
    int64_t first_ns = INT64_MAX;
    for (size_t i = 0; i < model->submissions_count; i++) {
        if (view_submit_ns(model, &model->submissions[i]) < first_ns)
            first_ns = view_submit_ns(model, &model->submissions[i]);
    }
    assert_true(fresh->window.begin_ns > model->first_ns && fresh->window.begin_ns <= first_ns);
    assert_int_equal(fresh->window.begin_ns + fresh->window.span_ns, model->last_ns);
    assert_int_equal(fresh->skipped_ns, fresh->window.begin_ns); /* the summary says so */
    assert_int_equal(fresh->cursor_ns, fresh->window.begin_ns);
    view_destroy(fresh);
}

TEST(columns_and_moments_agree)
{
    static const struct view_window windows[] = {
        {0, 100}, {-50, 101}, {1000000, 999999999999}, {5, INT64_C(31622400000000000)}};
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        for (int column = 0; column < 97; column++) {
            const int64_t begin_ns = view_column_begin(windows[i], 97, column);
            const int64_t end_ns = view_column_begin(windows[i], 97, column + 1);
            assert_int_equal(view_column_of(windows[i], 97, begin_ns), column);
            assert_int_equal(view_column_of(windows[i], 97, end_ns - 1), column);
        }
        assert_int_equal(view_column_begin(windows[i], 97, 97),
                         windows[i].begin_ns + windows[i].span_ns);
        assert_int_equal(view_column_of(windows[i], 97, windows[i].begin_ns - 1), -1);
    }
}

TEST(zoom_keeps_the_cursor_in_its_column)
{
    type("llllllllllllllllllll");
    const int column = view_column_of(view->window, view->layout.axis, view->cursor_ns);
    const int64_t cursor_ns = view->cursor_ns;
    type("wwww");
    assert_int_equal(view->cursor_ns, cursor_ns);
    assert_int_equal(view_column_of(view->window, view->layout.axis, cursor_ns), column);
    assert_int_equal(view->window.span_ns, (model->last_ns - model->first_ns) / 16);
    type("wwwwwwwwwwwwwwwwwwwwwwwwwwww");
    assert_int_equal(view->window.span_ns, view->layout.axis); /* a nanosecond per column */
    type("0");
    assert_int_equal(view->window.span_ns, model->last_ns - model->first_ns);
}

TEST(views_are_remembered)
{
    const struct view_window whole = view->window;
    type("www"); /* one step of history */
    const struct view_window zoomed = view->window;
    type("}f");
    type("u");
    type("u<BS>");
    assert_memory_equal(&view->window, &whole, sizeof whole);
    type("<C-r>");
    assert_memory_equal(&view->window, &zoomed, sizeof zoomed);
    for (int i = 0; i < 200; i++)
        type("w0");
    assert_int_equal(view->past.count, VIEW_HISTORY);
}

TEST(the_window_stays_inside_the_trace)
{
    static const char *const keys[] = {
        "HHH",    "LLLLLLLL", "ssss", "wwwaaaaaaaaaaaaaaaaa", "dddddddddddddddddddddddddddddddddd",
        "<End>w", "<Home>w"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        type(keys[i]);
        assert_true(view->window.begin_ns >= model->first_ns);
        assert_true(view->window.begin_ns + view->window.span_ns <= model->last_ns);
        assert_true(view->cursor_ns >= model->first_ns && view->cursor_ns < model->last_ns);
    }
}

TEST(selection_survives_zoom_and_resize)
{
    type("}}}");
    const uint32_t track = view->track, event = view->event;
    const int64_t cursor_ns = view->cursor_ns;
    assert_int_equal(current_kind(), VIEW_TRACK_GAPS);
    assert_int_equal(event, 2);
    type("wwwss");
    assert_int_equal(view_screen_resize(&screen, 10, 40), HAL_OK);
    view_draw(view, &screen);
    assert_int_equal(view_screen_resize(&screen, 50, 250), HAL_OK);
    view_draw(view, &screen);
    assert_int_equal(view->track, track);
    assert_int_equal(view->event, event);
    assert_int_equal(view->cursor_ns, cursor_ns);
}

TEST(brackets_visit_every_event)
{
    while (current_kind() != VIEW_TRACK_QUEUE)
        type("j");
    const struct view_track *track = &model->tracks[view->track];
    type("<Home>");
    for (uint32_t i = 0; i < track->events.count; i++) {
        type("]");
        assert_int_equal(view->event, i);
    }
    type("]");
    assert_int_equal(view->event, track->events.count - 1);
    assert_non_null(strstr(view->message, "no later event"));
    for (uint32_t i = (uint32_t)track->events.count - 1; i > 0; i--) {
        type("[");
        assert_int_equal(view->event, i - 1);
    }
}

TEST(parentheses_visit_every_wait)
{
    uint64_t seen = 0;
    for (type(")"); !*view->message; type(")")) {
        assert_int_equal(current_kind(), VIEW_TRACK_HOST);
        assert_int_equal(view_selected(view, &(struct view_span){0})->class, VIEW_WAIT);
        seen++;
    }
    assert_int_equal(seen, model->summary.syncs.count);
    for (seen = 1, type("("); !*view->message; type("("))
        seen++;
    assert_int_equal(seen, model->summary.syncs.count);
}

TEST(search_finds_labels_on_any_track)
{
    type("/TOKEN 2<Enter>");
    assert_int_equal(current_kind(), VIEW_TRACK_SCOPE);
    assert_int_equal(view_selected(view, &(struct view_span){0})->begin_ns,
                     model->scopes[2].begin_ns);
    type("/^token [13]$<Enter>");
    assert_int_equal(view_selected(view, &(struct view_span){0})->begin_ns,
                     model->scopes[3].begin_ns);
    type("n");
    assert_string_equal(view->message, "continued from the start: no later match");
    assert_int_equal(view_selected(view, &(struct view_span){0})->begin_ns,
                     model->scopes[1].begin_ns);
    type("N");
    assert_string_equal(view->message, "continued from the end: no earlier match");
    assert_int_equal(view_selected(view, &(struct view_span){0})->begin_ns,
                     model->scopes[3].begin_ns);
    type("N");
    assert_string_equal(view->message, "");
    assert_int_equal(view_selected(view, &(struct view_span){0})->begin_ns,
                     model->scopes[1].begin_ns);
    type("/^token 2$<Enter>n");
    assert_string_equal(view->message, "the only match");
    assert_int_equal(view_selected(view, &(struct view_span){0})->begin_ns,
                     model->scopes[2].begin_ns);
    type("/nothing like this<Enter>");
    assert_string_equal(view->message, "nothing matches 'nothing like this'");
    type("/[<Enter>");
    assert_non_null(strstr(view->message, "is not a regular expression"));
    type("/token<Esc>");
    assert_null(view->prompt);
}

TEST(matches_come_in_order_of_time)
{
    int64_t last_ns = INT64_MIN;
    size_t forward = 0, backward = 0;
    for (type("/s[3-6]<Enter>"); !*view->message; type("n")) {
        assert_true(view_selected(view, &(struct view_span){0})->begin_ns >= last_ns);
        last_ns = view_selected(view, &(struct view_span){0})->begin_ns;
        forward++;
    }
    type("N"); /* from the first one back to the last */
    last_ns = INT64_MAX;
    for (type("N"); !*view->message; type("N")) {
        assert_true(view_selected(view, &(struct view_span){0})->begin_ns <= last_ns);
        last_ns = view_selected(view, &(struct view_span){0})->begin_ns;
        backward++;
    }
    assert_true(forward > 8);
    assert_int_equal(backward, forward - 1);
}

TEST(a_moment_is_fitted_with_its_neighbours)
{
    while (current_kind() != VIEW_TRACK_SEMAPHORE)
        type("j");
    type("<Home>]]]]]]f");
    const struct view_track *track = &model->tracks[view->track];
    const int64_t end_ns = view->window.begin_ns + view->window.span_ns;
    assert_int_equal(view_selected(view, &(struct view_span){0})->begin_ns,
                     view_selected(view, &(struct view_span){0})->end_ns);
    const size_t from = view->event > 4 ? view->event - 4 : 0, last = track->events.count - 1;
    const size_t to = view->event + 4 < last ? view->event + 4 : last;
    assert_true(view->window.begin_ns <= view_spans_at(&track->events, from).begin_ns);
    assert_true(end_ns > view_spans_at(&track->events, to).begin_ns);
    assert_true(to > from + 1);
    assert_true(from == 0 ||
                view->window.begin_ns > view_spans_at(&track->events, from - 1).begin_ns);
}

TEST(enter_in_a_list_goes_to_the_event)
{
    type("3JJ_<Enter>");
    assert_false(view->panel_full);
    struct view_span selected;
    const struct view_span *event = view_selected(view, &selected);
    assert_non_null(event);
    assert_true(view->window.begin_ns <= event->begin_ns);
    assert_true(view->window.begin_ns + view->window.span_ns >= event->end_ns);
    assert_true(view->window.span_ns < 2 * (event->end_ns - event->begin_ns) + view->layout.axis);
    type("2");
    while (!model->tracks[view->track].has_children)
        type("j");
    const bool open = view->open[view->track];
    type("<Enter>"); /* no list: the track opens */
    assert_int_equal(view->open[view->track], !open);
}

TEST(commas_and_points_visit_the_same_kernel)
{
    size_t seen = 0, expected = 0;
    type("6J");
    for (size_t i = 0; i < model->submissions_count; i++)
        expected += model->submissions[i].dispatch_count > 0; /* all contain all kernels */
    type("<Home>");
    view->event = VIEW_NO_REF;
    for (type("."); strncmp(view->message, "no ", 3) != 0; type(".")) {
        assert_int_equal(current_kind(), VIEW_TRACK_DEVICE);
        assert_true(
            model->submissions[view_selected(view, &(struct view_span){0})->ref].dispatch_count >
            0);
        seen++;
    }
    assert_int_equal(seen, expected);
    for (seen = 1, type(","); strncmp(view->message, "no ", 3) != 0; type(","))
        seen++;
    assert_int_equal(seen, expected);
}

/* ---- Filter, bookmarks, ranges, iterations, hidden tracks ---- */

static bool repeats_others(const struct view_track *track)
{
    return track->kind == VIEW_TRACK_COMMANDS || track->kind == VIEW_TRACK_BARRIERS ||
           track->kind == VIEW_TRACK_SEMAPHORES || track->kind == VIEW_TRACK_MEMORY;
}

static uint64_t longer_than(const struct view_track *track, int64_t ns)
{
    uint64_t count = 0;
    for (size_t i = 0; i < track->events.count; i++)
        count +=
            view_spans_at(&track->events, i).end_ns - view_spans_at(&track->events, i).begin_ns >
            ns;
    return count;
}

static uint32_t character_at(int row, int column)
{
    return view_screen_cell(&screen, row, column)->character;
}

/* Cells of the track's row that show anything but the cursor's line. */
static int cells_of(uint32_t track)
{
    int count = 0;
    const int row = view->layout.tracks.top + (int)(view_row_of(view, track) - view->first_row);
    for (int column = view->layout.gutter; column < screen.columns; column++) {
        const uint32_t character = character_at(row, column);
        count += character != ' ' && character != 0x250A;
    }
    return count;
}

static bool row_contains(int row, const char *text)
{
    char line[4096] = "";
    size_t length = 0;
    for (int column = 0; column < screen.columns; column++) {
        const uint32_t character = character_at(row, column);
        line[length++] = character < 0x7F ? (char)character : '?';
    }
    line[length] = '\0';
    return strstr(line, text) != NULL;
}

TEST(a_filter_hides_what_fails_a_term)
{
    uint64_t expected = 0;
    for (size_t i = 0; i < model->tracks_count; i++)
        expected += repeats_others(&model->tracks[i]) ? 0 : longer_than(&model->tracks[i], 50000);
    type("0&dur>50us<Enter>");
    assert_non_null(view->filter);
    assert_int_equal(view->filter->passed, expected);
    assert_true(expected > 0 && expected < view->filter->of);
    assert_true(row_contains(0, "only dur>50us"));
    for (uint32_t i = 0; i < model->tracks_count; i++) {
        const struct view_track *track = &model->tracks[i];
        if (view_track_shown(view, i) && track->kind == VIEW_TRACK_HOST)
            assert_int_equal(cells_of(i) > 0, longer_than(track, 50000) > 0);
    }
    while (current_kind() != VIEW_TRACK_HOST)
        type("j");
    const struct view_track *track = &model->tracks[view->track];
    uint64_t visited = 0;
    type("<Home>");
    assert_null(
        view_selected(view, &(struct view_span){0})); /* a short call is there, which is hidden */
    for (type("]"); !*view->message; type("]")) {
        assert_true(view_selected(view, &(struct view_span){0})->end_ns -
                        view_selected(view, &(struct view_span){0})->begin_ns >
                    50000);
        visited++;
    }
    assert_int_equal(visited, longer_than(track, 50000));
    assert_true(visited < track->events.count);
    type("\\");
    assert_null(view->filter);
    assert_false(row_contains(0, "only"));
}

TEST(filters_know_names_and_queues)
{
    type("0&queue=1<Enter>");
    for (uint32_t i = 0; i < model->tracks_count; i++) {
        if (model->tracks[i].kind == VIEW_TRACK_QUEUE)
            assert_int_equal(view->filter->series[i].spans.count > 0, model->tracks[i].object == 1);
    }
    type("&<BS><BS><BS><BS><BS><BS><BS>name~^token dur>1ns<Enter>");
    assert_int_equal(view->filter->passed, 4);
    type("\\&name!~. <Enter>");
    assert_int_equal(view->filter->passed, 0);
    static const char *const wrong[][2] = {{"dur>x", "expected a time"},
                                           {"queue=64", "expected a number below 64"},
                                           {"size=3", "is not one of name~mul"},
                                           {"name~[", "is not a regular expression"},
                                           {"a b c d e f g h i", "more than 8 terms"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        type("\\&");
        type(wrong[i][0]);
        type("<Enter>");
        if (!strstr(view->message, wrong[i][1]))
            fail_msg("'%s': %s", wrong[i][0], view->message);
        assert_null(view->filter);
    }
}

TEST(marks_are_gone_back_to)
{
    type("g1.5ms<Enter>ma");
    const int column = view_column_of(view->window, view->layout.axis, 1500000);
    type("<Home>");
    assert_int_equal(character_at(view->layout.ruler.top, view->layout.gutter + column), 'a');
    type("'a");
    assert_int_equal(view->cursor_ns, 1500000);
    type("'b");
    assert_string_equal(view->message, "there is no bookmark b: mb sets it");
    type("m1");
    assert_string_equal(view->message, "bookmarks are letters from a to z");
    assert_int_equal(view->cursor_ns, 1500000);
}

TEST(a_range_is_measured)
{
    int64_t busy_ns = 0;
    uint64_t submits = 0;
    char expected[64];
    type("g1ms<Enter>vg1.5ms<Enter>v");
    for (int64_t ns = 1000000; ns < 1500000; ns++) { /* queue 1 may run beside queue 0 */
        bool runs = false;
        for (size_t i = 0; i < model->submissions_count && !runs; i++)
            runs = model->submissions[i].begin_ns <= ns && model->submissions[i].end_ns > ns;
        busy_ns += runs;
    }
    for (size_t i = 0; i < model->calls_count; i++)
        submits += model->calls[i].kind == TRACE_SUBMIT && model->calls[i].begin_ns >= 1000000 &&
                   model->calls[i].begin_ns < 1500000;
    struct view_lines lines = {0};
    view_describe_range(view, &lines);
    assert_non_null(strstr(lines.text, "500.000 us, from @1.000000ms to @1.500000ms"));
    snprintf(expected, sizeof expected, "busy %.1f %%", 100.0 * (double)busy_ns / 500000);
    assert_non_null(strstr(lines.text, expected));
    snprintf(expected, sizeof expected, "begun\t%u submissions", (unsigned)submits);
    assert_non_null(strstr(lines.text, expected));
    assert_non_null(strstr(lines.text, "mul_mv_q8"));
    view_lines_finish(&lines);
    const int from = view_column_of(view->window, view->layout.axis, 1000000);
    assert_int_equal(character_at(view->layout.ruler.top, view->layout.gutter + from), '[');
    type("z");
    assert_int_equal(view->window.begin_ns, 1000000);
    assert_int_equal(view->window.span_ns, 500000);
    type("vz");
    assert_string_equal(view->message, "there is no range: v begins one");
}

TEST(iterations_follow_each_other)
{
    for (size_t i = 0; i < 4; i++) {
        type("t");
        assert_int_equal(view->cursor_ns, model->scopes[i].begin_ns);
    }
    type("t");
    assert_string_equal(view->message, "no later iteration");
    type("l"); /* inside: first to its begin */
    type("T");
    assert_int_equal(view->cursor_ns, model->scopes[3].begin_ns);
    type("T");
    assert_int_equal(view->cursor_ns, model->scopes[2].begin_ns);
}

TEST(tracks_are_hidden_and_shown)
{
    const uint32_t rows = view_row_count(view), track = view->track;
    type("x");
    assert_int_equal(view_row_count(view), rows - 1);
    assert_int_not_equal(view->track, track);
    assert_false(view_track_shown(view, track));
    for (uint32_t i = 0; i < 2 * rows; i++)
        type("x");
    assert_true(view_row_count(view) >= 1);
    assert_string_equal(view->message, "the last track stays");
    type("/token 2<Enter>"); /* finds it on a hidden track, which comes back */
    assert_int_equal(current_kind(), VIEW_TRACK_SCOPE);
    assert_true(view_track_shown(view, view->track));
    type("X<Enter>");
    assert_int_equal(view_row_count(view), rows);
    assert_null(view->menu); /* nothing is left to show */
}

TEST(going_takes_times_shares_and_locators)
{
    type("g1.5ms<Enter>");
    assert_int_equal(view->cursor_ns, 1500000);
    type("g+250us<Enter>");
    assert_int_equal(view->cursor_ns, 1750000);
    type("g-0.25 ms<Enter>");
    assert_int_equal(view->cursor_ns, 1500000);
    type("g100%<Enter>");
    assert_int_equal(view->cursor_ns, model->last_ns - 1);
    type("g@1.200000ms<Enter>");
    assert_int_equal(view->cursor_ns, 1200000);
    type("g@0.0013s<Enter>");
    assert_int_equal(view->cursor_ns, 1300000);
    type("g#s4<Enter>");
    assert_int_equal(current_kind(), VIEW_TRACK_QUEUE);
    assert_int_equal(model->submissions[view_selected(view, &(struct view_span){0})->ref].number,
                     4);
    assert_int_equal(view->panel, VIEW_PANEL_DETAILS);
    type("g#s2.d2<Enter>");
    assert_string_equal(view->message, "#s2.d2: mul_mv_q8 64x1x1");
    static const char *const wrong[] = {"g#s999<Enter>", "g#s<Enter>",      "g#s1.x<Enter>",
                                        "gsoon<Enter>",  "g1.5h<Enter>",    "g1e300s<Enter>",
                                        "g-5%<Enter>",   "g#s2.d99<Enter>", "gnan<Enter>"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        type(wrong[i]);
        assert_true(*view->message);
    }
    type("g99999s<Enter>");
    assert_non_null(strstr(view->message, "outside the trace"));
    assert_int_equal(view->cursor_ns, model->last_ns - 1);
}

TEST(locators_are_copied)
{
    type("g#s4<Enter>y");
    assert_string_equal(view->copied, "#s4");
    type("g1.5ms<Enter><Home>y");
    assert_int_equal(view->copied[0], '@');
}

/* A terminal does not say whether it takes it. */
TEST(what_is_copied_is_said_to_be_sent)
{
    type("g#s4<Enter>y");
    assert_string_equal(view->message, "#s4"); /* there is no terminal */
    view->is_live = true;
    for (const char *key = "yY"; *key; key++) {
        type((char[]){*key, '\0'});
        assert_null(strstr(view->message, "copied"));
        assert_ptr_equal(strstr(view->message, "sent to the terminal (OSC 52, some ignore it): "),
                         view->message);
        assert_non_null(strstr(view->message, view->copied));
    }
    view->is_live = false;
}

TEST(tracks_open_and_close)
{
    const uint32_t rows = view_row_count(view);
    while (current_kind() != VIEW_TRACK_DEVICE)
        type("j");
    type("<Enter>");
    assert_int_equal(view_row_count(view), rows + 2);
    type("j");
    assert_int_equal(current_kind(), VIEW_TRACK_COMMANDS);
    type("j");
    assert_int_equal(current_kind(), VIEW_TRACK_BARRIERS);
    type("<Space>"); /* a child closes its parent */
    assert_int_equal(view_row_count(view), rows);
    assert_int_equal(current_kind(), VIEW_TRACK_DEVICE);
}

TEST(lists_and_timeline_agree)
{
    type("3J");
    assert_int_equal(model->submissions[view_selected(view, &(struct view_span){0})->ref].number,
                     1);
    type("JJ");
    assert_int_equal(model->submissions[view_selected(view, &(struct view_span){0})->ref].number,
                     3);
    type("S1");
    type("3");
    assert_int_equal(view_pane_order(view, &view_submissions_pane)->by, 1);
    int64_t before_ns = INT64_MAX;
    for (size_t i = 0; i < model->submissions_count; i++) {
        const struct view_submission *s =
            &model->submissions[view_order_row(view_pane_order(view, &view_submissions_pane), i)];
        assert_true(s->end_ns - s->begin_ns <= before_ns);
        before_ns = s->end_ns - s->begin_ns;
    }
    type("4J");
    assert_int_equal(current_kind(), VIEW_TRACK_GAPS);
    type("S<Home>KKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKK");
    const int64_t longest_ns = view_selected(view, &(struct view_span){0})->end_ns -
                               view_selected(view, &(struct view_span){0})->begin_ns;
    for (size_t i = 0; i < model->gaps_count; i++)
        assert_true(model->gaps[i].end_ns - model->gaps[i].begin_ns <= longest_ns);
}

TEST(the_pointer_selects_and_zooms)
{
    while (current_kind() != VIEW_TRACK_QUEUE)
        type("j");
    type("]]]f");
    const uint32_t event = view->event;
    const struct view_area tracks = view->layout.tracks;
    const int row = tracks.top + (int)view_row_of(view, view->track);
    const int column = view->layout.gutter + view->layout.axis / 2;
    type("kkkk");
    view_point(view, (struct view_pointer){VIEW_POINTER_CLICK, row, column});
    assert_int_equal(current_kind(), VIEW_TRACK_QUEUE);
    assert_int_equal(view->event, event);
    const int64_t span_ns = view->window.span_ns;
    view_point(view, (struct view_pointer){VIEW_POINTER_IN, row, column});
    assert_int_equal(view->window.span_ns, span_ns / 2);
    view_point(view, (struct view_pointer){VIEW_POINTER_OUT, row, column});
    assert_int_equal(view->window.span_ns, span_ns / 2 * 2);
    const int64_t begin_ns = view->window.begin_ns;
    view_point(view, (struct view_pointer){VIEW_POINTER_RIGHT, row, column});
    assert_true(view->window.begin_ns > begin_ns);
    view_point(view, (struct view_pointer){VIEW_POINTER_LEFT, row, column});
    assert_int_equal(view->window.begin_ns, begin_ns);
    assert_int_equal(view->window.span_ns, span_ns / 2 * 2);
    view_point(view, (struct view_pointer){VIEW_POINTER_CLICK, -5, 100000});
    view_point(view, (struct view_pointer){VIEW_POINTER_CLICK, view->layout.bar.top, 26});
    assert_int_equal(view->panel, VIEW_PANEL_SUBMISSIONS);
}

TEST(q_closes_before_it_quits)
{
    type("?q");
    assert_false(view->help || view->quit);
    type("_q");
    assert_false(view->panel_full || view->quit);
    type("M");
    assert_false(view->mouse);
    type("q");
    assert_true(view->quit);
}

TEST(unknown_keys_are_said)
{
    type("%");
    assert_non_null(strstr(view->message, "does nothing"));
    assert_int_equal(view_type(view, "<Nonsense>"), HAL_INVALID);
    assert_int_equal(view_type(view, "<"), HAL_INVALID);
    type("<lt>");
}

TEST_FIXTURE(start, stop);
TEST_SUITE_FIXTURE(open_model, close_model);
