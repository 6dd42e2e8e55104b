/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzz targets share. Each target is one file with LLVMFuzzerTestOneInput: bytes of any
 * kind go in, and nothing comes out but a crash. It is linked with libFuzzer (preset fuzz), or with
 * run.c, which gives it files and changed copies of them. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* A file of this process with those bytes, in memory where the system has such a folder; removed
 * when the process ends. The same path each time. */
const char *fuzz_file(const uint8_t *data, size_t bytes);

/* Another path beside it, for what a target writes. */
const char *fuzz_output(void);

/* Called before those two are removed, when the process ends. */
void fuzz_on_exit(void (*remove)(void));

/* What must hold whatever the input is. */
#define fuzz_check(condition)                                                                      \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fuzz_failed(#condition, __FILE__, __LINE__);                                           \
    } while (0)
void fuzz_failed(const char *condition, const char *file, int line) __attribute__((noreturn));

#endif
