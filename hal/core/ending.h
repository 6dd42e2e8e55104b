/* SPDX-License-Identifier: Apache-2.0 */
/* What the core does when a submission that it made by itself has ended. Private to the core. */
#ifndef HAL_ENDING_H
#define HAL_ENDING_H

#include "hal/driver.h"

/* Part of what it is about; lives until `run` is called. The rules of hal_submission.retired hold:
 * `run` may free it, neither blocks nor calls the device, and is not called when handing in fails.
 */
struct hal_ending {
    void (*run)(struct hal_ending *self, const struct hal_submission_result *result);
    _Atomic uint32_t *load; /* queue.c: of the queue that was taken */
};

#endif
