/* SPDX-License-Identifier: Apache-2.0 */
/* Something that a sandboxed child does once, and ends by itself. */
#ifndef TESTS_SUPPORT_SANDBOXED_H
#define TESTS_SUPPORT_SANDBOXED_H

#include "replay/sandbox/sandbox.h"

static struct replay_sandbox *test_sandbox; /* while it is open; the child's, too */

static inline enum hal_status test_run_sandbox(const struct replay_sandbox_desc *desc,
                                               int *out_exit)
{
    enum hal_status status = replay_sandbox_open(desc, &test_sandbox);
    if (status != HAL_OK)
        return status;
    status = replay_sandbox_start(test_sandbox);
    if (status == HAL_OK)
        status = replay_sandbox_wait(test_sandbox, out_exit);
    if (status == HAL_OK)
        status = replay_sandbox_keep_outputs(test_sandbox);
    replay_sandbox_close(test_sandbox);
    return status;
}

#endif
