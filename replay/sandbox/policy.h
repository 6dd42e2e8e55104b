/* SPDX-License-Identifier: Apache-2.0 */
/* How the operating system restricts a sandboxed process: policy_linux.c, policy_darwin.c,
 * policy_none.c. Private to replay/.
 *
 * Kernels are native code that a file's author controls, so assume that they run arbitrary machine
 * code. The process is made worthless to them: it can open only the files it was given, change only
 * files in its scratch folder, reach no network, and trace or signal no other process. It can start
 * only the programs that compile kernels, and none once the policy is locked. */
#ifndef REPLAY_POLICY_H
#define REPLAY_POLICY_H

#include "hal/base/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct replay_policy {
    const char *trace;        /* a file to read */
    const char *const *given; /* more files and folders to read */
    size_t given_count;
    const char *scratch;  /* a folder to use freely */
    const char *kept;     /* another one; NULL: none */
    const char *programs; /* programs that may be started: consecutive strings, then an empty one */
    uint64_t memory_bytes; /* that buffers may take; 0: physical memory */
};

enum { REPLAY_MISSING_BYTES = 256 };

/* Call it before the process has a second thread. Standard input is empty from now on; other
 * descriptors stay open. `out_missing` names what this system cannot protect, "": nothing.
 * HAL_UNSUPPORTED: the system cannot protect files, network or programs; HAL_FAILED: it can, but
 * that failed. */
enum hal_status replay_policy_enter(const struct replay_policy *policy,
                                    char out_missing[REPLAY_MISSING_BYTES]) HAL_CHECKED;

/* For all threads. Call it before anything of the trace is compiled. From now on the process cannot
 * get memory that the parent cannot count: shared memory must be a file's. */
enum hal_status replay_policy_compile(void) HAL_CHECKED;

/* For all threads. From now on only the system calls that kernels need are possible: no program or
 * process can be started, files can only be opened for reading, no file's name, mode, owner or
 * times can change, no other process can be signalled. The list is the same for every option of a
 * replay, so result files must be open by now. (macOS: with `has_results` false nothing can be
 * written at all.)
 *
 * The first refused call sets `*out_refused`, which the parent shares, to its number plus one;
 * NULL: no report. */
enum hal_status replay_policy_lock(bool has_results, _Atomic uint32_t *out_refused) HAL_CHECKED;

enum { REPLAY_CALL_BYTES = 64 };

/* The name of the system call with that number; never NULL. */
const char *replay_system_call_name(uint32_t number, char out_name[REPLAY_CALL_BYTES]);

#endif
