/* SPDX-License-Identifier: Apache-2.0 */
/* viewer/findings/condition.c: every subject, relation and unit against a trace worked out by hand.
 */
#include "tests/support/test.h"
#include "tests/support/trace_builder.h"
#include "viewer/findings/condition.h"

#include <unistd.h>

enum { START_NS = 1000 };

static char folder[] = "/tmp/test_condition.XXXXXX";
static char path[64];
static struct view_model *model;
static struct view_findings findings;

/* Two submissions of 100 ns with 300 ns between them: nothing was submitted for 270 of those, 10 it
 * took to submit, 20 to start. One wait of 50 ns, one failed call. */
static int open_trace(void **state)
{
    (void)state;
    struct trace_builder b;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/t.pb.zst", folder);
    builder_open(&b, path, NULL);
    b.step_ns = 10;
    b.begin_ns = START_NS;
    builder_semaphore_create(&b, 1, "done", 0);
    for (uint64_t n = 0; n < 2; n++) {
        const int64_t begin_ns = START_NS + 100 + (int64_t)n * 400;
        const struct trace_semaphore_value signal = {1, n + 1};
        b.begin_ns = begin_ns - 30;
        b.step_ns = 10;
        builder_submit(&b, n, 0, NO_VALUES, VALUES(signal), NO_IDS);
        builder_submission_done(&b, n, 0, begin_ns - 20, begin_ns, begin_ns + 100);
        b.begin_ns = begin_ns + 60;
        b.step_ns = 50;
        if (n == 0)
            builder_semaphore_wait(&b, 0, &signal, 1, INT64_MAX);
    }
    b.status = HAL_INVALID;
    builder_semaphore(&b, TRACE_SEMAPHORE_SIGNAL, 1, 1, NULL);
    if (builder_close(&b, NULL) != HAL_OK || view_model_open(path, &model) != HAL_OK ||
        view_findings_find(model, &findings) != HAL_OK) {
        print_error("%s\n", hal_message());
        return -1;
    }
    return 0;
}

static int close_trace(void **state)
{
    (void)state;
    view_findings_finish(&findings);
    view_model_close(model);
    unlink(path);
    return rmdir(folder);
}

static bool holds(const char *text, char *out, size_t bytes)
{
    struct view_condition condition;
    if (view_condition_parse(text, strlen(text), &condition) != HAL_OK)
        fail_msg("%s", hal_message());
    return view_condition_holds(&condition, model, &findings, out, bytes);
}

TEST(conditions_compare_what_there_is)
{
    static const struct {
        const char *text;
        bool holds;
    } cases[] = {
        {"gaps>59%", true},          {"gaps > 60 %", false},
        {"gaps>=60%", true},         {"gaps>299ns", true},
        {"gaps>0.3us", false},       {"gaps>=1", true},
        {"gaps>1", false},           {"gaps:host>=270ns", true},
        {"gaps:host>280ns", false},  {"gaps:semaphore>0", false},
        {"syncs=1", true},           {"syncs==2", false},
        {"syncs>=50ns", true},       {"syncs>51ns", false},
        {"syncs<=10%", true},        {"submissions<3", true},
        {"submissions<2", false},    {"failures>0", true},
        {"failures>1", false},       {"races>0", false},
        {"findings>0", true},        {"findings:idle>=250ns", true},
        {"findings:races>0", false}, {"findings:host-syncs>0", true},
        {"gaps>1ms", false},         {"gaps<1s", true},
    };
    char text[128];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (holds(cases[i].text, text, sizeof text) != cases[i].holds)
            fail_msg("'%s' is %s, but %s", cases[i].text, cases[i].holds ? "true" : "false", text);
    }
    holds("gaps>1%", text, sizeof text);
    assert_string_equal(text, "gaps: 60.0 % of 500 ns");
}

TEST(what_is_no_condition_is_named)
{
    static const char *const wrong[][2] = {
        {"", "expected a condition such as"},
        {"gaps", "expected a condition such as"},
        {">3", "expected a condition such as"},
        {"gasp>3", "'gasp' is not one of gaps"},
        {"gaps>", "is not a number"},
        {"gaps>-1", "is not a number"},
        {"gaps>nan", "is not a number"},
        {"gaps>1e999", "is not a number"},
        {"gaps>10kg", "'10kg' is not a number"},
        {"gaps:foo>1", "no gaps called 'foo'"},
        {"findings:foo>1", "called 'foo'"},
        {"submissions>10%", "are counted"},
        {"failures>1ms", "are counted"},
        {"syncs:x>1", "no syncs called 'x'"},
        {"gaps>0000000000000000000000000000000000000000000000000000000000000", "at most"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct view_condition condition;
        assert_int_equal(view_condition_parse(wrong[i][0], strlen(wrong[i][0]), &condition),
                         HAL_INVALID);
        if (!strstr(hal_message(), wrong[i][1]))
            fail_msg("'%s': %s", wrong[i][0], hal_message());
    }
}

TEST_SUITE_FIXTURE(open_trace, close_trace);
