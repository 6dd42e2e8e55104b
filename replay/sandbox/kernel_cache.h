/* SPDX-License-Identifier: Apache-2.0 */
/* Where a sandbox keeps compiled kernels from one replay of a trace to the next. Private to
 * replay/: used by the outside of the sandbox. */
#ifndef REPLAY_KERNEL_CACHE_H
#define REPLAY_KERNEL_CACHE_H

#include <limits.h>
#include <stdbool.h>

struct replay_kernel_cache {
    char path[PATH_MAX];
    int use; /* a descriptor of the folder, under whose lock nobody removes it */
};

/* Makes and names the folder of this trace, which no other trace's replay gets; false: there is no
 * place for one. It stays until it is closed, whatever others do. */
bool replay_kernel_cache_open(const char *trace, struct replay_kernel_cache *out_kept);

/* What has grown too large, or strange, goes, and so do the folders that were used longest ago; but
 * none that another replay uses. */
void replay_kernel_cache_close(struct replay_kernel_cache *kept);

/* With everything in it. */
void replay_remove_folder(const char *path);

#endif
