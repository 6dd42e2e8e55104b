/* SPDX-License-Identifier: Apache-2.0 */
/* Random keys, clicks and sizes on an ordinary trace and on a hostile one. Whatever happens: no
 * control character reaches the screen, and cursor and window stay inside the trace.
 * HAL_TEST_SEED=n repeats a run, ROUNDS=n makes it longer. */
#include "tests/support/test.h"
#include "tests/support/trace_builder.h"
#include "tests/viewer/decode_trace.h"
#include "viewer/report/report.h"
#include "viewer/text/text.h"
#include "viewer/ui/view.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

static uint32_t random_state;
static char folder[] = "/tmp/test_view_keys.XXXXXX";
static char path[64];

static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(random_state >> 8) * limit >> 24);
}

static int setup(void **state)
{
    (void)state;
    const char *seed = getenv("HAL_TEST_SEED");
    random_state = seed ? (uint32_t)strtoul(seed, NULL, 10) : (uint32_t)time(NULL);
    printf("seed %u\n", random_state);
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/\033[31mt.pb.zst", folder);
    return 0;
}

static int teardown(void **state)
{
    char marks[80];
    (void)state;
    unlink(path);
    snprintf(marks, sizeof marks, "%s.marks", path); /* keys may have saved some */
    unlink(marks);
    return rmdir(folder);
}

/* ---- A hostile trace ---------------------------------------------------------------------- */

static const char *hostile_label(void)
{
    static const char *const labels[] = {"\033[2J\033]0;owned\a",
                                         "\xC2\x9B"
                                         "31m",
                                         "a\nb\tc\r",
                                         "\xE2\x80\xAE"
                                         "gnp.exe",
                                         "\xFF\xFE\xC0",
                                         "\xE6\xBC\xA2\xE5\xAD\x97\xE6\xBC\xA2\xE5\xAD\x97",
                                         "",
                                         "%s%n%n",
                                         "e\xCC\x81\xCC\x81\xCC\x81"};
    static char huge[60000];
    const uint32_t choice = random_below(sizeof labels / sizeof *labels + 1);
    if (choice < sizeof labels / sizeof *labels)
        return labels[choice];
    memset(huge, 'x', sizeof huge - 1);
    return huge;
}

/* Mostly near the start, sometimes anywhere. */
static void random_time(struct trace_builder *b)
{
    static const int64_t odd[] = {INT64_MIN, INT64_MAX - 1000000, 0, -1, 1000000000000000};
    b->begin_ns = random_below(12) ? 1000 + random_below(100000)
                                   : odd[random_below(sizeof odd / sizeof *odd)];
    b->step_ns = random_below(4) ? random_below(500) : 0;
    b->status = random_below(10) ? 0 : (uint16_t)random_below(12);
}

static void random_segments(struct trace_builder *b)
{
    for (uint32_t n = random_below(20); n > 0; n--) {
        switch (random_below(5)) {
        case 0:
            builder_dispatch(b, random_below(6), random_below(4), random_below(UINT32_MAX), 1, 0);
            break;
        case 1: builder_barrier(b, NULL, 0); break;
        case 2: builder_fill(b, 1, 0, (uint64_t)1 << random_below(64), 0, 1); break;
        case 3: builder_debug_begin(b, hostile_label(), 0); break;
        default: builder_copy(b, 1, 0, 2, 0, random_below(UINT32_MAX)); break;
        }
    }
}

static void random_submission(struct trace_builder *b)
{
    struct trace_semaphore_value values[4];
    const uint64_t commands[3] = {random_below(8), random_below(8), random_below(8)};
    const uint64_t number = random_below(60);
    for (size_t i = 0; i < 4; i++)
        values[i] =
            (struct trace_semaphore_value){.semaphore = random_below(5), .value = random_below(9)};
    if (random_below(3))
        builder_submit(b, number, random_below(5), builder_values(values, random_below(3)),
                       builder_values(values + 2, random_below(3)),
                       builder_ids(commands, random_below(4)));
    random_time(b);
    const int64_t begin_ns = b->begin_ns;
    const bool ordinary = begin_ns > 0 && begin_ns < 1000000000;
    if (random_below(3))
        builder_submission_done(b, number, random_below(5),
                                ordinary ? begin_ns - random_below(100) : INT64_MIN, begin_ns,
                                ordinary ? begin_ns + random_below(3000) : begin_ns);
}

static void random_event(struct trace_builder *b)
{
    const struct trace_semaphore_value value = {.semaphore = random_below(5),
                                                .value = random_below(9)};
    const struct trace_entry_point kernel = {.name = builder_string(b, hostile_label())};
    b->thread = 1 + random_below(6);
    random_time(b);
    switch (random_below(13)) {
    case 0: builder_scope_begin(b, hostile_label()); break;
    case 1: builder_scope_end(b); break;
    case 2: builder_command_buffer_create(b, random_below(8), hostile_label(), 0); break;
    case 3:
        random_segments(b);
        builder_end_commands(b, random_below(8));
        break;
    case 4: builder_semaphore_create(b, random_below(5), hostile_label(), random_below(9)); break;
    case 5: builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, value.semaphore, value.value, NULL); break;
    case 6: builder_semaphore_wait(b, 0, &value, 1, (int64_t)random_below(2) * INT64_MAX); break;
    case 7: builder_host_write(b, random_below(4), 0, NULL, random_below(20000000)); break;
    case 8: builder_buffer_create(b, random_below(4), hostile_label(), UINT64_MAX); break;
    case 9: builder_executable_create(b, random_below(6), hostile_label(), "x", &kernel, 1); break;
    case 10: builder_destroy(b, TRACE_SEMAPHORE_DESTROY, random_below(5)); break;
    default: random_submission(b); break;
    }
}

static struct view_model *open_hostile(void)
{
    struct trace_builder b;
    struct view_model *model = NULL;
    builder_open(&b, path, NULL);
    builder_thread(&b, 2, UINT64_MAX, hostile_label());
    builder_thread(&b, 3, 0, "");
    for (uint32_t i = 4; i < 7; i++)
        builder_thread(&b, i, i, hostile_label());
    for (int i = 0; i < 600; i++)
        random_event(&b);
    if (builder_close(&b, NULL) != HAL_OK || view_model_open(path, &model) != HAL_OK)
        fail_msg("%s", hal_message());
    return model;
}

/* ---- Playing ------------------------------------------------------------------------------ */

static void check(const struct view *view, const struct view_screen *screen)
{
    const struct view_model *m = view->model;
    for (int i = 0; i < screen->rows * screen->columns; i++) {
        const uint32_t character = screen->cells[i].character;
        assert_true(character == 0 || view_width(character) > 0);
        assert_true((screen->cells[i].style & VIEW_STYLE_MASK) < VIEW_STYLE_COUNT);
    }
    if (view->cursor_ns < m->first_ns || view->cursor_ns >= m->last_ns)
        fail_msg("the cursor is at %" PRId64 ", outside %" PRId64 "..%" PRId64, view->cursor_ns,
                 m->first_ns, m->last_ns);
    assert_true(view->window.span_ns > 0 && view->window.begin_ns >= m->first_ns);
    assert_true(view->window.begin_ns + view->window.span_ns <= m->last_ns);
    assert_true(screen->cursor_row < screen->rows && screen->cursor_column < screen->columns);
}

static void play_step(struct view *view, struct view_screen *screen)
{
    static const char *const words[] = {"/token<Enter>",
                                        "/.*<Enter>",
                                        "&dur>1us<Enter>",
                                        "&name~(t|#s) queue=1<Enter>",
                                        "&failed<Enter>",
                                        "\\",
                                        "mz",
                                        "'z",
                                        "/(\\033|x)+<Enter>",
                                        "g50%<Enter>",
                                        "g#s5<Enter>",
                                        "g#s3.d2<Enter>",
                                        "g-1ms<Enter>",
                                        "g9e18s<Enter>",
                                        ":ne<Tab> g<Tab><Enter>",
                                        ":contents<Enter>",
                                        ":%s<Tab><Enter>",
                                        "<PgDn><PgDn>",
                                        "<Home>",
                                        "<End>",
                                        "<Tab>",
                                        "<Enter>",
                                        "<Up><Down>",
                                        "<BS>",
                                        "<C-r>",
                                        "g\xE6\xBC\xA2<BS><Enter>"};
    static const char keys[] =
        "hljkHLadwwwwwssss0fu[]{}()nN/g?_12345678999CbJKSyMR q,.!tTxXvvzm'&<>BecDYp*orVIEX";
    const uint32_t kind = random_below(20);
    if (kind == 0)
        assert_int_equal(
            view_screen_resize(screen, 1 + (int)random_below(60), 1 + (int)random_below(260)),
            HAL_OK);
    else if (kind < 4)
        view_point(view,
                   (struct view_pointer){(enum view_pointer_kind)random_below(5),
                                         (int)random_below(70) - 5, (int)random_below(270) - 5});
    else if (kind < 8)
        assert_int_equal(view_type(view, words[random_below(sizeof words / sizeof *words)]),
                         HAL_OK);
    else
        view_key(view, keys[random_below(sizeof keys - 1)]);
}

static void play(struct view_model *model)
{
    const char *rounds = getenv("ROUNDS");
    const long count = rounds ? strtol(rounds, NULL, 10) : 700;
    struct view_screen screen = {0};
    struct view *view;
    assert_int_equal(view_create(model, &view), HAL_OK);
    assert_int_equal(view_screen_resize(&screen, 24, 80), HAL_OK);
    view->is_live = random_below(2);
    view->jobs_from = random_below(2) ? 0 : view->jobs_from;
    for (long i = 0; i < count; i++) {
        view_poll(view);
        view_draw(view, &screen);
        check(view, &screen);
        play_step(view, &screen);
    }
    view_screen_finish(&screen);
    view_destroy(view);
}

TEST(an_ordinary_trace_survives_random_keys)
{
    const struct decode_options options = {
        .tokens = 6, .layers = 2, .sync = DECODE_SYNC_OP, .seed = random_below(1000)};
    struct view_model *model = NULL;
    if (decode_trace_write(path, &options, true) != HAL_OK ||
        view_model_open(path, &model) != HAL_OK)
        fail_msg("%s", hal_message());
    play(model);
    view_model_close(model);
}

TEST(hostile_traces_survive_random_keys)
{
    for (int i = 0; i < 4; i++) {
        struct view_model *model = open_hostile();
        play(model);
        view_model_close(model);
    }
}

static void assert_clean(const char *text)
{
    for (; *text; text++)
        assert_true((unsigned char)*text >= 0x20 || *text == '\n');
}

TEST(reports_of_hostile_traces_are_clean)
{
    for (int i = 0; i < 8; i++) {
        struct view_model *model = open_hostile();
        for (unsigned report = 0; report < VIEW_REPORT_COUNT; report++) {
            const struct view_report_options options = {
                .width = 20 + (int)random_below(200), .json = i % 2, .ascii = i % 3 == 0};
            char *text;
            size_t bytes;
            FILE *file = open_memstream(&text, &bytes);
            assert_int_equal(view_report_write(model, (enum view_report)report, &options, file),
                             HAL_OK);
            fclose(file);
            assert_clean(text);
            assert_int_equal(strlen(text), bytes);
            free(text);
        }
        view_model_close(model);
    }
}

TEST_SUITE_FIXTURE(setup, teardown);
