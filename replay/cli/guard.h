/* SPDX-License-Identifier: Apache-2.0 */
/* While this process does something that cannot stop in between, as loading a file, or running
 * kernels itself: its time limit, and signals that ask it to end. What is said then is made
 * beforehand. Private to replay/. */
#ifndef REPLAY_GUARD_H
#define REPLAY_GUARD_H

#include "replay/cli/options.h"

/* Over the time limit, the process ends with status 1 and says so. With --json, whoever reads it
 * gets an object whatever happens; else signals do what they do. What cannot be prepared for want
 * of memory is not guarded. */
void replay_guard_begin(const struct replay_program *program);
void replay_guard_end(void);

#endif
