/* SPDX-License-Identifier: Apache-2.0 */
/* viewer/findings/findings.c, timing.c, audit.c: traces in which exactly one thing is wrong, and by
 * how much was worked out by hand. Times are relative to the capture's start. */
#include "tests/support/test.h"
#include "tests/unit/viewer/findings_fixture.h"

/* ---- Waits ---- */

TEST(waits_that_nothing_needs_are_counted_and_timed)
{
    struct trace_builder b;
    struct found found;
    open_trace(&b);
    builder_fill(&b, BUFFER, 0, 64, 1, 1);
    builder_end_commands(&b, COMMANDS);
    for (uint64_t n = 0; n < 4; n++)
        round_trip(&b, n, 1000 + 100 * (int64_t)n);
    /* What #s1 made is read before #s2 is submitted: that wait is needed. So is the last one. */
    at(&b, 1192, 1195);
    builder_host_read(&b, BUFFER, 0,
                      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde", 64);
    find(&b, &found);
    const struct view_finding *syncs = of_kind(&found, VIEW_FINDING_SYNCS);
    assert_non_null(syncs);
    assert_int_equal(syncs->count, 2);
    assert_int_equal(syncs->cost_ns, 2 * (70 - 20)); /* the waits, less the executions in them */
    assert_int_equal(syncs->possible_ns, 2 * 70);
    assert_int_equal(syncs->at_ns, 1020); /* both cost the same: the first one */
    assert_ptr_equal(syncs, &found.findings.list[0]);
    finish(&found);
}

TEST(a_program_that_reads_every_result_has_no_needless_waits)
{
    struct trace_builder b;
    struct found found;
    char bytes[64] = {0};
    open_trace(&b);
    builder_fill(&b, BUFFER, 0, 64, 1, 1);
    builder_end_commands(&b, COMMANDS);
    for (uint64_t n = 0; n < 3; n++) {
        round_trip(&b, n, 1000 + 100 * (int64_t)n);
        at(&b, 1092 + 100 * (int64_t)n, 1095 + 100 * (int64_t)n);
        builder_host_read(&b, BUFFER, 0, bytes, 64);
    }
    find(&b, &found);
    assert_null(of_kind(&found, VIEW_FINDING_SYNCS));
    /* The device idles 80 ns between two executions: 70 without work, 10... until it starts. */
    const struct view_finding *idle = of_kind(&found, VIEW_FINDING_IDLE);
    assert_non_null(idle);
    assert_int_equal(idle->cost_ns, 2 * 50);
    finish(&found);
}

/* ---- Commands ---- */

/* One submission of what was recorded. */
static void submit_once(struct trace_builder *b)
{
    builder_end_commands(b, COMMANDS);
    round_trip(b, 0, 1000);
}

TEST(a_barrier_between_strangers_orders_nothing)
{
    struct trace_builder b;
    struct found found;
    open_trace(&b);
    builder_fill(&b, BUFFER, 0, 64, 1, 1);
    builder_barrier(&b, NULL, 0); /* command 1: needed */
    builder_copy(&b, BUFFER, 0, OTHER, 0, 16);
    builder_barrier(&b, NULL, 0); /* command 3: the copies share no bytes that one writes */
    builder_copy(&b, BUFFER, 0, OTHER, 16, 16);
    submit_once(&b);
    find(&b, &found);
    const struct view_finding *barriers = of_kind(&found, VIEW_FINDING_BARRIERS);
    assert_non_null(barriers);
    assert_int_equal(barriers->count, 1);
    assert_string_equal(barriers->locator, "#s0");
    assert_non_null(strstr(barriers->title, "1 of 2 barriers"));
    assert_non_null(strstr(barriers->evidence, "command 3"));
    assert_null(of_kind(&found, VIEW_FINDING_RACES));
    finish(&found);
}

/* Kernel 0 may read its buffer, kernel 1 may write it. */
TEST(a_barrier_between_readers_orders_nothing)
{
    static const struct trace_entry_binding takes[2] = {{0, 0, 0, 1}, {1, 0, 0, 3}};
    const struct trace_binding whole = {BUFFER, 0, 64};
    struct trace_builder b;
    struct found found;
    open_trace(&b);
    const struct trace_entry_point entries[2] = {
        {.name = builder_string(&b, "reads"), .group_size = {1, 1, 1}},
        {.name = builder_string(&b, "writes"), .group_size = {1, 1, 1}}};
    b.executable = (struct builder_executable){.bindings = takes, .binding_count = 2};
    builder_executable_create(&b, 900, NULL, "", entries, 2);
    builder_push_descriptor_set(&b, 0, &whole, 1);
    builder_dispatch(&b, 900, 0, 1, 1, 1);
    builder_barrier(&b, NULL, 0); /* command 2: between two that read */
    builder_dispatch(&b, 900, 0, 1, 1, 1);
    builder_barrier(&b, NULL, 0); /* command 4: before one that may write */
    builder_dispatch(&b, 900, 1, 1, 1, 1);
    submit_once(&b);
    find(&b, &found);
    const struct view_finding *barriers = of_kind(&found, VIEW_FINDING_BARRIERS);
    assert_non_null(barriers);
    assert_int_equal(barriers->count, 1);
    assert_non_null(strstr(barriers->title, "1 of 2 barriers"));
    assert_non_null(strstr(barriers->evidence, "command 2"));
    assert_null(of_kind(&found, VIEW_FINDING_RACES));
    finish(&found);
}

TEST(a_missing_barrier_is_a_race_and_comes_first)
{
    struct trace_builder b;
    struct found found;
    open_trace(&b);
    builder_fill(&b, BUFFER, 0, 64, 1, 1);
    builder_copy(&b, BUFFER, 32, OTHER, 0, 32);
    submit_once(&b);
    find(&b, &found);
    assert_int_equal(found.findings.list[0].kind, VIEW_FINDING_RACES);
    assert_int_equal(found.findings.list[0].count, 1);
    assert_non_null(strstr(found.findings.list[0].evidence, "'out' at 32"));
    finish(&found);
}

/* The second of two submissions of one command buffer waits for the first, or does not. A trace
 * that is not whole may lack what ordered them. */
TEST(a_missing_semaphore_is_a_race)
{
    static const struct trace_health damaged = {.status = HAL_IO};
    for (int i = 0; i < 3; i++) {
        struct trace_builder b;
        struct found found;
        open_trace(&b);
        builder_fill(&b, BUFFER, 0, 64, 1, 1);
        builder_end_commands(&b, COMMANDS);
        for (uint64_t n = 0; n < 2; n++) {
            const struct trace_semaphore_value wait = {DONE, 1}, signal = {DONE, n + 1};
            builder_submit(&b, n, 0, builder_values(&wait, i == 1 && n), VALUES(signal),
                           IDS(COMMANDS));
            builder_submission_done(&b, n, 0, 5000, 6000, 9000);
        }
        if (i == 2) {
            assert_int_equal(builder_close(&b, &damaged), HAL_OK);
            assert_int_equal(view_model_open(path, &found.model), HAL_OK);
            assert_int_equal(view_findings_find(found.model, &found.findings), HAL_OK);
        } else {
            find(&b, &found);
        }
        const struct view_finding *races = of_kind(&found, VIEW_FINDING_RACES);
        assert_int_equal(races != NULL, i == 0);
        if (races) {
            assert_int_equal(races->count, 1);
            assert_string_equal(races->locator, "#s1");
            assert_non_null(strstr(races->evidence, "#s0 (fill"));
            assert_non_null(strstr(races->evidence, "no semaphore"));
        }
        finish(&found);
    }
}

/* Kernel 1 is declared to write what kernel 0 is declared to read; of 901, nothing is known. */
TEST(kernels_race_by_what_they_declare)
{
    static const struct trace_entry_binding takes[2] = {{0, 0, 0, 1}, {1, 0, 0, 3}};
    const struct trace_binding whole = {BUFFER, 0, 64};
    for (int undeclared = 0; undeclared < 2; undeclared++) {
        struct trace_builder b;
        struct found found;
        open_trace(&b);
        const struct trace_entry_point entries[2] = {
            {.name = builder_string(&b, "reads"), .group_size = {1, 1, 1}},
            {.name = builder_string(&b, "writes"), .group_size = {1, 1, 1}}};
        b.executable = (struct builder_executable){.bindings = takes, .binding_count = 2};
        builder_executable_create(&b, 900, NULL, "", entries, 2);
        builder_push_descriptor_set(&b, 0, &whole, 1);
        builder_dispatch(&b, 900, 0, 1, 1, 1);
        builder_dispatch(&b, 900, 0, 1, 1, 1); /* two that read do not conflict */
        builder_barrier(&b, NULL, 0);
        builder_dispatch(&b, 900, 1, 16, 1, 1);
        builder_dispatch(&b, undeclared ? 901 : 900, 0, 16, 1, 1); /* commands 4 and 5 */
        submit_once(&b);
        find(&b, &found);
        assert_int_equal(of_kind(&found, VIEW_FINDING_RACES) != NULL, !undeclared);
        assert_int_equal(of_kind(&found, VIEW_FINDING_POSSIBLE_RACES) != NULL, undeclared);
        const struct view_finding *races =
            of_kind(&found, undeclared ? VIEW_FINDING_POSSIBLE_RACES : VIEW_FINDING_RACES);
        assert_int_equal(races->count, 1);
        assert_string_equal(races->locator, "#s0");
        assert_non_null(strstr(races->evidence, "#s0.d2 (dispatch of 'writes') and #s0.d3"));
        assert_non_null(strstr(races->evidence, undeclared ? "may write" : "one writes"));
        finish(&found);
    }
}

TEST(state_that_is_there_already_is_counted)
{
    struct trace_builder b;
    struct found found;
    const uint32_t constants[3] = {1, 2, 3}, others[2] = {2, 4};
    const struct trace_binding binding = {BUFFER, 0, 64}, half = {BUFFER, 0, 32};
    open_trace(&b);
    builder_push_constants(&b, 0, constants, 12);
    builder_push_constants(&b, 4, constants + 1, 8); /* again */
    builder_push_constants(&b, 4, others, 8);        /* the second half differs */
    builder_push_constants(&b, 12, others, 4);       /* not pushed yet, though it is new */
    builder_push_descriptor_set(&b, 0, &binding, 1);
    builder_push_descriptor_set(&b, 1, &binding, 1); /* another set */
    builder_push_descriptor_set(&b, 0, &binding, 1); /* again */
    builder_push_descriptor_set(&b, 0, &half, 1);
    submit_once(&b);
    find(&b, &found);
    const struct view_finding *pushes = of_kind(&found, VIEW_FINDING_STATE);
    assert_non_null(pushes);
    assert_int_equal(pushes->count, 2);
    assert_non_null(strstr(pushes->title, "2 of 8"));
    assert_non_null(strstr(pushes->evidence, "command 1 "));
    finish(&found);
}

/* ---- Contents and memory ---- */

TEST(the_same_upload_twice_is_found)
{
    struct trace_builder b;
    struct found found;
    open_trace(&b);
    at(&b, 100, 103);
    builder_host_write(&b, BUFFER, 0, "abcd", 4);
    at(&b, 110, 114);
    builder_host_write(&b, BUFFER, 4, "abcd", 4); /* elsewhere */
    at(&b, 120, 125);
    builder_host_write(&b, BUFFER, 0, "abcd", 4); /* again: 5 ns */
    at(&b, 130, 136);
    builder_host_write(&b, BUFFER, 0, "abce", 4);
    find(&b, &found);
    const struct view_finding *uploads = of_kind(&found, VIEW_FINDING_UPLOADS);
    assert_non_null(uploads);
    assert_int_equal(uploads->count, 1);
    assert_int_equal(uploads->bytes, 4);
    assert_int_equal(uploads->cost_ns, 5);
    assert_int_equal(uploads->at_ns, 120);
    finish(&found);
}

/* Kernel 0 makes one buffer of another. What the host reads of the chain 'a' -> 'b' -> 'c' decides
 * what was for nothing; so does a copy into 'other'. */
TEST(results_that_never_get_to_the_host_are_dead)
{
    enum { A = 30, B, C };
    static const struct trace_entry_binding takes[2] = {{0, 0, 0, 1}, {0, 0, 1, 3}};
    static const struct {
        uint64_t read, mapped; /* buffers, 0: none */
        uint64_t dead;         /* of three commands, in each of two submissions */
        const char *buffer;
    } cases[] = {
        {C, 0, 1, "other"}, {B, 0, 2, "c"}, {0, B, 2, "c"}, {OTHER, 0, 2, "b"}, {0, 0, 0, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct trace_builder b;
        struct found found;
        open_trace(&b);
        const struct trace_entry_point entry = {.name = builder_string(&b, "k"),
                                                .group_size = {1, 1, 1}};
        const struct trace_binding ab[2] = {{A, 0, 64}, {B, 0, 64}};
        const struct trace_binding bc[2] = {{B, 0, 64}, {C, 0, 64}};
        builder_buffer_create(&b, A, "a", 64);
        builder_buffer_create(&b, B, "b", 64);
        builder_buffer_create(&b, C, "c", 64);
        b.executable = (struct builder_executable){.bindings = takes, .binding_count = 2};
        builder_executable_create(&b, 900, NULL, "", &entry, 1);
        builder_push_descriptor_set(&b, 0, ab, 2);
        builder_dispatch(&b, 900, 0, 1, 1, 1);
        builder_push_descriptor_set(&b, 0, bc, 2);
        builder_dispatch(&b, 900, 0, 1, 1, 1);
        builder_copy(&b, BUFFER, 0, OTHER, 0, 16);
        builder_end_commands(&b, COMMANDS);
        round_trip(&b, 0, 1000);
        round_trip(&b, 1, 1100);
        at(&b, 1195, 1199);
        if (cases[i].read)
            builder_host_read(&b, cases[i].read, 0, "0123456789abcdef", 16);
        if (cases[i].mapped)
            builder_map(&b, cases[i].mapped, 1, 1, 0, 64);
        find(&b, &found);
        const struct view_finding *dead = of_kind(&found, VIEW_FINDING_DEAD);
        assert_true((dead != NULL) == (cases[i].dead > 0));
        if (dead) {
            char words[32];
            snprintf(words, sizeof words, "buffers such as %s,", cases[i].buffer);
            assert_int_equal(dead->count, 2 * cases[i].dead);
            assert_in_range(dead->cost_ns, 40 * cases[i].dead / 3 - 1, 40 * cases[i].dead / 3 + 1);
            assert_non_null(strstr(dead->evidence, words));
            assert_string_equal(dead->locator, "#s0");
            snprintf(words, sizeof words, "--object=%d", COMMANDS);
            assert_non_null(strstr(dead->proof, words));
        }
        finish(&found);
    }
}

TEST(uploads_behind_the_last_reader_are_unread)
{
    for (int early = 0; early < 2; early++) {
        struct trace_builder b;
        struct found found;
        open_trace(&b);
        builder_copy(&b, BUFFER, 0, OTHER, 0, 16);
        builder_end_commands(&b, COMMANDS);
        if (early) {
            at(&b, 900, 907);
            builder_host_write(&b, BUFFER, 0, "abcd", 4);
        }
        round_trip(&b, 0, 1000);
        at(&b, 1200, 1207);
        if (!early)
            builder_host_write(&b, BUFFER, 0, "abcd", 4);
        builder_host_read(&b, OTHER, 0, "0123456789abcdef", 16);
        find(&b, &found);
        const struct view_finding *unread = of_kind(&found, VIEW_FINDING_UNREAD);
        assert_true((unread != NULL) == !early);
        if (unread) {
            assert_int_equal(unread->count, 1);
            assert_int_equal(unread->bytes, 4);
            assert_int_equal(unread->cost_ns, 7);
            assert_int_equal(unread->at_ns, 1200);
            assert_string_equal(unread->proof, "hal-trace dump --kind=host_write --object=20");
        }
        finish(&found);
    }
}

/* Three dispatches of 2, 3 and 4 ns, 5 ns and 1 ns between them. */
TEST(pauses_between_dispatches_are_measured)
{
    const int64_t ns = START_NS + 1030;
    const struct trace_dispatch_time times[] = {
        {0, 0, ns, ns + 2}, {0, 1, ns + 7, ns + 10}, {0, 2, ns + 11, ns + 15}};
    struct trace_builder b;
    struct found found;
    open_trace(&b);
    const struct trace_entry_point entry = {.name = builder_string(&b, "k"),
                                            .group_size = {1, 1, 1}};
    builder_executable_create(&b, 900, "", "", &entry, 1);
    for (int i = 0; i < 3; i++)
        builder_dispatch(&b, 900, 0, 1, 1, 1);
    builder_end_commands(&b, COMMANDS);
    builder_dispatch_times(&b, 0, 0, times, 3);
    round_trip(&b, 0, 1000);
    find(&b, &found);
    const struct view_finding *pauses = of_kind(&found, VIEW_FINDING_ORDERED);
    const struct view_finding *tiny = of_kind(&found, VIEW_FINDING_DISPATCHES);
    assert_non_null(pauses);
    assert_int_equal(pauses->count, 2);
    assert_int_equal(pauses->cost_ns, 6);
    assert_string_equal(pauses->locator, "#s0.d1");
    assert_non_null(tiny);
    assert_int_equal(tiny->count, 3);
    assert_int_equal(tiny->cost_ns, 2 * 3); /* there are two pauses to save */
    assert_string_equal(tiny->locator, "#s0.d0");
    finish(&found);
}

TEST(idle_time_of_uploads_is_told_apart)
{
    struct trace_builder b;
    struct found found;
    open_trace(&b);
    builder_fill(&b, BUFFER, 0, 64, 1, 1);
    builder_end_commands(&b, COMMANDS);
    round_trip(&b, 0, 1000); /* runs until 1050 */
    at(&b, 1100, 1170);
    builder_host_write(&b, OTHER, 0, "abcd", 4);
    round_trip(&b, 1, 1200); /* runs from 1230, ready from 1210 on */
    find(&b, &found);
    const struct view_tally *gaps = found.model->summary.gaps;
    assert_int_equal(gaps[VIEW_GAP_UPLOAD - VIEW_GAP_HOST].ns, 70);
    assert_int_equal(gaps[0].ns, 1200 - 1050 - 70);
    assert_int_equal(found.model->gaps_count, 1);
    finish(&found);
}

TEST(memory_peaks_where_most_is_alive)
{
    struct trace_builder b;
    struct found found;
    open_trace(&b); /* 64 + 32 */
    at(&b, 200, 210);
    builder_destroy(&b, TRACE_BUFFER_DESTROY, BUFFER);
    at(&b, 300, 310);
    builder_buffer_create(&b, 30, "late", 100); /* 132 */
    at(&b, 400, 410);
    builder_destroy(&b, TRACE_BUFFER_DESTROY, OTHER);
    find(&b, &found);
    const struct view_finding *memory = of_kind(&found, VIEW_FINDING_MEMORY);
    assert_non_null(memory);
    assert_int_equal(memory->bytes, 132);
    assert_int_equal(memory->count, 2);
    assert_int_equal(memory->at_ns, 310);
    assert_non_null(strstr(memory->evidence, "'late' with 100 B"));
    finish(&found);
}

/* Two queues begin at the same moment: the gap before has no one submission behind it. */
TEST(a_gap_before_several_submissions_is_named_by_its_moment)
{
    struct trace_builder b;
    struct found found;
    open_trace(&b);
    builder_fill(&b, BUFFER, 0, 64, 1, 1);
    builder_end_commands(&b, COMMANDS);
    for (uint32_t n = 0; n < 3; n++) {
        const int64_t begin_ns = n == 0 ? 1000 : 9000;
        at(&b, begin_ns - 100, begin_ns - 90);
        builder_submit(&b, n, n, NO_VALUES, NO_VALUES, IDS(COMMANDS));
        builder_submission_done(&b, n, n, START_NS + begin_ns - 90, START_NS + begin_ns,
                                START_NS + begin_ns + 500);
    }
    find(&b, &found);
    const struct view_finding *idle = of_kind(&found, VIEW_FINDING_IDLE);
    assert_int_equal(found.model->gaps_count, 1);
    assert_int_equal(found.model->gaps[0].after, VIEW_NO_REF);
    assert_non_null(idle);
    assert_int_equal(idle->locator[0], '@');
    finish(&found);
}

TEST(an_empty_trace_has_no_findings)
{
    struct trace_builder b;
    struct found found;
    builder_open(&b, path, NULL);
    find(&b, &found);
    assert_int_equal(found.findings.list_count, 0);
    finish(&found);
}

TEST(a_submission_that_never_ended_comes_first)
{
    struct trace_builder b;
    struct found found;
    open_trace(&b);
    builder_fill(&b, BUFFER, 0, 64, 1, 1);
    builder_end_commands(&b, COMMANDS);
    round_trip(&b, 0, 1000);
    at(&b, 1200, 1210);
    builder_submit(&b, 1, 0, VALUES({DONE, 99}), NO_VALUES, IDS(COMMANDS));
    find(&b, &found);
    assert_int_equal(found.findings.list[0].kind, VIEW_FINDING_FAILURES);
    assert_string_equal(found.findings.list[0].locator, "#s1");
    assert_string_equal(found.findings.list[0].title, "1 submission did not finish");
    view_findings_finish(&found.findings);
    found.model->grows = true; /* it may end yet */
    assert_int_equal(view_findings_find(found.model, &found.findings), HAL_OK);
    assert_null(of_kind(&found, VIEW_FINDING_FAILURES));
    finish(&found);
}

TEST(each_kind_has_a_name_of_its_own)
{
    for (int i = 0; i < VIEW_FINDING_KIND_COUNT; i++) {
        assert_non_null(view_finding_names[i]);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(view_finding_names[i], view_finding_names[k]);
    }
}

TEST_SUITE_FIXTURE(findings_set_up, findings_tear_down);
