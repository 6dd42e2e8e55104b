/* SPDX-License-Identifier: Apache-2.0 */
/* Where no walls are known how to be built, nothing of a stranger's is replayed. */
#include "replay/sandbox/walls.h"

#include <stdio.h>

enum hal_status replay_walls_enter(const struct replay_walls *walls,
                                   char out_missing[REPLAY_MISSING_BYTES])
{
    (void)walls;
    out_missing[0] = '\0';
    return hal_fail(HAL_UNSUPPORTED,
                    "this system has no walls around files, network, programs and memory; "
                    "--trusted replays without, which is not for files of strangers");
}

enum hal_status replay_walls_compile(void)
{
    return HAL_OK;
}

enum hal_status replay_walls_seal(bool has_results, _Atomic uint32_t *out_refused)
{
    (void)has_results;
    (void)out_refused;
    return HAL_OK;
}

const char *replay_walls_call(uint32_t number, char out_name[REPLAY_CALL_BYTES])
{
    snprintf(out_name, REPLAY_CALL_BYTES, "number %u", number);
    return out_name;
}
