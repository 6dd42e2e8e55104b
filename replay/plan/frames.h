/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded call stacks in words. Private to replay/. */
#ifndef REPLAY_FRAMES_H
#define REPLAY_FRAMES_H

#include "replay/plan/plan.h"

/* "function+0x12", where the module's file is still what it was and may be read (in a sandbox,
 * only the system's and those given for that), else "module+0x1234", else "0x7f0012345678". */
void replay_frame_name(const struct replay_plan *plan, uint64_t address, char *out, size_t bytes);

/* Whether the path lies in a folder of system libraries, by its text alone. */
bool replay_is_system_file(const char *path);

#endif
