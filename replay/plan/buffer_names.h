/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers that a user names: a name that fits none would silently change nothing, and what comes
 * out would prove nothing. Private to replay/. */
#ifndef REPLAY_BUFFER_NAMES_H
#define REPLAY_BUFFER_NAMES_H

#include "replay/plan/plan.h"

/* Several objects that a name fits where one is meant: to be listed in a message. */
struct replay_candidates {
    char text[1024]; /* "#11 'twin' (8 bytes), #12 'twin' (8 bytes)" */
    size_t used, count;
};

/* `note` is put behind what is known of it; "": nothing. */
void replay_candidates_add(struct replay_candidates *candidates, const struct replay_plan *plan,
                           uint32_t object, const char *note);
/* Fails with HAL_NOT_FOUND for the candidates of `name`; `where` is put behind it: " at #s3". */
enum hal_status replay_candidates_refuse(const struct replay_candidates *candidates,
                                         const char *name, const char *where) HAL_CHECKED;

/* Whether one of the plans has the buffers and kernels that types and substitutes are for, one
 * where one is meant, and there is something to replace. HAL_NOT_FOUND: there is no such buffer, or
 * there are several; HAL_UNSUPPORTED: the host never writes it; the message names it, or them. */
enum hal_status replay_names_check(const struct replay_plan *const *plans, size_t count,
                                   const struct replay_options *options) HAL_CHECKED;

#endif
