/* SPDX-License-Identifier: Apache-2.0 */
/* hal/base/options.c: what a command line means, and what is said about a wrong one. */
#include "hal/base/options.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 8 };

struct taken {
    const char *output, *level;
    char list[32]; /* values of --list, in order; "-" for none */
    bool force, quiet;
};

static enum hal_status take_list(void *user, const struct hal_option *option, char *value)
{
    struct taken *taken = user;
    assert_int_equal(option->id, 7);
    const size_t used = strlen(taken->list);
    snprintf(taken->list + used, sizeof taken->list - used, "%s;", value ? value : "-");
    return value && strcmp(value, "bad") == 0 ? hal_fail(HAL_INVALID, "--list=bad: no") : HAL_OK;
}

static const struct hal_option table[] = {
    {.help = "Where to:"},
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .help = "the trace",
     .target = offsetof(struct taken, output)},
    {.name = "out-file", .argument = "FILE", .alias_of = "output"},
    {.name = "force", .letter = 'f', .help = "replace", .target = offsetof(struct taken, force)},
    {.name = "quiet", .letter = 'q', .help = "nothing", .target = offsetof(struct taken, quiet)},
    {.help = "What:"},
    {.name = "level",
     .argument = "[K:]N",
     .help = "how much",
     .target = offsetof(struct taken, level)},
    {.name = "list",
     .letter = 'l',
     .argument = "[=LIST]",
     .help = "some of a long list whose description takes more than one line of a terminal",
     .take = take_list,
     .id = 7},
    {0},
};

static void print_version(void) {}

/* The words that are left, with spaces between, in front of them what was asked for. */
static enum hal_status parse(const char *arguments, bool stops, struct taken *taken,
                             char words[128])
{
    const struct hal_command_line line = {.program = "prog",
                                          .usage = "usage\n",
                                          .options = table,
                                          .print_version = print_version,
                                          .stops_at_word = stops};
    static char text[256], program[] = "prog";
    char *argv[MOST + 2] = {program};
    struct hal_words left;
    int argc = 1;
    snprintf(text, sizeof text, "%s", arguments);
    for (char *rest, *at = strtok_r(text, " ", &rest); at; at = strtok_r(NULL, " ", &rest)) {
        assert_true(argc <= MOST);
        argv[argc++] = at;
    }
    *taken = (struct taken){0};
    words[0] = '\0';
    const enum hal_status status = hal_command_line_parse(&line, argv, taken, &left);
    if (status != HAL_OK)
        return status;
    static const char *const asked[] = {"", "help ", "version "};
    size_t used = (size_t)snprintf(words, 128, "%s", asked[left.asked]);
    assert_null(left.words[left.count]);
    for (int i = 0; i < left.count; i++)
        used += (size_t)snprintf(words + used, 128 - used, "%s ", left.words[i]);
    return status;
}

TEST(what_command_lines_mean)
{
    static const struct {
        const char *arguments, *output, *level, *list;
        bool force, quiet, stops;
        const char *words;
    } rows[] = {
        {"", NULL, NULL, "", false, false, false, ""},
        {"--output=a b", "a", NULL, "", false, false, false, "b "},
        {"--output a b", "a", NULL, "", false, false, false, "b "},
        {"-o a b", "a", NULL, "", false, false, false, "b "},
        {"-oa b", "a", NULL, "", false, false, false, "b "},
        {"-o=a b", "a", NULL, "", false, false, false, "b "},
        {"--output= b", "", NULL, "", false, false, false, "b "},
        {"--output=-- b", "--", NULL, "", false, false, false, "b "},
        {"--output=a=b", "a=b", NULL, "", false, false, false, ""},
        {"--outp a", "a", NULL, "", false, false, false, ""}, /* of --output alone */
        {"--out-file a", "a", NULL, "", false, false, false, ""},
        {"--out a", "a", NULL, "", false, false, false, ""}, /* both mean the same */
        {"-fq x", NULL, NULL, "", true, true, false, "x "},
        {"-fqo a x", "a", NULL, "", true, true, false, "x "},
        {"a -f b -q c", NULL, NULL, "", true, true, false, "a b c "},
        {"a -f b -q c", NULL, NULL, "", false, false, true, "a -f b -q c "},
        {"-q a -f", NULL, NULL, "", false, true, true, "a -f "},
        {"-q -- -f a", NULL, NULL, "", false, true, false, "-f a "},
        {"a -- -f -- b", NULL, NULL, "", false, false, false, "a -f -- b "},
        {"a - b", NULL, NULL, "", false, false, false, "a - b "},
        {"--list x", NULL, NULL, "-;", false, false, false, "x "},
        {"--list=x y -l -l=z", NULL, NULL, "x;-;z;", false, false, false, "y "},
        {"-lf x", NULL, NULL, "-;", true, false, false, "x "},
        {"-f --help --nonsense", NULL, NULL, "", true, false, false, "help --nonsense "},
        {"-h", NULL, NULL, "", false, false, false, "help "},
        {"a -V", NULL, NULL, "", false, false, false, "version a "},
        {"--version", NULL, NULL, "", false, false, false, "version "},
        {"--level -5", NULL, "-5", "", false, false, false, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct taken taken;
        char words[128];
        print_message("'%s'\n", rows[i].arguments);
        assert_int_equal(parse(rows[i].arguments, rows[i].stops, &taken, words), HAL_OK);
        assert_string_equal(words, rows[i].words);
        assert_string_equal(taken.list, rows[i].list);
        assert_string_equal(taken.output ? taken.output : "NULL",
                            rows[i].output ? rows[i].output : "NULL");
        assert_string_equal(taken.level ? taken.level : "NULL",
                            rows[i].level ? rows[i].level : "NULL");
        assert_int_equal(taken.force, rows[i].force);
        assert_int_equal(taken.quiet, rows[i].quiet);
    }
}

TEST(what_is_said_of_wrong_ones)
{
    static const char *const rows[][2] = {
        {"--ouptut=a", "unknown option '--ouptut' (nearest: '--output')"},
        {"--lvl 3", "unknown option '--lvl' (see prog --help)"},
        {"--levl 3", "unknown option '--levl' (nearest: '--level')"},
        {"--hlep", "unknown option '--hlep' (nearest: '--help')"},
        {"--completely-different", "unknown option '--completely-different' (see prog --help)"},
        {"--=x", "unknown option '--' (see prog --help)"},
        {"-x", "unknown option '-x' (see prog --help)"},
        {"-fx", "unknown option '-x' in '-fx' (see prog --help)"},
        {"--l", "option '--l' may be '--level' or '--list'"},
        {"--output", "option '--output' needs a value: --output=FILE"},
        {"--level", "option '--level' needs a value: --level=[K:]N"},
        {"-fo", "option '-o' needs a value: --output=FILE"},
        {"--output -- a", "option '--output' needs a value: --output=FILE"},
        {"--force=yes", "option '--force' takes no value, not 'yes'"},
        {"--forc=", "option '--force' takes no value, not ''"},
        {"-f=yes", "option '-f' takes no value, not 'yes'"},
        {"--help=x", "option '--help' takes no value, not 'x'"},
        {"--list=bad", "--list=bad: no"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct taken taken;
        char words[128];
        print_message("'%s'\n", rows[i][0]);
        assert_int_equal(parse(rows[i][0], false, &taken, words), HAL_INVALID);
        assert_string_equal(hal_message(), rows[i][1]);
    }
}

/* The verb stands in front; a program that was started without any argument has no words. */
TEST(verbs_are_named)
{
    const struct hal_command_line line = {
        .program = "prog", .verb = "dump", .usage = "", .print_version = print_version};
    char name[] = "dump", wrong[] = "--no";
    char *argv[] = {name, wrong, NULL}, *empty[] = {NULL};
    struct hal_words words;
    assert_int_equal(hal_command_line_parse(&line, argv, NULL, &words), HAL_INVALID);
    assert_string_equal(hal_message(), "dump: unknown option '--no' (see prog dump --help)");
    assert_int_equal(hal_command_line_parse(&line, empty, NULL, &words), HAL_OK);
    assert_int_equal(words.count, 0);
}

TEST(names_that_are_nearly_right)
{
    static const char *const names[] = {"dump", "diff", "stats", "strip", "symbolize"};
    char endless[4096];
    memset(endless, 'd', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    assert_string_equal(hal_nearest_name("dmup", names, 5), "dump");
    assert_string_equal(hal_nearest_name("stat", names, 5), "stats");
    assert_string_equal(hal_nearest_name("symbolise", names, 5), "symbolize");
    assert_null(hal_nearest_name("export", names, 5));
    assert_null(hal_nearest_name("", names, 5));
    assert_null(hal_nearest_name(endless, names, 5));
}
