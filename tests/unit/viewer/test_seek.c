/* SPDX-License-Identifier: Apache-2.0 */
/* viewer/ui/seek.c and the search of find.c: at a screen they go on in steps, and find what looking
 * at all events in order finds. */
#include "tests/support/folder.h"
#include "tests/support/test.h"
#include "tests/viewer/decode_trace.h"
#include "viewer/ui/panes.h"
#include "viewer/ui/restore.h"

enum { MOST_AT_ONCE = 8192 };

static struct test_folder folder;
static char path[PATH_MAX];
static struct view_model *model;
static struct view *view;

static int make_trace(void **state)
{
    (void)state;
    const struct decode_options options = {
        .tokens = 60, .layers = 6, .sync = DECODE_SYNC_OP, .seed = 3};
    if (!test_folder_make(&folder))
        return -1;
    test_folder_file(&folder, "t.pb.zst", path);
    if (decode_trace_write(path, &options, true) != HAL_OK ||
        view_model_open(path, &model) != HAL_OK)
        return -1;
    return 0;
}

static int remove_trace(void **state)
{
    (void)state;
    view_model_close(model);
    test_folder_remove(&folder);
    return 0;
}

static int create(void **state)
{
    (void)state;
    return view_create(model, &view) == HAL_OK ? 0 : -1;
}

static int destroy(void **state)
{
    (void)state;
    view_destroy(view);
    return 0;
}

static void type(const char *keys)
{
    assert_int_equal(view_type(view, keys), HAL_OK);
}

/* Until nothing is looked for; returns how many steps that took. */
static size_t finish(void)
{
    size_t steps = 0;
    unsigned percent = 0;
    while (view_has_steps(view)) {
        const uint64_t before = view_seek_of(view)->looked_at;
        const unsigned now = view_seek_percent(view);
        assert_true(now >= percent && now <= 100);
        percent = now;
        view_poll(view);
        if (view_has_steps(view))
            assert_true(view_seek_of(view)->looked_at - before <=
                        2 * MOST_AT_ONCE); /* ended, and anew */
        steps++;
    }
    return steps;
}

static bool repeats(const struct view_track *track)
{
    return track->kind == VIEW_TRACK_COMMANDS || track->kind == VIEW_TRACK_BARRIERS ||
           track->kind == VIEW_TRACK_SEMAPHORES;
}

static bool has_label(const struct view_track *track, const struct view_span *event,
                      const char *text)
{
    char label[256];
    view_span_label(model, track, event, label, sizeof label);
    return strstr(label, text) != NULL;
}

/* All events in their order, by moment and track: the first one behind the selection that has the
 * text, else the first one at all. */
static bool expect(const char *text, uint32_t *out_track, uint32_t *out_event)
{
    for (int wrapped = 0; wrapped < 2; wrapped++) {
        int64_t best_ns = INT64_MAX;
        for (uint32_t l = 0; l < model->tracks_count; l++) {
            const struct view_track *track = &model->tracks[l];
            for (uint32_t i = 0; i < track->events.count && !repeats(track); i++) {
                const struct view_span event = view_spans_at(&track->events, i);
                const int64_t ns = event.begin_ns;
                bool behind = ns > view->cursor_ns || (ns == view->cursor_ns && l > view->track);
                if (l == view->track && view->event != VIEW_NO_REF)
                    behind = i > view->event;
                if ((!behind && !wrapped) || ns >= best_ns || !has_label(track, &event, text))
                    continue;
                best_ns = ns;
                *out_track = l;
                *out_event = i;
            }
        }
        if (best_ns != INT64_MAX)
            return true;
    }
    return false;
}

TEST(steps_find_what_looking_at_all_finds)
{
    static const char *const texts[] = {"submit #s500", "token 41", "map logits", "4.00 KiB",
                                        "wait #s77",    "weights",  "#s1",        "1.00 MiB"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (int live = 0; live < 2; live++) {
            char keys[64];
            uint32_t track = 0, event = 0;
            view->is_live = live != 0;
            snprintf(keys, sizeof keys, "g%zu%%<Enter>", i * 13);
            type(keys);
            assert_true(expect(texts[i], &track, &event));
            snprintf(keys, sizeof keys, "/%s<Enter>", texts[i]);
            type(keys);
            finish();
            if (view->track != track || view->event != event)
                fail_msg("'%s' (live %d): track %u, event %u instead of %u, %u: %s", texts[i], live,
                         view->track, view->event, track, event, view->message);
            for (int again = 0; again < 3; again++) {
                assert_true(expect(texts[i], &track, &event));
                type("n");
                finish();
                assert_int_equal(view->track, track);
                assert_int_equal(view->event, event);
            }
        }
    }
}

TEST(what_is_not_there_takes_many_steps)
{
    uint64_t events = 0;
    for (uint32_t i = 0; i < model->tracks_count; i++)
        events += repeats(&model->tracks[i]) ? 0 : model->tracks[i].events.count;
    view->is_live = true;
    type("g50%<Enter>");
    const uint32_t track = view->track, event = view->event;
    const int64_t cursor_ns = view->cursor_ns;
    type("/no such label<Enter>");
    assert_true(view_has_steps(view));
    assert_true(finish() + 1 >= events / MOST_AT_ONCE);
    assert_string_equal(view->message, "nothing matches 'no such label'");
    assert_int_equal(view->track, track);
    assert_int_equal(view->event, event);
    assert_int_equal(view->cursor_ns, cursor_ns);
    view->is_live = false;
    type("n");
    assert_false(view_has_steps(view));
    assert_string_equal(view->message, "nothing matches 'no such label'");
}

/* A frame meanwhile says how far it is; Esc ends it, and so does any other key, which does what it
 * always does. */
TEST(keys_are_answered_meanwhile)
{
    struct view_screen screen = {0};
    char *text;
    size_t bytes;
    view->is_live = true;
    assert_int_equal(view_screen_resize(&screen, 24, 100), HAL_OK);
    type("/no such label<Enter>");
    view_draw(view, &screen);
    FILE *file = open_memstream(&text, &bytes);
    view_screen_write_text(&screen, file, (struct view_text_form){.ascii = true});
    fclose(file);
    assert_non_null(strstr(text, "searching "));
    free(text);
    view_screen_finish(&screen);
    type("<Esc>");
    assert_false(view_has_steps(view));
    assert_string_equal(view->message, "the search was cancelled");
    type("n");
    assert_true(view_has_steps(view));
    const int64_t span_ns = view->window.span_ns;
    type("w");
    assert_false(view_has_steps(view));
    assert_true(view->window.span_ns < span_ns);
}

/* Kernels that stand in command buffers of many. */
TEST(commands_are_found)
{
    type("0/rms_norm<Enter>");
    assert_true(view->track != VIEW_NO_TRACK && view->event != VIEW_NO_REF);
    struct view_span span = view_spans_at(&model->tracks[view->track].events, view->event);
    const uint32_t submission = view_span_submission(model, &model->tracks[view->track], &span);
    assert_int_not_equal(submission, VIEW_NO_REF);
    char label[128];
    const struct view_op *op = view_model_dispatch(model, &model->submissions[submission], 0);
    view_op_label(model, op, label, sizeof label);
    assert_non_null(strstr(label, "rms_norm"));
}

/* As when a file has grown. */
TEST(another_view_goes_on_searching)
{
    struct view *next;
    type("/rms_norm<Enter>");
    finish();
    assert_int_equal(view_create(model, &next), HAL_OK);
    while (!view_restore(next, view))
        ;
    view_destroy(view);
    view = next;
    const uint32_t before = view->event;
    type("n");
    finish();
    assert_int_not_equal(view->event, before);
    assert_string_equal(view->message, "");
}

TEST(neighbours_of_other_kinds)
{
    type("0g0%<Enter>))");
    assert_int_equal(model->tracks[view->track].kind, VIEW_TRACK_HOST);
    struct view_span span = view_spans_at(&model->tracks[view->track].events, view->event);
    assert_int_equal(span.class, VIEW_WAIT);
    const int64_t second_ns = span.begin_ns;
    type("(");
    span = view_spans_at(&model->tracks[view->track].events, view->event);
    assert_int_equal(span.class, VIEW_WAIT);
    assert_true(span.begin_ns < second_ns);
    type("(");
    assert_string_equal(view->message, "no earlier host synchronisation");
    type("}");
    assert_int_equal(view->track, model->gap_track);
    for (size_t i = 0; i <= model->gaps_count && !*view->message; i++)
        type("}");
    assert_string_equal(view->message, "no later gap of the device");
    assert_int_equal(view->event, model->gaps_count - 1);
}

TEST_FIXTURE(create, destroy);
TEST_SUITE_FIXTURE(make_trace, remove_trace);
