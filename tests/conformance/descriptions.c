/* SPDX-License-Identifier: Apache-2.0 */
/* What drivers and devices there are, and what a device tells about itself: as a struct, as text
 * and as numbers, which must agree. */
#include "tests/conformance/suite.h"

#include <stdio.h>

/* ---- Lists ---------------------------------------------------------------------------------- */

struct listed {
    const char *wanted; /* a driver */
    size_t count, most, matches;
    bool wrong;
};

static bool list_driver(void *user, const struct hal_driver_info *driver)
{
    struct listed *listed = user;
    listed->wrong |= !driver->name || !driver->name[0] || !driver->description ||
                     !driver->description[0] || !driver->parameters;
    listed->matches += strcmp(driver->name, listed->wanted) == 0;
    return ++listed->count < listed->most;
}

static void drivers(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct listed listed = {.wanted = suite_info(suite)->driver, .most = SIZE_MAX};
    hal_drivers_list(list_driver, &listed);
    check(suite, !listed.wrong);
    check_u64(suite, listed.matches, 1);
}

static void drivers_until_false(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct listed listed = {.wanted = suite_info(suite)->driver, .most = 1};
    hal_drivers_list(list_driver, &listed);
    check_u64(suite, listed.count, 1);
}

static bool list_device(void *user, const struct hal_device_entry *entry)
{
    struct listed *listed = user;
    const size_t length = strlen(entry->driver);
    listed->wrong |= strncmp(entry->uri, entry->driver, length) != 0 || !entry->name[0];
    listed->wrong |= listed->wanted && strcmp(entry->driver, listed->wanted) != 0;
    return ++listed->count < listed->most;
}

static void devices_of_all_drivers(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct listed listed = {.most = SIZE_MAX};
    check_ok(suite, hal_devices_list(NULL, list_device, &listed));
    check(suite, !listed.wrong && listed.count >= 1);
}

static void devices_of_one_driver(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct listed listed = {.wanted = suite_info(suite)->driver, .most = SIZE_MAX};
    check_ok(suite, hal_devices_list(listed.wanted, list_device, &listed));
    check(suite, !listed.wrong && listed.count >= 1);
}

static void devices_until_false(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct listed listed = {.most = 1};
    check_ok(suite, hal_devices_list(NULL, list_device, &listed));
    check_u64(suite, listed.count, 1);
}

static void devices_of_no_driver(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct listed listed = {.most = SIZE_MAX};
    check_fails(suite, hal_devices_list("nonsense", list_device, &listed), HAL_NOT_FOUND,
                "nonsense", suite_info(suite)->driver);
    check_fails(suite, hal_devices_list("", list_device, &listed), HAL_NOT_FOUND,
                suite_info(suite)->driver);
    check_fails(suite, hal_devices_list(NULL, NULL, NULL), HAL_INVALID, "callback");
    check_u64(suite, listed.count, 0);
}

struct first {
    char uri[128], name[128];
};

static bool take_first(void *user, const struct hal_device_entry *entry)
{
    struct first *first = user;
    snprintf(first->uri, sizeof first->uri, "%s", entry->uri);
    snprintf(first->name, sizeof first->name, "%s", entry->name);
    return false;
}

/* What is listed opens, and is then what the list said. */
static void listed_device_opens(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct first first = {"", ""};
    struct hal_device *device;
    check_ok(suite, hal_devices_list(suite_info(suite)->driver, take_first, &first));
    check_ok(suite, hal_device_open(first.uri, &device));
    const bool same = strcmp(hal_device_get_info(device)->name, first.name) == 0;
    hal_device_release(device);
    check(suite, same);
}

/* ---- Text ----------------------------------------------------------------------------------- */

/* The value of "key: value", or NULL. */
static const char *find_line(char *text, const char *key)
{
    const size_t length = strlen(key);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (strncmp(line, key, length) == 0 && strncmp(line + length, ": ", 2) == 0)
            return line + length + 2;
    }
    return NULL;
}

static void check_line(struct suite *suite, const char *key, const char *wanted)
{
    char text[2048];
    check(suite, hal_device_describe(suite_device(suite), text, sizeof text) < sizeof text);
    const char *value = find_line(text, key);
    suite_note(suite, "%s: %s", key, value ? value : "(missing)");
    check(suite, value && strcmp(value, wanted) == 0);
}

static void text_agrees(struct suite *suite, uint64_t unused)
{
    (void)unused;
    char number[64];
    const struct hal_device_info *info = suite_info(suite);
    check_line(suite, "uri", info->uri);
    check_line(suite, "driver", info->driver);
    check_line(suite, "name", info->name);
    check_line(suite, "architecture", info->architecture);
    check_line(suite, "features", info->features);
    snprintf(number, sizeof number, "%u", info->simd_width);
    check_line(suite, "SIMD width", number);
    snprintf(number, sizeof number, "%u", info->queue_count);
    check_line(suite, "queue count", number);
    snprintf(number, sizeof number, "%u", info->max_workgroup_threads);
    check_line(suite, "workgroup threads", number);
    snprintf(number, sizeof number, "%llu", (unsigned long long)info->max_buffer_bytes);
    check_line(suite, "buffer bytes", number);
    snprintf(number, sizeof number, "%u", info->max_constant_bytes);
    check_line(suite, "push constant bytes", number);
}

/* As snprintf: what fits, with an end, and the length of all. */
static void text_that_is_cut(struct suite *suite, uint64_t room)
{
    char whole[2048], cut[64];
    struct hal_device *device = suite_device(suite);
    const size_t length = hal_device_describe(device, whole, sizeof whole);
    memset(cut, '#', sizeof cut);
    check_u64(suite, length, strlen(whole));
    check_u64(suite, hal_device_describe(device, room ? cut : NULL, room), length);
    if (room) {
        check_bytes(suite, cut, whole, room - 1);
        check_u64(suite, cut[room - 1], 0);
    }
    check_u64(suite, cut[room], '#');
}

/* ---- Numbers -------------------------------------------------------------------------------- */

static void numbers_agree(struct suite *suite, uint64_t unused)
{
    (void)unused;
    const struct hal_device_info *info = suite_info(suite);
    const struct {
        const char *key;
        uint64_t wanted;
    } numbers[] = {
        {"queue.count", info->queue_count},
        {"simd.width", info->simd_width},
        {"workgroup.max.threads", info->max_workgroup_threads},
        {"workgroup.max.threads.x", info->max_workgroup_size[0]},
        {"workgroup.max.threads.y", info->max_workgroup_size[1]},
        {"workgroup.max.threads.z", info->max_workgroup_size[2]},
        {"workgroup.max.memory.bytes", info->max_workgroup_memory_bytes},
        {"buffer.max.bytes", info->max_buffer_bytes},
        {"bindings.max", 31},
        {"sets.max", 4},
        {"constants.max.bytes", info->max_constant_bytes},
    };
    for (size_t i = 0; i < SUITE_COUNT(numbers); i++) {
        int64_t value = -1;
        suite_note(suite, "%s", numbers[i].key);
        check_ok(suite, hal_device_query(suite_device(suite), numbers[i].key, &value));
        check_u64(suite, value, numbers[i].wanted);
    }
}

static void formats_as_numbers(struct suite *suite, uint64_t unused)
{
    (void)unused;
    static const char *const keys[] = {"format.msl", "format.metallib", "format.spir-v"};
    const struct hal_device_info *info = suite_info(suite);
    for (uint32_t i = 0; i < 3; i++) {
        int64_t value = -1;
        uint64_t wanted = 0;
        for (uint32_t k = 0; k < info->format_count; k++)
            wanted |= (uint32_t)info->formats[k] == HAL_FORMAT_MSL + i;
        suite_note(suite, "%s", keys[i]);
        check_ok(suite, hal_device_query(suite_device(suite), keys[i], &value));
        check_u64(suite, value, wanted);
    }
    check(suite, strcmp(hal_executable_format_name(HAL_FORMAT_MSL), "MSL") == 0);
    check(suite, strcmp(hal_executable_format_name(HAL_FORMAT_SPIRV), "SPIR-V") == 0);
    check(suite, strcmp(hal_executable_format_name((enum hal_executable_format)0), "unknown") == 0);
}

/* What not every device knows is plausible where it is known. */
static void plausible_numbers(struct suite *suite, uint64_t unused)
{
    (void)unused;
    static const struct {
        const char *key;
        int64_t least, most;
    } numbers[] = {{"memory.total.bytes", 1 << 20, INT64_MAX},
                   {"memory.used.bytes", 0, INT64_MAX},
                   {"clock.resolution.ns", 1, 1000000000},
                   {"dispatch.times", 1, 1},
                   {"kernel.faults.caught", 1, 1}};
    for (size_t i = 0; i < SUITE_COUNT(numbers); i++) {
        int64_t value = -7;
        const enum hal_status status =
            hal_device_query(suite_device(suite), numbers[i].key, &value);
        suite_note(suite, "%s: %lld", numbers[i].key, (long long)value);
        if (status == HAL_OK)
            check(suite, value >= numbers[i].least && value <= numbers[i].most);
        else
            check_fails(suite, status, HAL_NOT_FOUND, numbers[i].key);
    }
}

static bool append_name(void *user, const struct hal_driver_info *driver)
{
    char *names = user;
    const size_t length = strlen(names);
    snprintf(names + length, 256 - length, "%s%s", length ? ", " : "", driver->name);
    return true;
}

/* The names of the list, in its order; cut as snprintf cuts. */
static void driver_names(struct suite *suite, uint64_t unused)
{
    (void)unused;
    char wanted[256] = "", text[256] = "", cut[4] = "";
    hal_drivers_list(append_name, wanted);
    check_u64(suite, hal_drivers_describe(text, sizeof text), strlen(wanted));
    check(suite, strcmp(text, wanted) == 0);
    check_u64(suite, hal_drivers_describe(cut, sizeof cut), strlen(wanted));
    check(suite, strncmp(cut, wanted, 3) == 0 && !cut[3]);
    check_u64(suite, hal_drivers_describe(NULL, 0), strlen(wanted));
}

/* Keys that begin like known ones, or go on behind them. */
static void unknown_numbers(struct suite *suite, uint64_t unused)
{
    (void)unused;
    static const char *const keys[] = {"queue",         "queue.count.", "Queue.count",
                                       "simd.width ",   "format.",      "format.hlsl",
                                       "workgroup.max", "memory",       "clock.resolution"};
    for (size_t i = 0; i < SUITE_COUNT(keys); i++) {
        int64_t value = 77;
        suite_note(suite, "'%s'", keys[i]);
        check_fails(suite, hal_device_query(suite_device(suite), keys[i], &value), HAL_NOT_FOUND,
                    keys[i]);
        check_u64(suite, value, 77);
    }
}

static void workers_where_there_are_some(struct suite *suite, uint64_t unused)
{
    (void)unused;
    int64_t value = 77;
    const struct hal_device_info *info = suite_info(suite);
    const enum hal_status status = hal_device_query(suite_device(suite), "worker.count", &value);
    if (info->worker_count) {
        check_ok(suite, status);
        check_u64(suite, value, info->worker_count);
    } else {
        check_fails(suite, status, HAL_NOT_FOUND, "worker.count");
    }
}

static void features_are_sorted(struct suite *suite, uint64_t unused)
{
    (void)unused;
    char features[sizeof suite_info(suite)->features], *before = NULL;
    snprintf(features, sizeof features, "%s", suite_info(suite)->features);
    check(suite, suite_info(suite)->architecture[0]);
    for (char *name = strtok(features, ","); name; name = strtok(NULL, ",")) {
        check(suite, name[0] && (!before || strcmp(before, name) < 0));
        before = name;
    }
}

static void nothing_is_asked(struct suite *suite, uint64_t unused)
{
    (void)unused;
    int64_t value;
    check(suite, hal_device_get_info(NULL) == NULL);
    check_fails(suite, hal_device_query(NULL, "simd.width", &value), HAL_INVALID, "device");
    check_fails(suite, hal_device_wait_idle(NULL, 0), HAL_INVALID, "device");
}

static const struct suite_case cases[] = {
    {"drivers", drivers, 0},
    {"drivers_until_false", drivers_until_false, 0},
    {"devices_of_all_drivers", devices_of_all_drivers, 0},
    {"devices_of_one_driver", devices_of_one_driver, 0},
    {"devices_until_false", devices_until_false, 0},
    {"devices_of_no_driver", devices_of_no_driver, 0},
    {"listed_device_opens", listed_device_opens, 0},
    {"text_agrees", text_agrees, 0},
    {"text_cut_to_nothing", text_that_is_cut, 0},
    {"text_cut_to_its_end", text_that_is_cut, 1},
    {"text_cut_after_one", text_that_is_cut, 2},
    {"text_cut", text_that_is_cut, 63},
    {"numbers_agree", numbers_agree, 0},
    {"formats_as_numbers", formats_as_numbers, 0},
    {"plausible_numbers", plausible_numbers, 0},
    {"driver_names", driver_names, 0},
    {"unknown_numbers", unknown_numbers, 0},
    {"workers_where_there_are_some", workers_where_there_are_some, 0},
    {"features_are_sorted", features_are_sorted, 0},
    {"nothing_is_asked", nothing_is_asked, 0},
};
const struct suite_area area_descriptions = {"descriptions", cases, SUITE_COUNT(cases)};
