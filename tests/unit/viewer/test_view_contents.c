/* SPDX-License-Identifier: Apache-2.0 */
/* viewer/ui/panels/contents.c, commands.c, follow.c: bytes of buffers at a moment, actions by name,
 * and the same part of a trace that has grown. */
#include "tests/support/test.h"
#include "tests/support/trace_builder.h"
#include "tests/support/trace_folder.h"
#include "viewer/ui/commands.h"
#include "viewer/ui/panels/contents.h"
#include "viewer/ui/restore.h"

#include <dlfcn.h>
#include <unistd.h>

enum { START_NS = 1000, BUFFER = 20, OTHER = 21, BYTES = 64 };

static void at(struct trace_builder *b, int64_t begin_ns, int64_t end_ns)
{
    b->begin_ns = START_NS + begin_ns;
    b->step_ns = end_ns - begin_ns;
}

static struct view_model *close_and_open(struct trace_builder *b, const struct trace_health *health)
{
    struct view_model *m = NULL;
    if (builder_close(b, health) != HAL_OK || view_model_open(path, &m) != HAL_OK)
        fail_msg("%s", hal_message());
    return m;
}

static void open_at(struct trace_builder *b)
{
    struct trace_header header = builder_default_header();
    header.start_ns = START_NS;
    builder_open(b, path, &header);
}

/* ---- Contents ---- */

TEST(bytes_are_those_of_the_moment)
{
    struct trace_builder b;
    uint8_t ones[16], twos[8];
    memset(ones, 0x11, sizeof ones);
    memset(twos, 0x22, sizeof twos);
    open_at(&b);
    at(&b, 0, 10);
    builder_buffer_create(&b, OTHER, "other", BYTES);
    builder_buffer_create(&b, BUFFER, "data", BYTES);
    at(&b, 100, 110);
    builder_host_write(&b, BUFFER, 8, ones, sizeof ones);
    at(&b, 200, 210);
    builder_host_read(&b, BUFFER, 12, twos, sizeof twos);
    at(&b, 300, 310);
    builder_host_write(&b, OTHER, 0, twos, sizeof twos);
    struct view_model *m = close_and_open(&b, NULL);
    struct view_contents *contents;
    assert_int_equal(view_contents_create(m, &contents), HAL_OK);
    uint32_t row = 0;
    while (m->buffers[row].id != BUFFER)
        row++;
    struct view_known bytes = view_contents_at(contents, row, 50, 0, 16);
    assert_int_equal(bytes.known_count, 0);
    assert_int_equal(bytes.piece, VIEW_NO_REF);
    bytes = view_contents_at(contents, row, 150, 0, 16);
    assert_int_equal(bytes.known_count, 8);
    assert_false(bytes.is_known[7]);
    assert_true(bytes.is_known[8]);
    assert_int_equal(bytes.bytes[12], 0x11);
    bytes = view_contents_at(contents, row, 150, 16, 16);
    assert_int_equal(bytes.known_count, 8);
    assert_true(bytes.is_known[7]);
    assert_false(bytes.is_known[8]);
    bytes = view_contents_at(contents, row, 1000, 8, 16);
    assert_int_equal(bytes.known_count, 16);
    assert_int_equal(bytes.bytes[3], 0x11);
    assert_int_equal(bytes.bytes[4], 0x22); /* the read is newer */
    assert_int_equal(bytes.bytes[11], 0x22);
    assert_int_equal(bytes.bytes[12], 0x11);
    assert_int_equal(m->pieces[bytes.piece].class, VIEW_READBACK);
    view_contents_destroy(contents);
    view_model_close(m);
}

TEST(bytes_are_numbers_of_every_type)
{
    static const struct {
        enum view_type_of_bytes type;
        struct view_known known;
        const char *text;
    } cases[] = {
        {VIEW_TYPE_F32, {.bytes = {0, 0, 0x80, 0x3f}, .count = 4}, "1"},
        {VIEW_TYPE_F32, {.bytes = {0, 0, 0x20, 0xc0}, .count = 4}, "-2.5"},
        {VIEW_TYPE_F16, {.bytes = {0x00, 0x3c}, .count = 2}, "1"},
        {VIEW_TYPE_F16,
         {.bytes = {0x01, 0x00}, .count = 2},
         "5.96e-08"}, /* the smallest there is */
        {VIEW_TYPE_F16, {.bytes = {0xff, 0x7b}, .count = 2}, "6.55e+04"},
        {VIEW_TYPE_F16, {.bytes = {0x00, 0xfc}, .count = 2}, "-inf"},
        {VIEW_TYPE_BF16, {.bytes = {0x40, 0x40}, .count = 2}, "3"},
        {VIEW_TYPE_F64, {.bytes = {0, 0, 0, 0, 0, 0, 0xe0, 0x3f}, .count = 8}, "0.5"},
        {VIEW_TYPE_I32, {.bytes = {0xfe, 0xff, 0xff, 0xff}, .count = 4}, "-2"},
        {VIEW_TYPE_U32, {.bytes = {0xfe, 0xff, 0xff, 0xff}, .count = 4}, "4294967294"},
        {VIEW_TYPE_U64, {.bytes = {0, 0, 0, 0, 1, 0, 0, 0}, .count = 8}, "4294967296"},
        {VIEW_TYPE_I8, {.bytes = {0x80}, .count = 1}, "-128"},
        {VIEW_TYPE_TEXT, {.bytes = {'h', 'i', 0x1b, 0xff}, .count = 4}, "hi.."},
    };
    struct view_known known;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        known = cases[i].known;
        memset(known.is_known, true, known.count);
        view_contents_text(&known, cases[i].type, false, text, sizeof text);
        const double wanted = strtod(cases[i].text, NULL), got = strtod(text, NULL);
        if (cases[i].type == VIEW_TYPE_F16) /* printed with more digits than told here */
            assert_true(got == wanted || (got - wanted) / wanted < 1e-3);
        else
            assert_string_equal(text + strspn(text, " "), cases[i].text);
    }
    known = cases[0].known;
    known.is_known[0] = known.is_known[1] = known.is_known[3] = true;
    char text[200];
    view_contents_text(&known, VIEW_TYPE_F32, false, text, sizeof text);
    assert_string_equal(text + strspn(text, " "), "-");
}

/* ---- Commands ---- */

static void write_calls(struct trace_builder *b, int count)
{
    open_at(b);
    for (int i = 0; i < count; i++) {
        at(b, 100 * i, 100 * i + 50);
        builder_buffer_create(b, BUFFER + (uint64_t)i, NULL, BYTES);
    }
}

TEST(commands_are_found_by_their_words)
{
    struct trace_builder b;
    struct view *view;
    write_calls(&b, 4);
    struct view_model *m = close_and_open(&b, NULL);
    assert_int_equal(view_create(m, &view), HAL_OK);
    const struct view_command *command = view_command_run(view, "n ev");
    assert_non_null(command);
    assert_string_equal(command->name, "next event");
    assert_int_equal(view_selected(view, &(struct view_span){0})->ref,
                     1); /* the first one begins at the cursor */
    assert_non_null(view_command_run(view, "  Next   EVENT "));
    assert_int_equal(view_selected(view, &(struct view_span){0})->ref, 2);
    assert_null(view_command_run(view, "next"));
    assert_non_null(strstr(view->message, "next gap"));
    assert_null(view_command_run(view, "next event please"));
    assert_null(view_command_run(view, "go"));
    assert_null(view->prompt);
    assert_non_null(view_command_run(view, "go 100%"));
    assert_int_equal(view->cursor_ns, m->last_ns - 1);
    assert_non_null(view_command_run(view, "bookmark a"));
    assert_int_equal(view_bookmarks(view)[0], m->last_ns - 1);
    assert_non_null(view_command_run(view, "first"));
    assert_non_null(view_command_run(view, "go to mark a")); /* the older word */
    assert_int_equal(view->cursor_ns, m->last_ns - 1);
    assert_non_null(view_command_run(view, "first"));
    assert_non_null(view_command_run(view, "go to bookmark a")); /* and not: go "to bookmark a" */
    assert_int_equal(view->cursor_ns, m->last_ns - 1);
    char typed[VIEW_PROMPT_BYTES] = "prev";
    view_command_prompt.complete(typed, sizeof typed);
    assert_string_equal(typed, "previous ");
    snprintf(typed, sizeof typed, "find");
    view_command_prompt.complete(typed, sizeof typed);
    assert_string_equal(typed, "findings");
    snprintf(typed, sizeof typed, "sear");
    view_command_prompt.complete(typed, sizeof typed);
    assert_string_equal(typed, "search ");
    view_destroy(view);
    view_model_close(m);
}

/* Every command stands for keys that there are. */
TEST(commands_stand_for_keys)
{
    struct trace_builder b;
    write_calls(&b, 4);
    struct view_model *m = close_and_open(&b, NULL);
    for (const struct view_command *c = view_commands; c->name; c++) {
        struct view *view;
        char text[64];
        assert_int_equal(view_create(m, &view), HAL_OK);
        snprintf(text, sizeof text, "%s%s", c->name, c->takes_text ? " a" : "");
        view->panel = VIEW_PANEL_SUBMISSIONS; /* which can be sorted */
        if (view_command_run(view, text) != c)
            fail_msg("'%s' is another command", c->name);
        if (strstr(view->message, "does nothing"))
            fail_msg("'%s' stands for %s: %s", c->name, c->keys, view->message);
        assert_null(view->prompt);
        view_destroy(view);
    }
    view_model_close(m);
}

/* ---- Following ---- */

TEST(a_longer_trace_shows_the_same)
{
    struct trace_builder b;
    struct view_screen screen = {0};
    struct view *view;
    write_calls(&b, 10);
    struct view_model *m = close_and_open(&b, NULL);
    assert_int_equal(view_screen_resize(&screen, 24, 80), HAL_OK);
    assert_int_equal(view_create(m, &view), HAL_OK);
    view_draw(view, &screen);
    assert_int_equal(view_type(view, "]]]mbww3&name~create<Enter>"), HAL_OK);
    view_draw(view, &screen);
    const struct view_span selected = *view_selected(view, &(struct view_span){0});
    const struct view_window window = view->window;

    write_calls(&b, 30);
    struct view_model *longer = close_and_open(&b, NULL);
    struct view *next;
    assert_true(longer->last_ns > m->last_ns);
    assert_int_equal(view_create(longer, &next), HAL_OK);
    while (!view_restore(next, view))
        ;
    assert_int_equal(next->window.begin_ns, window.begin_ns);
    assert_int_equal(next->window.span_ns, window.span_ns);
    assert_non_null(view_selected(next, &(struct view_span){0}));
    assert_int_equal(view_selected(next, &(struct view_span){0})->begin_ns, selected.begin_ns);
    assert_int_equal(view_selected(next, &(struct view_span){0})->ref, selected.ref);
    assert_int_equal(view_bookmarks(next)[1], view_bookmarks(view)[1]);
    assert_int_equal(next->panel, VIEW_PANEL_SUBMISSIONS);
    assert_non_null(next->filter);
    view_draw(next, &screen);
    view_destroy(next);

    /* What reached the end still does, with the same length. */
    assert_int_equal(view_type(view, "<End>L"), HAL_OK);
    assert_int_equal(view->window.begin_ns + view->window.span_ns, m->last_ns);
    assert_int_equal(view_create(longer, &next), HAL_OK);
    while (!view_restore(next, view))
        ;
    assert_int_equal(next->window.begin_ns + next->window.span_ns, longer->last_ns);
    assert_int_equal(next->window.span_ns, view->window.span_ns);
    view_destroy(next);
    view_destroy(view);
    view_screen_finish(&screen);
    view_model_close(m);
    view_model_close(longer);
}

/* ---- Call stacks, and next to nothing ----------------------------------------------------- */

static char *frame_after(struct view_model *m, const char *keys, int rows, int columns)
{
    struct view_screen screen = {0};
    struct view *view;
    char *text;
    size_t bytes;
    assert_int_equal(view_create(m, &view), HAL_OK);
    assert_int_equal(view_screen_resize(&screen, rows, columns), HAL_OK);
    view_draw(view, &screen);
    assert_int_equal(view_type(view, keys), HAL_OK);
    view_draw(view, &screen);
    FILE *file = open_memstream(&text, &bytes);
    view_screen_write_text(&screen, file, (struct view_text_form){.ascii = true});
    fclose(file);
    view_screen_finish(&screen);
    view_destroy(view);
    return text;
}

/* By the symbols of the module, by its name where it has none here, and by the address. */
TEST(calls_tell_who_made_them)
{
    enum { BEHIND = 4, LIBRARY = 0x7000000, UNKNOWN = 0x12 };
    struct trace_builder b;
    Dl_info here;
    const uintptr_t function = (uintptr_t)make_folder;
    assert_int_not_equal(dladdr((const void *)function, &here), 0);
    char *program = realpath("/proc/self/exe", NULL);
    assert_non_null(program);
    open_at(&b);
    builder_module(&b, program, (uintptr_t)here.dli_fbase,
                   function - (uintptr_t)here.dli_fbase + 0x1000);
    builder_module(&b, "/nowhere/libx.so", LIBRARY, 0x10000);
    b.stack = builder_stack(&b, (uint64_t[]){function + BEHIND, LIBRARY + 0x1234, UNKNOWN}, 3);
    builder_semaphore_create(&b, 1, NULL, 0);
    builder_wait_idle(&b, 1000);
    struct view_model *m = close_and_open(&b, NULL);
    char *frame = frame_after(m, ")", 40, 160);
    const char *const expected[] = {"called from  make_folder+0x4  test_view_contents",
                                    "libx.so+0x1234", " 0x12\n"};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        if (!strstr(frame, expected[i]))
            fail_msg("lacks '%s':\n%s", expected[i], frame);
    }
    free(frame);
    free(program);
    view_model_close(m);
}

TEST(traces_of_nothing_and_of_one_event_have_every_panel)
{
    static const int sizes[][2] = {{10, 40}, {24, 80}, {100, 400}};
    for (int events = 0; events < 2; events++) {
        struct trace_builder b;
        builder_open(&b, path, NULL);
        if (events)
            builder_semaphore_create(&b, 1, "only", 0);
        struct view_model *m = close_and_open(&b, NULL);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            for (char panel = '1'; panel <= '9'; panel++) {
                const char keys[] = {panel, '_', 'S', 'J', '\0'};
                char *frame = frame_after(m, keys, sizes[i][0], sizes[i][1]);
                assert_non_null(strstr(frame, "trace.pb.zst"));
                free(frame);
                free(frame_after(
                    m, "0wwss[]{}(),.tT!cfvzv<Space><Enter>/x<Enter>&y<Enter>\\g50%<Enter>",
                    sizes[i][0], sizes[i][1]));
            }
        }
        char *frame = frame_after(m, "]2", 24, 80);
        assert_int_equal(strstr(frame, "only") != NULL, events);
        free(frame);
        view_model_close(m);
    }
}

TEST_SUITE_FIXTURE(make_trace_folder, remove_folder);
