/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves buffers that a user names. A name that matches nothing is an error: it would silently
 * have no effect, and the result would prove nothing. Private to replay/. */
#ifndef REPLAY_BUFFER_NAMES_H
#define REPLAY_BUFFER_NAMES_H

#include "replay/plan/plan.h"

/* Several objects that match a name where one is needed, to be listed in a message. */
struct replay_candidates {
    char text[1024]; /* "#11 'twin' (8 bytes), #12 'twin' (8 bytes)" */
    size_t used, count;
};

/* Adds an object; `note` is appended to its description; "": nothing. */
void replay_candidates_add(struct replay_candidates *candidates, const struct replay_plan *plan,
                           uint32_t object, const char *note);
/* Fails with HAL_NOT_FOUND for the candidates of `name`; `where` is appended to it: " at #s3". */
enum hal_status replay_candidates_refuse(const struct replay_candidates *candidates,
                                         const char *name, const char *where) HAL_CHECKED;

/* Checks that one of the plans has the buffers and kernels that type rules and substitutes name,
 * exactly one where one is needed, and that there is something to replace. HAL_NOT_FOUND: there is
 * no such buffer, or there are several. HAL_UNSUPPORTED: the host never writes it. The message
 * names the buffers. */
enum hal_status replay_names_check(const struct replay_plan *const *plans, size_t count,
                                   const struct replay_options *options) HAL_CHECKED;

#endif
