/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/locator.h"

#include <inttypes.h>
#include <stdio.h>

static bool parse_digits(const char **text, uint64_t most, uint64_t *out_value)
{
    uint64_t value = 0;
    const char *at = *text;
    if (*at < '0' || *at > '9')
        return false;
    for (; *at >= '0' && *at <= '9'; at++) {
        const uint64_t digit = (uint64_t)(*at - '0');
        if (value > (most - digit) / 10)
            return false;
        value = 10 * value + digit;
    }
    *text = at;
    *out_value = value;
    return true;
}

bool replay_locator_parse(const char *text, struct replay_locator *out_locator,
                          const char **out_rest)
{
    uint64_t dispatch;
    *out_locator = (struct replay_locator){0};
    if (text[0] != '#' || text[1] != 's')
        return false;
    text += 2;
    if (!parse_digits(&text, UINT64_MAX, &out_locator->submission))
        return false;
    if (text[0] == '.' && text[1] == 'd') {
        text += 2;
        if (!parse_digits(&text, UINT32_MAX, &dispatch))
            return false;
        out_locator->has_dispatch = true;
        out_locator->dispatch = (uint32_t)dispatch;
    }
    *out_rest = text;
    return true;
}

const char *replay_locator_print(const struct replay_locator *locator,
                                 char out[REPLAY_LOCATOR_BYTES])
{
    if (locator->has_dispatch)
        snprintf(out, REPLAY_LOCATOR_BYTES, "#s%" PRIu64 ".d%" PRIu32, locator->submission,
                 locator->dispatch);
    else
        snprintf(out, REPLAY_LOCATOR_BYTES, "#s%" PRIu64, locator->submission);
    return out;
}
