/* SPDX-License-Identifier: Apache-2.0 */
/* viewer/findings/timing.c, findings.c: what findings cost is what fixing them saves, at most. */
#include "tests/support/test.h"
#include "tests/unit/viewer/findings_fixture.h"
#include "tests/viewer/decode_trace.h"

#include <dirent.h>
#include <limits.h>

/* ---- Made-up waits and submissions ---- */

/* Of four waits the last one is needed, since nothing comes after it. */
static void costs_are(const char *device, void (*disturb)(struct trace_builder *b), uint64_t waits,
                      int64_t cost_ns, int64_t possible_ns)
{
    struct trace_builder b;
    struct found found;
    open_trace_of(&b, device);
    builder_fill(&b, BUFFER, 0, 64, 1, 1);
    builder_end_commands(&b, COMMANDS);
    if (disturb)
        disturb(&b);
    for (uint64_t n = 4; n < 8; n++)
        round_trip(&b, n, 100000 + 100 * (int64_t)n);
    find(&b, &found);
    const struct view_finding *syncs = of_kind(&found, VIEW_FINDING_SYNCS);
    assert_non_null(syncs);
    assert_int_equal(syncs->count, waits);
    assert_int_equal(syncs->cost_ns, cost_ns);
    assert_int_equal(syncs->possible_ns, possible_ns);
    finish(&found);
}

/* The first submit call takes 5 us, in which its work runs; then 20 ns are waited. */
static void a_slow_submit(struct trace_builder *b)
{
    const struct trace_semaphore_value signal = {DONE, 4};
    at(b, 1000, 6000);
    builder_submit(b, 3, 0, NO_VALUES, VALUES(signal), IDS(COMMANDS));
    builder_submission_done(b, 3, 0, START_NS + 1010, START_NS + 1030, START_NS + 1050);
    at(b, 6010, 6030);
    builder_semaphore_wait(b, 0, &signal, 1, INT64_MAX);
}

/* Its thread gets the processor back 50 us after the work has ended. */
static void a_slow_wake(struct trace_builder *b)
{
    const struct trace_semaphore_value signal = {DONE, 4};
    at(b, 1000, 1010);
    builder_submit(b, 3, 0, NO_VALUES, VALUES(signal), IDS(COMMANDS));
    builder_submission_done(b, 3, 0, START_NS + 1010, START_NS + 1030, START_NS + 1050);
    at(b, 1020, 51050);
    builder_semaphore_wait(b, 0, &signal, 1, INT64_MAX);
}

/* Another thread waits for the same submission, for 30 ns longer. */
static void two_that_wait(struct trace_builder *b)
{
    const struct trace_semaphore_value signal = {DONE, 4};
    a_slow_submit(b);
    builder_thread(b, 2, 4712, "other");
    b->thread = 2;
    at(b, 6010, 6060);
    builder_semaphore_wait(b, 0, &signal, 1, INT64_MAX);
    at(b, 6070, 6080);
    builder_submit(b, 8, 0, NO_VALUES, VALUES({DONE, 5}), IDS(COMMANDS));
    b->thread = 1;
}

TEST(dropping_waits_saves_no_more_than_was_waited)
{
    /* Three waits of 70 ns, with 20 ns of execution in each. */
    costs_are(NULL, NULL, 3, 3 * 50, 3 * 70);
    /* A device of its own is idle for 90 ns from such a wait to the next execution. */
    costs_are("vulkan", NULL, 3, 3 * 70, 3 * 70);
    costs_are(NULL, a_slow_submit, 4, 20 + 3 * 50, 20 + 3 * 70);
    costs_are(NULL, two_that_wait, 5, 20 + 30 + 3 * 50, 20 + 30 + 3 * 70);
    /* As much as the others: quartiles and fence are 50. */
    costs_are(NULL, a_slow_wake, 4, 4 * 50, 50030 + 3 * 70);
}

/* Forty that are ready at once and run one after the other, 10 ns each, the first one from 30 ns
 * on: the device is idle for those alone. */
TEST(what_waits_for_others_costs_nothing)
{
    struct trace_builder b;
    struct found found;
    open_trace(&b);
    const struct trace_entry_point entry = {.name = builder_string(&b, "k"),
                                            .group_size = {1, 1, 1}};
    builder_executable_create(&b, 900, "", "", &entry, 1);
    builder_dispatch(&b, 900, 0, 1, 1, 1);
    builder_end_commands(&b, COMMANDS);
    for (uint64_t n = 0; n < 40; n++) {
        const int64_t begin_ns = START_NS + 1030 + 10 * (int64_t)n;
        at(&b, 900 + 2 * (int64_t)n, 901 + 2 * (int64_t)n);
        builder_submit(&b, n, 0, NO_VALUES, VALUES({DONE, n + 1}), IDS(COMMANDS));
        builder_submission_done(&b, n, 0, START_NS + 1000, begin_ns, begin_ns + 10);
    }
    find(&b, &found);
    const struct view_finding *tiny = of_kind(&found, VIEW_FINDING_TINY);
    assert_non_null(tiny);
    assert_int_equal(tiny->count, 40);
    assert_true(tiny->cost_ns <= 30);
    finish(&found);
}

/* ---- Traces that nobody made for this ---- */

/* False: the viewer does not show it. */
static bool keeps_to_bounds(const char *file)
{
    struct view_model *model;
    struct view_findings findings;
    if (view_model_open(file, &model) != HAL_OK)
        return false;
    assert_int_equal(view_findings_find(model, &findings), HAL_OK);
    expect_bounded_costs(model, &findings, file);
    view_findings_finish(&findings);
    view_model_close(model);
    return true;
}

TEST(no_golden_trace_has_more_to_save_than_there_is)
{
    size_t count = 0;
    DIR *traces = opendir(TRACES_FOLDER);
    assert_non_null(traces);
    for (const struct dirent *entry; (entry = readdir(traces));) {
        char file[PATH_MAX];
        if (!strstr(entry->d_name, ".pb.zst"))
            continue;
        snprintf(file, sizeof file, "%s/%s", TRACES_FOLDER, entry->d_name);
        count += keeps_to_bounds(file);
    }
    closedir(traces);
    assert_true(count >= 5);
    for (int sync = DECODE_SYNC_OP; sync <= DECODE_SYNC_TOKEN; sync++) {
        const struct decode_options options = {
            .tokens = 5, .layers = 4, .sync = (enum decode_sync)sync, .seed = 3};
        assert_int_equal(decode_trace_write(path, &options, true), HAL_OK);
        assert_true(keeps_to_bounds(path));
    }
}

TEST_SUITE_FIXTURE(findings_set_up, findings_tear_down);
