/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/viewer/findings_fixture.h"
#include "tests/support/test.h"

#include <inttypes.h>
#include <unistd.h>

static char folder[] = "/tmp/test_findings.XXXXXX";
char path[64];

int findings_set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/t.pb.zst", folder);
    return 0;
}

int findings_tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

void expect_bounded_costs(const struct view_model *m, const struct view_findings *findings,
                          const char *name)
{
    for (size_t i = 0; i < findings->list_count; i++) {
        const struct view_finding *f = &findings->list[i];
        const double share = view_finding_share(m, f);
        if (f->cost_ns == VIEW_NO_TIME)
            assert_int_equal(f->possible_ns, VIEW_NO_TIME);
        else if (f->cost_ns < 0 || f->cost_ns > f->possible_ns || share < 0 || share > 1)
            fail_msg("%s: %s costs %" PRId64 " ns of %" PRId64 " ns, %.1f %% of the whole", name,
                     view_finding_names[f->kind], f->cost_ns, f->possible_ns, 100 * share);
    }
}

void find(struct trace_builder *b, struct found *out)
{
    assert_int_equal(builder_close(b, &(struct trace_health){0}), HAL_OK);
    assert_int_equal(view_model_open(path, &out->model), HAL_OK);
    assert_int_equal(view_findings_find(out->model, &out->findings), HAL_OK);
    for (size_t i = 0; i < out->findings.list_count; i++) /* each names a place */
        assert_true(*out->findings.list[i].locator == '#' || *out->findings.list[i].locator == '@');
    expect_bounded_costs(out->model, &out->findings, path);
}

void finish(struct found *found)
{
    view_findings_finish(&found->findings);
    view_model_close(found->model);
}

const struct view_finding *of_kind(const struct found *found, enum view_finding_kind kind)
{
    for (size_t i = 0; i < found->findings.list_count; i++) {
        if (found->findings.list[i].kind == kind)
            return &found->findings.list[i];
    }
    return NULL;
}

void at(struct trace_builder *b, int64_t begin_ns, int64_t end_ns)
{
    b->begin_ns = START_NS + begin_ns;
    b->step_ns = end_ns - begin_ns;
}

void open_trace_of(struct trace_builder *b, const char *device)
{
    struct trace_header header = builder_default_header();
    if (device)
        header.device.uri = device;
    builder_open(b, path, &header);
    at(b, 0, 10);
    builder_semaphore_create(b, DONE, "done", 0);
    builder_buffer_create(b, BUFFER, "out", 64);
    builder_buffer_create(b, OTHER, "other", 32);
    builder_command_buffer_create(b, COMMANDS, NULL, 1);
}

void open_trace(struct trace_builder *b)
{
    open_trace_of(b, NULL);
}

void round_trip(struct trace_builder *b, uint64_t n, int64_t begin_ns)
{
    const struct trace_semaphore_value signal = {DONE, n + 1};
    at(b, begin_ns, begin_ns + 10);
    builder_submit(b, n, 0, NO_VALUES, VALUES(signal), IDS(COMMANDS));
    builder_submission_done(b, n, 0, START_NS + begin_ns + 10, START_NS + begin_ns + 30,
                            START_NS + begin_ns + 50);
    at(b, begin_ns + 20, begin_ns + 90);
    builder_semaphore_wait(b, 0, &signal, 1, INT64_MAX);
}
