/* SPDX-License-Identifier: Apache-2.0 */
/* The reflection recorded for the bindings of an executable's entry points. */
#ifndef CAPTURE_REFLECT_H
#define CAPTURE_REFLECT_H

#include "format/record.h"
#include "hal/driver.h"

struct capture_bindings {
    bool known;                       /* false: the list is empty */
    struct trace_entry_binding *list; /* the caller frees it */
    size_t count;
};

/* Asks the driver. If it does not know, or is out of memory, nothing is known. Accepts NULL. */
void capture_reflect(struct hal_driver_device *next, struct hal_executable *executable,
                     size_t entry_count, struct capture_bindings *out_bindings);

#endif
