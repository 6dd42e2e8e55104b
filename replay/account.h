/* SPDX-License-Identifier: Apache-2.0 */
/* What a sandboxed child and all processes that it started use, against stated limits. Private to
 * replay/: the parent looks while it waits. */
#ifndef REPLAY_ACCOUNT_H
#define REPLAY_ACCOUNT_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct replay_account {
    size_t most_processes;
    uint64_t most_memory_bytes, most_disk_bytes; /* 0: any */
    const char *folders[2];                      /* whose files count; NULL: none */
    int printed;                                 /* the file of what it prints counts, too; -1 */
    uint64_t looks;
};

/* The limits for buffers of so many bytes (0: physical memory) beside `inherited_bytes` that the
 * child has from its parent. */
void replay_account_init(struct replay_account *account, uint64_t memory_bytes,
                         uint64_t inherited_bytes);

/* HAL_FAILED: over a limit; the message says which, and how far. */
enum hal_status replay_account_check(struct replay_account *account,
                                     bool *out_has_helpers) HAL_CHECKED;

/* Of this process, that belongs to no file with a name. */
uint64_t replay_account_own_bytes(void);

/* Children that this process has already are nobody's that the account is of: a shell that becomes
 * another program leaves it some. */
void replay_account_leave_children(void);

/* Ends all processes that this one's children have started, also those that have lost their parent.
 */
void replay_account_kill(void);

#endif
