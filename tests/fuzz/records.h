/* SPDX-License-Identifier: Apache-2.0 */
/* Traces whose records are any bytes. */
#ifndef TESTS_FUZZ_RECORDS_H
#define TESTS_FUZZ_RECORDS_H

#include "tests/fuzz/fuzz.h"

/* Writes a trace that is right but for its records: those bytes, as far as the writer takes them.
 */
void fuzz_write_records(const char *path, const uint8_t *data, size_t bytes);

#endif
