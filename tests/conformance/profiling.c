/* SPDX-License-Identifier: Apache-2.0 */
/* Captures that begin, flush and end at any moment and from any thread; and what is refused. Where
 * the run is captured, the devices of these cases are taken out of that capture first. */
#include "tests/conformance/suite.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct folder {
    char path[64], file[128];
};

static void make_folder(struct suite *suite, struct folder *folder)
{
    snprintf(folder->path, sizeof folder->path, "/tmp/hal-conformance-XXXXXX");
    check(suite, mkdtemp(folder->path) != NULL);
    snprintf(folder->file, sizeof folder->file, "%s/run.pb.zst", folder->path);
}

static void remove_folder(const struct folder *folder)
{
    unlink(folder->file);
    rmdir(folder->path);
}

static struct hal_device *uncaptured(struct suite *suite)
{
    struct hal_device *device = suite_open(suite, "");
    const enum hal_status status = hal_device_profiling_end(device);
    check(suite, status == HAL_OK || status == HAL_NOT_FOUND);
    return device;
}

/* ---- Refused -------------------------------------------------------------------------------- */

/* Each names what was asked for, and what there is. */
static void refused(struct suite *suite, uint64_t which)
{
    static const struct {
        struct hal_profiling_options options;
        enum hal_status status;
        const char *value, *choices;
    } wrong[] = {
        {{.mode = "nonsense"}, HAL_UNSUPPORTED, "nonsense", "queue"},
        {{.mode = ""}, HAL_UNSUPPORTED, "''", "queue"},
        {{.mode = "Queue"}, HAL_UNSUPPORTED, "Queue", "queue"},
        {{.mode = "queue,queues"}, HAL_UNSUPPORTED, "queue,queues", "queue"},
        {{.mode = "queue-events,counter"}, HAL_UNSUPPORTED, "queue-events,counter", "executable"},
        {{.mode = "executable"}, HAL_UNSUPPORTED, "'executable'", "counters"},
        {{.mode = "queue-events,counters"}, HAL_UNSUPPORTED, "queue-events,counters", "dispatch"},
        {{.stacks = "every"}, HAL_INVALID, "every", "submission"},
        {{.stacks = ""}, HAL_INVALID, "''", "submission"},
        {{.file = ""}, HAL_INVALID, "file name", ""},
        {{.file = "/nowhere/at/all.pb.zst"}, HAL_IO, "/nowhere/at/all.pb.zst", ""},
        {{.file = "/dev/null"}, HAL_IO, "/dev/null", ""},
    };
    struct hal_profiling_options options = wrong[which].options;
    options.force = options.file && strcmp(options.file, "/dev/null") == 0;
    struct hal_device *device = uncaptured(suite);
    if (!options.file)
        options.file = "/nowhere/at/all.pb.zst";
    check_fails(suite, hal_device_profiling_begin(device, &options, SUITE_PATIENCE_NS),
                wrong[which].status, wrong[which].value, wrong[which].choices);
    check_fails(suite, hal_device_profiling_end(device), HAL_NOT_FOUND, "not being captured");
}

static void no_device(struct suite *suite, uint64_t unused)
{
    (void)unused;
    check_fails(suite, hal_device_profiling_begin(NULL, NULL, 0), HAL_INVALID, "device");
    check_fails(suite, hal_device_profiling_flush(NULL), HAL_INVALID, "device");
    check_fails(suite, hal_device_profiling_end(NULL), HAL_INVALID, "device");
    hal_scope_begin(NULL, "nothing");
    hal_scope_end(NULL);
}

/* A file that is there stays as it is, unless asked otherwise. */
static void existing_file(struct suite *suite, uint64_t force)
{
    struct folder folder;
    struct stat facts = {0};
    struct hal_device *device = uncaptured(suite);
    make_folder(suite, &folder);
    FILE *file = fopen(folder.file, "w");
    if (file) {
        fputs("mine", file);
        fclose(file);
    }
    const struct hal_profiling_options options = {.file = folder.file, .force = force};
    const enum hal_status begun = hal_device_profiling_begin(device, &options, SUITE_PATIENCE_NS);
    const bool says = force || strstr(hal_message(), folder.file) != NULL;
    const enum hal_status ended = hal_device_profiling_end(device);
    stat(folder.file, &facts);
    remove_folder(&folder);
    check(suite, file != NULL && says);
    check_u64(suite, begun, force ? HAL_OK : HAL_EXISTS);
    check_u64(suite, ended, force ? HAL_OK : HAL_NOT_FOUND);
    check(suite, force ? facts.st_size > 4 : facts.st_size == 4);
}

/* Work that waits for what does not come: the message names it, and nothing has begun. */
static void work_in_flight(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct folder folder;
    struct hal_device *device = uncaptured(suite);
    struct hal_semaphore *gate = suite_semaphore_of(suite, device, "the gate", 0);
    const struct hal_semaphore_value value = {gate, 7};
    const struct hal_submit_desc desc = {.waits = &value, .wait_count = 1};
    check_ok(suite, hal_queue_submit(device, &desc));
    make_folder(suite, &folder);
    const struct hal_profiling_options options = {.file = folder.file};
    const enum hal_status status = hal_device_profiling_begin(device, &options, 100000000);
    const bool there = access(folder.file, F_OK) == 0;
    remove_folder(&folder);
    check_fails(suite, status, HAL_TIMEOUT, "the gate", "7");
    check(suite, !there);
    check_ok(suite, hal_semaphore_signal(gate, 7));
    check_fails(suite, hal_device_profiling_flush(device), HAL_NOT_FOUND, "not being captured");
}

/* ---- Any moment, any thread ----------------------------------------------------------------- */

struct traffic {
    struct hal_device *device;
    struct hal_semaphore *done;
    uint64_t rounds;
};

static void submit_and_wait(struct suite *suite, void *user)
{
    const struct traffic *traffic = user;
    for (uint64_t i = 1; i <= traffic->rounds; i++) {
        const struct hal_semaphore_value value = {traffic->done, i};
        const struct hal_submit_desc desc = {.signals = &value, .signal_count = 1};
        check_ok(suite, hal_queue_submit(traffic->device, &desc));
        check_ok(suite, hal_semaphore_wait(traffic->done, i, SUITE_PATIENCE_NS));
    }
}

struct toggling {
    struct hal_device *device;
    char file[128];
    uint32_t rounds;
};

/* Whoever comes first wins: the others are told. */
static void toggle(struct suite *suite, void *user)
{
    const struct toggling *toggling = user;
    const struct hal_profiling_options options = {.file = toggling->file, .force = true};
    for (uint32_t i = 0; i < toggling->rounds; i++) {
        const enum hal_status begun =
            hal_device_profiling_begin(toggling->device, &options, SUITE_PATIENCE_NS);
        check(suite, begun == HAL_OK || begun == HAL_EXISTS);
        const enum hal_status flushed = hal_device_profiling_flush(toggling->device);
        check(suite, flushed == HAL_OK || flushed == HAL_NOT_FOUND);
        const enum hal_status ended = hal_device_profiling_end(toggling->device);
        check(suite, ended == HAL_OK || ended == HAL_NOT_FOUND);
    }
}

/* `togglers` threads begin and end captures while others work. */
static void under_traffic(struct suite *suite, uint64_t togglers)
{
    struct folder folder;
    struct hal_device *device = uncaptured(suite);
    struct traffic traffic[2];
    struct toggling toggling = {.device = device, .rounds = 5};
    make_folder(suite, &folder);
    memcpy(toggling.file, folder.file, sizeof folder.file);
    for (size_t i = 0; i < 2; i++) {
        traffic[i] = (struct traffic){device, suite_semaphore_of(suite, device, "done", 0), 300};
        suite_thread(suite, submit_and_wait, &traffic[i]);
    }
    for (uint64_t i = 0; i < togglers; i++)
        suite_thread(suite, toggle, &toggling);
    suite_join(suite);
    const enum hal_status left = hal_device_profiling_end(device);
    remove_folder(&folder);
    check(suite, left == HAL_OK || left == HAL_NOT_FOUND);
}

/* Two devices, a capture each, at the same time. */
static void two_at_once(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct folder folders[2];
    struct hal_device *devices[2];
    enum hal_status status = HAL_OK;
    bool there = true;
    for (size_t i = 0; i < 2; i++) {
        devices[i] = uncaptured(suite);
        make_folder(suite, &folders[i]);
    }
    for (size_t i = 0; status == HAL_OK && i < 2; i++) {
        const struct hal_profiling_options options = {.file = folders[i].file};
        status = hal_device_profiling_begin(devices[i], &options, SUITE_PATIENCE_NS);
    }
    for (size_t i = 0; status == HAL_OK && i < 2; i++)
        status = hal_device_profiling_flush(devices[i]);
    for (size_t i = 0; status == HAL_OK && i < 2; i++)
        status = hal_device_profiling_end(devices[i]);
    for (size_t i = 0; i < 2; i++) {
        there = there && access(folders[i].file, R_OK) == 0;
        remove_folder(&folders[i]);
    }
    check_ok(suite, status);
    check(suite, there);
}

static const struct suite_case cases[] = {
    {"unknown_mode", refused, 0},
    {"empty_mode", refused, 1},
    {"mode_in_capitals", refused, 2},
    {"unknown_mode_in_a_list", refused, 3},
    {"counters_that_no_driver_has", refused, 4},
    {"counters_in_a_list", refused, 5},
    {"unknown_stacks", refused, 6},
    {"empty_stacks", refused, 7},
    {"empty_file_name", refused, 8},
    {"no_such_folder", refused, 9},
    {"not_a_file", refused, 10},
    {"no_device", no_device, 0},
    {"existing_file", existing_file, 0},
    {"existing_file_by_force", existing_file, 1},
    {"work_in_flight", work_in_flight, 0},
    {"under_traffic", under_traffic, 1},
    {"racing_under_traffic", under_traffic, 3},
    {"two_at_once", two_at_once, 0},
};
const struct suite_area area_profiling = {"profiling", cases, SUITE_COUNT(cases)};
