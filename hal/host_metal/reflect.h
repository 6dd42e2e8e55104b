/* SPDX-License-Identifier: Apache-2.0 */
/* Reflection from MSL source text: names of kernels' parameters and the layout of argument structs.
 * No preprocessing: results of macros are invisible. */
#ifndef HOST_METAL_REFLECT_H
#define HOST_METAL_REFLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HM_NAME_BYTES = 96, HM_MAX_MEMBERS = 256 };

struct hm_parameter {
    char name[HM_NAME_BYTES];
    char type[HM_NAME_BYTES]; /* without address space, const, pointer and reference */
    unsigned data_type;       /* MTLDataType */
    size_t bytes;             /* of the type; 0: unknown */
};

struct hm_member {
    uint32_t id; /* of the first element */
    uint32_t count;
    size_t offset, bytes; /* of one element */
    bool is_pointer;
    unsigned data_type;
};

struct hm_layout {
    struct hm_member members[HM_MAX_MEMBERS];
    size_t count;
    size_t bytes, alignment;
};

/* The parameter with [[attribute(index)]] of a kernel; attribute: "buffer", "threadgroup". */
bool hm_reflect_parameter(const char *text, const char *kernel, const char *attribute,
                          uint32_t index, struct hm_parameter *out_parameter);

/* The members of `struct type`. False: no such struct, or the type of a member is unknown (its text
 * is in `reason`). */
bool hm_reflect_struct(const char *text, const char *type, struct hm_layout *out_layout,
                       char reason[HM_NAME_BYTES]);

/* The function constants used by a kernel and everything that it calls (uses.m). */
struct hm_uses;
enum hm_need { HM_NOT_USED, HM_OPTIONAL, HM_REQUIRED };
struct hm_uses *hm_uses_read(const char *text, const char *kernel);
enum hm_need hm_uses_need(const struct hm_uses *uses, const char *constant);
void hm_uses_destroy(struct hm_uses *uses);

/* Appends a member to a layout, as in a struct. */
void hm_layout_add(struct hm_layout *layout, struct hm_member member, size_t alignment);

/* Size of a Metal data type; 0: unknown. */
size_t hm_data_type_bytes(unsigned data_type);

#endif
