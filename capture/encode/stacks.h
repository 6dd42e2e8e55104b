/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers call stacks, and records the modules that contain their addresses. */
#ifndef CAPTURE_STACKS_H
#define CAPTURE_STACKS_H

#include "capture/encode/modules.h"
#include "capture/stream/stream.h"

struct capture_stacks {
    struct capture_table stacks;
    struct capture_range own, hal; /* frames of the capture and inside the HAL are left out */
    struct capture_table modules;  /* recorded modules, by base and path */
    _Atomic uint64_t modules_seen; /* the loader's count of additions at the last check */
};

/* `hal` points to any code of the HAL's library. */
enum hal_status capture_stacks_init(struct capture_stacks *stacks, const void *hal) HAL_CHECKED;
void capture_stacks_finish(struct capture_stacks *stacks);

/* The number of the calling thread's stack, recorded if new. 0: none. Precedes capture_reserve. */
uint32_t capture_stack(struct capture_stacks *stacks, struct capture_thread *thread);

/* Records modules that are loaded and not yet recorded. */
void capture_modules(struct capture_stacks *stacks, struct capture_thread *thread);

#endif
