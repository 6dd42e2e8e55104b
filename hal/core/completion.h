/* SPDX-License-Identifier: Apache-2.0 */
/* Completion callbacks for submissions that the core itself makes. Private to the core. */
#ifndef HAL_COMPLETION_H
#define HAL_COMPLETION_H

#include "hal/driver.h"

/* Embedded in the caller's state; must stay valid until `run` is called. The rules of
 * hal_submission.retired apply: `run` may free it, must not block or call the device, and is not
 * called if submitting fails. */
struct hal_completion {
    void (*run)(struct hal_completion *self, const struct hal_submission_result *result);
    _Atomic uint32_t *load; /* queue.c: of the chosen queue */
};

#endif
