/* SPDX-License-Identifier: Apache-2.0 */
/* hal-conformance: runs the cases that every driver and every layer must pass, and compares what
 * happened with what is expected of the driver. All cases share one device, so that the whole run
 * can be captured into one file; the few that are about devices open others.
 *
 * A case that crashes or takes too long is named before the program ends. */
#include "hal/base/moment.h"
#include "hal/base/options.h"
#include "hal/base/print.h"
#include "tests/conformance/runner.h"
#include "tests/conformance/watch.h"

#include <errno.h>
#include <fnmatch.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

static const struct suite_area *const areas[] = {
    /* clang-format off */
    &area_bindings, &area_buffers,
    &area_transfers,
    &area_executables,
    &area_variants,
    &area_reflection,
    &area_dispatch,
    &area_groups,
    &area_imports,
    &area_indirect,
    &area_layouts,
    &area_losses,
    &area_sync,
    &area_command_buffers,
    &area_events,
    &area_semaphores,
    &area_failures,
    &area_sharing,
    &area_channels,
    &area_threads,
    &area_errors,
    &area_command_errors,
    &area_rules,
    &area_devices,
    &area_profiling,
    &area_stress,
    &area_spirv,
    &area_subspans,
    &area_queues,
    &area_transients,
    &area_transient_limits,
    &area_transient_programs,
    &area_uses,
    &area_caching,
    &area_files,
    &area_caches,
    &area_preparing,
    &area_constants,
    &area_descriptions,
    &area_faults,
    /* clang-format on */
};

struct options {
    const char *driver, *filter, *expect, *injected;
    bool list, quiet;
    uint64_t seed;
    uint32_t memory;
    unsigned case_seconds;
};

struct counts {
    unsigned cases, passed, failed, skipped, unsupported, known, injected;
};

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_NO_DEVICE = 3, NAME_BYTES = 128 };

/* ---- Options -------------------------------------------------------------------------------- */

static enum hal_status read_number(const char *name, const char *text, uint64_t most,
                                   uint64_t *out_number)
{
    char *end;
    errno = 0;
    *out_number = strtoull(text, &end, 0);
    if (text[0] >= '0' && text[0] <= '9' && !*end && !errno && *out_number <= most)
        return HAL_OK;
    return hal_fail(HAL_INVALID, "--%s=%s is not a number up to %llu", name, text,
                    (unsigned long long)most);
}

/* Words with commas between them. */
static enum hal_status read_memory(const char *text, uint32_t *out_memory)
{
    static const struct {
        const char *word;
        uint32_t memory;
    } known[] = {{"local", HAL_MEMORY_DEVICE_LOCAL},
                 {"visible", HAL_MEMORY_HOST_VISIBLE},
                 {"coherent", HAL_MEMORY_HOST_COHERENT},
                 {"cached", HAL_MEMORY_HOST_CACHED}};
    const char *word = text;
    *out_memory = 0;
    for (;;) {
        const size_t length = strcspn(word, ",");
        size_t i = 0;
        while (i < SUITE_COUNT(known) &&
               (strlen(known[i].word) != length || strncmp(known[i].word, word, length) != 0))
            i++;
        if (i == SUITE_COUNT(known))
            return hal_fail(HAL_INVALID,
                            "--memory=%s is not made of local, visible, coherent and cached", text);
        *out_memory |= known[i].memory;
        if (!word[length])
            return HAL_OK;
        word += length + 1;
    }
}

enum { SEED, MEMORY, TIMEOUT };

static enum hal_status take(void *user, const struct hal_option *option, char *value)
{
    struct options *options = user;
    int64_t ns;
    if (option->id == SEED)
        return read_number(option->name, value, UINT64_MAX, &options->seed);
    if (option->id == MEMORY)
        return read_memory(value, &options->memory);
    if (!hal_duration_parse(value, 1000000000, 86400 * INT64_C(1000000000), &ns))
        return hal_fail(HAL_INVALID, "--timeout=%s is not a time from 1s to 24h", value);
    options->case_seconds = (unsigned)(ns / 1000000000);
    return HAL_OK;
}

static const struct hal_option known_options[] = {
    {.name = "driver",
     .argument = "URI",
     .help = "device to test (default: --device, HAL_DEVICE, else cpu)",
     .target = offsetof(struct options, driver)},
    {.name = "filter",
     .argument = "GLOBS",
     .help = "only cases whose name matches one of them, as 'transfers.*,sync.*'",
     .target = offsetof(struct options, filter)},
    {.name = "list", .help = "print the names and exit", .target = offsetof(struct options, list)},
    {.name = "quiet",
     .letter = 'q',
     .help = "do not print the cases that pass",
     .target = offsetof(struct options, quiet)},
    {.name = "seed",
     .argument = "N",
     .help = "what random cases start from (default 1)",
     .take = take,
     .id = SEED},
    {.name = "memory",
     .argument = "WORDS",
     .help = "memory of buffers of which a case does not say it: local, visible, coherent, cached, "
             "with commas between them (default: the device's default)",
     .take = take,
     .id = MEMORY},
    {.name = "expect",
     .argument = "FILE",
     .help = "cases that are known to be unsupported or to fail",
     .target = offsetof(struct options, expect)},
    {.name = "injected",
     .argument = "TEXT",
     .help = "a case may also fail with TEXT in its message, and one at least does: what a device "
             "that fails now and then says",
     .target = offsetof(struct options, injected)},
    {.name = "timeout",
     .argument = "TIME",
     .help = "that long a case may take (default 120s)",
     .take = take,
     .id = TIMEOUT},
    {0},
};

static void print_version(void)
{
    printf("hal-conformance %s\n", HAL_VERSION_STRING);
}

static void parse(char **argv, struct options *out)
{
    const struct hal_command_line line = {.program = "hal-conformance",
                                          .usage = "usage: hal-conformance [OPTIONS]\n",
                                          .notes = hal_flags_help(),
                                          .options = known_options,
                                          .print_version = print_version};
    struct hal_words words;
    *out = (struct options){.filter = "*", .seed = 1, .case_seconds = 120};
    enum hal_status status = hal_command_line_parse(&line, argv, out, &words);
    if (status == HAL_OK && words.asked != HAL_ASKED_NOTHING)
        exit(hal_command_line_answer(&line, words.asked) == HAL_OK ? 0 : EXIT_USAGE);
    if (status == HAL_OK && words.count)
        status = hal_fail(HAL_INVALID, "unknown argument '%s'", words.words[0]);
    if (status == HAL_OK)
        return;
    hal_print(stderr, "hal-conformance: %s\n", hal_message());
    exit(EXIT_USAGE);
}

/* ---- Running -------------------------------------------------------------------------------- */

/* As the suite's comparisons tell it; a call that fails, or does not, is no wrong value. */
static bool is_wrong_value(const char *message)
{
    return strstr(message, " bytes differ, ") || strstr(message, "), not ");
}

/* Prints the verdict, given what the driver is known for. */
static void judge(const char *name, const struct suite_result *result,
                  const struct suite_expectation *expected, const struct options *options,
                  struct counts *counts)
{
    const char *injected = options->injected;
    switch (result->outcome) {
    case SUITE_PASSED:
        if (expected && expected->outcome != SUITE_PASSED) {
            printf("FAIL %s: it passes, unexpectedly (%s)\n", name, expected->reason);
            counts->failed++;
            return;
        }
        if (!options->quiet)
            printf("ok %s\n", name);
        counts->passed++;
        return;
    case SUITE_SKIPPED:
        printf("skipped %s: %s\n", name, result->message);
        counts->skipped++;
        return;
    case SUITE_UNSUPPORTED:
        if (expected && expected->outcome == SUITE_UNSUPPORTED) {
            printf("unsupported %s: %s\n", name, expected->reason);
            counts->unsupported++;
            return;
        }
        break;
    case SUITE_FAILED:
        if (expected && expected->outcome == SUITE_FAILED) {
            printf("fails %s: %s\n", name, expected->reason);
            counts->known++;
            return;
        }
        if (injected && (strstr(result->message, injected) ||
                         (expected && expected->untold && is_wrong_value(result->message)))) {
            printf("injected %s: %s\n", name, result->message);
            counts->injected++;
            return;
        }
        break;
    }
    printf("FAIL %s: %s\n", name, result->message);
    counts->failed++;
}

/* Copies the first of globs with commas between them; returns what is behind it, NULL: nothing. */
static const char *take_glob(const char *globs, char glob[NAME_BYTES])
{
    const size_t bytes = strcspn(globs, ",");
    snprintf(glob, NAME_BYTES, "%.*s", (int)bytes, globs);
    return globs[bytes] ? globs + bytes + 1 : NULL;
}

static bool is_wanted(const char *filter, const char *name)
{
    char glob[NAME_BYTES];
    while (filter) {
        filter = take_glob(filter, glob);
        if (fnmatch(glob, name, 0) == 0)
            return true;
    }
    return false;
}

static bool has_match(const char *glob)
{
    char name[NAME_BYTES];
    for (size_t a = 0; a < SUITE_COUNT(areas); a++) {
        for (size_t i = 0; i < areas[a]->count; i++) {
            snprintf(name, sizeof name, "%s.%s", areas[a]->name, areas[a]->cases[i].name);
            if (fnmatch(glob, name, 0) == 0)
                return true;
        }
    }
    return false;
}

/* A glob that fits no case has outlived it, or is mistyped. */
static bool check_filter(const char *filter)
{
    char glob[NAME_BYTES];
    while (filter) {
        if (strcspn(filter, ",") >= NAME_BYTES) {
            fprintf(stderr, "hal-conformance: --filter=%s has a glob of more than %d bytes\n",
                    filter, NAME_BYTES - 1);
            return false;
        }
        filter = take_glob(filter, glob);
        if (!has_match(glob)) {
            fprintf(stderr, "hal-conformance: no case matches '%s'\n", glob);
            return false;
        }
    }
    return true;
}

static void run_all(struct suite_run *run, const struct options *options,
                    struct suite_expectations *expectations, struct counts *counts)
{
    struct suite_result result;
    char name[NAME_BYTES];
    for (size_t a = 0; a < SUITE_COUNT(areas); a++) {
        for (size_t i = 0; i < areas[a]->count; i++) {
            const struct suite_case *which = &areas[a]->cases[i];
            snprintf(name, sizeof name, "%s.%s", areas[a]->name, which->name);
            if (!is_wanted(options->filter, name))
                continue;
            watch_begin(name, options->case_seconds);
            suite_run_case(run, name, which, &result);
            watch_end();
            counts->cases++;
            judge(name, &result, suite_expected(expectations, name), options, counts);
            fflush(stdout);
        }
    }
}

static void list(const char *filter)
{
    char name[NAME_BYTES];
    for (size_t a = 0; a < SUITE_COUNT(areas); a++) {
        for (size_t i = 0; i < areas[a]->count; i++) {
            snprintf(name, sizeof name, "%s.%s", areas[a]->name, areas[a]->cases[i].name);
            if (is_wanted(filter, name))
                printf("%s\n", name);
        }
    }
}

/* A line that fits no case has outlived it. */
static void check_used(const struct suite_expectations *expectations, struct counts *counts)
{
    for (size_t i = 0; i < expectations->count; i++) {
        if (expectations->lines[i].matches)
            continue;
        printf("FAIL no case is called '%s', which is expected to be special\n",
               expectations->lines[i].glob);
        counts->failed++;
    }
}

/* A driver that is watched by a validation layer must have done nothing wrong by it. */
static void check_validation(struct hal_device *device, struct counts *counts)
{
    int64_t messages = 0;
    if (hal_device_query(device, "vulkan.validation.messages", &messages) != HAL_OK || !messages)
        return;
    printf("FAIL the validation layer has said something %lld times\n", (long long)messages);
    counts->failed++;
}

static int run_suite(const struct options *options, struct suite_expectations *expectations)
{
    struct counts counts = {0};
    struct suite_run run = {
        .seed = options->seed, .memory = options->memory, .lock = PTHREAD_MUTEX_INITIALIZER};
    watch_init(); /* before the driver, which may handle faults of kernels itself */
    if (hal_device_open(options->driver, &run.device) != HAL_OK) {
        fprintf(stderr, "hal-conformance: %s\n", hal_message());
        return EXIT_NO_DEVICE;
    }
    const struct hal_device_info *info = hal_device_get_info(run.device);
    run.driver = info->driver;
    printf("device %s (%s), --seed=%llu\n", info->uri, info->name,
           (unsigned long long)options->seed);
    run_all(&run, options, expectations, &counts);
    if (strcmp(options->filter, "*") == 0)
        check_used(expectations, &counts);
    if (options->injected && !counts.injected) {
        printf("FAIL no case failed with '%s': nothing was injected\n", options->injected);
        counts.failed++;
    }
    hal_executable_release(run.kernels);
    check_validation(run.device, &counts);
    hal_device_release(run.device);
    const unsigned total = counts.cases;
    printf(
        "%u cases: %u ok, %u failed, %u skipped, %u unsupported, %u known failures, %u injected\n",
        total, counts.passed, counts.failed, counts.skipped, counts.unsupported, counts.known,
        counts.injected);
    return !counts.failed && fflush(stdout) == 0 ? 0 : EXIT_FAILED;
}

int main(int argc, char **argv)
{
    struct options options;
    struct suite_expectations expectations = {0};
    if (hal_flags_parse(&argc, argv) != HAL_OK) {
        fprintf(stderr, "hal-conformance: %s\n", hal_message());
        return EXIT_USAGE;
    }
    parse(argv, &options);
    if (!check_filter(options.filter))
        return EXIT_FAILED;
    if (options.list) {
        list(options.filter);
        return 0;
    }
    if (options.expect && !suite_expectations_load(options.expect, &expectations))
        return EXIT_USAGE;
    const int status = run_suite(&options, &expectations);
    suite_expectations_free(&expectations);
    return status;
}
