/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the kernels of two runs have the same sources. Several executables may share label and
 * entry points: each is the same as any of that name with its source. */
#include "format/tool/diff/diff.h"

#include "hal/base/mem.h"

#include <stdlib.h>
#include <string.h>

struct kernel {
    const struct trace_executable_create *made;
    uint64_t name; /* hash of label and entry points */
    uint8_t sha256[32];
    bool is_known, is_matched;
};

struct kernels {
    struct kernel *list;
    size_t count;
};

static enum hal_status list_kernels(const struct diff_side *side, struct kernels *kernels)
{
    uint64_t bytes;
    kernels->list = hal_alloc(side->object_count + 1, sizeof *kernels->list);
    if (!kernels->list)
        return hal_fail(HAL_NO_MEMORY, "no memory to compare kernels");
    for (size_t i = 0; i < side->object_count; i++) {
        const struct diff_object *object = &side->objects[i];
        if (!object->created || object->created->kind != TRACE_EXECUTABLE_CREATE)
            continue;
        struct kernel *kernel = &kernels->list[kernels->count++];
        *kernel = (struct kernel){.made = (const void *)object->created, .name = object->hash};
        if (!kernel->made->content)
            continue;
        HAL_TRY(
            trace_reader_content_info(side->reader, kernel->made->content, &bytes, kernel->sha256));
        kernel->is_known = true;
    }
    return HAL_OK;
}

static void match_equal(struct diff_kernels *d, struct kernels *a, struct kernels *b)
{
    for (size_t i = 0; i < a->count; i++) {
        struct kernel *in_a = &a->list[i];
        for (size_t k = 0; k < b->count && in_a->is_known; k++) {
            struct kernel *in_b = &b->list[k];
            if (in_b->is_known && in_a->name == in_b->name &&
                memcmp(in_a->sha256, in_b->sha256, sizeof in_a->sha256) == 0)
                in_a->is_matched = in_b->is_matched = true;
        }
        d->same += in_a->is_matched;
    }
}

/* One of that name, which has no equal if possible. NULL: its dispatches tell. */
static struct kernel *counterpart(const struct kernel *kernel, const struct kernels *others)
{
    struct kernel *found = NULL;
    for (size_t i = 0; i < others->count; i++) {
        struct kernel *other = &others->list[i];
        if (other->name == kernel->name && (!found || (found->is_matched && !other->is_matched)))
            found = other;
    }
    return found;
}

/* Kernels of `from` without an equal; `of_a`: these are A's. */
static enum hal_status report_rest(struct diff_kernels *d, struct kernels *from,
                                   struct kernels *others, bool of_a)
{
    for (size_t i = 0; i < from->count; i++) {
        struct kernel *kernel = &from->list[i];
        struct kernel *other = kernel->is_matched ? NULL : counterpart(kernel, others);
        if (!other)
            continue;
        kernel->is_matched = other->is_matched = true;
        if (!kernel->is_known || !other->is_known) {
            d->unknown++;
            continue;
        }
        d->other++;
        HAL_TRY(d->found(d->user, of_a ? kernel->made : other->made,
                         of_a ? other->made : kernel->made));
    }
    return HAL_OK;
}

enum hal_status diff_kernels(struct diff_kernels *d)
{
    struct kernels a = {0}, b = {0};
    enum hal_status status = list_kernels(d->a, &a);
    if (status == HAL_OK)
        status = list_kernels(d->b, &b);
    if (status == HAL_OK) {
        match_equal(d, &a, &b);
        status = report_rest(d, &a, &b, true);
    }
    if (status == HAL_OK)
        status = report_rest(d, &b, &a, false);
    free(a.list);
    free(b.list);
    return status;
}
