/* SPDX-License-Identifier: Apache-2.0 */
/* Something that a sandboxed child does once, and ends by itself. */
#ifndef TESTS_SUPPORT_JAILED_H
#define TESTS_SUPPORT_JAILED_H

#include "replay/sandbox/jail.h"

static struct replay_jail *test_jail; /* while it is open; the child's, too */

static inline enum hal_status test_run_jail(const struct replay_jail_desc *desc, int *out_exit)
{
    enum hal_status status = replay_jail_open(desc, &test_jail);
    if (status != HAL_OK)
        return status;
    status = replay_jail_start(test_jail);
    if (status == HAL_OK)
        status = replay_jail_wait(test_jail, out_exit);
    if (status == HAL_OK)
        status = replay_jail_keep_outputs(test_jail);
    replay_jail_close(test_jail);
    return status;
}

#endif
