/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps a sandbox's compiled kernels for the next replay of the trace, outside of the sandbox. */
#ifndef REPLAY_KERNEL_CACHE_H
#define REPLAY_KERNEL_CACHE_H

#include <limits.h>
#include <stdbool.h>

struct replay_kernel_cache {
    char path[PATH_MAX];
    int use; /* a locked descriptor, which protects the folder from removal */
};

/* Creates and names the folder of this trace, which replays of other traces never get; false: no
 * place for one. It exists until it is closed, whatever other processes do. */
bool replay_kernel_cache_open(const char *trace, struct replay_kernel_cache *out_kept);

/* Removes folders that have grown too large, contain anything unexpected, or were least recently
 * used, except those that another replay is using. */
void replay_kernel_cache_close(struct replay_kernel_cache *kept);

/* Removes the folder with everything in it. */
void replay_remove_folder(const char *path);

#endif
