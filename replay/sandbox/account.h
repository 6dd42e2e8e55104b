/* SPDX-License-Identifier: Apache-2.0 */
/* Counts what a sandboxed child and all its descendants use, and compares that with limits. The
 * parent checks while it waits for the child. Private to replay/. */
#ifndef REPLAY_ACCOUNT_H
#define REPLAY_ACCOUNT_H

#include "hal/base/status.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct replay_account {
    size_t most_processes;
    uint64_t most_memory_bytes, most_disk_bytes; /* 0: no limit */
    const char *folders[2];                      /* their files count as disk; NULL: none */
    int printed;                                 /* the file of its output, which counts; -1 */
    uint64_t looks;
};

/* Derives the limits from the bytes that buffers may have (0: physical memory) and from the
 * `inherited_bytes` that the child shares with its parent. */
void replay_account_init(struct replay_account *account, uint64_t memory_bytes,
                         uint64_t inherited_bytes);

/* HAL_FAILED: a limit is exceeded; the message names it, the value and the limit. */
enum hal_status replay_account_check(struct replay_account *account) HAL_CHECKED;

/* Memory of this process that belongs to no named file. */
uint64_t replay_account_own_bytes(void);

/* Excludes the children that this process has now: a shell that execs a program leaves it its own
 * children, which are neither counted nor killed. */
void replay_account_leave_children(void);

/* Kills all descendants of this process, orphaned ones included, except the excluded children. */
void replay_account_kill(void);

#endif
