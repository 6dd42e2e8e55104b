/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/cli/selftest.h"

#include "format/base/json.h"
#include "hal/base/directories.h"
#include "hal/base/mem.h"
#include "hal/base/os.h"
#include "hal/base/text.h"
#include "replay/cli/report.h"
#include "replay/player/player.h"
#include "replay/variant/whatif.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    WORDS = 1024,
    FLIPS = 16, /* places of the file where a byte is damaged */
    TRIES = 20, /* runs without the barrier: it is luck that shows the race, if not much */
};

/* Takes a while before it writes, so that what does not wait for it comes first. */
static const char source[] =
    "kernel void slow(device const uint *in [[buffer(0)]], device uint *out [[buffer(1)]],\n"
    "                 uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    uint x = in[i] | 1;\n"
    "    for (uint k = 0; k < 20000; k++)\n"
    "        x = x * 1664525 + 1013904223;\n"
    "    out[i] = (x & 0) + in[i] * 3 + 1;\n"
    "}\n";

struct selftest {
    struct replay_selftest *result;
    struct hal_device *device;
    char folder[PATH_MAX / 2], trace[PATH_MAX], damaged[PATH_MAX];
    struct replay_plan *plan;
};

/* ---- The run ------------------------------------------------------------------------------- */

struct work {
    struct hal_executable *executable;
    struct hal_buffer *in, *middle, *out;
    struct hal_semaphore *done;
    struct hal_command_buffer *commands;
};

static enum hal_status create_objects(struct hal_device *device, struct work *work)
{
    const struct hal_entry_point point = {.name = "slow", .workgroup_size = {64, 1, 1}};
    const struct hal_executable_desc desc = {.format = HAL_FORMAT_MSL,
                                             .data = source,
                                             .bytes = sizeof source - 1,
                                             .entry_points = &point,
                                             .entry_point_count = 1};
    const struct hal_command_buffer_desc commands = {.label = "selftest"};
    HAL_TRY(hal_executable_create(device, &desc, &work->executable));
    HAL_TRY(hal_buffer_create(device, &(struct hal_buffer_desc){.label = "in", .bytes = 4 * WORDS},
                              &work->in));
    HAL_TRY(hal_buffer_create(
        device, &(struct hal_buffer_desc){.label = "middle", .bytes = 4 * WORDS}, &work->middle));
    HAL_TRY(hal_buffer_create(device, &(struct hal_buffer_desc){.label = "out", .bytes = 4 * WORDS},
                              &work->out));
    HAL_TRY(hal_semaphore_create(device, "done", 0, &work->done));
    return hal_command_buffer_create(device, &commands, &work->commands);
}

static enum hal_status record(struct work *work)
{
    const struct hal_binding bindings[2] = {{.buffer = work->in, .bytes = 4 * WORDS},
                                            {.buffer = work->middle, .bytes = 4 * WORDS}};
    const uint32_t groups[3] = {WORDS / 64, 1, 1};
    HAL_TRY(hal_command_fill(work->commands, work->out, 0, 4 * WORDS, 0x55, 1));
    HAL_TRY(hal_command_fill(work->commands, work->middle, 0, 4 * WORDS, 0, 1));
    HAL_TRY(hal_command_barrier(work->commands, NULL));
    HAL_TRY(hal_command_push_descriptor_set(work->commands, 0, bindings, 2));
    HAL_TRY(hal_command_dispatch(work->commands, work->executable, 0, groups));
    HAL_TRY(hal_command_barrier(work->commands, NULL));
    HAL_TRY(hal_command_copy(work->commands, work->middle, 0, work->out, 0, 4 * WORDS));
    return hal_command_buffer_end(work->commands);
}

/* What comes out is known beforehand. */
static enum hal_status run_work(struct hal_device *device, struct work *work)
{
    uint32_t words[WORDS];
    HAL_TRY(create_objects(device, work));
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = i * 2654435761u;
    HAL_TRY(hal_buffer_write(work->in, 0, words, sizeof words));
    HAL_TRY(record(work));
    const struct hal_semaphore_value one = {work->done, 1};
    const struct hal_submit_desc submit = {
        .signals = &one, .signal_count = 1, .commands = &work->commands, .command_count = 1};
    HAL_TRY(hal_queue_submit(device, &submit));
    HAL_TRY(hal_semaphore_wait(work->done, 1, HAL_FOREVER));
    HAL_TRY(hal_buffer_read(work->out, 0, words, sizeof words));
    for (uint32_t i = 0; i < WORDS; i++) {
        if (words[i] != i * 2654435761u * 3 + 1)
            return hal_fail(HAL_FAILED, "the device computes %u instead of %u", words[i],
                            i * 2654435761u * 3 + 1);
    }
    return HAL_OK;
}

static void finish_work(struct work *work)
{
    hal_command_buffer_release(work->commands);
    hal_semaphore_release(work->done);
    hal_buffer_release(work->out);
    hal_buffer_release(work->middle);
    hal_buffer_release(work->in);
    hal_executable_release(work->executable);
}

static enum hal_status capture(struct selftest *t)
{
    const struct hal_profiling_options options = {.file = t->trace, .stacks = "none"};
    struct work work = {0};
    HAL_TRY(hal_device_profiling_begin(t->device, &options, HAL_FOREVER));
    const enum hal_status status = run_work(t->device, &work);
    finish_work(&work);
    const enum hal_status ended = hal_device_profiling_end(t->device);
    return status != HAL_OK ? status : ended;
}

/* ---- Checks -------------------------------------------------------------------------------- */

static struct replay_selftest_check *add_check(struct selftest *t, const char *name)
{
    struct replay_selftest_check *check = &t->result->checks[t->result->count++];
    check->name = name;
    return check;
}

static enum hal_status play(struct selftest *t, struct replay_plan *plan,
                            const struct replay_options *options, struct replay_report *report)
{
    struct replay_player *player;
    HAL_TRY(replay_player_create(plan, t->device, options, &player));
    const enum hal_status status = replay_player_run(player, report);
    replay_player_destroy(player);
    return status;
}

static void describe(struct replay_selftest_check *check, const struct replay_report *report)
{
    if (report->different_reads)
        snprintf(check->detail, sizeof check->detail,
                 "%s differ, the first at offset %" PRIu64 " of buffer '%.60s'",
                 hal_count(report->different_bytes, "byte", "bytes").text, report->first.offset,
                 report->first.label);
    else
        snprintf(check->detail, sizeof check->detail, "%s of %s are equal",
                 hal_count(report->compared_reads, "read-back", "read-backs").text,
                 hal_count(report->compared_bytes, "byte", "bytes").text);
}

static enum hal_status check_replay(struct selftest *t)
{
    struct replay_selftest_check *check = add_check(t, "an unchanged capture replays identically");
    const struct replay_options options = {0};
    struct replay_report report;
    HAL_TRY(play(t, t->plan, &options, &report));
    check->passed = report.compared_bytes == 4 * WORDS &&
                    replay_exit_code(&t->plan->info, &report) == REPLAY_EXIT_SAME;
    describe(check, &report);
    return HAL_OK;
}

/* One byte, in the middle. */
static enum hal_status check_input(struct selftest *t)
{
    struct replay_selftest_check *check = add_check(t, "one byte of an input");
    uint32_t words[WORDS];
    struct replay_report report;
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = i * 2654435761u;
    ((uint8_t *)words)[4 * (WORDS / 2) + 1] ^= 0x10;
    const struct replay_buffer_substitute changed = {"in", (const uint8_t *)words, sizeof words};
    const struct replay_options options = {.buffers = &changed, .buffer_count = 1};
    HAL_TRY(play(t, t->plan, &options, &report));
    check->passed = report.different_reads == 1 && report.first.offset / 4 == WORDS / 2;
    describe(check, &report);
    return HAL_OK;
}

/* One workgroup less. */
static enum hal_status check_command(struct selftest *t)
{
    struct replay_selftest_check *check = add_check(t, "one command");
    const struct replay_options options = {0};
    struct replay_plan *variant;
    struct replay_what_if_info info;
    struct replay_report report;
    /* A copy of the commands, of which one may be changed. */
    HAL_TRY(replay_plan_what_if(
        t->plan, &(struct replay_what_if){.barriers = REPLAY_BARRIERS_ONE, .barrier = UINT64_MAX},
        &info, &variant));
    for (size_t i = 1; i < variant->object_count; i++) {
        struct replay_object *object = &variant->objects[i];
        if (object->kind != REPLAY_COMMANDS || !object->commands.seal)
            continue;
        const struct trace_segment *segment = object->commands.segments;
        for (uint32_t k = 0; k < object->commands.seal->segment_count; k++) {
            if (segment->kind == TRACE_DISPATCH)
                ((struct trace_dispatch *)(uintptr_t)segment)->workgroup_count[0]--;
            segment = trace_next_segment(segment);
        }
    }
    const enum hal_status status = play(t, variant, &options, &report);
    replay_plan_destroy(variant);
    HAL_TRY(status);
    check->passed = report.different_reads == 1 && report.first.offset / 4 == WORDS - 64;
    describe(check, &report);
    return HAL_OK;
}

static enum hal_status check_barrier(struct selftest *t)
{
    struct replay_selftest_check *check = add_check(t, "one barrier");
    const struct hal_device_info *device = hal_device_get_info(t->device);
    const struct replay_options options = {0};
    const struct replay_what_if without = {.barriers = REPLAY_BARRIERS_ONE, .barrier = 1};
    struct replay_plan *variant;
    struct replay_what_if_info info;
    struct replay_report report = {0};
    if (device->worker_count == 1) {
        check->skipped = true;
        snprintf(check->detail, sizeof check->detail,
                 "device '%.100s' has one thread, which runs everything in sequence", device->uri);
        return HAL_OK;
    }
    HAL_TRY(replay_plan_what_if(t->plan, &without, &info, &variant));
    enum hal_status status = HAL_OK;
    for (int i = 0; i < TRIES && status == HAL_OK && !report.different_reads; i++)
        status = play(t, variant, &options, &report);
    replay_plan_destroy(variant);
    HAL_TRY(status);
    check->passed = report.different_reads == 1 && info.before.barriers == info.after.barriers + 1;
    describe(check, &report);
    return HAL_OK;
}

/* ---- The file ------------------------------------------------------------------------------ */

static enum hal_status read_all(const char *path, uint8_t **out_data, size_t *out_bytes)
{
    FILE *file = fopen(path, "rb");
    long bytes = -1;
    if (file && fseek(file, 0, SEEK_END) == 0)
        bytes = ftell(file);
    uint8_t *data = bytes > 0 ? malloc((size_t)bytes) : NULL;
    bool good = data && fseek(file, 0, SEEK_SET) == 0 &&
                fread(data, 1, (size_t)bytes, file) == (size_t)bytes;
    if (file)
        fclose(file);
    if (!good) {
        free(data);
        return hal_fail(HAL_IO, "cannot read '%s': %s", path, strerror(errno));
    }
    *out_data = data;
    *out_bytes = (size_t)bytes;
    return HAL_OK;
}

static enum hal_status write_all(const char *path, const uint8_t *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    const bool written = file && fwrite(data, 1, bytes, file) == bytes;
    const bool closed = file && fclose(file) == 0;
    return written && closed ? HAL_OK
                             : hal_fail(HAL_IO, "cannot write '%s': %s", path, strerror(errno));
}

/* Whether the damaged file is refused. */
static enum hal_status try_flip(struct selftest *t, uint8_t *data, size_t bytes, size_t at,
                                bool *out_refused)
{
    struct replay_plan *plan = NULL;
    data[at] ^= 0x20;
    const enum hal_status written = write_all(t->damaged, data, bytes);
    data[at] ^= 0x20;
    HAL_TRY(written);
    *out_refused =
        replay_plan_load(t->damaged, &(struct replay_load_options){0}, &plan) != HAL_OK ||
        replay_plan_get_info(plan)->incomplete[0];
    replay_plan_destroy(plan);
    return HAL_OK;
}

static enum hal_status check_file(struct selftest *t)
{
    struct replay_selftest_check *check = add_check(t, "one byte of the file");
    uint8_t *data = NULL;
    size_t bytes = 0, refused_count = 0;
    HAL_TRY(read_all(t->trace, &data, &bytes));
    enum hal_status status = HAL_OK;
    for (size_t i = 0; i < FLIPS && status == HAL_OK; i++) {
        bool refused = false;
        status = try_flip(t, data, bytes, bytes * (2 * i + 1) / (2 * FLIPS), &refused);
        refused_count += refused;
    }
    free(data);
    HAL_TRY(status);
    check->passed = refused_count == FLIPS;
    snprintf(check->detail, sizeof check->detail, "%zu of %d damaged files are refused",
             refused_count, FLIPS);
    return HAL_OK;
}

/* ---- All ----------------------------------------------------------------------------------- */

static enum hal_status check_all(struct selftest *t)
{
    HAL_TRY(hal_add_context(capture(t), "the captured run"));
    HAL_TRY(replay_plan_load(t->trace, &(struct replay_load_options){0}, &t->plan));
    HAL_TRY(check_replay(t));
    HAL_TRY(check_input(t));
    HAL_TRY(check_command(t));
    HAL_TRY(check_barrier(t));
    return check_file(t);
}

static enum hal_status make_folder(struct selftest *t)
{
    HAL_TRY(hal_temporary_folder("hal-replay", t->folder, sizeof t->folder));
    snprintf(t->trace, sizeof t->trace, "%s/t.pb.zst", t->folder);
    snprintf(t->damaged, sizeof t->damaged, "%s/damaged.pb.zst", t->folder);
    return HAL_OK;
}

enum hal_status replay_selftest_run(const char *uri, struct replay_selftest *out_selftest)
{
    struct selftest t = {.result = out_selftest};
    *out_selftest = (struct replay_selftest){0};
    enum hal_status status = hal_device_open(uri ? uri : "cpu?threads=4", &t.device);
    if (status == HAL_OK)
        status = make_folder(&t);
    if (status == HAL_OK)
        status = check_all(&t);
    replay_plan_destroy(t.plan);
    hal_device_release(t.device);
    if (t.folder[0]) {
        remove(t.trace);
        remove(t.damaged);
        rmdir(t.folder);
    }
    out_selftest->passed = status == HAL_OK;
    for (size_t i = 0; i < out_selftest->count; i++)
        out_selftest->passed &= out_selftest->checks[i].passed || out_selftest->checks[i].skipped;
    return status;
}

static const char *outcome(const struct replay_selftest_check *check)
{
    return check->skipped ? "skipped" : check->passed ? "ok" : "FAILED";
}

void replay_print_selftest(FILE *file, const struct replay_selftest *selftest)
{
    for (size_t i = 0; i < selftest->count; i++) {
        const struct replay_selftest_check *check = &selftest->checks[i];
        fprintf(file, "%-8s %s%s: %s\n", outcome(check), i ? "changed: " : "", check->name,
                check->detail);
    }
}

void replay_print_selftest_json(FILE *file, const struct replay_selftest *selftest)
{
    struct trace_text text = {0};
    trace_json_open(&text, '{');
    trace_json_member_bool(&text, "passed", selftest->passed);
    trace_json_member_open(&text, "selftest", '[');
    for (size_t i = 0; i < selftest->count; i++) {
        trace_json_open(&text, '{');
        trace_json_member_text(&text, "name", selftest->checks[i].name);
        trace_json_member_text(&text, "outcome", outcome(&selftest->checks[i]));
        trace_json_member_text(&text, "detail", selftest->checks[i].detail);
        trace_json_close(&text, '}');
    }
    trace_json_close(&text, ']');
    trace_json_close(&text, '}');
    fwrite(text.data, 1, text.bytes, file);
    fputc('\n', file);
    trace_text_finish(&text);
}
