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

struct view_contents;

/* The model must outlive it. HAL_NO_MEMORY. */
enum hal_status view_contents_create(const struct view_model *model,
                                     struct view_contents **out_contents) HAL_CHECKED;
void view_contents_destroy(struct view_contents *contents);

/* The `count` bytes from `offset`, as the host last wrote or saw them until `at_ns`: the known
 * ones; returns their number. *out_piece: the source of the latest of them, or VIEW_NO_REF. */
size_t view_contents_at(struct view_contents *contents, uint32_t buffer, int64_t at_ns,
                        uint64_t offset, uint8_t *out_bytes, bool *out_known, size_t count,
                        uint32_t *out_piece);

/* Formats sixteen bytes or less as elements of the type, with hex if wanted. */
void view_contents_text(const uint8_t *bytes, const bool *known, size_t count,
                        enum view_type_of_bytes type, bool hex, char *out, size_t size);

#endif
