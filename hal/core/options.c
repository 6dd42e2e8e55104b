/* SPDX-License-Identifier: Apache-2.0 */
/* The legal words, times and locators for options of a capture, from any source. */
#include "hal/base/locator.h"
#include "hal/core/core.h"

#include <string.h>

/* Options that are one of a few words. */
struct choice {
    const char *usual;
    const char *words[4]; /* NULL after the last, if there is space */
};

static const struct choice choices[HAL_WORD_COUNT] = {
    [HAL_STACKS] = {"submission", {"none", "submission", "command"}},
    [HAL_CONTENTS] = {"all", {"all", "digest", "none"}},
    [HAL_OUTPUTS] = {"contents", {"contents", "digest", "none", "all"}},
    [HAL_FILES] = {"ranges", {"ranges", "reference", "all", "fail"}},
};

/* A mode records what those before it do, and more. IREE names families of data instead. */
static const char *const modes[] = {"queue", "dispatch", "executable"};
static const struct {
    const char *word;
    size_t mode;
} mode_words[] = {
    {"queue", 0},    {"queue-events", 0},    {"device-queue-events", 0}, {"memory-events", 0},
    {"dispatch", 1}, {"dispatch-events", 1}, {"executable", 2},          {"counters", 2},
};

static bool find_mode(const char *word, size_t length, size_t *io_mode)
{
    for (size_t i = 0; i < sizeof mode_words / sizeof mode_words[0]; i++) {
        if (strlen(mode_words[i].word) != length || memcmp(mode_words[i].word, word, length) != 0)
            continue;
        if (mode_words[i].mode > *io_mode)
            *io_mode = mode_words[i].mode;
        return true;
    }
    return false;
}

const char *hal_profiling_mode(const char *text)
{
    size_t mode = 0;
    for (;;) {
        const size_t length = strcspn(text, ",");
        if (!find_mode(text, length, &mode))
            return NULL;
        if (!text[length])
            return modes[mode];
        text += length + 1;
    }
}

enum hal_status hal_profiling_check_counters(const char *source, const char *text)
{
    if (strcmp(hal_profiling_mode(text), "executable") != 0)
        return HAL_OK;
    return hal_fail(HAL_UNSUPPORTED,
                    "%s '%s' asks for device counters, which no driver supports yet (supported: "
                    "queue, dispatch)",
                    source, text);
}

enum hal_status hal_profiling_choose(enum hal_profiling_word option, const char *source,
                                     const char **word)
{
    const struct choice *choice = &choices[option];
    const char *const *words = choice->words;
    if (!*word)
        *word = choice->usual;
    for (size_t i = 0; i < 4 && words[i]; i++) {
        if (strcmp(words[i], *word) == 0) {
            *word = words[i];
            return HAL_OK;
        }
    }
    if (!words[2])
        return hal_fail(HAL_INVALID, "%s must be %s or %s, not '%s'", source, words[0], words[1],
                        *word);
    if (words[3])
        return hal_fail(HAL_INVALID, "%s must be %s, %s, %s or %s, not '%s'", source, words[0],
                        words[1], words[2], words[3], *word);
    return hal_fail(HAL_INVALID, "%s must be %s, %s or %s, not '%s'", source, words[0], words[1],
                    words[2], *word);
}

enum hal_status hal_profiling_complete(struct hal_profiling_options *options)
{
    const char *mode = options->mode ? options->mode : "queue";
    options->mode = hal_profiling_mode(mode);
    if (!options->mode)
        return hal_fail(HAL_UNSUPPORTED, "unknown profiling mode '%s' (known: queue, dispatch)",
                        mode);
    HAL_TRY(hal_profiling_check_counters("profiling mode", mode));
    if (options->last_ns &&
        (options->last_ns < HAL_LEAST_LAST_NS || options->last_ns > HAL_MOST_LAST_NS))
        return hal_fail(HAL_INVALID, "a flight recorder keeps from 10 ms to 24 h, not %lld ns",
                        (long long)options->last_ns);
    if (options->base && options->last_ns)
        return hal_fail(HAL_INVALID, "the files of a flight recorder cannot refer to '%s'",
                        options->base);
    HAL_TRY(hal_profiling_choose(HAL_STACKS, "profiling stacks", &options->stacks));
    HAL_TRY(hal_profiling_choose(HAL_CONTENTS, "profiling contents", &options->contents));
    HAL_TRY(hal_profiling_choose(HAL_OUTPUTS, "profiling outputs", &options->outputs));
    return hal_profiling_choose(HAL_FILES, "profiling files", &options->files);
}

/* ---- Places --------------------------------------------------------------------------------- */

bool hal_capture_range_parse(const char *text, struct hal_capture_range_spec *out_spec)
{
    struct hal_locator_range range;
    *out_spec = (struct hal_capture_range_spec){.kind = HAL_RANGE_SIGNAL};
    if (strcmp(text, "signal") == 0)
        return true;
    if (hal_locator_range_parse(text, &range, NULL) != HAL_OK)
        return false;
    out_spec->kind = HAL_RANGE_SUBMISSIONS;
    hal_locator_submissions(&range, &out_spec->first, &out_spec->last);
    return true;
}
