/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of a library in a program that may close unknown descriptors, as daemons do at start,
 * and then reuses their numbers. Such a descriptor has a high number, which new files of the
 * program rarely get, and can be verified. */
#ifndef HAL_BASE_DESCRIPTOR_H
#define HAL_BASE_DESCRIPTOR_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <sys/types.h>

/* The owner serialises its use. A zeroed one refers to nothing. */
struct hal_descriptor {
    int number;
    bool is_open;
    dev_t device;
    ino_t file;
};

/* Takes ownership of the descriptor, with close-on-exec set. Cannot fail: if no high number is
 * available it keeps its own. `number` < 0: *out_descriptor is not open. */
HAL_API void hal_descriptor_take(int number, struct hal_descriptor *out_descriptor);

/* Whether it still refers to the same file; check right before every use. */
HAL_API bool hal_descriptor_holds(const struct hal_descriptor *descriptor);

/* HAL_OK or HAL_IO: "the program has closed descriptor N of `what`". */
HAL_API enum hal_status hal_descriptor_check(const struct hal_descriptor *descriptor,
                                             const char *what) HAL_CHECKED;

/* Closes the descriptor if it is certainly ours. Returns the error number of close(), or 0. */
HAL_API int hal_descriptor_close(struct hal_descriptor *descriptor);

/* The descriptor in a path "/dev/fd/N", which lets a program that may no longer create files write
 * to an open one. -1: another path. */
HAL_API int hal_descriptor_of_path(const char *path);

#endif
