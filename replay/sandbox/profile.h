/* SPDX-License-Identifier: Apache-2.0 */
/* The policy as a profile in the language of macOS's sandbox. Separate from policy_darwin.c, so
 * that it can be tested anywhere. Private to replay/. */
#ifndef REPLAY_PROFILE_H
#define REPLAY_PROFILE_H

#include "replay/sandbox/policy.h"

/* Our own paths that may be read and executed; NULL: none. Resolved: the sandbox compares them. */
struct replay_own_places {
    const char *libraries[2];
    const char *cache;
};

/* The caller frees the profile. NULL: out of memory. */
char *replay_sandbox_profile(const struct replay_policy *policy,
                             const struct replay_own_places *own);

#endif
