/* SPDX-License-Identifier: Apache-2.0 */
/* Enforces the time limit and handles termination signals while this process does something that
 * cannot be interrupted, such as loading a file or running kernels itself. Its messages are
 * prepared in advance. Private to replay/. */
#ifndef REPLAY_GUARD_H
#define REPLAY_GUARD_H

#include "replay/cli/options.h"

/* At the time limit the process reports it and exits with status 1. With --json the reader always
 * gets an object, also on a signal; otherwise signals keep their effect. Whatever cannot be
 * prepared, for lack of memory, is not guarded. */
void replay_guard_begin(const struct replay_program *program);
void replay_guard_end(void);

#endif
