/* SPDX-License-Identifier: Apache-2.0 */
/* For cases of executable caches: directories of their own, and sources. */
#ifndef TESTS_CONFORMANCE_CACHED_H
#define TESTS_CONFORMANCE_CACHED_H

#include "tests/conformance/suite.h"

enum { PATH_BYTES = 256 };

struct place {
    char path[PATH_BYTES];
};

/* A cache and its place, both gone when the case's body has returned: bodies return a message
 * instead of ending the case, so that nothing stays behind. */
struct cached {
    struct suite *suite;
    struct hal_executable_cache *cache;
    struct place place;
};

void cached_run(struct suite *suite, uint64_t max_bytes,
                const char *(*body)(struct cached *cached, char *room));

/* What a body returns: the message lies in its room. */
const char *cached_failed(char *room, int line, const char *what);
#define WANT(room, condition)                                                                      \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return cached_failed(room, __LINE__, #condition);                                      \
    } while (0)

/* Removes a directory with its files (whatever a cache puts there lies in it directly); returns how
 * many there were. */
size_t cached_clean(const char *path);

/* In MSL, or a module in SPIR-V with the number as a constant. */
struct source {
    char text[256];
    struct hal_entry_point entry;
    struct hal_constant constant;
    struct hal_executable_desc desc;
};

/* Adds `number` to four words. */
void source_write(struct suite *suite, struct source *source, uint32_t number);
bool source_adds(struct suite *suite, struct hal_executable *executable, uint32_t number);

/* Prepares one; whether it had been kept goes to *out_kept. */
bool cached_prepare_one(struct cached *cached, const struct hal_executable_desc *desc,
                        bool *out_kept);

#endif
