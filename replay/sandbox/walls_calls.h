/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the walls of Linux that is about system calls: walls_calls_linux.c. Private to
 * replay/. */
#ifndef REPLAY_WALLS_CALLS_H
#define REPLAY_WALLS_CALLS_H

#include "hal/base/status.h"

/* What loading a trace and compiling need. Before the process has a second thread. */
enum hal_status replay_walls_limit_calls(void) HAL_CHECKED;

#endif
