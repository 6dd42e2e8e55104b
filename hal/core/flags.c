/* SPDX-License-Identifier: Apache-2.0 */
/* The HAL's flags and environment variables: one table, flags first. */
#include "hal/base/mem.h"
#include "hal/base/moment.h"
#include "hal/base/run.h"
#include "hal/core/core.h"

#include <stdio.h>

enum setting {
    DEVICE,
    MODE,
    FILE_NAME,
    FORCE,
    STACKS,
    CONTENTS,
    OUTPUTS,
    FILES,
    BUDGET,
    WINDOW,
    SCOPE,
    GROUP,
    LAST,
    WAIT,
    QUIET,
    CACHING,
    BOUNDS,
    SETTING_COUNT
};

struct flag {
    const char *name; /* after "--" */
    enum setting setting;
};

static const struct flag flags[] = {
    {"device", DEVICE},
    {"device_profiling_mode", MODE},
    {"device_profiling_file", FILE_NAME},
    {"device_profiling_output", FILE_NAME},
    {"device_profiling_force", FORCE},
    {"device_profiling_stacks", STACKS},
    {"device_profiling_contents", CONTENTS},
    {"device_profiling_outputs", OUTPUTS},
    {"device_profiling_files", FILES},
    {"device_profiling_budget", BUDGET},
    {"device_profiling_window", WINDOW},
    {"device_profiling_scope", SCOPE},
    {"device_profiling_group", GROUP},
    {"device_profiling_last", LAST},
    {"device_profiling_wait", WAIT},
    {"device_profiling_quiet", QUIET},
    {"check-bounds", BOUNDS},
};
enum { FLAG_COUNT = sizeof flags / sizeof flags[0] };

static const char *const environment[SETTING_COUNT] = {
    [DEVICE] = "HAL_DEVICE",
    [MODE] = "HAL_DEVICE_PROFILING_MODE",
    [FILE_NAME] = "HAL_DEVICE_PROFILING_FILE",
    [FORCE] = "HAL_DEVICE_PROFILING_FORCE",
    [STACKS] = "HAL_DEVICE_PROFILING_STACKS",
    [BOUNDS] = "HAL_CHECK_BOUNDS",
    [CACHING] = "HAL_CACHING", /* and the device's parameter `caching` */
    [CONTENTS] = "HAL_DEVICE_PROFILING_CONTENTS",
    [OUTPUTS] = "HAL_DEVICE_PROFILING_OUTPUTS",
    [FILES] = "HAL_DEVICE_PROFILING_FILES",
    [BUDGET] = "HAL_DEVICE_PROFILING_BUDGET",
    [WINDOW] = "HAL_DEVICE_PROFILING_WINDOW",
    [SCOPE] = "HAL_DEVICE_PROFILING_SCOPE",
    [GROUP] = "HAL_DEVICE_PROFILING_GROUP",
    [LAST] = "HAL_DEVICE_PROFILING_LAST",
    [WAIT] = "HAL_DEVICE_PROFILING_WAIT",
    [QUIET] = "HAL_DEVICE_PROFILING_QUIET",
};

static char *given[SETTING_COUNT]; /* what the command line said, NULL: nothing */

const char *hal_flags_help(void)
{
    return "  --device=URI                     device to use: cpu, cpu?threads=4&queues=2\n"
           "  --device_profiling_mode=MODE     capture the run: queue, dispatch (also the times "
           "of\n"
           "                                   dispatches)\n"
           "  --device_profiling_file=FILE     output file (default PROGRAM.PID.pb.zst)\n"
           "  --device_profiling_force         replace an existing file\n"
           "  --device_profiling_stacks=WHAT   call stacks: none, submission (default),\n"
           "                                   command\n"
           "  --device_profiling_contents=WHAT bytes that the host writes: all (default), digest,\n"
           "                                   none\n"
           "  --device_profiling_outputs=WHAT  bytes that it reads: contents (default), digest,\n"
           "                                   none, all (also digests of what each submission\n"
           "                                   writes)\n"
           "  --device_profiling_files=WHAT    files that queues read: ranges (default), "
           "reference,\n"
           "                                   all, fail\n"
           "  --device_profiling_budget=BYTES  limit for contents, then only digests (64M, 2G)\n"
           "  --device_profiling_window=#sA..#sB  capture only these submissions; or: signal\n"
           "                                   (SIGUSR1 begins and ends captures)\n"
           "  --device_profiling_scope=NAME    capture only the inside of these scopes\n"
           "  --device_profiling_group=NAME    capture only submissions with these debug groups\n"
           "  --device_profiling_last=TIME     keep the last part of the run: 5s, 500ms, 2m\n"
           "  --device_profiling_wait=TIME     how long the end of a capture waits for work:\n"
           "                                   60s (default), 500ms, 2m, forever\n"
           "  --device_profiling_quiet         do not print where the capture is\n"
           "  --check-bounds                   kernels on the CPU fail on out-of-bounds accesses";
}

/* ---- Values ------------------------------------------------------------------------------- */

/* "4096", "64M". */
static bool read_bytes(const char *text, uint64_t *out_bytes)
{
    static const char units[] = "KMGT";
    uint64_t value = 0, factor = 1;
    for (; *text >= '0' && *text <= '9'; text++) {
        if (!hal_mul_u64(value, 10, &value) || !hal_add_u64(value, (uint64_t)(*text - '0'), &value))
            return false;
    }
    const char *unit = *text ? strchr(units, *text) : NULL;
    if (unit) {
        factor = 1ull << 10 * (unit - units + 1);
        text++;
    }
    return !*text && hal_mul_u64(value, factor, out_bytes) && *out_bytes > 0;
}

static bool read_switch(const char *text, bool *out_on)
{
    *out_on = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
    return *out_on || strcmp(text, "false") == 0 || strcmp(text, "0") == 0;
}

static bool read_time(const char *text, int64_t *out_ns)
{
    return hal_duration_parse(text, HAL_LEAST_LAST_NS, HAL_MOST_LAST_NS, out_ns);
}

static bool read_wait(const char *text, int64_t *out_wait_ns)
{
    *out_wait_ns = HAL_FOREVER;
    return strcmp(text, "forever") == 0 || read_time(text, out_wait_ns);
}

/* `source` is the flag or the variable. */
static enum hal_status check_value(enum setting setting, const char *source, const char *value)
{
    bool on;
    uint64_t bytes;
    int64_t last_ns;
    struct hal_capture_range_spec range;
    const char *known = NULL;
    switch (setting) {
    case DEVICE:
    case SCOPE:
    case GROUP:
    case FILE_NAME:
        if (!value[0])
            known = "needs a value";
        break;
    case MODE:
        if (hal_profiling_mode(value))
            return hal_profiling_check_counters(source, value);
        known = "must be queue or dispatch";
        break;
    case FORCE:
    case QUIET:
    case BOUNDS:
        if (!read_switch(value, &on))
            known = "must be true or false";
        break;
    case STACKS: return hal_profiling_choose(HAL_STACKS, source, &value);
    case CONTENTS: return hal_profiling_choose(HAL_CONTENTS, source, &value);
    case OUTPUTS: return hal_profiling_choose(HAL_OUTPUTS, source, &value);
    case FILES: return hal_profiling_choose(HAL_FILES, source, &value);
    case BUDGET:
        if (!read_bytes(value, &bytes))
            known = "must be a positive number of bytes, optionally with K, M, G or T (64M)";
        break;
    case LAST:
        if (!read_time(value, &last_ns))
            known = "must be a time from 10ms to 24h, such as 5s, 500ms or 2m";
        break;
    case WAIT:
        if (!read_wait(value, &last_ns))
            known = "must be forever or a time from 10ms to 24h, such as 60s, 500ms or 2m";
        break;
    case CACHING:
        if (!hal_caching_parse(value, &bytes))
            known = "must be off or a number of bytes, such as 64M";
        break;
    case WINDOW:
        if (!hal_capture_range_parse(value, &range))
            known =
                "must be a range of submissions such as #s3..#s7, #s3, #s3.. or ..#s7, or signal";
        break;
    case SETTING_COUNT: break;
    }
    return known ? hal_fail(HAL_INVALID, "%s %s, not '%s'", source, known, value) : HAL_OK;
}

/* ---- Command line ------------------------------------------------------------------------- */

/* The flag in `argument`, with its value after '=' or NULL. */
static const struct flag *find_flag(const char *argument, const char **out_value)
{
    if (strncmp(argument, "--", 2) != 0)
        return NULL;
    const char *name = argument + 2, *equals = strchr(name, '=');
    const size_t length = equals ? (size_t)(equals - name) : strlen(name);
    *out_value = equals ? equals + 1 : NULL;
    for (size_t i = 0; i < FLAG_COUNT; i++) {
        if (strlen(flags[i].name) == length && strncmp(flags[i].name, name, length) == 0)
            return &flags[i];
    }
    return NULL;
}

static bool is_switch(enum setting setting)
{
    return setting == FORCE || setting == QUIET || setting == BOUNDS;
}

/* How many arguments the flag at `index` takes: 1 or 2; 0: not one of ours. */
static enum hal_status parse_one(int argc, char **argv, int index, const char **values,
                                 int *out_taken)
{
    const char *value;
    const struct flag *flag = find_flag(argv[index], &value);
    *out_taken = 0;
    if (!flag)
        return HAL_OK;
    *out_taken = 1;
    if (!value && is_switch(flag->setting)) {
        value = "true";
    } else if (!value) {
        if (index + 1 >= argc)
            return hal_fail(HAL_INVALID, "--%s needs a value", flag->name);
        value = argv[index + 1];
        *out_taken = 2;
    }
    char source[64] = "--";
    strcat(source, flag->name);
    HAL_TRY(check_value(flag->setting, source, value));
    values[flag->setting] = value;
    return HAL_OK;
}

static enum hal_status remember(const char *const values[SETTING_COUNT])
{
    char *copies[SETTING_COUNT];
    for (int i = 0; i < SETTING_COUNT; i++) {
        copies[i] = hal_copy_string(values[i]);
        if (values[i] && !copies[i]) {
            while (i-- > 0)
                free(copies[i]);
            return hal_fail(HAL_NO_MEMORY, "no memory for the flags");
        }
    }
    for (int i = 0; i < SETTING_COUNT; i++) {
        if (!copies[i])
            continue;
        free(given[i]);
        given[i] = copies[i];
    }
    return HAL_OK;
}

enum hal_status hal_flags_parse(int *argc, char **argv)
{
    const char *values[SETTING_COUNT] = {0};
    int taken, kept = 1;
    for (int i = 1; i < *argc && strcmp(argv[i], "--") != 0; i += taken ? taken : 1)
        HAL_TRY(parse_one(*argc, argv, i, values, &taken));
    HAL_TRY(remember(values));
    for (int i = 1; i < *argc; i += taken) {
        if (strcmp(argv[i], "--") == 0) {
            while (i < *argc)
                argv[kept++] = argv[i++];
            break;
        }
        HAL_TRY(parse_one(*argc, argv, i, values, &taken));
        if (!taken) {
            argv[kept++] = argv[i];
            taken = 1;
        }
    }
    if (kept < *argc) {
        *argc = kept;
        argv[kept] = NULL;
    }
    return HAL_OK;
}

enum hal_status hal_flags_check(const char *flag, const char *value, const char *source)
{
    if (!flag || !value || !source)
        return hal_fail(HAL_INVALID, "a check of a flag needs flag, value and source");
    for (size_t i = 0; i < FLAG_COUNT; i++) {
        if (strcmp(flags[i].name, flag) == 0)
            return check_value(flags[i].setting, source, value);
    }
    return hal_fail(HAL_NOT_FOUND, "%s: there is no flag '--%s'", source, flag);
}

/* ---- Settings ----------------------------------------------------------------------------- */

/* NULL if neither flag nor variable is set; an empty variable counts as not set. */
static enum hal_status look_up(enum setting setting, const char **out_value)
{
    *out_value = given[setting];
    if (*out_value)
        return HAL_OK;
    const char *value = getenv(environment[setting]);
    if (!value || !value[0])
        return HAL_OK;
    HAL_TRY(check_value(setting, environment[setting], value));
    *out_value = value;
    return HAL_OK;
}

void hal_flags_ignore_profiling(void)
{
    static const char prefix[] = "HAL_DEVICE_PROFILING_";
    for (int i = 0; i < SETTING_COUNT; i++) {
        if (strncmp(environment[i], prefix, sizeof prefix - 1) == 0)
            unsetenv(environment[i]);
    }
    unsetenv(HAL_RUN_VARIABLE);
}

/* As the user wrote it. */
static const char *source_of(enum setting setting, char out[64])
{
    if (!given[setting])
        return environment[setting];
    size_t i = 0;
    while (flags[i].setting != setting)
        i++;
    snprintf(out, 64, "--%s", flags[i].name);
    return out;
}

/* At most one of them. */
static enum hal_status choose_window(const char *const values[SETTING_COUNT],
                                     struct hal_settings *settings)
{
    static const enum setting windows[] = {WINDOW, SCOPE, GROUP, LAST};
    enum setting chosen = SETTING_COUNT;
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
        if (!values[windows[i]])
            continue;
        if (chosen != SETTING_COUNT) {
            char one[64], other[64];
            return hal_fail(HAL_INVALID, "a capture has one window: '%s' (%s) or '%s' (%s)",
                            values[chosen], source_of(chosen, one), values[windows[i]],
                            source_of(windows[i], other));
        }
        chosen = windows[i];
    }
    struct hal_capture_range_spec *spec = &settings->range;
    settings->options.window = chosen == SETTING_COUNT || chosen == LAST ? NULL : values[chosen];
    if (chosen == WINDOW)
        hal_capture_range_parse(values[WINDOW], spec);
    else if (chosen == LAST)
        read_time(values[LAST], &settings->options.last_ns);
    if (chosen == LAST)
        spec->kind = HAL_RANGE_FLIGHT_RECORDER;
    else if (chosen == SCOPE || chosen == GROUP)
        *spec = (struct hal_capture_range_spec){
            .kind = chosen == SCOPE ? HAL_RANGE_SCOPE : HAL_RANGE_GROUP, .scope = values[chosen]};
    return HAL_OK;
}

enum hal_status hal_settings_get(struct hal_settings *out_settings)
{
    const char *values[SETTING_COUNT];
    for (int i = 0; i < SETTING_COUNT; i++)
        HAL_TRY(look_up((enum setting)i, &values[i]));
    *out_settings = (struct hal_settings){
        .device = values[DEVICE] ? values[DEVICE] : "cpu",
        .profiling = values[MODE] || values[FILE_NAME] || values[WINDOW] || values[SCOPE] ||
                     values[GROUP] || values[LAST],
        .options =
            {
                .mode = values[MODE] ? hal_profiling_mode(values[MODE]) : "queue",
                .file = values[FILE_NAME],
                .stacks = values[STACKS],
                .contents = values[CONTENTS],
                .outputs = values[OUTPUTS],
                .files = values[FILES],
            },
    };
    if (values[CACHING])
        hal_caching_parse(values[CACHING], &out_settings->caching_bytes);
    if (values[BUDGET])
        read_bytes(values[BUDGET], &out_settings->options.budget_bytes);
    HAL_TRY(choose_window(values, out_settings));
    if (values[FORCE])
        read_switch(values[FORCE], &out_settings->options.force);
    return hal_profiling_complete(&out_settings->options);
}

enum hal_status hal_profiling_limit(int64_t *out_limit_ns)
{
    const char *value;
    *out_limit_ns = INT64_C(60000000000);
    HAL_TRY(look_up(WAIT, &value));
    if (value)
        read_wait(value, out_limit_ns);
    return HAL_OK;
}

bool hal_profiling_quiet(void)
{
    const char *value;
    bool quiet = false;
    return look_up(QUIET, &value) == HAL_OK && value && read_switch(value, &quiet) && quiet;
}

enum hal_status hal_bounds_wanted(bool *out_wanted)
{
    const char *value;
    *out_wanted = false;
    HAL_TRY(look_up(BOUNDS, &value));
    if (value)
        read_switch(value, out_wanted);
    return HAL_OK;
}
