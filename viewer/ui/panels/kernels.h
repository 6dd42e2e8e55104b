/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of a view, computed on first use, as that examines every command. */
#ifndef VIEWER_KERNELS_H
#define VIEWER_KERNELS_H

#include "viewer/model/work.h"
#include "viewer/ui/view.h"

/* NULL: not ready, cancelled, or out of memory, with a message. */
const struct view_work *view_kernels_work(struct view *view);

/* Call once they are ready. */
const struct view_work_total *view_kernels_total(const struct view *view);

/* A row of a kernel table, and its header. */
#define VIEW_KERNEL_HEADER                                                                         \
    "kernel                   dispatches   workgroups      alone   share       each  "             \
    "    mixed  one dispatch"
void view_kernel_text(const struct view_work *work, const struct view_kernel_time *time,
                      const struct view_work_total *total, char *out, size_t bytes);

/* '.': the next submission that runs the chosen or selected kernel; ',': the previous one. */
void view_next_kernel(struct view *view, int key);

/* How to get times of single kernels if the trace has none; else NULL. */
const char *view_kernels_hint(const struct view *view);

#endif
