/* SPDX-License-Identifier: Apache-2.0 */
/* replay/sandbox/profile.c: what macOS is told. That it obeys, only a Mac can show
 * (docs/metal.md).
 */
#include "replay/sandbox/profile.h"
#include "tests/support/test.h"

static const char *const given[] = {"/given", NULL};
static const struct replay_policy usual = {.trace = "/strange/t.pb.zst",
                                           .given = given,
                                           .given_count = 2,
                                           .scratch = "/scratch",
                                           .kept = NULL,
                                           .programs = "/bin/hal-msl-cc\0"};
static const struct replay_own_places own = {{"/own/lib", NULL}, "/cache"};

static size_t count(const char *text, const char *part)
{
    size_t found = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        found++;
    return found;
}

TEST(all_is_denied_but_what_is_named)
{
    char *text = replay_sandbox_profile(&usual, &own);
    assert_non_null(text);
    static const char begin[] = "(version 1)\n(deny default)\n";
    assert_memory_equal(text, begin, sizeof begin - 1);
    assert_null(strstr(text, "network"));
    assert_null(strstr(text, "(allow default)"));
    assert_int_equal(count(text, "(allow process-exec"), 1);
    assert_non_null(strstr(text, "(allow process-exec (literal \"/bin/hal-msl-cc\"))\n"));
    assert_int_equal(count(text, "(allow file-write* "), 1);
    assert_non_null(strstr(text, "(allow file-write* (subpath \"/scratch\"))\n"));
    assert_non_null(strstr(text, "(allow file-read* (literal \"/strange/t.pb.zst\"))\n"));
    assert_non_null(strstr(text, "(allow file-read* (subpath \"/given\"))\n"));
    assert_non_null(strstr(text, "(allow file-read* (subpath \"/cache\"))\n"));
    assert_non_null(strstr(text, "(allow file-map-executable (subpath \"/own/lib\"))\n"));
    /* Each parenthesis has its other one. */
    assert_int_equal(count(text, "("), count(text, ")"));
    free(text);
}

TEST(without_programs_nothing_starts)
{
    struct replay_policy policy = usual;
    policy.programs = "";
    policy.kept = "/kept";
    char *text = replay_sandbox_profile(&policy, &own);
    assert_non_null(text);
    assert_null(strstr(text, "process-exec"));
    assert_null(strstr(text, "process-fork"));
    assert_non_null(strstr(text, "(allow file-write* (subpath \"/kept\"))\n"));
    free(text);
}

/* A name cannot end its own text and go on as a rule. */
TEST(names_are_no_rules)
{
    struct replay_policy policy = usual;
    policy.trace = "/a\\\")) (allow network*) (\"";
    char *text = replay_sandbox_profile(&policy, &own);
    assert_non_null(text);
    assert_non_null(
        strstr(text, "(allow file-read* (literal \"/a\\\\\\\")) (allow network*) (\\\"\"))\n"));
    free(text);
    policy.trace = "/a\n(allow network*)";
    text = replay_sandbox_profile(&policy, &own);
    assert_non_null(text);
    assert_null(strstr(text, "network"));
    free(text);
}
