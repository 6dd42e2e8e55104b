/* SPDX-License-Identifier: Apache-2.0 */
/* Places in a trace as every program names them: "#s12" is submission 12, "#s12.d40" its 40th
 * dispatch, both counted from 0. */
#ifndef REPLAY_LOCATOR_H
#define REPLAY_LOCATOR_H

#include <stdbool.h>
#include <stdint.h>

struct replay_locator {
    uint64_t submission;
    bool has_dispatch; /* else all of the submission */
    uint32_t dispatch;
};

enum { REPLAY_LOCATOR_BYTES = 48 };

/* Reads one from the beginning of the text; `out_rest` is what follows. False: there is none. */
bool replay_locator_parse(const char *text, struct replay_locator *out_locator,
                          const char **out_rest);

/* Returns `out`. */
const char *replay_locator_print(const struct replay_locator *locator,
                                 char out[REPLAY_LOCATOR_BYTES]);

#endif
