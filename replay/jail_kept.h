/* SPDX-License-Identifier: Apache-2.0 */
/* Where a jail keeps compiled kernels from one replay of a trace to the next. Private to replay/:
 * used by the outside of the jail. */
#ifndef REPLAY_JAIL_KEPT_H
#define REPLAY_JAIL_KEPT_H

#include <stdbool.h>
#include <stddef.h>

/* Makes and names the folder of this trace, which no other trace's replay gets; false: there is no
 * place for one. */
bool replay_kept_open(const char *trace, char *out_path, size_t bytes);

/* Nobody uses it any more: what has grown too large, or strange, goes, and so do the folders that
 * were used longest ago. */
void replay_kept_close(const char *path);

/* With everything in it. */
void replay_remove_folder(const char *path);

#endif
