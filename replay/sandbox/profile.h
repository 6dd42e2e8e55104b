/* SPDX-License-Identifier: Apache-2.0 */
/* The policy as macOS takes it: a profile in the language of its sandbox. Apart from
 * policy_darwin.c, so that what it says can be tested anywhere. Private to replay/. */
#ifndef REPLAY_PROFILE_H
#define REPLAY_PROFILE_H

#include "replay/sandbox/policy.h"

/* Paths of our own that are read, and whose code runs; NULL: there is none. All paths without
 * links: the sandbox compares what files are really called. */
struct replay_own_places {
    const char *libraries[2];
    const char *cache;
};

/* The caller frees it. NULL: no memory. */
char *replay_sandbox_profile(const struct replay_policy *policy,
                             const struct replay_own_places *own);

#endif
