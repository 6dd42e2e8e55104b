/* SPDX-License-Identifier: Apache-2.0 */
/* What code is in this process, as the dynamic loader tells it. */
#ifndef CAPTURE_MODULES_H
#define CAPTURE_MODULES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum { CAPTURE_MAX_BUILD_ID = 64 };

/* A program or library on disk, and where it lies. */
struct capture_module {
    uint64_t base, bytes;
    char path[PATH_MAX];
    uint8_t build_id[CAPTURE_MAX_BUILD_ID];
    uint32_t build_id_bytes;
};

/* Grows with every module that is loaded. */
uint64_t capture_modules_additions(void);

/* Calls `visit` for each; returns the additions up to then. False of `visit` ends it. */
uint64_t capture_modules_each(bool (*visit)(void *user, const struct capture_module *module),
                              void *user);

struct capture_range {
    uintptr_t begin, end;
};

/* The library's segment or image that has this code; empty: it is the program's own. */
struct capture_range capture_modules_range(const void *code);

#endif
