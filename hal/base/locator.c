/* SPDX-License-Identifier: Apache-2.0 */
#include "hal/base/locator.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool take_digits(const char **text, uint64_t most, uint64_t *out_value)
{
    uint64_t value = 0;
    const char *at = *text;
    if (*at < '0' || *at > '9')
        return false;
    for (; *at >= '0' && *at <= '9'; at++) {
        const uint64_t digit = (uint64_t)(*at - '0');
        if (digit > most || value > (most - digit) / 10)
            return false;
        value = 10 * value + digit;
    }
    *text = at;
    *out_value = value;
    return true;
}

static bool take_text(const char **text, const char *wanted)
{
    const size_t length = strlen(wanted);
    const bool there = strncmp(*text, wanted, length) == 0;
    *text += there ? length : 0;
    return there;
}

static bool take_place(const char **text, struct hal_locator *out_locator)
{
    uint64_t dispatch = 0;
    *out_locator = (struct hal_locator){0};
    take_text(text, "#s");
    if (!take_digits(text, UINT64_MAX, &out_locator->submission))
        return false;
    out_locator->has_dispatch = take_text(text, ".d");
    if (out_locator->has_dispatch && !take_digits(text, UINT32_MAX, &dispatch))
        return false;
    out_locator->dispatch = (uint32_t)dispatch;
    return true;
}

enum hal_status hal_locator_parse(const char *text, struct hal_locator *out_locator)
{
    const char *at = text;
    if (take_place(&at, out_locator) && !*at)
        return HAL_OK;
    return hal_fail(HAL_INVALID,
                    "'%s' is not a locator: #s12 is submission 12, #s12.d40 its dispatch 40, both "
                    "counted from 0",
                    text);
}

/* ---- Ranges -------------------------------------------------------------------------------- */

static bool ends_first(const struct hal_locator_range *range)
{
    const struct hal_locator *first = &range->first, *last = &range->last;
    if (!range->has_first || !range->has_last)
        return false;
    return last->submission < first->submission ||
           (last->submission == first->submission && first->has_dispatch && last->has_dispatch &&
            last->dispatch < first->dispatch);
}

static bool take_range(const char **text, struct hal_locator_range *out_range)
{
    *out_range = (struct hal_locator_range){.has_first = **text != '.'};
    if (out_range->has_first && !take_place(text, &out_range->first))
        return false;
    if (!take_text(text, "..") && !take_text(text, "-")) {
        out_range->has_last = true;
        out_range->last = out_range->first;
        return out_range->has_first;
    }
    out_range->has_last = **text && **text != ',';
    if (out_range->has_last && !take_place(text, &out_range->last))
        return false;
    return (out_range->has_first || out_range->has_last) && !ends_first(out_range);
}

enum hal_status hal_locator_range_parse(const char *text, struct hal_locator_range *out_range,
                                        const char **out_rest)
{
    const char *at = text;
    const bool good = take_range(&at, out_range) && (!*at || (out_rest && *at == ','));
    if (out_rest)
        *out_rest = at;
    if (good)
        return HAL_OK;
    return hal_fail(HAL_INVALID,
                    "'%s' is not a range of locators: #s3, #s3..#s7, #s3.. or ..#s7 for "
                    "submissions, or dispatches such as #s12.d40, counted from 0",
                    text);
}

void hal_locator_submissions(const struct hal_locator_range *range, uint64_t *out_first,
                             uint64_t *out_last)
{
    *out_first = range->has_first ? range->first.submission : 0;
    *out_last = range->has_last ? range->last.submission : UINT64_MAX;
}

const char *hal_locator_print(const struct hal_locator *locator, char out[HAL_LOCATOR_BYTES])
{
    if (locator->has_dispatch)
        snprintf(out, HAL_LOCATOR_BYTES, "#s%" PRIu64 ".d%" PRIu32, locator->submission,
                 locator->dispatch);
    else
        snprintf(out, HAL_LOCATOR_BYTES, "#s%" PRIu64, locator->submission);
    return out;
}
