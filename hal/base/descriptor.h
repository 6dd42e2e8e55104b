/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of a library inside a program that may close what it does not know (as daemons do
 * when they start) and then gets the same numbers for files of its own. Such a descriptor has a
 * high number, which new files of the program rarely get, and remembers what it stands for. */
#ifndef HAL_BASE_DESCRIPTOR_H
#define HAL_BASE_DESCRIPTOR_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <sys/types.h>

/* Whoever holds it serializes its use. A zeroed one stands for nothing. */
struct hal_descriptor {
    int number;
    bool is_open;
    dev_t device;
    ino_t file;
};

/* Takes over the descriptor, closed on exec. Cannot fail: where no high number is to be had it
 * keeps its own. `number` < 0: *out_descriptor is not open. */
HAL_API void hal_descriptor_take(int number, struct hal_descriptor *out_descriptor);

/* Whether it still stands for what it was taken for; to be asked right before every use. */
HAL_API bool hal_descriptor_holds(const struct hal_descriptor *descriptor);

/* HAL_OK or HAL_IO: "the program has closed descriptor N of `what`". */
HAL_API enum hal_status hal_descriptor_check(const struct hal_descriptor *descriptor,
                                             const char *what) HAL_CHECKED;

/* Closes what is surely ours, and leaves everything else alone. Returns the error number of
 * close(), or 0. */
HAL_API int hal_descriptor_close(struct hal_descriptor *descriptor);

/* The descriptor that a path names, "/dev/fd/N": who may not create files any more writes to one
 * that is open. -1: it is another path. */
HAL_API int hal_descriptor_of_path(const char *path);

#endif
