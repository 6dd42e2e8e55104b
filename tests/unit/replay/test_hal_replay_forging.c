/* SPDX-License-Identifier: Apache-2.0 */
/* The program hal-replay and kernels that forge its verdict: it is the parent's, whatever native
 * code does in the child, and in whatever way it was asked for. */
#include "tests/support/forging.h"
#include "tests/support/test.h"
#include "tests/unit/replay/hal_replay_fixture.h"

/* The read-back has the proof that the planted code computes only where it forges nothing. */
static void build(struct fixture *fixture, enum forging what)
{
    const struct trace_semaphore_value done = {2, 1};
    const uint32_t before[FORGING_WORDS] = {what}, after[FORGING_WORDS] = {what, FORGING_PROOF};
    struct trace_builder *b = fixture_start(fixture);
    builder_buffer_create(b, 1, "words", sizeof before);
    builder_semaphore_create(b, 2, "done", 0);
    builder_host_write(b, 1, 0, before, sizeof before);
    fixture_add_kernel(b, 3, "forge",
                       "kernel void forge(device uint *words [[buffer(0)]]) { words[1] = 1; }");
    builder_command_buffer_create(b, 4, NULL, 0);
    builder_push_descriptor_set(b, 0, (struct trace_binding[]){{1, 0, sizeof before}}, 1);
    builder_dispatch(b, 3, 0, 1, 1, 1);
    builder_end_commands(b, 4);
    builder_submit(b, 0, 0, NO_VALUES, VALUES(done), IDS(4));
    builder_semaphore_wait(b, 0, &done, 1, INT64_MAX);
    builder_host_read(b, 1, 0, after, sizeof after);
    fixture_finish(fixture);
}

static void expect_no_success(struct fixture *fixture, int status, enum forging what,
                              const char *option)
{
    static const char *const words[] = {"same:", "\"result\":\"same\"", "no difference from"};
    if (status == 0)
        fail_msg("%d with %s succeeds:\n%s%s", (int)what, option, fixture->out, fixture->err);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(fixture->out, words[i]))
            fail_msg("%d with %s says %s:\n%s%s", (int)what, option, words[i], fixture->out,
                     fixture->err);
}

TEST_ON(verdicts_are_not_forged, struct fixture *fixture)
{
    static char *const options[] = {"--timeout=5",
                                    "--json",
                                    "--quiet",
                                    "--repeat=3",
                                    "--what-if=coalesce-submissions",
                                    "--compare=forge=forge.metal",
                                    "--benchmark=0.01",
                                    "--isolate",
                                    "--bisect",
                                    "--verify=submissions",
                                    "--range=#s0",
                                    "--record=r.pb.zst"};
    char cache[PATH_MAX];
    fixture_write(fixture, "forge.metal",
                  "kernel void forge(device uint *words [[buffer(0)]]) { words[1] = 2; }");
    for (enum forging what = FORGING_NOTHING; what < FORGING_COUNT; what++) {
        build(fixture, what);
        char *const kept =
            fixture_change_cache(test_folder_file(&fixture->folder, "forged-cache", cache));
        assert_exit(replay(fixture, "--device=cpu"), 1); /* the compiled one writes a 1 */
        fixture_plant(fixture, "forged-cache/sandbox/*", FORGING);
        const size_t count = what == FORGING_NOTHING ? 1 : sizeof options / sizeof *options;
        for (size_t i = 0; i < count; i++) {
            const int status = replay(fixture, "--device=cpu", options[i]);
            if (what == FORGING_NOTHING)
                assert_exit(status, 0);
            else
                expect_no_success(fixture, status, what, options[i]);
        }
        char *const files[] = {"rm", "-rf", "forged-cache", NULL};
        assert_exit(fixture_run(fixture, "rm", files), 0);
        fixture_restore_cache(kept);
    }
}

TEST_SUITE_FIXTURE(fixture_set_up, fixture_tear_down);
