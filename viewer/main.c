/* SPDX-License-Identifier: Apache-2.0 */
/* hal-view: shows a trace in the terminal, or as text, JSON or a picture without one. */
#include "viewer/condition.h"
#include "viewer/report.h"
#include "viewer/term.h"
#include "viewer/view.h"

#include <errno.h>
#include <getopt.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { EXIT_CONDITION = 1, EXIT_USAGE = 2, EXIT_UNREADABLE = 3, MAX_CONDITIONS = 32 };

static const char help_text[] =
    "usage: hal-view [options] FILE\n"
    "Shows a trace: what host threads, queues and the device did, and when.\n"
    "\n"
    "  --print[=LIST]     text instead of the screen: summary (default), timeline,\n"
    "                     submissions, gaps, findings, kernels, memory, iterations;\n"
    "                     several with commas. Also without a terminal\n"
    "  --json             --print as JSON, one object per line\n"
    "  --fail-on=CONDS    exit with status 1 when one of these holds: 'gaps>10%,syncs>100',\n"
    "                     of gaps, syncs, submissions, failures, races, findings:NAME\n"
    "  --width=N          columns of the printed timeline\n"
    "  --dump-frame       print what the screen would show\n"
    "  --svg=FILE         write it as a picture\n"
    "  --size=CxR         columns and rows of the frame (120x32)\n"
    "  --keys=KEYS        hit these keys before: 'wwl]<Enter>'\n"
    "  --color=WHEN       auto, never, 8, 16, 256\n"
    "  --ascii, --utf8    which characters to use; else what the locale has\n"
    "  --no-mouse         leave the mouse to the terminal\n"
    "  --frame-count      count frames in the first row\n"
    "  --help, --version\n"
    "\n"
    "Keys: ? shows them. Exit status: 0, 1 a condition of --fail-on holds, 2 usage,\n"
    "3 the file cannot be read.\n";

struct options {
    const char *path, *keys, *svg;
    bool reports[VIEW_REPORT_COUNT];
    bool print, judge_only, json, dump, ascii, utf8, mouse, frame_count;
    int width, columns, rows, colors;
    struct view_condition conditions[MAX_CONDITIONS];
    size_t condition_count;
};

/* ---- Options ------------------------------------------------------------------------------ */

static enum hal_status parse_number(const char *option, const char *text, int low, int high,
                                    int *out_value)
{
    char *end;
    errno = 0;
    const long value = strtol(text, &end, 10);
    if (end == text || *end || errno || value < low || value > high)
        return hal_fail(HAL_INVALID, "--%s=%s: expected a number from %d to %d", option, text, low,
                        high);
    *out_value = (int)value;
    return HAL_OK;
}

static enum hal_status parse_size(const char *text, struct options *o)
{
    char columns[16];
    const char *x = strchr(text, 'x');
    if (!x || x - text >= (int)sizeof columns)
        return hal_fail(HAL_INVALID, "--size=%s: expected COLUMNSxROWS, like 120x32", text);
    snprintf(columns, sizeof columns, "%.*s", (int)(x - text), text);
    HAL_TRY(parse_number("size", columns, 1, 1000, &o->columns));
    return parse_number("size", x + 1, 1, 1000, &o->rows);
}

static enum hal_status parse_reports(const char *text, struct options *o)
{
    o->print = true;
    for (size_t length; text && *text; text += length + (text[length] == ',')) {
        unsigned i = 0;
        length = strcspn(text, ",");
        while (i < VIEW_REPORT_COUNT && (strlen(view_report_names[i]) != length ||
                                         strncmp(view_report_names[i], text, length) != 0))
            i++;
        if (i == VIEW_REPORT_COUNT)
            return hal_fail(HAL_INVALID,
                            "--print=%s: expected summary, timeline, submissions, gaps, findings, "
                            "kernels or memory",
                            text);
        o->reports[i] = true;
    }
    return HAL_OK;
}

static enum hal_status parse_conditions(const char *text, struct options *o)
{
    size_t length = 0;
    do {
        length = strcspn(text, ",");
        if (o->condition_count == MAX_CONDITIONS)
            return hal_fail(HAL_INVALID, "--fail-on: at most %d conditions", MAX_CONDITIONS);
        HAL_TRY(view_condition_parse(text, length, &o->conditions[o->condition_count++]));
        text += length;
    } while (*text++);
    return HAL_OK;
}

static enum hal_status parse_color(const char *text, struct options *o)
{
    o->colors = -1;
    if (strcmp(text, "auto") == 0)
        return HAL_OK;
    if (strcmp(text, "never") == 0)
        o->colors = 0;
    else if (strcmp(text, "8") == 0)
        o->colors = 8;
    else if (strcmp(text, "16") == 0)
        o->colors = 16;
    else if (strcmp(text, "256") == 0)
        o->colors = 256;
    else
        return hal_fail(HAL_INVALID, "--color=%s: expected auto, never, 8, 16 or 256", text);
    return HAL_OK;
}

enum {
    HELP = 256,
    VERSION,
    PRINT,
    JSON,
    FAIL_ON,
    WIDTH,
    DUMP,
    SVG,
    SIZE,
    KEYS,
    COLOR,
    ASCII,
    UTF8,
    NO_MOUSE,
    FRAME_COUNT
};

static const struct option long_options[] = {
    {"help", no_argument, NULL, HELP},
    {"version", no_argument, NULL, VERSION},
    {"print", optional_argument, NULL, PRINT},
    {"json", no_argument, NULL, JSON},
    {"fail-on", required_argument, NULL, FAIL_ON},
    {"width", required_argument, NULL, WIDTH},
    {"dump-frame", no_argument, NULL, DUMP},
    {"svg", required_argument, NULL, SVG},
    {"size", required_argument, NULL, SIZE},
    {"keys", required_argument, NULL, KEYS},
    {"color", required_argument, NULL, COLOR},
    {"ascii", no_argument, NULL, ASCII},
    {"utf8", no_argument, NULL, UTF8},
    {"no-mouse", no_argument, NULL, NO_MOUSE},
    {"frame-count", no_argument, NULL, FRAME_COUNT},
    {NULL, 0, NULL, 0},
};

static enum hal_status take_option(int option, struct options *o)
{
    switch (option) {
    case HELP: fputs(help_text, stdout); exit(EXIT_SUCCESS);
    case VERSION: puts("hal-view " VIEW_VERSION); exit(EXIT_SUCCESS);
    case PRINT: return parse_reports(optarg, o);
    case JSON: o->json = o->print = true; return HAL_OK;
    case FAIL_ON: return parse_conditions(optarg, o);
    case WIDTH: return parse_number("width", optarg, 20, 1000, &o->width);
    case DUMP: o->dump = true; return HAL_OK;
    case SVG: o->svg = optarg; return HAL_OK;
    case SIZE: return parse_size(optarg, o);
    case KEYS: o->keys = optarg; return HAL_OK;
    case COLOR: return parse_color(optarg, o);
    case ASCII: o->ascii = true; return HAL_OK;
    case UTF8: o->utf8 = true; return HAL_OK;
    case NO_MOUSE: o->mouse = false; return HAL_OK;
    case FRAME_COUNT: o->frame_count = true; return HAL_OK;
    default: return hal_fail(HAL_INVALID, "option %d is not handled", option);
    }
}

/* The names that begin like the wrong one, as far as they agree. */
static enum hal_status wrong_option(int option, char **argv)
{
    const char *text = argv[optind - 1], *name = text + strspn(text, "-"), *best = NULL;
    const size_t length = strcspn(name, "=");
    size_t most = 1; /* letters in common, more than by chance */
    int matching = 0;
    for (const struct option *o = long_options; o->name; o++) {
        size_t same = 0;
        while (same < length && o->name[same] == name[same])
            same++;
        matching += same == length;
        best = same > most && 2 * same >= length ? o->name : best;
        most = same > most ? same : most;
    }
    if (option == ':')
        return hal_fail(HAL_INVALID, "%s needs a value: see hal-view --help", text);
    for (const struct option *o = long_options; o->name; o++) {
        if (strlen(o->name) == length && strncmp(o->name, name, length) == 0)
            return hal_fail(HAL_INVALID, "--%s takes no value: see hal-view --help", o->name);
    }
    if (matching > 1)
        return hal_fail(HAL_INVALID, "'%s' is short for several options: see hal-view --help",
                        text);
    if (best)
        return hal_fail(HAL_INVALID, "unknown option '%s': is it --%s? See hal-view --help", text,
                        best);
    return hal_fail(HAL_INVALID, "unknown option '%s': see hal-view --help", text);
}

static enum hal_status parse_options(int argc, char **argv, struct options *o)
{
    const char *no_color = getenv("NO_COLOR"), *name = getenv("TERM");
    *o = (struct options){.columns = 120, .rows = 32, .colors = -1, .mouse = true};
    if (no_color && *no_color)
        o->colors = 0;
    opterr = 0; /* the messages are ours */
    for (int option; (option = getopt_long(argc, argv, ":", long_options, NULL)) != -1;)
        HAL_TRY(option == ':' || option == '?' ? wrong_option(option, argv)
                                               : take_option(option, o));
    if (argc - optind != 1)
        return hal_fail(HAL_INVALID, "expected one file: see hal-view --help");
    o->path = argv[optind];
    const bool screen =
        isatty(STDOUT_FILENO) && isatty(STDIN_FILENO) && name && strcmp(name, "dumb") != 0;
    const bool only_judged = o->condition_count && !o->print;
    if (!screen && !o->dump && !o->svg && !only_judged)
        o->print = true;
    o->judge_only = only_judged && !o->dump && !o->svg;
    bool any = false;
    for (size_t i = 0; i < VIEW_REPORT_COUNT; i++)
        any = any || o->reports[i];
    o->reports[VIEW_REPORT_SUMMARY] |= !any;
    if (!o->utf8 && strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        o->ascii = true;
    struct winsize size;
    if (!o->width && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
        o->width = size.ws_col;
    if (!o->width)
        o->width = 100;
    return HAL_OK;
}

/* ---- Without a terminal ------------------------------------------------------------------- */

static enum hal_status print(const struct view_model *model, const struct options *o)
{
    const struct view_report_options options = {
        .width = o->width, .ascii = o->ascii, .json = o->json};
    bool first = true;
    for (unsigned i = 0; i < VIEW_REPORT_COUNT; i++) {
        if (!o->reports[i])
            continue;
        if (!first && !o->json)
            fputc('\n', stdout);
        HAL_TRY(view_report_write(model, (enum view_report)i, &options, stdout));
        first = false;
    }
    return HAL_OK;
}

static enum hal_status write_svg(const struct view_screen *screen, const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return hal_fail(HAL_IO, "cannot write '%s': %s", path, strerror(errno));
    view_screen_write_svg(screen, file);
    const bool failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed)
        return hal_fail(HAL_IO, "cannot write '%s': %s", path, strerror(errno));
    return HAL_OK;
}

/* The first frame tells panes their sizes, which keys then rely on. */
static enum hal_status dump_frame(const struct view_model *model, const struct options *o)
{
    struct view_screen screen = {0};
    struct view *view;
    HAL_TRY(view_create(model, &view));
    enum hal_status status = view_screen_resize(&screen, o->rows, o->columns);
    if (status == HAL_OK) {
        view_draw(view, &screen);
        status = o->keys ? view_type(view, o->keys) : HAL_OK;
    }
    if (status == HAL_OK) {
        view->show_frames = o->frame_count;
        view_draw(view, &screen);
        if (o->dump)
            view_screen_write_text(&screen, stdout, o->ascii);
        if (o->svg)
            status = write_svg(&screen, o->svg);
    }
    view_screen_finish(&screen);
    view_destroy(view);
    return status;
}

/* ---- Conditions --------------------------------------------------------------------------- */

/* Says which conditions hold, on the standard error output: the other one may be JSON. */
static enum hal_status judge(const struct view_model *model, const struct options *o,
                             bool *out_holds)
{
    struct view_findings findings = {0};
    bool needed = false;
    char text[160];
    *out_holds = false;
    for (size_t i = 0; i < o->condition_count; i++)
        needed = needed || view_condition_needs_findings(&o->conditions[i]);
    if (needed)
        HAL_TRY(view_findings_find(model, &findings));
    for (size_t i = 0; i < o->condition_count; i++) {
        if (!view_condition_holds(&o->conditions[i], model, &findings, text, sizeof text))
            continue;
        fprintf(stderr, "hal-view: %s: %s, and %s is a failure\n", o->path, text,
                o->conditions[i].text);
        *out_holds = true;
    }
    view_findings_finish(&findings);
    return HAL_OK;
}

/* ---- With a terminal ---------------------------------------------------------------------- */

static void handle(struct view *view, struct view_term_event event)
{
    if (event.kind == VIEW_TERM_KEY)
        view_key(view, event.key);
    else if (event.kind == VIEW_TERM_POINTER && view->mouse)
        view_point(view, event.pointer);
    else if (event.kind == VIEW_TERM_END)
        view->quit = true;
    if (*view->copied) {
        view_term_copy(view->copied);
        view->copied[0] = '\0';
    }
    if (view->wants_redraw)
        view_term_forget();
    view->wants_redraw = false;
}

/* What arrived meanwhile is handled before the next frame: a slow line never lags behind. */
static enum hal_status interact(struct view *view, const char *keys)
{
    struct view_screen screen = {0};
    enum hal_status status = HAL_OK;
    bool mouse = view->mouse;
    while (!view->quit && status == HAL_OK) {
        int rows, columns;
        view_term_size(&rows, &columns);
        status = view_screen_resize(&screen, rows, columns);
        if (status != HAL_OK)
            break;
        view_draw(view, &screen);
        if (keys) {
            status = view_type(view, keys);
            keys = NULL;
            continue;
        }
        view_term_draw(&screen);
        struct view_term_event event = view_term_read(true);
        while (event.kind != VIEW_TERM_NOTHING && !view->quit) {
            handle(view, event);
            event = view_term_read(false);
        }
        if (mouse != view->mouse)
            view_term_set_mouse(mouse = view->mouse);
    }
    view_screen_finish(&screen);
    return status;
}

static enum hal_status show(const struct view_model *model, const struct options *o)
{
    const struct view_term_options options = {
        .colors = o->colors, .ascii = o->ascii, .mouse = o->mouse};
    struct view *view;
    HAL_TRY(view_create(model, &view));
    view->mouse = o->mouse;
    view->show_frames = o->frame_count;
    enum hal_status status = view_term_open(&options);
    if (status == HAL_OK)
        status = interact(view, o->keys);
    view_destroy(view);
    view_term_close();
    return status;
}

static int fail(int code)
{
    fprintf(stderr, "hal-view: %s\n", hal_message());
    return code;
}

int main(int argc, char **argv)
{
    struct options options;
    struct view_model *model;
    setlocale(LC_CTYPE, "");
    if (parse_options(argc, argv, &options) != HAL_OK)
        return fail(EXIT_USAGE);
    enum hal_status status = view_model_open(options.path, &model);
    if (status != HAL_OK)
        return fail(EXIT_UNREADABLE);
    if (*model->truncated)
        fprintf(stderr, "hal-view: %s: %s\n", options.path, model->truncated);
    if (options.dump || options.svg)
        status = dump_frame(model, &options);
    else if (options.print)
        status = print(model, &options);
    else if (!options.judge_only)
        status = show(model, &options);
    bool failed = false;
    if (status == HAL_OK)
        status = judge(model, &options, &failed);
    view_model_close(model);
    if (status == HAL_OK)
        return failed ? EXIT_CONDITION : EXIT_SUCCESS;
    return fail(status == HAL_INVALID || status == HAL_UNSUPPORTED ? EXIT_USAGE : EXIT_UNREADABLE);
}
