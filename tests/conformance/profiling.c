/* SPDX-License-Identifier: Apache-2.0 */
/* Captures that begin, flush and end at any moment and from any thread; and what is refused. Where
 * the run is captured, the devices of these cases are taken out of that capture first. */
#include "tests/conformance/suite.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *new_file(struct suite *suite)
{
    return suite_path(suite, suite_folder(suite), "run.pb.zst");
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
        {{.mode = "queue-events,counter"}, HAL_UNSUPPORTED, "queue-events,counter", "dispatch"},
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
    check_fails(suite, hal_device_profiling_begin(device, &options, SUITE_TIMEOUT_NS),
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
    const char *path = new_file(suite);
    struct stat facts = {0};
    struct hal_device *device = uncaptured(suite);
    FILE *file = fopen(path, "w");
    if (file) {
        fputs("mine", file);
        fclose(file);
    }
    const struct hal_profiling_options options = {.file = path, .force = force};
    const enum hal_status begun = hal_device_profiling_begin(device, &options, SUITE_TIMEOUT_NS);
    const bool says = force || strstr(hal_message(), path) != NULL;
    const enum hal_status ended = hal_device_profiling_end(device);
    stat(path, &facts);
    check(suite, file != NULL && says);
    check_u64(suite, begun, force ? HAL_OK : HAL_EXISTS);
    check_u64(suite, ended, force ? HAL_OK : HAL_NOT_FOUND);
    check(suite, force ? facts.st_size > 4 : facts.st_size == 4);
}

/* Work that waits for what does not come: the message names it, and nothing has begun. */
static void work_in_flight(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_device *device = uncaptured(suite);
    struct hal_semaphore *gate = suite_semaphore_of(suite, device, "the gate", 0);
    const struct hal_semaphore_value value = {gate, 7};
    const struct hal_submit_desc desc = {.waits = &value, .wait_count = 1};
    check_ok(suite, hal_queue_submit(device, &desc));
    const char *path = new_file(suite);
    const struct hal_profiling_options options = {.file = path};
    const enum hal_status status = hal_device_profiling_begin(device, &options, 100000000);
    const bool there = access(path, F_OK) == 0;
    check_fails(suite, status, HAL_TIMEOUT, "the gate", "7");
    check(suite, !there);
    check_ok(suite, hal_semaphore_signal(gate, 7));
    check_fails(suite, hal_device_profiling_flush(device), HAL_NOT_FOUND, "not being captured");
}

static void set_flag(struct suite *suite, const char *text)
{
    char program[] = "conformance", flag[64];
    char *line[] = {program, flag, NULL};
    int count = 2;
    snprintf(flag, sizeof flag, "%s", text);
    check_ok(suite, hal_flags_parse(&count, line));
}

/* An end does not wait for ever for work that its own thread is to set going: it says what is
 * waited for, and the capture goes on, until the next one. */
static void end_has_a_limit(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_device *device = uncaptured(suite);
    struct hal_semaphore *gate = suite_semaphore_of(suite, device, "the gate", 0);
    const struct hal_semaphore_value value = {gate, 7};
    const struct hal_submit_desc desc = {.waits = &value, .wait_count = 1};
    const struct hal_profiling_options options = {.file = new_file(suite)};
    char message[HAL_MESSAGE_BYTES];
    check_ok(suite, hal_device_profiling_begin(device, &options, SUITE_TIMEOUT_NS));
    check_ok(suite, hal_queue_submit(device, &desc));
    set_flag(suite, "--device_profiling_wait=100ms");
    const enum hal_status first = hal_device_profiling_end(device);
    snprintf(message, sizeof message, "%s", hal_message());
    const enum hal_status flushed = hal_device_profiling_flush(device);
    set_flag(suite, "--device_profiling_wait=60s");
    check_u64(suite, first, HAL_TIMEOUT);
    check(suite, strstr(message, "the gate") && strstr(message, "7"));
    check_ok(suite, flushed);
    check_fails(suite, hal_device_profiling_begin(device, &options, SUITE_TIMEOUT_NS), HAL_EXISTS,
                "already being captured");
    check_ok(suite, hal_semaphore_signal(gate, 7));
    check_ok(suite, hal_device_profiling_end(device));
    check_fails(suite, hal_device_profiling_end(device), HAL_NOT_FOUND, "not being captured");
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
        check_ok(suite, hal_semaphore_wait(traffic->done, i, SUITE_TIMEOUT_NS));
    }
}

struct toggling {
    struct hal_device *device;
    const char *file;
    uint32_t rounds;
    bool alone;
    _Atomic uint32_t begun, ended;
};

/* Whoever comes first wins: the others are told. */
static void toggle(struct suite *suite, void *user)
{
    struct toggling *toggling = user;
    const struct hal_profiling_options options = {.file = toggling->file, .force = true};
    for (uint32_t i = 0; i < toggling->rounds; i++) {
        const enum hal_status begun =
            hal_device_profiling_begin(toggling->device, &options, SUITE_TIMEOUT_NS);
        check(suite, begun == HAL_OK || (begun == HAL_EXISTS && !toggling->alone));
        const enum hal_status flushed = hal_device_profiling_flush(toggling->device);
        check(suite, flushed == HAL_OK || (flushed == HAL_NOT_FOUND && !toggling->alone));
        const enum hal_status ended = hal_device_profiling_end(toggling->device);
        check(suite, ended == HAL_OK || (ended == HAL_NOT_FOUND && !toggling->alone));
        toggling->begun += begun == HAL_OK;
        toggling->ended += ended == HAL_OK;
    }
}

/* `togglers` threads begin and end captures while others work. */
static void under_traffic(struct suite *suite, uint64_t togglers)
{
    struct hal_device *device = uncaptured(suite);
    struct traffic traffic[2];
    struct toggling toggling = {
        .device = device, .file = new_file(suite), .rounds = 5, .alone = togglers == 1};
    for (size_t i = 0; i < 2; i++) {
        traffic[i] = (struct traffic){device, suite_semaphore_of(suite, device, "done", 0), 300};
        suite_thread(suite, submit_and_wait, &traffic[i]);
    }
    for (uint64_t i = 0; i < togglers; i++)
        suite_thread(suite, toggle, &toggling);
    suite_join(suite);
    const enum hal_status left = hal_device_profiling_end(device);
    /* Whoever finds it captured may end it, also before the others flush: but each begin that
     * succeeded has its end, and the first one to begin did. */
    check(suite, left == HAL_NOT_FOUND);
    check(suite, toggling.begun > 0);
    check_u64(suite, toggling.ended, toggling.begun);
    check(suite, access(toggling.file, R_OK) == 0);
}

/* In the middle of a device's life, and over before it is; then work goes on. */
static void of_a_while(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_device *device = uncaptured(suite);
    const struct hal_buffer_desc desc = {.label = "x", .bytes = 100};
    struct hal_buffer *x = suite_buffer_of(suite, device, &desc);
    struct hal_semaphore *done = suite_semaphore_of(suite, device, "done", 0);
    const struct hal_profiling_options options = {.file = new_file(suite)};
    for (uint64_t i = 1; i <= 4; i++) {
        const struct hal_semaphore_value value = {done, i};
        const struct hal_submit_desc submit = {.signals = &value, .signal_count = 1};
        check_ok(suite, hal_queue_fill(device, &submit, x, 0, HAL_WHOLE_BUFFER, (uint32_t)i, 1));
        if (i == 1) {
            suite_wait(suite, done, 1);
            check_ok(suite, hal_device_profiling_begin(device, &options, SUITE_TIMEOUT_NS));
            check_fails(suite, hal_device_profiling_begin(device, &options, SUITE_TIMEOUT_NS),
                        HAL_EXISTS, "already being captured");
        } else if (i == 2) {
            check_ok(suite, hal_device_profiling_flush(device));
        } else if (i == 3) {
            check_ok(suite, hal_device_profiling_end(device));
            check(suite, access(options.file, R_OK) == 0);
        }
    }
    suite_wait(suite, done, 4);
    check_buffer(suite, x, 99, "\4", 1);
}

/* Times of dispatches are recorded, or cannot be asked for: the device says which. */
static void dispatch_mode(struct suite *suite, uint64_t unused)
{
    (void)unused;
    int64_t timed = 0;
    struct hal_device *device = uncaptured(suite);
    const struct hal_profiling_options options = {.mode = "dispatch", .file = new_file(suite)};
    const enum hal_status known = hal_device_query(device, "dispatch.times", &timed);
    const enum hal_status begun = hal_device_profiling_begin(device, &options, SUITE_TIMEOUT_NS);
    if (known == HAL_OK && timed == 1) {
        check_ok(suite, begun);
        check_ok(suite, hal_device_profiling_end(device));
        return;
    }
    check(suite, known == HAL_NOT_FOUND);
    check_fails(suite, begun, HAL_UNSUPPORTED, "dispatch", hal_device_get_info(device)->uri,
                "queue");
    check_fails(suite, hal_device_profiling_end(device), HAL_NOT_FOUND, "not being captured");
    check(suite, access(options.file, F_OK) != 0);
}

/* Two devices, a capture each, at the same time. */
static void two_at_once(struct suite *suite, uint64_t unused)
{
    (void)unused;
    const char *files[2];
    struct hal_device *devices[2];
    for (size_t i = 0; i < 2; i++) {
        devices[i] = uncaptured(suite);
        files[i] = new_file(suite);
    }
    for (size_t i = 0; i < 2; i++) {
        const struct hal_profiling_options options = {.file = files[i]};
        check_ok(suite, hal_device_profiling_begin(devices[i], &options, SUITE_TIMEOUT_NS));
    }
    for (size_t i = 0; i < 2; i++)
        check_ok(suite, hal_device_profiling_flush(devices[i]));
    for (size_t i = 0; i < 2; i++)
        check_ok(suite, hal_device_profiling_end(devices[i]));
    for (size_t i = 0; i < 2; i++)
        check(suite, access(files[i], R_OK) == 0);
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
    {"end_has_a_limit", end_has_a_limit, 0},
    {"under_traffic", under_traffic, 1},
    {"racing_under_traffic", under_traffic, 3},
    {"of_a_while", of_a_while, 0},
    {"dispatch_mode", dispatch_mode, 0},
    {"two_at_once", two_at_once, 0},
};
const struct suite_area area_profiling = {"profiling", cases, SUITE_COUNT(cases)};
