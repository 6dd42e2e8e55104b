/* SPDX-License-Identifier: Apache-2.0 */
/* Reports as text: what the panels show, for pipes and logs. */
#include "viewer/report/report.h"

#include "hal/base/mem.h"
#include "hal/base/text.h"
#include "viewer/describe/compare.h"
#include "viewer/findings/findings.h"
#include "viewer/text/text.h"
#include "viewer/ui/panels/iteration_panel.h"
#include "viewer/ui/panels/kernels.h"
#include "viewer/ui/panes.h"

#include <errno.h>
#include <string.h>

const char *const view_report_names[VIEW_REPORT_COUNT] = {
    [VIEW_REPORT_SUMMARY] = "summary",         [VIEW_REPORT_TIMELINE] = "timeline",
    [VIEW_REPORT_SUBMISSIONS] = "submissions", [VIEW_REPORT_GAPS] = "gaps",
    [VIEW_REPORT_FINDINGS] = "findings",       [VIEW_REPORT_KERNELS] = "kernels",
    [VIEW_REPORT_MEMORY] = "memory",           [VIEW_REPORT_ITERATIONS] = "iterations",
};

struct report {
    const struct view_model *model;
    const struct view_report_options *options;
    FILE *file;
};

/* Control characters of labels become "?", and lines do not end in blanks. */
static void write_clean(const struct report *r, const char *text)
{
    size_t length = strlen(text);
    while (length > 0 && text[length - 1] == ' ')
        length--;
    for (const char *end = text + length; text < end;) {
        char bytes[4];
        uint32_t character = view_utf8_next(&text);
        const int width = view_width(character);
        if (width == 0)
            continue;
        character = width < 0           ? '?'
                    : r->options->ascii ? (unsigned char)view_ascii(character)
                                        : character;
        fwrite(bytes, 1, view_utf8_write(character, bytes), r->file);
    }
    fputc('\n', r->file);
}

/* Behind its key, in as many rows as it needs. Commands stay whole: they are copied. */
static void write_value(const struct report *r, const char *key, int column, const char *value)
{
    enum { LEAST = 20 };
    const bool is_whole =
        r->options->screen < column + LEAST || strncmp(value, VIEW_PROOF, strlen(VIEW_PROOF)) == 0;
    char line[2600];
    bool is_first = true;
    do {
        const size_t bytes =
            is_whole ? strlen(value) : view_fitting(value, r->options->screen - column);
        snprintf(line, sizeof line, "%-*s%.*s", is_first ? 0 : column, is_first ? key : "",
                 (int)bytes, value);
        write_clean(r, line);
        value += bytes;
        is_first = false;
    } while (*value);
}

static void write_lines(const struct report *r, const struct view_lines *lines)
{
    int widest = 0;
    char line[1300], value[1300];
    for (const char *at = lines->text; at && *at; at = strchr(at, '\n') + 1) {
        snprintf(line, sizeof line, "%.*s", (int)(strchr(at, '\t') - at), at);
        const int columns = view_text_columns(line);
        widest = columns > widest ? columns : widest;
    }
    for (const char *at = lines->text, *end; at && *at; at = end + 1) {
        const char *tab = strchr(at, '\t');
        end = strchr(tab, '\n');
        snprintf(line, sizeof line, "%.*s", (int)(tab - at), at);
        const int blanks = widest - view_text_columns(line) + 2;
        snprintf(line, sizeof line, "%.*s%*s", (int)(tab - at), at, blanks, "");
        snprintf(value, sizeof value, "%.*s", (int)(end - tab - 1), tab + 1);
        write_value(r, line, widest + 2, value);
    }
}

/* Frees the lines, too. */
static enum hal_status end_lines(const struct report *r, struct view_lines *lines)
{
    const bool failed = lines->failed;
    write_lines(r, lines);
    view_lines_finish(lines);
    return failed ? hal_fail(HAL_NO_MEMORY, "no memory for the report") : HAL_OK;
}

static enum hal_status write_summary(const struct report *r)
{
    struct view_lines lines = {0};
    view_summary(r->model, &lines);
    return end_lines(r, &lines);
}

static enum hal_status write_legend(const struct report *r, const struct view *view)
{
    struct view_lines lines = {0};
    fputc('\n', r->file);
    view_legend(view, false, &lines);
    return end_lines(r, &lines);
}

static enum hal_status write_timeline(const struct report *r)
{
    struct view_screen screen = {0};
    struct view *view;
    HAL_TRY(view_create(r->model, &view));
    const uint32_t rows = view_row_count(view) + 2;
    const int shown = rows > 1000 ? 1000 : (int)rows;
    enum hal_status status = view_screen_resize(&screen, shown, r->options->width);
    if (status == HAL_OK) {
        view_draw_timeline(view, &screen);
        view_screen_write_text(&screen, r->file,
                               (struct view_text_form){r->options->ascii, r->options->colors});
        if (view->window.begin_ns > r->model->first_ns) {
            char note[96];
            snprintf(note, sizeof note, "not shown: the first %s, before any submission",
                     hal_duration_text(view->window.begin_ns - r->model->first_ns).text);
            write_clean(r, note);
        }
        if (rows > (uint32_t)shown)
            fprintf(r->file, "... and %s\n",
                    hal_count(rows - (uint32_t)shown, "track", "tracks").text);
        if (rows > 2)
            status = write_legend(r, view);
    }
    view_screen_finish(&screen);
    view_destroy(view);
    return status;
}

/* At most that many of its rows. */
static void write_rows(const struct report *r, struct view *view, const struct view_list *list,
                       size_t most)
{
    char row[1024];
    const size_t count = list->count(view);
    write_clean(r, list->header);
    for (size_t i = 0; i < count && i < most; i++) {
        list->row(view, i, row, sizeof row);
        write_clean(r, row);
    }
    if (count > most)
        fprintf(r->file, "... and %zu smaller ones\n", count - most);
}

static enum hal_status write_list(const struct report *r, const struct view_list *list)
{
    struct view *view;
    HAL_TRY(view_create(r->model, &view));
    write_rows(r, view, list, SIZE_MAX);
    view_destroy(view);
    return HAL_OK;
}

static enum hal_status write_kernels(const struct report *r)
{
    struct view *view;
    HAL_TRY(view_create(r->model, &view));
    enum hal_status status = HAL_OK;
    if (view_kernels_work(view)) {
        const struct view_work_total *total = view_kernels_total(view);
        char note[300];
        write_rows(r, view, view_kernels_pane.list, SIZE_MAX);
        snprintf(note, sizeof note,
                 "\nalone: execution of submissions that dispatch nothing else (%s of %s); share: "
                 "of all execution, %s;",
                 view_count(total->alone).text, view_things(total->submissions, "submission").text,
                 hal_duration_text(total->executed_ns).text);
        fputc('\n', r->file);
        write_clean(r, note + 1);
        write_clean(r, "each: a dispatch's median; mixed: execution of submissions that also have "
                       "other work; one dispatch: shortest and longest; both without warm-up.");
        if (view_kernels_hint(view))
            write_clean(r, view_kernels_hint(view));
    } else {
        status = hal_fail(HAL_NO_MEMORY, "%s", view->message);
    }
    view_destroy(view);
    return status;
}

static enum hal_status write_memory(const struct report *r)
{
    enum { LARGEST = 20 };
    struct view_lines lines = {0};
    view_memory_peaks(r->model, &lines);
    view_memory_over_time(r->model, &lines);
    HAL_TRY(end_lines(r, &lines));
    struct view *view;
    HAL_TRY(view_create(r->model, &view));
    if (r->model->buffers_count) {
        fputc('\n', r->file);
        write_rows(r, view, view_memory_pane.list, LARGEST);
    }
    view_destroy(view);
    return HAL_OK;
}

static enum hal_status write_iterations(const struct report *r)
{
    struct view *view;
    struct view_lines lines = {0};
    enum hal_status status;
    HAL_TRY(view_create(r->model, &view));
    const struct view_iterations *iterations = view_iterations_of(view);
    if (iterations) {
        view_iterations_lines(iterations, &lines);
        status = end_lines(r, &lines);
        if (iterations->list_count) {
            fputc('\n', r->file);
            write_rows(r, view, view_iterations_pane.list, SIZE_MAX);
        }
    } else {
        status = hal_fail(HAL_NO_MEMORY, "%s", view->message);
    }
    view_destroy(view);
    return status;
}

/* One paragraph each. */
static enum hal_status write_findings(const struct report *r)
{
    struct view_findings findings;
    struct view_lines lines = {0};
    HAL_TRY(view_findings_find(r->model, &findings));
    for (size_t i = 0; i < findings.list_count; i++)
        view_finding_lines(r->model, &findings.list[i], "", &lines);
    if (!findings.list_count)
        view_lines_add(&lines, "findings", "none");
    view_findings_finish(&findings);
    return end_lines(r, &lines);
}

static enum hal_status finish(FILE *file)
{
    if (fflush(file) != 0 || ferror(file))
        return hal_fail(HAL_IO, "cannot write the report: %s", strerror(errno));
    return HAL_OK;
}

enum hal_status view_report_write(const struct view_model *model, enum view_report report,
                                  const struct view_report_options *options, FILE *file)
{
    const struct report r = {.model = model, .options = options, .file = file};
    enum hal_status status = HAL_OK;
    if (options->json) {
        status = view_report_json(model, report, file);
    } else {
        switch (report) {
        case VIEW_REPORT_SUMMARY: status = write_summary(&r); break;
        case VIEW_REPORT_TIMELINE: status = write_timeline(&r); break;
        case VIEW_REPORT_SUBMISSIONS: status = write_list(&r, view_submissions_pane.list); break;
        case VIEW_REPORT_GAPS: status = write_list(&r, view_gaps_pane.list); break;
        case VIEW_REPORT_FINDINGS: status = write_findings(&r); break;
        case VIEW_REPORT_KERNELS: status = write_kernels(&r); break;
        case VIEW_REPORT_MEMORY: status = write_memory(&r); break;
        case VIEW_REPORT_ITERATIONS: status = write_iterations(&r); break;
        case VIEW_REPORT_COUNT: break;
        }
    }
    HAL_TRY(status);
    return finish(file);
}

static enum hal_status write_comparison(const struct report *r,
                                        const struct view_comparison *comparison)
{
    struct view_lines lines = {0};
    view_comparison_lines(comparison, &lines);
    return end_lines(r, &lines);
}

enum hal_status view_report_compare(const struct view_model *first, const struct view_model *second,
                                    const struct view_report_options *options, FILE *file)
{
    const struct report r = {.model = first, .options = options, .file = file};
    struct view_comparison comparison;
    HAL_TRY(view_compare(first, second, &comparison));
    const enum hal_status status =
        options->json ? view_comparison_json(&comparison, file) : write_comparison(&r, &comparison);
    view_comparison_finish(&comparison);
    HAL_TRY(status);
    return finish(file);
}
