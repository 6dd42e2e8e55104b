/* SPDX-License-Identifier: Apache-2.0 */
/* viewer/model/work.c, iterations.c, memory.c: what kernels did and what buffers held in traces
 * whose numbers were worked out by hand. */
#include "tests/support/test.h"
#include "tests/support/trace_builder.h"
#include "tests/support/trace_folder.h"
#include "viewer/describe/describe.h"
#include "viewer/describe/iterations.h"
#include "viewer/model/work.h"

#include <unistd.h>

enum { START_NS = 1000, BUFFER = 20 };

static void at(struct trace_builder *b, int64_t begin_ns, int64_t end_ns)
{
    b->begin_ns = START_NS + begin_ns;
    b->step_ns = end_ns - begin_ns;
}

static struct view_model *close_and_open(struct trace_builder *b)
{
    struct view_model *m = NULL;
    if (builder_close(b, NULL) != HAL_OK || view_model_open(path, &m) != HAL_OK)
        fail_msg("%s", hal_message());
    return m;
}

/* ---- Kernels ---- */

static void open_with_kernels(struct trace_builder *b)
{
    struct trace_entry_point entries[2] = {{0}};
    builder_open(b, path, NULL);
    entries[0].name = builder_string(b, "mul");
    entries[1].name = builder_string(b, "add");
    at(b, 0, 10);
    builder_buffer_create(b, BUFFER, "data", 256);
    builder_executable_create(b, 1, "one", "x", entries, 2);
    builder_executable_create(b, 2, "two", "y", entries, 1); /* mul again */
}

static void submit(struct trace_builder *b, uint64_t n, const uint64_t *commands, uint32_t count,
                   int64_t begin_ns, int64_t end_ns)
{
    at(b, begin_ns - 50, begin_ns - 40);
    builder_submit(b, n, 0, NO_VALUES, NO_VALUES, builder_ids(commands, count));
    builder_submission_done(b, n, 0, START_NS + begin_ns - 30, START_NS + begin_ns,
                            START_NS + end_ns);
}

/* Times of dispatches say what those of a mixed submission cannot. */
TEST(kernels_get_the_times_of_their_dispatches)
{
    struct trace_builder b;
    const struct trace_dispatch_time told[] = {
        {.dispatch = 0, .begin_ns = START_NS + 3000, .end_ns = START_NS + 3010},
        {.dispatch = 1, .begin_ns = START_NS + 3010, .end_ns = START_NS + 3040},
        {.dispatch = 2, .begin_ns = START_NS + 3040, .end_ns = START_NS + 3045},
    };
    open_with_kernels(&b);
    builder_dispatch(&b, 1, 1, 3, 1, 1);
    builder_dispatch(&b, 1, 0, 1, 1, 1);
    builder_dispatch(&b, 2, 0, 1, 1, 1);
    builder_end_commands(&b, 12); /* add, mul, mul */
    at(&b, 2950, 2960);
    builder_submit(&b, 1, 0, NO_VALUES, NO_VALUES, IDS(12));
    builder_dispatch_times(&b, 1, 0, told, 3);
    builder_submission_done(&b, 1, 0, START_NS + 2970, START_NS + 3000, START_NS + 3050);
    struct view_model *m = close_and_open(&b);
    struct view_work work;
    struct view_kernel_time times[2];
    struct view_work_total total;
    assert_int_equal(view_work_init(m, NULL, &work), HAL_OK);
    assert_int_equal(view_work_times(&work, NULL, m->first_ns, m->last_ns, times, &total), HAL_OK);
    for (uint32_t i = 0; i < 2; i++) {
        char name[32];
        view_work_name(&work, i, name, sizeof name);
        const bool mul = strcmp(name, "mul") == 0;
        assert_int_equal(times[i].alone_dispatches, mul ? 2 : 1);
        assert_int_equal(times[i].alone_ns, mul ? 35 : 10);
        assert_int_equal(times[i].each.min_ns, mul ? 5 : 10);
        assert_int_equal(times[i].each.max_ns, mul ? 30 : 10);
        assert_int_equal(times[i].each.median_ns, mul ? 17 : 10); /* 17.5 */
        assert_int_equal(times[i].mixed_ns, 0);
    }
    view_work_finish(&work);
    view_model_close(m);
}

TEST(kernels_get_the_time_of_what_is_theirs_alone)
{
    struct trace_builder b;
    open_with_kernels(&b);
    builder_dispatch(&b, 1, 0, 4, 2, 1);
    builder_end_commands(&b, 10); /* mul */
    builder_dispatch(&b, 2, 0, 8, 1, 1);
    builder_dispatch(&b, 2, 0, 8, 1, 1);
    builder_end_commands(&b, 11); /* mul twice, of another executable */
    builder_dispatch(&b, 1, 1, 3, 1, 1);
    builder_dispatch(&b, 1, 0, 1, 1, 1);
    builder_end_commands(&b, 12); /* add and mul */
    builder_dispatch_indirect(&b, 1, 1, BUFFER, 0);
    builder_copy(&b, BUFFER, 0, BUFFER, 64, 16);
    builder_end_commands(&b, 13); /* add, and a copy */
    submit(&b, 0, (uint64_t[]){10}, 1, 1000, 1100);
    submit(&b, 1, (uint64_t[]){10}, 1, 1200, 1270);
    submit(&b, 2, (uint64_t[]){11, 10}, 2, 2000, 2400);
    submit(&b, 3, (uint64_t[]){12}, 1, 3000, 3050);
    submit(&b, 4, (uint64_t[]){13}, 1, 4000, 4009);
    struct view_model *m = close_and_open(&b);
    struct view_work work;
    struct view_kernel_time times[2];
    struct view_work_total total;
    assert_int_equal(view_work_init(m, NULL, &work), HAL_OK);
    assert_int_equal(work.kernels_count, 2);
    assert_int_equal(view_work_times(&work, NULL, m->first_ns, m->last_ns, times, &total), HAL_OK);
    char name[32];
    view_work_name(&work, 0, name, sizeof name);
    assert_string_equal(name, "mul");
    assert_int_equal(times[0].dispatches, 1 + 1 + 3 + 1);
    assert_int_equal(times[0].groups, 8 + 8 + (8 + 8 + 8) + 1);
    assert_int_equal(times[0].submissions, 4);
    assert_int_equal(times[0].alone, 3);
    assert_int_equal(times[0].alone_dispatches, 5);
    assert_int_equal(times[0].alone_ns, 100 + 70 + 400);
    assert_int_equal(times[0].mixed_ns, 50);
    assert_int_equal(times[0].each.min_ns, 70);
    assert_int_equal(times[0].each.median_ns, 100);
    assert_int_equal(times[0].each.max_ns, 400 / 3); /* of three in one submission */
    assert_int_equal(times[0].each.count, 3);
    assert_int_equal(m->submissions[times[0].example].number, 2);
    assert_int_equal(times[1].dispatches, 2);
    assert_int_equal(times[1].indirect, 1);
    assert_int_equal(times[1].alone, 0);
    assert_int_equal(times[1].mixed_ns, 50 + 9);
    assert_int_equal(times[1].each.count, 0);
    assert_int_equal(total.alone, 3);
    assert_int_equal(total.executed_ns, 100 + 70 + 400 + 50 + 9);
    /* A range holds what began in it. */
    assert_int_equal(view_work_times(&work, NULL, 1200, 3000, times, &total), HAL_OK);
    assert_int_equal(total.submissions, 2);
    assert_int_equal(times[0].alone_ns, 70 + 400);
    assert_true(view_work_has(&work, 3, 1));
    assert_false(view_work_has(&work, 2, 1));
    assert_int_equal(view_work_main(&work, 2), 0);
    view_work_finish(&work);
    view_model_close(m);
}

TEST(kernels_without_names_are_told_apart)
{
    struct trace_builder b;
    builder_open(&b, path, NULL);
    builder_dispatch(&b, 7, 0, 1, 1, 1);
    builder_dispatch(&b, 7, 1, 1, 1, 1);
    builder_dispatch(&b, 8, 0, 1, 1, 1);
    builder_end_commands(&b, 10);
    submit(&b, 0, (uint64_t[]){10}, 1, 1000, 1100);
    struct view_model *m = close_and_open(&b);
    struct view_work work;
    char name[64];
    assert_int_equal(view_work_init(m, NULL, &work), HAL_OK);
    assert_int_equal(work.kernels_count, 3);
    view_work_name(&work, 1, name, sizeof name);
    assert_string_equal(name, "executable 7 entry 1");
    view_work_finish(&work);
    view_model_close(m);
}

/* ---- Iterations ---- */

/* Two submissions per iteration, 100 ns apart, an iteration every 1000 ns; the first takes 5000 and
 * the seventh 1600. Before them one that is never seen again. */
TEST(iterations_are_found_without_names)
{
    struct trace_builder b;
    struct view_work work;
    struct view_iterations its;
    open_with_kernels(&b);
    builder_dispatch(&b, 1, 0, 1, 1, 1);
    builder_end_commands(&b, 10);
    builder_dispatch(&b, 1, 1, 1, 1, 1);
    builder_end_commands(&b, 11);
    builder_copy(&b, BUFFER, 0, BUFFER, 64, 16);
    builder_end_commands(&b, 12);
    submit(&b, 0, (uint64_t[]){12}, 1, 150, 160);
    int64_t now_ns = 1000;
    for (uint64_t k = 0; k < 12; k++) {
        submit(&b, 1 + 2 * k, (uint64_t[]){10}, 1, now_ns + 50, now_ns + 80);
        submit(&b, 2 + 2 * k, (uint64_t[]){11}, 1, now_ns + 150, now_ns + 200);
        now_ns += k == 0 ? 5000 : k == 6 ? 1600 : 1000 + (int64_t)(k % 2);
    }
    struct view_model *m = close_and_open(&b);
    assert_int_equal(view_work_init(m, NULL, &work), HAL_OK);
    assert_int_equal(view_iterations_find(m, &work, NULL, &its), HAL_OK);
    assert_false(its.named);
    assert_string_equal(its.name, "2 submissions");
    assert_int_equal(its.list_count, 12);
    assert_int_equal(its.list[0].begin_ns, 1000);
    assert_int_equal(its.list[0].end_ns, 6000);
    assert_int_equal(its.list[11].end_ns - its.list[11].begin_ns, 200); /* until its work ended */
    assert_int_equal(its.warm_up, 1);
    assert_true(its.list[0].warm_up);
    struct view_lines lines = {0};
    view_iterations_lines(&its, &lines);
    assert_non_null(strstr(lines.text, "warm-up\t1 iteration at the start, excluded"));
    view_lines_finish(&lines);
    assert_true(its.list[6].outlier);
    assert_true(its.list[11].outlier);
    assert_int_equal(its.outliers, 2);
    assert_int_equal(its.time.max_ns, 1600);
    assert_in_range(its.time.median_ns, 1000, 1001);
    for (size_t i = 0; i < its.list_count; i++) {
        assert_int_equal(its.list[i].submissions, 2);
        assert_int_equal(its.list[i].dispatches, 2);
        assert_int_equal(its.list[i].device_ns, 30 + 50);
        assert_int_equal(m->submissions[its.list[i].submission].number, 1 + 2 * i);
    }
    assert_int_equal(view_iterations_at(&its, 999), SIZE_MAX);
    assert_int_equal(view_iterations_at(&its, 6000), 1);
    view_iterations_finish(&its);
    view_work_finish(&work);
    view_model_close(m);
}

/* ---- Memory ---- */

static void transient(void *user, struct trace_event *event, struct trace_segment *segment)
{
    const uint32_t *operation = user;
    (void)segment;
    if (event->kind == TRACE_SUBMIT) {
        struct trace_submit *submit_event = (void *)event;
        submit_event->operation = *operation;
        submit_event->size = 4096;
        submit_event->buffer = BUFFER;
    }
}

TEST(memory_rises_and_falls_with_buffers)
{
    struct trace_builder b;
    uint32_t operation = TRACE_OPERATION_ALLOCA;
    builder_open(&b, path, NULL);
    at(&b, 0, 10);
    builder_buffer_create(&b, 1, "a", 100); /* from 10 */
    at(&b, 20, 30);
    builder_buffer_create(&b, 2, "b", 1000);
    at(&b, 40, 50);
    builder_destroy(&b, TRACE_BUFFER_DESTROY, 2); /* from 40 */
    at(&b, 60, 70);
    builder_buffer_create(&b, 3, "c", 50);
    b.alter = transient;
    b.user = &operation;
    submit(&b, 0, NULL, 0, 200, 210);
    operation = TRACE_OPERATION_DEALLOCA;
    submit(&b, 1, NULL, 0, 300, 310);
    struct view_model *m = close_and_open(&b);
    static const struct {
        int64_t ns;
        uint64_t bytes, transient;
        uint32_t buffers;
    } expected[] = {{10, 100, 0, 1}, {30, 1100, 0, 2},    {40, 100, 0, 1},
                    {70, 150, 0, 2}, {210, 150, 4096, 2}, {300, 150, 0, 2}};
    assert_int_equal(m->levels_count, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(m->levels[i].time_ns, expected[i].ns);
        assert_int_equal(m->levels[i].bytes, expected[i].bytes);
        assert_int_equal(m->levels[i].transient_bytes, expected[i].transient);
        assert_int_equal(m->levels[i].buffers, expected[i].buffers);
    }
    assert_int_equal(m->peak_level, 1);
    assert_int_equal(m->transient_peak_level, 4);
    assert_int_equal(m->buffers[1].create_ns, 30);
    assert_int_equal(m->buffers[1].destroy_ns, 40);
    assert_int_equal(m->buffers[0].destroy_ns, VIEW_NO_TIME);
    assert_int_equal(view_model_highest(m, 2, 4), 3);
    view_model_close(m);
}

/* A sawtooth over many blocks: every range's highest level is the largest index in it. */
TEST(the_highest_level_of_any_range_is_found)
{
    struct trace_builder b;
    builder_open(&b, path, NULL);
    for (uint64_t i = 0; i < 300; i++) {
        at(&b, (int64_t)i * 10, (int64_t)i * 10 + 5);
        builder_buffer_create(&b, i + 1, NULL, 1 + i * 7919 % 300);
        at(&b, (int64_t)i * 10 + 7, (int64_t)i * 10 + 8);
        builder_destroy(&b, TRACE_BUFFER_DESTROY, i + 1);
    }
    struct view_model *m = close_and_open(&b);
    assert_int_equal(m->levels_count, 600);
    for (size_t first = 0; first < 600; first += 13) {
        for (size_t last = first + 1; last <= 600; last += 37) {
            uint64_t most = 0;
            for (size_t i = first; i < last; i++)
                most = m->levels[i].bytes > most ? m->levels[i].bytes : most;
            assert_int_equal(m->levels[view_model_highest(m, first, last)].bytes, most);
        }
    }
    assert_int_equal(view_model_highest(m, 5, 5), VIEW_NO_REF);
    view_model_close(m);
}

TEST_SUITE_FIXTURE(make_trace_folder, remove_folder);
