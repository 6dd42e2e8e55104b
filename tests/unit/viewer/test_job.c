/* SPDX-License-Identifier: Apache-2.0 */
/* viewer/ui/job.c: what is done beside the screen comes to the same as without it, the model can be
 * used meanwhile, and a job ends wherever it is. */
#include "tests/support/test.h"
#include "tests/viewer/decode_trace.h"
#include "viewer/findings/findings.h"
#include "viewer/model/path.h"
#include "viewer/ui/counters.h"
#include "viewer/ui/filter.h"
#include "viewer/ui/job.h"
#include "viewer/ui/panels/iteration_panel.h"
#include "viewer/ui/panels/kernels.h"
#include "viewer/ui/panes.h"
#include "viewer/ui/restore.h"

#include <unistd.h>

static char folder[] = "/tmp/test_job.XXXXXX";
static char path[64];
static struct view_model *model;

static int setup(void **state)
{
    const struct decode_options options = {.tokens = 8, .layers = 4, .sync = DECODE_SYNC_OP};
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/t.pb.zst", folder);
    return decode_trace_write(path, &options, true) == HAL_OK &&
                   view_model_open(path, &model) == HAL_OK
               ? 0
               : -1;
}

static int teardown(void **state)
{
    (void)state;
    view_model_close(model);
    unlink(path);
    return rmdir(folder);
}

static struct view *create_live(void)
{
    struct view *view;
    assert_int_equal(view_create(model, &view), HAL_OK);
    view->is_live = true;
    view->jobs_from = 0; /* however few there are */
    return view;
}

static void type(struct view *view, const char *keys)
{
    if (view_type(view, keys) != HAL_OK)
        fail_msg("%s", hal_message());
}

static void finish(struct view *view)
{
    while (view_poll(view))
        usleep(100); /* nothing else happens here */
}

/* Until everything that was asked for is there; what is asked for may need something else first. */
static void draw_until_done(struct view *view, struct view_screen *screen)
{
    do
        view_draw(view, screen);
    while (view_poll(view));
    view_draw(view, screen);
}

static char *frame_of(const struct view_screen *screen)
{
    char *text;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);
    view_screen_write_text(screen, file, (struct view_text_form){0});
    fclose(file);
    return text;
}

/* ---- The same as without a screen --------------------------------------------------------- */

TEST(finds_what_is_found_without_it)
{
    struct view *view = create_live();
    struct view_findings direct;
    type(view, "5!");
    assert_true(view_job_runs(view, VIEW_JOB_FINDINGS));
    finish(view);
    const struct view_findings *beside = view_findings_of(view);
    assert_int_equal(view_findings_find(model, &direct), HAL_OK);
    assert_true(direct.list_count > 2);
    assert_int_equal(beside->list_count, direct.list_count);
    for (size_t i = 0; i < direct.list_count; i++) {
        assert_int_equal(beside->list[i].kind, direct.list[i].kind);
        assert_int_equal(beside->list[i].cost_ns, direct.list[i].cost_ns);
        assert_string_equal(beside->list[i].title, direct.list[i].title);
        assert_string_equal(beside->list[i].evidence, direct.list[i].evidence);
    }
    assert_int_equal(beside->verdicts_count, direct.verdicts_count);
    view_findings_finish(&direct);
    view_destroy(view);
}

/* Frames before and after, of a view that does it at once and of one that does it aside. */
TEST(shows_what_is_shown_without_it)
{
    char compared[80];
    snprintf(compared, sizeof compared, "D%s<Enter>", path);
    const struct {
        const char *name, *keys;
        enum view_job_kind kind;
    } cases[] = {
        {"filter", "&name~mul<Enter>", VIEW_JOB_FILTER},
        {"filter of nothing", "&name~nothing<Enter>", VIEW_JOB_FILTER},
        {"kernels", "6", VIEW_JOB_KERNELS},
        {"iterations", "8", VIEW_JOB_KERNELS},
        {"kernels of a range", "g30%<Enter>vg60%<Enter>v", VIEW_JOB_KERNELS},
        {"critical path", "c", VIEW_JOB_PATH},
        {"findings", "5", VIEW_JOB_FINDINGS},
        {"counters", "i2", VIEW_JOB_COUNTERS},
        {"comparison", compared, VIEW_JOB_DIFFERENCE},
        {"submissions by execution", "3S", VIEW_JOB_SORT},
        {"submissions by queueing", "3SS", VIEW_JOB_SORT},
        {"gaps by length", "4S", VIEW_JOB_SORT_GAPS},
        {"buffers by life", "7SS", VIEW_JOB_SORT_BUFFERS},
    };
    struct view_screen screens[2] = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *frames[2];
        for (int live = 0; live < 2; live++) {
            struct view *view = create_live();
            view->is_live = live;
            assert_int_equal(view_screen_resize(&screens[live], 40, 120), HAL_OK);
            view_draw(view, &screens[live]);
            type(view, cases[i].keys);
            view_draw(view, &screens[live]);
            if (view_job_runs(view, cases[i].kind) != live)
                fail_msg("%s, live %d: %s", cases[i].name, live, live ? "at once" : "aside");
            draw_until_done(view, &screens[live]);
            frames[live] = frame_of(&screens[live]);
            view_destroy(view);
        }
        if (strcmp(frames[0], frames[1]) != 0)
            fail_msg("%s:\n%s\nand aside:\n%s", cases[i].name, frames[0], frames[1]);
        free(frames[0]);
        free(frames[1]);
    }
    view_screen_finish(&screens[0]);
    view_screen_finish(&screens[1]);
}

/* ---- Meanwhile ---------------------------------------------------------------------------- */

/* Frames with contents, which read the same file, until it is done. */
TEST(the_screen_goes_on_meanwhile)
{
    struct view_screen screen = {0};
    struct view *view = create_live();
    assert_int_equal(view_screen_resize(&screen, 40, 120), HAL_OK);
    view_draw(view, &screen);
    type(view, "!");
    assert_true(view_job_runs(view, VIEW_JOB_FINDINGS));
    assert_int_equal(view_findings_pane.list->current(view), SIZE_MAX);
    unsigned percent = 0;
    bool told = false;
    while (view_poll(view)) {
        char text[64] = "";
        unsigned now;
        told = !view->jobs; /* there is something new, and nothing more will come */
        if (told)
            continue;
        view_job_text(view, text, sizeof text);
        assert_int_equal(sscanf(text, "findings %u %%", &now), 1);
        assert_true(now >= percent && now <= 100);
        percent = now;
        view->panel = VIEW_PANEL_CONTENTS;
        view_draw(view, &screen);
    }
    assert_true(told);
    assert_int_equal(view_findings_pane.list->current(view), 0); /* it came without another key */
    assert_true(view_findings_of(view)->list_count > 2);
    view_screen_finish(&screen);
    view_destroy(view);
}

/* Whoever sorts what is not there yet hears why. */
TEST(orders_of_what_is_not_there_say_why)
{
    static const char *const panels[] = {"5", "6", "8"};
    struct view_screen screen = {0};
    assert_int_equal(view_screen_resize(&screen, 40, 120), HAL_OK);
    for (size_t i = 0; i < sizeof panels / sizeof *panels; i++) {
        struct view *view = create_live();
        type(view, panels[i]);
        view_draw(view, &screen);
        type(view, "S");
        assert_int_equal(strncmp(view->message, "searching, ", 11), 0);
        view_destroy(view);
    }
    view_screen_finish(&screen);
}

/* The kernels come first, then the iterations. */
TEST(jumps_wait_for_iterations)
{
    struct view *view = create_live();
    for (int i = 0; i < 2; i++) {
        type(view, "t");
        assert_string_equal(view->message, "searching for iterations: try again when it is done");
        finish(view);
    }
    type(view, "t");
    assert_int_equal(strncmp(view->message, "iteration 0 of ", 15), 0);
    view_destroy(view);
}

TEST(a_key_gives_up_the_jump_but_not_the_search)
{
    struct view *view = create_live();
    type(view, "!");
    assert_true(view_job_runs(view, VIEW_JOB_FINDINGS));
    type(view, "l");
    finish(view);
    assert_int_equal(view_findings_pane.list->current(view), SIZE_MAX);
    assert_true(view_findings_of(view)->list_count > 2);
    view_destroy(view);
}

/* What such a job makes. */
static bool is_there(struct view *view, enum view_job_kind kind)
{
    switch ((int)kind) {
    case VIEW_JOB_FILTER: return view->filter != NULL;
    case VIEW_JOB_KERNELS: return view_pane_order(view, &view_kernels_pane)->of != NULL;
    case VIEW_JOB_PATH: return strncmp(view->message, "critical path: ", 15) == 0;
    case VIEW_JOB_COUNTERS: return view_meter_rows(view) > 0;
    case VIEW_JOB_DIFFERENCE: return view->track_height > 1;
    case VIEW_JOB_FINDINGS: return view_findings_of(view)->list_count > 0;
    case VIEW_JOB_SORT:
        return view_order_row(view_pane_order(view, &view_submissions_pane), 1) != 1;
    default: fail();
    }
    return false;
}

/* Escape ends what runs and leaves what was; asking again begins anew. */
TEST(escape_gives_up)
{
    char compared[80];
    snprintf(compared, sizeof compared, "D%s<Enter>", path);
    const struct {
        const char *keys, *message;
        enum view_job_kind kind;
    } cases[] = {{"&name~mul<Enter>", "cancelled: filter", VIEW_JOB_FILTER},
                 {"6", "cancelled: kernels", VIEW_JOB_KERNELS},
                 {"c", "cancelled: critical path", VIEW_JOB_PATH},
                 {"i", "cancelled: counters", VIEW_JOB_COUNTERS},
                 {compared, "cancelled: comparison", VIEW_JOB_DIFFERENCE},
                 {"5", "cancelled: findings", VIEW_JOB_FINDINGS},
                 {"g30%<Enter>vg60%<Enter>v", "cancelled: kernels", VIEW_JOB_KERNELS},
                 {"3S", "cancelled: sorting", VIEW_JOB_SORT}};
    struct view_screen screen = {0};
    assert_int_equal(view_screen_resize(&screen, 40, 120), HAL_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct view *view = create_live();
        view_draw(view, &screen);
        type(view, cases[i].keys);
        view_draw(view, &screen);
        assert_true(view_job_runs(view, cases[i].kind));
        type(view, "<Esc>");
        assert_string_equal(view->message, cases[i].message);
        assert_false(view_job_runs(view, cases[i].kind));
        view_draw(view, &screen); /* does not begin it again */
        assert_false(view_job_runs(view, cases[i].kind));
        finish(view);
        assert_false(is_there(view, cases[i].kind));
        if (view->range == VIEW_RANGE_SET)
            type(view, "v");
        type(view, cases[i].keys);
        view_draw(view, &screen);
        draw_until_done(view, &screen);
        assert_true(is_there(view, cases[i].kind));
        view_destroy(view);
    }
    view_screen_finish(&screen);
}

static bool tells_kernels(struct view *view)
{
    struct view_lines lines = {0};
    view_describe_range(view, &lines);
    const bool tells = strstr(lines.text, VIEW_KERNEL_HEADER) != NULL;
    view_lines_finish(&lines);
    return tells;
}

/* Where kernels are known already: given up, and of one range after the other, which ends with it.
 */
TEST(kernels_are_those_of_the_range)
{
    struct view_screen screen = {0};
    char *frames[2];
    assert_int_equal(view_screen_resize(&screen, 40, 120), HAL_OK);
    for (int live = 0; live < 2; live++) {
        struct view *view = create_live();
        view->is_live = live;
        view_draw(view, &screen);
        type(view, "6");
        draw_until_done(view, &screen);
        assert_non_null(view_pane_order(view, &view_kernels_pane)->of);
        type(view, "g30%<Enter>vg60%<Enter>v");
        view_draw(view, &screen);
        assert_int_equal(view_job_runs(view, VIEW_JOB_RANGE), live);
        type(view, "<Esc>");
        if (live)
            assert_string_equal(view->message, "cancelled: range's kernels");
        draw_until_done(view, &screen);
        assert_int_equal(tells_kernels(view), !live);
        type(view, "vg30%<Enter>vg60%<Enter>v");
        draw_until_done(view, &screen);
        assert_true(tells_kernels(view));
        type(view, "vg10%<Enter>vg60%<Enter>v");
        draw_until_done(view, &screen);
        frames[live] = frame_of(&screen);
        view_destroy(view);
    }
    assert_string_equal(frames[0], frames[1]);
    assert_non_null(strstr(frames[0], "mul_mv"));
    free(frames[0]);
    frames[0] = NULL;
    struct view *view = create_live(); /* of nothing but the last range */
    view->is_live = false;
    view_draw(view, &screen);
    type(view, "g10%<Enter>vg60%<Enter>v");
    view_draw(view, &screen);
    frames[0] = frame_of(&screen);
    assert_string_equal(frames[0], frames[1]);
    view_destroy(view);
    free(frames[0]);
    free(frames[1]);
    view_screen_finish(&screen);
}

/* Whether the list is in the order that was asked for last, equal ones by their numbers. */
static bool gaps_are_by_length(const struct view *view)
{
    const struct view_order *order = view_pane_order(view, &view_gaps_pane);
    bool sorted = order->by == 1 && order->shown_by == 1;
    for (size_t i = 1; i < model->gaps_count; i++) {
        const uint32_t first = view_order_row(order, i - 1), second = view_order_row(order, i);
        const struct view_gap *a = &model->gaps[first], *b = &model->gaps[second];
        const int64_t first_ns = a->end_ns - a->begin_ns, second_ns = b->end_ns - b->begin_ns;
        sorted = sorted && (first_ns > second_ns || (first_ns == second_ns && first < second));
    }
    return sorted;
}

/* What is asked for last holds. */
TEST(another_order_or_filter_takes_the_place_of_one_that_runs)
{
    struct view *view = create_live();
    type(view, "&name~rms<Enter>&name~mul<Enter>");
    finish(view);
    assert_non_null(view->filter);
    assert_string_equal(view->filter->text, "name~mul");
    type(view, "&name~rms<Enter>\\");
    finish(view);
    assert_null(view->filter);
    type(view, "3SS"); /* the first one is left for the second */
    finish(view);
    assert_int_equal(view_pane_order(view, &view_submissions_pane)->by, 2);
    assert_int_equal(view_pane_order(view, &view_submissions_pane)->shown_by, 2);
    view_destroy(view);
}

/* However small this trace is: nobody knows how large another one is. */
TEST(another_trace_is_always_read_aside)
{
    char compared[80];
    struct view *view = create_live();
    view->jobs_from = UINT64_MAX;
    snprintf(compared, sizeof compared, "D%s<Enter>", path);
    type(view, compared);
    assert_true(view_job_runs(view, VIEW_JOB_DIFFERENCE));
    finish(view);
    assert_int_equal(view->track_height, 2);
    type(view, "D<Enter>"); /* shows this one alone again */
    assert_int_equal(view->track_height, 1);
    finish(view);
    view_destroy(view);
}

/* Two lists are sorted side by side. */
TEST(one_list_does_not_end_the_sorting_of_another)
{
    struct view *view = create_live();
    type(view, "3S4S");
    assert_true(view_job_runs(view, VIEW_JOB_SORT));
    assert_true(view_job_runs(view, VIEW_JOB_SORT_GAPS));
    finish(view);
    assert_int_equal(view_pane_order(view, &view_submissions_pane)->by, 1);
    assert_int_equal(view_pane_order(view, &view_submissions_pane)->shown_by, 1);
    assert_true(gaps_are_by_length(view));
    type(view, "8");
    finish(view);
    struct view_screen screen = {0};
    assert_int_equal(view_screen_resize(&screen, 40, 120), HAL_OK);
    draw_until_done(view, &screen);
    type(view, "S6S7S"); /* iterations, kernels, buffers */
    assert_true(view_job_runs(view, VIEW_JOB_SORT_ITERATIONS));
    assert_true(view_job_runs(view, VIEW_JOB_SORT_KERNELS));
    assert_true(view_job_runs(view, VIEW_JOB_SORT_BUFFERS));
    finish(view);
    view_screen_finish(&screen);
    view_destroy(view);
}

/* A range's kernels are being looked for. */
TEST(ends_while_a_range_is_looked_at)
{
    struct view_screen screen = {0};
    assert_int_equal(view_screen_resize(&screen, 40, 120), HAL_OK);
    struct view *view = create_live();
    type(view, "6");
    draw_until_done(view, &screen);
    type(view, "g30%<Enter>vg60%<Enter>v");
    view_draw(view, &screen);
    assert_true(view_job_runs(view, VIEW_JOB_RANGE));
    view_destroy(view);
    view_screen_finish(&screen);
}

/* As when a file has grown: what runs on the old model is made for the new one. */
TEST(what_runs_is_carried)
{
    struct view_screen screen = {0};
    assert_int_equal(view_screen_resize(&screen, 40, 120), HAL_OK);
    struct view *old = create_live(), *view;
    type(old, "3S&name~rms<Enter>");
    finish(old);
    type(old, "3SS&<BS><BS><BS>mul<Enter>");
    assert_true(view_job_runs(old, VIEW_JOB_FILTER));
    assert_true(view_job_runs(old, VIEW_JOB_SORT));
    assert_int_equal(view_create(model, &view), HAL_OK);
    while (!view_restore(view, old))
        ;
    view_destroy(old);
    assert_non_null(view->filter);
    assert_string_equal(view->filter->text, "name~mul");
    assert_true(view->filter->passed > 0);
    assert_int_equal(view_pane_order(view, &view_submissions_pane)->shown_by,
                     view_pane_order(view, &view_submissions_pane)->by);
    assert_true(view->is_live);
    view_draw(view, &screen);
    assert_false(view_jobs_awaited(view));
    view_destroy(view);
    view_screen_finish(&screen);
}

TEST(ends_wherever_it_is)
{
    for (useconds_t pause = 0; pause < 3000; pause += 150) { /* an odd moment each */
        struct view *view = create_live();
        type(view, "5!6c3S&name~mul<Enter>");
        usleep(pause);
        if (pause % 300)
            view_poll(view);
        view_destroy(view);
    }
}

static char *next_frame(struct view *view, struct view_screen *screen, const char *keys)
{
    view_draw(view, screen);
    type(view, keys);
    draw_until_done(view, screen);
    return frame_of(screen);
}

/* As when a file has grown: orders and what was chosen of lists that are not there yet, too; and
 * what the next keys rely on. */
TEST(a_restored_view_shows_the_same)
{
    static const char *const cases[] = {"3SJJ",
                                        "4SJ",
                                        "5!!SS",
                                        "6SJJ",
                                        "7SJJ",
                                        "7JJ9CJ",
                                        "8SSJ",
                                        "6J8S7SS4S5!S6",
                                        "3C2<Esc>",
                                        "2]]]<lt>",
                                        "ee]",
                                        "c",
                                        "i2",
                                        "xo2",
                                        "*j",
                                        "E",
                                        ":ker",
                                        "g30%<Enter>vg60%<Enter>vmb",
                                        "&name~mul<Enter>",
                                        "/mul<Enter>n"};
    struct view_screen screen = {0};
    assert_int_equal(view_screen_resize(&screen, 40, 120), HAL_OK);
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        struct view *old = create_live(), *view;
        old->is_live = i % 2;
        char *before = next_frame(old, &screen, cases[i / 2]);
        assert_int_equal(view_create(model, &view), HAL_OK);
        while (!view_restore(view, old))
            ;
        char *after = next_frame(view, &screen, "");
        if (strcmp(before, after) != 0)
            fail_msg("%s:\n%s\nrestored:\n%s", cases[i / 2], before, after);
        free(before);
        free(after);
        before = next_frame(old, &screen, "<Esc>B<Esc>n");
        after = next_frame(view, &screen, "<Esc>B<Esc>n");
        if (strcmp(before, after) != 0)
            fail_msg("%s, later:\n%s\nrestored:\n%s", cases[i / 2], before, after);
        free(before);
        free(after);
        view_destroy(old);
        view_destroy(view);
    }
    view_screen_finish(&screen);
}

/* Stopped before it began, every part says so, and nothing is left behind. */
TEST(a_stopped_task_finds_nothing)
{
    struct view_task task = {.stop = true};
    struct view_findings findings;
    assert_int_equal(view_findings_look(model, &task, &findings), HAL_TIMEOUT);
    assert_int_equal(findings.list_count, 0);
    struct view_path found;
    struct view_work work;
    struct view_iterations iterations;
    struct view_filter *filter;
    assert_int_equal(view_work_init(model, &task, &work), HAL_TIMEOUT);
    assert_int_equal(view_work_init(model, NULL, &work), HAL_OK);
    assert_int_equal(view_iterations_find(model, &work, &task, &iterations), HAL_TIMEOUT);
    view_work_finish(&work);
    assert_int_equal(view_filter_create(model, "name~mul", &filter), HAL_OK);
    assert_int_equal(view_filter_apply(filter, &task), HAL_TIMEOUT);
    view_filter_destroy(filter);
    assert_int_equal(view_path_find(model, &task, &found), HAL_TIMEOUT);
    assert_int_equal(found.parts_count, 0);
}

TEST_SUITE_FIXTURE(setup, teardown);
