/* SPDX-License-Identifier: Apache-2.0 */
/* Preserves the calling thread's message across code that may fail as well:
 *
 *     const struct hal_kept_message kept = hal_keep_message();
 *     clean_up();
 *     return hal_restore_message(&kept, status); */
#ifndef HAL_BASE_MESSAGE_H
#define HAL_BASE_MESSAGE_H

#include "hal/base/status.h"

#include <string.h>

struct hal_kept_message {
    char text[HAL_MESSAGE_BYTES];
};

static inline struct hal_kept_message hal_keep_message(void)
{
    struct hal_kept_message kept;
    memcpy(kept.text, hal_message(), strlen(hal_message()) + 1);
    return kept;
}

/* Returns `status`, which must not be HAL_OK. */
static inline enum hal_status hal_restore_message(const struct hal_kept_message *kept,
                                                  enum hal_status status)
{
    return hal_fail(status, "%s", kept->text);
}

#endif
