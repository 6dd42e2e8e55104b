/* SPDX-License-Identifier: Apache-2.0 */
/* viewer/ui/follow.c: a file that grows is read beside the screen, and what the user had is there
 * when it takes the place of what was shown. Which thread did what is counted in the linker's
 * wraps. */
#include "format/file/sidecar.h"
#include "tests/support/mortal.h"
#include "tests/support/test.h"
#include "tests/viewer/decode_trace.h"
#include "viewer/describe/iterations.h"
#include "viewer/findings/findings.h"
#include "viewer/model/path.h"
#include "viewer/ui/counters.h"
#include "viewer/ui/filter.h"
#include "viewer/ui/follow.h"
#include "viewer/ui/job.h"
#include "viewer/ui/panels/kernels.h"
#include "viewer/ui/panes.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Who does it -------------------------------------------------------------------------- */

enum work {
    OPENING,
    CLOSING,
    FILTERING,
    COUNTING,
    LOOKING,
    WALKING,
    REPEATING,
    METERING,
    SORTING,
    WORKS
};

static pthread_t screen_thread;
static atomic_uint here[WORKS], elsewhere[WORKS];
static atomic_int let_go = -1; /* closed when a file is opened the next time */

static void count(enum work work)
{
    const int closed = work == OPENING ? atomic_exchange(&let_go, -1) : -1;
    if (closed >= 0)
        close(closed);
    atomic_fetch_add(pthread_equal(pthread_self(), screen_thread) ? &here[work] : &elsewhere[work],
                     1);
}

static void forget_counts(void)
{
    for (size_t i = 0; i < WORKS; i++) {
        atomic_store(&here[i], 0);
        atomic_store(&elsewhere[i], 0);
    }
}

/* The linker gives each of these the place of the function, which keeps its second name. */
#define WRAP(result, name, parameters, arguments, work)                                            \
    result __real_##name parameters;                                                               \
    result __wrap_##name parameters;                                                               \
    result __wrap_##name parameters                                                                \
    {                                                                                              \
        count(work);                                                                               \
        return __real_##name arguments;                                                            \
    }

WRAP(enum hal_status, trace_reader_open, (const char *path, struct trace_reader **out_reader),
     (path, out_reader), OPENING)
WRAP(void, trace_reader_close, (struct trace_reader * reader), (reader), CLOSING)
WRAP(enum hal_status, view_filter_apply, (struct view_filter * filter, struct view_task *task),
     (filter, task), FILTERING)
WRAP(enum hal_status, view_work_init,
     (const struct view_model *model, struct view_task *task, struct view_work *out_work),
     (model, task, out_work), COUNTING)
WRAP(enum hal_status, view_findings_audit,
     (const struct view_model *model, struct view_findings *findings), (model, findings), LOOKING)
WRAP(enum hal_status, view_path_find,
     (const struct view_model *model, struct view_task *task, struct view_path *out),
     (model, task, out), WALKING)
WRAP(enum hal_status, view_iterations_find,
     (const struct view_model *model, const struct view_work *work, struct view_task *task,
      struct view_iterations *out_iterations),
     (model, work, task, out_iterations), REPEATING)
WRAP(enum hal_status, view_counters_find,
     (const struct view_model *model, struct view_task *task, struct view_counters *out_counters),
     (model, task, out_counters), METERING)
WRAP(enum hal_status, view_rows_sort,
     (const struct view_sorting *sorting, struct view_task *task, uint32_t **out_rows),
     (sorting, task, out_rows), SORTING)

/* ---- A file that grows -------------------------------------------------------------------- */

static char folder[] = "/tmp/test_follow.XXXXXX";
static char path[64], written[64];

static bool has_end(const char *name)
{
    struct trace_reader *reader;
    assert_int_equal(trace_reader_open(name, &reader), HAL_OK);
    const bool has = trace_reader_health(reader) != NULL;
    trace_reader_close(reader);
    return has;
}

/* Written so far: without its index and its end, or whole. */
static void grow_to(uint32_t tokens, bool ended)
{
    const struct decode_options options = {
        .tokens = tokens, .layers = 2, .sync = DECODE_SYNC_OP, .flushes = true};
    assert_int_equal(decode_trace_write(written, &options, true), HAL_OK);
    if (!ended) {
        FILE *file = fopen(written, "rb");
        assert_non_null(file);
        assert_int_equal(fseek(file, 0, SEEK_END), 0);
        long bytes = ftell(file);
        fclose(file);
        while (has_end(written))
            assert_int_equal(truncate(written, bytes -= 200), 0);
    }
    assert_int_equal(rename(written, path), 0);
}

static int setup(void **state)
{
    (void)state;
    screen_thread = pthread_self();
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/t.pb.zst", folder);
    snprintf(written, sizeof written, "%s/w.pb.zst", folder);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

/* What hal-view -f has. */
struct followed {
    struct view_follow follow;
    struct view_model *model;
    struct view *view;
    struct view_screen screen;
};

static void begin(struct followed *f)
{
    *f = (struct followed){0};
    assert_int_equal(view_model_open(path, &f->model), HAL_OK);
    assert_null(f->model->health);
    view_follow_begin(&f->follow, path, f->model, 0);
    assert_int_equal(view_create(f->model, &f->view), HAL_OK);
    f->view->is_live = true;
    f->view->jobs_from = 0; /* however few there are */
    assert_int_equal(view_screen_resize(&f->screen, 40, 120), HAL_OK);
    f->view->following = f->model->grows;
    view_draw(f->view, &f->screen);
}

static void end(struct followed *f)
{
    view_destroy(f->view);
    view_follow_end(&f->follow);
    view_model_close(f->model);
    view_screen_finish(&f->screen);
}

static void type(struct followed *f, const char *keys)
{
    if (view_type(f->view, keys) != HAL_OK)
        fail_msg("%s", hal_message());
    view_draw(f->view, &f->screen);
}

/* In one of its rows. */
static bool shows(const struct followed *f, const char *text)
{
    char row[120 + 1] = "";
    for (int i = 0; i < 40; i++) {
        for (int column = 0; column < 120; column++) {
            const uint32_t character = view_screen_cell(&f->screen, i, column)->character;
            row[column] = character < 0x80 ? (char)character : '?';
        }
        if (strstr(row, text))
            return true;
    }
    return false;
}

static void settle(struct followed *f)
{
    while (view_jobs_awaited(f->view)) {
        view_poll(f->view);
        view_draw(f->view, &f->screen);
    }
}

/* As the program's loop does it. */
static void look(struct followed *f)
{
    f->follow.next_ns = 0; /* now, whatever its pause is */
    view_follow_look(&f->follow, &f->model, &f->view);
    view_poll(f->view);
    view_draw(f->view, &f->screen);
}

static const struct view_finding *current_finding(struct view *view)
{
    const struct view_order *order = view_pane_order(view, &view_findings_pane);
    const size_t at = view_findings_pane.list->current(view);
    return &view_findings_of(view)->list[view_order_row(order, at)];
}

/* Until what was read is shown. */
static void follow_until_replaced(struct followed *f)
{
    const struct view_model *const before = f->model;
    while (f->model == before)
        look(f);
}

/* Until nothing is done beside the screen any more. */
static void end_of_jobs(struct followed *f)
{
    while (f->view->jobs)
        view_poll(f->view);
}

/* ---- Cases -------------------------------------------------------------------------------- */

/* Shows whatever takes long. */
static void arrange(struct followed *f)
{
    char compared[80];
    snprintf(compared, sizeof compared, "D%s<Enter>", path);
    type(f, compared);
    settle(f);
    assert_int_equal(f->view->track_height, 2);
    type(f, "5!");
    settle(f);
    type(f, "8ci");
    settle(f);
    type(f, "SS3S4S7S6S");
    settle(f);
    type(f, "g10%<Enter>vg60%<Enter>v&name~mul<Enter>");
    settle(f);
    type(f, "0mb/mul<Enter>");
}

/* Everything that takes long stands there before a longer trace is shown, and none of it was done
 * by who draws. */
TEST(the_screen_s_thread_reads_nothing)
{
    static const char *const panels[] = {"1", "2", "3", "4", "5", "6", "7", "8", "9"};
    struct followed f;
    grow_to(4, false);
    begin(&f);
    arrange(&f);
    while (view_has_steps(f.view))
        view_poll(f.view);
    const struct view_span selected = *view_selected(f.view, &(struct view_span){0});
    const int64_t origin_ns = f.model->origin_ns, range_ns = f.view->range_begin_ns;
    const uint64_t submissions = f.model->submissions_count, passed = f.view->filter->passed;
    const enum view_finding_kind finding = current_finding(f.view)->kind;
    snprintf(f.view->message, sizeof f.view->message, "said to the user");

    grow_to(8, false);
    forget_counts();
    follow_until_replaced(&f);
    assert_true(f.model->submissions_count > submissions);
    assert_true(f.view->filter->passed > passed);
    assert_string_equal(f.view->message, "said to the user");
    const int64_t by_ns = origin_ns - f.model->origin_ns;
    assert_int_equal(view_selected(f.view, &(struct view_span){0})->begin_ns,
                     selected.begin_ns + by_ns);
    assert_int_equal(f.view->range_begin_ns, range_ns + by_ns);
    assert_int_not_equal(view_bookmarks(f.view)[1], VIEW_NO_TIME);
    assert_true(view_meter_rows(f.view) > 0);
    assert_int_equal(current_finding(f.view)->kind, finding);
    assert_int_equal(f.view->track_height, 2);
    f.view->panel = VIEW_PANEL_DIFFERENCE;
    type(&f, "_");
    assert_true(shows(&f, "has grown since"));
    assert_int_equal(view_pane_order(f.view, &view_iterations_pane)->by, 2);
    assert_int_equal(view_pane_order(f.view, &view_submissions_pane)->shown_by, 1);
    assert_int_equal(view_pane_order(f.view, &view_gaps_pane)->shown_by, 1);
    assert_int_equal(view_pane_order(f.view, &view_memory_pane)->shown_by,
                     view_pane_order(f.view, &view_memory_pane)->by);
    for (size_t i = 0; i < sizeof panels / sizeof *panels; i++) {
        type(&f, panels[i]);
        if (view_jobs_awaited(f.view))
            fail_msg("panel %s is made anew", panels[i]);
    }
    type(&f, "n");
    assert_null(strstr(f.view->message, "no previous search"));
    type(&f, "c"); /* it was shown */
    assert_string_equal(f.view->message, "");
    type(&f, "c");
    assert_non_null(strstr(f.view->message, "critical path: "));
    end_of_jobs(&f); /* of the older model, too */
    for (size_t i = 0; i < WORKS; i++) {
        if (here[i])
            fail_msg("work %zu was done by the screen's thread", i);
        if (!elsewhere[i])
            fail_msg("work %zu was not done", i);
    }
    assert_int_equal(elsewhere[OPENING], 1);
    assert_int_equal(elsewhere[CLOSING], 1);
    end(&f);
}

/* What is asked for while a file is read holds when it is shown; the file is read once. */
TEST(what_changes_meanwhile_is_made_for_it)
{
    struct followed f;
    grow_to(3, false);
    begin(&f);
    grow_to(6, false);
    forget_counts();
    f.follow.next_ns = 0;
    view_follow_look(&f.follow, &f.model, &f.view);
    assert_true(view_job_runs(f.view, VIEW_JOB_READING));
    type(&f, "&name~mul<Enter>3S");
    follow_until_replaced(&f);
    assert_non_null(f.view->filter);
    assert_string_equal(f.view->filter->text, "name~mul");
    assert_int_equal(view_pane_order(f.view, &view_submissions_pane)->shown_by, 1);
    assert_false(view_jobs_awaited(f.view));
    assert_int_equal(elsewhere[OPENING], 1);
    assert_int_equal(here[OPENING], 0);
    end(&f);
}

/* Else one that takes longer than the file needs to grow would never be done. */
TEST(what_runs_comes_to_its_end_first)
{
    struct followed f;
    grow_to(3, false);
    begin(&f);
    grow_to(6, false);
    f.follow.next_ns = 0;
    view_follow_look(&f.follow, &f.model, &f.view);
    while (view_job_runs(f.view, VIEW_JOB_READING))
        view_poll(f.view);
    assert_non_null(f.follow.reload);
    const struct view_model *before = f.model;
    type(&f, "5!");
    assert_true(view_job_runs(f.view, VIEW_JOB_FINDINGS));
    assert_int_equal(view_follow_pause_ns(&f.follow, f.view), -1);
    for (int i = 0; i < 100; i++)
        view_follow_look(&f.follow, &f.model, &f.view); /* nobody polls: it runs for all that */
    assert_ptr_equal(f.model, before);
    settle(&f);
    assert_true(view_findings_of(f.view)->list_count > 0);
    assert_int_equal(view_follow_pause_ns(&f.follow, f.view), 0);
    follow_until_replaced(&f);
    assert_true(view_findings_of(f.view)->list_count > 0);
    assert_int_equal(view_findings_pane.list->current(f.view), 0);
    end(&f);
}

/* A panel that was left is not filled by the next reload. Escape leaves the reading alone. */
TEST(what_was_given_up_stays_so)
{
    struct followed f;
    grow_to(3, false);
    begin(&f);
    type(&f, "6<Esc>");
    assert_string_equal(f.view->message, "cancelled: kernels");
    grow_to(6, false);
    f.follow.next_ns = 0;
    view_follow_look(&f.follow, &f.model, &f.view);
    assert_true(view_job_runs(f.view, VIEW_JOB_READING));
    char text[64] = "";
    view_job_text(f.view, text, sizeof text);
    assert_string_equal(text, "");
    type(&f, "<Esc>");
    assert_true(view_job_runs(f.view, VIEW_JOB_READING));
    follow_until_replaced(&f);
    assert_int_equal(f.view->panel, VIEW_PANEL_KERNELS);
    assert_null(view_pane_order(f.view, &view_kernels_pane)->of);
    assert_false(view_jobs_awaited(f.view));
    type(&f, "16");
    settle(&f);
    assert_non_null(view_pane_order(f.view, &view_kernels_pane)->of);
    end(&f);
}

/* Whatever is being typed, chosen or dragged. */
TEST(a_dialogue_goes_on)
{
    struct followed f;
    grow_to(3, false);
    begin(&f);
    type(&f, "E");
    assert_non_null(f.view->menu);
    type(&f, "j");
    const struct view_menu *menu = f.view->menu;
    const size_t row = f.view->menu_row;
    grow_to(6, false);
    follow_until_replaced(&f);
    assert_true(f.model->grows);
    assert_ptr_equal(f.view->menu, menu);
    assert_int_equal(f.view->menu_row, row);
    type(&f, "<Esc>/rm");
    grow_to(8, true);
    follow_until_replaced(&f);
    assert_ptr_equal(f.view->prompt, &view_search_prompt);
    assert_string_equal(f.view->typed, "rm");
    assert_true(f.follow.ended); /* and with it the following */
    assert_false(f.model->grows);
    assert_false(f.view->following);
    assert_int_equal(view_follow_pause_ns(&f.follow, f.view), -1);
    end(&f);
}

/* Where nothing had happened, time was counted from another moment. */
TEST(the_cursor_stays_within_the_trace)
{
    static const int64_t shifts_ns[] = {-1000000000, 1000000000};
    struct followed f;
    for (size_t i = 0; i < sizeof shifts_ns / sizeof *shifts_ns; i++) {
        grow_to(3, false);
        begin(&f);
        f.model->origin_ns += shifts_ns[i];
        grow_to(6, true);
        follow_until_replaced(&f);
        assert_in_range(f.view->cursor_ns, 0, f.model->last_ns - 1);
        end(&f);
    }
}

/* A program that is captured into the file, and has done so many rounds; `end` as busy_app has it,
 * after its first. */
static pid_t start_program(const char *end, uint32_t rounds, int *out_told)
{
    int ends[2];
    uint32_t words[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t process = test_fork();
    assert_true(process >= 0);
    if (process == 0) {
        close(ends[0]);
        const int quiet = open("/dev/null", O_WRONLY);
        if ((ends[1] != 3 && dup2(ends[1], 3) < 0) || dup2(quiet, STDERR_FILENO) < 0)
            _exit(99);
        setenv("HAL_DEVICE_PROFILING_FILE", path, 1);
        setenv("HAL_DEVICE_PROFILING_FORCE", "true", 1);
        setenv("HAL_DEVICE_PROFILING_SIDECAR", folder, 1); /* no other capture cleans up there */
        execl(BUSY_APP, "busy_app", "1", end, "1", (char *)NULL);
        _exit(98);
    }
    close(ends[1]);
    for (uint32_t i = 0; i < rounds; i++)
        assert_int_equal(read(ends[0], words, sizeof words), sizeof words);
    *out_told = ends[0];
    return process;
}

/* As the program does that is captured. */
static int hold(const char *sidecar)
{
    const int file = open(sidecar, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(file, LOCK_EX | LOCK_NB), 0);
    return file;
}

/* Nothing more comes of a program that was killed, and what it had not written has a place. */
TEST(a_killed_capture_does_not_go_on)
{
    struct followed f;
    int told, status;
    unlink(path);
    const pid_t process = start_program("forever", 20, &told);
    begin(&f);
    assert_true(f.model->grows && f.follow.is_held);
    for (int i = 0; i < 100; i++)
        look(&f);
    assert_false(f.follow.ended);
    assert_true(shows(&f, " recording "));
    assert_int_equal(kill(process, SIGKILL), 0);
    assert_int_equal(waitpid(process, &status, 0), process);
    close(told);
    while (!f.follow.ended)
        look(&f);
    assert_null(f.model->health);
    assert_false(f.model->grows);
    assert_true(shows(&f, " incomplete "));
    assert_string_equal(f.view->message, "the capture ended without completing the file");
    assert_non_null(strstr(f.model->truncated, "'hal-trace recover' has the rest"));
    end_of_jobs(&f);
    end(&f);
    begin(&f); /* and who comes later sees it at once */
    assert_true(f.follow.ended);
    assert_true(shows(&f, " incomplete "));
    const int file = hold(f.model->header->sidecar);
    end(&f);
    begin(&f); /* who read it meanwhile may not have read all */
    assert_true(f.model->grows);
    atomic_store(&let_go, file);
    follow_until_replaced(&f);
    assert_int_equal(atomic_load(&let_go), -1);
    assert_false(f.follow.ended);
    while (!f.follow.ended)
        look(&f);
    assert_int_equal(unlink(f.model->header->sidecar), 0);
    end_of_jobs(&f);
    end(&f);
}

static void run_program(const char *end)
{
    int told, status;
    const pid_t process = start_program(end, 1, &told);
    assert_int_equal(waitpid(process, &status, 0), process);
    close(told);
}

static void write_at(int file, size_t offset, const void *data, size_t bytes)
{
    assert_int_equal(pwrite(file, data, bytes, (off_t)offset), bytes);
}

/* Its next file has another begin, which its sidecar has first; then the file before gets its end;
 * then the name changes hands. Who sees the file at any of these moments goes on. The sidecar of a
 * program that was killed, held here, stands for that of one that runs. */
TEST(a_flight_recorder_goes_on_between_its_files)
{
    struct followed f;
    char sidecar[TRACE_PATH_BYTES];
    unlink(path);
    run_program("_exit");
    begin(&f);
    assert_true(f.follow.ended);
    snprintf(sidecar, sizeof sidecar, "%s", f.model->header->sidecar);
    end(&f);
    const int file = hold(sidecar);
    begin(&f);
    const int64_t next_ns = f.model->header->start_ns + 1;
    write_at(file, offsetof(struct trace_sidecar_header, start_ns), &next_ns, sizeof next_ns);
    follow_until_replaced(&f);
    for (int i = 0; i < 100; i++)
        look(&f);
    assert_true(f.model->grows && !f.follow.ended);
    run_program("exit");
    struct trace_reader *reader;
    assert_int_equal(trace_reader_open(path, &reader), HAL_OK);
    const struct trace_header *whole = trace_reader_header(reader);
    assert_int_equal(rename(sidecar, whole->sidecar), 0);
    write_at(file, offsetof(struct trace_sidecar_header, process_id), &whole->process_id,
             sizeof whole->process_id);
    snprintf(sidecar, sizeof sidecar, "%s", whole->sidecar);
    trace_reader_close(reader);
    follow_until_replaced(&f);
    assert_non_null(f.model->health);
    assert_true(f.model->grows && !f.follow.ended);
    assert_true(shows(&f, " recording "));
    close(file);
    while (!f.follow.ended)
        look(&f);
    assert_true(shows(&f, " healthy "));
    assert_string_equal(f.view->message, "the capture has ended");
    assert_int_equal(unlink(sidecar), 0);
    end_of_jobs(&f);
    end(&f);
}

/* A file that is no trace just now leaves what is shown, and says why; the next one is read. */
TEST(what_cannot_be_read_is_said)
{
    struct followed f;
    grow_to(3, false);
    begin(&f);
    const struct view_model *before = f.model;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs("no trace", file) >= 0);
    fclose(file);
    while (!*f.view->message) {
        f.follow.next_ns = f.follow.reads ? f.follow.next_ns : 0;
        view_follow_look(&f.follow, &f.model, &f.view);
        view_poll(f.view);
    }
    assert_non_null(strstr(f.view->message, path));
    assert_ptr_equal(f.model, before);
    grow_to(6, false);
    follow_until_replaced(&f);
    end(&f);
}

/* Whoever quits waits for nothing that is only read for later. */
TEST(ends_wherever_it_is)
{
    for (int polls = 0; polls < 12; polls++) {
        struct followed f;
        grow_to(3, false);
        begin(&f);
        grow_to(6, false);
        f.follow.next_ns = 0;
        view_follow_look(&f.follow, &f.model, &f.view);
        for (int i = 0; i < 1 << polls; i++) {
            if (polls % 2)
                view_follow_look(&f.follow, &f.model, &f.view);
            view_poll(f.view);
        }
        end(&f);
    }
}

TEST_SUITE_FIXTURE(setup, teardown);
