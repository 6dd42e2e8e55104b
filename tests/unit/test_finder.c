/* SPDX-License-Identifier: Apache-2.0 */
/* viewer/finder.c: what is found beside the screen is what is found without it, the model can be
 * used meanwhile, and a finder ends wherever it is. */
#include "tests/viewer/decode_trace.h"
#include "viewer/finder.h"
#include "viewer/path.h"
#include "viewer/view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/test_finder.XXXXXX";
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

static void finds_what_is_found_without_it(void **state)
{
    (void)state;
    struct view_finder *finder;
    struct view_findings beside, direct;
    assert_int_equal(view_finder_start(model, &finder), HAL_OK);
    assert_int_equal(view_finder_take(finder, &beside), HAL_OK);
    assert_int_equal(view_findings_find(model, &direct), HAL_OK);
    assert_true(direct.list_count > 2);
    assert_int_equal(beside.list_count, direct.list_count);
    for (size_t i = 0; i < direct.list_count; i++) {
        assert_int_equal(beside.list[i].kind, direct.list[i].kind);
        assert_int_equal(beside.list[i].cost_ns, direct.list[i].cost_ns);
        assert_string_equal(beside.list[i].title, direct.list[i].title);
        assert_string_equal(beside.list[i].evidence, direct.list[i].evidence);
    }
    assert_int_equal(beside.verdicts_count, direct.verdicts_count);
    view_findings_finish(&beside);
    view_findings_finish(&direct);
}

/* Frames with contents, which read the same file, until it is done. */
static void the_screen_goes_on_meanwhile(void **state)
{
    (void)state;
    struct view_screen screen = {0};
    struct view *view;
    assert_int_equal(view_create(model, &view), HAL_OK);
    view->is_live = true;
    assert_int_equal(view_screen_resize(&screen, 40, 120), HAL_OK);
    view_draw(view, &screen);
    assert_int_equal(view_type(view, "!"), HAL_OK);
    assert_non_null(view->finder);
    assert_int_equal(view->finding, SIZE_MAX);
    assert_true(view->awaits_finding);
    unsigned percent = 0;
    while (view_poll(view)) {
        const unsigned now = view_finder_percent(view->finder);
        assert_true(now >= percent && now <= 100);
        percent = now;
        view->panel = VIEW_PANEL_CONTENTS;
        view_draw(view, &screen);
    }
    assert_int_equal(view->finding, 0); /* it came without another key */
    assert_true(view->findings.list_count > 2);
    view_screen_finish(&screen);
    view_destroy(view);
}

static void a_key_gives_up_the_jump_but_not_the_search(void **state)
{
    (void)state;
    struct view *view;
    assert_int_equal(view_create(model, &view), HAL_OK);
    view->is_live = true;
    assert_int_equal(view_type(view, "!"), HAL_OK);
    assert_non_null(view->finder);
    assert_int_equal(view_type(view, "l"), HAL_OK);
    while (view_poll(view))
        usleep(100); /* nothing else happens here */
    assert_int_equal(view->finding, SIZE_MAX);
    assert_true(view->findings.list_count > 2);
    view_destroy(view);
}

static void ends_wherever_it_is(void **state)
{
    (void)state;
    struct view_finder *finder;
    for (useconds_t pause = 0; pause < 3000; pause += 150) { /* an odd moment each */
        assert_int_equal(view_finder_start(model, &finder), HAL_OK);
        usleep(pause);
        view_finder_cancel(finder);
    }
    view_finder_cancel(NULL);
}

/* Stopped before it began, every part says so, and nothing is left behind. */
static void a_stopped_task_finds_nothing(void **state)
{
    (void)state;
    struct view_task task = {.stop = true};
    struct view_findings findings;
    assert_int_equal(view_findings_look(model, &task, &findings), HAL_TIMEOUT);
    assert_int_equal(findings.list_count, 0);
    struct view_path found;
    assert_int_equal(view_path_find(model, &task, &found), HAL_TIMEOUT);
    assert_int_equal(found.parts_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_is_found_without_it),
        cmocka_unit_test(the_screen_goes_on_meanwhile),
        cmocka_unit_test(a_key_gives_up_the_jump_but_not_the_search),
        cmocka_unit_test(ends_wherever_it_is),
        cmocka_unit_test(a_stopped_task_finds_nothing),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
