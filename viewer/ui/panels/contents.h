/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of buffers, as far as the trace knows them. One thread at a time. */
#ifndef VIEWER_CONTENTS_H
#define VIEWER_CONTENTS_H

#include "viewer/model/model.h"

/* How buffer contents are shown. */
enum view_type_of_bytes {
    VIEW_TYPE_TEXT,
    VIEW_TYPE_F32,
    VIEW_TYPE_F16,
    VIEW_TYPE_BF16,
    VIEW_TYPE_F64,
    VIEW_TYPE_I32,
    VIEW_TYPE_U32,
    VIEW_TYPE_U64,
    VIEW_TYPE_I8,
    VIEW_TYPE_COUNT
};

enum { VIEW_KNOWN_BYTES = 16 };

struct view_contents;

/* The model must outlive it. HAL_NO_MEMORY. */
enum hal_status view_contents_create(const struct view_model *model,
                                     struct view_contents **out_contents) HAL_CHECKED;
void view_contents_destroy(struct view_contents *contents);

/* Bytes of a buffer, as far as they are known. */
struct view_known {
    uint8_t bytes[VIEW_KNOWN_BYTES];
    bool is_known[VIEW_KNOWN_BYTES];
    size_t count; /* asked for: at most VIEW_KNOWN_BYTES */
    size_t known_count;
    uint32_t piece; /* the source of the latest of them, or VIEW_NO_REF */
};

/* The `count` bytes from `offset`, as the host last wrote or saw them until `at_ns`. */
struct view_known view_contents_at(struct view_contents *contents, uint32_t buffer, int64_t at_ns,
                                   uint64_t offset, size_t count);

/* Formats the bytes as elements of the type, with hex if wanted. */
void view_contents_text(const struct view_known *known, enum view_type_of_bytes type, bool hex,
                        char *out, size_t size);

#endif
