/* SPDX-License-Identifier: Apache-2.0 */
/* replay/player/target.c: what a trace asks for against what a device has. */
#include "replay/replay.h"
#include "tests/support/test.h"

static const struct hal_device_info device = {
    .uri = "cpu?threads=1",
    .architecture = "x86_64",
    .features = "avx,avx2,fma",
    .queue_count = 2,
    .simd_width = 32,
    .max_workgroup_size = {1024, 512, 64},
    .max_workgroup_threads = 1024,
    .max_buffer_bytes = 1 << 20,
    .max_constant_bytes = 128,
};

static struct trace_header header;

static struct replay_plan_info plan_for(struct trace_device recorded)
{
    header = (struct trace_header){.device = recorded};
    return (struct replay_plan_info){.header = &header};
}

static const struct trace_device same = {
    .architecture = "x86_64", .features = "avx,avx2,fma", .simd_width = 32};

static void assert_missing(const struct replay_plan_info *plan, const char *value,
                           const char *limit)
{
    assert_int_equal(replay_target_check(plan, &device), HAL_UNSUPPORTED);
    assert_non_null(strstr(hal_message(), value));
    assert_non_null(strstr(hal_message(), limit));
    assert_non_null(strstr(hal_message(), "cpu?threads=1"));
}

TEST(what_is_missing_is_named_with_its_limit)
{
    struct replay_plan_info plan = plan_for(same);
    plan.queue_count = 2;
    plan.largest_buffer_bytes = 1 << 20;
    plan.largest_group_threads = 1024;
    plan.largest_constant_bytes = 128;
    memcpy(plan.largest_group_size, device.max_workgroup_size, sizeof plan.largest_group_size);
    assert_int_equal(replay_target_check(&plan, &device), HAL_OK);
    struct replay_plan_info more = plan;
    more.queue_count = 3;
    assert_missing(&more, "3 queues", "is 2");
    more = plan;
    more.largest_buffer_bytes++;
    assert_missing(&more, "1048577", "1048576");
    for (size_t i = 0; i < 3; i++) {
        static const char *const limits[3] = {"is 1024", "is 512", "is 64"};
        static const char *const values[3] = {"1025 threads in dimension 0",
                                              "513 threads in dimension 1",
                                              "65 threads in dimension 2"};
        more = plan;
        more.largest_group_size[i]++;
        assert_missing(&more, values[i], limits[i]);
    }
    more = plan;
    more.largest_group_threads = 1025;
    assert_missing(&more, "1025 threads,", "is 1024");
    more = plan;
    more.largest_constant_bytes = 132;
    assert_missing(&more, "132 bytes of push constants", "is 128");
}

TEST(all_limits_are_listed)
{
    char limit[REPLAY_NOTE_BYTES];
    struct replay_plan_info plan = plan_for(same);
    assert_false(replay_target_limit(&plan, &device, 0, limit));
    plan.queue_count = 3;
    plan.largest_group_threads = 2048;
    plan.largest_group_size[1] = 513;
    assert_missing(&plan, "3 queues", "513 threads in dimension 1");
    assert_missing(&plan, "2048 threads", "is 512");
    assert_true(replay_target_limit(&plan, &device, 2, limit));
    assert_non_null(strstr(limit, "2048 threads, the limit of device 'cpu?threads=1' is 1024"));
    assert_false(replay_target_limit(&plan, &device, 3, limit));
}

TEST(queues_are_put_into_uris)
{
    static const char *const cases[][2] = {
        {"cpu", "cpu?queues=4"},
        {"cpu?threads=2&queues=1", "cpu?queues=4&threads=2"},
        {"cpu?queues=1&threads=2", "cpu?queues=4&threads=2"},
        {"metal://17?queues=2", "metal://17?queues=4"},
    };
    char uri[64];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(replay_target_uri(cases[i][0], 4, uri, sizeof uri));
        assert_string_equal(uri, cases[i][1]);
    }
    assert_false(replay_target_uri("cpu?threads=2", 4, uri, 12));
    assert_false(replay_target_uri("cpu?threads=2", 4, uri, 3));
}

TEST(formats_and_group_memory_are_noted)
{
    char note[REPLAY_NOTE_BYTES];
    struct hal_device_info here = device;
    struct trace_device recorded = same;
    here.format_count = 1;
    here.formats[0] = HAL_FORMAT_MSL;
    here.max_workgroup_memory_bytes = 32768;
    recorded.format_count = 2;
    recorded.formats[0] = HAL_FORMAT_METALLIB;
    recorded.formats[1] = HAL_FORMAT_MSL;
    recorded.max_group_memory_bytes = 32769;
    const struct replay_plan_info plan = plan_for(recorded);
    assert_true(replay_target_note(&plan, &here, 0, note));
    assert_non_null(strstr(note, "ran kernels in metallib; this one runs the variants in MSL"));
    assert_true(replay_target_note(&plan, &here, 1, note));
    assert_non_null(strstr(note, "up to 32769 bytes"));
    assert_non_null(strstr(note, "have 32768 here"));
    assert_false(replay_target_note(&plan, &here, 2, note));
}

TEST(the_same_device_needs_no_note)
{
    char note[REPLAY_NOTE_BYTES];
    struct replay_plan_info plan = plan_for(same);
    assert_false(replay_target_note(&plan, &device, 0, note));
    /* Less than the device has, in another order; and a file that tells nothing. */
    plan = plan_for(
        (struct trace_device){.architecture = "x86_64", .features = "fma,avx", .simd_width = 32});
    assert_false(replay_target_note(&plan, &device, 0, note));
    plan = plan_for((struct trace_device){.architecture = "", .features = ""});
    assert_false(replay_target_note(&plan, &device, 0, note));
}

TEST(what_differs_is_noted)
{
    char note[REPLAY_NOTE_BYTES];
    struct replay_plan_info plan = plan_for((struct trace_device){
        .architecture = "x86_64", .features = "avx,avx2x,avx512f,fm,fma", .simd_width = 16});
    assert_true(replay_target_note(&plan, &device, 0, note));
    assert_non_null(strstr(note, "had 16 threads"));
    assert_non_null(strstr(note, "have 32 here"));
    assert_true(replay_target_note(&plan, &device, 1, note));
    assert_non_null(strstr(note, "had avx2x,avx512f,fm,"));
    assert_false(replay_target_note(&plan, &device, 2, note));
}

TEST(features_of_another_architecture_are_not_compared)
{
    char note[REPLAY_NOTE_BYTES];
    struct replay_plan_info plan = plan_for((struct trace_device){.uri = "cpu?threads=4",
                                                                  .architecture = "aarch64",
                                                                  .features = "asimd,sve",
                                                                  .simd_width = 32});
    assert_true(replay_target_note(&plan, &device, 0, note));
    assert_non_null(strstr(note, "on aarch64 (cpu) in"));
    assert_non_null(strstr(note, "on x86_64 (cpu) here"));
    assert_false(replay_target_note(&plan, &device, 1, note));
}
