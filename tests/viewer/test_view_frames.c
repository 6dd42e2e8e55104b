/* SPDX-License-Identifier: Apache-2.0 */
/* Whole frames of made-up traces against golden/NAME.txt. GENERATE=1 writes those anew: look at
 * the difference before committing it. */
#include "tests/support/test.h"
#include "tests/viewer/decode_trace.h"
#include "viewer/report/report.h"
#include "viewer/ui/view.h"

#include <unistd.h>

struct frame {
    const char *name;
    enum decode_sync sync;
    bool unhealthy;
    int columns, rows;
    const char *keys;
    bool ascii;
};

static const struct frame frames[] = {
    {.name = "start-120x32", .sync = DECODE_SYNC_TOKEN, .columns = 120, .rows = 32},
    {.name = "start-80x24", .sync = DECODE_SYNC_TOKEN, .columns = 80, .rows = 24},
    {.name = "start-40x10", .sync = DECODE_SYNC_TOKEN, .columns = 40, .rows = 10},
    {.name = "ops-120x32", .sync = DECODE_SYNC_OP, .columns = 120, .rows = 32, .keys = "jj"},
    {"flow-120x32", DECODE_SYNC_TOKEN, false, 120, 32, "g#s5<Enter>wwww", false},
    {"path-120x32", DECODE_SYNC_OP, false, 120, 32, "cg#s9<Enter>wwwwjjj*kk", false},
    {"counters-120x32", DECODE_SYNC_TOKEN, false, 120, 32, "i))2", false},
    {"counters-40x10", DECODE_SYNC_TOKEN, false, 40, 10, "i", false},
    {"commands-120x32", DECODE_SYNC_LAYER, false, 120, 32, "g#s4<Enter>fj<Enter>ss", false},
    {"findings-120x32", DECODE_SYNC_OP, false, 120, 32, "5!", false},
    {"submissions-120x32", DECODE_SYNC_LAYER, false, 120, 32, "3JJJS", false},
    {"kernels-120x32", DECODE_SYNC_OP, false, 120, 32, "6J", false},
    {"memory-80x24", DECODE_SYNC_OP, false, 80, 24, "07J", false},
    {"filter-120x32", DECODE_SYNC_OP, false, 120, 32, "&dur>8us<Enter>", false},
    {"range-120x32", DECODE_SYNC_OP, false, 120, 32, "g1.5ms<Enter>mavg1.9ms<Enter>v", false},
    {"iterations-120x32", DECODE_SYNC_OP, false, 120, 32, "8tt", false},
    {"palette-80x24", DECODE_SYNC_TOKEN, false, 80, 24, ":ne", false},
    {"gap-80x24", DECODE_SYNC_OP, false, 80, 24, "}}}}f", false},
    {"gaps-80x24", DECODE_SYNC_LAYER, true, 80, 24, "4JJ_", false},
    {"help-80x24", DECODE_SYNC_TOKEN, false, 80, 24, "?", true},
    {"search-80x24", DECODE_SYNC_TOKEN, false, 80, 24, "/token 2<Enter>www/upl", true},
    {"wait-40x10", DECODE_SYNC_TOKEN, false, 40, 10, "))f", true},
    {"side-220x30", DECODE_SYNC_TOKEN, false, 220, 30, "g#s5<Enter>ww", false},
};

static char folder[] = "/tmp/test_view_frames.XXXXXX";
static char path[64];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    if (chdir(folder) != 0) /* commands name the file: frames are the same everywhere */
        return -1;
    snprintf(path, sizeof path, "decode.pb.zst");
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static struct view_model *open_trace(enum decode_sync sync, bool healthy)
{
    const struct decode_options options = {.tokens = 5, .layers = 2, .sync = sync, .seed = 7};
    struct view_model *model = NULL;
    if (decode_trace_write(path, &options, healthy) != HAL_OK ||
        view_model_open(path, &model) != HAL_OK)
        fail_msg("%s", hal_message());
    return model;
}

/* ---- Comparing ---------------------------------------------------------------------------- */

static char *read_golden(const char *name)
{
    char file_name[512];
    char *text = calloc(1, 1 << 20);
    snprintf(file_name, sizeof file_name, "%s/%s.txt", GOLDEN_FOLDER, name);
    FILE *file = fopen(file_name, "r");
    if (file && text)
        text[fread(text, 1, (1 << 20) - 1, file)] = '\0';
    if (file)
        fclose(file);
    return text;
}

static void write_golden(const char *name, const char *text)
{
    char file_name[512];
    snprintf(file_name, sizeof file_name, "%s/%s.txt", GOLDEN_FOLDER, name);
    FILE *file = fopen(file_name, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        fail_msg("cannot write %s", file_name);
}

static void compare(const char *name, const char *text)
{
    if (getenv("GENERATE")) {
        write_golden(name, text);
        return;
    }
    char *golden = read_golden(name);
    const char *a = golden, *b = text;
    for (int line = 1; *a || *b; line++) {
        const size_t left = strcspn(a, "\n"), right = strcspn(b, "\n");
        if (left != right || memcmp(a, b, left) != 0)
            fail_msg("%s.txt, line %d\nexpected: %.*s\n     got: %.*s", name, line, (int)left, a,
                     (int)right, b);
        a += left + (a[left] == '\n');
        b += right + (b[right] == '\n');
    }
    free(golden);
}

/* ---- Tests -------------------------------------------------------------------------------- */

static void frame_is_golden(void **state)
{
    const struct frame *frame = *state;
    struct view_model *model = open_trace(frame->sync, !frame->unhealthy);
    struct view_screen screen = {0};
    struct view *view;
    char *text;
    size_t bytes;
    assert_int_equal(view_create(model, &view), HAL_OK);
    assert_int_equal(view_screen_resize(&screen, frame->rows, frame->columns), HAL_OK);
    view_draw(view, &screen);
    if (frame->keys)
        assert_int_equal(view_type(view, frame->keys), HAL_OK);
    view_draw(view, &screen);
    FILE *file = open_memstream(&text, &bytes);
    view_screen_write_text(&screen, file, (struct view_text_form){.ascii = frame->ascii});
    fclose(file);
    compare(frame->name, text);
    free(text);
    view_screen_finish(&screen);
    view_destroy(view);
    view_model_close(model);
}

TEST(reports_are_golden)
{
    struct view_model *model = open_trace(DECODE_SYNC_LAYER, true);
    for (unsigned i = 0; i < 2 * VIEW_REPORT_COUNT; i++) {
        const enum view_report report = (enum view_report)(i / 2);
        const struct view_report_options options = {.width = 100, .json = i % 2};
        char name[64], *text;
        size_t bytes;
        FILE *file = open_memstream(&text, &bytes);
        assert_int_equal(view_report_write(model, report, &options, file), HAL_OK);
        fclose(file);
        snprintf(name, sizeof name, "print-%s%s", view_report_names[report],
                 options.json ? "-json" : "");
        compare(name, text);
        free(text);
    }
    view_model_close(model);
}

static char *report_for(const struct view_model *model, enum view_report report, int columns)
{
    const struct view_report_options options = {.width = 100, .screen = columns};
    char *text;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);
    assert_int_equal(view_report_write(model, report, &options, file), HAL_OK);
    fclose(file);
    return text;
}

/* Runs of blanks and ends of rows become one blank. */
static void squeeze(char *text)
{
    char *to = text;
    for (const char *at = text; *at; at++)
        if ((*at != ' ' && *at != '\n') || to == text || to[-1] != ' ')
            *to++ = *at == '\n' ? ' ' : *at;
    *to = '\0';
}

/* The same words, whatever the terminal; rows that it has room for, but for commands. */
TEST(sentences_are_broken_for_a_terminal)
{
    struct view_model *model = open_trace(DECODE_SYNC_OP, true);
    char *whole = report_for(model, VIEW_REPORT_FINDINGS, 0);
    squeeze(whole);
    for (int columns = 50; columns < 90; columns++) {
        char *text = report_for(model, VIEW_REPORT_FINDINGS, columns);
        for (char *row = text, *end; (end = strchr(row, '\n')) != NULL; row = end + 1) {
            *end = '\0';
            if (strstr(row, " prove it: "))
                assert_string_equal(end - strlen(path), path); /* the command's last word */
            else
                assert_true(view_text_columns(row) <= columns);
            *end = '\n';
        }
        squeeze(text);
        assert_string_equal(text, whole);
        free(text);
    }
    free(whole);
    view_model_close(model);
}

TEST_SUITE_FIXTURE(make_folder, remove_folder);

int main(void)
{
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++)
        test_add(&(struct CMUnitTest){.name = frames[i].name,
                                      .test_func = frame_is_golden,
                                      .initial_state = (void *)(uintptr_t)&frames[i]},
                 __FILE__, __LINE__);
    return test_run();
}
