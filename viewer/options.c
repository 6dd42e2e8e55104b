/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/options.h"

#include "viewer/terminal/term.h"

#include "hal/base/output.h"

#include <errno.h>
#include <getopt.h>
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const char help_text[] =
    "usage: hal-view [options] FILE\n"
    "Shows a trace: what host threads, queues and the device did, and when.\n"
    "\n"
    "What is shown:\n"
    "  --print[=LIST]     text instead of the screen: summary (default), timeline,\n"
    "                     submissions, gaps, findings, kernels, memory, iterations;\n"
    "                     several with commas. Also without a terminal\n"
    "  --diff=FILE2       compare with another trace: totals, scopes, kernels, and\n"
    "                     whether they differ by more than chance\n"
    "  --json             --print or --diff as JSON, one object per line\n"
    "  --fail-on=CONDS    exit with status 1 when one of these holds: 'gaps>10%,syncs>100',\n"
    "                     of gaps, syncs, submissions, failures, races (accesses to the\n"
    "                     same bytes that nothing orders), findings:NAME\n"
    "\n"
    "How:\n"
    "  --width=N          columns of the printed timeline\n"
    "  --dump-frame       print what the screen would show\n"
    "  --svg=FILE         write it as a picture\n"
    "  --size=CxR         columns and rows of the frame (120x32)\n"
    "  --keys=KEYS        hit these keys before: 'wwl]<Enter>'\n"
    "  --color=WHEN       auto, never, 8, 16, 256, truecolor, always; other than auto also in\n"
    "                     frames and timelines that are printed\n"
    "  --ascii, --utf8    which characters to use; else what the locale has\n"
    "\n"
    "On a terminal:\n"
    "  -f, --follow       read the file again while it is being written\n"
    "  --plain            a line at a time: commands in words, answers as text; for screen\n"
    "                     readers and scripts. help lists the commands\n"
    "  --no-mouse         leave the mouse to the terminal\n"
    "  --frame-count      count frames in the first row\n"
    "  --help, --version\n"
    "\n"
    "Examples:\n"
    "  hal-view trace.pb.zst                                     # ? shows the keys\n"
    "  hal-view --print=findings trace.pb.zst\n"
    "  hal-view --fail-on='failures>0,races>0' trace.pb.zst       # for a test\n"
    "  hal-view --svg=- --keys='))' trace.pb.zst >timeline.svg\n"
    "\n"
    "Exit status: 0, 1 a condition of --fail-on holds, 2 usage, 3 the file cannot be read, or the\n"
    "output cannot be written.\n";

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

static enum hal_status parse_size(const char *text, struct view_options *o)
{
    char columns[16];
    const char *x = strchr(text, 'x');
    if (!x || x - text >= (int)sizeof columns)
        return hal_fail(HAL_INVALID, "--size=%s: expected COLUMNSxROWS, like 120x32", text);
    snprintf(columns, sizeof columns, "%.*s", (int)(x - text), text);
    HAL_TRY(parse_number("size", columns, 1, 1000, &o->columns));
    return parse_number("size", x + 1, 1, 1000, &o->rows);
}

static enum hal_status parse_reports(const char *text, struct view_options *o)
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
                            "kernels, memory or iterations",
                            text);
        o->reports[i] = true;
    }
    return HAL_OK;
}

static enum hal_status parse_conditions(const char *text, struct view_options *o)
{
    size_t length = 0;
    do {
        length = strcspn(text, ",");
        if (o->condition_count == VIEW_MAX_CONDITIONS)
            return hal_fail(HAL_INVALID, "--fail-on: at most %d conditions", VIEW_MAX_CONDITIONS);
        HAL_TRY(view_condition_parse(text, length, &o->conditions[o->condition_count++]));
        text += length;
    } while (*text++);
    return HAL_OK;
}

static enum hal_status parse_color(const char *text, struct view_options *o)
{
    o->colors = -1;
    o->text_colors = 0;
    if (strcmp(text, "auto") == 0)
        return HAL_OK;
    if (strcmp(text, "always") == 0) {
        o->text_colors = 256;
        return HAL_OK;
    }
    if (strcmp(text, "never") == 0)
        o->colors = 0;
    else if (strcmp(text, "8") == 0)
        o->colors = 8;
    else if (strcmp(text, "16") == 0)
        o->colors = 16;
    else if (strcmp(text, "256") == 0)
        o->colors = 256;
    else if (strcmp(text, "truecolor") == 0)
        o->colors = VIEW_TRUE_COLORS;
    else
        return hal_fail(HAL_INVALID,
                        "--color=%s: expected auto, always, never, 8, 16, 256 or "
                        "truecolor",
                        text);
    o->text_colors = o->colors;
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
    FRAME_COUNT,
    PLAIN,
    DIFF
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
    {"follow", no_argument, NULL, 'f'},
    {"diff", required_argument, NULL, DIFF},
    {"plain", no_argument, NULL, PLAIN},
    {NULL, 0, NULL, 0},
};

/* Only that was asked for. */
static _Noreturn void end_output(void)
{
    if (hal_output_end() == HAL_OK)
        exit(EXIT_SUCCESS);
    fprintf(stderr, "hal-view: %s\n", hal_message());
    exit(VIEW_EXIT_UNREADABLE);
}

static enum hal_status take_option(int option, struct view_options *o)
{
    switch (option) {
    case HELP: fputs(help_text, stdout); end_output();
    case VERSION:
        printf("hal-view %s\ntrace format %u.%u\n", VIEW_VERSION, TRACE_VERSION_MAJOR,
               TRACE_VERSION_MINOR);
        end_output();
    case PRINT: return parse_reports(optarg, o);
    case JSON: o->json = true; return HAL_OK;
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
    case 'f': o->follow = true; return HAL_OK;
    case DIFF: o->diff = optarg; return HAL_OK;
    case PLAIN: o->plain = true; return HAL_OK;
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

enum hal_status view_options_parse(int argc, char **argv, struct view_options *o)
{
    const char *no_color = getenv("NO_COLOR"), *force = getenv("CLICOLOR_FORCE");
    const char *name = getenv("TERM");
    *o = (struct view_options){.columns = 120, .rows = 32, .colors = -1, .mouse = true};
    if (no_color && *no_color)
        o->colors = 0;
    else if (force && *force && strcmp(force, "0") != 0)
        o->text_colors = 256;
    opterr = 0; /* the messages are ours */
    for (int option; (option = getopt_long(argc, argv, ":f", long_options, NULL)) != -1;)
        HAL_TRY(option == ':' || option == '?' ? wrong_option(option, argv)
                                               : take_option(option, o));
    o->print = o->print || (o->json && !o->diff);
    if (argc - optind > 1)
        return hal_fail(HAL_INVALID, "expected one file, not '%s' and '%s'%s: see hal-view --help",
                        argv[optind], argv[optind + 1],
                        o->print ? " (a list stands behind '=': --print=LIST)" : "");
    if (argc == optind)
        return hal_fail(HAL_INVALID, "expected one file: see hal-view --help");
    o->path = argv[optind];
    const bool screen =
        isatty(STDOUT_FILENO) && isatty(STDIN_FILENO) && name && strcmp(name, "dumb") != 0;
    const bool only_judged = o->condition_count && !o->print;
    if (o->diff && (o->print || o->dump || o->svg || o->follow || o->plain))
        return hal_fail(HAL_INVALID, "--diff stands alone: without --print, --dump-frame, --svg, "
                                     "--follow and --plain");
    if (o->plain && (o->print || o->dump || o->svg || o->follow))
        return hal_fail(HAL_INVALID, "--plain stands alone: without --print, --dump-frame, --svg "
                                     "and --follow");
    if (!screen && !o->dump && !o->svg && !only_judged && !o->plain && !o->diff)
        o->print = true;
    if (o->follow && (o->print || o->dump || o->svg || only_judged))
        return hal_fail(HAL_INVALID, "--follow needs a terminal to show the file in");
    o->judge_only = only_judged && !o->dump && !o->svg;
    bool any = false;
    for (size_t i = 0; i < VIEW_REPORT_COUNT; i++)
        any = any || o->reports[i];
    o->reports[VIEW_REPORT_SUMMARY] |= !any;
    if (!o->utf8 && strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        o->ascii = true;
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
        o->screen = size.ws_col;
    if (!o->width)
        o->width = o->screen ? o->screen : 100;
    return HAL_OK;
}
