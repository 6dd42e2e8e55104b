/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/options.h"

#include "viewer/terminal/term.h"

#include "hal/base/options.h"
#include "hal/base/print.h"

#include <errno.h>
#include <langinfo.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

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
        return hal_fail(HAL_INVALID, "--size=%s: expected COLUMNSxROWS, such as 120x32", text);
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

enum { PRINT, DIFF, FAIL_ON, WIDTH, SIZE, COLOR }; /* that need more than to be stored */

static enum hal_status take_value(void *user, const struct hal_option *option, char *value)
{
    struct view_options *o = user;
    switch (option->id) {
    case PRINT: return parse_reports(value, o);
    case DIFF:
        o->compare = true;
        o->diff = value;
        return HAL_OK;
    case FAIL_ON: return parse_conditions(value, o);
    case WIDTH: return parse_number("width", value, 20, 1000, &o->width);
    case SIZE: return parse_size(value, o);
    case COLOR: return parse_color(value, o);
    default: return hal_fail(HAL_INVALID, "option --%s is not handled", option->name);
    }
}

static const struct hal_option table[] = {
    {.help = "What is shown:"},
    {.name = "print",
     .argument = "[=LIST]",
     .help =
         "text instead of the screen: summary (default), timeline, submissions, gaps, findings, "
         "kernels, memory, iterations; several separated by commas. Also without a terminal",
     .take = take_value,
     .id = PRINT},
    {.name = "diff",
     .argument = "[=B]",
     .help = "compare the traces A and B, in this order: totals, scopes, kernels, and whether the "
             "differences are significant; --diff=B A is the old spelling",
     .take = take_value,
     .id = DIFF},
    {.name = "json",
     .help = "print --print or --diff as JSON, one object per line",
     .target = offsetof(struct view_options, json)},
    {.name = "fail-on",
     .argument = "CONDS",
     .help = "exit with status 1 if one of these holds: 'gaps>10%,syncs>100', about gaps, syncs, "
             "submissions, failures, races (accesses to the same bytes that nothing orders), "
             "findings:NAME",
     .take = take_value,
     .id = FAIL_ON},
    {.help = "How:"},
    {.name = "width",
     .argument = "N",
     .help = "columns of the printed timeline",
     .take = take_value,
     .id = WIDTH},
    {.name = "dump-frame",
     .help = "print the contents of the screen",
     .target = offsetof(struct view_options, dump)},
    {.name = "svg",
     .argument = "FILE",
     .help = "write it as a picture",
     .target = offsetof(struct view_options, svg)},
    {.name = "size",
     .argument = "CxR",
     .help = "columns and rows of the frame (120x32)",
     .take = take_value,
     .id = SIZE},
    {.name = "keys",
     .argument = "KEYS",
     .help = "press these keys first: 'wwl]<Enter>'",
     .target = offsetof(struct view_options, keys)},
    {.name = "color",
     .argument = "WHEN",
     .help = "auto, never, 8, 16, 256, truecolor, always; a value other than auto also applies to "
             "printed frames and timelines",
     .take = take_value,
     .id = COLOR},
    {.name = "ascii",
     .help = "use only ASCII characters; default: what the locale supports",
     .target = offsetof(struct view_options, ascii)},
    {.name = "utf8",
     .help = "use all characters in any locale",
     .target = offsetof(struct view_options, utf8)},
    {.help = "On a terminal:"},
    {.name = "follow",
     .letter = 'f',
     .help = "reread the file while it is being written",
     .target = offsetof(struct view_options, follow)},
    {.name = "plain",
     .help = "line mode for screen readers and scripts: commands in words, answers as text. help "
             "lists the commands",
     .target = offsetof(struct view_options, plain)},
    {.name = "no-mouse",
     .help = "leave the mouse to the terminal",
     .target = offsetof(struct view_options, no_mouse)},
    {.name = "frame-count",
     .help = "show frame counts in the first row",
     .target = offsetof(struct view_options, frame_count)},
    {0},
};

static void print_version(void)
{
    hal_print(stdout, "hal-view %s\ntrace format %u.%u\n", VIEW_VERSION, TRACE_VERSION_MAJOR,
              TRACE_VERSION_MINOR);
}

static const struct hal_command_line command_line = {
    .program = "hal-view",
    .usage = "usage: hal-view [options] FILE\n"
             "       hal-view [options] --diff A B\n"
             "Shows a trace: what host threads, queues and the device did, and when.\n",
    .notes = "Examples:\n"
             "  hal-view trace.pb.zst                                     # ? shows the keys\n"
             "  hal-view --print=findings trace.pb.zst\n"
             "  hal-view --fail-on='failures>0,races>0' trace.pb.zst       # for a test\n"
             "  hal-view --svg=- --keys='))' trace.pb.zst >timeline.svg\n"
             "\n"
             "Exit status: 0, 1 a condition of --fail-on holds, 2 usage, 3 the file cannot be "
             "read, or the\n"
             "output cannot be written.\n",
    .options = table,
    .print_version = print_version,
};

/* Only that was asked for. */
static _Noreturn void answer(enum hal_asked asked)
{
    if (hal_command_line_answer(&command_line, asked) == HAL_OK)
        exit(EXIT_SUCCESS);
    hal_print(stderr, "hal-view: %s\n", hal_message());
    exit(VIEW_EXIT_UNREADABLE);
}

/* FILE; A B after --diff; A if --diff=B names the other one. */
static enum hal_status take_words(const struct hal_words *words, struct view_options *o)
{
    const bool two = o->compare && !o->diff;
    if (two && words->count != 2)
        return hal_fail(HAL_INVALID,
                        "--diff compares two files, A and B, not %d: see hal-view --help",
                        words->count);
    if (!two && words->count > 1)
        return hal_fail(HAL_INVALID, "expected one file, not '%s' and '%s'%s: see hal-view --help",
                        words->words[0], words->words[1],
                        o->print ? " (use '=' for a list: --print=LIST)" : "");
    if (!words->count)
        return hal_fail(HAL_INVALID, "expected one file: see hal-view --help");
    o->path = words->words[0];
    if (two)
        o->diff = words->words[1];
    return HAL_OK;
}

static enum hal_status check_together(const struct view_options *o)
{
    if (o->diff && (o->print || o->dump || o->svg || o->follow || o->plain))
        return hal_fail(
            HAL_INVALID,
            "--diff cannot be combined with --print, --dump-frame, --svg, --follow or --plain");
    if (o->plain && (o->print || o->dump || o->svg || o->follow))
        return hal_fail(HAL_INVALID,
                        "--plain cannot be combined with --print, --dump-frame, --svg or --follow");
    return HAL_OK;
}

enum hal_status view_options_parse(char **argv, struct view_options *o)
{
    struct hal_words words;
    const char *no_color = getenv("NO_COLOR"), *force = getenv("CLICOLOR_FORCE");
    const char *name = getenv("TERM");
    *o = (struct view_options){.columns = 120, .rows = 32, .colors = -1};
    if (no_color && *no_color)
        o->colors = 0;
    else if (force && *force && strcmp(force, "0") != 0)
        o->text_colors = 256;
    HAL_TRY(hal_command_line_parse(&command_line, argv, o, &words));
    if (words.asked != HAL_ASKED_NOTHING)
        answer(words.asked);
    o->print = o->print || (o->json && !o->compare);
    HAL_TRY(take_words(&words, o));
    HAL_TRY(check_together(o));
    const bool screen =
        isatty(STDOUT_FILENO) && isatty(STDIN_FILENO) && name && strcmp(name, "dumb") != 0;
    const bool conditions_only = o->condition_count && !o->print;
    if (!screen && !o->dump && !o->svg && !conditions_only && !o->plain && !o->diff)
        o->print = true;
    if (o->follow && (o->print || o->dump || o->svg || conditions_only))
        return hal_fail(HAL_INVALID, "--follow needs a terminal to show the file on");
    o->conditions_only = conditions_only && !o->dump && !o->svg;
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
