/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace tells of the bindings of an executable's entry points. */
#ifndef CAPTURE_REFLECT_H
#define CAPTURE_REFLECT_H

#include "format/record.h"
#include "hal/driver.h"

struct capture_bindings {
    bool known;                       /* else there are none in the list */
    struct trace_entry_binding *list; /* the caller frees it */
    size_t count;
};

/* Asks the driver. What it cannot tell, or memory for it, is not there: then nothing is known. The
 * executable may be NULL. */
void capture_reflect(struct hal_driver_device *next, struct hal_executable *executable,
                     size_t entry_count, struct capture_bindings *out_bindings);

#endif
