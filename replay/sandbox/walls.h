/* SPDX-License-Identifier: Apache-2.0 */
/* What the operating system can do to lock a process in: walls_linux.c, walls_darwin.c,
 * walls_none.c. Private to replay/.
 *
 * Kernels are native code, and code of a file's making may do what it likes with its process. So
 * the process is built to be worthless: once inside, no file but those given can be opened, none
 * but those in the scratch folder changed, no network exists, nobody else can be traced or
 * signalled; only the programs that compile kernels can be started, and, once sealed, none. */
#ifndef REPLAY_WALLS_H
#define REPLAY_WALLS_H

#include "hal/base/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct replay_walls {
    const char *trace;        /* a file to read */
    const char *const *given; /* more files and folders to read */
    size_t given_count;
    const char *scratch;   /* a folder to use freely */
    const char *kept;      /* another one; NULL: none */
    const char *programs;  /* that may be started, each with an end, an empty one last */
    uint64_t memory_bytes; /* that buffers may take; 0: physical memory */
};

enum { REPLAY_MISSING_BYTES = 256 };

/* Before the process has a second thread. Standard input is empty from now on; what else is open
 * stays so. `out_missing` says what this system's
 * walls leave open, "": nothing. HAL_UNSUPPORTED: it cannot build one around files, network or
 * programs; HAL_FAILED: it should have been able to. */
enum hal_status replay_walls_enter(const struct replay_walls *walls,
                                   char out_missing[REPLAY_MISSING_BYTES]) HAL_CHECKED;

/* All threads: what is compiled from now on is a stranger's. Memory that the parent could not count
 * is not to be had: no memory that others may share, unless it is a file's. */
enum hal_status replay_walls_compile(void) HAL_CHECKED;

/* All threads: from now on only those system calls are possible that running kernels needs. No
 * program can be started, no process made, no file opened but to be read, none's name, mode, owner
 * or times changed, nobody else signalled. The same for everything that a replay can be asked for:
 * results that are files are open by then. (macOS: where there are none, nothing is written at
 * all.)
 * `*out_refused`, in memory that the outside sees, gets 1
 * and the number of the first call that is refused; NULL: nobody wants to know. */
enum hal_status replay_walls_seal(bool has_results, _Atomic uint32_t *out_refused) HAL_CHECKED;

enum { REPLAY_CALL_BYTES = 64 };

/* What the call with that number is called; never NULL. */
const char *replay_walls_call(uint32_t number, char out_name[REPLAY_CALL_BYTES]);

#endif
