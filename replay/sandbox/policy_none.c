/* SPDX-License-Identifier: Apache-2.0 */
/* Systems on which no sandbox is known: nothing of a stranger's is replayed. */
#include "replay/sandbox/policy.h"

#include <stdio.h>

enum hal_status replay_policy_enter(const struct replay_policy *policy,
                                    char out_missing[REPLAY_MISSING_BYTES])
{
    (void)policy;
    out_missing[0] = '\0';
    return hal_fail(HAL_UNSUPPORTED,
                    "this system cannot protect files, network, programs and memory; --trusted "
                    "replays without the sandbox, only for traces you trust");
}

enum hal_status replay_policy_compile(void)
{
    return HAL_OK;
}

enum hal_status replay_policy_lock(bool has_results, _Atomic uint32_t *out_refused)
{
    (void)has_results;
    (void)out_refused;
    return HAL_OK;
}

const char *replay_system_call_name(uint32_t number, char out_name[REPLAY_CALL_BYTES])
{
    snprintf(out_name, REPLAY_CALL_BYTES, "number %u", number);
    return out_name;
}
