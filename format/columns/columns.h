/* SPDX-License-Identifier: Apache-2.0 */
/* Converts records to columns and back by the tables of layout.h. Decoding trusts nothing: lengths,
 * kinds, widths, limits and references are checked here and nowhere else. */
#ifndef FORMAT_COLUMNS_H
#define FORMAT_COLUMNS_H

#include "format/base/arena.h"
#include "format/columns/layout.h"
#include "hal/base/status.h"

/* A growing array of bytes. */
struct trace_bytes {
    uint8_t *data;
    size_t count, capacity;
};

/* Reserves `bytes` more; false if out of memory. */
static inline bool trace_bytes_reserve(struct trace_bytes *array, size_t bytes)
{
    void *data = array->data;
    const bool ok = bytes <= SIZE_MAX - array->count &&
                    hal_grow(&data, &array->capacity, array->count + bytes, 1);
    array->data = (uint8_t *)data;
    return ok;
}

/* Checks the record at the start of [record, record + bytes_left): kind, size, counts, limits.
 * HAL_CORRUPT. */
enum hal_status trace_record_check(const struct trace_family *family, const void *record,
                                   size_t bytes_left) HAL_CHECKED;

/* Fills `message` (the family's, initialised) with the columns of `record_count` valid records; the
 * arena owns the columns. HAL_NO_MEMORY. */
enum hal_status trace_columns_encode(const struct trace_family *family, const void *records,
                                     size_t record_count, struct trace_arena *arena,
                                     void *message) HAL_CHECKED;

/* Returns whether a number that a record refers to exists, and may replace it. */
struct trace_resolver {
    bool (*resolve)(void *user, enum trace_reference reference, uint64_t *number);
    void *user;
};

/* Appends the records of `message` to `records` and counts them. `scratch` is used only during the
 * call. A record of an unknown optional kind is reduced to its head. HAL_CORRUPT; HAL_VERSION: a
 * kind or field that this version does not know; HAL_NO_MEMORY. */
enum hal_status trace_columns_decode(const struct trace_family *family, const void *message,
                                     struct trace_arena *scratch,
                                     const struct trace_resolver *resolver,
                                     struct trace_bytes *records,
                                     size_t *out_record_count) HAL_CHECKED;

/* HAL_VERSION if the message or a nested one has an unknown field below 1000. */
enum hal_status trace_message_check(const ProtobufCMessage *message) HAL_CHECKED;

#endif
