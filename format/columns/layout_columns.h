/* SPDX-License-Identifier: Apache-2.0 */
/* Macros that write the tables of layout.h. */
#ifndef FORMAT_LAYOUT_COLUMNS_H
#define FORMAT_LAYOUT_COLUMNS_H

#include "format/columns/layout.h"
#include "format/limits.h"
#include "format/trace.h"
#include "format/trace.pb-c.h"

/* The schema decides: signed columns hold differences. */
#define CODING(M, field)                                                                           \
    _Generic(((M *)0)->field, int64_t * : TRACE_CODING_DELTA, uint64_t * : TRACE_CODING_PLAIN)
#define IS_SIGNED(R, member) _Generic(((R *)0)->member, int64_t : true, default : false)
#define COLUMN_AS(M, field, R, where, how, refers, rare)                                           \
    COLUMN_NAMED(#where, M, field, R, where, how, refers, rare)
#define COLUMN_NAMED(text, M, field, R, where, how, refers, rare)                                  \
    {                                                                                              \
        .name = #field, .member = (text), .count_at = offsetof(M, n_##field),                      \
        .values_at = offsetof(M, field), .member_at = offsetof(R, where),                          \
        .width = sizeof(((R *)0)->where), .coding = (how), .reference = TRACE_REFERENCE_##refers,  \
        .is_signed = IS_SIGNED(R, where), .is_rare = (rare)                                        \
    }
#define COLUMN_OF(M, field, R, where, refers)                                                      \
    COLUMN_AS(M, field, R, where, CODING(M, field), refers, false)
/* For a member of a struct inside the record. */
#define INNER_COLUMN_OF(M, field, R, where, refers)                                                \
    COLUMN_NAMED(#field, M, field, R, where, CODING(M, field), refers, false)
#define RARE_COLUMN_OF(M, field, R, where, refers)                                                 \
    COLUMN_AS(M, field, R, where, CODING(M, field), refers, true)
#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])
#define LIST(part_name, R, counter, element, maximum, list)                                        \
    {                                                                                              \
        .name = part_name, .count_at = offsetof(R, counter),                                       \
        .count_width = sizeof(((R *)0)->counter), .element_bytes = sizeof(element),                \
        .limit = (maximum), .column_count = COUNT_OF(list), .columns = (list)                      \
    }
#define BYTES(M, field, R, counter, maximum, text)                                                 \
    {                                                                                              \
        .name = #field, .count_at = offsetof(R, counter),                                          \
        .count_width = sizeof(((R *)0)->counter), .element_bytes = 1, .limit = (maximum),          \
        .is_text = (text), .bytes_at = offsetof(M, field)                                          \
    }
#define LAYOUT(F, field, R, message, list)                                                         \
    {                                                                                              \
        .name = #field, .record_bytes = sizeof(R), .message_at = offsetof(F, field),               \
        .column_count = COUNT_OF(list), .columns = (list),                                         \
        .descriptor = &haltrace__##message##__descriptor,                                          \
    }
#define LAYOUT_PARTS(F, field, R, message, list, variable)                                         \
    {                                                                                              \
        .name = #field, .record_bytes = sizeof(R), .message_at = offsetof(F, field),               \
        .column_count = COUNT_OF(list), .part_count = COUNT_OF(variable), .columns = (list),       \
        .parts = (variable), .descriptor = &haltrace__##message##__descriptor,                     \
    }

/* An element of a list of numbers. */
struct number {
    uint64_t value;
};

#endif
