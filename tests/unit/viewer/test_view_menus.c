/* SPDX-License-Identifier: Apache-2.0 */
/* viewer/ui/menu.c and what opens one: hidden tracks, their order, what other programs are asked to
 * do; and the other trace below the tracks. */
#include "tests/support/test.h"
#include "tests/unit/viewer/view_fixture.h"
#include "tests/viewer/decode_trace.h"
#include "viewer/describe/iterations.h"
#include "viewer/findings/findings.h"

#include <sys/stat.h>
#include <unistd.h>

static const char *name_of_row(uint32_t row)
{
    static char names[4][64];
    static unsigned next;
    char *name = names[next++ % 4];
    view_track_name(model, &model->tracks[view_track_of_row(view, row)], name, 64);
    return name;
}

/* ---- Tracks -------------------------------------------------------------------------------- */

TEST(hidden_tracks_are_listed_and_shown_one_by_one)
{
    const uint32_t rows = view_row_count(view);
    char first[64], second[64];
    type("j");
    snprintf(first, sizeof first, "%s", name_of_row(1));
    snprintf(second, sizeof second, "%s", name_of_row(2));
    type("xx");
    assert_int_equal(view_row_count(view), rows - 2);
    type("X");
    assert_non_null(view->menu);
    const int title = row_with("show hidden tracks again");
    assert_true(title > 0);
    assert_non_null(strstr(row_text(title + 1), "all of them"));
    assert_non_null(strstr(row_text(title + 2), first));
    assert_non_null(strstr(row_text(title + 3), second));
    type("3"); /* the second one; the list stays for more */
    assert_int_equal(view_row_count(view), rows - 1);
    assert_string_equal(name_of_row(1), second);
    assert_non_null(view->menu);
    type("<Esc>");
    assert_null(view->menu);
    type("X<Enter>");
    assert_int_equal(view_row_count(view), rows);
    type("X");
    assert_null(view->menu);
    assert_string_equal(view->message, "no track is hidden");
}

TEST(tracks_are_ordered_by_name_and_as_they_were)
{
    const uint32_t rows = view_row_count(view);
    char before[64];
    snprintf(before, sizeof before, "%s", name_of_row(0));
    type("o3");
    assert_int_equal(view_row_count(view), rows);
    const char *last = "";
    for (uint32_t i = 0; i < rows; i++) {
        const struct view_track *track = &model->tracks[view_track_of_row(view, i)];
        if (track->parent != VIEW_NO_TRACK)
            continue;
        assert_true(strcmp(last, name_of_row(i)) <= 0);
        last = name_of_row(i);
    }
    type("o1");
    assert_string_equal(name_of_row(0), before);
    for (uint32_t i = 0; i + 1 < rows; i++)
        assert_true(view_track_of_row(view, i) < view_track_of_row(view, i + 1));
}

/* Children stay behind their parent, whatever comes first. */
TEST(tracks_with_most_work_come_first)
{
    type("o2");
    int64_t last_ns = INT64_MAX;
    uint32_t top = VIEW_NO_TRACK;
    for (uint32_t i = 0; i < view_row_count(view); i++) {
        const uint32_t index = view_track_of_row(view, i);
        const struct view_track *track = &model->tracks[index];
        if (track->parent != VIEW_NO_TRACK) {
            assert_int_equal(track->parent, top);
            continue;
        }
        int64_t busy_ns = 0;
        for (size_t k = 0; k < track->series.spans.count; k++)
            busy_ns += view_spans_at(&track->series.spans, k).end_ns -
                       view_spans_at(&track->series.spans, k).begin_ns;
        assert_true(busy_ns <= last_ns);
        last_ns = busy_ns;
        top = index;
    }
}

TEST(a_track_is_moved_up_and_down)
{
    char first[64], second[64];
    type("o3"); /* neighbours without children */
    snprintf(first, sizeof first, "%s", name_of_row(0));
    view->track = view_track_of_row(view, 0);
    type("o5");
    assert_non_null(view->menu); /* once more, if one likes */
    snprintf(second, sizeof second, "%s", name_of_row(0));
    assert_string_not_equal(first, second);
    type("4<Esc>");
    assert_string_equal(name_of_row(0), first);
    type("o4<Esc>"); /* there is nothing above */
    assert_string_equal(name_of_row(0), first);
}

TEST(a_click_chooses)
{
    type("jxX");
    const int title = row_with("show hidden tracks again");
    const struct view_pointer all = {.kind = VIEW_POINTER_CLICK, .row = title + 1, .column = 9};
    view_point(view, all);
    assert_null(view->menu);
    type("X");
    assert_string_equal(view->message, "no track is hidden");
    type("o");
    view_point(view, (struct view_pointer){.kind = VIEW_POINTER_CLICK, .row = 0, .column = 0});
    assert_null(view->menu); /* beside it */
}

/* ---- Other programs ----------------------------------------------------------------------- */

static void assert_command(const char *command)
{
    char whole[256];
    snprintf(whole, sizeof whole, "%s '%s'", command, path); /* a blank in it: quoted */
    assert_ptr_equal(view->prompt, &view_run_prompt);
    assert_string_equal(view->typed, whole);
    type("<Enter>");
    assert_string_equal(view->message, whole); /* nobody runs it here */
    assert_false(view->wants_run);
}

TEST(actions_are_command_lines)
{
    type("r");
    assert_command("hal-replay");
    type("g#s3<Enter>r");
    assert_command("hal-replay --range='#s3'");
    type("V");
    assert_command("hal-replay --verify=submissions");
    type("I2");
    assert_command("hal-replay --what-if=drop-host-waits");
    type("E1");
    assert_command("hal-trace trim -o part.pb.zst --submissions='#s3'");
    type("E2");
    assert_command("hal-trace dump --json");
}

/* dump counts from the first event, as the view does: what it is asked for is what is on the
 * screen. */
TEST(a_range_is_dumped_by_its_times)
{
    type("g1us<Enter>vg2.5us<Enter>vE2");
    assert_command("hal-trace dump --json --from=@0.001000ms --to=@0.002500ms");
    type("v");
}

TEST(a_range_is_what_they_are_about)
{
    type("g#s3<Enter>vg#s6<Enter>v");
    const struct view_submission *s = &model->submissions[view_model_submission(model, 3)];
    assert_true(view->range_begin_ns <= s->begin_ns); /* where it was submitted */
    type("E1");
    assert_non_null(strstr(view->typed, "--submissions='#s3..#s5'"));
    type("<Esc>r");
    assert_non_null(strstr(view->typed, "--range='#s3..#s5'"));
}

TEST(somebody_at_a_screen_gets_it_run)
{
    view->is_live = true;
    type("r<Enter>");
    assert_true(view->wants_run);
    assert_string_equal(view->command, view->message);
    view->wants_run = false;
    type("r<Esc>");
    assert_false(view->wants_run);
}

/* ---- Columns ------------------------------------------------------------------------------ */

TEST(columns_are_hidden_with_what_stands_in_them)
{
    type("g#s3<Enter>3_");
    const int header = row_with("number");
    char before[1024], row[1024];
    snprintf(before, sizeof before, "%s", row_text(header));
    snprintf(row, sizeof row, "%s", row_text(header + 2));
    const char *queue = strstr(before, "queue "), *submitted = strstr(before, "submitted");
    assert_true(queue && submitted);
    type("C2<Esc>"); /* the queue */
    const char *text = row_text(header);
    assert_null(strstr(text, "queue "));
    assert_non_null(strstr(text, "number"));
    assert_memory_equal(strstr(text, "submitted"), submitted, strlen(submitted));
    text = row_text(header + 2); /* what stood behind the queue is where the queue was */
    const size_t gap = 7, at = (size_t)(queue - before) + gap;
    assert_memory_equal(text, row, at - gap);
    assert_string_equal(text + at - gap, row + at);
    type("C2<Esc>");
    assert_string_equal(row_text(header), before);
    type("C1234567");
    assert_string_equal(view->message, "the last column stays");
    assert_non_null(view->menu);
}

/* ---- Marks -------------------------------------------------------------------------------- */

static struct view *reopened(void)
{
    struct view *fresh;
    assert_int_equal(view_create(model, &fresh), HAL_OK);
    view_bookmarks_load(fresh);
    return fresh;
}

TEST(marks_stay_beside_the_trace)
{
    char marks[96];
    snprintf(marks, sizeof marks, "%s.marks", path);
    struct view *fresh = reopened(); /* nothing was saved */
    assert_int_equal(view_bookmarks(fresh)[0], VIEW_NO_TIME);
    view_destroy(fresh);
    type("g500us<Enter>mag1ms<Enter>mzm<Enter>");
    assert_non_null(strstr(view->message, "2 bookmarks saved"));
    fresh = reopened();
    assert_int_equal(view_bookmarks(fresh)[0], 500000);
    assert_int_equal(view_bookmarks(fresh)[25], 1000000);
    assert_int_equal(view_bookmarks(fresh)[1], VIEW_NO_TIME);
    view_destroy(fresh);

    static const char *const odd[] = {"",
                                      "a",
                                      "A 5\n",
                                      "a 99999999999999999999\n",
                                      "~ 7\n",
                                      "a -9223372036854775808\nb x\n",
                                      "c 9223372036854775807\n"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        FILE *file = fopen(marks, "w");
        assert_non_null(file);
        fputs(odd[i], file);
        fclose(file);
        fresh = reopened();
        for (int k = 0; k < VIEW_BOOKMARKS; k++)
            assert_int_equal(view_bookmarks(fresh)[k], VIEW_NO_TIME);
        view_destroy(fresh);
    }
    unlink(marks);
    assert_int_equal(mkfifo(marks, 0600), 0); /* nobody waits for a writer */
    view_destroy(reopened());
    unlink(marks);
}

/* ---- Two traces --------------------------------------------------------------------------- */

TEST(another_trace_is_shown_below_each_track)
{
    char keys[128];
    const uint32_t rows = view_row_count(view);
    snprintf(keys, sizeof keys, "0D%s<Enter>", other_path);
    type(keys);
    assert_int_equal(view->track_height, 2);
    assert_int_equal(view_row_count(view), rows); /* tracks are what they were */
    const int device = row_with("~device"), delta = row_with("delta");
    assert_true(device > 0 && delta > device);
    assert_non_null(strstr(row_text(device + 1), "other"));
    /* It has fewer submissions: what runs in it is over sooner. */
    assert_non_null(strchr(row_text(delta), '+'));
    type("Djunk<Enter>");
    assert_int_equal(view->track_height, 2); /* what cannot be read changes nothing */
    type("D<Enter>");
    assert_int_equal(view->track_height, 1);
    assert_int_equal(row_with("delta"), -1);
}

/* Compared with itself, nothing differs. */
TEST(a_trace_beside_itself_has_no_delta)
{
    char keys[128];
    snprintf(keys, sizeof keys, "0D%s<Enter>", path);
    type(keys);
    const char *delta = row_text(row_with("delta"));
    assert_null(strpbrk(delta + view->layout.gutter, "+-"));
    assert_non_null(strchr(delta, '='));
    const int row = row_with("queue 0");
    char first[1024];
    snprintf(first, sizeof first, "%s", row_text(row) + view->layout.gutter);
    assert_string_equal(first, row_text(row + 1) + view->layout.gutter);
    type("w10jlG<Esc>kkk]]"); /* all of it moves on in both */
    assert_true(view_drawn_row(view, view->track, view->layout.tracks.rows) % 2 == 0);
}

/* ---- Orders ------------------------------------------------------------------------------- */

TEST(findings_are_sorted)
{
    type("5!");
    const struct view_findings *all = view_findings_of(view);
    const struct view_order *order = view_pane_order(view, &view_findings_pane);
    const size_t count = all->list_count;
    assert_true(count > 3);
    const uint32_t first = view_order_row(order, view_findings_pane.list->current(view));
    bool moved = false;
#define FINDING(i) all->list[view_order_row(order, i)]
    type("S");
    for (size_t i = 1; i < count; i++)
        assert_true(FINDING(i - 1).cost_ns >= FINDING(i).cost_ns);
    type("S");
    for (size_t i = 1; i < count; i++)
        assert_true(FINDING(i - 1).count >= FINDING(i).count);
    type("S");
    for (size_t i = 1; i < count; i++) {
        assert_true(FINDING(i - 1).at_ns <= FINDING(i).at_ns);
        moved |= view_order_row(order, i - 1) > view_order_row(order, i);
    }
    assert_true(moved);
    /* still the same one */
    assert_int_equal(view_order_row(order, view_findings_pane.list->current(view)), first);
    type("S");
    for (size_t i = 0; i < count; i++)
        assert_int_equal(view_order_row(order, i), i);
#undef FINDING
}

TEST(iterations_are_sorted)
{
    type("8S");
    const struct view_order *order = view_pane_order(view, &view_iterations_pane);
    const struct view_iterations *iterations = order->of;
    assert_int_equal(order->count, 4); /* tokens */
    for (size_t i = 1; i < order->count; i++) {
        const struct view_iteration *a = &iterations->list[view_order_row(order, i - 1)],
                                    *b = &iterations->list[view_order_row(order, i)];
        assert_true(a->end_ns - a->begin_ns >= b->end_ns - b->begin_ns);
    }
    /* The list's third row is what it shows, and where Enter goes. */
    const struct view_iteration *third = &iterations->list[view_order_row(order, 2)];
    view_iterations_pane.list->select(view, 2);
    assert_int_equal(view->cursor_ns, third->begin_ns);
    assert_int_equal(view_iterations_pane.list->current(view), 2);
    /* From one to the next it goes in time, however the list is sorted. */
    for (size_t i = 1; i < order->count; i++) {
        view_set_cursor(view, iterations->list[i - 1].begin_ns);
        type("t");
        assert_int_equal(view->cursor_ns, iterations->list[i].begin_ns);
    }
    type("SSS");
    for (uint32_t i = 0; i < order->count; i++)
        assert_int_equal(view_order_row(order, i), i);
}

TEST(iterations_say_which_one_it_is)
{
    static const char *const orders[] = {"length, longest first", "blocked time, longest first",
                                         "device time, longest first", "time"};
    type("8");
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        char said[64];
        snprintf(said, sizeof said, "iterations by %s", orders[i]);
        type("S");
        assert_string_equal(view->message, said);
    }
    type("<Home>t");
    assert_int_equal(strncmp(view->message, "iteration 0 of ", 15), 0);
    type("T");
    assert_string_equal(view->message, "no earlier iteration");
    type("t");
    assert_int_equal(strncmp(view->message, "iteration 1 of ", 15), 0);
}

/* A single token. */
TEST(where_nothing_repeats_that_is_said)
{
    const struct decode_options options = {.tokens = 1, .layers = 2, .sync = DECODE_SYNC_OP};
    struct view_model *short_model;
    struct view *short_view;
    char short_path[80];
    snprintf(short_path, sizeof short_path, "%s.short", path);
    assert_int_equal(decode_trace_write(short_path, &options, true), HAL_OK);
    assert_int_equal(view_model_open(short_path, &short_model), HAL_OK);
    assert_int_equal(view_create(short_model, &short_view), HAL_OK);
    assert_int_equal(view_type(short_view, "t"), HAL_OK);
    assert_string_equal(short_view->message, "nothing repeats here");
    assert_int_equal(view_type(short_view, "8S"), HAL_OK);
    assert_string_equal(short_view->message, "there are no iterations to sort");
    view_destroy(short_view);
    view_model_close(short_model);
    unlink(short_path);
}

TEST(a_frame_is_written_as_what_is_chosen)
{
    view->is_live = true;
    type("p2");
    assert_int_equal(view->wants_picture, VIEW_PICTURE_TEXT);
    type("p<Enter>");
    assert_int_equal(view->wants_picture, VIEW_PICTURE_SVG);
    type("p3");
    assert_int_equal(view->wants_picture, VIEW_PICTURE_ANSI);
    assert_null(view->menu);
}

TEST_FIXTURE(open_view, close_view);
TEST_SUITE_FIXTURE(view_set_up, view_tear_down);
