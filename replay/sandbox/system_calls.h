/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the policy that restricts system calls on Linux. Private to replay/. */
#ifndef REPLAY_SYSTEM_CALLS_H
#define REPLAY_SYSTEM_CALLS_H

#include "hal/base/status.h"

/* Allows what loading a trace and compiling need. Call it before starting a second thread. */
enum hal_status replay_limit_system_calls(void) HAL_CHECKED;

#endif
