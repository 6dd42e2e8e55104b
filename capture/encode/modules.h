/* SPDX-License-Identifier: Apache-2.0 */
/* The code in this process, according to the dynamic loader. */
#ifndef CAPTURE_MODULES_H
#define CAPTURE_MODULES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum { CAPTURE_MAX_BUILD_ID = 64 };

/* A program or library on disk, and its load address. */
struct capture_module {
    uint64_t base, bytes;
    char path[PATH_MAX];
    uint8_t build_id[CAPTURE_MAX_BUILD_ID];
    uint32_t build_id_bytes;
};

/* Increases with every module loaded. */
uint64_t capture_modules_additions(void);

/* Calls `visit` for each until it returns false; returns the count of additions so far. */
uint64_t capture_modules_each(bool (*visit)(void *user, const struct capture_module *module),
                              void *user);

struct capture_range {
    uintptr_t begin, end;
};

/* The library segment or image that contains this code; empty: the program itself. */
struct capture_range capture_modules_range(const void *code);

#endif
