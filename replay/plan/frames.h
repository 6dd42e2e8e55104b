/* SPDX-License-Identifier: Apache-2.0 */
/* Formats recorded call stacks. Private to replay/. */
#ifndef REPLAY_FRAMES_H
#define REPLAY_FRAMES_H

#include "replay/plan/plan.h"

/* "function+0x12" if the module's file is unchanged and readable (in a sandbox: system files and
 * files given for this purpose), else "module+0x1234", else "0x7f0012345678". */
void replay_frame_name(const struct replay_plan *plan, uint64_t address, char *out, size_t bytes);

/* Whether the path is in a folder of system libraries, by its text alone. */
bool replay_is_system_file(const char *path);

#endif
