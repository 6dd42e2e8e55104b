/* SPDX-License-Identifier: Apache-2.0 */
/* What cases about executables share. */
#ifndef TESTS_CONFORMANCE_EXECUTABLES_H
#define TESTS_CONFORMANCE_EXECUTABLES_H

#include "tests/conformance/suite.h"

/* What is given is borrowed. */
struct hal_executable_desc executable_msl(const char *label, const char *source,
                                          const struct hal_entry_point *entries, size_t count);

/* The same for every device: on those without MSL, the module. */
struct hal_executable_desc executable_any(struct suite *suite, const char *label,
                                          const char *source, enum suite_module module,
                                          const struct hal_entry_point *entries, size_t count);

/* Runs one entry point over `words`, in place. */
void executable_run_words(struct suite *suite, struct hal_executable *executable, uint32_t entry,
                          uint32_t groups, uint32_t *words, size_t count);

#endif
